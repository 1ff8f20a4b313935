/* fuzz_config.c: a configuration file. If it is accepted, its settings are within their limits, its
 * access rules decide every lookup, and each value has a position in the text. Otherwise errors
 * were reported. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <common/jsonc.h>

#include "access.h"
#include "config.h"
#include "oauth.h"

static size_t told;

static void require(int condition)
{
    if (!condition)
        abort();
}

static void tell(const char *line)
{
    told++;
    require(strncmp(line, "f.json:", 7) == 0 || strcmp(line, "out of memory") == 0);
}

static void look_at_settings(const settings *s)
{
    require(s->page_size <= 100000 && s->max_read <= (uint64_t)1 << 30);
    for (size_t i = 0; i < s->sources.count; i++)
        require(s->sources.items[i].text != NULL);
    for (size_t i = 0; i < s->modules.count; i++)
        require(s->modules.items[i][0] == '/');
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "anonymous", a static principal, and callers of an issuer with and without groups. */
static mcp_identity *callers[4];

static void make_callers(void)
{
    static const mcp_identity_options options[COUNT(callers)] = {
        {.size = sizeof(options[0]), .principal = "anonymous"},
        {.size = sizeof(options[0]), .principal = "alice"},
        {.size = sizeof(options[0]),
         .principal = "https://i#a",
         .issuer = "https://i",
         .scopes = "a b",
         .claims = "{\"sub\":\"a\",\"groups\":[\"g\",\"h\"]}"},
        {.size = sizeof(options[0]),
         .principal = "https://i#b",
         .issuer = "https://i",
         .claims = "{\"groups\":7}"},
    };
    for (size_t i = 0; i < COUNT(callers); i++)
        require(mcp_identity_new(&options[i], &callers[i], NULL) == MCP_OK);
}

/* Scopes are asked only of a caller of an issuer that lacks a part of them. */
static void ask_scopes(const mcp_identity *caller, mcp_item item, mcp_str name, access_rules *rules)
{
    const char *scopes = access_scopes(caller, item, name, rules);
    require(!scopes || !access_may(caller, item, name, rules));
    require(!scopes || (mcp_identity_issuer(caller) && !mcp_identity_has_scopes(caller, scopes)));
}

/* Nobody may change anything without a rule or a source that says so, and what must be named exactly
 * is never simply allowed. */
static void ask_changes(const mcp_identity *caller, mcp_item item, mcp_str name,
                        access_rules *rules, bool earlier)
{
    for (int k = MCP_OPERATION_CREATE; k <= MCP_OPERATION_COMMIT + 1; k++) {
        mcp_effect may = access_may_do(caller, (mcp_operation)k, item, name, 0, rules);
        mcp_effect exactly =
            access_may_do(caller, (mcp_operation)k, item, name, MCP_MAY_EXACT, rules);
        require(!earlier || may == MCP_EFFECT_DENY);
        require(exactly <= may && exactly != MCP_EFFECT_ALLOW);
        require(k <= MCP_OPERATION_COMMIT || may == MCP_EFFECT_DENY);
    }
}

/* Looks up fixed names and the whole input. The caller NULL must get the decisions of "anonymous". */
static void ask(access_rules *rules, notes *said, mcp_str text)
{
    static const char *const names[] = {"file:///f/docs/a", "tool", "stdio", ""};
    bool earlier = text.len < 5 ||
                   (!memmem(text.ptr, text.len, "operations", 10) &&
                    !memmem(text.ptr, text.len, "write", 5) && !memchr(text.ptr, '\\', text.len));
    for (int item = 0; item <= MCP_ITEM_TOOL; item++) {
        for (size_t i = 0; rules && i < sizeof(names) / sizeof(*names); i++) {
            mcp_str name = mcp_str_from(names[i]);
            bool may = access_may(NULL, (mcp_item)item, name, rules);
            require(may == access_may(callers[0], (mcp_item)item, name, rules));
            for (size_t k = 0; k < COUNT(callers); k++) {
                ask_scopes(callers[k], (mcp_item)item, name, rules);
                ask_changes(callers[k], (mcp_item)item, name, rules, earlier);
            }
        }
        for (size_t k = 0; rules && k < COUNT(callers); k++)
            ask_scopes(callers[k], (mcp_item)item, text, rules);
    }
    mcp_resource r = {.size = sizeof(r), .uri = names[0], .name = "a"};
    if (said)
        notes_apply(&r, said);
    require(strcmp(r.uri, names[0]) == 0);
}

/* Looks up the position of every value. */
static void find_all(const mcp_json *value, mcp_str text, char *pointer, size_t len)
{
    mcp_json_iter it = {0};
    mcp_str key = {0};
    size_t n = 0, last = jsonc_find(text, (mcp_str){pointer, len}, false);
    require(last < text.len);
    for (const mcp_json *v; (v = mcp_json_next(value, &it, &key)) != NULL && len < 200; n++) {
        bool object = mcp_json_is(value, MCP_JSON_OBJECT);
        if (object && (key.len > 30 ||
                       (key.len && (memchr(key.ptr, '/', key.len) ||
                                    memchr(key.ptr, '~', key.len) || memchr(key.ptr, 0, key.len)))))
            continue;
        size_t end =
            len + (size_t)(object ? snprintf(pointer + len, 40, "/%.*s", (int)key.len, key.ptr)
                                  : snprintf(pointer + len, 40, "/%zu", n));
        if (!object) {
            size_t at = jsonc_find(text, (mcp_str){pointer, end}, false);
            require(at > last || end > 240);
            last = at;
        }
        find_all(v, text, pointer, end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str text = {(const char *)data, size};
    config *c = NULL;
    settings s = {0};
    access_rules *rules = NULL;
    notes *said = NULL;
    mcp_error error = {0};
    char pointer[300] = "", *copy = malloc(size + 1);
    if (!copy)
        return 0;
    told = 0;
    if (!callers[0])
        make_callers();
    memcpy(copy, data, size);
    jsonc_strip(copy, size);
    if (config_read_text("f.json", "/f", text, tell, &c) != MCP_OK) {
        require(told > 0);
        free(copy);
        return 0;
    }
    require(told == 0);
    find_all(config_root(c), (mcp_str){copy, size}, pointer, 0);
    if (config_fill(c, &s) == MCP_OK && options_over(&s, &(settings){0}))
        look_at_settings(&s);
    require(oauth_check(c) == MCP_OK || told > 0);
    if (access_read(c, &s.sources, &rules, &error) == MCP_OK && notes_read(c, &said) == MCP_OK)
        ask(rules, said, text);
    notes_free(said);
    access_free(rules);
    options_clear(&s);
    config_free(c);
    free(copy);
    return 0;
}
