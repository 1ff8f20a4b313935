/* tasks.c: tools that run as tasks, as the suite's tasks-* scenarios expect. `user` of each is the
 * server.
 */
#include "fixture.h"

enum { JOB_MS = 1000 };

/* ---- work that takes time -------------------------------------------------------------------- */

typedef struct job {
    mcp_request *req;
    const mcp_host *host;
    mcp_host_timer *timer;
    int (*answer)(struct job *job);
    mcp_str label;
} job;

static void end_job(void *arg)
{
    job *j = arg;
    if (j->timer)
        j->host->timer_stop(j->timer, j->host->user);
    j->timer = NULL;
    mcp_reply_finish(j->req, mcp_request_cancelled(j->req) ? MCP_ECANCELLED : j->answer(j));
}

static int wait_for(job *j, uint64_t ms)
{
    j->timer = j->host->timer_start(ms, end_job, j, j->host->user);
    return j->timer ? MCP_PENDING : MCP_ENOMEM;
}

/* A request must end outside of this callback, so this sets a timer that is due at once. Without
 * memory for it, the previous timer remains. */
static void hurry(mcp_request *req, void *user)
{
    job *j = user;
    mcp_host_timer *before = j->timer;
    (void)req;
    if (wait_for(j, 0) == MCP_PENDING)
        j->host->timer_stop(before, j->host->user);
    else
        j->timer = before;
}

static int start_job(mcp_request *req, uint64_t ms, mcp_str label, int (*answer)(job *j),
                     mcp_server *server)
{
    int rc = mcp_request_task(req, MCP_OPTIONS(mcp_task_options, .ttl_ms = 60000, .poll_ms = 100));
    job *j = rc == MCP_OK ? mcp_request_alloc(req, sizeof(*j)) : NULL;
    if (!j)
        return rc == MCP_OK ? MCP_ENOMEM : rc;
    *j = (job){.req = req, .host = mcp_server_host(server), .answer = answer, .label = label};
    mcp_request_on_cancel(req, hurry, j);
    return wait_for(j, ms);
}

static int answer_compute(job *j)
{
    return mcp_reply_textf(j->req, "Computed %.*s", (int)j->label.len, j->label.ptr);
}

static int call_compute(mcp_request *req, const mcp_json *arguments, void *user)
{
    double seconds = mcp_json_number(mcp_json_get(arguments, "seconds"), 0);
    mcp_str label = mcp_json_string(mcp_json_get(arguments, "label"));
    return start_job(req, (uint64_t)(seconds * 1000), label, answer_compute, user);
}

static int answer_failure(job *j)
{
    return mcp_reply_tool_error(j->req, "The job failed, as it always does");
}

static int call_failing(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return start_job(req, JOB_MS, (mcp_str){0}, answer_failure, user);
}

static int answer_protocol_error(job *j)
{
    return mcp_reply_fail(j->req, MCP_CODE_INTERNAL, "The job broke, as it always does");
}

static int call_breaking(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return start_job(req, JOB_MS, (mcp_str){0}, answer_protocol_error, user);
}

/* ---- with the user's input ------------------------------------------------------------------- */

static const char name_form[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}";
static const char confirm_form[] =
    "{\"type\":\"object\",\"properties\":{\"confirm\":{\"type\":\"boolean\"}}}";

static int elicit(mcp_request *req, const char *key, const char *message, const char *schema,
                  mcp_elicited *ret)
{
    return mcp_request_elicit(req, key,
                              MCP_OPTIONS(mcp_elicit, .message = message, .schema = schema), ret);
}

static int call_confirm(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited sure;
    mcp_str file = mcp_json_string(mcp_json_get(arguments, "filename"));
    (void)user;
    int rc = mcp_request_task(req, NULL);
    if (rc == MCP_OK)
        rc = elicit(req, "confirm", "Delete the file?", confirm_form, &sure);
    if (rc != MCP_OK)
        return rc;
    return mcp_reply_textf(req, "%s %.*s",
                           sure.action == MCP_ACTION_ACCEPT ? "Deleted" : "Did not delete",
                           (int)file.len, file.ptr);
}

static int call_several(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited first, second;
    (void)arguments, (void)user;
    int rc = mcp_request_task(req, NULL);
    if (rc != MCP_OK)
        return rc;
    rc = elicit(req, "first", "Who are you?", name_form, &first);
    if (rc != MCP_OK && rc != MCP_INPUT_REQUIRED)
        return rc;
    int other = elicit(req, "second", "Who else is there?", name_form, &second);
    if (other != MCP_OK || rc != MCP_OK)
        return other != MCP_OK ? other : rc;
    return mcp_reply_text(req, "Both are known.");
}

/* Requests input before the task is created. */
static int call_asking(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited who;
    (void)arguments, (void)user;
    int rc = elicit(req, "user_name", "Who are you?", name_form, &who);
    if (rc == MCP_OK)
        rc = mcp_request_task(req, NULL);
    if (rc != MCP_OK)
        return rc;
    mcp_str name = mcp_json_string(mcp_json_get(who.content, "name"));
    return mcp_reply_textf(req, "Hello, %.*s!", (int)name.len, name.ptr);
}

static int call_greet(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str name = mcp_json_string(mcp_json_get(arguments, "name"));
    (void)user;
    return mcp_reply_textf(req, "Hello, %.*s!", (int)name.len, name.ptr);
}

/* ---- registration ---------------------------------------------------------------------------- */

#define OBJECT(members) "{\"type\":\"object\",\"properties\":{" members "}}"

static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool),
     .name = "greet",
     .description = "Greets at once",
     .input_schema = OBJECT("\"name\":{\"type\":\"string\"}"),
     .call = call_greet},
    {.size = sizeof(mcp_tool),
     .name = "slow_compute",
     .description = "Takes its time",
     .input_schema = OBJECT(
         "\"seconds\":{\"type\":\"number\",\"minimum\":0,\"maximum\":3600},\"label\":{\"type\":"
         "\"string\"}"),
     .call = call_compute,
     .task_support = MCP_TASK_OPTIONAL},
    {.size = sizeof(mcp_tool),
     .name = "failing_job",
     .description = "Fails after a while",
     .call = call_failing,
     .task_support = MCP_TASK_REQUIRED},
    {.size = sizeof(mcp_tool),
     .name = "protocol_error_job",
     .description = "Breaks after a while",
     .call = call_breaking,
     .task_support = MCP_TASK_OPTIONAL},
    {.size = sizeof(mcp_tool),
     .name = "confirm_delete",
     .description = "Asks before it does anything",
     .input_schema = OBJECT("\"filename\":{\"type\":\"string\"}"),
     .call = call_confirm,
     .task_support = MCP_TASK_OPTIONAL},
    {.size = sizeof(mcp_tool),
     .name = "multi_input",
     .description = "Asks two things at once",
     .call = call_several,
     .task_support = MCP_TASK_OPTIONAL},
    {.size = sizeof(mcp_tool),
     .name = "test_tool_with_task",
     .description = "Asks, then works",
     .call = call_asking,
     .task_support = MCP_TASK_OPTIONAL},
};

int fixture_add_task_tools(mcp_server *server, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < FIXTURE_COUNT(tools); i++)
        rc = mcp_server_add_tool(server, &tools[i], server, error);
    return rc;
}
