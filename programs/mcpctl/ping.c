/* ping.c: mcpctl ping: measures a round trip. */
#define _GNU_SOURCE
#include <time.h>

#include "mcpctl.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

/* Sends one request. Modern revisions have no ping, but every server supports server/discover. */
static int ping_once(ctl *c, double *ms)
{
    bool modern = mcp_client_is_modern(c->session->client);
    double before = now_ms();
    int code = session_call(c, "ping", modern ? "server/discover" : "ping", NULL, NULL, NULL);
    *ms = now_ms() - before;
    return code;
}

static int put_time(ctl *c, double ms)
{
    ms = (double)(int64_t)(ms * 1000 + 0.5) / 1000; /* rounded to microseconds */
    if (!c->set.json) {
        printf("%.3f ms\n", ms);
        return flush_stdout(c) ? EXIT_OK : EXIT_LOCAL;
    }
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_real(w, "ms", ms);
    mcp_json_end(w);
    return put_written(c, "ping", w);
}

int run_ping(ctl *c)
{
    uint64_t count = c->set.count ? c->set.count : 1;
    int code = EXIT_OK;
    for (uint64_t i = 0; code == EXIT_OK && i < count; i++) {
        double ms = 0;
        bool done = false;
        if (i)
            session_wait(c, &done, 1000);
        code = ping_once(c, &ms);
        if (code == EXIT_OK)
            code = put_time(c, ms);
    }
    return code;
}
