/* The resource tools over all providers, with and without rules: they list exactly what
 * resources/list lists, read exactly what resources/read reads, and show nothing else.
 */
#define _GNU_SOURCE
#include "world.h"

static peer p;

static const char script[] =
    "mkdir -p docs/sub docs/many prompts; echo 'MARK(plan)' >docs/plan.txt; "
    "echo 'MARK(open)' >docs/open.md; echo 'MARK(key)' >docs/sub/a.key; "
    "printf '\\0\\1\\377MARK' >docs/blob.bin; printf '\\211PNG\\r\\n\\032\\n\\0' >docs/a.png; "
    "(cd docs/many; seq -f %03.0f 40 | xargs touch); "
    "git init -q -b main app; cd app; mkdir -p sub; echo 'MARK(secret)' >secret.key; "
    "echo 'MARK(open)' >open.md; echo 'MARK(deep)' >sub/deep.key; git add .; git commit -q -m "
    "first; git tag v1; echo 'MARK(open2)' >>open.md; git commit -q -a -m second; cd "
    "..; " SHOP_SCRIPT;

/* ---- asking ---------------------------------------------------------------------------------- */

static mcp_json_doc *last;

/* Returns the result, valid until the next request, or NULL after an error. */
static const mcp_json *result_of(const char *method, const char *params)
{
    const char *reply = ask_any(&p, method, params);
    mcp_json_free(last);
    last = NULL;
    assert_int_equal(mcp_json_parse(mcp_str_from(reply), NULL, NULL, &last, NULL), MCP_OK);
    return mcp_json_get(mcp_json_root(last), "result");
}

static const mcp_json *call(const char *tool, const char *arguments)
{
    char params[4096 + 64];
    snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":{%s}", tool, arguments);
    const mcp_json *result = result_of(CALL, params);
    assert_non_null(result);
    return result;
}

static bool failed(const mcp_json *result)
{
    return mcp_json_bool(mcp_json_get(result, "isError"), false);
}

typedef struct uris {
    char *items[200];
    size_t n;
} uris;

static void add_all(uris *to, const mcp_json *list, const char *key)
{
    mcp_json_iter it = {0};
    for (const mcp_json *one; (one = mcp_json_next(list, &it, NULL)) != NULL; to->n++) {
        assert_true(to->n < COUNT(to->items));
        to->items[to->n] = strdup(mcp_json_string(mcp_json_get(one, key)).ptr);
    }
}

static void forget(uris *u)
{
    for (size_t i = 0; i < u->n; i++)
        free(u->items[i]);
    u->n = 0;
}

/* Reads all pages of a list, or all pages that a tool returns. */
static void all_pages(uris *to, bool tool, const char *what, const char *array, const char *key,
                      const char *arguments)
{
    char cursor[2000] = "", params[4096];
    do {
        snprintf(params, sizeof(params), "%s%s%s%s%s", arguments, *arguments && *cursor ? "," : "",
                 *cursor ? "\"cursor\":\"" : "", cursor, *cursor ? "\"" : "");
        const mcp_json *result = tool ? call(what, params) : result_of(what, params);
        assert_non_null(result);
        assert_false(failed(result));
        if (tool)
            result = mcp_json_get(result, "structuredContent");
        add_all(to, mcp_json_get(result, array), key);
        mcp_str next = mcp_json_string(mcp_json_get(result, tool ? "cursor" : "nextCursor"));
        snprintf(cursor, sizeof(cursor), "%.*s", (int)next.len, next.ptr ? next.ptr : "");
    } while (*cursor);
}

static void expect_same(const uris *a, const uris *b, const char *what)
{
    if (a->n != b->n)
        fail_msg("%s: %zu and %zu", what, a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        assert_string_equal(a->items[i], b->items[i]);
}

/* ---- the properties -------------------------------------------------------------------------- */

static const rule open_to_all[] = {{true, "**"}};
static const rule no_keys[] = {{false, "**/*.key"}, {false, "sqlite://shop/customer**"}};
static const rule only_md[] = {{false, "**"}, {true, "**/*.md"}, {true, "note:**"}};
static const rule no_files[] = {{false, "file:**"}};
static const rule nothing[] = {{false, "**"}};

static const struct {
    const rule *rules;
    size_t n;
} sets[] = {{open_to_all, 1}, {no_keys, 2}, {only_md, 3}, {no_files, 1}, {nothing, 1}};

/* The lists are independent of the page size of the tool. */
static void check_lists(void)
{
    static const char *const limits[] = {"\"limit\":1", "\"limit\":7", "\"limit\":50",
                                         "\"limit\":1000"};
    uris listed = {.n = 0}, shown = {.n = 0};
    all_pages(&listed, false, LIST, "resources", "uri", "");
    for (size_t i = 0; i < COUNT(limits); i++) {
        all_pages(&shown, true, "list_resources", "entries", "uri", limits[i]);
        expect_same(&listed, &shown, limits[i]);
        forget(&shown);
    }
    forget(&listed);
    all_pages(&listed, false, "resources/templates/list", "resourceTemplates", "uriTemplate", "");
    for (size_t i = 0; i < COUNT(limits); i++) {
        char arguments[80];
        snprintf(arguments, sizeof(arguments), "\"templates\":true,%s", limits[i]);
        all_pages(&shown, true, "list_resources", "templates", "uriTemplate", arguments);
        expect_same(&listed, &shown, arguments);
        forget(&shown);
    }
    forget(&listed);
}

/* find_resources returns the entries of the list. */
static void check_find(void)
{
    uris listed = {.n = 0}, wanted = {.n = 0}, found = {.n = 0};
    all_pages(&listed, false, LIST, "resources", "uri", "");
    for (int of_files = 1; of_files >= 0; of_files--) /* in the order of the tool */
        for (size_t i = 0; i < listed.n; i++)
            if ((strncmp(listed.items[i], "file:", 5) == 0) == of_files &&
                strcmp(listed.items[i] + strlen(listed.items[i]) - 3, ".md") == 0)
                wanted.items[wanted.n++] = strdup(listed.items[i]);
    all_pages(&found, true, "find_resources", "entries", "uri", "\"name\":\"*.md\",\"limit\":1");
    expect_same(&wanted, &found, "*.md");
    forget(&found);
    all_pages(&found, true, "list_resources", "entries", "uri", "\"pattern\":\"*.md\"");
    expect_same(&wanted, &found, "*.md");
    forget(&found), forget(&wanted), forget(&listed);
}

/* Columns are found of tables that may be read alone. */
static void check_columns(void)
{
    uris found = {.n = 0};
    char params[2048];
    all_pages(&found, true, "find_resources", "entries", "uri", "\"name\":\"wor\",\"limit\":3");
    for (size_t i = 0; i < found.n; i++) {
        snprintf(params, sizeof(params), "\"uri\":\"%s\"", found.items[i]);
        if (!result_of(READ, params))
            fail_msg("%s cannot be read", found.items[i]);
    }
    forget(&found);
}

/* read_resource gives what resources/read gives, or fails as it does. */
static void check_read(const char *uri)
{
    char params[2048];
    snprintf(params, sizeof(params), "\"uri\":\"%s\"", uri);
    const mcp_json *content = mcp_json_at(mcp_json_get(result_of(READ, params), "contents"), 0);
    mcp_str text = mcp_json_string(mcp_json_get(content, "text"));
    mcp_str blob = mcp_json_string(mcp_json_get(content, "blob"));
    char *wanted = content ? strdup(text.ptr ? text.ptr : blob.ptr) : NULL;
    bool is_text = text.ptr != NULL;
    const mcp_json *result = call("read_resource", params);
    const mcp_json *got = mcp_json_at(mcp_json_get(result, "content"), 0);
    if (failed(result) != !wanted)
        fail_msg("%s: %s", uri, p.reply);
    if (wanted && !is_text && mcp_json_get(got, "resource"))
        got = mcp_json_get(got, "resource");
    const char *key = is_text ? "text" : mcp_json_get(got, "blob") ? "blob" : "data";
    if (wanted)
        assert_string_equal(mcp_json_string(mcp_json_get(got, key)).ptr, wanted);
    free(wanted);
}

static void check_reads(void)
{
    static const char *const more[] = {"git://app/-/log/HEAD",
                                       "git://app/-/log/HEAD/open.md?limit=1",
                                       "git://app/v1/open.md",
                                       "git://app/HEAD/secret.key?offset=2",
                                       "git://app/-/commit/main",
                                       "git://app/-/blame/HEAD/open.md",
                                       "sqlite://shop/customer/row/1",
                                       "sqlite://shop/sale/row/1",
                                       "sqlite://shop/sale/rows?limit=1",
                                       "note:own?from=1",
                                       "note:own?x=1",
                                       "git://app/none",
                                       "nothing:at/all",
                                       "no uri"};
    uris listed = {.n = 0};
    all_pages(&listed, false, LIST, "resources", "uri", "");
    for (size_t i = 0; i < listed.n; i++)
        check_read(listed.items[i]);
    forget(&listed);
    for (size_t i = 0; i < COUNT(more); i++)
        check_read(more[i]);
    static const char *const files[] = {"/docs/plan.txt?tail=1",
                                        "/docs/plan.txt?line=1&lines=1",
                                        "/docs?depth=2",
                                        "/docs/sub/a.key?%6cine=1",
                                        "/docs/none",
                                        "/docs/open.md?depth=1"};
    for (size_t i = 0; i < COUNT(files); i++) {
        char uri[200];
        snprintf(uri, sizeof(uri), "file://%s%s", top, files[i]);
        check_read(uri);
    }
}

/* Searches. Rows are asked for those that contain the text. */
static void search(uris *to, const char *arguments)
{
    all_pages(to, true, "search_resources", "files", "uri", arguments);
    for (size_t i = 0; i < to->n; i++) {
        char *query = strstr(to->items[i], "?contains=MARK%28");
        if (query)
            *query = 0;
    }
}

/* A search finds exactly the readable resources that contain the mark. */
static void check_search(void)
{
    uris listed = {.n = 0}, wanted = {.n = 0}, found = {.n = 0};
    char params[2048];
    all_pages(&listed, false, LIST, "resources", "uri", "");
    for (int of_files = 1; of_files >= 0; of_files--)
        for (size_t i = 0; i < listed.n; i++) {
            snprintf(params, sizeof(params), "\"uri\":\"%s\"", listed.items[i]);
            const mcp_json *content =
                mcp_json_at(mcp_json_get(result_of(READ, params), "contents"), 0);
            mcp_str text = mcp_json_string(mcp_json_get(content, "text"));
            mcp_str type = mcp_json_string(mcp_json_get(content, "mimeType"));
            if ((strncmp(listed.items[i], "file:", 5) == 0) == of_files && text.ptr &&
                strstr(text.ptr, "MARK(") && !mcp_str_eq(type, MCP_STR("inode/directory")))
                wanted.items[wanted.n++] = strdup(listed.items[i]);
        }
    search(&found, "\"query\":\"MARK(\"");
    expect_same(&wanted, &found, "MARK(");
    forget(&found);
    search(&found, "\"query\":\"MARK(\",\"limit\":1,\"per_file\":1");
    expect_same(&wanted, &found, "MARK( one by one");
    forget(&found), forget(&wanted), forget(&listed);
}

static void check_all(mcp_loop *loop)
{
    open_world(&p, loop);
    for (size_t i = 0; i < COUNT(sets); i++) {
        set_rules(&p, sets[i].rules, sets[i].n);
        check_lists();
        check_find();
        check_columns();
        check_reads();
        check_search();
    }
    mcp_json_free(last);
    last = NULL;
    close_world(&p);
}

static void test_at_once(void **state)
{
    (void)state;
    check_all(NULL);
}

static void test_with_workers(void **state)
{
    (void)state;
    check_all(new_loop());
}

/* Checks that there are resources for the other tests. */
static void test_what_is_there(void **state)
{
    (void)state;
    open_world(&p, NULL);
    call("search_resources", "\"query\":\"MARK(secret)\"");
    check_reply("search", p.reply, (const char *const[5]){"git://app/HEAD/secret.key"});
    call("search_resources", "\"query\":\"MARK(nowhere)\"");
    check_reply("search", p.reply,
                (const char *const[5]){"Resources of these templates are not searched"});
    call("list_resources", "\"limit\":1000");
    check_reply("list", p.reply,
                (const char *const[5]){"/docs/many/040", "git://app/HEAD/sub/deep.key",
                                       "sqlite://shop", "template\\t-\\tgit://app/-/log/",
                                       "note:{name}{?from,to}"});
    call("find_resources", "\"name\":\"sale\"");
    check_reply("find", p.reply,
                (const char *const[5]){"\"kind\":\"resource\",\"uri\":\"sqlite://shop/sale\""});
    call("find_resources", "\"name\":\"word\"");
    check_reply("find", p.reply, (const char *const[5]){"customer: column word"});
    call("read_resource", "\"uri\":\"sqlite://shop/sale/row/1\"");
    check_reply("read", p.reply,
                (const char *const[5]){"\"type\":\"text\",\"text\":\"{", "MARK(sale)"});
    mcp_json_free(last);
    last = NULL;
    close_world(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_there),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_with_workers),
    };
    return run_in_world(tests, .script = script);
}
