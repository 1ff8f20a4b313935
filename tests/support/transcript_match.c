/* transcript_match.c: compares a message with the expected JSON.
 *
 * Expected text is JSON in which `...` stands for any value; at the end of an object or array it
 * stands for anything more. A superfluous comma is allowed, so that macros may end with one. `...`
 * is turned into a string that no message has before the text is parsed.
 */
#include "transcript.h"

#include <stdio.h>

#define ANY "\x01"

typedef struct rewriting {
    text out;
    char stack[128];
    size_t depth;
    char last; /* the last character that is not white space */
} rewriting;

static void put(rewriting *r, const char *s, size_t len)
{
    text_add(&r->out, s, len);
    r->last = s[len - 1];
}

static size_t string_len(const char *s)
{
    size_t i = 1;
    while (s[i] && s[i] != '"')
        i += s[i] == '\\' && s[i + 1] ? 2 : 1;
    return s[i] ? i + 1 : i;
}

static void put_any(rewriting *r)
{
    bool in_object = r->depth && r->stack[r->depth - 1] == '{';
    bool key = in_object && (r->last == '{' || r->last == ',');
    put(r, key ? "\"\\u0001\":0" : "\"\\u0001\"", key ? 10 : 8);
}

static size_t rewrite_one(rewriting *r, const char *s)
{
    if (*s == '"') {
        size_t len = string_len(s);
        put(r, s, len);
        return len;
    }
    if (strncmp(s, "...", 3) == 0) {
        put_any(r);
        return 3;
    }
    if (strchr(" \t", *s))
        return 1;
    if (*s == ',' && (r->last == '{' || r->last == '[' || r->last == ','))
        return 1;
    if (strchr("{[", *s) && r->depth < sizeof(r->stack))
        r->stack[r->depth++] = *s;
    if (strchr("}]", *s)) {
        if (r->last == ',')
            r->out.len--;
        r->depth -= r->depth > 0;
    }
    put(r, s, 1);
    return 1;
}

static bool is_any(const mcp_json *value)
{
    return mcp_str_eq(mcp_json_string(value), MCP_STR(ANY));
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool differ(text *why, const char *path, const char *what)
{
    char line[512];
    int len = snprintf(line, sizeof(line), "at %s: %s", *path ? path : "the top", what);
    text_set(why, line, (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
    return false;
}

static void print(const mcp_json *value, text *ret)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str s = {0};
    mcp_json_add_value(w, value);
    mcp_json_writer_finish(w, &s);
    text_set(ret, s.ptr, s.len);
    mcp_json_writer_free(w);
}

static bool same_scalar(const mcp_json *expected, const mcp_json *got, const char *path, text *why)
{
    text a = {0}, b = {0};
    print(expected, &a);
    print(got, &b);
    bool same = mcp_json_typeof(expected) == mcp_json_typeof(got) && a.len == b.len &&
                memcmp(a.ptr, b.ptr, a.len) == 0;
    if (!same) {
        char what[400];
        snprintf(what, sizeof(what), "expected %.150s, got %.150s", a.ptr, b.ptr);
        differ(why, path, what);
    }
    text_free(&a);
    text_free(&b);
    return same;
}

static bool same(const mcp_json *expected, const mcp_json *got, const char *path, text *why);

static bool same_array(const mcp_json *expected, const mcp_json *got, const char *path, text *why)
{
    size_t n = mcp_json_count(expected), m = mcp_json_count(got);
    bool more = n && is_any(mcp_json_at(expected, n - 1));
    n -= more;
    if (more ? m < n : m != n)
        return differ(why, path, "the number of elements is wrong");
    for (size_t i = 0; i < n; i++) {
        char inner[256];
        snprintf(inner, sizeof(inner), "%s/%zu", path, i);
        if (!same(mcp_json_at(expected, i), mcp_json_at(got, i), inner, why))
            return false;
    }
    return true;
}

static bool same_object(const mcp_json *expected, const mcp_json *got, const char *path, text *why)
{
    bool more = mcp_json_get(expected, ANY) != NULL;
    mcp_json_iter it = {0};
    mcp_str key;
    char inner[256];
    for (const mcp_json *v; (v = mcp_json_next(expected, &it, &key)) != NULL;) {
        snprintf(inner, sizeof(inner), "%s/%.*s", path, (int)key.len, key.ptr);
        const mcp_json *other = mcp_json_get_str(got, key);
        if (mcp_str_eq(key, MCP_STR(ANY)))
            continue;
        if (!other)
            return differ(why, inner, "is missing");
        if (!same(v, other, inner, why))
            return false;
    }
    it = (mcp_json_iter){0};
    while (!more && mcp_json_next(got, &it, &key)) {
        snprintf(inner, sizeof(inner), "%s/%.*s", path, (int)key.len, key.ptr);
        if (!mcp_json_get_str(expected, key))
            return differ(why, inner, "is not expected");
    }
    return true;
}

static bool same(const mcp_json *expected, const mcp_json *got, const char *path, text *why)
{
    if (is_any(expected))
        return true;
    if (mcp_json_is(expected, MCP_JSON_OBJECT) && mcp_json_is(got, MCP_JSON_OBJECT))
        return same_object(expected, got, path, why);
    if (mcp_json_is(expected, MCP_JSON_ARRAY) && mcp_json_is(got, MCP_JSON_ARRAY))
        return same_array(expected, got, path, why);
    return same_scalar(expected, got, path, why);
}

bool matches(const char *expected, mcp_str message, text *why)
{
    rewriting r = {0};
    for (const char *s = expected; *s;)
        s += rewrite_one(&r, s);
    mcp_json_doc *want = NULL, *got = NULL;
    mcp_error error = {0};
    bool ok = false;
    if (mcp_json_parse((mcp_str){r.out.ptr, r.out.len}, NULL, NULL, &want, &error) != MCP_OK)
        differ(why, "what the transcript expects", error.text);
    else if (mcp_json_parse(message, NULL, NULL, &got, &error) != MCP_OK)
        differ(why, "the message", error.text);
    else
        ok = same(mcp_json_root(want), mcp_json_root(got), "", why);
    mcp_json_free(want);
    mcp_json_free(got);
    text_free(&r.out);
    return ok;
}
