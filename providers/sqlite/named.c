/* named.c: see named.h. */
#include "named.h"

#include <ctype.h>

static const char names_sql[] =
    "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> "
    "'sqlite_' ORDER BY name COLLATE NOCASE";

static mcp_str name_at(const sqlite_names *names, size_t i)
{
    size_t at;
    memcpy(&at, names->at.ptr + i * sizeof(at), sizeof(at));
    return mcp_str_from(names->text.ptr + at);
}

int sqlite_names_load(sqlite_names *names, sqlite_conn *c, const sqlite_job *j)
{
    sqlite3_stmt *stmt = NULL;
    *names = (sqlite_names){0};
    common_buffer_init(&names->text, &j->s->base.alloc);
    common_buffer_init(&names->at, &j->s->base.alloc);
    if (!j->asking.needed)
        return SQLITE_OK;
    int rc = sqlite_prepare(c, names_sql, &stmt);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        mcp_str name = sqlite_text(stmt, 0);
        size_t at = names->text.len;
        bool ok = common_buffer_append(&names->at, &at, sizeof(at)) == MCP_OK &&
                  common_buffer_append(&names->text, name.ptr, strlen(name.ptr) + 1) == MCP_OK;
        names->n += ok;
        rc = ok ? SQLITE_OK : SQLITE_NOMEM;
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

void sqlite_names_free(sqlite_names *names)
{
    common_buffer_free(&names->text);
    common_buffer_free(&names->at);
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static int compare(mcp_str a, mcp_str b)
{
    int n = (int)(a.len < b.len ? a.len : b.len);
    int order = n ? sqlite3_strnicmp(a.ptr, b.ptr, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Returns the index of the first name that is not less than `word`. */
static size_t first_from(const sqlite_names *names, mcp_str word)
{
    size_t low = 0, high = names->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(name_at(names, middle), word) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_hidden(sqlite_job *j, mcp_str name, mcp_str own)
{
    return compare(name, own) != 0 && !sqlite_job_may(j, name);
}

bool sqlite_names_may(const sqlite_names *names, sqlite_job *j, mcp_str table)
{
    size_t i = first_from(names, table);
    if (i < names->n && compare(name_at(names, i), table) == 0)
        table = name_at(names, i);
    return sqlite_job_may(j, table);
}

static bool has_hidden_word(const sqlite_names *names, sqlite_job *j, mcp_str text, mcp_str own)
{
    for (size_t at = 0, end; at < text.len; at = end + 1) {
        for (end = at; end < text.len && is_word_char(text.ptr[end]);)
            end++;
        mcp_str word = {text.ptr + at, end - at};
        size_t i = word.len ? first_from(names, word) : names->n;
        if (i < names->n && compare(name_at(names, i), word) == 0 &&
            is_hidden(j, name_at(names, i), own))
            return true;
    }
    return false;
}

/* Returns whether the text begins with the name, in which quotes may be doubled. */
static bool stands_at(mcp_str text, mcp_str name)
{
    size_t at = 0;
    for (size_t i = 0; i < name.len; i++, at++) {
        if (at >= text.len || sqlite3_strnicmp(text.ptr + at, name.ptr + i, 1) != 0)
            return false;
        if (strchr("\"'`", name.ptr[i]) && at + 1 < text.len && text.ptr[at + 1] == name.ptr[i])
            at++;
    }
    return true;
}

static bool is_word(mcp_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!is_word_char(name.ptr[i]))
            return false;
    return true;
}

static bool has_hidden_name(const sqlite_names *names, sqlite_job *j, mcp_str text, mcp_str own)
{
    for (size_t i = 0; i < names->n; i++) {
        mcp_str name = name_at(names, i);
        bool there = false;
        for (size_t at = 0; !is_word(name) && !there && at < text.len; at++)
            there = stands_at((mcp_str){text.ptr + at, text.len - at}, name);
        if (there && is_hidden(j, name, own))
            return true;
    }
    return false;
}

bool sqlite_names_hidden(const sqlite_names *names, sqlite_job *j, mcp_str text, mcp_str own)
{
    return has_hidden_word(names, j, text, own) || has_hidden_name(names, j, text, own);
}
