/* health.c: mcpd --check-health, for containers, whose image has no other program that could ask. */
#include "health.h"

#include <common/text.h>
#include <mcp/io.h>

enum { MOST_MS = 5000, MOST_BYTES = 65536 };

typedef struct answer {
    bool done;
    int rc, status;
    mcp_error error;
} answer;

static void on_fetched(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user)
{
    answer *a = user;
    a->done = true;
    a->rc = rc;
    if (error)
        a->error = *error;
    if (rc == MCP_OK)
        a->status = fetched->status;
}

int health_check(const char *url)
{
    answer a = {.done = false};
    mcp_loop *loop = NULL;
    a.rc = mcp_loop_new(NULL, &loop, &a.error);
    if (a.rc == MCP_OK)
        a.rc = mcp_loop_fetch(loop,
                              MCP_OPTIONS(mcp_fetch_options, .url = url, .max_bytes = MOST_BYTES,
                                          .timeout_ms = MOST_MS, .allow_private = true,
                                          .no_redirect = true, .done = on_fetched, .user = &a),
                              NULL, &a.error);
    while (a.rc == MCP_OK && !a.done)
        mcp_loop_step(loop, MOST_MS);
    mcp_loop_free(loop);
    if (a.rc != MCP_OK)
        say("%s: %s", url, a.error.text[0] ? a.error.text : mcp_error_text(a.rc));
    else if (a.status != 200)
        say("%s: the answer has the status %d", url, a.status);
    return a.rc == MCP_OK && a.status == 200 ? 0 : 1;
}
