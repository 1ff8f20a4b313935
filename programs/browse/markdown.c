/* markdown.c: Markdown as lines, parsed by md4c, whose calls are not always balanced (common/nest.h). */
#include "content.h"

#include <md4c.h>
#include <stdlib.h>
#include <string.h>

#include <common/nest.h>

enum { DEEPEST = 16, MOST_LOOKS = 64, ADDRESS = 0x7f /* a span of our own: where a link leads */ };

typedef struct list_level {
    bool is_ordered;
    unsigned next;
} list_level;

typedef struct state {
    lines *lines;
    unsigned indent; /* of lists and quotes */
    list_level lists[DEEPEST];
    size_t depth;
    nest open;
    look looks[MOST_LOOKS]; /* of the outermost open nodes */
    char mark[16];          /* of a list item whose text has not begun */
    bool is_code, needs_gap, is_first_in_item;
    grid *table;
    char *cell; /* the text of a cell */
    size_t cell_len, cell_room;
    bool in_cell;
} state;

static look look_of(const state *s)
{
    size_t depth = s->open.depth;
    return depth ? s->looks[depth < MOST_LOOKS ? depth - 1 : MOST_LOOKS - 1] : LOOK_PLAIN;
}

static int enter(state *s, unsigned kind, look k)
{
    if (!nest_enter(&s->open, kind))
        return -1;
    if (s->open.depth <= MOST_LOOKS)
        s->looks[s->open.depth - 1] = k;
    return 0;
}

/* Leaves the innermost node of this kind, and those in it that md4c has not left. Returns false if there is
 * none, because it was never entered. */
static bool leave(state *s, unsigned kind)
{
    size_t at = nest_find(&s->open, kind);
    if (at)
        s->open.depth = at - 1;
    return at != 0;
}

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

static void put(state *s, mcp_str text)
{
    if (s->in_cell) {
        if (s->cell_len + text.len > s->cell_room) {
            size_t room = (s->cell_len + text.len) * 2;
            char *grown = realloc(s->cell, room);
            if (!grown)
                return;
            s->cell = grown;
            s->cell_room = room;
        }
        memcpy(s->cell + s->cell_len, text.ptr, text.len);
        s->cell_len += text.len;
        return;
    }
    if (!s->lines->is_open)
        begin(s);
    lines_put(s->lines, look_of(s), text);
}

/* A code block keeps its lines. */
static void put_code(state *s, mcp_str text)
{
    while (text.len) {
        const char *newline = memchr(text.ptr, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.ptr) : text.len;
        if (!s->lines->is_open)
            lines_begin(s->lines, s->indent + 4, s->indent + 4, 0)->is_whole = true;
        lines_put(s->lines, LOOK_STRING, (mcp_str){text.ptr, len});
        if (newline)
            lines_end(s->lines);
        len += newline != NULL;
        text = (mcp_str){text.ptr + len, text.len - len};
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void begin_item(state *s, const MD_BLOCK_LI_DETAIL *detail)
{
    list_level *list = &s->lists[s->depth && s->depth <= DEEPEST ? s->depth - 1 : 0];
    s->indent += list->is_ordered ? 4 : 2;
    if (detail->is_task)
        snprintf(s->mark, sizeof(s->mark), "[%c] ", detail->task_mark == ' ' ? ' ' : 'x'),
            s->indent += 2;
    else if (list->is_ordered)
        snprintf(s->mark, sizeof(s->mark), "%2u. ", list->next % 1000);
    else
        snprintf(s->mark, sizeof(s->mark), "- ");
    list->next++;
    s->needs_gap = false;
}

static void end_item(state *s, const MD_BLOCK_LI_DETAIL *detail)
{
    const list_level *list = &s->lists[s->depth && s->depth <= DEEPEST ? s->depth - 1 : 0];
    if (*s->mark)
        begin(s);
    end(s);
    s->indent -= (list->is_ordered ? 4U : 2U) + (detail->is_task ? 2U : 0U);
    s->needs_gap = false;
}

static void begin_list(state *s, bool is_ordered, unsigned first)
{
    end(s);
    if (s->depth == 0)
        gap(s);
    if (s->depth < DEEPEST)
        s->lists[s->depth] = (list_level){is_ordered, first};
    s->depth++;
}

static look look_of_block(MD_BLOCKTYPE type, look around)
{
    return type == MD_BLOCK_QUOTE ? LOOK_DIM : type == MD_BLOCK_H ? LOOK_HEADING : around;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *user)
{
    state *s = user;
    switch (type) {
    case MD_BLOCK_UL: begin_list(s, false, 0); break;
    case MD_BLOCK_OL: begin_list(s, true, ((MD_BLOCK_OL_DETAIL *)detail)->start); break;
    case MD_BLOCK_LI: begin_item(s, detail); break;
    case MD_BLOCK_QUOTE:
        gap(s);
        s->indent += 2;
        break;
    case MD_BLOCK_H:
    case MD_BLOCK_P: gap(s); break;
    case MD_BLOCK_CODE:
        gap(s);
        if (*s->mark)
            begin(s), end(s);
        s->is_code = true;
        break;
    case MD_BLOCK_HR:
        gap(s);
        lines_put(s->lines, LOOK_DIM, MCP_STR("────────────────"));
        lines_end(s->lines);
        s->needs_gap = true;
        break;
    case MD_BLOCK_TABLE:
        gap(s);
        s->table = grid_new(((MD_BLOCK_TABLE_DETAIL *)detail)->col_count);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        s->in_cell = true;
        s->cell_len = 0;
        break;
    default: break;
    }
    return enter(s, type, look_of_block(type, look_of(s)));
}

static void end_table(state *s)
{
    if (s->table)
        grid_put(s->table, s->lines, s->indent);
    grid_free(s->table);
    s->table = NULL;
    s->needs_gap = true;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *user)
{
    state *s = user;
    (void)leave(s, type);
    switch (type) {
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        s->depth--;
        s->needs_gap = s->depth == 0;
        break;
    case MD_BLOCK_LI: end_item(s, detail); break;
    case MD_BLOCK_QUOTE: s->indent -= 2; break;
    case MD_BLOCK_H:
    case MD_BLOCK_P:
        end(s);
        s->needs_gap = true;
        break;
    case MD_BLOCK_CODE:
        end(s);
        s->is_code = false;
        s->needs_gap = true;
        break;
    case MD_BLOCK_TABLE: end_table(s); break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        s->in_cell = false;
        if (s->table)
            grid_add(s->table, (mcp_str){s->cell, s->cell_len});
        break;
    default: break;
    }
    return 0;
}

/* ---- spans and text -------------------------------------------------------------------------- */

static look look_of_span(MD_SPANTYPE type, look around)
{
    switch (type) {
    case MD_SPAN_STRONG:
    case MD_SPAN_EM: return around == LOOK_PLAIN ? LOOK_BOLD : around;
    case MD_SPAN_CODE: return LOOK_STRING;
    case MD_SPAN_A:
    case MD_SPAN_IMG: return LOOK_NAME;
    case MD_SPAN_DEL: return LOOK_DIM;
    default: return around;
    }
}

static int enter_span(MD_SPANTYPE type, void *detail, void *user)
{
    state *s = user;
    (void)detail;
    if (type == MD_SPAN_IMG)
        put(s, MCP_STR("[image: "));
    return enter(s, NEST_SPAN | type, look_of_span(type, look_of(s)));
}

/* Returns whether the text of a link is its address. */
static bool is_own_text(const state *s, const MD_ATTRIBUTE *to)
{
    const lines *l = s->lines;
    return !s->in_cell && to->size && l->len >= to->size &&
           memcmp(l->text + l->len - to->size, to->text, to->size) == 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *user)
{
    state *s = user;
    if (!leave(s, NEST_SPAN | type))
        return 0;
    if (type == MD_SPAN_IMG)
        put(s, MCP_STR("]"));
    if (type == MD_SPAN_A && !is_own_text(s, &((MD_SPAN_A_DETAIL *)detail)->href)) {
        const MD_ATTRIBUTE *to = &((MD_SPAN_A_DETAIL *)detail)->href;
        if (enter(s, NEST_SPAN | ADDRESS, LOOK_DIM) != 0)
            return -1;
        put(s, MCP_STR(" <"));
        put(s, (mcp_str){to->text, to->size});
        put(s, MCP_STR(">"));
        (void)leave(s, NEST_SPAN | ADDRESS);
    }
    return 0;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *user)
{
    static const struct {
        const char *entity, *text;
    } entities[] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&nbsp;", " "}};
    state *s = user;
    mcp_str shown = {text, size};
    switch (type) {
    case MD_TEXT_SOFTBR: shown = MCP_STR(" "); break;
    case MD_TEXT_BR: end(s); return 0;
    case MD_TEXT_NULLCHAR: shown = MCP_STR("\\0"); break;
    case MD_TEXT_ENTITY:
        for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
            if (mcp_str_eq(shown, mcp_str_from(entities[i].entity)))
                shown = mcp_str_from(entities[i].text);
        break;
    default: break;
    }
    if (s->is_code)
        put_code(s, shown);
    else if (shown.len)
        put(s, shown);
    return 0;
}

bool markdown_put(lines *l, mcp_str text)
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
    state s = {.lines = l};
    int rc = md_parse(text.ptr, (MD_SIZE)text.len, &parser, &s);
    grid_free(s.table);
    free(s.cell);
    nest_clear(&s.open);
    end(&s);
    return rc == 0;
}
