/* mcp/bus.h: several instances of one server tell each other what changed.
 *
 * A client is connected to one instance. A change that another instance notices reaches this client
 * only if the instances share it. They do so over a bus, which carries entries from each instance to
 * all others: for example a stream in Redis (the module bus-redis of mcpd), or a socket between
 * processes of one machine. mcp_bus is the interface of such a bus; mcp_server_share() connects a
 * server with one.
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

/* ---- the interface of a bus ------------------------------------------------------------------ */

typedef enum mcp_bus_state {
    MCP_BUS_DOWN = 0,  /* entries are neither sent nor received; the bus tries to connect */
    MCP_BUS_CONNECTED, /* entries are received, and can be published */
} mcp_bus_state;

/* The largest entry, in bytes. A bus must carry entries up to this size, and should refuse to read
 * larger ones. */
enum { MCP_BUS_ENTRY_BYTES = 32768 };

/* The largest value that is kept, and the longest name of one, in bytes. */
enum { MCP_BUS_VALUE_BYTES = 1 << 20, MCP_BUS_NAME_BYTES = 64 };

/* The functions through which a bus reports to its user. A bus calls them on the server's thread,
 * from callbacks of the host, never while it is called itself. It may be called from within them,
 * except for `close`. Strings are valid during the call only. */
typedef struct mcp_bus_events {
    size_t size;
    void *user; /* passed to each function */
    /* An entry, exactly as it was published, in the order of the bus. A bus may report the entries
     * that its own instance published too. */
    void (*received)(mcp_str entry, void *user);
    /* Entries may have been lost since the last one, for example because the bus removed them before
     * this instance had read them. */
    void (*gap)(void *user);
    /* The outcome of the entry that `publish` accepted, called once for each. `rc` is MCP_OK, or a
     * negative code if the entry may not have been stored, for example because the bus is full or the
     * connection was lost. `why` is then one line for the operator, or NULL. */
    void (*published)(int rc, const char *why, void *user);
    /* The state changed, or the reason did. `why` is one line for the operator without passwords;
     * empty when connected. When a bus is connected again, it has not lost entries in between, or it
     * calls `gap`. */
    void (*state)(mcp_bus_state state, const char *why, void *user);
    /* The outcome of a value that `keep` accepted, called once for each. `rc` and `why` are those of
     * `published`. */
    void (*kept)(int rc, const char *why, void *user);
    /* The answer to `fetch`, called once for each that was accepted, in their order. `rc` is MCP_OK,
     * MCP_ENOTFOUND, or another negative code if it is not known; `value` is the value if it is
     * MCP_OK. */
    void (*fetched)(uint64_t number, int rc, mcp_str value, void *user);
} mcp_bus_events;

/* A bus. A program or a module fills in this struct; all functions get `user`. */
typedef struct mcp_bus {
    size_t size;
    void *user;
    /* Begins to connect, and connects again whenever the connection is lost, with growing pauses.
     * `events` is copied. An instance receives the entries that are published after it first
     * connected, and after an interruption those from where it was. Called once. Returns MCP_OK,
     * MCP_ENOMEM, or another negative code with the reason in *error (which may be NULL). */
    int (*open)(const mcp_bus_events *events, void *user, mcp_error *error);
    /* Sends an entry of 1 to MCP_BUS_ENTRY_BYTES bytes, which is copied. At most one entry is under
     * way: the next may be published after `published` was called. Returns MCP_OK, MCP_ESTATE (not
     * connected, or an entry is under way) or MCP_ENOMEM. */
    int (*publish)(mcp_str entry, void *user);
    /* Closes the bus and frees everything. No function of the events is called from then on. Also
     * called if `open` was not, or has failed. */
    void (*close)(void *user);
    /* The next two keep values for all instances; a bus has both or neither (NULL). Their order is that
     * of the calls. The functions of the events are called later.
     *
     * Keeps a value of 1 to MCP_BUS_VALUE_BYTES bytes for ttl_ms (at least 1), in place of the one that
     * has this name. A name has 1 to MCP_BUS_NAME_BYTES letters, digits, - and _. Both are copied.
     * Returns MCP_OK, MCP_ESTATE (not connected), MCP_ELIMIT (too much is under way: try again after
     * `kept`) or MCP_ENOMEM. */
    int (*keep)(mcp_str name, mcp_str value, uint64_t ttl_ms, void *user);
    /* Asks for a value; `number` is passed to `fetched`. Returns the same codes. */
    int (*fetch)(mcp_str name, uint64_t number, void *user);
} mcp_bus;

/* ---- a bus in a shared object ---------------------------------------------------------------- */

/* The version of this interface. */
#define MCP_BUS_ABI 2

/* A module with a bus exports one symbol of this type, with the name MCP_BUS_SYMBOL. It must not be
 * linked with libmcp, like other modules (mcp/module.h). */
typedef struct mcp_bus_module {
    size_t size;
    const char
        *version;     /* MCP_VERSION_STRING of the headers that it was built with; for messages */
    const char *name; /* the scheme of its addresses: a-z 0-9 */
    /* Makes a bus, which does not connect yet. `address` is the text after "NAME:". `stream` is the
     * name that all instances of the server have in common and other servers do not. `user` and
     * `password` are NULL if there are none; all strings are copied. `host` must outlive the bus.
     * Returns MCP_OK, MCP_EINVAL (the address) or MCP_ENOMEM, with the reason in *error. */
    int (*make)(const char *address, const char *stream, const char *user, const char *password,
                const struct mcp_host *host, mcp_bus *ret, mcp_error *error);
    size_t abi; /* MCP_BUS_ABI */
} mcp_bus_module;

#define MCP_BUS_SYMBOL "mcp_bus_module_v1"

/* ---- sharing --------------------------------------------------------------------------------- */

typedef struct mcp_share_options {
    size_t size;
    /* Required; copied. The server owns it from the call on, also if the call fails, and closes it
     * when the server is freed or gets another host (mcp_server_set_host()). */
    const mcp_bus *bus;
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

/* ---- watching once --------------------------------------------------------------------------- */

/* Instances on one machine that have the same sources need not all watch the same files and databases: one of them
 * watches for all, and the others hear of changes on the bus (mcp_server_share()). The program decides
 * which instance that is, and carries messages between it and the others. They are trusted.
 *
 * What is watched once: resources and lists of providers with `watch` and `watch_list` (mcp/provider.h).
 * What depends on the caller (watch_as, watch_list_as) is watched by each instance.
 *
 * A subscription works at once, because its own instance watches too, until `overlap_ms` after the
 * answer of the other. It does so as long as it gets no answer, so messages may be lost. */
typedef struct mcp_watch_options {
    size_t size;
    /* Sends a message to the instance that watches. Returns false if it cannot be sent now: the server then tries
     * again. Called from timers. */
    bool (*ask)(mcp_str message, void *user);
    /* Sends an answer to an instance. The result is ignored. Called from mcp_server_watch_received(). */
    bool (*answer)(size_t to, mcp_str message, void *user);
    void *user;
    /* How long both instances watch. It must be longer than the interval at which providers look for
     * changes where the system does not report them. Default 12,000. */
    uint64_t overlap_ms;
} mcp_watch_options;

/* Instances have numbers below this one. */
enum { MCP_WATCH_INSTANCES = 64 };

/* Begins. Until mcp_server_watch_role() is called, this instance watches for itself. Messages have at
 * most MCP_BUS_ENTRY_BYTES. Returns MCP_OK, MCP_EINVAL, MCP_ESTATE (no host with timers, the server has
 * sessions, or this was called before) or MCP_ENOMEM. It ends when the server gets another host. */
MCP_API int mcp_server_watch_once(mcp_server *server, const mcp_watch_options *options,
                                  mcp_error *error);
/* Says whether this instance watches for all, or another. Must be called at each instance when that
 * changes, after which this instance watches everything itself and asks anew; and at an instance whose
 * messages were lost. `missed`: the instance that watched before has ended, so changes may have been
 * missed, and everything is announced as changed here. */
MCP_API void mcp_server_watch_role(mcp_server *server, bool watches, bool missed);
/* Handles a message of the instance `from`. An instance that has ended counts as if it had sent
 * MCP_WATCH_LEFT. */
MCP_API void mcp_server_watch_received(mcp_server *server, size_t from, mcp_str message);
#define MCP_WATCH_LEFT "0\0\0\0\0" /* 5 bytes */

#ifdef __cplusplus
}
#endif
#endif
