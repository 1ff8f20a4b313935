/* expr.c: see expr.h. */
#include "expr.h"

#include <string.h>

bool repo_range_split(mcp_str rev, repo_range *ret)
{
    for (size_t i = 0; i + 1 < rev.len; i++) {
        if (rev.ptr[i] != '.' || rev.ptr[i + 1] != '.')
            continue;
        ret->parted = i + 2 < rev.len && rev.ptr[i + 2] == '.';
        size_t end = i + 2 + ret->parted;
        ret->from = (mcp_str){rev.ptr, i};
        ret->to = (mcp_str){rev.ptr + end, rev.len - end};
        return true;
    }
    return false;
}

void repo_expr_split(mcp_str rev, mcp_str *name, mcp_str *steps)
{
    size_t i = 0;
    while (i < rev.len && rev.ptr[i] != '~' && rev.ptr[i] != '^')
        i++;
    *name = (mcp_str){rev.ptr, i};
    *steps = (mcp_str){rev.ptr + i, rev.len - i};
}

bool repo_expr_step(mcp_str *steps, char *kind, unsigned *n)
{
    size_t i = 1;
    if (!steps->len || (*steps->ptr != '~' && *steps->ptr != '^'))
        return false;
    *kind = *steps->ptr;
    for (*n = 0; i < steps->len && steps->ptr[i] >= '0' && steps->ptr[i] <= '9'; i++) {
        *n = *n * 10 + (unsigned)(steps->ptr[i] - '0');
        if (*n > REPO_STEPS_MAX)
            return false;
    }
    *n = i == 1 ? 1 : *n;
    *steps = (mcp_str){steps->ptr + i, steps->len - i};
    return true;
}

const char *repo_expr_refused(mcp_str rev)
{
    mcp_str name, steps;
    char kind;
    unsigned n;
    size_t all = 0;
    repo_expr_split(rev, &name, &steps);
    const char *why = repo_rev_refused(name);
    while (!why && repo_expr_step(&steps, &kind, &n))
        if ((all += n ? n : 1) > REPO_STEPS_MAX)
            why = "it goes back more than 10,000 commits";
    if (!why && steps.len)
        why = "after a name only ~N and ^N are supported, with N up to 10,000";
    return why;
}

const char *repo_target_refused(const repo_target *t)
{
    repo_range range;
    bool may_be = (t->kind == REPO_KIND_LOG || t->kind == REPO_KIND_DIFF) && !t->other.len;
    if (may_be && repo_range_split(t->rev, &range)) {
        const char *why = repo_expr_refused(range.from);
        return why ? why : repo_expr_refused(range.to);
    }
    const char *why = t->rev.len ? repo_expr_refused(t->rev) : NULL;
    return !why && t->other.len ? repo_expr_refused(t->other) : why;
}
