/* content.c: makes lines of an entry of a list, and of contents by their type. */
#define _GNU_SOURCE
#include "content.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <mcp/client.h>

enum { LARGEST_TEXT = 512 << 10, LARGEST_HEX = 16 << 10, LARGEST_IMAGE = 6 << 20 };

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
    if (memchr(i->key.ptr, 58, i->key.len))
        put_member(l, "uri", i->key);
    put_member(l, "type", i->type);
    if (i->size >= 0) {
        char size[32];
        snprintf(size, sizeof(size), "%lld bytes", (long long)i->size);
        put_member(l, "size", mcp_str_from(size));
    }
    put_member(l, "about", i->about);
    lines_end(l);
    if (i->json.len)
        json_put(l, i->json, 3);
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

void content_bytes(lines *l, mcp_str bytes)
{
    bool is_cut = bytes.len > LARGEST_HEX;
    bytes.len = is_cut ? LARGEST_HEX : bytes.len;
    for (size_t at = 0; at < bytes.len; at += 16)
        put_hex_row(l, (const unsigned char *)bytes.ptr + at, at,
                    bytes.len - at < 16 ? bytes.len - at : 16);
    if (is_cut) {
        lines_print(l, LOOK_WARN, "only the beginning is shown");
        lines_end(l);
    }
}

/* Shows an image, if the terminal can. */
static bool put_picture(lines *l, mcp_str base64)
{
    size_t len = 0;
    unsigned width, height;
    bool is_large = base64.len > LARGEST_IMAGE;
    char *bytes = is_large ? NULL : malloc(base64.len / 4 * 3 + 3);
    bool is_image = bytes && mcp_base64_decode(bytes, base64, &len) == MCP_OK &&
                    picture_size((mcp_str){bytes, len}, &width, &height);
    if (is_image) {
        lines_print(l, LOOK_DIM, "[an image of %u x %u]", width, height);
        lines_end(l);
    }
    picture *p = is_image ? picture_new(bytes, len) : NULL;
    if (p)
        lines_put_picture(l, p);
    else
        free(bytes);
    return p != NULL;
}

static void put_blob(lines *l, mcp_str base64)
{
    if (put_picture(l, base64))
        return;
    size_t most = (LARGEST_HEX + 3) / 3 * 4, len = 0;
    base64.len = base64.len > most ? most : base64.len;
    char *bytes = malloc(base64.len / 4 * 3 + 1);
    if (!bytes || mcp_base64_decode(bytes, base64, &len) != MCP_OK) {
        lines_print(l, LOOK_BAD, "the server sent no valid Base64");
        lines_end(l);
    }
    content_bytes(l, (mcp_str){bytes, len});
    free(bytes);
}

/* ---- texts ----------------------------------------------------------------------------------- */

typedef enum form {
    FORM_TEXT,
    FORM_MARKDOWN,
    FORM_JSON,
    FORM_CSV,
    FORM_TSV,
    FORM_DIFF,
    FORM_LOG
} form;

/* By the MIME type or the extension; the first row that fits is used. */
static const struct {
    const char *type, *extension;
    form form;
} forms[] = {
    {"text/markdown", ".md", FORM_MARKDOWN},
    {"text/x-markdown", ".markdown", FORM_MARKDOWN},
    {"application/json", ".json", FORM_JSON},
    {"text/csv", ".csv", FORM_CSV},
    {"text/tab-separated-values", ".tsv", FORM_TSV},
    {"text/x-diff", ".diff", FORM_DIFF},
    {"text/x-patch", ".patch", FORM_DIFF},
    {"text/x-log", ".log", FORM_LOG},
};

static bool ends_with(mcp_str text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

static form form_of(mcp_str text, mcp_str type, mcp_str uri)
{
    const char *semicolon = type.len ? memchr(type.ptr, ';', type.len) : NULL;
    type.len = semicolon ? (size_t)(semicolon - type.ptr) : type.len;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (mcp_str_eq(type, mcp_str_from(forms[i].type)) || ends_with(uri, forms[i].extension))
            return forms[i].form;
    if (ends_with(type, "+json"))
        return FORM_JSON;
    if (text.len > 11 && memcmp(text.ptr, "diff --git ", 11) == 0)
        return FORM_DIFF;
    return FORM_TEXT;
}

static bool begins_with(mcp_str text, const char *begin)
{
    size_t len = strlen(begin);
    return text.len >= len && memcmp(text.ptr, begin, len) == 0;
}

static look diff_look(mcp_str line)
{
    static const struct {
        const char *begin;
        look look;
    } table[] = {{"+++", LOOK_BOLD}, {"---", LOOK_BOLD}, {"diff ", LOOK_BOLD}, {"index ", LOOK_DIM},
                 {"@@", LOOK_NAME},  {"+", LOOK_GOOD},   {"-", LOOK_BAD}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (begins_with(line, table[i].begin))
            return table[i].look;
    return LOOK_PLAIN;
}

/* By the first word that names a level, within the first columns. */
static look log_look(mcp_str line)
{
    static const struct {
        const char *word;
        look look;
    } table[] = {{"error", LOOK_BAD}, {"fatal", LOOK_BAD}, {"critical", LOOK_BAD},
                 {"panic", LOOK_BAD}, {"warn", LOOK_WARN}, {"debug", LOOK_DIM},
                 {"trace", LOOK_DIM}};
    enum { FIRST_COLUMNS = 80 };
    size_t len = line.len < FIRST_COLUMNS ? line.len : FIRST_COLUMNS;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        size_t n = strlen(table[i].word);
        for (size_t at = 0; at + n <= len; at++)
            if (strncasecmp(line.ptr + at, table[i].word, n) == 0)
                return table[i].look;
    }
    return LOOK_PLAIN;
}

static void put_by_line(lines *l, mcp_str text, look (*of)(mcp_str line))
{
    while (text.len) {
        const char *newline = memchr(text.ptr, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.ptr) : text.len;
        mcp_str line = {text.ptr, len};
        lines_put(l, of(line), line);
        lines_end(l);
        len += newline != NULL;
        text = (mcp_str){text.ptr + len, text.len - len};
    }
}

/* A line of a question may have a mark before what it shows of a file. */
static look change_look(mcp_str line)
{
    size_t mark = begins_with(line, "| ") ? 2 : 0;
    return diff_look((mcp_str){line.ptr + mark, line.len - mark});
}

void content_change(lines *l, mcp_str text)
{
    while (text.len) {
        const char *newline = memchr(text.ptr, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.ptr) : text.len;
        mcp_str line = {text.ptr, len};
        lines_begin(l, CHANGE_INDENT, CHANGE_HANG, 0);
        lines_put(l, change_look(line), line);
        lines_end(l);
        len += newline != NULL;
        text = (mcp_str){text.ptr + len, text.len - len};
    }
}

static bool put_form(lines *l, form f, mcp_str text)
{
    switch (f) {
    case FORM_MARKDOWN: return markdown_lines(l, text);
    case FORM_JSON: return json_put(l, text, text.len > 8192 ? 2 : 4);
    case FORM_CSV: return csv_put(l, text, ',');
    case FORM_TSV: return csv_put(l, text, '\t');
    case FORM_DIFF: put_by_line(l, text, diff_look); return true;
    case FORM_LOG: put_by_line(l, text, log_look); return true;
    case FORM_TEXT: break;
    }
    return false;
}

void content_text(lines *l, mcp_str text, mcp_str type, mcp_str uri)
{
    bool is_cut = text.len > LARGEST_TEXT;
    text.len = is_cut ? LARGEST_TEXT : text.len;
    if (!put_form(l, form_of(text, type, uri), text))
        lines_put_text(l, LOOK_PLAIN, text);
    if (l->is_open)
        lines_end(l);
    if (is_cut) {
        lines_print(l, LOOK_WARN, "only the beginning is shown");
        lines_end(l);
    }
}

/* ---- contents and blocks --------------------------------------------------------------------- */

static void put_resource(lines *l, const mcp_json *c)
{
    const mcp_json *text = mcp_json_get(c, "text"), *blob = mcp_json_get(c, "blob");
    mcp_str type = mcp_json_string(mcp_json_get(c, "mimeType"));
    if (text)
        content_text(l, mcp_json_string(text), type, mcp_json_string(mcp_json_get(c, "uri")));
    else if (blob)
        put_blob(l, mcp_json_string(blob));
}

static void put_note(lines *l, mcp_str what, mcp_str more)
{
    lines_put(l, LOOK_DIM, MCP_STR("["));
    lines_put(l, LOOK_DIM, what);
    lines_put(l, LOOK_DIM, more.len ? MCP_STR(" ") : MCP_STR(""));
    lines_put(l, LOOK_DIM, more);
    lines_put(l, LOOK_DIM, MCP_STR("]"));
    lines_end(l);
}

void content_block(lines *l, const mcp_json *block)
{
    mcp_str type = mcp_json_string(mcp_json_get(block, "type"));
    if (mcp_str_eq(type, MCP_STR("text"))) {
        content_text(l, mcp_json_string(mcp_json_get(block, "text")), (mcp_str){0}, (mcp_str){0});
    } else if (mcp_str_eq(type, MCP_STR("resource"))) {
        const mcp_json *resource = mcp_json_get(block, "resource");
        put_note(l, type, mcp_json_string(mcp_json_get(resource, "uri")));
        put_resource(l, resource);
    } else if (mcp_str_eq(type, MCP_STR("resource_link"))) {
        put_note(l, MCP_STR("link"), mcp_json_string(mcp_json_get(block, "uri")));
    } else {
        put_note(l, type, mcp_json_string(mcp_json_get(block, "mimeType")));
        put_blob(l, mcp_json_string(mcp_json_get(block, "data")));
    }
}

void content_put(lines *l, const mcp_json *contents)
{
    mcp_json_iter it = {0};
    bool many = mcp_json_count(contents) > 1;
    for (const mcp_json *c; (c = mcp_json_next(contents, &it, NULL)) != NULL;) {
        if (many)
            put_note(l, MCP_STR("resource"), mcp_json_string(mcp_json_get(c, "uri")));
        put_resource(l, c);
    }
}
