/* pass_question.c: the parts of another server's questions that differ between revisions.
 */
#include "protocol/form.h"
#include "protocol/pass.h"

#include <mcp/sys/json.h>

/* Writes a message of sampling with this content block. Returns false if the block does not exist
 * for the peer. */
static bool put_message_with(const mcp__pass *p, mcp__buf *b, const mcp_json *message, mcp_str text,
                             const mcp_json *block, mcp_str block_text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, member;
    mcp__json_list list = mcp__json_begin_object(b);
    while (mcp_json_next(message, &it, &key) && mcp_json_text_next(text, &texts, NULL, &member)) {
        bool content = mcp_str_eq(key, MCP_STR("content"));
        if (!content && mcp_str_eq(key, MCP_STR("_meta")) && !p->to->object_meta)
            continue;
        mcp__json_key(&list, key);
        if (!content)
            mcp__json_put_text(b, member);
        else if (!mcp__pass_object(p, b, MCP__PASS_BLOCK, block, block_text))
            return false;
    }
    mcp__json_end(&list);
    return true;
}

/* Writes a message for each content block of a message, for revisions that allow only one. */
static void put_split(const mcp__pass *p, mcp__json_list *list, const mcp_json *message,
                      mcp_str text)
{
    const mcp_json *blocks = mcp_json_get(message, "content"), *v;
    mcp_str block, all = mcp__json_text_get(text, 0, MCP_STR("\"content\""));
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    while ((v = mcp_json_next(blocks, &it, NULL)) != NULL &&
           mcp_json_text_next(all, &texts, NULL, &block)) {
        mcp__json_list before = *list;
        size_t start = list->buf->len;
        mcp__json_next(list);
        if (put_message_with(p, list->buf, message, text, v, block) || list->buf->failed)
            continue;
        list->buf->len = start;
        *list = before;
    }
}

void mcp__pass_messages(const mcp__pass *p, mcp__buf *b, const mcp_json *array, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    const mcp_json *v;
    mcp_str message;
    mcp__json_list list = mcp__json_begin_array(b);
    while ((v = mcp_json_next(array, &it, NULL)) != NULL &&
           mcp_json_text_next(text, &texts, NULL, &message)) {
        mcp__json_list before = list;
        size_t start = b->len;
        if (!p->to->sampling_tools && mcp_json_is(mcp_json_get(v, "content"), MCP_JSON_ARRAY)) {
            put_split(p, &list, v, message);
            continue;
        }
        mcp__json_next(&list);
        if (mcp__pass_object(p, b, MCP__PASS_MESSAGE, v, message) || b->failed)
            continue;
        b->len = start;
        list = before;
    }
    mcp__json_end(&list);
}

void mcp__pass_after_asker(const mcp__pass *p, mcp__buf *b, const char *between, mcp_str text)
{
    if (!p->asker || text.len < 2 || text.ptr[0] != '"') {
        mcp__json_put_text(b, text);
        return;
    }
    mcp__json_put_str(b, mcp_str_from(p->asker));
    if (b->failed)
        return;
    b->len--; /* the closing quote */
    mcp__buf_str(b, mcp_str_from(between));
    mcp__buf_str(b, mcp__str_sub(text, 1));
}

bool mcp__pass_form(const mcp__pass *p, mcp__buf *b, const mcp_json *schema, mcp_str text)
{
    if (!p->to->elicitation_modes && mcp__form_check(schema, NULL) == MCP_OK)
        return mcp__form_put_old(b, schema, text) == MCP_OK;
    mcp__json_put_text(b, text);
    return true;
}

void mcp__pass_one_block(mcp__buf *b, const mcp_json *array, mcp_str text)
{
    mcp_json_iter it = {0};
    const mcp_json *block;
    bool first = true;
    if (mcp_json_count(array) == 1) {
        mcp__json_put_text(b, mcp__json_text_at(text, 0));
        return;
    }
    mcp__buf all;
    mcp__buf_init(&all, b->allocator, 0);
    while ((block = mcp_json_next(array, &it, NULL)) != NULL) {
        mcp_str part = mcp_json_string(mcp_json_get(block, "text"));
        if (!part.ptr)
            continue;
        if (!first)
            mcp__buf_char(&all, '\n');
        first = false;
        mcp__buf_str(&all, part);
    }
    mcp__buf_lit(b, "{\"type\":\"text\",\"text\":");
    mcp__json_put_str(b, mcp__buf_view(&all));
    mcp__buf_char(b, '}');
    if (all.failed && !b->failed)
        b->failed = all.failed;
    mcp__buf_free(&all);
}
