/* fields.c: tables of fields: their schema, and conversion between a struct and JSON. */
#include "json/json.h"

static void *member_of(const mcp_field *f, void *base)
{
    return (char *)base + f->offset;
}

static const void *const_member_of(const mcp_field *f, const void *base)
{
    return (const char *)base + f->offset;
}

/* Accepts 1e17 too, which is an integer in JSON Schema. */
static void read_int(const mcp_json *value, int64_t *to)
{
    double d = mcp_json_number(value, 0.5);
    if (mcp_json_is(value, MCP_JSON_REAL) && d >= -0x1p63 && d < 0x1p63 && (double)(int64_t)d == d)
        *to = (int64_t)d;
    else
        *to = mcp_json_int(value, *to);
}

static void read_one(const mcp_field *f, const mcp_json *value, void *to)
{
    switch (f->type) {
    case MCP_FIELD_STRING:
        if (mcp_json_is(value, MCP_JSON_STRING))
            *(mcp_str *)to = mcp_json_string(value);
        break;
    case MCP_FIELD_INT: read_int(value, to); break;
    case MCP_FIELD_NUMBER: *(double *)to = mcp_json_number(value, *(double *)to); break;
    case MCP_FIELD_BOOL: *(bool *)to = mcp_json_bool(value, *(bool *)to); break;
    }
}

void mcp_fields_read(const mcp_field *fields, size_t n, const mcp_json *object, void *to)
{
    if (mcp__check_array(fields, n, "mcp_field", NULL) != MCP_OK || !to)
        return;
    for (size_t i = 0; i < n; i++) {
        mcp_field f;
        mcp__take_element(&f, sizeof(f), fields, i);
        read_one(&f, mcp_json_get(object, f.name), member_of(&f, to));
    }
}

static void write_one(const mcp_field *f, const void *from, mcp_json_writer *w)
{
    if (f->type == MCP_FIELD_STRING && !((const mcp_str *)from)->ptr)
        return;
    mcp_json_key(w, f->name);
    switch (f->type) {
    case MCP_FIELD_STRING: mcp_json_add_str(w, *(const mcp_str *)from); break;
    case MCP_FIELD_INT: mcp_json_add_int(w, *(const int64_t *)from); break;
    case MCP_FIELD_NUMBER: mcp_json_add_real(w, *(const double *)from); break;
    case MCP_FIELD_BOOL: mcp_json_add_bool(w, *(const bool *)from); break;
    }
}

void mcp_fields_write(const mcp_field *fields, size_t n, const void *from, mcp_json_writer *w)
{
    mcp_json_begin_object(w);
    if (mcp__check_array(fields, n, "mcp_field", NULL) == MCP_OK && from) {
        for (size_t i = 0; i < n; i++) {
            mcp_field f;
            mcp__take_element(&f, sizeof(f), fields, i);
            write_one(&f, const_member_of(&f, from), w);
        }
    }
    mcp_json_end(w);
}

/* ---- tables that are refused ---------------------------------------------------------------- */

static bool is_text(const char *s)
{
    size_t len = s ? strlen(s) : 0;
    return mcp__utf8_valid(s, len) == len;
}

static const char *wrong_with(const mcp_field *f)
{
    static const size_t widths[] = {[MCP_FIELD_STRING] = sizeof(void *),
                                    [MCP_FIELD_INT] = sizeof(int64_t),
                                    [MCP_FIELD_NUMBER] = sizeof(double),
                                    [MCP_FIELD_BOOL] = sizeof(bool)};
    bool number = f->type == MCP_FIELD_INT || f->type == MCP_FIELD_NUMBER;
    if ((size_t)f->type >= MCP__COUNT(widths))
        return "has an unknown type";
    if (f->offset % widths[f->type])
        return "has an offset that its type cannot have";
    if (!is_text(f->title) || !is_text(f->description) || !is_text(f->one_of))
        return "has a text that is not UTF-8";
    if (f->type != MCP_FIELD_STRING && (f->one_of || f->max_length))
        return "has one_of or max_length, but is not a string";
    if (!number && (f->minimum != 0 || f->maximum != 0))
        return "has a minimum or a maximum, but is not a number";
    if (!(f->minimum >= -0x1p63 && f->minimum < 0x1p63 && f->maximum >= -0x1p63 &&
          f->maximum < 0x1p63))
        return "has a minimum or a maximum that is out of range";
    return f->minimum > f->maximum ? "has a minimum above its maximum" : NULL;
}

int mcp__fields_check(const mcp_field *fields, size_t n, mcp_error *error)
{
    int rc = mcp__check_array(fields, n, "mcp_field", error);
    for (size_t i = 0; rc == MCP_OK && i < n; i++) {
        mcp_field f, before;
        mcp__take_element(&f, sizeof(f), fields, i);
        if (!f.name || !*f.name || !is_text(f.name))
            return mcp__fail(error, MCP_EINVAL, 0, "field %zu has no name in UTF-8", i);
        const char *why = wrong_with(&f);
        for (size_t k = 0; k < i && !why; k++) {
            mcp__take_element(&before, sizeof(before), fields, k);
            if (strcmp(f.name, before.name) == 0)
                why = "is there twice";
            else if (f.offset == before.offset)
                why = "is the same member of the struct as another field";
        }
        if (why)
            rc = mcp__fail(error, MCP_EINVAL, 0, "field \"%s\" %s", f.name, why);
    }
    return rc;
}

/* ---- the schema ------------------------------------------------------------------------------------- */

static void add_text(mcp_json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    mcp_json_key(w, key);
    mcp_json_add_string(w, text);
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

static void add_limit(mcp_json_writer *w, const mcp_field *f, const char *key, double limit)
{
    mcp_json_key(w, key);
    if (f->type == MCP_FIELD_INT)
        mcp_json_add_int(w, (int64_t)limit);
    else
        mcp_json_add_real(w, limit);
}

static void add_property(mcp_json_writer *w, const mcp_field *f)
{
    static const char *const types[] = {[MCP_FIELD_STRING] = "string",
                                        [MCP_FIELD_INT] = "integer",
                                        [MCP_FIELD_NUMBER] = "number",
                                        [MCP_FIELD_BOOL] = "boolean"};
    bool number = f->type == MCP_FIELD_INT || f->type == MCP_FIELD_NUMBER;
    mcp_json_key(w, f->name);
    mcp_json_begin_object(w);
    add_text(w, "type", (size_t)f->type < MCP__COUNT(types) ? types[f->type] : "unknown");
    add_text(w, "title", f->title);
    add_text(w, "description", f->description);
    if (f->one_of && f->type == MCP_FIELD_STRING)
        add_choices(w, f->one_of);
    if (f->max_length && f->type == MCP_FIELD_STRING)
        mcp_json_key(w, "maxLength"), mcp_json_add_uint(w, f->max_length);
    if (number && f->maximum > f->minimum) {
        add_limit(w, f, "minimum", f->minimum);
        add_limit(w, f, "maximum", f->maximum);
    } else if (f->type == MCP_FIELD_INT) { /* a value that conforms fits into int64_t */
        mcp_json_key(w, "minimum"), mcp_json_add_int(w, INT64_MIN);
        mcp_json_key(w, "maximum"), mcp_json_add_int(w, INT64_MAX);
    }
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
        mcp_json_key(w, "additionalProperties"), mcp_json_add_bool(w, false);
    mcp_json_end(w);
}

void mcp_fields_schema(const mcp_field *fields, size_t n, mcp_json_writer *w)
{
    mcp__fields_schema(fields, n, true, w);
}
