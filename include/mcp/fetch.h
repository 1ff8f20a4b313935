/* mcp/fetch.h: an HTTP request for a document, and its outcome. Part of libmcp-io. Such requests
 * are sent by mcp_loop_fetch() (mcp/io.h), or by a function of the program (mcp_auth_host.fetch).
 */
#ifndef MCP_FETCH_H
#define MCP_FETCH_H

#include <mcp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A GET, for resources with https:// URIs, which a client may read directly (2026-07-28,
 * server/resources, "Common URI Schemes"), or a POST of a form or of JSON. Such URIs are untrusted: unless
 * allow_private is set, no request is sent to this machine or to private networks, whatever address
 * a name resolves to. */
typedef struct mcp_fetch mcp_fetch;

typedef struct mcp_fetched {
    size_t size;            /* set by the library */
    int status;             /* the HTTP status */
    const char *media_type; /* from Content-Type, without parameters; empty if none */
    mcp_str body;
    /* The header Cache-Control; several are joined by ", ". Empty if there is none, or if it is
     * longer than 1 KiB. */
    mcp_str cache_control;
    mcp_str dpop_nonce;       /* the header DPoP-Nonce (RFC 9449); empty if none or invalid */
    mcp_str www_authenticate; /* the header WWW-Authenticate; several are joined by ", " */
} mcp_fetched;

/* The outcome. rc is MCP_OK for any HTTP status. Otherwise fetched is NULL, and rc is MCP_ECLOSED
 * (the server was not reached, or the answer broke off), MCP_ETIMEOUT, MCP_ELIMIT (longer than
 * max_bytes), MCP_EACCESS (a forbidden address, certificate or redirect), MCP_EPROTOCOL,
 * MCP_ECANCELLED or MCP_ENOMEM. Everything is borrowed until the function returns. */
typedef void mcp_fetch_fn(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user);

typedef struct mcp_fetch_options {
    size_t size;
    const char *url;     /* http or https; required; copied */
    const char *accept;  /* value of the Accept header; NULL accepts anything */
    size_t max_bytes;    /* of the body, decompressed; default 16 MiB */
    uint64_t timeout_ms; /* for the whole fetch; default 60,000 */
    bool allow_private;  /* allow this machine and private networks */
    bool no_redirect;    /* do not follow redirects; a redirect ends the fetch with MCP_EACCESS */
    const char *proxy;   /* NULL means no proxy; a proxy resolves names itself */
    const char *ca_file;
    mcp_fetch_fn *done; /* required; called once, not from within the call that begins the fetch */
    void *user;
    /* The body of a POST, of the type application/x-www-form-urlencoded; copied. NULL means a
     * GET. */
    const char *form;
    /* The value of the header Authorization; copied. A request with a form or with this header may
     * contain secrets, so no redirect is followed; a redirect ends the fetch with MCP_EACCESS. */
    const char *authorization;
    /* The body of a POST, of the type application/json; copied. At most one of `form` and `json` may
     * be set. For redirects, the rule of `form` applies. */
    const char *json;
    const char *dpop; /* the value of the header DPoP (RFC 9449); copied */
    bool same_origin; /* follow redirects only to the origin of `url`; another one: MCP_EACCESS */
    bool reserved[7]; /* always false */
    /* The value of the header MCP-Protocol-Version; copied. For authorization servers of 2025-03-26. */
    const char *protocol_version;
    /* The path of a Unix socket to which the request is sent instead of the host of `url`; valid until
     * `done` is called. NULL means none. */
    const char *unix_socket;
} mcp_fetch_options;

#ifdef __cplusplus
}
#endif
#endif
