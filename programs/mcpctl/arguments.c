/* arguments.c: converts words name=value to the JSON that a tool's schema requires.
 *
 * Words are strings, and only the schema says whether "7" is a string or a number. If the schema
 * does not say, "7" is a string. The value in name:=7 is always JSON.
 */
#define _GNU_SOURCE
#include "arguments.h"

#include <errno.h>
#include <stdlib.h>

#include <mcp/schema.h>

/* ---- words ----------------------------------------------------------------------------------- */

bool argument_parse(const char *word, argument *ret)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word) {
        say("'%s' is not an argument: write name=value, or name:=JSON", word);
        return false;
    }
    ret->is_json = equals > word + 1 && equals[-1] == ':';
    ret->name = (mcp_str){word, (size_t)(equals - word) - ret->is_json};
    ret->value = equals + 1;
    return true;
}

const char *argument_value(const char *const *words, size_t count, mcp_str name)
{
    for (size_t i = count; i-- > 0;) {
        const char *equals = strchr(words[i], '=');
        size_t len = equals ? (size_t)(equals - words[i]) : 0;
        if (equals && mcp_str_eq((mcp_str){words[i], len}, name))
            return equals + 1;
    }
    return NULL;
}

static bool add_json(mcp_json_writer *w, const argument *a)
{
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    if (mcp_json_parse(mcp_str_from(a->value), NULL, NULL, &doc, &error) != MCP_OK) {
        say("%.*s:= is not followed by JSON: %s", (int)a->name.len, a->name.ptr, error.text);
        return false;
    }
    mcp_json_add_value(w, mcp_json_root(doc));
    mcp_json_free(doc);
    return true;
}

static bool add_value(mcp_json_writer *w, const argument *a, const mcp_json *root,
                      const mcp_json *schema)
{
    if (a->is_json)
        return add_json(w, a);
    add_typed(w, root, schema, a->value);
    return true;
}

/* Adds all words that have the name of word i; several make an array. */
static bool add_words(mcp_json_writer *w, const char *const *words, size_t count, size_t i,
                      const mcp_json *root)
{
    argument a, b;
    size_t same = 0;
    if (!argument_parse(words[i], &a))
        return false;
    for (size_t k = i; k < count; k++)
        same += argument_parse(words[k], &b) && mcp_str_eq(a.name, b.name);
    const mcp_json *schema = mcp_json_get_str(mcp_json_get(root, "properties"), a.name);
    mcp_json_key_str(w, a.name);
    if (same < 2)
        return add_value(w, &a, root, schema);
    mcp_json_begin_array(w);
    for (size_t k = i; k < count; k++)
        if (argument_parse(words[k], &b) && mcp_str_eq(a.name, b.name) &&
            !add_value(w, &b, root, mcp_json_get(schema, "items")))
            return false;
    mcp_json_end(w);
    return true;
}

/* Returns whether an earlier word has the same name as the i-th. */
static bool is_repeated(const char *const *words, size_t i)
{
    argument a, b;
    if (!argument_parse(words[i], &a))
        return false;
    for (size_t k = 0; k < i; k++)
        if (argument_parse(words[k], &b) && mcp_str_eq(a.name, b.name))
            return true;
    return false;
}

/* ---- --args ---------------------------------------------------------------------------------- */

static char *read_all(FILE *f)
{
    enum { MOST = 64 << 20 };
    size_t len = 0, room = 0;
    char *text = NULL;
    for (size_t n = 1; n && len < MOST;) {
        if (len + 4096 > room) {
            char *grown = realloc(text, (room = room ? room * 2 : 8192) + 1);
            if (!grown)
                break;
            text = grown;
        }
        n = fread(text + len, 1, room - len, f);
        len += n;
        text[len] = 0;
    }
    return text;
}

/* Returns the object of --args, which is empty without the option, or NULL after reporting the
 * error. */
static mcp_json_doc *given_object(const ctl *c)
{
    const char *from = c->set.args;
    char *text = NULL;
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    if (!from) {
        text = strdup("{}");
    } else if (*from == '@' || strcmp(from, "-") == 0) {
        FILE *f = *from == '@' ? fopen(from + 1, "re") : stdin;
        if (!f) {
            say("--args %s: %s", from, strerror(errno));
            return NULL;
        }
        text = read_all(f);
        if (f != stdin)
            fclose(f);
    } else {
        text = strdup(from);
    }
    int rc = text ? mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, &error) : MCP_ENOMEM;
    free(text);
    if (rc == MCP_OK && mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT))
        return doc;
    say("--args is not a JSON object: %s",
        rc == MCP_OK ? mcp_json_type_name(mcp_json_typeof(mcp_json_root(doc))) : error.text);
    mcp_json_free(doc);
    return NULL;
}

static bool has_word(const char *const *words, size_t count, mcp_str name)
{
    argument a;
    for (size_t i = 0; i < count; i++)
        if (argument_parse(words[i], &a) && mcp_str_eq(a.name, name))
            return true;
    return false;
}

char *arguments_make(const ctl *c, const char *const *words, size_t count, const mcp_json *schema)
{
    argument a;
    for (size_t i = 0; i < count; i++)
        if (!argument_parse(words[i], &a))
            return NULL;
    mcp_json_doc *given = given_object(c);
    if (!given)
        return NULL;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_iter it = {0};
    mcp_str key;
    bool ok = true;
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(mcp_json_root(given), &it, &key)) != NULL;)
        if (!has_word(words, count, key))
            mcp_json_key_str(w, key), mcp_json_add_value(w, v);
    for (size_t i = 0; ok && i < count; i++)
        if (!is_repeated(words, i))
            ok = add_words(w, words, count, i, schema);
    mcp_json_end(w);
    mcp_json_free(given);
    if (ok)
        return take_written(c->command->name, w);
    mcp_json_writer_free(w);
    return NULL;
}

/* ---- checking -------------------------------------------------------------------------------- */

static void on_issue(const mcp_schema_issue *issue, void *user)
{
    const char *whole = user;
    hint("%.*s: %.*s", issue->path.len ? (int)issue->path.len : (int)strlen(whole),
         issue->path.len ? issue->path.ptr : whole, (int)issue->expected.len, issue->expected.ptr);
}

/* Returns whether a value conforms to the schema. Otherwise prints `complaint` and the violations.
 * `whole` describes the value: "the arguments". */
static bool conforms(const ctl *c, const char *whole, const char *complaint, const mcp_json *schema,
                     const mcp_json *value)
{
    mcp_schema *compiled = NULL;
    mcp_error error = {0};
    int rc = mcp_schema_compile(NULL, schema, NULL, &compiled, &error);
    bool is_schema = rc == MCP_OK;
    if (is_schema)
        rc = mcp_schema_validate(compiled, value, &error);
    if (is_schema && rc == MCP_EINVAL) {
        say("%s", complaint);
        mcp_schema_validate_all(compiled, value, 8, on_issue, (void *)(uintptr_t)whole, NULL);
    } else if (rc != MCP_OK && !c->set.quiet) {
        say("warning: %s: not checked: %s%s", whole, is_schema ? "" : "the schema: ", error.text);
    }
    mcp_schema_free(compiled);
    return !is_schema || rc != MCP_EINVAL;
}

int arguments_check(const ctl *c, const char *what, const char *arguments, const mcp_json *schema)
{
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    char complaint[512];
    if (!schema)
        return EXIT_OK;
    int rc = mcp_json_parse(mcp_str_from(arguments), NULL, NULL, &doc, &error);
    if (rc != MCP_OK) {
        say("warning: the arguments could not be checked: %s", error.text);
        return EXIT_OK;
    }
    snprintf(complaint, sizeof(complaint), "the arguments do not match the schema of %s:", what);
    bool ok = conforms(c, "the arguments", complaint, schema, mcp_json_root(doc));
    mcp_json_free(doc);
    return ok ? EXIT_OK : EXIT_USAGE;
}

int result_check(const ctl *c, const char *what, const mcp_json *result, const mcp_json *schema)
{
    const mcp_json *structured = mcp_json_get(result, "structuredContent");
    char complaint[512];
    if (!schema || mcp_json_bool(mcp_json_get(result, "isError"), false))
        return EXIT_OK;
    if (!structured) {
        say("warning: %s declares structured content (outputSchema) but returned none", what);
        return EXIT_PROTOCOL;
    }
    snprintf(complaint, sizeof(complaint),
             "warning: the structured content of %s does not match its outputSchema:", what);
    return conforms(c, "the structured content", complaint, schema, structured) ? EXIT_OK
                                                                                : EXIT_PROTOCOL;
}
