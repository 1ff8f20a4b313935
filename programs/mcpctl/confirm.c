/* confirm.c: shows a command from a configuration file before it is started, and asks for
 * confirmation once.
 *
 * A confirmation is stored as the SHA-256 of everything that was shown, so that a changed argument
 * or variable has to be confirmed again. The variables of an environment file need a second
 * confirmation, because the file is read only after the first one. The hash of the second includes
 * the values, which are not shown. Entries of configuration files in the current folder are
 * confirmed separately for each folder. For these files, addresses have to be confirmed too,
 * because a request could send environment variables to any host.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <common/sha256.h>

#include "servers.h"
#include "terminal.h"

/* ---- remembered confirmations ---------------------------------------------------------------- */

static void add_all(FILE *f, const words *w, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(f, "%c%s", 0, w->items[i]);
}

/* Hashes everything that is shown and, with `variables`, the names and values in the file of
 * variables. */
static bool fingerprint(const server *s, bool variables, char to[65])
{
    char *text = NULL, *here = s->from_project ? getcwd(NULL, 0) : NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f) {
        /* The number of words separates the arguments from what follows. */
        fprintf(f, "%s%c%zu", s->is_address ? "address" : "command", 0, s->n_first);
        add_all(f, &s->shown, s->shown.count);
        if (variables)
            add_all(f, &s->env, s->n_file_env);
        fprintf(f, "%c%s", 0, here ? here : "");
        fclose(f);
    }
    if (text)
        sha256_hex(text, size, to);
    free(here);
    free(text);
    return f != NULL;
}

char *state_file(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (state && *state)
        n = asprintf(&path, "%s/%s", state, name);
    else if (home && *home)
        n = asprintf(&path, "%s/.local/state/%s", home, name);
    return n < 0 ? NULL : path;
}

char *state_path(const char *name)
{
    char below[64];
    snprintf(below, sizeof(below), "mcpctl/%s", name);
    char *path = state_file(below);
    if (!path)
        return NULL;
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    return path;
}

static bool remembered(const char *path, const char *hash)
{
    FILE *f = path ? fopen(path, "re") : NULL;
    char line[80];
    bool found = false;
    while (f && !found && fgets(line, sizeof(line), f))
        found = strncmp(line, hash, 64) == 0;
    if (f)
        fclose(f);
    return found;
}

static void remember(const char *path, const char *hash)
{
    FILE *f = path ? fopen(path, "ae") : NULL;
    if (!f || fprintf(f, "%s\n", hash) < 0)
        say("cannot store the confirmation: %s", path ? strerror(errno) : "there is no HOME");
    if (f)
        fclose(f);
    if (f)
        chmod(path, 0600);
}

/* ---- confirmation ---------------------------------------------------------------------------- */

static void show_line(const char *line)
{
    fputs("      ", stderr);
    text_put(stderr, mcp_str_from(line), TEXT_LINE);
    fputc('\n', stderr);
}

static void show(const server *s)
{
    say("%s says that the server '%s' should be %s:", s->file, s->name,
        s->is_address ? "used" : "started");
    fputs("    ", stderr);
    for (size_t i = 0; i < s->n_first; i++) {
        fputs(i ? " " : "", stderr);
        text_put_word(stderr, s->shown.items[i]);
    }
    fputc('\n', stderr);
    for (size_t i = s->n_first; i < s->shown.count; i++)
        show_line(s->shown.items[i]);
}

static void show_variables(const server *s)
{
    say("the file of variables of the server '%s' sets:", s->name);
    for (size_t i = 0; i < s->variables.count; i++)
        show_line(s->variables.items[i]);
}

static int ask(void)
{
    if (terminal_can_ask())
        return terminal_ask_yes("Allow this? The answer is remembered. [y/N] ") ? EXIT_OK
                                                                                : EXIT_REFUSED;
    hint("cannot ask for confirmation without a terminal: run it once on a terminal, or with "
         "--trust");
    return EXIT_REFUSED;
}

/* Shows the command and asks, unless it was confirmed before or --trust is given. */
static int confirm(ctl *c, const server *s, bool variables)
{
    char hash[65] = "", *path = state_path("confirmed");
    int code = fingerprint(s, variables, hash) ? EXIT_OK : EXIT_LOCAL;
    bool known = code == EXIT_OK && remembered(path, hash);
    if (code == EXIT_OK && !known && !c->set.trust) {
        (variables ? show_variables : show)(s);
        code = ask();
    }
    if (code == EXIT_OK && !known)
        remember(path, hash);
    free(path);
    return code;
}

int server_confirm(ctl *c, const server *s)
{
    return s->is_address && !s->from_project ? EXIT_OK : confirm(c, s, false);
}

int server_confirm_variables(ctl *c, const server *s)
{
    return s->n_file_env ? confirm(c, s, true) : EXIT_OK;
}
