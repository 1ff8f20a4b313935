/* The messages of sampling requests. Generated conversations are compared with a slow and simple
 * model of the rules in "Message Content Constraints" (2026-07-28, client/sampling).
 */
#include "rig.h"
#include "rounds.h"

#include <stdlib.h>

#include <mcp/input.h>

enum { MESSAGES = 4, CONTENTS = 3, IDS = 2, ROUNDS = 10000 };

typedef enum content_kind { TEXT, USE, RESULT, KINDS } content_kind;

typedef struct content {
    content_kind kind;
    int id;
} content;

typedef struct message {
    bool user;
    bool single; /* one content, not in an array */
    int n;
    content contents[CONTENTS];
} message;

typedef struct conversation {
    int n;
    message messages[MESSAGES];
} conversation;

/* ---- the model ------------------------------------------------------------------------------- */

static bool holds(const message *m, content_kind kind, int id)
{
    for (int i = 0; i < m->n; i++) {
        if (m->contents[i].kind == kind && m->contents[i].id == id)
            return true;
    }
    return false;
}

static int count(const message *m, content_kind kind)
{
    int n = 0;
    for (int i = 0; i < m->n; i++)
        n += m->contents[i].kind == kind;
    return n;
}

static bool is_good(const conversation *c)
{
    static const message none = {.n = 0};
    for (int i = 0; i < c->n; i++) {
        const message *m = &c->messages[i];
        const message *before = i ? m - 1 : &none, *after = i + 1 < c->n ? m + 1 : &none;
        if (m->user && count(m, USE))
            return false;
        if (count(m, RESULT) && (!m->user || count(m, RESULT) != m->n))
            return false;
        if (count(m, USE) && (!after->n || !after->user || count(after, RESULT) != after->n))
            return false;
        for (int id = 0; id < IDS; id++) {
            if (holds(m, USE, id) && !holds(after, RESULT, id))
                return false;
            if (holds(m, RESULT, id) && !holds(before, USE, id))
                return false;
        }
    }
    return true;
}

static bool has_tools(const conversation *c)
{
    for (int i = 0; i < c->n; i++) {
        if (count(&c->messages[i], USE) + count(&c->messages[i], RESULT))
            return true;
    }
    return false;
}

/* ---- the same as text ------------------------------------------------------------------------ */

static void put(char **to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *to += vsprintf(*to, format, args);
    va_end(args);
}

static void put_content(char **to, const content *c)
{
    if (c->kind == TEXT)
        put(to, "{\"type\":\"text\",\"text\":\"hello\"}");
    else if (c->kind == USE)
        put(to, "{\"type\":\"tool_use\",\"id\":\"%d\",\"name\":\"t\",\"input\":{}}", c->id);
    else
        put(to, "{\"type\":\"tool_result\",\"toolUseId\":\"%d\",\"content\":[]}", c->id);
}

static void put_conversation(char *to, const conversation *c)
{
    for (int i = 0; i < c->n; i++) {
        const message *m = &c->messages[i];
        put(&to, "%s{\"role\":\"%s\",\"content\":%s", i ? "," : "[", m->user ? "user" : "assistant",
            m->single ? "" : "[");
        for (int k = 0; k < m->n; k++) {
            put(&to, k ? "," : "");
            put_content(&to, &m->contents[k]);
        }
        put(&to, m->single ? "}" : "]}");
    }
    put(&to, "]");
}

/* Half of them are nearly valid: every tool use is followed by its results. */
static void generate(conversation *c)
{
    *c = (conversation){.n = 1 + rand() % MESSAGES};
    for (int i = 0; i < c->n; i++) {
        message *m = &c->messages[i];
        const message *before = i ? m - 1 : NULL;
        m->user = rand() % 5 ? i % 2 == 0 : rand() % 2;
        m->n = 1 + rand() % CONTENTS;
        bool answers = before && count(before, USE) && rand() % 8;
        for (int k = 0; k < m->n; k++) {
            m->contents[k].id = answers ? k % IDS : rand() % IDS;
            m->contents[k].kind = answers   ? RESULT
                                  : m->user ? TEXT
                                            : (content_kind)(rand() % RESULT);
            if (rand() % 20 == 0)
                m->contents[k].kind = (content_kind)(rand() % KINDS);
        }
        m->single = m->n == 1 && rand() % 2;
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

static char text[8192];

static int ask(rig *r, mcp_request *req)
{
    const mcp_json *answer;
    (void)r;
    int rc = mcp_request_sample(
        req, "it", MCP_OPTIONS(mcp_sample, .messages = text, .max_tokens = 1), &answer);
    return rc == MCP_OK ? mcp_reply_text(req, "answered") : rc;
}

static const char *call(rig *r, mcp_channel *channel, const char *capabilities)
{
    char request[1024];
    snprintf(request, sizeof(request),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
             "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{\"sampling\":%s}}}}",
             capabilities);
    assert_int_equal(mcp_channel_receive(channel, 1, mcp_str_from(request), r->now += 10), MCP_OK);
    return rig_sent(r);
}

static void generated(void **state)
{
    (void)state;
    static rig r;
    mcp_channel *channel;
    int good = 0, bad = 0;
    assert_int_equal(rig_open(&r, &(mcp_server_options){.size = 0}, ask), MCP_OK);
    assert_int_equal(
        mcp_server_connect(r.server, MCP_OPTIONS(mcp_channel_options, .send = rig_send, .user = &r),
                           &channel, NULL),
        MCP_OK);
    srand(1);
    int tries = (int)rounds(ROUNDS);
    for (int i = 0; i < tries; i++) {
        conversation c;
        generate(&c);
        put_conversation(text, &c);
        const char *said = call(&r, channel, "{\"tools\":{}}");
        bool sent = strstr(said, "input_required") != NULL;
        if (sent != is_good(&c) || (!sent && !strstr(said, "Internal error: message ")))
            fail_msg("%s: %s", text, said);
        good += sent && has_tools(&c);
        bad += !sent;
        said = sent && has_tools(&c) ? call(&r, channel, "{}") : "sampling.tools";
        if (!strstr(said, "sampling.tools"))
            fail_msg("without sampling.tools: %s: %s", text, said);
    }
    assert_true(good > tries / 50 && bad > tries / 50);
    mcp_channel_free(channel);
    mcp_server_free(r.server);
}

static void malformed(void **state)
{
    static const char *const cases[] = {
        "[{\"role\":\"system\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}]",
        ("[{\"role\":\"assistant\",\"content\":{\"type\":\"tool_use\",\"name\":\"t\"}},"
         "{\"role\":\"user\",\"content\":{\"type\":\"tool_result\",\"content\":[]}}]"),
        "[{\"role\":\"user\",\"content\":\"x\"}]",
        "[]",
        "{}",
        "["};
    static rig r;
    mcp_channel *channel;
    (void)state;
    assert_int_equal(rig_open(&r, &(mcp_server_options){.size = 0}, ask), MCP_OK);
    assert_int_equal(
        mcp_server_connect(r.server, MCP_OPTIONS(mcp_channel_options, .send = rig_send, .user = &r),
                           &channel, NULL),
        MCP_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "%s", cases[i]);
        assert_non_null(strstr(call(&r, channel, "{\"tools\":{}}"), "\"code\":-32603"));
    }
    mcp_channel_free(channel);
    mcp_server_free(r.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(generated), cmocka_unit_test(malformed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
