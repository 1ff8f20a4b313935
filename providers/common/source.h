/* source.h: the common part of all sources that a provider reads (a repository, a database): name
 * and prefix, mounting with templates, saved queries and the query tool, canonical URIs,
 * subscribers, and when to look for changes. What differs between the kinds of sources is in a
 * table of functions, common_source_kind.
 *
 * A kind's own struct begins with a common_source, so that a pointer to one can be cast to the
 * other. Everything here runs on the server's thread.
 */
#ifndef COMMON_SOURCE_H
#define COMMON_SOURCE_H

#include "mounting.h"
#include "queries.h"
#include "query_tool.h"
#include "watched.h"

struct inotify_event;
typedef struct common_source common_source;

typedef struct common_source_kind {
    /* The callbacks for mounting; some of them are functions of this header. provider.name is the
     * scheme of the URIs. */
    mcp_provider provider;
    const char *noun; /* word for a source in messages, for example "database" */
    common_templates templates;
    const common_query_tool *tool; /* members that are equal for all sources of the kind; NULL
                                    * means no tool */
    /* Offers the tools that only this kind has. May be NULL. */
    int (*offer)(common_source *s, common_offer offer, mcp_error *error);
    bool in_process; /* mcp_source.in_process */
    /* mcp_source.resolve, by common_source_spell() */
    int (*spell)(const char *prefix, mcp_str uri, char *canonical, size_t room);

    /* Appends the canonical form of `rest`, the part of a URI after the prefix. It omits the
     * parameters that select a part of the resource or its format, because changes and access rules
     * apply to the whole resource. `texts` is a buffer for decoded strings of rest.len + texts_room
     * bytes. A source without a server is not mounted, and does not know its saved queries. Returns
     * MCP_OK, MCP_ENOTFOUND or MCP_ENOMEM. */
    int (*canonical)(common_source *s, mcp_str rest, char *texts, common_buffer *to);
    size_t texts_room;

    /* Starts looking for changes when the first subscriber is added. After a failure
     * `end` is called. */
    int (*begin)(common_source *s);
    /* Stops looking for changes when the last subscriber is removed. The timer and the descriptor
     * have already been stopped. May be NULL. */
    void (*end)(common_source *s);
    /* Looks for changes and announces them. Returns the time until the next look in milliseconds,
     * or 0 if it calls common_source_look_in() itself. */
    uint64_t (*look)(common_source *s);
    /* Whether an inotify event concerns the source. NULL means that all events do. */
    bool (*concerns)(const common_source *s, const struct inotify_event *event);
    /* `mark` is called when a URI begins to be watched, after its item was added. It records the
     * state of the URI in item->own, which has own_size zero bytes. `mark_list` does the same for
     * the list. Both may be NULL. */
    size_t own_size;
    void (*mark)(common_source *s, const common_watched_item *item);
    void (*mark_list)(common_source *s);

    /* Frees the members of the kind's struct beyond the common part. */
    void (*clear)(common_source *s);
} common_source_kind;

struct common_source {
    const common_source_kind *kind;
    mcp_allocator alloc;
    mcp_server *server;
    char *name, *prefix; /* "sqlite://NAME/" */
    bool explain;        /* the query tool shows plans; set before mounting */
    common_queries queries;

    /* State of watching. */
    common_watched watched;
    const mcp_host *host; /* the server's host, while the source is watched */
    mcp_host_timer *timer;
    mcp_host_poll *poll;
    int fd; /* inotify descriptor, or -1 */
    bool watching, soon /* the timer was started by an event */;
    uint64_t soon_ms; /* delay from an event to the look for changes */
};

/* ---- creating and freeing -------------------------------------------------------------------- */

/* Returns a struct of `size` bytes, zero except for the common part, or NULL if memory is
 * exhausted. `server` may be NULL for a source that is not mounted. */
common_source *common_source_new(const common_source_kind *kind, size_t size, mcp_server *server,
                                 const mcp_allocator *alloc);
/* The callback mcp_provider.release; `source` is a common_source. NULL is allowed. */
void common_source_free(void *source);

/* Mounts the source with its templates, its saved queries and, unless `tool` is "", the tool. NULL
 * selects the tool's default name. Takes ownership of the source in every case. `given` names the
 * source in messages. */
int common_source_mount(common_source *s, const char *tool, const char *given, mcp_error *error);
/* Instead of mounting the source, describes what common_source_mount() would offer, and the paths
 * that the source opens (see mcp_module.describe). Frees the source. */
int common_source_describe(common_source *s, const char *tool, const char *given,
                           const mcp_source_path *paths, size_t n_paths, const mcp_description *to,
                           mcp_error *error);

/* Logs one line "WHAT: WHY" for the operator if the host has a log. */
void common_source_log(const common_source *s, const char *what, const char *why);

/* ---- callbacks for mcp_provider -------------------------------------------------------------- */

int common_source_resolve(mcp_str uri, char *canonical, size_t room, void *source);
/* Does the same for a source of this kind that is not mounted. */
int common_source_spell(const common_source_kind *kind, const char *prefix, mcp_str uri,
                        char *canonical, size_t room);
int common_source_watch(const char *canonical, void *source);
void common_source_unwatch(const char *canonical, void *source);
int common_source_watch_list(void *source);
void common_source_unwatch_list(void *source);

/* ---- functions for `begin` and `look` -------------------------------------------------------- */

/* Schedules the next look in `ms` milliseconds, replacing an earlier schedule. Returns
 * MCP_OK or MCP_ENOMEM. */
int common_source_look_in(common_source *s, uint64_t ms);
/* Opens inotify. The kind then calls inotify_add_watch(s->fd, ...), and events cause a look after
 * soon_ms. Returns false if inotify is not available; then only the timer causes looks. */
bool common_source_events(common_source *s);
/* Starts handling inotify events, after the folders have been added. */
void common_source_poll(common_source *s);
/* Announces a change of the list if it is being watched. */
void common_source_list_changed(common_source *s);

#endif
