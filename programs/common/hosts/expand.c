/* expand.c: variables in configuration files of VS Code, Cursor and Claude Code. Each has its own
 * syntax; together they are unambiguous.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/text.h>

#include "entry.h"

/* ---- ${input:id} ----------------------------------------------------------------------------- */

static const mcp_json *find_input(const mcp_json *inputs, mcp_str id)
{
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(inputs, &it, NULL)) != NULL;)
        if (mcp_str_eq(mcp_json_string(mcp_json_get(v, "id")), id))
            return v;
    return NULL;
}

/* Asks for each input once. Returns NULL after reporting the error. */
static const char *input_value(expansion *e, mcp_str id)
{
    for (size_t i = 0; i + 1 < e->asked.count; i += 2)
        if (mcp_str_eq(mcp_str_from(e->asked.items[i]), id))
            return e->asked.items[i + 1];
    char *answer = e->io->ask(e->io->user, e->server, find_input(e->inputs, id), id);
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

static char *from_environment(const expansion *e, mcp_str name, bool required)
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
        entry_tell(e->io, "the configuration requires the environment variable %s", key ? key : "");
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
        return from_environment(e, rest, false);
    return from_environment(e, name, true);
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
        return MCP_OK;
    }
    char *value = value_of(e, name);
    if (!value)
        return MCP_EACCESS;
    fputs(value, to);
    free(value);
    return MCP_OK;
}

int expand_text(expansion *e, mcp_str text, char **ret)
{
    char *expanded = NULL;
    size_t size;
    FILE *to = open_memstream(&expanded, &size);
    int code = to ? MCP_OK : MCP_ENOMEM;
    while (code == MCP_OK && text.len) {
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
        code = MCP_ENOMEM;
    if (code == MCP_OK)
        *ret = expanded;
    else
        free(expanded);
    return code;
}
