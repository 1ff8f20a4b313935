/* markdown_tree.c: calls of md4c become a tree. md4c 0.4 does not always leave a span that it has
 * entered, or leaves one that it has not entered: "[a](*)*". So a stack says which nodes are open. */
#include "markdown_tree.h"

#include <md4c.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_OPEN = 1000, /* nodes inside each other, including those that are left out */
    SPARE = 65536,    /* bytes of texts, in addition to four times the text that is parsed */
};

typedef struct builder {
    markdown_tree *tree;
    unsigned char kinds[MOST_OPEN]; /* of the open nodes, outermost first */
    size_t depth;
    uint32_t at[MARKDOWN_DEPTH]; /* the open nodes that are not left out */
    size_t entered, room;
    size_t most;  /* bytes of texts; a text can refer to one address many times */
    bool in_text; /* the last node is a text that goes on */
    int rc;
} builder;

/* ---- texts ----------------------------------------------------------------------------------- */

static void keep(builder *b, const char *text, size_t len)
{
    if (len > b->most - b->tree->len) {
        b->rc = MCP_ELIMIT;
        return;
    }
    if (len)
        memcpy(b->tree->text + b->tree->len, text, len);
    b->tree->len += len;
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
static void keep_entity(builder *b, const char *text, size_t len)
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
        keep(b, bytes, encode(strtoul(digits, NULL, is_hex ? 16 : 10), bytes));
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mcp_str_eq((mcp_str){text, len}, mcp_str_from(names[i].name))) {
            keep(b, bytes, encode(names[i].code, bytes));
            return;
        }
    keep(b, text, len);
}

static void keep_any(builder *b, MD_TEXTTYPE type, const char *text, size_t len)
{
    switch (type) {
    case MD_TEXT_NULLCHAR: keep(b, "\xef\xbf\xbd", 3); break;
    case MD_TEXT_ENTITY: keep_entity(b, text, len); break;
    case MD_TEXT_SOFTBR: keep(b, "\n", 1); break;
    default: keep(b, text, len);
    }
}

static markdown_part keep_attribute(builder *b, const MD_ATTRIBUTE *a)
{
    size_t at = b->tree->len;
    for (size_t i = 0; a->text && a->substr_offsets[i] < a->size; i++) {
        MD_OFFSET from = a->substr_offsets[i], to = a->substr_offsets[i + 1];
        keep_any(b, a->substr_types[i], a->text + from, to - from);
    }
    return (markdown_part){(uint32_t)at, (uint32_t)(b->tree->len - at)};
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static markdown_node *add(builder *b, markdown_kind kind)
{
    markdown_tree *t = b->tree;
    if (t->count == b->room) {
        size_t room = b->room * 2 + 64;
        markdown_node *grown = realloc(t->nodes, room * sizeof(*grown));
        if (!grown) {
            b->rc = MCP_ENOMEM;
            return NULL;
        }
        t->nodes = grown;
        b->room = room;
    }
    markdown_node *n = &t->nodes[t->count++];
    *n = (markdown_node){.kind = kind, .end = (uint32_t)t->count};
    return n;
}

/* Returns the node, or NULL if there is none: it is too deep, or b->rc says why not. */
static markdown_node *enter(builder *b, markdown_kind kind)
{
    if (b->entered++ == MARKDOWN_NODES || b->depth == MOST_OPEN) {
        b->rc = MCP_ELIMIT;
        return NULL;
    }
    b->kinds[b->depth++] = (unsigned char)kind;
    if (b->depth > MARKDOWN_DEPTH)
        return NULL;
    b->at[b->depth - 1] = (uint32_t)b->tree->count;
    b->in_text = false;
    return add(b, kind);
}

/* Returns the number of the innermost open node of this kind, from 1, or 0 if there is none. A span is
 * searched only in its block. */
static size_t find(const builder *b, markdown_kind kind)
{
    size_t at = b->depth;
    while (at && b->kinds[at - 1] != kind &&
           (kind < MARKDOWN_EM || b->kinds[at - 1] >= MARKDOWN_EM))
        at--;
    return at && b->kinds[at - 1] == kind ? at : 0;
}

/* Ends the innermost node of this kind, and the nodes in it that are still open. */
static int leave(builder *b, markdown_kind kind)
{
    for (size_t at = find(b, kind); b->rc == MCP_OK && at && b->depth >= at; b->depth--) {
        if (b->depth > MARKDOWN_DEPTH)
            continue;
        b->tree->nodes[b->at[b->depth - 1]].end = (uint32_t)b->tree->count;
        b->in_text = false;
    }
    return b->rc;
}

static const markdown_kind blocks[] = {
    [MD_BLOCK_QUOTE] = MARKDOWN_QUOTE, [MD_BLOCK_UL] = MARKDOWN_UL,
    [MD_BLOCK_OL] = MARKDOWN_OL,       [MD_BLOCK_LI] = MARKDOWN_LI,
    [MD_BLOCK_HR] = MARKDOWN_HR,       [MD_BLOCK_H] = MARKDOWN_H,
    [MD_BLOCK_CODE] = MARKDOWN_CODE,   [MD_BLOCK_P] = MARKDOWN_P,
    [MD_BLOCK_TABLE] = MARKDOWN_TABLE, [MD_BLOCK_THEAD] = MARKDOWN_THEAD,
    [MD_BLOCK_TBODY] = MARKDOWN_TBODY, [MD_BLOCK_TR] = MARKDOWN_TR,
    [MD_BLOCK_TH] = MARKDOWN_TH,       [MD_BLOCK_TD] = MARKDOWN_TD,
};
static const markdown_kind spans[] = {
    [MD_SPAN_EM] = MARKDOWN_EM,   [MD_SPAN_STRONG] = MARKDOWN_STRONG, [MD_SPAN_A] = MARKDOWN_A,
    [MD_SPAN_IMG] = MARKDOWN_IMG, [MD_SPAN_CODE] = MARKDOWN_CODESPAN, [MD_SPAN_DEL] = MARKDOWN_DEL,
};

/* Returns the kind of a type, or MARKDOWN_TEXT if it is no node. */
static markdown_kind kind_of(const markdown_kind *kinds, size_t count, unsigned type)
{
    return type < count ? kinds[type] : MARKDOWN_TEXT;
}
#define BLOCK(type) kind_of(blocks, sizeof(blocks) / sizeof(blocks[0]), type)
#define SPAN(type)  kind_of(spans, sizeof(spans) / sizeof(spans[0]), type)

static void take_detail(builder *b, markdown_node *n, const void *detail)
{
    switch (n->kind) {
    case MARKDOWN_OL: n->number = ((const MD_BLOCK_OL_DETAIL *)detail)->start; break;
    case MARKDOWN_LI:
        if (((const MD_BLOCK_LI_DETAIL *)detail)->is_task)
            n->number = ((const MD_BLOCK_LI_DETAIL *)detail)->task_mark == ' ' ? 1 : 2;
        break;
    case MARKDOWN_H: n->number = ((const MD_BLOCK_H_DETAIL *)detail)->level; break;
    case MARKDOWN_CODE:
        n->text = keep_attribute(b, &((const MD_BLOCK_CODE_DETAIL *)detail)->lang);
        break;
    case MARKDOWN_TABLE: n->number = ((const MD_BLOCK_TABLE_DETAIL *)detail)->col_count; break;
    case MARKDOWN_TH:
    case MARKDOWN_TD: n->number = ((const MD_BLOCK_TD_DETAIL *)detail)->align; break;
    case MARKDOWN_A:
        n->text = keep_attribute(b, &((const MD_SPAN_A_DETAIL *)detail)->href);
        n->title = keep_attribute(b, &((const MD_SPAN_A_DETAIL *)detail)->title);
        break;
    case MARKDOWN_IMG:
        n->text = keep_attribute(b, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
        n->title = keep_attribute(b, &((const MD_SPAN_IMG_DETAIL *)detail)->title);
        break;
    default: break;
    }
}

static int enter_any(builder *b, markdown_kind kind, const void *detail)
{
    markdown_node *n = kind == MARKDOWN_TEXT ? NULL : enter(b, kind);
    if (n)
        take_detail(b, n, detail);
    return b->rc;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *user)
{
    return enter_any(user, BLOCK(type), detail);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *user)
{
    return enter_any(user, SPAN(type), detail);
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *user)
{
    (void)detail;
    return leave(user, BLOCK(type)); /* a text is never open */
}

static int leave_span(MD_SPANTYPE type, void *detail, void *user)
{
    (void)detail;
    return leave(user, SPAN(type));
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *user)
{
    builder *b = user;
    markdown_tree *t = b->tree;
    if (type == MD_TEXT_BR) {
        (void)enter(b, MARKDOWN_BR);
        return leave(b, MARKDOWN_BR);
    }
    if (!size && type != MD_TEXT_NULLCHAR && type != MD_TEXT_SOFTBR)
        return b->rc;
    if (!b->in_text) {
        markdown_node *n = add(b, MARKDOWN_TEXT);
        if (!n)
            return b->rc;
        n->text.at = (uint32_t)t->len;
        b->in_text = true;
    }
    keep_any(b, type, text, size);
    markdown_part *part = &t->nodes[t->count - 1].text;
    part->len = (uint32_t)t->len - part->at;
    return b->rc;
}

/* ---- the tree -------------------------------------------------------------------------------- */

int markdown_parse(mcp_str text, markdown_tree *ret)
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
    builder b = {.tree = ret, .most = text.len * 4 + SPARE};
    *ret = (markdown_tree){0};
    if (text.len > UINT32_MAX / 8)
        return MCP_ELIMIT;
    ret->text = malloc(b.most);
    if (!ret->text)
        return MCP_ENOMEM;
    int rc = md_parse(text.len ? text.ptr : "", (MD_SIZE)text.len, &parser, &b);
    return b.rc != MCP_OK ? b.rc : rc == 0 ? MCP_OK : MCP_ENOMEM;
}

mcp_str markdown_str(const markdown_tree *t, markdown_part part)
{
    return (mcp_str){t->text + part.at, part.len};
}

void markdown_clear(markdown_tree *t)
{
    free(t->nodes);
    free(t->text);
    *t = (markdown_tree){0};
}
