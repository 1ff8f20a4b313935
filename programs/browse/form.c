/* form.c: a form with a field for each argument. */
#include "form.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS = 22, NOTES = 6 };

static form_field *add(form *f)
{
    if (f->count == FORM_FIELDS) {
        f->has_more = true;
        return NULL;
    }
    if (!f->fields && !(f->fields = calloc(FORM_FIELDS, sizeof(*f->fields))))
        return NULL;
    return &f->fields[f->count++];
}

bool form_add(form *f, mcp_str name)
{
    form_field *one = add(f);
    if (one)
        one->name = name;
    return one != NULL;
}

bool form_of_schema(form *f, const mcp_json *schema)
{
    mcp_json_iter it = {0};
    field one;
    f->root = schema;
    while (field_next(schema, &it, &one)) {
        form_field *to = add(f);
        if (!to)
            return f->has_more;
        to->name = one.name;
        to->schema = one.schema;
        to->required = one.required;
        to->about = mcp_json_string(mcp_json_get(one.schema, "description"));
        if (!to->about.len)
            to->about = mcp_json_string(mcp_json_get(one.schema, "title"));
        const mcp_json *fallback = field_default(&one);
        char *json = fallback ? field_json(fallback) : NULL;
        if (fallback)
            edit_set(&to->value, mcp_json_is(fallback, MCP_JSON_STRING) ? mcp_json_string(fallback)
                                                                        : mcp_str_from(json));
        free(json);
    }
    return true;
}

bool form_of_prompt(form *f, const mcp_json *prompt)
{
    mcp_json_iter it = {0};
    for (const mcp_json *a; (a = mcp_json_next(mcp_json_get(prompt, "arguments"), &it, NULL));) {
        form_field *to = add(f);
        if (!to)
            return f->has_more;
        to->name = mcp_json_string(mcp_json_get(a, "name"));
        to->about = mcp_json_string(mcp_json_get(a, "description"));
        to->required = mcp_json_bool(mcp_json_get(a, "required"), false);
    }
    return true;
}

void form_clear(form *f)
{
    free(f->fields);
    *f = (form){0};
}

/* ---- keys ------------------------------------------------------------------------------------ */

form_event form_key(form *f, key k)
{
    bool down = k.code == KEY_DOWN_ || k.code == KEY_TAB_ || k.code == CTRL('n');
    bool up = k.code == KEY_UP_ || k.code == KEY_BACK_TAB_ || k.code == CTRL('p');
    bool enter = k.code == KEY_RETURN_ || k.code == '\n';
    if (k.code == CTRL('s') || (enter && f->at + 1 >= f->count))
        return FORM_SUBMITTED;
    if (down || enter)
        f->at += f->at + 1 < f->count;
    else if (up)
        f->at -= f->at > 0;
    else if (f->count && edit_key(&f->fields[f->at].value, k))
        return *f->fields[f->at].error = 0, FORM_EDITED;
    else
        return FORM_OTHER;
    return FORM_MOVED;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void draw_field(form *f, screen *s, area where, size_t row, size_t at)
{
    form_field *one = &f->fields[at];
    pen p = pen_at(s, where, row, at == f->at ? LOOK_BOLD : LOOK_NAME);
    pen name = p;
    size_t width = NAME_COLUMNS < where.columns / 3 ? NAME_COLUMNS : where.columns / 3;
    name.end = name.begin + width;
    pen_print(&name, at == f->at ? "> " : "  ");
    pen_put(&name, one->name);
    pen_put_as(&name, LOOK_WARN, one->required ? MCP_STR(" *") : MCP_STR(""));
    pen_fill(&name);
    p.column = name.column;
    pen_symbol(&p, "│ ", "| ");
    p.look = LOOK_PLAIN;
    if (at == f->at)
        edit_draw(&one->value, &p);
    else
        pen_put(&p, edit_text(&one->value));
    if (*one->error) {
        p.look = LOOK_BAD;
        pen_print(&p, "  ");
        pen_put(&p, mcp_str_from(one->error));
    }
}

static void put_choices(pen *p, const form_field *one)
{
    field_choices all = field_choices_of(one->schema);
    field_choice choice;
    const char *before = all.several ? " several of: " : " one of: ";
    for (; all.list && field_choices_next(&all, &choice); before = ", ") {
        char *json = mcp_json_is(choice.value, MCP_JSON_STRING) ? NULL : field_json(choice.value);
        pen_print(p, "%s", before);
        pen_put(p, json ? mcp_str_from(json) : mcp_json_string(choice.value));
        free(json);
    }
}

/* What the definition says about the field with the cursor. */
static void draw_notes(form *f, screen *s, area where, size_t row)
{
    const form_field *one = &f->fields[f->at];
    mcp_str type = mcp_json_string(mcp_json_get(one->schema, "type"));
    pen p = pen_at(s, where, row, LOOK_DIM);
    pen_print(&p, "  ");
    pen_put(&p, one->about);
    p = pen_at(s, where, row + 1, LOOK_DIM);
    pen_print(&p, "  ");
    pen_put(&p, type);
    if (one->required)
        pen_print(&p, type.len ? ", required" : "required");
    if (one->schema)
        put_choices(&p, one);
}

size_t form_draw(form *f, screen *s, area where)
{
    size_t rows = where.rows > NOTES ? where.rows - NOTES : 1;
    if (!f->count) {
        pen p = pen_at(s, where, 0, LOOK_DIM);
        pen_print(&p, "  It has no arguments.");
        return 1;
    }
    if (f->at < f->top)
        f->top = f->at;
    if (f->at >= f->top + rows)
        f->top = f->at - rows + 1;
    size_t row = 0;
    for (; row < rows && f->top + row < f->count; row++)
        draw_field(f, s, where, row, f->top + row);
    draw_notes(f, s, where, row + 1);
    return row + 4;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Returns the JSON of a field, or NULL with the reason in its error. */
static char *value_of(const form *f, form_field *one)
{
    field_reason why = {""};
    field given = {.root = f->root, .name = one->name, .schema = one->schema};
    char *json = field_value(&given, one->value.text, &why);
    if (!json)
        snprintf(one->error, sizeof(one->error), "%.*s", (int)sizeof(one->error) - 1,
                 *why.text ? why.text : "not possible");
    return json;
}

static bool add_field(form *f, mcp_json_writer *w, form_field *one, bool only_strings)
{
    *one->error = 0;
    if (!one->value.len) {
        if (one->required)
            snprintf(one->error, sizeof(one->error), "required");
        return !one->required;
    }
    char *json = only_strings ? NULL : value_of(f, one);
    if (!only_strings && !json)
        return false;
    mcp_json_key_str(w, one->name);
    if (json)
        mcp_json_add_raw(w, mcp_str_from(json));
    else
        mcp_json_add_str(w, edit_text(&one->value));
    free(json);
    return true;
}

char *form_json(form *f, bool only_strings)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    size_t wrong = SIZE_MAX;
    char *ret = NULL;
    mcp_str text;
    mcp_json_begin_object(w);
    for (size_t i = 0; i < f->count; i++)
        if (!add_field(f, w, &f->fields[i], only_strings) && wrong == SIZE_MAX)
            wrong = i;
    mcp_json_end(w);
    if (wrong != SIZE_MAX)
        f->at = wrong;
    else if (mcp_json_writer_finish(w, &text) == MCP_OK)
        ret = text_dup(text);
    mcp_json_writer_free(w);
    return ret;
}
