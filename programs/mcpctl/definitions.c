/* definitions.c: lists of prompts and tools. */
#define _GNU_SOURCE
#include "definitions.h"

#include <stdlib.h>

#include "table.h"

enum { INDENT = 8 };

typedef struct printing {
    const definitions *d;
    json_list json;
    table *table; /* for --long on a terminal */
    size_t count;
} printing;

/* ---- fields ---------------------------------------------------------------------------------- */

void definition_put_description(FILE *to, const mcp_json *definition)
{
    text_put_raw(to, mcp_json_string(mcp_json_get(definition, "description")));
}

/* Returns the text of a field, which the caller frees. If out of memory, the text is empty. */
static char *field_text(const definition_field *field, const mcp_json *definition, mcp_str *ret)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (f) {
        field->put(f, definition);
        fclose(f);
    }
    *ret = text ? (mcp_str){text, len} : MCP_STR("");
    return text;
}

static mcp_str name_of(const mcp_json *definition)
{
    return mcp_json_string(mcp_json_get(definition, "name"));
}

size_t definition_put_head(const ctl *c, const definition_field *field, const mcp_json *definition)
{
    mcp_str text;
    size_t column = text_width(name_of(definition));
    char *own = field_text(field, definition, &text);
    put_styled(c, STYLE_NAME, name_of(definition));
    if (text.len) {
        putchar(' ');
        column = text_put_wrapped(
            stdout, text, TEXT_LINE,
            (text_lines){.width = out_columns(c), .indent = INDENT, .column = column + 1});
    }
    free(own);
    return column;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Prints a line for scripts: the fields, separated by tabs. */
static void put_fields(const ctl *c, const definitions *d, const mcp_json *definition)
{
    put_field(c, name_of(definition));
    for (size_t i = 0; c->set.long_form && i < d->n_fields; i++) {
        mcp_str text;
        char *own = field_text(&d->fields[i], definition, &text);
        putchar('\t');
        put_field(c, text);
        free(own);
    }
    putchar('\n');
}

static int put_one(const ctl *c, printing *p, const mcp_json *definition)
{
    if (c->set.json)
        return json_list_add(c, &p->json, definition);
    if (c->out_is_terminal)
        p->d->put(c, definition);
    else
        put_fields(c, p->d, definition);
    return EXIT_OK;
}

/* Prints the list for people: in columns, with the complete description last. Returns false if out
 * of memory, or if the terminal is too narrow. */
static bool put_table(const ctl *c, printing *p, const mcp_json *list)
{
    const definitions *d = p->d;
    mcp_json_iter it = {0};
    if (!p->table) {
        if (!(p->table = table_new(d->n_fields + 1, true)))
            return false;
        table_add(p->table, CELL_TEXT, MCP_STR("NAME"));
        for (size_t i = 0; i < d->n_fields; i++)
            table_add(p->table, CELL_TEXT, mcp_str_from(d->fields[i].title));
    }
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        table_add(p->table, CELL_TEXT, name_of(v));
        for (size_t i = 0; i < d->n_fields; i++) {
            mcp_str text;
            char *own = field_text(&d->fields[i], v, &text);
            table_add(p->table, CELL_TEXT, text);
            free(own);
        }
    }
    return table_put(p->table, stdout,
                     &(table_look){.width = out_columns(c),
                                   .head = style_of(c, STYLE_BOLD),
                                   .first = style_of(c, STYLE_NAME),
                                   .plain = style_of(c, STYLE_NONE),
                                   .last_is_wrapped = true});
}

static int on_page(ctl *c, const mcp_json *result, void *user)
{
    printing *p = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, p->d->capability);
    p->count += mcp_json_count(list);
    bool in_columns = c->set.long_form && c->out_is_terminal && !c->set.json;
    int code = EXIT_OK;
    if (!in_columns || !mcp_json_count(list) || !put_table(c, p, list))
        for (const mcp_json *v; code == EXIT_OK && (v = mcp_json_next(list, &it, NULL)) != NULL;)
            code = put_one(c, p, v);
    return flush_stdout(c) ? code : EXIT_LOCAL;
}

/* ---- what there is instead ------------------------------------------------------------------- */

enum { NAMED = 40, ENOUGH = -2 };

typedef struct naming {
    const definitions *d;
    FILE *to;
    size_t count;
} naming;

static int name_page(ctl *c, const mcp_json *result, void *user)
{
    naming *n = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, n->d->capability);
    (void)c;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL; n->count++) {
        if (n->count == NAMED) {
            fputs(", …", n->to);
            return ENOUGH;
        }
        fputs(n->count ? ", " : " ", n->to);
        text_put_raw(n->to, name_of(v));
    }
    return EXIT_OK;
}

static void say_names(ctl *c, const definitions *d)
{
    enum { LABEL = 11 };
    char *text = NULL;
    size_t len = 0;
    naming n = {.d = d, .to = open_memstream(&text, &len)};
    if (!n.to)
        return;
    session_quietly(c, d->method, name_page, &n);
    if (!n.count)
        fputs(" none at present", n.to);
    if (fclose(n.to) == 0) {
        fprintf(stderr, "  %-*s", LABEL - 2, d->capability);
        text_put_wrapped(
            stderr, (mcp_str){text, len}, TEXT_LINE,
            (text_lines){.width = text_columns(stderr), .indent = LABEL, .column = LABEL});
        fputc('\n', stderr);
    }
    free(text);
}

void definitions_say_instead(ctl *c, const char *lacking)
{
    static const definitions *const all[] = {&tool_definitions, &prompt_definitions};
    bool resources = session_offers(c, "resources"), tools = session_offers(c, "tools");
    if (c->set.quiet)
        return;
    say("this server offers no %s%s", lacking,
        resources || tools || session_offers(c, "prompts") ? ". It offers:" : "");
    if (resources)
        fputs("  resources  'mcpctl ls' lists them\n", stderr);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (session_offers(c, all[i]->capability))
            say_names(c, all[i]);
}

/* ---- the list of one kind -------------------------------------------------------------------- */

/* Otherwise an empty list looks as if nothing had been asked. */
static void say_none(const ctl *c, const definitions *d)
{
    if (c->set.quiet)
        return;
    say("the server has no %s at present", d->capability);
    if (c->session->stderr_written && !c->set.verbose)
        hint("it has written to stderr, which -v shows");
}

int definitions_list(ctl *c, const definitions *d)
{
    printing p = {.d = d};
    int code = EXIT_OK;
    if (c->set.json)
        json_list_begin(&p.json, d->capability);
    if (session_offers(c, d->capability))
        code = session_list(c, d->capability, d->method, on_page, &p);
    else
        definitions_say_instead(c, d->capability);
    if (c->set.json)
        code = json_list_end(c, &p.json, code);
    if (code == EXIT_OK && !p.count && session_offers(c, d->capability))
        say_none(c, d);
    table_free(p.table);
    return code;
}

/* ---- finding one name ------------------------------------------------------------------------ */

enum { FOUND = -1 };

typedef struct seeking {
    const definitions *d;
    const char *name;
    mcp_json_doc *found;
    char near[80]; /* the most similar name */
} seeking;

static const char *name_at(size_t i, const void *user)
{
    (void)i;
    return user;
}

static void note_near(seeking *s, mcp_str name)
{
    char *copy = s->near[0] ? NULL : text_dup(name);
    if (copy && name.len < sizeof(s->near) &&
        nearest_name(s->name, strlen(s->name), name_at, 1, copy))
        memcpy(s->near, copy, name.len + 1);
    free(copy);
}

static int look(ctl *c, const mcp_json *result, void *user)
{
    seeking *s = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, s->d->capability);
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        mcp_str name = mcp_json_string(mcp_json_get(v, "name"));
        if (!mcp_str_eq(name, mcp_str_from(s->name))) {
            note_near(s, name);
            continue;
        }
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        mcp_json_add_value(w, v);
        char *text = take_written(c->command->name, w);
        if (text)
            mcp_json_parse(mcp_str_from(text), NULL, NULL, &s->found, NULL);
        free(text);
        return s->found ? FOUND : EXIT_LOCAL;
    }
    return EXIT_OK;
}

int definitions_find(ctl *c, const definitions *d, const char *name, mcp_json_doc **ret)
{
    seeking s = {.d = d, .name = name};
    int code = EXIT_OK;
    if (session_offers(c, d->capability))
        code = session_list(c, c->command->name, d->method, look, &s);
    if (code == FOUND) {
        *ret = s.found;
        return EXIT_OK;
    }
    if (code != EXIT_OK)
        return code;
    if (s.near[0])
        say("the server has no %s '%s'; did you mean '%s'?", d->kind, name, s.near);
    else
        say("the server has no %s '%s'", d->kind, name);
    hint("'mcpctl %s' lists them", d->capability);
    return EXIT_USAGE;
}
