/* servers.c: mounts the servers of the command line, and keeps their messages. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/file.h>
#include <common/text.h>

#include "web.h"

enum { MOST_GIVEN = 16 << 20, IDLE_MS = 24 * 60 * 60 * 1000 };

/* ---- messages --------------------------------------------------------------------------------- */

static char *id_of(const mcp_json *message)
{
    mcp_str text;
    char *ret = NULL;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 256);
    mcp_json_add_value(w, mcp_json_get(message, "id"));
    if (mcp_json_writer_finish(w, &text) == MCP_OK)
        ret = text_dup(text);
    mcp_json_writer_free(w);
    return ret;
}

/* Returns the method with which a message asks a server to introduce itself, or NULL. Our own
 * messages begin with the method, so that other messages are not parsed. */
static const char *greeting(mcp_str message)
{
    static const char *const methods[] = {"\"initialize\"", "\"server/discover\""};
    static const char *const names[] = {"initialize", "server/discover"};
    size_t len = message.len < 200 ? message.len : 200;
    for (size_t i = 0; i < 2; i++)
        if (memmem(message.ptr, len, methods[i], strlen(methods[i])))
            return names[i];
    return NULL;
}

static void look_at_request(web_server *s, mcp_str text)
{
    const char *method = greeting(text);
    mcp_json_doc *doc = NULL;
    if (!method || mcp_json_parse(text, NULL, NULL, &doc, NULL) != MCP_OK)
        return;
    if (mcp_str_eq(mcp_json_string(mcp_json_get(mcp_json_root(doc), "method")),
                   mcp_str_from(method))) {
        free(s->awaited);
        s->awaited = id_of(mcp_json_root(doc));
        s->hello_method = method;
    }
    mcp_json_free(doc);
}

static void look_at_answer(web_server *s, mcp_str text)
{
    mcp_json_doc *doc = NULL;
    if (!s->awaited || mcp_json_parse(text, NULL, NULL, &doc, NULL) != MCP_OK)
        return;
    char *id = id_of(mcp_json_root(doc));
    bool is_answer = id && strcmp(id, s->awaited) == 0;
    bool is_hello =
        is_answer && mcp_json_is(mcp_json_get(mcp_json_root(doc), "result"), MCP_JSON_OBJECT);
    if (is_answer) {
        free(s->awaited);
        s->awaited = NULL;
    }
    if (is_hello) {
        mcp_json_free(s->hello);
        s->hello = doc;
        doc = NULL;
    }
    mcp_json_free(doc);
    free(id);
}

static web *logging; /* the host passes only its own pointer */

static web_server *server_of(const char *line, const char **text)
{
    for (size_t i = 0; logging && i < logging->n_servers; i++) {
        web_server *s = &logging->servers[i];
        size_t len = strlen(s->name);
        if (strncmp(line, "mcp:", 4) == 0 && strncmp(line + 4, s->name, len) == 0 &&
            strncmp(line + 4 + len, ": ", 2) == 0) {
            *text = line + 4 + len + 2;
            return s;
        }
    }
    return NULL;
}

void servers_log(const char *level, const char *line, void *user)
{
    const char *text = NULL;
    web_server *s = server_of(line, &text);
    (void)level, (void)user;
    if (!s)
        return;
    journal_add(&s->web->journal, s->name, JOURNAL_GATEWAY, mcp_str_from(text));
    size_t len;
    char *copy = journal_copy(mcp_str_from(text), sizeof(s->problem) - 1, &len);
    snprintf(s->problem, sizeof(s->problem), "%s", copy ? copy : "out of memory");
    free(copy);
}

static void on_trace(const char *name, mcp_upstream_trace what, mcp_str text, void *user)
{
    static const journal_from from[] = {[MCP_UPSTREAM_SENT] = JOURNAL_CLIENT,
                                        [MCP_UPSTREAM_RECEIVED] = JOURNAL_SERVER,
                                        [MCP_UPSTREAM_STDERR] = JOURNAL_STDERR};
    web_server *s = user;
    (void)name;
    journal_add(&s->web->journal, s->name, from[what], text);
    if (what == MCP_UPSTREAM_RECEIVED)
        *s->problem = 0;
    if (what == MCP_UPSTREAM_SENT)
        look_at_request(s, text);
    else if (what == MCP_UPSTREAM_RECEIVED)
        look_at_answer(s, text);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static const char *string_of(const mcp_json *object, const char *key)
{
    return mcp_json_string(mcp_json_get(object, key)).ptr;
}

bool servers_read(web *w, int fd)
{
    char *text = NULL;
    size_t len = 0;
    mcp_error error = {0};
    int rc = file_read(fd, MOST_GIVEN, &text, &len, &error);
    close(fd);
    if (rc == MCP_OK)
        rc = mcp_json_parse((mcp_str){text, len}, NULL, NULL, &w->given, &error);
    if (text)
        explicit_bzero(text, len);
    free(text);
    const mcp_json *root = mcp_json_root(w->given), *list = mcp_json_get(root, "servers");
    w->opens = mcp_json_bool(mcp_json_get(root, "open"), false);
    w->n_servers = mcp_json_count(list);
    w->servers = rc == MCP_OK ? calloc(w->n_servers + 1, sizeof(*w->servers)) : NULL;
    if (!w->servers || !w->n_servers) {
        say("this program is started by 'mcpctl web'");
        return false;
    }
    mcp_json_iter it = {0};
    web_server *s = w->servers;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL; s++) {
        s->web = w;
        s->name = string_of(v, "name");
        s->title = string_of(v, "title");
        s->is_url = mcp_json_get(v, "url") != NULL;
        s->target = string_of(v, s->is_url ? "url" : "command");
        s->login_line = mcp_json_get(v, "login");
        s->login = s->login_line ? LOGIN_POSSIBLE : LOGIN_NONE;
    }
    return true;
}

/* ---- mounting --------------------------------------------------------------------------------- */

/* Returns the strings of an array, ending with NULL: pointers into the document. The caller frees
 * the list. */
static const char **strings(const mcp_json *array)
{
    mcp_json_iter it = {0};
    size_t n = 0;
    const char **ret = calloc(mcp_json_count(array) + 1, sizeof(*ret));
    for (const mcp_json *v; ret && (v = mcp_json_next(array, &it, NULL)) != NULL;)
        ret[n++] = mcp_json_string(v).ptr;
    return ret;
}

static int mount(web *w, web_server *s, const mcp_json *given, mcp_error *error)
{
    const char **argv = strings(mcp_json_get(given, "argv"));
    const char **env = strings(mcp_json_get(given, "env"));
    const char **headers = strings(mcp_json_get(given, "headers"));
    mcp_upstream_options o = {.size = sizeof(o),
                              .name = s->name,
                              .argv = s->is_url ? NULL : argv,
                              .url = string_of(given, "url"),
                              .env = (const char *const *)(void *)environ,
                              .env_add = env,
                              .cwd = string_of(given, "cwd"),
                              .headers = headers,
                              .idle_ms = IDLE_MS,
                              .first_list_ms = 60000,
                              .list_ms = 60000,
                              .group = &w->group,
                              .login = {.oauth = s->login_line ? "login" : NULL},
                              .transparent = w->n_servers == 1,
                              .trace = on_trace,
                              .client_name = "mcpctl-web",
                              .user = s};
    int rc = argv && env && headers ? mcp_upstream_mount(w->server, &o, error) : MCP_ENOMEM;
    free(argv);
    free(env);
    free(headers);
    return rc;
}

int servers_mount(web *w, mcp_error *error)
{
    const mcp_json *list = mcp_json_get(mcp_json_root(w->given), "servers");
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    web_server *s = w->servers;
    logging = w;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL; s++)
        rc = mount(w, s, v, error);
    return rc;
}

void servers_begin(web *w)
{
    /* those of Client.capabilities in web/mcp.js */
    static const char *const can[] = {"elicitation.form", "elicitation.url", "sampling", NULL};
    mcp_upstream_begin(&w->group, WEB_PRINCIPAL, can);
}

void servers_clear(web *w)
{
    logging = NULL;
    for (size_t i = 0; w->servers && i < w->n_servers; i++) {
        mcp_json_free(w->servers[i].hello);
        free(w->servers[i].awaited);
    }
    free(w->servers);
    mcp_json_free(w->given);
}
