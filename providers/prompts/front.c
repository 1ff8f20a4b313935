/* front.c: parses the front matter: a few keys, in the subset of YAML that they need.
 *
 * This is not a YAML parser. A line is a comment, `key: value`, or an item of a list (`- value`, `-
 * key: value`); nesting follows from the columns. Unknown and repeated keys are errors, so that a
 * misspelt one is not ignored silently.
 */
#include "parse.h"

#include <stdio.h>

typedef struct line {
    mcp_str text; /* trimmed; never empty */
    size_t indent, number;
} line;

typedef struct front {
    prompts_parser *p;
    line next;
    bool has_next; /* peek() has to return `next` again */
} front;

static bool is_fence(mcp_str s)
{
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return mcp_str_eq(s, MCP_STR("---"));
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Returns the next line that is neither empty nor a comment, without consuming it. The text is
 * empty at the closing fence. */
static int peek(front *f, line *ret)
{
    mcp_str s;
    while (!f->has_next) {
        size_t number = f->p->line;
        if (!prompts_next_line(f->p, &s))
            return prompts_fail(f->p, 1,
                                "the front matter that begins here has no line --- at "
                                "its end");
        f->next = (line){.text = prompts_trim(s), .number = number};
        f->has_next = is_fence(s) || (f->next.text.len && *f->next.text.ptr != '#');
        if (is_fence(s))
            f->next.text.len = 0;
        else if (f->next.text.len)
            f->next.indent = (size_t)(f->next.text.ptr - s.ptr);
        if (f->has_next && f->next.text.len && memchr(s.ptr, '\t', f->next.indent))
            return prompts_fail(f->p, number, "tabs cannot indent: use spaces");
    }
    *ret = f->next;
    return MCP_OK;
}

static void take(front *f)
{
    f->has_next = false;
}

static int bad_indent(front *f, const line *l)
{
    return prompts_fail(f->p, l->number, "unexpected indentation");
}

static bool is_item(const line *l)
{
    return l->text.len && *l->text.ptr == '-' && (l->text.len == 1 || l->text.ptr[1] == ' ');
}

/* Returns the text after the dash, with its column. */
static line item_of(const line *l)
{
    line item = *l;
    do
        item.text.ptr++, item.text.len--, item.indent++;
    while (item.text.len && *item.text.ptr == ' ');
    return item;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Reads a value that must fill the rest of the line. */
static int only_scalar(front *f, size_t number, mcp_str rest, mcp_str *ret)
{
    int rc = prompts_scalar(f->p, number, &rest, false, ret);
    if (rc == MCP_OK && !prompts_is_rest_empty(rest))
        return prompts_fail(f->p, number, "unexpected \"%.*s\" after the value",
                            prompts_shown(rest), rest.ptr);
    return rc;
}

typedef struct list {
    mcp_str *items;
    size_t count, max;
} list;

static int add(front *f, size_t number, list *to, mcp_str value)
{
    if (to->count == to->max)
        return prompts_fail(f->p, number, "the list has more than %zu entries", to->max);
    void *items = to->items;
    if (!prompts_arena_grow(&f->p->doc->arena, &items, to->count, sizeof(value)))
        return MCP_ENOMEM;
    to->items = items;
    to->items[to->count++] = value;
    return MCP_OK;
}

static mcp_str behind_first(mcp_str s)
{
    return (mcp_str){s.ptr + 1, s.len - 1};
}

/* Reads [a, "b"] on one line. */
static int flow_list(front *f, size_t number, mcp_str rest, list *to)
{
    mcp_str value, first = prompts_trim(behind_first(rest));
    bool ended = first.len && *first.ptr == ']';
    rest = ended ? behind_first(first) : behind_first(rest);
    while (!ended) {
        int rc = prompts_scalar(f->p, number, &rest, true, &value);
        if (rc == MCP_OK)
            rc = add(f, number, to, value);
        if (rc != MCP_OK)
            return rc;
        rest = prompts_trim(rest);
        if (!rest.len || (*rest.ptr != ',' && *rest.ptr != ']'))
            return prompts_fail(
                f->p, number,
                "a list must have commas between its values and end with ] on the same line");
        ended = *rest.ptr == ']';
        rest = behind_first(rest);
    }
    if (!prompts_is_rest_empty(rest))
        return prompts_fail(f->p, number, "unexpected text after the list");
    return MCP_OK;
}

/* Reads list items on the following lines. Their dashes are in the same column, which is
 * at least `least`. */
static int block_list(front *f, size_t number, size_t least, list *to)
{
    line l;
    mcp_str value;
    size_t column = SIZE_MAX;
    int rc;
    while ((rc = peek(f, &l)) == MCP_OK && is_item(&l) && l.indent >= least) {
        if (column != SIZE_MAX && l.indent != column)
            return bad_indent(f, &l);
        column = l.indent;
        take(f);
        rc = only_scalar(f, l.number, item_of(&l).text, &value);
        if (rc == MCP_OK)
            rc = add(f, l.number, to, value);
        if (rc != MCP_OK)
            return rc;
    }
    if (rc == MCP_OK && !to->count)
        return prompts_fail(f->p, number, "a list is missing: [a, b], or lines that begin with -");
    return rc;
}

static int read_list(front *f, const line *l, mcp_str rest, list *to)
{
    rest = prompts_trim(rest);
    if (!rest.len || *rest.ptr == '#')
        return block_list(f, l->number, l->indent, to);
    if (*rest.ptr == '[')
        return flow_list(f, l->number, rest, to);
    return prompts_fail(f->p, l->number, "a list is missing: [a, b], or lines that begin with -");
}

/* ---- keys ------------------------------------------------------------------------------------ */

typedef enum key_kind {
    NAME, /* const char *; the caller validates it */
    TEXT, /* const char * */
    BOOL, /* bool */
    LIST, /* read by its own function */
} key_kind;

typedef struct key {
    const char *name;
    key_kind kind;
    size_t at; /* offset of the member, for TEXT and BOOL */
    int (*read)(front *f, const line *l, mcp_str rest, void *to);
} key;

static int set_text(front *f, const line *l, mcp_str rest, const char **to)
{
    mcp_str value;
    int rc = only_scalar(f, l->number, rest, &value);
    if (rc != MCP_OK)
        return rc;
    *to = prompts_arena_copy(&f->p->doc->arena, value);
    return *to ? MCP_OK : MCP_ENOMEM;
}

static int set_bool(front *f, const line *l, mcp_str rest, bool *to)
{
    mcp_str value;
    int rc = only_scalar(f, l->number, rest, &value);
    if (rc != MCP_OK)
        return rc;
    *to = mcp_str_eq(value, MCP_STR("true"));
    if (!*to && !mcp_str_eq(value, MCP_STR("false")))
        return prompts_fail(f->p, l->number, "it must be true or false");
    return MCP_OK;
}

/* Lists the valid keys, for a message. */
static void join_names(const key *keys, size_t n, char to[120])
{
    size_t len = 0;
    for (size_t i = 0; i < n && len < 120; i++)
        len += (size_t)snprintf(to + len, 120 - len, "%s%s", i ? ", " : "", keys[i].name);
}

/* Reads one `key: value` line and the nested lines that follow. `seen` has a bit for each key. */
static int read_key(front *f, const line *l, const key *keys, size_t n, unsigned *seen, void *to)
{
    char names[120];
    const char *colon = memchr(l->text.ptr, ':', l->text.len);
    mcp_str name = {l->text.ptr, colon ? (size_t)(colon - l->text.ptr) : 0}, rest = {0};
    size_t i = 0;
    if (colon)
        rest = (mcp_str){colon + 1, l->text.len - name.len - 1};
    if (!colon || (rest.len && *rest.ptr != ' ' && *rest.ptr != '\t'))
        return prompts_fail(f->p, l->number, "a line \"key: value\" is expected here");
    while (i < n && !mcp_str_eq(name, mcp_str_from(keys[i].name)))
        i++;
    if (i == n) {
        join_names(keys, n, names);
        return prompts_fail(f->p, l->number, "unknown key \"%.*s\"; there are %s",
                            prompts_shown(name), name.ptr, names);
    }
    if (*seen & 1u << i)
        return prompts_fail(f->p, l->number, "the key \"%s\" appears twice", keys[i].name);
    *seen |= 1u << i;
    void *at = (char *)to + keys[i].at;
    switch (keys[i].kind) {
    case TEXT: return set_text(f, l, rest, at);
    case BOOL: return set_bool(f, l, rest, at);
    default: return keys[i].read(f, l, rest, to);
    }
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int read_argument_name(front *f, const line *l, mcp_str rest, void *to)
{
    prompts_argument *a = to;
    prompts_document *d = f->p->doc;
    int rc = set_text(f, l, rest, &a->name);
    if (rc != MCP_OK)
        return rc;
    if (!prompts_is_argument_name(mcp_str_from(a->name)))
        return prompts_fail(
            f->p, l->number,
            "an argument's name must be 1 to %d letters, digits, \"_\", \"-\" and \".\"",
            PROMPTS_MAX_NAME);
    for (size_t i = 0; i < d->n_arguments; i++) {
        if (&d->arguments[i] != a && strcmp(d->arguments[i].name, a->name) == 0)
            return prompts_fail(f->p, l->number, "the argument \"%s\" already exists", a->name);
    }
    return MCP_OK;
}

static int read_choices(front *f, const line *l, mcp_str rest, void *to)
{
    prompts_argument *a = to;
    list choices = {.max = PROMPTS_MAX_CHOICES};
    int rc = read_list(f, l, rest, &choices);
    a->choices = choices.items;
    a->n_choices = choices.count;
    return rc;
}

static const key argument_keys[] = {
    {"name", NAME, 0, read_argument_name},
    {"title", TEXT, offsetof(prompts_argument, title), NULL},
    {"description", TEXT, offsetof(prompts_argument, description), NULL},
    {"required", BOOL, offsetof(prompts_argument, required), NULL},
    {"complete", LIST, 0, read_choices},
};

enum { N_ARGUMENT_KEYS = sizeof(argument_keys) / sizeof(*argument_keys) };

/* Reads the keys of one argument. The first is after the dash, the others are below it in
 * the same column. */
static int read_argument(front *f, const line *dash)
{
    prompts_document *d = f->p->doc;
    prompts_argument *a = &d->arguments[d->n_arguments];
    unsigned seen = 0;
    line l = item_of(dash);
    size_t column = l.indent;
    if (!l.text.len)
        return prompts_fail(f->p, l.number,
                            "an argument must begin on the line of its dash: - name: …");
    int rc = read_key(f, &l, argument_keys, N_ARGUMENT_KEYS, &seen, a);
    while (rc == MCP_OK && (rc = peek(f, &l)) == MCP_OK && l.text.len && l.indent > dash->indent) {
        if (l.indent != column)
            return bad_indent(f, &l);
        take(f);
        rc = read_key(f, &l, argument_keys, N_ARGUMENT_KEYS, &seen, a);
    }
    if (rc == MCP_OK && !a->name)
        return prompts_fail(f->p, dash->number, "the argument has no name");
    d->n_arguments += rc == MCP_OK;
    return rc;
}

static int read_arguments(front *f, const line *key_line, mcp_str rest, void *to)
{
    prompts_document *d = to;
    line l;
    size_t column = SIZE_MAX;
    int rc;
    if (mcp_str_eq(prompts_trim(rest), MCP_STR("[]")))
        return MCP_OK;
    if (!prompts_is_rest_empty(rest))
        return prompts_fail(f->p, key_line->number,
                            "arguments must be on the lines below, each with a dash: - name: …");
    while ((rc = peek(f, &l)) == MCP_OK && is_item(&l)) {
        void *grown = d->arguments;
        if (column != SIZE_MAX && l.indent != column)
            return bad_indent(f, &l);
        column = l.indent;
        if (d->n_arguments == PROMPTS_MAX_ARGUMENTS)
            return prompts_fail(f->p, l.number, "there are more than %d arguments",
                                PROMPTS_MAX_ARGUMENTS);
        if (!prompts_arena_grow(&d->arena, &grown, d->n_arguments, sizeof(*d->arguments)))
            return MCP_ENOMEM;
        d->arguments = grown;
        take(f);
        rc = read_argument(f, &l);
        if (rc != MCP_OK)
            return rc;
    }
    if (rc == MCP_OK && !d->n_arguments)
        return prompts_fail(f->p, key_line->number, "arguments are missing: lines - name: …");
    return rc;
}

/* ---- prompts --------------------------------------------------------------------------------- */

static int read_prompt_name(front *f, const line *l, mcp_str rest, void *to)
{
    prompts_document *d = to;
    int rc = set_text(f, l, rest, &d->name);
    if (rc == MCP_OK && !prompts_is_prompt_name(mcp_str_from(d->name)))
        return prompts_fail(f->p, l->number,
                            "a name must be 1 to %d bytes, without control characters and without "
                            "leading or trailing spaces",
                            PROMPTS_MAX_NAME);
    return rc;
}

static bool begins_with(mcp_str s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len > len && memcmp(s.ptr, prefix, len) == 0;
}

static int read_icons(front *f, const line *l, mcp_str rest, void *to)
{
    prompts_document *d = to;
    list icons = {.max = PROMPTS_MAX_ICONS};
    int rc = read_list(f, l, rest, &icons);
    if (rc != MCP_OK || !icons.count)
        return rc;
    d->icons = prompts_arena_alloc(&d->arena, icons.count * sizeof(*d->icons));
    if (!d->icons)
        return MCP_ENOMEM;
    for (size_t i = 0; i < icons.count; i++) {
        mcp_uri uri;
        mcp_str text = icons.items[i];
        if ((!begins_with(text, "https://") && !begins_with(text, "data:image/")) ||
            mcp_uri_parse(text, &uri, NULL) != MCP_OK)
            return prompts_fail(f->p, l->number, "an icon must be an https: or data:image/ URI");
        if (!(d->icons[i] = prompts_arena_copy(&d->arena, text)))
            return MCP_ENOMEM;
        d->n_icons++;
    }
    return MCP_OK;
}

static const key prompt_keys[] = {
    {"name", NAME, 0, read_prompt_name},
    {"title", TEXT, offsetof(prompts_document, title), NULL},
    {"description", TEXT, offsetof(prompts_document, description), NULL},
    {"arguments", LIST, 0, read_arguments},
    {"icons", LIST, 0, read_icons},
};

enum { N_PROMPT_KEYS = sizeof(prompt_keys) / sizeof(*prompt_keys) };

int prompts_front(prompts_parser *p)
{
    front f = {.p = p};
    unsigned seen = 0;
    mcp_str s;
    line l = {0};
    int rc;
    prompts_parser before = *p;
    if (!prompts_next_line(p, &s) || !is_fence(s)) {
        *p = before; /* without a front matter, everything is the prompt's text */
        return MCP_OK;
    }
    while ((rc = peek(&f, &l)) == MCP_OK) {
        take(&f);
        if (!l.text.len)
            return MCP_OK;
        if (l.indent)
            return bad_indent(&f, &l);
        rc = read_key(&f, &l, prompt_keys, N_PROMPT_KEYS, &seen, p->doc);
        if (rc != MCP_OK)
            return rc;
    }
    return rc;
}
