/* notice.h: notices of changes with roles of callers (the option run_as).
 *
 * Callers with the same role and settings form a group. For each group, and each resource that one
 * of its callers is subscribed to, a digest of what the group can see of the resource is kept. After
 * a change in the database the digest is selected again, as the role and with the settings of the
 * group, and its callers are notified only if it is another one. A change of something that the role
 * cannot see is therefore never announced, and a row that appears or disappears for the role is. The
 * cost depends on the number of groups, not on the number of subscribers.
 */
#ifndef POSTGRES_NOTICE_H
#define POSTGRES_NOTICE_H

#include "caller.h"
#include "sql.h"
#include "uri.h"

typedef struct postgres postgres;
typedef struct postgres_group postgres_group;
typedef struct postgres_view postgres_view;
typedef struct postgres_viewer postgres_viewer;

enum {
    POSTGRES_VIEWS = 10000, /* most resources of all groups */
    POSTGRES_GROUPS = 1000,
    POSTGRES_BUCKETS = 1024,
    POSTGRES_DIGEST = 80,
};

/* A group of callers. */
struct postgres_group {
    postgres_group *next;
    postgres_as *as;
    postgres_role *role;
    size_t n_view;
};

/* A resource, or the list, as a group sees it. */
struct postgres_view {
    postgres_view *next; /* of all */
    postgres_group *group;
    char *uri;       /* canonical; "" is the list */
    bool of_catalog; /* it depends on the catalogue only; the digest is that of the list */
    bool known;      /* `digest` is valid */
    bool changed;    /* something changed before the digest was known */
    bool queued;
    postgres_view *next_queued;
    postgres_viewer *viewers;
    char digest[POSTGRES_DIGEST];
};

/* An identity that is subscribed to a view. */
struct postgres_viewer {
    postgres_viewer *next;        /* of the view */
    postgres_viewer *next_bucket; /* of all viewers with this hash */
    postgres_view *view;
    mcp_identity *identity;
    size_t n; /* number of subscriptions */
};

/* The statement that selects a digest; see notice_check.c. */
typedef struct postgres_checking {
    bool running;
    bool again;            /* the second attempt, after the table was looked up again */
    postgres_view *view;   /* NULL if it was freed meanwhile */
    postgres_group *group; /* counts this as one of its views, so that it stays */
    postgres_table *table;
    postgres_target target;
    char *room; /* for the strings of `target` */
    postgres_op op;
    postgres_sql sql;
    char digest[POSTGRES_DIGEST];
} postgres_checking;

/* Zero-initialized, it is empty. */
typedef struct postgres_notices {
    postgres_group *groups;
    postgres_view *views;
    size_t n_group, n_view, n_viewer;
    postgres_viewer *bucket[POSTGRES_BUCKETS];
    postgres_view *first, *last; /* the queue of views whose digest has to be selected */
    size_t n_queued, n_round;    /* n_round: how many of them belong to the current round */
    int64_t not_before;          /* earliest time of the next round */
    int64_t logged;              /* time until which failures are not logged again */
    mcp_host_timer *timer;
    postgres_checking check;
} postgres_notices;

/* Callbacks for mcp_provider. A caller without a role cannot subscribe (MCP_ENOTFOUND). Saved
 * queries with parameters cannot be watched, because the parameters of the subscriber are not known
 * (MCP_EUNSUPPORTED); nor can anything if there are too many groups or views. */
int postgres_watch_as(const char *canonical, mcp_identity *identity, void *user);
void postgres_unwatch_as(const char *canonical, mcp_identity *identity, void *user);
int postgres_watch_list_as(mcp_identity *identity, void *user);
void postgres_unwatch_list_as(mcp_identity *identity, void *user);

/* Selects the digests of the views that `concerned` returns true for. */
void postgres_notices_changed(postgres *s,
                              bool (*concerned)(const postgres_target *t, const void *change),
                              const void *change);
/* Stops the timer and the statement. */
void postgres_notices_stop(postgres *s);
void postgres_notices_free(postgres *s);

/* ---- for notice_check.c ---------------------------------------------------------------------- */

/* Parses the URI of a view. `room` has at least strlen(view->uri) + POSTGRES_URI_ROOM bytes. */
int postgres_view_target(const postgres *s, const char *uri, char *room, postgres_target *t);
/* Begins to select the digest of a view. */
void postgres_check_view(postgres *s, postgres_view *v);
/* Ends it without a result. */
void postgres_check_stop(postgres *s);
/* Called at its end, with the new digest, or NULL if it could not be selected now. The view may be
 * NULL. */
void postgres_view_checked(postgres *s, postgres_view *v, const char *digest);
/* Releases the group of a check. */
void postgres_group_release(postgres *s, postgres_group *g);
/* What a group that sees nothing gets as digest. */
#define POSTGRES_NOTHING "0 "

#endif
