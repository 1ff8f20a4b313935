/* secrets.c: see secrets.h. */
#define _GNU_SOURCE
#include "secrets.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/text.h>

#include "log.h"
#include "modules.h"

typedef enum form {
    WHOLE,   /* the text is the secret */
    PAIR,    /* "NAME=secret" */
    HEADER,  /* "Name: secret" */
    ADDRESS, /* a connection string or a URL, which may contain a password */
} form;

/* JSON Pointers into the configuration; "*" is any member or element. */
static const struct {
    const char *pointer;
    form form;
} table[] = {
    {"/tokens/*", WHOLE},
    {"/tools/*/set-environment/*", WHOLE},
    {"/sources/*/options/env/*", PAIR},
    {"/sources/*/options/env_add/*", PAIR},
    {"/sources/*/options/headers/*", HEADER},
    {"/sources/*", ADDRESS},
    {"/sources/*/source", ADDRESS},
};

enum { ROWS = sizeof(table) / sizeof(*table) };

/* What is left of the pointer of each row; NULL if it leads elsewhere. */
typedef struct place {
    const char *rest[ROWS];
} place;

static place step(const place *from, mcp_str key)
{
    place to = {{NULL}};
    for (size_t i = 0; i < ROWS; i++) {
        const char *name = from->rest[i] && *from->rest[i] ? from->rest[i] + 1 : NULL;
        mcp_str wanted = {name, name ? strcspn(name, "/") : 0};
        if (name && (mcp_str_eq(wanted, MCP_STR("*")) || mcp_str_eq(wanted, key)))
            to.rest[i] = name + wanted.len;
    }
    return to;
}

static char *without_password(mcp_str text)
{
    char *copy = text_dup(text);
    if (copy && *copy != '/') /* the path of a file may look like anything */
        modules_remove_passwords(copy);
    return copy;
}

/* Writes what may be shown of a text. Returns whether the rest is a secret. */
static bool put_shown(mcp_json_writer *w, mcp_str text, form how)
{
    const char *end = how == PAIR     ? memchr(text.ptr, '=', text.len)
                      : how == HEADER ? memchr(text.ptr, ':', text.len)
                                      : NULL;
    char *shown = NULL;
    if (how == ADDRESS)
        shown = without_password(text);
    else if (asprintf(&shown, "%.*s%s***", end ? (int)(end + 1 - text.ptr) : 0, text.ptr,
                      end && how == HEADER ? " " : "") < 0)
        shown = NULL;
    bool secret = !shown || !mcp_str_eq(mcp_str_from(shown), text);
    mcp_json_add_string(w, shown ? shown : "***");
    free(shown);
    return secret;
}

/* Writes a value without its secrets. Returns whether it has any. */
static bool put(mcp_json_writer *w, const mcp_json *value, const place *at)
{
    bool object = mcp_json_is(value, MCP_JSON_OBJECT), any = false;
    mcp_json_iter it = {0};
    mcp_str key = {"", 0};
    if (!object && !mcp_json_is(value, MCP_JSON_ARRAY)) {
        for (size_t i = 0; i < ROWS; i++) {
            if (at->rest[i] && !*at->rest[i] && mcp_json_is(value, MCP_JSON_STRING))
                return put_shown(w, mcp_json_string(value), table[i].form);
        }
        mcp_json_add_value(w, value);
        return false;
    }
    if (object)
        mcp_json_begin_object(w);
    else
        mcp_json_begin_array(w);
    for (const mcp_json *v; (v = mcp_json_next(value, &it, object ? &key : NULL)) != NULL;) {
        const place next = step(at, key);
        if (object)
            mcp_json_key_str(w, key);
        any = put(w, v, &next) || any;
    }
    mcp_json_end(w);
    return any;
}

static bool put_all(mcp_json_writer *w, const mcp_json *config)
{
    place root;
    for (size_t i = 0; i < ROWS; i++)
        root.rest[i] = table[i].pointer;
    return put(w, config, &root);
}

void secrets_put(mcp_json_writer *w, const mcp_json *config)
{
    put_all(w, config);
}

bool secrets_in(const mcp_json *config)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    bool any = put_all(w, config);
    mcp_json_writer_free(w);
    return any;
}

bool secrets_exposed(const struct stat *file)
{
    bool of_administrator = file->st_uid == 0 && geteuid() != 0;
    return S_ISREG(file->st_mode) && (file->st_mode & (of_administrator ? 007 : 077));
}

void secrets_warn(const char *path, const struct stat *file)
{
    char text[300];
    if (!secrets_exposed(file))
        return;
    snprintf(text, sizeof(text), "other users can read %.200s: chmod 600 it", path);
    log_line("warning", text, NULL);
}
