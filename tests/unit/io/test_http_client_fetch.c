/* Fetches: results, rejections and limits, and the private addresses that are refused. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "http_script.h"

#include "failalloc.h"
#include "io/http_client/http_client.h"
#include "support/wait.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct fixture {
    failalloc memory;
    mcp_loop *loop;
    script server;
    int calls, rc, status;
    char media[64], body[4096], text[256], caching[2048], nonce[64], challenge[64];
    size_t body_len;
} fixture;

static void on_fetched(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user)
{
    fixture *f = user;

    f->calls++;
    f->rc = rc;
    f->status = fetched ? fetched->status : 0;
    snprintf(f->media, sizeof(f->media), "%s", fetched ? fetched->media_type : "");
    f->body_len = fetched ? fetched->body.len : 0;
    snprintf(f->body, sizeof(f->body), "%.*s", (int)f->body_len,
             f->body_len ? fetched->body.ptr : "");
    snprintf(f->text, sizeof(f->text), "%s", error ? error->text : "");
    f->caching[0] = f->nonce[0] = f->challenge[0] = 0;
    if (fetched && fetched->dpop_nonce.len)
        snprintf(f->nonce, sizeof(f->nonce), "%.*s", (int)fetched->dpop_nonce.len,
                 fetched->dpop_nonce.ptr);
    if (fetched && fetched->www_authenticate.len)
        snprintf(f->challenge, sizeof(f->challenge), "%.*s", (int)fetched->www_authenticate.len,
                 fetched->www_authenticate.ptr);
    if (fetched && fetched->cache_control.len)
        snprintf(f->caching, sizeof(f->caching), "%.*s", (int)fetched->cache_control.len,
                 fetched->cache_control.ptr);
}

static void open_fixture(fixture *f, void (*handle)(script_connection *c, const script_request *r))
{
    mcp_allocator a = failalloc_allocator(&f->memory);

    memset(f, 0, sizeof(*f));
    assert_int_equal(mcp_loop_new(&a, &f->loop, NULL), MCP_OK);
    script_open(&f->server, f->loop, handle, f);
}

static void close_fixture(fixture *f)
{
    script_free(&f->server, f->loop);
    mcp_loop_free(f->loop);
    assert_int_equal(f->memory.live, 0);
}

/* Fetches "/path" from the test's server, or a whole URL. */
static int fetch(fixture *f, const char *url, const mcp_fetch_options *more, mcp_fetch **ret)
{
    char whole[512];
    mcp_fetch_options o = more ? *more : (mcp_fetch_options){.allow_private = true};
    mcp_error error = {0};

    if (url[0] == '/')
        snprintf(whole, sizeof(whole), "http://127.0.0.1:%d%s", f->server.port, url);
    else
        snprintf(whole, sizeof(whole), "%s", url);
    o.size = sizeof(o);
    o.url = whole;
    o.done = on_fetched;
    o.user = f;
    int rc = mcp_loop_fetch(f->loop, &o, ret, &error);
    if (rc < 0)
        snprintf(f->text, sizeof(f->text), "%s", error.text);
    return rc;
}

static void wait_for_it(fixture *f)
{
    f->calls = 0;
    for (int64_t end = wait_end(); !f->calls && wait_more(end);)
        mcp_loop_step(f->loop, 10);
    assert_int_equal(f->calls, 1);
}

/* ---- what is fetched ------------------------------------------------------------------------- */

static void serve(script_connection *c, const script_request *r)
{
    char value[512];

    if (strcmp(r->path, "/text") == 0)
        script_reply(c, "200 OK", "Content-Type: text/plain; charset=utf-8", "hello");
    else if (strcmp(r->path, "/accept") == 0)
        script_reply(c, "200 OK", "Content-Type: text/plain", script_header(r, "Accept", value));
    else if (strcmp(r->path, "/chunks") == 0)
        script_write(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
    else if (strcmp(r->path, "/empty") == 0)
        script_reply(c, "204 No Content", NULL, "");
    else
        script_reply(c, "404 Not Found", "Content-Type: text/plain", "none");
}

static void test_fetch(void **state)
{
    static const struct {
        const char *path;
        int status;
        const char *media, *body;
    } cases[] = {
        {"/text", 200, "text/plain", "hello"},
        {"/chunks", 200, "", "hello world"},
        {"/empty", 204, "", ""},
        {"/none", 404, "text/plain", "none"},
        {"/accept", 200, "text/plain", "*/*"},
    };
    fixture f;

    (void)state;
    open_fixture(&f, serve);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(fetch(&f, cases[i].path, NULL, NULL), MCP_OK);
        wait_for_it(&f);
        assert_int_equal(f.rc, MCP_OK);
        assert_int_equal(f.status, cases[i].status);
        assert_string_equal(f.media, cases[i].media);
        assert_string_equal(f.body, cases[i].body);
    }
    assert_int_equal(fetch(&f, "/accept",
                           &(mcp_fetch_options){.allow_private = true, .accept = "image/png"},
                           NULL),
                     MCP_OK);
    wait_for_it(&f);
    assert_string_equal(f.body, "image/png");
    assert_int_equal(f.server.n_connections, 1); /* one connection for all */
    close_fixture(&f);
}

/* ---- forms and secrets ----------------------------------------------------------------------- */

static void echo(script_connection *c, const script_request *r)
{
    char type[512], secret[512], proof[512], revision[512], text[16384];

    if (strcmp(r->path, "/moved") == 0) {
        script_reply(c, "307 x", "Location: /echo", "");
        return;
    }
    snprintf(text, sizeof(text), "%s %s|%s|%s%s%s", r->method,
             script_header(r, "Content-Type", type), script_header(r, "Authorization", secret),
             script_header(r, "DPoP", proof), r->body,
             script_header(r, "MCP-Protocol-Version", revision));
    script_reply(c, "200 OK",
                 "Cache-Control: max-age=60\r\ncache-control: private\r\nDPoP-Nonce: n-1\r\n"
                 "WWW-Authenticate: A b=c\r\nWWW-Authenticate: D",
                 text);
}

static void test_form(void **state)
{
    static const struct {
        const char *path, *form, *authorization, *json, *dpop;
        int rc;
        const char *body;
    } cases[] = {
        {"/echo", NULL, NULL, NULL, NULL, MCP_OK, "GET ||"},
        {"/echo", NULL, "Basic eA==", NULL, NULL, MCP_OK, "GET |Basic eA==|"},
        {"/echo", "a=b&c=d", NULL, NULL, NULL, MCP_OK,
         "POST application/x-www-form-urlencoded||a=b&c=d"},
        {"/echo", "", "x", NULL, NULL, MCP_OK, "POST application/x-www-form-urlencoded|x|"},
        {"/echo", NULL, NULL, "{}", NULL, MCP_OK, "POST application/json||{}"},
        {"/echo", "a", "x", NULL, "proof", MCP_OK,
         "POST application/x-www-form-urlencoded|x|proofa"},
        {"/moved", NULL, NULL, NULL, NULL, MCP_OK, "GET ||"},
        {"/moved", "a=b", NULL, NULL, NULL, MCP_EACCESS, ""},
        {"/moved", NULL, "x", NULL, NULL, MCP_EACCESS, ""},
        {"/moved", NULL, NULL, "{}", NULL, MCP_EACCESS, ""},
        {"/moved", NULL, NULL, NULL, "proof", MCP_EACCESS, ""},
    };
    fixture f;

    (void)state;
    open_fixture(&f, echo);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *form = cases[i].form ? strdup(cases[i].form) : NULL;
        mcp_fetch_options o = {.allow_private = true,
                               .form = form,
                               .authorization = cases[i].authorization,
                               .json = cases[i].json,
                               .dpop = cases[i].dpop};
        assert_int_equal(fetch(&f, cases[i].path, &o, NULL), MCP_OK);
        free(form); /* it was copied */
        wait_for_it(&f);
        assert_int_equal(f.rc, cases[i].rc);
        assert_string_equal(f.body, cases[i].body);
        assert_string_equal(f.caching, f.rc == MCP_OK ? "max-age=60, private" : "");
        assert_string_equal(f.nonce, f.rc == MCP_OK ? "n-1" : "");
        assert_string_equal(f.challenge, f.rc == MCP_OK ? "A b=c, D" : "");
        if (f.rc < 0)
            assert_non_null(strstr(f.text, "may contain secrets"));
    }
    mcp_fetch_options old = {.allow_private = true, .protocol_version = "2025-03-26"};
    assert_int_equal(fetch(&f, "/moved", &old, NULL), MCP_OK);
    wait_for_it(&f);
    assert_string_equal(f.body, "GET ||2025-03-26");
    mcp_fetch_options bad = {.allow_private = true, .authorization = "a\r\nb: c"};
    assert_int_equal(fetch(&f, "/echo", &bad, NULL), MCP_EINVAL);
    mcp_fetch_options two = {.allow_private = true, .form = "a", .json = "{}"};
    assert_int_equal(fetch(&f, "/echo", &two, NULL), MCP_EINVAL);
    close_fixture(&f);
}

static void die_of_second(script_connection *c, const script_request *r)
{
    if (c->script->n_requests == 1)
        script_reply(c, "200 OK", NULL, r->method);
    else
        script_close(c);
}

/* A reused connection is closed without an answer: a POST may have arrived, and its refresh token or
 * code must not be used twice. */
static void test_posts_are_sent_once(void **state)
{
    (void)state;
    for (int post = 0; post < 2; post++) {
        mcp_fetch_options o = {.allow_private = true, .form = post ? "refresh_token=r" : NULL};
        fixture f;
        open_fixture(&f, die_of_second);
        assert_int_equal(fetch(&f, "/token", NULL, NULL), MCP_OK);
        wait_for_it(&f);
        assert_int_equal(f.rc, MCP_OK);
        assert_int_equal(fetch(&f, "/token", &o, NULL), MCP_OK);
        wait_for_it(&f);
        assert_int_equal(f.rc, MCP_ECLOSED);
        assert_int_equal(f.server.n_requests, post ? 2 : 3);
        close_fixture(&f);
    }
}

/* ---- redirects ------------------------------------------------------------------------------- */

static void redirect(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    char line[256];
    const char *to = "/text";
    int status = 302;

    if (sscanf(r->path, "/status/%d", &status) == 1)
        to = "/text";
    else if (strcmp(r->path, "/loop") == 0)
        to = "/loop";
    else if (strcmp(r->path, "/other") == 0)
        to = "@";
    else if (strcmp(r->path, "/file") == 0)
        to = "file:///etc/passwd";
    else if (strcmp(r->path, "/nowhere") == 0)
        to = NULL;
    else if (strcmp(r->path, "/user") == 0)
        to = "http://a:b@127.0.0.1/";
    else {
        serve(c, r);
        return;
    }
    if (to && *to == '@')
        snprintf(line, sizeof(line), "Location: http://localhost:%d/text", f->server.port);
    else
        snprintf(line, sizeof(line), "Location: %s", to ? to : "");
    char text[32];
    snprintf(text, sizeof(text), "%d x", status);
    script_reply(c, text, to ? line : NULL, "the body of a redirect");
}

static void test_redirects(void **state)
{
    static const struct {
        const char *path;
        int rc;
        const char *text;
    } cases[] = {
        {"/status/301", MCP_OK, ""},
        {"/status/302", MCP_OK, ""},
        {"/status/303", MCP_OK, ""},
        {"/status/307", MCP_OK, ""},
        {"/status/308", MCP_OK, ""},
        {"/other", MCP_OK, ""},
        {"/loop", MCP_EACCESS, "more than 5 times"},
        {"/file", MCP_EACCESS, "no http:// or https:// URL"},
        {"/user", MCP_EACCESS, "no http:// or https:// URL"},
        {"/nowhere", MCP_EPROTOCOL, "to nowhere (HTTP status 302)"},
    };
    fixture f;

    (void)state;
    open_fixture(&f, redirect);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(fetch(&f, cases[i].path, NULL, NULL), MCP_OK);
        wait_for_it(&f);
        if (f.rc != cases[i].rc || !strstr(f.text, cases[i].text))
            fail_msg("%s: %d %s", cases[i].path, f.rc, f.text);
        if (f.rc == MCP_OK)
            assert_string_equal(f.body, "hello");
    }
    const mcp_fetch_options same = {.allow_private = true, .same_origin = true};
    assert_int_equal(fetch(&f, "/status/307", &same, NULL), MCP_OK);
    wait_for_it(&f);
    assert_int_equal(f.rc, MCP_OK);
    assert_int_equal(fetch(&f, "/other", &same, NULL), MCP_OK);
    wait_for_it(&f);
    assert_int_equal(f.rc, MCP_EACCESS);
    assert_non_null(strstr(f.text, "to another origin: http://localhost"));
    close_fixture(&f);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void serve_much(script_connection *c, const script_request *r)
{
    static char big[20000];

    memset(big, 'x', sizeof(big) - 1);
    if (strcmp(r->path, "/length") == 0) {
        script_reply(c, "200 OK", NULL, big);
    } else if (strcmp(r->path, "/endless") == 0) {
        script_write(c, "HTTP/1.1 200 OK\r\n\r\n");
        script_write(c, big);
    } else if (strcmp(r->path, "/head") == 0) {
        script_write(c, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 20; i++) {
            script_write(c, "X: ");
            script_write(c, big);
            script_write(c, "\r\n");
        }
    } else if (strcmp(r->path, "/silent") == 0) {
        script_write(c, "HTTP/1.1 200 OK\r\nContent-Le");
    } else if (strcmp(r->path, "/breaks") == 0) {
        script_write(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
        script_end(c);
    } else if (strcmp(r->path, "/nothing") == 0) {
        script_end(c);
    } else if (strcmp(r->path, "/nonsense") == 0) {
        script_write(c, "220 smtp.example\r\n");
        script_end(c);
    } else {
        script_reply(c, "200 OK", NULL, "small");
    }
}

static void test_limits(void **state)
{
    static const struct {
        const char *path;
        int rc;
        const char *text;
    } cases[] = {
        {"/length", MCP_ELIMIT, "larger than 10000 bytes"},
        {"/endless", MCP_ELIMIT, "larger than 10000 bytes"},
        {"/head", MCP_ELIMIT, "head of the answer is too large"},
        {"/silent", MCP_ETIMEOUT, ""},
        {"/breaks", MCP_ECLOSED, ""},
        {"/nothing", MCP_ECLOSED, ""},
        {"/nonsense", MCP_EUNSUPPORTED, ""},
        {"/small", MCP_OK, ""},
    };
    fixture f;

    (void)state;
    open_fixture(&f, serve_much);
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t ms = cases[i].rc == MCP_ETIMEOUT ? 100 : 5000;
        assert_int_equal(
            fetch(&f, cases[i].path,
                  &(mcp_fetch_options){.allow_private = true, .max_bytes = 10000, .timeout_ms = ms},
                  NULL),
            MCP_OK);
        wait_for_it(&f);
        if (f.rc != cases[i].rc || !strstr(f.text, cases[i].text) || !f.text[0] != !f.rc)
            fail_msg("%s: %d %s", cases[i].path, f.rc, f.text);
    }
    close_fixture(&f);
}

/* The limit applies to the decompressed size: 6400 bytes become a million. */
static void serve_bomb(script_connection *c, const script_request *r)
{
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    static const char fields[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n";
    unsigned char block[6400];

    (void)r;
    memset(block, 0, sizeof(block));
    memcpy(block, head, sizeof(head));
    /* A last block with fixed codes: a zero, then matches of 258 bytes at distance 1, whose 13 bits
     * (11000101 and 00000) are written again and again. */
    size_t bit = 8 * sizeof(head);
    const char *codes = "110"
                        "00110000";
    while (bit + 13 < 8 * sizeof(block)) {
        for (; *codes; codes++, bit++)
            block[bit / 8] |= (unsigned char)((*codes == '1') << bit % 8);
        codes = "1100010100000";
    }
    script_write(c, fields);
    script_write_bytes(c, (const char *)block, sizeof(block));
}

/* The server leaves the connection open. The second limit is reached in what libcurl kept while the
 * transfer was paused, so no more bytes arrive after which libcurl would notice it. Its own time-out
 * is longer than the test waits. */
static void test_bomb(void **state)
{
    static const struct {
        size_t max_bytes;
        uint64_t timeout_ms;
        int rc;
    } cases[] = {
        {100000, 600000, MCP_ELIMIT},
        {700000, 600000, MCP_ELIMIT},
        {0, 300, MCP_ETIMEOUT},
    };
    fixture f;

    (void)state;
    open_fixture(&f, serve_bomb);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(fetch(&f, "/bomb",
                               &(mcp_fetch_options){.allow_private = true,
                                                    .max_bytes = cases[i].max_bytes,
                                                    .timeout_ms = cases[i].timeout_ms},
                               NULL),
                         MCP_OK);
        wait_for_it(&f);
        assert_int_equal(f.rc, cases[i].rc);
    }
    close_fixture(&f);
}

/* ---- private addresses ----------------------------------------------------------------------- */

static void test_private(void **state)
{
    static const struct {
        const char *url;
        int rc;
    } cases[] = {
        {"http://127.0.0.1:1/", MCP_EACCESS},
        {"http://localhost:1/", MCP_EACCESS},
        {"http://[::1]:1/", MCP_EACCESS},
        {"http://[::ffff:127.0.0.1]:1/", MCP_EACCESS},
        {"http://10.1.2.3/", MCP_EACCESS},
        {"http://169.254.169.254/latest/meta-data", MCP_EACCESS},
        {"file:///etc/passwd", MCP_EINVAL},
        {"ftp://127.0.0.1/", MCP_EINVAL},
        {"http://a:b@example.com/", MCP_EINVAL},
        {"no url", MCP_EINVAL},
    };
    /* These spellings do not look like it, but resolve to this machine. */
    static const char *const hidden[] = {"http://127.1:%d/text", "http://2130706433:%d/text",
                                         "http://0x7f000001:%d/text", "http://0:%d/text"};
    static const char *const spelled[] = {
        "http://127.1/",       "http://2130706433/",   "http://0x7f000001/", "http://0/",
        "http://0177.0.0.1/",  "http://127.0.0.1./",   "http://LOCALHOST./", "http://a.localhost/",
        "http://12%37.0.0.1/", "http://0xa9fea9fe/x/",
    };
    fixture f;
    char url[128];

    (void)state;
    open_fixture(&f, serve);
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (fetch(&f, cases[i].url, &(mcp_fetch_options){0}, NULL) != cases[i].rc || !f.text[0])
            fail_msg("%s: %s", cases[i].url, f.text);
    }
    assert_int_equal(f.calls, 0);
    /* An open connection of a permitted fetch is not reused. */
    assert_int_equal(fetch(&f, "/text", NULL, NULL), MCP_OK);
    wait_for_it(&f);
    for (size_t i = 0; i < COUNT(hidden); i++) {
        snprintf(url, sizeof(url), hidden[i], f.server.port);
        assert_int_equal(fetch(&f, url, &(mcp_fetch_options){0}, NULL), MCP_OK);
        wait_for_it(&f);
        if (f.rc != MCP_EACCESS)
            fail_msg("%s: %d %s", url, f.rc, f.text);
    }
    assert_int_equal(f.server.n_requests, 1);
    /* A proxy would resolve the names, and its results could not be checked. */
    for (size_t i = 0; i < COUNT(spelled); i++) {
        if (fetch(&f, spelled[i], &(mcp_fetch_options){.proxy = "http://127.0.0.1:1"}, NULL) !=
            MCP_EACCESS)
            fail_msg("%s: %s", spelled[i], f.text);
    }
    close_fixture(&f);
}

static const struct {
    const char *address;
    bool is_public;
} addresses_cases[] = {
    {"8.8.8.8", true},
    {"1.1.1.1", true},
    {"9.255.255.255", true},
    {"11.0.0.0", true},
    {"100.63.255.255", true},
    {"100.64.0.0", false},
    {"100.127.255.255", false},
    {"100.128.0.0", true},
    {"0.0.0.0", false},
    {"0.1.2.3", false},
    {"10.0.0.1", false},
    {"127.0.0.1", false},
    {"127.255.255.255", false},
    {"169.254.169.254", false},
    {"172.15.255.255", true},
    {"172.16.0.0", false},
    {"172.31.255.255", false},
    {"172.32.0.0", true},
    {"192.168.0.1", false},
    {"192.167.255.255", true},
    {"198.18.0.1", false},
    {"198.20.0.1", true},
    {"223.255.255.255", true},
    {"224.0.0.1", false},
    {"240.0.0.1", false},
    {"255.255.255.255", false},
    {"192.0.2.1", false},
    {"2606:4700::1111", true},
    {"::", false},
    {"::1", false},
    {"fe80::1", false},
    {"fc00::1", false},
    {"fd12::1", false},
    {"ff02::1", false},
    {"2001:db8::1", false},
    {"2001::1", false},
    {"2001:4860::8888", true},
    {"::ffff:8.8.8.8", true},
    {"::ffff:127.0.0.1", false},
    {"::ffff:10.0.0.1", false},
    {"64:ff9b::7f00:1", false},
    {"64:ff9b::808:808", true},
    {"2002:7f00:1::", false},
    {"2002:808:808::", true},
    {"::127.0.0.1", false},
};

static void test_addresses(void **state)
{

    (void)state;
    for (size_t i = 0; i < COUNT(addresses_cases); i++) {
        struct sockaddr_in v4 = {.sin_family = AF_INET};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
        bool is_4 = inet_pton(AF_INET, addresses_cases[i].address, &v4.sin_addr) == 1;
        if (!is_4)
            assert_int_equal(inet_pton(AF_INET6, addresses_cases[i].address, &v6.sin6_addr), 1);
        const struct sockaddr *a =
            is_4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6;
        if (mcp__address_is_public(a) != addresses_cases[i].is_public)
            fail_msg("%s", addresses_cases[i].address);
    }
    assert_false(mcp__address_is_public(&(struct sockaddr){.sa_family = AF_UNIX}));
}

/* ---- cancelling, and the end ----------------------------------------------------------------- */

static void test_cancel(void **state)
{
    fixture f;
    mcp_fetch *fetching = NULL;

    (void)state;
    open_fixture(&f, serve_much);
    assert_int_equal(fetch(&f, "/silent", NULL, &fetching), MCP_OK);
    mcp_fetch_cancel(fetching); /* before the fetch began */
    assert_int_equal(fetch(&f, "/silent", NULL, &fetching), MCP_OK);
    for (int64_t end = wait_end(); !f.server.n_requests && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    mcp_fetch_cancel(fetching);
    mcp_fetch_cancel(NULL);
    for (int64_t end = wait_end(); !f.server.n_aborted && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    assert_int_equal(f.server.n_aborted, 1); /* the server notices the cancellation */
    assert_int_equal(f.server.n_requests, 1);
    assert_int_equal(f.calls, 0);
    close_fixture(&f);
}

/* Freeing the loop cancels pending fetches. */
static void test_loop_ends(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, serve_much);
    assert_int_equal(fetch(&f, "/silent", NULL, NULL), MCP_OK);
    assert_int_equal(fetch(&f, "/silent", NULL, NULL), MCP_OK);
    for (int64_t end = wait_end(); f.server.n_requests < 2 && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    assert_int_equal(fetch(&f, "/silent", NULL, NULL), MCP_OK); /* this one is not started */
    assert_int_equal(f.calls, 0);
    mcp_loop_free(f.loop);
    assert_int_equal(f.calls, 3);
    assert_int_equal(f.rc, MCP_ECANCELLED);
    for (int i = 0; i < f.server.n_connections; i++)
        free(f.server.connections[i]);
    assert_int_equal(f.memory.live, 0);
}

static void test_arguments(void **state)
{
    fixture f;
    mcp_fetch_options o = {.size = sizeof(o), .url = "http://x/"};

    (void)state;
    open_fixture(&f, serve);
    assert_int_equal(mcp_loop_fetch(f.loop, NULL, NULL, NULL), MCP_EINVAL);
    assert_int_equal(mcp_loop_fetch(f.loop, &o, NULL, NULL), MCP_EINVAL); /* no function */
    o.done = on_fetched;
    assert_int_equal(mcp_loop_fetch(NULL, &o, NULL, NULL), MCP_EINVAL);
    o.url = NULL;
    assert_int_equal(mcp_loop_fetch(f.loop, &o, NULL, NULL), MCP_EINVAL);
    assert_int_equal(
        fetch(&f, "/x", &(mcp_fetch_options){.allow_private = true, .accept = "a\r\nB: c"}, NULL),
        MCP_EINVAL);
    close_fixture(&f);
}

/* Each allocation fails in turn, except those of libcurl. */
static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        fixture f;
        open_fixture(&f, serve);
        f.memory.fail_at = f.memory.calls + n;
        mcp_fetch_options o = {.allow_private = true, .form = "a=b", .authorization = "x"};
        int rc = fetch(&f, "/text", &o, NULL);
        if (rc == MCP_OK) {
            wait_for_it(&f);
            rc = f.rc;
        }
        bool failed = f.memory.calls >= f.memory.fail_at;
        f.memory.fail_at = 0;
        close_fixture(&f);
        if (!failed) {
            assert_int_equal(rc, MCP_OK);
            break;
        }
        if (rc != MCP_ENOMEM && rc != MCP_ECLOSED && rc != MCP_OK)
            fail_msg("allocation %zu: %d", n, rc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fetch),     cmocka_unit_test(test_form),
        cmocka_unit_test(test_redirects), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_bomb),      cmocka_unit_test(test_private),
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_loop_ends), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_posts_are_sent_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
