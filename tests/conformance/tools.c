/* tools.c: tools with each kind of content, errors, notifications during a call, and tools that
 * test a rule of the protocol. `user` of each is the server.
 */
#include <stdio.h>

#include "fixture.h"

/* ---- contents -------------------------------------------------------------------------------- */

static int call_text(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "This is a simple text response for testing.");
}

static int call_image(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_bytes(req, fixture_png, FIXTURE_PNG_SIZE, "image/png");
}

static int call_audio(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_bytes(req, fixture_wav, FIXTURE_WAV_SIZE, "audio/wav");
}

static int call_embedded(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_content(req,
                             MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_RESOURCE,
                                         .uri = "test://embedded-resource",
                                         .text = MCP_STR("This is an embedded resource content."),
                                         .mime_type = "text/plain"));
}

static int call_several(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_reply_text(req, "Multiple content types test:");
    mcp_reply_bytes(req, fixture_png, FIXTURE_PNG_SIZE, "image/png");
    return mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_RESOURCE,
                                              .uri = "test://mixed-content-resource",
                                              .text = MCP_STR("{\"test\":\"data\",\"value\":123}"),
                                              .mime_type = "application/json"));
}

static int call_fails(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_tool_error(req, "This tool intentionally returns an error for testing");
}

/* ---- three notifications during a call, with pauses ------------------------------------------ */

enum { NOTICES = 3, PAUSE_MS = 50 };

typedef struct slow_call {
    mcp_request *req;
    const mcp_host *host;
    mcp_host_timer *timer;
    void (*notice)(mcp_request *req, int number);
    const char *text; /* the answer and the last notification */
    int number;       /* of the next notification */
} slow_call;

static void step(void *arg)
{
    slow_call *call = arg;
    int outcome = MCP_OK;
    if (call->timer)
        call->host->timer_stop(call->timer, call->host->user);
    call->timer = NULL;
    call->notice(call->req, call->number++);
    if (call->number < NOTICES && !mcp_request_cancelled(call->req)) {
        call->timer = call->host->timer_start(PAUSE_MS, step, call, call->host->user);
        if (call->timer)
            return;
        outcome = MCP_ENOMEM;
    }
    if (outcome == MCP_OK)
        outcome = mcp_reply_text(call->req, call->text);
    mcp_reply_finish(call->req, outcome);
}

static int call_slowly(mcp_request *req, void (*notice)(mcp_request *req, int number),
                       const char *text, mcp_server *server)
{
    slow_call *call = mcp_request_alloc(req, sizeof(*call));
    if (!call)
        return MCP_ENOMEM;
    *call =
        (slow_call){.req = req, .host = mcp_server_host(server), .notice = notice, .text = text};
    step(call);
    return MCP_PENDING;
}

static void report_progress(mcp_request *req, int number)
{
    mcp_request_progress(req, number * 50.0, 100, NULL);
}

static int call_with_progress(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return call_slowly(req, report_progress, "The progress was reported.", user);
}

static void log_message(mcp_request *req, int number)
{
    static const char *const messages[NOTICES] = {"Tool execution started", "Tool processing data",
                                                  "Tool execution completed"};
    mcp_request_logf(req, MCP_LOG_INFO, "conformance", "%s", messages[number]);
}

static int call_with_logging(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return call_slowly(req, log_message, "The messages were logged.", user);
}

/* Closes the connection before the answer, which is sent when the client reconnects. */
static void finish_later(void *arg)
{
    slow_call *call = arg;
    call->host->timer_stop(call->timer, call->host->user);
    mcp_reply_finish(call->req, mcp_reply_text(call->req, call->text));
}

static int call_reconnecting(mcp_request *req, const mcp_json *arguments, void *user)
{
    slow_call *call = mcp_request_alloc(req, sizeof(*call));
    (void)arguments;
    if (!call)
        return MCP_ENOMEM;
    *call = (slow_call){
        .req = req, .host = mcp_server_host(user), .text = "The client came back for this."};
    call->timer = call->host->timer_start(2L * PAUSE_MS, finish_later, call, call->host->user);
    if (!call->timer)
        return MCP_ENOMEM;
    mcp_request_end_stream(req);
    return MCP_PENDING;
}

/* ---- a call to cancel ------------------------------------------------------------------------ */

static int end_slow(mcp_request *req, void *user)
{
    (void)user;
    return mcp_reply_text(req, "The time is over.");
}

static int call_for_long(mcp_request *req, const mcp_json *arguments, void *user)
{
    int64_t ms = mcp_json_int(mcp_json_get(arguments, "durationMs"), 0);
    (void)user;
    return mcp_request_repeat(req, (uint64_t)ms, end_slow, NULL);
}

static const char duration_schema[] = "{\"type\":\"object\",\"required\":[\"durationMs\"],"
                                      "\"properties\":{\"durationMs\":{\"type\":\"integer\","
                                      "\"minimum\":0,\"maximum\":600000}}}";

/* ---- rules of the protocol ------------------------------------------------------------------- */

static int call_without_capability(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    int rc = mcp_request_require(req, "sampling");
    return rc == MCP_OK ? mcp_reply_text(req, "The client can sample.") : rc;
}

/* A response stream must not carry requests of the server, so this requests nothing. */
static int call_streaming(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_request_progress(req, 1, 1, "There is nothing to ask for");
    return mcp_reply_text(req, "Nothing was asked for.");
}

/* Logs, whether or not the peer enabled log messages. */
static int call_logging(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_request_logf(req, MCP_LOG_EMERGENCY, "conformance", "This is for who asked for it");
    return mcp_reply_text(req, "This was logged.");
}

static int call_change_tools(mcp_request *req, const mcp_json *arguments, void *user)
{
    static const mcp_tool passing = {.size = sizeof(mcp_tool),
                                     .name = "test_passing_tool",
                                     .description = "There for a moment only",
                                     .call = call_text};
    (void)arguments;
    int rc = mcp_server_add_tool(user, &passing, NULL, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_remove_tool(user, passing.name);
    return rc == MCP_OK ? mcp_reply_text(req, "The list of tools changed.") : rc;
}

static int call_change_prompts(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    int rc = fixture_change_prompts(user);
    return rc == MCP_OK ? mcp_reply_text(req, "The list of prompts changed.") : rc;
}

/* The argument `region` is repeated in the header Mcp-Param-Region. */
static const char region_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}";

static int call_region(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    mcp_str region = mcp_json_string(mcp_json_get(arguments, "region"));
    return mcp_reply_textf(req, "The region is '%.*s'.", (int)region.len, region.ptr);
}

/* tools/list must return it with every keyword. */
static const char all_keywords_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"
    "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
    "\"properties\":{\"name\":{\"type\":\"string\"},"
    "\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
    "\"required\":[\"contactMethod\"]},"
    "\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
    "\"additionalProperties\":false}";

/* Structured content that is no object: allowed from 2026-07-28 on. */
static int call_array(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_structured(req, MCP_STR("[{\"hour\":\"09:00\",\"degrees\":18},"
                                             "{\"hour\":\"10:00\",\"degrees\":19.5}]"));
}

static int call_number(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_structured(req, MCP_STR("42"));
}

/* ---- the list -------------------------------------------------------------------------------- */

#define TOOL(tool_name, handler, text)                                                          \
    {                                                                                           \
        .size = sizeof(mcp_tool), .name = (tool_name), .call = (handler), .description = (text) \
    }

/* The first one must be callable without arguments and special headers. */
static const mcp_tool tools[] = {
    TOOL("test_simple_text", call_text, "Returns a text"),
    TOOL("test_image_content", call_image, "Returns a picture"),
    TOOL("test_audio_content", call_audio, "Returns a sound"),
    TOOL("test_embedded_resource", call_embedded, "Returns a resource within its result"),
    TOOL("test_multiple_content_types", call_several, "Returns contents of several kinds"),
    TOOL("test_error_handling", call_fails, "Returns an error that the model gets to see"),
    TOOL("test_tool_with_progress", call_with_progress, "Reports progress and takes its time"),
    TOOL("test_tool_with_logging", call_with_logging, "Logs messages and takes its time"),
    TOOL("test_reconnection", call_reconnecting, "Answers when the client comes back"),
    TOOL("test_missing_capability", call_without_capability, "Needs a client that can sample"),
    TOOL("test_streaming_elicitation", call_streaming, "Answers on a stream, asking nothing"),
    TOOL("test_logging_tool", call_logging, "Logs, for who asked for it"),
    TOOL("test_trigger_tool_change", call_change_tools, "Changes the list of tools"),
    TOOL("test_trigger_prompt_change", call_change_prompts, "Changes the list of prompts"),
    TOOL("test_tool_fast", call_text, "Answers at once"),
    {.size = sizeof(mcp_tool),
     .name = "test_tool_slow",
     .description = "Answers after a time that the caller chooses",
     .input_schema = duration_schema,
     .call = call_for_long},
    {.size = sizeof(mcp_tool),
     .name = "sep_2106_array_output_tool",
     .description = "Returns an array as structured content",
     .output_schema = "{\"type\":\"array\",\"items\":{\"type\":\"object\","
                      "\"required\":[\"hour\",\"degrees\"]}}",
     .call = call_array},
    {.size = sizeof(mcp_tool),
     .name = "sep_2106_primitive_output_tool",
     .description = "Returns a number as structured content",
     .output_schema = "{\"type\":\"number\"}",
     .call = call_number},
    {.size = sizeof(mcp_tool),
     .name = "test_header_region",
     .description = "Says a region that comes in a header too",
     .input_schema = region_schema,
     .call = call_region},
    {.size = sizeof(mcp_tool),
     .name = "json_schema_2020_12_tool",
     .description = "Has a schema with many keywords",
     .input_schema = all_keywords_schema,
     .call = call_text},
};

int fixture_add_tools(mcp_server *server, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < FIXTURE_COUNT(tools); i++)
        rc = mcp_server_add_tool(server, &tools[i], server, error);
    return rc;
}
