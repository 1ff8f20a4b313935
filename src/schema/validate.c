/* validate.c: runs a compiled schema over a value.
 *
 * One recursion follows both the program and the value. Its depth is limited, because references
 * can form an endless loop without advancing in the value. After a fatal error (out of memory, a
 * limit) functions also return false, and validation.fatal is set. So every keyword that does not
 * simply return the result of a subschema (not, anyOf, oneOf, if, contains) must check
 * validation.fatal first.
 */
#include "schema/schema.h"

bool mcp__schema_exhausted(validation *st, const char *what, size_t limit)
{
    if (!st->fatal) {
        st->fatal = MCP_ELIMIT;
        mcp__fail(st->error, MCP_ELIMIT, 0, "validation is over the limit of %zu %s", limit, what);
    }
    st->steps = 0;
    return false;
}

/* ---- one value ------------------------------------------------------------------------------- */

static bool run_type(validation *st, const node *n, unsigned types, const mcp_json *v, unsigned bit)
{
    if (MCP__LIKELY(types & bit))
        return true;
    if (types & IS_INTEGRAL && bit & IS_NUMBER && mcp__schema_is_integral(v))
        return true;
    return mcp__schema_report_type(st, n, types, v);
}

static bool run_const(validation *st, const node *n, const mcp_json *wanted, const mcp_json *v)
{
    if (mcp__schema_equal(wanted, v, &st->steps))
        return true;
    if (st->steps == 0)
        return mcp__schema_exhausted(st, "steps", st->schema->limits.max_steps);
    return mcp__schema_report_value(st, n, KW_CONST, "expected ", wanted);
}

static bool run_enum(validation *st, const node *n, const mcp_json *allowed, const mcp_json *v)
{
    mcp_json_iter iter = {0};
    const mcp_json *one;
    while ((one = mcp_json_next(allowed, &iter, NULL))) {
        if (mcp__schema_equal(one, v, &st->steps))
            return true;
    }
    if (st->steps == 0)
        return mcp__schema_exhausted(st, "steps", st->schema->limits.max_steps);
    return mcp__schema_report_enum(st, n, allowed);
}

static bool run_bound(validation *st, const node *n, keyword word, const mcp_json *bound,
                      const mcp_json *v)
{
    int order = mcp__schema_compare(v, bound);
    const char *before;
    bool good;
    switch (word) {
    case KW_MINIMUM: good = order >= 0, before = "expected at least "; break;
    case KW_EXCLUSIVE_MINIMUM: good = order > 0, before = "expected more than "; break;
    case KW_MAXIMUM: good = order <= 0, before = "expected at most "; break;
    default: good = order < 0, before = "expected less than "; break;
    }
    return good || mcp__schema_report_bound(st, n, word, before, bound, v);
}

static bool run_multiple(validation *st, const node *n, const divisor *d, const mcp_json *v)
{
    if (!mcp_json_is(v, MCP_JSON_INT) &&
        !mcp__schema_step(st, 1 + mcp__json_bigint_text(v).len / 8))
        return false;
    return mcp__schema_is_multiple(v, d) ||
           mcp__schema_report_bound(st, n, KW_MULTIPLE_OF, "expected a multiple of ",
                                    mcp_json_get(n->value, "multipleOf"), v);
}

static size_t count_characters(mcp_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

/* A character has 1 to 4 bytes, so for most strings the length in bytes decides. */
static bool run_length(validation *st, const node *n, keyword word, size_t limit, const mcp_json *v)
{
    mcp_str s = mcp_json_string(v);
    bool is_minimum = word == KW_MIN_LENGTH;
    if (is_minimum ? s.len / 4 >= limit : s.len <= limit)
        return true;
    if (!mcp__schema_step(st, s.len / 64))
        return false;
    size_t count = count_characters(s);
    if (is_minimum ? count >= limit : count <= limit)
        return true;
    return mcp__schema_report(st, n, word, "expected at %s %zu character%s, got %zu",
                              is_minimum ? "least" : "most", limit, limit == 1 ? "" : "s", count);
}

static bool run_count(validation *st, const node *n, keyword word, size_t limit, const mcp_json *v)
{
    bool is_minimum = word == KW_MIN_ITEMS || word == KW_MIN_PROPERTIES;
    bool array = word == KW_MIN_ITEMS || word == KW_MAX_ITEMS;
    size_t count = mcp_json_count(v);
    if (is_minimum ? count >= limit : count <= limit)
        return true;
    return mcp__schema_report(st, n, word, "expected at %s %zu %s, got %zu",
                              is_minimum ? "least" : "most", limit, array ? "items" : "properties",
                              count);
}

static bool run_pattern(validation *st, const node *n, const pattern *p, const mcp_json *v)
{
    excerpt shown;
    int rc =
        mcp__schema_pattern_match(st->schema, p, mcp_json_string(v), &st->match_data, &st->steps);
    if (rc > 0)
        return true;
    if (rc == 0)
        return mcp__schema_report(st, n, KW_PATTERN, "expected a string that matches %s",
                                  mcp__schema_show(&shown, mcp__schema_pattern_source(p)));
    if (rc == MCP_ELIMIT)
        return mcp__schema_exhausted(st, "calls of the pattern matcher",
                                     st->schema->limits.pattern_limit);
    st->fatal = rc;
    return false;
}

static bool run_format(validation *st, const node *n, const format_info *f, const mcp_json *v)
{
    mcp_str s = mcp_json_string(v);
    if (!mcp__schema_step(st, 1 + s.len / 16))
        return false;
    int rc = f->check(st->schema, s);
    if (rc < 0)
        st->fatal = rc;
    return rc > 0 || (rc == 0 && mcp__schema_report(st, n, KW_FORMAT, "expected %s", f->expected));
}

/* ---- combinations ---------------------------------------------------------------------------- */

static bool run_all_of(validation *st, const node_list *list, const mcp_json *v, evaluated *seen)
{
    bool ok = true;
    for (size_t i = 0; i < list->count; i++) {
        if (!mcp__schema_apply(st, list->nodes[i], v, seen, KW_ALL_OF)) {
            ok = false;
            if (!mcp__schema_go_on(st))
                break;
        }
    }
    return ok;
}

static bool run_any_of(validation *st, const node *n, const node_list *list, const mcp_json *v,
                       evaluated *seen)
{
    bool any = false;
    for (size_t i = 0; i < list->count && !(any && !seen); i++) {
        any |= mcp__schema_try(st, list->nodes[i], v, seen, KW_ANY_OF);
        if (st->fatal)
            return false;
    }
    return any || mcp__schema_report_branches(st, n, KW_ANY_OF, list, v);
}

static bool run_one_of(validation *st, const node *n, const node_list *list, const mcp_json *v,
                       evaluated *seen)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < list->count; i++) {
        bool ok = mcp__schema_try(st, list->nodes[i], v, seen, KW_ONE_OF);
        if (st->fatal)
            return false;
        if (ok && first != SIZE_MAX)
            return mcp__schema_report(
                st, n, KW_ONE_OF,
                "expected exactly one alternative to match, but number %zu and "
                "number %zu of %zu do",
                first + 1, i + 1, list->count);
        first = ok ? i : first;
    }
    return first != SIZE_MAX || mcp__schema_report_branches(st, n, KW_ONE_OF, list, v);
}

static bool run_not(validation *st, const node *n, const node *inner, const mcp_json *v)
{
    bool matches = mcp__schema_try(st, inner, v, NULL, KW_NOT);
    if (st->fatal)
        return false;
    return !matches ||
           mcp__schema_report_value(st, n, KW_NOT, "expected not to match ", inner->value);
}

static bool run_if(validation *st, const condition *c, const mcp_json *v, evaluated *seen)
{
    bool yes = mcp__schema_try(st, c->when, v, seen, KW_IF);
    if (st->fatal)
        return false;
    const node *next = yes ? c->then : c->otherwise;
    return !next || mcp__schema_apply(st, next, v, seen, yes ? KW_THEN : KW_ELSE);
}

/* Uses the outermost resource in the dynamic scope that has the anchor. */
static bool run_dynamic_ref(validation *st, const dynamic_ref *d, const mcp_json *v,
                            evaluated *seen)
{
    const node *target = d->target;
    for (const scope *s = d->anchor.len ? st->scope : NULL; s; s = s->parent) {
        if (!mcp__schema_step(st, 1))
            return false;
        for (const named_node *a = s->resource->dynamic; a; a = a->next) {
            if (!mcp__schema_step(st, 1))
                return false;
            if (mcp_str_eq(a->name, d->anchor))
                target = a->node;
        }
    }
    return mcp__schema_apply(st, target, v, seen, KW_DYNAMIC_REF);
}

/* ---- a schema -------------------------------------------------------------------------------- */

static bool run_instruction(validation *st, const node *n, const instruction *in, const mcp_json *v,
                            unsigned bit, evaluated *seen)
{
    keyword word = (keyword)in->keyword;
    switch ((op)in->op) {
    case OP_TYPE: return run_type(st, n, in->u.types, v, bit);
    case OP_CONST: return run_const(st, n, in->u.value, v);
    case OP_ENUM: return run_enum(st, n, in->u.value, v);
    case OP_BOUND: return run_bound(st, n, word, in->u.value, v);
    case OP_MULTIPLE: return run_multiple(st, n, in->u.divisor, v);
    case OP_LENGTH: return run_length(st, n, word, in->u.limit, v);
    case OP_PATTERN: return run_pattern(st, n, in->u.pattern, v);
    case OP_FORMAT: return run_format(st, n, in->u.format, v);
    case OP_COUNT: return run_count(st, n, word, in->u.limit, v);
    case OP_UNIQUE: return mcp__schema_run_unique(st, n, v);
    case OP_MEMBERS: return mcp__schema_run_members(st, n, in->u.members, v, seen);
    case OP_DEPENDENT_REQUIRED:
        return mcp__schema_run_dependent_required(st, n, in->u.dependencies, v);
    case OP_ITEMS: return mcp__schema_run_items(st, n, in->u.items, v, seen);
    case OP_CONTAINS: return mcp__schema_run_contains(st, n, in->u.contains, v, seen);
    case OP_REF: return mcp__schema_apply(st, in->u.node, v, seen, KW_REF);
    case OP_DYNAMIC_REF: return run_dynamic_ref(st, in->u.dynamic, v, seen);
    case OP_ALL_OF: return run_all_of(st, in->u.list, v, seen);
    case OP_ANY_OF: return run_any_of(st, n, in->u.list, v, seen);
    case OP_ONE_OF: return run_one_of(st, n, in->u.list, v, seen);
    case OP_NOT: return run_not(st, n, in->u.node, v);
    case OP_IF: return run_if(st, in->u.condition, v, seen);
    case OP_DEPENDENT_SCHEMAS:
        return mcp__schema_run_dependent_schemas(st, in->u.dependencies, v, seen);
    case OP_UNEVALUATED_ITEMS: return mcp__schema_run_unevaluated_items(st, n, in->u.node, v, seen);
    case OP_UNEVALUATED_PROPERTIES: break;
    }
    return mcp__schema_run_unevaluated_properties(st, n, in->u.node, v, seen);
}

/* After a failure unevaluated* are skipped, because they would report members that the failed
 * keyword should have evaluated. */
static bool run(validation *st, const node *n, const mcp_json *v, unsigned bit, evaluated *seen)
{
    bool ok = true;
    for (const instruction *in = n->code, *end = in + n->count; in < end; in++) {
        if (!(in->applies & bit) || (!ok && in->op >= OP_UNEVALUATED_ITEMS))
            continue;
        if (!run_instruction(st, n, in, v, bit, seen)) {
            ok = false;
            if (!mcp__schema_go_on(st))
                return false;
        }
    }
    return ok;
}

static MCP__NOINLINE bool run_tracking(validation *st, const node *n, const mcp_json *v,
                                       unsigned bit, evaluated *seen)
{
    evaluated own;
    if (!mcp__schema_evaluated_init(st, &own, v))
        return false;
    bool ok = run(st, n, v, bit, &own);
    if (ok && seen)
        mcp__schema_evaluated_add(seen, &own);
    mcp__schema_evaluated_free(st, &own);
    return ok;
}

bool mcp__schema_apply(validation *st, const node *n, const mcp_json *v, evaluated *seen,
                       keyword via)
{
    if (n->kind != NODE_OBJECT)
        return n->kind == NODE_TRUE || mcp__schema_report(st, n, via, "nothing is allowed here");
    if (!mcp__schema_step(st, 1))
        return false;
    if (st->depth == 0)
        return mcp__schema_exhausted(st, "schemas inside each other", st->schema->limits.max_depth);
    unsigned bit = 1u << mcp_json_typeof(v);
    /* Each keyword for numbers may read all digits. */
    if (MCP__UNLIKELY(bit == 1u << MCP_JSON_BIGINT) &&
        !mcp__schema_step(st, mcp__json_bigint_text(v).len / 8))
        return false;
    const scope *outer = st->scope;
    scope here = {outer, n->resource};
    if (!outer || outer->resource != n->resource)
        st->scope = &here;
    st->depth--;
    bool ok = MCP__UNLIKELY(n->tracks & bit) ? run_tracking(st, n, v, bit, seen)
                                             : run(st, n, v, bit, seen);
    st->depth++;
    st->scope = outer;
    return ok;
}

bool mcp__schema_apply_at(validation *st, const node *n, const mcp_json *v, mcp_str key,
                          size_t index, keyword via)
{
    frame here = {st->at, key, index};
    if (n->kind == NODE_TRUE)
        return true;
    st->at = &here;
    bool ok = mcp__schema_apply(st, n, v, NULL, via);
    st->at = here.parent;
    return ok;
}

bool mcp__schema_try(validation *st, const node *n, const mcp_json *v, evaluated *seen, keyword via)
{
    evaluated own;
    if (seen && !mcp__schema_evaluated_init(st, &own, v))
        return false;
    st->mute++;
    bool ok = mcp__schema_apply(st, n, v, seen ? &own : NULL, via);
    st->mute--;
    if (ok && seen)
        mcp__schema_evaluated_add(seen, &own);
    if (seen)
        mcp__schema_evaluated_free(st, &own);
    return ok;
}

/* ---- the calls ------------------------------------------------------------------------------- */

enum { DEFAULT_MAX_REASONS = 16 };

static int validate(validation *st)
{
    if (!st->schema || !st->instance)
        return mcp__fail(st->error, MCP_EINVAL, 0, "a schema and a value are needed");
    st->steps = st->schema->limits.max_steps;
    st->depth = st->schema->limits.max_depth;
    bool ok = mcp__schema_apply(st, st->schema->root, st->instance, NULL, KW_COUNT);
    mcp__schema_match_done(st->schema, st->match_data);
    if (st->fatal == MCP_ENOMEM)
        mcp__fail(st->error, MCP_ENOMEM, 0, "out of memory for a validation");
    return st->fatal ? st->fatal : ok ? MCP_OK : MCP_EINVAL;
}

int mcp_schema_validate(const mcp_schema *schema, const mcp_json *instance, mcp_error *error)
{
    mcp__no_error(error);
    validation st = {.schema = schema, .instance = instance, .wanted = 1, .error = error};
    return validate(&st);
}

int mcp_schema_validate_all(const mcp_schema *schema, const mcp_json *instance, size_t max,
                            mcp_schema_issue_fn *fn, void *user, mcp_error *error)
{
    mcp__no_error(error);
    validation st = {.schema = schema,
                     .instance = instance,
                     .wanted = max ? max : DEFAULT_MAX_REASONS,
                     .error = error,
                     .report = fn,
                     .user = user};
    return validate(&st);
}
