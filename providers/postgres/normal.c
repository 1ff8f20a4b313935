/* normal.c: see normal.h.
 *
 * The statement is read as PostgreSQL's scanner reads it. Where that depends on a setting of its session
 * (standard_conforming_strings decides whether a backslash hides a quote), and where the text ends within
 * a constant, the rest is not shown.
 */
#include "normal.h"

#include <ctype.h>

#include "text.h"

/* What of the statement is left, and how much was written of it. */
typedef struct reader {
    const char *p;
    postgres_sql *to;
    size_t written;
    bool space, cut;
} reader;

static bool is_name(unsigned char c)
{
    return isalnum(c) || c == '_' || c == '$' || c >= 0x80;
}

static void put(reader *r, const char *text, size_t len)
{
    r->cut = r->cut || r->written + len + r->space > POSTGRES_LONGEST_NORMAL;
    if (r->cut)
        return;
    if (r->space && r->written)
        postgres_put(r->to, " ");
    postgres_put_str(r->to, (mcp_str){text, len});
    r->written += len + (r->space && r->written);
    r->space = false;
}

/* Ends the reading: what follows is not shown. */
static void stop(reader *r)
{
    r->cut = true;
}

/* ---- what is left out ------------------------------------------------------------------------ */

/* Skips a comment. Comments within comments count. */
static void skip_comment(reader *r)
{
    size_t depth = 0;
    do {
        bool open = r->p[0] == '/' && r->p[1] == '*', close = r->p[0] == '*' && r->p[1] == '/';
        depth += open;
        depth -= close;
        r->p += open || close ? 2 : 1;
    } while (depth && *r->p);
    if (depth)
        stop(r);
    r->space = true;
}

/* Skips a string in quotes. With `escapes` a backslash takes the next character's meaning; without them
 * it depends on a setting whether it does. */
static void skip_string(reader *r, bool escapes)
{
    put(r, "?", 1);
    for (r->p++; *r->p; r->p++) {
        if (*r->p == '\\' && escapes && r->p[1])
            r->p++;
        else if (*r->p == '\\' && !escapes && (r->p[1] == '\'' || r->p[1] == '\\'))
            break;
        else if (*r->p == '\'' && r->p[1] == '\'')
            r->p++;
        else if (*r->p == '\'') {
            r->p++;
            return;
        }
    }
    stop(r);
}

/* Skips $tag$ … $tag$. Returns false if this is none. */
static bool skip_dollars(reader *r)
{
    const char *tag = r->p, *end = tag + 1;
    if (isdigit((unsigned char)*end))
        return false;
    while (*end != '$' && is_name((unsigned char)*end))
        end++;
    if (*end != '$')
        return false;
    size_t len = (size_t)(end + 1 - tag);
    put(r, "?", 1);
    for (r->p = end + 1; *r->p; r->p++)
        if (strncmp(r->p, tag, len) == 0) {
            r->p += len;
            return true;
        }
    stop(r);
    return true;
}

static bool begins_number(const char *p)
{
    return isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]));
}

/* Skips a number with all that is written directly behind it: 1.5e-3, 0xff, 1_000, 2.. */
static void skip_number(reader *r)
{
    put(r, "?", 1);
    for (; is_name((unsigned char)*r->p) || *r->p == '.'; r->p++)
        if ((*r->p == 'e' || *r->p == 'E') && (r->p[1] == '-' || r->p[1] == '+') &&
            isdigit((unsigned char)r->p[2]))
            r->p++;
}

/* ---- what is shown --------------------------------------------------------------------------- */

/* A name in quotes: U&"…" has escapes, but none that hides a quote. */
static void put_quoted(reader *r)
{
    const char *from = r->p++;
    while (*r->p && (*r->p != '"' || r->p[1] == '"'))
        r->p += *r->p == '"' ? 2 : 1;
    if (!*r->p) {
        stop(r);
        return;
    }
    r->p++;
    put(r, from, (size_t)(r->p - from));
}

/* A word, or a parameter ($1). E'…' is a string with escapes. */
static void put_word(reader *r)
{
    const char *from = r->p;
    while (is_name((unsigned char)*r->p))
        r->p++;
    size_t len = (size_t)(r->p - from);
    if (*r->p != '\'')
        put(r, from, len);
    else if (len == 1 && strchr("eEbBxXnN", *from))
        skip_string(r, strchr("eE", *from) != NULL);
    else {
        put(r, from, len);
        skip_string(r, false);
    }
}

static void read_one(reader *r)
{
    unsigned char c = (unsigned char)*r->p;
    if (c <= ' ' || c == 0x7f) {
        r->space = true;
        r->p++;
    } else if (c == '-' && r->p[1] == '-') {
        r->p += strcspn(r->p, "\r\n");
        r->space = true;
    } else if (c == '/' && r->p[1] == '*') {
        skip_comment(r);
    } else if (c == '\'') {
        skip_string(r, false);
    } else if (c == '"') {
        put_quoted(r);
    } else if (begins_number(r->p)) {
        skip_number(r);
    } else if (c == '$' && skip_dollars(r)) {
        return;
    } else if (is_name(c)) {
        put_word(r);
    } else {
        put(r, r->p, 1);
        r->p++;
    }
}

void postgres_put_normal(postgres_sql *to, const char *sql)
{
    reader r = {.p = sql, .to = to};
    if (!common_text_utf8(mcp_str_from(sql)))
        stop(&r);
    while (*r.p && !r.cut)
        read_one(&r);
    postgres_put(to, r.cut ? " …" : "");
}
