/* prompts.c: prompts with each kind of content, and completion of an argument. */
#include "fixture.h"

static int get_simple(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "This is a simple prompt for testing.");
}

static int get_with_arguments(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str one = mcp_json_string(mcp_json_get(arguments, "arg1"));
    mcp_str two = mcp_json_string(mcp_json_get(arguments, "arg2"));
    (void)user;
    return mcp_reply_textf(req, "Prompt with arguments: arg1='%.*s', arg2='%.*s'", (int)one.len,
                           one.ptr, (int)two.len, two.ptr);
}

static int get_with_resource(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    mcp_str given = mcp_json_string(mcp_json_get(arguments, "resourceUri"));
    const char *uri = mcp_request_strdup(req, given);
    if (!uri)
        return MCP_ENOMEM;
    mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_RESOURCE, .uri = uri,
                                       .text = MCP_STR("Embedded resource content for testing."),
                                       .mime_type = "text/plain"));
    return mcp_reply_text(req, "Please process the embedded resource above.");
}

static int get_with_image(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_reply_bytes(req, fixture_png, FIXTURE_PNG_SIZE, "image/png");
    return mcp_reply_text(req, "Please analyze the image above.");
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    static const char *const values[] = {"testValue1", "testValue2", "another value"};
    (void)name, (void)context, (void)user;
    for (size_t i = 0; i < FIXTURE_COUNT(values); i++) {
        mcp_str candidate = mcp_str_from(values[i]);
        if (candidate.len >= value.len &&
            (value.len == 0 || memcmp(candidate.ptr, value.ptr, value.len) == 0))
            mcp_reply_completion(req, candidate);
    }
    return MCP_OK;
}

static const mcp_prompt_argument two_arguments[] = {
    {.size = sizeof(mcp_prompt_argument),
     .name = "arg1",
     .description = "The first",
     .required = true},
    {.size = sizeof(mcp_prompt_argument),
     .name = "arg2",
     .description = "The second",
     .required = true},
};

static const mcp_prompt_argument resource_uri[] = {
    {.size = sizeof(mcp_prompt_argument),
     .name = "resourceUri",
     .description = "The URI that the embedded resource has",
     .required = true},
};

static const mcp_prompt prompts[] = {
    {.size = sizeof(mcp_prompt),
     .name = "test_simple_prompt",
     .description = "One message, no arguments",
     .get = get_simple},
    {.size = sizeof(mcp_prompt),
     .name = "test_prompt_with_arguments",
     .description = "Says its two arguments again",
     .arguments = two_arguments,
     .n_arguments = FIXTURE_COUNT(two_arguments),
     .get = get_with_arguments,
     .complete = complete},
    {.size = sizeof(mcp_prompt),
     .name = "test_prompt_with_embedded_resource",
     .description = "A resource in a message",
     .arguments = resource_uri,
     .n_arguments = FIXTURE_COUNT(resource_uri),
     .get = get_with_resource},
    {.size = sizeof(mcp_prompt),
     .name = "test_prompt_with_image",
     .description = "A picture in a message",
     .get = get_with_image},
};

int fixture_add_prompts(mcp_server *server, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < FIXTURE_COUNT(prompts); i++)
        rc = mcp_server_add_prompt(server, &prompts[i], NULL, error);
    return rc;
}

int fixture_change_prompts(mcp_server *server)
{
    static const mcp_prompt passing = {.size = sizeof(mcp_prompt),
                                       .name = "test_passing_prompt",
                                       .description = "There for a moment only",
                                       .get = get_simple};
    int rc = mcp_server_add_prompt(server, &passing, NULL, NULL);
    return rc == MCP_OK ? mcp_server_remove_prompt(server, passing.name) : rc;
}
