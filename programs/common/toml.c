/* toml.c: parses configuration files in TOML into a JSON value.
 *
 * The keys of one table may be spread over the file, so a tree is built first, in one array of
 * nodes that refer to each other by index. The tree is then written as JSON. All strings of the
 * tree are in one block as large as the file, because decoding never makes a string longer.
 */
#define _GNU_SOURCE
#include "toml.h"

#include <stdio.h>
#include <stdlib.h>

#include "jsonc.h"

enum { LARGEST = 1 << 20, MOST_NODES = 10000, DEEPEST = 24, NONE = 0 };

typedef enum kind { TABLE, ARRAY, TEXT, WORD } kind;

typedef struct node {
    kind kind;
    mcp_str key, text;
    /* Indices of its first and last value, and of its next sibling. NONE (0) means that there is
     * none; no value has the index 0. */
    size_t first, last, next;
    bool inline_table;
} node;

typedef struct parser {
    const char *begin, *at, *end;
    node *nodes;
    size_t count, room;
    char *pool; /* the unused part */
    int rc;
    mcp_error *error;
} parser;

static void fail(parser *p, int rc, const char *why)
{
    if (p->rc != MCP_OK)
        return;
    p->rc = rc;
    p->error->code = rc;
    p->error->offset = (size_t)(p->at - p->begin);
    snprintf(p->error->text, sizeof(p->error->text), "%s", why);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static size_t add_node(parser *p, size_t parent, kind what, mcp_str key, mcp_str text)
{
    if (p->count == MOST_NODES) {
        fail(p, MCP_ELIMIT, "too many values");
        return NONE;
    }
    if (!p->nodes || p->count == p->room) {
        p->room = p->room ? p->room * 2 : 64;
        node *grown = realloc(p->nodes, p->room * sizeof(*grown));
        if (!grown) {
            fail(p, MCP_ENOMEM, mcp_error_text(MCP_ENOMEM));
            return NONE;
        }
        p->nodes = grown;
    }
    size_t i = p->count++;
    p->nodes[i] = (node){.kind = what, .key = key, .text = text};
    if (i == 0)
        return i;
    node *above = &p->nodes[parent];
    if (above->last)
        p->nodes[above->last].next = i;
    else
        above->first = i;
    above->last = i;
    return i;
}

static size_t find(const parser *p, size_t table, mcp_str key)
{
    size_t i = p->nodes[table].first;
    while (i && !mcp_str_eq(p->nodes[i].key, key))
        i = p->nodes[i].next;
    return i;
}

/* Returns the table with this name in `table`, which is created if necessary. Returns NONE on
 * failure. */
static size_t enter(parser *p, size_t table, mcp_str key)
{
    size_t i = find(p, table, key);
    if (!i)
        return add_node(p, table, TABLE, key, (mcp_str){0});
    if (p->nodes[i].kind == TABLE && !p->nodes[i].inline_table)
        return i;
    fail(p, MCP_EPARSE, "that key has a value already");
    return NONE;
}

/* ---- white space and comments ---------------------------------------------------------------- */

static char peek(const parser *p)
{
    return p->at < p->end ? *p->at : 0;
}

static bool skip(parser *p, char c)
{
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static void skip_space(parser *p)
{
    while (peek(p) == ' ' || peek(p) == '\t')
        p->at++;
}

static void skip_comment(parser *p)
{
    if (peek(p) == '#')
        while (p->at < p->end && *p->at != '\n')
            p->at++;
}

/* Skips spaces, comments and line ends. */
static void skip_lines(parser *p)
{
    for (;;) {
        skip_space(p);
        skip_comment(p);
        if (!skip(p, '\n') && !skip(p, '\r'))
            return;
    }
}

static void end_line(parser *p)
{
    skip_space(p);
    skip_comment(p);
    skip(p, '\r');
    if (p->at < p->end && !skip(p, '\n'))
        fail(p, MCP_EPARSE, "a line ends behind a value");
}

/* ---- strings --------------------------------------------------------------------------------- */

static void put_code(parser *p, unsigned code)
{
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *p->pool++ = (char)(leads[more] | code >> 6 * more);
    while (more--)
        *p->pool++ = (char)(0x80 | (code >> 6 * more & 0x3f));
}

static void put_hex(parser *p, size_t digits)
{
    unsigned code = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = peek(p), lower = (char)(c | 0x20);
        bool is_digit = c >= '0' && c <= '9', is_letter = lower >= 'a' && lower <= 'f';
        if (!is_digit && !is_letter) {
            fail(p, MCP_EPARSE, "a digit is missing after \\u");
            return;
        }
        code = code << 4 | (unsigned)(is_digit ? c - '0' : lower - 'a' + 10);
        p->at++;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        fail(p, MCP_EPARSE, "no character has this number");
    else
        put_code(p, code);
}

/* Decodes the escape after a backslash. */
static void put_escape(parser *p, bool lines)
{
    static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\x1b\"\\";
    char c = peek(p);
    const char *known = c ? strchr(from, c) : NULL;
    if (lines && (c == '\n' || c == '\r' || c == ' ' || c == '\t')) {
        while (strchr(" \t\r\n", peek(p)) && peek(p))
            p->at++;
        return;
    }
    p->at += p->at < p->end;
    if (known)
        *p->pool++ = to[known - from];
    else if (c == 'u' || c == 'U')
        put_hex(p, c == 'u' ? 4 : 8);
    else
        fail(p, MCP_EPARSE, "no such escape");
}

static bool ends_here(const parser *p, char quote, size_t quotes)
{
    for (size_t i = 0; i < quotes; i++)
        if (p->at + i >= p->end || p->at[i] != quote)
            return false;
    return true;
}

/* Parses a string: "…", '…', or either with three quotes, which may contain line ends. */
static mcp_str parse_text(parser *p, bool may_have_lines)
{
    char quote = *p->at;
    size_t quotes = may_have_lines && ends_here(p, quote, 3) ? 3 : 1;
    char *begin = p->pool;
    p->at += quotes;
    if (quotes == 3) {
        skip(p, '\r');
        skip(p, '\n');
    }
    while (p->rc == MCP_OK && !ends_here(p, quote, quotes)) {
        if (p->at == p->end || (*p->at == '\n' && quotes == 1))
            fail(p, MCP_EPARSE, "a text without an end");
        else if (quote == '"' && skip(p, '\\'))
            put_escape(p, quotes == 3);
        else
            *p->pool++ = *p->at++;
    }
    p->at += p->rc == MCP_OK ? quotes : 0;
    /* up to two quotes may precede the closing three */
    for (int i = 0; i < 2 && quotes == 3 && p->rc == MCP_OK && skip(p, quote); i++)
        *p->pool++ = quote;
    return (mcp_str){begin, (size_t)(p->pool - begin)};
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static mcp_str parse_key(parser *p)
{
    if (peek(p) == '"' || peek(p) == '\'')
        return parse_text(p, false);
    const char *begin = p->at;
    while (is_bare(peek(p)))
        p->at++;
    if (p->at == begin)
        fail(p, MCP_EPARSE, "a key is missing");
    return (mcp_str){begin, (size_t)(p->at - begin)};
}

/* Parses "a.b.c" and returns the last key. *table becomes the table that the key belongs to. */
static mcp_str parse_path(parser *p, size_t *table)
{
    mcp_str key = {0};
    for (size_t depth = 0; p->rc == MCP_OK; depth++) {
        skip_space(p);
        key = parse_key(p);
        skip_space(p);
        if (p->rc != MCP_OK || !skip(p, '.'))
            break;
        if (depth == DEEPEST)
            fail(p, MCP_ELIMIT, "too deep");
        else
            *table = enter(p, *table, key);
    }
    return key;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void parse_value(parser *p, size_t parent, mcp_str key, size_t depth);

static void parse_pair(parser *p, size_t table, size_t depth)
{
    mcp_str key = parse_path(p, &table);
    if (p->rc == MCP_OK && find(p, table, key))
        fail(p, MCP_EPARSE, "that key has a value already");
    if (p->rc == MCP_OK && !skip(p, '='))
        fail(p, MCP_EPARSE, "= is missing behind a key");
    skip_space(p);
    if (p->rc == MCP_OK)
        parse_value(p, table, key, depth);
}

static void skip_word(parser *p)
{
    while (is_bare(peek(p)) || peek(p) == '+' || peek(p) == '.' || peek(p) == ':')
        p->at++;
}

/* Parses a number, boolean, date or time. */
static mcp_str parse_word(parser *p)
{
    static const char *const known[] = {"true", "false", "inf", "nan"};
    const char *begin = p->at;
    skip_word(p);
    if (p->at - begin == 10 && begin[4] == '-' && p->end - p->at > 1 && p->at[0] == ' ' &&
        p->at[1] >= '0' && p->at[1] <= '9') {
        p->at++; /* the space between a date and a time */
        skip_word(p);
    }
    mcp_str word = {begin, (size_t)(p->at - begin)};
    bool ok = word.len && strchr("+-0123456789", *begin);
    for (size_t i = 0; !ok && i < 4; i++)
        ok = mcp_str_eq(word, mcp_str_from(known[i]));
    if (!ok)
        fail(p, MCP_EPARSE, word.len ? "a text needs quotes" : "a value is missing");
    return word;
}

static void parse_array(parser *p, size_t array, size_t depth)
{
    p->at++;
    for (;;) {
        skip_lines(p);
        if (p->rc != MCP_OK || skip(p, ']'))
            return;
        parse_value(p, array, (mcp_str){0}, depth + 1);
        skip_lines(p);
        if (p->rc == MCP_OK && !skip(p, ',') && peek(p) != ']')
            fail(p, MCP_EPARSE, "an array without an end");
    }
}

static void parse_inline(parser *p, size_t table, size_t depth)
{
    p->at++;
    for (;;) {
        skip_lines(p);
        if (p->rc != MCP_OK || skip(p, '}'))
            break;
        parse_pair(p, table, depth + 1);
        skip_lines(p);
        if (p->rc == MCP_OK && !skip(p, ',') && peek(p) != '}')
            fail(p, MCP_EPARSE, "a table without an end");
    }
    p->nodes[table].inline_table = true;
}

static void parse_value(parser *p, size_t parent, mcp_str key, size_t depth)
{
    char c = peek(p);
    if (depth > DEEPEST) {
        fail(p, MCP_ELIMIT, "too deep");
    } else if (c == '"' || c == '\'') {
        mcp_str text = parse_text(p, true);
        if (p->rc == MCP_OK)
            add_node(p, parent, TEXT, key, text);
    } else if (c == '[' || c == '{') {
        size_t i = add_node(p, parent, c == '[' ? ARRAY : TABLE, key, (mcp_str){0});
        if (p->rc == MCP_OK)
            (c == '[' ? parse_array : parse_inline)(p, i, depth);
    } else {
        mcp_str word = parse_word(p);
        if (p->rc == MCP_OK)
            add_node(p, parent, WORD, key, word);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Parses the header [a.b]. For [[a.b]], which is left out, returns a detached table. */
static size_t parse_header(parser *p)
{
    size_t table = 0;
    p->at++;
    bool many = skip(p, '[');
    mcp_str key = parse_path(p, &table);
    bool closed = p->rc == MCP_OK && skip(p, ']') && (!many || skip(p, ']'));
    if (!closed)
        fail(p, MCP_EPARSE, "] is missing");
    if (p->rc != MCP_OK)
        return 0;
    end_line(p);
    if (!many)
        return enter(p, table, key);
    p->nodes[1].first = p->nodes[1].last = NONE;
    return 1;
}

static void parse_all(parser *p)
{
    size_t table = add_node(p, 0, TABLE, (mcp_str){0}, (mcp_str){0});
    add_node(p, 0, TABLE, (mcp_str){0}, (mcp_str){0});
    if (p->rc == MCP_OK) /* the second node, outside of the tree, receives ignored tables */
        p->nodes[0].first = p->nodes[0].last = NONE;
    for (skip_lines(p); p->rc == MCP_OK && p->at < p->end; skip_lines(p)) {
        if (peek(p) == '[') {
            table = parse_header(p);
            continue;
        }
        parse_pair(p, table, 0);
        if (p->rc == MCP_OK)
            end_line(p);
    }
}

static void write_word(mcp_json_writer *w, mcp_str word)
{
    mcp_json_doc *doc = NULL;
    if (mcp_json_parse(word, NULL, NULL, &doc, NULL) == MCP_OK)
        mcp_json_add_value(w, mcp_json_root(doc));
    else
        mcp_json_add_str(w, word);
    mcp_json_free(doc);
}

static void write_node(const parser *p, mcp_json_writer *w, size_t i)
{
    const node *n = &p->nodes[i];
    if (n->kind == TEXT) {
        mcp_json_add_str(w, n->text);
        return;
    }
    if (n->kind == WORD) {
        write_word(w, n->text);
        return;
    }
    if (n->kind == TABLE)
        mcp_json_begin_object(w);
    else
        mcp_json_begin_array(w);
    for (size_t k = n->first; k; k = p->nodes[k].next) {
        if (n->kind == TABLE)
            mcp_json_key_str(w, p->nodes[k].key);
        write_node(p, w, k);
    }
    mcp_json_end(w);
}

static int write_all(parser *p, mcp_json_doc **ret)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json;
    if (w)
        write_node(p, w, 0);
    int rc = w ? mcp_json_writer_finish(w, &json) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_json_parse(json, NULL, NULL, ret, NULL);
    if (rc != MCP_OK)
        fail(p, rc == MCP_EINVAL ? MCP_EPARSE : rc,
             rc == MCP_EINVAL ? "it is not UTF-8" : mcp_error_text(rc));
    mcp_json_writer_free(w);
    return p->rc != MCP_OK ? p->rc : rc;
}

int toml_parse(mcp_str text, mcp_json_doc **ret, mcp_error *error)
{
    mcp_error unused;
    text = text.ptr ? text : MCP_STR("");
    char *pool = malloc(text.len + 1);
    parser p = {.begin = text.ptr,
                .at = text.ptr,
                .end = text.ptr + text.len,
                .pool = pool,
                .error = error ? error : &unused};
    *p.error = (mcp_error){0};
    *ret = NULL;
    if (!pool)
        fail(&p, MCP_ENOMEM, mcp_error_text(MCP_ENOMEM));
    if (p.rc == MCP_OK)
        parse_all(&p);
    int rc = p.rc == MCP_OK ? write_all(&p, ret) : p.rc;
    free(p.nodes);
    free(pool);
    return rc;
}

int toml_read(const char *path, file_trust trust, mcp_json_doc **ret, size_t *line,
              mcp_error *error)
{
    char *text = NULL;
    size_t len = 0, column;
    int rc = file_load(path, trust, LARGEST, &text, &len, error);
    if (rc != MCP_OK)
        return rc;
    rc = toml_parse((mcp_str){text, len}, ret, error);
    if (rc != MCP_OK)
        jsonc_position((mcp_str){text, len}, error->offset, line, &column);
    free(text);
    return rc;
}
