/* callers.h: callers of one server, each with claims of its own. */
#ifndef MCP_TESTS_POSTGRES_CALLERS_H
#define MCP_TESTS_POSTGRES_CALLERS_H

#include "database.h"

#include <mcp/sys/server.h>

#define ISSUER "https://idp.example.org/"

/* Connects one more peer to the server of `first`, with this identity. */
static inline void caller_as(peer *p, const peer *first, mcp_identity_options o)
{
    mcp_identity *identity = NULL;
    memset(p, 0, sizeof(*p));
    p->server = first->server;
    p->loop = first->loop;
    o.size = sizeof(o);
    if (o.principal)
        assert_int_equal(mcp_identity_new(&o, &identity, &p->error), MCP_OK);
    assert_int_equal(mcp_server_connect(p->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p,
                                                    .shared_stream = true, .identity = identity),
                                        &p->channel, &p->error),
                     MCP_OK);
    mcp_identity_unref(identity);
}

/* Connects a caller with claims of the issuer. */
static inline void caller_open(peer *p, const peer *first, const char *claims)
{
    caller_as(p, first,
              (mcp_identity_options){.principal = "p", .issuer = ISSUER, .claims = claims});
}

static inline void caller_close(peer *p)
{
    mcp_channel_free(p->channel);
    p->channel = NULL;
}

/* Opens the server, with run_as and saved queries as JSON texts; NULL means none. */
static inline int shop_open(peer *p, const char *run_as, const char *queries,
                            mcp_postgres_options o)
{
    mcp_json_doc *doc[2] = {NULL, NULL};
    assert_int_equal(mcp_json_parse(mcp_str_from(run_as), NULL, NULL, &doc[0], NULL), MCP_OK);
    if (queries)
        assert_int_equal(mcp_json_parse(mcp_str_from(queries), NULL, NULL, &doc[1], NULL), MCP_OK);
    o.run_as = mcp_json_root(doc[0]);
    o.queries = mcp_json_root(doc[1]);
    int rc = peer_open(p, &o);
    mcp_json_free(doc[0]);
    mcp_json_free(doc[1]);
    return rc;
}

#endif
