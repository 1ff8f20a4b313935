/* tls.c: see tls.h.
 *
 * hiredis's own contexts check that a certificate is trusted, but not whose it is. So the context is made
 * here, with the name of the host.
 */
#define _GNU_SOURCE
#include "tls.h"

#ifdef MCP_BUS_TLS
#include <stdlib.h>

#include <hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "redis.h"

struct redis_tls {
    SSL_CTX *context;
    const char *host; /* of the address, which outlives this */
};

static int wrong(const char *what, const char *path, mcp_error *error)
{
    char why[200] = "";
    ERR_error_string_n(ERR_get_error(), why, sizeof(why));
    ERR_clear_error();
    return redis_explain(error, MCP_EINVAL, "redis: %s %.100s: %s", what, path, why);
}

static int load(redis_tls *t, const redis_address *a, mcp_error *error)
{
    SSL_CTX *c = t->context;
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) != 1)
        return MCP_EINVAL;
    int trusted = a->ca[0] ? SSL_CTX_load_verify_locations(c, a->ca, NULL)
                           : SSL_CTX_set_default_verify_paths(c);
    if (trusted != 1)
        return wrong("ca", a->ca, error);
    if (a->cert[0] && SSL_CTX_use_certificate_chain_file(c, a->cert) != 1)
        return wrong("cert", a->cert, error);
    if (a->key[0] && SSL_CTX_use_PrivateKey_file(c, a->key, SSL_FILETYPE_PEM) != 1)
        return wrong("key", a->key, error);
    return MCP_OK;
}

int redis_tls_new(const redis_address *address, redis_tls **ret, mcp_error *error)
{
    redis_tls *t = calloc(1, sizeof(*t));
    if (!t)
        return redis_explain(error, MCP_ENOMEM, "no memory for TLS");
    t->host = address->host;
    t->context = SSL_CTX_new(TLS_client_method());
    int rc = t->context ? load(t, address, error)
                        : redis_explain(error, MCP_ENOMEM, "no memory for TLS");
    if (rc == MCP_OK)
        *ret = t;
    else
        redis_tls_free(t);
    return rc;
}

void redis_tls_free(redis_tls *t)
{
    if (t)
        SSL_CTX_free(t->context);
    free(t);
}

static bool name_host(SSL *ssl, const char *host)
{
    if (redis_is_numeric(host))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

bool redis_tls_begin(const redis_tls *t, redisContext *c, const void **session)
{
    SSL *ssl = SSL_new(t->context);
    if (ssl && name_host(ssl, t->host) && redisInitiateSSL(c, ssl) == REDIS_OK) {
        *session = ssl; /* hiredis frees it */
        return true;
    }
    if (ssl && !c->privctx)
        SSL_free(ssl);
    return false;
}

const char *redis_tls_refusal(const void *session)
{
    long result = SSL_get_verify_result(session);
    return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}
#else
int redis_tls_new(const redis_address *address, redis_tls **ret, mcp_error *error)
{
    (void)address, (void)ret;
    return redis_explain(error, MCP_EUNSUPPORTED,
                         "redis: this build has no TLS, which hiredis has from version 1.0 on "
                         "(Debian 13)");
}

void redis_tls_free(redis_tls *t)
{
    (void)t;
}

bool redis_tls_begin(const redis_tls *t, redisContext *c, const void **session)
{
    (void)t, (void)c, (void)session;
    return false;
}

const char *redis_tls_refusal(const void *session)
{
    (void)session;
    return NULL;
}
#endif
