/* query_tool.c: see query_tool.h. */
#include "query_tool.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "mounting.h"

/* ---- registration ---------------------------------------------------------------------------- */

enum { LONGEST_NAME = 64 /* the limit of the strictest model API */ };

static const char output_schema[] =
    "{\"type\":\"object\",\"required\":[\"columns\",\"rows\",\"truncated\"],\"properties\":{"
    "\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
    "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{}}},"
    "\"truncated\":{\"type\":\"boolean\",\"description\":\"There are more rows\"}}}";

static bool put_input(common_buffer *to, const common_query_tool *t)
{
    const char *const parts[] = {
        "{\"type\":\"object\",\"required\":[\"sql\"],\"additionalProperties\":false,"
        "\"properties\":{\"sql\":{\"type\":\"string\",\"description\":\"One read-only statement "
        "in ",
        t->product,
        "'s SQL: ",
        t->reads,
        "\"},\"parameters\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
        "\"description\":\"Values for ",
        t->places,
        ", as strings\"},\"parameters_json\":{\"type\":\"string\",\"description\":\"Instead of "
        "parameters: ",
        t->json,
        "\"},\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Rows; "
        "default 100\"}}}"};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof(parts) / sizeof(*parts); i++)
        ok = common_put(to, parts[i]);
    return ok && common_buffer_append(to, "", 1) == MCP_OK;
}

/* Makes a name such as "query_sqlite_shop". Characters that not every model API
 * allows become "_". */
static void default_name(const common_query_tool *t, char name[LONGEST_NAME + 1])
{
    snprintf(name, LONGEST_NAME + 1, "query_%.10s_%.40s", t->module, t->database);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
            *p = '_';
}

int common_query_tool_add(const common_query_tool *t, common_offer offer,
                          const mcp_allocator *alloc, mcp_error *error)
{
    char made[LONGEST_NAME + 1], title[200], about[900];
    const char *name = t->given ? t->given : made;
    common_buffer input;
    default_name(t, made);
    snprintf(title, sizeof(title), "Query the %s database %.80s", t->product, t->database);
    snprintf(
        about, sizeof(about),
        "Runs one read-only SQL statement in the %s database %.80s. Look at its tables first: read "
        "the resource %.200s?format=text, with read_resource if there is this tool, or run %.200s",
        t->product, t->database, t->prefix, t->tables);
    common_buffer_init(&input, alloc);
    int rc = put_input(&input, t)
                 ? common_offer_tool(
                       offer,
                       MCP_OPTIONS(mcp_tool, .name = name, .title = title, .description = about,
                                   .input_schema = input.ptr, .output_schema = output_schema,
                                   .read_only = MCP_HINT_YES, .destructive = MCP_HINT_NO,
                                   .idempotent = MCP_HINT_YES, .open_world = MCP_HINT_NO,
                                   .call = t->call),
                       t->user, error)
                 : MCP_ENOMEM;
    common_buffer_free(&input);
    if (rc == MCP_EEXIST) {
        char why[200];
        snprintf(why, sizeof(why),
                 "another source has the tool %.64s; rename one of them: ?name=NAME, or "
                 "?tool=TOOL for its tool alone",
                 name);
        return common_refuse(error, rc, t->database, why);
    }
    return rc;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int refuse(char why[200], const char *text)
{
    snprintf(why, 200, "%s", text);
    return MCP_EINVAL;
}

static int check_values(const mcp_json *values, bool names, char why[200])
{
    if (!values || mcp_json_is(values, MCP_JSON_ARRAY)) {
        if (mcp_json_count(values) > COMMON_QUERY_VALUES)
            return refuse(why, "At most 64 parameters are allowed");
        return MCP_OK;
    }
    if (names && mcp_json_is(values, MCP_JSON_OBJECT))
        return MCP_OK;
    return refuse(why, names ? "parameters_json must be the JSON text of an array or an object"
                             : "parameters_json must be the JSON text of an array");
}

int common_query_tool_values(const mcp_json *arguments, const mcp_allocator *alloc, bool names,
                             mcp_json_doc **doc, const mcp_json **ret, char why[200])
{
    mcp_str text = mcp_json_string(mcp_json_get(arguments, "parameters_json"));
    *doc = NULL;
    *ret = mcp_json_get(arguments, "parameters");
    if (!text.len)
        return check_values(*ret, names, why);
    if (mcp_json_count(*ret))
        return refuse(why, "Give the values in parameters or in parameters_json, not in both");
    int rc = mcp_json_parse(text, NULL, alloc, doc, NULL);
    if (rc == MCP_EPARSE || rc == MCP_ELIMIT)
        return refuse(why, "parameters_json is not JSON: write it like [1, null, \"text\"]");
    if (rc != MCP_OK)
        return rc;
    *ret = mcp_json_root(*doc);
    rc = check_values(*ret, names, why);
    if (rc != MCP_OK) {
        mcp_json_free(*doc);
        *doc = NULL;
    }
    return rc;
}

size_t common_query_tool_limit(const mcp_json *arguments, size_t most)
{
    int64_t limit = mcp_json_int(mcp_json_get(arguments, "limit"), COMMON_QUERY_ROWS);
    return limit < (int64_t)most ? (size_t)limit : most;
}
