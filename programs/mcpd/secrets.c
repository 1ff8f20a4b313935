/* secrets.c: see secrets.h. */
#define _GNU_SOURCE
#include "secrets.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/text.h>

#include "log.h"
#include "modules.h"
#include "secret.h"

typedef enum form {
    WHOLE,   /* the text is the secret */
    PAIR,    /* "NAME=secret" */
    HEADER,  /* "Name: secret" */
    ADDRESS, /* a connection string or a URL, which may contain a password */
    PATH,    /* the text is the path of a file with secrets, and no secret itself */
} form;

/* JSON Pointers into the configuration; "*" is any member or element. */
static const struct {
    const char *pointer;
    form form;
    bool text_only; /* an object here is no reference */
} table[] = {
    {"/tokens/*", WHOLE, false},
    {"/tools/*/set-environment/*", WHOLE, false},
    {"/sources/*/options/env/*", PAIR, false},
    {"/sources/*/options/env_add/*", PAIR, false},
    {"/sources/*/options/headers/*", HEADER, false},
    {"/sources/*", ADDRESS, true},
    {"/sources/*/source", ADDRESS, false},
    {"/sources/*/options/client_secret_file", PATH, false},
    {"/sources/*/options/client_key_file", PATH, false},
    {"/sources/*/options/idp_client_secret_file", PATH, false},
    {"/oauth/issuers/*/introspection/client-secret-file", PATH, false},
    {"/token-file", PATH, false},
    {"/bus-password-file", PATH, false},
    {"/traces-auth-file", PATH, false},
    {"/decisions-auth-file", PATH, false},
    {"/seal-key-file", PATH, false},
    {"/tls-key", PATH, false},
};

enum { ROWS = sizeof(table) / sizeof(*table), LONGEST_POINTER = 600 };

/* A place in the configuration. */
typedef struct place {
    const char
        *rest[ROWS]; /* what is left of the pointer of each row; NULL if it leads elsewhere */
    char pointer[LONGEST_POINTER];
} place;

/* One walk through a configuration. */
typedef struct walk {
    mcp_json_writer *w;
    config *c;
    bool resolve; /* write the values of references; otherwise hide the secrets */
    bool any;     /* something was replaced */
    int rc;
} walk;

static void step(const place *from, mcp_str key, size_t index, place *to)
{
    size_t n = strlen(from->pointer);
    for (size_t i = 0; i < ROWS; i++) {
        const char *name = from->rest[i] && *from->rest[i] ? from->rest[i] + 1 : NULL;
        mcp_str wanted = {name, name ? strcspn(name, "/") : 0};
        bool leads = name && (mcp_str_eq(wanted, MCP_STR("*")) || mcp_str_eq(wanted, key));
        to->rest[i] = leads ? name + wanted.len : NULL;
    }
    memcpy(to->pointer, from->pointer, n + 1);
    if (!key.ptr) {
        snprintf(to->pointer + n, sizeof(to->pointer) - n, "/%zu", index);
        return;
    }
    for (size_t i = 0; n + 4 < sizeof(to->pointer) && i <= key.len; i++) {
        char c = i ? key.ptr[i - 1] : '/';
        bool escaped = i && (c == '/' || c == '~');
        if (escaped)
            to->pointer[n++] = '~';
        to->pointer[n++] = !escaped ? c : c == '/' ? '1' : '0';
    }
    to->pointer[n] = 0;
}

/* Returns the row of a place, or ROWS. */
static size_t row_at(const place *at)
{
    size_t i = 0;
    while (i < ROWS && !(at->rest[i] && !*at->rest[i]))
        i++;
    return i;
}

/* ---- showing --------------------------------------------------------------------------------- */

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
    else if (how == PATH)
        shown = text_dup(text);
    else if (asprintf(&shown, "%.*s%s***", end ? (int)(end + 1 - text.ptr) : 0, text.ptr,
                      end && how == HEADER ? " " : "") < 0)
        shown = NULL;
    bool secret = !shown || !mcp_str_eq(mcp_str_from(shown), text);
    mcp_json_add_string(w, shown ? shown : "***");
    free(shown);
    return secret;
}

/* Writes a reference with the path of its file made absolute. */
static void put_reference(const walk *k, const mcp_json *reference)
{
    mcp_json_iter it = {0};
    mcp_str key;
    mcp_json_begin_object(k->w);
    for (const mcp_json *v; (v = mcp_json_next(reference, &it, &key)) != NULL;) {
        bool file = mcp_str_eq(key, MCP_STR("file")) && mcp_json_is(v, MCP_JSON_STRING) && k->c;
        const char *path = file ? config_place(k->c, mcp_json_string(v)) : NULL;
        mcp_json_key_str(k->w, key);
        if (path)
            mcp_json_add_string(k->w, path);
        else
            mcp_json_add_value(k->w, v);
    }
    mcp_json_end(k->w);
}

/* ---- references ------------------------------------------------------------------------------ */

/* A reference to a secret. */
typedef struct reference {
    const char *file, *variable, *credential; /* one of them */
    const char *name, *prefix;                /* of PAIR and HEADER */
} reference;

/* Reports an error of a reference. */
static int wrong(walk *k, const char *pointer, int code, const char *what)
{
    if (k->rc == MCP_OK)
        k->rc = code;
    return config_wrong(k->c, code, pointer, "%s: %s", pointer + 1, what);
}

static int read_reference(walk *k, const mcp_json *value, form how, const char *pointer,
                          reference *ret)
{
    bool named = how == PAIR || how == HEADER;
    const struct {
        const char *key, **to;
    } members[] = {{"file", &ret->file},
                   {"env", &ret->variable},
                   {"credential", &ret->credential},
                   {"name", named ? &ret->name : NULL},
                   {"prefix", named ? &ret->prefix : NULL}};
    size_t known = 0;
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        mcp_str text = mcp_json_string(mcp_json_get(value, members[i].key));
        if (!members[i].to || !text.len || memchr(text.ptr, 0, text.len))
            continue;
        known++;
        if (!(*members[i].to = config_keep(k->c, text_dup(text))))
            return k->rc = MCP_ENOMEM;
    }
    bool one = !!ret->file + !!ret->variable + !!ret->credential == 1;
    bool right = one && known == mcp_json_count(value) && named == (ret->name != NULL);
    if (right && ret->variable && strchr(ret->variable, '='))
        right = false;
    if (right && named && ret->name[strcspn(ret->name, "=: \t\r\n")])
        right = false;
    return right
               ? MCP_OK
               : wrong(k, pointer, MCP_EINVAL,
                       named
                           ? "a secret is {\"name\": NAME, \"file\": PATH}, with \"env\": NAME or "
                             "\"credential\": NAME instead of the file; \"prefix\": TEXT is allowed"
                           : "a secret is {\"file\": PATH}, {\"env\": NAME} or {\"credential\": "
                             "NAME}");
}

/* Gets the path of a file with the secret. */
static int path_of(walk *k, const reference *from, char to[PATH_MAX], mcp_error *error)
{
    if (from->variable)
        return secret_variable_path(from->variable, to, PATH_MAX, error);
    if (from->credential)
        return secret_credential_path(from->credential, to, PATH_MAX, error);
    const char *path = config_place(k->c, mcp_str_from(from->file));
    int n = path ? snprintf(to, PATH_MAX, "%s", path) : -1;
    return n >= 0 && n < PATH_MAX ? MCP_OK
           : path                 ? MODULES_FAIL(error, MCP_ELIMIT, "the path is too long")
                                  : MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
}

/* Gets the secret; *read has to be freed. */
static int value_of(walk *k, const reference *from, const char **ret, char **read, mcp_error *error)
{
    char path[PATH_MAX];
    if (from->variable)
        return secret_variable(from->variable, ret, error);
    int rc = path_of(k, from, path, error);
    if (rc == MCP_OK)
        rc = secret_load(path, read, error);
    *ret = *read;
    return rc;
}

static bool is_utf8(const char *text)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str ignored;
    mcp_json_add_string(w, text);
    bool right = mcp_json_writer_finish(w, &ignored) != MCP_EINVAL;
    mcp_json_writer_free(w);
    return right;
}

static bool has_control(const char *text)
{
    while (*text && (unsigned char)*text >= ' ' && *text != 0x7F)
        text++;
    return *text;
}

/* Checks a secret. Messages do not contain it. */
static int check_value(const char *value, form how, mcp_error *error)
{
    if (!is_utf8(value))
        return MODULES_FAIL(error, MCP_EINVAL, "the secret is not UTF-8");
    if (how == HEADER && has_control(value))
        return MODULES_FAIL(
            error, MCP_EINVAL,
            "the value of a header cannot have several lines or control characters");
    return MCP_OK;
}

/* Writes the text that the configuration would have without the reference. */
static void put_resolved(walk *k, const mcp_json *value, form how, const char *pointer)
{
    reference from = {.file = NULL};
    mcp_error error = {0};
    char path[PATH_MAX], *read = NULL, *whole = NULL;
    const char *text = NULL;
    int rc = read_reference(k, value, how, pointer, &from);
    if (rc != MCP_OK)
        return;
    rc = how == PATH ? path_of(k, &from, path, &error) : value_of(k, &from, &text, &read, &error);
    if (rc == MCP_OK && how != PATH)
        rc = check_value(text, how, &error);
    if (rc == MCP_OK && asprintf(&whole, "%s%s%s%s", from.name ? from.name : "",
                                 how == PAIR     ? "="
                                 : how == HEADER ? ": "
                                                 : "",
                                 from.prefix ? from.prefix : "", how == PATH ? path : text) < 0)
        whole = NULL, rc = MODULES_FAIL(&error, MCP_ENOMEM, "out of memory");
    if (rc == MCP_OK)
        mcp_json_add_string(k->w, whole);
    else
        wrong(k, pointer, rc, error.text);
    if (whole)
        explicit_bzero(whole, strlen(whole));
    if (read)
        explicit_bzero(read, strlen(read));
    free(whole);
    free(read);
}

/* ---- walking --------------------------------------------------------------------------------- */

static void put(walk *k, const mcp_json *value, const place *at)
{
    bool object = mcp_json_is(value, MCP_JSON_OBJECT);
    size_t row = row_at(at);
    mcp_json_iter it = {0};
    if (row < ROWS && object && !table[row].text_only) {
        if (k->resolve)
            put_resolved(k, value, table[row].form, at->pointer);
        else
            put_reference(k, value);
        k->any = k->any || k->resolve;
        return;
    }
    if (!object && !mcp_json_is(value, MCP_JSON_ARRAY)) {
        if (row == ROWS || k->resolve || !mcp_json_is(value, MCP_JSON_STRING))
            mcp_json_add_value(k->w, value);
        else
            k->any = put_shown(k->w, mcp_json_string(value), table[row].form) || k->any;
        return;
    }
    if (object)
        mcp_json_begin_object(k->w);
    else
        mcp_json_begin_array(k->w);
    mcp_str key = {NULL, 0};
    place next;
    for (const mcp_json *v; (v = mcp_json_next(value, &it, object ? &key : NULL)) != NULL;) {
        step(at, key, it.index - 1, &next);
        if (object)
            mcp_json_key_str(k->w, key);
        put(k, v, &next);
    }
    mcp_json_end(k->w);
}

static void put_all(walk *k, const mcp_json *root)
{
    place at = {.pointer = ""};
    for (size_t i = 0; i < ROWS; i++)
        at.rest[i] = table[i].pointer;
    put(k, root, &at);
}

void secrets_put(mcp_json_writer *w, const mcp_json *root, config *c)
{
    put_all(&(walk){.w = w, .c = c}, root);
}

bool secrets_in(const mcp_json *root)
{
    walk k = {.w = mcp_json_writer_new(NULL, 0)};
    put_all(&k, root);
    mcp_json_writer_free(k.w);
    return k.any;
}

int secrets_resolve(config *c, const mcp_json *root, mcp_json_doc **ret)
{
    mcp_str text;
    walk k = {.w = mcp_json_writer_new(NULL, 0), .c = c, .resolve = true};
    put_all(&k, root);
    if (k.rc == MCP_OK && k.any)
        k.rc = mcp_json_writer_finish(k.w, &text);
    if (k.rc == MCP_OK && k.any)
        k.rc = mcp_json_parse(text, NULL, NULL, ret, NULL);
    mcp_json_writer_free(k.w);
    return k.rc;
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
