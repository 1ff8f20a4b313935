/* shell.c: mcpctl shell: the same commands, line by line, in one session.
 *
 * A line is parsed with the same table of options as a command line. Lines from a pipe are run in
 * the same way, without a prompt. Ctrl-C ends the current call and not the shell.
 */
#define _GNU_SOURCE
#include "shell.h"

#include <signal.h>
#include <stdlib.h>

#include "completions.h"
#include "editor.h"
#include "roots.h"
#include "session.h"
#include "terminal.h"

/* ---- words ----------------------------------------------------------------------------------- */

bool shell_split(const char *line, size_t len, words *ret, size_t *last)
{
    size_t i = 0;
    char *word = malloc(len + 1);
    bool ok = word != NULL;
    *last = 0;
    while (ok && i < len) {
        while (i < len && (line[i] == ' ' || line[i] == '\t'))
            i++;
        *last = i;
        if (i == len)
            break;
        char quote = 0;
        size_t n = 0;
        for (; i < len && (quote || (line[i] != ' ' && line[i] != '\t')); i++) {
            if (line[i] == '\\' && quote != '\'' && i + 1 < len)
                word[n++] = line[++i];
            else if (quote ? line[i] == quote : line[i] == '\'' || line[i] == '"')
                quote = quote ? 0 : line[i];
            else
                word[n++] = line[i];
        }
        ok = words_add(ret, text_dup((mcp_str){word, n}));
    }
    free(word);
    return ok;
}

/* ---- one line -------------------------------------------------------------------------------- */

/* Options that only apply when a session is opened. */
static int check_settings(const ctl *c)
{
    static const char *const fixed[] = {"server", "config",   "trust",   "header",
                                        "trace",  "revision", "timeout", "verbose",
                                        "answer", "root",     "ping"};
    for (size_t i = 0; i < n_options; i++)
        for (size_t k = 0; k < sizeof(fixed) / sizeof(*fixed); k++)
            if (strcmp(options[i].name, fixed[k]) == 0 && option_is_given(&options[i], &c->set)) {
                say("--%s is an option of the shell itself: give it when you start it", fixed[k]);
                return EXIT_USAGE;
            }
    return EXIT_OK;
}

static void inherit(ctl *line, const ctl *shell)
{
    line->session = shell->session;
    line->out_is_terminal = shell->out_is_terminal;
    line->set.json = line->set.json || shell->set.json;
    line->set.quiet = line->set.quiet || shell->set.quiet;
    line->set.yes = line->set.yes || shell->set.yes;
    line->set.config = shell->set.config;
    if (!line->set.sampler)
        line->set.sampler = shell->set.sampler;
}

static int run_command(ctl *shell, ctl *line)
{
    if (line->set.help) {
        help_print(stdout, line->command);
        return EXIT_OK;
    }
    if (line->command->flags & COMMAND_NOT_IN_SHELL) {
        say("%s is not a command of the shell", line->command->name);
        return EXIT_USAGE;
    }
    int code = line->command->flags & COMMAND_ALONE ? EXIT_OK : session_revive(shell);
    return code == EXIT_OK ? line->command->run(line) : code;
}

static int run_words(ctl *shell, words *w)
{
    ctl line;
    completions_forget(shell->session->completions); /* the command may change anything */
    int code = options_parse((int)w->count, w->items, true, &line);
    if (code == EXIT_OK)
        code = check_settings(&line);
    if (code == EXIT_OK) {
        inherit(&line, shell);
        code = output_end(&line, run_command(shell, &line));
        line.set.config = (texts){0}; /* owned by the shell, so not freed here */
    }
    ctl_clear(&line);
    return code;
}

bool shell_translate(words *w, size_t at)
{
    if (w->count <= at || w->items[at][0] != '/' || !w->items[at][1])
        return true;
    char *word = strdup("prompt");
    if (!words_add(w, word))
        return false;
    memmove(w->items[at], w->items[at] + 1, strlen(w->items[at]));
    memmove(w->items + at + 1, w->items + at, (w->count - at - 1) * sizeof(*w->items));
    w->items[at] = word;
    return true;
}

static void help(const char *lacks)
{
    puts("Commands as those of mcpctl, without the server: 'ls --help' shows one. Also:\n"
         "  /NAME [ARGUMENT=VALUE...]  prompt NAME\n"
         "  roots                      list the folders that the server may know (--root)\n"
         "  root add DIR               add one, of which a server before 2026-07-28 is notified\n"
         "  root remove DIR            take one away, in the same way\n"
         "  help                       this\n"
         "  exit                       end, as Ctrl-D does");
    if (!lacks)
        puts("TAB completes commands, options, URIs, templates, prompts, tools and their "
             "arguments.");
    else
        printf("TAB and the arrow keys do nothing here: %s.\n", lacks);
    for (size_t i = 0; i < n_commands; i++)
        if (!(commands[i].flags & COMMAND_NOT_IN_SHELL))
            printf("  %-10s %s\n", commands[i].name, commands[i].summary);
}

/* Runs a line. Returns false if the shell has to end. */
static bool run_line(ctl *shell, const char *lacks, const char *text, int *code)
{
    words w = {0};
    size_t last;
    bool go_on = true;
    bool ok = words_add(&w, strdup("mcpctl")) && shell_split(text, strlen(text), &w, &last) &&
              shell_translate(&w, 1);
    const char *first = ok && w.count > 1 ? w.items[1] : "#";
    if (!ok) {
        say("out of memory");
        *code = EXIT_LOCAL;
    } else if (*first == '#') {
        /* a comment, or nothing */
    } else if (strcmp(first, "exit") == 0 || strcmp(first, "quit") == 0) {
        go_on = false;
    } else if (strcmp(first, "help") == 0) {
        help(lacks);
        *code = EXIT_OK;
    } else if (strcmp(first, "root") == 0 || strcmp(first, "roots") == 0) {
        *code = roots_run(shell, (const char *const *)(void *)(w.items + 1), w.count - 1);
    } else {
        *code = run_words(shell, &w);
    }
    words_clear(&w);
    return go_on && flush_stdout(shell);
}

/* ---- the shell ------------------------------------------------------------------------------- */

static void on_idle(void *user)
{
    ctl *c = user;
    if (c->session->client)
        mcp_loop_step(c->session->loop, 0);
}

/* Returns whether the shell continues after a signal that ended a call or a line: only after
 * Ctrl-C. */
static bool go_on_after_signal(ctl *c)
{
    int number = signals_take();
    if (!number)
        return true;
    c->session->interrupted = false;
    mcp_loop_step(c->session->loop, 0); /* the signal stopped the loop, which reports this in the
                                         * next step */
    if (number != SIGINT || !terminal_can_ask()) {
        raise_again(number);
        return false;
    }
    fputc('\n', stderr);
    return true;
}

static void greet(const char *lacks)
{
    if (!lacks)
        hint("'help' shows the commands, TAB completes, Ctrl-D ends");
    else
        hint("'help' shows the commands, Ctrl-D ends; TAB and the arrow keys do nothing: %s",
             lacks);
}

int run_shell(ctl *c)
{
    char *history = state_path("history");
    editor *e = editor_new(&(editor_options){.prompt = "mcpctl> ",
                                             .history = history,
                                             .propose = shell_propose,
                                             .idle = on_idle,
                                             .user = c});
    int code = EXIT_OK;
    bool go_on = e != NULL;
    if (go_on && terminal_can_ask() && !c->set.quiet)
        greet(editor_lacks(e));
    while (go_on) {
        bool interrupted = false;
        const char *line = editor_read(e, &interrupted);
        if (line) {
            editor_remember(e, line);
            go_on = run_line(c, editor_lacks(e), line, &code);
        } else if (!interrupted) {
            if (terminal_can_ask())
                fputc('\n', stderr);
            break;
        }
        go_on = go_on_after_signal(c) && go_on;
    }
    editor_free(e);
    free(history);
    return code;
}
