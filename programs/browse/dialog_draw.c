/* dialog_draw.c: how dialogs look. */
#include "dialog.h"

#include <common/address.h>
#include <common/dry_run.h>

#include <string.h>

/* ---- the confirmation ------------------------------------------------------------------------ */

static void put_heading(lines *l, const char *text)
{
    lines_put(l, LOOK_HEADING, mcp_str_from(text));
    lines_end(l);
}

static void put_field(lines *l, const char *name, mcp_str value)
{
    lines_begin(l, 2, 14, 0);
    lines_print(l, LOOK_DIM, "%-11s ", name);
    lines_put(l, LOOK_PLAIN, value);
    lines_end(l);
}

static void put_hints(lines *l, const mcp_json *tool)
{
    mcp_json_iter it = {0};
    mcp_str name;
    const mcp_json *notes = mcp_json_get(tool, "annotations");
    for (const mcp_json *v; (v = mcp_json_next(notes, &it, &name)) != NULL;) {
        if (!mcp_json_is(v, MCP_JSON_BOOL))
            continue;
        lines_begin(l, 2, 14, 0);
        lines_put(l, LOOK_DIM, MCP_STR("it says     "));
        lines_put(l, LOOK_PLAIN, name);
        lines_print(l, LOOK_PLAIN, ": %s", mcp_json_bool(v, false) ? "yes" : "no");
        lines_end(l);
    }
}

/* Shows exactly what will be sent. */
static void put_arguments(dialog *d)
{
    mcp_json_doc *doc = NULL;
    mcp_json_parse(mcp_str_from(d->arguments), NULL, NULL, &doc, NULL);
    put_field(&d->lines, d->question ? "answer" : "arguments", (mcp_str){0});
    json_put_value(&d->lines, mcp_json_root(doc), 2, UINT32_MAX);
    mcp_json_free(doc);
}

bool dialog_can_try(const dialog *d)
{
    return !d->question && d->kind == LIST_TOOLS &&
           dry_run_is_for(mcp_json_root(d->definition), d->arguments);
}

void dialog_put_change(dialog *d, const mcp_json *result)
{
    const mcp_json *content = mcp_json_get(result, "content");
    mcp_json_iter it = {0};
    d->first = d->lines.count;
    put_heading(&d->lines, "What the tool says it would change");
    for (const mcp_json *block; (block = mcp_json_next(content, &it, NULL)) != NULL;)
        content_change(&d->lines, mcp_json_string(mcp_json_get(block, "text")));
}

static void put_offer(lines *l)
{
    lines_begin(l, 2, 2, 0);
    lines_put(l, LOOK_DIM,
              MCP_STR("d calls it with dry_run first, to see what it would change. That is a call, "
                      "too: whether it changes nothing is the server's word."));
    lines_end(l);
}

void dialog_put_confirmation(dialog *d)
{
    put_heading(&d->lines, d->question ? "Send this answer?" : "Call this tool?");
    put_field(&d->lines, "server", mcp_str_from(d->peer->label));
    if (d->key)
        put_field(&d->lines, "tool", mcp_str_from(d->key));
    put_hints(&d->lines, mcp_json_root(d->definition));
    if (dialog_can_try(d))
        put_offer(&d->lines);
    put_arguments(d);
}

/* ---- the message of a question --------------------------------------------------------------- */

static mcp_str first_line(mcp_str text)
{
    const char *newline = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
    return (mcp_str){text.ptr, newline ? (size_t)(newline - text.ptr) : text.len};
}

void dialog_put_message(dialog *d)
{
    enum { SHORT = 60 };
    mcp_str text = mcp_question_message(d->question);
    if (text.len > SHORT || first_line(text).len < text.len)
        content_change(&d->lines, text);
}

/* ---- drawing --------------------------------------------------------------------------------- */

const char *dialog_hint(const dialog *d)
{
    switch (d->state) {
    case DIALOG_FORM:
        if (dialog_asks(d, MCP_QUESTION_SAMPLE))
            return d->command ? " ^S send  ^R run the command  ^O edit the request  ^X decline  "
                                "PgDn scroll"
                              : " ^S send  ^X decline  Esc dismiss  PgDn scroll";
        if (d->question && d->lines.count)
            return " ^S send  ^X decline  Esc dismiss  PgDn scroll";
        return d->question ? " ^S send  ^X decline  Esc dismiss"
                           : " Enter next  ^S go on  Esc leave";
    case DIALOG_CONFIRM:
        if (d->written)
            return " y send  e edit  n change  ^X decline  ^C dismiss";
        return d->question         ? " y send  n change  ^X decline  ^C dismiss"
               : dialog_can_try(d) ? " y call  d dry_run  n change  ^C leave  PgDn scroll"
                                   : " y call  n change  ^C leave";
    case DIALOG_CHECKING: return " Esc cancel";
    case DIALOG_RUNNING: return " Esc cancel";
    case DIALOG_RESULT: return " Esc back";
    case DIALOG_NONE: break;
    }
    return "";
}

static void draw_head(dialog *d, screen *s, area *where)
{
    static const char *const titles[] = {[LIST_RESOURCES] = "",
                                         [LIST_TEMPLATES] = "Template",
                                         [LIST_PROMPTS] = "Prompt",
                                         [LIST_TOOLS] = "Tool",
                                         [LISTS] = "The server asks"};
    pen p = pen_at(s, *where, 0, LOOK_HEADING);
    pen_print(&p, " %s ", titles[d->kind]);
    p.look = LOOK_BOLD;
    pen_put(&p, d->key ? mcp_str_from(d->key) : mcp_str_from(d->peer->label));
    p = pen_at(s, *where, 1, LOOK_DIM);
    pen_print(&p, "  ");
    if (dialog_asks(d, MCP_QUESTION_SAMPLE))
        pen_print(&p, "It wants the answer of a language model to this:");
    pen_put(&p, d->question
                    ? first_line(mcp_question_message(d->question))
                    : mcp_json_string(mcp_json_get(mcp_json_root(d->definition), "description")));
    p = pen_at(s, *where, 2, LOOK_WARN);
    pen_print(&p, "  ");
    pen_put(&p, mcp_str_from(d->note));
    where->row += 3;
    where->rows -= where->rows > 3 ? 3 : where->rows;
}

static void put_line(lines *l, look k, mcp_str text)
{
    lines_put(l, k, text);
    lines_end(l);
}

/* The host has a line of its own, because it determines who controls the address (2025-11-25,
 * client/elicitation, "Safe URL Handling"). */
static void draw_url(dialog *d, screen *s, area where)
{
    lines *l = &d->lines;
    mcp_str url = mcp_question_url(d->question), host;
    const char *warnings[ADDRESS_WARNINGS];
    size_t n = address_check(url, &host, warnings);
    lines_clear(l);
    dialog_put_message(d);
    put_line(l, LOOK_PLAIN, MCP_STR("Open this address yourself if you trust it, then send:"));
    put_line(l, LOOK_BOLD, url);
    put_line(l, LOOK_PLAIN, MCP_STR("It belongs to:"));
    put_line(l, LOOK_BOLD, host);
    for (size_t i = 0; i < n; i++)
        put_line(l, LOOK_WARN, mcp_str_from(warnings[i]));
    lines_draw(l, s, where, 0, SIZE_MAX);
}

static void draw_form(dialog *d, screen *s, area where)
{
    size_t used = form_draw(&d->form, s, where);
    used = used < where.rows ? used : where.rows;
    proposals_draw(&d->proposals, s,
                   (area){where.row + used, where.column, where.rows - used, where.columns});
}

/* Draws the lines, and returns the area below them, of which the first row is used. */
static area draw_above(dialog *d, screen *s, area where, size_t rows)
{
    rows = where.rows > rows ? rows : where.rows;
    area below = {where.row + where.rows - rows, where.column, rows, where.columns};
    where.rows -= rows;
    lines_draw(&d->lines, s, where, d->top, SIZE_MAX);
    pen p = pen_at(s, below, 0, LOOK_DIM);
    size_t shown = d->top + where.rows;
    if (shown < d->lines.n_rows)
        pen_print(&p, "  %zu more rows", d->lines.n_rows - shown);
    below.row++;
    below.rows -= below.rows > 0;
    return below;
}

/* The request above, the answer below. */
static void draw_sample(dialog *d, screen *s, area where)
{
    area below = draw_above(d, s, where, 3);
    below.rows = 1;
    form_draw(&d->form, s, below);
}

/* The message above, which gets what the form does not need, and at least half of the rows. */
static void draw_question(dialog *d, screen *s, area where)
{
    enum { ABOUT_FIELD = 7 };
    size_t rows = d->form.count + ABOUT_FIELD;
    rows = rows < where.rows / 2 ? rows : where.rows / 2;
    draw_form(d, s, d->lines.count ? draw_above(d, s, where, rows) : where);
}

/* What a call would change is on top, as far as there is more than fits. */
static void draw_lines(dialog *d, screen *s, area where)
{
    lines_layout(&d->lines, s, where.columns);
    if (d->first && d->lines.n_rows > where.rows)
        for (d->top = 0; d->top + 1 < d->lines.n_rows && d->lines.rows[d->top].line < d->first;)
            d->top++;
    d->first = 0;
    lines_draw(&d->lines, s, where, d->top, SIZE_MAX);
}

void dialog_draw(dialog *d, screen *s, area where)
{
    draw_head(d, s, &where);
    pen p = pen_at(s, where, 0, LOOK_DIM);
    switch (d->state) {
    case DIALOG_FORM:
        if (dialog_asks(d, MCP_QUESTION_URL))
            draw_url(d, s, where);
        else if (dialog_asks(d, MCP_QUESTION_SAMPLE))
            draw_sample(d, s, where);
        else
            draw_question(d, s, where);
        break;
    case DIALOG_CHECKING: pen_print(&p, "  checking that the tool is still the same …"); break;
    case DIALOG_RUNNING:
        pen_print(&p, d->sampler ? "  waiting for the command …" : "  waiting for the server …");
        break;
    default: draw_lines(d, s, where); break;
    }
}
