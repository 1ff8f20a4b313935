/* Persons, the other grants, proofs, login and logout, locks, options of an OAuth
 * client. */
#include "oauth_play.h"

/* ---- persons --------------------------------------------------------------------------------- */

static void test_persons(void **state)
{
    static const step steps[] = {DISCOVERY, {.url = NULL}};
    rig r;
    play p;
    (void)state;
    /* declined */
    begin(&r, &p, steps, BY_HAND);
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 0);
    mcp_oauth_client_declined(r.client, MCP_EACCESS, "not today");
    run_rig(&r, 0);
    assert_int_equal(r.woken_rc, MCP_EACCESS);
    expect_text(&r, "not today");
    end(&r, &p);
    /* too late */
    begin(&r, &p, steps, BY_HAND);
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 599999);
    assert_int_equal(r.woken, 0);
    run_rig(&r, 1);
    assert_int_equal(r.woken_rc, MCP_ETIMEOUT);
    end(&r, &p);
    /* A redirect that belongs to nothing does not end the visit. */
    static const step all[] = {FIRST_TOKEN, {.url = NULL}};
    begin(&r, &p, all, BY_HAND);
    mcp_error error;
    assert_int_equal(redirect_rig(&r, ""), MCP_ESTATE);
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 0);
    assert_int_equal(
        mcp_oauth_client_redirected(r.client, MCP_STR(REDIRECT "?code=evil&state=other"), &error),
        MCP_EPARSE);
    assert_int_equal(
        mcp_oauth_client_redirected(r.client, MCP_STR("http://127.0.0.1:7/other?code=x"), &error),
        MCP_EPARSE);
    assert_int_equal(redirect_rig(&r, ""), MCP_OK);
    assert_int_equal(redirect_rig(&r, ""), MCP_ESTATE);
    run_rig(&r, 0);
    assert_int_equal(r.woken_rc, MCP_OK);
    end(&r, &p);
}

/* ---- other grants ---------------------------------------------------------------------------- */

#define AS_DEVICE                                  \
    AS_HEAD(ISSUER)                                \
    ",\"device_authorization_endpoint\":\"" ISSUER \
    "/device\",\"grant_types_supported\":[\"urn:ietf:params:oauth:grant-type:device_code\"]}"

static void test_device(void **state)
{
    static const step steps[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DEVICE)},
        {.url = ISSUER "/device",
         .has = {"client_id=me", "scope=s1"},
         .answer = OK_ANSWER(
             "{\"device_code\":\"dc\",\"user_code\":\"AB-CD\",\"verification_uri\":\"" ISSUER
             "/go\",\"expires_in\":100,\"interval\":7}")},
        {.url = ISSUER "/token",
         .has = {"device_code=dc"},
         .answer = {.status = 400, .body = ERROR("authorization_pending")}},
        {.url = ISSUER "/token",
         .has = {"device_code=dc"},
         .answer = {.status = 400, .body = ERROR("slow_down")}},
        {.url = ISSUER "/token", .answer = {.rc = MCP_ETIMEOUT}},
        {.url = ISSUER "/token", .has = {"device_code=dc"}, .answer = OK_ANSWER(TOKEN(1))},
        {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, (mcp_oauth_client_options){.client_id = "me", .grant = MCP_OAUTH_DEVICE});
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 6999);
    assert_string_equal(r.log, "visit AB-CD s1\n");
    assert_int_equal(p.at, 3);
    run_rig(&r, 1);
    assert_int_equal(p.at, 4);
    run_rig(&r, 7000);
    assert_int_equal(p.at, 5); /* slow_down: 12 s from now on */
    run_rig(&r, 11999);
    assert_int_equal(p.at, 5);
    run_rig(&r, 1);
    assert_int_equal(p.at, 6); /* a time-out: 24 s */
    run_rig(&r, 24000);
    assert_int_equal(r.woken_rc, MCP_OK);
    expect_token(&r, BEARER(1));
    end(&r, &p);
    /* The code expires. */
    static const step none[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DEVICE)},
        {.url = ISSUER "/device",
         .answer = OK_ANSWER(
             "{\"device_code\":\"dc\",\"user_code\":\"AB-CD\",\"verification_uri\":\"" ISSUER
             "/go\",\"expires_in\":1}")},
        {.url = NULL}};
    begin(&r, &p, none, (mcp_oauth_client_options){.client_id = "me", .grant = MCP_OAUTH_DEVICE});
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 10000);
    assert_int_equal(r.woken_rc, MCP_ETIMEOUT);
    end(&r, &p);
}

static int give_assertion(mcp_oauth_client *client, void (*give)(void *arg, mcp_str jwt), void *arg,
                          void *user, mcp_error *error)
{
    (void)client, (void)user, (void)error;
    give(arg, MCP_STR("a.b.c\n"));
    return MCP_OK;
}

static const step no_person_credentials[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL, .answer = OK_ANSWER(AS)},
    {.url = ISSUER "/token",
     .has = {"grant_type=client_credentials", "Basic bWU6czNj", "scope=s1", "resource="},
     .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};
static const step no_person_platform[] = {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                                          {.url = AS_URL, .answer = OK_ANSWER(AS)},
                                          {.url = ISSUER "/token",
                                           .has = {"jwt-bearer", "&assertion=a.b.c", "resource="},
                                           .lacks = "client_id",
                                           .answer = OK_ANSWER(TOKEN(1))},
                                          {.url = NULL}};
static const step enterprise[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL, .answer = OK_ANSWER(AS)},
    {.url = "https://idp.example/token",
     .has = {"subject_token=a.b.c&", "audience=https%3A%2F%2Fid.example", "client_id=idp"},
     .lacks = "s3c",
     .answer = OK_ANSWER("{\"access_token\":\"jag\",\"token_type\":\"N_A\",\"issued_token_type\":"
                         "\"urn:ietf:params:oauth:token-type:id-jag\"}")},
    {.url = ISSUER "/token",
     .has = {"assertion=jag", "Basic bWU6czNj"},
     .lacks = "a.b.c",
     .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};

static void test_no_person(void **state)
{
    const struct {
        mcp_oauth_client_options o;
        const step *steps;
        const char *extension;
    } cases[] = {
        {{.grant = MCP_OAUTH_CLIENT_CREDENTIALS, .client_id = "me", .client_secret = "s3c"},
         no_person_credentials,
         "io.modelcontextprotocol/oauth-client-credentials"},
        {{.grant = MCP_OAUTH_ASSERTION, .assertion = give_assertion}, no_person_platform, NULL},
        {{.grant = MCP_OAUTH_ENTERPRISE,
          .client_id = "me",
          .client_secret = "s3c",
          .idp_token_endpoint = "https://idp.example/token",
          .idp_client_id = "idp",
          .assertion = give_assertion},
         enterprise,
         "io.modelcontextprotocol/enterprise-managed-authorization"},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        rig r;
        play p;
        size_t n;
        begin(&r, &p, cases[i].steps, cases[i].o);
        authorize(&r, CHALLENGE, NULL, MCP_OK);
        expect_token(&r, BEARER(1));
        const char *const *ids = mcp__oauth_extensions(r.client, &n);
        assert_true(n == 1 && ids);
        if (cases[i].extension)
            assert_string_equal(ids[0], cases[i].extension);
        end(&r, &p);
    }
}

/* ---- proofs ---------------------------------------------------------------------------------- */

#define BOUND "{\"access_token\":\"at-1\",\"token_type\":\"DPoP\",\"expires_in\":60}"

static void test_proofs(void **state)
{
    static const step steps[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL,
         .answer =
             OK_ANSWER(AS_HEAD(ISSUER) PKCE ",\"dpop_signing_alg_values_supported\":[\"ES256\"]}")},
        {.url = ISSUER "/token",
         .has = {"eyJ"},
         .answer = {.status = 400, .body = ERROR("use_dpop_nonce"), .nonce = "n1"}},
        {.url = ISSUER "/token", .has = {"code=the-code", "eyJ"}, .answer = OK_ANSWER(BOUND)},
        {.url = NULL}};
    static const char ask[] = "DPoP error=\"use_dpop_nonce\"";
    rig r;
    play p;
    char first[4096];
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    authorize(&r, "DPoP resource_metadata=\"" PRM_URL "\"", "", MCP_OK);
    assert_int_equal(put_rig(&r), MCP_OK);
    memcpy(first, r.headers, sizeof(first));
    assert_non_null(strstr(first, "Authorization: DPoP at-1\nDPoP: eyJ"));
    /* A nonce is no reason to get another token, but not without end. */
    assert_int_equal(refuse_rig(&r, 401, ask, "n2"), MCP_OK);
    assert_int_equal(put_rig(&r), MCP_OK);
    assert_string_not_equal(first, r.headers);              /* a new proof for each request */
    mcp__oauth_heard(r.client, &r.sent, 200, (mcp_str){0}); /* a stream, which is opened again */
    assert_int_equal(put_rig(&r), MCP_OK);
    assert_int_equal(refuse_rig(&r, 401, ask, "n2"), MCP_OK);
    assert_int_equal(put_rig(&r), MCP_OK);
    assert_int_equal(refuse_rig(&r, 401, ask, "n3"), MCP_OK);
    assert_int_equal(put_rig(&r), MCP_OK);
    assert_true(refuse_rig(&r, 401, ask, "n4") != MCP_OK);
    mcp_oauth_client_free(r.client); /* in the middle of it */
    r.client = NULL;
    close_rig(&r);
}

/* ---- login, logout, locks -------------------------------------------------------------------- */

static void test_login(void **state)
{
    static const step steps[] = {
        {.url = SERVER, .has = {"ping"}, .answer = {.status = 401, .challenge = CHALLENGE}},
        FIRST_TOKEN,
        {.url = AS_URL,
         .answer =
             OK_ANSWER(AS_HEAD(ISSUER) PKCE ",\"revocation_endpoint\":\"" ISSUER "/revoke\"}")},
        {.url = ISSUER "/revoke", .has = {"token=rt-1"}, .answer = OK_ANSWER("")},
        {.url = ISSUER "/revoke", .has = {"token=at-1"}, .answer = OK_ANSWER("")},
        {.url = NULL}};
    rig r;
    play p;
    mcp_oauth_state s = {.size = sizeof(s)};
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    assert_int_equal(mcp_oauth_client_login(r.client, rig_done, &r), MCP_OK);
    assert_int_equal(mcp_oauth_client_login(r.client, rig_done, &r), MCP_OK);
    assert_int_equal(r.done, 0);
    run_rig(&r, 0);
    assert_int_equal(redirect_rig(&r, ""), MCP_OK);
    run_rig(&r, 0);
    assert_int_equal(r.done, 2);
    assert_int_equal(r.done_rc, MCP_OK);
    assert_int_equal(mcp_oauth_client_get_state(r.client, &s, NULL), MCP_OK);
    assert_string_equal(s.issuer, ISSUER);
    assert_string_equal(s.scope, "s1");
    assert_int_equal(s.expires, r.now + 1700000060000);
    assert_int_equal(mcp_oauth_client_logout(r.client, rig_done, &r), MCP_OK);
    run_rig(&r, 0);
    assert_int_equal(r.done, 3);
    assert_int_equal(r.done_rc, MCP_OK);
    assert_string_equal(r.record, "");
    expect_token(&r, "");
    end(&r, &p);
}

#define GRANT(issuer, id, n)                                                     \
    "{\"issuer\":\"" issuer "\",\"resource\":\"" SERVER "\",\"client_id\":\"" id \
    "\",\"refresh_token\":\"rt-" #n "\",\"token_endpoint\":\"" issuer "/token\"}"
#define AS_REVOKE(issuer) AS_HEAD(issuer) PKCE ",\"revocation_endpoint\":\"" issuer "/revoke\"}"
#define GONE              "https://gone.example"
#define OTHER             "https://other.example"

/* A logout revokes all grants, each as the client that got it, and goes on if one cannot be. */
static void test_logout_of_all(void **state)
{
    static const step steps[] = {
        {.url = AS_URL, .answer = OK_ANSWER(AS_REVOKE(ISSUER))},
        {.url = ISSUER "/revoke",
         .has = {"token=rt-1", "client_id=me"},
         .lacks = "c1-secret",
         .answer = OK_ANSWER("")},
        {.url = ISSUER "/revoke",
         .has = {"token=rt-2", "Basic YzE6YzEtc2VjcmV0"},
         .answer = OK_ANSWER("")},
        {.url = GONE "/.well-known/oauth-authorization-server", .answer = {.rc = MCP_ECLOSED}},
        {.url = OTHER "/.well-known/oauth-authorization-server",
         .answer = OK_ANSWER(AS_REVOKE(OTHER))},
        {.url = OTHER "/revoke",
         .has = {"token=rt-4", "client_id=c4"},
         .lacks = "secret",
         .answer = OK_ANSWER("")},
        {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    rig_copy(r.record, sizeof(r.record),
             "{\"version\":1,\"clients\":[{\"issuer\":\"" ISSUER
             "\",\"client_id\":\"c1\",\"client_secret\":\"c1-secret\","
             "\"method\":\"client_secret_basic\",\"token_endpoint\":\"" ISSUER
             "/token\"}],\"grants\":[" GRANT(ISSUER, "me", 1) "," GRANT(ISSUER, "c1", 2) "," GRANT(
                 GONE, "c3", 3) "," GRANT(OTHER, "c4", 4) "]}");
    assert_int_equal(mcp_oauth_client_logout(r.client, rig_done, &r), MCP_OK);
    run_rig(&r, 0);
    assert_int_equal(r.done, 1);
    assert_int_equal(r.done_rc, MCP_ECLOSED);
    expect_text(&r, GONE);
    assert_string_equal(r.record, "");
    end(&r, &p);
}

/* The lock is got later, or not at all. A logout ends an authorization. */
static void test_locks(void **state)
{
    static const step steps[] = {FIRST_TOKEN, {.url = NULL}};
    static const step none[] = {DISCOVERY, {.url = NULL}};
    rig r;
    play p;
    (void)state;
    for (int rc = MCP_OK; rc >= MCP_ETIMEOUT; rc += MCP_ETIMEOUT) {
        begin(&r, &p, steps, BY_HAND);
        r.lock_rc = MCP_PENDING;
        assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
        run_rig(&r, 0);
        assert_int_equal(redirect_rig(&r, ""), MCP_OK);
        run_rig(&r, 0);
        assert_int_equal(r.woken, 0);
        if (rc < 0)
            r.locked = 0; /* the store has given up */
        mcp_oauth_client_locked(r.client, rc);
        assert_int_equal(r.woken, 0);
        run_rig(&r, 0);
        assert_int_equal(r.woken_rc, rc);
        end(&r, &p);
    }
    begin(&r, &p, none, BY_HAND);
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 0);
    assert_int_equal(mcp_oauth_client_logout(r.client, rig_done, &r), MCP_OK);
    run_rig(&r, 0);
    assert_int_equal(r.woken_rc, MCP_ECANCELLED);
    assert_int_equal(r.done_rc, MCP_OK);
    end(&r, &p);
}

/* A lock or a redirect that comes after a logout does not continue the authorization. A logout that
 * fails does not change it. */
static void test_logout_during(void **state)
{
    static const step steps[] = {FIRST_TOKEN, {.url = NULL}};
    static const step none[] = {DISCOVERY, {.url = NULL}};
    rig r;
    play p;
    (void)state;
    for (int locks = 0; locks < 2; locks++) {
        begin(&r, &p, locks ? steps : none, BY_HAND);
        r.lock_rc = MCP_PENDING;
        assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
        run_rig(&r, 0);
        if (locks) {
            assert_int_equal(redirect_rig(&r, ""), MCP_OK);
            run_rig(&r, 0);
        }
        r.lock_rc = MCP_OK;
        assert_int_equal(mcp_oauth_client_logout(r.client, rig_done, &r), MCP_OK);
        if (locks)
            mcp_oauth_client_locked(r.client, MCP_OK);
        else
            assert_int_equal(redirect_rig(&r, ""), MCP_ESTATE);
        run_rig(&r, 0);
        assert_int_equal(r.woken_rc, MCP_ECANCELLED);
        assert_int_equal(r.done_rc, MCP_OK);
        expect_token(&r, "");
        end(&r, &p);
    }
    begin(&r, &p, steps, BY_HAND);
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 0);
    r.memory.calls = 0;
    r.memory.fail_at = 2; /* the timer */
    assert_int_equal(mcp_oauth_client_logout(r.client, rig_done, &r), MCP_ENOMEM);
    r.memory.fail_at = 0;
    assert_int_equal(redirect_rig(&r, ""), MCP_OK);
    run_rig(&r, 0);
    expect_token(&r, BEARER(1));
    end(&r, &p);
}

/* What comes during a logout is answered after it: a refused request fails, a login begins. */
static void test_during_logout(void **state)
{
    static const step steps[] = {{.url = SERVER, .answer = {.status = 401, .challenge = CHALLENGE}},
                                 FIRST_TOKEN,
                                 {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    assert_int_equal(mcp_oauth_client_logout(r.client, rig_done, &r), MCP_OK);
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    assert_int_equal(mcp_oauth_client_login(r.client, rig_done, &r), MCP_OK);
    run_rig(&r, 0);
    assert_int_equal(r.woken_rc, MCP_ECANCELLED);
    assert_int_equal(r.done, 1);
    assert_int_equal(redirect_rig(&r, ""), MCP_OK);
    run_rig(&r, 0);
    assert_int_equal(r.done, 2);
    assert_int_equal(r.done_rc, MCP_OK);
    expect_token(&r, BEARER(1));
    end(&r, &p);
}

/* A transport may leave while another one is woken. */
static void leave(void *arg, int rc, const char *text)
{
    (void)rc, (void)text;
    mcp__oauth_part(arg);
}

static void test_leaving(void **state)
{
    static const step steps[] = {DISCOVERY, {.url = NULL}};
    mcp__oauth_transport last = {.wake = leave}, first = {.wake = leave, .arg = &last};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    last.arg = &first;
    mcp__oauth_join(r.client, &first);
    mcp__oauth_join(r.client, &last);
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 0);
    mcp_oauth_client_declined(r.client, MCP_EACCESS, NULL);
    run_rig(&r, 0);
    assert_int_equal(r.woken, 1);
    mcp__oauth_part(&first);
    mcp__oauth_part(&last);
    end(&r, &p);
}

/* What a program may not pass. */
static void test_options(void **state)
{
    static const struct {
        mcp_oauth_client_options o;
        const char *text;
    } cases[] = {
        {{.server = "http://mcp.example/mcp"}, "https"},
        {{.server = "ftp://mcp.example/mcp"}, "https"},
        {{.grant = (mcp_oauth_grant)9}, "grant"},
        {{.grant = MCP_OAUTH_CLIENT_CREDENTIALS}, "client_id"},
        {{.grant = MCP_OAUTH_CLIENT_CREDENTIALS, .client_id = "x"}, "client_key"},
        {{.grant = MCP_OAUTH_ASSERTION}, "assertion"},
        {{.grant = MCP_OAUTH_ENTERPRISE, .client_id = "x"}, "idp_token_endpoint"},
        {{.issuer = "http://id.example"}, "issuer"},
        {{.client_metadata_url = "http://127.0.0.1/x"}, "client_metadata_url"},
        {{.client_key = "nonsense"}, ""},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        rig r = {0};
        assert_true(open_rig(&r, cases[i].o) < 0);
        expect_text(&r, cases[i].text);
        close_rig(&r);
    }
    assert_int_equal(mcp_oauth_client_new(NULL, NULL, NULL), MCP_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_persons),       cmocka_unit_test(test_device),
        cmocka_unit_test(test_no_person),     cmocka_unit_test(test_proofs),
        cmocka_unit_test(test_logout_of_all), cmocka_unit_test(test_login),
        cmocka_unit_test(test_locks),         cmocka_unit_test(test_logout_during),
        cmocka_unit_test(test_during_logout), cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests_name("oauth_grants", tests, NULL, NULL);
}
