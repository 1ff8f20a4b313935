/* Hostile schemas and values: each ends soon with MCP_ELIMIT, and without a crash. Also allocation
 * failures, and one schema in several threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <mcp/schema.h>

#include "failalloc.h"

static int run(const char *text, const mcp_schema_options *options, const char *value,
               mcp_error *error)
{
    mcp_schema *schema = NULL;
    mcp_json_doc *doc = NULL;
    mcp_json_limits deep = {.size = sizeof(deep), .max_depth = 1024};
    int rc = mcp_schema_compile_text(NULL, mcp_str_from(text), options, &schema, error);
    if (rc)
        return rc;
    assert_int_equal(mcp_json_parse(mcp_str_from(value), &deep, NULL, &doc, NULL), MCP_OK);
    rc = mcp_schema_validate(schema, mcp_json_root(doc), error);
    mcp_json_free(doc);
    mcp_schema_free(schema);
    return rc;
}

static char *repeat(const char *before, const char *what, const char *between, size_t count,
                    const char *after)
{
    size_t each = strlen(what) + strlen(between);
    char *text = malloc(strlen(before) + count * each + strlen(after) + 1), *at = text;
    assert_non_null(text);
    at = stpcpy(at, before);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(i ? stpcpy(at, between) : at, what);
    strcpy(at, after);
    return text;
}

static void assert_limit(const char *schema, const char *value, const char *what)
{
    mcp_error error = {0};
    int rc = run(schema, NULL, value, &error);
    if (rc != MCP_ELIMIT || !strstr(error.text, what))
        fail_msg("%.200s: %d %s", schema, rc, error.text);
}

/* ---- recursion ------------------------------------------------------------------------------- */

static void test_endless(void **state)
{
    static const char *const schemas[] = {
        "{\"$ref\":\"#\"}",
        "{\"allOf\":[{\"$ref\":\"#\"}]}",
        "{\"not\":{\"$ref\":\"#\"}}",
        "{\"anyOf\":[{\"$ref\":\"#\"},true]}",
        "{\"oneOf\":[{\"$ref\":\"#\"}]}",
        "{\"if\":{\"$ref\":\"#\"},\"else\":false}",
        "{\"$dynamicRef\":\"#\"}",
        "{\"$dynamicAnchor\":\"a\",\"$dynamicRef\":\"#a\"}",
        "{\"dependentSchemas\":{\"a\":{\"$ref\":\"#\"}}}",
        ("{\"allOf\":[{\"$ref\":\"#/$defs/b\"}],\"$defs\":{\"b\":{\"$ref\":\"#\"}},"
         "\"unevaluatedProperties\":false}"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++)
        assert_limit(schemas[i], "{\"a\":1}", "512 schemas inside each other");
}

/* The maximum depth, on the stack of an ordinary thread. */
static void *run_deepest(void *user)
{
    mcp_schema_options o = {.size = sizeof(o), .max_depth = SIZE_MAX};
    mcp_error *error = user;
    static int rc;
    rc =
        run("{\"anyOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}}},{\"allOf\":[{\"$ref\":\"#\"}]}],"
            "\"not\":{\"$ref\":\"#\"},\"unevaluatedProperties\":false}",
            &o, "{\"a\":{\"a\":{}}}", error);
    return &rc;
}

static void test_deepest(void **state)
{
    mcp_error error = {0};
    pthread_attr_t attributes;
    pthread_t thread;
    void *rc;
    (void)state;
    /* One level costs up to 1 KiB, and some C libraries have small stacks. */
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 8 << 20), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_deepest, &error), 0);
    pthread_attr_destroy(&attributes);
    assert_int_equal(pthread_join(thread, &rc), 0);
    assert_int_equal(*(int *)rc, MCP_ELIMIT);
    assert_non_null(strstr(error.text, "4096 schemas inside each other"));
}

static void test_depth_of_value(void **state)
{
    mcp_schema_options o = {.size = sizeof(o), .max_depth = 2000};
    const char *schema = "{\"items\":{\"$ref\":\"#\"}}";
    (void)state;
    char *value = repeat("", "[", "", 900, "1");
    char *closed = repeat(value, "]", "", 900, "");
    assert_limit(schema, closed, "inside each other");
    assert_int_equal(run(schema, &o, closed, NULL), MCP_OK);
    free(value);
    free(closed);
}

/* Two references to the next, 40 times: 2^40 applications. */
static void test_exponential(void **state)
{
    static const char *const kinds[] = {"allOf", "anyOf", "oneOf"};
    char text[8000], step[200];
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        strcpy(text, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
        for (int i = 0; i < 40; i++) {
            snprintf(step, sizeof(step),
                     "\"d%d\":{\"%s\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},", i,
                     kinds[k], i + 1, i + 1);
            strcat(text, step);
        }
        strcat(text, "\"d40\":{\"type\":\"null\"}}}");
        /* the default budget only once, because it is slow under a sanitizer */
        mcp_schema_options few = {.size = sizeof(few), .max_steps = k ? 200000 : 0};
        mcp_error error = {0};
        assert_int_equal(run(text, &few, k ? "1" : "null", &error), MCP_ELIMIT);
        assert_non_null(strstr(error.text, "steps"));
    }
}

static void test_wide(void **state)
{
    mcp_schema_options few = {.size = sizeof(few), .max_steps = 1000};
    mcp_error error = {0};
    (void)state;
    char *value = repeat("[", "{\"a\":1}", ",", 2000, "]");
    assert_int_equal(run("{\"items\":{\"type\":\"object\"}}", NULL, value, NULL), MCP_OK);
    assert_int_equal(run("{\"items\":{\"type\":\"object\"}}", &few, value, &error), MCP_ELIMIT);
    assert_string_equal(error.text, "validation is over the limit of 1000 steps");
    assert_int_equal(run("{\"contains\":{\"const\":2}}", &few, value, NULL), MCP_ELIMIT);
    assert_int_equal(run("{\"uniqueItems\":true}", &few, value, NULL), MCP_ELIMIT);
    assert_int_equal(run("{\"not\":{\"items\":{\"const\":{\"a\":1}}}}", &few, value, NULL),
                     MCP_ELIMIT);
    assert_int_equal(run("{\"unevaluatedItems\":{\"type\":\"object\"}}", &few, value, NULL),
                     MCP_ELIMIT);
    free(value);
}

/* ---- sizes of schemas ------------------------------------------------------------------------ */

static void test_schema_limits(void **state)
{
    mcp_schema_options o = {
        .size = sizeof(o), .max_subschemas = 100, .max_bytes = 3000, .max_pattern = 10};
    mcp_error error = {0};
    (void)state;
    char *many = repeat("{\"allOf\":[", "true", ",", 100, "]}");
    char *fits = repeat("{\"allOf\":[", "true", ",", 99, "]}");
    char *large = repeat("{\"title\":\"", "x", "", 3000, "\"}");
    char *deep = repeat("", "{\"not\":", "", 600, "true");
    char *closed = repeat(deep, "}", "", 600, "");
    assert_int_equal(run(many, &o, "1", &error), MCP_ELIMIT);
    assert_string_equal(error.text, "#/allOf: more than 100 subschemas");
    assert_int_equal(run(fits, &o, "1", &error), MCP_OK);
    assert_int_equal(run(large, &o, "1", &error), MCP_ELIMIT);
    assert_int_equal(run(closed, NULL, "1", &error), MCP_ELIMIT);
    assert_non_null(strstr(error.text, "nested deeper"));
    assert_int_equal(run("{\"pattern\":\"12345678901\"}", &o, "1", &error), MCP_ELIMIT);
    assert_string_equal(error.text, "#/pattern: the pattern is over the limit of 10 bytes");
    free(many), free(fits), free(large), free(deep), free(closed);
}

/* Sizes that grow with the number of subschemas have their own limit. */
static void test_amplified(void **state)
{
    mcp_error error = {0};
    (void)state;
    char *id = repeat("{\"$id\":\"", "x", "", 2049, "\"}");
    assert_int_equal(run(id, NULL, "1", &error), MCP_ELIMIT);
    assert_string_equal(error.text, "#/$id: a URI is over the limit of 2048 bytes");
    char *base = repeat("{\"$id\":\"", "x/", "", 1024, "\",\"not\":{\"$id\":\"yy\"}}");
    assert_int_equal(run(base, NULL, "1", &error), MCP_ELIMIT);
    char *patterns = repeat("{\"allOf\":[", "{\"pattern\":\"([a-c]{9}d){1000}\"}", ",", 2000, "]}");
    assert_int_equal(run(patterns, NULL, "1", &error), MCP_ELIMIT);
    assert_non_null(strstr(error.text, "the patterns are over the limit of"));
    free(id), free(base), free(patterns);
    /* the digits are read for each constant */
    char *number = repeat("[", "7", "", 200000, "]");
    char *many = repeat("{\"items\":{\"enum\":[", "12345678901234567890123", ",", 5000, "]}}");
    assert_int_equal(run(many, NULL, number, &error), MCP_ELIMIT);
    free(number), free(many);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static void test_patterns(void **state)
{
    mcp_error error = {0};
    (void)state;
    char *as = repeat("\"", "a", "", 40, "!\"");
    assert_int_equal(run("{\"pattern\":\"^(a+)+$\"}", NULL, as, &error), MCP_ELIMIT);
    assert_non_null(strstr(error.text, "pattern matcher"));
    assert_int_equal(run("{\"patternProperties\":{\"^(a+)+$\":true}}", NULL,
                         "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\":1}", &error),
                     MCP_ELIMIT);
    assert_int_equal(run("{\"not\":{\"pattern\":\"^(a+)+$\"}}", NULL, as, &error), MCP_ELIMIT);
    /* some work is fine */
    assert_int_equal(run("{\"pattern\":\"^(a+)+!$\"}", NULL, as, &error), MCP_OK);
    assert_int_equal(run("{\"pattern\":\"^((((((((((a?)+)+)+)+)+)+)+)+)+)+$\"}", NULL, as, NULL),
                     MCP_ELIMIT);
    assert_int_equal(run("{\"pattern\":\"(?R)\"}", NULL, as, NULL), MCP_ELIMIT);
    free(as);
    /* many harmless matches use up a small budget */
    mcp_schema_options few = {.size = sizeof(few), .max_steps = 10000};
    char *many = repeat("[", "\"aaaaaaaaaaaa!\"", ",", 400, "]");
    assert_int_equal(run("{\"items\":{\"not\":{\"pattern\":\"^(a+)+$\"}}}", &few, many, &error),
                     MCP_ELIMIT);
    assert_int_equal(run("{\"items\":{\"pattern\":\"^a+!\"}}", &few, many, &error), MCP_OK);
    free(many);
    char *nested = repeat("{\"pattern\":\"", "(", "", 500, "\"}");
    assert_int_equal(run(nested, NULL, "1", NULL), MCP_EINVAL);
    free(nested);
}

static void test_ecma(void **state)
{
    static const struct {
        const char *pattern, *value;
        bool matches;
    } rows[] = {
        {"^\\\\d$", "\"\\u0661\"", false},
        {"^\\\\w$", "\"\\u00e9\"", false},
        {"^\\\\s$", "\"\\u00a0\"", true},
        {"^[\\\\s]$", "\"\\ufeff\"", true},
        {"^[\\\\S]$", "\"\\u00a0\"", false},
        {"^[\\\\S]$", "\"x\"", true},
        {"^[^\\\\S]$", "\"\\u2003\"", true},
        {"^[\\\\w-.]+$", "\"a-b.c\"", true},
        {"^[\\\\s-_]+$", "\"_- \"", true},
        {"^[[:a]$", "\"[\"", true},
        {"^[[:alpha:]]$", "\"b\"", false},
        {"^[^]$", "\"\\n\"", true},
        {"[]", "\"a\"", false},
        {"^.$", "\"\\ud83d\\ude00\"", true},
        {"^\\\\ud83d\\\\ude00$", "\"\\ud83d\\ude00\"", true},
        {"^\\\\u{1f600}$", "\"\\ud83d\\ude00\"", true},
        {"^[\\\\ud83d\\\\ude00]$", "\"\\ud83d\\ude00\"", true},
        {"^\\\\p{Letter}+$", "\"\\u00e9a\"", true},
        {"^\\\\p{Lu}$", "\"a\"", false},
        {"^\\\\P{Lu}$", "\"a\"", true},
        {"^\\\\p{Script=Greek}$", "\"\\u03b1\"", true},
        {"^a$", "\"a\\n\"", false},
        {"^.$", "\"\\r\"", false},
        {"(?<y>a)\\\\k<y>", "\"aa\"", true},
        {"^(?!b)", "\"b\"", false},
        {"^\\\\/a\\\\-b$", "\"/a-b\"", true},
        {"\\\\cC", "\"\\u0003\"", true},
        {"a", "\"bab\"", true},
        {"", "\"\"", true},
        {"\\\\0", "\"a\\u0000\"", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[200];
        mcp_error error = {0};
        snprintf(text, sizeof(text), "{\"pattern\":\"%s\"}", rows[i].pattern);
        int rc = run(text, NULL, rows[i].value, &error);
        if (rc != (rows[i].matches ? MCP_OK : MCP_EINVAL))
            fail_msg("%s with %s: %d %s", text, rows[i].value, rc, error.text);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const char rich[] =
    "{\"$id\":\"https://example.com/"
    "r\",\"$defs\":{\"s\":{\"$anchor\":\"s\",\"type\":\"string\",\"pattern\":\"^a\"}},"
    "\"properties\":{\"a\":{\"$ref\":\"#s\"},\"b\":{\"uniqueItems\":true,\"multipleOf\":0.1},"
    "\"c\":{\"oneOf\":[{\"$ref\":\"u:other\"},{\"type\":\"array\",\"items\":{\"enum\":[1,2]}}]},"
    "\"d\":{\"format\":\"uri-template\"},\"e\":{\"format\":\"regex\"},\"f\":{\"const\":1}},"
    "\"patternProperties\":{\"^x-\":{\"not\":{\"type\":\"null\"}}},"
    "\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}},\"unevaluatedProperties\":false}";

static void count_issue(const mcp_schema_issue *issue, void *user)
{
    (void)issue;
    ++*(size_t *)user;
}

/* Uses every feature once, with values that conform and values that do not. */
static int everything(const mcp_allocator *a, const mcp_json *good, const mcp_json *bad)
{
    mcp_schema_options o = {.size = sizeof(o), .allocator = a, .assert_formats = true};
    mcp_schema_set *set = NULL;
    mcp_schema *schema = NULL;
    mcp_error error;
    size_t issues = 0;
    int rc = mcp_schema_set_new(a, &set);
    if (!rc)
        rc = mcp_schema_set_add(set, MCP_STR("u:x"),
                                MCP_STR("{\"$id\":\"u:other\",\"type\":\"null\"}"), &error);
    if (!rc)
        rc = mcp_schema_compile_text(set, mcp_str_from(rich), &o, &schema, &error);
    mcp_schema_set_free(set);
    if (!rc)
        rc = mcp_schema_validate(schema, good, &error);
    if (!rc) {
        rc = mcp_schema_validate_all(schema, bad, 0, count_issue, &issues, &error);
        assert_true(rc == MCP_ENOMEM || (rc == MCP_EINVAL && issues == 7));
        rc = rc == MCP_EINVAL ? MCP_OK : rc;
    }
    mcp_schema_free(schema);
    return rc;
}

static void test_memory(void **state)
{
    mcp_json_doc *good = NULL, *bad = NULL;
    (void)state;
    char *items =
        repeat("{\"a\":\"ab\",\"d\":\"{x}\",\"e\":\"a+\",\"x-y\":[", "1", ",", 70, "],\"b\":[");
    char text[2000], *at = stpcpy(text, items);
    for (int i = 0; i < 70; i++)
        at += sprintf(at, "%s%d", i ? "," : "", i);
    strcpy(at, "],\"c\":[1,2]}");
    free(items);
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &good, NULL), MCP_OK);
    assert_int_equal(
        mcp_json_parse(MCP_STR("{\"a\":\"b\",\"b\":1.25,\"c\":[3],\"d\":\"{\",\"e\":\"(\","
                               "\"f\":0,\"x-\":null,\"y\":1,\"z\":[]}"),
                       NULL, NULL, &bad, NULL),
        MCP_OK);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        int rc = everything(&a, mcp_json_root(good), mcp_json_root(bad));
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(rc, MCP_OK);
            assert_true(n > 60);
            break;
        }
        if (rc != MCP_ENOMEM && rc != MCP_OK)
            fail_msg("allocation %zu: %d", n, rc);
    }
    mcp_json_free(good);
    mcp_json_free(bad);
}

/* Validating a conforming value allocates nothing, and the match data is reused. */
static void test_no_allocation(void **state)
{
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp_schema_options o = {.size = sizeof(o), .allocator = &a};
    mcp_schema *schema = NULL;
    mcp_json_doc *doc = NULL;
    (void)state;
    assert_int_equal(mcp_schema_compile_text(
                         NULL,
                         MCP_STR("{\"required\":[\"a\"],\"properties\":{\"a\":{\"pattern\":\"^b\"},"
                                 "\"c\":{\"uniqueItems\":true}},\"anyOf\":[{\"required\":[\"z\"]},"
                                 "{\"properties\":{\"c\":{\"minItems\":2}}}],"
                                 "\"unevaluatedProperties\":false}"),
                         &o, &schema, NULL),
                     MCP_OK);
    assert_int_equal(mcp_json_parse(MCP_STR("{\"a\":\"bb\",\"c\":[1,2,3,4,5,6,7,8,9,10,11]}"), NULL,
                                    NULL, &doc, NULL),
                     MCP_OK);
    assert_int_equal(mcp_schema_validate(schema, mcp_json_root(doc), NULL), MCP_OK);
    f.calls = 0;
    assert_int_equal(mcp_schema_validate(schema, mcp_json_root(doc), NULL), MCP_OK);
    assert_int_equal(f.calls, 0);
    mcp_json_free(doc);
    mcp_schema_free(schema);
    assert_int_equal(f.live, 0);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct shared {
    const mcp_schema *schema;
    const mcp_json *good, *bad;
} shared;

static void *validate_often(void *user)
{
    const shared *s = user;
    size_t wrong = 0;
    for (int i = 0; i < 2000; i++) {
        wrong += mcp_schema_validate(s->schema, s->good, NULL) != MCP_OK;
        wrong += mcp_schema_validate(s->schema, s->bad, NULL) != MCP_EINVAL;
    }
    return (void *)wrong;
}

static void test_threads(void **state)
{
    mcp_schema *schema = NULL;
    mcp_json_doc *doc = NULL;
    pthread_t threads[4];
    (void)state;
    assert_int_equal(mcp_schema_compile_text(NULL,
                                             MCP_STR("{\"items\":{\"pattern\":\"^[a-z]+[0-9]$\"}}"),
                                             NULL, &schema, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_json_parse(MCP_STR("[[\"ab1\",\"c2\"],[\"ab1\",\"c\"]]"), NULL, NULL, &doc, NULL),
        MCP_OK);
    shared s = {schema, mcp_json_at(mcp_json_root(doc), 0), mcp_json_at(mcp_json_root(doc), 1)};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, validate_often, &s), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    mcp_json_free(doc);
    mcp_schema_free(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endless),        cmocka_unit_test(test_deepest),
        cmocka_unit_test(test_depth_of_value), cmocka_unit_test(test_exponential),
        cmocka_unit_test(test_wide),           cmocka_unit_test(test_schema_limits),
        cmocka_unit_test(test_amplified),      cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_ecma),           cmocka_unit_test(test_memory),
        cmocka_unit_test(test_no_allocation),  cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
