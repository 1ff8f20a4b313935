/* shape.c: walks a value and the table of shapes together. See shape.h. */
#include "protocol/shape.h"

#include <math.h>
#include <stdio.h>

#include "json/json.h"
#include "protocol/shape_rows.h"

/* The way to the value that is being checked, on the C stack. */
typedef struct place {
    const struct place *up;
    mcp_str key; /* ptr is NULL for an element, which has `index` */
    size_t index;
    unsigned depth;
} place;

typedef struct walk {
    const mcp_json *skip; /* an array whose elements are not checked */
    mcp_error *error;     /* NULL while branches are tried */
    unsigned deepest;     /* the greatest depth of a failure */
} walk;

static bool fits(walk *w, const mcp__shape *s, const mcp_json *v, const place *at);

static bool is_word(mcp_str text, uint16_t name)
{
    return mcp_str_eq(text, mcp__shape_names[name]);
}

/* ---- what was expected ----------------------------------------------------------------------- */

typedef struct line {
    char text[256]; /* of mcp_error */
    size_t len;
} line;

static void put(line *l, mcp_str s)
{
    size_t n = MCP__MIN(s.len, sizeof(l->text) - l->len);
    if (n)
        memcpy(l->text + l->len, s.ptr, n);
    l->len += n;
}

static void put_size(line *l, size_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%zu", n);
    put(l, (mcp_str){digits, (size_t)len});
}

/* A JSON Pointer (RFC 6901). */
static void put_place(line *l, const place *at)
{
    if (at->up)
        put_place(l, at->up);
    put(l, MCP_STR("/"));
    if (!at->key.ptr) {
        put_size(l, at->index);
        return;
    }
    for (size_t i = 0; i < at->key.len; i++) {
        char c = at->key.ptr[i];
        put(l, c == '~' ? MCP_STR("~0") : c == '/' ? MCP_STR("~1") : (mcp_str){&at->key.ptr[i], 1});
    }
}

static void put_alternative(line *l, bool *any, mcp_str text, bool quoted)
{
    put(l, *any ? MCP_STR(" or ") : MCP_STR(""));
    put(l, quoted ? MCP_STR("\"") : MCP_STR(""));
    put(l, text);
    put(l, quoted ? MCP_STR("\"") : MCP_STR(""));
    *any = true;
}

static void put_types(line *l, unsigned types)
{
    static const struct {
        unsigned type;
        const char *name;
    } names[] = {
        {T_OBJECT, "object"}, {T_ARRAY, "array"},  {T_STRING, "string"}, {T_INTEGER, "integer"},
        {T_NUMBER, "number"}, {T_BOOL, "boolean"}, {T_NULL, "null"},
    };
    bool any = false;
    for (size_t i = 0; i < MCP__COUNT(names); i++) {
        if ((types & names[i].type) != names[i].type)
            continue;
        put_alternative(l, &any, mcp_str_from(names[i].name), false);
        types &= ~names[i].type;
    }
}

static void put_expected(line *l, const mcp__shape *s)
{
    bool any = false;
    if (s->base64) {
        put(l, MCP_STR("Base64"));
        return;
    }
    for (size_t i = 0; i < s->n_words; i++)
        put_alternative(l, &any, mcp__shape_names[mcp__shape_words[s->words + i]], true);
    if (!s->n_words)
        put_types(l, s->types);
    if (s->bounded) {
        put(l, MCP_STR(" from "));
        put_size(l, s->least);
    }
    if (s->bounded && s->most != NO_MOST) {
        put(l, MCP_STR(" to "));
        put_size(l, s->most);
    }
    if (s->max_items) {
        put(l, MCP_STR(" of at most "));
        put_size(l, s->max_items);
        put(l, MCP_STR(" elements"));
    }
}

static void put_got(line *l, const mcp__shape *s, const mcp_json *v)
{
    mcp_json_type type = mcp_json_typeof(v);
    if (type == MCP_JSON_STRING && s->n_words) {
        mcp_str text = mcp_json_string(v);
        put(l, MCP_STR("\""));
        put(l, (mcp_str){text.ptr, mcp__utf8_cut(text.ptr, MCP__MIN(text.len, (size_t)32))});
        put(l, text.len > 32 ? MCP_STR("...\"") : MCP_STR("\""));
    } else if (type == MCP_JSON_ARRAY && s->types & T_ARRAY) {
        put_size(l, mcp_json_count(v));
    } else if (s->types >> type & 1) {
        put(l, MCP_STR("another "));
        put(l, mcp_str_from(mcp_json_type_name(type)));
    } else {
        put(l, mcp_str_from(mcp_json_type_name(type)));
    }
}

/* Always returns false. */
static bool fail(walk *w, const mcp__shape *s, const mcp_json *v, const place *at)
{
    line l;
    w->deepest = MCP__MAX(w->deepest, at->depth);
    if (!w->error)
        return false;
    l.len = 0;
    put_place(&l, at);
    put(&l, MCP_STR(": expected "));
    put_expected(&l, s);
    put(&l, MCP_STR(", got "));
    put_got(&l, s, v);
    mcp__fail(w->error, MCP_EPROTOCOL, 0, "%.*s", (int)l.len, l.text);
    return false;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static bool is_whole(const mcp_json *v)
{
    double n = mcp_json_number(v, 0);
    return n >= 9007199254740992.0 || n <= -9007199254740992.0 || n == (double)(int64_t)n;
}

static bool has_type(const mcp__shape *s, const mcp_json *v)
{
    mcp_json_type type = mcp_json_typeof(v);
    return s->types >> type & 1 && (!(s->types & T_WHOLE) || type != MCP_JSON_REAL || is_whole(v));
}

static bool is_allowed_word(const mcp__shape *s, mcp_str text)
{
    for (size_t i = 0; i < s->n_words; i++) {
        if (is_word(text, mcp__shape_words[s->words + i]))
            return true;
    }
    return !s->n_words;
}

static bool is_within(const mcp__shape *s, const mcp_json *v)
{
    double n = mcp_json_number(v, mcp__json_bigint_text(v).ptr ? HUGE_VAL : 0);
    return n >= s->least && (s->most == NO_MOST || n <= s->most);
}

/* ---- containers ------------------------------------------------------------------------------ */

static bool array_fits(walk *w, const mcp__shape *s, const mcp_json *v, const place *at)
{
    mcp_json_iter it = {0};
    place here = {.up = at, .depth = at->depth + 1};
    if (s->max_items && mcp_json_count(v) > s->max_items)
        return fail(w, s, v, at);
    if (!s->items || v == w->skip)
        return true;
    const mcp__shape *items = &mcp__shapes[s->items];
    for (const mcp_json *e; (e = mcp_json_next(v, &it, NULL)) != NULL; here.index++) {
        if (!fits(w, items, e, &here))
            return false;
    }
    return true;
}

/* Returns the index of the member in the shape, or its n_members. */
static size_t find_member(const mcp__shape *s, mcp_str key)
{
    size_t i = 0;
    while (i < s->n_members && !is_word(key, mcp__shape_members[s->members + i].name))
        i++;
    return i;
}

static bool members_fit(walk *w, const mcp__shape *s, const mcp_json *v, const place *at)
{
    mcp_json_iter it = {0};
    place here = {.up = at, .depth = at->depth + 1};
    uint32_t seen = 0;
    if (!s->n_members && !s->rest)
        return true;
    for (const mcp_json *m; (m = mcp_json_next(v, &it, &here.key)) != NULL;) {
        size_t i = find_member(s, here.key);
        uint16_t shape = i < s->n_members ? mcp__shape_members[s->members + i].shape : s->rest;
        bool is_absent = i >= s->n_required && i < s->n_members && mcp_json_is(m, MCP_JSON_NULL);
        if (i < s->n_required)
            seen |= UINT32_C(1) << i;
        if (!is_absent && !fits(w, &mcp__shapes[shape], m, &here))
            return false;
    }
    here.depth =
        at->depth; /* a branch without the member fits less than one with a malformed one */
    for (size_t i = 0; i < s->n_required; i++) {
        const mcp__shape_member *m = &mcp__shape_members[s->members + i];
        here.key = mcp__shape_names[m->name];
        if (!(seen >> i & 1))
            return fail(w, &mcp__shapes[m->shape], NULL, &here);
    }
    return true;
}

/* ---- branches -------------------------------------------------------------------------------- */

static const mcp__shape *branch_of(const mcp__shape *s, size_t i)
{
    return &mcp__shapes[mcp__shape_branches[s->branches + i].shape];
}

/* Reports what the tag may be. */
static bool fail_tag(walk *w, const mcp__shape *s, const mcp_json *tag, const place *at)
{
    const place here = {.up = at, .key = mcp__shape_names[s->tag], .depth = at->depth + 1};
    const mcp__shape string = {.types = T_STRING};
    line l;
    bool any = false;
    if (!mcp_json_is(tag, MCP_JSON_STRING))
        return fail(w, &string, tag, &here);
    w->deepest = MCP__MAX(w->deepest, here.depth);
    if (!w->error)
        return false;
    l.len = 0;
    put_place(&l, &here);
    put(&l, MCP_STR(": expected "));
    for (size_t i = 0; i < s->n_branches; i++)
        put_alternative(&l, &any, mcp__shape_names[mcp__shape_branches[s->branches + i].name],
                        true);
    put(&l, MCP_STR(", got another string"));
    mcp__fail(w->error, MCP_EPROTOCOL, 0, "%.*s", (int)l.len, l.text);
    return false;
}

static bool tagged_fits(walk *w, const mcp__shape *s, const mcp_json *v, const place *at)
{
    const mcp_json *tag = mcp_json_get_str(v, mcp__shape_names[s->tag]);
    bool is_absent = !tag || mcp_json_is(tag, MCP_JSON_NULL);
    for (size_t i = 0; i < s->n_branches; i++) {
        const mcp__shape *branch = branch_of(s, i);
        bool is_chosen =
            is_absent ? find_member(branch, mcp__shape_names[s->tag]) >= branch->n_required
                      : is_word(mcp_json_string(tag), mcp__shape_branches[s->branches + i].name);
        if (is_chosen)
            return fits(w, branch, v, at);
    }
    return fail_tag(w, s, is_absent ? NULL : tag, at);
}

/* Tries the branches. If none fits, reports the one that fitted furthest. */
static bool any_fits(walk *w, const mcp__shape *s, const mcp_json *v, const place *at)
{
    size_t best = 0;
    unsigned furthest = 0;
    walk attempt = {.skip = w->skip};
    for (size_t i = 0; i < s->n_branches; i++) {
        attempt.deepest = 0;
        if (fits(&attempt, branch_of(s, i), v, at))
            return true;
        if (attempt.deepest > furthest) {
            furthest = attempt.deepest;
            best = i;
        }
    }
    return fits(w, branch_of(s, best), v, at);
}

static bool fits(walk *w, const mcp__shape *s, const mcp_json *v, const place *at)
{
    if (!has_type(s, v))
        return fail(w, s, v, at);
    if (s->n_branches)
        return s->tag ? tagged_fits(w, s, v, at) : any_fits(w, s, v, at);
    switch (mcp_json_typeof(v)) {
    case MCP_JSON_OBJECT: return members_fit(w, s, v, at);
    case MCP_JSON_ARRAY: return array_fits(w, s, v, at);
    case MCP_JSON_STRING: {
        mcp_str text = mcp_json_string(v);
        bool ok = is_allowed_word(s, text) && (!s->base64 || mcp__base64_is_valid(text));
        return ok || fail(w, s, v, at);
    }
    default: return !s->bounded || is_within(s, v) || fail(w, s, v, at);
    }
}

/* ---- results and params ---------------------------------------------------------------------- */

static const mcp__shape *root_of(const mcp__revision *r, mcp__shape_kind kind, mcp_str method)
{
    for (size_t i = 0; i < mcp__shape_n_roots; i++) {
        const mcp__shape_root *root = &mcp__shape_roots[i];
        if (root->kind == kind && mcp_str_eq(root->method, method))
            return &mcp__shapes[root->shapes[mcp__revision_index(r)]];
    }
    return &mcp__shapes[0];
}

static const place result_place = {.key = MCP_STR("result")};
static const place params_place = {.key = MCP_STR("params")};

int mcp__shape_result(const mcp__revision *r, mcp_str method, const mcp_json *result,
                      mcp_error *error)
{
    walk w = {.error = error};
    return fits(&w, root_of(r, SHAPE_RESULT, method), result, &result_place) ? MCP_OK
                                                                             : MCP_EPROTOCOL;
}

int mcp__shape_params(const mcp__revision *r, mcp_str method, const mcp_json *params,
                      mcp_error *error)
{
    walk w = {.error = error};
    const mcp__shape *s = root_of(r, SHAPE_PARAMS, method);
    bool may_be_absent = !s->n_required && !s->n_branches;
    if (may_be_absent && (!params || mcp_json_is(params, MCP_JSON_NULL)))
        return MCP_OK;
    return fits(&w, s, params, &params_place) ? MCP_OK : MCP_EPROTOCOL;
}

int mcp__shape_page(const mcp__revision *r, mcp_str method, mcp_str array, const mcp_json *result,
                    mcp_error *error)
{
    walk w = {.error = error, .skip = mcp_json_get_str(result, array)};
    return fits(&w, root_of(r, SHAPE_RESULT, method), result, &result_place) ? MCP_OK
                                                                             : MCP_EPROTOCOL;
}

size_t mcp__shape_entries(const mcp__revision *r, mcp_str method, mcp_str array,
                          const mcp_json *result, bool *bad, mcp_error *error)
{
    const mcp__shape *page = root_of(r, SHAPE_RESULT, method);
    const mcp_json *entries = mcp_json_get_str(result, array);
    size_t member = find_member(page, array), count = 0;
    mcp_json_iter it = {0};
    walk w = {.error = error};
    const place above = {.up = &result_place, .key = array, .depth = 1};
    place at = {.up = &above, .depth = 2};
    if (member == page->n_members || !mcp_json_is(entries, MCP_JSON_ARRAY))
        return 0;
    const mcp__shape *list = &mcp__shapes[mcp__shape_members[page->members + member].shape];
    for (const mcp_json *e; (e = mcp_json_next(entries, &it, NULL)) != NULL; at.index++) {
        bad[at.index] = !fits(&w, &mcp__shapes[list->items], e, &at);
        count += bad[at.index];
        if (count)
            w.error = NULL; /* the first one is enough */
    }
    return count;
}
