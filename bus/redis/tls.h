/* tls.h: TLS for links, if hiredis has it (hiredis_ssl, from hiredis 1.0 on). */
#ifndef MCP_BUS_REDIS_TLS_H
#define MCP_BUS_REDIS_TLS_H

#include <hiredis.h>

#include "address.h"

typedef struct redis_tls redis_tls;

/* Reads the certificates. Returns MCP_OK, MCP_EINVAL (a file), MCP_EUNSUPPORTED (this build has no TLS) or
 * MCP_ENOMEM, with the reason in *error. */
int redis_tls_new(const redis_address *address, redis_tls **ret, mcp_error *error);
/* NULL is allowed. */
void redis_tls_free(redis_tls *t);
/* Begins TLS on a new connection. Its server must have a certificate for the host of the address. *session
 * is valid as long as the connection. Returns false if out of memory. */
bool redis_tls_begin(const redis_tls *t, redisContext *c, const void **session);
/* Returns why the certificate of the server was not accepted, or NULL if it was. */
const char *redis_tls_refusal(const void *session);

#endif
