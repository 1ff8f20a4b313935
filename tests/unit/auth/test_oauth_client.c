/* The code flow of an OAuth client: what it refuses, discovery, registration, refresh, step-up. */
#include "oauth_play.h"

/* ---- one authorization each ------------------------------------------------------------------ */

/* What is refused, and at which request it stops. */
static void test_stops(void **state)
{
    static const struct {
        const char *redirect;
        step steps[5];
        int rc;
        const char *text;
    } cases[] = {
        {"", {{.url = PRM_URL, .answer = {.status = 404}}}, MCP_ENOTFOUND, PRM_URL},
        {"",
         {{.url = PRM_URL,
           .answer = OK_ANSWER("{\"resource\":\"https://evil.example/mcp\","
                               "\"authorization_servers\":[\"" ISSUER "\"]}")}},
         MCP_EACCESS,
         "another resource"},
        {"", {{.url = PRM_URL, .answer = {.rc = MCP_ECLOSED}}}, MCP_ECLOSED, "no connection"},
        {"",
         {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
          {.url = AS_URL, .answer = OK_ANSWER(AS_HEAD("https://other.example") PKCE "}")}},
         MCP_EACCESS,
         "trusted-issuer"},
        {"",
         {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
          {.url = AS_URL, .answer = OK_ANSWER(AS_HEAD(ISSUER) "}")}},
         MCP_EACCESS,
         "assume-pkce"},
        {"&iss=https%3A%2F%2Fother.example",
         {{.url = PRM_URL, .answer = OK_ANSWER(PRM)}, {.url = AS_URL, .answer = OK_ANSWER(AS)}},
         MCP_EACCESS,
         "another issuer"},
        {"&iss=" ISSUER "/",
         {{.url = PRM_URL, .answer = OK_ANSWER(PRM)}, {.url = AS_URL, .answer = OK_ANSWER(AS)}},
         MCP_EACCESS,
         "another issuer"},
        {"",
         {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
          {.url = AS_URL,
           .answer = OK_ANSWER(AS_HEAD(ISSUER) PKCE
                               ",\"authorization_response_iss_parameter_supported\":true}")}},
         MCP_EACCESS,
         "does not name its issuer"},
        {"",
         {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
          {.url = AS_URL, .answer = OK_ANSWER(AS)},
          {.url = ISSUER "/token", .answer = {.status = 403, .body = "Forbidden"}}},
         MCP_EREMOTE,
         "Forbidden"},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        rig r;
        play p;
        begin(&r, &p, cases[i].steps, BY_HAND);
        authorize(&r, CHALLENGE, cases[i].redirect, cases[i].rc);
        expect_text(&r, cases[i].text);
        expect_token(&r, "");
        end(&r, &p);
    }
}

static const step code_plain[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL, .answer = OK_ANSWER(AS)},
    {.url = ISSUER "/token",
     .has = {"code=the-code", "resource=https%3A%2F%2Fmcp.example%2Fmcp",
             "code_verifier=", "client_id=me"},
     .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};
static const step code_omitted[] = {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                                    {.url = AS_URL, .answer = OK_ANSWER(AS_HEAD(ISSUER) "}")},
                                    {.url = ISSUER "/token",
                                     .has = {"code=the-code"},
                                     .lacks = "resource=",
                                     .answer = OK_ANSWER(TOKEN(1))},
                                    {.url = NULL}};
static const step secret[] = {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                              {.url = AS_URL, .answer = OK_ANSWER(AS)},
                              {.url = ISSUER "/token",
                               .has = {"code=the-code", "Basic bWU6czNj"},
                               .lacks = "client_secret",
                               .answer = OK_ANSWER(TOKEN(1))},
                              {.url = NULL}};
static const step document[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL,
     .answer = OK_ANSWER(AS_HEAD(ISSUER) PKCE ",\"client_id_metadata_document_supported\":true}")},
    {.url = ISSUER "/token",
     .has = {"client_id=https%3A%2F%2Fapp.example%2Fclient.json"},
     .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};
static const step code_dynamic[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
    {.url = ISSUER "/register",
     .has = {"\"application_type\":\"native\"", "refresh_token", REDIRECT},
     .answer = {.status = 201, .body = "{\"client_id\":\"dyn\"}"}},
    {.url = ISSUER "/token", .has = {"client_id=dyn"}, .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};

/* The code flow, with the options that change it. */
static void test_code(void **state)
{
    static const struct {
        mcp_oauth_client_options o;
        const step *steps;
    } cases[] = {
        {{.client_id = "me"}, code_plain},
        {{.client_id = "me", .omit_resource = true, .assume_pkce = true}, code_omitted},
        {{.client_id = "me", .client_secret = "s3c"}, secret},
        {{.client_metadata_url = "https://app.example/client.json"}, document},
        {{.client_metadata_url = "https://app.example/client.json"}, code_dynamic},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        rig r;
        play p;
        begin(&r, &p, cases[i].steps, cases[i].o);
        authorize(&r, CHALLENGE, "", MCP_OK);
        expect_token(&r, BEARER(1));
        assert_non_null(strstr(r.log, "visit " ISSUER " s1\n"));
        assert_non_null(strstr(r.record, "rt-1"));
        end(&r, &p);
    }
}

/* The metadata of the server are looked for in their order, and the scopes come from them. */
static void test_discovery(void **state)
{
    static const step steps[] = {
        {.url = PRM_URL, .answer = {.status = 404}},
        {.url = PRM_ROOT_URL,
         .answer =
             OK_ANSWER("{\"resource\":\"https://mcp.example\",\"authorization_servers\":[\"" ISSUER
                       "/t\"],\"scopes_supported\":[\"a\",\"b\"]}")},
        {.url = ISSUER "/.well-known/oauth-authorization-server/t", .answer = {.status = 404}},
        {.url = ISSUER "/.well-known/openid-configuration/t",
         .answer = {.status = 200, .body = "<html>"}},
        {.url = ISSUER "/t/.well-known/openid-configuration",
         .answer =
             OK_ANSWER(AS_HEAD(ISSUER "/t") PKCE ",\"scopes_supported\":[\"offline_access\"]}")},
        {.url = ISSUER "/t/token",
         .has = {"resource=https%3A%2F%2Fmcp.example&"},
         .answer = OK_ANSWER(TOKEN(1))},
        {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    authorize(&r, "Bearer", "", MCP_OK);
    assert_non_null(strstr(r.log, "visit " ISSUER "/t a b offline_access\n"));
    end(&r, &p);
}

/* Of several authorization servers, the first does not answer, has no metadata, or other ones. */
static void test_several_issuers(void **state)
{
#define BOTH                                                                                    \
    {                                                                                           \
        .url = PRM_URL,                                                                         \
        .answer = OK_ANSWER("{\"resource\":\"" SERVER "\",\"authorization_servers\":[\"" ISSUER \
                            "\",\"https://b.example\"]}")                                       \
    }
    static const step dead[] = {
        BOTH, {.url = AS_URL, .answer = {.rc = MCP_ECLOSED}}, {.url = NULL}};
    static const step none[] = {
        BOTH,
        {.url = AS_URL, .answer = {.status = 404}},
        {.url = ISSUER "/.well-known/openid-configuration", .answer = {.status = 404}},
        {.url = NULL}};
    static const step other[] = {
        BOTH,
        {.url = AS_URL, .answer = OK_ANSWER(AS_HEAD("https://c.example") "}")},
        {.url = NULL}};
    static const step only[] = {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                                {.url = AS_URL, .answer = {.rc = MCP_ECLOSED}},
                                {.url = NULL}};
    static const struct {
        const step *steps;
        const char *issuer;
        bool advised;
    } cases[] = {
        {dead, NULL, true},    {none, NULL, true},  {other, NULL, true},
        {dead, ISSUER, false}, {only, NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        rig r;
        play p;
        begin(&r, &p, cases[i].steps,
              (mcp_oauth_client_options){.client_id = "me", .issuer = cases[i].issuer});
        assert_int_equal(put_rig(&r), MCP_OK);
        assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
        run_rig(&r, 0);
        assert_true(r.woken_rc < 0);
        assert_int_equal(strstr(r.text, "; the option issuer chooses another authorization server, "
                                        "such as https://b.example") != NULL,
                         cases[i].advised);
        assert_null(r.log[0] ? strstr(r.log, "visit") : NULL);
        end(&r, &p);
    }
}

/* ---- a token that is refused ----------------------------------------------------------------- */

/* The other process saves a token while this one waits for the lock. */
static void replace_record(rig *r, size_t at)
{
    char *token;
    if (at == 4 && (token = strstr(r->record, "at-1")) != NULL)
        token[3] = '7';
}

static void test_refresh(void **state)
{
    static const step renewed[] = {FIRST_TOKEN,
                                   DISCOVERY,
                                   {.url = ISSUER "/token",
                                    .has = {"grant_type=refresh_token", "refresh_token=rt-1",
                                            "resource=https%3A%2F%2Fmcp.example%2Fmcp"},
                                    .answer = OK_ANSWER(TOKEN(2))},
                                   {.url = NULL}};
    static const step by_other[] = {FIRST_TOKEN, DISCOVERY, {.url = NULL}};
    static const step refused[] = {
        FIRST_TOKEN,
        DISCOVERY,
        {.url = ISSUER "/token",
         .has = {"refresh_token=rt-1"},
         .answer = {.status = 400, .body = ERROR("invalid_grant")}},
        {.url = ISSUER "/token", .has = {"code=the-code"}, .answer = OK_ANSWER(TOKEN(2))},
        {.url = NULL}};
    static const step away[] = {
        FIRST_TOKEN,
        DISCOVERY,
        {.url = ISSUER "/token", .has = {"refresh_token=rt-1"}, .answer = {.rc = MCP_ETIMEOUT}},
        {.url = NULL}};
    static const step moved[] = {
        FIRST_TOKEN,
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL,
         .answer = OK_ANSWER("{\"issuer\":\"" ISSUER "\",\"authorization_endpoint\":\"" ISSUER
                             "/a\",\"token_endpoint\":\"https://evil.example/token\"" PKCE "}")},
        {.url = NULL}};
    static const struct {
        const step *steps;
        int rc;
        const char *token, *record, *text;
        void (*during)(rig *r, size_t at);
    } cases[] = {
        {renewed, MCP_OK, BEARER(2), "rt-2", "", NULL},
        {by_other, MCP_OK, BEARER(7), "rt-1", "", replace_record},
        {refused, MCP_OK, BEARER(2), "rt-2", "", NULL},
        {away, MCP_ETIMEOUT, BEARER(1), "rt-1", "no connection", NULL},
        {moved, MCP_ESTATE, BEARER(1), "rt-1", "log out first", NULL},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        rig r;
        play p;
        begin(&r, &p, cases[i].steps, BY_HAND);
        authorize(&r, CHALLENGE, "", MCP_OK);
        accept(&r);
        p.during = cases[i].during;
        authorize(&r, CHALLENGE, "", cases[i].rc);
        expect_text(&r, cases[i].text);
        expect_token(&r, cases[i].token);
        assert_non_null(strstr(r.record, cases[i].record));
        end(&r, &p);
    }
}

/* A token that was renewed and is refused at once is not renewed again, and a request that was sent
 * with an older token is only sent again. */
static void test_refused_again(void **state)
{
    static const step steps[] = {
        FIRST_TOKEN,
        DISCOVERY,
        {.url = ISSUER "/token", .has = {"refresh_token=rt-1"}, .answer = OK_ANSWER(TOKEN(2))},
        DISCOVERY,
        {.url = ISSUER "/token", .has = {"code=the-code"}, .answer = OK_ANSWER(TOKEN(3))},
        {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    authorize(&r, CHALLENGE, "", MCP_OK);
    accept(&r);
    authorize(&r, CHALLENGE, "", MCP_OK);
    r.sent.generation = 1;
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_OK);
    authorize(&r, CHALLENGE, "", MCP_OK);
    expect_token(&r, BEARER(3));
    end(&r, &p);
}

/* After the move to another authorization server, nothing of the old one is sent to the new one. */
static void test_migration(void **state)
{
    static const step steps[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
        {.url = ISSUER "/register", .answer = {.status = 201, .body = "{\"client_id\":\"c1\"}"}},
        {.url = ISSUER "/token", .has = {"client_id=c1"}, .answer = OK_ANSWER(TOKEN(1))},
        {.url = PRM_URL,
         .answer = OK_ANSWER("{\"resource\":\"" SERVER
                             "\",\"authorization_servers\":[\"https://new.example\"]}")},
        {.url = "https://new.example/.well-known/oauth-authorization-server",
         .answer = OK_ANSWER(AS_HEAD("https://new.example") PKCE
                             ",\"registration_endpoint\":\"https://new.example/r\"}")},
        {.url = "https://new.example/r",
         .lacks = "c1",
         .answer = {.status = 201, .body = "{\"client_id\":\"c2\"}"}},
        {.url = "https://new.example/token",
         .has = {"client_id=c2", "code=the-code"},
         .lacks = "rt-1",
         .answer = OK_ANSWER(TOKEN(2))},
        {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, (mcp_oauth_client_options){.client_name = "x"});
    authorize(&r, CHALLENGE, "", MCP_OK);
    accept(&r);
    authorize(&r, CHALLENGE, "", MCP_OK);
    expect_token(&r, BEARER(2));
    end(&r, &p);
    /* A client id that was set belongs to the first issuer. */
    static const step by_hand[] = {
        FIRST_TOKEN,
        {.url = PRM_URL,
         .answer = OK_ANSWER("{\"resource\":\"" SERVER
                             "\",\"authorization_servers\":[\"https://new.example\"]}")},
        {.url = "https://new.example/.well-known/oauth-authorization-server",
         .answer = OK_ANSWER(AS_HEAD("https://new.example") PKCE "}")},
        {.url = NULL}};
    begin(&r, &p, by_hand, BY_HAND);
    authorize(&r, CHALLENGE, "", MCP_OK);
    accept(&r);
    authorize(&r, CHALLENGE, "", MCP_ESTATE);
    expect_text(&r, "client-id was used with " ISSUER);
    end(&r, &p);
}

/* ---- more scopes ----------------------------------------------------------------------------- */

#define MORE(scope) "Bearer error=\"insufficient_scope\", scope=\"" scope "\""

static void test_step_up(void **state)
{
    static const step steps[] = {
        FIRST_TOKEN,
        DISCOVERY,
        {.url = ISSUER "/token", .has = {"code=the-code"}, .answer = OK_ANSWER(TOKEN(2))},
        {.url = NULL}};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    authorize(&r, CHALLENGE, "", MCP_OK);
    expect_token(&r, BEARER(1));
    assert_int_equal(refuse_rig(&r, 403, "Bearer", NULL), MCP_EUNSUPPORTED);
    assert_int_equal(refuse_rig(&r, 403, MORE("s1"), NULL), MCP_EACCESS);
    expect_text(&r, "insufficient_scope");
    r.log[0] = 0;
    assert_int_equal(refuse_rig(&r, 403, MORE("s2"), NULL), MCP_PENDING);
    assert_int_equal(refuse_rig(&r, 403, MORE("s2"), NULL), MCP_PENDING); /* the same flow */
    run_rig(&r, 0);
    assert_int_equal(redirect_rig(&r, ""), MCP_OK);
    run_rig(&r, 0);
    assert_string_equal(r.log, "visit " ISSUER " s1 s2\n");
    assert_int_equal(r.woken, 2);
    expect_token(&r, BEARER(2));
    assert_int_equal(refuse_rig(&r, 403, MORE("s2"), NULL), MCP_EACCESS);
    end(&r, &p);
}

/* Later commands do not name the client of the login again. They renew its token and ask for more
 * scopes as the same client, with its secret, and do not register another one. */
static void test_client_of_login(void **state)
{
#define DISCOVERY_DCR                              \
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},    \
    {                                              \
        .url = AS_URL, .answer = OK_ANSWER(AS_DCR) \
    }
#define LATER(how, who)                                                                            \
    {                                                                                              \
        DISCOVERY_DCR, {.url = ISSUER "/token", .has = {how, who}, .answer = OK_ANSWER(TOKEN(2))}, \
        {                                                                                          \
            .url = NULL                                                                            \
        }                                                                                          \
    }
    static const step first[] = {FIRST_TOKEN, {.url = NULL}};
    static const step later[2][2][4] = {
        {LATER("refresh_token=rt-1", "client_id=me"), LATER("code=the-code", "client_id=me")},
        {LATER("refresh_token=rt-1", "Basic bWU6czNj"), LATER("code=the-code", "Basic bWU6czNj")}};
    (void)state;
    for (int row = 0; row < 4; row++) {
        int has_secret = row / 2, steps_up = row % 2;
        char record[sizeof(((rig *)0)->record)];
        rig r;
        play p;
        begin(&r, &p, first,
              (mcp_oauth_client_options){.client_id = "me",
                                         .client_secret = has_secret ? "s3c" : NULL,
                                         .issuer = has_secret ? ISSUER : NULL});
        authorize(&r, CHALLENGE, "", MCP_OK);
        memcpy(record, r.record, sizeof(record));
        end(&r, &p);
        begin(&r, &p, later[has_secret][steps_up], (mcp_oauth_client_options){.client_name = "x"});
        memcpy(r.record, record, sizeof(record));
        mcp_oauth_state now = {.size = sizeof(now)};
        assert_int_equal(mcp_oauth_client_get_state(r.client, &now, NULL), MCP_OK);
        assert_string_equal(now.redirect_uri, REDIRECT);
        if (!steps_up) {
            authorize(&r, CHALLENGE, NULL, MCP_OK);
        } else {
            assert_int_equal(put_rig(&r), MCP_OK);
            assert_int_equal(refuse_rig(&r, 403, MORE("s2"), NULL), MCP_PENDING);
            run_rig(&r, 0);
            assert_int_equal(redirect_rig(&r, ""), MCP_OK);
            run_rig(&r, 0);
            assert_string_equal(r.log, "visit " ISSUER " s1 s2\n");
        }
        expect_token(&r, BEARER(2));
        assert_true((strstr(r.record, "\"client_secret\":\"s3c\"") != NULL) == has_secret);
        end(&r, &p);
    }
}

/* A secret that was stored goes only where it went when it was stored. */
static void test_secret_of_login_elsewhere(void **state)
{
    static const step first[] = {FIRST_TOKEN, {.url = NULL}};
    static const step moved[] = {
        {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
        {.url = AS_URL,
         .answer = OK_ANSWER("{\"issuer\":\"" ISSUER "\",\"authorization_endpoint\":\"" ISSUER
                             "/authorize\",\"token_endpoint\":\"" ISSUER
                             "/elsewhere\",\"code_challenge_methods_supported\":[\"S256\"]}")},
        {.url = NULL}};
    char record[sizeof(((rig *)0)->record)];
    rig r;
    play p;
    (void)state;
    begin(&r, &p, first,
          (mcp_oauth_client_options){.client_id = "me", .client_secret = "s3c", .issuer = ISSUER});
    authorize(&r, CHALLENGE, "", MCP_OK);
    memcpy(record, r.record, sizeof(record));
    end(&r, &p);
    begin(&r, &p, moved, (mcp_oauth_client_options){.client_name = "x"});
    memcpy(r.record, record, sizeof(record));
    authorize(&r, CHALLENGE, NULL, MCP_ESTATE);
    end(&r, &p);
}

/* A server that accepts no token ends the attempts. */
static void test_limit(void **state)
{
    static const step steps[] = {FIRST_TOKEN, FIRST_TOKEN, FIRST_TOKEN, {.url = NULL}};
    static const char *const wanted[] = {MORE("s2"), MORE("s3"), MORE("s4")};
    rig r;
    play p;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    authorize(&r, CHALLENGE, "", MCP_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(put_rig(&r), MCP_OK);
        assert_int_equal(refuse_rig(&r, 403, wanted[i], NULL), MCP_PENDING);
        run_rig(&r, 0);
        assert_int_equal(redirect_rig(&r, ""), MCP_OK);
        run_rig(&r, 0);
    }
    assert_int_equal(put_rig(&r), MCP_OK);
    assert_int_equal(refuse_rig(&r, 403, wanted[2], NULL), MCP_EACCESS);
    end(&r, &p);
}

/* Requests that are accepted with any token, such as pings, do not hide that no authorization helps.
 * After an hour they show that it did. */
static void test_limit_with_others(void **state)
{
    static const step steps[] = {FIRST_TOKEN,
                                 DISCOVERY,
                                 {.url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(2))},
                                 DISCOVERY,
                                 {.url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(3))},
                                 DISCOVERY,
                                 {.url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(4))},
                                 {.url = NULL}};
    static const char *const wanted[] = {MORE("s2"), MORE("s3"), MORE("s4")};
    rig r;
    play p;
    mcp__oauth_sent ping = {0}, old;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    authorize(&r, CHALLENGE, "", MCP_OK);
    for (size_t i = 0; i < 3; i++) {
        old = ping;
        assert_int_equal(put_rig(&r), MCP_OK);
        ping.generation = r.sent.generation;
        mcp__oauth_heard(r.client, &ping, 200, (mcp_str){0});
        assert_int_equal(refuse_rig(&r, 403, wanted[i], NULL), i < 2 ? MCP_PENDING : MCP_EACCESS);
        run_rig(&r, 0);
        if (i < 2)
            assert_int_equal(redirect_rig(&r, ""), MCP_OK);
        run_rig(&r, 0);
    }
    expect_text(&r, "does not accept the tokens of 3 authorizations");
    r.now += 3600000;
    mcp__oauth_heard(r.client, &old, 200, (mcp_str){0});
    assert_int_equal(refuse_rig(&r, 403, wanted[2], NULL), MCP_EACCESS);
    mcp__oauth_heard(r.client, &ping, 200, (mcp_str){0});
    authorize(&r, CHALLENGE, "", MCP_OK);
    end(&r, &p);
}

/* Requests that were sent before an authorization failed fail with it. Later ones ask again. */
static void test_late(void **state)
{
    static const step steps[] = {DISCOVERY, FIRST_TOKEN, DISCOVERY, DISCOVERY, {.url = NULL}};
    rig r;
    play p;
    mcp__oauth_sent late;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    assert_int_equal(put_rig(&r), MCP_OK);
    late = r.sent;
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 0);
    mcp_oauth_client_declined(r.client, MCP_EACCESS, "somebody said no");
    run_rig(&r, 0);
    assert_int_equal(r.woken_rc, MCP_EACCESS);
    r.sent = late;
    r.text[0] = 0;
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_EACCESS);
    expect_text(&r, "somebody said no");
    authorize(&r, CHALLENGE, "", MCP_OK);
    accept(&r);
    /* A "no" to more scopes is no answer to a token that has expired. */
    late = r.sent;
    assert_int_equal(refuse_rig(&r, 403, MORE("s2"), NULL), MCP_PENDING);
    run_rig(&r, 0);
    mcp_oauth_client_declined(r.client, MCP_EACCESS, "not that");
    run_rig(&r, 0);
    r.sent = late;
    assert_int_equal(refuse_rig(&r, 403, MORE("s2"), NULL), MCP_EACCESS);
    expect_text(&r, "not that");
    r.sent = late;
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    p.at = 7; /* the renewal is another test's matter */
    close_rig(&r);
}

/* The number of scopes is bounded. */
static void test_many_scopes(void **state)
{
    (void)state;
    for (int n = 256; n <= 257; n++) {
        char metadata[8192] = "{\"resource\":\"" SERVER "\",\"authorization_servers\":[\"" ISSUER
                              "\"],\"scopes_supported\":[\"s0\"";
        rig r;
        play p;
        for (int i = 1; i < n; i++) {
            size_t len = strlen(metadata);
            snprintf(metadata + len, sizeof(metadata) - len, ",\"s%d\"", i);
        }
        strcat(metadata, "]}");
        const step steps[] = {
            {.url = PRM_URL, .answer = OK_ANSWER(metadata)},
            {.url = AS_URL, .answer = OK_ANSWER(AS)},
            {.url = n == 256 ? ISSUER "/token" : NULL, .answer = OK_ANSWER(TOKEN(1))},
            {.url = NULL}};
        begin(&r, &p, steps, BY_HAND);
        authorize(&r, "Bearer", "", n == 256 ? MCP_OK : MCP_ELIMIT);
        expect_text(&r, n == 256 ? "" : "more than 256 scopes");
        end(&r, &p);
    }
}

/* The other process saves tokens of another token endpoint while this one waits for the lock. */
static void test_moved_meanwhile(void **state)
{
    static const step steps[] = {FIRST_TOKEN, DISCOVERY, {.url = NULL}};
    rig r;
    play p;
    char *at;
    (void)state;
    begin(&r, &p, steps, BY_HAND);
    authorize(&r, CHALLENGE, "", MCP_OK);
    accept(&r);
    r.lock_rc = MCP_PENDING;
    assert_int_equal(put_rig(&r), MCP_OK);
    assert_int_equal(refuse_rig(&r, 401, CHALLENGE, NULL), MCP_PENDING);
    run_rig(&r, 0);
    at = strstr(r.record, ISSUER "/token");
    assert_non_null(at);
    memcpy(at, "https://no", 10);
    mcp_oauth_client_locked(r.client, MCP_OK);
    run_rig(&r, 0);
    assert_int_equal(r.woken_rc, MCP_ESTATE);
    expect_text(&r, "log out first");
    end(&r, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_code),
        cmocka_unit_test(test_discovery),
        cmocka_unit_test(test_several_issuers),
        cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_refused_again),
        cmocka_unit_test(test_migration),
        cmocka_unit_test(test_step_up),
        cmocka_unit_test(test_client_of_login),
        cmocka_unit_test(test_secret_of_login_elsewhere),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_limit_with_others),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_many_scopes),
        cmocka_unit_test(test_moved_meanwhile),
    };
    return cmocka_run_group_tests_name("oauth_client", tests, NULL, NULL);
}
