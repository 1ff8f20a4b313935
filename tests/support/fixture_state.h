/* fixture_state.h: declarations that the files of the fixture share. */
#ifndef MCP_TESTS_FIXTURE_STATE_H
#define MCP_TESTS_FIXTURE_STATE_H

#include "fixture.h"

enum { MAX_PENDING = 64, MAX_URI = 256 };

typedef struct waiting {
    mcp_request *req;
    int (*answer)(fixture *f, struct waiting *w); /* answers the request */
    int (*speak)(mcp_request *req, const char *text);
    char text[MAX_URI];
    size_t max;
} waiting;

struct fixture {
    mcp_server *server;
    bool deferred_list;
    waiting waiting[MAX_PENDING];
    size_t n_waiting;
    size_t n_cancelled;
    size_t n_watched, n_list_watched;
    int64_t now;
    unsigned drawn; /* number of calls of the generator */
};

/* Stores a request, which fixture_finish() answers by calling `answer`. `text` and `max` are stored
 * in the waiting entry. */
int fixture_wait_for(fixture *f, mcp_request *req, mcp_str text, size_t max,
                     int (*answer)(fixture *, waiting *));

extern const mcp_provider fixture_mem;

#endif
