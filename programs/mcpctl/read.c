/* read.c: mcpctl read URI..., and printing contents of resources for other commands. */
#define _GNU_SOURCE
#include "read.h"

#include <stdlib.h>

#include "fetch.h"
#include "part.h"
#include "view.h"

typedef struct reading {
    const char *uri;
    part part;
    bool cut; /* the server returns only the whole resource, from which the part is extracted */
    json_list *json;
} reading;

/* ---- contents -------------------------------------------------------------------------------- */

static int put_bytes(const reading *r, mcp_str bytes)
{
    if (r->cut)
        bytes = part_cut(&r->part, bytes);
    text_put_raw(stdout, bytes);
    return EXIT_OK;
}

/* Prints rows and commits in a readable form. Returns false if the contents have another form, or
 * if the user wants them unchanged. */
static bool put_view(const ctl *c, const reading *r, mcp_str type, mcp_str text)
{
    bool json = !type.len || memmem(type.ptr, type.len, "json", 4);
    size_t i = 0;
    if (!c->out_is_terminal || c->set.raw || r->part.kind != PART_ALL || !json)
        return false;
    while (i < text.len && strchr(" \t\r\n", text.ptr[i]))
        i++;
    return i < text.len && strchr("[{", text.ptr[i]) &&
           view_put(stdout, text,
                    &(table_look){.width = out_columns(c),
                                  .head = style_of(c, STYLE_BOLD),
                                  .first = style_of(c, STYLE_NAME),
                                  .dim = style_of(c, STYLE_DIM),
                                  .plain = style_of(c, STYLE_NONE)});
}

/* Returns whether the text is that of a file in UTF-16, as the MIME type says, and in which order. */
static bool is_utf16(mcp_str type, bool *big)
{
    const char *charset = type.len ? memmem(type.ptr, type.len, ";charset=utf-16", 15) : NULL;
    mcp_str order = {charset ? charset + 15 : "",
                     charset ? (size_t)(type.ptr + type.len - charset) - 15 : 0};
    *big = mcp_str_eq(order, MCP_STR("be"));
    return *big || mcp_str_eq(order, MCP_STR("le"));
}

static void put_unit(uint32_t unit, bool big)
{
    char bytes[] = {(char)(unit >> 8), (char)(unit & 0xff)};
    char turned[] = {bytes[1], bytes[0]};
    text_put_raw(stdout, (mcp_str){big ? bytes : turned, sizeof(bytes)});
}

/* A pipe gets the file's bytes. */
static void put_utf16(mcp_str text, bool big)
{
    for (size_t at = 0; at < text.len;) {
        mcp_char c = mcp_char_at((mcp_str){text.ptr + at, text.len - at});
        if (c.code >= 0x10000)
            put_unit(0xd800 + ((c.code - 0x10000) >> 10), big);
        put_unit(c.code >= 0x10000 ? 0xdc00 + (c.code & 0x3ff) : c.code, big);
        at += c.size;
    }
}

static int put_text(const ctl *c, const reading *r, mcp_str type, mcp_str text)
{
    bool big;
    if (put_view(c, r, type, text))
        return EXIT_OK;
    if (r->cut)
        text = part_cut(&r->part, text);
    if (!c->out_is_terminal && is_utf16(type, &big))
        put_utf16(text, big);
    else
        put_block(c, text);
    return EXIT_OK;
}

static int put_blob(const ctl *c, const reading *r, mcp_str blob)
{
    if (c->out_is_terminal && !c->set.force) {
        say("read %s: the contents are binary and not written to a terminal", r->uri);
        hint("write them to a file with --output FILE, or use --force");
        return EXIT_LOCAL;
    }
    size_t len = 0;
    char *bytes = malloc(blob.len + 1);
    int code = EXIT_OK;
    if (!bytes) {
        say("read %s: out of memory", r->uri);
        code = EXIT_LOCAL;
    } else if (mcp_base64_decode(bytes, blob, &len) != MCP_OK) {
        say("read %s: \"blob\" is not Base64: the server breaks the protocol", r->uri);
        code = EXIT_PROTOCOL;
    } else {
        code = put_bytes(r, (mcp_str){bytes, len});
    }
    free(bytes);
    return code;
}

static int put_content(const ctl *c, const reading *r, const mcp_json *content)
{
    const mcp_json *text = mcp_json_get(content, "text"), *blob = mcp_json_get(content, "blob");
    /* Some servers omit `text` if it is empty. */
    bool empty = !text && !blob;
    if (!empty && !mcp_json_is(text, MCP_JSON_STRING) && !mcp_json_is(blob, MCP_JSON_STRING)) {
        say("read %s: contents with neither \"text\" nor \"blob\": the server breaks the protocol",
            r->uri);
        return EXIT_PROTOCOL;
    }
    if (r->json)
        return json_list_add(c, r->json, content);
    if (empty || mcp_json_is(text, MCP_JSON_STRING))
        return put_text(c, r, mcp_json_string(mcp_json_get(content, "mimeType")),
                        empty ? MCP_STR("") : mcp_json_string(text));
    return put_blob(c, r, mcp_json_string(blob));
}

static int on_contents(ctl *c, const mcp_json *result, void *user)
{
    const reading *r = user;
    const mcp_json *contents = mcp_json_get(result, "contents");
    if (!mcp_json_is(contents, MCP_JSON_ARRAY)) {
        say("read %s: an answer without \"contents\": the server breaks the protocol", r->uri);
        return EXIT_PROTOCOL;
    }
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(contents, &it, NULL)) != NULL;) {
        int code = put_content(c, r, v);
        if (code != EXIT_OK)
            return code;
    }
    return EXIT_OK;
}

/* ---- one resource ---------------------------------------------------------------------------- */

char *read_params(const char *uri)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    char what[1024];
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "uri", uri);
    mcp_json_end(w);
    snprintf(what, sizeof(what), "read %s", uri);
    return take_written(what, w);
}

static int read_part(ctl *c, reading *r, const char *uri)
{
    char what[1024], *params = read_params(uri);
    if (!params)
        return EXIT_USAGE;
    snprintf(what, sizeof(what), "read %s", r->uri);
    int code = session_call(c, what, "resources/read", params, on_contents, r);
    free(params);
    return code;
}

/* Reads the resource without the server. */
static int read_from_web(ctl *c, reading *r)
{
    r->cut = r->part.kind != PART_ALL;
    return fetch_resource(c, r->uri, on_contents, r);
}

static int read_one(ctl *c, reading *r)
{
    if (c->set.fetch && fetch_is_for(r->uri))
        return read_from_web(c, r);
    char *uri = r->part.kind != PART_ALL ? part_uri(c, &r->part, r->uri) : NULL;
    r->cut = r->part.kind != PART_ALL && !uri;
    int code = read_part(c, r, uri ? uri : r->uri);
    free(uri);
    if (code == EXIT_REMOTE && fetch_is_for(r->uri) && fetch_ask(r->uri))
        code = read_from_web(c, r);
    return code;
}

int read_resource(ctl *c, const char *uri, json_list *json)
{
    reading r = {.uri = uri, .json = json};
    return read_one(c, &r);
}

/* ---- read ------------------------------------------------------------------------------------ */

int run_read(ctl *c)
{
    reading r = {0};
    json_list json;
    int first_failure = part_make(c, &r.part);
    if (first_failure == EXIT_OK)
        first_failure = output_begin(c);
    if (first_failure != EXIT_OK)
        return first_failure;
    if (c->set.json) {
        json_list_begin(&json, "contents");
        r.json = &json;
    }
    for (size_t i = 0; i < c->n_args; i++) {
        r.uri = c->args[i];
        int code = read_one(c, &r);
        if (first_failure == EXIT_OK)
            first_failure = code;
        if (code == EXIT_CONNECT || ferror(stdout))
            break;
    }
    if (r.json)
        first_failure = json_list_end(c, r.json, first_failure);
    return first_failure;
}
