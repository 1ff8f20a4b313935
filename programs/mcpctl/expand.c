/* expand.c: variables in configuration files of VS Code, Cursor and Claude Code. Each has its own
 * syntax; together they are unambiguous.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "servers.h"
#include "terminal.h"

bool words_add(words *w, char *text)
{
    char **grown = text ? realloc(w->items, (w->count + 2) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(text);
        return false;
    }
    w->items = grown;
    w->items[w->count++] = text;
    w->items[w->count] = NULL;
    return true;
}

void words_clear(words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->items[i]);
    free(w->items);
    *w = (words){0};
}

/* ---- ${input:id} ----------------------------------------------------------------------------- */

static const mcp_json *find_input(const mcp_json *inputs, mcp_str id)
{
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(inputs, &it, NULL)) != NULL;)
        if (mcp_str_eq(mcp_json_string(mcp_json_get(v, "id")), id))
            return v;
    return NULL;
}

/* Asks the user for an input. The prompt names the file that defines it, because any file may
 * contain "Your password for example.com". */
static char *ask_input(const expansion *e, const mcp_json *input, mcp_str id)
{
    enum { LONGEST = 400 };
    char prompt[512];
    bool secret = mcp_json_bool(mcp_json_get(input, "password"), false);
    mcp_str about = mcp_json_string(mcp_json_get(input, "description"));
    mcp_str fallback = mcp_json_string(mcp_json_get(input, "default"));
    say("%s requires a value for the server '%s'%s", e->server->file, e->server->name,
        about.len ? ", and says of it:" : "");
    about.len = about.len < LONGEST ? about.len : LONGEST;
    terminal_show(about, 4);
    hint("what you type goes to that server%s", secret ? "; it is not shown" : "");
    snprintf(prompt, sizeof(prompt), "  %.*s%s%.*s%s: ", (int)(id.len < 100 ? id.len : 100), id.ptr,
             fallback.len ? " [" : "", (int)(fallback.len < 100 ? fallback.len : 100),
             fallback.len ? fallback.ptr : "", fallback.len ? "]" : "");
    char *line = terminal_ask(prompt, secret);
    if (line && !*line && fallback.len) {
        free(line);
        line = text_dup(fallback);
    }
    return line;
}

/* Asks for each input once. Returns NULL after reporting the error. */
static const char *input_value(expansion *e, mcp_str id)
{
    for (size_t i = 0; i + 1 < e->asked.count; i += 2)
        if (mcp_str_eq(mcp_str_from(e->asked.items[i]), id))
            return e->asked.items[i + 1];
    if (!terminal_can_ask()) {
        say("the configuration requires the input '%.*s', which cannot be asked for without a "
            "terminal",
            (int)id.len, id.ptr);
        hint("run it on a terminal, or put the value into an environment variable: ${env:NAME}");
        return NULL;
    }
    char *answer = ask_input(e, find_input(e->inputs, id), id);
    if (!answer || !words_add(&e->asked, text_dup(id)) || !words_add(&e->asked, answer))
        return NULL;
    return answer;
}

/* ---- other variables ------------------------------------------------------------------------- */

static bool is(mcp_str name, const char *what)
{
    return mcp_str_eq(name, mcp_str_from(what));
}

static bool begins(mcp_str name, const char *with, mcp_str *rest)
{
    size_t len = strlen(with);
    if (name.len < len || memcmp(name.ptr, with, len) != 0)
        return false;
    *rest = (mcp_str){name.ptr + len, name.len - len};
    return true;
}

static char *folder(bool base_only)
{
    char *path = getcwd(NULL, 0);
    char *slash = path && base_only ? strrchr(path, '/') : NULL;
    if (slash)
        memmove(path, slash + 1, strlen(slash));
    return path;
}

static char *from_environment(mcp_str name, bool required)
{
    const char *split = name.len > 1 ? memmem(name.ptr, name.len, ":-", 2) : NULL;
    mcp_str fallback = {0};
    if (split) {
        fallback = (mcp_str){split + 2, name.len - (size_t)(split + 2 - name.ptr)};
        name.len = (size_t)(split - name.ptr);
    }
    char *key = text_dup(name);
    const char *value = key ? getenv(key) : NULL;
    if (!value && !split && required)
        say("the configuration requires the environment variable %s", key ? key : "");
    char *ret = value || (!split && required) ? (value ? strdup(value) : NULL) : text_dup(fallback);
    free(key);
    return ret;
}

static bool is_secret(mcp_str name)
{
    static const char *const known[] = {"workspaceFolder", "workspaceFolderBasename", "userHome",
                                        "pathSeparator", "/"};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (is(name, known[i]))
            return false;
    return true;
}

/* Returns the value of ${name}, or NULL after reporting the error. */
static char *value_of(expansion *e, mcp_str name)
{
    mcp_str rest;
    const char *home = getenv("HOME");
    if (is(name, "workspaceFolder") || is(name, "workspaceFolderBasename"))
        return folder(is(name, "workspaceFolderBasename"));
    if (is(name, "userHome"))
        return strdup(home ? home : "");
    if (is(name, "pathSeparator") || is(name, "/"))
        return strdup("/");
    if (begins(name, "input:", &rest)) {
        const char *value = input_value(e, rest);
        return value ? strdup(value) : NULL;
    }
    if (begins(name, "env:", &rest))
        return from_environment(rest, false);
    return from_environment(name, true);
}

/* Finds the variable that begins here. Gets its name, and returns the length of the whole
 * expression, or 0 if there is none. */
static size_t variable_at(const expansion *e, mcp_str text, mcp_str *name)
{
    static const struct {
        unsigned kind;
        const char *begin, *end;
        size_t left; /* length of the prefix before the name */
    } forms[] = {{EXPAND_BRACES, "${", "}", 2}, {EXPAND_ENV, "{env:", "}", 1}};
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(forms[i].begin);
        if (!(e->kinds & forms[i].kind) || text.len <= n ||
            memcmp(text.ptr, forms[i].begin, n) != 0)
            continue;
        const char *end = memchr(text.ptr, '}', text.len);
        size_t len = end ? (size_t)(end - text.ptr) + 1 : 0;
        *name = (mcp_str){text.ptr + forms[i].left, len ? len - forms[i].left - 1 : 0};
        return len;
    }
    size_t len = 1;
    while (len < text.len && (isalnum((unsigned char)text.ptr[len]) || text.ptr[len] == '_'))
        len++;
    bool is_one = (e->kinds & EXPAND_DOLLAR) && text.ptr[0] == '$' && len > 1 &&
                  !isdigit((unsigned char)text.ptr[1]);
    *name = (mcp_str){text.ptr + 1, len - 1};
    return is_one ? len : 0;
}

static int put_variable(expansion *e, mcp_str name, mcp_str whole, FILE *to)
{
    char *key = text_dup(name);
    /* Gemini CLI leaves variables that are not set unchanged. */
    bool stays =
        (e->kinds & EXPAND_DOLLAR) && key && !getenv(key) && !memchr(name.ptr, ':', name.len);
    free(key);
    if (is_secret(name) && (stays || e->only_shown)) {
        text_put_raw(to, whole);
        return EXIT_OK;
    }
    char *value = value_of(e, name);
    if (!value)
        return EXIT_REFUSED;
    fputs(value, to);
    free(value);
    return EXIT_OK;
}

int expand_text(expansion *e, mcp_str text, char **ret)
{
    char *expanded = NULL;
    size_t size;
    FILE *to = open_memstream(&expanded, &size);
    int code = to ? EXIT_OK : EXIT_LOCAL;
    while (code == EXIT_OK && text.len) {
        mcp_str name;
        size_t len = variable_at(e, text, &name);
        mcp_str piece = {text.ptr, len ? len : 1};
        if (len)
            code = put_variable(e, name, piece, to);
        else
            fputc(*piece.ptr, to);
        text = (mcp_str){text.ptr + piece.len, text.len - piece.len};
    }
    if (to && (fclose(to) != 0 || !expanded))
        code = EXIT_LOCAL;
    if (code == EXIT_OK)
        *ret = expanded;
    else
        free(expanded);
    return code;
}
