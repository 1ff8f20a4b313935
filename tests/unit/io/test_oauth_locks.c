/* test_oauth_locks.c: what a client is told of the lock of its record, and who releases the lock. The
 * linker redirects the store's call of the client to this file (--wrap). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/oauth_store/store.h"
#include "support/wait.h"

static char folder[64];
static char path[128];
static mcp_error error;

static int make(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/oauth-locks-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/auth.json", folder);
    return 0;
}

static int clean(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static struct {
    const mcp_oauth_client *client;
    int rc, calls;
} told;

void __wrap_mcp_oauth_client_locked(mcp_oauth_client *client, int rc);
void __wrap_mcp_oauth_client_locked(mcp_oauth_client *client, int rc)
{
    told.client = client;
    told.rc = rc;
    told.calls++;
}

/* A client does not release a lock that it did not get, and gets and releases it later. */
static void test_lock_in_vain(void **state)
{
    mcp_loop *loop;
    mcp_oauth_file_store *stores[2];
    const mcp_oauth_store *f[2];
    int clients[2];
    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    for (size_t i = 0; i < 2; i++) {
        const mcp_oauth_file_options o = {.size = sizeof(o), .path = path, .lock_ms = 20};
        assert_int_equal(mcp_oauth_file_store_new(loop, &o, &stores[i], &error), MCP_OK);
        f[i] = mcp_oauth_file_store_get(stores[i]);
    }
    mcp_oauth_client *first = (mcp_oauth_client *)(void *)&clients[0];
    mcp_oauth_client *second = (mcp_oauth_client *)(void *)&clients[1];
    memset(&told, 0, sizeof(told));
    assert_int_equal(f[0]->lock(first, "a", f[0]->user), MCP_OK);
    assert_int_equal(f[1]->lock(second, "a", f[1]->user), MCP_PENDING);
    for (int64_t end = wait_end(); !told.calls && wait_more(end);)
        mcp_loop_step(loop, 20);
    assert_int_equal(told.calls, 1);
    assert_ptr_equal(told.client, second);
    assert_int_equal(told.rc, MCP_ETIMEOUT);
    f[0]->unlock(first, "a", f[0]->user);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(f[1]->lock(second, "a", f[1]->user), MCP_OK);
        f[1]->unlock(second, "a", f[1]->user);
        assert_int_equal(f[0]->lock(first, "a", f[0]->user), MCP_OK);
        f[0]->unlock(first, "a", f[0]->user);
    }
    assert_int_equal(told.calls, 1);
    mcp_oauth_file_store_free(stores[0]);
    mcp_oauth_file_store_free(stores[1]);
    mcp_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lock_in_vain, make, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
