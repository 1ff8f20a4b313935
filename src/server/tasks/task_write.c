/* task_write.c: writes a task for the peer, in the form of its revision. */
#include "server/tasks/task.h"

static const char *const status_names[] = {
    [MCP_TASK_WORKING] = "working",     [MCP_TASK_INPUT_REQUIRED] = "input_required",
    [MCP_TASK_COMPLETED] = "completed", [MCP_TASK_FAILED] = "failed",
    [MCP_TASK_CANCELLED] = "cancelled",
};

static void put_key(mcp__buf *b, const char *name)
{
    mcp__buf_lit(b, ",\"");
    mcp__buf_str(b, mcp_str_from(name));
    mcp__buf_lit(b, "\":");
}

/* Writes a time in the form of RFC 3339. Days are counted from 1 March of the year 0, so that leap
 * days come last in their year. */
static void put_time(mcp__buf *b, int64_t ms)
{
    if (ms < 0)
        ms = 0;
    int64_t seconds = ms / 1000, days = seconds / 86400 + 719468;
    int64_t century = days / 146097, day = days % 146097; /* within 400 years */
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    int64_t month = (5 * day + 2) / 153; /* 0 is March */
    day -= (153 * month + 2) / 5;
    year += century * 400 + (month >= 10);
    month += month < 10 ? 3 : -9;
    mcp__buf_printf(b, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", (int)year, (int)month,
                    (int)day + 1, (int)(seconds / 3600 % 24), (int)(seconds / 60 % 60),
                    (int)(seconds % 60), (int)(ms % 1000));
}

static void put_rest(mcp__buf *b, const mcp__revision *revision, const mcp_task *task)
{
    bool extension = revision->tasks == MCP__TASKS_EXTENSION;
    put_key(b, "status");
    mcp__json_put_str(b, mcp_str_from(status_names[task->status]));
    if (task->message.len) {
        put_key(b, "statusMessage");
        mcp__json_put_str(b, task->message);
    }
    put_key(b, "createdAt");
    put_time(b, task->created_ms);
    put_key(b, "lastUpdatedAt");
    put_time(b, task->updated_ms);
    put_key(b, extension ? "ttlMs" : "ttl");
    mcp__json_put_uint(b, task->ttl_ms);
    if (task->poll_ms) {
        put_key(b, extension ? "pollIntervalMs" : "pollInterval");
        mcp__json_put_uint(b, task->poll_ms);
    }
}

void mcp__put_task(mcp__buf *b, const mcp__revision *revision, const mcp_task *task)
{
    put_key(b, "taskId");
    mcp__json_put_str(b, task->id);
    put_rest(b, revision, task);
}

void mcp__put_task_object(mcp__buf *b, const mcp__revision *revision, const mcp_task *task)
{
    mcp__buf_lit(b, "{\"taskId\":");
    mcp__json_put_str(b, task->id);
    put_rest(b, revision, task);
    mcp__buf_char(b, '}');
}

void mcp__put_task_detail(mcp__buf *b, const mcp__revision *revision, const mcp_task *task)
{
    static const char *const names[] = {
        [MCP_TASK_INPUT_REQUIRED] = "inputRequests",
        [MCP_TASK_COMPLETED] = "result",
        [MCP_TASK_FAILED] = "error",
        [MCP_TASK_CANCELLED] = NULL,
    };
    mcp__put_task(b, revision, task);
    if (revision->tasks != MCP__TASKS_EXTENSION || !task->detail.len || !names[task->status])
        return;
    put_key(b, names[task->status]);
    mcp__buf_str(b, task->detail);
}
