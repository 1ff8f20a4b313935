/* read.c: read_resource: resources/read by the front door, and its contents in the form of a tool's result.
 *
 * Text is text, whatever its MIME type, because a model reads it and hosts refuse types that they do not know; pictures
 * and sounds are what they are, and everything else is an embedded resource.
 */
#define _GNU_SOURCE
#include "tools.h"

#include <stdio.h>

enum { MOST_BYTES = 4 << 20 }; /* of binary contents: a host has to carry them in one message */

typedef struct reading {
    bridge_tools *all;
    mcp_request *req;
    mcp_str uri;
    common_ask ask;
} reading;

/* ---- contents ------------------------------------------------------------------------------------ */

static bool is_kind(mcp_str type, const char *kind)
{
    size_t len = strlen(kind);
    return type.len >= len && memcmp(type.ptr, kind, len) == 0;
}

/* Of several contents each says which it is. */
static int put_text(reading *r, const mcp_json *content, bool several)
{
    mcp_str uri = mcp_json_string(mcp_json_get(content, "uri"));
    mcp_str text = mcp_json_string(mcp_json_get(content, "text"));
    int rc = MCP_OK;
    if (several)
        rc = mcp_reply_textf(r->req, "%.*s:", (int)uri.len, uri.ptr ? uri.ptr : "");
    return rc == MCP_OK ? mcp_reply_str(r->req, text, NULL) : rc;
}

static int put_bytes(reading *r, const mcp_json *content, const void *bytes, size_t len)
{
    mcp_str uri = mcp_json_string(mcp_json_get(content, "uri"));
    mcp_str type = mcp_json_string(mcp_json_get(content, "mimeType"));
    mcp_content c = {.size = sizeof c,
                     .kind = is_kind(type, "image/")   ? MCP_CONTENT_IMAGE
                             : is_kind(type, "audio/") ? MCP_CONTENT_AUDIO
                                                       : MCP_CONTENT_RESOURCE,
                     .bytes = bytes,
                     .bytes_len = len,
                     .uri = mcp_request_strdup(r->req, uri),
                     .mime_type = type.ptr ? mcp_request_strdup(r->req, type) : NULL};
    if (!c.uri || (type.ptr && !c.mime_type))
        return MCP_ENOMEM;
    return mcp_reply_content(r->req, &c);
}

static int put_blob(reading *r, const mcp_json *content)
{
    mcp_str blob = mcp_json_string(mcp_json_get(content, "blob"));
    const mcp_allocator *alloc = &r->all->alloc;
    size_t len = blob.len / 4 * 3;
    if (len > MOST_BYTES)
        return mcp_reply_tool_error(
            r->req,
            "It has %zu bytes that are no text, more than this tool returns at once (%d). Read a "
            "part of a file: offset and length.",
            len, MOST_BYTES);
    void *bytes = common_alloc(alloc, len + 1);
    if (!bytes)
        return MCP_ENOMEM;
    int rc = mcp_base64_decode(bytes, blob, &len);
    if (rc == MCP_OK)
        rc = put_bytes(r, content, bytes, len);
    common_release(alloc, bytes);
    return rc;
}

static int put_contents(reading *r)
{
    const mcp_json *contents = mcp_json_get(r->ask.result, "contents");
    bool several = mcp_json_count(contents) > 1;
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    for (const mcp_json *c; rc == MCP_OK && (c = mcp_json_next(contents, &it, NULL)) != NULL;)
        rc = mcp_json_get(c, "blob") ? put_blob(r, c) : put_text(r, c, several);
    return rc;
}

/* ---- what goes wrong ----------------------------------------------------------------------------- */

static int put_error(reading *r)
{
    mcp_str message = mcp_json_string(mcp_json_get(r->ask.error, "message"));
    if (mcp_str_eq(message, MCP_STR("Resource not found")))
        return mcp_reply_tool_error(
            r->req,
            "There is no resource %.*s, or it is not served. list_resources and "
            "find_resources show what there is.",
            r->uri.len < 500 ? (int)r->uri.len : 500, r->uri.ptr);
    return mcp_reply_tool_error(r->req, "%.*s", (int)message.len, message.ptr ? message.ptr : "");
}

static int finish(reading *r)
{
    mcp_str type = mcp_json_string(mcp_json_get(r->ask.result, "resultType"));
    int rc = r->ask.rc;
    if (rc == MCP_OK && !r->ask.result)
        rc = put_error(r);
    else if (rc == MCP_OK && type.ptr && !mcp_str_eq(type, MCP_STR("complete")))
        rc = mcp_reply_tool_error(r->req, "It asks for input, which a tool cannot pass on: read "
                                          "it as a resource.");
    else if (rc == MCP_OK)
        rc = put_contents(r);
    common_ask_clear(&r->ask);
    return rc;
}

static void later(void *user)
{
    reading *r = user;
    mcp_request *req = r->req;
    mcp_reply_finish(req, finish(r));
}

/* ---- what is asked for --------------------------------------------------------------------------- */

static void put_uri(mcp_json_writer *w, const void *user)
{
    mcp_json_key(w, "uri"), mcp_json_add_str(w, ((const reading *)user)->uri);
}

static const char *const parts[] = {"offset", "length", "line", "lines", "tail", "depth", "limit"};

enum { PARTS = sizeof parts / sizeof *parts, PART_ROOM = 32 };

/* The arguments as parameters behind the URI. NULL: no memory. */
static const char *with_parts(mcp_request *req, mcp_str uri, const mcp_json *arguments)
{
    char *to = mcp_request_alloc(req, uri.len + PARTS * PART_ROOM + 1);
    if (!to)
        return NULL;
    memcpy(to, uri.ptr, uri.len);
    size_t len = uri.len;
    char sign = memchr(uri.ptr, '?', uri.len) ? '&' : '?';
    for (size_t i = 0; i < PARTS; i++) {
        int64_t number = mcp_json_int(mcp_json_get(arguments, parts[i]), -1);
        if (number < 0)
            continue;
        len +=
            (size_t)snprintf(to + len, PART_ROOM, "%c%s=%lld", sign, parts[i], (long long)number);
        sign = '&';
    }
    to[len] = '\0';
    return to;
}

int bridge_call_read(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str uri = mcp_json_string(mcp_json_get(arguments, "uri"));
    reading *r = mcp_request_alloc(req, sizeof *r);
    const char *whole = r ? with_parts(req, uri, arguments) : NULL;
    if (!whole)
        return MCP_ENOMEM;
    *r = (reading){.all = user, .req = req, .uri = mcp_str_from(whole)};
    r->ask = (common_ask){.req = req,
                          .method = "resources/read",
                          .put = put_uri,
                          .later = later,
                          .user = r,
                          .progress = true};
    if (memchr(uri.ptr, 0, uri.len))
        return mcp_reply_tool_error(req, "uri holds a NUL, which no URI has: encode it as %%00.");
    int rc = common_door_ask(r->all->bridge->door, &r->ask);
    return rc == MCP_OK ? finish(r) : rc;
}
