/* search.c: finds the lines in files of a revision that contain a text or match a regular
 * expression.
 *
 * Folders are walked in git's order, and files that are text are read one after another, until
 * there are enough matches, too many bytes were read, or half of the time is used. `next` then
 * continues the search. Its position is a line and a file that the caller may see; otherwise it
 * would reveal the existence of a hidden file.
 */
#define _GNU_SOURCE
#include "provider.h"
#include "search.h"

#include <stdio.h>

#include "text.h"

enum {
    LIMIT = 100,
    MAX_LIMIT = 1000,
    MAX_FILE = 8 << 20,
    MAX_BYTES = 256 << 20, /* limit of all files read for one request */
    MAX_LINE = 300,        /* bytes of a line in the result */
    MAX_FOLDERS = 20000,
};

typedef struct searching {
    repo_job *j;
    search_needle *needle;
    mcp_str glob;    /* selects the files; empty for all */
    mcp_str after;   /* the file at which to continue */
    uint64_t behind; /* continue after this line of that file */
    bool whole;      /* that file has been finished */
    uint64_t limit, n;
    size_t bytes, files, passed_over, folders;
    int64_t until;
    char path[REPO_PATH_MAX + 2];
    size_t len;
    bool full;
    char last[REPO_PATH_MAX + 2]; /* the last file that was searched */
    uint64_t last_line;           /* the last line that was added; 0 if the file is finished */
} searching;

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_over(void *user)
{
    const searching *s = user;
    return repo_use_now() > s->until || repo_use_check(&s->j->use) != MCP_OK;
}

static repo_target target_of(const searching *s)
{
    return (repo_target){.kind = REPO_KIND_FILE,
                         .rev = s->j->target.rev,
                         .other = {"", 0},
                         .path = {s->path, s->len}};
}

/* Truncates a very long line to whole characters around the match. */
static mcp_str cut(mcp_str line, size_t at)
{
    size_t begin = at > MAX_LINE / 3 && line.len > MAX_LINE ? at - MAX_LINE / 3 : 0;
    while (begin && ((unsigned char)line.ptr[begin] & 0xc0) == 0x80)
        begin--;
    size_t end = line.len - begin > MAX_LINE ? begin + MAX_LINE : line.len;
    while (end < line.len && ((unsigned char)line.ptr[end] & 0xc0) == 0x80)
        end--;
    return (mcp_str){line.ptr + begin, end - begin};
}

static void put_match(searching *s, uint64_t line, mcp_str text)
{
    char at[sizeof(s->path) + 24];
    mcp_json_writer *w = s->j->json;
    repo_target t = target_of(s);
    int len = snprintf(at, sizeof(at), "%.*s:%llu", (int)s->len, s->path, (unsigned long long)line);
    mcp_json_begin_object(w);
    mcp_json_key(w, "at"), repo_put_text(w, (mcp_str){at, (size_t)len});
    mcp_json_key(w, "path"), repo_put_text(w, t.path);
    mcp_json_put_uint(w, "line", line);
    mcp_json_put_str(w, "text", text);
    mcp_json_key(w, "uri"), repo_put_uri(w, s->j->r, &t);
    mcp_json_end(w);
}

static size_t count_lines(mcp_str text)
{
    size_t n = 0;
    for (const char *p = text.ptr;
         text.len && (p = memchr(p, '\n', text.len - (size_t)(p - text.ptr))); p++)
        n++;
    return n;
}

/* Adds the matching lines after line `skip`. Returns MCP_ENOTFOUND at the end of the text,
 * MCP_ECANCELLED if the time is used or there are enough matches, or the errors of
 * search_needle_find(). */
static int search_lines(searching *s, mcp_str text, uint64_t skip)
{
    size_t from = 0, begin, end;
    uint64_t line = 1;
    bool asked = false;
    int rc;
    while ((rc = search_needle_find(s->needle, text, from, is_over, s, &begin, &end)) == MCP_OK) {
        line += count_lines((mcp_str){text.ptr + from, begin - from});
        const char *start = begin ? memrchr(text.ptr, '\n', begin) : NULL;
        const char *stop = memchr(text.ptr + begin, '\n', text.len - begin);
        size_t first = start ? (size_t)(start - text.ptr) + 1 : 0;
        size_t last = stop ? (size_t)(stop - text.ptr) : text.len;
        repo_target t = target_of(s);
        if (line > skip) {
            if (!asked && !repo_job_may(s->j, &t))
                return MCP_ENOTFOUND;
            asked = true;
            if (s->n == s->limit)
                return MCP_ECANCELLED;
            s->n++;
            s->last_line = line;
            size_t shown = last > first && text.ptr[last - 1] == '\r' ? last - 1 : last;
            put_match(s, line, cut((mcp_str){text.ptr + first, shown - first}, begin - first));
        }
        line++;
        from = last + 1;
        if (from >= text.len)
            return MCP_ENOTFOUND;
    }
    return rc;
}

static int search_blob(searching *s, const repo_entry *e, uint64_t skip)
{
    git_odb_object *o;
    size_t size;
    int rc = repo_blob_size(&s->j->use, &e->id, &size);
    if (rc == MCP_OK && size > MAX_FILE) {
        s->passed_over++;
        return MCP_OK;
    }
    if (rc == MCP_OK)
        rc = repo_object(&s->j->use, &e->id, GIT_OBJECT_BLOB, &o);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
    mcp_str text = repo_object_text(o);
    s->bytes += text.len;
    s->files++;
    if (!common_text_check(text))
        s->passed_over++;
    else if (text.len)
        rc = search_lines(s, common_text_after_mark(text), skip);
    git_odb_object_free(o);
    if (rc == MCP_ELIMIT) { /* the expression takes too long on this line */
        s->passed_over++;
        return MCP_OK;
    }
    s->full = rc == MCP_ECANCELLED && repo_use_check(&s->j->use) == MCP_OK;
    return rc == MCP_ENOTFOUND || s->full ? MCP_OK : rc;
}

/* ---- tree ------------------------------------------------------------------------------------ */

static bool is_wanted(const searching *s, const repo_entry *e)
{
    mcp_str path = {s->path, s->len}, name = {s->path + s->len - e->name.len, e->name.len};
    return (e->mode & 0170000) == 0100000 && search_path_fits(s->glob, name, path);
}

static int search_file(searching *s, const repo_entry *e, bool again)
{
    uint64_t skip = again ? s->behind : 0;
    if (again && s->whole)
        return MCP_OK;
    if (s->bytes > MAX_BYTES || is_over(s)) {
        s->full = true;
        return repo_use_check(&s->j->use);
    }
    s->last_line = 0;
    int rc = search_blob(s, e, skip);
    repo_target t = target_of(s);
    /* A file whose search stopped before its first match is searched again. */
    if (rc == MCP_OK && (!s->full || s->last_line) && repo_job_may(s->j, &t)) {
        memcpy(s->last, s->path, s->len);
        s->last[s->len] = 0;
        if (!s->full)
            s->last_line = 0;
    }
    return rc;
}

static int walk(searching *s, const git_oid *tree, mcp_str after, int depth);

/* Visits an entry that is not before the position. `again` is true if it is an ancestor of the
 * position's file or the file itself. */
static int visit(searching *s, const repo_entry *e, bool again, mcp_str further, int depth)
{
    size_t before = s->len;
    int rc = MCP_OK;
    if (s->len + e->name.len + 2 > REPO_PATH_MAX)
        return MCP_OK;
    if (s->len)
        s->path[s->len++] = '/';
    memcpy(s->path + s->len, e->name.ptr, e->name.len);
    s->len += e->name.len;
    if (e->mode == REPO_MODE_TREE && depth < REPO_DEPTH_MAX)
        rc = walk(s, &e->id, again ? further : (mcp_str){"", 0}, depth + 1);
    else if (is_wanted(s, e))
        rc = search_file(s, e, again);
    s->len = before;
    return rc;
}

static int walk(searching *s, const git_oid *tree, mcp_str after, int depth)
{
    git_odb_object *o;
    repo_entry e;
    const char *slash = after.len ? memchr(after.ptr, '/', after.len) : NULL;
    mcp_str first = {after.ptr, slash ? (size_t)(slash - after.ptr) : after.len};
    mcp_str further = {slash ? slash + 1 : "", slash ? after.len - first.len - 1 : 0};
    int rc = ++s->folders > MAX_FOLDERS ? MCP_ETIMEOUT : repo_use_check(&s->j->use);
    if (rc == MCP_OK)
        rc = repo_object(&s->j->use, tree, GIT_OBJECT_TREE, &o);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
    mcp_str rest = repo_object_text(o);
    while (rc == MCP_OK && !s->full && repo_tree_next(&rest, &e)) {
        bool is_tree = e.mode == REPO_MODE_TREE;
        int order = after.len ? repo_entry_compare(e.name, is_tree, first, slash != NULL) : 1;
        if (order >= 0)
            rc = visit(s, &e, order == 0, further, depth);
    }
    if (rc == MCP_OK && !s->full && rest.len)
        rc = MCP_EIO;
    git_odb_object_free(o);
    return rc;
}

/* ---- query ----------------------------------------------------------------------------------- */

static bool take_needle(searching *s)
{
    repo_job *j = s->j;
    char why[200];
    mcp_str text = j->target.param[REPO_PARAM_TEXT], regex = j->target.param[REPO_PARAM_REGEX];
    if (!text.ptr == !regex.ptr) {
        repo_job_fail(j, MCP_CODE_INVALID_PARAMS,
                      "What to search for is missing: give either text= or regex=");
        return false;
    }
    int rc = search_needle_new(
        &(search_needle_options){.text = text.ptr ? text : regex, .regex = regex.ptr != NULL},
        &j->r->base.alloc, &s->needle, why);
    if (rc == MCP_EINVAL)
        repo_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    else if (rc != MCP_OK)
        j->asking.rc = rc;
    return rc == MCP_OK;
}

/* Parses a position "LINE:PATH": continue after this line of the file; 0 means that the
 * file is finished. */
static bool take_position(searching *s)
{
    mcp_str after = s->j->target.param[REPO_PARAM_AFTER];
    size_t n = 0;
    if (!after.ptr)
        return true;
    for (; n < after.len && n < 10 && after.ptr[n] >= '0' && after.ptr[n] <= '9'; n++)
        s->behind = s->behind * 10 + (uint64_t)(after.ptr[n] - '0');
    if (n && n + 1 < after.len && after.ptr[n] == ':' && after.len - n <= REPO_PATH_MAX) {
        s->after = (mcp_str){after.ptr + n + 1, after.len - n - 1};
        s->whole = !s->behind;
        return true;
    }
    repo_job_fail(s->j, MCP_CODE_INVALID_PARAMS,
                  "after is not a position in a search: take it from `next`");
    return false;
}

/* Finds the folder to start at. A pattern that contains "*" is a glob, otherwise a path. */
static int find_begin(searching *s, repo_entry *ret)
{
    repo_job *j = s->j;
    mcp_str path = j->target.param[REPO_PARAM_PATH];
    bool is_glob = path.len && memchr(path.ptr, '*', path.len);
    if (is_glob)
        s->glob = path;
    while (path.len && path.ptr[path.len - 1] == '/')
        path.len--;
    if (is_glob || !path.len)
        return repo_find(&j->use, j->target.rev, (mcp_str){"", 0}, ret, &j->fixed);
    if (path.len > REPO_PATH_MAX)
        return MCP_ENOTFOUND;
    memcpy(s->path, path.ptr, path.len);
    s->len = path.len;
    return repo_find(&j->use, j->target.rev, path, ret, &j->fixed);
}

/* Gets the part of the position below the starting folder. Returns false if the position is
 * not below it. */
static bool below(const searching *s, mcp_str *after)
{
    *after = s->after;
    if (!s->len || !after->len)
        return true;
    if (after->len <= s->len || memcmp(after->ptr, s->path, s->len) != 0 ||
        after->ptr[s->len] != '/')
        return false;
    *after = (mcp_str){after->ptr + s->len + 1, after->len - s->len - 1};
    return true;
}

static int search(searching *s, const repo_entry *begin)
{
    mcp_str after;
    repo_target t = target_of(s);
    if (!below(s, &after))
        after = (mcp_str){"", 0};
    if (begin->mode == REPO_MODE_TREE)
        return walk(s, &begin->id, after, 1);
    if ((begin->mode & 0170000) != 0100000 || !repo_job_may(s->j, &t))
        return MCP_ENOTFOUND;
    return search_file(s, begin, s->after.len != 0);
}

static int put_next(searching *s)
{
    char after[sizeof(s->last) + 24];
    repo_target t = s->j->target;
    if (!*s->last)
        return repo_job_fail(s->j, MCP_CODE_INTERNAL,
                             "It took too long before anything was found: search in a folder, "
                             "with path=");
    int len = snprintf(after, sizeof(after), "%llu:%s", (unsigned long long)s->last_line, s->last);
    t.param[REPO_PARAM_AFTER] = (mcp_str){after, (size_t)len};
    mcp_json_key(s->j->json, "next"), repo_put_uri(s->j->json, s->j->r, &t);
    return MCP_OK;
}

static int run(searching *s)
{
    repo_entry begin;
    mcp_json_writer *w = s->j->json;
    int rc = find_begin(s, &begin);
    if (rc != MCP_OK)
        return rc;
    mcp_json_begin_object(w);
    mcp_json_put_array(w, "matches");
    rc = search(s, &begin);
    mcp_json_end(w);
    mcp_json_put_uint(w, "filesSearched", s->files);
    if (s->passed_over)
        mcp_json_put_uint(w, "filesPassedOver", s->passed_over);
    if (rc == MCP_OK && s->full)
        rc = put_next(s);
    mcp_json_end(w);
    return rc;
}

int repo_run_search(repo_job *j)
{
    uint64_t limit;
    if (!repo_job_number(j, REPO_PARAM_LIMIT, 1, MAX_LIMIT, LIMIT, &limit))
        return MCP_OK;
    searching *s = common_alloc(&j->r->base.alloc, sizeof(*s));
    if (!s)
        return MCP_ENOMEM;
    memset(s, 0, sizeof(*s));
    s->j = j;
    s->limit = limit;
    s->glob = s->after = (mcp_str){"", 0};
    s->until = j->use.deadline - (int64_t)(j->r->timeout_ms / 2);
    int rc = take_needle(s) && take_position(s) ? run(s) : MCP_OK;
    search_needle_free(s->needle);
    common_release(&j->r->base.alloc, s);
    return rc;
}
