/* read.c: mcpctl read URI... */
#include <stdlib.h>
#include <string.h>

#include "mcpctl.h"

typedef struct reading {
    const char *uri;
    size_t count;
    mcp_json_writer *json;
} reading;

static int put_text(const ctl *c, mcp_str text)
{
    if (!c->out_is_terminal) {
        fwrite(text.ptr, 1, text.len, stdout);
        return EXIT_OK;
    }
    text_put(stdout, text, TEXT_BLOCK);
    if (text.len && text.ptr[text.len - 1] != '\n')
        putchar('\n');
    return EXIT_OK;
}

static int put_blob(const ctl *c, const reading *r, mcp_str blob)
{
    if (c->out_is_terminal && !c->set.force) {
        say("read %s: these are binary contents, which a terminal should not get", r->uri);
        hint("write them to a file with '> FILE', or use --force");
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
        fwrite(bytes, 1, len, stdout);
    }
    free(bytes);
    return code;
}

static int put_json(const ctl *c, reading *r, const mcp_json *content)
{
    mcp_str text;
    mcp_json_writer_reset(r->json);
    mcp_json_add_value(r->json, content);
    int rc = mcp_json_writer_finish(r->json, &text);
    if (rc != MCP_OK) {
        say("read %s: %s", r->uri, mcp_error_text(rc));
        return EXIT_LOCAL;
    }
    fputs(r->count ? ",\n" : "\n", stdout);
    put_json_text(c, text);
    return EXIT_OK;
}

static int put_content(const ctl *c, reading *r, const mcp_json *content)
{
    const mcp_json *text = mcp_json_get(content, "text"), *blob = mcp_json_get(content, "blob");
    if (!mcp_json_is(text, MCP_JSON_STRING) && !mcp_json_is(blob, MCP_JSON_STRING)) {
        say("read %s: contents with neither \"text\" nor \"blob\": the server breaks the protocol",
            r->uri);
        return EXIT_PROTOCOL;
    }
    if (r->json)
        return put_json(c, r, content);
    if (mcp_json_is(text, MCP_JSON_STRING))
        return put_text(c, mcp_json_string(text));
    return put_blob(c, r, mcp_json_string(blob));
}

static int on_contents(ctl *c, const mcp_json *result, void *user)
{
    reading *r = user;
    const mcp_json *contents = mcp_json_get(result, "contents");
    if (!mcp_json_is(contents, MCP_JSON_ARRAY)) {
        say("read %s: an answer without \"contents\": the server breaks the protocol", r->uri);
        return EXIT_PROTOCOL;
    }
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(contents, &it, NULL)) != NULL; r->count++) {
        int code = put_content(c, r, v);
        if (code != EXIT_OK)
            return code;
    }
    return EXIT_OK;
}

/* {"uri":"…"}, to be freed; NULL after saying why. */
static char *make_params(const char *uri)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_key(w, "uri"), mcp_json_add_string(w, uri);
    mcp_json_end(w);
    mcp_str text;
    int rc = mcp_json_writer_finish(w, &text);
    char *params = rc == MCP_OK ? text_dup(text) : NULL;
    if (rc == MCP_EINVAL)
        say("read %s: a URI has to be UTF-8", uri);
    else if (!params)
        say("read %s: out of memory", uri);
    mcp_json_writer_free(w);
    return params;
}

static int read_one(ctl *c, reading *r)
{
    char *params = make_params(r->uri);
    if (!params)
        return EXIT_USAGE;
    char what[1024];
    snprintf(what, sizeof(what), "read %s", r->uri);
    int code = session_call(c, what, "resources/read", params, on_contents, r);
    free(params);
    return code;
}

int run_read(ctl *c)
{
    reading r = {0};
    if (c->set.json) {
        r.json = mcp_json_writer_new(NULL, 0);
        fputs("{\"contents\":[", stdout);
    }
    int first_failure = EXIT_OK;
    for (size_t i = 0; i < c->n_args; i++) {
        r.uri = c->args[i];
        int code = read_one(c, &r);
        if (first_failure == EXIT_OK)
            first_failure = code;
        if (code == EXIT_CONNECT || ferror(stdout))
            break;
    }
    if (c->set.json)
        fputs(r.count ? "\n]}\n" : "]}\n", stdout);
    mcp_json_writer_free(r.json);
    return first_failure;
}
