/* fixture_provider.c: the provider of the fixture: mem:a to mem:f. */
#include "fixture_state.h"

#include <stdio.h>

static int list_now(mcp_request *req, const char *cursor, size_t max)
{
    char first = *cursor ? (char)(*cursor + 1) : 'a';
    if (first < 'a' || first > 'g')
        return MCP_EINVAL;
    size_t room = max;
    for (char c = first; c <= 'f'; c++) {
        char uri[] = "mem:?", name[] = "?", position[] = "?";
        uri[4] = name[0] = c;
        position[0] = (char)(c - 1);
        if (room-- == 0)
            return mcp_reply_next(req, (mcp_str){position, 1});
        int rc = mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = name));
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

static int finish_list(fixture *f, waiting *w)
{
    (void)f;
    return list_now(w->req, w->text, w->max);
}

static int mem_list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    fixture *f = user;
    char text[2] = {cursor.len ? *cursor.ptr : 0, 0};
    if (cursor.len > 1)
        return MCP_EINVAL;
    return f->deferred_list ? fixture_wait_for(f, req, mcp_str_from(text), max, finish_list)
                            : list_now(req, text, max);
}

/* Parses a letter from a to f in lower or upper case; stores it in lower case. */
static bool mem_letter(mcp_str uri, char *ret)
{
    if (uri.len != 5)
        return false;
    char c = uri.ptr[4];
    *ret = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
    return *ret >= 'a' && *ret <= 'f';
}

static int read_now(mcp_request *req, char letter)
{
    return mcp_reply_textf(req, "This is %c", letter);
}

static int finish_read(fixture *f, waiting *w)
{
    (void)f;
    return read_now(w->req, w->text[0]);
}

static int mem_read(mcp_request *req, mcp_str uri, void *user)
{
    char letter;
    if (mcp_str_eq(uri, MCP_STR("mem:later")))
        return fixture_wait_for(user, req, MCP_STR("z"), 0, finish_read);
    return mem_letter(uri, &letter) ? read_now(req, letter) : MCP_ENOTFOUND;
}

static int mem_resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    char letter;
    (void)user;
    if (!mem_letter(uri, &letter))
        return MCP_ENOTFOUND;
    int len = snprintf(canonical, room, "mem:%c", letter);
    return (size_t)len < room ? MCP_OK : MCP_ELIMIT;
}

static int mem_watch(const char *canonical, void *user)
{
    fixture *f = user;
    if (strcmp(canonical, "mem:f") == 0)
        return MCP_EUNSUPPORTED;
    f->n_watched++;
    return MCP_OK;
}

static void mem_unwatch(const char *canonical, void *user)
{
    fixture *f = user;
    (void)canonical;
    f->n_watched--;
}

static int mem_watch_list(void *user)
{
    fixture *f = user;
    f->n_list_watched++;
    return MCP_OK;
}

static void mem_unwatch_list(void *user)
{
    fixture *f = user;
    f->n_list_watched--;
}

const mcp_provider fixture_mem = {
    .size = sizeof(mcp_provider),
    .name = "mem",
    .list = mem_list,
    .read = mem_read,
    .resolve = mem_resolve,
    .watch = mem_watch,
    .unwatch = mem_unwatch,
    .watch_list = mem_watch_list,
    .unwatch_list = mem_unwatch_list,
};

size_t fixture_watched(const fixture *f)
{
    return f->n_watched;
}

size_t fixture_list_watched(const fixture *f)
{
    return f->n_list_watched;
}
