/* charset.c: the texts of commits that are not in UTF-8: the header "encoding" says in which encoding
 * they are, and iconv converts them, as git does. In a static program, or where the modules of glibc's
 * iconv are not installed, it knows fewer encodings.
 */
#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_NAME = 40, MAX_TEXT = 64 << 20 };

/* Copies the name. It has no "//", behind which glibc expects options. */
static bool take_name(mcp_str encoding, char name[MAX_NAME + 1])
{
    if (encoding.len > MAX_NAME || memmem(encoding.ptr, encoding.len, "//", 2) ||
        memchr(encoding.ptr, 0, encoding.len))
        return false;
    snprintf(name, MAX_NAME + 1, "%.*s", (int)encoding.len, encoding.ptr);
    if (strcasecmp(name, "latin-1") == 0) /* a name that git knows */
        snprintf(name, MAX_NAME + 1, "ISO-8859-1");
    return true;
}

/* Converts and appends; at the end, what the conversion still keeps. */
static int convert(iconv_t with, mcp_str text, common_buffer *to)
{
    char *from = (char *)(uintptr_t)text.ptr;
    size_t left = text.len;
    bool last = false;
    for (;;) {
        int rc = common_buffer_reserve(to, left + left / 2 + 64);
        if (rc != MCP_OK)
            return rc;
        char *at = to->ptr + to->len;
        size_t before = to->cap - to->len, room = before;
        size_t n = iconv(with, last ? NULL : &from, last ? NULL : &left, &at, &room);
        to->len += before - room;
        if (n == (size_t)-1 && (errno != E2BIG || to->len > MAX_TEXT))
            return MCP_EPARSE;
        if (n != (size_t)-1 && last)
            return MCP_OK;
        last = n != (size_t)-1;
    }
}

int repo_commit_decode(repo_commit *c, const mcp_allocator *alloc)
{
    char name[MAX_NAME + 1];
    common_buffer to;
    repo_commit parsed;
    if (!c->encoding.len || !take_name(c->encoding, name))
        return MCP_OK;
    if (strcasecmp(name, "UTF-8") == 0 || strcasecmp(name, "UTF8") == 0) {
        c->encoding.len = 0;
        return MCP_OK;
    }
    iconv_t with = iconv_open("UTF-8", name);
    if (with == (iconv_t)-1)
        return MCP_OK;
    common_buffer_init(&to, alloc);
    int rc = convert(with, repo_object_text(c->object), &to);
    iconv_close(with);
    if (rc != MCP_OK || !repo_commit_parse((mcp_str){to.ptr, to.len}, &parsed)) {
        common_buffer_free(&to);
        return rc == MCP_ENOMEM ? rc : MCP_OK;
    }
    c->author = parsed.author;
    c->committer = parsed.committer;
    c->message = parsed.message;
    c->encoding = (mcp_str){"", 0};
    c->decoded = to.ptr;
    c->alloc = alloc;
    return MCP_OK;
}
