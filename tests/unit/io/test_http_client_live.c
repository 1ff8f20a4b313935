/* The client with the library's own HTTP endpoint in one loop, in each revision: calls, pages,
 * progress, input requests, subscriptions, cancellation, lost sessions, authorization; over TCP,
 * Unix sockets and TLS. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>

#include "fixture.h"
#include "login.h"
#include "support/wait.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct world {
    mcp_loop *loop;
    fixture *server;
    mcp_listener *listener;
    mcp_client *client;
    mcp_http_client *http;
    int asked, progressed, changed, active, lost, hooked;
    char folder[64], token[32];
    bool login;         /* the server requires a token */
    bool answers_later; /* a timer answers the logins */
    int64_t lives_ms;   /* the lifetime of identities; 0 means that they do not expire */
    int logins;         /* number of open logins */
    uint64_t handshake_ms;
} world;

static const char *const revisions[] = {NULL,         "2026-07-28", "2025-11-25",
                                        "2025-06-18", "2025-03-26", "2024-11-05"};

/* ---- a world --------------------------------------------------------------------------------- */

static void answer_form(mcp_client *client, mcp_question *question, void *user)
{
    world *w = user;
    mcp_error error = {0};

    (void)client;
    w->asked++;
    if (mcp_question_accept(question, "{\"name\":\"Ada\"}", &error) != MCP_OK)
        fail_msg("%s", error.text);
}

/* A login that is answered later. */
typedef struct waiting {
    world *w;
    mcp_http_login *login;
    mcp_host_timer *timer;
} waiting;

static void answer_login(const world *w, mcp_http_login *login)
{
    char token[32];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (login_token(login, token, sizeof(token)) && strcmp(token, "t1") == 0)
        login_accept(login, MCP_OPTIONS(mcp_identity_options, .principal = "somebody",
                                        .expires_ms = w->lives_ms ? now_ms + w->lives_ms : 0));
    else
        mcp_http_login_refuse(login, NULL);
}

static void end_waiting(waiting *one)
{
    const mcp_host *host = mcp_loop_host(one->w->loop);
    host->timer_stop(one->timer, host->user);
    one->w->logins--;
    free(one);
}

static void answer_later(void *arg)
{
    waiting *one = arg;
    answer_login(one->w, one->login);
    end_waiting(one);
}

static void forget_login(mcp_http_login *login, void *user)
{
    (void)login;
    end_waiting(user);
}

static void authenticate(mcp_http_login *login, void *user)
{
    world *w = user;
    const mcp_host *host = mcp_loop_host(w->loop);
    if (!w->answers_later) {
        answer_login(w, login);
        return;
    }
    waiting *one = calloc(1, sizeof(*one));
    assert_non_null(one);
    *one = (waiting){.w = w, .login = login};
    one->timer = host->timer_start(1, answer_later, one, host->user);
    mcp_http_login_on_cancel(login, forget_login, one);
    w->logins++;
}

static void listen_at(world *w, const char *address, bool tls)
{
    char cert[96], key[96];
    mcp_error error = {0};
    mcp_http_options http = {.size = sizeof(http),
                             .user = w,
                             .authenticate = w->login ? authenticate : NULL,
                             .handshake_ms = w->handshake_ms,
                             .sse_path = "/sse"};

    snprintf(cert, sizeof(cert), "%s/cert.pem", w->folder);
    snprintf(key, sizeof(key), "%s/key.pem", w->folder);
    if (mcp_loop_listen(w->loop, fixture_server(w->server),
                        MCP_OPTIONS(mcp_listen_options, .address = address, .http = &http,
                                    .tls_cert = tls ? cert : NULL, .tls_key = tls ? key : NULL),
                        &w->listener, &error) != MCP_OK)
        fail_msg("%s", error.text);
}

static void open_client(world *w, const char *revision, mcp_http_client_options o)
{
    char url[160];
    mcp_error error = {0};
    const char *at = mcp_listener_address(w->listener);

    snprintf(url, sizeof(url), strncmp(at, "unix:", 5) == 0 ? "%s" : "http://%s/mcp", at);
    if (!o.url)
        o.url = url;
    o.size = sizeof(o);
    o.user = w;
    assert_int_equal(
        mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "t", .version = "1",
                                   .revision = revision, .user = w, .elicit_form = answer_form,
                                   .timeout_ms = 5000, .retry_ms = 20),
                       &w->client, NULL),
        MCP_OK);
    if (mcp_http_client_connect(w->loop, w->client, &o, &w->http, &error) != MCP_OK)
        fail_msg("%s", error.text);
}

static void open_world(world *w, const char *address, bool tls)
{
    snprintf(w->folder, sizeof(w->folder), "/tmp/mcp-live-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    if (tls) {
        char command[512];
        snprintf(command, sizeof(command),
                 "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
                 "-nodes -keyout key.pem -out cert.pem -subj /CN=localhost -days 2 "
                 "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>openssl.log",
                 w->folder);
        assert_int_equal(system(command), 0);
    }
    assert_int_equal(mcp_loop_new(NULL, &w->loop, NULL), MCP_OK);
    assert_int_equal(fixture_new(&(fixture_options){.coalesce_ms = 1}, &w->server, NULL), MCP_OK);
    assert_int_equal(fixture_add_asks(fixture_server(w->server), NULL), MCP_OK);
    mcp_server_set_host(fixture_server(w->server), mcp_loop_host(w->loop));
    listen_at(w, address, tls);
}

static void close_world(world *w)
{
    char command[128];

    mcp_http_client_close(w->http);
    mcp_client_free(w->client);
    mcp_listener_close(w->listener);
    mcp_loop_drain(w->loop, 1000);
    fixture_free(w->server);
    mcp_loop_free(w->loop);
    snprintf(command, sizeof(command), "rm -rf %s", w->folder);
    assert_int_equal(system(command), 0);
}

static void run_until(world *w, const int *what, int value)
{
    for (int64_t end = wait_end(); *what < value && wait_more(end);)
        mcp_loop_step(w->loop, 10);
    assert_true(*what >= value);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int finish(world *w, mcp_call_id call, mcp_json_doc **ret)
{
    mcp_error error = {0};
    int rc = mcp_client_wait(w->client, call, ret, &error);

    if (rc != MCP_OK)
        print_message("%s\n", error.text);
    return rc;
}

static void expect_tool(world *w, const char *name, const char *arguments,
                        const mcp_call_options *options, const char *text)
{
    mcp_call_id call;
    mcp_json_doc *doc = NULL;

    assert_int_equal(mcp_client_call_tool(w->client, name, arguments, options, &call), MCP_OK);
    assert_int_equal(finish(w, call, &doc), MCP_OK);
    const mcp_json *content = mcp_json_get(mcp_json_root(doc), "content");
    mcp_str got = mcp_json_string(mcp_json_get(mcp_json_at(content, 0), "text"));
    if (!mcp_str_eq(got, mcp_str_from(text)))
        fail_msg("%s: %.*s", name, (int)got.len, got.ptr);
    mcp_json_free(doc);
}

static void expect_read(world *w, const char *uri, const char *text)
{
    mcp_call_id call;
    mcp_json_doc *doc = NULL;

    assert_int_equal(mcp_client_read(w->client, uri, NULL, &call), MCP_OK);
    assert_int_equal(finish(w, call, &doc), MCP_OK);
    const mcp_json *contents = mcp_json_get(mcp_json_root(doc), "contents");
    mcp_str got = mcp_json_string(mcp_json_get(mcp_json_at(contents, 0), "text"));
    if (!mcp_str_eq(got, mcp_str_from(text)))
        fail_msg("%s: %.*s", uri, (int)got.len, got.ptr);
    mcp_json_free(doc);
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                        void *user)
{
    (void)client, (void)call, (void)progress;
    ((world *)user)->progressed++;
}

static size_t count_tools(world *w)
{
    mcp_call_id call;
    mcp_json_doc *doc = NULL;

    assert_int_equal(mcp_client_list_all(w->client, "tools/list", NULL, NULL, &call), MCP_OK);
    assert_int_equal(finish(w, call, &doc), MCP_OK);
    size_t n = mcp_json_count(mcp_json_get(mcp_json_root(doc), "tools"));
    mcp_json_free(doc);
    return n;
}

static void use_it(world *w, const char *revision)
{
    bool modern = !revision || strcmp(revision, "2026-07-28") == 0;
    bool elicits = modern || strcmp(revision, "2025-06-18") >= 0;

    assert_int_equal(finish(w, 0, NULL), MCP_OK);
    assert_string_equal(mcp_client_revision(w->client), revision ? revision : "2026-07-28");
    assert_int_equal(mcp_client_is_modern(w->client), modern);
    expect_read(w, "fixed:/text", "hello");
    expect_tool(w, "echo", "{\"text\":\"h\\u00e9\"}", NULL, "h\xC3\xA9");
    expect_tool(w, "progress", NULL,
                MCP_OPTIONS(mcp_call_options, .progress = on_progress, .user = w), "progressed");
    assert_int_equal(w->progressed, 3);
    assert_true(count_tools(w) > 20); /* several pages */
    if (elicits) {
        expect_tool(w, "name", NULL, NULL, "accept {\"name\":\"Ada\"}");
        assert_int_equal(w->asked, 1);
    }
}

static void test_every_revision(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(revisions); i++) {
        world w = {0};
        open_world(&w, "127.0.0.1:0", false);
        open_client(&w, revisions[i], (mcp_http_client_options){0});
        use_it(&w, revisions[i]);
        close_world(&w);
    }
}

/* HTTP+SSE, which the client detects; the revision is negotiated as usual. */
static void test_http_sse(void **state)
{
    static const char *const agreed[] = {"2024-11-05", "2025-11-25"};

    (void)state;
    for (size_t i = 0; i < COUNT(agreed); i++) {
        world w = {0};
        char url[96];
        open_world(&w, "127.0.0.1:0", false);
        snprintf(url, sizeof(url), "http://%s/sse", mcp_listener_address(w.listener));
        open_client(&w, i ? NULL : agreed[i], (mcp_http_client_options){.url = url});
        assert_int_equal(mcp_client_wait(w.client, 0, NULL, NULL), MCP_OK);
        use_it(&w, agreed[i]);
        close_world(&w);
    }
}

static void test_unix_socket(void **state)
{
    world w = {0};
    char address[96];

    (void)state;
    snprintf(address, sizeof(address), "unix:/tmp/mcp-live-%d.sock", (int)getpid());
    open_world(&w, address, false);
    open_client(&w, NULL, (mcp_http_client_options){0});
    use_it(&w, NULL);
    mcp_http_client_close(w.http);
    mcp_client_free(w.client);
    open_client(
        &w, "2025-11-25",
        (mcp_http_client_options){.url = "http://any.example/mcp", .unix_socket = address + 5});
    w.progressed = w.asked = 0;
    use_it(&w, "2025-11-25");
    close_world(&w);
}

static void test_tls(void **state)
{
    world w = {0};
    char url[96], cert[96];
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};

    (void)state;
    open_world(&w, "127.0.0.1:0", true);
    snprintf(url, sizeof(url), "https://localhost:%s/mcp",
             strchr(mcp_listener_address(w.listener), ':') + 1);
    snprintf(cert, sizeof(cert), "%s/cert.pem", w.folder);
    open_client(&w, NULL, (mcp_http_client_options){.url = url, .ca_file = cert});
    use_it(&w, NULL);
    mcp_http_client_close(w.http);
    mcp_client_free(w.client);
    open_client(&w, NULL, (mcp_http_client_options){.url = url}); /* untrusted */
    assert_true(mcp_client_wait(w.client, 0, &doc, &error) < 0);
    assert_non_null(strstr(error.text, "certificate"));
    mcp_json_free(doc);
    mcp_http_client_close(w.http);
    mcp_client_free(w.client);
    setenv("SSL_CERT_FILE", cert, 1); /* trusted by everybody who names no file */
    open_client(&w, NULL, (mcp_http_client_options){.url = url});
    w.progressed = w.asked = 0;
    use_it(&w, NULL);
    unsetenv("SSL_CERT_FILE");
    close_world(&w);
}

/* ---- subscriptions --------------------------------------------------------------------------- */

static void on_changed(mcp_client *client, mcp_subscription *subscription, mcp_change change,
                       mcp_str uri, void *user)
{
    (void)client, (void)subscription, (void)change, (void)uri;
    ((world *)user)->changed++;
}

static void on_state(mcp_client *client, mcp_subscription *subscription,
                     mcp_subscription_state state, const mcp_error *error, void *user)
{
    world *w = user;

    (void)client, (void)subscription, (void)error;
    if (state == MCP_SUBSCRIPTION_ACTIVE)
        w->active++;
    else
        w->lost++;
}

/* A peer that connects and does not finish its handshake is disconnected. */
static void test_stuck_handshake(void **state)
{
    static const char *const beginnings[] = {"", "\x16\x03\x01"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        world w = {.handshake_ms = 50};
        open_world(&w, "127.0.0.1:0", true);
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        at.sin_port = htons((uint16_t)atoi(strchr(mcp_listener_address(w.listener), ':') + 1));
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(send(fd, beginnings[i], strlen(beginnings[i]), 0),
                         (ssize_t)strlen(beginnings[i]));
        char byte;
        ssize_t n = -1;
        for (int64_t end = wait_end(); n < 0 && wait_more(end);) {
            mcp_loop_step(w.loop, 10);
            n = recv(fd, &byte, 1, MSG_DONTWAIT);
            if (n < 0 && errno != EAGAIN)
                n = 0; /* a reset counts as closed too */
        }
        assert_int_equal(n, 0);
        assert_int_equal(mcp_listener_connections(w.listener), 0);
        close(fd);
        close_world(&w);
    }
}

static void test_subscription(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(revisions); i++) {
        world w = {0};
        const char *const uris[] = {"fixed:/text"};
        mcp_subscription *subscription = NULL;
        open_world(&w, "127.0.0.1:0", false);
        open_client(&w, revisions[i], (mcp_http_client_options){.retry_ms = 20});
        assert_int_equal(
            mcp_client_subscribe(w.client,
                                 MCP_OPTIONS(mcp_subscription_options, .uris = uris, .n_uris = 1,
                                             .tools = true, .changed = on_changed,
                                             .state = on_state, .user = &w),
                                 &subscription),
            MCP_OK);
        run_until(&w, &w.active, 1);
        /* The stream for notifications may open a moment later. */
        for (int64_t end = wait_end(); !w.changed && wait_more(end);) {
            mcp_server_resource_updated(fixture_server(w.server), "fixed:/text");
            mcp_loop_step(w.loop, 10);
        }
        assert_true(w.changed > 0);
        mcp_subscription_end(subscription);
        expect_read(&w, "fixed:/text", "hello");
        close_world(&w);
    }
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static void test_cancel(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(revisions); i++) {
        world w = {0};
        mcp_call_id call;
        open_world(&w, "127.0.0.1:0", false);
        open_client(&w, revisions[i], (mcp_http_client_options){0});
        assert_int_equal(mcp_client_call_tool(w.client, "pending", NULL, NULL, &call), MCP_OK);
        for (int64_t end = wait_end(); !fixture_pending(w.server) && wait_more(end);)
            mcp_loop_step(w.loop, 10);
        assert_int_equal(fixture_pending(w.server), 1);
        assert_int_equal(mcp_client_cancel(w.client, call, "enough"), MCP_OK);
        for (int64_t end = wait_end(); !fixture_cancelled(w.server) && wait_more(end);)
            mcp_loop_step(w.loop, 10);
        assert_int_equal(fixture_cancelled(w.server), 1);
        expect_read(&w, "fixed:/text", "hello");
        close_world(&w);
    }
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* The server is restarted at the same address: the session is lost, and the client starts a new
 * one. */
static void test_server_restarts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(revisions); i++) {
        world w = {0};
        char address[64];
        open_world(&w, "127.0.0.1:0", false);
        open_client(&w, revisions[i], (mcp_http_client_options){.retry_ms = 20});
        expect_read(&w, "fixed:/text", "hello");
        snprintf(address, sizeof(address), "%s", mcp_listener_address(w.listener));
        mcp_listener_close(w.listener);
        for (int k = 0; k < 3; k++)
            mcp_loop_step(w.loop, 1);
        listen_at(&w, address, false);
        expect_tool(&w, "echo", "{\"text\":\"again\"}", NULL, "again");
        close_world(&w);
    }
}

/* A client that only listens detects it too. */
static void test_restart_while_listening(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(revisions); i++) {
        world w = {0};
        const char *const uris[] = {"fixed:/text"};
        mcp_subscription *subscription = NULL;
        char address[64];
        open_world(&w, "127.0.0.1:0", false);
        open_client(&w, revisions[i], (mcp_http_client_options){.retry_ms = 20});
        assert_int_equal(
            mcp_client_subscribe(w.client,
                                 MCP_OPTIONS(mcp_subscription_options, .uris = uris, .n_uris = 1,
                                             .changed = on_changed, .state = on_state, .user = &w),
                                 &subscription),
            MCP_OK);
        for (int round = 0; round < 2; round++) {
            w.changed = 0;
            for (int64_t end = wait_end(); !w.changed && wait_more(end);) {
                mcp_server_resource_updated(fixture_server(w.server), "fixed:/text");
                mcp_loop_step(w.loop, 10);
            }
            if (!w.changed)
                fail_msg("%s: nothing was heard in round %d",
                         revisions[i] ? revisions[i] : "no revision", round);
            snprintf(address, sizeof(address), "%s", mcp_listener_address(w.listener));
            mcp_listener_close(w.listener);
            mcp_loop_step(w.loop, 1);
            listen_at(&w, address, false);
        }
        assert_true(w.active >= 2);
        assert_true(w.lost >= 1); /* between two streams, changes may have been missed */
        mcp_subscription_end(subscription);
        close_world(&w);
    }
}

static void test_nobody_there(void **state)
{
    world w = {0};
    mcp_error error = {0};

    (void)state;
    open_world(&w, "127.0.0.1:0", false);
    open_client(&w, NULL, (mcp_http_client_options){.url = "http://127.0.0.1:1/mcp"});
    assert_int_equal(mcp_client_wait(w.client, 0, NULL, &error), MCP_EIO);
    assert_non_null(strstr(error.text, "connect"));
    close_world(&w);
}

/* ---- authorization --------------------------------------------------------------------------- */

static int add_token(const char *method, const char *url, mcp_http_add_fn *add, void *arg,
                     void *user)
{
    world *w = user;

    (void)method, (void)url;
    return w->token[0] ? add("Authorization", w->token, arg) : MCP_OK;
}

static int on_challenge(const mcp_http_challenge *challenge, void *user)
{
    world *w = user;

    assert_true(mcp_str_eq(challenge->www_authenticate, MCP_STR("Bearer")));
    snprintf(w->token, sizeof(w->token), "Bearer t%d", w->hooked++);
    return MCP_OK;
}

static void test_authorization(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(revisions); i++) {
        world w = {.login = true, .answers_later = i % 2};
        mcp_error error = {0};
        open_world(&w, "127.0.0.1:0", false);
        open_client(&w, revisions[i], (mcp_http_client_options){0});
        assert_int_equal(mcp_client_wait(w.client, 0, NULL, &error), MCP_EACCESS);
        mcp_http_client_close(w.http);
        mcp_client_free(w.client);
        open_client(
            &w, revisions[i],
            (mcp_http_client_options){.request_headers = add_token, .challenge = on_challenge});
        expect_read(&w, "fixed:/text", "hello");
        assert_int_equal(w.hooked, 2); /* the first token was wrong */
        close_world(&w);
        assert_int_equal(w.logins, 0);
    }
}

/* The stream of notifications ends repeatedly, because its token expires. Each time, the client
 * opens another one and notifies its program that changes may have been missed. */
static void test_streams_expire(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(revisions); i++) {
        world w = {.login = true, .answers_later = i % 2, .lives_ms = 200, .token = "Bearer t1"};
        const char *const uris[] = {"fixed:/text"};
        mcp_subscription *subscription = NULL;
        open_world(&w, "127.0.0.1:0", false);
        open_client(&w, revisions[i],
                    (mcp_http_client_options){.retry_ms = 20, .request_headers = add_token});
        assert_int_equal(
            mcp_client_subscribe(w.client,
                                 MCP_OPTIONS(mcp_subscription_options, .uris = uris, .n_uris = 1,
                                             .changed = on_changed, .state = on_state, .user = &w),
                                 &subscription),
            MCP_OK);
        bool modern = i < 2;
        if (modern)
            run_until(&w, &w.active, 3);
        for (int64_t now = wait_now(); !modern && wait_now() < now + 500;)
            mcp_loop_step(w.loop, 10);
        w.changed = 0;
        for (int64_t end = wait_end(); !w.changed && wait_more(end);) {
            mcp_server_resource_updated(fixture_server(w.server), "fixed:/text");
            mcp_loop_step(w.loop, 10);
        }
        assert_true(w.changed > 0);
        assert_true(!modern || w.lost >= 2);
        mcp_subscription_end(subscription);
        close_world(&w);
        assert_int_equal(w.logins, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_revision),
        cmocka_unit_test(test_http_sse),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_stuck_handshake),
        cmocka_unit_test(test_subscription),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_server_restarts),
        cmocka_unit_test(test_restart_while_listening),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_authorization),
        cmocka_unit_test(test_streams_expire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
