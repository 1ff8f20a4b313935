/* as_text.c: formats an answer as lines for users and models (?format=text). The text is generated
 * from the JSON answer, so that both have the same contents.
 *
 * A scalar member becomes a line "NAME: VALUE". An array of objects has one line for each object,
 * with the columns below, "-" for null; an array of strings in it follows in indented lines. A
 * string of several lines follows an empty line. Control characters become "?", so that each entry is one line.
 */
#include "provider.h"

#include <stdio.h>

#include "table_text.h"

enum { COLUMNS = 7 };

static const struct {
    const char *array, *column[COLUMNS];
} tables[] = {
    {"entries", {"mode", "type", "id", "name", "uri"}},
    {"commits", {"id", "author.time", "committer.time", "author.name", "subject"}},
    {"parents", {"id", "uri", "diff"}},
    {"branches", {"id", "name", "uri"}},
    {"tags", {"id", "name", "uri"}},
    {"ranges", {"line", "lines", "commit", "author.time", "author.name", "subject"}},
    {"matches", {"at", "text", "uri"}},
    {"files", {"staged", "unstaged", "added", "removed", "path"}},
};

static bool put(common_buffer *to, mcp_str text)
{
    return common_buffer_append(to, text.ptr, text.len) == MCP_OK;
}

static bool put_line(common_buffer *to, mcp_str text)
{
    bool ok = true;
    for (size_t i = 0; ok && i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        char plain = c < ' ' && c != '\t' ? '?' : c == 0x7f ? '?' : text.ptr[i];
        ok = common_buffer_append(to, &plain, 1) == MCP_OK;
    }
    return ok;
}

static bool put_value(common_buffer *to, const mcp_json *v)
{
    char number[32];
    switch (mcp_json_typeof(v)) {
    case MCP_JSON_STRING: return put_line(to, mcp_json_string(v));
    case MCP_JSON_BOOL: return common_put(to, mcp_json_bool(v, false) ? "yes" : "no");
    case MCP_JSON_NULL: return common_put(to, "none");
    case MCP_JSON_INT:
        snprintf(number, sizeof(number), "%lld", (long long)mcp_json_int(v, 0));
        return common_put(to, number);
    default: return true;
    }
}

/* Returns the member `name`; "a.b" is the member b of the member a. */
static const mcp_json *member(const mcp_json *object, const char *name)
{
    char first[32];
    const char *dot = strchr(name, '.');
    if (!dot)
        return mcp_json_get(object, name);
    snprintf(first, sizeof(first), "%.*s", (int)(dot - name), name);
    return mcp_json_get(mcp_json_get(object, first), dot + 1);
}

/* Writes an array of strings in a row, each as a line of its own. */
static bool put_lines(common_buffer *to, const mcp_json *array)
{
    bool ok = true;
    for (size_t i = 0; ok && i < mcp_json_count(array); i++)
        ok = common_put(to, "    ") && put_value(to, mcp_json_at(array, i)) && common_put(to, "\n");
    return ok;
}

static bool put_row(common_buffer *to, const mcp_json *row, const char *const column[COLUMNS])
{
    bool ok = true, some = false;
    for (size_t i = 0; ok && i < COLUMNS && column[i]; i++) {
        const mcp_json *v = member(row, column[i]);
        if (!v)
            continue;
        ok = (!some || common_put(to, "  ")) &&
             (mcp_json_typeof(v) == MCP_JSON_NULL ? common_put(to, "-") : put_value(to, v));
        some = true;
    }
    mcp_json_iter iter = {0};
    mcp_str key;
    ok = ok && common_put(to, "\n");
    for (const mcp_json *v; ok && (v = mcp_json_next(row, &iter, &key));)
        ok = mcp_json_typeof(v) != MCP_JSON_ARRAY || put_lines(to, v);
    if (mcp_json_bool(mcp_json_get(row, "filesTruncated"), false))
        ok = ok && common_put(to, "    ...\n");
    return ok;
}

static bool put_table(common_buffer *to, mcp_str key, const mcp_json *array)
{
    static const char *const nothing[COLUMNS] = {NULL};
    const char *const *column = nothing;
    bool ok = put(to, key) && common_put(to, ":\n");
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        if (mcp_str_eq(key, mcp_str_from(tables[i].array)))
            column = tables[i].column;
    for (size_t i = 0; ok && i < mcp_json_count(array); i++)
        ok = put_row(to, mcp_json_at(array, i), column);
    return ok;
}

/* Writes a person as "A <B>, C", and similar objects. */
static bool put_object(common_buffer *to, const mcp_json *object)
{
    mcp_json_iter iter = {0};
    mcp_str key;
    const mcp_json *v;
    bool ok = true, some = false;
    while (ok && (v = mcp_json_next(object, &iter, &key))) {
        bool email = mcp_str_eq(key, MCP_STR("email"));
        ok = common_put(to, email  ? " <"
                            : some ? ", "
                                   : "") &&
             put_value(to, v) && common_put(to, email ? ">" : "");
        some = true;
    }
    return ok;
}

static bool put_member(common_buffer *to, mcp_str key, const mcp_json *v)
{
    mcp_str text = mcp_json_string(v);
    if (mcp_json_typeof(v) == MCP_JSON_ARRAY)
        return put_table(to, key, v);
    if (text.len && memchr(text.ptr, '\n', text.len))
        return put(to, key) && common_put(to, ":\n\n") && put(to, text) && common_put(to, "\n");
    return put(to, key) && common_put(to, ": ") &&
           (mcp_json_typeof(v) == MCP_JSON_OBJECT ? put_object(to, v) : put_value(to, v)) &&
           common_put(to, "\n");
}

bool repo_job_format(repo_job *j)
{
    char why[300];
    mcp_str value = j->target.param[REPO_PARAM_FORMAT];
    if (common_table_format(value.ptr ? &value : NULL, &j->as_text, why))
        return true;
    repo_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    return false;
}

int repo_job_to_text(repo_job *j)
{
    mcp_str json;
    mcp_json_doc *doc;
    mcp_json_iter iter = {0};
    mcp_str key;
    const mcp_json *v;
    bool ok = true;
    int rc = mcp_json_writer_finish(j->json, &json);
    if (rc == MCP_OK)
        rc = mcp_json_parse(json, NULL, &j->r->base.alloc, &doc, NULL);
    if (rc != MCP_OK)
        return rc;
    while (ok && (v = mcp_json_next(mcp_json_root(doc), &iter, &key)))
        ok = put_member(&j->text, key, v);
    mcp_json_free(doc);
    j->has_text = true;
    return ok ? MCP_OK : MCP_ENOMEM;
}
