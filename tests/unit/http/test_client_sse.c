/* The client's parser of event streams. It reads every example as a whole, split at every byte, and
 * byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "failalloc.h"
#include "http/client/parser.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The output of the parser: "type|data|id\n" for each event, then "retry=N". */
typedef struct result {
    char text[8192];
    size_t len;
    int rc;
} result;

static void note(result *r, const mcp__sse *p, const mcp__sse_event *event)
{
    mcp_str id = mcp__sse_last_id(p);
    r->len += (size_t)snprintf(r->text + r->len, sizeof(r->text) - r->len, "%.*s|%.*s|%.*s%s\n",
                               (int)event->type.len, event->type.len ? event->type.ptr : "",
                               (int)event->data.len, event->data.len ? event->data.ptr : "",
                               (int)id.len, id.len ? id.ptr : "", event->is_cut ? "|cut" : "");
}

static void feed(result *r, mcp__sse *p, mcp_str bytes)
{
    mcp__sse_event event;
    /* Read from a block of exactly that size, so that the sanitizer detects reads beyond it. */
    char *copy = malloc(bytes.len + 1);
    assert_non_null(copy);
    if (bytes.len)
        memcpy(copy, bytes.ptr, bytes.len);
    char *exact = realloc(copy, bytes.len ? bytes.len : 1);
    mcp_str left = {exact, bytes.len};
    while ((r->rc = mcp__sse_next(p, &left, &event)) == MCP_PENDING)
        note(r, p, &event);
    if (r->rc == MCP_OK)
        assert_int_equal(left.len, 0);
    free(exact);
}

/* Reads the stream in pieces, the first of `cut` bytes and the others of `step` bytes. */
static void read_stream(result *r, mcp_str stream, size_t cut, size_t step,
                        const mcp_allocator *allocator)
{
    mcp__sse p;
    mcp__sse_init(&p, allocator, 0);
    *r = (result){0};
    for (size_t at = 0; at < stream.len && r->rc == MCP_OK;) {
        size_t n = at == 0 && cut ? cut : step;
        n = MCP__MIN(n, stream.len - at);
        feed(r, &p, (mcp_str){stream.ptr + at, n});
        at += n;
    }
    if (p.retry >= 0)
        snprintf(r->text + r->len, sizeof(r->text) - r->len, "retry=%lld", (long long)p.retry);
    mcp__sse_free(&p);
}

static const struct {
    const char *stream, *want;
} streams[] = {
    {"data: a\n\n", "|a|\n"},
    {"data:a\n\n", "|a|\n"},
    {"data:  a \n\n", "| a |\n"},
    {"data: a\r\n\r\n", "|a|\n"},
    {"data: a\r\r", "|a|\n"},
    {"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", "|a\nb|\n|c|\n"},
    {"data: a\rdata: b\n\r\n", "|a\nb|\n"},
    {"data: a\n\r\ndata: b\n\n", "|a|\n|b|\n"},
    {"\xEF\xBB\xBF"
     "data: a\n\n",
     "|a|\n"},
    {"\xEF\xBB"
     "data: a\n\n",
     ""}, /* half a byte order mark is the beginning of a name */
    {"data: a\n\n\xEF\xBB\xBF"
     "data: b\n\n",
     "|a|\n"}, /* it is skipped only at the beginning */
    {"data\n\n", "||\n"},
    {"data:\n\n", "||\n"},
    {"data\ndata\n\n", "|\n|\n"},
    {"data: \n\n", "||\n"},
    {":\n\n: comment\n\ndata: a\n:x\n\n", "|a|\n"},
    {"event: endpoint\ndata: /m?s=1\n\n", "endpoint|/m?s=1|\n"},
    {"event: x\n\ndata: a\n\n", "x||\n|a|\n"}, /* the type is discarded with the event */
    {"event: x\nevent: y\ndata: a\n\n", "y|a|\n"},
    {"event: a-type-that-is-longer-than-anything-we-know\ndata: a\n\n",
     "a-type-that-is-longer-than-anyth|a|\n"},
    {"id: 7\ndata: a\n\ndata: b\n\n", "|a|7\n|b|7\n"},
    {"id: 7\n\n", "||7\n"}, /* an event that only makes the stream resumable */
    {"id: 7\ndata: \nretry: 500\n\n", "||7\nretry=500"},
    {"data: a\nid: 7\n\nid\ndata: b\n\n", "|a|7\n|b|\n"}, /* an empty id clears it */
    {"id: a\tb\ndata: x\n\n", "|x|\n"}, /* an id that is not valid in a header is ignored */
    {"data: x\nid: 7\nid: a\x01\n\n", "|x|\n"},
    {"id: 1\ndata: a\n\nid: 2\ndata: b", "|a|1\n"}, /* an incomplete event is ignored */
    {"id: 1\ndata: a\n\nid: 2\ndata: b\n", "|a|1\n"},
    {"retry: 5\n\n", "retry=5"},
    {"retry: 5\nretry: 5x\nretry:\nretry: -1\n\n", "retry=5"},
    {"retry: 99999999999999999999999\n\n", "retry=86400000"},
    {"date: a\ndatax: b\nDATA: c\n data: d\n\n", ""},
    {"dat", ""},
    {"\n\n\n\r\r\r\n\r\n", ""},
    {"data: a:b: c\n\n", "|a:b: c|\n"},
    {"data: {\"x\":\"\xC3\xA9\"}\n\n", "|{\"x\":\"\xC3\xA9\"}|\n"},
};

static void check(size_t i, size_t cut, size_t step)
{
    result r;
    read_stream(&r, mcp_str_from(streams[i].stream), cut, step, NULL);
    if (strcmp(r.text, streams[i].want) != 0)
        fail_msg("stream %zu, cut at %zu, steps of %zu:\n%s\ninstead of\n%s", i, cut, step, r.text,
                 streams[i].want);
}

static void test_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(streams); i++) {
        size_t len = strlen(streams[i].stream);
        check(i, 0, len);
        check(i, 0, 1);
        for (size_t cut = 1; cut < len; cut++)
            check(i, cut, len);
    }
}

/* A NUL in an id. */
static void test_nul(void **state)
{
    (void)state;
    result r;
    read_stream(&r, MCP_STR("id: a\0b\ndata: x\n\n"), 0, 100, NULL);
    assert_string_equal(r.text, "|x|\n");
}

static void test_restart(void **state)
{
    (void)state;
    mcp__sse p;
    result r = {0};
    mcp__sse_init(&p, NULL, 0);
    feed(&r, &p, MCP_STR("retry: 3\nid: 1\ndata: a\n\nid: 2\nevent: x\ndata: b"));
    mcp__sse_restart(&p);
    feed(&r, &p,
         MCP_STR("\xEF\xBB\xBF"
                 "data: c\r"));
    mcp__sse_restart(&p);
    feed(&r, &p, MCP_STR("\n\ndata: d\n\n"));
    assert_string_equal(r.text, "|a|1\n|d|1\n");
    assert_int_equal(p.retry, 3);
    mcp__sse_free(&p);
}

/* An event that is too long is reported, with its id, wherever it is in the event, and the next one is complete. Memory
 * stays within the limit. */
static void test_limit(void **state)
{
    (void)state;
    enum { LIMIT = 10000 };
    static char big[3 * LIMIT];
    static const size_t lengths[] = {LIMIT - 1, LIMIT, LIMIT + 1, 3 * LIMIT};
    memset(big, 'x', sizeof(big));
    for (size_t i = 0; i < COUNT(lengths); i++) {
        for (size_t lines = 1; lines <= 2; lines++) {
            mcp__sse p;
            mcp__sse_event event;
            mcp__sse_init(&p, NULL, LIMIT);
            size_t first = lines == 2 ? lengths[i] / 2 : lengths[i];
            mcp_str pieces[] = {MCP_STR("data:"),
                                {big, first},
                                lines == 2 ? MCP_STR("\ndata:") : MCP_STR(""),
                                {big, lines == 2 ? lengths[i] - first - 1 : 0},
                                MCP_STR("\n\n")};
            int rc = MCP_OK;
            for (size_t k = 0; k < COUNT(pieces); k++)
                rc = mcp__sse_next(&p, &pieces[k], &event);
            assert_int_equal(rc, MCP_PENDING);
            assert_int_equal(event.is_cut, lengths[i] > LIMIT);
            assert_int_equal(event.data.len, lengths[i] > LIMIT ? strlen("{}") : lengths[i]);
            assert_true(p.data.cap <= 2 * LIMIT);
            mcp_str with_id[] = {MCP_STR("data:{\"a\":\""),
                                 {big, lengths[i]},
                                 MCP_STR("\",\"id\"\ndata:\ndata::7,\"b\":\""),
                                 {big, LIMIT},
                                 MCP_STR("\"}\n\n")};
            for (size_t k = 0; k < COUNT(with_id); k++)
                rc = mcp__sse_next(&p, &with_id[k], &event);
            assert_int_equal(rc, MCP_PENDING);
            assert_true(event.is_cut && mcp_str_eq(event.data, MCP_STR("{\"id\":7}")));
            mcp_str next = MCP_STR("data:y\n\n");
            assert_int_equal(mcp__sse_next(&p, &next, &event), MCP_PENDING);
            assert_false(event.is_cut);
            assert_true(mcp_str_eq(event.data, MCP_STR("y")));
            mcp__sse_free(&p);
        }
    }
}

static void test_long_id(void **state)
{
    (void)state;
    char stream[MCP__SSE_MAX_ID + 64];
    for (int extra = 0; extra <= 1; extra++) {
        mcp__sse p;
        mcp__sse_event event;
        mcp__sse_init(&p, NULL, 0);
        int n = snprintf(stream, sizeof(stream), "id:%0*d\n\n", MCP__SSE_MAX_ID + extra, 1);
        mcp_str left = {stream, (size_t)n};
        int rc = mcp__sse_next(&p, &left, &event);
        assert_int_equal(rc, extra ? MCP_OK : MCP_PENDING);
        assert_int_equal(mcp__sse_last_id(&p).len, extra ? 0 : MCP__SSE_MAX_ID);
        mcp__sse_free(&p);
    }
}

/* Short lines that end with \r in one large piece must not take quadratic time. */
static void test_carriage_returns(void **state)
{
    (void)state;
    enum { LEN = 2 << 20 };
    char *stream = malloc(LEN);
    assert_non_null(stream);
    memset(stream, '\r', LEN);
    mcp__sse p;
    mcp__sse_event event;
    mcp__sse_init(&p, NULL, 0);
    mcp_str left = {stream, LEN};
    clock_t begin = clock();
    assert_int_equal(mcp__sse_next(&p, &left, &event), MCP_OK);
    assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
    mcp__sse_free(&p);
    free(stream);
}

static void test_no_memory(void **state)
{
    (void)state;
    mcp_str stream = MCP_STR("id: 1\nevent: e\ndata: 0123456789012345678901234567890123456789"
                             "01234567890123456789012345678901234567890123456789\n\n"
                             "id: 22222222222222222222222222222222222222222222222222222222222222"
                             "22222222222222222222\ndata: x\n\n");
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        result r;
        read_stream(&r, stream, 0, stream.len, &a);
        assert_int_equal(f.live, 0);
        assert_int_equal(r.rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),   cmocka_unit_test(test_nul),
        cmocka_unit_test(test_restart),   cmocka_unit_test(test_limit),
        cmocka_unit_test(test_long_id),   cmocka_unit_test(test_carriage_returns),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
