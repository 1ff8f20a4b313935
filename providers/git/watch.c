/* watch.c: notifies subscribers when references move.
 *
 * Watched URIs are checked at intervals, and soon after an event in the folders where git stores
 * HEAD, packed-refs and the first level of references. Each watched URI has a mark: the id of its
 * object or, for lists of references, a checksum of all references. A complete id never moves and
 * is not checked. The list of resources changes with the tree of HEAD.
 */
#define _GNU_SOURCE
#include "expr.h"
#include "provider.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>

#include "pieces.h"

/* A check runs on the server's thread. After it the watcher rests for REST times the duration of
 * the check, or SOON_REST times after an event. */
enum { LOOK_MS = 2000, SOON_MS = 50, REST = 50, SOON_REST = 10 };

static int parse(const repo *r, mcp_str uri, repo_target *t, char **room)
{
    mcp_str rest;
    if (!common_pieces_behind(uri, r->base.prefix, &rest))
        return MCP_ENOTFOUND;
    *room = common_alloc(&r->base.alloc, uri.len + REPO_URI_ROOM);
    if (!*room)
        return MCP_ENOMEM;
    int rc = repo_uri_parse(rest, *room, t);
    if (rc == MCP_OK && repo_target_refused(t))
        rc = MCP_ENOTFOUND;
    if (rc != MCP_OK)
        common_release(&r->base.alloc, *room);
    return rc;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void mix(git_oid *mark, const void *bytes, size_t len)
{
    uint64_t sum[2];
    memcpy(sum, mark->id, sizeof(sum));
    for (size_t i = 0; i < len; i++) {
        sum[0] = (sum[0] ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ULL;
        sum[1] = (sum[1] + sum[0]) * 0x9e3779b97f4a7c15ULL;
    }
    memcpy(mark->id, sum, sizeof(sum));
}

/* Adds the status of packed-refs to the mark, if there are more references than may be read here.
 * The mark then changes with any packed reference. */
static void mark_packed(const repo_use *u, git_oid *mark)
{
    struct stat st;
    if (fstatat(u->layout->common.fd, "packed-refs", &st, 0) != 0)
        return;
    mix(mark, &st.st_mtim, sizeof(st.st_mtim));
    mix(mark, &st.st_ino, sizeof(st.st_ino));
}

static void mark_refs(repo_use *u, const char *prefix, const mcp_allocator *alloc, git_oid *mark)
{
    common_buffer refs;
    common_buffer_init(&refs, alloc);
    int rc = repo_refs_collect(u, prefix, &refs);
    if (rc == MCP_OK || rc == MCP_PENDING)
        mix(mark, refs.ptr, refs.len);
    if (rc == MCP_PENDING)
        mark_packed(u, mark);
    common_buffer_free(&refs);
}

static void mark_rev(repo_use *u, mcp_str rev, git_oid *mark)
{
    git_oid id;
    bool fixed;
    int rc = rev.len ? repo_rev_find(u, rev, &id, &fixed, NULL) : MCP_ENOTFOUND;
    if (rc == MCP_OK)
        mix(mark, id.id, sizeof(id.id));
    else if (rc == MCP_PENDING)
        mark_packed(u, mark);
}

static void mark_revs(repo_use *u, const repo_target *t, git_oid *mark)
{
    repo_range range;
    bool both = repo_range_split(t->rev, &range);
    mark_rev(u, both ? range.from : t->rev, mark);
    mark_rev(u, both ? range.to : t->other, mark);
}

/* Marks what is staged. Files of the working tree are not watched. */
static void mark_index(repo_use *u, git_oid *mark)
{
    struct stat st = {0};
    mark_rev(u, MCP_STR("HEAD"), mark);
    if (fstatat(u->layout->git.fd, "index", &st, AT_SYMLINK_NOFOLLOW) == 0) {
        mix(mark, &st.st_mtim, sizeof(st.st_mtim));
        mix(mark, &st.st_ino, sizeof(st.st_ino));
    }
}

/* Computes the mark of a target. It is zero if the target does not exist. */
static void mark_target(const repo *r, repo_use *u, const repo_target *t, git_oid *mark)
{
    char full[REPO_REF_MAX + 1] = "";
    repo_entry e;
    int rc;
    bool fixed;
    size_t budget = u->budget;
    memset(mark, 0, sizeof(*mark));
    switch (t->kind) {
    case REPO_KIND_BRANCHES:
        mark_refs(u, "refs/heads/", &r->base.alloc, mark);
        mark_refs(u, "refs/remotes/", &r->base.alloc, mark);
        break;
    case REPO_KIND_TAGS: mark_refs(u, "refs/tags/", &r->base.alloc, mark); break;
    case REPO_KIND_REPOSITORY:
        mark_rev(u, MCP_STR("HEAD"), mark);
        (void)repo_ref_read(u, MCP_STR("HEAD"), &e.id, full);
        mix(mark, full, strlen(full));
        break;
    case REPO_KIND_FILE:
        rc = repo_find(u, t->rev, t->path, &e, &fixed);
        if (rc == MCP_OK)
            *mark = e.id;
        else if (rc == MCP_PENDING) /* too much to read here: changes with the revision */
            mark_rev(u, t->rev, mark);
        break;
    case REPO_KIND_STATUS:
    case REPO_KIND_STAGED:
    case REPO_KIND_UNSTAGED: mark_index(u, mark); break;
    default: mark_revs(u, t, mark);
    }
    u->budget = budget; /* each target has the full budget */
}

/* Returns whether the URI's mark has changed. A path is looked up in trees only if its
 * revision has moved. */
static bool has_moved(const repo *r, repo_use *u, const char *uri, repo_marks *known)
{
    repo_target t;
    char *room;
    git_oid rev, mark = known->mark;
    memset(&rev, 0, sizeof(rev));
    if (parse(r, mcp_str_from(uri), &t, &room) != MCP_OK)
        return false;
    if (t.kind == REPO_KIND_FILE)
        mark_rev(u, t.rev, &rev);
    if (t.kind != REPO_KIND_FILE || !git_oid_equal(&rev, &known->rev))
        mark_target(r, u, &t, &mark);
    common_release(&r->base.alloc, room);
    bool moved = !git_oid_equal(&mark, &known->mark);
    *known = (repo_marks){.mark = mark, .rev = rev};
    return moved;
}

static const repo_target list_target = {
    .kind = REPO_KIND_FILE, .rev = {"HEAD", 4}, .path = {"", 0}};

/* ---- checking -------------------------------------------------------------------------------- */

static bool begin(repo *r, repo_use *u)
{
    int rc;
    repo_layout *l = repo_layout_now(r, &rc);
    if (l && repo_use_begin(u, l, NULL, true, r->timeout_ms) == MCP_OK)
        return true;
    repo_layout_release(l);
    return false;
}

static void end(repo_use *u)
{
    repo_use_end(u);
    repo_layout_release(u->layout);
}

static void look(repo *r)
{
    const common_watched *w = &r->base.watched;
    repo_use u;
    git_oid mark;
    if (!begin(r, &u))
        return;
    for (size_t i = 0; i < w->n; i++)
        if (has_moved(r, &u, w->item[i].uri, w->item[i].own))
            mcp_server_resource_updated(r->base.server, w->item[i].uri);
    if (w->list) {
        mark_target(r, &u, &list_target, &mark);
        if (!git_oid_equal(&mark, &r->list_mark))
            common_source_list_changed(&r->base);
        r->list_mark = mark;
    }
    end(&u);
}

static int64_t now_of(const mcp_host *host)
{
    return host->now ? host->now(host->user) : 0;
}

uint64_t repo_watch_look(common_source *base)
{
    int64_t began = now_of(base->host);
    look((repo *)base);
    uint64_t took = (uint64_t)(now_of(base->host) - began);
    base->soon_ms = took * SOON_REST > SOON_MS ? took * SOON_REST : SOON_MS;
    return took * REST > LOOK_MS ? took * REST : LOOK_MS;
}

/* Watches the folders with inotify. If that fails, only the timer causes checks. */
static void watch_folders(repo *r)
{
    static const char *const folders[] = {"", "/refs/heads", "/refs/tags"};
    char path[64];
    if (!common_source_events(&r->base))
        return;
    const uint32_t events = IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ONLYDIR;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", r->layout->git.fd);
    inotify_add_watch(r->base.fd, path, events);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d%s", r->layout->common.fd, folders[i]);
        inotify_add_watch(r->base.fd, path, events);
    }
    common_source_poll(&r->base);
}

/* ---- subscribers ----------------------------------------------------------------------------- */

int repo_watch_begin(common_source *base)
{
    base->soon_ms = SOON_MS;
    watch_folders((repo *)base);
    return common_source_look_in(base, LOOK_MS);
}

void repo_watch_mark(common_source *base, const common_watched_item *item)
{
    repo *r = (repo *)base;
    repo_use u;
    if (!begin(r, &u))
        return;
    (void)has_moved(r, &u, item->uri, item->own);
    end(&u);
}

void repo_watch_mark_list(common_source *base)
{
    repo *r = (repo *)base;
    repo_use u;
    if (!begin(r, &u))
        return;
    mark_target(r, &u, &list_target, &r->list_mark);
    end(&u);
}
