/* browse.c: mcpctl browse: runs mcpctl-browse, a program of its own, so that mcpctl does not load
 * ncurses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/sibling.h>

#include "servers.h"

/* The command line of the other program, and the server that has a name in a configuration file. */
typedef struct line {
    texts options;
    server *named;
} line;

static bool add_option(texts *argv, const char *name, const char *value)
{
    return !value || (texts_add(argv, name) && texts_add(argv, value));
}

/* Finds a named server, after the same confirmations as for other commands. */
static int find_named(const ctl *c, const char *name, line *l)
{
    ctl one = *c;
    one.server = NULL;
    one.set.server = name;
    if (l->named || c->server) {
        say("only one server may be a command or an entry of a configuration file");
        return EXIT_USAGE;
    }
    return server_find(&one, &l->named);
}

static int add_server(const ctl *c, const char *name, line *l)
{
    if (!name)
        return EXIT_OK;
    int code = is_address(name) ? EXIT_OK : find_named(c, name, l);
    if (code != EXIT_OK || (!is_address(name) && l->named->argv))
        return code;
    return add_option(&l->options, "--server", is_address(name) ? name : l->named->url)
               ? EXIT_OK
               : EXIT_LOCAL;
}

/* Sets what a named server needs. Headers may be secrets, so they are not on the command line, which
 * others can see. */
static bool prepare(const ctl *c, const server *s)
{
    char *headers = NULL;
    size_t len;
    FILE *f = open_memstream(&headers, &len);
    for (size_t i = 0; f && s && i < s->headers.count; i++)
        fprintf(f, "%s\n", s->headers.items[i]);
    for (size_t i = 0; f && !s && i < c->set.headers.count; i++)
        fprintf(f, "%s\n", c->set.headers.items[i]);
    bool ok = f && fclose(f) == 0 && setenv("MCPCTL_BROWSE_HEADERS", headers, 1) == 0;
    free(headers);
    for (size_t i = 0; ok && s && i < s->env.count; i++)
        ok = putenv(s->env.items[i]) == 0;
    if (ok && s && s->cwd && chdir(s->cwd) != 0) {
        say("%s: %s", s->cwd, strerror(errno));
        return false;
    }
    return ok;
}

/* Makes the command line of the other program. Returns an exit code. */
static int make_line(const ctl *c, line *l)
{
    bool ok = texts_add(&l->options, "mcpctl-browse") &&
              add_option(&l->options, "--theme", c->set.theme) &&
              add_option(&l->options, "--images", c->set.images) &&
              add_option(&l->options, "--budget", c->set.budget) &&
              add_option(&l->options, "--sampler", c->set.sampler);
    int code = ok ? add_server(c, c->set.server, l) : EXIT_LOCAL;
    for (size_t i = 0; code == EXIT_OK && i < c->n_args; i++)
        code = add_server(c, c->args[i], l);
    const char *const *argv = l->named && l->named->argv ? l->named->argv : c->server;
    if (code == EXIT_OK && argv)
        ok = texts_add(&l->options, "--");
    for (size_t i = 0; ok && code == EXIT_OK && argv && argv[i]; i++)
        ok = texts_add(&l->options, argv[i]);
    if (code == EXIT_OK && !(ok && texts_add(&l->options, NULL) && prepare(c, l->named)))
        code = EXIT_LOCAL;
    return code;
}

int run_browse(ctl *c)
{
    char path[PATH_MAX];
    line l = {.named = NULL};
    if (!sibling_find("mcpctl-browse", path)) {
        say("mcpctl-browse is not installed: mcpctl was built without it");
        hint("to build it, install ncursesw and md4c (Debian: libncurses-dev, libmd4c-dev); "
             "'mcpctl shell' works everywhere");
        return EXIT_LOCAL;
    }
    int code = make_line(c, &l);
    if (code == EXIT_OK) {
        execv(path, (char **)(void *)l.options.items);
        say("cannot run %s: %s", path, strerror(errno));
        code = EXIT_LOCAL;
    }
    texts_clear(&l.options);
    server_free(l.named);
    return code;
}
