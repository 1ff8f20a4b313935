/* tls.c: encrypts and decrypts with OpenSSL 3. It works on buffers and uses no socket.
 *
 * OpenSSL is not linked. It is loaded with the first certificate (base/library.h), because linking
 * it would cost 1.5 to 3 ms at every start, even of a server that uses only stdio. A static program
 * links it with MCP_TLS_LINK.
 *
 * TLS 1.2 and newer are accepted. For TLS 1.2, only cipher suites with forward secrecy and
 * authenticated encryption are allowed (RFC 9325, 4.2). The only protocol of ALPN is http/1.1.
 * There is no renegotiation and no compression, and session tickets do not outlive the process.
 */
#define _GNU_SOURCE
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <time.h>

#include "base/library.h"
#include "io/http_server/net.h"

#define FUNCTIONS(X)                      \
    X(TLS_server_method)                  \
    X(SSL_CTX_new)                        \
    X(SSL_CTX_free)                       \
    X(SSL_CTX_ctrl)                       \
    X(SSL_CTX_set_options)                \
    X(SSL_CTX_set_cipher_list)            \
    X(SSL_CTX_set_alpn_select_cb)         \
    X(SSL_CTX_use_certificate_chain_file) \
    X(SSL_CTX_use_PrivateKey_file)        \
    X(SSL_CTX_check_private_key)          \
    X(SSL_CTX_get0_certificate)           \
    X(X509_get0_notAfter)                 \
    X(ASN1_TIME_to_tm)                    \
    X(SSL_new)                            \
    X(SSL_free)                           \
    X(SSL_set_bio)                        \
    X(SSL_set_accept_state)               \
    X(SSL_read)                           \
    X(SSL_write)                          \
    X(SSL_shutdown)                       \
    X(SSL_get_error)                      \
    X(SSL_is_init_finished)               \
    X(BIO_new)                            \
    X(BIO_free)                           \
    X(BIO_s_mem)                          \
    X(BIO_write)                          \
    X(BIO_ctrl)                           \
    X(ERR_peek_error)                     \
    X(ERR_clear_error)                    \
    X(ERR_reason_error_string)

typedef struct functions {
    FUNCTIONS(MCP__LIBRARY_MEMBER)
} functions;

struct mcp__tls {
    const mcp_allocator *allocator;
    functions f;
    SSL_CTX *context;
};

struct mcp__tls_session {
    const mcp__tls *tls;
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
};

/* ---- loading ---------------------------------------------------------------------------------------- */

MCP__LOAD_OPENSSL(functions, FUNCTIONS, "libssl.so.3", "TLS needs OpenSSL 3")

/* ---- certificate and key ----------------------------------------------------------------------------- */

static int openssl_failed(const mcp__tls *tls, const char *what, mcp_error *error)
{
    unsigned long code = tls->f.ERR_peek_error();
    /* OpenSSL has no messages for errors of system calls. */
    const char *reason = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code))
                                                : tls->f.ERR_reason_error_string(code);

    tls->f.ERR_clear_error();
    return mcp__fail(error, MCP_EINVAL, 0, "%s: %s", what, reason ? reason : "unknown error");
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    static const char http[] = "http/1.1";

    (void)ssl;
    (void)arg;
    for (unsigned i = 0; i < in_len; i += 1u + in[i]) {
        if (in[i] != sizeof(http) - 1 || in_len - i <= in[i] ||
            memcmp(in + i + 1, http, in[i]) != 0)
            continue;
        *out = in + i + 1;
        *out_len = in[i];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int set_up(mcp__tls *tls, const char *cert, const char *key, mcp_error *error)
{
    const functions *f = &tls->f;
    SSL_CTX *context = tls->context = f->SSL_CTX_new(f->TLS_server_method());

    if (!context)
        return openssl_failed(tls, "TLS", error);
    f->SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    f->SSL_CTX_ctrl(context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    f->SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    f->SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                        SSL_OP_CIPHER_SERVER_PREFERENCE |
                                        SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (f->SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
        return openssl_failed(tls, "TLS", error);
    f->SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    if (f->SSL_CTX_use_certificate_chain_file(context, cert) != 1)
        return openssl_failed(tls, cert, error);
    if (f->SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
        f->SSL_CTX_check_private_key(context) != 1)
        return openssl_failed(tls, key, error);
    return MCP_OK;
}

int64_t mcp__tls_expiry(const mcp__tls *tls)
{
    const functions *f = &tls->f;
    const X509 *cert = f->SSL_CTX_get0_certificate(tls->context);
    struct tm at;

    if (!cert || f->ASN1_TIME_to_tm(f->X509_get0_notAfter(cert), &at) != 1)
        return 0;
    return (int64_t)timegm(&at);
}

int mcp__tls_new(const mcp_allocator *allocator, const char *cert, const char *key, mcp__tls **ret,
                 mcp_error *error)
{
    mcp__tls *tls = mcp__zalloc(allocator, sizeof(*tls));

    if (!tls)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for TLS");
    tls->allocator = allocator;
    int rc = load(&tls->f, error);
    if (rc == MCP_OK)
        rc = set_up(tls, cert, key, error);
    if (rc < 0)
        mcp__tls_free(tls);
    else
        *ret = tls;
    return rc;
}

int mcp__tls_load(mcp__tls *tls, const char *cert, const char *key, mcp_error *error)
{
    SSL_CTX *before = tls->context;

    tls->context = NULL;
    int rc = set_up(tls, cert, key, error);
    SSL_CTX *useless =
        rc < 0 ? tls->context : before; /* connections have references of their own */
    if (rc < 0)
        tls->context = before;
    if (useless)
        tls->f.SSL_CTX_free(useless);
    return rc;
}

void mcp__tls_free(mcp__tls *tls)
{
    if (!tls)
        return;
    if (tls->context)
        tls->f.SSL_CTX_free(tls->context);
    mcp__release(tls->allocator, tls);
}

/* ---- sessions ---------------------------------------------------------------------------------------- */

mcp__tls_session *mcp__tls_session_new(mcp__tls *tls)
{
    const functions *f = &tls->f;
    mcp__tls_session *s = mcp__zalloc(tls->allocator, sizeof(*s));

    if (!s)
        return NULL;
    s->tls = tls;
    s->ssl = f->SSL_new(tls->context);
    s->in = f->BIO_new(f->BIO_s_mem());
    s->out = f->BIO_new(f->BIO_s_mem());
    if (!s->ssl || !s->in || !s->out) {
        f->BIO_free(s->in);
        f->BIO_free(s->out);
        mcp__tls_session_free(s);
        return NULL;
    }
    /* An empty buffer must not mean the end of the input. */
    f->BIO_ctrl(s->in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
    f->SSL_set_bio(s->ssl, s->in, s->out);
    f->SSL_set_accept_state(s->ssl);
    return s;
}

void mcp__tls_session_free(mcp__tls_session *s)
{
    if (!s)
        return;
    if (s->ssl)
        s->tls->f.SSL_free(s->ssl);
    mcp__release(s->tls->allocator, s);
}

int mcp__tls_feed(mcp__tls_session *s, mcp_str bytes)
{
    int len = (int)bytes.len; /* at most MCP__NET_BUFFER */

    return s->tls->f.BIO_write(s->in, bytes.ptr, len) == len ? MCP_OK : MCP_ENOMEM;
}

/* Interprets a result of SSL_read() or SSL_write() that is not positive. */
static int outcome(mcp__tls_session *s, int result)
{
    int why = s->tls->f.SSL_get_error(s->ssl, result);

    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return 0;
    s->tls->f.ERR_clear_error();
    return why == SSL_ERROR_ZERO_RETURN ? MCP_ECLOSED : MCP_EPROTOCOL;
}

int mcp__tls_read(mcp__tls_session *s, char *to, size_t room)
{
    int n = s->tls->f.SSL_read(s->ssl, to, (int)MCP__MIN(room, (size_t)INT32_MAX));

    return n > 0 ? n : outcome(s, n);
}

bool mcp__tls_ready(const mcp__tls_session *s)
{
    return s->tls->f.SSL_is_init_finished(s->ssl) == 1;
}

/* Fails before the handshake is complete, when nothing can be written yet. */
int mcp__tls_write(mcp__tls_session *s, mcp_str bytes)
{
    while (bytes.len) {
        int n = s->tls->f.SSL_write(s->ssl, bytes.ptr, (int)MCP__MIN(bytes.len, (size_t)INT32_MAX));
        if (n <= 0)
            return MCP__MIN(outcome(s, n), 0);
        bytes = mcp__str_sub(bytes, (size_t)n);
    }
    return MCP_OK;
}

void mcp__tls_shutdown(mcp__tls_session *s)
{
    s->tls->f.SSL_shutdown(s->ssl);
    s->tls->f.ERR_clear_error();
}

mcp_str mcp__tls_output(mcp__tls_session *s)
{
    char *bytes = NULL;
    long len = s->tls->f.BIO_ctrl(s->out, BIO_CTRL_INFO, 0, &bytes);

    return (mcp_str){bytes, len > 0 ? (size_t)len : 0};
}

void mcp__tls_taken(mcp__tls_session *s)
{
    s->tls->f.BIO_ctrl(s->out, BIO_CTRL_RESET, 0, NULL);
}
