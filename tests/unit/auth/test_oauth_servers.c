/* Servers that deviate from the specification, and the options for them; clients that registered
 * before; records of other processes. */
#include "oauth_play.h"

#include "pem_keys.h"

#define RECORD(redirect, grants)                                                             \
    "{\"version\":1,\"clients\":[{\"issuer\":\"" ISSUER                                      \
    "\",\"client_id\":\"c1\",\"redirect_uri\":\"" redirect "\",\"token_endpoint\":\"" ISSUER \
    "/token\"}],\"grants\":[" grants "]}"
#define GRANT(issuer)                                                                         \
    "{\"issuer\":\"" issuer "\",\"resource\":\"" SERVER                                       \
    "\",\"client_id\":\"c1\",\"access_token\":\"at-9\",\"refresh_token\":\"rt-9\",\"scope\":" \
    "\"a\","                                                                                  \
    "\"asked\":\"a\",\"token_endpoint\":\"" issuer "/token\"}"

static const step legacy_none[] = {
    {.url = "https://mcp.example/.well-known/oauth-authorization-server",
     .answer = {.status = 404}},
    {.url = "https://mcp.example/.well-known/openid-configuration", .answer = {.status = 404}},
    {.url = "https://mcp.example/register",
     .answer = {.status = 201, .body = "{\"client_id\":\"c1\"}"}},
    {.url = "https://mcp.example/token",
     .has = {"client_id=c1", "code_verifier="},
     .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};
static const step legacy_slash[] = {
    {.url = "https://mcp.example/.well-known/oauth-authorization-server",
     .answer = OK_ANSWER("{\"issuer\":\"https://mcp.example/\",\"authorization_endpoint\":"
                         "\"https://mcp.example/a\",\"token_endpoint\":\"https://mcp.example/t\","
                         "\"registration_endpoint\":\"https://mcp.example/r\"" PKCE "}")},
    {.url = "https://mcp.example/r", .answer = {.status = 201, .body = "{\"client_id\":\"c1\"}"}},
    {.url = "https://mcp.example/t", .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};
static const step trusted[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL,
     .answer = OK_ANSWER("{\"issuer\":\"" ISSUER "/\",\"authorization_endpoint\":\"" ISSUER
                         "/a\",\"token_endpoint\":\"" ISSUER
                         "/token\",\"registration_endpoint\":\"" ISSUER "/r\"" PKCE "}")},
    {.url = ISSUER "/r", .answer = {.status = 201, .body = "{\"client_id\":\"c1\"}"}},
    {.url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};
/* Without metadata of the server, the issuer of the options is used. */
static const step configured[] = {
    {.url = PRM_URL, .answer = {.status = 404}},
    {.url = PRM_ROOT_URL, .answer = {.status = 404}},
    {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
    {.url = ISSUER "/register", .answer = {.status = 201, .body = "{\"client_id\":\"c1\"}"}},
    {.url = ISSUER "/token",
     .has = {"resource=https%3A%2F%2Fmcp.example%2Fmcp"},
     .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};

static void test_deviations(void **state)
{
    const struct {
        mcp_oauth_client_options o;
        const step *steps;
        const char *challenge;
    } cases[] = {
        {{.legacy_endpoints = true}, legacy_none, CHALLENGE},
        {{.legacy_endpoints = true}, legacy_slash, CHALLENGE},
        {{.trusted_issuer = ISSUER "/"}, trusted, CHALLENGE},
        {{.issuer = ISSUER}, configured, "Bearer"},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        rig r;
        play p;
        begin(&r, &p, cases[i].steps, cases[i].o);
        authorize(&r, cases[i].challenge, "", MCP_OK);
        expect_token(&r, BEARER(1));
        end(&r, &p);
    }
}

/* What failed before a visit of the device flow does not end it. */
static void test_before_device(void **state)
{
    static const step steps[] = {
        {.url = PRM_URL, .answer = {.rc = MCP_EACCESS}}, /* a redirect */
        {.url = PRM_ROOT_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = {.status = 200, .body = "<html>"}},
        {.url = ISSUER "/.well-known/openid-configuration",
         .answer = OK_ANSWER(AS_HEAD(ISSUER) ",\"device_authorization_endpoint\":\"" ISSUER
                                             "/device\"}")},
        {.url = ISSUER "/token",
         .has = {"refresh_token=rt-9"},
         .answer = {.status = 400, .body = ERROR("invalid_grant")}},
        {.url = ISSUER "/device",
         .answer = OK_ANSWER("{\"device_code\":\"dc\",\"user_code\":\"AB\","
                             "\"verification_uri\":\"" ISSUER "/go\",\"expires_in\":100}")},
        {.url = ISSUER "/token", .has = {"device_code=dc"}, .answer = OK_ANSWER(TOKEN(1))},
        {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, (mcp_oauth_client_options){.client_id = "c1", .grant = MCP_OAUTH_DEVICE});
    rig_copy(r.record, sizeof(r.record), RECORD("", GRANT(ISSUER)));
    assert_int_equal(put_rig(&r), MCP_OK);
    assert_int_equal(refuse_rig(&r, 401, "Bearer", NULL), MCP_PENDING);
    run_rig(&r, 5000);
    assert_int_equal(r.woken_rc, MCP_OK);
    expect_token(&r, BEARER(1));
    end(&r, &p);
}

/* Redirects of all metadata end with the text of the last. */
static void test_redirected_metadata(void **state)
{
    static const step steps[] = {{.url = PRM_URL, .answer = {.rc = MCP_EACCESS}},
                                 {.url = PRM_ROOT_URL, .answer = {.rc = MCP_EACCESS}},
                                 {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    authorize(&r, "Bearer", NULL, MCP_EACCESS);
    expect_text(&r, PRM_ROOT_URL);
    end(&r, &p);
}

/* A key instead of a secret. */
static void test_key(void **state)
{
    static const step steps[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL,
         .answer = OK_ANSWER(
             AS_HEAD(ISSUER) ",\"token_endpoint_auth_methods_supported\":[\"private_key_jwt\"]}")},
        {.url = ISSUER "/token",
         .has = {"grant_type=client_credentials", "client_assertion=eyJ",
                 "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3A"
                 "jwt-bearer"},
         .answer = OK_ANSWER(TOKEN(1))},
        {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps,
          (mcp_oauth_client_options){.grant = MCP_OAUTH_CLIENT_CREDENTIALS,
                                     .client_id = "me",
                                     .client_key = pem_keys[0].pem});
    authorize(&r, CHALLENGE, NULL, MCP_OK);
    expect_token(&r, BEARER(1));
    end(&r, &p);
}

/* The key of a client with which a person has logged in is stored with the tokens, and a later program, which
 * does not name it, uses it to renew them and to get more scopes. It goes nowhere else. */
static void test_kept_key(void **state)
{
#define KEYED \
    AS_HEAD(ISSUER) PKCE ",\"token_endpoint_auth_methods_supported\":[\"private_key_jwt\"]}"
    static const step first[] = {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                                 {.url = AS_URL, .answer = OK_ANSWER(KEYED)},
                                 {.url = ISSUER "/token",
                                  .has = {"code=", "client_assertion=eyJ"},
                                  .answer = OK_ANSWER(TOKEN(1))},
                                 {.url = NULL}};
    static const step later[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(KEYED)},
        {.url = ISSUER "/token",
         .has = {"refresh_token=rt-1", "client_assertion=eyJ", "client_id=me"},
         .answer = {.status = 400, .body = ERROR("invalid_grant")}},
        {.url = ISSUER "/token",
         .has = {"code=", "client_assertion=eyJ", "client_id=me"},
         .answer = OK_ANSWER(TOKEN(2))},
        {.url = NULL}};
    rig r;
    play p;
    static char record[1 << 16];
    (void)state;
    begin(&r, &p, first,
          (mcp_oauth_client_options){
              .client_id = "me", .client_key = pem_keys[0].pem, .issuer = ISSUER});
    authorize(&r, CHALLENGE, "", MCP_OK);
    rig_copy(record, sizeof(record), r.record);
    end(&r, &p);
    begin(&r, &p, later, (mcp_oauth_client_options){.client_name = "x"});
    rig_copy(r.record, sizeof(r.record), record);
    authorize(&r, CHALLENGE, "", MCP_OK);
    expect_token(&r, BEARER(2));
    end(&r, &p);
}

/* ---- records --------------------------------------------------------------------------------- */

#define REGISTERED                                                                              \
    {                                                                                           \
        .url = ISSUER "/register", .answer = {.status = 201, .body = "{\"client_id\":\"c2\"}" } \
    }

/* A client that registered before is used again, but not with another redirect URI, also if only its
 * port differs, and not if a login with it was begun and never completed. If the server has removed it,
 * it registers again, once. */
static void test_registered_before(void **state)
{
    static const step again[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
        RECOGNIZED,
        {.url = ISSUER "/token", .has = {"client_id=c1"}, .answer = OK_ANSWER(TOKEN(1))},
        {.url = NULL}};
    static const step anew[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
        REGISTERED,
        {.url = ISSUER "/token", .has = {"client_id=c2"}, .answer = OK_ANSWER(TOKEN(1))},
        {.url = NULL}};
    static const struct {
        const char *record;
        const step *steps;
    } cases[] = {
        {RECORD(REDIRECT, ""), again},
        {RECORD("http://127.0.0.1:99/callback", ""), anew},
        {RECORD(REDIRECT "\",\"tried\":true,\"x\":\"", ""), anew},
        {RECORD("http://127.0.0.1:7/other", ""), anew},
        {RECORD("http://localhost:7/callback", ""), anew},
    };
    rig r;
    play p;
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        begin(&r, &p, cases[i].steps, (mcp_oauth_client_options){.client_name = "x"});
        rig_copy(r.record, sizeof(r.record), cases[i].record);
        authorize(&r, CHALLENGE, "", MCP_OK);
        expect_token(&r, BEARER(1));
        assert_null(strstr(r.record, "tried"));
        assert_int_equal(strstr(r.record, "c1") != NULL, cases[i].steps == again);
        end(&r, &p);
    }
    static const step removed[] = {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                                   {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
                                   {.url = ISSUER "/token",
                                    .has = {"refresh_token=rt-9"},
                                    .answer = {.status = 401, .body = ERROR("invalid_client")}},
                                   REGISTERED,
                                   {.url = ISSUER "/token",
                                    .has = {"client_id=c2", "code="},
                                    .answer = {.status = 401, .body = ERROR("invalid_client")}},
                                   {.url = NULL}};
    begin(&r, &p, removed, (mcp_oauth_client_options){.client_name = "x"});
    rig_copy(r.record, sizeof(r.record), RECORD(REDIRECT, GRANT(ISSUER)));
    authorize(&r, CHALLENGE, "", MCP_EACCESS);
    assert_null(strstr(r.record, "rt-9"));
    end(&r, &p);
}

static int never(mcp_oauth_client *client, const mcp_oauth_visit *visit, void *user)
{
    (void)client;
    assert_null(visit->url);
    note(user, "no visit %s %s\n", visit->issuer, visit->scope);
    return MCP_EACCESS;
}

/* A client that the authorization server does not know any more, or not with this address, which shows only in
 * what it answers instead of its page, registers again. Any other answer is left to the browser. */
static void test_recognized(void **state)
{
    static const struct {
        rig_answer page;
        bool known;
    } cases[] = {
        {{.rc = MCP_EACCESS}, true}, /* a redirect */
        {{.status = 200, .body = "<html>"}, true},
        {{.status = 400, .body = ERROR("invalid_client")}, false},
        {{.status = 401, .body = ""}, false},
        {{.status = 403, .body = "<html>"}, false},
        {{.status = 404, .body = ""}, true},
        {{.status = 405, .body = ""}, true},
        {{.status = 429, .body = ""}, true},
        {{.status = 503, .body = ""}, true},
        {{.rc = MCP_ECLOSED}, true},
        {{.rc = MCP_ELIMIT}, true},
        {{.rc = MCP_ETIMEOUT}, true},
    };
    rig r;
    play p;
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        const step known[] = {
            {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
            {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
            {.url = ISSUER "/authorize", .answer = cases[i].page},
            {.url = ISSUER "/token", .has = {"client_id=c1"}, .answer = OK_ANSWER(TOKEN(1))},
            {.url = NULL}};
        const step unknown[] = {
            {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
            {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
            {.url = ISSUER "/authorize", .answer = cases[i].page},
            REGISTERED,
            {.url = ISSUER "/token", .has = {"client_id=c2"}, .answer = OK_ANSWER(TOKEN(1))},
            {.url = NULL}};
        begin(&r, &p, cases[i].known ? known : unknown,
              (mcp_oauth_client_options){.client_name = "x"});
        rig_copy(r.record, sizeof(r.record), RECORD(REDIRECT, ""));
        authorize(&r, CHALLENGE, "", MCP_OK);
        assert_int_equal(r.visits, 1);
        expect_token(&r, BEARER(1));
        assert_int_equal(strstr(r.record, "c1") != NULL, cases[i].known);
        end(&r, &p);
    }
    /* Where nobody can register, the person sees what the page says. */
    static const step closed[] = {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                                  {.url = AS_URL, .answer = OK_ANSWER(AS)},
                                  PAGE(.status = 400),
                                  {.url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(1))},
                                  {.url = NULL}};
    begin(&r, &p, closed, (mcp_oauth_client_options){.client_name = "x"});
    rig_copy(r.record, sizeof(r.record), RECORD(REDIRECT, ""));
    authorize(&r, CHALLENGE, "", MCP_OK);
    end(&r, &p);
}

/* A registration is replaced together with the token: until then, the token before can be renewed. What
 * needs no person is done without one, and nothing is registered if the program says no. */
static void test_registers_again(void **state)
{
    static const step steps[] = {{.url = SERVER, .answer = {.status = 401, .challenge = CHALLENGE}},
                                 {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                                 {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
                                 REGISTERED,
                                 {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                                 {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
                                 {.url = ISSUER "/token",
                                  .has = {"refresh_token=rt-9", "client_id=c1"},
                                  .answer = OK_ANSWER(TOKEN(1))},
                                 {.url = NULL}};
    static const step no[] = {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                              {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
                              {.url = NULL}};
    mcp_oauth_state s = {.size = sizeof(s)};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, (mcp_oauth_client_options){.client_name = "x"});
    rig_copy(r.record, sizeof(r.record), RECORD("http://127.0.0.1:99/callback", GRANT(ISSUER)));
    assert_int_equal(mcp_oauth_client_login(r.client, rig_done, &r), MCP_OK);
    run_rig(&r, 0);
    run_rig(&r, 600000); /* nobody comes */
    assert_int_equal(r.done_rc, MCP_ETIMEOUT);
    assert_null(strstr(r.record, "c2"));
    authorize(&r, CHALLENGE, NULL, MCP_OK);
    expect_token(&r, BEARER(1));
    end(&r, &p);
    begin(&r, &p, no, (mcp_oauth_client_options){.may_visit = never});
    authorize(&r, CHALLENGE, NULL, MCP_EACCESS);
    assert_string_equal(r.log, "no visit " ISSUER " s1\n");
    assert_string_equal(r.record, "");
    end(&r, &p);
    /* The second login with a registration that has not led to a token registers again. */
    static const step twice[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
        RECOGNIZED,
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
        REGISTERED,
        {.url = ISSUER "/token", .has = {"client_id=c2"}, .answer = OK_ANSWER(TOKEN(1))},
        {.url = NULL}};
    begin(&r, &p, twice, (mcp_oauth_client_options){.client_name = "x"});
    rig_copy(r.record, sizeof(r.record), RECORD(REDIRECT, ""));
    assert_int_equal(mcp_oauth_client_get_state(r.client, &s, NULL), MCP_OK);
    assert_string_equal(s.redirect_uri, REDIRECT);
    assert_string_equal(s.client_id, "c1");
    assert_string_equal(s.issuer, ISSUER);
    assert_int_equal(s.has_token, 0);
    assert_int_equal(put_rig(&r), MCP_OK);
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 0);
    assert_int_equal(r.visits, 1);
    run_rig(&r, 600000);
    assert_non_null(strstr(r.record, "\"tried\":true"));
    assert_int_equal(r.woken_rc, MCP_ETIMEOUT);
    authorize(&r, CHALLENGE, "", MCP_OK);
    expect_token(&r, BEARER(1));
    end(&r, &p);
}

/* A stored token is used without a request, unless the options exclude it. */
static void test_stored(void **state)
{
    static const step none[] = {{.url = NULL}};
    static const struct {
        mcp_oauth_client_options o;
        const char *headers;
    } cases[] = {
        {{.client_name = "x"}, BEARER(9)}, {{.issuer = ISSUER}, BEARER(9)},
        {{.client_id = "c1"}, BEARER(9)},  {{.issuer = "https://other.example"}, ""},
        {{.client_id = "c3"}, ""},
    };
    rig r;
    play p;
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_oauth_state s = {.size = sizeof(s)};
        begin(&r, &p, none, cases[i].o);
        rig_copy(r.record, sizeof(r.record), RECORD(REDIRECT, GRANT(ISSUER)));
        expect_token(&r, cases[i].headers);
        assert_int_equal(mcp_oauth_client_get_state(r.client, &s, NULL), MCP_OK);
        assert_string_equal(s.issuer, cases[i].headers[0] ? ISSUER : "");
        assert_int_equal(s.can_refresh, cases[i].headers[0] != 0);
        end(&r, &p);
    }
    /* Never to another origin, and never if the record is malformed. */
    begin(&r, &p, none, (mcp_oauth_client_options){.client_name = "x"});
    rig_copy(r.record, sizeof(r.record), RECORD(REDIRECT, GRANT(ISSUER)));
    assert_int_equal(mcp__oauth_put(r.client, "POST", "https://mcp.example.evil/mcp", rig_add, &r,
                                    &r.sent, NULL),
                     MCP_OK);
    assert_string_equal(r.headers, "");
    end(&r, &p);
    begin(&r, &p, none, (mcp_oauth_client_options){.client_name = "x"});
    rig_copy(r.record, sizeof(r.record), "{\"version\":1,");
    assert_true(put_rig(&r) < 0);
    assert_string_equal(r.headers, "");
    end(&r, &p);
}

/* Without a person a stored token is renewed, and an authorization that needs one fails. */
static void test_alone(void **state)
{
    static const step steps[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
        {.url = ISSUER "/token", .has = {"refresh_token=rt-9"}, .answer = OK_ANSWER(TOKEN(1))},
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
        {.url = ISSUER "/token",
         .has = {"refresh_token=rt-1"},
         .answer = {.status = 400, .body = ERROR("invalid_grant")}},
        {.url = NULL}};
    rig r = {.alone = true, .answer = next_answer};
    play p = {.steps = steps};
    (void)state;
    r.user = &p;
    assert_int_equal(open_rig(&r, (mcp_oauth_client_options){.client_name = "x"}), MCP_OK);
    rig_copy(r.record, sizeof(r.record), RECORD(REDIRECT, GRANT(ISSUER)));
    authorize(&r, CHALLENGE, NULL, MCP_OK);
    expect_token(&r, BEARER(1));
    mcp__oauth_heard(r.client, &r.sent, 200, (mcp_str){0});
    authorize(&r, CHALLENGE, NULL, MCP_EACCESS);
    expect_text(&r, "no person");
    end(&r, &p);
}

/* ---- the configured secret ------------------------------------------------------------------- */

#define EVIL "https://evil.example"

static int give_jwt(mcp_oauth_client *client, void (*give)(void *arg, mcp_str jwt), void *arg,
                    void *user, mcp_error *error)
{
    (void)client, (void)user, (void)error;
    give(arg, MCP_STR("a.b.c"));
    return MCP_OK;
}

/* Without the option issuer, the first authorization server that gets the secret is the only one, even
 * if its tokens are gone. */
static void test_secret(void **state)
{
    static const step evil[] = {
        {.url = PRM_URL,
         .answer =
             OK_ANSWER("{\"resource\":\"" SERVER "\",\"authorization_servers\":[\"" EVIL "\"]}")},
        {.url = EVIL "/.well-known/oauth-authorization-server",
         .answer = OK_ANSWER(AS_HEAD(EVIL) PKCE "}")},
        {.url = NULL}};
    static const step moved[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL,
         .answer = OK_ANSWER("{\"issuer\":\"" ISSUER "\",\"token_endpoint\":\"" EVIL "/token\"}")},
        {.url = NULL}};
    static const step out[] = {{.url = AS_URL, .answer = OK_ANSWER(AS)}, {.url = NULL}};
    static const step first[] = {FIRST_TOKEN, {.url = NULL}};
    static const mcp_oauth_client_options cases[] = {
        {.grant = MCP_OAUTH_CLIENT_CREDENTIALS, .client_id = "me", .client_secret = "s3c"},
        {.grant = MCP_OAUTH_ASSERTION, .assertion = give_jwt},
        {.client_id = "me", .client_secret = "s3c"},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        rig r;
        play p;
        begin(&r, &p, first, cases[i]);
        authorize(&r, CHALLENGE, "", MCP_OK);
        expect_token(&r, BEARER(1));
        assert_non_null(strstr(r.record, "\"pins\":[{"));
        p = (play){.steps = out};
        assert_int_equal(mcp_oauth_client_logout(r.client, rig_done, &r), MCP_OK);
        run_rig(&r, 0);
        assert_int_equal(r.done_rc, MCP_OK);
        assert_null(strstr(r.record, "at-1"));
        p = (play){.steps = evil};
        authorize(&r, CHALLENGE, "", MCP_ESTATE);
        expect_text(&r, "the option issuer");
        p = (play){.steps = moved};
        authorize(&r, CHALLENGE, "", MCP_ESTATE);
        expect_text(&r, EVIL);
        p = (play){.steps = first};
        authorize(&r, CHALLENGE, "", MCP_OK);
        end(&r, &p);
    }
    /* With the option, nothing is left after a logout. */
    rig r;
    play p;
    begin(&r, &p, first,
          (mcp_oauth_client_options){
              .client_id = "me", .client_secret = "s3c", .issuer = ISSUER, .assume_pkce = true});
    authorize(&r, CHALLENGE, "", MCP_OK);
    assert_null(strstr(r.record, "pins"));
    p = (play){.steps = out};
    assert_int_equal(mcp_oauth_client_logout(r.client, rig_done, &r), MCP_OK);
    run_rig(&r, 0);
    assert_string_equal(r.record, "");
    end(&r, &p);
}

static void fail_load(rig *r, size_t at)
{
    if (at == 2)
        r->load_rc = MCP_EIO;
}

/* A token that could not be stored is used nevertheless, and its refresh token is the next one. */
static void test_store_fails(void **state)
{
    static const step steps[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
        {.url = ISSUER "/token", .has = {"refresh_token=rt-9"}, .answer = OK_ANSWER(TOKEN(1))},
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
        {.url = ISSUER "/token", .has = {"refresh_token=rt-1"}, .answer = OK_ANSWER(TOKEN(2))},
        {.url = NULL}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        rig r = {.alone = true, .answer = next_answer, .save_rc = i == 0 ? MCP_EIO : MCP_OK};
        play p = {.steps = steps, .during = i == 1 ? fail_load : NULL};
        r.user = &p;
        assert_int_equal(open_rig(&r, (mcp_oauth_client_options){.client_name = "x"}), MCP_OK);
        rig_copy(r.record, sizeof(r.record), RECORD(REDIRECT, GRANT(ISSUER)));
        authorize(&r, CHALLENGE, NULL, MCP_OK);
        expect_token(&r, BEARER(1));
        assert_null(strstr(r.record, "rt-1"));
        r.load_rc = r.save_rc = MCP_OK;
        accept(&r);
        authorize(&r, CHALLENGE, NULL, MCP_OK);
        expect_token(&r, BEARER(2));
        assert_non_null(strstr(r.record, "rt-2"));
        end(&r, &p);
    }
}

/* Neither tokens nor secrets go to endpoints on other hosts than the token endpoint. */
static void test_other_host(void **state)
{
    static const step first[] = {FIRST_TOKEN, {.url = NULL}};
    static const step out[] = {
        {.url = AS_URL,
         .answer = OK_ANSWER(AS_HEAD(ISSUER) PKCE ",\"revocation_endpoint\":\"" EVIL "/revoke\"}")},
        {.url = NULL}};
    static const step device[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL,
         .answer =
             OK_ANSWER(AS_HEAD(ISSUER) ",\"device_authorization_endpoint\":\"" EVIL "/device\"}")},
        {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, first, BY_HAND);
    authorize(&r, CHALLENGE, "", MCP_OK);
    p = (play){.steps = out};
    assert_int_equal(mcp_oauth_client_logout(r.client, rig_done, &r), MCP_OK);
    run_rig(&r, 0);
    assert_int_equal(r.done_rc, MCP_EACCESS);
    assert_string_equal(r.record, "");
    end(&r, &p);
    begin(&r, &p, device,
          (mcp_oauth_client_options){
              .client_id = "me", .client_secret = "s3c", .grant = MCP_OAUTH_DEVICE});
    authorize(&r, CHALLENGE, NULL, MCP_EACCESS);
    expect_text(&r, "no secret");
    end(&r, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deviations),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_kept_key),
        cmocka_unit_test(test_before_device),
        cmocka_unit_test(test_redirected_metadata),
        cmocka_unit_test(test_registered_before),
        cmocka_unit_test(test_recognized),
        cmocka_unit_test(test_registers_again),
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_secret),
        cmocka_unit_test(test_store_fails),
        cmocka_unit_test(test_other_host),
    };
    return cmocka_run_group_tests_name("oauth_servers", tests, NULL, NULL);
}
