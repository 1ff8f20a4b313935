/* fixture_fields.c: a tool whose schemas are described by tables of fields. It returns its
 * arguments. */
#include "fixture.h"

typedef struct trip {
    mcp_str to;
    int64_t days;
    double weight;
    bool back;
    mcp_str tags[2];
    size_t n_tags;
} trip;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const mcp_field asked[] = {
    MCP_STRING_FIELD(trip, to, .title = "To", .one_of = "sea|hills", .required = true),
    MCP_INT_FIELD(trip, days, .description = "7 if missing", .minimum = 1,
                  .maximum = MCP_NO_MAXIMUM),
    MCP_NUMBER_FIELD(trip, weight, .minimum = MCP_NO_MINIMUM, .maximum = 1.5),
    MCP_BOOL_FIELD(trip, back, .title = "And back"),
    MCP_STRINGS_FIELD(trip, tags, n_tags, .max_length = 3, .min_items = 1),
};
static const mcp_field told[] = {
    MCP_STRING_FIELD(trip, to, .required = true),
    MCP_INT_FIELD(trip, days, .required = true),
    MCP_NUMBER_FIELD(trip, weight, .required = true),
    MCP_BOOL_FIELD(trip, back, .required = true),
    MCP_STRINGS_FIELD(trip, tags, n_tags, .required = true),
};

static int plan(mcp_request *req, const mcp_json *arguments, void *user)
{
    trip t = {.days = 7, .weight = 1};
    (void)user;
    mcp_fields_read(asked, COUNT(asked), arguments, &t);
    return mcp_reply_fields(req, told, COUNT(told), &t);
}

int fixture_add_fields(mcp_server *server, mcp_error *error)
{
    return mcp_server_add_tool(server,
                               MCP_OPTIONS(mcp_tool, .name = "plan", .call = plan, .fields = asked,
                                           .n_fields = COUNT(asked), .result_fields = told,
                                           .n_result_fields = COUNT(told)),
                               NULL, error);
}
