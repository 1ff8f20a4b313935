/* query_tool.c: see query_tool.h. */
#define _GNU_SOURCE
#include "query_tool.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "mounting.h"
#include "structured.h"

/* ---- registration ---------------------------------------------------------------------------- */

enum { LONGEST_NAME = 64 /* the limit of the strictest model API */ };

static const char output_schema[] =
    "{\"type\":\"object\",\"required\":[\"columns\",\"rows\",\"truncated\"],\"properties\":{"
    "\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
    "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{}}},"
    "\"truncated\":{\"type\":\"boolean\",\"description\":\"There are more rows\"},"
    "\"note\":{\"type\":\"string\",\"description\":\"How to go on\"}}}";

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
        "default 100\"},\"offset\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000000000,"
        "\"description\":\"Rows to "
        "skip\"},\"max_tokens\":{\"type\":\"integer\",\"description\":\"Size of "
        "the answer\"}",
        t->explain ? ",\"explain\":{\"type\":\"boolean\",\"description\":\"The plan instead of "
                     "the rows; the query is not run\"}"
                   : "",
        "}}"};
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
        "the resource %.200s?format=text, or query %.200s",
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

size_t common_query_tool_offset(const mcp_json *arguments)
{
    int64_t offset = mcp_json_int(mcp_json_get(arguments, "offset"), 0);
    return offset > 0 ? (size_t)offset : 0;
}

size_t common_query_tool_bytes(const mcp_request *req, const mcp_json *arguments, size_t tokens)
{
    return common_answer_bytes(arguments, tokens) / (common_reads_structured(req) ? 1 : 2);
}

size_t common_query_tool_value(size_t bytes, size_t n, size_t most)
{
    enum { LEAST = 64 };
    size_t share = bytes / (n ? n : 1);
    return share < LEAST ? LEAST : share < most ? share : most;
}

size_t common_query_tool_size(mcp_str value, size_t longest)
{
    enum { AROUND = 3 /* quotes and comma */, OBJECT = 50 };
    bool cut = value.len > longest;
    size_t around = cut ? AROUND + OBJECT : AROUND;
    return around + common_json_bytes((mcp_str){value.ptr, cut ? longest : value.len});
}

/* ---- replies --------------------------------------------------------------------------------- */

/* Writes the arguments that show the next rows. */
static int put_next(common_buffer *to, const mcp_allocator *alloc, const mcp_json *arguments,
                    size_t offset)
{
    mcp_str key, json;
    mcp_json_iter it = {0};
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(arguments, &it, &key)) != NULL;) {
        if (mcp_str_eq(key, MCP_STR("offset")))
            continue;
        mcp_json_key_str(w, key);
        mcp_json_add_value(w, v);
    }
    mcp_json_put_uint(w, "offset", offset);
    mcp_json_end(w);
    int rc = w ? mcp_json_writer_finish(w, &json) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = common_buffer_append(to, json.ptr, json.len);
    if (rc == MCP_OK)
        rc = common_buffer_append(to, "", 1);
    mcp_json_writer_free(w);
    return rc;
}

/* Says which rows these are, and the call that shows the next ones. A long statement is not repeated.
 * Returns NULL if there is no memory. */
static const char *say_next(mcp_request *req, const mcp_json *arguments, const char *next,
                            size_t rows)
{
    enum { LONGEST = 2000 };
    size_t from = common_query_tool_offset(arguments);
    mcp_str tool = mcp_json_string(mcp_json_get(mcp_request_params(req), "name"));
    const char *sql = mcp_json_string(mcp_json_get(arguments, "sql")).ptr;
    bool ordered = sql && strcasestr(sql, "order by"), is_long = strlen(next) > LONGEST;
    size_t room = tool.len + LONGEST + 300;
    char *text = mcp_request_alloc(req, room);
    if (!text)
        return NULL;
    int n = snprintf(text, room, "Rows %zu to %zu; there are more%s. ", from + 1, from + rows,
                     ordered ? "" : ", in an order of their own without ORDER BY");
    if (is_long)
        snprintf(text + n, room - (size_t)n, "Go on with the same arguments and offset %zu.",
                 from + rows);
    else
        snprintf(text + n, room - (size_t)n, "Go on with %.*s %s", (int)tool.len, tool.ptr, next);
    return text;
}

static int put_hint(mcp_request *req, const char *text, const char *next)
{
    mcp_str tool = mcp_json_string(mcp_json_get(mcp_request_params(req), "name"));
    size_t room = tool.len + strlen(next) + 60;
    char *meta = mcp_request_alloc(req, room);
    if (!meta)
        return MCP_ENOMEM;
    snprintf(meta, room, "{\"libmcp/next\":{\"name\":\"%.*s\",\"arguments\":%s}}", (int)tool.len,
             tool.ptr, next);
    return mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_TEXT,
                                              .text = mcp_str_from(text), .meta = meta));
}

/* A client that shows its model the structured content alone gets the rows and the hint there. Without a
 * next call the hint is only a text. */
static int reply_rows(mcp_request *req, mcp_json_writer *w, const char *hint, const char *next)
{
    mcp_str json;
    bool structured = common_reads_structured(req);
    if (hint && structured)
        mcp_json_put_string(w, "note", hint);
    mcp_json_end(w);
    int rc = mcp_json_writer_finish(w, &json);
    if (rc == MCP_OK)
        rc = structured ? mcp_reply_text(req, "See the structured content.")
                        : mcp_reply_str(req, json, NULL);
    if (rc == MCP_OK && hint && !structured)
        rc = next ? put_hint(req, hint, next) : mcp_reply_text(req, hint);
    return rc == MCP_OK ? mcp_reply_structured(req, json) : rc;
}

int common_query_tool_explained(mcp_request *req, mcp_json_writer *w, const char *sentence)
{
    mcp_json_put_bool(w, "truncated", false);
    return reply_rows(req, w, sentence, NULL);
}

bool common_query_tool_explains(const mcp_json *arguments)
{
    return mcp_json_bool(mcp_json_get(arguments, "explain"), false);
}

int common_query_tool_reply(mcp_request *req, const mcp_allocator *alloc, const mcp_json *arguments,
                            mcp_json_writer *w, size_t rows, bool more)
{
    common_buffer next;
    const char *hint = NULL;
    common_buffer_init(&next, alloc);
    int rc = MCP_OK;
    mcp_json_put_bool(w, "truncated", more);
    if (more) {
        rc = put_next(&next, alloc, arguments, common_query_tool_offset(arguments) + rows);
        hint = rc == MCP_OK ? say_next(req, arguments, next.ptr, rows) : NULL;
        rc = hint ? MCP_OK : MCP_ENOMEM;
    }
    if (rc == MCP_OK)
        rc = reply_rows(req, w, hint, next.ptr);
    common_buffer_free(&next);
    return rc;
}
