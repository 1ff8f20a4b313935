/* source.h: what a source is that other code reads (a repository, a database), as far as all are
 * the same: its name and prefix, mounting with templates, saved queries and the tool, canonical
 * URIs, its subscribers, and when it looks for changes. What differs is a table of functions for
 * each kind, common_source_kind.
 *
 * A kind's own struct begins with a common_source, so that a pointer to one is a pointer to the
 * other. Everything here runs on the server's thread.
 */
#ifndef COMMON_SOURCE_H
#define COMMON_SOURCE_H

#include <mcp/provider.h>

#include "mounting.h"
#include "queries.h"
#include "query_tool.h"
#include "watched.h"

struct inotify_event;
typedef struct common_source common_source;

typedef struct common_source_kind {
    /* How it is mounted, with the functions below for what they are for. Its name is the scheme. */
    mcp_provider provider;
    const char *noun; /* what one is called in messages: "database" */
    common_templates templates;
    const common_query_tool *tool; /* what is the same for all of the kind; NULL: no tool */

    /* Appends the one spelling of what stands behind the prefix, without what says which part of it
     * is shown and how: changes and access rules are about the whole. `texts` has room for the
     * decoded texts: rest.len + texts_room bytes. MCP_OK, MCP_ENOTFOUND, MCP_ENOMEM. */
    int (*canonical)(common_source *s, mcp_str rest, char *texts, common_buffer *to);
    size_t texts_room;

    /* The first subscriber came: begins to look for changes. After a failure `end` is called. */
    int (*begin)(common_source *s);
    /* The last one went. Timer and descriptor are stopped already. */
    void (*end)(common_source *s);
    /* Looks for changes, and announces them. Returns when to look again, in milliseconds; 0: it
     * calls common_source_look_in() itself. */
    uint64_t (*look)(common_source *s);
    /* Whether an event of inotify is about the source; NULL: all are. */
    bool (*concerns)(const common_source *s, const struct inotify_event *event);
    /* What is remembered of a URI that is watched from now on, and of the list: called after it is
     * entered. NULL: nothing. */
    size_t own_size;
    void (*mark)(common_source *s, const common_watched_item *item);
    void (*mark_list)(common_source *s);

    /* Frees what the kind's struct has beyond the common part, and what is of the process. */
    void (*clear)(common_source *s);
} common_source_kind;

struct common_source {
    const common_source_kind *kind;
    mcp_allocator alloc;
    mcp_server *server;
    char *name, *prefix; /* "sqlite://NAME/" */
    common_queries queries;

    /* Watching. */
    common_watched watched;
    const mcp_host *host; /* the server's, while it is watched */
    mcp_host_timer *timer;
    mcp_host_poll *poll;
    int fd; /* of inotify; -1: none */
    bool watching, soon /* the timer is for an event */;
    uint64_t soon_ms; /* how long after an event it looks */
};

/* ---- its life -------------------------------------------------------------------------------- */

/* A struct of `size` bytes, zero but for the common part; NULL: no memory. `server` may be NULL for
 * one that is not mounted. */
common_source *common_source_new(const common_source_kind *kind, size_t size, mcp_server *server,
                                 const mcp_allocator *alloc);
/* mcp_provider.release, which takes a common_source; NULL is allowed. */
void common_source_free(void *source);

/* Mounts it, with the first `n_templates`, the saved queries and, unless `tool` is "", the tool
 * (NULL: with its default name). Takes the source over in every case. `given` is what names it in
 * messages. */
int common_source_mount(common_source *s, size_t n_templates, const char *tool, const char *given,
                        mcp_error *error);

/* One line "WHAT: WHY" for the operator, if there is a log. */
void common_source_log(const common_source *s, const char *what, const char *why);

/* ---- mcp_provider's -------------------------------------------------------------------------- */

int common_source_resolve(mcp_str uri, char *canonical, size_t room, void *source);
int common_source_watch(const char *canonical, void *source);
void common_source_unwatch(const char *canonical, void *source);
int common_source_watch_list(void *source);
void common_source_unwatch_list(void *source);

/* ---- for `begin` and `look` ------------------------------------------------------------------ */

/* Looks after so many milliseconds, and not earlier. MCP_OK, MCP_ENOMEM. */
int common_source_look_in(common_source *s, uint64_t ms);
/* Opens inotify, for inotify_add_watch(s->fd, ...): events make it look soon. Without inotify the
 * timer alone does. False: there is none. */
bool common_source_events(common_source *s);
/* The same, once the folders were added. */
void common_source_poll(common_source *s);
/* Announces a change of the list to who asked for it. */
void common_source_list_changed(common_source *s);

#endif
