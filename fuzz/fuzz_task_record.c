/* fuzz_task_record.c: what an instance kept of a task is read, after it was unsealed. What was read and is
 * written again has the same bytes.
 */
#include <stdlib.h>

#include "server/tasks/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static bool is_within(mcp_str part, mcp_str whole)
{
    return !part.len || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str text = {(const char *)data, size};
    mcp_task task;
    mcp__buf again;
    if (mcp__task_record_read(text, &mcp__default_allocator, &task) != MCP_OK)
        return 0;
    check(task.status <= MCP_TASK_CANCELLED && task.created_ms >= 0 && task.updated_ms >= 0);
    check(is_within(task.principal, text) && is_within(task.revision, text) &&
          is_within(task.message, text) && is_within(task.detail, text));
    check(mcp__utf8_valid(task.message.ptr, task.message.len) == task.message.len);
    mcp__buf_init(&again, &mcp__default_allocator, 0);
    mcp__task_record_put(&again, &task);
    check(again.len == size && memcmp(again.ptr, data, size) == 0);
    mcp__buf_free(&again);
    return 0;
}
