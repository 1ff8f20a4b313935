/* main.c: mcpctl-browse, a browser of servers in a terminal. It connects the loop, the terminal and
 * the browser (app.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <common/help.h>
#include <common/options.h>
#include <common/sibling.h>

#include "app.h"
#include "tty.h"

enum { EXIT_OK, EXIT_USAGE = 2, EXIT_LOCAL = 5, FRAME_MS = 15 };

static mcp_loop *the_loop;
static volatile sig_atomic_t was_resized, the_signal;

static void on_signal(int number)
{
    if (number == SIGWINCH || number == SIGCONT)
        was_resized = 1;
    else
        the_signal = number;
    mcp_loop_stop(the_loop);
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGWINCH, SIGCONT, SIGTERM, SIGHUP, SIGINT};
    struct sigaction on = {.sa_handler = on_signal};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &on, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- the loop -------------------------------------------------------------------------------- */

typedef struct browser {
    app app;
    screen now, shown;
    int64_t last_frame;
    uint64_t frames;    /* that were written */
    int64_t begin_us;   /* of the program */
    int64_t first_us;   /* until entries were shown */
    int64_t longest_us; /* between two times that keys could be read */
} browser;

static void on_input(void *arg)
{
    browser *b = arg;
    key k;
    while (tty_key(&k))
        app_key(&b->app, k);
}

static void paint(browser *b)
{
    size_t rows, columns;
    tty_size(&rows, &columns);
    b->now.utf8 = tty_is_utf8();
    b->now.cell_size = tty_cell();
    if (!screen_resize(&b->now, rows, columns))
        return;
    app_draw(&b->app, &b->now);
    if (b->app.copy) {
        tty_copy(b->app.copy);
        free(b->app.copy);
        b->app.copy = NULL;
    }
    if (b->app.wants_redraw)
        tty_redraw();
    else if (screen_equal(&b->now, &b->shown))
        return;
    b->app.wants_redraw = false;
    tty_show(&b->now);
    b->frames++;
    screen_copy(&b->shown, &b->now);
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void count_frame(browser *b, int64_t since)
{
    int64_t now = now_us();
    if (!b->first_us && app_pages(&b->app)->known)
        b->first_us = now - b->begin_us;
    if (now - since > b->longest_us)
        b->longest_us = now - since;
}

static void put_stats(const browser *b, const char *path)
{
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f)
        return;
    fprintf(f, "frames %llu\nfirst_entries_us %lld\nlongest_frame_us %lld\n",
            (unsigned long long)b->frames, (long long)b->first_us, (long long)b->longest_us);
    fclose(f);
}

/* Leaves the full screen for a login. If it has failed, its messages stay until Enter. */
static void log_in(browser *b)
{
    peer *p = app_peer(&b->app);
    tty_pause();
    bool ok = account_login(p->url);
    tty_pause(); /* mcpctl login may have changed it */
    clearerr(stdin);
    if (!ok) {
        fputs("Press Enter to go back. ", stderr);
        for (int c = 0; c != '\n' && c != EOF;)
            c = getchar();
    }
    tty_resume();
    if (ok)
        b->app.wants_open = true;
}

static void leave_for(browser *b)
{
    app *a = &b->app;
    dialog *d = app_dialog(a);
    bool wants_editor = d && d->wants_editor;
    if (a->wants_suspend || a->wants_login || wants_editor)
        a->wants_redraw = a->is_dirty = true;
    if (wants_editor) {
        tty_pause();
        dialog_revise(d);
        tty_resume();
    }
    if (a->wants_suspend)
        tty_suspend();
    if (a->wants_login)
        log_in(b);
    if (a->wants_open)
        app_reopen(a);
    a->wants_suspend = a->wants_login = a->wants_open = false;
}

static void run(browser *b)
{
    app *a = &b->app;
    while (!a->wants_end && !the_signal) {
        int64_t now = mcp_loop_now(b->app.loop);
        bool is_first = !b->first_us && app_pages(a)->known; /* entries */
        bool is_due = is_first || now - b->last_frame >= FRAME_MS;
        if (was_resized) {
            was_resized = 0;
            tty_resized();
            a->is_dirty = true;
        }
        if (a->is_dirty && is_due) {
            int64_t since = now_us();
            paint(b);
            b->last_frame = now;
            count_frame(b, since);
        }
        uint64_t wait = app_tick(a, now);
        if (a->is_dirty)
            wait = wait < FRAME_MS ? wait : FRAME_MS;
        mcp_loop_step(a->loop, wait);
        leave_for(b);
    }
}

/* Prints the context if the user wants it, or stdout is not the terminal of the browser. */
static void print_context(browser *b)
{
    bool is_terminal = isatty(STDOUT_FILENO);
    char *text = b->app.prints || !is_terminal ? marks_text(&b->app.marks) : NULL;
    if (text && is_terminal)
        text_put(stdout, mcp_str_from(text), TEXT_BLOCK);
    else if (text)
        text_put_raw(stdout, mcp_str_from(text));
    free(text);
}

static int browse(browser *b, theme t)
{
    mcp_error error = {0};
    if (!tty_open(t))
        return EXIT_LOCAL;
    if (mcp_loop_new(NULL, &b->app.loop, &error) != MCP_OK) {
        tty_close();
        say("%s", error.text);
        return EXIT_LOCAL;
    }
    the_loop = b->app.loop;
    catch_signals();
    const mcp_host *host = mcp_loop_host(the_loop);
    mcp_host_poll *input = host->poll_start(STDIN_FILENO, on_input, b, host->user);
    if (app_open(&b->app))
        run(b);
    tty_close();
    print_context(b);
    if (input)
        host->poll_stop(input, host->user);
    app_close(&b->app);
    mcp_loop_free(b->app.loop);
    screen_free(&b->now);
    screen_free(&b->shown);
    return the_signal ? 128 + the_signal : EXIT_OK;
}

/* ---- the command line ------------------------------------------------------------------------ */

typedef struct settings {
    texts servers, headers;
    const char *theme, *stats, *budget, *sampler, *images;
    bool help, version;
} settings;

static const option options[] = {
    {.name = "server",
     .letter = 's',
     .kind = OPTION_LIST,
     .at = offsetof(settings, servers),
     .argument = "URL",
     .help = "An address (http://, https:// or unix:PATH). May be repeated."},
    {.name = "header",
     .letter = 'H',
     .kind = OPTION_LIST,
     .at = offsetof(settings, headers),
     .argument = "\"NAME: VALUE\"",
     .help = "Send a header with each request to an address. May be repeated."},
    {.name = "theme",
     .kind = OPTION_CHOICE,
     .at = offsetof(settings, theme),
     .argument = "THEME",
     .choices = "auto|dark|light|none",
     .help = "Colours for a dark or a light background, or none. auto guesses from COLORFGBG."},
    {.name = "images",
     .kind = OPTION_TEXT,
     .at = offsetof(settings, images),
     .argument = "WAY",
     .help = "How images are shown: kitty (PNG only), iterm, sixel (needs img2sixel), or none. By "
             "default, "
             "the terminal's variables decide between the first two and none."},
    {.name = "sampler",
     .kind = OPTION_TEXT,
     .at = offsetof(settings, sampler),
     .argument = "COMMAND",
     .help =
         "This shell command can answer a server's requests for a language model, after you have "
         "seen them. It reads the request as JSON from stdin, and writes a text or the result."},
    {.name = "budget",
     .letter = 'b',
     .kind = OPTION_TEXT,
     .at = offsetof(settings, budget),
     .argument = "SIZE",
     .help = "Budget of the context: bytes, such as 32K (the default), or tokens, such as 8000t."},
    {.name = "stats",
     .kind = OPTION_TEXT,
     .at = offsetof(settings, stats),
     .argument = "FILE",
     .help = "At the end, write to FILE how many frames were drawn and how long the longest "
             "took."},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .at = offsetof(settings, help),
     .help = "Show this help."},
    {.name = "version",
     .kind = OPTION_FLAG,
     .at = offsetof(settings, version),
     .help = "Show the version."},
};

static int no_word(command_line *line, const char *word)
{
    say("the argument '%s' is unknown; a command follows --", word);
    command_line_hint(line);
    return EXIT_USAGE;
}

static theme theme_of(const char *name)
{
    static const char *const names[] = {"auto", "dark", "light", "none"};
    for (size_t i = 0; name && i < 4; i++)
        if (strcmp(names[i], name) == 0)
            return (theme)i;
    return THEME_AUTO;
}

/* Returns a short name for a command, which the caller frees: "mcpd /home/me". */
static char *label_of(const char *const *command)
{
    char *text = NULL;
    size_t len;
    const char *slash = strrchr(command[0], '/');
    FILE *f = open_memstream(&text, &len);
    if (!f)
        return NULL;
    fputs(slash ? slash + 1 : command[0], f);
    for (size_t i = 1; command[i]; i++)
        fprintf(f, " %s", command[i]);
    fclose(f);
    return text;
}

/* Makes the peers of the command line: the addresses, then the command. */
static int add_peers(browser *b, const settings *set, const char *const *command)
{
    app *a = &b->app;
    a->peers = calloc(set->servers.count + 1, sizeof(*a->peers));
    for (size_t i = 0; a->peers && i < set->servers.count; i++) {
        peer *p = &a->peers[a->n_peers++];
        p->url = set->servers.items[i];
        p->label = strdup(p->url);
        p->headers = set->headers.items;
    }
    if (a->peers && command && *command) {
        peer *p = &a->peers[a->n_peers++];
        p->argv = command;
        p->label = label_of(command);
    }
    if (!a->peers)
        return EXIT_LOCAL;
    if (a->n_peers > 1 && set->headers.count > 1) { /* the last one is NULL */
        say("headers would be sent to all servers, and may contain a secret of one");
        hint("open a server with headers alone");
        return EXIT_USAGE;
    }
    if (a->n_peers)
        return EXIT_OK;
    say("no server is given");
    hint("write mcpctl browse -- COMMAND, or mcpctl browse --server URL");
    return EXIT_USAGE;
}

/* Adds the headers from mcpctl, which are not on the command line because they may be secrets. The
 * list ends with NULL. */
static bool add_headers(settings *set, char **kept)
{
    const char *given = getenv("MCPCTL_BROWSE_HEADERS");
    bool ok = !given || (*kept = strdup(given)) != NULL;
    unsetenv("MCPCTL_BROWSE_HEADERS");
    char *rest = NULL;
    for (char *one = *kept ? strtok_r(*kept, "\n", &rest) : NULL; ok && one;
         one = strtok_r(NULL, "\n", &rest))
        ok = texts_add(&set->headers, one);
    return ok && texts_add(&set->headers, NULL);
}

static int start(browser *b, settings *set, const char *const *command)
{
    int code = EXIT_OK;
    if (set->help) {
        help_options(stdout, options, sizeof(options) / sizeof(options[0]), NULL);
    } else if (set->version) {
        say_version(MCP_PARTS, false);
    } else if (!budget_parse(set->budget ? set->budget : "32K", &b->app.marks.chosen.budget)) {
        say("--budget cannot be '%s'; it is a number of bytes, such as 32K, or of tokens, such as "
            "8000t",
            set->budget);
        code = EXIT_USAGE;
    } else if (!picture_choose(set->images, &picture_way)) {
        say("--images is auto, kitty, iterm, sixel or none");
        code = EXIT_USAGE;
    } else {
        b->app.asking.command = set->sampler;
        code = add_peers(b, set, command);
        code = code == EXIT_OK ? browse(b, theme_of(set->theme)) : code;
        put_stats(b, set->stats);
    }
    for (size_t i = 0; i < b->app.n_peers; i++)
        free(b->app.peers[i].label);
    free(b->app.peers);
    return code;
}

int browse_main(int argc, char **argv)
{
    static browser b;
    settings set = {0};
    command_line line = {.table = options,
                         .count = sizeof(options) / sizeof(options[0]),
                         .settings = &set,
                         .word = no_word,
                         .splits = true};
    setlocale(LC_ALL, "");
    b.begin_us = now_us();
    int code = command_line_parse(&line, argc, argv);
    char *headers = NULL;
    if (code == EXIT_OK && !add_headers(&set, &headers))
        code = EXIT_LOCAL;
    if (code == EXIT_OK)
        code = start(&b, &set, line.rest);
    texts_clear(&set.servers);
    texts_clear(&set.headers);
    free(headers);
    return code;
}
