/* browse.c: mcpctl browse: runs mcpctl-browse, a program of its own, so that mcpctl does not load
 * ncurses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/file.h>

#include "servers.h"

/* Where it is, relative to the folder of mcpctl. */
static const char *const places[] = {"/mcpctl-browse", "/../libexec/mcp/mcpctl-browse"};

static bool find_program(char to[PATH_MAX])
{
    char own[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[len > 0 ? len : 0] = 0;
    char *slash = strrchr(own, '/');
    if (!slash)
        return false;
    *slash = 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (snprintf(to, PATH_MAX, "%s%s", own, places[i]) < PATH_MAX && file_is_program(to))
            return true;
    return false;
}

static bool add_option(texts *argv, const char *name, const char *value)
{
    return !value || (texts_add(argv, name) && texts_add(argv, value));
}

/* Makes the command line of the other program. */
static bool make_line(const ctl *c, texts *argv)
{
    bool ok = texts_add(argv, "mcpctl-browse") && add_option(argv, "--theme", c->set.theme) &&
              add_option(argv, "--server", c->set.server);
    for (size_t i = 0; ok && i < c->n_args; i++)
        ok = add_option(argv, "--server", c->args[i]);
    for (size_t i = 0; ok && i < c->set.headers.count; i++)
        ok = add_option(argv, "--header", c->set.headers.items[i]);
    if (ok && c->server)
        ok = texts_add(argv, "--");
    for (size_t i = 0; ok && c->server && c->server[i]; i++)
        ok = texts_add(argv, c->server[i]);
    return ok && texts_add(argv, NULL);
}

int run_browse(ctl *c)
{
    char path[PATH_MAX];
    texts argv = {0};
    if (!find_program(path)) {
        say("mcpctl-browse is not installed: mcpctl was built without it");
        hint("to build it, install ncursesw and md4c (Debian: libncurses-dev, libmd4c-dev); "
             "'mcpctl shell' works everywhere");
        return EXIT_LOCAL;
    }
    if (make_line(c, &argv))
        execv(path, (char **)(void *)argv.items);
    say("cannot run %s: %s", path, strerror(errno));
    texts_clear(&argv);
    return EXIT_LOCAL;
}
