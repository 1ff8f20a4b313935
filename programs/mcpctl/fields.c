/* fields.c: values for the properties of a schema.
 *
 * Each value is validated when it is entered, against the property's own schema with the
 * definitions of the whole schema. To enter the empty string, the user types "", because an empty
 * line leaves the field unset.
 */
#define _GNU_SOURCE
#include "fields.h"

#include <stdlib.h>
#include <strings.h>

#include <mcp/schema.h>

#include "arguments.h"
#include "terminal.h"

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

static char *json_of(const mcp_json *value)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, value);
    return take_written("a value", w);
}

/* ---- choices --------------------------------------------------------------------------------- */

/* The choices of a schema: {"enum": […], "enumNames": […]}, or alternatives with "const" and
 * "title"; for an array, those of its items. */
typedef struct choices {
    const mcp_json *list, *names;
    mcp_json_iter it;
    size_t i;
    bool titled, several;
} choices;

typedef struct choice {
    const mcp_json *value;
    mcp_str title;
} choice;

static choices choices_of(const mcp_json *schema)
{
    static const char *const alternatives[] = {"oneOf", "anyOf"};
    choices c = {.several = mcp_json_get(schema, "items") != NULL};
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

static bool choices_next(choices *c, choice *ret)
{
    const mcp_json *v = mcp_json_next(c->list, &c->it, NULL);
    const mcp_json *title = c->titled ? mcp_json_get(v, "title") : mcp_json_at(c->names, c->i);
    c->i++;
    *ret = (choice){c->titled ? mcp_json_get(v, "const") : v, mcp_json_string(title)};
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
        choices all = choices_of(schema);
        choice one;
        while (choices_next(&all, &one)) {
            char *json = pass % 2 ? NULL : json_of(one.value);
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

static void show_choices(const field *f)
{
    choices all = choices_of(f->schema);
    choice one;
    while (choices_next(&all, &one)) {
        char *json = mcp_json_is(one.value, MCP_JSON_STRING) ? NULL : json_of(one.value);
        fputs("      ", stderr);
        text_put(stderr, json ? mcp_str_from(json) : mcp_json_string(one.value), TEXT_LINE);
        if (one.title.len)
            fputs("  ", stderr), text_put(stderr, one.title, TEXT_LINE);
        fputc('\n', stderr);
        free(json);
    }
    if (all.list && all.several)
        fputs("      (several: separated by commas)\n", stderr);
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
    choices all = choices_of(f->schema);
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

/* Compiles the property's schema, with the definitions that its references may need. */
static mcp_schema *compile(const field *f)
{
    static const char *const kept[] = {"$schema", "$defs", "definitions"};
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_schema *ret = NULL;
    mcp_str text;
    mcp_json_begin_object(w);
    for (size_t i = 0; i < 3; i++)
        add_member(w, kept[i], mcp_json_get(f->root, kept[i]));
    mcp_json_key(w, "properties"), mcp_json_begin_object(w);
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

/* ---- prompting ------------------------------------------------------------------------------- */

static mcp_str kind_of(const mcp_json *schema)
{
    mcp_str type = mcp_json_string(mcp_json_get(schema, "type"));
    mcp_str format = mcp_json_string(mcp_json_get(schema, "format"));
    if (format.len)
        return format;
    return mcp_str_eq(type, MCP_STR("string")) ? (mcp_str){0} : type;
}

/* Makes a prompt such as "  Your age (age, integer, optional) [30]: ". */
static char *make_label(const field *f)
{
    char *label = NULL;
    size_t size;
    mcp_str title = mcp_json_string(mcp_json_get(f->schema, "title")), kind = kind_of(f->schema);
    const mcp_json *fallback = field_default(f);
    FILE *to = open_memstream(&label, &size);
    if (!to)
        return NULL;
    const mcp_str notes[] = {title.len ? f->name : (mcp_str){0}, kind,
                             f->required || fallback ? (mcp_str){0} : MCP_STR("optional")};
    title = title.len ? title : f->name;
    fprintf(to, "  %.*s", (int)title.len, title.ptr);
    const char *before = " (";
    for (size_t i = 0; i < 3; i++)
        if (notes[i].len)
            fprintf(to, "%s%.*s", before, (int)notes[i].len, notes[i].ptr), before = ", ";
    if (*before == ',')
        fputc(')', to);
    char *json = fallback ? json_of(fallback) : NULL;
    mcp_str text = mcp_json_string(fallback);
    if (mcp_json_is(fallback, MCP_JSON_STRING))
        fprintf(to, " [%.*s]", (int)text.len, text.len ? text.ptr : "");
    else if (json)
        fprintf(to, " [%s]", json);
    fputs(": ", to);
    free(json);
    fclose(to);
    return label;
}

/* Prints a reason such as "    age: expected at most 9, got 10". */
static void tell(const field *f, const char *why)
{
    fputs("    ", stderr);
    text_put(stderr, f->name, TEXT_LINE);
    fputs(": ", stderr);
    text_put(stderr, mcp_str_from(why), TEXT_LINE);
    fputc('\n', stderr);
}

field_answer field_ask(const field *f, char **ret)
{
    mcp_str about = mcp_json_string(mcp_json_get(f->schema, "description"));
    char *label = make_label(f), *line = NULL;
    field_answer answer = FIELD_END;
    *ret = NULL;
    terminal_show(about, 4);
    show_choices(f);
    while (label && !*ret && (line = terminal_edit(label)) != NULL) {
        field_reason why = {""};
        if (*line) {
            *ret = field_value(f, line, &why);
            answer = FIELD_TYPED;
        } else if (field_default(f)) {
            *ret = json_of(field_default(f));
            answer = FIELD_DEFAULT;
        } else if (!f->required) {
            answer = FIELD_LEFT_OUT;
            break;
        } else {
            snprintf(why.text, sizeof(why.text), "it is required");
        }
        if (!*ret)
            tell(f, why.text);
        free(line);
        line = NULL;
    }
    bool ended = !*ret && !line;
    free(line);
    free(label);
    return ended ? FIELD_END : answer;
}
