/* fields.c: values for the properties of a schema.
 *
 * Each value is validated when it is entered, against the property's own schema with the
 * definitions of the whole schema. To enter the empty string, the user types "", because an empty
 * line leaves the field unset.
 */
#define _GNU_SOURCE
#include "fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <mcp/schema.h>

#include "text.h"

#define BIT(type) (1u << MCP_JSON_##type)

/* ---- what a schema allows -------------------------------------------------------------------- */

static unsigned named_type(mcp_str name)
{
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {{"string", BIT(STRING)}, {"integer", BIT(INT)}, {"number", BIT(INT) | BIT(REAL)},
                 {"boolean", BIT(BOOL)},  {"null", BIT(NULL)},   {"array", BIT(ARRAY)},
                 {"object", BIT(OBJECT)}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (mcp_str_eq(name, mcp_str_from(types[i].name)))
            return types[i].bits;
    return 0;
}

/* Resolves "#/$defs/name". Names with escapes are rare; they are not resolved, and the type stays
 * unknown. */
static const mcp_json *follow(const mcp_json *root, mcp_str ref)
{
    const mcp_json *at = root;
    if (!ref.len || ref.ptr[0] != '#')
        return NULL;
    for (size_t i = 1; at && i < ref.len;) {
        size_t begin = ++i;
        while (i < ref.len && ref.ptr[i] != '/')
            i++;
        at = mcp_json_get_str(at, (mcp_str){ref.ptr + begin, i - begin});
    }
    return at;
}

static unsigned types_within(const mcp_json *root, const mcp_json *schema, int depth)
{
    static const char *const alternatives[] = {"anyOf", "oneOf", "allOf"};
    const mcp_json *type = mcp_json_get(schema, "type");
    unsigned bits = named_type(mcp_json_string(type));
    mcp_json_iter it = {0};
    if (depth > 16)
        return 0;
    if (mcp_json_is(type, MCP_JSON_ARRAY))
        for (const mcp_json *v; (v = mcp_json_next(type, &it, NULL)) != NULL;)
            bits |= named_type(mcp_json_string(v));
    if (type)
        return bits;
    mcp_str ref = mcp_json_string(mcp_json_get(schema, "$ref"));
    if (ref.len)
        return types_within(root, follow(root, ref), depth + 1);
    for (size_t i = 0; i < 3; i++) {
        const mcp_json *list = mcp_json_get(schema, alternatives[i]);
        mcp_json_iter each = {0};
        for (const mcp_json *v; (v = mcp_json_next(list, &each, NULL)) != NULL;)
            bits |= types_within(root, v, depth + 1);
    }
    mcp_json_iter values = {0};
    const mcp_json *list = mcp_json_get(schema, "enum");
    for (const mcp_json *v; (v = mcp_json_next(list, &values, NULL)) != NULL;)
        bits |= 1u << mcp_json_typeof(v);
    if (mcp_json_get(schema, "const"))
        bits |= 1u << mcp_json_typeof(mcp_json_get(schema, "const"));
    return bits;
}

unsigned schema_types(const mcp_json *root, const mcp_json *schema)
{
    return types_within(root, schema, 0);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Adds "a,b" as an array. */
static void add_list(mcp_json_writer *w, const mcp_json *root, const mcp_json *schema,
                     const char *text)
{
    const mcp_json *items = mcp_json_get(schema, "items");
    mcp_json_begin_array(w);
    while (*text) {
        size_t len = strcspn(text, ",");
        char *item = text_dup((mcp_str){text, len});
        if (item)
            add_typed(w, root, items, item);
        free(item);
        text += len;
        text += *text == ',';
    }
    mcp_json_end(w);
}

void add_typed(mcp_json_writer *w, const mcp_json *root, const mcp_json *schema, const char *text)
{
    unsigned types = schema_types(root, schema);
    mcp_json_doc *doc = NULL;
    mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL);
    const mcp_json *value = mcp_json_root(doc);
    mcp_json_type is = mcp_json_typeof(value);
    bool wide = is == MCP_JSON_BIGINT && (types & (BIT(INT) | BIT(REAL)));
    bool whole = is == MCP_JSON_REAL && (types & BIT(INT)); /* 1.0, 1e3 */
    if (is != MCP_JSON_STRING && value && ((types & (1u << is)) || wide || whole))
        mcp_json_add_value(w, value);
    else if (types == 0 || (types & BIT(STRING)))
        mcp_json_add_string(w, text);
    else if (types & BIT(ARRAY))
        add_list(w, root, schema, text);
    else if (value)
        mcp_json_add_value(w, value);
    else
        mcp_json_add_string(w, text);
    mcp_json_free(doc);
}

/* ---- fields ---------------------------------------------------------------------------------- */

bool field_next(const mcp_json *root, mcp_json_iter *it, field *ret)
{
    const mcp_json *properties = mcp_json_get(root, "properties");
    mcp_json_iter all = {0};
    *ret = (field){.root = root};
    if (!mcp_json_is(properties, MCP_JSON_OBJECT))
        return false;
    ret->schema = mcp_json_next(properties, it, &ret->name);
    const mcp_json *required = mcp_json_get(root, "required");
    for (const mcp_json *v; (v = mcp_json_next(required, &all, NULL)) != NULL;)
        ret->required = ret->required || mcp_str_eq(mcp_json_string(v), ret->name);
    return ret->schema != NULL;
}

const mcp_json *field_default(const field *f)
{
    const mcp_json *value = mcp_json_get(f->schema, "default");
    return mcp_json_is(value, MCP_JSON_NULL) ? NULL : value;
}

/* Returns the writer's text, which the caller frees; NULL if it failed. Frees the writer. */
static char *written(mcp_json_writer *w)
{
    mcp_str text;
    char *copy = w && mcp_json_writer_finish(w, &text) == MCP_OK ? text_dup(text) : NULL;
    mcp_json_writer_free(w);
    return copy;
}

char *field_json(const mcp_json *value)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, value);
    return written(w);
}

/* ---- choices --------------------------------------------------------------------------------- */

field_choices field_choices_of(const mcp_json *schema)
{
    static const char *const alternatives[] = {"oneOf", "anyOf"};
    field_choices c = {.several = mcp_json_get(schema, "items") != NULL};
    const mcp_json *from = c.several ? mcp_json_get(schema, "items") : schema;
    for (size_t i = 0; i < 2 && !c.list; i++) {
        const mcp_json *list = mcp_json_get(from, alternatives[i]);
        c.titled = mcp_json_get(mcp_json_at(list, 0), "const") != NULL;
        c.list = c.titled ? list : NULL; /* alternatives without titles are types and not choices */
    }
    if (!c.list) {
        c.list = mcp_json_get(from, "enum");
        c.names = mcp_json_get(from, "enumNames");
    }
    return c;
}

bool field_choices_next(field_choices *c, field_choice *ret)
{
    const mcp_json *v = mcp_json_next(c->list, &c->it, NULL);
    const mcp_json *title = c->titled ? mcp_json_get(v, "title") : mcp_json_at(c->names, c->i);
    c->i++;
    *ret = (field_choice){c->titled ? mcp_json_get(v, "const") : v, mcp_json_string(title)};
    return v != NULL;
}

static bool is_text(mcp_str a, const char *b, bool exactly)
{
    if (exactly)
        return mcp_str_eq(a, mcp_str_from(b));
    return a.len == strlen(b) && strncasecmp(a.ptr ? a.ptr : "", b, a.len) == 0;
}

/* Returns the choice with this value or, if there is none, with this title. If there is none
 * either, compares again, ignoring case. */
static const mcp_json *choose(const mcp_json *schema, const char *text)
{
    for (int pass = 0; pass < 4; pass++) {
        field_choices all = field_choices_of(schema);
        field_choice one;
        while (field_choices_next(&all, &one)) {
            char *json = pass % 2 ? NULL : field_json(one.value);
            mcp_str value = mcp_json_is(one.value, MCP_JSON_STRING) ? mcp_json_string(one.value)
                                                                    : mcp_str_from(json);
            bool found = is_text(pass % 2 ? one.title : value, text, pass < 2);
            free(json);
            if (found && one.value)
                return one.value;
        }
    }
    return NULL;
}

/* ---- converting a text ----------------------------------------------------------------------- */

static void note_unknown(field_reason *why, const char *text)
{
    snprintf(why->text, sizeof(why->text), "'%.100s' is not one of the choices", text);
}

/* Adds several choices, as in "Red, Green", each by its value or title. Returns false if one is not
 * a choice. */
static bool add_chosen(mcp_json_writer *w, const field *f, const char *text, field_reason *why)
{
    bool ok = true;
    mcp_json_begin_array(w);
    while (*text) {
        text += strspn(text, " ");
        size_t len = strcspn(text, ","), end = len;
        while (end && text[end - 1] == ' ')
            end--;
        char *item = text_dup((mcp_str){text, end});
        const mcp_json *value = item ? choose(f->schema, item) : NULL;
        if (value)
            mcp_json_add_value(w, value);
        else if (ok && item)
            ok = false, note_unknown(why, item);
        free(item);
        text += len;
        text += *text == ',';
    }
    mcp_json_end(w);
    return ok;
}

static int boolean_of(const char *text)
{
    static const char *const words[] = {"no", "yes", "n", "y", "false", "true"};
    for (int i = 0; i < 6; i++)
        if (strcasecmp(words[i], text) == 0)
            return i % 2;
    return -1;
}

/* Returns false with the reason in *why. */
static bool add_value(mcp_json_writer *w, const field *f, const char *text, field_reason *why)
{
    unsigned types = schema_types(f->root, f->schema);
    field_choices all = field_choices_of(f->schema);
    const mcp_json *chosen = choose(f->schema, text);
    if (all.list && all.several && *text != '[')
        return add_chosen(w, f, text, why);
    if (all.list && !all.several && !chosen)
        return note_unknown(why, text), false;
    if (chosen)
        mcp_json_add_value(w, chosen);
    else if (types == 1u << MCP_JSON_BOOL && boolean_of(text) >= 0)
        mcp_json_add_bool(w, boolean_of(text) == 1);
    else if ((types & 1u << MCP_JSON_STRING) && strcmp(text, "\"\"") == 0)
        mcp_json_add_string(w, "");
    else
        add_typed(w, f->root, f->schema, text);
    return true;
}

char *field_value(const field *f, const char *text, field_reason *why)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    char *ret = NULL;
    mcp_str json;
    if (w && add_value(w, f, text, why)) {
        bool ok = mcp_json_writer_finish(w, &json) == MCP_OK;
        ret = ok ? text_dup(json) : NULL;
        if (!ok)
            snprintf(why->text, sizeof(why->text), "it is not UTF-8");
    }
    mcp_json_writer_free(w);
    if (ret && !field_fits(f, mcp_str_from(ret), why)) {
        free(ret);
        ret = NULL;
    }
    return ret;
}

/* ---- validating ------------------------------------------------------------------------------ */

static void add_kept(mcp_json_writer *w, const mcp_json *root, const char *key)
{
    const mcp_json *value = mcp_json_get(root, key);
    if (value)
        mcp_json_put_value(w, key, value);
}

/* Compiles the property's schema, with the definitions that its references may need. */
static mcp_schema *compile(const field *f)
{
    static const char *const kept[] = {"$schema", "$defs", "definitions"};
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_schema *ret = NULL;
    mcp_str text;
    mcp_json_begin_object(w);
    for (size_t i = 0; i < 3; i++)
        add_kept(w, f->root, kept[i]);
    mcp_json_put_object(w, "properties");
    mcp_json_key_str(w, f->name), mcp_json_add_value(w, f->schema);
    mcp_json_end(w), mcp_json_end(w);
    if (w && mcp_json_writer_finish(w, &text) == MCP_OK)
        mcp_schema_compile_text(NULL, text, MCP_OPTIONS(mcp_schema_options, .assert_formats = true),
                                &ret, NULL);
    mcp_json_writer_free(w);
    return ret;
}

static void on_issue(const mcp_schema_issue *issue, void *user)
{
    field_reason *why = user;
    if (issue->expected.len)
        snprintf(why->text, sizeof(why->text), "%.*s", (int)issue->expected.len,
                 issue->expected.ptr);
}

bool field_fits(const field *f, mcp_str json, field_reason *why)
{
    mcp_schema *schema = compile(f);
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_doc *doc = NULL;
    mcp_str text;
    int rc = MCP_OK;
    mcp_json_begin_object(w);
    mcp_json_key_str(w, f->name), mcp_json_add_raw(w, json);
    mcp_json_end(w);
    if (schema && w && mcp_json_writer_finish(w, &text) == MCP_OK &&
        mcp_json_parse(text, NULL, NULL, &doc, NULL) == MCP_OK) {
        snprintf(why->text, sizeof(why->text), "its schema does not allow it");
        rc = mcp_schema_validate_all(schema, mcp_json_root(doc), 1, on_issue, why, NULL);
    }
    mcp_json_free(doc);
    mcp_json_writer_free(w);
    mcp_schema_free(schema);
    return rc != MCP_EINVAL;
}
