/* task_instance.c: ids of tasks, which may name the instance where the task runs.
 *
 * Such an id is sealed for the owner of the task (mcp_server_seal()), so that nobody else can find out
 * where it runs. It contains, after a byte for the version: what identifies the task (16 bytes), the
 * instance (8), when the task was made and its ttl in milliseconds (8 each), the revision and the
 * address (each with a byte for its length). The ttl may change later; the id can be read as long as
 * the longest ttl.
 */
#include "server/core/seal.h"
#include "server/tasks/task.h"

enum {
    VERSION = 1,
    UNIQUE = 16,
    NUMBER = 8,
    INSTANCE_BYTES = 8,
    HEAD = 1 + UNIQUE + INSTANCE_BYTES + 2 * NUMBER,
};

/* ---- homes ----------------------------------------------------------------------------------- */

static bool is_instance_of(const mcp_task_instance *instance)
{
    return instance->address[0] && memchr(instance->address, 0, sizeof(instance->address)) &&
           strspn(instance->instance, "0123456789abcdef") == sizeof(instance->instance) - 1;
}

int mcp_server_set_task_instance(mcp_server *server, const mcp_task_instance *instance,
                                 mcp_error *error)
{
    mcp__no_error(error);
    mcp_task_instance h;
    mcp_task_instance *copy = NULL;
    int rc = mcp__need_server(server, error);
    if (rc == MCP_OK && instance)
        rc = MCP__TAKE(&h, instance, mcp_task_instance, error);
    if (rc != MCP_OK)
        return rc;
    if (instance && !is_instance_of(&h))
        return mcp__fail(
            error, MCP_EINVAL, 0,
            "the instance of tasks needs an instance of 16 hexadecimal digits and an address");
    if (instance && !(copy = mcp__zalloc(&server->allocator, sizeof(*copy))))
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for the instance of tasks");
    if (instance)
        *copy = h;
    mcp__release(&server->allocator, server->task_instance);
    server->task_instance = copy;
    return MCP_OK;
}

int mcp_server_get_task_instance(mcp_server *server, const char *owner, mcp_str id,
                                 mcp_task_instance *ret)
{
    mcp__task_id_parts t;
    if (!server || !ret || ret->size < sizeof(*ret) || (id.len && !id.ptr))
        return MCP_EINVAL;
    int rc = mcp__task_read_id(server, mcp_str_from(owner), id, &t);
    if (rc != MCP_OK)
        return rc;
    t.instance.size = ret->size;
    memcpy(ret, &t.instance, sizeof(t.instance));
    return MCP_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What an id is sealed for: a task of this caller (mcp_task.principal). */
static void put_purpose(mcp__buf *b, const mcp_server *server, mcp_str owner)
{
    mcp__buf_init(b, &server->allocator, 0);
    mcp__buf_lit(b, "task ");
    mcp__buf_char(b, owner.ptr ? 'n' : 'a');
    if (owner.ptr)
        mcp__buf_str(b, owner);
}

static void put_number(mcp__buf *b, uint64_t n)
{
    for (int i = NUMBER - 1; i >= 0; i--)
        mcp__buf_char(b, (char)(unsigned char)(n >> 8 * i));
}

static void put_short(mcp__buf *b, mcp_str s)
{
    mcp__buf_char(b, (char)(unsigned char)s.len);
    mcp__buf_str(b, s);
}

static void put_plain(mcp__buf *b, const mcp_task_instance *instance, const mcp_task *task,
                      const unsigned char unique[UNIQUE])
{
    unsigned char name[INSTANCE_BYTES];
    mcp__hex_decode(name, instance->instance, INSTANCE_BYTES);
    mcp__buf_char(b, VERSION);
    mcp__buf_add(b, unique, UNIQUE);
    mcp__buf_add(b, name, INSTANCE_BYTES);
    put_number(b, (uint64_t)task->created_ms);
    put_number(b, task->ttl_ms);
    put_short(b, task->revision);
    put_short(b, mcp_str_from(instance->address));
}

static int seal_id(mcp_server *server, mcp__task *task, const unsigned char unique[UNIQUE])
{
    mcp__buf purpose, plain;
    size_t len = 0;
    put_purpose(&purpose, server, task->state.principal);
    mcp__buf_init(&plain, &server->allocator, 0);
    put_plain(&plain, server->task_instance, &task->state, unique);
    int rc = purpose.failed ? purpose.failed : plain.failed;
    if (rc == MCP_OK)
        rc = mcp_server_seal(server, mcp__buf_view(&purpose), mcp__buf_view(&plain),
                             server->tasks->settings.max_ttl_ms, task->id, MCP_TASK_ID_BYTES, &len);
    mcp__buf_free(&purpose);
    mcp__buf_free(&plain);
    task->id[len] = 0;
    task->state.id = (mcp_str){task->id, len};
    return rc;
}

int mcp__task_set_id(mcp_server *server, mcp__task *task)
{
    unsigned char unique[UNIQUE];
    char text[MCP__BASE64_SIZE(sizeof(unique))];
    int rc = mcp__server_random(server, unique, sizeof(unique));
    if (rc != MCP_OK || server->task_instance)
        return rc == MCP_OK ? seal_id(server, task, unique) : rc;
    size_t len = mcp__base64url_encode(text, unique, sizeof(unique));
    assert(len == MCP__TASK_ID);
    memcpy(task->id, text, len);
    task->state.id = (mcp_str){task->id, len};
    return MCP_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t get_number(const char *at)
{
    uint64_t n = 0;
    for (size_t i = 0; i < NUMBER; i++)
        n = n << 8 | (unsigned char)at[i];
    return n;
}

static bool get_short(mcp_str *rest, mcp_str *ret)
{
    size_t len = rest->len ? (unsigned char)rest->ptr[0] : 0;
    if (rest->len < 1 + len)
        return false;
    *ret = (mcp_str){rest->ptr + 1, len};
    *rest = mcp__str_sub(*rest, 1 + len);
    return true;
}

static int read_plain(mcp__task_id_parts *t, size_t len)
{
    char unique[MCP__BASE64_SIZE(UNIQUE)];
    const char *at = t->text + 1;
    mcp_str rest = {t->text + HEAD, len - HEAD}, address;
    if (len < HEAD || t->text[0] != VERSION || !get_short(&rest, &t->revision) ||
        !get_short(&rest, &address) || !address.len || address.len >= sizeof(t->instance.address))
        return MCP_ENOTFOUND;
    mcp__base64url_encode(unique, at, UNIQUE);
    memcpy(t->unique, unique, MCP__TASK_ID);
    t->unique[MCP__TASK_ID] = 0;
    at += UNIQUE;
    t->instance = (mcp_task_instance){.size = sizeof(t->instance)};
    mcp__hex_encode(t->instance.instance, at, INSTANCE_BYTES);
    at += INSTANCE_BYTES;
    t->created_ms = (int64_t)get_number(at);
    t->ttl_ms = get_number(at + NUMBER);
    memcpy(t->instance.address, address.ptr, address.len);
    return MCP_OK;
}

int mcp__task_read_id(mcp_server *server, mcp_str owner, mcp_str id, mcp__task_id_parts *ret)
{
    mcp__buf purpose;
    size_t len = 0;
    if (id.len <= MCP__TASK_ID || id.len > MCP_TASK_ID_BYTES || !server->seal)
        return MCP_ENOTFOUND;
    put_purpose(&purpose, server, owner);
    int rc = purpose.failed;
    if (rc == MCP_OK)
        rc = mcp_server_unseal(server, mcp__buf_view(&purpose), id, ret->text, sizeof(ret->text),
                               &len, NULL);
    mcp__buf_free(&purpose);
    if (rc == MCP_OK)
        return read_plain(ret, len);
    return rc == MCP_ENOMEM ? rc : MCP_ENOTFOUND;
}
