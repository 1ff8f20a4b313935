/* content.c: content blocks as text. What is no text (an image, a sound) is named and not written:
 * --json has it.
 */
#include "content.h"

static void put_text(const ctl *c, FILE *to, mcp_str text)
{
    if (to == stdout && !c->out_is_terminal)
        fwrite(text.ptr, 1, text.len, to);
    else
        text_put(to, text, TEXT_BLOCK);
    if (!text.len || text.ptr[text.len - 1] != '\n')
        fputc('\n', to);
}

static void put_note(FILE *to, mcp_str kind, mcp_str type, size_t bytes, mcp_str uri)
{
    fputc('[', to);
    text_put(to, kind, TEXT_LINE);
    if (type.len)
        fputc(' ', to), text_put(to, type, TEXT_LINE);
    if (bytes)
        fprintf(to, ", %zu bytes", bytes);
    if (uri.len)
        fputc(' ', to), text_put(to, uri, TEXT_LINE);
    fputs("]\n", to);
}

void put_content_block(const ctl *c, FILE *to, const mcp_json *block)
{
    mcp_str type = mcp_json_string(mcp_json_get(block, "type"));
    const mcp_json *from = block;
    if (mcp_str_eq(type, MCP_STR("resource")))
        from = mcp_json_get(block, "resource");
    const mcp_json *text = mcp_json_get(from, "text");
    if (mcp_json_is(text, MCP_JSON_STRING)) {
        put_text(c, to, mcp_json_string(text));
        return;
    }
    const mcp_json *data = mcp_json_get(from, from == block ? "data" : "blob");
    put_note(to, type.len ? type : MCP_STR("unknown content"),
             mcp_json_string(mcp_json_get(from, "mimeType")), mcp_json_string(data).len / 4 * 3,
             mcp_json_string(mcp_json_get(from, "uri")));
}
