/* undo.c: the methods by which a person looks at changes and takes them back. They are no tools, so no model sees them.
 *
 *   libmcp/changes/list   {uri?, limit?}  {changes: [{id, time, operation, uri, to?, undoes?, state}]}, newest first
 *   libmcp/changes/undo   {id}            {operation, uri, version?, undo}
 *   libmcp/changes/forget {uri}           {forgotten}
 *
 * A caller sees its own changes only, of files that it may see now, and takes back what today's rules let it change, in
 * the version that its change left. A change that is taken back is a change of its own, with an entry.
 */
#define _GNU_SOURCE
#include "change.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <mcp/sys/forward.h>

#include <words.h>

enum { USUAL_ENTRIES = 50, MOST_ENTRIES = 1000 };

const char *files_changes_who(mcp_request *req)
{
    const char *principal = mcp_request_principal(req);
    const char *issuer = mcp_identity_issuer(mcp_request_identity(req));
    if (!principal || !issuer)
        return principal ? principal : "";
    size_t room = strlen(issuer) + strlen(principal) + 2;
    char *who = mcp_request_alloc(req, room);
    if (who)
        snprintf(who, room, "%s %s", issuer, principal);
    return who;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* A change that took another one back. */
typedef struct back {
    mcp_str undoes, now;
} back;

enum { MOST_BACK = 256 };

typedef struct looking {
    files *f;
    mcp_request *req;
    mcp_json_writer *w;
    mcp_str who, id; /* `id`: only this entry */
    mcp_str uri;     /* only changes of it */
    size_t left;
    editing_entry *found; /* allocated from the request, or NULL */
    bool failed;          /* out of memory */
    size_t n_back;        /* see restored() */
    struct back *back;
} looking;

static mcp_str own(looking *l, mcp_str text)
{
    char *copy = mcp_request_strdup(l->req, text);
    l->failed = l->failed || !copy;
    return mcp_str_from(copy ? copy : "");
}

static bool find(const editing_entry *e, void *user)
{
    looking *l = user;
    if (!mcp_str_eq(mcp_str_from(e->id), l->id) || !mcp_str_eq(e->who, l->who))
        return true;
    l->found = mcp_request_alloc(l->req, sizeof(*l->found));
    l->failed = !l->found;
    if (!l->found)
        return false;
    *l->found = *e;
    l->found->who = own(l, e->who);
    l->found->call = own(l, e->call);
    l->found->operation = own(l, e->operation);
    l->found->path = own(l, e->path);
    l->found->to = own(l, e->to);
    l->found->undoes = own(l, e->undoes);
    l->found->was = own(l, e->was);
    l->found->now = own(l, e->now);
    return false;
}

/* If what came after the entry was taken back, the file has what the entry left, in another version: that of the change
 * which restored it. Entries come newest first, so that change comes before the one that it takes back. */
static bool restored(const editing_entry *e, void *user)
{
    looking *l = user;
    if (strcmp(e->id, l->found->id) == 0)
        return false;
    for (size_t i = 0; i < l->n_back; i++) {
        if (!mcp_str_eq(l->back[i].undoes, mcp_str_from(e->id)) ||
            !mcp_str_eq(e->was, l->found->now))
            continue;
        l->found->now = l->back[i].now;
        return false;
    }
    if (e->undoes.len && e->ended && e->happened && l->n_back < MOST_BACK)
        l->back[l->n_back++] = (back){own(l, e->undoes), own(l, e->now)};
    return !l->failed;
}

/* Puts the URI of a path, if it is served now. */
static bool put_uri(looking *l, const char *member, mcp_str path)
{
    files_target target;
    common_buffer uri;
    bool ok = files_path_parse(&l->f->roots, path, &target) == MCP_OK;
    common_buffer_init(&uri, &l->f->alloc);
    if (ok)
        ok =
            files_put_uri(l->f, target.root, (mcp_str){target.rel, target.rel_len}, &uri) == MCP_OK;
    if (ok)
        mcp_json_put_string(l->w, member, uri.ptr);
    common_buffer_free(&uri);
    return ok;
}

/* Returns whether the caller may see the file now, where it asks: rules may have changed, and views differ. */
static bool is_seen(looking *l, mcp_str path)
{
    files_target target;
    common_buffer uri;
    common_buffer_init(&uri, &l->f->alloc);
    bool seen =
        files_path_parse(&l->f->roots, path, &target) == MCP_OK &&
        files_put_uri(l->f, target.root, (mcp_str){target.rel, target.rel_len}, &uri) == MCP_OK &&
        mcp_request_may(l->req, MCP_ITEM_RESOURCE, mcp_str_from(uri.ptr));
    common_buffer_free(&uri);
    return seen;
}

static const char *state_of(const editing_entry *e)
{
    return e->undone                  ? "undone"
           : e->purged                ? "forgotten"
           : e->ended && !e->happened ? "failed"
           : e->ended                 ? "done"
                                      : "unknown";
}

static bool covers(looking *l, const editing_entry *e)
{
    files_target wanted, has;
    if (!mcp_str_eq(e->who, l->who))
        return false;
    if (files_path_parse(&l->f->roots, e->path, &has) != MCP_OK)
        return false;
    return !l->uri.len || (files_uri_parse(&l->f->roots, l->uri, &wanted) == MCP_OK &&
                           strcmp(wanted.path, has.path) == 0 && wanted.root == has.root);
}

static bool show(const editing_entry *e, void *user)
{
    looking *l = user;
    char when[32];
    time_t at = (time_t)e->time;
    struct tm utc;
    if (!covers(l, e) || !is_seen(l, e->path))
        return true;
    if (l->left-- == 0)
        return false;
    mcp_json_begin_object(l->w);
    mcp_json_put_string(l->w, "id", e->id);
    if (gmtime_r(&at, &utc) && strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc))
        mcp_json_put_string(l->w, "time", when);
    mcp_json_put_str(l->w, "operation", e->operation);
    (void)put_uri(l, "uri", e->path);
    if (e->to.len && is_seen(l, e->to))
        (void)put_uri(l, "to", e->to);
    if (e->undoes.len)
        mcp_json_put_str(l->w, "undoes", e->undoes);
    mcp_json_put_string(l->w, "state", state_of(e));
    mcp_json_end(l->w);
    return true;
}

/* Says that the journal could not be read, or what the error says. */
static int refuse(mcp_request *req, int rc, const mcp_error *error)
{
    mcp_error failed;
    if (rc == MCP_ENOMEM)
        return rc;
    if (rc == MCP_EIO && !error->text[0]) {
        (void)editing_failed(&failed, "the journal of changes", "reading or writing it", errno);
        error = &failed;
    }
    return mcp_reply_fail(req, MCP_CODE_INTERNAL, "%s",
                          error->text[0] ? error->text : mcp_error_text(rc));
}

static int reply_json(mcp_request *req, mcp_json_writer *w)
{
    mcp_str json;
    int rc = w ? mcp_json_writer_finish(w, &json) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_reply_raw(req, MCP_OPTIONS(mcp_raw, .json = json));
    mcp_json_writer_free(w);
    return rc;
}

static int list(mcp_request *req, looking *l)
{
    const mcp_json *params = mcp_request_params(req);
    int64_t limit = mcp_json_int(mcp_json_get(params, "limit"), USUAL_ENTRIES);
    l->uri = mcp_json_string(mcp_json_get(params, "uri"));
    l->left = limit < 1 ? 1 : limit > MOST_ENTRIES ? MOST_ENTRIES : (size_t)limit;
    l->w = mcp_json_writer_new(&l->f->alloc, 0);
    mcp_json_begin_object(l->w);
    mcp_json_key(l->w, "changes");
    mcp_json_begin_array(l->w);
    int rc = editing_journal_each(l->f->changes->journal, show, l, NULL);
    mcp_json_end(l->w);
    mcp_json_end(l->w);
    if (rc == MCP_OK)
        return reply_json(req, l->w);
    mcp_json_writer_free(l->w);
    return refuse(req, rc, &(mcp_error){0});
}

/* ---- taking back ----------------------------------------------------------------------------- */

static const struct undo {
    const char *operation;
    files_change_kind kind;
} undos[] = {{"create", {.name = "undo", .operation = MCP_OPERATION_DELETE}},
             {"change", {.name = "undo", .operation = MCP_OPERATION_CHANGE}},
             {"move", {.name = "undo", .operation = MCP_OPERATION_MOVE}},
             {"delete", {.name = "undo", .operation = MCP_OPERATION_CREATE}}};

static int undo(mcp_request *req, looking *l)
{
    l->id = mcp_json_string(mcp_json_get(mcp_request_params(req), "id"));
    int rc = editing_journal_each(l->f->changes->journal, find, l, NULL);
    if (rc != MCP_OK || l->failed)
        return refuse(req, l->failed ? MCP_ENOMEM : rc, &(mcp_error){0});
    const editing_entry *e = l->found;
    const char *why = !e                         ? "you have made no change with this id"
                      : e->undone                ? "this change was taken back already"
                      : e->ended && !e->happened ? "this change was not made"
                                                 : NULL;
    if (why)
        return mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS, "%s", why);
    l->back = mcp_request_alloc(req, MOST_BACK * sizeof(*l->back));
    rc = l->back ? editing_journal_each(l->f->changes->journal, restored, l, NULL) : MCP_ENOMEM;
    if (rc != MCP_OK || l->failed)
        return refuse(req, l->failed ? MCP_ENOMEM : rc, &(mcp_error){0});
    for (size_t i = 0; i < sizeof(undos) / sizeof(*undos); i++)
        if (mcp_str_eq(e->operation, mcp_str_from(undos[i].operation)))
            return files_change_call(req, NULL, l->f, &undos[i].kind, e);
    return mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS, "this change cannot be taken back");
}

/* ---- forgetting ------------------------------------------------------------------------------ */

/* Only the process that started this one may do it, because the entries of all callers are forgotten. */
static int forget(mcp_request *req, looking *l)
{
    files_target target;
    common_buffer path;
    size_t n = 0;
    mcp_str uri = mcp_json_string(mcp_json_get(mcp_request_params(req), "uri"));
    if (!mcp_str_eq(l->who, MCP_STR("stdio")))
        return mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS,
                              "Only the program that has started this server, over "
                              "stdio, may have it forget contents");
    int rc = uri.len && uri.ptr[0] == '/' ? files_path_parse(&l->f->roots, uri, &target)
                                          : files_uri_parse(&l->f->roots, uri, &target);
    if (rc != MCP_OK)
        return mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS,
                              "uri: it is in no folder of this server");
    common_buffer_init(&path, &l->f->alloc);
    rc = files_put_path(l->f, target.root, (mcp_str){target.rel, target.rel_len}, &path);
    if (rc == MCP_OK)
        rc = editing_journal_purge(l->f->changes->journal, (mcp_str){path.ptr, path.len}, &n);
    common_buffer_free(&path);
    if (rc != MCP_OK)
        return refuse(req, rc, &(mcp_error){0});
    mcp_json_writer *w = mcp_json_writer_new(&l->f->alloc, 0);
    mcp_json_begin_object(w);
    mcp_json_put_uint(w, "forgotten", n);
    mcp_json_end(w);
    return reply_json(req, w);
}

static const struct method {
    const char *name;
    int (*run)(mcp_request *req, looking *l);
} methods[] = {{"libmcp/changes/list", list},
               {"libmcp/changes/undo", undo},
               {"libmcp/changes/forget", forget}};

int files_undo_methods(mcp_request *req, void *user)
{
    files *f = user;
    mcp_error error = {0};
    const char *who = files_changes_who(req);
    looking l = {.f = f, .req = req, .who = mcp_str_from(who ? who : "")};
    for (size_t i = 0; f->changes && i < sizeof(methods) / sizeof(*methods); i++) {
        if (strcmp(mcp_request_method(req), methods[i].name) != 0)
            continue;
        if (!l.who.len)
            return who ? mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS,
                                        "Callers without a name have no changes of their own")
                       : MCP_ENOMEM;
        int rc = files_changes_open(f, &error);
        return rc == MCP_OK ? methods[i].run(req, &l) : refuse(req, rc, &error);
    }
    return MCP_ENOTFOUND;
}
