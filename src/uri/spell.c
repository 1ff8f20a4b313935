/* spell.c: writes a match as a URI in the canonical spelling of its template. */
#include <string.h>

#include "uri/match.h"

typedef struct spelling {
    char *at, *end;
} spelling;

static bool put(spelling *to, const char *text, size_t len)
{
    if ((size_t)(to->end - to->at) < len)
        return false;
    if (len)
        memcpy(to->at, text, len);
    to->at += len;
    return true;
}

/* Returns whether a reserved character of a value can be written unencoded, because it neither ends
 * the expression nor separates values. */
static bool may_be_bare(char c, const mcp__uri_group *g, const mcp__uri_spec *spec)
{
    bool split = spec->explode || g->spec_count > 1 || g->op->sep == '/';
    return mcp__uri_is(c, MCP__URI_RESERVED) && c != '?' && c != '#' &&
           !(mcp__uri_stop(c) & g->stops) && !(split && c == g->op->sep);
}

/* Writes the value `raw` of the URI, with only the necessary characters encoded. */
static bool put_value(spelling *to, const mcp__uri_group *g, const mcp__uri_spec *spec, mcp_str raw)
{
    size_t chars = 0;
    for (size_t at = 0, step; at < raw.len; at += step) {
        bool encoded = raw.ptr[at] == '%';
        char c = encoded ? (char)mcp__uri_triplet(raw, at) : raw.ptr[at];
        chars += ((unsigned char)c & 0xC0) != 0x80;
        if (spec->prefix && chars > spec->prefix)
            break;
        step = encoded ? 3 : 1;
        bool bare = !encoded || may_be_bare(c, g, spec);
        if (!put(to, bare ? &c : raw.ptr + at, bare ? 1 : 3))
            return false;
    }
    return true;
}

static bool put_group(spelling *to, const mcp_uri_match *m, const mcp__uri_group *g)
{
    char before = g->op->first;
    for (size_t i = 0; i < g->spec_count && !g->op->named; i++) {
        const slot *s = &m->slots[g->specs[i].variable->index];
        if (!s->spec)
            continue;
        if ((before && !put(to, &before, 1)) || !put_value(to, g, &g->specs[i], s->raw))
            return false;
        before = g->op->sep;
    }
    return true;
}

bool mcp__uri_match_spell(const mcp_uri_match *m, char *to, size_t room)
{
    const mcp_uri_template *t = m->t;
    spelling s = {to, to + room - 1};
    bool fits = room && put(&s, t->prefix.ptr, t->prefix.len);
    for (size_t i = 0; i < t->gap_count && fits; i++) {
        const mcp__uri_gap *gap = &t->gaps[i];
        for (size_t k = 0; k < gap->group_count && fits; k++)
            fits = put_group(&s, m, &gap->groups[k]);
        fits = fits && put(&s, gap->literal.ptr, gap->literal.len);
    }
    if (fits)
        *s.at = '\0';
    return fits;
}
