/* part.c: gets parts of resources from the server if one of its templates supports this, and
 * otherwise extracts them from the whole resource. */
#include "part.h"

#include <errno.h>
#include <stdlib.h>

#include <mcp/uri.h>

/* ---- parsing the options --------------------------------------------------------------------- */

static bool number(const char **text, uint64_t *ret)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *ret = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* Parses "2-5", "2-", "-5" or "2" (which means `single`). */
static bool span(const char *text, uint64_t least, part *p)
{
    uint64_t last;
    if (*text == '-') {
        text++;
        p->from_end = true;
        return number(&text, &p->count) && !*text;
    }
    if (!number(&text, &p->first) || p->first < least)
        return false;
    if (!*text) {
        p->count = 1;
        return true;
    }
    if (*text++ != '-')
        return false;
    p->count = UINT64_MAX;
    if (!*text)
        return true;
    if (!number(&text, &last) || *text || last < p->first || last == UINT64_MAX)
        return false;
    p->count = last - p->first + 1;
    return true;
}

int part_make(const ctl *c, part *ret)
{
    const settings *s = &c->set;
    *ret = (part){0};
    if ((s->range != NULL) + (s->lines != NULL) + (s->tail != 0) > 1) {
        say("--range, --lines and --tail exclude each other");
        return EXIT_USAGE;
    }
    if (s->range) {
        ret->kind = PART_BYTES;
        if (span(s->range, 0, ret))
            return EXIT_OK;
        say("--range cannot be '%s'; it is like 0-99, 100- or -500", s->range);
        return EXIT_USAGE;
    }
    if (s->lines) {
        ret->kind = PART_LINES;
        if (!span(s->lines, 1, ret)) {
            say("--lines cannot be '%s'; it is like 1-10, 20-, 7 or -5", s->lines);
            return EXIT_USAGE;
        }
        if (ret->from_end)
            ret->kind = PART_TAIL;
    }
    if (s->tail)
        *ret = (part){.kind = PART_TAIL, .count = s->tail};
    return EXIT_OK;
}

/* ---- extracting a part ----------------------------------------------------------------------- */

static mcp_str cut_bytes(uint64_t first, uint64_t count, mcp_str text)
{
    if (first >= text.len)
        return (mcp_str){text.ptr, 0};
    uint64_t left = text.len - first;
    return (mcp_str){text.ptr + first, (size_t)(count < left ? count : left)};
}

/* Returns the offset after n lines. */
static size_t after_lines(mcp_str text, uint64_t n)
{
    size_t at = 0;
    for (; n && at < text.len; n--) {
        const char *newline = memchr(text.ptr + at, '\n', text.len - at);
        at = newline ? (size_t)(newline - text.ptr) + 1 : text.len;
    }
    return at;
}

static mcp_str cut_tail(uint64_t n, mcp_str text)
{
    size_t at = text.len;
    /* The final newline ends the last line and does not start another one. */
    for (; at && n; n--)
        for (at--; at && text.ptr[at - 1] != '\n';)
            at--;
    return (mcp_str){text.ptr + at, text.len - at};
}

mcp_str part_cut(const part *p, mcp_str text)
{
    if (p->kind == PART_BYTES && p->from_end)
        return cut_bytes(text.len > p->count ? text.len - p->count : 0, p->count, text);
    if (p->kind == PART_BYTES)
        return cut_bytes(p->first, p->count, text);
    if (p->kind == PART_TAIL)
        return cut_tail(p->count, text);
    if (p->kind == PART_LINES) {
        size_t from = after_lines(text, p->first - 1);
        mcp_str rest = {text.ptr + from, text.len - from};
        rest.len = after_lines(rest, p->count);
        return rest;
    }
    return text;
}

/* ---- parts from the server ------------------------------------------------------------------- */

/* The variables that a template must have, each with a name and a number. The second one is
 * required only if it has a value. */
typedef struct variables {
    const char *names[2];
    char values[2][24];
} variables;

typedef struct seeking {
    const char *uri;
    variables vars;
    char *found;
} seeking;

static bool variables_of(const part *p, variables *v)
{
    *v = (variables){0};
    if (p->kind == PART_BYTES && !p->from_end) {
        v->names[0] = "offset", v->names[1] = "length";
    } else if (p->kind == PART_LINES) {
        v->names[0] = "line", v->names[1] = "lines";
    } else if (p->kind == PART_TAIL) {
        v->names[0] = "tail";
    } else {
        return false;
    }
    uint64_t first = p->kind == PART_TAIL ? p->count : p->first;
    snprintf(v->values[0], sizeof(v->values[0]), "%llu", (unsigned long long)first);
    if (v->names[1] && p->count != UINT64_MAX)
        snprintf(v->values[1], sizeof(v->values[1]), "%llu", (unsigned long long)p->count);
    return true;
}

static bool has_variable(const mcp_uri_template *t, const char *name)
{
    for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++)
        if (mcp_str_eq(mcp_uri_template_variable(t, i), mcp_str_from(name)))
            return true;
    return false;
}

/* Expands the template with the variables of the URI and the given ones. */
static char *expand(const mcp_uri_template *t, const mcp_uri_match *m, const variables *v)
{
    enum { MOST = 16 };
    mcp_uri_pair pairs[MOST + 2];
    size_t count = 0;
    char *uri = NULL;
    for (size_t i = 0; i < mcp_uri_template_variable_count(t) && count < MOST; i++) {
        mcp_str name = mcp_uri_template_variable(t, i);
        char *text = text_dup(name);
        if (text && mcp_uri_match_get(m, text, &pairs[count].value))
            pairs[count++].name = name;
        free(text);
    }
    for (size_t i = 0; i < 2 && v->names[i]; i++)
        if (v->values[i][0])
            pairs[count++] = (mcp_uri_pair){mcp_str_from(v->names[i]), mcp_str_from(v->values[i])};
    if (mcp_uri_template_expand_strings(t, pairs, count, NULL, &uri, NULL) != MCP_OK)
        return NULL;
    return uri;
}

static void try_template(seeking *s, mcp_str text)
{
    mcp_uri_template *t = NULL;
    mcp_uri_match *m = NULL;
    if (mcp_uri_template_parse(text, NULL, &t, NULL) != MCP_OK)
        return;
    bool able = has_variable(t, s->vars.names[0]) &&
                (!s->vars.names[1] || has_variable(t, s->vars.names[1]));
    if (able && mcp_uri_template_match(t, mcp_str_from(s->uri), NULL, &m) == MCP_OK)
        s->found = expand(t, m, &s->vars);
    mcp_uri_match_free(m);
    mcp_uri_template_free(t);
}

static int on_templates(ctl *c, const mcp_json *result, void *user)
{
    seeking *s = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, "resourceTemplates");
    (void)c;
    for (const mcp_json *v; !s->found && (v = mcp_json_next(list, &it, NULL)) != NULL;)
        try_template(s, mcp_json_string(mcp_json_get(v, "uriTemplate")));
    return EXIT_OK;
}

char *part_uri(ctl *c, const part *p, const char *uri)
{
    seeking s = {.uri = uri};
    if (!variables_of(p, &s.vars))
        return NULL;
    session_quietly(c, "resources/templates/list", on_templates, &s);
    return s.found;
}
