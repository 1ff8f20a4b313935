/* The client and the server of the library connected to each other, in each revision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <mcp/client.h>
#include <mcp/sys/client.h>
#include <mcp/sys/server.h>

#include "support/fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A message in flight. */
typedef struct letter {
    struct letter *next;
    bool to_server;
    size_t len;
    char text[];
} letter;

typedef struct pair {
    fixture *fixture;
    mcp_client *client;
    mcp_channel *ours, *theirs;
    letter *first, **last;
    int64_t now;
    size_t done, changes, notices;
    int rc;
    char text[512]; /* text of the result or of the error */
    char progress[64];
} pair;

static void post(pair *p, bool to_server, mcp_str message)
{
    letter *l = malloc(sizeof(*l) + message.len);
    *l = (letter){.to_server = to_server, .len = message.len};
    memcpy(l->text, message.ptr, message.len);
    *p->last = l;
    p->last = &l->next;
}

static void from_client(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange;
    post(user, true, message);
}

static void from_server(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange;
    post(user, false, message);
}

static void carry(pair *p)
{
    letter *l = p->first;
    p->first = l->next;
    if (!p->first)
        p->last = &p->first;
    mcp_channel_receive(l->to_server ? p->theirs : p->ours, 0, (mcp_str){l->text, l->len}, p->now);
    free(l);
}

/* Runs until no message is in flight, then advances the time, by at most half a second. */
static void run(pair *p)
{
    int64_t end = p->now + 500;
    for (int i = 0; i < 1000; i++) {
        if (mcp_channel_deadline(p->ours) <= p->now)
            mcp_channel_tick(p->ours, p->now);
        else if (mcp_channel_deadline(p->theirs) <= p->now)
            mcp_channel_tick(p->theirs, p->now);
        else if (p->first)
            carry(p);
        else if (p->now < end)
            p->now += 50;
        else
            return;
    }
    fail_msg("they do not come to rest");
}

static void on_question(mcp_client *client, mcp_question *question, void *user)
{
    static const mcp_root root = {.size = sizeof(root), .uri = "file:///home"};
    mcp_error error = {0};
    int rc;
    (void)client, (void)user;
    switch (mcp_question_kind_of(question)) {
    case MCP_QUESTION_SAMPLE:
        rc = mcp_question_sampled(question,
                                  "{\"role\":\"assistant\",\"content\":{\"type\":\"text\","
                                  "\"text\":\"forty-two\"},\"model\":\"m\"}",
                                  &error);
        break;
    case MCP_QUESTION_ROOTS: rc = mcp_question_roots(question, &root, 1, &error); break;
    default:
        rc = mcp_question_accept(question, NULL, &error);
        if (rc == MCP_EINVAL) /* a revision without defaults */
            rc = mcp_question_accept(question, "{\"name\":\"Ada\"}", &error);
    }
    assert_int_equal(rc, MCP_OK);
}

static void on_done(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    pair *p = user;
    (void)client;
    const mcp_json *content = mcp_json_at(mcp_json_get(result, "content"), 0);
    mcp_str text = mcp_json_string(mcp_json_get(content, "text"));
    p->done++;
    p->rc = rc;
    if (error)
        snprintf(p->text, sizeof(p->text), "%s", error->text);
    else
        snprintf(p->text, sizeof(p->text), "%.*s", (int)text.len, text.ptr ? text.ptr : "");
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                        void *user)
{
    pair *p = user;
    size_t at = strlen(p->progress);
    (void)client, (void)call;
    snprintf(p->progress + at, sizeof(p->progress) - at, "%g/%g ", progress->progress,
             progress->total);
}

static void on_change(mcp_client *client, mcp_subscription *s, mcp_change change, mcp_str uri,
                      void *user)
{
    (void)client, (void)s, (void)change, (void)uri;
    ((pair *)user)->changes++;
}

static void on_log(mcp_client *client, mcp_str level, mcp_str logger, const mcp_json *data,
                   void *user)
{
    (void)client, (void)level, (void)logger, (void)data;
    ((pair *)user)->notices++;
}

static void open_pair(pair *p, const char *revision, bool asks)
{
    *p = (pair){.now = 1000};
    p->last = &p->first;
    assert_int_equal(
        fixture_new(&(fixture_options){.asks = asks, .logging = true}, &p->fixture, NULL), MCP_OK);
    assert_int_equal(
        mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "c", .version = "1",
                                   .revision = revision, .user = p, .elicit_form = on_question,
                                   .elicit_url = on_question, .sample = on_question,
                                   .roots = on_question, .sample_tools = true, .log = on_log),
                       &p->client, NULL),
        MCP_OK);
    assert_int_equal(mcp_server_connect(fixture_server(p->fixture),
                                        MCP_OPTIONS(mcp_channel_options, .send = from_server,
                                                    .user = p, .shared_stream = true),
                                        &p->theirs, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_client_connect(p->client,
                           MCP_OPTIONS(mcp_channel_options, .send = from_client, .user = p),
                           &p->ours, NULL),
        MCP_OK);
    mcp_client_start(p->client, on_done, p);
    run(p);
    assert_int_equal(p->rc, MCP_OK);
    p->done = 0;
}

static void close_pair(pair *p)
{
    mcp_client_free(p->client);
    while (p->first) {
        letter *l = p->first;
        p->first = l->next;
        free(l);
    }
    mcp_channel_free(p->theirs);
    fixture_free(p->fixture);
}

static const char *const revisions[] = {NULL,         "2026-07-28", "2025-11-25",
                                        "2025-06-18", "2025-03-26", "2024-11-05"};

static void call(pair *p, const char *tool)
{
    mcp_client_call_tool(
        p->client, tool, "{}",
        MCP_OPTIONS(mcp_call_options, .done = on_done, .progress = on_progress, .user = p), NULL);
    run(p);
}

static void test_questions(void **state)
{
    (void)state;
    static const struct {
        const char *tool, *text;
        size_t revisions; /* how many revisions support it; an error in others */
    } lines[] = {
        {"name", "accept {\"name\":\"Ada\"}", 4},
        {"choice", "accept {\"one\":\"a\",\"sure\":true}", 3},
        {"url", "accept nothing", 3},
        {"sample", "forty-two", 6},
        {"tools_sample", "forty-two", 3},
        {"list_roots", "1", 6},
        {"rounds", "Ada, 1, second, accept", 3},
    };
    for (size_t r = 0; r < COUNT(revisions); r++) {
        pair p;
        open_pair(&p, revisions[r], true);
        assert_string_equal(mcp_client_revision(p.client),
                            revisions[r] ? revisions[r] : "2026-07-28");
        for (size_t i = 0; i < COUNT(lines); i++) {
            p.done = 0;
            call(&p, lines[i].tool);
            assert_int_equal(p.done, 1);
            if (r < lines[i].revisions) {
                assert_int_equal(p.rc, MCP_OK);
                assert_string_equal(p.text, lines[i].text);
            }
        }
        close_pair(&p);
    }
}

static void test_the_rest(void **state)
{
    (void)state;
    static const char *const uris[] = {"fixed:/text"};
    for (size_t r = 0; r < COUNT(revisions); r++) {
        pair p;
        mcp_subscription *s = NULL;
        mcp_call_id id = 0;
        open_pair(&p, revisions[r], false);
        mcp_client_set_log_level(p.client, "debug");
        call(&p, "progress");
        assert_string_equal(p.text, "progressed");
        assert_string_equal(p.progress, "1/4 2/4 4/4 ");
        call(&p, "logs");
        assert_int_equal(p.notices, 2);

        /* All pages, and reads of some of their entries. */
        mcp_client_list(p.client, "resources/list", NULL, on_done, &p);
        mcp_client_read(p.client, "fixed:/text",
                        MCP_OPTIONS(mcp_call_options, .done = on_done, .user = &p), NULL);
        mcp_client_get_prompt(p.client, "plain", NULL,
                              MCP_OPTIONS(mcp_call_options, .done = on_done, .user = &p), NULL);
        mcp_client_ping(p.client, MCP_OPTIONS(mcp_call_options, .done = on_done, .user = &p), NULL);
        p.done = 0;
        run(&p);
        assert_int_equal(p.done, 4);
        assert_int_equal(p.rc, MCP_OK);

        /* A cancelled call: the server is notified. */
        mcp_client_call_tool(p.client, "pending", NULL,
                             MCP_OPTIONS(mcp_call_options, .done = on_done, .user = &p), &id);
        run(&p);
        mcp_client_cancel(p.client, id, "enough");
        run(&p);
        assert_int_equal(p.rc, MCP_ECANCELLED);
        assert_int_equal(fixture_cancelled(p.fixture), 1);

        /* Changes. */
        mcp_client_subscribe(p.client,
                             MCP_OPTIONS(mcp_subscription_options, .uris = uris, .n_uris = 1,
                                         .tools = true, .changed = on_change, .user = &p),
                             &s);
        run(&p);
        assert_true(mcp_subscription_honours(s, MCP_CHANGE_RESOURCE, "fixed:/text"));
        assert_true(mcp_subscription_honours(s, MCP_CHANGE_TOOLS, NULL));
        mcp_server_resource_updated(fixture_server(p.fixture), "fixed:/text");
        fixture_add_tool(p.fixture, "new");
        run(&p);
        assert_int_equal(p.changes, 2);
        mcp_subscription_end(s);
        run(&p);
        mcp_server_resource_updated(fixture_server(p.fixture), "fixed:/text");
        run(&p);
        assert_int_equal(p.changes, 2);
        close_pair(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
