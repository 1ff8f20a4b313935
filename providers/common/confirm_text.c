/* confirm_text.c: the text of the question of confirm.h.
 *
 * The content is somebody else's, and may try to look like this program. So the first line is ours,
 * every line of the content has a mark before it, and no character can hide, move or end anything.
 */
#include "confirm_text.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SHOWN = 4096, MOST_URI = 1024 };

#define MARK "| "

/* Appends a text on one line; see confirm_is_too_long(). Returns false if memory is exhausted. */
static bool put_name(common_buffer *to, mcp_str text)
{
    char shown[MOST_URI + 16];
    size_t len = mcp_text_escape(shown, sizeof(shown), text);
    return common_buffer_append(to, shown, len) == MCP_OK;
}

/* One character as it is shown: a tab as an arrow, since it moves what follows. */
static size_t show(char to[16], mcp_str rest, size_t *size)
{
    mcp_char c = mcp_char_at(rest);
    *size = c.size;
    if (c.code == '\t' && c.size == 1)
        return (size_t)snprintf(to, 16, "\xe2\x86\x92 ");
    if (c.escape[0])
        return (size_t)snprintf(to, 16, "%s", c.escape);
    memcpy(to, rest.ptr, c.size);
    return c.size;
}

/* Appends the content with a mark before each line. *left is the number of bytes that did not fit. */
static bool put_content(common_buffer *to, mcp_str text, size_t *left)
{
    size_t begin = to->len, size;
    bool ok = true, fresh = true;
    char one[16];
    for (; ok && text.len; text.ptr += size, text.len -= size) {
        bool line = *text.ptr == '\n';
        size_t len = line ? 1 : show(one, text, &size);
        size_t more = len + (fresh ? sizeof("\n" MARK) - 1 : 0);
        if (line)
            size = 1;
        if (to->len - begin + more > MOST_SHOWN)
            break;
        if (fresh)
            ok = common_put(to, "\n" MARK);
        if (ok && !line)
            ok = common_buffer_append(to, one, len) == MCP_OK;
        fresh = line;
    }
    *left = text.len;
    return ok;
}

static bool put_first_line(common_buffer *to, const common_change *what)
{
    char counts[64] = "";
    if (what->is_text)
        snprintf(counts, sizeof(counts), ", +%zu \xe2\x88\x92%zu lines", what->plus, what->minus);
    return common_put(to, what->operation) && common_put(to, " ") && put_name(to, what->uri) &&
           (!what->to.len || (common_put(to, " to ") && put_name(to, what->to))) &&
           common_put(to, counts);
}

bool confirm_is_too_long(const common_change *what)
{
    char shown[MOST_URI + 16];
    return mcp_text_escape(shown, sizeof(shown), what->uri) > MOST_URI ||
           mcp_text_escape(shown, sizeof(shown), what->to) > MOST_URI;
}

int confirm_put_text(common_buffer *to, const common_change *what)
{
    char line[128];
    size_t left;
    bool ok = put_first_line(to, what) && put_content(to, what->content, &left);
    if (ok && left) {
        snprintf(line, sizeof(line), "\n(%zu more bytes are not shown; all of it is ", left);
        ok = common_put(to, line) &&
             common_put(to, what->rest ? what->rest : "in the arguments of the call") &&
             common_put(to, ")");
    }
    return ok && common_buffer_append(to, "", 1) == MCP_OK ? MCP_OK : MCP_ENOMEM;
}
