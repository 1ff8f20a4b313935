/* task_record.c: the text of a task that an instance keeps for the others, before it is sealed.
 *
 * It has, after a byte for the version: the status, flags, four numbers of 8 bytes (created, updated,
 * ttl, poll), then the principal, the revision and the message (each with 4 bytes for its length), and
 * the detail. It comes from an instance with the same key; nevertheless everything is checked, because
 * the detail becomes a part of an answer.
 */
#include "server/tasks/task.h"

enum {
    VERSION = 1,
    IS_ERROR = 1,
    NAMED = 2,
    NUMBER = 8,
    LENGTH = 4,
    NUMBERS = 4,
    HEAD = 3 + NUMBERS * NUMBER
};

static void put_number(mcp__buf *b, uint64_t n, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        mcp__buf_char(b, (char)(unsigned char)(n >> 8 * i));
}

static void put_text(mcp__buf *b, mcp_str s)
{
    put_number(b, s.len, LENGTH);
    if (s.ptr)
        mcp__buf_str(b, s);
}

void mcp__task_record_put(mcp__buf *b, const mcp_task *task)
{
    mcp__buf_char(b, VERSION);
    mcp__buf_char(b, (char)task->status);
    mcp__buf_char(b, (char)((task->is_error ? IS_ERROR : 0) | (task->principal.ptr ? NAMED : 0)));
    put_number(b, (uint64_t)task->created_ms, NUMBER);
    put_number(b, (uint64_t)task->updated_ms, NUMBER);
    put_number(b, task->ttl_ms, NUMBER);
    put_number(b, task->poll_ms, NUMBER);
    put_text(b, task->principal);
    put_text(b, task->revision);
    put_text(b, task->message);
    mcp__buf_str(b, task->detail);
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t get_number(const char *at, size_t bytes)
{
    uint64_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | (unsigned char)at[i];
    return n;
}

static bool get_text(mcp_str *rest, mcp_str *ret)
{
    size_t len = rest->len >= LENGTH ? (size_t)get_number(rest->ptr, LENGTH) : SIZE_MAX;
    if (rest->len < LENGTH || len > rest->len - LENGTH)
        return false;
    *ret = (mcp_str){rest->ptr + LENGTH, len};
    *rest = mcp__str_sub(*rest, LENGTH + len);
    return mcp__utf8_valid(ret->ptr, ret->len) == ret->len;
}

/* The writer decides which parts the detail must have; here it is the JSON text of an object. */
static int check_detail(mcp_str detail, const mcp_allocator *allocator)
{
    const mcp_json_limits limits = {
        .size = sizeof(limits), .max_bytes = SIZE_MAX, .max_depth = MCP__JSON_DEEPEST};
    mcp_json_doc *doc = NULL;
    if (!detail.len)
        return MCP_OK;
    int rc = mcp_json_parse(detail, &limits, allocator, &doc, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? rc : MCP_EINVAL;
    bool is_object = mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT);
    mcp_json_free(doc);
    /* The text is spliced: nothing may surround the object. */
    return is_object && detail.ptr[0] == '{' && detail.ptr[detail.len - 1] == '}' ? MCP_OK
                                                                                  : MCP_EINVAL;
}

static bool is_time(int64_t ms)
{
    return ms >= 0 && ms < INT64_MAX / 4;
}

int mcp__task_record_read(mcp_str text, const mcp_allocator *allocator, mcp_task *ret)
{
    mcp_task t = {.size = sizeof(t)};
    mcp_str rest = text.len >= HEAD ? mcp__str_sub(text, HEAD) : (mcp_str){NULL, 0};
    if (text.len < HEAD || text.ptr[0] != VERSION ||
        (unsigned char)text.ptr[1] > MCP_TASK_CANCELLED || !get_text(&rest, &t.principal) ||
        !get_text(&rest, &t.revision) || !get_text(&rest, &t.message))
        return MCP_EINVAL;
    t.status = (mcp_task_status)text.ptr[1];
    t.is_error = text.ptr[2] & IS_ERROR;
    if (!(text.ptr[2] & NAMED))
        t.principal.ptr = NULL;
    t.created_ms = (int64_t)get_number(text.ptr + 3, NUMBER);
    t.updated_ms = (int64_t)get_number(text.ptr + 3 + NUMBER, NUMBER);
    t.ttl_ms = get_number(text.ptr + 3 + 2 * NUMBER, NUMBER);
    t.poll_ms = get_number(text.ptr + 3 + 3 * NUMBER, NUMBER);
    t.detail = rest;
    if ((text.ptr[2] & ~(IS_ERROR | NAMED)) || !is_time(t.created_ms) || !is_time(t.updated_ms) ||
        (!t.principal.ptr && t.principal.len))
        return MCP_EINVAL;
    int rc = check_detail(t.detail, allocator);
    if (rc == MCP_OK)
        *ret = t;
    return rc;
}
