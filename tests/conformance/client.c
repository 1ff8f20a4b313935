/* client.c: the client that the official conformance suite starts once for each scenario. It uses
 * only the public API.
 *
 *     MCP_CONFORMANCE_SCENARIO=NAME conformance-client URL
 *
 * A table has the actions for each scenario; the rest is an ordinary blocking client. It negotiates
 * the revision itself. The context of the scenario says how it is authorized (client_login.c).
 * Unknown scenarios end at once. The exit status is 0 if everything succeeded.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct run {
    mcp_client *client;
    mcp_error error;
    size_t refused; /* tools with invalid definitions, which were omitted */
} run;

/* ---- blocking calls -------------------------------------------------------------------------- */

/* Waits for a call and returns its result, or reports the failure and returns NULL. */
static mcp_json_doc *outcome(run *r, const char *what, int rc, mcp_call_id call)
{
    mcp_json_doc *result = NULL;
    r->error = (mcp_error){0};
    if (rc == MCP_OK)
        rc = mcp_client_wait(r->client, call, &result, &r->error);
    fprintf(stderr, "%s: %s\n", what, rc == MCP_OK ? "ok" : mcp_error_text(rc));
    if (rc == MCP_OK)
        return result;
    fprintf(stderr, "    %s\n", r->error.text);
    mcp_json_free(result); /* a server's error object */
    return NULL;
}

static mcp_json_doc *list(run *r, const char *method)
{
    mcp_call_id call = 0;
    int rc = mcp_client_list_all(r->client, method, NULL, NULL, &call);
    return outcome(r, method, rc, call);
}

/* Returns a NUL-terminated copy, or NULL if there is no memory or the text contains a NUL. */
static char *copied(mcp_str text)
{
    if (!text.ptr || memchr(text.ptr, 0, text.len))
        return NULL;
    char *copy = malloc(text.len + 1);
    if (copy) {
        memcpy(copy, text.ptr, text.len);
        copy[text.len] = 0;
    }
    return copy;
}

static char *json_text(const mcp_json *value)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str text = {0};
    if (!w)
        return NULL;
    mcp_json_add_value(w, value);
    char *copy = mcp_json_writer_finish(w, &text) == MCP_OK ? copied(text) : NULL;
    mcp_json_writer_free(w);
    return copy;
}

static bool call_tool(run *r, mcp_str tool, const mcp_json *arguments)
{
    char *name = copied(tool), *text = json_text(arguments);
    mcp_call_id call = 0;
    int rc = name && text ? mcp_client_call_tool(r->client, name, text, NULL, &call) : MCP_ENOMEM;
    mcp_json_doc *result = outcome(r, name ? name : "a tool", rc, call);
    bool ok = result && !mcp_json_bool(mcp_json_get(mcp_json_root(result), "isError"), false);
    mcp_json_free(result);
    free(name);
    free(text);
    return ok;
}

static bool read_resource(run *r, const char *uri)
{
    mcp_call_id call = 0;
    int rc = mcp_client_read(r->client, uri, NULL, &call);
    mcp_json_doc *result = outcome(r, uri, rc, call);
    mcp_json_free(result);
    return result != NULL;
}

static bool get_prompt(run *r, const char *name)
{
    mcp_call_id call = 0;
    int rc = mcp_client_get_prompt(r->client, name, NULL, NULL, &call);
    mcp_json_doc *result = outcome(r, name, rc, call);
    mcp_json_free(result);
    return result != NULL;
}

/* ---- scenarios ------------------------------------------------------------------------------- */

/* `what` is the table's last column, parsed. */
typedef bool play_fn(run *r, const mcp_json *what);

static bool play_list(run *r, const mcp_json *what)
{
    (void)what;
    mcp_json_doc *result = list(r, "tools/list");
    mcp_json_free(result);
    return result != NULL;
}

/* {"toolCalls": [{"name", "arguments"}...]}, as a scenario's context has it. */
static bool play_calls(run *r, const mcp_json *what)
{
    const mcp_json *calls = mcp_json_get(what, "toolCalls"), *call;
    mcp_json_iter it = {0};
    bool ok = play_list(r, NULL) && mcp_json_count(calls) > 0;
    while (ok && (call = mcp_json_next(calls, &it, NULL)) != NULL)
        ok = call_tool(r, mcp_json_string(mcp_json_get(call, "name")),
                       mcp_json_get(call, "arguments"));
    return ok;
}

/* Calls what is protected, twice: the second time, other tokens may be needed. */
static bool play_protected(run *r, const mcp_json *what)
{
    return play_calls(r, what) && play_calls(r, what);
}

/* Calls the valid tools of a list with some invalid ones. */
static bool play_valid_tools(run *r, const mcp_json *arguments)
{
    mcp_json_doc *result = list(r, "tools/list");
    const mcp_json *tools = mcp_json_get(result ? mcp_json_root(result) : NULL, "tools"), *tool;
    mcp_json_iter it = {0};
    bool ok = mcp_json_count(tools) > 0 && r->refused > 0;
    while (ok && (tool = mcp_json_next(tools, &it, NULL)) != NULL)
        ok = call_tool(r, mcp_json_string(mcp_json_get(tool, "name")), arguments);
    mcp_json_free(result);
    return ok;
}

/* {"schema": the inputSchema of `tool`, as it was listed}. */
static mcp_json_doc *schema_of(run *r, mcp_str tool)
{
    mcp_json_doc *result = list(r, "tools/list"), *arguments = NULL;
    const mcp_json *tools = mcp_json_get(result ? mcp_json_root(result) : NULL, "tools"), *one;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_iter it = {0};
    while (w && (one = mcp_json_next(tools, &it, NULL)) != NULL) {
        mcp_str text = {0};
        if (!mcp_str_eq(mcp_json_string(mcp_json_get(one, "name")), tool))
            continue;
        mcp_json_begin_object(w);
        mcp_json_key(w, "schema");
        mcp_json_add_value(w, mcp_json_get(one, "inputSchema"));
        mcp_json_end(w);
        if (mcp_json_writer_finish(w, &text) == MCP_OK)
            mcp_json_parse(text, NULL, NULL, &arguments, &r->error);
        break;
    }
    mcp_json_writer_free(w);
    mcp_json_free(result);
    return arguments;
}

/* Sends to one tool the schema of another. */
static bool play_echo_schema(run *r, const mcp_json *what)
{
    mcp_json_doc *arguments = schema_of(r, mcp_json_string(mcp_json_get(what, "of")));
    bool ok = arguments &&
              call_tool(r, mcp_json_string(mcp_json_get(what, "to")), mcp_json_root(arguments));
    mcp_json_free(arguments);
    return ok;
}

/* Calls, reads and gets every listed item. */
static bool play_everything(run *r, const mcp_json *arguments)
{
    static const struct {
        const char *method, *array, *key;
    } lists[] = {{"tools/list", "tools", "name"},
                 {"resources/list", "resources", "uri"},
                 {"prompts/list", "prompts", "name"}};
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT(lists); i++) {
        mcp_json_doc *result = list(r, lists[i].method);
        const mcp_json *all = mcp_json_get(result ? mcp_json_root(result) : NULL, lists[i].array);
        const mcp_json *one;
        mcp_json_iter it = {0};
        ok = mcp_json_count(all) > 0;
        while (ok && (one = mcp_json_next(all, &it, NULL)) != NULL) {
            mcp_str key = mcp_json_string(mcp_json_get(one, lists[i].key));
            char *name = copied(key);
            ok = name && (i == 0   ? call_tool(r, key, arguments)
                          : i == 1 ? read_resource(r, name)
                                   : get_prompt(r, name));
            free(name);
        }
        mcp_json_free(result);
    }
    return ok;
}

#define CALL(tool, arguments) "{\"name\":\"" tool "\",\"arguments\":" arguments "}"

/* If the last column is empty, the context of the scenario is used. "auth/" stands for all names that
 * begin with it. */
static const struct {
    const char *name;
    play_fn *play;
    const char *what;
} scenarios[] = {
    {"initialize", play_list, "{}"},
    {"tools_call", play_calls, "{\"toolCalls\":[" CALL("add_numbers", "{\"a\":5,\"b\":3}") "]}"},
    {"elicitation-sep1034-client-defaults", play_calls,
     "{\"toolCalls\":[" CALL("test_client_elicitation_defaults", "{}") "]}"},
    {"sse-retry", play_calls, "{\"toolCalls\":[" CALL("test_reconnection", "{}") "]}"},
    {"request-metadata", play_list, "{}"},
    {"sep-2322-client-request-state", play_calls,
     "{\"toolCalls\":[" CALL("test_mrtr_echo_state", "{}") "," CALL(
         "test_mrtr_no_state", "{}") "," CALL("test_mrtr_unrelated",
                                              "{}") "," CALL("test_mrtr_no_result_type",
                                                             "{}") "]}"},
    {"http-standard-headers", play_everything, "{}"},
    {"http-custom-headers", play_calls, NULL},
    {"auth/", play_protected, "{\"toolCalls\":[" CALL("test-tool", "{}") "]}"},
    {"http-invalid-tool-headers", play_valid_tools, "{\"region\":\"us-west1\"}"},
    {"json-schema-ref-no-deref", play_list, "{}"},
    {"json-schema-2020-12-preservation", play_echo_schema,
     "{\"of\":\"json_schema_2020_12_tool\",\"to\":\"json_schema_echo\"}"},
};

/* ---- the client ------------------------------------------------------------------------------ */

/* Answers like a user who keeps every default and confirms everything. */
static void fill_in(mcp_client *client, mcp_question *question, void *user)
{
    (void)client, (void)user;
    const mcp_json *fields = mcp_json_get(mcp_question_schema(question), "properties");
    bool confirm = mcp_json_get(fields, "confirmed") != NULL;
    mcp_error error = {0};
    if (mcp_question_accept(question, confirm ? "{\"confirmed\":true}" : NULL, &error) != MCP_OK) {
        fprintf(stderr, "a form: %s\n", error.text);
        mcp_question_cancel(question);
    }
}

/* The suite makes no sampling request, but checks the declared capability. */
static void sample(mcp_client *client, mcp_question *question, void *user)
{
    (void)client, (void)user;
    mcp_question_fail(question, 0, "there is no model here");
}

static void refused(mcp_client *client, mcp_str name, const char *why, void *user)
{
    run *r = user;
    (void)client;
    r->refused++;
    fprintf(stderr, "left out: %.*s: %s\n", (int)name.len, name.ptr, why);
}

static bool applies(const char *row, const char *scenario)
{
    size_t len = strlen(row);
    return len > 0 && row[len - 1] == '/' ? strncmp(row, scenario, len) == 0
                                          : strcmp(row, scenario) == 0;
}

static bool play(const char *scenario, const mcp_json *context, run *r)
{
    size_t i = 0;
    while (i < COUNT(scenarios) && !applies(scenarios[i].name, scenario))
        i++;
    if (i == COUNT(scenarios)) {
        fprintf(stderr, "nothing to do in %s\n", scenario);
        return false;
    }
    mcp_json_doc *doc = NULL;
    if (!scenarios[i].what)
        return scenarios[i].play(r, context);
    if (mcp_json_parse(mcp_str_from(scenarios[i].what), NULL, NULL, &doc, &r->error) != MCP_OK)
        return false;
    bool ok = scenarios[i].play(r, mcp_json_root(doc));
    mcp_json_free(doc);
    return ok;
}

static int connect_client(mcp_loop *loop, const char *url, login *authorization, run *r,
                          mcp_http_client **ret)
{
    const mcp_root root = {.size = sizeof(root), .uri = "file:///home", .name = "home"};
    int rc = mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "libmcp-conformance",
                                        .version = mcp_version(), .elicit_form = fill_in,
                                        .sample = sample, .tool_refused = refused, .user = r,
                                        .probe_ms = PATIENT_MS, .timeout_ms = PATIENT_MS),
                            &r->client, &r->error);
    if (rc == MCP_OK)
        rc = mcp_http_client_connect(loop, r->client,
                                     MCP_OPTIONS(mcp_http_client_options, .url = url,
                                                 .connect_ms = PATIENT_MS,
                                                 .oauth = login_oauth(authorization)),
                                     ret, &r->error);
    return rc == MCP_OK ? mcp_client_set_roots(r->client, &root, 1) : rc;
}

int main(int argc, char **argv)
{
    const char *scenario = getenv("MCP_CONFORMANCE_SCENARIO");
    const char *context = getenv("MCP_CONFORMANCE_CONTEXT");
    if (argc < 2 || !scenario) {
        fputs("usage: MCP_CONFORMANCE_SCENARIO=NAME conformance-client URL\n", stderr);
        return 2;
    }
    run r = {0};
    mcp_loop *loop = NULL;
    mcp_http_client *http = NULL;
    mcp_json_doc *given = NULL;
    login *authorization = NULL;
    int rc = mcp_json_parse(mcp_str_from(context ? context : "{}"), NULL, NULL, &given, &r.error);
    if (rc == MCP_OK)
        rc = mcp_loop_new(NULL, &loop, &r.error);
    if (rc == MCP_OK)
        rc = login_new(loop, argv[argc - 1], scenario, mcp_json_root(given), &authorization,
                       &r.error);
    if (rc == MCP_OK)
        rc = connect_client(loop, argv[argc - 1], authorization, &r, &http);
    if (rc != MCP_OK)
        fprintf(stderr, "conformance-client: %s\n", r.error.text);
    bool ok = rc == MCP_OK && play(scenario, mcp_json_root(given), &r);
    mcp_http_client_close(http);
    login_free(authorization);
    mcp_client_free(r.client);
    mcp_loop_free(loop);
    mcp_json_free(given);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
