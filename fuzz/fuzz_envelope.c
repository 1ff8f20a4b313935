/* fuzz_envelope.c: one message is parsed, and also scanned for its id, as is done with messages
 * that cannot be parsed.
 *
 * An id that was read must be written as the same JSON, and scanning must find the same id as
 * parsing.
 */
#include <stdlib.h>

#include "jsonrpc/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void check_message(const mcp__message *m)
{
    check(m->kind != MCP__REQUEST || (m->id && m->method.ptr && !m->result));
    check(m->kind != MCP__NOTIFICATION || (!m->id && m->method.ptr && !m->result));
    check(m->kind != MCP__RESULT || (m->id && m->result));
    check(m->kind != MCP__ERROR || mcp_json_is(m->result, MCP_JSON_OBJECT));
    check(m->kind != MCP__INVALID || (m->problem && m->code < 0));
    check(m->kind == MCP__INVALID || !m->params || mcp_json_is(m->params, MCP_JSON_OBJECT));
    check(!m->id || mcp__is_id(m->id));
}

/* Checks that the id as text is valid JSON and parses to the same id. */
static void check_id(const mcp_json *id, mcp__buf *text)
{
    mcp_json_doc *doc = NULL;
    mcp__put_id(text, id);
    check(!text->failed);
    check(mcp_json_parse(mcp__buf_view(text), NULL, NULL, &doc, NULL) == MCP_OK);
    mcp__buf again;
    mcp__buf_init(&again, &mcp__default_allocator, 0);
    mcp__put_id(&again, mcp_json_root(doc));
    check(mcp_str_eq(mcp__buf_view(text), mcp__buf_view(&again)));
    mcp__buf_free(&again);
    mcp_json_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mcp_str text = {(const char *)data, size};
    mcp__buf scanned, back, read;
    mcp__buf_init(&back, &mcp__default_allocator, 0);
    mcp__buf_init(&scanned, &mcp__default_allocator, 0);
    mcp__buf_init(&read, &mcp__default_allocator, 0);
    bool found = mcp__scan_id(text, &mcp__default_allocator, &scanned);
    check(found == (scanned.len > 0));
    bool found_back = mcp__scan_id_back(text, &mcp__default_allocator, &back);
    check(found_back == (back.len > 0));

    mcp_json_doc *doc = NULL;
    if (mcp_json_parse(text, NULL, NULL, &doc, NULL) == MCP_OK) {
        mcp__message m;
        mcp__message_read(mcp_json_root(doc), &m);
        check_message(&m);
        if (m.id)
            check_id(m.id, &read);
        if (found && m.id)
            check(mcp_str_eq(mcp__buf_view(&scanned), mcp__buf_view(&read)));
        if (found_back && m.id)
            check(mcp_str_eq(mcp__buf_view(&back), mcp__buf_view(&read)));
    }
    mcp_json_free(doc);
    mcp__buf_free(&scanned);
    mcp__buf_free(&back);
    mcp__buf_free(&read);
    return 0;
}
