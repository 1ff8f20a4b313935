/* asking.h: a server that asks questions while it answers, and its callers of both eras.
 *
 * Its tool `ask` gets the list of questions as an argument, for example "form" or "form,roots;url":
 * questions that are separated by "," are asked together, those after ";" when the earlier ones are
 * answered. Its reply contains all answers.
 */
#ifndef MCP_TESTS_ASKING_H
#define MCP_TESTS_ASKING_H

#include "wires.h"

#define ASKING_SCHEMA \
    "{\"type\":\"object\",\"properties\":{\"who\":{\"type\":\"string\"}},\"required\":[\"who\"]}"

static int asking_elicit(mcp_request *req, const char *key, bool url, char *said, size_t room)
{
    static const char *const actions[] = {"accept", "decline", "cancel"};
    mcp_elicited got;
    mcp_elicit what = {.size = sizeof(what), .message = key};
    if (url)
        what.url = "https://example.com/login";
    else
        what.schema = ASKING_SCHEMA;
    int rc = mcp_request_elicit(req, key, &what, &got);
    mcp_str who = mcp_json_string(mcp_json_get(got.content, "who"));
    if (rc == MCP_OK)
        snprintf(said, room, " %s=%s:%.*s", key, actions[got.action], (int)who.len,
                 who.ptr ? who.ptr : "");
    return rc;
}

static int asking_roots(mcp_request *req, const char *key, char *said, size_t room)
{
    const mcp_json *roots = NULL, *v;
    mcp_json_iter it = {0};
    size_t n = (size_t)snprintf(said, room, " %s=", key);
    int rc = mcp_request_roots(req, key, &roots);
    while (rc == MCP_OK && (v = mcp_json_next(roots, &it, NULL)) != NULL)
        n +=
            (size_t)snprintf(said + n, room - n, "%s", mcp_json_string(mcp_json_get(v, "uri")).ptr);
    return rc;
}

/* Asks one question, which is also its key: "form", "form2", "url", "roots". */
static int asking_one(mcp_request *req, const char *key, char *said, size_t room)
{
    if (strncmp(key, "roots", 5) == 0)
        return asking_roots(req, key, said, room);
    return asking_elicit(req, key, strncmp(key, "url", 3) == 0, said, room);
}

static int asking_run(mcp_request *req, const char *questions)
{
    char said[1024] = "", list[256], *rest = list;
    size_t n = 0;
    int outcome = MCP_OK;
    snprintf(list, sizeof(list), "%s", questions);
    while (*rest && outcome == MCP_OK) {
        size_t len = strcspn(rest, ";");
        char *end = rest + len + (rest[len] != 0);
        rest[len] = 0;
        for (char *key = strtok(rest, ","); key; key = strtok(NULL, ",")) {
            char one[256] = "";
            int rc = asking_one(req, key, one, sizeof(one));
            if (rc < 0 && rc != MCP_EREMOTE)
                return rc;
            if (rc == MCP_EREMOTE)
                snprintf(one, sizeof(one), " %s=error", key);
            outcome = rc == MCP_INPUT_REQUIRED ? rc : outcome;
            n += (size_t)snprintf(said + n, sizeof(said) - n, "%s", one);
        }
        rest = end;
    }
    return outcome == MCP_OK ? mcp_reply_textf(req, "said%s.", said) : outcome;
}

static int asking_call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    return asking_run(req, mcp_json_string(mcp_json_get(arguments, "q")).ptr);
}

static int asking_get(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return asking_run(req, "form");
}

static int asking_read(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return asking_run(req, "form");
}

static inline mcp_server *asking_server(void)
{
    mcp_server *server = NULL;
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "asking", .version = "1",
                                   .coalesce_ms = 1, .no_rate_limits = true),
                       &server, NULL),
        MCP_OK);
    assert_int_equal(
        mcp_server_add_tool(server,
                            MCP_OPTIONS(mcp_tool, .name = "ask",
                                        .input_schema = "{\"type\":\"object\",\"properties\":{"
                                                        "\"q\":{\"type\":\"string\"}}}",
                                        .call = asking_call),
                            NULL, NULL),
        MCP_OK);
    assert_int_equal(
        mcp_server_add_prompt(server, MCP_OPTIONS(mcp_prompt, .name = "ask", .get = asking_get),
                              NULL, NULL),
        MCP_OK);
    assert_int_equal(mcp_server_add_resource(server,
                                             MCP_OPTIONS(mcp_resource, .uri = "ask:1", .name = "1",
                                                         .read = asking_read),
                                             NULL, NULL),
                     MCP_OK);
    return server;
}

/* ---- a modern caller ------------------------------------------------------------------------- */

#define ASKING_CAPABILITIES "{\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{}}"

/* Sends a request with `params` (members, without braces) and the capabilities. Returns the reply. */
static inline const char *asking_say(wires *w, const char *method, const char *params,
                                     const char *capabilities)
{
    static char message[1 << 16];
    int n = snprintf(message, sizeof(message),
                     "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s\",\"params\":{%s,\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":%s}}}",
                     ++w->id, method, params, capabilities);
    assert_true(n > 0 && (size_t)n < sizeof(message));
    return wires_say(w, message);
}

/* The state and the keys of an InputRequiredResult. */
typedef struct asking_round {
    char state[8192];
    char keys[8][32];
    size_t n;
} asking_round;

static inline void asking_read_round(const char *reply, asking_round *round)
{
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    mcp_str key;
    assert_int_equal(mcp_json_parse(mcp_str_from(reply), NULL, NULL, &doc, NULL), MCP_OK);
    const mcp_json *result = mcp_json_get(mcp_json_root(doc), "result");
    mcp_str state = mcp_json_string(mcp_json_get(result, "requestState"));
    if (!state.len || state.len >= sizeof(round->state))
        fail_msg("no state in\n%s", reply);
    snprintf(round->state, sizeof(round->state), "%s", state.ptr);
    round->n = 0;
    while (mcp_json_next(mcp_json_get(result, "inputRequests"), &it, &key) != NULL) {
        assert_true(round->n < 8);
        snprintf(round->keys[round->n++], 32, "%s", key.ptr);
    }
    mcp_json_free(doc);
}

#endif
