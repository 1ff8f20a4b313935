/* The pure parts of an OAuth client, put together as in a login: from the challenge of a server to
 * the stored record, and a refresh from that record. Each allocation fails once. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "auth/authorize.h"
#include "auth/prove.h"
#include "auth/record.h"
#include "auth/registration_request.h"
#include "auth/token_answer.h"
#include "auth/www.h"
#include "failalloc.h"

#define SERVER   "https://mcp.example/mcp"
#define REDIRECT "http://127.0.0.1:1/cb"

static mcp__crypto crypto;
static char dpop_key[512];

/* Everything that a login makes. All members may be cleared at any time. */
typedef struct login {
    const mcp_allocator *a;
    mcp__www www;
    mcp__www_wants wants;
    mcp__protected resource;
    mcp__issuer issuer;
    mcp__registered client;
    mcp__prover prover;
    mcp__redirect redirect;
    mcp__token_answer token;
    mcp__record record;
    mcp__buf text, authorization, stored;
    mcp__auth_method method;
    mcp__pkce pkce;
    bool no_memory;
} login;

/* Returns whether a step succeeded. Only memory may fail. */
static bool ok(login *l, int code)
{
    assert_true(code == MCP_OK || code == MCP_ENOMEM);
    l->no_memory |= code != MCP_OK;
    return code == MCP_OK;
}

static bool well(login *l, mcp__oauth_fault fault)
{
    return ok(l, mcp__oauth_fault_code(fault));
}

static bool discover(login *l)
{
    static const char metadata[] =
        "{\"issuer\":\"https://as.example\",\"authorization_endpoint\":\"https://as.example/a\","
        "\"token_endpoint\":\"https://as.example/t\",\"registration_endpoint\":"
        "\"https://as.example/r\",\"code_challenge_methods_supported\":[\"S256\"],"
        "\"token_endpoint_auth_methods_supported\":[\"client_secret_basic\"],"
        "\"authorization_response_iss_parameter_supported\":true}";
    mcp_str issuer = {NULL, 0};
    mcp__issuer_rules rules = {.url = MCP_STR("https://as.example")};
    mcp__buf_reset(&l->text, 0);
    return ok(l, mcp__www_read(&l->www,
                               MCP_STR("Bearer scope=\"a b\", DPoP algs=\"ES256\", "
                                       "resource_metadata=\"https://mcp.example/x\""),
                               l->a)) &&
           (mcp__www_asked(&l->www, true, &l->wants), l->wants.dpop) &&
           ok(l, mcp__resource_url(&l->text, MCP_STR(SERVER), 0)) &&
           well(l, mcp__protected_read(
                       &l->resource,
                       MCP_STR("{\"resource\":\"" SERVER "\",\"authorization_servers\":"
                               "[\"https://as.example\"],\"scopes_supported\":[\"a\"]}"),
                       MCP_STR(SERVER), l->wants.metadata_url, false, l->a, NULL)) &&
           well(l, mcp__protected_choose(&l->resource, (mcp_str){NULL, 0}, (mcp_str){NULL, 0},
                                         &issuer, NULL)) &&
           ok(l, mcp__issuer_url(&l->text, issuer, 0)) &&
           (rules.issuer = issuer,
            well(l, mcp__issuer_read(&l->issuer, mcp_str_from(metadata), &rules, l->a, NULL))) &&
           well(l, mcp__issuer_check_code(&l->issuer, false, NULL));
}

static bool enroll(login *l)
{
    mcp__registration client = {.name = MCP_STR("test"),
                                .redirect_uri = MCP_STR(REDIRECT),
                                .scope = l->wants.scope,
                                .method = mcp__registration_method(l->issuer.methods)};
    mcp__buf_reset(&l->text, 0);
    return ok(l, mcp__registration_put(&l->text, &client)) &&
           well(l, mcp__registered_read(&l->client, 201,
                                        MCP_STR("{\"client_id\":\"id\",\"client_secret\":\"s\"}"),
                                        l->issuer.registration, l->a, NULL)) &&
           well(l, mcp__auth_method_choose(l->issuer.methods, l->client.method,
                                           l->client.secret.len > 0, false, &l->method, NULL));
}

static bool authorize(login *l)
{
    static const unsigned char random[MCP__RANDOM] = {1, 2, 3};
    mcp__redirect_rules rules = {.redirect_uri = MCP_STR(REDIRECT),
                                 .state = MCP_STR("s"),
                                 .issuer = l->issuer.issuer,
                                 .names_itself = l->issuer.names_itself};
    if (!ok(l, mcp__prover_read(&l->prover, &crypto, mcp_str_from(dpop_key), l->a, NULL)))
        return false;
    assert_true(mcp__pkce_make(&crypto, random, &l->pkce));
    mcp__authorize request = {.endpoint = l->issuer.authorization,
                              .client_id = l->client.id,
                              .redirect_uri = rules.redirect_uri,
                              .state = rules.state,
                              .challenge = mcp_str_from(l->pkce.challenge),
                              .scope = l->wants.scope,
                              .resource = l->resource.resource,
                              .dpop_jkt = {l->prover.key->thumbprint, MCP__SHA256_TEXT}};
    mcp__buf_reset(&l->text, 0);
    return ok(l, mcp__authorize_put(&l->text, &request)) &&
           well(l, mcp__redirect_read(&l->redirect,
                                      MCP_STR(REDIRECT "?code=c&state=s&iss=https://as.example"),
                                      &rules, l->a, NULL));
}

/* Sends the form in l->text, with a proof, and reads the answer. */
static bool exchange(login *l)
{
    static const unsigned char random[MCP__RANDOM_ID] = {4};
    mcp__oauth_client_id client = {
        .id = l->client.id, .method = l->method, .secret = l->client.secret};
    mcp__proof proof = {
        .method = MCP_STR("POST"), .url = l->issuer.token, .now = 1, .random = random};
    mcp__buf_reset(&l->authorization, 0);
    if (!ok(l, mcp__client_auth_put(&l->text, &l->authorization, &client)))
        return false;
    mcp__buf_reset(&l->authorization, 0);
    return ok(l, mcp__proof_put(&l->authorization, &l->prover, &proof)) &&
           well(l, mcp__token_answer_read(&l->token, 200,
                                          MCP_STR("{\"access_token\":\"at\",\"token_type\":"
                                                  "\"DPoP\",\"refresh_token\":\"rt\"}"),
                                          l->issuer.token, MCP__WANT_EITHER, l->a, NULL));
}

/* Stores the tokens in the record that is stored already, if there is one. */
static bool save(login *l)
{
    mcp__record_client client = {.issuer = l->issuer.issuer,
                                 .id = l->client.id,
                                 .secret = l->client.secret,
                                 .token_endpoint = l->issuer.token};
    mcp__record_grant grant = {.issuer = l->issuer.issuer,
                               .resource = l->resource.resource,
                               .client_id = l->client.id,
                               .access_token = l->token.access_token,
                               .refresh_token = l->token.refresh_token,
                               .dpop = l->token.dpop,
                               .dpop_key = mcp_str_from(dpop_key),
                               .token_endpoint = l->issuer.token};
    mcp__record_change change = {.client = &client, .grant = &grant};
    mcp__record_clear(&l->record);
    if (!well(l, mcp__record_read(&l->record, mcp__buf_view(&l->stored), l->a, NULL)))
        return false;
    mcp__buf_reset(&l->stored, 0);
    return well(l, mcp__record_put(&l->stored, &l->record, &change, NULL));
}

static bool refresh(login *l)
{
    mcp__record_clear(&l->record);
    mcp__token_answer_clear(&l->token);
    if (!well(l, mcp__record_read(&l->record, mcp__buf_view(&l->stored), l->a, NULL)))
        return false;
    const mcp__record_grant *grant =
        mcp__record_find_grant(&l->record, l->issuer.issuer, l->resource.resource, l->client.id);
    assert_non_null(grant);
    assert_true(mcp_str_eq(grant->dpop_key, mcp_str_from(dpop_key)));
    mcp__buf_reset(&l->text, 0);
    mcp__form_refresh(&l->text, grant->refresh_token, grant->requested, grant->resource);
    return ok(l, l->text.failed) && exchange(l) && save(l);
}

static void run(login *l)
{
    if (!discover(l) || !enroll(l) || !authorize(l))
        return;
    mcp__buf_reset(&l->text, 0);
    mcp__form_code(&l->text, l->redirect.code, MCP_STR(REDIRECT), mcp_str_from(l->pkce.verifier),
                   l->resource.resource);
    if (ok(l, l->text.failed) && exchange(l) && save(l))
        refresh(l);
}

static void clear(login *l)
{
    mcp__www_clear(&l->www);
    mcp__protected_clear(&l->resource);
    mcp__issuer_clear(&l->issuer);
    mcp__registered_clear(&l->client);
    mcp__prover_clear(&l->prover);
    mcp__redirect_clear(&l->redirect);
    mcp__token_answer_clear(&l->token);
    mcp__record_clear(&l->record);
    mcp__buf_free(&l->text);
    mcp__buf_free(&l->authorization);
    mcp__buf_free(&l->stored);
}

static void test_login(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        login l = {.a = &a};
        l.www.allocator = l.redirect.allocator = a;
        mcp__buf_init(&l.resource.scopes, &a, 0);
        mcp__buf_init(&l.prover.header, &a, 0);
        mcp__buf_init(&l.text, &a, 0);
        mcp__buf_init(&l.authorization, &a, 0);
        mcp__buf_init(&l.stored, &a, 0);
        run(&l);
        clear(&l);
        assert_int_equal(f.live, 0);
        assert_int_equal(l.no_memory, f.calls >= n);
        if (f.calls < n)
            break;
    }
}

static int set_up(void **state)
{
    mcp__buf b;
    (void)state;
    if (mcp__crypto_load(&crypto, NULL) != MCP_OK)
        return -1;
    mcp__buf_init(&b, mcp__allocator(NULL), sizeof(dpop_key) - 1);
    int rc = mcp__jwk_make(&crypto, &b);
    if (rc == MCP_OK)
        memcpy(dpop_key, b.ptr, b.len);
    mcp__buf_free(&b);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_login)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
