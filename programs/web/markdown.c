/* markdown.c: calls of md4c, which are not always balanced (common/nest.h), become nodes. */
#include "markdown.h"

#ifdef WEB_HAS_MD4C

#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/nest.h>

const bool markdown_exists = true;

typedef struct state {
    mcp_json_writer *w;
    char *text; /* that has not been written yet, because md4c passes texts in pieces */
    size_t len, room;
    nest open; /* including those that are left out */
    size_t nodes;
    int rc;
} state;

/* ---- texts ----------------------------------------------------------------------------------- */

static int keep(state *s, const char *text, size_t len)
{
    if (s->len + len > s->room) {
        size_t room = (s->len + len) * 2;
        char *grown = realloc(s->text, room);
        if (!grown)
            return s->rc = MCP_ENOMEM;
        s->text = grown;
        s->room = room;
    }
    if (len)
        memcpy(s->text + s->len, text, len);
    s->len += len;
    return MCP_OK;
}

static void flush(state *s)
{
    if (s->len)
        mcp_json_add_str(s->w, (mcp_str){s->text, s->len});
    s->len = 0;
}

static size_t encode(unsigned long code, char to[4])
{
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    if (code < 0x80)
        return to[0] = (char)code, 1;
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(first[n] | code);
    return n;
}

/* Appends the character of an entity: a number, or one of the common names. Others stay as they
 * are. */
static int keep_entity(state *s, const char *text, size_t len)
{
    static const struct {
        const char *name;
        unsigned code;
    } names[] = {
        {"&amp;", '&'},      {"&lt;", '<'},       {"&gt;", '>'},        {"&quot;", '"'},
        {"&apos;", '\''},    {"&nbsp;", 0xa0},    {"&copy;", 0xa9},     {"&reg;", 0xae},
        {"&deg;", 0xb0},     {"&middot;", 0xb7},  {"&times;", 0xd7},    {"&ndash;", 0x2013},
        {"&mdash;", 0x2014}, {"&lsquo;", 0x2018}, {"&rsquo;", 0x2019},  {"&ldquo;", 0x201c},
        {"&rdquo;", 0x201d}, {"&bull;", 0x2022},  {"&hellip;", 0x2026}, {"&euro;", 0x20ac},
        {"&trade;", 0x2122}, {"&larr;", 0x2190},  {"&rarr;", 0x2192}};
    char digits[16], bytes[4];
    if (len > 3 && len < sizeof(digits) && text[1] == '#') {
        bool is_hex = text[2] == 'x' || text[2] == 'X';
        size_t from = is_hex ? 3 : 2;
        memcpy(digits, text + from, len - from);
        digits[len - from] = 0;
        return keep(s, bytes, encode(strtoul(digits, NULL, is_hex ? 16 : 10), bytes));
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mcp_str_eq((mcp_str){text, len}, mcp_str_from(names[i].name)))
            return keep(s, bytes, encode(names[i].code, bytes));
    return keep(s, text, len);
}

static int keep_any(state *s, MD_TEXTTYPE type, const char *text, size_t len)
{
    switch (type) {
    case MD_TEXT_NULLCHAR: return keep(s, "\xef\xbf\xbd", 3);
    case MD_TEXT_ENTITY: return keep_entity(s, text, len);
    case MD_TEXT_SOFTBR: return keep(s, "\n", 1);
    default: return keep(s, text, len);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool is_shown(const state *s)
{
    return s->open.depth <= MARKDOWN_DEPTH;
}

/* Begins a node; its attributes follow, and then begin_children(). */
static bool begin(state *s, unsigned kind, const char *type)
{
    if (!nest_enter(&s->open, kind)) {
        s->rc = MCP_ENOMEM;
        return false;
    }
    if (++s->nodes > MARKDOWN_NODES)
        s->rc = MCP_ELIMIT;
    if (!is_shown(s) || s->rc != MCP_OK)
        return false;
    flush(s);
    mcp_json_begin_object(s->w);
    mcp_json_key(s->w, "t"), mcp_json_add_string(s->w, type);
    return true;
}

static void begin_children(const state *s)
{
    mcp_json_key(s->w, "c"), mcp_json_begin_array(s->w);
}

static void end_last(state *s)
{
    if (is_shown(s)) {
        flush(s);
        mcp_json_end(s->w), mcp_json_end(s->w);
    }
    s->open.depth--;
}

/* Ends the innermost node of this kind, and the nodes in it that are still open. */
static int end(state *s, unsigned kind)
{
    size_t at = nest_find(&s->open, kind);
    while (at && s->open.depth >= at)
        end_last(s);
    return s->rc;
}

static void put_attribute(state *s, const char *key, const MD_ATTRIBUTE *a)
{
    if (!a->text || !a->size)
        return;
    for (size_t i = 0; a->substr_offsets[i] < a->size; i++) {
        MD_OFFSET from = a->substr_offsets[i], to = a->substr_offsets[i + 1];
        keep_any(s, a->substr_types[i], a->text + from, to - from);
    }
    mcp_json_key(s->w, key);
    mcp_json_add_str(s->w, (mcp_str){s->text, s->len});
    s->len = 0;
}

static void put_align(const state *s, MD_ALIGN align)
{
    static const char *const names[] = {NULL, "left", "center", "right"};
    if (align > MD_ALIGN_DEFAULT && align <= MD_ALIGN_RIGHT)
        mcp_json_key(s->w, "align"), mcp_json_add_string(s->w, names[align]);
}

static const char *const blocks[] = {
    [MD_BLOCK_QUOTE] = "quote", [MD_BLOCK_UL] = "ul",       [MD_BLOCK_OL] = "ol",
    [MD_BLOCK_LI] = "li",       [MD_BLOCK_HR] = "hr",       [MD_BLOCK_H] = "h",
    [MD_BLOCK_CODE] = "code",   [MD_BLOCK_P] = "p",         [MD_BLOCK_TABLE] = "table",
    [MD_BLOCK_THEAD] = "thead", [MD_BLOCK_TBODY] = "tbody", [MD_BLOCK_TR] = "tr",
    [MD_BLOCK_TH] = "th",       [MD_BLOCK_TD] = "td"};

static void put_block_attributes(state *s, MD_BLOCKTYPE type, const void *detail)
{
    switch (type) {
    case MD_BLOCK_OL:
        mcp_json_key(s->w, "start");
        mcp_json_add_uint(s->w, ((const MD_BLOCK_OL_DETAIL *)detail)->start);
        break;
    case MD_BLOCK_LI:
        if (!((const MD_BLOCK_LI_DETAIL *)detail)->is_task)
            break;
        mcp_json_key(s->w, "task");
        mcp_json_add_bool(s->w, ((const MD_BLOCK_LI_DETAIL *)detail)->task_mark != ' ');
        break;
    case MD_BLOCK_H:
        mcp_json_key(s->w, "level");
        mcp_json_add_uint(s->w, ((const MD_BLOCK_H_DETAIL *)detail)->level);
        break;
    case MD_BLOCK_CODE:
        put_attribute(s, "lang", &((const MD_BLOCK_CODE_DETAIL *)detail)->lang);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD: put_align(s, ((const MD_BLOCK_TD_DETAIL *)detail)->align); break;
    default: break;
    }
}

static const char *name_of(MD_BLOCKTYPE type)
{
    return type < sizeof(blocks) / sizeof(blocks[0]) ? blocks[type] : NULL;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *user)
{
    state *s = user;
    const char *name = name_of(type);
    if (name && begin(s, type, name)) {
        put_block_attributes(s, type, detail);
        begin_children(s);
    }
    return s->rc;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *user)
{
    (void)detail;
    return name_of(type) ? end(user, type) : MCP_OK;
}

static const char *span_name(MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_EM: return "em";
    case MD_SPAN_STRONG: return "strong";
    case MD_SPAN_A: return "a";
    case MD_SPAN_IMG: return "img";
    case MD_SPAN_CODE: return "codespan";
    case MD_SPAN_DEL: return "del";
    default: return NULL;
    }
}

static int enter_span(MD_SPANTYPE type, void *detail, void *user)
{
    state *s = user;
    const char *name = span_name(type);
    if (!name || !begin(s, NEST_SPAN | type, name))
        return s->rc;
    if (type == MD_SPAN_A) {
        put_attribute(s, "href", &((const MD_SPAN_A_DETAIL *)detail)->href);
        put_attribute(s, "title", &((const MD_SPAN_A_DETAIL *)detail)->title);
    } else if (type == MD_SPAN_IMG) {
        put_attribute(s, "src", &((const MD_SPAN_IMG_DETAIL *)detail)->src);
        put_attribute(s, "title", &((const MD_SPAN_IMG_DETAIL *)detail)->title);
    }
    begin_children(s);
    return s->rc;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *user)
{
    (void)detail;
    return span_name(type) ? end(user, NEST_SPAN | type) : MCP_OK;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *user)
{
    state *s = user;
    if (type != MD_TEXT_BR)
        return keep_any(s, type, text, size);
    if (begin(s, NEST_SPAN | 0x7f, "br"))
        begin_children(s);
    return s->rc == MCP_OK ? end(s, NEST_SPAN | 0x7f) : s->rc;
}

int markdown_put(mcp_json_writer *w, mcp_str text)
{
    static const MD_PARSER parser = {
        .flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML |
                 MD_FLAG_PERMISSIVEURLAUTOLINKS,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = on_text,
    };
    state s = {.w = w};
    if (text.len > MARKDOWN_BYTES)
        return MCP_ELIMIT;
    mcp_json_begin_array(w);
    int rc = md_parse(text.len ? text.ptr : "", (MD_SIZE)text.len, &parser, &s);
    flush(&s);
    mcp_json_end(w);
    free(s.text);
    nest_clear(&s.open);
    return s.rc != MCP_OK ? s.rc : rc == 0 ? MCP_OK : MCP_ENOMEM;
}

#else

const bool markdown_exists = false;

int markdown_put(mcp_json_writer *w, mcp_str text)
{
    (void)w, (void)text;
    return MCP_EUNSUPPORTED;
}

#endif
