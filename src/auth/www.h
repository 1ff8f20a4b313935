/* www.h: reads the header WWW-Authenticate (RFC 9110 section 11.6.1), as a client gets it.
 *
 * One value may have several challenges, and several headers are joined with ", ". A challenge that
 * is malformed, or has a parameter twice, ends the reading; the challenges before it can be used.
 */
#ifndef MCP_SRC_AUTH_WWW_H
#define MCP_SRC_AUTH_WWW_H

#include "base/base.h"

enum {
    MCP__WWW_BYTES = 16 << 10,
    MCP__WWW_CHALLENGES = 16,
    MCP__WWW_PARAMS = 64, /* of all challenges together */
};

typedef struct mcp__www_param {
    mcp_str name;  /* as written; compared without regard to case */
    mcp_str value; /* without quotes and escapes */
} mcp__www_param;

typedef struct mcp__www_challenge {
    mcp_str scheme;  /* as written; compared without regard to case */
    mcp_str token68; /* empty if the challenge has parameters instead */
    size_t first, n; /* its parameters in mcp__www.params */
} mcp__www_challenge;

typedef struct mcp__www {
    char *text; /* a copy of the value, which the strings point into */
    size_t n;
    mcp__www_challenge challenges[MCP__WWW_CHALLENGES];
    size_t n_params;
    mcp__www_param params[MCP__WWW_PARAMS];
    mcp_allocator allocator;
} mcp__www;

/* Reads a value. Returns MCP_OK, MCP_EPARSE, MCP_ELIMIT or MCP_ENOMEM. Whatever the result is, *ret
 * contains the challenges before the fault. Free it with mcp__www_clear(). */
int mcp__www_read(mcp__www *ret, mcp_str value, const mcp_allocator *allocator);
void mcp__www_clear(mcp__www *www);

/* Returns the value of a parameter; ptr is NULL if the challenge has no such parameter. */
mcp_str mcp__www_get(const mcp__www *www, const mcp__www_challenge *challenge, const char *name);
/* Returns the first challenge with this scheme, or NULL. */
const mcp__www_challenge *mcp__www_find(const mcp__www *www, const char *scheme);

/* What the challenges of a resource server ask for (RFC 6750 section 3, RFC 9449 section 7.1, RFC
 * 9728 section 5.1). All strings may be empty, and belong to the mcp__www. */
typedef struct mcp__www_wants {
    bool bearer, dpop; /* the schemes of the challenges */
    mcp_str error;
    mcp_str description;
    mcp_str scope;        /* valid scopes; else empty */
    mcp_str metadata_url; /* `resource_metadata` */
    mcp_str algs;         /* of the DPoP challenge, separated by spaces */
} mcp__www_wants;

/* If there are challenges of both schemes, a parameter is taken from that of DPoP if `dpop` is set,
 * else from that of Bearer; a parameter that this one lacks is taken from the other. */
void mcp__www_asked(const mcp__www *www, bool dpop, mcp__www_wants *ret);

#endif
