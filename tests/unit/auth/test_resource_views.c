/* Views of a resource server: which audiences are accepted in which view, also when a token was good or refused
 * elsewhere on the same connection; proofs; metadata; views that are set again, also while a token is checked. */
#include "resource_play.h"

#define MCP "https://mcp.example/mcp"

static mcp__rs_recent kept;

static int set_views(mcp_resource_server *rs)
{
    static const char *const audience = MCP "/ops";
    static const char *const audiences[] = {"app", MCP "/app"};
    const mcp_auth_view views[] = {
        {.size = sizeof(*views), .name = "team"},
        {.size = sizeof(*views),
         .name = "ops",
         .resource = MCP "/ops",
         .audiences = &audience,
         .n_audiences = 1},
        {.size = sizeof(*views), .name = "app", .audiences = audiences, .n_audiences = 2},
    };
    return mcp_resource_server_set_views(rs, views, MCP__COUNT(views), NULL);
}

static int make(const mcp_allocator *a, const mcp_auth_host *h, mcp_resource_server **ret)
{
    static const char *const resource = MCP, *const me = "me";
    const mcp_auth_issuer issuers[] = {
        {.size = sizeof(*issuers),
         .issuer = "https://as.example",
         .audiences = &resource,
         .n_audiences = 1},
        {.size = sizeof(*issuers),
         .issuer = "https://b.example",
         .audiences = &me,
         .n_audiences = 1,
         .introspection_url = "https://b.example/introspect",
         .client_id = "i",
         .client_secret = "s"},
    };
    char *key = public_part(key_p256);
    snprintf(jwks, sizeof(jwks), "{\"keys\":[%s]}", key);
    free(key);
    later_s = 0;
    return mcp_resource_server_new(MCP_OPTIONS(mcp_resource_server_options, .resource = MCP,
                                               .issuers = issuers, .n_issuers = 2, .host = h,
                                               .required_scopes = "a", .failures_burst = UINT32_MAX,
                                               .allocator = a),
                                   ret, NULL);
}

static mcp_resource_server *begin(void)
{
    mcp_resource_server *rs = NULL;
    assert_int_equal(make(NULL, &host, &rs), MCP_OK);
    assert_int_equal(set_views(rs), MCP_OK);
    recent = &kept;
    return rs;
}

static void end(mcp_resource_server *rs)
{
    mcp__rs_recent_clear(&kept, recent_allocator);
    mcp_resource_server_free(rs);
    recent = NULL;
    in_view = NULL;
}

/* A token whose claim aud is this JSON text. */
static char *token_for(const char *aud, const char *more, const char *scheme)
{
    char payload[512];
    mcp__jwk *key = key_for(key_p256, MCP__JWK_SIGN);
    snprintf(payload, sizeof(payload),
             "{\"iss\":\"https://as.example\",\"aud\":%s,\"sub\":\"alice\",\"exp\":%d,"
             "\"scope\":\"a\"%s}",
             aud, NOW + 60, more);
    char *token = sign_text(key, "\"typ\":\"at+jwt\",\"kid\":\"p256\"", payload);
    char *header = header_of(scheme, token);
    mcp__jwk_free(key);
    free(token);
    return header;
}

static void enter(const mcp_resource_server *rs, const char *view)
{
    in_view = mcp__rs_view_find(rs, mcp_str_from(view));
}

/* As an endpoint does: with what is remembered of the connection, else by a question. */
static int status_of(mcp_resource_server *rs, const char *view, const char *header)
{
    enter(rs, view);
    if (mcp__rs_recall(rs, &kept, in_view, mcp_str_from(header)))
        return 0;
    return ask(rs, header, NULL).status;
}

/* ---- audiences ------------------------------------------------------------------------------- */

/* "other" was not set, and is as no view. */
static const char *const places[] = {"", "team", "ops", "app", "other"};

static const struct {
    const char *aud, *opaque;
    bool good[MCP__COUNT(places)];
} tokens[] = {
    {"\"" MCP "\"", NULL, {true, true, false, false, true}},
    {"\"" MCP "/team\"", NULL, {false, true, false, false, false}},
    {"\"" MCP "/ops\"", NULL, {false, false, true, false, false}},
    {"\"app\"", NULL, {false, false, false, true, false}},
    {"[\"" MCP "\",\"" MCP "/ops\"]", NULL, {true, true, true, false, true}},
    {"\"" MCP "/other\"", NULL, {false, false, false, false, false}},
    {"\"" MCP "/\"", NULL, {false, false, false, false, false}},
    /* of an issuer whose audience is not the resource, so that of a view is not either */
    {NULL, "Bearer opaque", {true, true, false, false, true}},
};

static void test_audiences(void **state)
{
    (void)state;
    mcp_resource_server *rs = begin();
    for (size_t t = 0; t < MCP__COUNT(tokens); t++) {
        char *header =
            tokens[t].aud ? token_for(tokens[t].aud, "", "Bearer") : header_of("Bearer", "opaque");
        for (size_t i = 0; i < 2 * MCP__COUNT(places) * MCP__COUNT(places); i++) {
            size_t from = i / 2 % MCP__COUNT(places), to = i / 2 / MCP__COUNT(places);
            if (i % 2)
                mcp_resource_server_forget(rs);
            /* remembered by the connection, and by the cache, for one place; then asked at another */
            for (int n = 0; n < 5; n++) {
                size_t at = n < 3 ? from : to;
                int status = status_of(rs, places[at], header);
                int wanted = tokens[t].good[at] ? 0 : 401;
                /* the answer of the introspection endpoint has no scope */
                if (tokens[t].opaque && !wanted)
                    wanted = 403;
                if (status != wanted)
                    fail_msg("token %zu, from %s to %s, request %d: %d", t, places[from],
                             places[to], n, status);
            }
        }
        free(header);
    }
    end(rs);
}

/* A proof is for the URL of the view. */
static void test_proofs(void **state)
{
    (void)state;
    mcp_resource_server *rs = begin();
    mcp__jwk *client = key_for(key_ed25519, MCP__JWK_SIGN);
    char cnf[128];
    snprintf(cnf, sizeof(cnf), ",\"cnf\":{\"jkt\":\"%.*s\"}", MCP__SHA256_TEXT, client->thumbprint);
    char *bound = token_for("\"" MCP "\"", cnf, "DPoP"), *proof = make_proof(bound);
    enter(rs, "team");
    assert_int_equal(ask(rs, bound, proof).status, 401); /* it is for /mcp */
    enter(rs, "");
    assert_int_equal(ask(rs, bound, proof).status, 0);
    mcp__jwk_free(client);
    free(bound);
    free(proof);
    end(rs);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void test_metadata(void **state)
{
    (void)state;
    static const char well_known[] = "/.well-known/oauth-protected-resource";
    static const struct {
        const char *after, *view, *resource;
    } rows[] = {
        {"", NULL, "\"resource\":\"" MCP "\""},
        {"/mcp", NULL, "\"resource\":\"" MCP "\""},
        {"/mcp/team", "team", "\"resource\":\"" MCP "/team\""},
        {"/mcp/ops", "ops", "\"resource\":\"" MCP "/ops\""},
        {"/mcp/other", NULL, NULL},
        {"/mcp/", NULL, NULL},
        {"/mcp/team/", NULL, NULL},
        {"/team", NULL, NULL},
    };
    mcp_resource_server *rs = begin();
    char path[100], challenge[200];
    const char *view;
    for (size_t i = 0; i < MCP__COUNT(rows); i++) {
        snprintf(path, sizeof(path), "%s%s", well_known, rows[i].after);
        const char *text = mcp__rs_metadata_at(rs, mcp_str_from(path), &view);
        assert_true(!text == !rows[i].resource && (!text || strstr(text, rows[i].resource)));
        assert_string_equal(view ? view : "", rows[i].view ? rows[i].view : "");
    }
    assert_null(mcp__rs_metadata_at(rs, MCP_STR("/mcp/team"), &view));
    for (size_t i = 0; i < 2; i++) {
        enter(rs, i ? "team" : "");
        outcome o = ask(rs, "", NULL);
        snprintf(challenge, sizeof(challenge), "resource_metadata=\"https://mcp.example%s/mcp%s\"",
                 well_known, i ? "/team" : "");
        assert_non_null(strstr(o.challenge, challenge));
    }
    end(rs);
}

/* ---- setting --------------------------------------------------------------------------------- */

static void test_set(void **state)
{
    (void)state;
    static const char *const none = "";
    const mcp_auth_view wrong[] = {
        {.size = sizeof(*wrong)},
        {.size = sizeof(*wrong), .name = "a/b"},
        {.size = sizeof(*wrong), .name = "team", .resource = "ftp://mcp.example/mcp/team"},
        {.size = sizeof(*wrong), .name = "team", .resource = MCP "/team#"},
        {.size = sizeof(*wrong), .name = "team", .audiences = &none, .n_audiences = 1},
        {.size = sizeof(*wrong), .name = "team", .audiences = &none},
    };
    const mcp_auth_view twice[] = {{.size = sizeof(*twice), .name = "a"},
                                   {.size = sizeof(*twice), .name = "a"}};
    mcp_error error;
    mcp_resource_server *rs = begin();
    for (size_t i = 0; i < MCP__COUNT(wrong); i++) {
        assert_int_equal(mcp_resource_server_set_views(rs, &wrong[i], 1, &error), MCP_EINVAL);
        assert_true(*error.text);
    }
    assert_int_equal(mcp_resource_server_set_views(rs, twice, 2, &error), MCP_EINVAL);
    assert_int_equal(mcp_resource_server_set_views(NULL, NULL, 0, &error), MCP_EINVAL);
    enter(rs, "ops");
    assert_non_null(in_view); /* those before are still there */

    /* What was good for a view has to be checked again when it was set again. */
    char *header = token_for("\"" MCP "/team\"", "", "Bearer");
    for (int i = 0; i < 2; i++)
        assert_int_equal(status_of(rs, "team", header), 0);
    const mcp_auth_view other = {.size = sizeof(other), .name = "team", .resource = MCP "/x"};
    assert_int_equal(mcp_resource_server_set_views(rs, &other, 1, &error), MCP_OK);
    assert_int_equal(status_of(rs, "team", header), 401);
    assert_int_equal(set_views(rs), MCP_OK);
    assert_int_equal(status_of(rs, "team", header), 0);
    assert_int_equal(mcp_resource_server_set_views(rs, NULL, 0, &error), MCP_OK);
    assert_int_equal(status_of(rs, "team", header), 401);
    free(header);
    end(rs);
}

/* The views are set again while a token is checked for one of them. */
static void test_set_meanwhile(void **state)
{
    (void)state;
    mcp_auth_host threads = host;
    mcp_resource_server *rs = NULL;
    outcome o = {0};
    threads.work = host_work;
    assert_int_equal(make(NULL, &threads, &rs), MCP_OK);
    assert_int_equal(set_views(rs), MCP_OK);
    char *header = token_for("\"" MCP "/ops\"", "", "Bearer");
    enter(rs, "ops");
    mcp__rs_question question = {.authorization = mcp_str_from(header),
                                 .method = "GET",
                                 .view = in_view,
                                 .answer = on_answer,
                                 .user = &o};
    assert_non_null(mcp__rs_ask(rs, &question));
    in_view = NULL;
    for (int i = 0; i < 2; i++) { /* the metadata and the keys */
        answer_fetches();
        end_first(true);
    }
    assert_int_equal(mcp_resource_server_set_views(rs, NULL, 0, NULL), MCP_OK);
    assert_int_equal(queued, 1);
    end_first(true);
    assert_int_equal(o.answers, 1);
    assert_int_equal(o.status, 0); /* it was sent when it was good */
    free(header);
    end(rs);
}

static void test_no_memory(void **state)
{
    (void)state;
    char *header = token_for("\"" MCP "/ops\"", "", "Bearer");
    bool done = false;
    for (size_t n = 1; !done; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_resource_server *rs = NULL;
        int rc = make(&a, &host, &rs);
        if (rc == MCP_OK && (rc = set_views(rs)) != MCP_OK) {
            assert_int_equal(rs->n_views, 0);
            assert_int_equal(set_views(rs), MCP_OK);
        }
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        if (rs) {
            enter(rs, "ops");
            int status = ask(rs, header, NULL).status;
            assert_true(status == 0 || (status == 503 && f.calls >= n));
            in_view = NULL;
            mcp_resource_server_free(rs);
        }
        assert_int_equal(f.live, 0);
        done = f.calls < n;
    }
    free(header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_audiences),     cmocka_unit_test(test_proofs),
        cmocka_unit_test(test_metadata),      cmocka_unit_test(test_set),
        cmocka_unit_test(test_set_meanwhile), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
