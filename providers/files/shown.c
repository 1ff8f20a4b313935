/* shown.c: see shown.h. */
#define _GNU_SOURCE
#include "shown.h"

#include <stdio.h>
#include <unistd.h>

#include <utf16.h>

#include "text.h"

static const struct {
    const char *name;
    mcp_str mark;
} rows[] = {
    {"utf-16le", {"\xff\xfe", 2}},
    {"utf-16be", {"\xfe\xff", 2}},
};

enum { MARK = 2, LONGEST_MARK = 4 };

/* The mark of UTF-32 begins like that of UTF-16. */
static bool is_utf32(mcp_str bytes)
{
    return bytes.len >= LONGEST_MARK && memcmp(bytes.ptr, "\xff\xfe\0\0", LONGEST_MARK) == 0;
}

const char *files_shown_charset(mcp_str bytes)
{
    if (is_utf32(bytes))
        return NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (bytes.len >= MARK && memcmp(bytes.ptr, rows[i].mark.ptr, MARK) == 0)
            return rows[i].name;
    return NULL;
}

const char *files_shown_charset_of(int fd)
{
    char mark[LONGEST_MARK];
    ssize_t n = pread(fd, mark, sizeof(mark), 0);
    return n > 0 ? files_shown_charset((mcp_str){mark, (size_t)n}) : NULL;
}

int files_shown_decode(mcp_str bytes, const char *charset, common_buffer *to)
{
    size_t bad, before = to->len;
    bool big = strcmp(charset, rows[1].name) == 0;
    int rc = editing_utf16_decode(bytes, big, SIZE_MAX, to, &bad);
    if (rc == MCP_OK && !common_text_check((mcp_str){to->ptr + before, to->len - before}))
        rc = MCP_EPARSE;
    return rc;
}

const char *files_shown_type(const char *type, const char *charset, char room[FILES_TYPE_SIZE])
{
    if (!charset)
        return type;
    int n = snprintf(room, FILES_TYPE_SIZE, "%s;charset=%s", type, charset);
    return n > 0 && n < FILES_TYPE_SIZE ? room : type;
}
