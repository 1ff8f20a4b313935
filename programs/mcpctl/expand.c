/* expand.c: variables in configuration files, as VS Code, Cursor and Claude Code write them. Each
 * has its own; together they are unambiguous.
 */
#define _GNU_SOURCE
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

/* ---- ${input:id} ------------------------------------------------------------------------------------ */

static const mcp_json *find_input(const mcp_json *inputs, mcp_str id)
{
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(inputs, &it, NULL)) != NULL;)
        if (mcp_str_eq(mcp_json_string(mcp_json_get(v, "id")), id))
            return v;
    return NULL;
}

static char *ask_input(const mcp_json *input, mcp_str id)
{
    char prompt[512];
    mcp_str description = mcp_json_string(mcp_json_get(input, "description"));
    mcp_str fallback = mcp_json_string(mcp_json_get(input, "default"));
    mcp_str label = description.len ? description : id;
    snprintf(prompt, sizeof(prompt), "%.*s%s%.*s%s: ", (int)label.len, label.ptr,
             fallback.len ? " [" : "", (int)fallback.len, fallback.len ? fallback.ptr : "",
             fallback.len ? "]" : "");
    char *line = terminal_ask(prompt, mcp_json_bool(mcp_json_get(input, "password"), false));
    if (line && !*line && fallback.len) {
        free(line);
        line = text_dup(fallback);
    }
    return line;
}

/* Each is asked once. NULL after saying why not. */
static const char *input_value(expansion *e, mcp_str id)
{
    for (size_t i = 0; i + 1 < e->asked.count; i += 2)
        if (mcp_str_eq(mcp_str_from(e->asked.items[i]), id))
            return e->asked.items[i + 1];
    if (!terminal_can_ask()) {
        say("the configuration wants the input '%.*s', and there is nobody to ask", (int)id.len,
            id.ptr);
        hint("run it on a terminal, or put the value into an environment variable: ${env:NAME}");
        return NULL;
    }
    char *answer = ask_input(find_input(e->inputs, id), id);
    if (!answer || !words_add(&e->asked, text_dup(id)) || !words_add(&e->asked, answer))
        return NULL;
    return answer;
}

/* ---- the others ------------------------------------------------------------------------------------- */

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
        say("the configuration wants the environment variable %s", key ? key : "");
    char *ret = value || (!split && required) ? (value ? strdup(value) : NULL) : text_dup(fallback);
    free(key);
    return ret;
}

/* The value of ${name}; *secret: it is not to be shown. NULL after saying why. */
static char *value_of(expansion *e, mcp_str name, bool *secret)
{
    mcp_str rest;
    const char *home = getenv("HOME");
    *secret = false;
    if (is(name, "workspaceFolder") || is(name, "workspaceFolderBasename"))
        return folder(is(name, "workspaceFolderBasename"));
    if (is(name, "userHome"))
        return strdup(home ? home : "");
    if (is(name, "pathSeparator") || is(name, "/"))
        return strdup("/");
    *secret = true;
    if (begins(name, "input:", &rest)) {
        const char *value = input_value(e, rest);
        return value ? strdup(value) : NULL;
    }
    if (begins(name, "env:", &rest))
        return from_environment(rest, false);
    return from_environment(name, true);
}

static int put_variable(expansion *e, mcp_str whole, FILE *real, FILE *shown)
{
    bool secret;
    char *value = value_of(e, (mcp_str){whole.ptr + 2, whole.len - 3}, &secret);
    if (!value)
        return EXIT_REFUSED;
    fputs(value, real);
    if (secret)
        fwrite(whole.ptr, 1, whole.len, shown);
    else
        fputs(value, shown);
    free(value);
    return EXIT_OK;
}

int expand_text(expansion *e, mcp_str text, char **ret, char **shown)
{
    char *real_text = NULL, *shown_text = NULL;
    size_t size;
    FILE *real = open_memstream(&real_text, &size), *seen = open_memstream(&shown_text, &size);
    int code = real && seen ? EXIT_OK : EXIT_LOCAL;
    while (code == EXIT_OK && text.len) {
        const char *end = text.len > 2 && text.ptr[0] == '$' && text.ptr[1] == '{'
                              ? memchr(text.ptr, '}', text.len)
                              : NULL;
        mcp_str piece = {text.ptr, end ? (size_t)(end - text.ptr) + 1 : 1};
        if (end)
            code = put_variable(e, piece, real, seen);
        else
            fputc(*piece.ptr, real), fputc(*piece.ptr, seen);
        text = (mcp_str){text.ptr + piece.len, text.len - piece.len};
    }
    if (real)
        fclose(real);
    if (seen)
        fclose(seen);
    if (code == EXIT_OK) {
        *ret = real_text;
        *shown = shown_text;
        return EXIT_OK;
    }
    free(real_text);
    free(shown_text);
    return code;
}
