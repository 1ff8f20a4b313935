/* fields.c: tables of fields: their schema, and the way between a struct and JSON. */
#include "json/json.h"

static void *member_of(const mcp_field *f, void *base)
{
    return (char *)base + f->offset;
}

static const void *const_member_of(const mcp_field *f, const void *base)
{
    return (const char *)base + f->offset;
}

static void read_one(const mcp_field *f, const mcp_json *value, void *to)
{
    switch (f->type) {
    case MCP_FIELD_STRING:
        if (mcp_json_is(value, MCP_JSON_STRING))
            *(mcp_str *)to = mcp_json_string(value);
        break;
    case MCP_FIELD_INT: *(int64_t *)to = mcp_json_int(value, *(int64_t *)to); break;
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
