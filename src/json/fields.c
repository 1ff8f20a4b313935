/* fields.c: tables of fields: their schema, and conversion between a struct and JSON. */
#include "json/json.h"

/* The properties of each field type, by mcp_field_type. */
static const struct kind {
    const char *schema; /* name of the JSON type; for STRINGS, of an element */
    size_t width;       /* size of the member; for STRINGS, of one element */
    size_t align;
    bool text, number, list;
} kinds[] = {
    [MCP_FIELD_STRING] = {"string", sizeof(mcp_str), _Alignof(mcp_str), .text = true},
    [MCP_FIELD_INT] = {"integer", sizeof(int64_t), _Alignof(int64_t), .number = true},
    [MCP_FIELD_NUMBER] = {"number", sizeof(double), _Alignof(double), .number = true},
    [MCP_FIELD_BOOL] = {"boolean", sizeof(bool), _Alignof(bool), .text = false},
    [MCP_FIELD_STRINGS] = {"string", sizeof(mcp_str), _Alignof(mcp_str), .text = true,
                           .list = true},
};

/* Returns NULL if the type is unknown. */
static const struct kind *kind_of(const mcp_field *f)
{
    return (size_t)f->type < MCP__COUNT(kinds) ? &kinds[f->type] : NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Also accepts a real with an integral value such as 1e17, which is an integer in JSON Schema. */
static void read_int(const mcp_json *value, int64_t *to)
{
    double d = mcp_json_number(value, 0.5);
    if (mcp_json_is(value, MCP_JSON_REAL) && d >= -0x1p63 && d < 0x1p63 && (double)(int64_t)d == d)
        *to = (int64_t)d;
    else
        *to = mcp_json_int(value, *to);
}

/* Reads either all elements or none. */
static void read_strings(const mcp_json *value, size_t room, mcp_str *to, size_t *count)
{
    size_t n = mcp_json_count(value), i = 0;
    const mcp_json *element;
    mcp_json_iter it = {0};
    if (!mcp_json_is(value, MCP_JSON_ARRAY) || n > room)
        return;
    while ((element = mcp_json_next(value, &it, NULL)) != NULL)
        if (!mcp_json_is(element, MCP_JSON_STRING))
            return;
    it = (mcp_json_iter){0};
    while ((element = mcp_json_next(value, &it, NULL)) != NULL)
        to[i++] = mcp_json_string(element);
    *count = n;
}

static void read_one(const mcp_field *f, const mcp_json *value, char *base)
{
    void *to = base + f->offset;
    switch (f->type) {
    case MCP_FIELD_STRING:
        if (mcp_json_is(value, MCP_JSON_STRING))
            *(mcp_str *)to = mcp_json_string(value);
        break;
    case MCP_FIELD_INT: read_int(value, to); break;
    case MCP_FIELD_NUMBER: *(double *)to = mcp_json_number(value, *(double *)to); break;
    case MCP_FIELD_BOOL: *(bool *)to = mcp_json_bool(value, *(bool *)to); break;
    case MCP_FIELD_STRINGS:
        read_strings(value, f->max_items, to, (size_t *)(void *)(base + f->count_offset));
        break;
    }
}

void mcp_fields_read(const mcp_field *fields, size_t n, const mcp_json *object, void *to)
{
    if (mcp__check_array(fields, n, "mcp_field", NULL) != MCP_OK || !to)
        return;
    for (size_t i = 0; i < n; i++) {
        mcp_field f;
        mcp__take_element(&f, sizeof(f), fields, i);
        read_one(&f, mcp_json_get(object, f.name), to);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_strings(const mcp_str *from, size_t count, size_t room, mcp_json_writer *w)
{
    if (count > room)
        mcp__json_writer_fail(w, MCP_EINVAL);
    mcp_json_begin_array(w);
    for (size_t i = 0; i < count && count <= room; i++)
        mcp_json_add_str(w, from[i]);
    mcp_json_end(w);
}

static void write_one(const mcp_field *f, const char *base, mcp_json_writer *w)
{
    const void *from = base + f->offset;
    if (!kind_of(f) || (f->type == MCP_FIELD_STRING && !((const mcp_str *)from)->ptr))
        return;
    mcp_json_key(w, f->name);
    switch (f->type) {
    case MCP_FIELD_STRING: mcp_json_add_str(w, *(const mcp_str *)from); break;
    case MCP_FIELD_INT: mcp_json_add_int(w, *(const int64_t *)from); break;
    case MCP_FIELD_NUMBER: mcp_json_add_real(w, *(const double *)from); break;
    case MCP_FIELD_BOOL: mcp_json_add_bool(w, *(const bool *)from); break;
    case MCP_FIELD_STRINGS:
        write_strings(from, *(const size_t *)(const void *)(base + f->count_offset), f->max_items,
                      w);
        break;
    }
}

void mcp_fields_write(const mcp_field *fields, size_t n, const void *from, mcp_json_writer *w)
{
    mcp_json_begin_object(w);
    if (mcp__check_array(fields, n, "mcp_field", NULL) == MCP_OK && from) {
        for (size_t i = 0; i < n; i++) {
            mcp_field f;
            mcp__take_element(&f, sizeof(f), fields, i);
            write_one(&f, from, w);
        }
    }
    mcp_json_end(w);
}

/* ---- tables that are rejected ---------------------------------------------------------------- */

static bool is_text(const char *s)
{
    size_t len = s ? strlen(s) : 0;
    return mcp__utf8_valid(s, len) == len;
}

/* A positive minimum without a maximum, or a negative maximum without a minimum, is a range with one
 * end: the other one was left out, because 0 would contradict it. */
static void open_range(mcp_field *f)
{
    if (f->minimum > 0 && f->maximum == 0)
        f->maximum = MCP_NO_MAXIMUM;
    else if (f->maximum < 0 && f->minimum == 0)
        f->minimum = MCP_NO_MINIMUM;
}

/* Returns whether a number in the range of int64_t is an integer. */
static bool is_whole(double d)
{
    return (double)(int64_t)d == d;
}

static const char *range_problem(const mcp_field *f, bool is_integer)
{
    bool low = f->minimum == MCP_NO_MINIMUM, high = f->maximum == MCP_NO_MAXIMUM;
    if (!(low || (f->minimum >= -0x1p63 && f->minimum < 0x1p63)) ||
        !(high || (f->maximum >= -0x1p63 && f->maximum < 0x1p63)))
        return "has a minimum or a maximum that is out of range";
    if (is_integer && ((!low && !is_whole(f->minimum)) || (!high && !is_whole(f->maximum))))
        return "is an integer, but its minimum or maximum is not";
    return f->minimum > f->maximum ? "has a minimum above its maximum" : NULL;
}

static const char *list_problem(const mcp_field *f)
{
    if (f->max_items == 0 || f->max_items > PTRDIFF_MAX / sizeof(mcp_str))
        return "has no array: max_items is its length";
    if (f->min_items > f->max_items)
        return "has min_items above max_items";
    return f->count_offset % _Alignof(size_t) ? "has a count_offset that is not aligned" : NULL;
}

static const char *field_problem(const mcp_field *f, bool form)
{
    const struct kind *k = kind_of(f);
    if (!k)
        return "has an unknown type";
    if (f->offset % k->align)
        return "has an offset that its type cannot have";
    if (!is_text(f->title) || !is_text(f->description) || !is_text(f->one_of))
        return "has a text that is not UTF-8";
    if (!k->text && (f->one_of || f->max_length))
        return "has one_of or max_length, but is not a string";
    if (!k->number && (f->minimum != 0 || f->maximum != 0))
        return "has a minimum or a maximum, but is not a number";
    if (!k->list && (f->max_items || f->min_items || f->count_offset))
        return "has max_items, min_items or count_offset, but is not an array";
    if (form && k->list && !f->one_of)
        return "is an array without one_of, which a form cannot have";
    return k->list ? list_problem(f) : range_problem(f, f->type == MCP_FIELD_INT);
}

/* A part of the struct; both members are in bytes. */
typedef struct span {
    size_t begin, len;
} span;

static bool overlap(span a, span b)
{
    return a.len && b.len && (a.begin - b.begin < b.len || b.begin - a.begin < a.len);
}

/* Returns the parts of the struct that a field occupies. The field must be valid. */
static void spans_of(const mcp_field *f, span ret[2])
{
    const struct kind *k = kind_of(f);
    ret[0] = (span){f->offset, k->width * (k->list ? f->max_items : 1)};
    ret[1] = (span){f->count_offset, k->list ? sizeof(size_t) : 0};
}

static bool share_memory(const mcp_field *f, const mcp_field *g)
{
    span a[2], b[2];
    spans_of(f, a);
    spans_of(g, b);
    return overlap(a[0], b[0]) || overlap(a[0], b[1]) || overlap(a[1], b[0]) || overlap(a[1], b[1]);
}

static const char *conflict_with(const mcp_field *f, const mcp_field *before)
{
    if (strcmp(f->name, before->name) == 0)
        return "occurs twice";
    return share_memory(f, before) ? "is the same member of the struct as another field" : NULL;
}

int mcp__fields_check(const mcp_field *fields, size_t n, bool form, mcp_error *error)
{
    int rc = mcp__check_array(fields, n, "mcp_field", error);
    for (size_t i = 0; rc == MCP_OK && i < n; i++) {
        mcp_field f, before;
        span own[2];
        mcp__take_element(&f, sizeof(f), fields, i);
        open_range(&f);
        if (!f.name || !*f.name || !is_text(f.name))
            return mcp__fail(error, MCP_EINVAL, 0, "field %zu has no name in UTF-8", i);
        const char *why = field_problem(&f, form);
        for (size_t k = 0; k < i && !why; k++) {
            mcp__take_element(&before, sizeof(before), fields, k);
            why = conflict_with(&f, &before);
        }
        if (!why && (spans_of(&f, own), overlap(own[0], own[1])))
            why = "has its count inside its array";
        if (why)
            rc = mcp__fail(error, MCP_EINVAL, 0, "field \"%s\" %s", f.name, why);
    }
    return rc;
}

/* ---- the schema ------------------------------------------------------------------------------ */

static void add_text(mcp_json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    mcp_json_key(w, key);
    mcp_json_add_string(w, text);
}

static void add_count(mcp_json_writer *w, const char *key, size_t count)
{
    mcp_json_key(w, key);
    mcp_json_add_uint(w, count);
}

static void add_choices(mcp_json_writer *w, const char *one_of)
{
    mcp_json_key(w, "enum");
    mcp_json_begin_array(w);
    for (const char *at = one_of;; at++) {
        size_t len = strcspn(at, "|");
        mcp_json_add_str(w, (mcp_str){at, len});
        at += len;
        if (!*at)
            break;
    }
    mcp_json_end(w);
}

static void add_string_limits(mcp_json_writer *w, const mcp_field *f)
{
    if (f->one_of)
        add_choices(w, f->one_of);
    if (f->max_length)
        add_count(w, "maxLength", f->max_length);
}

static void add_items(mcp_json_writer *w, const mcp_field *f)
{
    mcp_json_key(w, "items");
    mcp_json_begin_object(w);
    add_text(w, "type", kind_of(f)->schema);
    add_string_limits(w, f);
    mcp_json_end(w);
    if (f->min_items)
        add_count(w, "minItems", f->min_items);
    add_count(w, "maxItems", f->max_items);
}

/* Adds a minimum or maximum. If `unlimited` is set, the table sets no limit, and an integer gets
 * the limit `last`, which is that of int64_t. */
static void add_limit(mcp_json_writer *w, const mcp_field *f, const char *key, double limit,
                      bool unlimited, int64_t last)
{
    if (unlimited && f->type != MCP_FIELD_INT)
        return;
    mcp_json_key(w, key);
    if (f->type == MCP_FIELD_INT)
        mcp_json_add_int(w, unlimited ? last : (int64_t)limit);
    else
        mcp_json_add_real(w, limit);
}

static void add_range(mcp_json_writer *w, const mcp_field *f)
{
    bool unlimited = !(f->maximum > f->minimum);
    add_limit(w, f, "minimum", f->minimum, unlimited || f->minimum == MCP_NO_MINIMUM, INT64_MIN);
    add_limit(w, f, "maximum", f->maximum, unlimited || f->maximum == MCP_NO_MAXIMUM, INT64_MAX);
}

static void add_property(mcp_json_writer *w, const mcp_field *f)
{
    const struct kind *k = kind_of(f);
    mcp_json_key(w, f->name);
    mcp_json_begin_object(w);
    add_text(w, "type", !k ? "unknown" : k->list ? "array" : k->schema);
    add_text(w, "title", f->title);
    add_text(w, "description", f->description);
    if (k && k->list)
        add_items(w, f);
    else if (k && k->text)
        add_string_limits(w, f);
    else if (k && k->number)
        add_range(w, f);
    mcp_json_end(w);
}

void mcp__fields_schema(const mcp_field *fields, size_t n, bool closed, mcp_json_writer *w)
{
    size_t count = mcp__check_array(fields, n, "mcp_field", NULL) == MCP_OK ? n : 0;
    mcp_field f;
    mcp_json_begin_object(w);
    add_text(w, "type", "object");
    mcp_json_key(w, "properties");
    mcp_json_begin_object(w);
    for (size_t i = 0; i < count; i++) {
        mcp__take_element(&f, sizeof(f), fields, i);
        open_range(&f);
        add_property(w, &f);
    }
    mcp_json_end(w);
    mcp_json_key(w, "required");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        mcp__take_element(&f, sizeof(f), fields, i);
        if (f.required)
            mcp_json_add_string(w, f.name);
    }
    mcp_json_end(w);
    if (closed)
        mcp_json_put_bool(w, "additionalProperties", false);
    mcp_json_end(w);
}

void mcp_fields_schema(const mcp_field *fields, size_t n, mcp_json_writer *w)
{
    mcp__fields_schema(fields, n, true, w);
}
