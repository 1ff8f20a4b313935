/* fixture_tasks.c: tools that may be called as tasks. fixture_finish() ends the waiting ones. */
#include "fixture.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NAME                                                                           \
    "{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":" \
    "\"string\"}}}"

static int finish_job(mcp_request *req, const char *outcome)
{
    if (strcmp(outcome, "tool error") == 0)
        return mcp_reply_tool_error(req, "It did not work");
    if (strcmp(outcome, "error") == 0)
        return mcp_reply_fail_data(req, 4711, "{\"why\":[1]}", "Not today");
    if (strcmp(outcome, "code") == 0)
        return MCP_EIO;
    if (strcmp(outcome, "large") == 0) {
        static char large[8192];
        memset(large, 'x', sizeof(large));
        return mcp_reply_str(req, (mcp_str){large, sizeof(large)}, NULL);
    }
    mcp_reply_meta(req, "com.example/reply", MCP_STR("1"));
    return mcp_reply_text(req, "the result");
}

static int wait_for_outcome(mcp_request *req, const mcp_json *arguments, void *user)
{
    return fixture_wait(user, req, mcp_json_string(mcp_json_get(arguments, "outcome")), finish_job);
}

/* Becomes a task, then waits. The argument says how the task ends. */
static int call_job(mcp_request *req, const mcp_json *arguments, void *user)
{
    int rc = mcp_request_task(req, MCP_OPTIONS(mcp_task_options, .message = "Begun"));
    return rc == MCP_OK ? wait_for_outcome(req, arguments, user) : rc;
}

static int call_short(mcp_request *req, const mcp_json *arguments, void *user)
{
    int rc = mcp_request_task(req, MCP_OPTIONS(mcp_task_options, .ttl_ms = 5000, .poll_ms = 50));
    return rc == MCP_OK ? wait_for_outcome(req, arguments, user) : rc;
}

static int call_quick(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    int rc = mcp_request_task(req, NULL);
    return rc == MCP_OK ? mcp_reply_text(req, "done") : rc;
}

/* Does not offer to be a task. */
static int call_plain(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, mcp_request_task_id(req) ? "a task" : "no task");
}

static int call_speaks(mcp_request *req, const mcp_json *arguments, void *user)
{
    int rc = mcp_request_task(req, NULL);
    if (rc != MCP_OK)
        return rc;
    mcp_request_progress(req, 1, 4, "on its way");
    mcp_request_log(req, MCP_LOG_WARNING, NULL, MCP_STR("\"look\""));
    return wait_for_outcome(req, arguments, user);
}

static int ask(mcp_request *req, const char *key, mcp_elicited *ret)
{
    return mcp_request_elicit(
        req, key, MCP_OPTIONS(mcp_elicit, .message = "Your name?", .schema = NAME), ret);
}

static int greet(mcp_request *req, const mcp_elicited *name)
{
    mcp_str text = mcp_json_string(mcp_json_get(name->content, "name"));
    if (name->action != MCP_ACTION_ACCEPT)
        return mcp_reply_text(req, "As you like");
    return mcp_reply_textf(req, "Hello, %.*s", (int)text.len, text.ptr);
}

static int call_asks(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited name;
    (void)arguments, (void)user;
    int rc = mcp_request_task(req, NULL);
    if (rc == MCP_OK)
        rc = ask(req, "name", &name);
    return rc == MCP_OK ? greet(req, &name) : rc;
}

static int call_asks_two(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited first, second;
    (void)arguments, (void)user;
    int rc = mcp_request_task(req, NULL);
    if (rc != MCP_OK)
        return rc;
    rc = ask(req, "first", &first);
    if (rc == MCP_OK || rc == MCP_INPUT_REQUIRED) {
        int other = ask(req, "second", &second);
        rc = other == MCP_OK ? rc : other;
    }
    if (rc != MCP_OK)
        return rc;
    greet(req, &first);
    return greet(req, &second);
}

/* Requests input before it becomes a task. */
static int call_asks_before(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited name;
    (void)arguments, (void)user;
    int rc = ask(req, "name", &name);
    if (rc == MCP_OK)
        rc = mcp_request_task(req, NULL);
    return rc == MCP_OK ? greet(req, &name) : rc;
}

#define TOOL(its_name, its_call, support)                                                     \
    {                                                                                         \
        .size = sizeof(mcp_tool), .name = its_name, .call = its_call, .task_support = support \
    }

static const mcp_tool tools[] = {
    TOOL("job", call_job, MCP_TASK_OPTIONAL),
    TOOL("must", call_job, MCP_TASK_REQUIRED),
    TOOL("short", call_short, MCP_TASK_OPTIONAL),
    TOOL("quick", call_quick, MCP_TASK_OPTIONAL),
    TOOL("plain", call_plain, MCP_TASK_OPTIONAL),
    TOOL("never", call_plain, MCP_TASK_FORBIDDEN),
    TOOL("forgets", call_quick, MCP_TASK_FORBIDDEN),
    {.size = sizeof(mcp_tool),
     .name = "checked",
     .input_schema = NAME,
     .call = call_quick,
     .task_support = MCP_TASK_OPTIONAL},
    TOOL("speaks", call_speaks, MCP_TASK_OPTIONAL),
    TOOL("asks", call_asks, MCP_TASK_OPTIONAL),
    TOOL("asks-two", call_asks_two, MCP_TASK_OPTIONAL),
    TOOL("asks-before", call_asks_before, MCP_TASK_OPTIONAL),
};

int fixture_add_tasks(fixture *f, const fixture_options *o, mcp_error *error)
{
    mcp_server *server = fixture_server(f);
    int rc = mcp_server_set_tasks(
        server,
        MCP_OPTIONS(mcp_task_settings, .max_tasks = o->max_tasks, .max_bytes = o->max_task_bytes),
        error);
    for (size_t i = 0; i < COUNT(tools) && rc == MCP_OK; i++)
        rc = mcp_server_add_tool(server, &tools[i], f, error);
    return rc;
}
