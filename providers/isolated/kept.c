/* kept.c: answers that are kept in this process, because their files are unchanged.
 *
 * An answer is kept only if the process names the files on which it depends (depends.h). The names
 * are asked for when the same request arrives a second time. The answer belongs to the files as
 * they were before and after the process made it, so a second answer with the same names is needed
 * to find out that they were the same: the first one says which files to look at, and the request for
 * the second one must arrive after that. So from the fourth equal request on, the process is not
 * asked. Each time the files are examined again.
 *
 * Requests are equal if the process would get the same params, with the same description of the
 * caller. Callers with access rules are always answered by the process, because it finds out which
 * names to ask about. All answers are forgotten when the process ends. A source has a limited room for
 * its answers (mcp_isolated_options.max_kept).
 *
 * The process is not trusted. It can name only files below its own source, or those that SQLite has
 * beside it, and learns nothing about them: only these files are examined, and no links in their names
 * are followed. If it names too few, its own
 * answers are outdated.
 */
#include <string.h>

#include "depends.h"
#include "kept.h"

/* A process that names no files that may be relied on is asked for them again after this time. */
enum { NEVER_MS = 10 * 1000 };

/* The longest request and result that are kept, as a part of the room for all. */
enum { PART = 16 };

void isolated_result_free(isolated_result *result)
{
    mcp_json_free(result->doc);
    if (result->text.ptr)
        common_buffer_free(&result->text);
    *result = (isolated_result){.doc = NULL};
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool may_keep(const isolated_call *c)
{
    const isolated *r = c->owner;
    return !r->trials && !c->list && !c->caller && r->options.paths && r->options.paths[0] &&
           strcmp(c->method, "resources/read") == 0 && !mcp_request_restricted(c->req);
}

static bool is_of(const isolated_kept_entry *e, const isolated_params *p)
{
    return e->key && e->key_len == p->len && memcmp(e->key, p->members, p->len) == 0;
}

bool isolated_kept_answer(isolated_call *c, int *rc)
{
    isolated *r = c->owner;
    if (!may_keep(c))
        return false;
    uint64_t number = isolated_kept_number(&c->params);
    isolated_kept_entry *e = isolated_kept_find(r, number);
    e = e ? e : isolated_kept_enter(r, number);
    if (!e)
        return false;
    if (r->stamped && is_of(e, &c->params) && isolated_files_unchanged(&e->files)) {
        const mcp_raw raw = {.size = sizeof(raw),
                             .json = {e->result.text.ptr, e->result.text.len},
                             .value = mcp_json_root(e->result.doc)};
        r->kept_answers++;
        *rc = mcp_reply_raw(c->req, &raw);
        return true;
    }
    isolated_kept_forget(r, e);
    if (isolated_now(r) >= e->not_until) {
        c->kept = number;
        c->kept_at = ++r->kept_clock;
        c->asks_files = true;
        isolated_params_ask_files(&c->params);
    }
    isolated_kept_count(r, e);
    return false;
}

/* ---- results --------------------------------------------------------------------------------- */

static bool nothing(mcp_str key)
{
    (void)key;
    return false;
}

static bool is_files(mcp_str key)
{
    return mcp_str_eq(key, MCP_STR(COMMON_META_FILES));
}

/* Appends the result without the names of files. */
static int put_result(common_buffer *b, const mcp_raw *raw)
{
    const mcp_json *meta = mcp_json_get(raw->value, "_meta");
    mcp_str text = {NULL, 0}, none;
    int rc = common_buffer_append(b, "{", 1);
    if (rc == MCP_OK)
        rc = isolated_put_members(b, raw->value, raw->json, nothing, &text);
    if (rc == MCP_OK && mcp_json_count(meta) > 1) {
        rc = common_put(b, b->len > 1 ? ",\"_meta\":{" : "\"_meta\":{") ? MCP_OK : MCP_ENOMEM;
        if (rc == MCP_OK)
            rc = isolated_put_members(b, meta, text, is_files, &none);
        if (rc == MCP_OK)
            rc = common_buffer_append(b, "}", 1);
    }
    return rc == MCP_OK ? common_buffer_append(b, "}", 1) : rc;
}

/* Keeps the answer if the files are those of the last one, unchanged since before the request
 * arrived, and those of the source for which the process was started. Otherwise remembers them. */
static void consider(const isolated_call *c, isolated_kept_entry *e, const mcp_json *names,
                     isolated_result *result)
{
    isolated *r = c->owner;
    isolated_files now;
    isolated_outlook all = isolated_files_look(r, names, &now);
    bool current = isolated_source_is_current(r);
    if (result->text.len + c->params.len > r->options.max_kept / PART)
        all = ISOLATED_NEVER;
    if (all == ISOLATED_NEVER)
        e->not_until = isolated_now(r) + NEVER_MS;
    isolated_kept_forget(r, e);
    bool keeps = all == ISOLATED_KEEP && current && c->kept_at > e->looked &&
                 isolated_files_same(&e->files, &now);
    if (keeps)
        e->key = common_copy(&r->alloc, c->params.members, c->params.len);
    if (e->key) {
        e->key_len = c->params.len;
        e->result = *result;
        *result = (isolated_result){.doc = NULL}; /* the caller's mcp_raw still points to it */
    }
    isolated_files_free(r, &e->files);
    e->files = now;
    e->looked = ++r->kept_clock;
    isolated_kept_count(r, e);
}

/* The result may be kept for long. */
static void shrink(common_buffer *b)
{
    char *ptr = b->len < b->cap ? b->alloc.resize(b->ptr, b->len, b->alloc.user) : NULL;
    if (!ptr)
        return;
    b->ptr = ptr;
    b->cap = b->len;
}

/* Parses the text of the result with an allocator that counts. */
static int parse(isolated *r, mcp_str text, isolated_result *to)
{
    const mcp_allocator counting = {isolated_count_allocate, isolated_count_resize,
                                    isolated_count_release, r};
    size_t before = r->counted;
    int rc = mcp_json_parse(text, NULL, &counting, &to->doc, NULL);
    to->doc_bytes = r->counted - before;
    return rc;
}

int isolated_kept_take(const isolated_call *c, mcp_raw *raw, isolated_result *to)
{
    isolated *r = c->owner;
    const mcp_json *names = mcp_json_get(mcp_json_get(raw->value, "_meta"), COMMON_META_FILES);
    isolated_kept_entry *e = isolated_kept_find(r, c->kept);
    if (!names && e)
        e->not_until = isolated_now(r) + NEVER_MS;
    if (!names)
        return MCP_OK;
    common_buffer_init(&to->text, &r->alloc);
    int rc = put_result(&to->text, raw);
    if (rc == MCP_OK)
        shrink(&to->text);
    raw->json = (mcp_str){to->text.ptr, to->text.len};
    if (rc == MCP_OK)
        rc = parse(r, raw->json, to);
    raw->value = mcp_json_root(to->doc);
    if (rc == MCP_OK && e)
        consider(c, e, names, to);
    return rc == MCP_EPARSE || rc == MCP_ELIMIT ? MCP_EPROTOCOL : rc;
}
