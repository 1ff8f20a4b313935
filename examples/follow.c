/* follow.c: a client that does other things while a call runs: it shows the call's progress, fills
 * in the server's form, is told of changes, and cancels the call after a time.
 *
 *     ./follow ./long -- wait '{"seconds":1}'                 progress, then the result
 *     ./follow ./long -- wait '{"seconds":60}' 500            cancelled after 500 ms
 *     ./follow ./ask -- book_table '{"day":"Friday"}'         a form, answered with its defaults
 *     ./follow ./resources -- write_note '{"name":"a","text":"b"}' 1000   and what changes within 1 s
 *
 * Nothing here blocks: the program owns the loop, and mcp_loop_step() runs callbacks in between.
 */
#include <mcp/io.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct state {
    bool subscribed, done, failed, changed;
} state;

static void print(const char *label, mcp_str text)
{
    printf("%s%.*s\n", label, (int)text.len, text.ptr ? text.ptr : "");
}

/* ---- the server's messages ------------------------------------------------------------------- */

static void on_change(mcp_client *client, mcp_subscription *subscription, mcp_change change,
                      mcp_str uri, void *user)
{
    (void)client, (void)subscription;
    ((state *)user)->changed = true;
    print(change == MCP_CHANGE_RESOURCE ? "changed: " : "a list changed", uri);
}

static void on_subscribed(mcp_client *client, mcp_subscription *subscription,
                          mcp_subscription_state what, const mcp_error *error, void *user)
{
    (void)client, (void)subscription, (void)what, (void)error;
    ((state *)user)->subscribed = true;
}

/* A program with a user would show the message and the fields of mcp_question_schema(). It may
 * keep the question, and answer it later. */
static void on_form(mcp_client *client, mcp_question *question, void *user)
{
    mcp_error why;
    (void)client, (void)user;
    print("asked: ", mcp_question_message(question));
    /* Fields that are left out get the defaults of the schema. If a required one has none, the
     * answer does not fit, and the question has to be answered in another way. */
    if (mcp_question_accept(question, "{}", &why) != MCP_OK) {
        printf("declined: %s\n", why.text);
        mcp_question_decline(question);
    }
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *p, void *user)
{
    (void)client, (void)call, (void)user;
    printf("progress: %g of %g\n", p->progress, p->has_total ? p->total : 0);
}

static void on_done(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    state *s = user;
    (void)client;
    const mcp_json *content = mcp_json_at(mcp_json_get(result, "content"), 0);
    if (rc == MCP_OK)
        print("result: ", mcp_json_string(mcp_json_get(content, "text")));
    else
        printf("failed: %s\n", error->text);
    s->done = true;
    s->failed = rc != MCP_OK;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Calls the tool when the server has confirmed or refused the subscription: it does not report what
 * has changed before. */
static int call(mcp_loop *loop, mcp_client *client, char **tool, state *s, mcp_call_id *ret)
{
    mcp_subscription *all;
    int rc =
        mcp_client_subscribe(client,
                             MCP_OPTIONS(mcp_subscription_options, .resources = true, .tools = true,
                                         .changed = on_change, .state = on_subscribed, .user = s),
                             &all);
    while (rc == MCP_OK && !s->subscribed)
        rc = mcp_loop_step(loop, 100);
    return rc == MCP_OK ? mcp_client_call_tool(client, tool[0], tool[1],
                                               MCP_OPTIONS(mcp_call_options, .done = on_done,
                                                           .progress = on_progress, .user = s),
                                               ret)
                        : rc;
}

/* Runs the loop until the call has ended and, if there is a time for it, something has changed. */
static void follow(mcp_loop *loop, mcp_client *client, mcp_call_id id, int64_t most_ms, state *s)
{
    int64_t end = mcp_loop_now(loop) + most_ms;
    while (!s->done || (most_ms && !s->changed)) {
        if (mcp_loop_step(loop, 100) != MCP_OK || (most_ms && mcp_loop_now(loop) > end))
            break;
    }
    if (!s->done)
        mcp_client_cancel(client, id, "it takes too long"); /* calls on_done() */
}

static char **split(char **argv)
{
    while (*argv && strcmp(*argv, "--") != 0)
        argv++;
    if (*argv)
        *argv++ = NULL;
    return argv;
}

int main(int argc, char **argv)
{
    mcp_loop *loop = NULL;
    mcp_client *client = NULL;
    mcp_child *child = NULL;
    mcp_error error = {0};
    state s = {0};
    mcp_call_id id = 0;
    char **tool = split(argv + (argc > 0));
    if (!tool[0] || !tool[1]) {
        fprintf(stderr, "usage: follow SERVER [ARGUMENT...] -- TOOL JSON [MILLISECONDS]\n");
        return 2;
    }
    int rc = mcp_loop_new(NULL, &loop, &error);
    if (rc == MCP_OK)
        rc = mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "follow", .version = "1.0",
                                        .elicit_form = on_form),
                            &client, &error);
    if (rc == MCP_OK)
        rc = mcp_child_spawn(
            loop, client, MCP_OPTIONS(mcp_child_options, .argv = (const char *const *)(argv + 1)),
            &child, &error);
    if (rc == MCP_OK)
        rc = mcp_client_wait(client, 0, NULL, &error);
    if (rc == MCP_OK)
        rc = call(loop, client, tool, &s, &id);
    if (rc == MCP_OK)
        follow(loop, client, id, tool[2] ? strtol(tool[2], NULL, 10) : 0, &s);
    else
        fprintf(stderr, "follow: %s\n", error.text[0] ? error.text : mcp_error_text(rc));
    mcp_child_close(child);
    mcp_client_free(client);
    mcp_loop_free(loop);
    return s.done && !s.failed ? 0 : 1;
}
