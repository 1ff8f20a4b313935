/* Small parts of the client: the headers of a request, the head of a response and its meaning,
 * URLs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failalloc.h"
#include "http/client/parser.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- headers --------------------------------------------------------------------------------- */

static void test_headers(void **state)
{
    (void)state;
    static const struct {
        mcp_str name, value;
        const char *line; /* NULL if rejected */
    } cases[] = {
        {{"A", 1}, {"b", 1}, "A: b"},
        {{"Mcp-Param-Empty", 15}, {"", 0}, "Mcp-Param-Empty;"},
        {{"A", 1}, {" \tb c\t ", 7}, "A: b c"},
        {{"A", 1}, {"\xC3\xA9", 2}, "A: \xC3\xA9"},
        {{"A", 1}, {"a\tb", 3}, "A: a\tb"},
        {{"", 0}, {"b", 1}, NULL},
        {{"A B", 3}, {"b", 1}, NULL},
        {{"A:", 2}, {"b", 1}, NULL},
        {{"A\r\nX", 4}, {"b", 1}, NULL},
        {{"\xC3\xA9", 2}, {"b", 1}, NULL},
        {{"A\0B", 3}, {"b", 1}, NULL},
        {{"A", 1}, {"b\r\nX: y", 7}, NULL},
        {{"A", 1}, {"b\n", 2}, NULL},
        {{"A", 1}, {"b\0c", 3}, NULL},
        {{"A", 1}, {"b\x7F", 2}, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        mcp__headers h;
        size_t at = 0;
        mcp__headers_init(&h, NULL);
        int rc = mcp__headers_add(&h, cases[i].name, cases[i].value);
        assert_int_equal(rc, cases[i].line ? MCP_OK : MCP_EINVAL);
        const char *line = mcp__headers_next(&h, &at);
        if (cases[i].line)
            assert_string_equal(line, cases[i].line);
        else
            assert_null(line);
        mcp__headers_free(&h);
    }
}

static void test_header_list(void **state)
{
    (void)state;
    mcp__headers h, all;
    size_t at = 0;
    mcp__headers_init(&h, NULL);
    mcp__headers_init(&all, NULL);
    assert_int_equal(mcp__headers_add(&h, MCP_STR("A"), MCP_STR("1")), MCP_OK);
    assert_int_equal(mcp__headers_add(&h, MCP_STR("B"), MCP_STR("")), MCP_OK);
    assert_int_equal(mcp__headers_append(&all, &h), MCP_OK);
    assert_int_equal(mcp__headers_add(&all, MCP_STR("C"), MCP_STR("3")), MCP_OK);
    assert_string_equal(mcp__headers_next(&all, &at), "A: 1");
    assert_string_equal(mcp__headers_next(&all, &at), "B;");
    assert_string_equal(mcp__headers_next(&all, &at), "C: 3");
    assert_null(mcp__headers_next(&all, &at));
    static char big[MCP__HEADERS_MOST];
    memset(big, 'x', sizeof(big));
    assert_int_equal(mcp__headers_add(&all, MCP_STR("D"), (mcp_str){big, sizeof(big)}), MCP_ELIMIT);
    mcp__headers_free(&h);
    mcp__headers_free(&all);
}

static void test_free_headers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_free;
    } cases[] = {
        {"Authorization", true},
        {"X-Api-Key", true},
        {"Cookie", true},
        {"Mc", true},
        {"Host", false},
        {"content-LENGTH", false},
        {"Mcp-Session-Id", false},
        {"mcp-x", false},
        {"Transfer-Encoding", false},
        {"Accept", false},
        {"Connection", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(mcp__header_is_free(mcp_str_from(cases[i].name)), cases[i].is_free);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void read_head(mcp__answer *a, const char *head)
{
    mcp__answer_init(a, NULL);
    while (*head) {
        const char *end = strchr(head, '\n');
        assert_int_equal(mcp__answer_line(a, (mcp_str){head, (size_t)(end - head) + 1}), MCP_OK);
        head = end + 1;
    }
}

static void test_answer(void **state)
{
    (void)state;
    mcp__answer a;
    read_head(&a, "HTTP/1.1 100 Continue\r\nMcp-Session-Id: no\r\nRetry-After: 3\r\n\r\n"
                  "HTTP/1.1 200 OK\r\ncontent-TYPE:  Application/JSON; charset=utf-8\r\n"
                  "Content-Length: 12\r\nMCP-Session-ID: abc \r\n"
                  "WWW-Authenticate: Bearer a=\"b\"\r\nWWW-Authenticate: Basic\r\nnonsense\r\n");
    assert_int_equal(a.status, 200);
    assert_false(a.complete);
    assert_int_equal(mcp__answer_line(&a, MCP_STR("\r\n")), MCP_OK);
    assert_true(a.complete);
    assert_int_equal(a.media, MCP__MEDIA_JSON);
    assert_string_equal(a.media_text, "Application/JSON");
    assert_int_equal(a.length, 12);
    assert_int_equal(a.retry_ms, 0);
    assert_true(mcp_str_eq(mcp__buf_view(&a.session), MCP_STR("abc")));
    assert_true(mcp_str_eq(mcp__buf_view(&a.challenge), MCP_STR("Bearer a=\"b\", Basic")));
    mcp__answer_free(&a);

    read_head(&a, "HTTP/2 429 \r\nretry-after: 7\r\nContent-Length: x\r\n"
                  "Content-Type: te\x1bxt/html\r\n\r\n");
    assert_int_equal(a.status, 429);
    assert_int_equal(a.retry_ms, 7000);
    assert_int_equal(a.length, -1);
    assert_string_equal(a.media_text, "te?xt/html");
    mcp__answer_free(&a);
    read_head(&a, "HTTP/1.1 503 x\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n");
    assert_int_equal(a.retry_ms, 0);
    mcp__answer_free(&a);
}

static void test_session_id(void **state)
{
    (void)state;
    static char big[MCP__SESSION_MOST + 2];
    memset(big, 'x', sizeof(big) - 1);
    const struct {
        const char *value;
        bool good;
    } cases[] = {{"1868a90c-x~!", true}, {"a b", false}, {"", false},    {"a\x7F", false},
                 {"\xC3", false},        {big, false},   {big + 1, true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char head[2 * MCP__SESSION_MOST];
        mcp__answer a;
        snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nMcp-Session-Id: %s\r\n\r\n",
                 cases[i].value);
        read_head(&a, head);
        assert_int_equal(a.bad_session, !cases[i].good);
        assert_int_equal(a.session.len, cases[i].good ? strlen(cases[i].value) : 0);
        mcp__answer_free(&a);
    }
}

static void test_answer_limits(void **state)
{
    (void)state;
    static char line[1000];
    mcp__answer a;
    memset(line, 'x', sizeof(line));
    mcp__answer_init(&a, NULL);
    int rc = mcp__answer_line(&a, MCP_STR("HTTP/1.1 200 OK\r\n"));
    size_t n = 0;
    while (rc == MCP_OK && n++ < 1000)
        rc = mcp__answer_line(&a, (mcp_str){line, sizeof(line)});
    assert_int_equal(rc, MCP_ELIMIT);
    assert_int_equal(n, MCP__ANSWER_MOST / sizeof(line) + 1);
    mcp__answer_free(&a);

    /* A challenge beyond the limit is omitted completely. */
    static char challenge[5000];
    int len = snprintf(challenge, sizeof(challenge), "WWW-Authenticate: %04000d\r\n", 1);
    mcp__answer_init(&a, NULL);
    mcp__answer_line(&a, MCP_STR("HTTP/1.1 401 x\r\n"));
    for (int i = 0; i < 4; i++)
        assert_int_equal(mcp__answer_line(&a, (mcp_str){challenge, (size_t)len}), MCP_OK);
    assert_int_equal(a.challenge.len, 2 * 4000 + 2);
    mcp__answer_free(&a);

    /* So is one if there is no room for the comma. */
    for (size_t spare = 0; spare <= 3; spare++) {
        static char first[MCP__CHALLENGE_MOST + 64];
        len = snprintf(first, sizeof(first), "WWW-Authenticate: %0*d\r\n",
                       (int)(MCP__CHALLENGE_MOST - spare), 1);
        mcp__answer_init(&a, NULL);
        mcp__answer_line(&a, MCP_STR("HTTP/1.1 401 x\r\n"));
        assert_int_equal(mcp__answer_line(&a, (mcp_str){first, (size_t)len}), MCP_OK);
        assert_int_equal(mcp__answer_line(&a, MCP_STR("WWW-Authenticate: X\r\n")), MCP_OK);
        assert_int_equal(a.challenge.len, MCP__CHALLENGE_MOST - (spare < 3 ? spare : 0));
        mcp__answer_free(&a);
    }
}

static void test_answer_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator m = failalloc_allocator(&f);
        mcp__answer a;
        mcp__answer_init(&a, &m);
        int first = mcp__answer_line(&a, MCP_STR("Mcp-Session-Id: abc\r\n"));
        int second = mcp__answer_line(&a, MCP_STR("WWW-Authenticate: abc\r\n"));
        mcp__answer_free(&a);
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(second, MCP_OK);
            break;
        }
        assert_true(first == MCP_ENOMEM || second == MCP_ENOMEM);
    }
}

static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        int status;
        mcp__media media;
        mcp__http_request_kind asked;
        mcp__verdict want;
    } cases[] = {
        {200, MCP__MEDIA_JSON, MCP__REQUEST_ANSWER, MCP__VERDICT_MESSAGE},
        {200, MCP__MEDIA_SSE, MCP__REQUEST_ANSWER, MCP__VERDICT_EVENTS},
        {200, MCP__MEDIA_OTHER, MCP__REQUEST_ANSWER, MCP__VERDICT_WRONG},
        {202, MCP__MEDIA_NONE, MCP__REQUEST_ANSWER, MCP__VERDICT_WRONG},
        {202, MCP__MEDIA_NONE, MCP__REQUEST_TAKE, MCP__VERDICT_TAKEN},
        {200, MCP__MEDIA_SSE, MCP__REQUEST_TAKE, MCP__VERDICT_TAKEN},
        {204, MCP__MEDIA_NONE, MCP__REQUEST_END, MCP__VERDICT_TAKEN},
        {405, MCP__MEDIA_NONE, MCP__REQUEST_END, MCP__VERDICT_REFUSED},
        {200, MCP__MEDIA_SSE, MCP__REQUEST_STREAM, MCP__VERDICT_EVENTS},
        {200, MCP__MEDIA_JSON, MCP__REQUEST_STREAM, MCP__VERDICT_WRONG},
        {405, MCP__MEDIA_JSON, MCP__REQUEST_STREAM, MCP__VERDICT_REFUSED},
        {400, MCP__MEDIA_JSON, MCP__REQUEST_ANSWER, MCP__VERDICT_REFUSED},
        {404, MCP__MEDIA_SSE, MCP__REQUEST_ANSWER, MCP__VERDICT_REFUSED},
        {401, MCP__MEDIA_NONE, MCP__REQUEST_ANSWER, MCP__VERDICT_CHALLENGED},
        {403, MCP__MEDIA_JSON, MCP__REQUEST_TAKE, MCP__VERDICT_CHALLENGED},
        {500, MCP__MEDIA_NONE, MCP__REQUEST_ANSWER, MCP__VERDICT_REFUSED},
        {304, MCP__MEDIA_NONE, MCP__REQUEST_ANSWER, MCP__VERDICT_REFUSED},
        {0, MCP__MEDIA_NONE, MCP__REQUEST_ANSWER, MCP__VERDICT_REFUSED},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        mcp__answer a = {.status = cases[i].status, .media = cases[i].media};
        if (mcp__answer_verdict(&a, cases[i].asked) != cases[i].want)
            fail_msg("case %zu is wrong", i);
    }
}

static void test_answer_text(void **state)
{
    (void)state;
    char text[160];
    mcp__answer_text(&(mcp__answer){.status = 502}, text, sizeof(text));
    assert_string_equal(text, "the server answered with HTTP status 502 (Bad Gateway)");
    mcp__answer_text(&(mcp__answer){.status = 599}, text, sizeof(text));
    assert_string_equal(text, "the server answered with HTTP status 599");
    mcp__answer_text(&(mcp__answer){.status = 200, .media_text = "text/html"}, text, sizeof(text));
    assert_string_equal(text, "the server answered with text/html, which is no answer to this");
    mcp__answer_text(&(mcp__answer){.status = 202}, text, sizeof(text));
    assert_string_equal(text, "the server answered with HTTP status 202 and nothing else");
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static void test_origins(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        bool same;
    } cases[] = {
        {"http://a/mcp", "http://a/x?y", true},
        {"http://a/mcp", "http://A:80/", true},
        {"https://a/mcp", "https://a:443/", true},
        {"http://a/mcp", "https://a/mcp", true}, /* the security is not reduced */
        {"http://a:8080/mcp", "https://a:8080/mcp", false},
        {"https://a/mcp", "http://a/mcp", false},
        {"http://a/", "http://b/", false},
        {"http://a/", "http://a.b/", false},
        {"http://a/", "http://a:81/", false},
        {"http://[::1]/", "http://[::1]/x", true},
        {"http://[::1]/", "http://[::2]/", false},
        {"http://a/", "file:///a", false},
        {"http://a/", "/x", false},
        {"ftp://a/", "ftp://a/", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (mcp__url_same_origin(mcp_str_from(cases[i].from), mcp_str_from(cases[i].to)) !=
            cases[i].same)
            fail_msg("%s and %s", cases[i].from, cases[i].to);
    }
}

static void test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool good, loopback;
    } cases[] = {
        {"http://localhost:8642/mcp", true, true},
        {"HTTPS://LOCALHOST/", true, true},
        {"http://127.0.0.1/", true, true},
        {"http://127.1.2.3:80/", true, true},
        {"http://[::1]:1/", true, true},
        {"http://127.0.0.1.example/", true, false},
        {"http://127.1/", true, false},
        {"http://example.com/", true, false},
        {"http://localhost.example/", true, false},
        {"http://user@host/", false, false},
        {"http://a:b@host/", false, false},
        {"http://host/#x", false, false},
        {"http:///x", false, false},
        {"file:///etc/passwd", false, false},
        {"unix:/x", false, false},
        {"example.com", false, false},
        {"", false, false},
        {"http://a b/", false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        mcp_error error = {0};
        int rc = mcp__url_check(mcp_str_from(cases[i].url), &error);
        if (rc != (cases[i].good ? MCP_OK : MCP_EINVAL) || !error.text[0] != cases[i].good)
            fail_msg("%s: %d %s", cases[i].url, rc, error.text);
        if (cases[i].good && mcp__url_is_loopback(mcp_str_from(cases[i].url)) != cases[i].loopback)
            fail_msg("%s", cases[i].url);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),       cmocka_unit_test(test_header_list),
        cmocka_unit_test(test_free_headers),  cmocka_unit_test(test_answer),
        cmocka_unit_test(test_session_id),    cmocka_unit_test(test_answer_limits),
        cmocka_unit_test(test_answer_memory), cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_answer_text),   cmocka_unit_test(test_origins),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
