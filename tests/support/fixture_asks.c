/* fixture_asks.c: a tool for each kind of input request, and a prompt and a resource that also
 * request input. */
#include "fixture.h"

#include <stdio.h>

#include <mcp/input.h>

static const mcp_elicit name_form = {
    .size = sizeof(mcp_elicit),
    .message = "Who are you?",
    .schema =
        "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"title\":\"Name\","
        "\"default\":\"Ada\"}},\"required\":[\"name\"]}"};
static const mcp_elicit choice_form = {
    .size = sizeof(mcp_elicit),
    .message = "Which?",
    .schema =
        "{\"type\":\"object\",\"properties\":{\"one\":{\"type\":\"string\",\"oneOf\":"
        "[{\"const\":\"a\",\"title\":\"A\"},{\"const\":\"b\",\"title\":\"B\"}],\"default\":\"a\"},"
        "\"sure\":{\"type\":\"boolean\",\"default\":true}}}"};
static const mcp_elicit list_form = {
    .size = sizeof(mcp_elicit),
    .message = "Which ones?",
    .schema = "{\"type\":\"object\",\"properties\":{\"all\":{\"type\":\"array\",\"items\":"
              "{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}}}}"};
static const mcp_elicit nested_form = {
    .size = sizeof(mcp_elicit),
    .message = "No",
    .schema = "{\"type\":\"object\",\"properties\":{\"all\":{\"type\":\"object\"}}}"};
static const mcp_elicit url = {
    .size = sizeof(mcp_elicit), .message = "Log in", .url = "https://example.com/login"};
static const mcp_elicit named_url = {.size = sizeof(mcp_elicit),
                                     .message = "Log in",
                                     .url = "https://example.com/login",
                                     .elicitation_id = "login-1"};
static const mcp_elicit no_url = {.size = sizeof(mcp_elicit), .message = "Log in", .url = "login"};

static const char *const actions[] = {"accept", "decline", "cancel"};

static int say(mcp_request *req, const mcp_elicited *got)
{
    char text[128] = "nothing";
    if (got->content) {
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        mcp_str s = {0};
        mcp_json_add_value(w, got->content);
        if (mcp_json_writer_finish(w, &s) == MCP_OK)
            snprintf(text, sizeof(text), "%.*s", (int)s.len, s.ptr);
        mcp_json_writer_free(w);
    }
    return mcp_reply_textf(req, "%s %s", actions[got->action], text);
}

/* `user` is the mcp_elicit that describes the request. */
static int elicits(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited got;
    (void)arguments;
    int rc = mcp_request_elicit(req, "it", user, &got);
    return rc == MCP_OK ? say(req, &got) : rc;
}

static int elicits_first(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return mcp_request_elicit_first(req, "login", user);
}

static int samples(mcp_request *req, const mcp_json *arguments, void *user)
{
    const mcp_json *got;
    (void)arguments;
    int rc = mcp_request_sample(req, "model", user, &got);
    if (rc != MCP_OK)
        return rc;
    mcp_str text = mcp_sampled_text(got);
    return mcp_reply_str(req, text, NULL);
}

static int lists_roots(mcp_request *req, const mcp_json *arguments, void *user)
{
    const mcp_json *roots;
    (void)arguments, (void)user;
    int rc = mcp_request_roots(req, "roots", &roots);
    return rc == MCP_OK ? mcp_reply_textf(req, "%zu", mcp_json_count(roots)) : rc;
}

/* Requests three inputs in one round and another one in the next, with a request state, and with an
 * action that must run once. */
static int asks_rounds(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited name, choice;
    const mcp_json *roots, *model;
    int *once = user;
    (void)arguments;
    if (mcp_request_once(req, "count"))
        ++*once;
    int a = mcp_request_elicit(req, "name", &name_form, &name);
    int b = mcp_request_roots(req, "roots", &roots);
    int c = mcp_request_sample(req, "model",
                               MCP_OPTIONS(mcp_sample, .text = "Hello?", .max_tokens = 9), &model);
    int rc = a < 0 ? a : b < 0 ? b : c;
    if (rc != MCP_OK || a != MCP_OK || b != MCP_OK)
        return rc < 0 ? rc : MCP_INPUT_REQUIRED;
    mcp_str state = mcp_request_state(req);
    if (!state.len)
        mcp_request_set_state(req, MCP_STR("second"));
    rc = mcp_request_elicit(req, "choice", &choice_form, &choice);
    if (rc != MCP_OK)
        return rc;
    mcp_str who = mcp_json_string(mcp_json_get(name.content, "name"));
    return mcp_reply_textf(req, "%.*s, %zu, %.*s, %s", (int)who.len, who.ptr, mcp_json_count(roots),
                           (int)state.len, state.len ? state.ptr : "", actions[choice.action]);
}

static int goes_on_without(mcp_request *req, const mcp_json *arguments, void *user)
{
    const mcp_json *got;
    (void)arguments, (void)user;
    if (!mcp_request_can(req, "sampling"))
        return mcp_reply_text(req, "no model");
    int rc = mcp_request_sample(req, "model",
                                MCP_OPTIONS(mcp_sample, .text = "Hello?", .max_tokens = 9), &got);
    return rc == MCP_EREMOTE ? mcp_reply_text(req, "no answer") : rc;
}

static int asks_nothing(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)req, (void)arguments, (void)user;
    return MCP_INPUT_REQUIRED;
}

static int prompt_asks(mcp_request *req, const mcp_json *arguments, void *user)
{
    return elicits(req, arguments, user);
}

static int read_asks(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match;
    return elicits(req, NULL, user);
}

static const mcp_sample simple_sample = {
    .size = sizeof(mcp_sample), .text = "Hello?", .max_tokens = 9};
static const mcp_sample full_sample = {
    .size = sizeof(mcp_sample),
    .messages = "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
                "{\"type\":\"text\",\"text\":\"b\"}]},"
                "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"c\"}}]",
    .max_tokens = 100,
    .system_prompt = "Be short.",
    .has_temperature = true,
    .temperature = 0.5,
    .stop_sequences = "[ \"END\" ]",
    .model_preferences = "{\"speedPriority\": 1}"};
static const mcp_sample tools_sample = {
    .size = sizeof(mcp_sample),
    .text = "Weather?",
    .max_tokens = 9,
    .tools = "[{\"name\":\"weather\",\"inputSchema\":{\"type\":\"object\"}}]",
    .tool_choice = "{\"mode\":\"required\"}"};
static const mcp_sample choice_sample = {.size = sizeof(mcp_sample),
                                         .text = "Weather?",
                                         .max_tokens = 9,
                                         .tool_choice = "{\"mode\":\"none\"}"};
static const mcp_sample wrong_sample = {.size = sizeof(mcp_sample), .text = "Hello?"};

static int once_count;

#define TOOL(tool_name, handler)                                                            \
    {                                                                                       \
        .size = sizeof(mcp_tool), .name = tool_name, .description = "Asks", .call = handler \
    }

static const struct {
    mcp_tool tool;
    const void *user;
} tools[] = {
    {TOOL("name", elicits), &name_form},
    {TOOL("choice", elicits), &choice_form},
    {TOOL("list", elicits), &list_form},
    {TOOL("nested", elicits), &nested_form},
    {TOOL("url", elicits), &url},
    {TOOL("named_url", elicits), &named_url},
    {TOOL("no_url", elicits), &no_url},
    {TOOL("first", elicits_first), &named_url},
    {TOOL("sample", samples), &simple_sample},
    {TOOL("full_sample", samples), &full_sample},
    {TOOL("tools_sample", samples), &tools_sample},
    {TOOL("choice_sample", samples), &choice_sample},
    {TOOL("wrong_sample", samples), &wrong_sample},
    {TOOL("list_roots", lists_roots), NULL},
    {TOOL("rounds", asks_rounds), &once_count},
    {TOOL("optional", goes_on_without), NULL},
    {TOOL("nothing", asks_nothing), NULL},
    {TOOL("forward", fixture_forwards), NULL},
};

int fixture_add_asks(mcp_server *server, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < sizeof(tools) / sizeof(tools[0]); i++)
        rc = mcp_server_add_tool(server, &tools[i].tool, (void *)(uintptr_t)tools[i].user, error);
    if (rc == MCP_OK)
        rc = mcp_server_add_prompt(server,
                                   MCP_OPTIONS(mcp_prompt, .name = "asking", .get = prompt_asks),
                                   (void *)(uintptr_t)&name_form, error);
    if (rc == MCP_OK)
        rc = mcp_server_add_resource(
            server,
            MCP_OPTIONS(mcp_resource, .uri = "asking:/it", .name = "asking", .read = read_asks),
            (void *)(uintptr_t)&name_form, error);
    once_count = 0;
    return rc;
}

int fixture_once_count(void)
{
    return once_count;
}
