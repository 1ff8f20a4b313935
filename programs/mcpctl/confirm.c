/* confirm.c: what a configuration file wants to have started is shown as it is and confirmed once.
 *
 * What was confirmed is remembered by the SHA-256 of all that was shown, and of the values in a
 * file of variables, which are not shown, so that a changed argument or variable is a new question.
 * Files of the present folder are asked about in each folder anew, and for addresses too: they
 * could send what is in the environment to anybody.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "servers.h"
#include "sha256.h"
#include "terminal.h"

/* ---- what was confirmed ----------------------------------------------------------------------------- */

static bool fingerprint(const server *s, char to[65])
{
    char *text = NULL, *here = s->from_project ? getcwd(NULL, 0) : NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f) {
        /* How many words there are tells arguments from what follows them. */
        fprintf(f, "%s%c%zu", s->url ? "address" : "command", 0, s->line.count);
        for (size_t i = 0; i < s->shown.count; i++)
            fprintf(f, "%c%s", 0, s->shown.items[i]);
        for (size_t i = 0; i < s->n_file_env; i++)
            fprintf(f, "%c%s", 0, s->env.items[i]);
        fprintf(f, "%c%s", 0, here ? here : "");
        fclose(f);
    }
    if (text)
        sha256_hex(text, size, to);
    free(here);
    free(text);
    return f != NULL;
}

char *state_path(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (state && *state)
        n = asprintf(&path, "%s/mcpctl/%s", state, name);
    else if (home && *home)
        n = asprintf(&path, "%s/.local/state/mcpctl/%s", home, name);
    if (n < 0)
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
        say("cannot remember the answer: %s", path ? strerror(errno) : "there is no HOME");
    if (f)
        fclose(f);
    if (f)
        chmod(path, 0600);
}

/* ---- the question ----------------------------------------------------------------------------------- */

/* As a shell would read it, so that it can be tried by hand. */
static void show_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=@%+,";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, stderr);
        return;
    }
    fputc('\'', stderr);
    for (; *word; word++) {
        size_t n = strcspn(word, "'");
        text_put(stderr, (mcp_str){word, n}, TEXT_LINE);
        word += n;
        if (!*word)
            break;
        fputs("'\\''", stderr);
    }
    fputc('\'', stderr);
}

static void show(const server *s)
{
    say("%s wants the server '%s' to be %s:", s->file, s->name, s->url ? "used" : "started");
    size_t n_words = s->url ? 1 : s->line.count;
    fputs("    ", stderr);
    for (size_t i = 0; i < n_words && i < s->shown.count; i++) {
        fputs(i ? " " : "", stderr);
        show_word(s->shown.items[i]);
    }
    fputc('\n', stderr);
    for (size_t i = n_words; i < s->shown.count; i++)
        terminal_show(mcp_str_from(s->shown.items[i]), 6);
}

int server_confirm(ctl *c, const server *s)
{
    char hash[65] = "";
    if (s->url && !s->from_project)
        return EXIT_OK;
    if (!fingerprint(s, hash))
        return EXIT_LOCAL;
    char *path = state_path("confirmed");
    bool known = remembered(path, hash);
    int code = EXIT_OK;
    if (!known && !c->set.trust) {
        show(s);
        if (!terminal_can_ask()) {
            hint("nobody can be asked whether that is right: run it once on a terminal, or with "
                 "--trust");
            code = EXIT_REFUSED;
        } else if (!terminal_ask_yes("Is that right? It is asked once. [y/N] ")) {
            code = EXIT_REFUSED;
        }
    }
    if (!known && code == EXIT_OK)
        remember(path, hash);
    free(path);
    return code;
}
