/* Random events and random answers of a server and of two authorization servers, some of them
 * hostile, compared with a model that knows only what was sent and answered. Whatever happens:
 *
 *   a refresh token, and a secret from a registration, goes only to the token endpoint with which it
 *   was first used, and nothing that one issuer gave goes to an endpoint of another;
 *   a code is sent only after a redirect with the right issuer and state, once, to the token endpoint
 *   of the metadata that were read for it;
 *   every refusal is answered once, after a limited number of requests;
 *   locks and visits end.
 */
#include "oauth_rig.h"

#include "base/base.h"

enum { RUNS = 60, EVENTS = 120, ISSUERS = 2, MOST_REQUESTS = 40 };

#define PRM_PREFIX "https://mcp.example/.well-known/oauth-protected-resource"

typedef struct model {
    rig r;
    uint32_t seed;
    char document[2048];     /* the last answer */
    int number;              /* of the last code, token or client */
    int issuer;              /* of the last metadata that are right; -1 if there are none */
    bool names_itself;       /* whether these say that redirects name the issuer */
    char endpoint[96];       /* the token endpoint in them */
    char first[ISSUERS][96]; /* the endpoint of the issuer when the client registered there */
    bool has_token[ISSUERS]; /* a token of the issuer was saved */
    char code[32];           /* may be sent, once; empty if none may */
    size_t requests;         /* since the last refusal */
    int pending;             /* refusals without an answer: 0 or 1 */
} model;

static const char *const issuers[ISSUERS] = {"https://a.example", "https://b.example"};

static uint32_t pick(model *m, uint32_t n)
{
    m->seed = m->seed * 1664525u + 1013904223u;
    return (m->seed >> 8) % n;
}

static rig_answer answer_with(model *m, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->document, sizeof(m->document), format, args);
    va_end(args);
    return (rig_answer){.status = status, .body = m->document};
}

/* ---- answers --------------------------------------------------------------------------------- */

static rig_answer bad_answer(model *m)
{
    switch (pick(m, 4)) {
    case 0: return (rig_answer){.rc = MCP_ECLOSED};
    case 1: return (rig_answer){.status = 404, .body = ""};
    case 2: return (rig_answer){.status = 200, .body = "<html>"};
    default: return (rig_answer){.status = 500, .body = "{\"error\":\"server_error\"}"};
    }
}

static rig_answer answer_resource(model *m)
{
    const char *resource = pick(m, 10) ? SERVER : "https://mcp.example.evil/mcp";
    uint32_t first = pick(m, ISSUERS);
    if (!pick(m, 5))
        return bad_answer(m);
    return answer_with(m, 200, "{\"resource\":\"%s\",\"authorization_servers\":[\"%s\",\"%s\"]}",
                       resource, issuers[first], issuers[pick(m, ISSUERS)]);
}

static rig_answer answer_issuer(model *m, int issuer)
{
    const char *self = pick(m, 8) ? issuers[issuer] : issuers[1 - issuer];
    const char *tokens = pick(m, 8) ? issuers[issuer] : "https://evil.example";
    bool pkce = pick(m, 10) != 0;
    if (!pick(m, 5))
        return bad_answer(m);
    m->issuer = -1;
    if (strcmp(self, issuers[issuer]) == 0) {
        m->issuer = issuer;
        m->names_itself = pick(m, 2);
        snprintf(m->endpoint, sizeof(m->endpoint), "%s/token", tokens);
    }
    return answer_with(
        m, 200,
        "{\"issuer\":\"%s\",\"authorization_endpoint\":\"%s/authorize\",\"token_endpoint\":"
        "\"%s/token\",\"registration_endpoint\":\"%s/register\",\"response_types_supported\":"
        "[\"code\"],\"authorization_response_iss_parameter_supported\":%s%s}",
        self, issuers[issuer], tokens, issuers[issuer],
        m->issuer >= 0 && m->names_itself ? "true" : "false",
        pkce ? ",\"code_challenge_methods_supported\":[\"S256\"]" : "");
}

static rig_answer answer_register(model *m, int issuer)
{
    if (!pick(m, 5))
        return bad_answer(m);
    m->number++;
    rig_copy(m->first[issuer], sizeof(m->first[0]), m->endpoint);
    return answer_with(m, 201,
                       "{\"client_id\":\"cid%d-%d\",\"client_secret\":\"sec%d-%d\","
                       "\"token_endpoint_auth_method\":\"client_secret_post\"}",
                       issuer, m->number, issuer, m->number);
}

/* Returns the value of a member of a form, whose values need no decoding here, or "". */
static const char *member(const struct mcp_fetch *f, const char *name, char *room, size_t size)
{
    char key[64];
    snprintf(key, sizeof(key), "&%s=", name);
    const char *at =
        strncmp(f->form, key + 1, strlen(key) - 1) == 0 ? f->form - 1 : strstr(f->form, key);
    snprintf(room, size, "%.*s", at ? (int)strcspn(at + strlen(key), "&") : 0,
             at ? at + strlen(key) : "");
    return room;
}

/* Checks that something that issuer `name[3]` gave goes to the endpoint where it may go. */
static void check_owner(model *m, const struct mcp_fetch *f, const char *value, size_t digit)
{
    if (!*value)
        return;
    int owner = value[digit] - '0';
    if (owner != m->issuer)
        fail_msg("%s was sent to %s", value, f->url);
    if (m->first[owner][0] && strcmp(m->first[owner], f->url) != 0)
        fail_msg("%s was sent to %s, and not to %s", value, f->url, m->first[owner]);
}

static void check_token_request(model *m, const struct mcp_fetch *f)
{
    char code[64], refresh[64], id[64], secret[64];
    member(f, "code", code, sizeof(code));
    assert_int_not_equal(m->issuer, -1);
    if (strcmp(f->url, m->endpoint) != 0)
        fail_msg("%s is not the token endpoint %s", f->url, m->endpoint);
    if (*code && strcmp(code, m->code) != 0)
        fail_msg("the code %s was sent, and not %s", code, m->code);
    if (*code)
        m->code[0] = 0;
    check_owner(m, f, member(f, "refresh_token", refresh, sizeof(refresh)), 2);
    check_owner(m, f, member(f, "client_id", id, sizeof(id)), 3);
    check_owner(m, f, member(f, "client_secret", secret, sizeof(secret)), 3);
    assert_true(*code || *refresh);
}

static rig_answer answer_token(model *m, const struct mcp_fetch *f)
{
    static const char *const errors[] = {"invalid_grant", "invalid_client", "access_denied",
                                         "unauthorized_client"};
    check_token_request(m, f);
    if (!pick(m, 4))
        return answer_with(m, 400, "{\"error\":\"%s\"}", errors[pick(m, 4)]);
    if (!pick(m, 8))
        return bad_answer(m);
    m->number++;
    m->has_token[m->issuer] = true;
    return answer_with(
        m, 200, "{\"access_token\":\"at%d-%d\",\"token_type\":\"Bearer\"%s\"rt%d-%d\"}", m->issuer,
        m->number, pick(m, 4) ? ",\"refresh_token\":" : ",\"id_token\":", m->issuer, m->number);
}

/* The page for a person, asked for without one: a redirect, the page, or an unknown client. */
static rig_answer answer_page(model *m)
{
    switch (pick(m, 4)) {
    case 0: return (rig_answer){.status = 400, .body = "{\"error\":\"invalid_client\"}"};
    case 1: return (rig_answer){.status = 200, .body = "<html>"};
    case 2: return bad_answer(m);
    default: return (rig_answer){.rc = MCP_EACCESS};
    }
}

static rig_answer answer(rig *r, const struct mcp_fetch *f)
{
    model *m = (model *)r; /* the rig is its first member */
    if (++m->requests > MOST_REQUESTS)
        fail_msg("too many requests");
    if (strncmp(f->url, PRM_PREFIX, strlen(PRM_PREFIX)) == 0)
        return answer_resource(m);
    if (strstr(f->url, "/token"))
        return answer_token(m, f);
    for (int i = 0; i < ISSUERS; i++) {
        if (strncmp(f->url, issuers[i], strlen(issuers[i])) != 0)
            continue;
        if (strstr(f->url, "/authorize?"))
            return answer_page(m);
        return strstr(f->url, "/register") ? answer_register(m, i) : answer_issuer(m, i);
    }
    fail_msg("an unexpected request to %s", f->url);
    return (rig_answer){0};
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_visiting(const model *m)
{
    return m->r.visits > m->r.visits_ended;
}

static void refuse(model *m)
{
    static const char *const challenges[] = {
        "Bearer", "Bearer scope=\"s1\"",
        "Bearer resource_metadata=\"" PRM_PREFIX "/mcp\", scope=\"s1 s2\"", "Basic realm=x"};
    bool more = !pick(m, 4);
    if (m->pending)
        return;
    assert_int_equal(put_rig(&m->r), MCP_OK);
    int rc = more ? refuse_rig(&m->r, 403,
                               pick(m, 2) ? "Bearer error=\"insufficient_scope\", scope=\"s3\""
                                          : "Bearer error=\"insufficient_scope\", scope=\"s4 s5\"",
                               NULL)
                  : refuse_rig(&m->r, 401, challenges[pick(m, 4)], NULL);
    m->pending = rc == MCP_PENDING;
    m->requests = 0;
    m->r.woken = 0;
}

/* The browser comes back, perhaps from somewhere else. */
static void redirect(model *m)
{
    char url[512];
    uint32_t kind = pick(m, 5);
    bool right_state = pick(m, 5) != 0;
    if (!is_visiting(m))
        return;
    const char *iss = kind == 0   ? "https://evil.example"
                      : kind == 1 ? issuers[1 - m->issuer]
                                  : issuers[m->issuer];
    bool named = kind < 3;
    m->number++;
    snprintf(url, sizeof(url), REDIRECT "?code=code-%d&state=%s%s%s%s", m->number,
             right_state ? m->r.state : "other", named ? "&iss=" : "", named ? iss : "",
             pick(m, 20) ? "" : "&code=twice");
    bool good = right_state && (named ? kind == 2 : !m->names_itself) && !strstr(url, "twice");
    if (good)
        snprintf(m->code, sizeof(m->code), "code-%d", m->number);
    (void)mcp_oauth_client_redirected(m->r.client, mcp_str_from(url), NULL);
    run_rig(&m->r, 0);
    m->code[0] = 0;
}

/* Ends an authorization, whose request then fails, and removes the record. */
static void logout(model *m)
{
    m->r.done = 0;
    assert_int_equal(mcp_oauth_client_logout(m->r.client, rig_done, &m->r), MCP_OK);
    run_rig(&m->r, 0);
    assert_int_equal(m->r.done, 1);
    assert_string_equal(m->r.record, "");
    assert_true(m->r.woken >= m->pending);
    m->pending = m->r.woken = 0;
}

static void step(model *m)
{
    switch (pick(m, 8)) {
    case 0:
    case 1:
    case 2: refuse(m); break;
    case 3:
    case 4: redirect(m); break;
    case 5:
        if (!m->pending)
            mcp__oauth_heard(m->r.client, &m->r.sent, 200, (mcp_str){0});
        break;
    case 6:
        if (!pick(m, 3))
            mcp_oauth_client_declined(m->r.client, MCP_EACCESS, NULL);
        else if (!pick(m, 6))
            logout(m);
        break;
    default: run_rig(&m->r, pick(m, 20) ? 1000 : 700000); break;
    }
    run_rig(&m->r, 0);
    if (!is_visiting(m)) {
        assert_int_equal(m->r.woken, m->pending);
        assert_int_equal(m->r.locked, 0);
        m->pending = m->r.woken = 0;
    }
}

static void test_random(void **state)
{
    int reached = 0;
    (void)state;
    for (uint32_t run = 0; run < RUNS; run++) {
        model m = {.seed = run * 7919 + 1, .issuer = -1, .r.answer = answer};
        assert_int_equal(open_rig(&m.r, (mcp_oauth_client_options){.client_name = "x"}), MCP_OK);
        for (int i = 0; i < EVENTS; i++)
            step(&m);
        reached += m.has_token[0] && m.has_token[1];
        run_rig(&m.r, 1000000);
        assert_int_equal(m.r.visits, m.r.visits_ended);
        close_rig(&m.r);
    }
    assert_true(reached > RUNS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests_name("oauth_random", tests, NULL, NULL);
}
