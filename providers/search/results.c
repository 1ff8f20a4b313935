/* results.c: see search.h. */
#define _GNU_SOURCE
#include "search.h"

#include <stdio.h>
#include <time.h>

#include "glob.h"
#include "structured.h"
#include "text.h"

enum {
    LINE_SHOWN = 240,  /* bytes of the longest line that is shown whole */
    LINE_BEFORE = 80,  /* bytes shown before the match in a longer line */
    ABOUT_SHOWN = 160, /* bytes shown of a title or description in the text */
    ENTRY_BYTES = 50,  /* bytes of the JSON of an entry, besides its strings */
    MATCH_BYTES = 30,  /* the same of a line */
    ITEM_BYTES = 100,  /* the same of a resource with lines, and of its link */
};

int64_t search_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- filters --------------------------------------------------------------------------------- */

bool search_path_fits(mcp_str glob, mcp_str name, mcp_str path)
{
    if (!glob.len)
        return true;
    if (!memchr(glob.ptr, '/', glob.len))
        return common_glob_match(glob, name);
    if (*glob.ptr == '/')
        glob.ptr++, glob.len--;
    return common_glob_match(glob, path);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool search_contains(mcp_str text, mcp_str part)
{
    for (size_t at = 0; at + part.len <= text.len; at++) {
        size_t i = 0;
        while (i < part.len && lower(text.ptr[at + i]) == part.ptr[i])
            i++;
        if (i == part.len)
            return true;
    }
    return false;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

int search_results_init(search_results *r, const mcp_allocator *alloc)
{
    *r = (search_results){.alloc = *alloc};
    common_buffer_init(&r->text, &r->alloc);
    common_buffer_init(&r->links, &r->alloc);
    common_buffer_init(&r->ends, &r->alloc);
    common_buffer_init(&r->more, &r->alloc);
    r->json = mcp_json_writer_new(&r->alloc, 0);
    return r->json ? MCP_OK : MCP_ENOMEM;
}

void search_results_free(search_results *r)
{
    common_buffer_free(&r->text);
    common_buffer_free(&r->links);
    common_buffer_free(&r->ends);
    common_buffer_free(&r->more);
    mcp_json_writer_free(r->json);
    r->json = NULL;
}

/* The first result is always shown. */
bool search_is_full(const search_results *r, const search_query *q)
{
    return r->count >= q->limit || (q->most && r->count && r->bytes >= q->most);
}

/* What is shown besides the JSON counts, if it is shown. */
static void count_text(search_results *r, size_t bytes)
{
    if (!r->structured)
        r->bytes += bytes;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Returns the first character boundary at or after `at`. */
static size_t character_from(mcp_str s, size_t at)
{
    while (at < s.len && ((unsigned char)s.ptr[at] & 0xc0) == 0x80)
        at++;
    return at;
}

static int put(common_buffer *b, const char *text)
{
    return common_buffer_append(b, text, strlen(text));
}

static int put_str(common_buffer *b, mcp_str text)
{
    return text.len ? common_buffer_append(b, text.ptr, text.len) : MCP_OK;
}

/* Appends at most ABOUT_SHOWN bytes, with line ends and tabs replaced by spaces. */
static int put_about(common_buffer *b, mcp_str all)
{
    size_t len = all.len > ABOUT_SHOWN ? character_from(all, ABOUT_SHOWN - 3) : all.len;
    int rc = common_buffer_reserve(b, len);
    for (size_t i = 0; rc == MCP_OK && i < len; i++)
        b->ptr[b->len++] = (unsigned char)all.ptr[i] < ' ' ? ' ' : all.ptr[i];
    return rc == MCP_OK && len < all.len ? put(b, "…") : rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

static const char *kind_name(unsigned kind)
{
    return kind == SEARCH_FOLDERS ? "folder" : kind == SEARCH_FILES ? "file" : "resource";
}

/* Appends title (or name) and description. */
static int put_names(common_buffer *b, const search_entry *e)
{
    mcp_str name = e->title.len ? e->title : e->name;
    int rc = MCP_OK;
    if (name.len && (rc = put(b, "\t")) == MCP_OK)
        rc = put_about(b, name);
    if (rc == MCP_OK && e->description.len && (rc = put(b, name.len ? ": " : "\t")) == MCP_OK)
        rc = put_about(b, e->description);
    return rc;
}

static int put_line(common_buffer *b, const search_entry *e)
{
    char size[32] = "-";
    if (e->has_size)
        snprintf(size, sizeof(size), "%llu", (unsigned long long)e->size);
    const char *parts[] = {kind_name(e->kind), "\t", size, "\t"};
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < sizeof(parts) / sizeof(*parts); i++)
        rc = put(b, parts[i]);
    if (rc == MCP_OK)
        rc = put_str(b, e->uri);
    if (rc == MCP_OK)
        rc = put_names(b, e);
    return rc == MCP_OK ? put(b, "\n") : rc;
}

int search_put_entry(search_results *r, const search_entry *e)
{
    const struct {
        const char *key;
        mcp_str text;
    } members[] = {{"name", e->name},
                   {"title", e->title},
                   {"description", e->description},
                   {"mimeType", e->mime_type}};
    mcp_json_writer *w = r->json;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "kind", kind_name(e->kind));
    mcp_json_put_str(w, "uri", e->uri);
    if (e->has_size)
        mcp_json_put_uint(w, "size", e->size);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        if (members[i].text.len) {
            mcp_json_put_str(w, members[i].key, members[i].text);
            r->bytes += common_json_bytes(members[i].text) + sizeof("\"description\":\"\",");
        }
    mcp_json_end(w);
    r->count++;
    size_t before = r->text.len;
    int rc = put_line(&r->text, e);
    r->bytes += e->uri.len + ENTRY_BYTES;
    count_text(r, r->text.len - before);
    return rc;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Returns the part of a line that is shown: all of it, or the text around the match. `shown` is a
 * buffer for the latter. */
static mcp_str show_line(mcp_str line, size_t match, char shown[LINE_SHOWN + 16])
{
    if (line.len <= LINE_SHOWN)
        return line;
    size_t from = match > LINE_BEFORE ? character_from(line, match - LINE_BEFORE) : 0;
    size_t to =
        from + LINE_SHOWN < line.len ? character_from(line, from + LINE_SHOWN - 3) : line.len;
    int n = snprintf(shown, LINE_SHOWN + 16, "%s%.*s%s", from ? "…" : "", (int)(to - from),
                     line.ptr + from, to < line.len ? "…" : "");
    return (mcp_str){shown, (size_t)n};
}

static int put_match(search_results *r, uint64_t number, mcp_str line, size_t match)
{
    char shown[LINE_SHOWN + 16], head[32];
    mcp_str text = show_line(line, match, shown);
    int n = snprintf(head, sizeof(head), "%llu: ", (unsigned long long)number);
    mcp_json_begin_object(r->json);
    mcp_json_put_uint(r->json, "line", number);
    mcp_json_put_str(r->json, "text", text);
    mcp_json_end(r->json);
    r->bytes += common_json_bytes(text) + MATCH_BYTES;
    count_text(r, (size_t)n + text.len);
    int rc = common_buffer_append(&r->text, head, (size_t)n);
    if (rc == MCP_OK)
        rc = common_buffer_append(&r->text, text.ptr, text.len);
    return rc == MCP_OK ? put(&r->text, "\n") : rc;
}

/* Writes the resource's URI, which precedes its lines. */
static int begin_item(search_results *r, const search_text *t)
{
    const mcp_str link[] = {t->uri, t->name, t->mime_type};
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < sizeof(link) / sizeof(*link); i++)
        if ((rc = put_str(&r->links, link[i])) == MCP_OK)
            rc = common_buffer_append(&r->links, "", 1);
    if (rc == MCP_OK)
        rc = put_str(&r->text, t->uri);
    if (rc != MCP_OK)
        return rc;
    r->bytes += t->uri.len + ITEM_BYTES;
    count_text(r, 2 * t->uri.len + t->name.len + t->mime_type.len);
    mcp_json_begin_object(r->json);
    mcp_json_put_str(r->json, "uri", t->uri);
    mcp_json_put_array(r->json, "matches");
    return put(&r->text, "\n");
}

int search_end_item(search_results *r, mcp_str uri, const search_item *item, bool more)
{
    int rc = MCP_OK;
    if (!item->found)
        return MCP_OK;
    mcp_json_end(r->json);
    if (more)
        mcp_json_put_bool(r->json, "more", true);
    mcp_json_end(r->json);
    if (more)
        rc = common_buffer_append(&r->more, uri.ptr, uri.len);
    if (more && rc == MCP_OK)
        rc = common_buffer_append(&r->more, "", 1);
    return more && rc == MCP_OK ? put(&r->text, "(and more in this file)\n") : rc;
}

typedef struct place {
    size_t at; /* offset of a line */
    uint64_t line;
} place;

/* Advances to the line that contains the offset `match`, and returns it. */
static mcp_str line_of(mcp_str text, place *p, size_t match)
{
    const char *lf;
    while ((lf = memchr(text.ptr + p->at, '\n', match - p->at)) != NULL) {
        p->at = (size_t)(lf - text.ptr) + 1;
        p->line++;
    }
    lf = memchr(text.ptr + match, '\n', text.len - match);
    mcp_str line = {text.ptr + p->at, (lf ? (size_t)(lf - text.ptr) : text.len) - p->at};
    line.len -= line.len && line.ptr[line.len - 1] == '\r';
    return line;
}

static bool has_room(const search_results *r, const search_query *q, const search_item *item)
{
    return item->found < q->per_item && r->count < q->limit &&
           !(item->found && search_is_full(r, q));
}

/* Adds one match per line. Returns MCP_ENOTFOUND when there are no more. */
static int put_matches(search_results *r, const search_query *q, const search_text *t, place *p,
                       search_item *item)
{
    size_t begin, end;
    for (size_t from = 0;;) {
        int rc = search_needle_find(q->needle, t->text, from, t->stop, t->user, &begin, &end);
        if (rc != MCP_OK)
            return rc;
        mcp_str line = line_of(t->text, p, begin);
        item->more = !has_room(r, q, item);
        if (item->more)
            return MCP_ENOTFOUND;
        if (!item->found)
            rc = begin_item(r, t);
        if (rc == MCP_OK)
            rc = put_match(r, p->line, line, begin - p->at);
        if (rc != MCP_OK)
            return rc;
        item->found++;
        r->count++;
        const char *lf = memchr(t->text.ptr + begin, '\n', t->text.len - begin);
        item->matched = lf == NULL;
        if (!lf)
            return MCP_ENOTFOUND;
        from = (size_t)(lf - t->text.ptr) + 1;
    }
}

int search_put_block(search_results *r, const search_query *q, const search_text *t,
                     search_item *item)
{
    place p = {0, item->lines + 1};
    item->matched = item->more = false;
    int rc = put_matches(r, q, t, &p, item);
    item->at = item->more ? p.at : t->text.len;
    if (item->more)
        item->lines = p.line - 1;
    return rc == MCP_ENOTFOUND ? MCP_OK : rc;
}

int search_put_lines(search_results *r, const search_query *q, const search_text *t)
{
    search_item item = {0};
    search_text text = *t;
    text.text = common_text_after_mark(t->text);
    int rc = search_put_block(r, q, &text, &item);
    int ended = search_end_item(r, t->uri, &item, item.more);
    return rc == MCP_OK ? ended : rc;
}

static int put_found(search_results *r, const search_query *q, const search_text *t, mcp_str line,
                     size_t number)
{
    size_t begin, end;
    int rc = number == 1 ? begin_item(r, t) : MCP_OK;
    if (rc == MCP_OK)
        rc = search_needle_find(q->needle, line, 0, t->stop, t->user, &begin, &end);
    if (rc == MCP_ENOTFOUND)
        begin = 0;
    return rc == MCP_OK || rc == MCP_ENOTFOUND ? put_match(r, number, line, begin) : rc;
}

int search_put_found(search_results *r, const search_query *q, const search_text *t, bool rest,
                     size_t *shown)
{
    size_t found = 0;
    mcp_str text = t->text;
    int rc = MCP_OK;
    while (rc == MCP_OK && text.len && *shown < q->per_item && !(*shown && search_is_full(r, q))) {
        const char *lf = memchr(text.ptr, '\n', text.len);
        mcp_str line = {text.ptr, lf ? (size_t)(lf - text.ptr) : text.len};
        rc = put_found(r, q, t, line, ++found);
        text.ptr += line.len + (lf != NULL);
        text.len -= line.len + (lf != NULL);
        r->count++;
        ++*shown;
    }
    bool more = text.len || (rest && (*shown >= q->per_item || search_is_full(r, q)));
    int ended = search_end_item(r, t->uri, &(search_item){.found = found}, more);
    return rc == MCP_OK ? ended : rc;
}
