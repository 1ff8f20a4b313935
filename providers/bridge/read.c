/* read.c: read_resource: sends resources/read to the server itself (loopback.h) and converts the
 * contents to a tool result.
 *
 * Text becomes text content, whatever its MIME type, because models can read it and hosts refuse
 * unknown types. Images and audio become content of their kind, and everything else an embedded
 * resource.
 */
#define _GNU_SOURCE
#include "tools.h"

#include <stdio.h>

#include "file_parts.h"

/* Limit for binary contents, because a host has to process them in one message. */
enum { MOST_BYTES = 4 << 20 };

typedef enum step {
    AT_RESOURCE = 0, /* reading the resource */
    AT_FOLDER,       /* reading the folder that a missing resource would be in */
    AT_LIST,         /* nothing similar was found there: reading the first page of the list */
} step;

typedef struct reading {
    bridge_tools *all;
    mcp_request *req;
    step step;
    mcp_str uri;    /* with its query */
    mcp_str folder; /* the folder that should contain the resource, or empty */
    common_ask ask;
    bridge_near near;
} reading;

/* ---- contents -------------------------------------------------------------------------------- */

static bool is_kind(mcp_str type, const char *kind)
{
    size_t len = strlen(kind);
    return type.len >= len && memcmp(type.ptr, kind, len) == 0;
}

/* With several contents, each is preceded by its URI. */
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
    mcp_content c = {.size = sizeof(c),
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
            "It has %zu bytes of binary data, more than this tool returns at once (%d). Read a "
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

/* ---- errors ---------------------------------------------------------------------------------- */

static int put_error(const reading *r)
{
    mcp_str message = mcp_json_string(mcp_json_get(r->ask.error, "message"));
    return mcp_reply_tool_error(r->req, "%.*s", (int)message.len, message.ptr ? message.ptr : "");
}

/* Writes the error for a missing resource, with similar URIs. */
static int reply_not_found(const reading *r)
{
    const bridge_near *n = &r->near;
    const char *before[BRIDGE_NEAR] = {" Did you mean ", ", or ", ", or "}, *uris[BRIDGE_NEAR];
    for (size_t i = 0; i < BRIDGE_NEAR; i++) {
        uris[i] = i < n->n ? n->uris[i] : "";
        before[i] = i < n->n ? before[i] : "";
    }
    return mcp_reply_tool_error(r->req,
                                "There is no resource %.*s, or it is not served.%s%s%s%s%s%s%s Use "
                                "list_resources or find_resources to see what is available.",
                                r->uri.len < 500 ? (int)r->uri.len : 500, r->uri.ptr, before[0],
                                uris[0], before[1], uris[1], before[2], uris[2], n->n ? "?" : "");
}

static bool is_not_found(const reading *r)
{
    mcp_str message = mcp_json_string(mcp_json_get(r->ask.error, "message"));
    return r->ask.rc == MCP_OK && mcp_str_eq(message, MCP_STR("Resource not found"));
}

/* Looks for similar URIs in the folder's listing, whose lines end with a URI. */
static int try_folder(reading *r)
{
    const mcp_json *content = mcp_json_at(mcp_json_get(r->ask.result, "contents"), 0);
    mcp_str text = mcp_json_string(mcp_json_get(content, "text"));
    int rc = MCP_OK;
    for (size_t at = 0, len; rc == MCP_OK && at < text.len; at += len + 1) {
        const char *line = text.ptr + at, *lf = memchr(line, '\n', text.len - at);
        len = lf ? (size_t)(lf - line) : text.len - at;
        const char *tab = memrchr(line, '\t', len);
        if (tab)
            rc = bridge_near_try(&r->near, r->req,
                                 (mcp_str){tab + 1, len - (size_t)(tab + 1 - line)});
    }
    return rc;
}

/* Returns whether the URI is below a folder of the list, or in the folder of one of its files. */
static bool is_within(mcp_str uri, const mcp_json *list)
{
    mcp_json_iter it = {0};
    for (const mcp_json *one; (one = mcp_json_next(list, &it, NULL)) != NULL;) {
        mcp_str at = mcp_json_string(mcp_json_get(one, "uri"));
        mcp_str type = mcp_json_string(mcp_json_get(one, "mimeType"));
        if (!mcp_str_eq(type, MCP_STR("inode/directory")))
            at.len = (size_t)(bridge_last_piece(at).ptr - at.ptr);
        at.len -= at.len && at.ptr[at.len - 1] == '/';
        if (at.len && uri.len > at.len && uri.ptr[at.len] == '/' &&
            memcmp(uri.ptr, at.ptr, at.len) == 0)
            return true;
    }
    return false;
}

/* A path elsewhere on this machine is not a misspelled one of a served folder. */
static int try_list(reading *r)
{
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(r->ask.result, "resources");
    bool is_path = r->uri.len > 5 && memcmp(r->uri.ptr, "file:", 5) == 0;
    int rc = MCP_OK;
    if (is_path && !is_within(r->uri, list))
        return MCP_OK;
    for (const mcp_json *one; rc == MCP_OK && (one = mcp_json_next(list, &it, NULL)) != NULL;)
        rc = bridge_near_try(&r->near, r->req, mcp_json_string(mcp_json_get(one, "uri")));
    return rc;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void put_uri(mcp_json_writer *w, const void *user)
{
    const reading *r = user;
    mcp_json_put_str(w, "uri", r->step == AT_FOLDER ? r->folder : r->uri);
}

#define PART(kind, name, title, about, parameters)     parameters
#define NAME(kind, member, name, value, bounds, about) name,
#define ROOM(kind, member, name, value, bounds, about) +sizeof("&" name "=9223372036854775807")

static const char *const parts[] = {COMMON_PARTS(PART, NAME, NAME)};

enum {
    PARTS = sizeof(parts) / sizeof(*parts),
    PARTS_ROOM = COMMON_PARTS(PART, ROOM, ROOM),
};

/* Appends the arguments to the URI as a query. Returns NULL if memory is exhausted. */
static const char *with_parts(mcp_request *req, mcp_str uri, const mcp_json *arguments)
{
    size_t room = uri.len + PARTS_ROOM;
    char *to = mcp_request_alloc(req, room);
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
            (size_t)snprintf(to + len, room - len, "%c%s=%lld", sign, parts[i], (long long)number);
        sign = '&';
    }
    to[len] = '\0';
    return to;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void later(void *user);

/* Returns whether the mount's URIs have the same scheme as the missing URI. */
static bool list_mount(const char *prefix, void *user)
{
    const reading *r = user;
    size_t len = strcspn(prefix, ":") + 1;
    return r->uri.len >= len && strncmp(r->uri.ptr, prefix, len) == 0;
}

static int ask(reading *r, step what)
{
    common_ask_clear(&r->ask);
    r->step = what;
    r->ask = (common_ask){.req = r->req,
                          .method = what == AT_LIST ? "resources/list" : "resources/read",
                          .put = what == AT_LIST ? NULL : put_uri,
                          .later = later,
                          .user = r,
                          .list_mount = list_mount,
                          .mounts_user = r,
                          .progress = what == AT_RESOURCE};
    return common_loopback_ask(r->all->bridge->loopback, &r->ask);
}

/* Looks for similar URIs. Returns MCP_OK when the next answer is available, MCP_PENDING, or
 * MCP_ENOTFOUND when there are no further places to look. */
static int find_similar(reading *r)
{
    int rc = MCP_OK;
    if (r->step == AT_RESOURCE) {
        r->near.name = bridge_last_piece(r->uri);
        r->folder = (mcp_str){r->uri.ptr, (size_t)(r->near.name.ptr - r->uri.ptr)};
        r->folder.len -= r->folder.len > 0; /* the slash */
    } else {
        rc = r->step == AT_FOLDER ? try_folder(r) : try_list(r);
    }
    if (rc != MCP_OK || r->near.n || r->step == AT_LIST)
        return rc == MCP_OK ? MCP_ENOTFOUND : rc;
    return ask(r, r->step == AT_RESOURCE && r->folder.len ? AT_FOLDER : AT_LIST);
}

static int reply(reading *r)
{
    mcp_str type = mcp_json_string(mcp_json_get(r->ask.result, "resultType"));
    if (r->ask.rc != MCP_OK)
        return r->ask.rc;
    if (!r->ask.result)
        return put_error(r);
    if (type.ptr && !mcp_str_eq(type, MCP_STR("complete")))
        return mcp_reply_tool_error(r->req, "It asks for input, which a tool cannot pass on: read "
                                            "it as a resource.");
    return put_contents(r);
}

/* Continues after an answer. */
static int advance(reading *r)
{
    int rc = MCP_OK;
    if (r->step == AT_RESOURCE && !is_not_found(r)) {
        rc = reply(r);
    } else {
        do
            rc = r->ask.rc == MCP_OK ? find_similar(r) : r->ask.rc;
        while (rc == MCP_OK);
        if (rc == MCP_PENDING)
            return rc;
        if (rc == MCP_ENOTFOUND)
            rc = reply_not_found(r);
    }
    common_ask_clear(&r->ask);
    return rc;
}

static void later(void *user)
{
    reading *r = user;
    mcp_request *req = r->req;
    int rc = advance(r);
    if (rc != MCP_PENDING)
        mcp_reply_finish(req, rc);
}

int bridge_call_read(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str uri = mcp_json_string(mcp_json_get(arguments, "uri"));
    reading *r = mcp_request_alloc(req, sizeof(*r));
    const char *whole = r ? with_parts(req, uri, arguments) : NULL;
    if (!whole)
        return MCP_ENOMEM;
    *r = (reading){.all = user, .req = req, .uri = mcp_str_from(whole)};
    if (memchr(uri.ptr, 0, uri.len))
        return mcp_reply_tool_error(
            req, "uri contains NUL, which is not allowed in a URI: encode it as %%00.");
    int rc = ask(r, AT_RESOURCE);
    return rc == MCP_OK ? advance(r) : rc;
}
