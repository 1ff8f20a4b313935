/* The request state that modern peers return: for whom it is valid, for how long and with which
 * key, and the behaviour without randomness. The transcripts test the input requests themselves.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "support/fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { START = 1000 * 1000, LIFETIME = 60 * 1000 };

typedef struct world {
    int64_t clock;
    bool no_random;
    mcp_server *server;
    char sent[8192];
    char state[4096];
} world;

static int random_bytes(void *bytes, size_t len, void *user)
{
    static unsigned char next;
    world *w = user;
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)bytes)[i] = next++;
    return w->no_random ? MCP_EIO : MCP_OK;
}

static int64_t wall_clock(void *user)
{
    return ((world *)user)->clock;
}

static void open_world(world *w)
{
    *w = (world){.clock = START};
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                   .random = random_bytes, .clock = wall_clock, .user = w),
                       &w->server, NULL),
        MCP_OK);
    assert_int_equal(fixture_add_asks(w->server, NULL), MCP_OK);
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    world *w = user;
    (void)channel, (void)exchange;
    assert_true(message.len < sizeof(w->sent));
    snprintf(w->sent, sizeof(w->sent), "%.*s", (int)message.len, message.ptr);
}

/* Sends one request for the item "name" on a new channel, as over HTTP. */
static void ask_by(world *w, const char *method, const char *principal, const char *more)
{
    char text[8192];
    mcp_channel *channel = NULL;
    assert_int_equal(mcp_server_connect(w->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = w,
                                                    .principal = principal),
                                        &channel, NULL),
                     MCP_OK);
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"name\":\"name\"%s,"
             "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}",
             method, more);
    w->sent[0] = '\0';
    assert_int_equal(mcp_channel_receive(channel, 1, mcp_str_from(text), 0), MCP_OK);
    mcp_channel_free(channel);
}

/* Sends a request and stores the state of its answer, which requests input. */
static void begin_by(world *w, const char *method, const char *principal)
{
    ask_by(w, method, principal, "");
    const char *at = strstr(w->sent, "\"requestState\":\"");
    assert_non_null(at);
    at += strlen("\"requestState\":\"");
    snprintf(w->state, sizeof(w->state), "%.*s", (int)strcspn(at, "\""), at);
}

static void begin(world *w, const char *principal)
{
    begin_by(w, "tools/call", principal);
}

static bool goes_on_by(world *w, const char *method, const char *principal)
{
    char more[4096 + 128];
    snprintf(more, sizeof(more),
             ",\"inputResponses\":{\"it\":{\"action\":\"cancel\"}},\"requestState\":\"%s\"",
             w->state);
    ask_by(w, method, principal, more);
    if (strstr(w->sent, "cancel nothing"))
        return true;
    assert_non_null(strstr(w->sent, "-32602"));
    return false;
}

static bool goes_on(world *w, const char *principal)
{
    return goes_on_by(w, "tools/call", principal);
}

static void set_key(world *w, char key, char old_key)
{
    char keys[2][32];
    memset(keys[0], key, 32);
    memset(keys[1], old_key, 32);
    assert_int_equal(
        mcp_server_set_seal(w->server,
                            MCP_OPTIONS(mcp_seal_options, .key = keys[0], .key_len = 32,
                                        .old_key = old_key ? keys[1] : NULL,
                                        .old_key_len = old_key ? 32 : 0, .lifetime_ms = LIFETIME),
                            NULL),
        MCP_OK);
}

static void test_belongs_to_its_principal(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *answers;
        bool good;
    } cases[] = {{"alice", "alice", true},   {"alice", "bob", false},
                 {"alice", NULL, false},     {NULL, NULL, true},
                 {NULL, "alice", false},     {"alice", "alic", false},
                 {"alice", "alicee", false}, {NULL, "", false},
                 {"", NULL, false},          {"", "", true}};
    world w;
    open_world(&w);
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin(&w, cases[i].asked);
        assert_int_equal(goes_on(&w, cases[i].answers), cases[i].good);
    }
    mcp_server_free(w.server);
}

static int get_name(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited got;
    (void)arguments, (void)user;
    int rc = mcp_request_elicit(req, "it",
                                MCP_OPTIONS(mcp_elicit, .message = "Who?",
                                            .schema = "{\"type\":\"object\",\"properties\":{}}"),
                                &got);
    return rc == MCP_OK ? mcp_reply_text(req, "cancel nothing") : rc;
}

/* With the same principal, name and question, the state of a tool is not valid for a prompt. */
static void test_belongs_to_its_method(void **state)
{
    (void)state;
    static const char *const methods[] = {"tools/call", "prompts/get"};
    world w;
    open_world(&w);
    assert_int_equal(mcp_server_add_prompt(w.server,
                                           MCP_OPTIONS(mcp_prompt, .name = "name", .get = get_name),
                                           NULL, NULL),
                     MCP_OK);
    for (size_t i = 0; i < COUNT(methods); i++) {
        begin_by(&w, methods[i], "alice");
        assert_false(goes_on_by(&w, methods[!i], "alice"));
        assert_true(goes_on_by(&w, methods[i], "alice"));
    }
    mcp_server_free(w.server);
}

static void test_expires(void **state)
{
    (void)state;
    world w;
    open_world(&w);
    set_key(&w, 'a', 0);
    begin(&w, NULL);
    w.clock += LIFETIME;
    assert_true(goes_on(&w, NULL));
    w.clock++;
    assert_false(goes_on(&w, NULL));
    assert_non_null(strstr(w.sent, "it has expired"));
    mcp_server_free(w.server);
}

static void test_keys(void **state)
{
    (void)state;
    world w, other;
    open_world(&w);
    open_world(&other);
    set_key(&w, 'a', 0);
    begin(&w, NULL);
    set_key(&w, 'b', 'a'); /* rotated: the old key is still accepted */
    assert_true(goes_on(&w, NULL));
    set_key(&other, 'a', 0); /* another instance with the same key */
    memcpy(other.state, w.state, sizeof(w.state));
    assert_true(goes_on(&other, NULL));
    set_key(&w, 'c', 'b');
    assert_false(goes_on(&w, NULL));
    mcp_server_free(other.server);
    mcp_server_free(w.server);
}

static void test_every_bit_counts(void **state)
{
    (void)state;
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    world w;
    open_world(&w);
    begin(&w, NULL);
    size_t len = strlen(w.state);
    for (size_t i = 0; i < len; i++) {
        char was = w.state[i];
        const char *at = strchr(alphabet, was);
        w.state[i] = alphabet[((size_t)(at - alphabet) + 1) % 64];
        assert_false(goes_on(&w, NULL));
        w.state[i] = was;
    }
    for (size_t i = 0; i < len; i++) {
        char was = w.state[i];
        w.state[i] = '\0';
        assert_false(goes_on(&w, NULL));
        w.state[i] = was;
    }
    assert_true(goes_on(&w, NULL));
    mcp_server_free(w.server);
}

/* A lifetime beyond the range of the clock means forever, not the past. */
static void test_longest_lifetime(void **state)
{
    (void)state;
    static const uint64_t lifetimes[] = {UINT64_MAX, INT64_MAX};
    world w;
    open_world(&w);
    for (size_t i = 0; i < COUNT(lifetimes); i++) {
        assert_int_equal(
            mcp_server_set_seal(w.server,
                                MCP_OPTIONS(mcp_seal_options, .lifetime_ms = lifetimes[i]), NULL),
            MCP_OK);
        begin(&w, NULL);
        assert_true(goes_on(&w, NULL));
    }
    mcp_server_free(w.server);
}

static int keeps_much(mcp_request *req, const mcp_json *arguments, void *user)
{
    static const char much[6000];
    const mcp_json *roots;
    (void)arguments, (void)user;
    int rc = mcp_request_set_state(req, (mcp_str){much, sizeof(much)});
    return rc == MCP_OK ? mcp_request_roots(req, "k", &roots) : rc;
}

static void keep_sent(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange;
    memcpy(user, message.ptr, message.len);
    ((char *)user)[message.len] = '\0';
}

/* A state that would be too large for a request is not sent. */
static void test_state_fits_a_message(void **state)
{
    (void)state;
    static const struct {
        size_t max_message;
        const char *said;
    } cases[] = {{64 << 10, "requestState"}, {12 << 10, "max_message"}};
    static char sent[64 << 10];
    world w;
    open_world(&w);
    assert_int_equal(mcp_server_add_tool(w.server,
                                         MCP_OPTIONS(mcp_tool, .name = "much", .call = keeps_much),
                                         NULL, NULL),
                     MCP_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        mcp_channel *channel = NULL;
        assert_int_equal(
            mcp_server_connect(w.server,
                               MCP_OPTIONS(mcp_channel_options, .send = keep_sent, .user = sent,
                                           .max_message = cases[i].max_message),
                               &channel, NULL),
            MCP_OK);
        mcp_channel_receive(
            channel, 1,
            MCP_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                    "\"name\":\"much\",\"_meta\":{"
                    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                    "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}}}}"),
            0);
        assert_non_null(strstr(sent, cases[i].said));
        mcp_channel_free(channel);
    }
    mcp_server_free(w.server);
}

static void test_needs_keys_and_randomness(void **state)
{
    (void)state;
    world w;
    mcp_error error = {0};
    open_world(&w);
    assert_int_equal(
        mcp_server_set_seal(w.server, MCP_OPTIONS(mcp_seal_options, .key = "short", .key_len = 5),
                            &error),
        MCP_EINVAL);
    assert_non_null(strstr(error.text, "32 bytes"));
    w.no_random = true;
    ask_by(&w, "tools/call", NULL, "");
    assert_non_null(strstr(w.sent, "-32603"));
    assert_non_null(strstr(w.sent, "random bytes"));
    w.no_random = false;
    begin(&w, NULL);
    assert_true(goes_on(&w, NULL));
    mcp_server_free(w.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_belongs_to_its_principal),
        cmocka_unit_test(test_belongs_to_its_method),
        cmocka_unit_test(test_expires),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_every_bit_counts),
        cmocka_unit_test(test_longest_lifetime),
        cmocka_unit_test(test_state_fits_a_message),
        cmocka_unit_test(test_needs_keys_and_randomness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
