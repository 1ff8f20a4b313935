/* oauth_play.h: an OAuth client, the requests that it must send, in their order, and the answers that
 * it gets. */
#ifndef MCP_TESTS_OAUTH_PLAY_H
#define MCP_TESTS_OAUTH_PLAY_H

#include "oauth_rig.h"

#include "base/base.h"

#define PRM_URL      "https://mcp.example/.well-known/oauth-protected-resource/mcp"
#define PRM_ROOT_URL "https://mcp.example/.well-known/oauth-protected-resource"
#define AS_URL       ISSUER "/.well-known/oauth-authorization-server"
#define PRM          "{\"resource\":\"" SERVER "\",\"authorization_servers\":[\"" ISSUER "\"]}"
#define AS_HEAD(issuer)                                               \
    "{\"issuer\":\"" issuer "\",\"authorization_endpoint\":\"" issuer \
    "/authorize\",\"token_endpoint\":\"" issuer "/token\",\"response_types_supported\":[\"code\"]"
#define PKCE   ",\"code_challenge_methods_supported\":[\"S256\"]"
#define AS     AS_HEAD(ISSUER) PKCE "}"
#define AS_DCR AS_HEAD(ISSUER) PKCE ",\"registration_endpoint\":\"" ISSUER "/register\"}"
#define TOKEN(n)                                                                   \
    "{\"access_token\":\"at-" #n "\",\"token_type\":\"Bearer\",\"expires_in\":60," \
    "\"refresh_token\":\"rt-" #n "\"}"
#define ERROR(code) "{\"error\":\"" code "\"}"
#define CHALLENGE   "Bearer resource_metadata=\"" PRM_URL "\", scope=\"s1\""

/* A request that is expected, and its answer. */
typedef struct step {
    const char *url;    /* without a query, any may follow */
    const char *has[4]; /* in the form, JSON or header Authorization */
    const char *lacks;  /* not in the form or JSON */
    rig_answer answer;
} step;

#define OK_ANSWER(text)               \
    {                                 \
        .status = 200, .body = (text) \
    }

typedef struct play {
    const step *steps;
    size_t at;
    void (*during)(rig *r, size_t at); /* called before the answer to step `at` */
} play;

static inline void expect_in(const struct mcp_fetch *f, const char *what)
{
    if (!strstr(f->form, what) && !strstr(f->json, what) && !strstr(f->authorization, what) &&
        !strstr(f->dpop, what))
        fail_msg("%s has no %s: %s%s %s", f->url, what, f->form, f->json, f->authorization);
}

/* The page for a person, which is asked for once before the person is, if the client has registered earlier. */
#define PAGE(...)                                             \
    {                                                         \
        .url = ISSUER "/authorize", .answer = { __VA_ARGS__ } \
    }
#define RECOGNIZED PAGE(.rc = MCP_EACCESS) /* a redirect */

static inline bool is_url(const char *wanted, const char *url)
{
    size_t len = strchr(wanted, '?') ? strlen(url) : strcspn(url, "?");
    return strlen(wanted) == len && memcmp(wanted, url, len) == 0;
}

static inline rig_answer next_answer(rig *r, const struct mcp_fetch *f)
{
    play *p = r->user;
    const step *s = &p->steps[p->at];
    if (!s->url)
        fail_msg("request %zu is not expected: %s %s", p->at + 1, f->url, f->form);
    if (!is_url(s->url, f->url))
        fail_msg("request %zu is %s instead of %s", p->at + 1, f->url, s->url);
    for (size_t i = 0; i < MCP__COUNT(s->has) && s->has[i]; i++)
        expect_in(f, s->has[i]);
    if (s->lacks && (strstr(f->form, s->lacks) || strstr(f->json, s->lacks)))
        fail_msg("%s has %s", f->url, s->lacks);
    if (p->during)
        p->during(r, p->at);
    p->at++;
    return s->answer;
}

static inline void begin(rig *r, play *p, const step *steps, mcp_oauth_client_options o)
{
    memset(r, 0, sizeof(*r));
    memset(p, 0, sizeof(*p));
    p->steps = steps;
    r->user = p;
    r->answer = next_answer;
    if (open_rig(r, o) != MCP_OK)
        fail_msg("%s", r->text);
}

static inline void end(rig *r, play *p)
{
    if (p->steps[p->at].url)
        fail_msg("%s was not requested; %s", p->steps[p->at].url, r->text);
    assert_int_equal(r->visits, r->visits_ended);
    close_rig(r);
}

/* A request that is refused with 401, and the authorization that follows, which ends with rc. */
static inline void authorize(rig *r, const char *challenge, const char *redirect, int rc)
{
    int before = r->woken;
    assert_int_equal(put_rig(r), MCP_OK);
    assert_int_equal(refuse_rig(r, 401, challenge, NULL), MCP_PENDING);
    run_rig(r, 0);
    if (redirect && r->visits > r->visits_ended)
        assert_int_equal(redirect_rig(r, redirect), MCP_OK);
    run_rig(r, 0);
    assert_int_equal(r->woken, before + 1);
    if (r->woken_rc != rc)
        fail_msg("%d instead of %d: %s", r->woken_rc, rc, r->text);
}

static inline void expect_token(rig *r, const char *headers)
{
    assert_int_equal(put_rig(r), MCP_OK);
    assert_string_equal(r->headers, headers);
}

static inline void expect_text(const rig *r, const char *what)
{
    if (!strstr(r->text, what))
        fail_msg("\"%s\" does not say %s", r->text, what);
}

#define BEARER(n) "Authorization: Bearer at-" #n "\n"
#define BY_HAND   ((mcp_oauth_client_options){.client_id = "me"})

#define FIRST_TOKEN                                                                       \
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)}, {.url = AS_URL, .answer = OK_ANSWER(AS)}, \
    {                                                                                     \
        .url = ISSUER "/token", .answer = OK_ANSWER(TOKEN(1))                             \
    }
#define DISCOVERY                               \
    {.url = PRM_URL, .answer = OK_ANSWER(PRM)}, \
    {                                           \
        .url = AS_URL, .answer = OK_ANSWER(AS)  \
    }

/* The request that was refused is sent again, and accepted. */
static inline void accept(rig *r)
{
    assert_int_equal(put_rig(r), MCP_OK);
    mcp__oauth_heard(r->client, &r->sent, 200, (mcp_str){0});
}

#endif
