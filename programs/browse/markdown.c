/* markdown.c: a tree of Markdown (common/markdown) as lines. */
#include "content.h"

#include <string.h>

#include <common/markdown/markdown_tree.h>

enum { LONGEST_CELL = 512 /* bytes; a column shows less */ };

typedef struct state {
    const markdown_tree *tree;
    lines *lines;
    unsigned indent; /* of lists and quotes */
    unsigned lists;  /* around the current node */
    char mark[16];   /* of a list item whose text has not begun */
    bool is_code, needs_gap;
    grid *table;
    char cell[LONGEST_CELL]; /* the text of a cell */
    size_t cell_len;
    bool in_cell;
} state;

/* ---- lines ----------------------------------------------------------------------------------- */

static void gap(state *s)
{
    if (s->needs_gap) {
        lines_begin(s->lines, 0, 0, 0);
        lines_end(s->lines);
    }
    s->needs_gap = false;
}

/* Begins a paragraph, after the mark of its list item. */
static void begin(state *s)
{
    unsigned width = (unsigned)strlen(s->mark);
    unsigned indent = s->indent > width ? s->indent - width : 0;
    lines_begin(s->lines, indent, s->indent, 0);
    lines_put(s->lines, LOOK_NAME, mcp_str_from(s->mark));
    *s->mark = 0;
}

static void end(state *s)
{
    if (s->lines->is_open)
        lines_end(s->lines);
}

static void put(state *s, look k, mcp_str text)
{
    if (s->in_cell) {
        size_t room = sizeof(s->cell) - s->cell_len;
        size_t len = text.len < room ? text.len : room;
        memcpy(s->cell + s->cell_len, text.ptr, len);
        s->cell_len += len;
        return;
    }
    if (!s->lines->is_open)
        begin(s);
    lines_put(s->lines, k, text);
}

/* Takes what is before a newline, which is removed. Returns whether there was one. */
static bool take_line(mcp_str *text, mcp_str *ret)
{
    const char *newline = memchr(text->ptr, '\n', text->len);
    *ret = (mcp_str){text->ptr, newline ? (size_t)(newline - text->ptr) : text->len};
    size_t taken = ret->len + (newline != NULL);
    *text = (mcp_str){text->ptr + taken, text->len - taken};
    return newline != NULL;
}

/* A code block keeps its lines; those of other text are joined. */
static void put_text(state *s, look k, mcp_str text)
{
    mcp_str line;
    while (text.len) {
        bool ends = take_line(&text, &line);
        if (!s->is_code) {
            put(s, k, line);
            if (ends)
                put(s, k, MCP_STR(" "));
            continue;
        }
        if (!s->lines->is_open)
            lines_begin(s->lines, s->indent + 4, s->indent + 4, 0)->is_whole = true;
        lines_put(s->lines, LOOK_STRING, line);
        if (ends)
            lines_end(s->lines);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_nodes(state *s, size_t from, size_t end, look k);

/* Puts what is in a node. Its depth is limited by the tree. */
static void put_inside(state *s, const markdown_node *n, look k)
{
    put_nodes(s, (size_t)(n - s->tree->nodes) + 1, n->end, k);
}

static void put_item(state *s, const markdown_node *n, look k, bool is_ordered, unsigned number)
{
    unsigned width = (is_ordered ? 4U : 2U) + (n->number ? 2U : 0U);
    s->indent += width;
    if (n->number)
        snprintf(s->mark, sizeof(s->mark), "[%c] ", n->number == 1 ? ' ' : 'x');
    else if (is_ordered)
        snprintf(s->mark, sizeof(s->mark), "%2u. ", number % 1000);
    else
        snprintf(s->mark, sizeof(s->mark), "- ");
    s->needs_gap = false;
    put_inside(s, n, k);
    if (*s->mark)
        begin(s);
    end(s);
    s->indent -= width;
    s->needs_gap = false;
}

static void put_list(state *s, const markdown_node *n, look k)
{
    const markdown_node *nodes = s->tree->nodes;
    unsigned number = n->number;
    end(s);
    if (s->lists == 0)
        gap(s);
    s->lists++;
    for (const markdown_node *i = n + 1; i < nodes + n->end; i = nodes + i->end)
        put_item(s, i, k, n->kind == MARKDOWN_OL, number++);
    s->lists--;
    s->needs_gap = s->lists == 0;
}

static void put_code(state *s, const markdown_node *n)
{
    gap(s);
    if (*s->mark)
        begin(s), end(s);
    s->is_code = true;
    put_inside(s, n, LOOK_STRING);
    s->is_code = false;
    end(s);
    s->needs_gap = true;
}

static void put_grid(state *s, const markdown_node *n, look k)
{
    gap(s);
    s->table = grid_new(n->number);
    put_inside(s, n, k);
    if (s->table)
        grid_put(s->table, s->lines, s->indent);
    grid_free(s->table);
    s->table = NULL;
    s->needs_gap = true;
}

static void put_cell(state *s, const markdown_node *n, look k)
{
    s->in_cell = true;
    s->cell_len = 0;
    put_inside(s, n, k);
    s->in_cell = false;
    if (s->table)
        grid_add(s->table, (mcp_str){s->cell, s->cell_len});
}

static void put_link(state *s, const markdown_node *n)
{
    mcp_str to = markdown_str(s->tree, n->text);
    put_inside(s, n, LOOK_NAME);
    const lines *l = s->lines;
    if (!s->in_cell && to.len && l->len >= to.len &&
        memcmp(l->text + l->len - to.len, to.ptr, to.len) == 0)
        return; /* the text of the link is its address */
    put(s, LOOK_DIM, MCP_STR(" <"));
    put(s, LOOK_DIM, to);
    put(s, LOOK_DIM, MCP_STR(">"));
}

static void put_node(state *s, const markdown_node *n, look k)
{
    switch (n->kind) {
    case MARKDOWN_TEXT: put_text(s, k, markdown_str(s->tree, n->text)); break;
    case MARKDOWN_BR: end(s); break;
    case MARKDOWN_UL:
    case MARKDOWN_OL: put_list(s, n, k); break;
    case MARKDOWN_QUOTE:
        gap(s);
        s->indent += 2;
        put_inside(s, n, LOOK_DIM);
        s->indent -= 2;
        break;
    case MARKDOWN_H:
    case MARKDOWN_P:
        gap(s);
        put_inside(s, n, n->kind == MARKDOWN_H ? LOOK_HEADING : k);
        end(s);
        s->needs_gap = true;
        break;
    case MARKDOWN_CODE: put_code(s, n); break;
    case MARKDOWN_HR:
        gap(s);
        lines_put(s->lines, LOOK_DIM, MCP_STR("────────────────"));
        lines_end(s->lines);
        s->needs_gap = true;
        break;
    case MARKDOWN_TABLE: put_grid(s, n, k); break;
    case MARKDOWN_TH:
    case MARKDOWN_TD: put_cell(s, n, k); break;
    case MARKDOWN_STRONG:
    case MARKDOWN_EM: put_inside(s, n, k == LOOK_PLAIN ? LOOK_BOLD : k); break;
    case MARKDOWN_CODESPAN: put_inside(s, n, LOOK_STRING); break;
    case MARKDOWN_DEL: put_inside(s, n, LOOK_DIM); break;
    case MARKDOWN_A: put_link(s, n); break;
    case MARKDOWN_IMG:
        put(s, k, MCP_STR("[image: "));
        put_inside(s, n, LOOK_NAME);
        put(s, k, MCP_STR("]"));
        break;
    default: put_inside(s, n, k); break;
    }
}

static void put_nodes(state *s, size_t from, size_t end, look k)
{
    for (size_t i = from; i < end; i = s->tree->nodes[i].end)
        put_node(s, &s->tree->nodes[i], k);
}

bool markdown_lines(lines *l, mcp_str text)
{
    markdown_tree tree;
    state s = {.tree = &tree, .lines = l};
    int rc = markdown_parse(text, &tree);
    if (rc == MCP_OK) {
        put_nodes(&s, 0, tree.count, LOOK_PLAIN);
        end(&s);
    }
    markdown_clear(&tree);
    return rc == MCP_OK;
}
