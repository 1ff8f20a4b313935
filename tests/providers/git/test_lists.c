/* Everything that is listed can be read: files with any name, templates with any of their
 * variables, pages of a tree that changes between them, repositories with any name. */
#define _GNU_SOURCE
#include "repository.h"

static peer p;

static const char *const names[] = {
    "new\nline", "tab\there", "quote\"s'",   "back\\slash", "%2F",  "%",
    "a?b#c",     "a&b=c",     "-x",          "--upload=x",  "...",  " ",
    "x ",        "\xFF",      "caf\xC3\xA9", "\x1b[31m",    "\x7f", "~",
    "@{1}",      "a:b",       "{rev}",       "*",           "HEAD",
};
enum { NAMES = sizeof(names) / sizeof(*names) };

/* Sends a request and returns the reply as JSON, which the caller frees. */
static mcp_json_doc *asked(const char *method, const char *params)
{
    mcp_json_doc *doc = NULL;
    const char *reply = ask(&p, method, params);
    if (mcp_json_parse(mcp_str_from(reply), NULL, NULL, &doc, NULL) != MCP_OK ||
        !mcp_json_get(mcp_json_root(doc), "result"))
        fail_msg("%s {%s}: %.1000s", method, params, reply);
    return doc;
}

static const mcp_json *result(const mcp_json_doc *doc, const char *key)
{
    return mcp_json_get(mcp_json_get(mcp_json_root(doc), "result"), key);
}

/* Reads a URI as it is given. The content is stored in *text and belongs to the returned document. */
static mcp_json_doc *read_it(const char *uri, mcp_str *text)
{
    char params[4096];
    snprintf(params, sizeof(params), "\"uri\":\"%s\"", uri); /* a URI needs no escaping in JSON */
    mcp_json_doc *doc = asked("resources/read", params);
    *text = mcp_json_string(mcp_json_get(mcp_json_at(result(doc, "contents"), 0), "text"));
    return doc;
}

static void open_peer(const char *name)
{
    if (peer_open(&p, name, &(mcp_git_options){0}, NULL, NULL) != MCP_OK)
        fail_msg("%s: %s", name, p.error.text);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void make_names(void)
{
    char path[512], text[32];
    for (int i = 0; i < NAMES; i++) {
        snprintf(path, sizeof(path), "%s/r/names/%s", top, names[i]);
        snprintf(text, sizeof(text), "name %d", i);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
    }
}

/* Each name must be found once in the folder and once in the list. */
static void check_names(const mcp_json *entries, bool seen[NAMES])
{
    for (size_t i = 0; i < mcp_json_count(entries); i++) {
        char uri[1024];
        mcp_str text, given = mcp_json_string(mcp_json_get(mcp_json_at(entries, i), "uri"));
        snprintf(uri, sizeof(uri), "%.*s", (int)given.len, given.ptr);
        if (!strstr(uri, "/names/"))
            continue;
        mcp_json_doc *doc = read_it(uri, &text);
        assert_true(text.len > 5 && memcmp(text.ptr, "name ", 5) == 0);
        size_t which = strtoul(text.ptr + 5, NULL, 10);
        assert_true(which < NAMES && !seen[which]);
        seen[which] = true;
        mcp_json_free(doc);
    }
}

static void check_all_seen(bool seen[NAMES])
{
    for (int i = 0; i < NAMES; i++)
        if (!seen[i])
            fail_msg("%s was not listed", names[i]);
    memset(seen, 0, NAMES * sizeof(*seen));
}

static bool next_page(const mcp_json_doc *page, char cursor[2048])
{
    mcp_str next = mcp_json_string(result(page, "nextCursor"));
    snprintf(cursor, 2048, "\"cursor\":\"%.*s\"", (int)next.len, next.len ? next.ptr : "");
    return next.len > 0;
}

static void test_names(void **state)
{
    bool seen[NAMES] = {false}, more;
    char cursor[2048] = "";
    mcp_str text;
    mcp_json_doc *doc, *folder;
    (void)state;
    open_peer("r");
    do {
        doc = asked("resources/list", cursor);
        check_names(result(doc, "resources"), seen);
        more = next_page(doc, cursor);
        mcp_json_free(doc);
    } while (more);
    check_all_seen(seen);
    doc = read_it("git://r/HEAD/names", &text);
    assert_int_equal(mcp_json_parse(text, NULL, NULL, &folder, NULL), MCP_OK);
    check_names(mcp_json_get(mcp_json_root(folder), "entries"), seen);
    check_all_seen(seen);
    mcp_json_free(folder);
    mcp_json_free(doc);
    peer_close(&p);
}

/* ---- pages of a tree that changes ------------------------------------------------------------ */

/* Before each page the tree of HEAD changes. Entries that exist all the time are listed once, and
 * so are those that are added after the position. The entry that the position names may be removed. */
static void test_moving(void **state)
{
    static const char *const changes[] = {
        "true", /* nothing changes before the first three pages */
        "true",
        "true",
        /* removes the entry of the position; adds entries before and after it */
        "git rm -q a.txt; echo 0 >0; echo b >b",
        "git rm -q -r d; echo c >c", /* removes the folder of the position */
        "echo h >h; echo c2 >c",
    };
    char seen[512] = "", cursor[2048] = "", command[256];
    bool more = true;
    (void)state;
    sh("git clone -q r m; cd m; git rm -q -r names; mkdir d; echo x >d/x; echo y >d/y; echo z "
       ">d/z; "
       "for f in e f g; do echo $f >$f; done; git add .; git commit -q -m moving");
    p.page_size = 2;
    open_peer("m");
    for (size_t page = 0; more; page++) {
        assert_true(page < sizeof(changes) / sizeof(*changes));
        snprintf(command, sizeof(command),
                 "cd m; %s; git add .; git commit -q --allow-empty -m change", changes[page]);
        sh(command);
        mcp_json_doc *doc = asked("resources/list", cursor);
        for (size_t i = 0; i < mcp_json_count(result(doc, "resources")); i++) {
            mcp_str uri =
                mcp_json_string(mcp_json_get(mcp_json_at(result(doc, "resources"), i), "uri"));
            strncat(seen, uri.ptr + sizeof("git://m") - 1, uri.len - sizeof("git://m") + 1);
            strcat(seen, " ");
        }
        more = next_page(doc, cursor);
        mcp_json_free(doc);
    }
    assert_string_equal(seen,
                        "/ /-/log/HEAD /-/branches /-/tags /-/status /HEAD/a.txt /HEAD/b /HEAD/d "
                        "/HEAD/e /HEAD/f /HEAD/g /HEAD/h ");
    peer_close(&p);
    p.page_size = 0;
}

/* ---- templates ------------------------------------------------------------------------------- */

static void check_template(const char *text, const char *values)
{
    mcp_uri_template *t;
    mcp_json_doc *given;
    mcp_str said;
    char *uri;
    assert_int_equal(mcp_uri_template_parse(mcp_str_from(text), NULL, &t, NULL), MCP_OK);
    assert_int_equal(mcp_json_parse(mcp_str_from(values), NULL, NULL, &given, NULL), MCP_OK);
    assert_int_equal(mcp_uri_template_expand_json(t, mcp_json_root(given), NULL, &uri, NULL),
                     MCP_OK);
    mcp_json_free(read_it(uri, &said));
    free(uri);
    mcp_json_free(given);
    mcp_uri_template_free(t);
}

static void check_completion(const char *text)
{
    static const char *const variables[] = {"rev", "from", "to", "path"};
    for (size_t i = 0; i < 4; i++) {
        char params[512], name[32];
        snprintf(name, sizeof(name), "%s}", variables[i]);
        if (!strstr(text, name))
            continue;
        snprintf(params, sizeof(params),
                 "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"%s\"},\"argument\":{\"name\":\"%s\","
                 "\"value\":\"\"},\"context\":{\"arguments\":{\"rev\":\"feature/one\"}}",
                 text, variables[i]);
        mcp_json_doc *doc = asked("completion/complete", params);
        assert_true(mcp_json_count(mcp_json_get(result(doc, "completion"), "values")) > 1);
        mcp_json_free(doc);
    }
}

/* Tests each listed template with all of its variables and without the optional ones. */
static void test_templates(void **state)
{
#define REVS                                                    \
    "\"rev\":\"feature/one\",\"from\":\"v1\",\"to\":\"feature/" \
    "one\",\"path\":\"a.txt\",\"range\":\"v1..feature/one\",\"text\":\"n\""
    static const char *const values[] = {
        "{" REVS "}",
        "{" REVS ",\"length\":2,\"limit\":1,\"line\":1}",
        "{" REVS ",\"offset\":1,\"lines\":1,\"limit\":1}",
        "{" REVS ",\"offset\":1,\"length\":1,\"line\":1,\"lines\":1}",
        "{" REVS ",\"format\":\"text\"}",
    };
    (void)state;
    p.page_size = 50;
    open_peer("r");
    mcp_json_doc *doc = asked("resources/templates/list", "");
    const mcp_json *all = result(doc, "resourceTemplates");
    assert_true(mcp_json_count(all) >= 5);
    for (size_t i = 0; i < mcp_json_count(all); i++) {
        mcp_str given = mcp_json_string(mcp_json_get(mcp_json_at(all, i), "uriTemplate"));
        char text[256];
        snprintf(text, sizeof(text), "%.*s", (int)given.len, given.ptr);
        for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++)
            check_template(text, values[k]);
        if (!strstr(text, "blame")) /* blame exists for files only */
            check_template(text, "{\"rev\":\"HEAD\",\"from\":\"v1\",\"to\":\"HEAD\",\"path\":\"\","
                                 "\"range\":\"v1...HEAD\",\"regex\":\"n\"}");
        check_completion(text);
    }
    mcp_json_free(doc);
    check_reply("order", read_uri(&p, "r/HEAD/a.txt?length=2&offset=1"),
                (const char *const[5]){"\"ne\""});
    check_reply("fragment", read_uri(&p, "r/HEAD/a.txt#x"), (const char *const[5]){"-32602"});
    peer_close(&p);
    p.page_size = 0;
}

/* ---- the repository's own name --------------------------------------------------------------- */

static void test_spellings(void **state)
{
    static const struct {
        const char *path, *name;
    } cases[] = {{"r/", "r"},      {"./r", "r"},      {"r//", "r"},          {"names/../r", "r"},
                 {"link", "link"}, {"link/", "link"}, {"r/.git", "r"},       {"r/.git/", "r"},
                 {"b.git", "b"},   {"b.git/", "b"},   {"gitlink", "gitlink"}};
    (void)state;
    sh("mkdir names; ln -s r link; git clone -q --bare r b.git; ln -s r/.git gitlink");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char rest[64];
        open_peer(cases[i].path);
        snprintf(rest, sizeof(rest), "%s/HEAD/a.txt", cases[i].name);
        check_reply(cases[i].path, read_uri(&p, rest), (const char *const[5]){"\"text\":\"one"});
        peer_close(&p);
    }
}

static int setup(void **state)
{
    (void)state;
    make_top();
    sh("git init -q -b main r; mkdir r/names; printf 'one\\n' >r/a.txt");
    make_names();
    sh("cd r; git add .; git commit -q -m first; git tag v1; git branch feature/one");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_moving),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_spellings),
    };
    return cmocka_run_group_tests(tests, setup, teardown_top);
}
