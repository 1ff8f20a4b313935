/* commits.c: the log of a git repository, as lines: id, day, author, subject. */
#include "content.h"

#include <ctype.h>
#include <string.h>

enum { ID_SHOWN = 8, DAY = 10 };

static bool is_commit(const mcp_json *commit)
{
    mcp_str id = mcp_json_string(mcp_json_get(commit, "id"));
    if (id.len < ID_SHOWN || !mcp_json_is(mcp_json_get(commit, "subject"), MCP_JSON_STRING))
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (!isxdigit((unsigned char)id.ptr[i]))
            return false;
    return true;
}

static bool is_log(const mcp_json *root)
{
    const mcp_json *commits = mcp_json_get(root, "commits");
    mcp_json_iter it = {0};
    if (!mcp_json_is(commits, MCP_JSON_ARRAY) || !mcp_json_count(commits))
        return false;
    for (const mcp_json *c; (c = mcp_json_next(commits, &it, NULL)) != NULL;)
        if (!is_commit(c))
            return false;
    return true;
}

/* "(main, v1) " */
static void put_decorations(lines *l, const mcp_json *all)
{
    mcp_json_iter it = {0};
    const char *before = "(";
    for (const mcp_json *d; (d = mcp_json_next(all, &it, NULL)) != NULL; before = ", ") {
        const mcp_json *name = mcp_json_is(d, MCP_JSON_OBJECT) ? mcp_json_get(d, "name") : d;
        lines_put(l, LOOK_DIM, mcp_str_from(before));
        lines_put(l, LOOK_WARN, mcp_json_string(name));
    }
    if (mcp_json_count(all))
        lines_put(l, LOOK_DIM, MCP_STR(") "));
}

static void put_commit(lines *l, const mcp_json *commit)
{
    const mcp_json *author = mcp_json_get(commit, "author");
    mcp_str day = mcp_json_string(mcp_json_get(author, "time"));
    mcp_str id = mcp_json_string(mcp_json_get(commit, "id"));
    day.len = day.len < DAY ? day.len : DAY;
    lines_begin(l, 0, ID_SHOWN + 1, 0);
    lines_put(l, LOOK_NUMBER, (mcp_str){id.ptr, ID_SHOWN});
    lines_put(l, LOOK_DIM, MCP_STR(" "));
    lines_put(l, LOOK_DIM, day);
    lines_put(l, LOOK_DIM, MCP_STR(" "));
    lines_put(l, LOOK_NAME, mcp_json_string(mcp_json_get(author, "name")));
    lines_put(l, LOOK_DIM, MCP_STR(" "));
    put_decorations(l, mcp_json_get(commit, "decorations"));
    lines_put(l, LOOK_PLAIN, mcp_json_string(mcp_json_get(commit, "subject")));
    lines_end(l);
}

bool commits_put(lines *l, const mcp_json *root)
{
    mcp_json_iter it = {0};
    if (!is_log(root))
        return false;
    for (const mcp_json *c; (c = mcp_json_next(mcp_json_get(root, "commits"), &it, NULL));)
        put_commit(l, c);
    members_put(l, root);
    return true;
}
