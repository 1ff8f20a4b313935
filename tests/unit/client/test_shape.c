/* Compares the table of shapes with the official schemas: for generated results and params of every
 * method and revision, as they are and with one mutation, protocol/shape.c and the validator of
 * JSON Schema give the same verdict. Also: what the table accepts beyond the schemas, and the texts.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include <mcp/schema.h>

#include "json/json.h"
#include "protocol/shape.h"
#include "support/dice.h"
#include "support/rounds.h"

enum { ROUNDS = 16000 };

static const struct {
    const char *method, *definition;
    bool params;
} kinds[] = {
    {"initialize", "InitializeResult", false},
    {"server/discover", "DiscoverResult", false},
    {"resources/list", "ListResourcesResult", false},
    {"resources/templates/list", "ListResourceTemplatesResult", false},
    {"resources/read", "ReadResourceResult", false},
    {"prompts/list", "ListPromptsResult", false},
    {"prompts/get", "GetPromptResult", false},
    {"tools/list", "ListToolsResult", false},
    {"tools/call", "CallToolResult", false},
    {"completion/complete", "CompleteResult", false},
    {"tasks/get", "GetTaskResult", false},
    {"tasks/cancel", "CancelTaskResult", false},
    {"tasks/list", "ListTasksResult", false},
    {"tasks/result", "CallToolResult", false},
    {"task", "CreateTaskResult", false},
    {"subscriptions/listen", "SubscriptionsListenResult", false},
    {"input_required", "InputRequiredResult", false},
    {"ping", "EmptyResult", false},
    {"sampling/createMessage", "CreateMessageRequest", true},
    {"elicitation/create", "ElicitRequest", true},
    {"roots/list", "ListRootsRequest", true},
    {"notifications/cancelled", "CancelledNotification", true},
    {"notifications/elicitation/complete", "ElicitationCompleteNotification", true},
    {"notifications/message", "LoggingMessageNotification", true},
    {"notifications/progress", "ProgressNotification", true},
    {"notifications/prompts/list_changed", "PromptListChangedNotification", true},
    {"notifications/resources/list_changed", "ResourceListChangedNotification", true},
    {"notifications/resources/updated", "ResourceUpdatedNotification", true},
    {"notifications/subscriptions/acknowledged", "SubscriptionsAcknowledgedNotification", true},
    {"notifications/tasks/status", "TaskStatusNotification", true},
    {"notifications/tools/list_changed", "ToolListChangedNotification", true},
};

/* ---- the schemas ----------------------------------------------------------------------------- */

static mcp_json_doc *official[MCP__REVISIONS];
static const mcp_json *definitions[MCP__REVISIONS];

static mcp_json_doc *parse(const char *text, size_t len)
{
    const mcp_json_limits limits = {.size = sizeof(limits), .max_bytes = len, .max_depth = 64};
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    if (mcp_json_parse((mcp_str){text, len}, &limits, NULL, &doc, &error) != MCP_OK)
        fail_msg("%s in %.*s", error.text, (int)MCP__MIN(len, (size_t)400), text);
    return doc;
}

static int load_schemas(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__REVISIONS; i++) {
        static char text[1 << 18];
        char path[512];
        snprintf(path, sizeof(path), MCP_TEST_SOURCE_DIR "/support/schema/%s.json",
                 mcp__revisions[i].name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue; /* a revision that tests/one_more_revision.cmake adds */
        size_t len = fread(text, 1, sizeof(text), file);
        assert_int_equal(fclose(file), 0);
        official[i] = parse(text, len);
        const mcp_json *root = mcp_json_root(official[i]);
        definitions[i] = mcp_json_get(root, "$defs");
        if (!definitions[i])
            definitions[i] = mcp_json_get(root, "definitions");
        assert_non_null(definitions[i]);
    }
    return 0;
}

static int free_schemas(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__REVISIONS; i++)
        mcp_json_free(official[i]);
    return 0;
}

#define BASE64 "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"

/* Copies a schema with what the client accepts beyond it, and with Base64 as a pattern. The keys are
 * those of the value, of its container, and of the one above. */
static void put_lenient(mcp_json_writer *w, const mcp_json *v, mcp_str key, mcp_str up, mcp_str top)
{
    const mcp_str properties = MCP_STR("properties");
    bool is_tool =
        mcp_str_eq(top, MCP_STR("inputSchema")) || mcp_str_eq(top, MCP_STR("outputSchema"));
    bool is_required = mcp_str_eq(key, MCP_STR("required"));
    mcp_json_iter it = {0};
    mcp_str name;
    if (mcp_str_eq(key, MCP_STR("JSONValue"))) {
        mcp_json_add_bool(w, true);
    } else if (mcp_str_eq(key, MCP_STR("PrimitiveSchemaDefinition")) ||
               (mcp_str_eq(key, properties) && mcp_str_eq(up, properties) && is_tool)) {
        mcp_json_add_raw(w, MCP_STR("{\"type\":\"object\"}"));
    } else if (mcp_str_eq(key, MCP_STR("type")) && mcp_str_eq(up, properties) &&
               mcp_str_eq(top, MCP_STR("outputSchema"))) {
        mcp_json_add_bool(w, true);
    } else if (mcp_str_eq(key, MCP_STR("ttlMs"))) {
        mcp_json_add_raw(w, MCP_STR("{\"type\":\"integer\"}"));
    } else if (mcp_json_is(v, MCP_JSON_ARRAY)) {
        mcp_json_begin_array(w);
        for (const mcp_json *e; (e = mcp_json_next(v, &it, NULL)) != NULL;) {
            mcp_str word = mcp_json_string(e);
            bool is_optional =
                mcp_str_eq(word, MCP_STR("resultType")) || mcp_str_eq(word, MCP_STR("ttlMs")) ||
                mcp_str_eq(word, MCP_STR("cacheScope")) ||
                (mcp_str_eq(word, MCP_STR("text")) &&
                 mcp_str_eq(up, MCP_STR("TextResourceContents"))) ||
                (mcp_str_eq(word, MCP_STR("type")) && mcp_str_eq(up, MCP_STR("outputSchema")));
            if (!is_required || !is_optional)
                put_lenient(w, e, (mcp_str){0}, key, up);
        }
        mcp_json_end(w);
    } else if (mcp_json_is(v, MCP_JSON_OBJECT)) {
        mcp_json_begin_object(w);
        for (const mcp_json *m; (m = mcp_json_next(v, &it, &name)) != NULL;) {
            bool is_base64 = mcp_str_eq(mcp_json_string(m), MCP_STR("byte"));
            if (mcp_str_eq(name, MCP_STR("description")) && mcp_json_is(m, MCP_JSON_STRING))
                continue;
            mcp_json_key_str(w, is_base64 ? MCP_STR("pattern") : name);
            if (is_base64)
                mcp_json_add_string(w, BASE64);
            else
                put_lenient(w, m, name, key, up);
        }
        if (mcp_str_eq(key, properties) && mcp_str_eq(up, MCP_STR("TextResourceContents"))) {
            mcp_json_key(w, "blob");
            mcp_json_add_raw(w, MCP_STR("{\"type\":\"string\",\"pattern\":\"" BASE64 "\"}"));
        }
        mcp_json_end(w);
    } else {
        mcp_json_add_value(w, v);
    }
}

/* The schema of one kind as a document of its own, whose first member refers to it. */
static mcp_json_doc *schema_of(size_t revision, size_t kind, mcp_schema **model)
{
    mcp_error why = {0};
    const mcp_json *root = mcp_json_root(official[revision]);
    const char *defs = mcp_json_get(root, "$defs") ? "$defs" : "definitions";
    char ref[200];
    mcp_str text;
    snprintf(ref, sizeof(ref), "#/%s/%s%s", defs, kinds[kind].definition,
             kinds[kind].params ? "/properties/params" : "");
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_key(w, "allOf");
    mcp_json_begin_array(w);
    mcp_json_begin_object(w);
    mcp_json_key(w, "$ref");
    mcp_json_add_string(w, ref);
    mcp_json_end(w);
    mcp_json_end(w);
    mcp_json_key(w, "$schema");
    mcp_json_add_value(w, mcp_json_get(root, "$schema"));
    mcp_json_key(w, defs);
    put_lenient(w, definitions[revision], (mcp_str){0}, (mcp_str){0}, (mcp_str){0});
    mcp_json_end(w);
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
    if (mcp_schema_compile_text(NULL, text, NULL, model, &why) != MCP_OK)
        fail_msg("%s: %s", kinds[kind].definition, why.text);
    mcp_json_doc *doc = parse(text.ptr, text.len);
    mcp_json_writer_free(w);
    return doc;
}

/* ---- generated values ------------------------------------------------------------------------ */

/* A value is written twice: as the server sends it, and as it is meant, without a null for an absent
 * member. */
typedef struct gen {
    const mcp_json *defs;
    mcp_json_writer *sent, *meant;
    unsigned node, target; /* the value to mutate; 0 means none */
} gen;

static void put_raw(gen *g, mcp_str json)
{
    mcp_json_add_raw(g->sent, json);
    mcp_json_add_raw(g->meant, json);
}

static void put_key(gen *g, mcp_str key)
{
    mcp_json_key_str(g->sent, key);
    mcp_json_key_str(g->meant, key);
}

static void begin(gen *g, bool object)
{
    void (*fn)(mcp_json_writer * w) = object ? mcp_json_begin_object : mcp_json_begin_array;
    fn(g->sent);
    fn(g->meant);
}

static void end(gen *g)
{
    mcp_json_end(g->sent);
    mcp_json_end(g->meant);
}

/* Writes any value but null. */
static void put_other(gen *g)
{
    static const char *const values[] = {
        "false",      "true",
        "{}",         "[]",
        "\"zz\"",     "-1",
        "0",          "2",
        "1.5",        "3.0",
        "1e30",       "255",
        "[null]",     "\"\"",
        "[\"a\"]",    "{\"type\":\"zz\"}",
        "\"%\"",      "\"QQ==\"",
        "\"QR==\"",   "\"QQ\"",
        "[5]",        "123456789012345678901234567890",
        "-1e400",     "[{}]",
        "{\"a\":{}}", "{\"a\":null}",
    };
    enum { N = sizeof(values) / sizeof(values[0]) };
    unsigned i = dice(N + 1);
    if (i < N) {
        put_raw(g, mcp_str_from(values[i]));
        return;
    }
    begin(g, false);
    for (i = 0; i < 101; i++)
        put_raw(g, MCP_STR("\"a\""));
    end(g);
}

static void put_any(gen *g)
{
    if (dice(20))
        put_other(g);
    else
        put_raw(g, MCP_STR("null"));
}

static void put_value(gen *g, const mcp_json *schema);

static void put_entry(gen *g, const mcp_json *schema)
{
    if (++g->node == g->target)
        put_any(g);
    else
        put_value(g, schema);
}

static void put_member(gen *g, mcp_str key, const mcp_json *schema, bool is_required)
{
    if (++g->node != g->target) {
        put_key(g, key);
        put_value(g, schema);
        return;
    }
    switch (dice(4)) {
    case 0: return;
    case 1:
        mcp_json_key_str(g->sent, key);
        mcp_json_add_null(g->sent);
        if (is_required && !mcp_str_eq(key, MCP_STR("blob"))) {
            mcp_json_key_str(g->meant, key);
            mcp_json_add_null(g->meant);
        }
        return;
    default: break;
    }
    put_key(g, key);
    put_other(g);
}

static bool has_word(const mcp_json *array, mcp_str word)
{
    mcp_json_iter it = {0};
    for (const mcp_json *e; (e = mcp_json_next(array, &it, NULL)) != NULL;) {
        if (mcp_str_eq(mcp_json_string(e), word))
            return true;
    }
    return false;
}

static const mcp_json *resolve(const gen *g, const mcp_json *schema)
{
    for (mcp_str ref; (ref = mcp_json_string(mcp_json_get(schema, "$ref"))).ptr;) {
        const mcp_json *v = g->defs;
        size_t at = 2; /* after "#/" and the name of the definitions */
        while (at < ref.len && ref.ptr[at] != '/')
            at++;
        while (++at < ref.len) {
            size_t from = at;
            while (at < ref.len && ref.ptr[at] != '/')
                at++;
            v = mcp_json_get_str(v, (mcp_str){ref.ptr + from, at - from});
        }
        assert_non_null(v);
        schema = v;
    }
    return schema;
}

static void put_members(gen *g, const mcp_json *schema, bool is_last)
{
    const mcp_json *required = mcp_json_get(schema, "required");
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *m, *all = mcp_json_get(schema, "properties");
         (m = mcp_json_next(all, &it, &key)) != NULL;) {
        bool is_required = has_word(required, key);
        if (is_required || dice(2))
            put_member(g, key, m, is_required);
    }
    const mcp_json *rest = mcp_json_get(schema, "additionalProperties");
    for (unsigned i = 0, n = is_last ? dice(3) : 0; i < n; i++) {
        put_key(g, i ? MCP_STR("unknown") : MCP_STR("other/key~"));
        if (mcp_json_is(rest, MCP_JSON_OBJECT))
            put_entry(g, rest);
        else
            put_any(g);
    }
}

static void put_array(gen *g, const mcp_json *schema)
{
    begin(g, false);
    for (unsigned n = dice(3); n; n--)
        put_entry(g, mcp_json_get(schema, "items"));
    end(g);
}

static void put_string(gen *g, const mcp_json *schema)
{
    static const char *const base64[] = {"\"\"", "\"QQ==\"", "\"QUI=\"", "\"QUJD+/==\"",
                                         "\"QUJD\""};
    const mcp_json *word = mcp_json_get(schema, "const"), *words = mcp_json_get(schema, "enum");
    if (!word && words)
        word = mcp_json_at(words, dice((unsigned)mcp_json_count(words)));
    if (word) {
        mcp_json_add_value(g->sent, word);
        mcp_json_add_value(g->meant, word);
    } else if (mcp_json_get(schema, "pattern")) {
        unsigned i = dice(5);
        put_raw(g, mcp_str_from(base64[i == 3 ? 4 : i]));
    } else {
        put_raw(g, MCP_STR("\"some text\""));
    }
}

static void put_value(gen *g, const mcp_json *schema)
{
    schema = resolve(g, schema);
    const mcp_json *any = mcp_json_get(schema, "anyOf"), *all = mcp_json_get(schema, "allOf");
    const mcp_json *type = mcp_json_get(schema, "type");
    if (any) {
        put_value(g, mcp_json_at(any, dice((unsigned)mcp_json_count(any))));
        return;
    }
    if (all && mcp_json_count(all) == 1) {
        put_value(g, mcp_json_at(all, 0));
        return;
    }
    if (mcp_json_is(type, MCP_JSON_ARRAY))
        type = mcp_json_at(type, dice((unsigned)mcp_json_count(type)));
    mcp_str name = mcp_json_string(type);
    if (all) {
        begin(g, true);
        for (size_t i = 0; i < mcp_json_count(all); i++)
            put_members(g, resolve(g, mcp_json_at(all, i)), i + 1 == mcp_json_count(all));
        end(g);
    } else if (mcp_str_eq(name, MCP_STR("object"))) {
        begin(g, true);
        put_members(g, schema, true);
        end(g);
    } else if (mcp_str_eq(name, MCP_STR("array"))) {
        put_array(g, schema);
    } else if (mcp_str_eq(name, MCP_STR("string"))) {
        put_string(g, schema);
    } else if (mcp_str_eq(name, MCP_STR("integer"))) {
        put_raw(g, dice(2) ? MCP_STR("7") : MCP_STR("12.0"));
    } else if (mcp_str_eq(name, MCP_STR("number"))) {
        put_raw(g, dice(2) ? MCP_STR("0.25") : MCP_STR("1"));
    } else if (mcp_str_eq(name, MCP_STR("boolean"))) {
        put_raw(g, MCP_STR("true"));
    } else if (mcp_str_eq(name, MCP_STR("null"))) {
        put_raw(g, MCP_STR("null"));
    } else {
        put_any(g);
    }
}

/* ---- the property ---------------------------------------------------------------------------- */

typedef struct subject {
    size_t revision, kind;
    const mcp_json *schema;
    const mcp_schema *model;
    unsigned refused;
} subject;

static int verdict(const subject *s, const mcp_json *v, mcp_error *error)
{
    const mcp__revision *r = &mcp__revisions[s->revision];
    mcp_str method = mcp_str_from(kinds[s->kind].method);
    return kinds[s->kind].params ? mcp__shape_params(r, method, v, error)
                                 : mcp__shape_result(r, method, v, error);
}

/* Makes a value, and returns the number of its parts. */
static unsigned judge(subject *s, unsigned target)
{
    const mcp_json *defs = mcp_json_get(s->schema, "$defs");
    mcp_error error = {0}, why = {0};
    mcp_str sent, meant;
    gen g = {.defs = defs ? defs : mcp_json_get(s->schema, "definitions"),
             .sent = mcp_json_writer_new(NULL, 0),
             .meant = mcp_json_writer_new(NULL, 0),
             .target = target};
    put_entry(&g, s->schema);
    assert_int_equal(mcp_json_writer_finish(g.sent, &sent), MCP_OK);
    assert_int_equal(mcp_json_writer_finish(g.meant, &meant), MCP_OK);
    mcp_json_doc *a = parse(sent.ptr, sent.len), *b = parse(meant.ptr, meant.len);
    int expected = mcp_schema_validate(s->model, mcp_json_root(b), &why);
    int rc = verdict(s, mcp_json_root(a), &error);
    if ((rc == MCP_OK) != (expected == MCP_OK) || (!target && rc != MCP_OK))
        fail_msg("%s of %s: \"%s\", but the schema says \"%s\", about %.*s, meant as %.*s",
                 kinds[s->kind].method, mcp__revisions[s->revision].name, error.text, why.text,
                 (int)sent.len, sent.ptr, (int)meant.len, meant.ptr);
    s->refused += rc != MCP_OK;
    mcp_json_free(a);
    mcp_json_free(b);
    mcp_json_writer_free(g.sent);
    mcp_json_writer_free(g.meant);
    return g.node;
}

static void judge_kind(size_t revision, size_t kind)
{
    if (!definitions[revision] || !mcp_json_get(definitions[revision], kinds[kind].definition))
        return;
    mcp_schema *model = NULL;
    mcp_json_doc *doc = schema_of(revision, kind, &model);
    subject s = {.revision = revision, .kind = kind, .schema = mcp_json_root(doc), .model = model};
    for (unsigned i = 0; i < rounds(ROUNDS / 80); i++) {
        uint64_t before = chance;
        unsigned parts = judge(&s, 0);
        chance = before;
        /* Without params, those of roots/list are absent. */
        unsigned first = kinds[kind].params ? 2 : 1;
        if (parts >= first)
            judge(&s, first + (unsigned)(before >> 20) % (parts - first + 1));
    }
    assert_true(s.refused > 0 || kinds[kind].params);
    mcp_schema_free(model);
    mcp_json_free(doc);
}

static void the_table_and_the_schemas_agree(void **state)
{
    (void)state;
    for (size_t r = 0; r < MCP__REVISIONS; r++) {
        for (size_t k = 0; k < MCP__COUNT(kinds); k++)
            judge_kind(r, k);
    }
}

/* ---- places, texts, and what the schemas do not say ------------------------------------------ */

static void check(unsigned row, const char *method, bool params, const char *json,
                  const char *expected)
{
    mcp_error error = {0};
    mcp_json_doc *doc = parse(json, strlen(json));
    const mcp__revision *r = &mcp__revisions[row];
    mcp_str name = mcp_str_from(method);
    int rc = params ? mcp__shape_params(r, name, mcp_json_root(doc), &error)
                    : mcp__shape_result(r, name, mcp_json_root(doc), &error);
    assert_string_equal(error.text, expected);
    assert_int_equal(rc, *expected ? MCP_EPROTOCOL : MCP_OK);
    mcp_json_free(doc);
}

static void the_error_says_where_and_what(void **state)
{
    enum { NEW = MCP__ROW_2025_11_25, OLD = MCP__ROW_2024_11_05 };
    (void)state;
    check(NEW, "tools/call", false, "{}", "/result/content: expected array, got nothing");
    check(NEW, "tools/call", false, "[5]", "/result: expected object, got array");
    check(NEW, "tools/call", false, "{\"content\":\"x\"}",
          "/result/content: expected array, got string");
    check(NEW, "tools/call", false, "{\"content\":null}",
          "/result/content: expected array, got null");
    check(NEW, "tools/call", false, "{\"content\":[{\"type\":\"text\"}]}",
          "/result/content/0/text: expected string, got nothing");
    check(NEW, "tools/call", false,
          "{\"content\":[{\"type\":\"image\",\"data\":\"@\",\"mimeType\":\"a/b\"}]}",
          "/result/content/0/data: expected Base64, got another string");
    check(NEW, "tools/call", false, "{\"content\":[],\"isError\":null}", "");
    check(NEW, "tools/call", false, "{\"content\":[{\"type\":\"hologram\"}]}",
          "/result/content/0/type: expected \"audio\" or \"image\" or \"resource\" or "
          "\"resource_link\" or \"text\", got another string");
    check(NEW, "resources/read", false, "{\"contents\":[{\"uri\":\"a:b\",\"blob\":5}]}",
          "/result/contents/0/blob: expected Base64, got integer");
    check(NEW, "sampling/createMessage", true, "{\"messages\":[],\"maxTokens\":1.5}",
          "/params/maxTokens: expected integer, got another number");
    check(OLD, "sampling/createMessage", true,
          "{\"maxTokens\":5,\"messages\":[{\"role\":\"system\",\"content\":{}}]}",
          "/params/messages/0/role: expected \"assistant\" or \"user\", got \"system\"");
    check(NEW, "initialize", false,
          "{\"capabilities\":{\"experimental\":{\"a/b~\":1}},\"protocolVersion\":\"\"}",
          "/result/capabilities/experimental/a~1b~0: expected object, got integer");
    check(NEW, "resources/list", false,
          "{\"resources\":[{\"name\":\"a\",\"uri\":\"a:b\",\"annotations\":{\"priority\":2}}]}",
          "/result/resources/0/annotations/priority: expected number from 0 to 1, got another "
          "integer");
}

/* Servers send what their SDK knows, whatever revision was agreed on. */
static void contents_of_newer_revisions_pass_in_their_shape(void **state)
{
    (void)state;
    const char *link =
        "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\"}]}";
    check(MCP__ROW_2024_11_05, "tools/call", false, link, "");
    check(MCP__ROW_2025_03_26, "tools/call", false, link, "");
    check(MCP__ROW_2024_11_05, "tools/call", false,
          "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"a:b\"}]}",
          "/result/content/0/name: expected string, got nothing");
    check(MCP__ROW_2024_11_05, "prompts/get", false,
          "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"audio\",\"data\":\"\","
          "\"mimeType\":\"audio/wav\"}}]}",
          "");
}

static void entries_of_lists_are_checked_one_by_one(void **state)
{
    (void)state;
    const char *json =
        "{\"prompts\":[{\"name\":\"a\"},{\"name\":5},7,{\"name\":\"b\",\"title\":null}]}";
    const mcp__revision *r = &mcp__revisions[MCP__ROW_2025_06_18];
    const mcp_str method = MCP_STR("prompts/list"), array = MCP_STR("prompts");
    mcp_json_doc *doc = parse(json, strlen(json));
    const mcp_json *page = mcp_json_root(doc);
    bool bad[4] = {false};
    mcp_error error = {0};
    assert_int_equal(mcp__shape_result(r, method, page, NULL), MCP_EPROTOCOL);
    assert_int_equal(mcp__shape_page(r, method, array, page, &error), MCP_OK);
    assert_int_equal(mcp__shape_entries(r, method, array, page, bad, &error), 2);
    assert_string_equal(error.text, "/result/prompts/1/name: expected string, got integer");
    assert_false(bad[0] || bad[3]);
    assert_true(bad[1] && bad[2]);
    mcp_json_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_table_and_the_schemas_agree, load_schemas,
                                        free_schemas),
        cmocka_unit_test(the_error_says_where_and_what),
        cmocka_unit_test(contents_of_newer_revisions_pass_in_their_shape),
        cmocka_unit_test(entries_of_lists_are_checked_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
