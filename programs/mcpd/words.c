/* words.c: parses sources of the command line, "NAME:REST?option=value" (see modules.h).
 *
 * The options begin at the last "?" that is followed by a word and "=", so that a path with a
 * question mark needs no encoding. If a connection string is a URI, everything in its query that is
 * not an option of the module stays in the URI.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/uri.h>

#include "modules.h"

/* Returns the beginning of the options, or the end of the text if there are none. */
static const char *options_of(const char *text)
{
    const char *end = text + strlen(text), *mark = strrchr(text, '?');
    const char *p = mark ? mark + 1 : end;
    while (islower((unsigned char)*p) || *p == '_')
        p++;
    return mark && p > mark + 1 && *p == '=' ? mark : end;
}

/* Returns the type of an option in the schema, or "string" if it has none. */
static mcp_str type_of(const mcp_json *schema, mcp_str key)
{
    const mcp_json *properties = mcp_json_get(schema, "properties");
    mcp_str type = mcp_json_string(mcp_json_get(mcp_json_get_str(properties, key), "type"));
    return type.len ? type : MCP_STR("string");
}

static bool is_number(mcp_str value)
{
    size_t i = value.len && value.ptr[0] == '-';
    while (i < value.len && value.ptr[i] >= '0' && value.ptr[i] <= '9')
        i++;
    size_t first = value.len && value.ptr[0] == '-';
    return i == value.len && i > first && i < 19 && (value.ptr[first] != '0' || i == 1);
}

/* Adds an option. A value that cannot be converted stays a string, so that validation reports the
 * error. */
static void add_option(mcp_json_writer *w, const mcp_json *schema, mcp_str key, mcp_str value)
{
    mcp_str type = type_of(schema, key);
    bool truth = mcp_str_eq(value, MCP_STR("true"));
    mcp_json_key_str(w, key);
    if (mcp_str_eq(type, MCP_STR("boolean")) && (truth || mcp_str_eq(value, MCP_STR("false"))))
        mcp_json_add_bool(w, truth);
    else if (mcp_str_eq(type, MCP_STR("integer")) && is_number(value))
        mcp_json_add_raw(w, value);
    else
        mcp_json_add_str(w, value);
}

/* Reports an unknown option, with a list of all options. */
static int unknown_option(const mcp_module *module, const mcp_json *properties, const char *key,
                          mcp_error *error)
{
    mcp_json_iter it = {0};
    mcp_str name;
    modules_explain(error, MCP_EINVAL,
                    "an option of %s: unknown property \"%.40s\"; known are \"name\"", module->name,
                    key);
    while (mcp_json_next(properties, &it, &name)) {
        size_t len = strlen(error->text);
        snprintf(error->text + len, sizeof(error->text) - len, ", \"%.*s\"", (int)name.len,
                 name.ptr);
    }
    return MCP_EINVAL;
}

static bool is_known(const mcp_json *schema, mcp_str key)
{
    return mcp_json_bool(mcp_json_get(schema, "additionalProperties"), true) ||
           mcp_json_get_str(mcp_json_get(schema, "properties"), key) != NULL;
}

/* Returns whether the source is a URI, which may have a query of its own:
 * "postgres://db/shop?sslmode=require&name=x". */
static bool has_own_query(const modules_word *word)
{
    return !word->module->source_is_path && strncmp(word->source, "//", 2) == 0;
}

static int leave_to_source(modules_word *word, const char *text, mcp_error *error)
{
    char *made = NULL;
    char before = strchr(word->source, '?') ? '&' : '?';
    if (asprintf(&made, "%s%c%s", word->source, before, text) < 0)
        return MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    free(word->source);
    word->source = made;
    return MCP_OK;
}

/* Adds one "key=value", decoded in place. */
static int take_option(mcp_json_writer *w, const mcp_json *schema, char *text, modules_word *word,
                       mcp_error *error)
{
    size_t len;
    char *value = strchr(text, '=');
    if (!value)
        return MODULES_FAIL(error, MCP_EINVAL, "an option is written NAME=VALUE: %.150s", text);
    mcp_str key = {text, (size_t)(value - text)};
    bool ours = mcp_str_eq(key, MCP_STR("name")) || is_known(schema, key);
    if (!ours && has_own_query(word))
        return leave_to_source(word, text, error);
    *value++ = 0;
    if (mcp_uri_decode(mcp_str_from(value), value, strlen(value), &len) != MCP_OK)
        return MODULES_FAIL(error, MCP_EINVAL,
                            "the option %.100s has a %% without two hexadecimal digits", text);
    value[len] = 0;
    if (strcmp(text, "name") != 0) {
        if (!ours)
            return unknown_option(word->module, mcp_json_get(schema, "properties"), text, error);
        add_option(w, schema, mcp_str_from(text), (mcp_str){value, len});
        return MCP_OK;
    }
    free(word->name);
    word->name = strdup(value);
    return word->name ? MCP_OK : MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
}

static int read_options(char *text, modules_word *word, mcp_error *error)
{
    mcp_json_doc *schema = NULL;
    mcp_str json;
    char *rest = NULL;
    int rc = MCP_OK;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    if (word->module->options_schema)
        rc = mcp_json_parse(mcp_str_from(word->module->options_schema), NULL, NULL, &schema, error);
    mcp_json_begin_object(w);
    for (char *one = strtok_r(text, "&", &rest); rc == MCP_OK && one;
         one = strtok_r(NULL, "&", &rest))
        rc = take_option(w, mcp_json_root(schema), one, word, error);
    mcp_json_end(w);
    if (rc == MCP_OK && (rc = mcp_json_writer_finish(w, &json)) != MCP_OK)
        modules_explain(error, rc, "the options cannot be written as JSON: %s", mcp_error_text(rc));
    if (rc == MCP_OK)
        rc = mcp_json_parse(json, NULL, NULL, &word->options, error);
    mcp_json_writer_free(w);
    mcp_json_free(schema);
    return rc;
}

/* Expands "~" as in "git:~/src", because shells do not expand it there. */
static bool expand_home(modules_word *word)
{
    const char *home = word->module->source_is_path ? modules_home(word->source) : NULL;
    char *path = NULL;
    if (!home)
        return true;
    if (asprintf(&path, "%s%s", home, word->source + 1) < 0)
        return false;
    free(word->source);
    word->source = path;
    return true;
}

int modules_read_word(modules *m, const char *word, modules_word *ret, mcp_error *error)
{
    size_t len = modules_name_length(word);
    modules_word made = {0};
    int rc = modules_find(m, (mcp_str){word, len}, &made.module, error);
    if (rc != MCP_OK)
        return rc;
    const char *source = word + len + 1, *mark = options_of(source);
    char *options = strdup(mark + (*mark == '?'));
    made.source = strndup(source, (size_t)(mark - source));
    if (!made.source || !options)
        rc = MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    if (rc == MCP_OK && *options)
        rc = read_options(options, &made, error);
    if (rc == MCP_OK && !expand_home(&made))
        rc = MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    free(options);
    if (rc == MCP_OK)
        *ret = made;
    else
        modules_clear_word(&made);
    return rc;
}

void modules_clear_word(modules_word *word)
{
    free(word->source);
    free(word->name);
    mcp_json_free(word->options);
    *word = (modules_word){0};
}

char *modules_absolute(modules *m, const char *word, const char *base)
{
    modules_word w;
    mcp_error error;
    char *ret = NULL;
    if (modules_read_word(m, word, &w, &error) != MCP_OK)
        return NULL;
    const char *source = word + modules_name_length(word) + 1, *mark = options_of(word);
    char *options = modules_place_words(w.module, mark, base);
    char *path = w.module->source_is_path ? modules_place(w.source, base)
                                          : strndup(source, (size_t)(mark - source));
    if (!path || !options || asprintf(&ret, "%s:%s%s", w.module->name, path, options) < 0)
        ret = NULL;
    if (ret && !w.module->source_is_path)
        modules_remove_passwords(ret);
    free(options);
    free(path);
    modules_clear_word(&w);
    return ret;
}
