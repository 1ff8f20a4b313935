/* definitions.c: lists of prompts and tools. */
#include "definitions.h"

#include <stdlib.h>

typedef struct printing {
    const definitions *d;
    json_list json;
} printing;

static int on_page(ctl *c, const mcp_json *result, void *user)
{
    printing *p = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, p->d->capability);
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        mcp_str name = mcp_json_string(mcp_json_get(v, "name"));
        if (c->set.json) {
            if (json_list_add(c, &p->json, v) != EXIT_OK)
                return EXIT_LOCAL;
        } else if (c->out_is_terminal && !c->set.long_form) {
            p->d->put(c, v);
        } else {
            put_field(c, name);
            if (c->set.long_form)
                p->d->put_fields(c, v);
            putchar('\n');
        }
    }
    return flush_stdout(c) ? EXIT_OK : EXIT_LOCAL;
}

int definitions_list(ctl *c, const definitions *d)
{
    printing p = {.d = d};
    int code = EXIT_OK;
    if (c->set.json)
        json_list_begin(&p.json, d->capability);
    if (session_offers(c, d->capability))
        code = session_list(c, d->capability, d->method, on_page, &p);
    else if (!c->set.quiet)
        say("this server offers no %s; 'mcpctl info' shows what it offers", d->capability);
    if (c->set.json)
        json_list_end(&p.json, code == EXIT_OK);
    return code;
}

/* ---- one name --------------------------------------------------------------------------------------- */

enum { FOUND = -1 };

typedef struct seeking {
    const definitions *d;
    const char *name;
    mcp_json_doc *found;
    char near[80]; /* a name that is like it */
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
    hint("'mcpctl %s' lists what there is", d->capability);
    return EXIT_USAGE;
}
