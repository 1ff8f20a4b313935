/* content.c: makes lines of an entry of a list, and of the contents of a resource. */
#define _GNU_SOURCE
#include "app.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST_TEXT = 512 << 10, LARGEST_HEX = 16 << 10 };

static void put_member(lines *l, const char *name, mcp_str value)
{
    if (!value.len)
        return;
    lines_begin(l, 0, 13, 0);
    lines_print(l, LOOK_DIM, "%-12s ", name);
    lines_put(l, LOOK_PLAIN, value);
    lines_end(l);
}

void content_entry(lines *l, const item *i)
{
    lines_begin(l, 0, 0, 0);
    lines_put(l, LOOK_HEADING, i->title.len ? i->title : i->name.len ? i->name : i->key);
    lines_end(l);
    put_member(l, "name", i->name);
    put_member(l, "uri", i->key);
    put_member(l, "type", i->type);
    if (i->size >= 0) {
        char size[32];
        snprintf(size, sizeof(size), "%lld bytes", (long long)i->size);
        put_member(l, "size", mcp_str_from(size));
    }
    put_member(l, "about", i->about);
    lines_end(l);
}

static void put_hex_row(lines *l, const unsigned char *bytes, size_t at, size_t n)
{
    char text[17];
    lines_begin(l, 0, 0, 0)->is_whole = true;
    lines_print(l, LOOK_DIM, "%08zx ", at);
    for (size_t i = 0; i < 16; i++) {
        if (i < n)
            lines_print(l, LOOK_PLAIN, "%s%02x", i == 8 ? "  " : " ", bytes[i]);
        else
            lines_print(l, LOOK_PLAIN, "%s  ", i == 8 ? "  " : " ");
        text[i] = i >= n ? 0 : bytes[i] >= 0x20 && bytes[i] < 0x7f ? (char)bytes[i] : '.';
    }
    text[16] = 0;
    lines_print(l, LOOK_STRING, "  %s", text);
    lines_end(l);
}

static void put_blob(lines *l, mcp_str base64)
{
    size_t most = LARGEST_HEX / 3 * 4, len = 0;
    bool is_cut = base64.len > most;
    base64.len = is_cut ? most : base64.len;
    unsigned char *bytes = malloc(base64.len / 4 * 3 + 1);
    if (!bytes || mcp_base64_decode(bytes, base64, &len) != MCP_OK)
        lines_print(l, LOOK_BAD, "the server sent no valid Base64");
    for (size_t at = 0; at < len; at += 16)
        put_hex_row(l, bytes + at, at, len - at < 16 ? len - at : 16);
    if (is_cut)
        lines_print(l, LOOK_WARN, "only the beginning is shown");
    lines_end(l);
    free(bytes);
}

static void put_text(lines *l, mcp_str text)
{
    bool is_cut = text.len > LARGEST_TEXT;
    text.len = is_cut ? LARGEST_TEXT : text.len;
    lines_put_text(l, LOOK_PLAIN, text);
    if (is_cut)
        lines_print(l, LOOK_WARN, "only the beginning is shown");
}

void content_put(lines *l, const mcp_json *contents, mcp_str uri)
{
    mcp_json_iter it = {0};
    bool many = mcp_json_count(contents) > 1;
    (void)uri;
    for (const mcp_json *c; (c = mcp_json_next(contents, &it, NULL)) != NULL;) {
        const mcp_json *text = mcp_json_get(c, "text"), *blob = mcp_json_get(c, "blob");
        if (many) {
            lines_put(l, LOOK_NAME, mcp_json_string(mcp_json_get(c, "uri")));
            lines_end(l);
        }
        if (text)
            put_text(l, mcp_json_string(text));
        else if (blob)
            put_blob(l, mcp_json_string(blob));
    }
}
