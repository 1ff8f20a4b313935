/* stream.c: see stream.h. */
#define _GNU_SOURCE
#include "stream.h"

#include <errno.h>
#include <unistd.h>

#include "shown.h"
#include "text.h"

enum {
    BLOCK = 256 << 10,
    OVERLAP = SEARCH_NEEDLE_MAX, /* of the pieces of a long line */
    LOOK = 4096,                 /* bytes from which it is found whether a file is text */
    CHARACTER = 4,               /* bytes of the longest one */
};

static const int64_t soon_ns =
    250 * 1000000LL; /* a call that has found something ends after this time */

void files_stream_begin(files_stream *s, files_sweep *sweep, search_turn *turn,
                        const search_text *text, uint64_t size)
{
    *s = (files_stream){.begun = true, .size = size, .sweep = sweep, .turn = turn, .text = *text};
    s->item.lines = sweep->within.lines;
}

void files_stream_note(const files_stream *s)
{
    s->turn->results->until = s->sweep->within.offset;
    s->turn->results->of = s->size;
}

static bool is_within_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Reads a block, which is shorter only at the end of the file. */
static int read_block(int fd, uint64_t at, common_buffer *block)
{
    block->len = 0;
    int rc = common_buffer_reserve(block, BLOCK);
    if (rc != MCP_OK || at > INT64_MAX - BLOCK)
        return rc;
    for (ssize_t n = 1; n != 0 && block->len < BLOCK;) {
        n = pread(fd, block->ptr + block->len, BLOCK - block->len, (off_t)(at + block->len));
        if (n < 0 && errno != EINTR)
            return MCP_EIO;
        block->len += n > 0 ? (size_t)n : 0;
    }
    return MCP_OK;
}

/* Finds out at the beginning of the file whether it is text. */
static int look(const files_stream *s, mcp_str block)
{
    block.len = block.len < LOOK ? block.len : LOOK;
    if (s->sweep->within.offset)
        return MCP_OK;
    if (files_shown_charset(block) || (block.len >= 2 && !memcmp(block.ptr, "\xff\xfe", 2)))
        return MCP_EUNSUPPORTED;
    return common_text_check(common_text_whole(block)) ? MCP_OK : MCP_EPARSE;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Searches some lines, which are text. *used becomes how far they are done. */
static int put_text(files_stream *s, mcp_str text, size_t *used)
{
    s->text.text = text;
    int rc = search_put_block(s->turn->results, s->turn->query, &s->text, &s->item);
    *used = s->item.at;
    if (!s->item.more)
        s->item.lines += common_text_feeds(text);
    return rc;
}

/* Searches lines, of which some may not be text. */
static int put_lines(files_stream *s, mcp_str lines, size_t *used)
{
    *used = 0;
    if (common_text_check(lines))
        return put_text(s, lines, used);
    int rc = MCP_OK;
    for (size_t len, got; rc == MCP_OK && *used < lines.len && !s->item.more; *used += got) {
        mcp_str line = {lines.ptr + *used, lines.len - *used};
        const char *lf = memchr(line.ptr, '\n', line.len);
        line.len = len = lf ? (size_t)(lf + 1 - line.ptr) : line.len;
        got = len;
        if (common_text_check(line)) {
            rc = put_text(s, line, &got);
        } else {
            s->turn->results->odd++;
            s->item.lines += lf != NULL;
        }
    }
    return rc;
}

/* Searches a piece of a line that is longer than a block. */
static int put_piece(files_stream *s, mcp_str piece, bool last, size_t *used)
{
    mcp_str text = common_text_whole(piece);
    size_t got = 0;
    int rc = MCP_OK;
    if (common_text_check(text))
        rc = put_text(s, text, &got);
    else
        s->turn->results->odd++;
    size_t next = last ? piece.len : piece.len - OVERLAP;
    for (size_t n = 1; !last && n < CHARACTER && is_within_character(piece.ptr[next]); n++)
        next--;
    *used = s->item.more ? 0 : next;
    s->sweep->within.shown = s->item.matched && !s->item.more;
    return rc;
}

/* Skips the rest of a line that is in the results. */
static size_t skip_shown(files_stream *s, mcp_str block)
{
    const char *lf = memchr(block.ptr, '\n', block.len);
    s->sweep->within.shown = lf == NULL;
    s->item.lines += lf != NULL;
    return lf ? (size_t)(lf + 1 - block.ptr) : block.len;
}

/* Searches a block, or a part of it; `last`: the file ends with it. *used becomes how far it is done. */
static int put_block(files_stream *s, mcp_str block, bool last, size_t *used)
{
    int rc = look(s, block);
    if (rc != MCP_OK)
        return rc;
    if (s->sweep->within.shown) {
        *used = skip_shown(s, block);
        return MCP_OK;
    }
    const char *lf = memrchr(block.ptr, '\n', block.len);
    if (!lf)
        return put_piece(s, block, last, used);
    return put_lines(s, (mcp_str){block.ptr, last ? block.len : (size_t)(lf + 1 - block.ptr)},
                     used);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Returns whether the part ends here, at *ret why. */
static bool ends(const files_stream *s, int *ret)
{
    const search_turn *t = s->turn;
    bool full = search_is_full(t->results, t->query);
    if (s->item.more && !full)
        *ret = MCP_EEXIST;
    else if (full || (t->results->count && search_now() - t->began > soon_ns))
        *ret = FILES_SWEEP_ENOUGH;
    else if (files_sweep_slice_over(s->sweep))
        *ret = FILES_SWEEP_PART;
    else
        return false;
    return true;
}

int files_stream_search(files_stream *s, int fd, common_buffer *block)
{
    files_within *at = &s->sweep->within;
    for (;;) {
        int rc = files_sweep_stopped(s->sweep) ? MCP_ECANCELLED : read_block(fd, at->offset, block);
        if (rc != MCP_OK || !block->len)
            return rc;
        mcp_str text = {block->ptr, block->len}, begin = text;
        if (!at->offset)
            text = common_text_after_mark(text);
        size_t used = 0;
        bool last = block->len < BLOCK;
        rc = put_block(s, text, last, &used);
        at->offset += used + (size_t)(text.ptr - begin.ptr);
        at->lines = s->item.lines;
        if (rc != MCP_OK || (last && used == text.len) || ends(s, &rc))
            return rc;
    }
}
