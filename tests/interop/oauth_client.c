/* oauth_client.c: a client with OAuth that a test drives. It uses only the public API.
 *
 *     oauth-client OPTIONS
 *
 * OPTIONS is JSON with the members of mcp_oauth_client_options, `grant` by name; `assertion` is a
 * text, `store` the path of a file for the record. Each line of stdin is an array of steps, which
 * begin at once: "list", "call TOOL", "read URI", "login", "logout", "state". For each one a line of
 * JSON goes to stdout:
 *
 *     {"step": "list", "rc": 0, "error": "…"}
 *
 * Other lines are {"visit": {…}}, {"visit_end": true} and {"trace": {…}}. A visit is answered by one
 * line on stdin: "back URL", "declined", or "nothing".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mcp/io.h>
#include <mcp/oauth.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_STEPS = 16, MAX_TEXT = 65536, WAIT_MS = 60000 };

typedef struct program {
    mcp_loop *loop;
    mcp_client *client;
    mcp_http_client *http;
    mcp_oauth_client *oauth;
    const char *server, *assertion, *proxy, *ca_file, *store;
    char *line; /* the answer to a visit */
    bool asking;
    char text[MAX_TEXT]; /* the options, NUL-terminated */
    size_t text_used;
} program;

/* ---- output ---------------------------------------------------------------------------------- */

static void print(mcp_json_writer *w)
{
    mcp_str text = {0};
    mcp_json_end(w);
    if (mcp_json_writer_finish(w, &text) == MCP_OK)
        printf("%.*s\n", (int)text.len, text.ptr);
    fflush(stdout);
    mcp_json_writer_free(w);
}

static void member(mcp_json_writer *w, const char *key, const char *value)
{
    if (!value)
        return;
    mcp_json_key(w, key);
    mcp_json_add_string(w, value);
}

static mcp_json_writer *begin(void)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    return w;
}

static void report(const char *step, int rc, const mcp_error *error)
{
    mcp_json_writer *w = begin();
    member(w, "step", step);
    mcp_json_key(w, "rc");
    mcp_json_add_int(w, rc);
    member(w, "name", mcp_error_name(rc));
    member(w, "error", rc == MCP_OK ? NULL : error->text);
    print(w);
}

/* ---- the store: one file --------------------------------------------------------------------- */

static int store_lock(mcp_oauth_client *client, const char *key, void *user)
{
    (void)client, (void)key, (void)user;
    return MCP_OK;
}

static void store_unlock(mcp_oauth_client *client, const char *key, void *user)
{
    (void)client, (void)key, (void)user;
}

static int store_load(const char *key, void (*give)(void *arg, mcp_str record), void *arg,
                      void *user, mcp_error *error)
{
    const program *p = user;
    char record[MAX_TEXT];
    (void)key, (void)error;
    FILE *file = fopen(p->store, "re");
    if (!file)
        return MCP_ENOTFOUND;
    size_t len = fread(record, 1, sizeof(record), file);
    fclose(file);
    if (len > 0)
        give(arg, (mcp_str){record, len});
    return len > 0 ? MCP_OK : MCP_ENOTFOUND;
}

static int store_save(const char *key, mcp_str record, void *user, mcp_error *error)
{
    const program *p = user;
    (void)key, (void)error;
    if (!record.ptr)
        return unlink(p->store) == 0 || errno == ENOENT ? MCP_OK : MCP_EIO;
    FILE *file = fopen(p->store, "we");
    if (!file)
        return MCP_EIO;
    size_t written = fwrite(record.ptr, 1, record.len, file);
    return fclose(file) == 0 && written == record.len ? MCP_OK : MCP_EIO;
}

/* ---- functions of the client ----------------------------------------------------------------- */

static void read_answer(void *arg)
{
    program *p = arg;
    size_t size = 0;
    if (getline(&p->line, &size, stdin) >= 0)
        p->line[strcspn(p->line, "\n")] = 0;
    else
        free(p->line), p->line = NULL;
}

static void use_answer(void *arg)
{
    program *p = arg;
    mcp_error error = {0};
    char *line = p->line;
    p->line = NULL;
    p->asking = false;
    if (line && strncmp(line, "back ", 5) == 0) {
        int rc = mcp_oauth_client_redirected(p->oauth, mcp_str_from(line + 5), &error);
        report("back", rc, &error);
        if (rc != MCP_OK)
            mcp_oauth_client_declined(p->oauth, MCP_EACCESS, "the test has no other answer");
    } else if (!line || strcmp(line, "declined") == 0) {
        mcp_oauth_client_declined(p->oauth, MCP_EACCESS, "declined by the test");
    }
    free(line);
}

static int visit(mcp_oauth_client *client, const mcp_oauth_visit *visit, void *user)
{
    program *p = user;
    (void)client;
    mcp_json_writer *w = begin();
    mcp_json_key(w, "visit");
    mcp_json_begin_object(w);
    member(w, "url", visit->url);
    member(w, "redirect_uri", visit->redirect_uri);
    member(w, "user_code", visit->user_code);
    member(w, "complete_url", visit->complete_url);
    member(w, "issuer", visit->issuer);
    member(w, "scope", visit->scope);
    mcp_json_end(w);
    print(w);
    if (!visit->redirect_uri)
        return MCP_OK;
    const mcp_host *host = mcp_loop_host(p->loop);
    p->asking = true;
    return host->work_long(read_answer, use_answer, p, host->user);
}

static void visit_end(mcp_oauth_client *client, void *user)
{
    (void)client, (void)user;
    mcp_json_writer *w = begin();
    mcp_json_key(w, "visit_end");
    mcp_json_add_bool(w, true);
    print(w);
}

static void trace(mcp_oauth_client *client, const mcp_oauth_step *step, void *user)
{
    (void)client, (void)user;
    mcp_json_writer *w = begin();
    mcp_json_key(w, "trace");
    mcp_json_begin_object(w);
    member(w, "what", step->what);
    member(w, "method", step->method);
    member(w, "url", step->url);
    mcp_json_key(w, "status");
    mcp_json_add_int(w, step->status);
    member(w, "text", step->text);
    mcp_json_end(w);
    print(w);
}

static int assertion(mcp_oauth_client *client, void (*give)(void *arg, mcp_str jwt), void *arg,
                     void *user, mcp_error *error)
{
    const program *p = user;
    (void)client, (void)error;
    give(arg, mcp_str_from(p->assertion));
    return MCP_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

#define OPTION(name)                                    \
    {                                                   \
#name, offsetof(mcp_oauth_client_options, name) \
    }
static const struct {
    const char *name;
    size_t at;
} texts[] = {OPTION(server),        OPTION(account),        OPTION(client_name),
             OPTION(client_uri),    OPTION(client_id),      OPTION(client_secret),
             OPTION(client_key),    OPTION(issuer),         OPTION(client_metadata_url),
             OPTION(scope),         OPTION(redirect_uri),   OPTION(idp_token_endpoint),
             OPTION(idp_client_id), OPTION(trusted_issuer), OPTION(idp_client_secret),
             OPTION(ca_file),       OPTION(proxy)},
  switches[] = {OPTION(dpop), OPTION(omit_resource), OPTION(assume_pkce), OPTION(legacy_endpoints),
                OPTION(allow_private)},
  times[] = {OPTION(fetch_ms), OPTION(visit_ms)};

static const struct {
    const char *name;
    mcp_oauth_grant grant;
} grants[] = {{"code", MCP_OAUTH_CODE},
              {"device", MCP_OAUTH_DEVICE},
              {"client_credentials", MCP_OAUTH_CLIENT_CREDENTIALS},
              {"enterprise", MCP_OAUTH_ENTERPRISE},
              {"assertion", MCP_OAUTH_ASSERTION}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *text_of(program *p, const mcp_json *given, const char *name)
{
    mcp_str value = mcp_json_string(mcp_json_get(given, name));
    if (!value.ptr || value.len >= sizeof(p->text) - p->text_used)
        return NULL;
    char *text = p->text + p->text_used;
    memcpy(text, value.ptr, value.len);
    text[value.len] = 0;
    p->text_used += value.len + 1;
    return text;
}

static void read_options(program *p, const mcp_json *given, mcp_oauth_client_options *o)
{
    char *base = (char *)o;
    for (size_t i = 0; i < COUNT(texts); i++) {
        const char *text = text_of(p, given, texts[i].name);
        memcpy(base + texts[i].at, &text, sizeof(text));
    }
    for (size_t i = 0; i < COUNT(switches); i++)
        *(bool *)(base + switches[i].at) =
            mcp_json_bool(mcp_json_get(given, switches[i].name), false);
    for (size_t i = 0; i < COUNT(times); i++)
        *(uint64_t *)(base + times[i].at) =
            (uint64_t)mcp_json_int(mcp_json_get(given, times[i].name), 0);
    mcp_str grant = mcp_json_string(mcp_json_get(given, "grant"));
    for (size_t i = 0; i < COUNT(grants); i++)
        if (mcp_str_eq(grant, mcp_str_from(grants[i].name)))
            o->grant = grants[i].grant;
    p->server = o->server;
    p->proxy = o->proxy;
    p->ca_file = o->ca_file;
    p->store = text_of(p, given, "store");
    p->assertion = text_of(p, given, "assertion");
    o->assertion = p->assertion ? assertion : NULL;
    o->visit = mcp_json_bool(mcp_json_get(given, "alone"), false) ? NULL : visit;
    o->visit_end = visit_end;
    o->trace = trace;
    o->user = p;
}

static int make_oauth(program *p, const char *given, mcp_error *error)
{
    mcp_auth_host host = {.size = sizeof(host)};
    mcp_oauth_store store = {.size = sizeof(store),
                             .user = p,
                             .lock = store_lock,
                             .unlock = store_unlock,
                             .load = store_load,
                             .save = store_save};
    mcp_oauth_client_options o = {.size = sizeof(o), .host = &host};
    mcp_json_doc *doc = NULL;
    mcp_loop_auth_host(p->loop, &host);
    int rc = mcp_json_parse(mcp_str_from(given), NULL, NULL, &doc, error);
    if (rc != MCP_OK)
        return rc;
    read_options(p, mcp_json_root(doc), &o);
    o.store = p->store ? &store : NULL;
    rc = mcp_oauth_client_new(&o, &p->oauth, error);
    mcp_json_free(doc);
    return rc;
}

/* ---- steps ----------------------------------------------------------------------------------- */

typedef struct step {
    program *program;
    char text[1024];
    mcp_call_id call;
    bool is_call, over;
    int rc;
    mcp_error error;
} step;

static void disconnect(program *p)
{
    mcp_http_client_close(p->http);
    mcp_client_free(p->client);
    p->http = NULL;
    p->client = NULL;
}

static int connect_client(program *p, mcp_error *error)
{
    int rc = MCP_OK;
    if (p->client)
        return MCP_OK;
    rc = mcp_client_new(
        MCP_OPTIONS(mcp_client_options, .name = "oauth-client", .version = mcp_version()),
        &p->client, error);
    if (rc == MCP_OK)
        rc = mcp_http_client_connect(p->loop, p->client,
                                     MCP_OPTIONS(mcp_http_client_options, .url = p->server,
                                                 .proxy = p->proxy, .ca_file = p->ca_file,
                                                 .oauth = p->oauth, .no_http_sse = true),
                                     &p->http, error);
    if (rc == MCP_OK)
        rc = mcp_client_wait(p->client, 0, NULL, error);
    if (rc != MCP_OK)
        disconnect(p);
    return rc;
}

static void over(mcp_oauth_client *client, int rc, const mcp_error *error, void *user)
{
    step *s = user;
    (void)client;
    s->over = true;
    s->rc = rc;
    if (error)
        s->error = *error;
}

static void print_state(program *p, const mcp_oauth_state *state)
{
    (void)p;
    mcp_json_writer *w = begin();
    mcp_json_key(w, "state");
    mcp_json_begin_object(w);
    member(w, "issuer", state->issuer);
    member(w, "client_id", state->client_id);
    member(w, "resource", state->resource);
    member(w, "scope", state->scope);
    member(w, "why", state->why);
    mcp_json_key(w, "expires");
    mcp_json_add_int(w, state->expires);
    mcp_json_key(w, "has_token");
    mcp_json_add_bool(w, state->has_token);
    mcp_json_key(w, "can_refresh");
    mcp_json_add_bool(w, state->can_refresh);
    mcp_json_key(w, "is_bound");
    mcp_json_add_bool(w, state->is_bound);
    mcp_json_end(w);
    print(w);
}

static void start_step(step *s)
{
    program *p = s->program;
    mcp_oauth_state state = {.size = sizeof(state)};
    s->over = true;
    if (strcmp(s->text, "login") == 0 || strcmp(s->text, "logout") == 0) {
        s->over = false;
        s->rc = s->text[3] == 'i' ? mcp_oauth_client_login(p->oauth, over, s)
                                  : mcp_oauth_client_logout(p->oauth, over, s);
        s->over = s->rc != MCP_OK;
    } else if (strcmp(s->text, "state") == 0) {
        s->rc = mcp_oauth_client_get_state(p->oauth, &state, &s->error);
        print_state(p, &state);
    } else {
        s->is_call = true;
        s->rc = connect_client(p, &s->error);
        if (s->rc == MCP_OK && strcmp(s->text, "list") == 0)
            s->rc = mcp_client_list_all(p->client, "tools/list", NULL, NULL, &s->call);
        else if (s->rc == MCP_OK && strncmp(s->text, "read ", 5) == 0)
            s->rc = mcp_client_read(p->client, s->text + 5, NULL, &s->call);
        else if (s->rc == MCP_OK)
            s->rc =
                mcp_client_call_tool(p->client, s->text + strlen("call "), "{}", NULL, &s->call);
    }
}

static void finish_step(step *s)
{
    program *p = s->program;
    int64_t end = mcp_loop_now(p->loop) + WAIT_MS;
    while (!s->over && mcp_loop_now(p->loop) < end)
        mcp_loop_step(p->loop, 100);
    if (!s->over)
        s->rc = MCP_ETIMEOUT;
    else if (s->is_call && s->rc == MCP_OK)
        s->rc = mcp_client_wait(p->client, s->call, NULL, &s->error);
    report(s->text, s->rc, &s->error);
}

static void run_steps(program *p, const char *line)
{
    static step steps[MAX_STEPS];
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    const mcp_json *one;
    size_t n = 0;
    if (mcp_json_parse(mcp_str_from(line), NULL, NULL, &doc, NULL) != MCP_OK)
        return;
    while (n < MAX_STEPS && (one = mcp_json_next(mcp_json_root(doc), &it, NULL)) != NULL) {
        mcp_str text = mcp_json_string(one);
        steps[n] = (step){.program = p};
        snprintf(steps[n].text, sizeof(steps[n].text), "%.*s", (int)text.len, text.ptr);
        start_step(&steps[n++]);
    }
    for (size_t i = 0; i < n; i++)
        finish_step(&steps[i]);
    mcp_json_free(doc);
}

int main(int argc, char **argv)
{
    static program p;
    mcp_error error = {0};
    char *line = NULL;
    size_t size = 0;
    int rc = argc == 2 ? mcp_loop_new(NULL, &p.loop, &error) : MCP_EINVAL;
    if (rc == MCP_OK)
        rc = make_oauth(&p, argv[1], &error);
    report("start", rc, &error);
    while (rc == MCP_OK && getline(&line, &size, stdin) > 0)
        run_steps(&p, line);
    free(line);
    disconnect(&p);
    mcp_oauth_client_free(p.oauth);
    if (p.loop)
        mcp_loop_drain(p.loop, 1000);
    mcp_loop_free(p.loop);
    return rc == MCP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
