/* ls.c: mcpctl ls. Each page is printed when it comes, so that memory does not grow with the list; the
 * columns of the table are those of the widest page so far.
 */
#include "mcpctl.h"

enum { WIDEST_NAME = 40, WIDEST_TYPE = 30 };

typedef struct listing {
    size_t count;
    size_t name, type; /* widths; 0: no table yet */
    mcp_json_writer *json;
} listing;

typedef struct row {
    mcp_str uri, name, type;
    char size[24];
} row;

static row row_of(const mcp_json *resource)
{
    row r = {
        .uri = mcp_json_string(mcp_json_get(resource, "uri")),
        .name = mcp_json_string(mcp_json_get(resource, "name")),
        .type = mcp_json_string(mcp_json_get(resource, "mimeType")),
    };
    int64_t size = mcp_json_int(mcp_json_get(resource, "size"), -1);
    if (size >= 0)
        snprintf(r.size, sizeof(r.size), "%lld", (long long)size);
    return r;
}

static void widen(size_t *width, mcp_str s, size_t most)
{
    size_t w = text_width(s);
    w = w < most ? w : most;
    *width = *width > w ? *width : w;
}

static void put_row(const ctl *c, const listing *l, const row *r)
{
    if (c->set.long_form) {
        put_field(c, r->uri);
        printf("\t%s\t", r->size);
        put_field(c, r->type);
        putchar('\t');
        put_field(c, r->name);
    } else if (c->out_is_terminal) {
        text_put_cell(stdout, r->name, l->name);
        printf("  %12s  ", r->size);
        text_put_cell(stdout, r->type, l->type);
        fputs("  ", stdout);
        text_put(stdout, r->uri, TEXT_LINE);
    } else {
        put_field(c, r->uri);
    }
    putchar('\n');
}

static int put_json(const ctl *c, listing *l, const mcp_json *resource)
{
    mcp_str text;
    mcp_json_writer_reset(l->json);
    mcp_json_add_value(l->json, resource);
    int rc = mcp_json_writer_finish(l->json, &text);
    if (rc != MCP_OK) {
        say("ls: %s", mcp_error_text(rc));
        return EXIT_LOCAL;
    }
    fputs(l->count ? ",\n" : "\n", stdout);
    put_json_text(c, text);
    return EXIT_OK;
}

static void put_heading(listing *l, const mcp_json *resources)
{
    bool first = l->name == 0;
    l->name = l->name > 4 ? l->name : 4;
    l->type = l->type > 4 ? l->type : 4;
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(resources, &it, NULL)) != NULL;) {
        row r = row_of(v);
        widen(&l->name, r.name, WIDEST_NAME);
        widen(&l->type, r.type, WIDEST_TYPE);
    }
    if (first && mcp_json_count(resources))
        printf("%-*s  %12s  %-*s  %s\n", (int)l->name, "NAME", "SIZE", (int)l->type, "TYPE", "URI");
}

static int on_page(ctl *c, const mcp_json *result, void *user)
{
    listing *l = user;
    const mcp_json *resources = mcp_json_get(result, "resources");
    if (c->out_is_terminal && !c->set.long_form && !l->json)
        put_heading(l, resources);
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(resources, &it, NULL)) != NULL; l->count++) {
        row r = row_of(v);
        if (!r.uri.len) {
            say("ls: entry %zu has no \"uri\": the server breaks the protocol", l->count + 1);
            return EXIT_PROTOCOL;
        }
        if (!l->json)
            put_row(c, l, &r);
        else if (put_json(c, l, v) != EXIT_OK)
            return EXIT_LOCAL;
    }
    /* Whoever reads sees each page at once, and when nobody reads any more, an endless list ends. */
    return flush_stdout(c) ? EXIT_OK : EXIT_LOCAL;
}

int run_ls(ctl *c)
{
    listing l = {0};
    if (c->set.json) {
        l.json = mcp_json_writer_new(NULL, 0);
        fputs("{\"resources\":[", stdout);
    }
    int code = EXIT_OK;
    if (mcp_json_get(mcp_client_server_capabilities(c->client), "resources"))
        code = session_list(c, "ls", "resources/list", on_page, &l);
    else if (!c->set.quiet)
        say("this server offers no resources; 'mcpctl info' shows what it offers");
    if (c->set.json && code == EXIT_OK)
        fputs(l.count ? "\n]}\n" : "]}\n", stdout);
    mcp_json_writer_free(l.json);
    return code;
}
