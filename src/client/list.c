/* list.c: follows the pages of a list to its end (2026-07-28, server/utilities/pagination).
 *
 * Cursors are opaque, and the empty one is a cursor like any other. The surprising thing: of the cursors
 * seen only 128 bits each are kept, since a server may make them as long as a message. A false match
 * would end a list too early; with 10,000 pages its odds are below 10^-29.
 */
#include "client/client.h"

typedef struct list {
    mcp_client *client;
    bool (*page)(mcp_client *client, const mcp_json *result, void *user);
    mcp_result_fn *fn;
    void *user;
    size_t pages;
    mcp__map seen;
    mcp__arena arena; /* the keys of `seen`, and the method */
    const char *method;
} list;

/* The array that a page must have; a method that is not here is not checked. */
static const struct {
    const char *method, *array;
} arrays[] = {
    {"resources/list", "resources"},
    {"resources/templates/list", "resourceTemplates"},
    {"prompts/list", "prompts"},
    {"tools/list", "tools"},
};

static void on_page(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user);

static void list_free(list *l)
{
    mcp__map_free(&l->seen);
    mcp__arena_free(&l->arena);
    mcp__release(l->client->allocator, l);
}

static void finish(list *l, int rc, const mcp_json *result, const mcp_error *error)
{
    mcp_client *client = l->client;
    mcp_result_fn *fn = l->fn;
    void *user = l->user;
    list_free(l);
    if (fn)
        fn(client, rc, result, error, user);
}

static int check_array(const list *l, const mcp_json *result, mcp_error *error)
{
    for (size_t i = 0; i < MCP__COUNT(arrays); i++) {
        if (strcmp(arrays[i].method, l->method) != 0)
            continue;
        mcp_json_type type = mcp_json_typeof(mcp_json_get(result, arrays[i].array));
        if (type != MCP_JSON_ARRAY)
            return mcp__fail(error, MCP_EPROTOCOL, 0, "in the answer to %s \"%s\" is %s, not array",
                             l->method, arrays[i].array, mcp_json_type_name(type));
    }
    return MCP_OK;
}

/* Notes a cursor. MCP_EEXIST: it was there before. */
static int note(list *l, mcp_str cursor)
{
    static const uint64_t seeds[2][2] = {{0x6d63702d6c697374, 1}, {0x6d63702d6c697374, 2}};
    uint64_t *key = mcp__arena_alloc(&l->arena, 2 * sizeof(*key));
    if (!key)
        return MCP_ENOMEM;
    key[0] = mcp__siphash(cursor.ptr, cursor.len, seeds[0]);
    key[1] = mcp__siphash(cursor.ptr, cursor.len, seeds[1]);
    return mcp__map_add(&l->seen, (mcp_str){(const char *)key, 2 * sizeof(*key)}, key);
}

static int ask(list *l, const mcp_json *cursor)
{
    if (!cursor)
        return mcp_client_call(l->client, l->method, NULL, on_page, l);
    mcp__buf b;
    mcp__buf_init(&b, l->client->allocator, 0);
    mcp__buf_lit(&b, "{\"cursor\":");
    mcp__json_put_value(&b, cursor);
    mcp__buf_lit(&b, "}\0");
    int rc = b.failed;
    if (rc == MCP_OK)
        rc = mcp_client_call(l->client, l->method, b.ptr, on_page, l);
    mcp__buf_free(&b);
    return rc;
}

static int ask_next(list *l, const mcp_json *cursor, mcp_error *error)
{
    if (!mcp_json_is(cursor, MCP_JSON_STRING))
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "in the answer to %s \"nextCursor\" is %s, not string", l->method,
                         mcp_json_type_name(mcp_json_typeof(cursor)));
    if (l->pages >= l->client->max_pages)
        return mcp__fail(error, MCP_ELIMIT, 0, "%s goes on after %zu pages (max_pages)", l->method,
                         l->pages);
    int rc = note(l, mcp_json_string(cursor));
    if (rc == MCP_EEXIST)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "%s does not end: after page %zu the server gave a cursor a second time",
                         l->method, l->pages);
    if (rc == MCP_OK)
        rc = ask(l, cursor);
    return rc == MCP_OK ? MCP_OK : mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
}

static void on_page(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    list *l = user;
    mcp_error own = {0};
    if (rc != MCP_OK) {
        finish(l, rc, result, error);
        return;
    }
    l->pages++;
    rc = check_array(l, result, &own);
    if (rc == MCP_OK && l->page && !l->page(client, result, l->user))
        rc = mcp__fail(&own, MCP_ECANCELLED, 0, "stopped by the caller");
    const mcp_json *cursor = mcp_json_get(result, "nextCursor");
    bool last = !cursor || mcp_json_is(cursor, MCP_JSON_NULL);
    if (rc == MCP_OK && !last)
        rc = ask_next(l, cursor, &own);
    if (rc != MCP_OK)
        finish(l, rc, NULL, &own);
    else if (last)
        finish(l, MCP_OK, result, NULL);
}

int mcp_client_list(mcp_client *client, const char *method,
                    bool (*page)(mcp_client *client, const mcp_json *result, void *user),
                    mcp_result_fn *fn, void *user)
{
    if (!client || !method)
        return MCP_EINVAL;
    list *l = mcp__zalloc(client->allocator, sizeof(*l));
    if (!l)
        return MCP_ENOMEM;
    l->client = client;
    l->page = page;
    l->fn = fn;
    l->user = user;
    mcp__map_init(&l->seen, client->allocator, 0, 0);
    mcp__arena_init(&l->arena, client->allocator, NULL, 0);
    l->method = mcp__arena_strdup(&l->arena, mcp_str_from(method));
    int rc = l->method ? ask(l, NULL) : MCP_ENOMEM;
    if (rc != MCP_OK)
        list_free(l);
    return rc;
}
