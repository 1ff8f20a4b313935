/* contains.c: which rows have a value that contains a text (common/contains.h). The rows are read one
 * by one on a worker, and compared by the expressions of searches, so that upper and lower case of all
 * letters are the same, which SQLite knows for those of ASCII alone.
 *
 * What is compared is what a row shows; of a long text, all of it. BLOBs are no text. In a text that is
 * not UTF-8, the other bytes are compared.
 */
#include "contains.h"

#include "provider.h"

#include "needle.h"
#include "text.h"

struct sqlite_filter {
    search_needle *needle;
    bool numbers;            /* a number may contain the text */
    mcp_json_writer *number; /* for how it is shown */
};

void sqlite_filter_free(sqlite_filter *f)
{
    if (!f)
        return;
    search_needle_free(f->needle);
    mcp_json_writer_free(f->number);
    sqlite3_free(f);
}

int sqlite_filter_new(const common_contains *what, const mcp_allocator *alloc, sqlite_filter **ret)
{
    char why[200];
    search_needle_options o = {.text = what->text, .ignore_case = what->ignore_case};
    sqlite_filter *f = *ret = sqlite3_malloc64(sizeof(*f));
    if (!f)
        return SQLITE_NOMEM;
    *f = (sqlite_filter){.numbers = common_contains_number(what)};
    f->number = mcp_json_writer_new(alloc, 0);
    return f->number && search_needle_new(&o, alloc, &f->needle, why) == MCP_OK ? SQLITE_OK
                                                                                : SQLITE_NOMEM;
}

/* Sets *found. Returns SQLite's code. */
static int find(const sqlite_filter *f, mcp_str text, bool *found)
{
    size_t begin, end;
    int rc = search_needle_find(f->needle, text, 0, NULL, NULL, &begin, &end);
    *found = rc == MCP_OK;
    return rc == MCP_ENOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

static int find_in_text(const sqlite_filter *f, mcp_str text, bool *found)
{
    if (common_text_utf8(text))
        return find(f, text, found);
    char *copy = sqlite3_malloc64(text.len + 1);
    if (!copy)
        return SQLITE_NOMEM;
    memcpy(copy, text.ptr, text.len);
    sqlite_make_words(copy, text.len);
    int rc = find(f, (mcp_str){copy, text.len}, found);
    sqlite3_free(copy);
    return rc;
}

static int find_in_number(const sqlite_filter *f, sqlite3_stmt *stmt, int at, bool *found)
{
    mcp_str text;
    if (!f->numbers)
        return SQLITE_OK;
    mcp_json_writer_reset(f->number);
    sqlite_put_plain(f->number, stmt, at, 0, &(size_t){0});
    return mcp_json_writer_finish(f->number, &text) == MCP_OK ? find(f, text, found) : SQLITE_NOMEM;
}

int sqlite_filter_row(const sqlite_filter *f, sqlite_conn *c, sqlite3_stmt *stmt, int n,
                      bool *found)
{
    size_t bytes = 0;
    int rc = SQLITE_OK;
    *found = false;
    for (int i = 0; rc == SQLITE_OK && i < n && !*found; i++) {
        mcp_str text;
        switch (sqlite3_column_type(stmt, i)) {
        case SQLITE_INTEGER:
        case SQLITE_FLOAT: rc = find_in_number(f, stmt, i, found); break;
        case SQLITE_TEXT:
            text = sqlite_text(stmt, i);
            bytes += text.len;
            rc = find_in_text(f, text, found);
            break;
        default: break;
        }
    }
    return rc == SQLITE_OK && !sqlite_spend(c, bytes) ? SQLITE_INTERRUPT : rc;
}
