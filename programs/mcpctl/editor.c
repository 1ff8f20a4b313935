/* editor.c: reads lines with libedit, which is loaded on demand.
 *
 * The few functions and constants that are used are declared below. They belong to libedit.so.2 and
 * have never changed in it. mcpctl reads the keys itself, so that the session with the server
 * continues while the user is typing.
 */
#define _GNU_SOURCE
#include "editor.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "terminal.h"

enum { IDLE_MS = 200, HISTORY = 500 };

/* Constants of histedit.h. */
enum {
    EL_PROMPT = 0,
    EL_EDITOR = 2,
    EL_SIGNAL = 3,
    EL_BIND = 4,
    EL_HIST = 10,
    EL_GETCFN = 13,
    EL_REFRESH = 20
};
enum { H_SETSIZE = 1, H_ENTER = 10, H_LOAD = 17, H_SAVE = 18, H_SETUNIQUE = 20 };
typedef struct lineinfo {
    const char *buffer, *cursor, *lastchar;
} lineinfo;
typedef struct hist_event {
    int number;
    const char *text;
} hist_event;
typedef int history_fn(void *history, hist_event *event, int what, ...);

struct editor {
    editor_options options;
    bool plain;
    const char *lacks;
    char *line; /* the last line read without libedit */
    size_t room;
    bool interrupted;
    char *pending; /* inserted characters that libedit has not read yet */
    size_t next;
    void *library, *el, *history;
    int (*el_set)(void *el, int what, ...);
    const char *(*el_gets)(void *el, int *count);
    const lineinfo *(*el_line)(void *el);
    void (*el_end)(void *el);
    void (*history_end)(void *history);
    history_fn *history_do;
};

/* ---- callbacks of libedit -------------------------------------------------------------------- */

/* Not all callbacks have a user pointer. There is only one terminal, so there is only one
 * editor. */
static editor *the_editor;

static const char *prompt_of(void *el)
{
    (void)el;
    return the_editor->options.prompt;
}

/* ---- completion ------------------------------------------------------------------------------ */

static size_t common_length(const words *w)
{
    size_t len = strlen(w->items[0]);
    for (size_t i = 1; i < w->count; i++) {
        size_t k = 0;
        while (k < len && w->items[i][k] == w->items[0][k])
            k++;
        len = k;
    }
    /* This loop avoids splitting a character. */
    while (len && ((unsigned char)w->items[0][len] & 0xc0) == 0x80)
        len--;
    return len;
}

static void show_proposals(const words *w)
{
    enum { MOST = 100 };
    fputc('\n', stderr);
    for (size_t i = 0; i < w->count && i < MOST; i++) {
        fputs("  ", stderr);
        text_put(stderr, mcp_str_from(w->items[i]), TEXT_LINE);
        fputc('\n', stderr);
    }
    if (w->count > MOST)
        fprintf(stderr, "  and %zu more\n", w->count - MOST);
}

/* Returns a copy in which characters that would end or change a word are escaped. */
static char *quoted(const char *text, size_t len)
{
    char *to = malloc(2 * len + 2), *p = to; /* with room for a space */
    for (size_t i = 0; to && i < len; i++) {
        if (strchr(" \t'\"\\#", text[i]))
            *p++ = '\\';
        *p++ = text[i];
    }
    if (to)
        *p = 0;
    return to;
}

/* Inserts text as if it had been typed. */
static void insert(editor *e, const char *text, size_t len, bool last)
{
    bool whole = e->options.whole;
    char *more = whole ? text_dup((mcp_str){text, len}) : quoted(text, len);
    size_t n = more ? strlen(more) : 0;
    if (more && last && !whole && (!len || !strchr("=/", text[len - 1])))
        more[n++] = ' ', more[n] = 0;
    free(e->pending);
    e->pending = more;
    e->next = 0;
}

/* Returns the length of the typed part of a word, without quotes and backslashes. */
static size_t typed_length(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\' && i + 1 < len)
            i++;
        else if (text[i] == '\'' || text[i] == '"')
            continue;
        n++;
    }
    return n;
}

/* Handles TAB. This is not done by a libedit function, because libedit would leak the function's
 * name. */
static void on_tab(editor *e)
{
    const lineinfo *info = e->el_line(e->el);
    size_t cursor = (size_t)(info->cursor - info->buffer), from = cursor;
    char *line = text_dup((mcp_str){info->buffer, (size_t)(info->lastchar - info->buffer)});
    words w = {0};
    if (line && e->options.propose)
        e->options.propose(e->options.user, line, cursor, &w, &from);
    size_t typed = !line              ? 0
                   : e->options.whole ? cursor - from
                                      : typed_length(line + from, cursor - from);
    size_t common = w.count ? common_length(&w) : 0;
    if (w.count == 1) {
        insert(e, w.items[0] + typed, strlen(w.items[0]) - typed, true);
    } else if (common > typed) {
        insert(e, w.items[0] + typed, common - typed, false);
    } else if (w.count) {
        show_proposals(&w);
        e->el_set(e->el, EL_REFRESH);
    } else {
        fputc('\a', stderr);
    }
    words_clear(&w);
    free(line);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Gets the next inserted or typed byte. Returns 1, or 0 at the end of input, or -1 on error. */
static int next_byte(editor *e, unsigned char *ret)
{
    if (e->pending && e->pending[e->next]) {
        *ret = (unsigned char)e->pending[e->next++];
        return 1;
    }
    for (;;) {
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        int n = poll(&p, 1, IDLE_MS);
        if (n < 0)
            return -1;
        if (n > 0)
            return (int)read(STDIN_FILENO, ret, 1);
        if (e->options.idle)
            e->options.idle(e->options.user);
    }
}

/* Reads the rest of a character that begins with this byte. */
static int read_rest(editor *e, unsigned char byte, wchar_t *ret)
{
    mbstate_t state = {0};
    size_t n;
    do {
        char c = (char)byte;
        n = mbrtowc(ret, &c, 1, &state);
    } while (n == (size_t)-2 && next_byte(e, &byte) == 1);
    if (n == (size_t)-1 || n == (size_t)-2)
        *ret = L'?';
    return 1;
}

static int read_key(void *el, wchar_t *ret)
{
    editor *e = the_editor;
    unsigned char byte;
    (void)el;
    for (;;) {
        int n = next_byte(e, &byte);
        if (n != 1) {
            e->interrupted = n < 0 && errno == EINTR;
            return e->interrupted ? 0 : n;
        }
        if (byte == 0) /* a ^D typed before the terminal was in raw mode */
            return 0;
        if (byte != '\t')
            return byte < 0x80 ? (*ret = byte, 1) : read_rest(e, byte, ret);
        on_tab(e);
    }
}

/* ---- beginning and end ----------------------------------------------------------------------- */

#ifdef MCP_STATIC_PROGRAMS
static bool open_library(editor *e)
{
    (void)e;
    return true;
}

static void *symbol_of(const editor *e, const char *name)
{
#define LINKED(name) \
    {                \
#name, name  \
    }
    extern const char el_init[], el_set[], el_gets[], el_line[], el_end[], history_init[],
        history_end[], history[]; /* the addresses are what is wanted */
    static const struct {
        const char *name, *address;
    } linked[] = {LINKED(el_init), LINKED(el_set),       LINKED(el_gets),     LINKED(el_line),
                  LINKED(el_end),  LINKED(history_init), LINKED(history_end), LINKED(history)};
#undef LINKED
    (void)e;
    for (size_t i = 0; i < sizeof(linked) / sizeof(linked[0]); i++)
        if (strcmp(linked[i].name, name) == 0)
            return (void *)(uintptr_t)linked[i].address;
    return NULL;
}
#else
static bool open_library(editor *e)
{
    e->library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    return e->library != NULL;
}

static void *symbol_of(const editor *e, const char *name)
{
    return dlsym(e->library, name);
}
#endif

static bool find(editor *e, const char *name, void *at)
{
    void *symbol = symbol_of(e, name);
    memcpy(at, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool load(editor *e, void *(**init)(const char *, FILE *, FILE *, FILE *),
                 void *(**history_init)(void))
{
    return open_library(e) && find(e, "el_init", init) && find(e, "history_init", history_init) &&
           find(e, "el_set", &e->el_set) && find(e, "el_gets", &e->el_gets) &&
           find(e, "el_line", &e->el_line) && find(e, "el_end", &e->el_end) &&
           find(e, "history_end", &e->history_end) && find(e, "history", &e->history_do);
}

static bool set_up(editor *e)
{
    void *(*init)(const char *, FILE *, FILE *, FILE *);
    void *(*history_init)(void);
    hist_event event;
    setlocale(LC_CTYPE, "");
    if (!load(e, &init, &history_init))
        return false;
    e->el = init("mcpctl", stdin, stderr, stderr);
    e->history = history_init();
    if (!e->el || !e->history)
        return false;
    e->el_set(e->el, EL_PROMPT, prompt_of);
    e->el_set(e->el, EL_EDITOR, "emacs");
    e->el_set(e->el, EL_SIGNAL, 0);
    e->el_set(e->el, EL_GETCFN, read_key);
    e->history_do(e->history, &event, H_SETSIZE, HISTORY);
    e->history_do(e->history, &event, H_SETUNIQUE, 1);
    if (e->options.history)
        e->history_do(e->history, &event, H_LOAD, e->options.history);
    e->el_set(e->el, EL_HIST, e->history_do, e->history);
    e->el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    return true;
}

editor *editor_new(const editor_options *with)
{
    editor *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->options = *with;
    the_editor = e;
    const char *term = getenv("TERM");
    if (!terminal_can_ask())
        e->lacks = "this is no terminal";
    else if (!term || strcmp(term, "dumb") == 0)
        e->lacks = "this terminal cannot move its cursor (TERM)";
    else if (!set_up(e))
        e->lacks = "libedit.so.2 is not installed (Debian: the package libedit2)";
    e->plain = e->lacks != NULL;
    return e;
}

const char *editor_lacks(const editor *e)
{
    return e->lacks;
}

void editor_free(editor *e)
{
    hist_event event;
    if (!e)
        return;
    if (e->history && e->options.history) {
        mode_t old = umask(077);
        e->history_do(e->history, &event, H_SAVE, e->options.history);
        umask(old);
    }
    if (e->el)
        e->el_end(e->el);
    if (e->history)
        e->history_end(e->history);
    free(e->pending);
    free(e->line);
    free(e);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Removes the escape sequences of arrow keys and other special keys: ESC [ or ESC O, then digits
 * and semicolons, then a letter or "~". */
static void remove_keys(char *line)
{
    char *to = line;
    for (const char *p = line; *p;) {
        if (p[0] != 27 || (p[1] != '[' && p[1] != 'O')) {
            *to++ = *p++;
            continue;
        }
        p += 2;
        p += strspn(p, "0123456789;");
        p += *p != 0;
    }
    *to = 0;
}

static const char *read_plainly(editor *e, bool *interrupted)
{
    if (terminal_can_ask())
        fputs(e->options.prompt, stderr);
    errno = 0;
    ssize_t n = getline(&e->line, &e->room, stdin);
    *interrupted = n < 0 && errno == EINTR;
    if (*interrupted)
        clearerr(stdin);
    if (n < 0)
        return NULL;
    e->line[strcspn(e->line, "\n")] = 0;
    if (terminal_can_ask())
        remove_keys(e->line);
    return e->line;
}

const char *editor_read(editor *e, bool *interrupted)
{
    fflush(stdout);
    if (e->plain)
        return read_plainly(e, interrupted);
    int count = 0;
    e->interrupted = false;
    const char *line = e->el_gets(e->el, &count);
    *interrupted = e->interrupted;
    if (!line || count <= 0 || e->interrupted)
        return NULL;
    free(e->line);
    e->line = text_dup((mcp_str){line, strcspn(line, "\n")});
    return e->line;
}

/* ---- single prompts -------------------------------------------------------------------------- */

/* Returns the editor that all prompts share. It is never closed, because closing it would discard
 * input that was typed ahead. */
static editor *questions_editor(const editor_options *with)
{
    static editor *one;
    if (!one)
        one = editor_new(with);
    if (one)
        one->options = *with;
    return one;
}

static char *safe_text(const char *text)
{
    char *safe = NULL;
    size_t size;
    FILE *f = open_memstream(&safe, &size);
    if (f) {
        text_put(f, mcp_str_from(text), TEXT_LINE);
        fclose(f);
    }
    return safe;
}

char *editor_ask(const editor_options *with)
{
    editor *before = the_editor, *e = questions_editor(with);
    char *prompt = safe_text(with->prompt), *line = NULL;
    bool interrupted;
    if (e && e->plain) {
        line = terminal_ask(with->prompt, false);
    } else if (e && prompt) {
        e->options.prompt = prompt;
        the_editor = e;
        const char *typed = editor_read(e, &interrupted);
        line = typed ? strdup(typed) : NULL;
        if (!typed)
            fputc('\n', stderr);
    }
    the_editor = before;
    free(prompt);
    return line;
}

char *terminal_edit(const char *prompt)
{
    return editor_ask(&(editor_options){.prompt = prompt});
}

void editor_remember(editor *e, const char *line)
{
    hist_event event;
    if (!e->plain && *line && *line != ' ')
        e->history_do(e->history, &event, H_ENTER, line);
}
