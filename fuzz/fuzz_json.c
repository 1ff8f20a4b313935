/* fuzz_json.c: a JSON text is parsed from a copy and in place, with the same result. If it is
 * accepted, writing, parsing and writing it again must give the same bytes. Any input can be
 * written as a string. */
#include <stdlib.h>

#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static mcp_json_doc *parse(mcp_str text, int *rc)
{
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    *rc = mcp_json_parse(text, NULL, NULL, &doc, &error);
    must((*rc == MCP_OK) == (doc != NULL));
    must(*rc == MCP_OK || (error.code == *rc && error.offset <= text.len));
    return doc;
}

static void write_value(mcp__buf *b, const mcp_json_doc *doc)
{
    mcp__buf_init(b, NULL, 0);
    mcp__json_put_value(b, mcp_json_root(doc));
    must(b->failed == MCP_OK);
    must(mcp__utf8_valid(b->ptr, b->len) == b->len);
    must(!memchr(b->ptr, '\n', b->len));
}

static void try_text(mcp_str text)
{
    int rc, rc2;
    mcp_json_doc *doc = parse(text, &rc), *doc2 = NULL;
    char *copy = malloc(text.len + MCP__JSON_PADDING);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    rc2 = mcp__json_parse_insitu(copy, text.len, NULL, NULL, &doc2, NULL);
    must(rc == rc2);
    if (doc) {
        mcp__buf a, b, c;
        write_value(&a, doc);
        write_value(&b, doc2);
        must(mcp_str_eq(mcp__buf_view(&a), mcp__buf_view(&b)));
        mcp_json_doc *again = parse(mcp__buf_view(&a), &rc);
        must(again != NULL);
        write_value(&c, again);
        must(mcp_str_eq(mcp__buf_view(&a), mcp__buf_view(&c)));
        mcp_json_free(again);
        mcp__buf_free(&a);
        mcp__buf_free(&b);
        mcp__buf_free(&c);
    }
    mcp_json_free(doc);
    mcp_json_free(doc2);
    free(copy);
}

static void try_string(mcp_str s)
{
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    mcp__json_put_str(&b, s);
    must((b.failed == MCP_OK) == (mcp__utf8_valid(s.ptr, s.len) == s.len));
    if (b.failed == MCP_OK) {
        int rc;
        mcp_json_doc *doc = parse(mcp__buf_view(&b), &rc);
        must(mcp_str_eq(mcp_json_string(mcp_json_root(doc)), s));
        mcp_json_free(doc);
    }
    mcp__buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str text = {(const char *)data, size};
    try_text(text);
    try_string(text);
    return 0;
}
