/* pages.c: follows the pages of a list to its end (2026-07-28, server/utilities/pagination).
 *
 * Cursors are opaque, and the empty string is a valid cursor. To detect a repeated cursor, the
 * client stores a 128-bit hash of each one, because a cursor may be as long as a message. A false
 * match would fail the call. With 10,000 pages, its probability is below 10^-29.
 */
#include "client/client.h"

struct mcp__pages {
    mcp_page_fn *page;
    size_t count;
    mcp__map seen;
    mcp__arena arena; /* the keys of `seen` */
    mcp__buf entries; /* of all pages, as JSON text; empty if a callback takes the pages */
    bool restarted;
    size_t array_len;
    char array[32]; /* the name of the member with the entries; empty if not known yet */
};

/* The array that a page must have, by method. For a method that is not listed, it is the first
 * array in the result. */
static const struct {
    const char *method, *array;
} arrays[] = {
    {"resources/list", "resources"},
    {"resources/templates/list", "resourceTemplates"},
    {"prompts/list", "prompts"},
    {"tools/list", "tools"},
};

mcp_str mcp__array_of(mcp_str method)
{
    for (size_t i = 0; i < MCP__COUNT(arrays); i++) {
        if (mcp_str_eq(method, mcp_str_from(arrays[i].method)))
            return mcp_str_from(arrays[i].array);
    }
    return (mcp_str){NULL, 0};
}

void mcp__pages_free(mcp__pages *pages)
{
    if (!pages)
        return;
    const mcp_allocator *a = pages->arena.allocator;
    mcp__map_free(&pages->seen);
    mcp__arena_free(&pages->arena);
    mcp__buf_free(&pages->entries);
    mcp__release(a, pages);
}

static void set_array(mcp__pages *p, mcp_str name)
{
    if (!name.len || name.len >= sizeof(p->array))
        return;
    memcpy(p->array, name.ptr, name.len);
    p->array_len = name.len;
}

static mcp__pages *pages_new(const mcp_client *client, mcp_str method, mcp_page_fn *page)
{
    mcp__pages *p = mcp__zalloc(client->allocator, sizeof(*p));
    if (!p)
        return NULL;
    p->page = page;
    mcp__map_init(&p->seen, client->allocator, 0, 0);
    mcp__arena_init(&p->arena, client->allocator, NULL, 0);
    mcp__buf_init(&p->entries, client->allocator, client->options.max_list);
    set_array(p, mcp__array_of(method));
    return p;
}

/* ---- one page -------------------------------------------------------------------------------- */

/* Finds the array's name in the first page of a method that is not in the table. */
static void find_array(mcp__pages *p, const mcp_json *result)
{
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; !p->array_len && (v = mcp_json_next(result, &it, &key)) != NULL;) {
        if (mcp_json_is(v, MCP_JSON_ARRAY))
            set_array(p, key);
    }
}

int mcp__page_check(const mcp__call *call, const mcp_json *result, mcp_error *error)
{
    size_t most = call->client->options.max_entries;
    mcp_str array = mcp__array_of(call->method);
    if (most && array.len && mcp_json_count(mcp_json_get_str(result, array)) > most)
        return mcp__fail(error, MCP_ELIMIT, 0,
                         "a page of %s has more than %zu entries (max_entries)", call->method.ptr,
                         most);
    return MCP_OK;
}

static int check_array(const mcp__call *call, const mcp_json *result, mcp_error *error)
{
    mcp__pages *p = call->pages;
    if (!p->array_len)
        find_array(p, result);
    if (!p->array_len && p->page)
        return MCP_OK; /* the callback knows the form of the pages */
    mcp_str name = {p->array_len ? p->array : "entries", p->array_len ? p->array_len : 7};
    mcp_json_type type = mcp_json_typeof(mcp_json_get_str(result, name));
    if (type != MCP_JSON_ARRAY)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the answer to %s is malformed: \"%.*s\" is %s, not array",
                         call->method.ptr, (int)name.len, name.ptr, mcp_json_type_name(type));
    return MCP_OK;
}

static int collect(const mcp__call *call, const mcp_json *result, mcp_error *error)
{
    mcp__pages *p = call->pages;
    mcp_json_iter it = {0};
    const mcp_json *array = mcp_json_get_str(result, (mcp_str){p->array, p->array_len});
    for (const mcp_json *v; !p->entries.failed && (v = mcp_json_next(array, &it, NULL)) != NULL;) {
        if (p->entries.len)
            mcp__buf_char(&p->entries, ',');
        mcp__json_put_value(&p->entries, v);
    }
    if (p->entries.failed == MCP_ELIMIT)
        return mcp__fail(error, MCP_ELIMIT, 0, "%s is longer than %zu bytes (max_list)",
                         call->method.ptr, call->client->options.max_list);
    return p->entries.failed;
}

/* Composes a result: the last page with the entries of all pages. */
static int compose(const mcp__call *call, const mcp_json *last, mcp_json_doc **ret)
{
    const mcp__pages *p = call->pages;
    mcp_str array = {p->array, p->array_len};
    mcp_json_iter it = {0};
    mcp_str key;
    mcp__buf b;
    mcp__buf_init(&b, call->client->allocator, 0);
    mcp__json_list page = mcp__json_begin_object(&b);
    mcp__json_key(&page, array);
    mcp__buf_char(&b, '[');
    mcp__buf_str(&b, mcp__buf_view(&p->entries));
    mcp__buf_char(&b, ']');
    for (const mcp_json *v; (v = mcp_json_next(last, &it, &key)) != NULL;) {
        if (mcp_str_eq(key, array) || mcp_str_eq(key, MCP_STR("nextCursor")))
            continue;
        mcp__json_key(&page, key);
        mcp__json_put_value(&b, v);
    }
    mcp__json_end(&page);
    int rc = b.failed;
    if (rc == MCP_OK) {
        mcp_json_limits limits = {
            .size = sizeof(limits), .max_bytes = b.len, .max_depth = MCP__JSON_DEEPEST};
        rc = mcp_json_parse(mcp__buf_view(&b), &limits, call->client->allocator, ret, NULL);
    }
    mcp__buf_free(&b);
    return rc;
}

/* ---- the next page -------------------------------------------------------------------------- */

/* Remembers a cursor. Returns MCP_EEXIST if it occurred before. */
static int remember_cursor(mcp__pages *p, mcp_str cursor)
{
    static const uint64_t seeds[2][2] = {{0x6d63702d6c697374, 1}, {0x6d63702d6c697374, 2}};
    uint64_t *key = mcp__arena_alloc(&p->arena, 2 * sizeof(*key));
    if (!key)
        return MCP_ENOMEM;
    key[0] = mcp__siphash(cursor.ptr, cursor.len, seeds[0]);
    key[1] = mcp__siphash(cursor.ptr, cursor.len, seeds[1]);
    return mcp__map_add(&p->seen, (mcp_str){(const char *)key, 2 * sizeof(*key)}, key);
}

static int request_next(mcp__call *call, const mcp_json *cursor, mcp_error *error)
{
    mcp__pages *p = call->pages;
    size_t max_pages = call->client->options.max_pages;
    if (!mcp_json_is(cursor, MCP_JSON_STRING))
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the answer to %s is malformed: \"nextCursor\" is %s, not string",
                         call->method.ptr, mcp_json_type_name(mcp_json_typeof(cursor)));
    if (p->count >= max_pages)
        return mcp__fail(error, MCP_ELIMIT, 0, "%s has more than %zu pages (max_pages)",
                         call->method.ptr, p->count);
    int rc = remember_cursor(p, mcp_json_string(cursor));
    if (rc == MCP_EEXIST)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "%s does not end: after page %zu the server gave a cursor a second time",
                         call->method.ptr, p->count);
    if (rc != MCP_OK)
        return rc;
    mcp__buf_reset(&call->params, 0);
    mcp__buf_lit(&call->params, "\"cursor\":");
    mcp__json_put_value(&call->params, cursor);
    call->members = call->params.len;
    return call->params.failed;
}

bool mcp__pages_restart(mcp__call *call, int64_t code)
{
    mcp__pages *p = call->pages;
    if (code != MCP__INVALID_PARAMS || !p->count || p->page || p->restarted)
        return false;
    p->restarted = true;
    p->count = 0;
    mcp__map_free(&p->seen);
    mcp__map_init(&p->seen, call->client->allocator, 0, 0);
    mcp__buf_reset(&p->entries, SIZE_MAX);
    mcp__buf_reset(&call->params, SIZE_MAX);
    call->members = 0;
    mcp__call_again(call, 0);
    return true;
}

/* Finishes the call with the entries of all pages. */
static void finish(mcp__call *call, const mcp_json *last)
{
    mcp_json_doc *all = NULL;
    int rc = call->pages->page ? MCP_OK : compose(call, last, &all);
    if (rc == MCP_OK)
        mcp__call_finish(call, MCP_OK, all ? mcp_json_root(all) : last, NULL);
    else
        mcp__call_fail(call, rc);
    mcp_json_free(all);
}

void mcp__pages_take(mcp__call *call, const mcp_json *result)
{
    mcp__pages *p = call->pages;
    mcp_error error = {0};
    p->count++;
    int rc = check_array(call, result, &error);
    if (rc == MCP_OK && !p->page)
        rc = collect(call, result, &error);
    if (rc == MCP_OK && p->page && !p->page(call->client, result, call->options.user))
        rc = mcp__fail(&error, MCP_ECANCELLED, 0, "stopped by the caller");
    const mcp_json *cursor = mcp_json_get(result, "nextCursor");
    bool last = !cursor || mcp_json_is(cursor, MCP_JSON_NULL);
    if (rc == MCP_OK && !last)
        rc = request_next(call, cursor, &error);
    if (rc != MCP_OK && !error.code)
        mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    if (rc != MCP_OK)
        mcp__call_finish(call, rc, NULL, &error);
    else if (last)
        finish(call, result);
    else
        mcp__call_again(call, 0);
}

/* ---- public calls --------------------------------------------------------------------------- */

int mcp_client_list_all(mcp_client *client, const char *method, mcp_page_fn *page,
                        const mcp_call_options *options, mcp_call_id *ret)
{
    mcp__call *call = NULL;
    if (!client || !method || !*method)
        return MCP_EINVAL;
    int rc = mcp__call_new(client, mcp_str_from(method), (mcp_str){0}, options, &call);
    if (rc != MCP_OK)
        return rc;
    call->pages = pages_new(client, call->method, page);
    if (!call->pages) {
        mcp__call_free(call);
        return MCP_ENOMEM;
    }
    return mcp__call_begin(call, ret);
}

int mcp_client_list(mcp_client *client, const char *method, mcp_page_fn *page, mcp_result_fn *fn,
                    void *user)
{
    return mcp_client_list_all(client, method, page,
                               MCP_OPTIONS(mcp_call_options, .done = fn, .user = user), NULL);
}
