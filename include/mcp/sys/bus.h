/* mcp/sys/bus.h: the interface of a bus (mcp/bus.h), which carries entries from each instance of a
 * server to all others, and instances on one machine of which one watches for all.
 *
 * Like all headers of mcp/sys it may change in any minor version until 1.0
 * (docs/api-stability.md).
 */
#ifndef MCP_SYS_BUS_H
#define MCP_SYS_BUS_H

#include <mcp/base.h>
#include <mcp/bus.h>
#include <mcp/provider.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the interface of a bus ------------------------------------------------------------------ */

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
