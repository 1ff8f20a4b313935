/* resources.c: a text resource, a binary resource, one to subscribe to, and a template. */
#include "fixture.h"

static int read_binary(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_bytes(req, fixture_png, FIXTURE_PNG_SIZE, NULL);
}

static int read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)user;
    mcp_str id = {0}, text;
    mcp_uri_match_get(match, "id", &id);
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_str(w, "id", id);
    mcp_json_put_bool(w, "templateTest", true);
    mcp_json_end(w);
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK)
        rc = mcp_reply_str(req, text, NULL);
    mcp_json_writer_free(w);
    return rc;
}

static const mcp_resource resources[] = {
    {.size = sizeof(mcp_resource),
     .uri = "test://static-text",
     .name = "static-text",
     .description = "A text that stays the same",
     .mime_type = "text/plain",
     .text = "This is the content of the static text resource."},
    {.size = sizeof(mcp_resource),
     .uri = "test://static-binary",
     .name = "static-binary",
     .description = "A picture of one pixel",
     .mime_type = "image/png",
     .read = read_binary},
    {.size = sizeof(mcp_resource),
     .uri = "test://watched-resource",
     .name = "watched-resource",
     .description = "One to subscribe to",
     .mime_type = "text/plain",
     .text = "This is the content of the watched resource."},
};

static const mcp_resource_template by_id = {.size = sizeof(mcp_resource_template),
                                            .uri_template = "test://template/{id}/data",
                                            .name = "template",
                                            .description = "Says the id that it was asked for",
                                            .mime_type = "application/json",
                                            .read = read_template};

int fixture_add_resources(mcp_server *server, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < FIXTURE_COUNT(resources); i++)
        rc = mcp_server_add_resource(server, &resources[i], NULL, error);
    return rc == MCP_OK ? mcp_server_add_template(server, &by_id, NULL, error) : rc;
}
