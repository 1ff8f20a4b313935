/* list_servers.c: mcpctl servers: the names that -s understands. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "servers.h"

typedef struct listing_servers {
    ctl *c;
    mcp_json_writer *w; /* NULL: lines */
    size_t count;
} listing_servers;

/* "npx -y server" or an address, as it stands in the file: nothing is expanded. */
static char *command_of(const mcp_json *entry)
{
    char *text = NULL;
    size_t size;
    mcp_str program = mcp_json_string(mcp_json_get(entry, "command"));
    mcp_str url = mcp_json_string(mcp_json_get(entry, "url"));
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    mcp_str first = program.len ? program : url;
    if (first.len)
        fwrite(first.ptr, 1, first.len, f);
    mcp_json_iter it = {0};
    const mcp_json *args = mcp_json_get(entry, "args");
    for (const mcp_json *v; program.len && (v = mcp_json_next(args, &it, NULL)) != NULL;) {
        mcp_str arg = mcp_json_string(v);
        fputc(' ', f);
        if (arg.len)
            fwrite(arg.ptr, 1, arg.len, f);
    }
    fclose(f);
    return text;
}

static void put_server(listing_servers *l, const char *path, mcp_str name, const mcp_json *entry)
{
    char *line = command_of(entry);
    mcp_str shown = mcp_str_from(line);
    l->count++;
    if (l->w) {
        mcp_json_begin_object(l->w);
        mcp_json_key(l->w, "name"), mcp_json_add_str(l->w, name);
        mcp_json_key(l->w, "file"), mcp_json_add_string(l->w, path);
        mcp_json_key(l->w, "entry"), mcp_json_add_value(l->w, entry);
        mcp_json_end(l->w);
    } else {
        put_styled(l->c, STYLE_NAME, name);
        putchar('\t');
        put_field(l->c, shown);
        putchar('\t');
        put_field(l->c, mcp_str_from(path));
        putchar('\n');
    }
    free(line);
}

static bool on_file(const char *path, bool project, const mcp_json *root, void *user)
{
    mcp_json_iter it = {0};
    mcp_str name;
    const mcp_json *entries = server_entries(root);
    (void)project;
    for (const mcp_json *v; (v = mcp_json_next(entries, &it, &name)) != NULL;)
        put_server(user, path, name, v);
    return true;
}

int run_servers(ctl *c)
{
    listing_servers l = {.c = c};
    if (c->set.json) {
        l.w = mcp_json_writer_new(NULL, 0);
        mcp_json_begin_object(l.w);
        mcp_json_key(l.w, "servers"), mcp_json_begin_array(l.w);
    }
    int code = server_files(c, on_file, &l);
    if (!c->set.json) {
        if (!l.count && !c->set.quiet)
            say("no configuration file has a server");
        return code;
    }
    mcp_json_end(l.w), mcp_json_end(l.w);
    int written = put_written(c, "servers", l.w);
    return code == EXIT_OK ? written : code;
}
