/* A client over a transport where each request is a separate exchange: headers, eras, sessions, and
 * the ends of exchanges. */
#include "fake_server.h"

#define MODERN                                                                                    \
    {                                                                                             \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}") \
    }
#define INITIALIZED(version) \
    RESULT("{\"protocolVersion\":\"" version "\"," SERVER ",\"capabilities\":{}}")
#define LEGACY(version)                    \
    {"server/discover", "!400"},           \
    {                                      \
        "initialize", INITIALIZED(version) \
    }
#define TOOL(name, properties)                                                                     \
    "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\",\"properties\":{" properties "}}" \
    "}"
#define PROPERTY(name, type, header) \
    "\"" name "\":{\"type\":\"" type "\",\"x-mcp-header\":" header "}"

static const mcp_client_options plain = {.size = sizeof(plain)};

/* ---- headers --------------------------------------------------------------------------------- */

static void test_standard_headers(void **state)
{
    (void)state;
    static const struct {
        const char *method, *params, *modern;
    } lines[] = {
        {"tools/list", NULL, ""},
        {"tools/call", "{\"name\":\"my-tool\"}", "Mcp-Name: my-tool\n"},
        {"prompts/get", "{\"name\":\"p\"}", "Mcp-Name: p\n"},
        {"resources/read", "{\"uri\":\"file:///a%20b?c=d\"}", "Mcp-Name: file:///a%20b?c=d\n"},
        {"prompts/get", "{\"name\":\"é\"}", "Mcp-Name: =?base64?w6k=?=\n"},
        {"prompts/get", "{\"name\":\" a\"}", "Mcp-Name: =?base64?IGE=?=\n"},
        {"prompts/get", "{\"name\":\"a\\tb\"}", "Mcp-Name: =?base64?YQli?=\n"},
        {"prompts/get", "{\"name\":\"a b\"}", "Mcp-Name: a b\n"},
        {"prompts/get", "{\"name\":\"=?base64?literal?=\"}",
         "Mcp-Name: =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=\n"},
        {"completion/complete", "{\"name\":\"x\"}", ""},
    };
    static const struct {
        fake_reply replies[FAKE_REPLIES];
        const char *version;
    } servers[] = {
        {{MODERN}, "2026-07-28"},
        {{LEGACY("2025-11-25")}, "2025-11-25"},
        {{LEGACY("2025-06-18")}, "2025-06-18"},
        {{LEGACY("2025-03-26")}, NULL},
    };
    for (size_t s = 0; s < MCP__COUNT(servers); s++) {
        fake f;
        fake_ready(&f, servers[s].replies, &plain, true);
        assert_string_equal(f.headers[0], "MCP-Protocol-Version: 2026-07-28\nMcp-Method: "
                                          "server/discover\n");
        if (s > 0) {
            char initialized[64] = "";
            if (servers[s].version)
                snprintf(initialized, sizeof(initialized), "MCP-Protocol-Version: %s\n",
                         servers[s].version);
            assert_string_equal(f.headers[1], ""); /* initialize */
            assert_string_equal(f.headers[2], initialized);
            assert_int_equal(f.exchange[2], 0);
        }
        const char *header = mcp_client_version_header(f.client);
        assert_true(servers[s].version ? strcmp(header, servers[s].version) == 0 : !header);
        for (size_t i = 0; i < MCP__COUNT(lines); i++) {
            char expected[256] = "";
            mcp_client_call(f.client, lines[i].method, lines[i].params, NULL, NULL);
            mcp_channel_tick(f.channel, f.now);
            if (s == 0)
                snprintf(expected, sizeof(expected),
                         "MCP-Protocol-Version: 2026-07-28\nMcp-Method: %s\n%s", lines[i].method,
                         lines[i].modern);
            else if (servers[s].version)
                snprintf(expected, sizeof(expected), "MCP-Protocol-Version: %s\n",
                         servers[s].version);
            assert_string_equal(f.headers[f.n_sent - 1], expected);
            assert_int_equal(f.exchange[f.n_sent - 1], f.n_sent - (s > 0));
        }
        fake_close(&f);
    }
}

typedef struct sight {
    fake *fake;
    mcp_client_output seen[8];
    size_t n;
} sight;

static void look(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    sight *s = user;
    (void)channel, (void)exchange, (void)message;
    assert_true(s->n < 8);
    s->seen[s->n++] = *mcp_client_sending(s->fake->client);
}

static void test_sending(void **state)
{
    (void)state;
    fake f = {0};
    sight s = {.fake = &f};
    assert_int_equal(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "n", .version = "1",
                                                .revision = "2025-11-25", .timeout_ms = 9),
                                    &f.client, NULL),
                     MCP_OK);
    assert_int_equal(mcp_client_connect_transport(
                         f.client, MCP_OPTIONS(mcp_channel_options, .send = look, .user = &s),
                         MCP_OPTIONS(mcp_transport_options, .exchanges = true), &f.channel, NULL),
                     MCP_EINVAL); /* without "abandon" */
    assert_int_equal(
        mcp_client_connect_transport(
            f.client, MCP_OPTIONS(mcp_channel_options, .send = look, .user = &s),
            MCP_OPTIONS(mcp_transport_options, .exchanges = true, .abandon = fake_abandon),
            &f.channel, NULL),
        MCP_OK);
    mcp_client_start(f.client, NULL, NULL);
    mcp_channel_tick(f.channel, 1);
    assert_true(s.seen[0].handshake && !s.seen[0].modern && s.seen[0].timeout_ms == 9);
    assert_int_equal(s.seen[0].kind, MCP_OUTPUT_REQUEST);
    assert_true(mcp_client_awaits(f.client, 1));
    fake_deliver(&f, INITIALIZED("2025-11-25"), "1", 1);
    assert_false(mcp_client_awaits(f.client, 1));
    assert_int_equal(s.seen[1].kind, MCP_OUTPUT_NOTIFICATION);
    assert_true(mcp_str_eq(s.seen[1].method, MCP_STR("notifications/initialized")));
    fake_deliver(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}", "", 0);
    assert_int_equal(s.seen[2].kind, MCP_OUTPUT_RESPONSE);
    assert_int_equal(s.seen[2].method.len, 0);
    assert_false(s.seen[2].handshake || s.seen[2].long_lived || s.seen[2].once);
    mcp_client_call(f.client, "tools/call", "{\"name\":\"t\"}", NULL, NULL);
    mcp_channel_tick(f.channel, 2);
    assert_true(s.seen[3].once);
    for (int once = 0; once < 2; once++) {
        mcp_client_request(f.client, "prompts/get", "{\"name\":\"p\"}",
                           MCP_OPTIONS(mcp_call_options, .once = once), NULL);
        mcp_channel_tick(f.channel, 3);
        assert_int_equal(s.seen[4 + once].once, once);
    }
    mcp_client_free(f.client);
}

#define DEEP "\"o\":{\"type\":\"object\",\"properties\":{" PROPERTY("d", "string", "\"Deep\"") "}}"
#define SIMPLE                       \
    PROPERTY("s", "string", "\"S\"") \
    "," PROPERTY("i", "integer", "\"I\"") "," PROPERTY("b", "boolean", "\"Method\"")
#define MANY TOOL("t", SIMPLE "," DEEP ",\"q\":{\"type\":\"string\"}")

/* The values of a tool's parameters in headers. */
static void test_parameters(void **state)
{
    (void)state;
    static const char list[] = RESULT("{\"tools\":[" MANY "]}");
    static const struct {
        const char *arguments, *headers;
    } lines[] = {
        {"{}", ""},
        {"{\"s\":\"us-west1\",\"q\":\"no\"}", "Mcp-Param-S: us-west1\n"},
        {"{\"i\":42,\"b\":false,\"s\":null}", "Mcp-Param-I: 42\nMcp-Param-Method: false\n"},
        {"{\"i\":-7,\"b\":true}", "Mcp-Param-I: -7\nMcp-Param-Method: true\n"},
        {"{\"i\":42.0}", "Mcp-Param-I: 42\n"},
        {"{\"i\":3.14}", ""},
        {"{\"i\":[1],\"s\":{}}", ""},
        {"{\"s\":\"\"}", "Mcp-Param-S: \n"},
        {"{\"s\":\"us west 1\"}", "Mcp-Param-S: us west 1\n"},
        {"{\"s\":\" padded \"}", "Mcp-Param-S: =?base64?IHBhZGRlZCA=?=\n"},
        {"{\"s\":\"Hello, 世界\"}", "Mcp-Param-S: =?base64?SGVsbG8sIOS4lueVjA==?=\n"},
        {"{\"s\":\"line1\\nline2\"}", "Mcp-Param-S: =?base64?bGluZTEKbGluZTI=?=\n"},
        {"{\"s\":\"a\\tb\"}", "Mcp-Param-S: =?base64?YQli?=\n"},
        {"{\"s\":\"\\u007f\"}", "Mcp-Param-S: =?base64?fw==?=\n"},
        {"{\"o\":{\"d\":\"x\"},\"d\":\"y\"}", "Mcp-Param-Deep: x\n"},
        {"{\"i\":9007199254740991}", "Mcp-Param-I: 9007199254740991\n"},
        {"{\"i\":9007199254740993}", NULL},
        {"{\"i\":-99999999999999999999999}", NULL},
    };
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"tools/list", list}, {"tools/call", RESULT("{\"content\":[]}")}};
    fake f;
    fake_ready(&f, replies, &plain, true);
    mcp_client_list(f.client, "tools/list", NULL, NULL, NULL);
    fake_run(&f);
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        size_t before = f.n_sent;
        fake_reset(&f);
        mcp_client_call_tool(f.client, "t", lines[i].arguments,
                             MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f), NULL);
        fake_run(&f);
        assert_int_equal(f.done, 1);
        assert_int_equal(f.rc, lines[i].headers ? MCP_OK : MCP_EINVAL);
        assert_int_equal(f.n_sent - before, lines[i].headers ? 1 : 0);
        if (!lines[i].headers)
            continue;
        char expected[256];
        snprintf(expected, sizeof(expected),
                 "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: t\n%s",
                 lines[i].headers);
        assert_string_equal(f.headers[before], expected);
    }
    fake_close(&f);
}

static void on_refused(mcp_client *client, mcp_str name, const char *why, void *user)
{
    fake *f = user;
    (void)client;
    size_t at = strlen(f->text);
    assert_true(*why != 0);
    snprintf(f->text + at, sizeof(f->text) - at, "%.*s ", (int)name.len, name.ptr);
}

#define NO_TOOL(name, type, header) TOOL(name, PROPERTY("a", type, header)) ","
#define TWICE                       TOOL("two", PROPERTY("a", "string", "\"X\"") "," PROPERTY("b", "string", "\"x\"")) ","

static void test_refused_tools(void **state)
{
    (void)state;
    static const char list[] = RESULT(
        "{\"tools\":[" NO_TOOL("empty", "string", "\"\"") NO_TOOL("object", "string", "{}")
            NO_TOOL("null", "string", "null") NO_TOOL("number", "number", "\"A\"")
                NO_TOOL("space", "string", "\"a b\"")
                    TWICE TOOL("valid", PROPERTY("region", "string", "\"Region\"")) "],\"x\":1}");
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"tools/list", list}, {"tools/call", RESULT("{\"content\":[]}")}};
    for (int http = 0; http < 2; http++) {
        fake f;
        fake_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .tool_refused = on_refused), http);
        f.done = 0;
        mcp_client_request(f.client, "tools/list", NULL, NULL, NULL);
        fake_run(&f);
        assert_string_equal(f.text, http ? "empty object null number space two " : "");
        mcp_client_list(f.client, "tools/list", NULL, fake_done, &f);
        fake_run(&f);
        assert_true(http == !strstr(f.result, "\"two\""));
        assert_contains(f.result, "\"valid\"");
        assert_contains(f.result, "\"x\":1");
        fake_reset(&f);
        mcp_client_call(f.client, "tools/call", "{\"name\":\"two\"}", fake_done, &f);
        fake_run(&f);
        assert_int_equal(f.rc, http ? MCP_EPROTOCOL : MCP_OK);
        if (http)
            assert_contains(f.text, "\"two\" is refused: x-mcp-header \"x\" is used twice");
        fake_close(&f);
    }
}

/* If the server rejects a call for missing headers, the list is read again and the call is repeated
 * once. */
static void test_relist(void **state)
{
    (void)state;
#define MISSING "!400 " ERROR("-32020", ",\"message\":\"Header mismatch: S\"")
    static const struct {
        fake_reply replies[FAKE_REPLIES];
        const char *methods;
        int rc;
    } lines[] = {
        {{MODERN,
          {"tools/call", MISSING},
          {"tools/list", RESULT("{\"tools\":[" TOOL("t", PROPERTY("s", "string", "\"S\"")) "]}")},
          {"tools/call", RESULT("{\"content\":[]}")}},
         "tools/call tools/list tools/call ",
         MCP_OK},
        {{MODERN, {"tools/call", MISSING}, {"tools/list", RESULT("{\"tools\":[]}")}},
         "tools/call tools/list tools/call ",
         MCP_EREMOTE},
        {{MODERN, {"tools/call", MISSING}, {"tools/list", "!500"}},
         "tools/call tools/list ",
         MCP_EIO},
        {{MODERN,
          {"tools/call", MISSING},
          {"tools/list", RESULT("{\"tools\":[" TOOL("t", PROPERTY("s", "number", "\"S\"")) "]}")}},
         "tools/call tools/list ",
         MCP_EPROTOCOL},
    };
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        fake f;
        fake_ready(&f, lines[i].replies, &plain, true);
        mcp_client_call_tool(f.client, "t", "{\"s\":\"v\"}",
                             MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f), NULL);
        fake_run(&f);
        assert_int_equal(f.done, 1);
        assert_int_equal(f.rc, lines[i].rc);
        assert_string_equal(f.methods, lines[i].methods);
        if (f.rc == MCP_OK)
            assert_contains(f.headers[f.n_sent - 1], "Mcp-Param-S: v\n");
        fake_close(&f);
    }
}

/* ---- eras ------------------------------------------------------------------------------------ */

#define UNSUPPORTED(list) ERROR("-32022", ",\"message\":\"x\",\"data\":{\"supported\":" list "}")
static const char both[] = "server/discover initialize notifications/initialized ";

static const struct {
    fake_reply replies[FAKE_REPLIES];
    int rc;
    const char *methods, *text;
    size_t fall_backs;
    const char *revision; /* the requested revision */
    bool falls_back;
} eras_cases[] = {
    {{MODERN}, MCP_OK, "server/discover ", .text = NULL},
    {{{"server/discover", "!400 " UNSUPPORTED("[\"2026-07-28\"]")}, MODERN},
     MCP_OK,
     "server/discover server/discover ",
     .text = NULL},
    {{{"server/discover", "!400 " UNSUPPORTED("[\"2099-01-01\"]")}},
     MCP_EPROTOCOL,
     "server/discover ",
     .text = "2099-01-01"},
    {{{"server/discover", "!400 " UNSUPPORTED("[\"2025-06-18\"]")},
      {"initialize", INITIALIZED("2025-06-18")}},
     MCP_OK,
     both,
     .text = NULL},
    {{{"server/discover", "!400 " ERROR("-32020", ",\"message\":\"headers\"")}},
     MCP_EREMOTE,
     "server/discover ",
     .text = "headers"},
    /* answers that no modern server gives */
    {{LEGACY("2025-11-25")}, MCP_OK, both, .text = NULL},
    {{{"server/discover", "!400 " ERROR("-32000", ",\"message\":\"No session\"")},
      {"initialize", INITIALIZED("2025-11-25")}},
     MCP_OK,
     both,
     .text = NULL},
    {{{"server/discover", "!404 <html>"}, {"initialize", INITIALIZED("2025-11-25")}},
     MCP_OK,
     both,
     .text = NULL},
    {{{"server/discover", "!500"}, {"initialize", INITIALIZED("2025-11-25")}},
     MCP_OK,
     both,
     .text = NULL},
    {{{"server/discover", "!200"}, {"initialize", INITIALIZED("2025-11-25")}},
     MCP_OK,
     both,
     .text = NULL},
    {{{"server/discover", NULL}, {"initialize", INITIALIZED("2025-11-25")}},
     MCP_OK,
     both,
     .text = NULL},
    {{{"server/discover", ERROR("-32601", "")}, {"initialize", INITIALIZED("2025-11-25")}},
     MCP_OK,
     both,
     .text = NULL},
    /* answers that do not reveal the era */
    {{{"server/discover", "!401"}}, MCP_EACCESS, "server/discover ", .text = "status 401"},
    {{{"server/discover", "!403"}}, MCP_EACCESS, "server/discover ", .text = "status 403"},
    {{{"server/discover", "!403 No bots here\r\nor there"}},
     MCP_EACCESS,
     "server/discover ",
     .text = "status 403: No bots here"},
    {{{"server/discover", "!403 {\"error\":{\"message\":\"not enabled\"}}"}},
     MCP_EACCESS,
     "server/discover ",
     .text = "status 403: not enabled"},
    {{{"server/discover", "!503 {\"error\":\"x\",\"detail\":\"in repair\"}"}},
     MCP_EIO,
     "server/discover ",
     .text = "status 503: in repair"},
    {{{"server/discover", "!429"}}, MCP_EIO, "server/discover ", .text = "status 429"},
    {{{"server/discover", "!503"}}, MCP_EIO, "server/discover ", .text = "status 503"},
    {{{"server/discover", "!000"}}, MCP_EIO, "server/discover ", .text = "cannot be reached"},
    {{{"server/discover", "!400"}},
     MCP_EIO,
     "server/discover ",
     .text = "status 400",
     .revision = "2026-07-28"},
    /* fallback to HTTP+SSE */
    {{{"server/discover", "!405"}, {"initialize", "!405"}},
     MCP_EIO,
     "server/discover initialize ",
     .text = "status 405",
     .fall_backs = 1},
    {{{"server/discover", "!404"},
      {"initialize", "!404"},
      {"initialize", INITIALIZED("2024-11-05")}},
     MCP_OK,
     "server/discover initialize initialize notifications/initialized ",
     .text = NULL,
     .fall_backs = 1,
     .falls_back = true},
    {{{"server/discover", "!404"}, {"initialize", "!404"}},
     MCP_EIO,
     "server/discover initialize initialize ",
     .text = "status 404",
     .fall_backs = 1,
     .falls_back = true},
    {{{"initialize", "!400"}, {"initialize", INITIALIZED("2024-11-05")}},
     MCP_OK,
     "initialize initialize notifications/initialized ",
     .text = NULL,
     .fall_backs = 1,
     .revision = "2024-11-05",
     .falls_back = true},
    {{{"server/discover", "!404"}, {"initialize", "!400 " ERROR("-32600", ",\"message\":\"bad\"")}},
     MCP_EREMOTE,
     "server/discover initialize initialize ",
     .text = "bad",
     .fall_backs = 1,
     .falls_back = true},
    {{{"server/discover", "!404"},
      {"initialize", "!405 " ERROR("-32000", ",\"message\":\"no\"")},
      {"initialize", INITIALIZED("2024-11-05")}},
     MCP_OK,
     "server/discover initialize initialize notifications/initialized ",
     .text = NULL,
     .fall_backs = 1,
     .falls_back = true},
    {{{"server/discover", "!404"},
      {"initialize", "!400 " ERROR("-32020", ",\"message\":\"headers\"")}},
     MCP_EREMOTE,
     "server/discover initialize ",
     .text = "headers",
     .falls_back = true},
    {{{"server/discover", "!404"},
      {"initialize", "!500 " ERROR("-32603", ",\"message\":\"broken\"")}},
     MCP_EREMOTE,
     "server/discover initialize ",
     .text = "broken",
     .falls_back = true},
    {{{"server/discover", "!404"}, {"initialize", "!401"}},
     MCP_EACCESS,
     "server/discover initialize ",
     .text = "401",
     .falls_back = true},
};

static void test_eras(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(eras_cases); i++) {
        fake f;
        fake_open_http(&f, eras_cases[i].replies,
                       MCP_OPTIONS(mcp_client_options, .revision = eras_cases[i].revision));
        f.falls_back = eras_cases[i].falls_back;
        mcp_client_start(f.client, fake_done, &f);
        fake_run(&f);
        assert_int_equal(f.done, 1);
        assert_int_equal(f.rc, eras_cases[i].rc);
        assert_string_equal(f.methods, eras_cases[i].methods);
        assert_int_equal(f.fall_backs, eras_cases[i].fall_backs);
        if (eras_cases[i].text)
            assert_contains(f.text, eras_cases[i].text);
        assert_string_equal(f.abandoned,
                            strcmp(f.methods, both) == 0 && !eras_cases[i].replies[0].message ? "1 "
                                                                                              : "");
        fake_close(&f);
    }
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void test_new_session(void **state)
{
    (void)state;
    static const struct {
        fake_reply replies[FAKE_REPLIES];
        const char *methods;
        int rc;
    } lines[] = {
        {{LEGACY("2025-11-25"), {"m", "!404s"}, {"m", RESULT("{}")}},
         "m initialize notifications/initialized m ",
         MCP_OK},
        {{LEGACY("2025-11-25"),
          {"m", "!404s" ERROR("-32001", ",\"message\":\"Session not found\"")},
          {"m", RESULT("{}")}},
         "m initialize notifications/initialized m ",
         MCP_OK},
        {{LEGACY("2025-11-25"), {"m", "!404s"}},
         "m initialize notifications/initialized m ",
         MCP_EIO}, /* once */
        {{LEGACY("2025-11-25"), {"m", "!404"}}, "m ", MCP_EIO},
        /* The answers of older SDK examples and of servers derived from them. */
        {{LEGACY("2025-11-25"),
          {"m",
           "!400s" ERROR("-32000", ",\"message\":\"Bad Request: No valid session ID provided\"")},
          {"m", RESULT("{}")}},
         "m initialize notifications/initialized m ",
         MCP_OK},
        {{LEGACY("2025-11-25"), {"m", "!400sSession terminated"}, {"m", RESULT("{}")}},
         "m initialize notifications/initialized m ",
         MCP_OK},
        {{LEGACY("2025-11-25"), {"m", "!400s" ERROR("-32000", ",\"message\":\"no session\"")}},
         "m initialize notifications/initialized m ",
         MCP_EREMOTE}, /* once, with the server's message */
        {{LEGACY("2025-11-25"), {"m", "!400s" ERROR("-32000", ",\"message\":\"bad\"")}},
         "m ",
         MCP_EREMOTE},
        {{LEGACY("2025-11-25"), {"m", "!400sno"}}, "m ", MCP_EIO},
        {{LEGACY("2025-11-25"), {"m", "!400 no session"}}, "m ", MCP_EIO},
        {{MODERN, {"m", "!400s" ERROR("-32000", ",\"message\":\"no session\"")}},
         "m ",
         MCP_EREMOTE},
        {{LEGACY("2025-11-25"), {"initialize", "!500"}, {"m", "!404s"}}, "m initialize ", MCP_EIO},
        {{MODERN, {"m", "!404s"}}, "m ", MCP_EIO},
        {{MODERN, {"m", "!404 " ERROR("-32601", ",\"message\":\"what?\"")}}, "m ", MCP_EREMOTE},
        {{LEGACY("2025-11-25"), {"m", "!200"}}, "m ", MCP_ECLOSED},
        {{LEGACY("2025-11-25"), {"m", "!401"}}, "m ", MCP_EACCESS},
        {{LEGACY("2025-11-25"), {"m", "!000"}}, "m ", MCP_EIO},
    };
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        fake f;
        fake_ready(&f, lines[i].replies, &plain, true);
        mcp_client_call(f.client, "m", NULL, fake_done, &f);
        fake_run(&f);
        assert_int_equal(f.done, 1);
        assert_int_equal(f.rc, lines[i].rc);
        assert_string_equal(f.methods, lines[i].methods);
        fake_close(&f);
    }
}

/* Several calls lose their session: one new session, and each call is repeated once. */
static void test_new_session_for_many(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25"),
                                                     {"a", "!404s"},
                                                     {"a", RESULT("{}")},
                                                     {"b", "!404s"},
                                                     {"b", RESULT("{}")}};
    fake f;
    fake_ready(&f, replies, &plain, true);
    mcp_client_call(f.client, "a", NULL, fake_done, &f);
    mcp_client_call(f.client, "b", NULL, fake_done, &f);
    fake_run(&f);
    assert_int_equal(f.done, 2);
    assert_int_equal(f.rc, MCP_OK);
    assert_string_equal(f.methods, "a b initialize notifications/initialized a b ");
    fake_close(&f);
}

static void test_timeouts(void **state)
{
    (void)state;
    static const fake_reply scripts[2][FAKE_REPLIES] = {{MODERN, {"m", NULL}},
                                                        {LEGACY("2025-11-25"), {"m", NULL}}};
    for (int legacy = 0; legacy < 2; legacy++) {
        fake f;
        fake_ready(&f, scripts[legacy], &plain, true);
        mcp_client_call(f.client, "m", NULL, fake_done, &f);
        fake_run(&f);
        assert_int_equal(f.rc, MCP_ETIMEOUT);
        assert_string_equal(f.methods, legacy ? "m notifications/cancelled " : "m ");
        assert_string_equal(f.abandoned, legacy ? "3 " : "2 ");
        /* Later messages belong to no call. */
        mcp_client_exchange_ended(f.client, legacy ? 3 : 2,
                                  MCP_OPTIONS(mcp_exchange_end, .status = 500), f.now);
        mcp_client_exchange_ended(f.client, 0, MCP_OPTIONS(mcp_exchange_end, .status = 500), f.now);
        mcp_client_exchange_ended(f.client, UINT64_MAX,
                                  MCP_OPTIONS(mcp_exchange_end, .status = 500), f.now);
        assert_int_equal(f.done, 1);
        fake_close(&f);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    static const fake_reply modern[FAKE_REPLIES] = {
        MODERN,
        {"tools/list", RESULT("{\"tools\":[" TOOL("bad", PROPERTY("a", "number", "\"A\"")) "," TOOL(
                           "t", PROPERTY("s", "string", "\"S\"")) "]}")},
        {"tools/call", MISSING},
        {"tools/call", RESULT("{\"content\":[]}")}};
    static const fake_reply legacy[FAKE_REPLIES] = {LEGACY("2025-11-25"),
                                                    {"tools/list", RESULT("{\"tools\":[]}")},
                                                    {"tools/call", "!404s"},
                                                    {"tools/call", RESULT("{\"content\":[]}")}};
    const fake_reply *const scripts[] = {modern, legacy};
    for (size_t s = 0; s < 2; s++) {
        bool ended = false;
        for (size_t n = 1; !ended; n++) {
            failalloc a = {.fail_at = n};
            mcp_allocator allocator = failalloc_allocator(&a);
            fake f;
            size_t made = 0;
            int rc = fake_open_http(&f, scripts[s],
                                    MCP_OPTIONS(mcp_client_options, .allocator = &allocator));
            if (rc == MCP_OK) {
                const mcp_call_options o = {.size = sizeof(o), .done = fake_done, .user = &f};
                made += mcp_client_list_all(f.client, "tools/list", NULL, &o, NULL) == MCP_OK;
                fake_run(&f);
                made += mcp_client_call_tool(f.client, "t", "{\"s\":\"v\"}", &o, NULL) == MCP_OK;
                fake_run(&f);
                assert_int_equal(f.done, made);
            }
            fake_close(&f);
            assert_int_equal(a.live, 0);
            ended = a.calls < n;
            if (ended)
                assert_int_equal(f.rc, MCP_OK);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standard_headers), cmocka_unit_test(test_sending),
        cmocka_unit_test(test_parameters),       cmocka_unit_test(test_refused_tools),
        cmocka_unit_test(test_relist),           cmocka_unit_test(test_eras),
        cmocka_unit_test(test_new_session),      cmocka_unit_test(test_new_session_for_many),
        cmocka_unit_test(test_timeouts),         cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
