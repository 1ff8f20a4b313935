/* prompt.c: a prompt with arguments, their completion, and a resource embedded in its messages.
 *
 *     mcpctl prompt review language=python framework=flask -- ./prompt
 *     ./prompt --http 127.0.0.1:8642
 *
 * Prompts are for people, who pick them from a menu and fill in the arguments.
 */
#include <mcp/io.h>
#include <stdio.h>

enum { MAX_FRAMEWORKS = 4 };

typedef struct language {
    const char *name, *uri, *guide;
    const char *frameworks[MAX_FRAMEWORKS]; /* the last one is NULL */
} language;

static const language languages[] = {
    {"c", "guide:c", "Check every allocation. One owner for each block.\n", {"gtk", "libuv"}},
    {"perl", "guide:perl", "use strict; use warnings;\n", {"dancer", "mojolicious"}},
    {"python",
     "guide:python",
     "Follow PEP 8. Type hints on public functions.\n",
     {"django", "flask", "fastapi"}},
};
enum { LANGUAGES = sizeof(languages) / sizeof(languages[0]) };

static const language *language_named(mcp_str name)
{
    for (size_t i = 0; i < LANGUAGES; i++) {
        if (mcp_str_eq(name, mcp_str_from(languages[i].name)))
            return &languages[i];
    }
    return NULL;
}

/* ---- prompts/get ----------------------------------------------------------------------------- */

static int review(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str name = mcp_json_string(mcp_json_get(arguments, "language"));
    mcp_str framework = mcp_json_string(mcp_json_get(arguments, "framework"));
    const language *l = language_named(name);
    (void)user;
    if (!l)
        return mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS,
                              "There is no guide for %.*s, only for c, perl and python",
                              (int)name.len, name.ptr);
    mcp_reply_description(req, "A review by the rules of the house");
    mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_RESOURCE, .uri = l->uri,
                                       .mime_type = "text/plain", .text = mcp_str_from(l->guide)));
    mcp_reply_textf(req, "Review this %s code%s%.*s.", l->name,
                    framework.len ? ", which uses " : "", (int)framework.len,
                    framework.len ? framework.ptr : "");
    return mcp_reply_content(req, MCP_OPTIONS(mcp_content, .role = MCP_ROLE_ASSISTANT,
                                              .text = MCP_STR("Show me the code.")));
}

/* ---- completion/complete --------------------------------------------------------------------- */

static void offer(mcp_request *req, const char *candidate, mcp_str begun)
{
    if (begun.len == 0 || strncmp(candidate, begun.ptr, begun.len) == 0)
        mcp_reply_completion(req, mcp_str_from(candidate));
}

/* The frameworks depend on the language, if the client has already sent one. */
static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    mcp_str chosen = mcp_json_string(mcp_json_get(context, "language"));
    bool wants_framework = mcp_str_eq(name, MCP_STR("framework"));
    (void)user;
    for (size_t i = 0; i < LANGUAGES; i++) {
        const language *l = &languages[i];
        if (!wants_framework)
            offer(req, l->name, value);
        else if (!chosen.len || l == language_named(chosen))
            for (const char *const *f = l->frameworks; *f; f++)
                offer(req, *f, value);
    }
    return MCP_OK;
}

static const mcp_prompt_argument review_arguments[] = {
    {.size = sizeof(mcp_prompt_argument),
     .name = "language",
     .description = "c, perl or python",
     .required = true},
    {.size = sizeof(mcp_prompt_argument),
     .name = "framework",
     .description = "What the code is built on"},
};

static const mcp_prompt review_prompt = {
    .size = sizeof(mcp_prompt),
    .name = "review",
    .title = "Review code",
    .description = "Review code by the guide for its language",
    .arguments = review_arguments,
    .n_arguments = sizeof(review_arguments) / sizeof(review_arguments[0]),
    .get = review,
    .complete = complete,
};

/* ---- the server ------------------------------------------------------------------------------ */

/* Resources that a prompt embeds should also be readable. */
static int add_guides(mcp_server *server, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < LANGUAGES; i++)
        rc = mcp_server_add_resource(
            server,
            MCP_OPTIONS(mcp_resource, .uri = languages[i].uri, .name = languages[i].name,
                        .mime_type = "text/plain", .text = languages[i].guide),
            NULL, error);
    return rc;
}

static int serve(mcp_server *server, int argc, char **argv, mcp_error *error)
{
    if (argc == 3 && strcmp(argv[1], "--http") == 0)
        return mcp_serve_http(server, argv[2], NULL, error);
    return mcp_serve_stdio(server, error);
}

int main(int argc, char **argv)
{
    mcp_server *server = NULL;
    mcp_error error = {0};
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "prompt", .version = "1.0"),
                            &server, &error);
    if (rc == MCP_OK)
        rc = mcp_server_add_prompt(server, &review_prompt, NULL, &error);
    if (rc == MCP_OK)
        rc = add_guides(server, &error);
    if (rc == MCP_OK)
        rc = serve(server, argc, argv, &error);
    if (rc != MCP_OK)
        fprintf(stderr, "prompt: %s\n", error.text);
    mcp_server_free(server);
    return rc == MCP_OK ? 0 : 1;
}
