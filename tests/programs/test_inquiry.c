/* How mcpd --doctor asks its own server: by the clock, however much happens meanwhile; an answer that comes too late is
 * not taken for the next one; what is not offered, fails and is not answered are three outcomes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include <mcp/io.h>

#include "inquiry.h"

enum { EVENTS = 5000, LONG_MS = 600000 };

static mcp_loop *loop;
static mcp_server *server;
static mcp_request *waiting[2]; /* not answered yet */
static mcp_host_timer *timer;
static int n_events, n_asked;

static void start_timer(void (*fn)(void *arg))
{
    const mcp_host *host = mcp_loop_host(loop);
    if (timer)
        host->timer_stop(timer, host->user);
    timer = host->timer_start(0, fn, NULL, host->user);
    assert_non_null(timer);
}

static void answer(mcp_request *req, const char *uri)
{
    assert_int_equal(
        mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = uri + 2)), MCP_OK);
    mcp_reply_finish(req, MCP_OK);
}

/* One event after the other, and then the answer. */
static void on_event(void *user)
{
    (void)user;
    if (++n_events < EVENTS)
        start_timer(on_event);
    else
        answer(waiting[0], "t:late");
}

static int list_after_events(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)cursor, (void)max, (void)user;
    waiting[0] = req;
    start_timer(on_event);
    return MCP_PENDING;
}

/* Answers the first request only when there is a second one, and before it. */
static void on_second(void *user)
{
    (void)user;
    answer(waiting[0], "t:first");
    answer(waiting[1], "t:second");
}

static int list_late(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)cursor, (void)max, (void)user;
    waiting[n_asked++] = req;
    if (n_asked == 2)
        start_timer(on_second);
    return MCP_PENDING;
}

static int list_fails(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)req, (void)cursor, (void)max, (void)user;
    return MCP_ENOMEM; /* other failures leave the provider out */
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void begin(inquiry *i, int (*list)(mcp_request *req, mcp_str cursor, size_t max, void *user))
{
    const mcp_provider provider = {.size = sizeof(provider), .name = "t", .list = list};
    n_events = n_asked = 0;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .host = mcp_loop_host(loop)),
                                    &server, NULL),
                     MCP_OK);
    if (list)
        assert_int_equal(mcp_server_mount(server, "t:", &provider, NULL, NULL), MCP_OK);
    assert_int_equal(inquiry_begin(i, loop, server, NULL, LONG_MS), MCP_OK);
}

static void end(inquiry *i)
{
    const mcp_host *host = mcp_loop_host(loop);
    if (timer)
        host->timer_stop(timer, host->user);
    timer = NULL;
    inquiry_end(i);
    mcp_server_free(server);
    mcp_loop_free(loop);
}

static const char *first_uri(const mcp_json *result)
{
    const mcp_json *one = mcp_json_at(mcp_json_get(result, "resources"), 0);
    mcp_str uri = mcp_json_string(mcp_json_get(one, "uri"));
    return uri.ptr ? uri.ptr : "";
}

static const inquiry_question resources = {.method = "resources/list", .client = "c"};

static void test_many_events(void **state)
{
    inquiry i;
    inquiry_question q = resources;
    (void)state;
    begin(&i, list_after_events);
    inquiry_ask(&i, &q, 1);
    assert_int_equal(q.outcome, INQUIRY_RESULT);
    assert_string_equal(first_uri(q.answer), "t:late");
    assert_int_equal(n_events, EVENTS);
    inquiry_free_answers(&q, 1);
    end(&i);
}

static void test_late_answer(void **state)
{
    inquiry i;
    inquiry_question q = resources;
    (void)state;
    begin(&i, list_late);
    i.ms = 0;
    inquiry_ask(&i, &q, 1);
    assert_int_equal(q.outcome, INQUIRY_NO_ANSWER);
    assert_null(q.answer);
    i.ms = LONG_MS;
    inquiry_ask(&i, &q, 1);
    assert_int_equal(q.outcome, INQUIRY_RESULT);
    assert_string_equal(first_uri(q.answer), "t:second");
    inquiry_free_answers(&q, 1);
    end(&i);
}

/* The first answer comes only when the second question has arrived. */
static void test_at_once(void **state)
{
    inquiry i;
    inquiry_question q[] = {resources, resources, {.method = "prompts/list", .client = "c"}};
    (void)state;
    begin(&i, list_late);
    inquiry_ask(&i, q, 3);
    assert_string_equal(first_uri(q[0].answer), "t:first");
    assert_string_equal(first_uri(q[1].answer), "t:second");
    assert_int_equal(q[2].outcome, INQUIRY_NOT_OFFERED);
    inquiry_free_answers(q, 3);
    end(&i);
}

static void test_outcomes(void **state)
{
    inquiry i;
    inquiry_question q = resources;
    (void)state;
    begin(&i, NULL);
    inquiry_ask(&i, &q, 1);
    assert_int_equal(q.outcome, INQUIRY_NOT_OFFERED);
    inquiry_free_answers(&q, 1);
    end(&i);
    begin(&i, list_fails);
    inquiry_ask(&i, &q, 1);
    assert_int_equal(q.outcome, INQUIRY_ERROR);
    assert_string_equal(mcp_json_string(mcp_json_get(q.answer, "message")).ptr,
                        mcp_error_text(MCP_ENOMEM));
    inquiry_free_answers(&q, 1);
    end(&i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_events),
        cmocka_unit_test(test_late_answer),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_outcomes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
