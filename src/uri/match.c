/* match.c: matches a URI against the plan of a template and extracts the values.
 *
 * The URI is converted to normal form once. Then each of its bytes is read a bounded number of
 * times: by the search for a literal (forward or backward, see plan.c), when a gap is split into
 * expressions, and when values are decoded. One memory block contains the match, the normal form
 * and the decoded text. An expression is decoded as a whole, including separators and names. So the
 * elements of a list can be found later without an index, by reading the raw and the decoded text
 * in parallel.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "uri/match.h"

/* ---- normal form ----------------------------------------------------------------------------- */

static bool is_normal(char c)
{
    return mcp__uri_is(c, MCP__URI_UNRESERVED | MCP__URI_RESERVED);
}

/* Returns the length in normal form, or SIZE_MAX if the URI is malformed. */
static size_t normal_length(mcp_str uri)
{
    size_t len = 0;
    for (size_t at = 0; at < uri.len;) {
        if (is_normal(uri.ptr[at])) {
            at++, len++;
            continue;
        }
        char out[3];
        size_t n = mcp__uri_normal(uri, &at, out);
        if (n == 0)
            return SIZE_MAX;
        len += n;
    }
    return len;
}

static void write_normal(const mcp_uri_template *t, mcp_str uri, char *to)
{
    size_t lower = t->has_scheme ? mcp__uri_scheme_length(uri) : 0;
    for (size_t i = 0; i < lower; i++)
        to[i] = mcp__lower(uri.ptr[i]);
    size_t len = lower;
    for (size_t at = lower; at < uri.len;) {
        if (is_normal(uri.ptr[at])) {
            to[len++] = uri.ptr[at++];
            continue;
        }
        char out[3];
        size_t n = mcp__uri_normal(uri, &at, out);
        memcpy(to + len, out, n);
        len += n;
    }
}

static int new_match(const mcp_uri_template *t, mcp_str uri, const mcp_allocator *allocator,
                     mcp_uri_match **ret)
{
    size_t len = normal_length(uri);
    if (len == SIZE_MAX)
        return MCP_ENOTFOUND;
    size_t head = sizeof(mcp_uri_match) + t->variable_count * sizeof(slot);
    if (len > (SIZE_MAX - head - 1) / 2)
        return MCP_ENOMEM;
    mcp_uri_match *m = mcp__alloc(allocator, head + 2 * len + 1);
    if (!m)
        return MCP_ENOMEM;
    memset(m, 0, head);
    char *text = (char *)m + head;
    write_normal(t, uri, text);
    m->t = t;
    m->allocator = *allocator;
    m->text = (mcp_str){text, len};
    m->decoded = text + len;
    *ret = m;
    return MCP_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool has_more_chars(mcp_str s, size_t limit)
{
    size_t chars = 0;
    for (size_t i = 0; i < s.len && chars <= limit; i++)
        chars += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    return chars > limit;
}

/* Returns whether `part` is `whole`, or the part of it that the prefix modifier allows. */
static bool is_cut_of(mcp_str part, uint32_t prefix, mcp_str whole)
{
    if (part.len == whole.len)
        return mcp_str_eq(part, whole);
    return prefix && mcp__str_starts(whole, part) && has_more_chars(part, prefix - 1);
}

/* Returns whether two occurrences of a variable have the same value, apart from prefix
 * modifiers. */
static bool have_same_value(const slot *s, const mcp__uri_spec *spec, mcp_str value)
{
    if (value.len < s->value.len)
        return is_cut_of(value, spec->prefix, s->value);
    return is_cut_of(s->value, s->spec->prefix, value);
}

static bool assign(mcp_uri_match *m, const mcp__uri_group *g, const mcp__uri_spec *spec,
                   mcp_str raw, mcp_str value)
{
    slot *s = &m->slots[spec->variable->index];
    if (spec->prefix && has_more_chars(value, spec->prefix))
        return false;
    bool replaces = !s->spec || (s->spec->prefix && (!spec->prefix || value.len > s->value.len));
    if (s->spec && !have_same_value(s, spec, value))
        return false;
    if (replaces)
        *s = (slot){raw, value, spec, g->op, g};
    s->group = g;
    return true;
}

/* ---- one expression -------------------------------------------------------------------------- */

typedef struct cursor {
    const char *at, *end; /* raw */
    char *out;            /* decoded */
} cursor;

/* Decodes up to the character `stop` or the end. "%XX" never counts as `stop`. */
static void take_until(cursor *c, char stop, mcp_str *raw, mcp_str *value)
{
    const char *from = c->at;
    char *to = c->out;
    while (c->at < c->end && (stop == '\0' || *c->at != stop)) {
        if (*c->at == '%') {
            *c->out++ = (char)mcp__uri_triplet((mcp_str){c->at, 3}, 0);
            c->at += 3;
        } else {
            *c->out++ = *c->at++;
        }
    }
    *raw = (mcp_str){from, (size_t)(c->at - from)};
    *value = (mcp_str){to, (size_t)(c->out - to)};
}

/* Skips a separator, if there is one. */
static bool take_char(cursor *c)
{
    if (c->at == c->end)
        return false;
    *c->out++ = *c->at++;
    return true;
}

static bool match_unnamed(mcp_uri_match *m, const mcp__uri_group *g, cursor *c)
{
    for (size_t i = 0; i < g->spec_count; i++) {
        const mcp__uri_spec *spec = &g->specs[i];
        bool whole = spec->explode || (g->spec_count == 1 && g->op->sep != '/');
        mcp_str raw, value;
        take_until(c, whole ? '\0' : g->op->sep, &raw, &value);
        if (!assign(m, g, spec, raw, value))
            return false;
        if (!take_char(c))
            return true;
    }
    return false; /* more pieces than variables */
}

static int compare_name(const void *key, const void *element)
{
    const mcp_str *x = key;
    mcp_str y = (*(mcp__uri_spec *const *)element)->variable->normal;
    int diff = x->len && y.len ? memcmp(x->ptr, y.ptr, MCP__MIN(x->len, y.len)) : 0;
    return diff ? diff : (x->len > y.len) - (x->len < y.len);
}

/* Extends the slot of an exploded variable by a pair. The slot contains all text from the first to
 * the last pair of the variable. */
static void extend(slot *s, mcp_str raw, mcp_str value)
{
    s->raw.len = (size_t)(raw.ptr + raw.len - s->raw.ptr);
    s->value.len = (size_t)(value.ptr + value.len - s->value.ptr);
}

static bool match_pair(mcp_uri_match *m, const mcp__uri_group *g, mcp_str raw, mcp_str value)
{
    const char *equals = raw.len ? memchr(raw.ptr, '=', raw.len) : NULL;
    mcp_str name = {raw.ptr, equals ? (size_t)(equals - raw.ptr) : raw.len};
    mcp__uri_spec **found =
        bsearch(&name, g->sorted, g->spec_count, sizeof(mcp__uri_spec *), compare_name);
    if (!found)
        return false;
    slot *s = &m->slots[(*found)->variable->index];
    if ((*found)->explode) {
        if (s->spec)
            extend(s, raw, value);
        return s->spec || assign(m, g, *found, raw, value);
    }
    if (s->group == g)
        return false; /* the name occurs twice */
    size_t skip = name.len + (equals != NULL);
    /* A name may contain "%XX", so its decoded length can differ. */
    mcp_str rest = mcp__str_sub(raw, skip);
    size_t decoded = 0;
    for (size_t i = 0; i < rest.len; decoded++)
        i += rest.ptr[i] == '%' ? 3 : 1;
    return assign(m, g, *found, rest, (mcp_str){value.ptr + value.len - decoded, decoded});
}

static bool match_named(mcp_uri_match *m, const mcp__uri_group *g, cursor *c)
{
    do {
        mcp_str raw, value;
        take_until(c, g->op->sep, &raw, &value);
        if (!match_pair(m, g, raw, value))
            return false;
    } while (take_char(c));
    return true;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static size_t run_length(mcp_str s, size_t from, unsigned stops)
{
    size_t at = from;
    while (at < s.len && !(mcp__uri_stop(s.ptr[at]) & stops))
        at++;
    return at - from;
}

static bool match_gap(mcp_uri_match *m, const mcp__uri_gap *gap, size_t from, size_t to)
{
    mcp_str s = {m->text.ptr + from, to - from};
    size_t at = 0;
    for (size_t i = 0; i < gap->group_count; i++) {
        const mcp__uri_group *g = &gap->groups[i];
        if (g->op->first) {
            if (at == s.len || s.ptr[at] != g->op->first)
                continue; /* undefined */
            at++;
        }
        size_t len = run_length(s, at, g->stops);
        cursor c = {s.ptr + at, s.ptr + at + len, m->decoded};
        if (!(g->op->named ? match_named(m, g, &c) : match_unnamed(m, g, &c)))
            return false;
        m->decoded = c.out;
        at += len;
    }
    return at == s.len;
}

/* Finds the first occurrence of the gap's literal in text[from..to), or the last one if `backward`
 * is set. Fails if one of `stops` comes before it in the direction of the search. The same loop
 * serves both directions, with mirrored indices. */
static bool find_literal(mcp_str text, const mcp__uri_gap *gap, size_t from, size_t to,
                         unsigned stops, bool backward, size_t *ret)
{
    mcp_str lit = gap->literal;
    size_t n = 0, first_stop = SIZE_MAX - lit.len;
    for (size_t i = 0; i < to - from && i < first_stop + lit.len; i++) {
        char c = text.ptr[backward ? to - 1 - i : from + i];
        if (i < first_stop && (mcp__uri_stop(c) & stops))
            first_stop = i;
        while (n > 0 && lit.ptr[backward ? lit.len - 1 - n : n] != c)
            n = gap->borders[n - 1];
        if (lit.ptr[backward ? lit.len - 1 - n : n] == c)
            n++;
        if (n == lit.len) {
            *ret = backward ? to - 1 - i : from + i + 1 - lit.len;
            return true;
        }
    }
    return false;
}

static bool match_text(mcp_uri_match *m)
{
    const mcp_uri_template *t = m->t;
    size_t from = t->prefix.len, to = m->text.len, place;
    if (!mcp__str_starts(m->text, t->prefix))
        return false;
    if (t->gap_count == 0)
        return from == to;
    mcp_str last = t->gaps[t->gap_count - 1].literal;
    if (to - from < last.len || memcmp(m->text.ptr + to - last.len, last.ptr, last.len) != 0)
        return false;
    to -= last.len;
    for (size_t i = 0; i < t->pivot; i++) {
        const mcp__uri_gap *gap = &t->gaps[i];
        if (!find_literal(m->text, gap, from, to, gap->stops, false, &place) ||
            !match_gap(m, gap, from, place))
            return false;
        from = place + gap->literal.len;
    }
    for (size_t i = t->gap_count - 1; i > t->pivot; i--) {
        const mcp__uri_gap *before = &t->gaps[i - 1];
        if (!find_literal(m->text, before, from, to, t->gaps[i].stops, true, &place) ||
            !match_gap(m, &t->gaps[i], place + before->literal.len, to))
            return false;
        to = place;
    }
    return match_gap(m, &t->gaps[t->pivot], from, to);
}

/* A fast test, because most templates of a server do not match a given URI. Returns true if the URI
 * is in normal form and does not contain the literals of the template in their order, so that it
 * cannot match. If the result is false, the URI may or may not match. */
static bool lacks_literal(const mcp_uri_template *t, mcp_str uri)
{
    size_t at = t->prefix.len;
    if (!mcp__str_starts(uri, t->prefix))
        return false;
    for (size_t i = 0; i < uri.len; i++)
        if (!is_normal(uri.ptr[i]))
            return false;
    for (size_t i = 0; i < t->gap_count; i++) {
        mcp_str lit = t->gaps[i].literal;
        const char *place = memmem(uri.ptr + at, uri.len - at, lit.ptr, lit.len);
        if (!place)
            return true;
        at = (size_t)(place - uri.ptr) + lit.len;
    }
    return false;
}

int mcp_uri_template_match(const mcp_uri_template *t, mcp_str uri, const mcp_allocator *allocator,
                           mcp_uri_match **ret)
{
    if (t->unmatchable.code != MCP_OK)
        return t->unmatchable.code;
    if (!mcp__uri_template_prefix_matches(t, uri) || lacks_literal(t, uri))
        return MCP_ENOTFOUND;
    mcp_uri_match *m;
    int rc = new_match(t, uri, mcp__allocator(allocator), &m);
    if (rc != MCP_OK)
        return rc;
    bool found = match_text(m);
    if (found && ret)
        *ret = m;
    else
        mcp_uri_match_free(m);
    return found ? MCP_OK : MCP_ENOTFOUND;
}

void mcp_uri_match_free(mcp_uri_match *m)
{
    if (!m)
        return;
    mcp_allocator allocator = m->allocator;
    mcp__release(&allocator, m);
}

/* ---- reading a match ------------------------------------------------------------------------- */

static const slot *find_slot(const mcp_uri_match *m, const char *name)
{
    const mcp__uri_variable *v = mcp__map_get(&m->t->names, mcp_str_from(name));
    return v && m->slots[v->index].spec ? &m->slots[v->index] : NULL;
}

bool mcp_uri_match_get(const mcp_uri_match *m, const char *name, mcp_str *value)
{
    const slot *s = find_slot(m, name);
    mcp_str found = s ? s->value : MCP_STR("");
    if (s && s->spec->explode) {
        mcp_uri_match_iter iter = {0};
        mcp_uri_match_next(m, name, &iter, &found);
    }
    if (value)
        *value = found;
    return s != NULL;
}

bool mcp_uri_match_raw(const mcp_uri_match *m, const char *name, mcp_str *value)
{
    const slot *s = find_slot(m, name);
    *value = s ? s->raw : MCP_STR("");
    return s != NULL;
}

/* Gets the next piece of a slot up to `sep`, raw and decoded. Returns false at the end. */
static bool next_piece(const slot *s, char sep, mcp_uri_match_iter *iter, mcp_str *raw,
                       mcp_str *value)
{
    if (iter->started && iter->raw >= s->raw.len)
        return false;
    if (iter->started) {
        iter->raw++;
        iter->decoded++;
    }
    iter->started = true;
    size_t at = iter->raw, decoded = 0;
    while (at < s->raw.len && s->raw.ptr[at] != sep) {
        at += s->raw.ptr[at] == '%' ? 3 : 1;
        decoded++;
    }
    *raw = (mcp_str){s->raw.ptr + iter->raw, at - iter->raw};
    *value = (mcp_str){s->value.ptr + iter->decoded, decoded};
    iter->raw = at;
    iter->decoded += decoded;
    return true;
}

bool mcp_uri_match_next(const mcp_uri_match *m, const char *name, mcp_uri_match_iter *iter,
                        mcp_str *value)
{
    const slot *s = find_slot(m, name);
    if (!s)
        return false;
    char sep = s->spec->explode ? s->op->sep : ',';
    mcp_str raw;
    while (next_piece(s, sep, iter, &raw, value)) {
        if (!s->op->named || !s->spec->explode)
            return true;
        mcp_str key = s->spec->variable->normal;
        if (!mcp__str_starts(raw, key) || (raw.len > key.len && raw.ptr[key.len] != '='))
            continue;
        size_t skip = 0;
        for (size_t i = 0; i < key.len; skip++)
            i += key.ptr[i] == '%' ? 3 : 1;
        skip += raw.len > key.len;
        *value = mcp__str_sub(*value, skip);
        return true;
    }
    return false;
}
