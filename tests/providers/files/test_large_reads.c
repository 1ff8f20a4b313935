/* Concurrent reads of many large files: how many bytes the provider holds at once. The host runs
 * all queued work before it reports any as done, as worker threads would while the server's thread
 * is busy.
 */
#define _GNU_SOURCE
#include "tree.h"

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "fakehost.h"
#include "files.h"

enum { COUNT = 40, SIZE = 1 << 20, LIMIT = 8 << 20 };

typedef struct job {
    void (*work)(void *arg), (*done)(void *arg);
    void *arg;
} job;

typedef struct world {
    fakehost h;
    job jobs[COUNT];
    size_t n_jobs, live, most, n_answers;
} world;

/* ---- an allocator that counts bytes ---------------------------------------------------------- */

enum { HEAD = 16 };

static void *count(world *w, char *block, size_t size)
{
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof(size));
    w->live += size;
    w->most = w->live > w->most ? w->live : w->most;
    return block + HEAD;
}

static char *uncount(world *w, void *ptr)
{
    size_t size;
    if (!ptr)
        return NULL;
    memcpy(&size, (char *)ptr - HEAD, sizeof(size));
    w->live -= size;
    return (char *)ptr - HEAD;
}

static void *allocate(size_t size, void *user)
{
    return count(user, malloc(size + HEAD), size);
}

static void *resize(void *ptr, size_t size, void *user)
{
    return count(user, realloc(uncount(user, ptr), size + HEAD), size);
}

static void release(void *ptr, void *user)
{
    free(uncount(user, ptr));
}

/* ---- the host -------------------------------------------------------------------------------- */

static int host_work(void (*work)(void *), void (*done)(void *), void *arg, void *user)
{
    world *w = (world *)user; /* the host is the first member of world */
    assert_true(w->n_jobs < COUNT);
    w->jobs[w->n_jobs++] = (job){work, done, arg};
    return MCP_OK;
}

static void run_jobs(world *w)
{
    size_t n = w->n_jobs;
    job jobs[COUNT];
    memcpy(jobs, w->jobs, sizeof(jobs));
    w->n_jobs = 0;
    for (size_t i = 0; i < n; i++)
        jobs[i].work(jobs[i].arg);
    for (size_t i = 0; i < n; i++)
        jobs[i].done(jobs[i].arg);
    for (mcp_host_timer *t; (t = fakehost_first(&w->h)) && t->due <= fakehost_now(&w->h);) {
        t->due = INT64_MAX;
        t->fn(t->arg);
    }
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange;
    assert_true(message.len > SIZE);
    ((world *)user)->n_answers++;
}

static void ask(const tree *t, mcp_channel *channel, int id)
{
    char message[512];
    int len = snprintf(message, sizeof(message),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/read\",\"params\":{"
                       "\"uri\":\"file://%s\",\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                       id, tree_at(t, "large.bin"));
    assert_int_equal(mcp_channel_receive(channel, 0, (mcp_str){message, (size_t)len}, 1000),
                     MCP_OK);
}

static void read_many(char bytes[SIZE], size_t limit)
{
    static world w;
    tree t;
    mcp_server *server;
    mcp_channel *channel;
    const mcp_allocator counting = {allocate, resize, release, &w};
    w = (world){0};
    tree_make(&t);
    tree_bytes(&t, "large.bin", bytes, SIZE);
    fakehost_init(&w.h);
    w.h.host.work = host_work;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "s", .version = "1",
                                                .host = &w.h.host, .max_work_memory = LIMIT),
                                    &server, NULL),
                     MCP_OK);
    const char *source = t.path;
    assert_int_equal(
        mcp_files_mount(server,
                        MCP_OPTIONS(mcp_files_options, .sources = &source, .n_sources = 1,
                                    .no_watch = true, .allocator = &counting),
                        NULL),
        MCP_OK);
    assert_int_equal(
        mcp_server_connect(server, MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = &w),
                           &channel, NULL),
        MCP_OK);
    size_t before = w.live;
    w.most = before;
    for (int i = 0; i < COUNT; i++)
        ask(&t, channel, i);
    while (w.n_jobs)
        run_jobs(&w);
    assert_int_equal(w.n_answers, COUNT);
    assert_in_range(w.most - before, SIZE, limit);
    mcp_work_memory m = {.size = sizeof(m)};
    mcp_server_get_work_memory(server, &m);
    assert_int_equal(m.held + m.refused, 0);
    mcp_channel_free(channel);
    mcp_server_free(server);
    assert_int_equal(w.live, 0);
    tree_remove(&t);
}

static void test_bytes_at_the_same_time(void **state)
{
    static char bytes[SIZE];
    (void)state;
    memset(bytes, 0xff, sizeof(bytes));
    read_many(bytes, LIMIT);
}

/* Two bytes become three, and the answers, which are not counted here, have to fit too. */
static void test_utf16_at_the_same_time(void **state)
{
    static char bytes[SIZE];
    (void)state;
    memset(bytes, 0x4e, sizeof(bytes));
    memcpy(bytes, "\xff\xfe", 2);
    read_many(bytes, LIMIT / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes_at_the_same_time),
                                       cmocka_unit_test(test_utf16_at_the_same_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
