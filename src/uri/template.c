/* template.c: parses the text of a URI template (RFC 6570 section 2) into parts.
 *
 * All memory is in the template's arena. A first pass over the text counts the parts, so that
 * pointers into the arrays stay valid and limits are checked before memory is allocated.
 */
#include "uri/uri.h"

#define MAX_PREFIX_DIGITS 4

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_uri_template_limits, max_bytes, 8192, .maximum = 1 << 30),
    MCP_DEFAULT(mcp_uri_template_limits, max_expressions, 1024),
    MCP_DEFAULT(mcp_uri_template_limits, max_variables, 1024),
};

static const mcp__uri_operator operators[] = {
    {.sign = 0, .first = 0, .sep = ','},
    {.sign = '+', .first = 0, .sep = ',', .allow_reserved = true},
    {.sign = '#', .first = '#', .sep = ',', .allow_reserved = true},
    {.sign = '.', .first = '.', .sep = '.'},
    {.sign = '/', .first = '/', .sep = '/'},
    {.sign = ';', .first = ';', .sep = ';', .named = true, .bare_empty = true},
    {.sign = '?', .first = '?', .sep = '&', .named = true},
    {.sign = '&', .first = '&', .sep = '&', .named = true},
};

typedef struct parser {
    mcp_uri_template *t;
    mcp_str text;
    size_t at;
    mcp_error *error;
} parser;

static int malformed(const parser *p, const char *what)
{
    return mcp__fail(p->error, MCP_EPARSE, p->at, "%s", what);
}

static int no_memory(mcp_error *error)
{
    return mcp__fail(error, MCP_ENOMEM, 0, "out of memory");
}

static bool looking_at(const parser *p, char c)
{
    return p->at < p->text.len && p->text.ptr[p->at] == c;
}

static const mcp__uri_operator *find_operator(char sign)
{
    for (size_t i = 1; i < MCP__COUNT(operators); i++) {
        if (operators[i].sign == sign)
            return &operators[i];
    }
    return NULL;
}

/* varname = varchar *( ["."] varchar ) */
static int parse_name(parser *p, mcp_str *ret)
{
    size_t start = p->at;
    bool after_char = false;
    for (;;) {
        if (mcp__uri_triplet(p->text, p->at) >= 0)
            p->at += 3, after_char = true;
        else if (p->at < p->text.len && mcp__uri_is(p->text.ptr[p->at], MCP__URI_VARCHAR))
            p->at++, after_char = true;
        else if (looking_at(p, '.') && after_char)
            p->at++, after_char = false;
        else
            break;
    }
    if (!after_char)
        return malformed(p, p->at == p->text.len ? "the expression is not closed"
                                                 : "a variable name was expected");
    *ret = (mcp_str){p->text.ptr + start, p->at - start};
    return MCP_OK;
}

/* max-length = %x31-39 0*3DIGIT */
static int parse_prefix(parser *p, uint32_t *ret)
{
    uint32_t value = 0;
    size_t digits = 0;
    while (p->at < p->text.len && digits <= MAX_PREFIX_DIGITS) {
        char c = p->text.ptr[p->at];
        if (c < '0' || c > '9' || (c == '0' && digits == 0))
            break;
        value = value * 10 + (uint32_t)(c - '0');
        digits++;
        p->at++;
    }
    if (digits == 0 || digits > MAX_PREFIX_DIGITS)
        return malformed(p, "a prefix is a number from 1 to 9999");
    *ret = value;
    return MCP_OK;
}

/* Gets a name in normal form. A name without "%" is in normal form already. */
static int normal_name(mcp_uri_template *t, mcp_str name, mcp_str *ret)
{
    *ret = name;
    if (!memchr(name.ptr, '%', name.len))
        return MCP_OK;
    char *to = mcp__arena_alloc(&t->arena, name.len);
    if (!to)
        return MCP_ENOMEM;
    size_t len = 0;
    for (size_t at = 0; at < name.len;) {
        char out[3];
        size_t n = mcp__uri_normal(name, &at, out);
        memcpy(to + len, out, n);
        len += n;
    }
    *ret = (mcp_str){to, len};
    return MCP_OK;
}

static int add_variable(mcp_uri_template *t, mcp_str name, mcp__uri_variable **ret)
{
    mcp__uri_variable *v = mcp__map_get(&t->names, name);
    if (!v) {
        v = &t->variables[t->variable_count];
        *v = (mcp__uri_variable){.name = name, .index = (uint32_t)t->variable_count};
        if (normal_name(t, name, &v->normal) != MCP_OK ||
            mcp__map_add(&t->names, name, v) != MCP_OK)
            return MCP_ENOMEM;
        t->variable_count++;
    }
    v->uses++;
    *ret = v;
    return MCP_OK;
}

static int parse_spec(parser *p)
{
    mcp__uri_spec spec = {0};
    mcp_str name = {0};
    int rc = parse_name(p, &name);
    if (rc != MCP_OK)
        return rc;
    if (looking_at(p, ':')) {
        p->at++;
        rc = parse_prefix(p, &spec.prefix);
        if (rc != MCP_OK)
            return rc;
    } else if (looking_at(p, '*')) {
        p->at++;
        spec.explode = true;
    }
    if (add_variable(p->t, name, &spec.variable) != MCP_OK)
        return no_memory(p->error);
    spec.variable->exploded |= spec.explode;
    p->t->specs[p->t->spec_count++] = spec;
    return MCP_OK;
}

static int parse_operator(parser *p, const mcp__uri_operator **ret)
{
    *ret = &operators[0];
    if (p->at == p->text.len)
        return MCP_OK;
    char c = p->text.ptr[p->at];
    const mcp__uri_operator *op = find_operator(c);
    if (op) {
        p->at++;
        *ret = op;
    } else if (c && strchr("=,!@|", c)) {
        return malformed(p, "this operator is reserved");
    }
    return MCP_OK;
}

static int parse_expression(parser *p)
{
    mcp_uri_template *t = p->t;
    mcp__uri_part part = {.specs = t->specs + t->spec_count};
    size_t start = p->at++;
    int rc = parse_operator(p, &part.op);
    while (rc == MCP_OK) {
        rc = parse_spec(p);
        part.spec_count++;
        if (rc != MCP_OK || !looking_at(p, ','))
            break;
        p->at++;
    }
    if (rc != MCP_OK)
        return rc;
    if (!looking_at(p, '}'))
        return malformed(p, p->at == p->text.len ? "the expression is not closed"
                                                 : "\",\" or \"}\" was expected");
    p->at++;
    part.text = (mcp_str){p->text.ptr + start, p->at - start};
    t->parts[t->part_count++] = part;
    return MCP_OK;
}

static int parse_literal(parser *p)
{
    size_t start = p->at;
    while (p->at < p->text.len && !looking_at(p, '{')) {
        char c = p->text.ptr[p->at];
        if (c == '%' && mcp__uri_triplet(p->text, p->at) >= 0)
            p->at += 3;
        else if (mcp__uri_is(c, MCP__URI_LITERAL))
            p->at++;
        else
            return malformed(p, c == '}'   ? "\"}\" without \"{\""
                                : c == '%' ? "\"%\" without two hexadecimal digits"
                                           : "this byte is not allowed in a template");
    }
    mcp__uri_part part = {.text = {p->text.ptr + start, p->at - start}};
    p->t->parts[p->t->part_count++] = part;
    return MCP_OK;
}

static int parse_text(parser *p)
{
    size_t valid = mcp__utf8_valid(p->text.ptr, p->text.len);
    if (valid != p->text.len) {
        p->at = valid;
        return malformed(p, "the template is not UTF-8");
    }
    int rc = MCP_OK;
    while (rc == MCP_OK && p->at < p->text.len)
        rc = looking_at(p, '{') ? parse_expression(p) : parse_literal(p);
    return rc;
}

/* Counts the parts, checks the limits, and allocates the arrays in their maximum size. */
static int prepare(mcp_uri_template *t, mcp_str text, const mcp_uri_template_limits *limits,
                   mcp_error *error)
{
    if (text.len > limits->max_bytes)
        return mcp__fail(error, MCP_ELIMIT, limits->max_bytes,
                         "the template is longer than %zu bytes", limits->max_bytes);
    size_t expressions = 0, commas = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '{')
            expressions++;
        else if (text.ptr[i] == ',' && expressions)
            commas++;
    }
    if (expressions > limits->max_expressions)
        return mcp__fail(error, MCP_ELIMIT, 0, "the template has more than %zu expressions",
                         limits->max_expressions);
    size_t variables = expressions + commas;
    char *copy = mcp__arena_strdup(&t->arena, text);
    t->parts = mcp__arena_alloc(&t->arena, (2 * expressions + 1) * sizeof(*t->parts));
    t->specs = mcp__arena_alloc(&t->arena, (variables + 1) * sizeof(*t->specs));
    t->variables = mcp__arena_alloc(&t->arena, (variables + 1) * sizeof(*t->variables));
    if (!copy || !t->parts || !t->specs || !t->variables)
        return no_memory(error);
    t->text = (mcp_str){copy, text.len};
    return MCP_OK;
}

static void count_wide(mcp_uri_template *t)
{
    for (size_t i = 0; i < t->part_count; i++) {
        const mcp__uri_part *part = &t->parts[i];
        for (size_t j = 0; j < part->spec_count; j++)
            t->wide_count += part->op->allow_reserved || part->specs[j].explode;
    }
}

static int compile(mcp_uri_template *t, mcp_str text, const mcp_uri_template_limits *limits,
                   mcp_error *error)
{
    int rc = prepare(t, text, limits, error);
    if (rc != MCP_OK)
        return rc;
    parser p = {.t = t, .text = t->text, .error = error};
    rc = parse_text(&p);
    if (rc != MCP_OK)
        return rc;
    if (t->spec_count > limits->max_variables)
        return mcp__fail(error, MCP_ELIMIT, 0, "the template has more than %zu variables",
                         limits->max_variables);
    count_wide(t);
    return mcp__uri_plan(t) == MCP_OK ? MCP_OK : no_memory(error);
}

int mcp_uri_template_parse_limited(mcp_str text, const mcp_uri_template_limits *limits,
                                   const mcp_allocator *allocator, mcp_uri_template **ret,
                                   mcp_error *error)
{
    mcp__no_error(error);
    mcp_uri_template_limits l;
    int rc = MCP__TAKE_OPTIONAL(&l, limits, mcp_uri_template_limits, error);
    if (rc != MCP_OK)
        return rc;
    MCP_SET_DEFAULTS(&l, defaults);
    allocator = mcp__allocator(allocator);
    mcp_uri_template *t = mcp__zalloc(allocator, sizeof(*t));
    if (!t)
        return no_memory(error);
    t->allocator = *allocator;
    mcp__arena_init(&t->arena, &t->allocator, NULL, 0);
    /* The map needs no seed: the program that registers the template chooses the names, and their
     * number is limited. */
    mcp__map_init(&t->names, &t->allocator, 0, 0);
    rc = compile(t, text, &l, error);
    if (rc == MCP_OK)
        *ret = t;
    else
        mcp_uri_template_free(t);
    return rc;
}

int mcp_uri_template_parse(mcp_str text, const mcp_allocator *allocator, mcp_uri_template **ret,
                           mcp_error *error)
{
    return mcp_uri_template_parse_limited(text, NULL, allocator, ret, error);
}

void mcp_uri_template_free(mcp_uri_template *t)
{
    if (!t)
        return;
    mcp__map_free(&t->names);
    mcp__arena_free(&t->arena);
    mcp_allocator allocator = t->allocator;
    mcp__release(&allocator, t);
}

mcp_str mcp_uri_template_text(const mcp_uri_template *t)
{
    return t->text;
}

size_t mcp_uri_template_variable_count(const mcp_uri_template *t)
{
    return t->variable_count;
}

mcp_str mcp_uri_template_variable(const mcp_uri_template *t, size_t index)
{
    return index < t->variable_count ? t->variables[index].name : MCP_STR("");
}

/* Returns whether a byte of a URI is the same in the URI's normal form, in which only the letters of the
 * scheme become lower-case. */
static bool is_fixed(const mcp_uri_template *t, mcp_str uri, size_t at)
{
    char c = uri.ptr[at];
    return mcp__uri_is(c, MCP__URI_UNRESERVED | MCP__URI_RESERVED) &&
           (mcp__lower(c) == c || !t->has_scheme || at >= mcp__uri_scheme_length(uri));
}

bool mcp__uri_template_prefix_matches(const mcp_uri_template *t, mcp_str uri)
{
    /* The prefix is in normal form. So is nearly every URI, at least up to its first difference
     * from the prefix. */
    size_t most = MCP__MIN(uri.len, t->prefix.len), same = 0;
    while (same < most && uri.ptr[same] == t->prefix.ptr[same] && uri.ptr[same] != '%')
        same++;
    if (same == most)
        return same == t->prefix.len;
    if (is_fixed(t, uri, same))
        return false;
    if (mcp__str_starts(uri, t->prefix))
        return true;
    size_t lower = t->has_scheme ? mcp__uri_scheme_length(uri) : 0;
    size_t at = 0, matched = 0;
    while (matched < t->prefix.len) {
        if (at == uri.len)
            return false;
        char out[3];
        bool in_scheme = at < lower;
        size_t n = mcp__uri_normal(uri, &at, out);
        if (in_scheme)
            out[0] = mcp__lower(out[0]);
        if (n == 0 || n > t->prefix.len - matched || memcmp(out, t->prefix.ptr + matched, n) != 0)
            return false;
        matched += n;
    }
    return true;
}

static int order(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

int mcp_uri_template_compare(const mcp_uri_template *a, const mcp_uri_template *b)
{
    int by_literals = order(b->literal_length, a->literal_length);
    if (by_literals)
        return by_literals;
    int by_variables = order(a->spec_count, b->spec_count);
    return by_variables ? by_variables : order(a->wide_count, b->wide_count);
}
