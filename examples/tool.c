/* tool.c: a tool with schemas: the library validates the arguments before the call and the result
 * after it.
 *
 *     mcpctl call --yes convert value=26.2 from=mile to=km -- ./tool
 *     ./tool --http 127.0.0.1:8642
 *
 * The handler reports a mistake that the schema cannot express as a tool error, which tells the
 * model how to correct its call.
 */
#include <mcp/io.h>
#include <stdio.h>

typedef struct unit {
    const char *name, *kind;
    double factor, zero; /* in the base unit of its kind: factor * value + zero */
} unit;

static const unit units[] = {
    {"m", "length", 1, 0},
    {"km", "length", 1000, 0},
    {"mile", "length", 1609.344, 0},
    {"kg", "mass", 1, 0},
    {"pound", "mass", 0.45359237, 0},
    {"celsius", "temperature", 1, 0},
    {"fahrenheit", "temperature", 5.0 / 9, -160.0 / 9},
};

#define UNITS "\"enum\":[\"m\",\"km\",\"mile\",\"kg\",\"pound\",\"celsius\",\"fahrenheit\"]"

static const char input_schema[] =
    "{\"type\":\"object\",\"required\":[\"value\",\"from\",\"to\"],\"properties\":{"
    "\"value\":{\"type\":\"number\"},"
    "\"from\":{\"type\":\"string\"," UNITS "},"
    "\"to\":{\"type\":\"string\"," UNITS "}},"
    "\"additionalProperties\":false}";

static const char output_schema[] =
    "{\"type\":\"object\",\"required\":[\"value\",\"unit\"],\"properties\":{"
    "\"value\":{\"type\":\"number\"},"
    "\"unit\":{\"type\":\"string\"}}}";

/* The schema allows only known names. */
static const unit *unit_named(const mcp_json *name)
{
    const unit *u = units;
    while (!mcp_str_eq(mcp_json_string(name), mcp_str_from(u->name)))
        u++;
    return u;
}

static int reply_quantity(mcp_request *req, double value, const char *unit_name)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_real(w, "value", value);
    mcp_json_put_string(w, "unit", unit_name);
    mcp_json_end(w);
    mcp_str json;
    int rc = mcp_json_writer_finish(w, &json);
    if (rc == MCP_OK)
        rc = mcp_reply_structured(req, json);
    mcp_json_writer_free(w);
    return rc;
}

static int convert(mcp_request *req, const mcp_json *arguments, void *user)
{
    const unit *from = unit_named(mcp_json_get(arguments, "from"));
    const unit *to = unit_named(mcp_json_get(arguments, "to"));
    double value = mcp_json_number(mcp_json_get(arguments, "value"), 0);
    (void)user;
    if (strcmp(from->kind, to->kind) != 0)
        return mcp_reply_tool_error(req, "%s is a unit of %s, but %s is a unit of %s", from->name,
                                    from->kind, to->name, to->kind);
    return reply_quantity(req, (from->factor * value + from->zero - to->zero) / to->factor,
                          to->name);
}

static const mcp_tool convert_tool = {
    .size = sizeof(mcp_tool),
    .name = "convert",
    .title = "Convert units",
    .description = "Convert a length, a mass or a temperature to another unit",
    .input_schema = input_schema,
    .output_schema = output_schema,
    .read_only = MCP_HINT_YES,
    .open_world = MCP_HINT_NO,
    .call = convert,
};

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
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "tool", .version = "1.0"),
                            &server, &error);
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(server, &convert_tool, NULL, &error);
    if (rc == MCP_OK)
        rc = serve(server, argc, argv, &error);
    if (rc != MCP_OK)
        fprintf(stderr, "tool: %s\n", error.text);
    mcp_server_free(server);
    return rc == MCP_OK ? 0 : 1;
}
