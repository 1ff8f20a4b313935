/* asks.c: tools and a prompt that request input from the client: from its user, its model, its
 * roots. */
#include "fixture.h"

static const char name_form[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}";
static const char confirm_form[] =
    "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},\"required\":[\"ok\"]}";
static const char colour_form[] = "{\"type\":\"object\",\"properties\":{\"color\":{\"type\":"
                                  "\"string\"}},\"required\":[\"color\"]}";
static const char contact_form[] =
    "{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\",\"description\":\"The "
    "user's name\"},"
    "\"email\":{\"type\":\"string\",\"description\":\"The user's address\"}},"
    "\"required\":[\"username\",\"email\"]}";
static const char defaults_form[] = "{\"type\":\"object\",\"properties\":{"
                                    "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
                                    "\"age\":{\"type\":\"integer\",\"default\":30},"
                                    "\"score\":{\"type\":\"number\",\"default\":95.5},"
                                    "\"status\":{\"type\":\"string\",\"enum\":[\"active\","
                                    "\"inactive\",\"pending\"],\"default\":\"active\"},"
                                    "\"verified\":{\"type\":\"boolean\",\"default\":true}}}";
static const char enums_form[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
    "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First\"},"
    "{\"const\":\"value2\",\"title\":\"Second\"},{\"const\":\"value3\",\"title\":\"Third\"}]},"
    "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
    "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
    "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
    "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
    "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\",\"title\":"
    "\"First\"},"
    "{\"const\":\"value2\",\"title\":\"Second\"},{\"const\":\"value3\",\"title\":\"Third\"}]}}}}";

static int elicit(mcp_request *req, const char *key, const char *message, const char *schema,
                  mcp_elicited *ret)
{
    return mcp_request_elicit(req, key,
                              MCP_OPTIONS(mcp_elicit, .message = message, .schema = schema), ret);
}

static int sample(mcp_request *req, const char *key, const char *text, const mcp_json **ret)
{
    return mcp_request_sample(req, key, MCP_OPTIONS(mcp_sample, .text = text, .max_tokens = 100),
                              ret);
}

/* ---- one question each ----------------------------------------------------------------------- */

static int call_sampling(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    const mcp_json *result;
    char *prompt = mcp_request_strdup(req, mcp_json_string(mcp_json_get(arguments, "prompt")));
    int rc = prompt ? sample(req, "llm", prompt, &result) : MCP_ENOMEM;
    if (rc != MCP_OK)
        return rc;
    mcp_str text = mcp_sampled_text(result);
    return mcp_reply_textf(req, "LLM response: %.*s", (int)text.len, text.ptr);
}

static int say_answer(mcp_request *req, const mcp_elicited *got)
{
    static const char *const actions[] = {"accept", "decline", "cancel"};
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str text = {0};
    mcp_json_add_value(w, got->content);
    int rc = got->content ? mcp_json_writer_finish(w, &text) : MCP_OK;
    if (rc == MCP_OK)
        rc = mcp_reply_textf(req, "Elicitation completed: action=%s, content=%.*s",
                             actions[got->action], (int)text.len, text.len ? text.ptr : "");
    mcp_json_writer_free(w);
    return rc;
}

static int call_elicitation(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    mcp_elicited got;
    char *message = mcp_request_strdup(req, mcp_json_string(mcp_json_get(arguments, "message")));
    int rc = message ? elicit(req, "contact", message, contact_form, &got) : MCP_ENOMEM;
    return rc == MCP_OK ? say_answer(req, &got) : rc;
}

/* `user` is the form. */
static int call_form(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    mcp_elicited got;
    int rc = elicit(req, "form", "Please fill this in", user, &got);
    return rc == MCP_OK ? say_answer(req, &got) : rc;
}

static int call_greet_asked(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_elicited got;
    int rc = elicit(req, "user_name", "What is your name?", name_form, &got);
    if (rc != MCP_OK)
        return rc;
    mcp_str name = mcp_json_string(mcp_json_get(got.content, "name"));
    return mcp_reply_textf(req, "Hello, %.*s!", (int)name.len, name.len ? name.ptr : "");
}

static int call_capital(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    const mcp_json *result;
    int rc = sample(req, "capital_question", "What is the capital of France?", &result);
    return rc == MCP_OK ? mcp_reply_str(req, mcp_sampled_text(result), NULL) : rc;
}

static int call_roots(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    const mcp_json *roots;
    int rc = mcp_request_roots(req, "client_roots", &roots);
    return rc == MCP_OK ? mcp_reply_textf(req, "The client has %zu roots", mcp_json_count(roots))
                        : rc;
}

static int call_confirm(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_elicited got;
    int rc = elicit(req, "confirm", "Please confirm", confirm_form, &got);
    return rc == MCP_OK ? mcp_reply_text(req, "state-ok") : rc;
}

/* ---- several --------------------------------------------------------------------------------- */

static int call_three(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_elicited name;
    const mcp_json *greeting, *roots;
    const int rcs[] = {elicit(req, "user_name", "What is your name?", name_form, &name),
                       sample(req, "greeting", "Generate a greeting", &greeting),
                       mcp_request_roots(req, "client_roots", &roots)};
    for (size_t i = 0; i < FIXTURE_COUNT(rcs); i++) {
        if (rcs[i] != MCP_OK)
            return rcs[i];
    }
    return mcp_reply_text(req, "Everything was answered.");
}

static int call_rounds(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_elicited first, second;
    int rc = elicit(req, "step1", "Step 1: What is your name?", name_form, &first);
    if (rc == MCP_OK)
        rc = elicit(req, "step2", "Step 2: What is your favourite colour?", colour_form, &second);
    return rc == MCP_OK ? mcp_reply_text(req, "Both steps were answered.") : rc;
}

/* Makes every input request that the client supports. */
static int call_possible(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_elicited name;
    const mcp_json *greeting;
    int rc = MCP_OK;
    if (mcp_request_can(req, "sampling"))
        rc = sample(req, "greeting", "Generate a greeting", &greeting);
    if (rc >= 0 && mcp_request_can(req, "elicitation.form")) {
        int asked = elicit(req, "user_name", "What is your name?", name_form, &name);
        rc = rc == MCP_OK ? asked : rc;
    }
    return rc == MCP_OK ? mcp_reply_text(req, "Whatever could be asked was answered.") : rc;
}

static int get_asking(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_elicited got;
    int rc =
        elicit(req, "user_context", "What is this about?",
               "{\"type\":\"object\",\"properties\":{\"context\":{\"type\":\"string\"}}}", &got);
    if (rc != MCP_OK)
        return rc;
    mcp_str context = mcp_json_string(mcp_json_get(got.content, "context"));
    return mcp_reply_textf(req, "The context is: %.*s", (int)context.len,
                           context.len ? context.ptr : "");
}

/* ---- the lists ------------------------------------------------------------------------------- */

#define TOOL(tool_name, handler, text)                                                          \
    {                                                                                           \
        .size = sizeof(mcp_tool), .name = (tool_name), .call = (handler), .description = (text) \
    }

static const struct {
    mcp_tool tool;
    const char *form;
} tools[] = {
    {{.size = sizeof(mcp_tool),
      .name = "test_sampling",
      .description = "Asks the client's model",
      .input_schema = "{\"type\":\"object\",\"properties\":{\"prompt\":{\"type\":\"string\"}},"
                      "\"required\":[\"prompt\"]}",
      .call = call_sampling},
     NULL},
    {{.size = sizeof(mcp_tool),
      .name = "test_elicitation",
      .description = "Asks the user who he is",
      .input_schema = "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},"
                      "\"required\":[\"message\"]}",
      .call = call_elicitation},
     NULL},
    {TOOL("test_elicitation_sep1034_defaults", call_form, "A form with defaults"), defaults_form},
    {TOOL("test_elicitation_sep1330_enums", call_form, "A form with choices"), enums_form},
    {TOOL("test_input_required_result_elicitation", call_greet_asked, "Asks the user"), NULL},
    {TOOL("test_input_required_result_sampling", call_capital, "Asks the model"), NULL},
    {TOOL("test_input_required_result_list_roots", call_roots, "Asks for the roots"), NULL},
    {TOOL("test_input_required_result_request_state", call_confirm, "Needs its state back"), NULL},
    {TOOL("test_input_required_result_tampered_state", call_confirm, "Needs its state as it was"),
     NULL},
    {TOOL("test_input_required_result_multiple_inputs", call_three, "Asks three things"), NULL},
    {TOOL("test_input_required_result_multi_round", call_rounds, "Asks one after the other"), NULL},
    {TOOL("test_input_required_result_capabilities", call_possible, "Asks what can be asked"),
     NULL},
};

static const mcp_prompt prompt = {.size = sizeof(mcp_prompt),
                                  .name = "test_input_required_result_prompt",
                                  .description = "Asks the user",
                                  .get = get_asking};

int fixture_add_asks(mcp_server *server, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < FIXTURE_COUNT(tools); i++)
        rc = mcp_server_add_tool(server, &tools[i].tool, (void *)(uintptr_t)tools[i].form, error);
    return rc == MCP_OK ? mcp_server_add_prompt(server, &prompt, NULL, error) : rc;
}
