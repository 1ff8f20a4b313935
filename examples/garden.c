/* garden.c: a provider, a template with completion, a prompt, and a tool with schemas, a question, progress and cancellation.
 *
 *     mcpctl call --yes water bed=herbs litres=3 -- ./garden
 *     ./garden --http 127.0.0.1:8642
 */
#include <mcp/input.h>
#include <mcp/io.h>
#include <stdio.h>

static const char *const beds[] = {"herbs", "roots"};
static int litres_of[] = {0, 0};

static int number_of(mcp_str bed)
{
    return mcp_str_eq(bed, MCP_STR("herbs")) ? 0 : mcp_str_eq(bed, MCP_STR("roots")) ? 1 : -1;
}

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)cursor, (void)max, (void)user;
    mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = "garden:herbs", .name = "herbs"));
    return mcp_reply_resource(req,
                              MCP_OPTIONS(mcp_resource, .uri = "garden:roots", .name = "roots"));
}

static int read_bed(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    mcp_str bed;
    (void)uri, (void)user;
    int i = mcp_uri_match_get(match, "bed", &bed) ? number_of(bed) : -1;
    return i < 0 ? MCP_ENOTFOUND : mcp_reply_textf(req, "%d litres today", litres_of[i]);
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    (void)name, (void)context, (void)user;
    for (size_t i = 0; i < 2; i++) {
        if (!value.len || strncmp(beds[i], value.ptr, value.len) == 0)
            mcp_reply_completion(req, mcp_str_from(beds[i]));
    }
    return MCP_OK;
}

typedef struct watering {
    mcp_str bed;
    int64_t litres, poured;
    bool flood;
} watering;

static const mcp_field asked[] = {
    MCP_STRING_FIELD(watering, bed, .one_of = "herbs|roots", .required = true),
    MCP_INT_FIELD(watering, litres, .description = "10 if missing", .minimum = 1, .maximum = 50)};
static const mcp_field sure[] = {MCP_BOOL_FIELD(watering, flood, .title = "All of it?")};
static const mcp_field told[] = {MCP_INT_FIELD(watering, poured, .required = true)};

static int pour(mcp_request *req, void *user)
{
    watering *w = user;
    litres_of[number_of(w->bed)]++;
    mcp_request_progress(req, (double)++w->poured, (double)w->litres, "pouring");
    return w->poured < w->litres ? MCP_PENDING : mcp_reply_fields(req, told, 1, w);
}

static int water(mcp_request *req, const mcp_json *arguments, void *user)
{
    const mcp_elicit *question =
        MCP_OPTIONS(mcp_elicit, .message = "A flood!", .fields = sure, .n_fields = 1);
    mcp_elicited answer = {.content = NULL};
    watering *w = mcp_request_alloc(req, sizeof(*w));
    (void)user;
    if (!w)
        return MCP_ENOMEM;
    *w = (watering){.litres = 10};
    mcp_fields_read(asked, 2, arguments, w);
    int rc = w->litres > 20 ? mcp_request_elicit(req, "sure", question, &answer) : MCP_OK;
    mcp_fields_read(sure, 1, answer.content, w);
    if (rc == MCP_OK && w->litres > 20 && !w->flood)
        return mcp_reply_tool_error(req, "The user wants no flood: 20 litres at the most");
    return rc == MCP_OK ? mcp_request_repeat(req, 100, pour, w) : rc;
}

static int advise(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str bed = mcp_json_string(mcp_json_get(arguments, "bed"));
    return (void)user, mcp_reply_textf(req, "Does garden:%.*s want water?", (int)bed.len, bed.ptr);
}

int main(int argc, char **argv)
{
    static const mcp_prompt_argument bed = {.size = sizeof(bed), .name = "bed", .required = true};
    mcp_server *s = NULL;
    mcp_error error = {0};
    const mcp_server_options *options =
        MCP_OPTIONS(mcp_server_options, .name = "garden", .version = "1");
    const mcp_provider *provider = MCP_OPTIONS(mcp_provider, .name = "beds", .list = list);
    const mcp_resource_template *template =
        MCP_OPTIONS(mcp_resource_template, .uri_template = "garden:{bed}", .name = "bed",
                    .read = read_bed, .complete = complete);
    const mcp_prompt *prompt = MCP_OPTIONS(mcp_prompt, .name = "advise", .arguments = &bed,
                                           .n_arguments = 1, .get = advise, .complete = complete);
    const mcp_tool *tool =
        MCP_OPTIONS(mcp_tool, .name = "water", .description = "Water a bed", .fields = asked,
                    .n_fields = 2, .result_fields = told, .n_result_fields = 1, .call = water);
    if (mcp_server_new(options, &s, &error) == MCP_OK &&
        mcp_server_mount(s, "garden:", provider, NULL, &error) == MCP_OK &&
        mcp_server_add_template(s, template, NULL, &error) == MCP_OK &&
        mcp_server_add_prompt(s, prompt, NULL, &error) == MCP_OK &&
        mcp_server_add_tool(s, tool, NULL, &error) == MCP_OK)
        (void)(argc == 3 ? mcp_serve_http(s, argv[2], NULL, &error) : mcp_serve_stdio(s, &error));
    if (error.code)
        fprintf(stderr, "garden: %s\n", error.text);
    mcp_server_free(s);
    return error.code != MCP_OK;
}
