/* array.c: the keywords of arrays. uniqueItems sorts the elements of a large array by hash to avoid
 * comparing all pairs. Only elements with the same hash are compared, and each comparison counts as
 * steps. */
#include <stdlib.h>

#include "schema/schema.h"

enum { FEW_ITEMS = 8, INLINE_ITEMS = 64 };

static const mcp_str NO_KEY = {"", 0};

/* Reports all elements beyond the allowed number in one message. */
static bool too_many(validation *st, const node *n, keyword word, size_t allowed, const mcp_json *v)
{
    return mcp__schema_report(st, n, word, "expected at most %zu items, got %zu", allowed,
                              mcp_json_count(v));
}

bool mcp__schema_run_items(validation *st, const node *n, const item_plan *i, const mcp_json *v,
                           evaluated *seen)
{
    mcp_json_iter iter = {0};
    const mcp_json *value;
    size_t count = mcp_json_count(v),
           described = i->rest ? count : MCP__MIN(i->prefix_count, count);
    bool ok = true;
    if (!mcp__schema_step(st, described))
        return false;
    if (seen)
        seen->all |= i->rest != NULL;
    if (i->rest && i->rest->kind == NODE_FALSE && count > i->prefix_count) {
        ok = too_many(st, n, i->rest_keyword, i->prefix_count, v);
        described = i->prefix_count;
        if (!mcp__schema_go_on(st))
            return false;
    }
    for (size_t at = 0; at < described && (value = mcp_json_next(v, &iter, NULL)); at++) {
        bool first = at < i->prefix_count;
        if (seen)
            mcp__schema_evaluated_set(seen, at);
        if (!mcp__schema_apply_at(st, first ? i->prefix[at] : i->rest, value, NO_KEY, at,
                                  first ? i->prefix_keyword : i->rest_keyword)) {
            ok = false;
            if (!mcp__schema_go_on(st))
                break;
        }
    }
    return ok;
}

bool mcp__schema_run_contains(validation *st, const node *n, const contains *c, const mcp_json *v,
                              evaluated *seen)
{
    mcp_json_iter iter = {0};
    const mcp_json *value;
    size_t count = 0;
    evaluated *marks = c->marks ? seen : NULL;
    if (!mcp__schema_step(st, mcp_json_count(v)))
        return false;
    while ((value = mcp_json_next(v, &iter, NULL))) {
        bool ok = mcp__schema_try(st, c->node, value, NULL, KW_CONTAINS);
        if (st->fatal)
            return false;
        count += ok;
        if (ok && marks)
            mcp__schema_evaluated_set(marks, iter.index - 1);
        if (!marks && count >= c->min && c->max == SIZE_MAX)
            return true;
    }
    if (count < c->min)
        return mcp__schema_report_value(st, n, c->min == 1 ? KW_CONTAINS : KW_MIN_CONTAINS,
                                        c->min == 1 ? "expected an item that matches "
                                                    : "expected more items that match ",
                                        c->node->value);
    return count <= c->max ||
           mcp__schema_report(st, n, KW_MAX_CONTAINS,
                              "expected at most %zu items that match `contains`, got %zu", c->max,
                              count);
}

/* ---- uniqueItems ----------------------------------------------------------------------------- */

typedef struct hashed {
    uint64_t hash;
    const mcp_json *value;
    size_t index;
} hashed;

static int by_hash(const void *a, const void *b)
{
    const hashed *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* h is sorted by hash. If there are few elements, all hashes are 0 instead, so that all pairs are
 * compared. */
static bool check_all_differ(validation *st, const node *n, const hashed *h, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count && h[k].hash == h[i].hash; k++) {
            if (mcp__schema_equal(h[i].value, h[k].value, &st->steps))
                return mcp__schema_report(
                    st, n, KW_UNIQUE_ITEMS,
                    "expected all items to differ, but items %zu and %zu are equal", h[i].index,
                    h[k].index);
        }
        if (st->steps == 0)
            return mcp__schema_exhausted(st, "steps", st->schema->limits.max_steps);
    }
    return true;
}

static bool run_unique(validation *st, const node *n, const mcp_json *v, hashed *h, size_t count)
{
    mcp_json_iter iter = {0};
    for (size_t i = 0; i < count; i++) {
        h[i] = (hashed){0, mcp_json_next(v, &iter, NULL), i};
        if (count > FEW_ITEMS)
            h[i].hash = mcp__schema_hash(h[i].value, &st->steps);
    }
    if (count > FEW_ITEMS)
        qsort(h, count, sizeof(h[0]), by_hash);
    return check_all_differ(st, n, h, count);
}

/* A separate function, so that the array is not on the stack while nested schemas run. */
static MCP__NOINLINE bool run_unique_inline(validation *st, const node *n, const mcp_json *v)
{
    hashed h[INLINE_ITEMS];
    return run_unique(st, n, v, h, mcp_json_count(v));
}

bool mcp__schema_run_unique(validation *st, const node *n, const mcp_json *v)
{
    size_t count = mcp_json_count(v);
    if (count < 2)
        return true;
    if (!mcp__schema_step(st, 2 * count))
        return false;
    if (count <= INLINE_ITEMS)
        return run_unique_inline(st, n, v);
    hashed *h = mcp__alloc(&st->schema->allocator, count * sizeof(*h));
    if (!h) {
        st->fatal = MCP_ENOMEM;
        return false;
    }
    bool ok = run_unique(st, n, v, h, count);
    mcp__release(&st->schema->allocator, h);
    return ok;
}

/* ---- unevaluatedItems ------------------------------------------------------------------------ */

bool mcp__schema_run_unevaluated_items(validation *st, const node *n, const node *rest,
                                       const mcp_json *v, evaluated *seen)
{
    mcp_json_iter iter = {0};
    const mcp_json *value;
    bool ok = true;
    (void)n;
    if (!mcp__schema_step(st, mcp_json_count(v)))
        return false;
    while (!seen->all && (value = mcp_json_next(v, &iter, NULL))) {
        if (mcp__schema_evaluated_has(seen, iter.index - 1))
            continue;
        if (!mcp__schema_apply_at(st, rest, value, NO_KEY, iter.index - 1, KW_UNEVALUATED_ITEMS)) {
            ok = false;
            if (!mcp__schema_go_on(st))
                break;
        }
    }
    seen->all = true;
    return ok;
}
