/* patch_head.c: see patch_head.h. */
#include "patch_head.h"

#include "filetext.h"

/* What follows the beginning of a line. */
typedef enum content {
    ANYTHING,
    NAME,      /* the name of the file, then perhaps a tab and a time */
    TWO_NAMES, /* "a/NAME b/NAME" */
    REFUSED,
} content;

static const struct row {
    const char *beginning;
    content content;
    const char *what; /* is refused */
} rows[] = {
    {"--- ", NAME, NULL},
    {"+++ ", NAME, NULL},
    {"diff --git ", TWO_NAMES, NULL},
    {"Index: ", NAME, NULL},
    {"index ", ANYTHING, NULL},
    {"=====", ANYTHING, NULL},
    {"old mode ", REFUSED, "a change of the mode"},
    {"new mode ", REFUSED, "a change of the mode"},
    {"new file mode ", REFUSED, "a new file"},
    {"deleted file mode ", REFUSED, "the deletion of a file"},
    {"rename ", REFUSED, "a renaming"},
    {"copy ", REFUSED, "a copy"},
    {"similarity index ", REFUSED, "a renaming or a copy"},
    {"dissimilarity index ", REFUSED, "a rewritten file"},
    {"GIT binary patch", REFUSED, "a binary part"},
    {"Binary files ", REFUSED, "a binary part"},
};

static bool take(mcp_str *line, const char *beginning)
{
    size_t len = strlen(beginning);
    if (line->len < len || memcmp(line->ptr, beginning, len) != 0)
        return false;
    line->ptr += len;
    line->len -= len;
    return true;
}

/* At most 18 digits, so that sums do not overflow. */
static bool take_number(mcp_str *line, uint64_t *ret)
{
    size_t n = 0;
    for (*ret = 0; n < line->len && line->ptr[n] >= '0' && line->ptr[n] <= '9'; n++) {
        if (n == 18)
            return false;
        *ret = *ret * 10 + (uint64_t)(line->ptr[n] - '0');
    }
    line->ptr += n;
    line->len -= n;
    return n > 0;
}

static bool take_range(mcp_str *line, uint64_t *begin, uint64_t *count)
{
    *count = 1;
    return take_number(line, begin) && (!take(line, ",") || take_number(line, count)) &&
           (*begin > 0 || *count == 0);
}

bool editing_hunk_read(mcp_str line, editing_hunk *ret)
{
    return take(&line, "@@ -") && take_range(&line, &ret->begin[0], &ret->count[0]) &&
           take(&line, " +") && take_range(&line, &ret->begin[1], &ret->count[1]) &&
           take(&line, " @@");
}

/* Whether one name is the other, or ends with it behind a slash. */
static bool are_same(mcp_str a, mcp_str b)
{
    mcp_str longer = a.len > b.len ? a : b, shorter = a.len > b.len ? b : a;
    size_t more = longer.len - shorter.len;
    if (shorter.len == 0 || memcmp(longer.ptr + more, shorter.ptr, shorter.len) != 0)
        return false;
    return more == 0 || longer.ptr[more - 1] == '/';
}

static bool is_name_of(mcp_str given, mcp_str name)
{
    mcp_str behind = given;
    if (name.len == 0 || are_same(given, name))
        return true;
    return (take(&behind, "a/") || take(&behind, "b/")) && are_same(behind, name);
}

static int check_name(mcp_str given, mcp_str name, size_t line_no, mcp_error *error)
{
    char shown[2][80];
    const char *tab = given.len ? memchr(given.ptr, '\t', given.len) : NULL;
    if (tab)
        given.len = (size_t)(tab - given.ptr);
    if (mcp_str_eq(given, MCP_STR("/dev/null")))
        return editing_fail(error, MCP_EUNSUPPORTED, line_no,
                            "line %zu of the patch: it makes or deletes a file", line_no);
    if (is_name_of(given, name))
        return MCP_OK;
    mcp_text_escape(shown[0], sizeof(shown[0]), given);
    mcp_text_escape(shown[1], sizeof(shown[1]), name);
    return editing_fail(error, MCP_EINVAL, line_no,
                        "line %zu of the patch: it is for the file %s, not for %s", line_no,
                        shown[0], shown[1]);
}

/* Both names have the same length, because nothing is renamed. */
static int check_names(mcp_str both, mcp_str name, size_t line_no, mcp_error *error)
{
    size_t half = both.len / 2;
    mcp_str first = {both.ptr, half};
    if (both.len % 2 == 0 || both.ptr[half] != ' ')
        return check_name(both, name, line_no, error);
    int rc = check_name(first, name, line_no, error);
    mcp_str second = {both.ptr + half + 1, half};
    return rc == MCP_OK ? check_name(second, name, line_no, error) : rc;
}

static int check_row(const struct row *row, mcp_str rest, mcp_str name, size_t line_no,
                     mcp_error *error)
{
    switch (row->content) {
    case ANYTHING: return MCP_OK;
    case NAME: return check_name(rest, name, line_no, error);
    case TWO_NAMES: return check_names(rest, name, line_no, error);
    case REFUSED: break;
    }
    return editing_fail(error, MCP_EUNSUPPORTED, line_no,
                        "line %zu of the patch: %s is not done by a patch here", line_no,
                        row->what);
}

/* What is wrong with a line that is none of the rows. */
static const char *why_not(mcp_str line, bool begun)
{
    if (take(&line, "@@"))
        return "this should be @@ -LINE,COUNT +LINE,COUNT @@";
    if (begun && strchr(" +-", line.ptr[0]))
        return "the hunk has more lines than its first line says";
    return "this is not a line of a unified diff";
}

int editing_patch_head(mcp_str line, mcp_str name, bool begun, size_t line_no, mcp_error *error)
{
    const char *why = NULL;
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    if (line.len == 0)
        return MCP_OK;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mcp_str rest = line;
        if (!take(&rest, rows[i].beginning))
            continue;
        if (rows[i].content == REFUSED || !begun)
            return check_row(&rows[i], rest, name, line_no, error);
        why = "a second file begins here, and a patch is for one file";
    }
    return editing_fail(error, MCP_EINVAL, line_no, "line %zu of the patch: %s", line_no,
                        why ? why : why_not(line, begun));
}
