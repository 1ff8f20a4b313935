/* watch.c: notifies subscribers when a reference moved.
 *
 * What is watched is asked again now and then, and soon after something happened in the folders
 * where git puts HEAD, packed-refs and the first level of references. Each watched URI has a mark:
 * the object that it stands for, or a sum over all references for the lists of them. A whole id
 * never moves and is not looked at. The set of resources changes with the tree of HEAD.
 */
#define _GNU_SOURCE
#include "expr.h"
#include "provider.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "pieces.h"
#include "watched.h"

/* A look is the server's own work: it rests for REST times as long as it took, SOON_REST after an
 * event. */
enum { LOOK_MS = 2000, SOON_MS = 50, REST = 50, SOON_REST = 10 };

/* Of each that is watched. */
typedef struct marks {
    git_oid mark, rev; /* rev: of a file, what its revision was */
} marks;

struct repo_watch {
    const mcp_host *host;
    mcp_host_timer *timer;
    mcp_host_poll *poll;
    int fd;
    bool soon;
    uint64_t took; /* milliseconds, the last look */
    common_watched watched;
    git_oid list_mark;
};

static int parse(const repo *r, mcp_str uri, repo_target *t, char **room)
{
    mcp_str rest;
    if (!common_pieces_behind(uri, r->prefix, &rest))
        return MCP_ENOTFOUND;
    *room = common_alloc(&r->alloc, uri.len + REPO_URI_ROOM);
    if (!*room)
        return MCP_ENOMEM;
    int rc = repo_uri_parse(rest, *room, t);
    if (rc == MCP_OK && repo_target_refused(t))
        rc = MCP_ENOTFOUND;
    if (rc != MCP_OK)
        common_release(&r->alloc, *room);
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

/* Of more references than are read here: whenever one of those that are packed is. */
static void mark_packed(const repo_use *u, git_oid *mark)
{
    struct stat st;
    if (fstatat(u->layout->common.fd, "packed-refs", &st, AT_SYMLINK_NOFOLLOW) != 0)
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

/* What is staged; files of the working tree are not watched. */
static void mark_index(repo_use *u, git_oid *mark)
{
    struct stat st = {0};
    mark_rev(u, MCP_STR("HEAD"), mark);
    if (fstatat(u->layout->git.fd, "index", &st, AT_SYMLINK_NOFOLLOW) == 0) {
        mix(mark, &st.st_mtim, sizeof(st.st_mtim));
        mix(mark, &st.st_ino, sizeof(st.st_ino));
    }
}

/* Zero: nothing is there. */
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
        mark_refs(u, "refs/heads/", &r->alloc, mark);
        mark_refs(u, "refs/remotes/", &r->alloc, mark);
        break;
    case REPO_KIND_TAGS: mark_refs(u, "refs/tags/", &r->alloc, mark); break;
    case REPO_KIND_REPOSITORY:
        mark_rev(u, MCP_STR("HEAD"), mark);
        (void)repo_ref_read(u, MCP_STR("HEAD"), &e.id, full);
        mix(mark, full, strlen(full));
        break;
    case REPO_KIND_FILE:
        rc = repo_find(u, t->rev, t->path, &e, &fixed);
        if (rc == MCP_OK)
            *mark = e.id;
        else if (rc == MCP_PENDING) /* more than is read here: whenever its revision moves */
            mark_rev(u, t->rev, mark);
        break;
    case REPO_KIND_STATUS:
    case REPO_KIND_STAGED:
    case REPO_KIND_UNSTAGED: mark_index(u, mark); break;
    default: mark_revs(u, t, mark);
    }
    u->budget = budget; /* each has its own */
}

/* A path is looked for in trees only when its revision moved. */
static bool has_moved(const repo *r, repo_use *u, const char *uri, marks *known)
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
    common_release(&r->alloc, room);
    bool moved = !git_oid_equal(&mark, &known->mark);
    *known = (marks){.mark = mark, .rev = rev};
    return moved;
}

static const repo_target list_target = {
    .kind = REPO_KIND_FILE, .rev = {"HEAD", 4}, .path = {"", 0}};

/* ---- looking --------------------------------------------------------------------------------- */

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
    repo_watch *w = r->watch;
    repo_use u;
    git_oid mark;
    if (!begin(r, &u))
        return;
    for (size_t i = 0; i < w->watched.n; i++) {
        const common_watched_item *item = &w->watched.item[i];
        if (has_moved(r, &u, item->uri, item->own))
            mcp_server_resource_updated(r->server, item->uri);
    }
    if (w->watched.list) {
        mark_target(r, &u, &list_target, &mark);
        if (!git_oid_equal(&mark, &w->list_mark))
            mcp_server_resources_changed(r->server);
        w->list_mark = mark;
    }
    end(&u);
}

static void on_timer(void *user);

static void set_timer(repo *r, uint64_t ms)
{
    repo_watch *w = r->watch;
    if (w->timer)
        w->host->timer_stop(w->timer, w->host->user);
    w->timer = w->host->timer_start(ms, on_timer, r, w->host->user);
}

static int64_t now_of(const mcp_host *host)
{
    return host->now ? host->now(host->user) : 0;
}

static void on_timer(void *user)
{
    repo *r = user;
    repo_watch *w = r->watch;
    w->soon = false;
    int64_t began = now_of(w->host);
    look(r);
    w->took = (uint64_t)(now_of(w->host) - began);
    set_timer(r, w->took * REST > LOOK_MS ? w->took * REST : LOOK_MS);
}

static void on_event(void *user)
{
    repo *r = user;
    char buffer[4096];
    bool some = false;
    while (read(r->watch->fd, buffer, sizeof(buffer)) > 0)
        some = true;
    if (some && !r->watch->soon) {
        uint64_t rest = r->watch->took * SOON_REST;
        r->watch->soon = true;
        set_timer(r, rest > SOON_MS ? rest : SOON_MS);
    }
}

/* Without it, the timer alone looks. */
static void watch_folders(repo *r)
{
    static const char *const folders[] = {"", "/refs/heads", "/refs/tags"};
    repo_watch *w = r->watch;
    char path[64];
    w->fd = w->host->poll_start ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
    if (w->fd < 0)
        return;
    const uint32_t events = IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ONLYDIR;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", r->layout->git.fd);
    inotify_add_watch(w->fd, path, events);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d%s", r->layout->common.fd, folders[i]);
        inotify_add_watch(w->fd, path, events);
    }
    w->poll = w->host->poll_start(w->fd, on_event, r, w->host->user);
}

/* ---- coming and going ------------------------------------------------------------------------ */

static void stop(repo *r)
{
    repo_watch *w = r->watch;
    if (w->timer)
        w->host->timer_stop(w->timer, w->host->user);
    if (w->poll)
        w->host->poll_stop(w->poll, w->host->user);
    if (w->fd >= 0)
        close(w->fd);
    common_watched_clear(&w->watched, &r->alloc);
    common_release(&r->alloc, w);
    r->watch = NULL;
}

static void stop_unused(repo *r)
{
    if (r->watch && !common_watched_any(&r->watch->watched))
        stop(r);
}

static int start(repo *r)
{
    const mcp_host *host = mcp_server_host(r->server);
    if (r->watch)
        return MCP_OK;
    if (!host || !host->timer_start)
        return MCP_EUNSUPPORTED;
    r->watch = common_alloc(&r->alloc, sizeof(*r->watch));
    if (!r->watch)
        return MCP_ENOMEM;
    *r->watch = (repo_watch){.host = host, .fd = -1};
    watch_folders(r);
    set_timer(r, LOOK_MS);
    if (r->watch->timer)
        return MCP_OK;
    stop(r);
    return MCP_ENOMEM;
}

int repo_watch_add(const char *canonical, void *user)
{
    repo *r = user;
    repo_use u;
    int rc = start(r);
    if (rc != MCP_OK)
        return rc;
    marks *known = common_alloc(&r->alloc, sizeof(*known));
    if (known)
        memset(known, 0, sizeof(*known));
    rc = known ? common_watched_add(&r->watch->watched, &r->alloc, canonical, known) : MCP_ENOMEM;
    if (rc == MCP_OK && begin(r, &u)) {
        (void)has_moved(r, &u, canonical, known);
        end(&u);
    }
    stop_unused(r);
    return rc;
}

void repo_watch_remove(const char *canonical, void *user)
{
    repo *r = user;
    if (r->watch)
        common_watched_remove(&r->watch->watched, &r->alloc, canonical);
    stop_unused(r);
}

int repo_watch_list(void *user)
{
    repo *r = user;
    repo_use u;
    int rc = start(r);
    if (rc != MCP_OK)
        return rc;
    r->watch->watched.list = true;
    if (begin(r, &u)) {
        mark_target(r, &u, &list_target, &r->watch->list_mark);
        end(&u);
    }
    return MCP_OK;
}

void repo_unwatch_list(void *user)
{
    repo *r = user;
    if (r->watch)
        r->watch->watched.list = false;
    stop_unused(r);
}

void repo_watch_free(repo *r)
{
    if (r->watch)
        stop(r);
}

/* ---- canonical URIs -------------------------------------------------------------------------- */

int repo_resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    repo *r = user;
    repo_target t;
    char *texts;
    size_t prefix = strlen(r->prefix);
    int rc = parse(r, uri, &t, &texts);
    if (rc != MCP_OK)
        return rc;
    memset(t.param, 0,
           sizeof(t.param)); /* which part is shown: changes and rules are about the whole */
    char *made = common_alloc(&r->alloc, prefix + repo_uri_room(&t));
    if (made) {
        memcpy(made, r->prefix, prefix);
        size_t len = prefix + repo_uri_put(made + prefix, &t);
        rc = len < room ? MCP_OK : MCP_ELIMIT;
        if (rc == MCP_OK)
            memcpy(canonical, made, len + 1);
    } else {
        rc = MCP_ENOMEM;
    }
    common_release(&r->alloc, made);
    common_release(&r->alloc, texts);
    return rc;
}
