/* plan.c: compiles the plan by which a template is matched, and finds out whether it is matchable.
 *
 * A plan is a sequence of prefix, gap, literal, gap, literal and so on. A gap is one expression, or
 * several without a literal between them. The prefix and the last literal must be at the ends of
 * the URI. The literals between are searched one after the other, each once and without
 * backtracking: those before the pivot gap from the left, those after it from the right. The search
 * takes the nearest occurrence of each literal. This finds every match only if the nearest
 * occurrence is always correct, which requires one of two conditions for each literal:
 *
 * - the literal contains a character that ends the gap before it in the direction of the search
 *   ("/" after {name}), so that it has only one possible position;
 * - or the gap after it in that direction can match any text between the nearest occurrence and a
 *   later one. That gap must be a single plain variable, which may contain all characters that the
 *   gap before the literal may contain.
 *
 * A template is not matchable if one of its literals meets a condition in neither direction, or if
 * a literal that must be searched from the right precedes one that must be searched from the left.
 * Within a gap, each expression is recognized by its first character, which also ends the
 * expression before it. */
#include <stdlib.h>

#include "uri/uri.h"

enum { IN_PATH, IN_QUERY, IN_FRAGMENT };

#define SLASH MCP__URI_STOP_SLASH
#define QUERY MCP__URI_STOP_QUERY
#define HASH  MCP__URI_STOP_HASH
#define AMP   MCP__URI_STOP_AMP

static unsigned stops_of(char sign, int where)
{
    if (sign == '#' || where == IN_FRAGMENT)
        return 0;
    if (sign == '?' || sign == '&')
        return HASH;
    if (sign == '+')
        return where == IN_PATH ? QUERY | HASH : HASH;
    if (where == IN_QUERY)
        return AMP | HASH;
    return sign == '/' ? QUERY | HASH : SLASH | QUERY | HASH;
}

static int set_unmatchable(mcp_uri_template *t, size_t offset, const char *why)
{
    if (t->unmatchable.code == MCP_OK)
        mcp__fail(&t->unmatchable, MCP_EUNSUPPORTED, offset, "%s", why);
    return MCP_OK;
}

static size_t offset_of(const mcp_uri_template *t, mcp_str part)
{
    return (size_t)(part.ptr - t->text.ptr);
}

/* ---- literals -------------------------------------------------------------------------------- */

static int normalize_literal(mcp_uri_template *t, mcp_str text, bool first, mcp_str *ret)
{
    char *to = mcp__arena_alloc(&t->arena, MCP_URI_ENCODED_SIZE(text.len) + 1);
    if (!to)
        return MCP_ENOMEM;
    size_t lower = first ? mcp__uri_scheme_length(text) : 0;
    size_t len = 0;
    for (size_t at = 0; at < text.len;)
        len += mcp__uri_normal(text, &at, to + len);
    for (size_t i = 0; i < lower; i++)
        to[i] = mcp__lower(to[i]);
    t->has_scheme |= lower > 0;
    t->literal_length += len;
    *ret = (mcp_str){to, len};
    return MCP_OK;
}

static unsigned stops_within(mcp_str s)
{
    unsigned stops = 0;
    for (size_t i = 0; i < s.len; i++)
        stops |= mcp__uri_stop(s.ptr[i]);
    return stops;
}

/* Computes the table for a search in linear time (Knuth, Morris, Pratt). borders[i] is the length
 * of the longest proper border of the first i + 1 bytes, or of the last i + 1 bytes if `backward`
 * is set. */
static int find_borders(mcp_uri_template *t, mcp__uri_gap *gap, bool backward)
{
    mcp_str s = gap->literal;
    uint32_t *b = mcp__arena_alloc(&t->arena, (s.len + 1) * sizeof(*b));
    if (!b)
        return MCP_ENOMEM;
    b[0] = 0;
    uint32_t n = 0;
    for (size_t i = 1; i < s.len; i++) {
        char c = s.ptr[backward ? s.len - 1 - i : i];
        while (n > 0 && s.ptr[backward ? s.len - 1 - n : n] != c)
            n = b[n - 1];
        if (s.ptr[backward ? s.len - 1 - n : n] == c)
            n++;
        b[i] = n;
    }
    gap->borders = b;
    return MCP_OK;
}

static int component_after(int where, unsigned stops_seen)
{
    if (stops_seen & HASH)
        return IN_FRAGMENT;
    return (stops_seen & QUERY) && where == IN_PATH ? IN_QUERY : where;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    mcp_str x = (*(mcp__uri_spec *const *)a)->variable->normal;
    mcp_str y = (*(mcp__uri_spec *const *)b)->variable->normal;
    int diff = memcmp(x.ptr, y.ptr, MCP__MIN(x.len, y.len));
    return diff ? diff : (x.len > y.len) - (x.len < y.len);
}

static int sort_group(mcp_uri_template *t, mcp__uri_group *g, size_t offset)
{
    g->sorted = mcp__arena_alloc(&t->arena, g->spec_count * sizeof(mcp__uri_spec *));
    if (!g->sorted)
        return MCP_ENOMEM;
    for (size_t i = 0; i < g->spec_count; i++)
        g->sorted[i] = &g->specs[i];
    qsort(g->sorted, g->spec_count, sizeof(mcp__uri_spec *), by_name);
    for (size_t i = 1; i < g->spec_count; i++) {
        if (by_name(&g->sorted[i - 1], &g->sorted[i]) == 0)
            return set_unmatchable(t, offset, "a named variable occurs twice in one expression");
    }
    return MCP_OK;
}

static int check_group(mcp_uri_template *t, mcp__uri_group *g, size_t offset)
{
    for (size_t i = 0; i < g->spec_count; i++) {
        const mcp__uri_variable *v = g->specs[i].variable;
        if (v->exploded && v->uses > 1)
            set_unmatchable(t, offset, "an exploded variable may occur in the template only once");
        if (g->specs[i].explode && !g->op->named && i + 1 < g->spec_count)
            set_unmatchable(t, offset, "an exploded variable must be the last of its expression");
    }
    return g->op->named ? sort_group(t, g, offset) : MCP_OK;
}

/* Returns whether `part` belongs to the group of the part before: {?a}{&b} is one group, so that
 * its parameters match in any order. */
static bool continues(const mcp__uri_part *before, const mcp__uri_part *part)
{
    return before->op->sep == '&' && part->op->sign == '&';
}

/* Ensures that no earlier expression of the gap contains the first character of group number
 * `index`, because an expression ends where the next one begins. */
static void separate(mcp_uri_template *t, const mcp__uri_gap *gap, size_t index)
{
    const mcp__uri_operator *op = gap->groups[index].op;
    unsigned lead = mcp__uri_stop(op->first);
    for (size_t i = 0; i < index && t->unmatchable.code == MCP_OK; i++) {
        mcp__uri_group *g = &gap->groups[i];
        bool encodes = !g->op->allow_reserved && g->op->sep != op->first &&
                       g->op->first != op->first && g->stops;
        if (lead && (encodes || (g->stops & lead)))
            g->stops |= lead;
        else
            set_unmatchable(
                t, gap->offset,
                "these expressions cannot be distinguished; put a literal between them");
    }
}

static unsigned gap_stops(const mcp__uri_gap *gap)
{
    unsigned stops = ~0U;
    for (size_t i = 0; i < gap->group_count; i++)
        stops &= gap->groups[i].stops & ~mcp__uri_stop(gap->groups[i].op->first);
    return stops;
}

/* Builds a gap from the expressions that begin at part *at, and moves *at and *where past them. */
static int build_gap(mcp_uri_template *t, mcp__uri_gap *gap, size_t *at, int *where)
{
    size_t first = *at, end = first;
    while (end < t->part_count && t->parts[end].op)
        end++;
    *gap = (mcp__uri_gap){.offset = offset_of(t, t->parts[first].text)};
    gap->groups = mcp__arena_alloc(&t->arena, (end - first) * sizeof(*gap->groups));
    if (!gap->groups)
        return MCP_ENOMEM;
    for (size_t i = first; i < end; i++) {
        const mcp__uri_part *part = &t->parts[i];
        if (i > first && continues(part - 1, part)) {
            gap->groups[gap->group_count - 1].spec_count += part->spec_count;
            continue;
        }
        gap->groups[gap->group_count++] = (mcp__uri_group){
            .op = part->op,
            .specs = part->specs,
            .spec_count = part->spec_count,
            .stops = stops_of(part->op->sign, *where),
        };
        *where =
            component_after(*where, part->op->sign == '&' ? QUERY : mcp__uri_stop(part->op->first));
    }
    for (size_t i = 0; i < gap->group_count; i++) {
        if (i > 0)
            separate(t, gap, i);
        if (check_group(t, &gap->groups[i], gap->offset) != MCP_OK)
            return MCP_ENOMEM;
    }
    gap->stops = gap_stops(gap);
    *at = end;
    return MCP_OK;
}

/* ---- directions ------------------------------------------------------------------------------ */

/* Returns whether the gap is one variable that matches any text without its stops. */
static bool is_plain_variable(const mcp__uri_gap *gap)
{
    const mcp__uri_group *g = gap->groups;
    return gap->group_count == 1 && !g->op->first && g->spec_count == 1 && !g->specs->prefix;
}

/* Return whether every prefix (or every suffix) of a text that matches the gap also matches it. */
static bool fits_cut_at_end(const mcp__uri_gap *gap)
{
    for (size_t i = 0; i < gap->group_count; i++) {
        if (gap->groups[i].op->named)
            return false;
    }
    return true;
}

/* Removing a comma at the start moves every piece to the variable before it, whose prefix modifier
 * may not allow that piece. */
static bool fits_cut_at_start(const mcp__uri_gap *gap)
{
    const mcp__uri_group *g = gap->groups;
    bool prefix = false;
    for (size_t i = 0; i < g->spec_count; i++)
        prefix |= g->specs[i].prefix > 0;
    return gap->group_count == 1 && !g->op->first && (g->spec_count == 1 || !prefix);
}

/* Return whether a search from the left (or from the right) finds the literal between `gap` and
 * `next`. */
static bool from_left(const mcp__uri_gap *gap, const mcp__uri_gap *next)
{
    if (stops_within(gap->literal) & gap->stops)
        return true;
    return fits_cut_at_end(gap) && is_plain_variable(next) && (next->stops & ~gap->stops) == 0;
}

static bool from_right(const mcp__uri_gap *gap, const mcp__uri_gap *next)
{
    if (stops_within(gap->literal) & next->stops)
        return true;
    return fits_cut_at_start(next) && is_plain_variable(gap) && (gap->stops & ~next->stops) == 0;
}

/* Puts the pivot as far to the left as possible, so that the last occurrence of a literal is used
 * where both directions are correct. */
static int choose_pivot(mcp_uri_template *t)
{
    size_t pivot = t->gap_count - 1;
    while (pivot > 0 && from_right(&t->gaps[pivot - 1], &t->gaps[pivot]))
        pivot--;
    for (size_t i = 0; i < pivot; i++) {
        if (!from_left(&t->gaps[i], &t->gaps[i + 1]))
            return set_unmatchable(t, t->gaps[i].offset, "the end of this expression is ambiguous");
    }
    t->pivot = pivot;
    for (size_t i = 0; i + 1 < t->gap_count; i++) {
        if (find_borders(t, &t->gaps[i], i >= pivot) != MCP_OK)
            return MCP_ENOMEM;
    }
    return MCP_OK;
}

int mcp__uri_plan(mcp_uri_template *t)
{
    size_t at = 0;
    int where = IN_PATH;
    mcp_str *literal = &t->prefix;
    t->prefix = MCP_STR("");
    t->gaps = mcp__arena_alloc(&t->arena, (t->part_count + 1) * sizeof(*t->gaps));
    if (!t->gaps)
        return MCP_ENOMEM;
    while (at < t->part_count) {
        if (t->parts[at].op) {
            mcp__uri_gap *gap = &t->gaps[t->gap_count++];
            if (build_gap(t, gap, &at, &where) != MCP_OK)
                return MCP_ENOMEM;
            literal = &gap->literal;
            *literal = MCP_STR("");
            continue;
        }
        if (normalize_literal(t, t->parts[at].text, at == 0, literal) != MCP_OK)
            return MCP_ENOMEM;
        where = component_after(where, stops_within(*literal));
        at++;
    }
    return t->gap_count ? choose_pivot(t) : MCP_OK;
}

int mcp_uri_template_matchable(const mcp_uri_template *t, mcp_error *error)
{
    mcp__no_error(error);
    if (t->unmatchable.code != MCP_OK && error)
        *error = t->unmatchable;
    return t->unmatchable.code;
}
