/* Challenges: the program's hook answers them, immediately or later. */
#define _GNU_SOURCE
#include "http_client_rig.h"

static int add_token(const char *method, const char *url, mcp_http_add_fn *add, void *arg,
                     void *user)
{
    fixture *f = user;

    assert_string_equal(url, f->url);
    assert_true(*method);
    assert_int_equal(add("Mcp-Session-Id", "x", arg), MCP_EINVAL);
    assert_int_equal(add("X", "a\r\nb", arg), MCP_EINVAL);
    return f->token[0] ? add("Authorization", f->token, arg) : MCP_OK;
}

static int on_challenge(const mcp_http_challenge *challenge, void *user)
{
    fixture *f = user;

    f->hooked++;
    assert_int_equal(challenge->attempt, f->hooked);
    assert_int_equal(challenge->status, 401);
    assert_string_equal(challenge->url, f->url);
    assert_string_equal(challenge->method, "POST");
    assert_true(mcp_str_eq(challenge->www_authenticate, MCP_STR("Bearer realm=\"x\"")));
    assert_true(mcp_str_eq(challenge->body, MCP_STR("who?")));
    if (f->hook_rc == MCP_OK)
        snprintf(f->token, sizeof(f->token), "Bearer t%d", f->hooked);
    return f->hook_rc;
}

static void want_token(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    char value[512];

    if (f->text && strcmp(script_header(r, "Authorization", value), f->text) == 0)
        script_json(c, ANSWER(1));
    else
        script_reply(c, "401 Unauthorized", "WWW-Authenticate: Bearer realm=\"x\"", "who?");
}

static const mcp_http_client_options with_hooks = {.request_headers = add_token,
                                                   .challenge = on_challenge};

static void test_challenge(void **state)
{
    static const struct {
        const char *want;
        int rc, asked;
        const char *log;
    } cases[] = {
        {"Bearer t1", MCP_OK, 1, "got 1 " ANSWER(1) "\n"},
        {"Bearer t3", MCP_OK, 3, "got 1 " ANSWER(1) "\n"},
        {NULL, MCP_OK, 4,
         "end 1 401 text=the server answered with HTTP status 401 (Unauthorized) body=who?\n"},
        {NULL, MCP_EACCESS, 1,
         "end 1 401 text=the server answered with HTTP status 401 (Unauthorized) body=who?\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_fixture(&f, want_token, with_hooks);
        f.text = cases[i].want;
        f.hook_rc = cases[i].rc;
        engine_send(&f.client, ENGINE_REQUEST(1));
        wait_for_ends(&f);
        expect(&f, cases[i].log);
        assert_int_equal(f.hooked, cases[i].asked);
        close_fixture(&f);
    }
}

static bool is_hooked(fixture *f)
{
    return f->hooked > 0;
}

static void test_challenge_later(void **state)
{
    (void)state;
    for (int good = 0; good <= 1; good++) {
        fixture f;
        open_fixture(&f, want_token, with_hooks);
        f.text = "Bearer later";
        f.hook_rc = MCP_PENDING;
        engine_send(&f.client, ENGINE_REQUEST(1));
        assert_true(run_until(&f, is_hooked));
        run_for(&f, 20);
        expect(&f, "");
        snprintf(f.token, sizeof(f.token), "Bearer later");
        mcp_http_client_authorized(f.http, good ? MCP_OK : MCP_EACCESS);
        wait_for_ends(&f);
        expect(&f, good ? "got 1 " ANSWER(1) "\n" : "end 1 401 text=access denied body=who?\n");
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_challenge),
        cmocka_unit_test(test_challenge_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
