/* list_servers.c: mcpctl servers: the names that -s accepts. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "entry.h"

typedef struct listing_servers {
    ctl *c;
    mcp_json_writer *w; /* for --json; NULL to print lines */
    size_t count;
} listing_servers;

static int put_part(void *user, entry_part part, mcp_str name, mcp_str text)
{
    FILE *to = user;
    (void)name;
    if (part != ENTRY_WORD && part != ENTRY_URL)
        return EXIT_OK;
    if (ftello(to))
        fputc(' ', to);
    text_put_raw(to, text);
    return EXIT_OK;
}

/* Returns the command line, such as "npx -y server", or the address, as in the file. Variables are
 * not expanded. */
static char *command_of(const mcp_json *entry)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    entry_walk(entry, put_part, f);
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

static bool is_object_of(const server_file *file, const mcp_json *v)
{
    const mcp_json *object;
    for (size_t i = 0; server_objects(file, i, &object); i++)
        if (object == v)
            return true;
    return false;
}

static bool on_file(const server_file *file, void *user)
{
    const mcp_json *object;
    mcp_str name;
    for (size_t i = 0; server_objects(file, i, &object); i++) {
        mcp_json_iter it = {0};
        for (const mcp_json *v; (v = mcp_json_next(object, &it, &name)) != NULL;) {
            /* In opencode's "mcp", servers may be one level deeper. */
            bool is_entry = mcp_json_is(v, MCP_JSON_OBJECT) && !is_object_of(file, v);
            if (is_entry)
                put_server(user, file->path, name, v);
        }
    }
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
