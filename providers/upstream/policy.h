/* policy.h: what the configuration says about the items of another server: which are offered, and which
 * names and texts replace theirs. */
#ifndef UPSTREAM_POLICY_H
#define UPSTREAM_POLICY_H

#include <stdarg.h>

#include "upstream.h"

/* Fills *error, and returns MCP_EINVAL. */
int upstream_invalid(mcp_error *error, const char *format, ...) MCP_PRINTF(2, 3);

/* Returns what replaces the texts of an item, or NULL. */
const mcp_upstream_change *upstream_change_of(const mcp_upstream_options *o, mcp_item item,
                                              mcp_str original);
/* Returns the change that gives an item of this kind the name `name` (without NAME_), or NULL. */
const mcp_upstream_change *upstream_change_to(const mcp_upstream_options *o, mcp_item item,
                                              mcp_str name);
/* Copies the changes to `o`, even after a failure, so that none points to the caller's memory. Returns
 * whether there was enough memory. */
bool upstream_changes_copy(mcp_upstream_options *o, const mcp_allocator *alloc);
void upstream_changes_free(mcp_upstream_options *o, const mcp_allocator *alloc);
/* Returns whether the lists of the options allow an item, which is given by its original name or
 * URI. A URI that upstream_uri_exists() refuses counts as hidden. */
bool upstream_allows(const mcp_upstream_options *o, mcp_item item, mcp_str original,
                     const mcp_allocator *alloc);

/* Copies the rates of `o`, as upstream_changes_copy() does. */
bool upstream_rates_copy(mcp_upstream_options *o, const mcp_allocator *alloc);
void upstream_rates_free(mcp_upstream_options *o, const mcp_allocator *alloc);
/* Returns whether a rate counts the calls of a tool, given by its original name, or, with
 * MCP_ITEM_PROMPT or MCP_ITEM_RESOURCE, requests of this kind. */
bool upstream_rate_counts(const mcp_upstream_rate *rate, mcp_item item, mcp_str original);

enum { UPSTREAM_MOST_WORDS = 256, UPSTREAM_MOST_RATES = 16 };

/* The policy of a source of mcpd. */
typedef struct upstream_policy {
    const char *lists[6][UPSTREAM_MOST_WORDS + 1];
    mcp_upstream_change changes[2 * UPSTREAM_MOST_WORDS];
    mcp_upstream_rate rates[UPSTREAM_MOST_RATES];
    const char *rate_tools[UPSTREAM_MOST_RATES][UPSTREAM_MOST_WORDS + 1];
} upstream_policy;

/* Sets the members of `o` that are policy from the options of a source. They borrow their strings from
 * `options`, and their arrays from *policy. Returns MCP_OK or MCP_EINVAL. */
int upstream_policy_read(upstream_policy *policy, const mcp_json *options, mcp_upstream_options *o,
                         mcp_error *error);

/* The schema of these options. */
#define UPSTREAM_LIST_SCHEMA(name, about)                                                \
    "\"" name "\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":250," \
    "\"description\":\"" about "\"},"
#define UPSTREAM_ITEMS_SCHEMA(name, more, about)                                               \
    "\"" name "\":{\"type\":\"object\",\"maxProperties\":250,\"propertyNames\":{"              \
    "\"minLength\":1},\"additionalProperties\":{\"type\":\"object\","                          \
    "\"additionalProperties\":false,\"properties\":{\"name\":{\"type\":\"string\"},\"title\":" \
    "{\"type\":\"string\"},\"description\":{\"type\":\"string\"}" more                         \
    "}},\"description\":\"" about "\"},"
#define UPSTREAM_CALL_SCHEMA \
    ",\"call_ms\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":2147483647}"
#define UPSTREAM_POLICY_SCHEMA                                                                    \
    UPSTREAM_LIST_SCHEMA("only_tools",                                                            \
                         "The tools that are offered, by their names at the server; * matches "   \
                         "any text; default: all")                                                \
    UPSTREAM_LIST_SCHEMA("hide_tools", "Tools that are not offered, likewise")                    \
    UPSTREAM_LIST_SCHEMA("only_prompts", "The prompts that are offered; default: all")            \
    UPSTREAM_LIST_SCHEMA("hide_prompts", "Prompts that are not offered")                          \
    UPSTREAM_LIST_SCHEMA("only_resources",                                                        \
                         "The resources and templates that are offered, by their URIs at the "    \
                         "server; default: all")                                                  \
    UPSTREAM_LIST_SCHEMA("hide_resources", "Resources and templates that are not offered")        \
    UPSTREAM_ITEMS_SCHEMA(                                                                        \
        "tools", UPSTREAM_CALL_SCHEMA,                                                            \
        "Other names (after the prefix), titles, descriptions and times for tools, "              \
        "by their names at the server")                                                           \
    UPSTREAM_ITEMS_SCHEMA("prompts", "", "Names, titles and descriptions for prompts")            \
    "\"rates\":{\"type\":\"array\",\"maxItems\":16,\"items\":{\"type\":\"object\","               \
    "\"additionalProperties\":false,\"required\":[\"per_minute\"],\"properties\":{\"tools\":{"    \
    "\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1,\"maxItems\":250},"        \
    "\"per_minute\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":4294967295},\"burst\":{"      \
    "\"type\":\"integer\",\"minimum\":1,\"maximum\":4294967295}}},\"description\":\"How many "    \
    "calls of these tools each principal may make in a minute; without tools, how many requests " \
    "except lists and completions. burst: how many of them at once; default: all\"},"

#endif
