/* content.c: prints content blocks as text. Of other content (images, audio) only the type is
 * printed; --json prints all of it.
 */
#include "content.h"

static void put_text(const ctl *c, FILE *to, mcp_str text)
{
    if (to == stdout && !c->out_is_terminal)
        text_put_raw(to, text);
    else
        text_put_wrapped(to, text, TEXT_BLOCK, (text_lines){.width = text_columns(to)});
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

/* Returns the number of bytes that the Base64 text encodes. */
static size_t decoded_size(mcp_str base64)
{
    size_t padding = 0;
    while (padding < 2 && padding < base64.len && base64.ptr[base64.len - 1 - padding] == '=')
        padding++;
    size_t most = base64.len / 4 * 3;
    return most - (most ? padding : 0);
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
             mcp_json_string(mcp_json_get(from, "mimeType")), decoded_size(mcp_json_string(data)),
             mcp_json_string(mcp_json_get(from, "uri")));
}
