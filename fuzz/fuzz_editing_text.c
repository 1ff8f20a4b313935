/* fuzz_editing_text.c: a file of any bytes is opened in a charset, edited, and written back. The first
 * byte selects the charset; then follow, separated by the bytes 00 01 00, the text to replace, its
 * replacement, and the file. A file that is opened is written back as the same bytes, and after an edit
 * what was written is opened again as the changed text.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <edit.h>

enum { MOST = 1 << 20 };

static const char *const charsets[] = {
    "",          "UTF-8",  "UTF-16", "UTF-16LE", "UTF-16BE", "ISO-8859-1", "CP1252",
    "Shift_JIS", "EUC-KR", "EUC-JP", "GB18030",  "GBK",      "CP932",      "Big5",
};

static mcp_str take_part(mcp_str *rest)
{
    const char *end = rest->len ? memmem(rest->ptr, rest->len, "\0\1\0", 3) : NULL;
    mcp_str part = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t used = part.len + (end ? 3 : 0);
    *rest = (mcp_str){rest->ptr + used, rest->len - used};
    return part;
}

static void check_round_trip(const editing_text *t, mcp_str file)
{
    common_buffer same, room;
    mcp_str bytes;
    if (editing_changed_begin(t, t->text.len, &same) != MCP_OK ||
        common_buffer_append(&same, t->text.ptr, t->text.len) != MCP_OK ||
        editing_changed_bytes(t, &same, SIZE_MAX, &room, &bytes, NULL) != MCP_OK ||
        !mcp_str_eq(bytes, file))
        abort();
    common_buffer_free(&room);
    common_buffer_free(&same);
}

/* What is written is read as the text again, if its charset is named as it was found. A text that now
 * begins with a mark is another one. */
static void check_written(const editing_text *t, const common_buffer *changed)
{
    common_buffer room;
    mcp_str bytes, text = editing_changed_text(t, changed);
    editing_text again;
    bool marked = text.len >= 3 && memcmp(text.ptr, "\xef\xbb\xbf", 3) == 0;
    if (editing_changed_bytes(t, changed, SIZE_MAX, &room, &bytes, NULL) == MCP_OK && !marked) {
        int rc = editing_text_open(bytes, mcp_str_from(editing_text_charset(t)), SIZE_MAX, NULL,
                                   &again, NULL);
        /* A legacy charset whose bytes now look like a mark is refused. */
        if (rc == MCP_OK && !mcp_str_eq(again.text, text))
            abort();
        if (rc != MCP_OK && rc != MCP_EINVAL)
            abort();
        if (rc == MCP_OK)
            editing_text_close(&again);
    }
    common_buffer_free(&room);
}

static void check_edits(const editing_text *t, mcp_str before, mcp_str after)
{
    for (size_t count = 1; count <= 3; count++) {
        editing_edit edits[] = {{before, after, count}, {after, before, count}};
        common_buffer changed;
        mcp_error error;
        int rc = editing_edit_all(t, edits, 1 + count % 2, NULL, &changed, &error);
        if (rc != error.code || (rc == MCP_OK) != (error.text[0] == 0))
            abort();
        if (rc == MCP_OK)
            check_written(t, &changed);
        common_buffer_free(&changed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    editing_text t;
    if (size < 1 || size > MOST)
        return 0;
    mcp_str rest = {(const char *)data + 1, size - 1};
    mcp_str before = take_part(&rest), after = take_part(&rest);
    const char *charset = charsets[data[0] % (sizeof(charsets) / sizeof(charsets[0]))];
    if (editing_text_open(rest, mcp_str_from(charset), MOST, NULL, &t, NULL) != MCP_OK)
        return 0;
    check_round_trip(&t, rest);
    check_edits(&t, before, after);
    editing_text_close(&t);
    return 0;
}
