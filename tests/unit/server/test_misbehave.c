/* Faulty handlers: they answer twice or never, return an invalid code, or write text that is not
 * UTF-8. The peer gets one well-formed answer, and the next request is not affected.
 */
#include <limits.h>

#include "rig.h"

static rig r;

/* ---- handlers -------------------------------------------------------------------------------- */

static int outcome;

static int returns(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_text(req, "said");
    return outcome;
}

static int finishes_with(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_text(req, "said");
    mcp_reply_finish(req, outcome);
    return MCP_PENDING;
}

/* If a handler calls finish and also returns a result, the returned result counts. */
static int finishes_and_returns(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_text(req, "once");
    mcp_reply_finish(req, MCP_EIO);
    return MCP_OK;
}

/* The last one counts. */
static int finishes_twice(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_text(req, "once");
    mcp_reply_finish(req, MCP_EIO);
    mcp_reply_finish(req, MCP_OK);
    return MCP_PENDING;
}

static int fails_after_saying(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_text(req, "said");
    mcp_reply_fail(req, 5, "but failed");
    return MCP_OK;
}

static int structured_twice(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_structured(req, MCP_STR("{\"a\":1}"));
    return mcp_reply_structured(req, MCP_STR("{\"a\":2}"));
}

/* Passed unchanged, with all digits, but on one line. */
static int structured_on_lines(rig *self, mcp_request *req)
{
    (void)self;
    return mcp_reply_structured(req, MCP_STR("{\n\"a\":\r\n12345678901234567890.10}"));
}

static int bad_text(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_text(req, "good");
    mcp_reply_text(req, "\xff");
    return MCP_OK;
}

static int bad_tool_error(rig *self, mcp_request *req)
{
    (void)self;
    return mcp_reply_tool_error(req, "%s", "\xc3(");
}

static int bad_structured(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_structured(req, MCP_STR("{\"a\":\"\xff\"}"));
    return MCP_OK;
}

static int bad_meta_key(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_meta(req, "\xff", MCP_STR("1"));
    return MCP_OK;
}

static int bad_meta_value(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_meta(req, "k", MCP_STR("\"\xed\xa0\x80\""));
    return MCP_OK;
}

static int twice_meta(rig *self, mcp_request *req)
{
    (void)self;
    assert_int_equal(mcp_reply_meta(req, "k", MCP_STR("1")), MCP_OK);
    assert_int_equal(mcp_reply_meta(req, "l", MCP_STR("{\"k\":2}")), MCP_OK);
    assert_int_equal(mcp_reply_meta(req, "k", MCP_STR("3")), MCP_EEXIST);
    assert_int_equal(
        mcp_reply_meta(req, "io.modelcontextprotocol/serverInfo", MCP_STR("{\"name\":\"x\"}")),
        MCP_EEXIST);
    return MCP_OK;
}

static int bad_uri(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_content(
        req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_LINK, .uri = "x:\xff", .name = "n"));
    return MCP_OK;
}

static int bad_mime_type(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_bytes(req, "x", 1, "image/\xff");
    return MCP_OK;
}

static int bad_failure(rig *self, mcp_request *req)
{
    (void)self;
    return mcp_reply_fail_data(req, 5, "\"\xff\"", "cut \xff here");
}

static int bad_description(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_description(req, "\xff");
    mcp_reply_text(req, "x");
    return MCP_OK;
}

static int bad_completion(rig *self, mcp_request *req)
{
    (void)self;
    mcp_reply_completion(req, MCP_STR("good"));
    mcp_reply_completion(req, MCP_STR("\xff"));
    return MCP_OK;
}

/* The notification is not sent, but the answer is. */
static int bad_notices(rig *self, mcp_request *req)
{
    (void)self;
    mcp_request_progress(req, 1, 2, "\xff");
    mcp_request_log(req, MCP_LOG_ERROR, "\xff", MCP_STR("1"));
    mcp_request_log(req, MCP_LOG_ERROR, "x", MCP_STR("\"\xff\""));
    return MCP_OK;
}

/* ---- what the peer sees ---------------------------------------------------------------------- */

#define INTERNAL "\"error\":{\"code\":-32603,"
#define CALL     "\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
#define PROMPT   "\"method\":\"prompts/get\",\"params\":{\"name\":\"p\","
#define COMPLETE                                                              \
    "\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/" \
    "prompt\",\"name\":\"p\"},"                                               \
    "\"argument\":{\"name\":\"a\",\"value\":\"\"},"

static const struct {
    rig_handler *handler;
    int outcome;
    const char *request, *expected;
} cases[] = {
    {returns, 1000, CALL, "\"said\""},
    {returns, INT_MAX, CALL, "\"said\""},
    {returns, -9999, CALL, INTERNAL},
    {returns, INT_MIN, CALL, INTERNAL},
    {returns, MCP_EACCESS, CALL, INTERNAL},
    {finishes_with, 1000, CALL, "\"said\""},
    {finishes_with, INT_MIN, CALL, INTERNAL},
    {finishes_and_returns, 0, CALL, "\"once\""},
    {finishes_twice, 0, CALL, "\"once\""},
    {fails_after_saying, 0, CALL, "\"error\":{\"code\":5,\"message\":\"but failed\"}"},
    {structured_twice, 0, CALL, "\"structuredContent\":{\"a\":2}"},
    {structured_on_lines, 0, CALL, "\"structuredContent\":{ \"a\":  12345678901234567890.10}"},
    {bad_text, 0, CALL, INTERNAL},
    {bad_tool_error, 0, CALL, INTERNAL},
    {bad_structured, 0, CALL, INTERNAL},
    {bad_meta_key, 0, CALL, INTERNAL},
    {bad_meta_value, 0, CALL, INTERNAL},
    {twice_meta, 0, CALL, "\"k\":1,\"l\":{\"k\":2}}"},
    {bad_uri, 0, CALL, INTERNAL},
    {bad_mime_type, 0, CALL, INTERNAL},
    {bad_failure, 0, CALL, "\"error\":{\"code\":5,\"message\":\"cut \"}"},
    {bad_notices, 0, CALL, "\"result\":"},
    {bad_description, 0, PROMPT, INTERNAL},
    {bad_text, 0, PROMPT, INTERNAL},
    {bad_completion, 0, COMPLETE, INTERNAL},
};

static int fine(rig *self, mcp_request *req)
{
    (void)self;
    return mcp_reply_text(req, "fine");
}

/* Checks that the answer is one line of JSON with the id. */
static void check_answer(size_t i)
{
    const char *text = rig_sent(&r);
    size_t len = strlen(text);
    mcp_json_doc *doc = NULL;
    if (len == 0 || strchr(text, '\n') != text + len - 1 || !strstr(text, cases[i].expected) ||
        !strstr(text, "\"id\":1,") ||
        mcp_json_parse((mcp_str){text, len}, NULL, NULL, &doc, NULL) != MCP_OK)
        fail_msg("case %zu: %s", i, text);
    mcp_json_free(doc);
}

static void ask(mcp_channel *channel, const char *request)
{
    char message[1000];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,%s\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{},"
             "\"io.modelcontextprotocol/logLevel\":\"debug\",\"progressToken\":1}}}",
             request);
    rig_say(&r, channel, message);
}

static void test_misbehave(void **state)
{
    mcp_channel *channel;
    (void)state;
    assert_int_equal(rig_open(&r, &(mcp_server_options){.logging = true}, fine), MCP_OK);
    assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        r.handler = cases[i].handler;
        outcome = cases[i].outcome;
        ask(channel, cases[i].request);
        check_answer(i);
        assert_int_equal(mcp_channel_in_flight(channel), 0);
        r.handler = fine;
        ask(channel, CALL);
        assert_has(rig_sent(&r), "\"fine\"");
    }
    mcp_channel_free(channel);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_misbehave)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
