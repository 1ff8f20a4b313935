/* Every allocation of an OAuth client, and every timer and request of its host, fails in turn. Each
 * refusal is still answered once, nothing leaks, and without a failure everything succeeds. What is
 * traced contains no secret. */
#include "oauth_play.h"

#include "pem_keys.h"

#define BOUND "{\"access_token\":\"at-1\",\"token_type\":\"DPoP\",\"expires_in\":60}"

static const step code[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL, .answer = OK_ANSWER(AS_DCR)},
    {.url = ISSUER "/register", .answer = {.status = 201, .body = "{\"client_id\":\"c1\"}"}},
    {.url = ISSUER "/token", .answer = OK_ANSWER(BOUND)},
    {.url = NULL}};
static const step again[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL, .answer = OK_ANSWER(AS)},
    {.url = ISSUER "/token", .answer = {.status = 400, .body = ERROR("invalid_grant")}},
    {.url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};
static const step device[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL,
     .answer =
         OK_ANSWER(AS_HEAD(ISSUER) ",\"device_authorization_endpoint\":\"" ISSUER "/device\"}")},
    {.url = ISSUER "/device",
     .answer =
         OK_ANSWER("{\"device_code\":\"s3c\",\"user_code\":\"AB\",\"verification_uri\":\"" ISSUER
                   "/go\",\"expires_in\":100,\"interval\":1}")},
    {.url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};
static const step key[] = {{.url = PRM_URL, .answer = OK_ANSWER(PRM)},
                           {.url = AS_URL, .answer = OK_ANSWER(AS)},
                           {.url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(1))},
                           {.url = NULL}};
static const step enterprise[] = {
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)},
    {.url = AS_URL, .answer = OK_ANSWER(AS)},
    {.url = "https://idp.example/token",
     .answer = OK_ANSWER("{\"access_token\":\"at-0\",\"token_type\":\"N_A\",\"issued_token_type\":"
                         "\"urn:ietf:params:oauth:token-type:id-jag\"}")},
    {.url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(1))},
    {.url = NULL}};

static int give_assertion(mcp_oauth_client *client, void (*give)(void *arg, mcp_str jwt), void *arg,
                          void *user, mcp_error *error)
{
    (void)client, (void)user, (void)error;
    give(arg, MCP_STR("s3c.s3c.s3c"));
    return MCP_OK;
}

static void check_trace(mcp_oauth_client *client, const mcp_oauth_step *s, void *user)
{
    static const char *const secrets[] = {"s3c", "at-", "rt-", "the-code", "eyJ", "PRIVATE"};
    rig *r = user;
    (void)client;
    r->traced++;
    for (size_t i = 0; i < MCP__COUNT(secrets); i++) {
        if (strstr(s->text, secrets[i]) || (s->url && strstr(s->url, secrets[i])))
            fail_msg("%s is in %s %s: %s", secrets[i], s->what, s->url ? s->url : "", s->text);
    }
}

typedef struct scenario {
    mcp_oauth_client_options o;
    const step *steps;
    const char *challenge, *record;
} scenario;

/* One run, in which call `n` fails. Returns whether it was reached. */
static bool run_without(const scenario *s, size_t n)
{
    rig r = {.memory.fail_at = n, .answer = next_answer};
    play p = {.steps = s->steps};
    mcp_oauth_client_options o = s->o;
    r.user = &p;
    o.trace = check_trace;
    rig_copy(r.record, sizeof(r.record), s->record);
    int rc = open_rig(&r, o);
    if (r.memory.calls >= n) /* an option that could not be copied is not one that was not given */
        assert_int_equal(rc, MCP_ENOMEM);
    if (rc == MCP_OK)
        rc = put_rig(&r);
    if (rc == MCP_OK) {
        rc = refuse_rig(&r, 401, s->challenge, NULL);
        assert_true(rc == MCP_PENDING || rc == MCP_ENOMEM);
    }
    if (rc == MCP_PENDING) {
        run_rig(&r, 0);
        if (r.visits > r.visits_ended && r.state[0])
            (void)redirect_rig(&r, "");
        run_rig(&r, 700000);
        assert_int_equal(r.woken, 1);
        rc = r.woken_rc < 0 ? r.woken_rc : put_rig(&r);
    }
    if (rc == MCP_OK && mcp_oauth_client_logout(r.client, rig_done, &r) == MCP_OK) {
        p.steps =
            (step[]){{.url = AS_URL, .answer = {.status = 404}},
                     {.url = ISSUER "/.well-known/openid-configuration", .answer = {.status = 404}},
                     {.url = NULL}};
        p.at = 0;
        run_rig(&r, 0);
        assert_int_equal(r.done, 1);
    }
    bool reached = r.memory.calls >= n;
    if (!reached) {
        assert_int_equal(rc, MCP_OK);
        assert_true(r.traced > 4);
    }
    close_rig(&r);
    return reached;
}

#define STORED                                                                                \
    "{\"version\":1,\"grants\":[{\"issuer\":\"" ISSUER "\",\"resource\":\"" SERVER            \
    "\",\"client_id\":\"me\",\"access_token\":\"at-9\",\"refresh_token\":\"rt-9\",\"scope\":" \
    "\"a\",\"asked\":\"a\",\"token_endpoint\":\"" ISSUER "/token\"}]}"

static void test_no_memory(void **state)
{
    const scenario scenarios[] = {
        {{.client_name = "x"}, code, "DPoP resource_metadata=\"" PRM_URL "\"", NULL},
        {{.client_id = "me", .client_secret = "s3c"}, again, CHALLENGE, STORED},
        {{.client_id = "me", .grant = MCP_OAUTH_DEVICE}, device, CHALLENGE, NULL},
        {{.client_id = "me", .client_key = pem_keys[0].pem, .grant = MCP_OAUTH_CLIENT_CREDENTIALS},
         key,
         CHALLENGE,
         NULL},
        {{.grant = MCP_OAUTH_ENTERPRISE,
          .client_id = "me",
          .client_secret = "s3c",
          .idp_token_endpoint = "https://idp.example/token",
          .idp_client_id = "idp",
          .idp_client_secret = "s3c",
          .assertion = give_assertion},
         enterprise,
         CHALLENGE,
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(scenarios); i++) {
        for (size_t n = 1; run_without(&scenarios[i], n); n++)
            ;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests_name("oauth_memory", tests, NULL, NULL);
}
