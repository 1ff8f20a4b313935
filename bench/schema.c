/* schema [--json]: measures the validation of values against compiled JSON Schemas.
 *
 *   schema           prints name=… ns=… for each case: the median of some rounds, per validation
 *   schema --json    prints the cases themselves, for bench/peers/ajv.mjs, so that both measure the same
 *
 * The goal: the first case, a typical tool argument object, in under 2 µs.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/schema.h>

#include "clock.h"

enum { ROUNDS = 15, MEMBERS = 1000 };

typedef struct bench_case {
    const char *name;
    const char *schema;
    const char *value;
} bench_case;

#define ADDRESS                                                                    \
    "{\"type\":\"object\",\"required\":[\"city\"],\"additionalProperties\":false," \
    "\"properties\":{\"city\":{\"type\":\"string\",\"minLength\":1},"              \
    "\"zip\":{\"type\":\"string\",\"maxLength\":10},"                              \
    "\"floor\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":200}}}"

static const bench_case cases[] = {
    {"arguments",
     "{\"type\":\"object\",\"required\":[\"name\",\"units\",\"address\"],\"additionalProperties\":"
     "false,"
     "\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":100},"
     "\"units\":{\"enum\":[\"metric\",\"imperial\"]},"
     "\"days\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":14},"
     "\"verbose\":{\"type\":\"boolean\"},\"address\":" ADDRESS "}}",
     "{\"name\":\"weather\",\"units\":\"metric\",\"days\":5,\"verbose\":true,"
     "\"address\":{\"city\":\"Lisbon\",\"zip\":\"1100-148\",\"floor\":3}}"},
    {"with_pattern",
     "{\"type\":\"object\",\"required\":[\"id\"],\"properties\":{"
     "\"id\":{\"type\":\"string\",\"pattern\":\"^[a-z]{2}-[0-9]{4,8}$\"},"
     "\"limit\":{\"type\":\"integer\",\"minimum\":1},\"address\":" ADDRESS "}}",
     "{\"id\":\"pt-123456\",\"limit\":50,\"address\":{\"city\":\"Lisbon\",\"zip\":\"1100-148\"}}"},
    {"union",
     "{\"$defs\":{\"circle\":{\"type\":\"object\",\"required\":[\"kind\",\"r\"],\"properties\":"
     "{\"kind\":{\"const\":\"circle\"},\"r\":{\"type\":\"number\"}}},"
     "\"box\":{\"type\":\"object\",\"required\":[\"kind\",\"w\",\"h\"],\"properties\":"
     "{\"kind\":{\"const\":\"box\"},\"w\":{\"type\":\"number\"},\"h\":{\"type\":\"number\"}}}},"
     "\"type\":\"array\",\"items\":{\"oneOf\":[{\"$ref\":\"#/$defs/circle\"},{\"$ref\":\"#/$defs/"
     "box\"}]}}",
     "[{\"kind\":\"circle\",\"r\":1.5},{\"kind\":\"box\",\"w\":2,\"h\":3},"
     "{\"kind\":\"box\",\"w\":2.5,\"h\":3.5},{\"kind\":\"circle\",\"r\":2}]"},
    {"unevaluated",
     "{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}}},"
     "{\"properties\":{\"b\":{\"type\":\"string\"}}}],\"properties\":{\"c\":true},"
     "\"unevaluatedProperties\":false}",
     "{\"a\":1,\"b\":\"x\",\"c\":null}"},
};

static void die(const char *name, const char *why)
{
    fprintf(stderr, "schema: %s: %s\n", name, why);
    exit(1);
}

static void measure(const char *name, mcp_str schema_text, mcp_str value_text, long count)
{
    mcp_schema *schema = NULL;
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    double times[ROUNDS], compile = clock_ns(CLOCK_MONOTONIC);
    if (mcp_schema_compile_text(NULL, schema_text, NULL, &schema, &error) != MCP_OK)
        die(name, error.text);
    compile = clock_ns(CLOCK_MONOTONIC) - compile;
    if (mcp_json_parse(value_text, NULL, NULL, &doc, &error) != MCP_OK)
        die(name, error.text);
    for (int round = 0; round < ROUNDS; round++) {
        double start = clock_ns(CLOCK_MONOTONIC);
        for (long i = 0; i < count; i++) {
            if (mcp_schema_validate(schema, mcp_json_root(doc), &error) != MCP_OK)
                die(name, error.text);
        }
        times[round] = (clock_ns(CLOCK_MONOTONIC) - start) / (double)count;
    }
    printf("name=%s ns=%.0f compile_us=%.1f\n", name, median(times, ROUNDS), compile / 1e3);
    mcp_json_free(doc);
    mcp_schema_free(schema);
}

/* An object of 1,000 known properties: lookups must not be quadratic. */
static void make_large(char **schema, char **value)
{
    size_t cap = MEMBERS * 64, s = 0, v = 0;
    *schema = malloc(cap);
    *value = malloc(cap);
    if (!*schema || !*value)
        die("large", "out of memory");
    s += (size_t)snprintf(*schema, cap, "{\"properties\":{");
    v += (size_t)snprintf(*value, cap, "{");
    for (int i = 0; i < MEMBERS; i++) {
        const char *comma = i ? "," : "";
        s += (size_t)snprintf(*schema + s, cap - s, "%s\"property_%d\":{\"type\":\"integer\"}",
                              comma, i);
        v += (size_t)snprintf(*value + v, cap - v, "%s\"property_%d\":%d", comma, i, i);
    }
    snprintf(*schema + s, cap - s, "},\"additionalProperties\":false}");
    snprintf(*value + v, cap - v, "}");
}

int main(int argc, char **argv)
{
    bool print = argc == 2 && strcmp(argv[1], "--json") == 0;
    size_t count = sizeof(cases) / sizeof(cases[0]);
    char *schema, *value;
    if (argc > 1 && !print) {
        fprintf(stderr, "usage: schema [--json]\n");
        return 2;
    }
    make_large(&schema, &value);
    printf(print ? "[" : "");
    for (size_t i = 0; i < count; i++) {
        const bench_case *c = &cases[i];
        if (print)
            printf("{\"name\":\"%s\",\"schema\":%s,\"value\":%s},", c->name, c->schema, c->value);
        else
            measure(c->name, mcp_str_from(c->schema), mcp_str_from(c->value), 100000);
    }
    if (print)
        printf("{\"name\":\"large\",\"schema\":%s,\"value\":%s}]\n", schema, value);
    else
        measure("large", mcp_str_from(schema), mcp_str_from(value), 1000);
    free(schema);
    free(value);
    return 0;
}
