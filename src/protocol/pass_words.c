/* pass_words.c: texts that replace the title and the description of another server's tools and prompts.
 *
 * The old members are left out, and the new ones are written at the end of the object. Clients of
 * revisions without `title` show annotations.title of a tool, which is therefore replaced, too.
 */
#include "protocol/pass.h"

#include <mcp/sys/json.h>

mcp__pass_titles mcp__pass_titles_of(const mcp__pass *p, mcp__pass_shape shape,
                                     const mcp_json *value)
{
    mcp__pass_titles words = {NULL, NULL};
    mcp_str name = mcp_json_string(mcp_json_get(value, "name"));
    bool tool = shape == MCP__PASS_TOOL;
    if (p->words && name.ptr && (tool || shape == MCP__PASS_PROMPT))
        p->words(p->user, tool ? MCP__PASS_NAME_TOOL : MCP__PASS_NAME_PROMPT, name, &words);
    return words;
}

/* Writes annotations with another title. */
static void put_annotations(mcp__json_list *list, const char *title, const mcp_json *value,
                            mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, member;
    mcp__json_name(list, "annotations");
    mcp__json_list inner = mcp__json_begin_object(list->buf);
    while (mcp_json_next(value, &it, &key) && mcp_json_text_next(text, &texts, NULL, &member)) {
        mcp__json_key(&inner, key);
        if (mcp_str_eq(key, MCP_STR("title")))
            mcp__json_put_str(list->buf, mcp_str_from(title));
        else
            mcp__json_put_text(list->buf, member);
    }
    mcp__json_end(&inner);
}

bool mcp__pass_word(const mcp__pass *p, mcp__json_list *list, const mcp__pass_titles *words,
                    mcp_str key, const mcp_json *value, mcp_str text)
{
    if (mcp_str_eq(key, MCP_STR("description")))
        return words->description != NULL;
    if (!words->title)
        return false;
    if (mcp_str_eq(key, MCP_STR("title")))
        return true;
    if (!mcp_str_eq(key, MCP_STR("annotations")) || !mcp_json_is(value, MCP_JSON_OBJECT) ||
        !p->to->tool_annotations)
        return false;
    put_annotations(list, words->title, value, text);
    return true;
}

void mcp__pass_end_titles(const mcp__pass *p, mcp__json_list *list, const mcp__pass_titles *words)
{
    if (words->title && p->to->title) {
        mcp__json_name(list, "title");
        mcp__json_put_str(list->buf, mcp_str_from(words->title));
    }
    if (words->description) {
        mcp__json_name(list, "description");
        mcp__json_put_str(list->buf, mcp_str_from(words->description));
    }
}
