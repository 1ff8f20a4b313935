/* main.c: mcpd, a server that offers folders and files as MCP resources over stdin and stdout, or
 * over HTTP.
 *
 * Puts the pieces together and stops: the command line (options.c), the files provider, the runners of
 * libmcp-io (HTTP's options are http.c's business). It uses nothing that another program could not. Nothing is read, watched or
 * started before a peer asks for it, so that a host sees the first answer in a few milliseconds.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <files.h>
#include <mcp/io.h>
#include <mcp/mcp.h>
#include <prompts.h>

#include "entry.h"
#include "http.h"
#include "log.h"
#include "modules.h"
#include "options.h"

static int fail(const mcp_error *error)
{
    fprintf(stderr, "mcpd: %s\n", error->text[0] ? error->text : mcp_error_text(error->code));
    return 1;
}

/* ---- what the model is told ------------------------------------------------------------------ */

static const char how_to_files[] =
    "\nList them with resources/list; read one by its file:// URI. Parts of a large file: add "
    "?offset=BYTE&length=BYTES, ?line=FIRST&lines=COUNT (lines count from 1) or ?tail=LINES. A "
    "folder "
    "reads as its listing; add ?depth=LEVELS&limit=ENTRIES.";

static bool is_utf8(const char *text)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json;
    mcp_json_add_string(w, text);
    bool ok = w && mcp_json_writer_finish(w, &json) == MCP_OK;
    mcp_json_writer_free(w);
    return ok;
}

static void name_source(FILE *to, const char *source)
{
    char *path = NULL;
    if (!modules_is_source(source))
        source = path = realpath(source, NULL); /* as the URIs have it */
    if (source && is_utf8(source))
        fprintf(to, "\n- %s", source);
    free(path);
}

/* NULL: no memory, or no sources; free() it. */
static char *make_instructions(const settings *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = s->sources.count ? open_memstream(&text, &size) : NULL;
    if (!to)
        return NULL;
    fprintf(to, "This server offers the following as resources:");
    for (size_t i = 0; i < s->sources.count && i < 20; i++)
        name_source(to, s->sources.items[i]);
    if (s->sources.count > 20)
        fprintf(to, "\n- and %zu more", s->sources.count - 20);
    fputs(s->files.count ? how_to_files : "\nList them with resources/list.", to);
    fputs(" Everything is read-only.", to);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- the server ------------------------------------------------------------------------------ */

static int make_server(const settings *s, const mcp_host *host, mcp_server **ret, mcp_error *error)
{
    char *made = s->instructions ? NULL : make_instructions(s);
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = s->name ? s->name : "mcpd",
                                        .version = MCP_VERSION_STRING,
                                        .instructions = s->instructions ? s->instructions : made,
                                        .page_size = (size_t)s->page_size,
                                        .no_subscribe = s->no_subscribe || s->no_watch,
                                        .no_list_changed = s->no_list_changed || s->no_watch,
                                        .declare_prompts = s->prompts, .host = host),
                            ret, error);
    free(made);
    return rc;
}

/* XDG_DATA_HOME, or its default below the home folder; NULL: none. free() it. */
static char *data_home(void)
{
    const char *set = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char *path = NULL;
    if (set && *set)
        return strdup(set);
    if (!home || !*home || asprintf(&path, "%s/.local/share", home) < 0)
        return NULL;
    return path;
}

static int mount_files(const settings *s, mcp_server *server, mcp_files **handle, mcp_error *error)
{
    char *home = data_home();
    int rc = mcp_files_mount(
        server,
        MCP_OPTIONS(mcp_files_options, .sources = s->files.items, .n_sources = s->files.count,
                    .hidden = s->hidden, .no_ignore = s->no_ignore, .include = s->include.items,
                    .n_include = s->include.count, .exclude = s->exclude.items,
                    .n_exclude = s->exclude.count, .max_read = (size_t)s->max_read,
                    .watch_budget = (size_t)s->watch_budget, .no_watch = s->no_watch,
                    .tools = s->resource_tools, .data_home = home,
                    .data_dirs = getenv("XDG_DATA_DIRS"), .handle = handle),
        error);
    free(home);
    return rc;
}

/* In the order of the command line, which is the order of the lists; files and folders are one mount. */
static int mount_sources(const settings *s, modules *m, mcp_server *server, mcp_files **handle,
                         mcp_error *error)
{
    bool files = false;
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < s->modules.count; i++)
        rc = modules_load(m, s->modules.items[i], error);
    for (size_t i = 0; rc == MCP_OK && i < s->sources.count; i++) {
        if (modules_is_source(s->sources.items[i]))
            rc = modules_mount_word(m, server, s->sources.items[i], error);
        else if (!files)
            files = true, rc = mount_files(s, server, handle, error);
    }
    return rc;
}

static int add_prompts(const settings *s, mcp_server *server, mcp_prompts **ret, mcp_error *error)
{
    if (!s->prompts)
        return MCP_OK;
    return mcp_prompts_add(
        server, MCP_OPTIONS(mcp_prompts_options, .folder = s->prompts, .no_watch = s->no_watch),
        ret, error);
}

/* A person who starts it by hand would otherwise see nothing at all. */
static void greet(const settings *s)
{
    if (isatty(STDIN_FILENO))
        fprintf(stderr,
                "mcpd: serving %s%s on stdin and stdout; waiting for an MCP client (Ctrl-D ends).\n"
                "A host starts it itself: see mcpd --print-config.\n",
                options_what(s), s->sources.count > 1 ? " and more" : "");
}

/* A read that hangs (a file system whose server is gone) must not keep us from ending; and its thread
 * must find what it uses for as long as it runs. */
static void finish_work(mcp_loop *loop, int rc)
{
    enum { MOST_MS = 2000 };
    if (mcp_loop_drain(loop, rc == MCP_ETIMEOUT ? 0 : MOST_MS) != MCP_ETIMEOUT)
        return;
    fputs("mcpd: a read does not end; it is left behind\n", stderr);
    _exit(1);
}

static int serve(const settings *s, modules *m)
{
    mcp_error error = {0};
    mcp_loop *loop = NULL;
    mcp_server *server = NULL;
    mcp_files *watching = NULL;
    mcp_prompts *prompts = NULL;
    int rc = mcp_loop_new(NULL, &loop, &error);
    if (rc == MCP_OK) {
        mcp_host host = *mcp_loop_host(loop);
        host.log = log_line;
        rc = make_server(s, &host, &server, &error);
    }
    if (rc == MCP_OK)
        rc = mount_sources(s, m, server, &watching, &error);
    if (rc == MCP_OK)
        rc = add_prompts(s, server, &prompts, &error);
    if (rc == MCP_OK && s->print_config) {
        mcp_prompts_free(prompts);
        mcp_server_free(server);
        mcp_loop_free(loop);
        return entry_print(s, m);
    }
    if (rc == MCP_OK) {
        if (!s->http.count)
            greet(s);
        rc = s->http.count ? http_serve(s, loop, server, watching, &error)
                           : mcp_loop_serve_stdio(loop, server, NULL, &error);
        finish_work(loop, rc);
    }
    mcp_prompts_free(prompts);
    mcp_server_free(server);
    mcp_loop_free(loop);
    error.code = rc;
    return rc == MCP_OK ? 0 : fail(&error);
}

static int run(const settings *s)
{
    if (s->help)
        return options_help(stdout), 0;
    if (s->help_man)
        return options_man(stdout), 0;
    if (s->version)
        return printf("mcpd %s\n", mcp_version()), 0;
    if (!options_what(s)) {
        options_usage(stderr);
        fprintf(stderr, "Name a folder or a file to serve, or try 'mcpd --help'.\n");
        return 2;
    }
    if (!s->http.count && (s->token_file || s->tls_cert || s->tls_key)) {
        fprintf(stderr, "mcpd: --token-file, --tls-cert and --tls-key need --http\n");
        return 2;
    }
    log_configure(s);
    modules *m = modules_new();
    int rc = m ? serve(s, m) : fail(&(mcp_error){.code = MCP_ENOMEM});
    modules_free(m);
    return rc;
}

int main(int argc, char **argv)
{
    settings s;
    int rc = options_parse(argc, argv, &s);
    if (rc == 0)
        rc = run(&s);
    options_clear(&s);
    if (rc == 0 && fflush(stdout) != 0)
        rc = 1;
    return rc;
}
