/* An OAuth client on its transport: a client, the library's endpoint, which needs tokens, and a
 * scripted authorization server, on one loop and over real connections. */
#define _GNU_SOURCE
#include "http_script.h"

#include "fixture.h"
#include "login.h"
#include "support/wait.h"

typedef struct world {
    mcp_loop *loop;
    fixture *server;
    mcp_listener *listener;
    script issuer;
    mcp_oauth_client *oauth;
    mcp_client *client;
    mcp_http_client *http;
    char url[96], at[64]; /* of the server and of the issuer */
    char log[8192];       /* the requests to the issuer, and the visits */
    int tokens;           /* issued so far; the last one is valid */
    bool revoked;         /* the last one is no longer valid */
    bool refuses_refresh;
    int logins, login_rc;
    int streams; /* answered by answer_mcp() */
    int away;    /* so many requests for tokens are answered with 503 */
    bool declines;
    int refused, visits; /* requests to the server; calls of visit() */
    int confirmed;       /* subscriptions */
} world;

static void note(world *w, const char *format, ...)
{
    size_t len = strlen(w->log);
    va_list args;
    va_start(args, format);
    vsnprintf(w->log + len, sizeof(w->log) - len, format, args);
    va_end(args);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void authenticate(mcp_http_login *login, void *user)
{
    world *w = user;
    char token[32] = "", valid[32], challenge[256];
    const char *const challenges[] = {challenge};
    (void)login_token(login, token, sizeof(token));
    snprintf(valid, sizeof(valid), "token-%d", w->tokens);
    snprintf(challenge, sizeof(challenge), "Bearer resource_metadata=\"%s/resource\", scope=\"s1\"",
             w->at);
    if (!w->revoked && strcmp(token, valid) == 0)
        login_accept(login, MCP_OPTIONS(mcp_identity_options, .principal = "somebody"));
    else
        mcp_http_login_refuse(
            login, MCP_OPTIONS(mcp_http_denial, .challenges = challenges, .n_challenges = 1));
    w->refused += w->revoked;
}

/* ---- the issuer ------------------------------------------------------------------------------ */

static void answer_token(world *w, script_connection *c, const script_request *r)
{
    char body[256];
    bool refresh = strstr(r->body, "grant_type=refresh_token") != NULL;
    if (refresh && w->refuses_refresh) {
        script_reply(c, "400 Bad Request", "Content-Type: application/json",
                     "{\"error\":\"invalid_grant\"}");
        return;
    }
    if (w->away && w->away--) {
        script_reply(c, "503 Service Unavailable", NULL, "");
        return;
    }
    w->tokens++;
    w->revoked = false;
    snprintf(body, sizeof(body),
             "{\"access_token\":\"token-%d\",\"token_type\":\"bearer\",\"expires_in\":3600,"
             "\"refresh_token\":\"refresh-%d\"}",
             w->tokens, w->tokens);
    script_json(c, body);
}

/* A server of 2025-11-25, for each of whose streams a token is valid once. */
static void answer_mcp(world *w, script_connection *c, const script_request *r)
{
    char head[256], value[512], valid[64], id[32] = "";
    const char *at = strstr(r->body, "\"id\":");
    snprintf(valid, sizeof(valid), "Bearer token-%d", w->tokens);
    snprintf(head, sizeof(head), "WWW-Authenticate: Bearer resource_metadata=\"%s/resource\"",
             w->at);
    if (w->revoked || strcmp(script_header(r, "Authorization", value), valid) != 0) {
        script_reply(c, "401 Unauthorized", head, "");
        return;
    }
    if (r->method[0] == 'G') {
        w->revoked = true;
        w->streams++;
        script_write(c, SCRIPT_STREAM "id: 1\nretry: 1\ndata:\n\n");
        script_end(c);
        return;
    }
    if (at)
        snprintf(id, sizeof(id), "%.*s", (int)strcspn(at + 5, ",}"), at + 5);
    char body[512];
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":\"2025-11-25\","
             "\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}",
             id);
    if (strstr(r->body, "\"initialize\""))
        script_json(c, body);
    else
        script_reply(c, id[0] ? "400 Bad Request" : "202 Accepted", NULL, "");
}

static void answer(script_connection *c, const script_request *r)
{
    world *w = c->script->user;
    char body[1024];
    note(w, "%s %.*s\n", r->method, (int)strcspn(r->path, "?"), r->path);
    if (strcmp(r->path, "/mcp") == 0) {
        answer_mcp(w, c, r);
    } else if (strncmp(r->path, "/authorize?", 11) == 0) { /* the client is known; nobody follows */
        script_reply(c, "302 Found", "Location: /authorize?again", "");
    } else if (strcmp(r->path, "/resource") == 0) {
        snprintf(body, sizeof(body), "{\"resource\":\"%s\",\"authorization_servers\":[\"%s\"]}",
                 w->url, w->at);
        script_json(c, body);
    } else if (strcmp(r->path, "/.well-known/oauth-authorization-server") == 0) {
        snprintf(body, sizeof(body),
                 "{\"issuer\":\"%s\",\"authorization_endpoint\":\"%s/authorize\","
                 "\"token_endpoint\":\"%s/token\",\"registration_endpoint\":\"%s/register\","
                 "\"response_types_supported\":[\"code\"],"
                 "\"code_challenge_methods_supported\":[\"S256\"],"
                 "\"token_endpoint_auth_methods_supported\":[\"none\"]}",
                 w->at, w->at, w->at, w->at);
        script_json(c, body);
    } else if (strcmp(r->path, "/register") == 0) {
        script_reply(c, "201 Created", "Content-Type: application/json",
                     "{\"client_id\":\"client-1\",\"redirect_uris\":[]}");
    } else if (strcmp(r->path, "/token") == 0) {
        answer_token(w, c, r);
    } else {
        script_reply(c, "404 Not Found", "", "");
    }
}

/* The person, who allows everything at once. */
static int visit(mcp_oauth_client *oauth, const mcp_oauth_visit *v, void *user)
{
    world *w = user;
    char redirect[256];
    const char *state = strstr(v->url, "&state=");
    note(w, "visit %s\n", v->scope);
    w->visits++;
    assert_non_null(state);
    if (w->declines) {
        mcp_oauth_client_declined(oauth, MCP_EACCESS, NULL);
        return MCP_OK;
    }
    snprintf(redirect, sizeof(redirect), "%s?code=c1&state=%.43s", v->redirect_uri, state + 7);
    return mcp_oauth_client_redirected(oauth, mcp_str_from(redirect), NULL);
}

static void on_login(mcp_oauth_client *oauth, int rc, const mcp_error *error, void *user)
{
    world *w = user;
    (void)oauth;
    w->logins++;
    w->login_rc = rc;
    if (rc < 0)
        print_message("%s\n", error->text);
}

/* ---- a world --------------------------------------------------------------------------------- */

static void open_world(world *w)
{
    mcp_auth_host host = {.size = sizeof(host)};
    mcp_error error = {0};
    memset(w, 0, sizeof(*w));
    assert_int_equal(mcp_loop_new(NULL, &w->loop, NULL), MCP_OK);
    script_open(&w->issuer, w->loop, answer, w);
    snprintf(w->at, sizeof(w->at), "http://127.0.0.1:%d", w->issuer.port);
    assert_int_equal(fixture_new(&(fixture_options){.coalesce_ms = 1}, &w->server, NULL), MCP_OK);
    mcp_server_set_host(fixture_server(w->server), mcp_loop_host(w->loop));
    assert_int_equal(mcp_loop_listen(w->loop, fixture_server(w->server),
                                     MCP_OPTIONS(mcp_listen_options, .address = "127.0.0.1:0",
                                                 .http = MCP_OPTIONS(mcp_http_options, .user = w,
                                                                     .authenticate = authenticate)),
                                     &w->listener, NULL),
                     MCP_OK);
    snprintf(w->url, sizeof(w->url), "http://%s/mcp", mcp_listener_address(w->listener));
    mcp_loop_auth_host(w->loop, &host);
    if (mcp_oauth_client_new(MCP_OPTIONS(mcp_oauth_client_options, .server = w->url,
                                         .client_name = "test",
                                         .redirect_uri = "http://127.0.0.1:9/callback",
                                         .visit = visit, .user = w, .host = &host),
                             &w->oauth, &error) != MCP_OK)
        fail_msg("%s", error.text);
}

static void open_client(world *w)
{
    mcp_error error = {0};
    assert_int_equal(
        mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "t", .version = "1",
                                   .timeout_ms = 30000, .retry_ms = 1, .max_retry_ms = 10),
                       &w->client, NULL),
        MCP_OK);
    if (mcp_http_client_connect(w->loop, w->client,
                                MCP_OPTIONS(mcp_http_client_options, .url = w->url,
                                            .oauth = w->oauth, .max_retry_ms = 100),
                                &w->http, &error) != MCP_OK)
        fail_msg("%s", error.text);
}

static void close_world(world *w)
{
    mcp_http_client_close(w->http);
    mcp_client_free(w->client);
    mcp_oauth_client_free(w->oauth);
    mcp_listener_close(w->listener);
    mcp_loop_drain(w->loop, 1000);
    fixture_free(w->server);
    script_free(&w->issuer, w->loop);
    mcp_loop_free(w->loop);
}

static int read_text(world *w)
{
    mcp_call_id call;
    mcp_error error = {0};
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_client_read(w->client, "fixed:/text", NULL, &call), MCP_OK);
    int rc = mcp_client_wait(w->client, call, &doc, &error);
    if (rc < 0)
        print_message("%s\n", error.text);
    mcp_json_free(doc);
    return rc;
}

static void expect_log(world *w, const char *log)
{
    if (strcmp(w->log, log) != 0)
        fail_msg("the log is\n%s\ninstead of\n%s", w->log, log);
    w->log[0] = 0;
}

#define DISCOVERY "GET /resource\nGET /.well-known/oauth-authorization-server\n"

/* ---- tests ----------------------------------------------------------------------------------- */

/* From nothing to a read: discovery, registration, a visit, and a token for all that waits. */
static void test_from_nothing(void **state)
{
    world w;
    mcp_oauth_state s = {.size = sizeof(s)};
    (void)state;
    open_world(&w);
    open_client(&w);
    assert_int_equal(read_text(&w), MCP_OK);
    expect_log(&w, DISCOVERY "POST /register\nvisit s1\nPOST /token\n");
    assert_int_equal(mcp_oauth_client_get_state(w.oauth, &s, NULL), MCP_OK);
    assert_string_equal(s.issuer, w.at);
    assert_string_equal(s.client_id, "client-1");
    assert_string_equal(s.resource, w.url);
    assert_string_equal(s.scope, "s1");
    assert_true(s.has_token && s.can_refresh && !s.in_progress && !s.is_bound);
    assert_true(s.expires > 0);
    close_world(&w);
}

/* A token that is refused is renewed, once for all calls that wait. */
static void test_refresh(void **state)
{
    enum { CALLS = 5 };
    world w;
    mcp_call_id calls[CALLS];
    (void)state;
    open_world(&w);
    open_client(&w);
    assert_int_equal(read_text(&w), MCP_OK);
    w.log[0] = 0;
    w.revoked = true;
    for (size_t i = 0; i < CALLS; i++) {
        char uri[64];
        snprintf(uri, sizeof(uri), "fixed:/text?%zu", i);
        assert_int_equal(mcp_client_read(w.client, uri, NULL, &calls[i]), MCP_OK);
    }
    for (size_t i = 0; i < CALLS; i++)
        (void)mcp_client_wait(w.client, calls[i], NULL, NULL);
    expect_log(&w, DISCOVERY "POST /token\n");
    assert_int_equal(w.tokens, 2);
    w.revoked = w.refuses_refresh = true;
    assert_int_equal(mcp_client_call_tool(w.client, "echo", "{\"text\":\"x\"}", NULL, &calls[0]),
                     MCP_OK);
    assert_int_equal(mcp_client_wait(w.client, calls[0], NULL, NULL), MCP_OK);
    expect_log(&w, DISCOVERY "POST /token\nGET /authorize\nvisit s1\nPOST /token\n");
    close_world(&w);
}

/* A login before the transport needs one. */
static void test_login(void **state)
{
    world w;
    (void)state;
    open_world(&w);
    assert_int_equal(mcp_oauth_client_login(w.oauth, on_login, &w), MCP_OK);
    for (int64_t end = wait_end(); !w.logins && wait_more(end);)
        mcp_loop_step(w.loop, 10);
    assert_int_equal(w.logins, 1);
    assert_int_equal(w.login_rc, MCP_OK);
    expect_log(&w, DISCOVERY "POST /register\nvisit s1\nPOST /token\n");
    open_client(&w);
    assert_int_equal(read_text(&w), MCP_OK);
    expect_log(&w, "");
    assert_int_equal(mcp_oauth_client_logout(w.oauth, on_login, &w), MCP_OK);
    for (int64_t end = wait_end(); w.logins < 2 && wait_more(end);)
        mcp_loop_step(w.loop, 10);
    assert_int_equal(w.login_rc, MCP_OK);
    expect_log(&w, "GET /.well-known/oauth-authorization-server\n");
    close_world(&w);
}

/* A stream that stays for days outlives any number of tokens, and an authorization server that is
 * away for a while. */
static void test_stream(void **state)
{
    enum { STREAMS = 8, AWAY = 5 }; /* more than the attempts to authorize one request */
    world w;
    mcp_call_id call;
    mcp_auth_host host = {.size = sizeof(host)};
    (void)state;
    open_world(&w);
    mcp_oauth_client_free(w.oauth);
    snprintf(w.url, sizeof(w.url), "%s/mcp", w.at);
    mcp_loop_auth_host(w.loop, &host);
    assert_int_equal(mcp_oauth_client_new(MCP_OPTIONS(mcp_oauth_client_options, .server = w.url,
                                                      .client_name = "test",
                                                      .redirect_uri = "http://127.0.0.1:9/callback",
                                                      .visit = visit, .user = &w, .host = &host),
                                          &w.oauth, NULL),
                     MCP_OK);
    open_client(&w);
    assert_int_equal(mcp_client_ping(w.client, NULL, &call), MCP_OK);
    for (int64_t end = wait_end(); w.streams < STREAMS && wait_more(end);)
        mcp_loop_step(w.loop, 10);
    w.away = AWAY;
    for (int64_t end = wait_end(); w.streams < STREAMS + 2 && wait_more(end);)
        mcp_loop_step(w.loop, 10);
    assert_int_equal(w.away, 0);
    if (w.streams < STREAMS + 2)
        fail_msg("%s", w.log);
    close_world(&w);
}

static void on_subscription(mcp_client *client, mcp_subscription *subscription,
                            mcp_subscription_state state, const mcp_error *error, void *user)
{
    world *w = user;
    (void)client;
    (void)subscription;
    (void)error;
    w->confirmed += state == MCP_SUBSCRIPTION_ACTIVE;
}

static void on_change(mcp_client *client, mcp_subscription *subscription, mcp_change change,
                      mcp_str uri, void *user)
{
    (void)client;
    (void)subscription;
    (void)change;
    (void)uri;
    (void)user;
}

/* The client opens its stream again and again, but asks a person who has declined only once. */
static void test_declined(void **state)
{
    enum { REFUSED = 12 };
    world w;
    mcp_subscription *subscription;
    (void)state;
    open_world(&w);
    open_client(&w);
    assert_int_equal(read_text(&w), MCP_OK);
    w.log[0] = 0;
    w.visits = 0;
    w.revoked = w.refuses_refresh = w.declines = true;
    assert_int_equal(mcp_client_subscribe(w.client,
                                          MCP_OPTIONS(mcp_subscription_options, .tools = true,
                                                      .changed = on_change,
                                                      .state = on_subscription, .user = &w),
                                          &subscription),
                     MCP_OK);
    for (int64_t end = wait_end(); w.refused < REFUSED && wait_more(end);)
        mcp_loop_step(w.loop, 10);
    assert_true(w.refused >= REFUSED);
    assert_int_equal(w.visits, 1);
    assert_int_equal(w.confirmed, 0);
    w.declines = false; /* a request of the program asks again */
    assert_int_equal(read_text(&w), MCP_OK);
    assert_int_equal(w.visits, 2);
    for (int64_t end = wait_end(); !w.confirmed && wait_more(end);)
        mcp_loop_step(w.loop, 10);
    assert_int_equal(w.confirmed, 1);
    /* Once, because the login before was not completed. */
    const char *registered = strstr(w.log, "/register");
    assert_non_null(registered);
    assert_null(strstr(registered + 1, "/register"));
    close_world(&w);
}

/* An OAuth client is only for the URL of its server. */
static void test_other_url(void **state)
{
    world w;
    mcp_error error;
    (void)state;
    open_world(&w);
    open_client(&w);
    mcp_http_client_close(w.http);
    assert_int_equal(
        mcp_http_client_connect(w.loop, w.client,
                                MCP_OPTIONS(mcp_http_client_options, .url = w.at, .oauth = w.oauth),
                                &w.http, &error),
        MCP_EINVAL);
    w.http = NULL;
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_nothing), cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_login),        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_declined),     cmocka_unit_test(test_other_url),
    };
    return cmocka_run_group_tests_name("oauth_http", tests, NULL, NULL);
}
