/* list_servers.c: mcpctl servers: the names that -s accepts. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "servers.h"

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
        mcp_json_put_str(l->w, "name", name);
        mcp_json_put_string(l->w, "file", path);
        mcp_json_put_value(l->w, "entry", entry);
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

static bool on_entry(const server_file *file, mcp_str name, const mcp_json *entry, void *user)
{
    put_server(user, file->path, name, entry);
    return true;
}

static bool on_file(const server_file *file, void *user)
{
    return server_entries(file, on_entry, user);
}

int run_servers(ctl *c)
{
    listing_servers l = {.c = c};
    if (c->set.json) {
        l.w = mcp_json_writer_new(NULL, 0);
        mcp_json_begin_object(l.w);
        mcp_json_put_array(l.w, "servers");
    }
    int code =
        server_files(c->set.config.items, c->set.config.count, server_say, on_file, &l) == MCP_OK
            ? EXIT_OK
            : EXIT_USAGE;
    if (!c->set.json) {
        if (!l.count && !c->set.quiet)
            say("no configuration file has a server");
        return code;
    }
    if (code != EXIT_OK) {
        mcp_json_writer_free(l.w);
        return code;
    }
    mcp_json_end(l.w), mcp_json_end(l.w);
    return put_written(c, "servers", l.w);
}
