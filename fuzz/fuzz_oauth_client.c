/* fuzz_oauth_client.c: untrusted data that an OAuth client receives. The first byte selects the
 * kind:
 *
 *   0 WWW-Authenticate                  1 protected resource metadata
 *   2 authorization server metadata     3 a token answer (the next byte selects what is wanted)
 *   4 a device answer                   5 the answer to a registration
 *   6 a redirect                        7 a stored record
 *   8 two URLs with a newline between   9 a private key: JWK or PEM
 */
#include <stdlib.h>

#include "auth/authorize.h"
#include "auth/prove.h"
#include "auth/record.h"
#include "auth/registration_request.h"
#include "auth/token_answer.h"
#include "auth/www.h"
#include "protocol/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const mcp_str server = {"https://mcp.example/mcp", 23};
static const mcp_str where = {"https://as.example/x", 20};

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* Every fault has a text that is printable, and an answer that is accepted has none. */
static void check_error(mcp__oauth_fault fault, const mcp_error *error)
{
    require(error->code == mcp__oauth_fault_code(fault));
    require((fault == MCP__OAUTH_OK) == (error->text[0] == '\0'));
    for (const char *c = error->text; *c; c++)
        require(*c >= ' ' && *c < 0x7F);
}

/* Returns whether a text has only printable ASCII. */
static bool is_plain(mcp_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < ' ' || text.ptr[i] >= 0x7F)
            return false;
    }
    return true;
}

/* ---- challenges ------------------------------------------------------------------------------ */

/* Writes challenges in their plainest form; reading them again gives the same. */
static void put_challenges(mcp__buf *to, const mcp__www *www)
{
    for (size_t i = 0; i < www->n; i++) {
        const mcp__www_challenge *c = &www->challenges[i];
        mcp__buf_printf(to, "%s%.*s", i ? ", " : "", (int)c->scheme.len, c->scheme.ptr);
        if (c->token68.len)
            mcp__buf_printf(to, " %.*s", (int)c->token68.len, c->token68.ptr);
        for (size_t k = c->first; k < c->first + c->n; k++) {
            const mcp__www_param *p = &www->params[k];
            mcp__buf_printf(to, "%s%.*s=\"", k > c->first ? ", " : " ", (int)p->name.len,
                            p->name.ptr);
            for (size_t m = 0; m < p->value.len; m++) {
                mcp__buf_char(to, '\\');
                mcp__buf_char(to, p->value.ptr[m]);
            }
            mcp__buf_char(to, '"');
        }
    }
}

static void run_challenges(mcp_str text)
{
    mcp__www one, two;
    mcp__www_wants wants;
    mcp__buf b, c;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    mcp__buf_init(&c, mcp__allocator(NULL), 0);
    (void)mcp__www_read(&one, text, NULL);
    mcp__www_asked(&one, true, &wants);
    require(mcp__scopes_valid(wants.scope));
    put_challenges(&b, &one);
    if (b.len <= MCP__WWW_BYTES) {
        require(mcp__www_read(&two, mcp__buf_view(&b), NULL) == MCP_OK && two.n == one.n);
        put_challenges(&c, &two);
        require(mcp_str_eq(mcp__buf_view(&b), mcp__buf_view(&c)));
        mcp__www_clear(&two);
    }
    mcp__www_clear(&one);
    mcp__buf_free(&b);
    mcp__buf_free(&c);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void run_resource(mcp_str text)
{
    mcp__protected p;
    mcp_error error;
    mcp__oauth_fault fault = mcp__protected_read(&p, text, server, where, false, NULL, &error);
    check_error(fault, &error);
    if (fault == MCP__OAUTH_OK) {
        require(p.n_issuers > 0 && mcp__resource_covers(p.resource, server));
        require(mcp__scopes_valid(mcp__buf_view(&p.scopes)));
        for (size_t i = 0; i < p.n_issuers; i++)
            require(mcp__str_same((mcp_str){p.issuers[i].ptr, 8}, MCP_STR("https://")));
    }
    mcp__protected_clear(&p);
}

static void run_issuer(mcp_str text)
{
    mcp__issuer_rules rules = {.issuer = MCP_STR("https://as.example"), .url = where};
    mcp__issuer issuer;
    mcp_error error;
    mcp__oauth_fault fault = mcp__issuer_read(&issuer, text, &rules, NULL, &error);
    check_error(fault, &error);
    if (fault == MCP__OAUTH_OK) {
        const mcp_str urls[] = {issuer.authorization, issuer.token, issuer.registration,
                                issuer.device, issuer.revocation};
        require(mcp_str_eq(issuer.issuer, rules.issuer) && issuer.token.len);
        for (size_t i = 0; i < MCP__COUNT(urls); i++)
            require(!urls[i].len || (is_plain(urls[i]) && mcp__oauth_url(urls[i], false)));
        fault = mcp__issuer_check_code(&issuer, false, &error);
        check_error(fault, &error);
        require(fault != MCP__OAUTH_OK ||
                (issuer.authorization.len && mcp__json_lists(issuer.challenges, MCP_STR("S256"))));
    }
    mcp__issuer_clear(&issuer);
}

static void run_urls(mcp_str text)
{
    const char *newline = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
    mcp_str a = {text.ptr, newline ? (size_t)(newline - text.ptr) : text.len};
    mcp_str b = newline ? mcp__str_sub(text, a.len + 1) : (mcp_str){NULL, 0};
    if (mcp__resource_covers(a, b))
        require(mcp__resource_covers(a, a) && mcp__resource_covers(b, b));
    for (size_t i = 0; i < 4; i++) {
        mcp__buf one, two;
        mcp__buf_init(&one, mcp__allocator(NULL), 0);
        mcp__buf_init(&two, mcp__allocator(NULL), 0);
        if (mcp__resource_url(&one, a, i) == MCP_OK)
            require(one.len <= a.len + 64);
        if (mcp__issuer_url(&two, a, i) == MCP_OK)
            require(two.len <= a.len + 64 && i < 3);
        mcp__buf_free(&one);
        mcp__buf_free(&two);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void run_token(mcp_str text)
{
    mcp__token_answer t;
    mcp_error error;
    if (!text.len)
        return;
    mcp__token_want want = (mcp__token_want)(text.ptr[0] & 3);
    int status = text.ptr[0] & 4 ? 400 : 200;
    mcp__oauth_fault fault =
        mcp__token_answer_read(&t, status, mcp__str_sub(text, 1), where, want, NULL, &error);
    check_error(fault, &error);
    if (fault == MCP__OAUTH_OK) {
        require(status == 200 && t.access_token.len && is_plain(t.access_token));
        require(is_plain(t.refresh_token) && mcp__scopes_valid(t.scope));
        require(t.expires_in >= -1 && t.expires_in <= MCP__ANSWER_SECONDS);
        require(!t.dpop || want == MCP__WANT_EITHER || want == MCP__WANT_DPOP);
    }
    mcp__token_answer_clear(&t);
}

static void run_device(mcp_str text)
{
    mcp__device_answer d;
    mcp_error error;
    mcp__oauth_fault fault = mcp__device_answer_read(&d, 200, text, where, false, NULL, &error);
    check_error(fault, &error);
    if (fault == MCP__OAUTH_OK) {
        require(d.device_code.len && d.user_code.len && is_plain(d.user_code));
        require(is_plain(d.url) && mcp__str_same((mcp_str){d.url.ptr, 8}, MCP_STR("https://")));
        require(d.interval > 0 && d.expires_in > 0 && d.expires_in <= MCP__DEVICE_SECONDS);
    }
    mcp__device_answer_clear(&d);
}

static void run_registered(mcp_str text)
{
    mcp__registered r;
    mcp_error error;
    mcp__oauth_fault fault = mcp__registered_read(&r, 201, text, where, NULL, &error);
    check_error(fault, &error);
    if (fault == MCP__OAUTH_OK)
        require(r.id.len && is_plain(r.id) && is_plain(r.secret) && r.secret_expires >= 0);
    mcp__registered_clear(&r);
}

/* ---- redirects, records, keys ---------------------------------------------------------------- */

static void run_redirect(mcp_str text)
{
    mcp__redirect_rules rules = {.redirect_uri = MCP_STR("http://127.0.0.1:1/cb"),
                                 .state = MCP_STR("s"),
                                 .issuer = MCP_STR("https://as.example"),
                                 .names_itself = text.len % 2};
    mcp__redirect r;
    mcp_error error;
    mcp__oauth_fault fault = mcp__redirect_read(&r, text, &rules, NULL, &error);
    check_error(fault, &error);
    require((fault == MCP__OAUTH_OK) == (r.code.len > 0));
    if (fault == MCP__OAUTH_OK || mcp__oauth_is_error(fault)) {
        require(mcp__str_starts(text, rules.redirect_uri) && mcp_str_eq(r.state, rules.state));
        require(r.issuer.ptr ? mcp_str_eq(r.issuer, rules.issuer) : !rules.names_itself);
    } else {
        require(!r.error.ptr && !r.description.ptr && !r.state.ptr);
    }
    mcp__redirect_clear(&r);
}

/* Writing a record and reading it again gives the same text. */
static void run_record(mcp_str text)
{
    mcp__record one, two;
    mcp_error error;
    mcp__oauth_fault fault = mcp__record_read(&one, text, NULL, &error);
    check_error(fault, &error);
    if (fault == MCP__OAUTH_OK) {
        const mcp__record_change none = {0};
        const mcp__record_change same = {.client = one.n_clients ? &one.clients[0] : NULL,
                                         .grant = one.n_grants ? &one.grants[0] : NULL,
                                         .pin = one.n_pins ? &one.pins[0] : NULL};
        mcp__buf b, c;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        mcp__buf_init(&c, mcp__allocator(NULL), 0);
        if (mcp__record_put(&b, &one, &same, NULL) == MCP__OAUTH_OK) {
            require(mcp__record_read(&two, mcp__buf_view(&b), NULL, NULL) == MCP__OAUTH_OK);
            require(two.n_clients <= one.n_clients && two.n_grants <= one.n_grants);
            require(mcp__record_put(&c, &two, &none, NULL) == MCP__OAUTH_OK);
            require(mcp_str_eq(mcp__buf_view(&b), mcp__buf_view(&c)));
            mcp__record_clear(&two);
        }
        mcp__buf_free(&b);
        mcp__buf_free(&c);
    }
    mcp__record_clear(&one);
}

static void run_key(mcp_str text)
{
    static mcp__crypto crypto;
    mcp__jwk *key = NULL;
    if (!crypto.EVP_sha256)
        require(mcp__crypto_load(&crypto, NULL) == MCP_OK);
    if (mcp__signing_key_read(&crypto, text, NULL, &key, NULL) == MCP_OK)
        require(key->pkey && key->can_sign && key->signature <= MCP__JWS_SIGNATURE);
    mcp__jwk_free(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[])(mcp_str text) = {
        run_challenges, run_resource, run_issuer, run_token, run_device,
        run_registered, run_redirect, run_record, run_urls,  run_key,
    };
    if (size)
        kinds[data[0] % MCP__COUNT(kinds)]((mcp_str){(const char *)data + 1, size - 1});
    return 0;
}
