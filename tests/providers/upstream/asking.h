/* asking.h: a server that asks questions while it answers, and its callers of both eras.
 *
 * Its tool `ask` gets the list of questions as an argument, for example "form" or "form,roots;url":
 * questions that are separated by "," are asked together, those after ";" when the earlier ones are
 * answered. With "hold" at the end it then waits for asking_release(). Its reply contains all
 * answers.
 */
#ifndef MCP_TESTS_ASKING_H
#define MCP_TESTS_ASKING_H

#include "wires.h"

#define ASKING_SCHEMA \
    "{\"type\":\"object\",\"properties\":{\"who\":{\"type\":\"string\"}},\"required\":[\"who\"]}"

/* The requests that wait for asking_release(), and the number of those that were cancelled. */
static mcp_request *asking_held[8];
static size_t asking_n_held, asking_cancelled;

static void asking_gone(mcp_request *req, void *user)
{
    size_t i = 0;
    (void)user;
    while (i < asking_n_held && asking_held[i] != req)
        i++;
    assert_true(i < asking_n_held);
    asking_held[i] = asking_held[--asking_n_held];
    asking_cancelled++;
    mcp_reply_finish(req, MCP_ECANCELLED);
}

static int asking_hold(mcp_request *req)
{
    assert_true(asking_n_held < 8);
    asking_held[asking_n_held++] = req;
    mcp_request_on_cancel(req, asking_gone, NULL);
    return MCP_PENDING;
}

/* Answers the requests that wait. */
static inline void asking_release(void)
{
    while (asking_n_held) {
        mcp_request *req = asking_held[--asking_n_held];
        mcp_reply_finish(req, mcp_reply_text(req, "released"));
    }
}

static int asking_elicit(mcp_request *req, const char *key, bool url, char *said, size_t room)
{
    static const char *const actions[] = {"accept", "decline", "cancel"};
    mcp_elicited got;
    mcp_elicit what = {.size = sizeof(what), .message = key};
    if (url)
        what.url = "https://example.com/login", what.elicitation_id = key;
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

static int asking_sample(mcp_request *req, const char *key, bool tools, char *said, size_t room)
{
    const mcp_json *result = NULL;
    int rc = mcp_request_sample(
        req, key,
        MCP_OPTIONS(mcp_sample, .text = "Say it", .max_tokens = 10,
                    .tools =
                        tools ? "[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]" : NULL),
        &result);
    mcp_str text = rc == MCP_OK ? mcp_sampled_text(result) : (mcp_str){"", 0};
    snprintf(said, room, " %s=%.*s", key, (int)text.len, text.ptr);
    return rc;
}

/* Asks one question, which is also its key: "form", "form2", "url", "roots", "sample", "tools". */
static int asking_one(mcp_request *req, const char *key, char *said, size_t room)
{
    if (strncmp(key, "roots", 5) == 0)
        return asking_roots(req, key, said, room);
    if (strncmp(key, "sample", 6) == 0 || strcmp(key, "tools") == 0)
        return asking_sample(req, key, key[0] == 't', said, room);
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
            if (strcmp(key, "hold") == 0)
                return outcome == MCP_OK ? asking_hold(req) : outcome;
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

/* `input_timeout_ms` is how long the server waits for an answer; 0 means the default. */
static inline mcp_server *asking_server(uint64_t input_timeout_ms)
{
    mcp_server *server = NULL;
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "asking", .version = "1",
                                   .coalesce_ms = 1, .no_rate_limits = true,
                                   .input_timeout_ms = input_timeout_ms),
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

#define ASKING_CAPABILITIES \
    "{\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{},\"sampling\":{\"tools\":{}}}"

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

/* ---- callers of both eras that answer questions ---------------------------------------------- */

/* The questions of a round: an InputRequiredResult with its state, or requests of the server. */
typedef struct asking_round {
    char state[8192]; /* empty for a legacy caller */
    struct {
        char key[32]; /* or the id of the request */
        char text[1024];
    } asked[20];
    size_t n;
} asking_round;

static void asking_add(asking_round *round, mcp_str key, const mcp_json *asked)
{
    mcp_str text;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, asked);
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
    assert_true(round->n < 20 && text.len < sizeof(round->asked[0].text));
    snprintf(round->asked[round->n].key, sizeof(round->asked[0].key), "%.*s", (int)key.len,
             key.ptr);
    snprintf(round->asked[round->n++].text, sizeof(round->asked[0].text), "%.*s", (int)text.len,
             text.ptr);
    mcp_json_writer_free(w);
}

/* Reads an InputRequiredResult. Returns false if the reply is something else. */
static inline bool asking_read_modern(const char *reply, asking_round *round)
{
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    mcp_str key;
    round->n = 0;
    if (!strstr(reply, "\"input_required\""))
        return false;
    assert_int_equal(mcp_json_parse(mcp_str_from(reply), NULL, NULL, &doc, NULL), MCP_OK);
    const mcp_json *result = mcp_json_get(mcp_json_root(doc), "result"), *v;
    mcp_str state = mcp_json_string(mcp_json_get(result, "requestState"));
    assert_true(state.len && state.len < sizeof(round->state));
    snprintf(round->state, sizeof(round->state), "%s", state.ptr);
    while ((v = mcp_json_next(mcp_json_get(result, "inputRequests"), &it, &key)) != NULL)
        asking_add(round, key, v);
    mcp_json_free(doc);
    return true;
}

/* Reads the requests of the server in the log, and clears it. Returns false if there is none. */
static inline bool asking_read_legacy(wires *w, asking_round *round)
{
    char *line = w->log, *end;
    round->n = 0;
    round->state[0] = 0;
    for (; w->log_len && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        mcp_json_doc *doc = NULL;
        char id[32];
        *end = 0;
        assert_int_equal(mcp_json_parse(mcp_str_from(line), NULL, NULL, &doc, NULL), MCP_OK);
        const mcp_json *message = mcp_json_root(doc), *number = mcp_json_get(message, "id");
        snprintf(id, sizeof(id), "%lld", (long long)mcp_json_int(number, 0));
        if (number && mcp_json_get(message, "method"))
            asking_add(round, mcp_str_from(id), message);
        mcp_json_free(doc);
    }
    w->log_len = 0;
    w->log[0] = 0;
    return round->n > 0;
}

/* How a test answers: writes the answer to the question with this text, a JSON object. For a legacy
 * caller the answer may be an error, which begins with "!". */
typedef void asking_answer_fn(const char *asked, char *answer, size_t room);

/* Accepts everything. */
static inline void asking_accept(const char *asked, char *answer, size_t room)
{
    static const struct {
        const char *has, *answer;
    } answers[] = {
        {"\"roots/list\"",
         "{\"roots\":[{\"uri\":\"file:///a\"},{\"uri\":\"file:///b\",\"name\":\"b\"}]}"},
        {"\"sampling/createMessage\"", "{\"role\":\"assistant\",\"content\":{\"type\":\"text\","
                                       "\"text\":\"it\"},\"model\":\"m\"}"},
        {"\"mode\":\"url\"", "{\"action\":\"accept\"}"},
        {"", "{\"action\":\"accept\",\"content\":{\"who\":\"Ada\"}}"},
    };
    size_t i = 0;
    while (!strstr(asked, answers[i].has))
        i++;
    snprintf(answer, room, "%s", answers[i].answer);
}

/* Repeats a request with the answers to a round. */
static inline const char *asking_continue(wires *w, const char *method, const char *params,
                                          const asking_round *round, asking_answer_fn *answer)
{
    static char all[1 << 15];
    size_t n = (size_t)snprintf(all, sizeof(all), "%s,\"inputResponses\":{", params);
    for (size_t i = 0; i < round->n; i++) {
        char one[512] = "{}";
        answer(round->asked[i].text, one, sizeof(one));
        n += (size_t)snprintf(all + n, sizeof(all) - n, "%s\"%s\":%s", i ? "," : "",
                              round->asked[i].key, one);
    }
    snprintf(all + n, sizeof(all) - n, "},\"requestState\":\"%s\"", round->state);
    return asking_say(w, method, all, ASKING_CAPABILITIES);
}

/* Answers the requests of a round of a legacy caller. Returns the reply to its request, or "". */
static inline const char *asking_respond(wires *w, const asking_round *round,
                                         asking_answer_fn *answer)
{
    const char *reply = "";
    for (size_t i = 0; i < round->n; i++) {
        char one[512] = "{}", message[700];
        answer(round->asked[i].text, one, sizeof(one));
        snprintf(message, sizeof(message), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"%s\":%s}",
                 round->asked[i].key, one[0] == '!' ? "error" : "result", one + (one[0] == '!'));
        reply = wires_say(w, message);
    }
    return reply;
}

/* Connects a caller of this revision, with the handshake if the revision has one. */
static inline void asking_connect(wires *w, const char *revision, const char *principal,
                                  const char *capabilities)
{
    char message[512];
    assert_int_equal(wires_peer(w, w->front, principal), MCP_OK);
    if (strcmp(revision, "2026-07-28") == 0)
        return;
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":%s,"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
             revision, capabilities);
    wires_has(wires_say(w, message), revision);
    wires_say(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    w->log_len = 0;
}

/* Sends a request of a legacy caller. */
static inline const char *asking_say_legacy(wires *w, const char *method, const char *params)
{
    char message[1024];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s\",\"params\":{%s}}", ++w->id, method,
             params);
    return wires_say(w, message);
}

/* Makes a request as a caller of this revision, and answers all questions. Returns the reply.
 * *rounds gets the number of rounds with questions. */
static inline const char *asking_exchange(wires *w, const char *revision, const char *method,
                                          const char *params, asking_answer_fn *answer,
                                          size_t *rounds)
{
    static asking_round round;
    bool modern = strcmp(revision, "2026-07-28") == 0;
    const char *reply = modern ? asking_say(w, method, params, ASKING_CAPABILITIES)
                               : asking_say_legacy(w, method, params);
    *rounds = 0;
    while (modern ? asking_read_modern(reply, &round) : !*reply && asking_read_legacy(w, &round)) {
        (*rounds)++;
        reply = modern ? asking_continue(w, method, params, &round, answer)
                       : asking_respond(w, &round, answer);
    }
    return reply;
}

#endif
