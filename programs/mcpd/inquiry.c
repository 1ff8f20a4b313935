/* inquiry.c: see inquiry.h. Each step of the loop ends with the first event, whatever it is, so
 * steps say nothing about time. */
#include "inquiry.h"

#include <stdio.h>

enum { METHOD_NOT_FOUND = -32601 };

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    inquiry *i = user;
    mcp_json_doc *doc = NULL;
    (void)exchange;
    if (mcp_channel_output_info(channel)->kind != MCP_OUTPUT_RESPONSE)
        return;
    int rc = mcp_json_parse(message, NULL, NULL, &doc, NULL);
    if (rc == MCP_OK && mcp_json_int(mcp_json_get(mcp_json_root(doc), "id"), 0) != i->id) {
        mcp_json_free(doc);
        return;
    }
    mcp_json_free(i->answer);
    i->answer = doc;
    i->is_answered = true;
}

inquiry_outcome inquiry_ask(inquiry *i, const char *method, const char *client,
                            const mcp_json **ret)
{
    char text[400];
    const mcp_json *result, *error;
    *ret = NULL;
    mcp_json_free(i->answer);
    i->answer = NULL;
    i->is_answered = false;
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"%s\",\"version\":\"1\"},"
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             (long long)++i->id, method, client);
    int64_t end = mcp_loop_now(i->loop) + i->ms;
    mcp_channel_receive(i->channel, 0, mcp_str_from(text), mcp_loop_now(i->loop));
    for (int64_t now; !i->is_answered && (now = mcp_loop_now(i->loop)) < end;) {
        int64_t due = mcp_channel_deadline(i->channel);
        due = due < end ? due : end;
        mcp_loop_step(i->loop, due > now ? (uint64_t)(due - now) : 0);
        mcp_channel_tick(i->channel, mcp_loop_now(i->loop));
    }
    if (!i->is_answered)
        return INQUIRY_NO_ANSWER;
    result = mcp_json_get(mcp_json_root(i->answer), "result");
    error = mcp_json_get(mcp_json_root(i->answer), "error");
    *ret = result ? result : error;
    if (result)
        return INQUIRY_RESULT;
    return mcp_json_int(mcp_json_get(error, "code"), 0) == METHOD_NOT_FOUND ? INQUIRY_NOT_OFFERED
                                                                            : INQUIRY_ERROR;
}

int inquiry_begin(inquiry *i, mcp_loop *loop, mcp_server *server, const char *principal, int64_t ms)
{
    *i = (inquiry){.loop = loop, .ms = ms};
    return mcp_server_connect(
        server,
        MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = i, .principal = principal),
        &i->channel, NULL);
}

void inquiry_end(inquiry *i)
{
    mcp_channel_free(i->channel);
    mcp_json_free(i->answer);
    *i = (inquiry){.loop = NULL};
}
