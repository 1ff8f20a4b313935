/* inquiry.c: see inquiry.h. Each step of the loop ends with the first event, whatever it is, so
 * steps say nothing about time. */
#include "inquiry.h"

#include <stdio.h>

enum { METHOD_NOT_FOUND = -32601 };

static inquiry_question *question_of(const inquiry *i, const mcp_json *message)
{
    int64_t first = i->id - (int64_t)i->count + 1;
    int64_t id = mcp_json_int(mcp_json_get(message, "id"), 0);
    return id < first || id > i->id ? NULL : &i->questions[id - first];
}

static void take(inquiry *i, mcp_json_doc *doc)
{
    const mcp_json *message = mcp_json_root(doc);
    const mcp_json *result = mcp_json_get(message, "result"),
                   *error = mcp_json_get(message, "error");
    inquiry_question *q = question_of(i, message);
    if (!q || q->doc) {
        mcp_json_free(doc);
        return;
    }
    q->doc = doc;
    q->answer = result ? result : error;
    q->outcome = result ? INQUIRY_RESULT
                 : mcp_json_int(mcp_json_get(error, "code"), 0) == METHOD_NOT_FOUND
                     ? INQUIRY_NOT_OFFERED
                     : INQUIRY_ERROR;
    i->unanswered--;
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    inquiry *i = user;
    mcp_json_doc *doc = NULL;
    (void)exchange;
    if (mcp_channel_output_info(channel)->kind != MCP_OUTPUT_RESPONSE)
        return;
    if (mcp_json_parse(message, NULL, NULL, &doc, NULL) == MCP_OK)
        take(i, doc);
    else if (i->unanswered)
        i->unanswered--;
}

static void send(inquiry *i, inquiry_question *q)
{
    const int64_t id = i->id - (int64_t)i->count + 1 + (q - i->questions);
    char text[400];
    q->doc = NULL;
    q->answer = NULL;
    q->outcome = INQUIRY_NO_ANSWER;
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"%s\",\"version\":\"1\"},"
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             (long long)id, q->method, q->client);
    mcp_channel_receive(i->channel, 0, mcp_str_from(text), mcp_loop_now(i->loop));
}

void inquiry_ask(inquiry *i, inquiry_question *questions, size_t count)
{
    int64_t end = mcp_loop_now(i->loop) + i->ms;
    i->questions = questions;
    i->count = i->unanswered = count;
    i->id += (int64_t)count;
    for (size_t k = 0; k < count; k++)
        questions[k].doc = NULL;
    for (size_t k = 0; k < count; k++)
        send(i, &questions[k]);
    for (int64_t now; i->unanswered && (now = mcp_loop_now(i->loop)) < end;) {
        int64_t due = mcp_channel_deadline(i->channel);
        due = due < end ? due : end;
        mcp_loop_step(i->loop, due > now ? (uint64_t)(due - now) : 0);
        mcp_channel_tick(i->channel, mcp_loop_now(i->loop));
    }
    i->count = i->unanswered = 0;
}

void inquiry_free_answers(inquiry_question *questions, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        mcp_json_free(questions[k].doc);
        questions[k].doc = NULL;
        questions[k].answer = NULL;
    }
}

int inquiry_begin(inquiry *i, mcp_loop *loop, mcp_server *server, mcp_identity *identity,
                  int64_t ms)
{
    *i = (inquiry){.loop = loop, .ms = ms};
    return mcp_server_connect(
        server, MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = i, .identity = identity),
        &i->channel, NULL);
}

void inquiry_end(inquiry *i)
{
    mcp_channel_free(i->channel);
    *i = (inquiry){.loop = NULL};
}
