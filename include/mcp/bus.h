/* mcp/bus.h: several instances of one server tell each other what changed.
 *
 * A client is connected to one instance. A change that another instance notices reaches this client
 * only if the instances share it. They do so over a bus, which carries entries from each instance to
 * all others: for example a stream in Redis (the module bus-redis of mcpd), or a socket between
 * processes of one machine. mcp_bus (mcp/sys/bus.h) is the interface of such a bus;
 * mcp_server_share() connects a server with one.
 *
 *     mcp_server_set_seal(server, MCP_OPTIONS(mcp_seal_options, .key = key, .key_len = 32), NULL);
 *     mcp_server_share(server, MCP_OPTIONS(mcp_share_options, .bus = &bus, .name = "notes"), &error);
 *
 * What travels are marks, not messages: "this resource changed", "the list of tools changed". A mark
 * that is set many times before it is sent travels once. If marks may have been lost, everything is
 * announced as changed: `updated` for each subscribed URI, and the change of each subscribed list
 * (2026-07-28, basic/patterns/subscriptions; earlier revisions, server/resources). A client can
 * therefore be told once too often, but is not left with stale data while the bus works.
 *
 * All functions must be called on the server's thread, and no function here blocks.
 */
#ifndef MCP_BUS_H
#define MCP_BUS_H

#include <mcp/base.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mcp_bus; /* mcp/sys/bus.h */

typedef enum mcp_bus_state {
    MCP_BUS_DOWN = 0,  /* entries are neither sent nor received; the bus tries to connect */
    MCP_BUS_CONNECTED, /* entries are received, and can be published */
} mcp_bus_state;

/* ---- sharing --------------------------------------------------------------------------------- */

typedef struct mcp_share_options {
    size_t size;
    /* Required; copied. The server owns it from the call on, also if the call fails, and closes it
     * when the server is freed or gets another host (mcp_server_set_host()). */
    const struct mcp_bus *bus;
    /* The name that all instances have; required; copied. Entries of servers with other names or other
     * keys are ignored. */
    const char *name;
    /* The least time between two entries of this instance; default 50. The first change after a pause
     * is sent at once. */
    uint64_t interval_ms;
    /* How many marks may wait to be sent, and the bytes of their URIs. Beyond, all of them become one
     * mark: everything changed. The defaults are 4,096 and 512 KiB. */
    size_t max_marks, max_bytes;
    /* Messages of the program (mcp_server_share_send()) from other instances, in order. NULL if there
     * are none. */
    void (*message)(mcp_str topic, mcp_str data, void *user);
    /* Marks and messages may have been lost. The resources and lists have been announced already.
     * May be NULL. */
    void (*gap)(void *user);
    void *user;
    /* Not 0: limits on the calls of one caller (mcp_server_options.calls_per_second and the others,
     * mcp_request_take()) are counted at all instances together. Each decides at once, by what it knows:
     * counts travel with the marks, at most about 0.1 s later. What several instances accepted at the same time is
     * subtracted from what they accept next. While the bus is down, each counts alone. All
     * instances must have this, and the same limits. */
    size_t share_limits;
} mcp_share_options;

/* Begins to share changes with the other instances. What is shared: mcp_server_resource_updated(),
 * mcp_server_resources_changed(), mcp_server_resources_changed_by(), mcp_server_list_changed() and
 * mcp_server_list_changed_for(), whoever calls them. What this program
 * registers, removes or rebuilds is not shared, nor changes for one identity
 * (mcp_server_updated_as()).
 *
 * Entries are sealed with the key of the server, which must be set before (mcp_server_set_seal()) and
 * be the same at all instances: whoever reads the bus sees their sizes, and when they were sent.
 * Entries of others are ignored, and so are those that were received before. Each entry has a time;
 * the calendar clocks of the instances must not differ by more than five minutes.
 *
 * Returns MCP_OK, MCP_EINVAL, MCP_ESTATE (no host with timers, no key, or the server shares already),
 * MCP_EIO (no randomness), MCP_ENOMEM, or the code of mcp_bus.open. */
MCP_API int mcp_server_share(mcp_server *server, const mcp_share_options *options,
                             mcp_error *error);

/* Sends a message of the program to the other instances. While the bus is down, it waits. Equal
 * messages that wait are sent once. A topic has 1 to 32 bytes; topic and data together at most
 * MCP_SHARE_MESSAGE_BYTES. Returns MCP_OK, MCP_EINVAL, MCP_ESTATE (the server does not share), or
 * MCP_ELIMIT or MCP_ENOMEM if the message could not be kept; the other instances then get `gap`. */
MCP_API int mcp_server_share_send(mcp_server *server, mcp_str topic, mcp_str data);
enum { MCP_SHARE_MESSAGE_BYTES = 8192 };

/* The state of the bus, and counters since the start. Set `size` before the call. */
typedef struct mcp_share_usage {
    size_t size;
    size_t state; /* mcp_bus_state */
    /* Why the bus is down, or why the last entry was not stored; empty if neither. Valid until the
     * server is used again. */
    const char *why;
    size_t waiting;     /* marks that are not sent yet */
    uint64_t sent;      /* entries that were stored */
    uint64_t failed;    /* attempts to send an entry that failed */
    uint64_t received;  /* entries of other instances */
    uint64_t ignored;   /* entries that cannot be opened, or have no valid contents */
    uint64_t replayed;  /* entries that were received before */
    uint64_t gaps;      /* how often entries may have been lost */
    uint64_t overflows; /* how often marks that waited became one mark */
    /* Entries, and states of tasks, that the bus has not stored yet: those that are under way, and those
     * that are sent again. A program that ends waits, for a bounded time, until this and `waiting` are 0;
     * otherwise what happened last is not told to the other instances. */
    size_t pending;
} mcp_share_usage;

/* Returns false if the server does not share; *ret is then unchanged. */
MCP_API bool mcp_server_get_share(const mcp_server *server, mcp_share_usage *ret);

#ifdef __cplusplus
}
#endif
#endif
