/* Generated exchanges with one server, directly and through a server in front of it, in memory. */
#define _GNU_SOURCE
#include "wires.h"

#include "compare.h"
#include "rounds.h"

typedef struct callers {
    wires w;
    mcp_channel *channel[2];
} callers;

static const char *say(void *user, bool front, const char *message, size_t n)
{
    callers *c = user;
    (void)n;
    c->w.peer = c->channel[front];
    c->w.log_len = 0;
    c->w.log[0] = 0;
    if (message)
        mcp_channel_receive(c->w.peer, 0, mcp_str_from(message), c->w.now);
    wires_run(&c->w);
    return c->w.log;
}

static mcp_channel *connect(wires *w, mcp_server *server, const char *revision, bool named)
{
    char hello[256];
    mcp_channel *channel;
    w->peer = NULL;
    assert_int_equal(wires_peer(w, server, named ? "ann" : NULL), MCP_OK);
    channel = w->peer;
    snprintf(hello, sizeof(hello),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
             revision);
    if (strcmp(revision, revisions[0]) != 0) {
        wires_say(w, hello);
        wires_say(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    }
    return channel;
}

static void test_same(void **state)
{
    (void)state;
    static callers c;
    seed = 1;
    for (size_t between = 0; between < REVISIONS; between++) {
        static char log[1 << 19];
        c = (callers){.w = {.revision = revisions[between], .log = log, .log_room = sizeof(log)}};
        assert_int_equal(wires_open(&c.w, exchanges_server()), MCP_OK);
        for (size_t caller = 0; caller < REVISIONS; caller++) {
            pair p = pair_of(caller, between);
            p.say = say;
            p.user = &c;
            bool named[2] = {any(2), any(2)};
            /* anonymous callers get no log messages on streams that all calls share; callers of
             * older revisions get none from a modern server */
            p.logs = exchanges.logs = named[1] && !p.differ;
            /* a modern caller gets a task only if the other server makes one */
            p.tasks = caller == 1 ? between < 2 : caller == 0 && between == 0;
            c.channel[0] = connect(&c.w, c.w.other, direct_revision(caller, between), named[0]);
            c.channel[1] = connect(&c.w, c.w.front, revisions[caller], named[1]);
            compare_all(&p, rounds(90));
            mcp_channel_free(c.channel[0]);
            mcp_channel_free(c.channel[1]);
            c.w.peer = NULL;
        }
        wires_close(&c.w);
        mcp_server_free(c.w.other);
    }
    assert_true(logs_heard > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
    return cmocka_run_group_tests_name("upstream: differential", tests, NULL, NULL);
}
