/* confine.c: enters the sandbox and runs a program of others in it. */
#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/file.h>
#include <common/text.h>
#include <mcp/sys/children.h>

enum { MOST_PATHS = 104, NOT_STARTED = 126 };

/* The lists of a sandbox. */
typedef struct lists {
    const char *read[MOST_PATHS + 1], *write[MOST_PATHS + 1];
    size_t n_read, n_write;
    bool network;
    char **program;
    char found[2][PATH_MAX], folder[2][PATH_MAX];
} lists;

static void allow(lists *l, const char *path)
{
    if (l->n_read < MOST_PATHS)
        l->read[l->n_read++] = path;
}

static bool parse(lists *l, int argc, char **argv)
{
    int i = 2;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--network") == 0)
            l->network = true;
        else if (strcmp(argv[i], "--read") == 0 && i + 1 < argc)
            allow(l, argv[++i]);
        else if (strcmp(argv[i], "--write") == 0 && i + 1 < argc && l->n_write < MOST_PATHS)
            l->write[l->n_write++] = argv[++i];
        else
            return false;
    }
    l->program = argv + i + 1;
    return i + 1 < argc;
}

/* Returns whether a folder contains the user's home folder, or is it: it has keys and passwords. */
static bool has_home(const char *folder)
{
    const char *home = getenv("HOME");
    size_t len = strlen(folder);
    return !*folder ||
           (home && strncmp(home, folder, len) == 0 && (home[len] == '/' || home[len] == 0));
}

/* Allows a program, and the folder that it is in. */
static void allow_with_folder(lists *l, const char *file, char *folder)
{
    snprintf(folder, PATH_MAX, "%s", file);
    char *slash = strrchr(folder, '/');
    allow(l, file);
    if (slash)
        *slash = 0;
    if (slash && !has_home(folder))
        allow(l, folder);
}

/* The name may be that of a link, as with npx. */
static void allow_program(lists *l)
{
    if (!file_find_program(l->program[0], l->found[0], sizeof(l->found[0])))
        return;
    allow_with_folder(l, l->found[0], l->folder[0]);
    if (realpath(l->found[0], l->found[1]))
        allow_with_folder(l, l->found[1], l->folder[1]);
}

int confine_run(int argc, char **argv)
{
    static lists l;
    mcp_error error = {0};
    if (!parse(&l, argc, argv))
        return say("--run-confined is for mcpd itself"), 2;
    allow_program(&l);
    int rc = mcp_sandbox_enter(MCP_OPTIONS(mcp_sandbox_options, .read = l.read, .write = l.write,
                                           .required = MCP_SANDBOX_FILES | MCP_SANDBOX_TRUNCATE |
                                                       MCP_SANDBOX_SIGNALS | MCP_SANDBOX_CALLS,
                                           .runs_program = true, .network = l.network),
                               NULL, &error);
    if (rc != MCP_OK)
        return say("the sandbox of %s: %s", l.program[0], error.text), NOT_STARTED;
    execvp(l.program[0], l.program);
    say("%s: %s in the sandbox: add its folder to sandbox_read", l.program[0], strerror(errno));
    return NOT_STARTED;
}
