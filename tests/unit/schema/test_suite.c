/* The official JSON-Schema-Test-Suite, as Debian's libtest-json-schema-acceptance-perl installs
 * it: all required tests of both drafts, and the optional tests of supported features. Its remotes/
 * are registered under http://localhost:1234/. JSON_SCHEMA_TEST_SUITE can name another folder. */
#define _GNU_SOURCE
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <mcp/schema.h>

#define INSTALLED "/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance"

typedef struct suite {
    const char *root;
    const char *draft;
    mcp_schema_options options;
    mcp_schema_set *set;
    size_t files, tests, failed;
} suite;

static char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t cap = 1 << 20;
    char *text = malloc(cap);
    assert_non_null(text);
    *len = fread(text, 1, cap, f);
    assert_true(*len < cap);
    fclose(f);
    return text;
}

static const char *suite_root(void)
{
    const char *given = getenv("JSON_SCHEMA_TEST_SUITE");
    return given ? given : INSTALLED;
}

/* ---- remotes --------------------------------------------------------------------------------- */

/* Documents of other drafts are left out; no test here refers to them. */
static bool is_foreign(const char *name)
{
    return strncmp(name, "draft", 5) == 0 && strcmp(name, "draft2020-12") != 0 &&
           strcmp(name, "draft7") != 0;
}

static void add_remotes(mcp_schema_set *set, const char *dir, const char *uri)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    assert_non_null(d);
    while ((entry = readdir(d))) {
        char path[1024], name[1024];
        struct stat st;
        mcp_error error;
        if (entry->d_name[0] == '.' || is_foreign(entry->d_name))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        snprintf(name, sizeof(name), "%s/%s", uri, entry->d_name);
        assert_int_equal(stat(path, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            add_remotes(set, path, name);
            continue;
        }
        size_t len;
        char *text = read_file(path, &len);
        assert_int_equal(mcp_schema_set_add(set, mcp_str_from(name), (mcp_str){text, len}, &error),
                         0);
        free(text);
    }
    closedir(d);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void complain(suite *s, const char *file, const mcp_json *group, const mcp_json *test,
                     const char *why)
{
    mcp_str about = mcp_json_string(mcp_json_get(group, "description"));
    mcp_str what = mcp_json_string(mcp_json_get(test, "description"));
    s->failed++;
    print_error("%s %s: %.*s: %.*s: %s\n", s->draft, file, (int)about.len, about.ptr, (int)what.len,
                what.ptr ? what.ptr : "", why);
}

static void run_group(suite *s, const char *file, const mcp_json *group)
{
    mcp_schema *schema = NULL;
    mcp_error error = {0};
    mcp_json_iter iter = {0};
    const mcp_json *test;
    int rc =
        mcp_schema_compile(s->set, mcp_json_get(group, "schema"), &s->options, &schema, &error);
    if (rc) {
        complain(s, file, group, NULL, error.text);
        return;
    }
    while ((test = mcp_json_next(mcp_json_get(group, "tests"), &iter, NULL))) {
        bool valid = mcp_json_bool(mcp_json_get(test, "valid"), false);
        s->tests++;
        error.text[0] = '\0';
        rc = mcp_schema_validate(schema, mcp_json_get(test, "data"), &error);
        if (rc != (valid ? MCP_OK : MCP_EINVAL))
            complain(s, file, group, test, rc ? error.text : "accepted");
        else if (rc && !strchr(error.text, '('))
            complain(s, file, group, test, "the error names no keyword");
    }
    mcp_schema_free(schema);
}

static void run_file(suite *s, const char *name)
{
    char path[1024];
    size_t len;
    mcp_json_doc *doc = NULL;
    mcp_json_iter iter = {0};
    const mcp_json *group;
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = 512};
    snprintf(path, sizeof(path), "%s/tests/%s/%s", s->root, s->draft, name);
    char *text = read_file(path, &len);
    assert_int_equal(mcp_json_parse((mcp_str){text, len}, &limits, NULL, &doc, NULL), MCP_OK);
    s->files++;
    while ((group = mcp_json_next(mcp_json_root(doc), &iter, NULL)))
        run_group(s, name, group);
    mcp_json_free(doc);
    free(text);
}

static int is_json(const struct dirent *entry)
{
    return strstr(entry->d_name, ".json") != NULL;
}

static void run_required(suite *s)
{
    char dir[1024];
    struct dirent **names;
    snprintf(dir, sizeof(dir), "%s/tests/%s", s->root, s->draft);
    int n = scandir(dir, &names, is_json, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        run_file(s, names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

static suite set_up(const char *draft, mcp_schema_dialect dialect, bool formats)
{
    char dir[1024];
    suite s = {.root = suite_root(), .draft = draft};
    s.options.size = sizeof(s.options);
    s.options.dialect = dialect;
    s.options.assert_formats = formats;
    assert_int_equal(mcp_schema_set_new(NULL, &s.set), MCP_OK);
    snprintf(dir, sizeof(dir), "%s/remotes", s.root);
    add_remotes(s.set, dir, "http://localhost:1234");
    return s;
}

static void finish(suite *s, size_t files, size_t tests)
{
    mcp_schema_set_free(s->set);
    print_message("# %s: %zu files, %zu tests, %zu failed\n", s->draft, s->files, s->tests,
                  s->failed);
    assert_int_equal(s->failed, 0);
    assert_true(s->files >= files && s->tests >= tests);
}

static void test_required_2020_12(void **state)
{
    (void)state;
    suite s = set_up("draft2020-12", MCP_SCHEMA_2020_12, false);
    run_required(&s);
    finish(&s, 46, 1100);
}

static void test_required_draft_07(void **state)
{
    (void)state;
    suite s = set_up("draft7", MCP_SCHEMA_DRAFT_07, false);
    run_required(&s);
    finish(&s, 36, 800);
}

static void test_optional(void **state)
{
    static const char *const files[] = {"bignum",
                                        "dependencies-compatibility",
                                        "float-overflow",
                                        "format-assertion",
                                        "no-schema",
                                        "non-bmp-regex",
                                        "refOfUnknownKeyword",
                                        "unicode"};
    (void)state;
    suite s = set_up("draft2020-12", MCP_SCHEMA_2020_12, false);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char name[100];
        snprintf(name, sizeof(name), "optional/%s.json", files[i]);
        run_file(&s, name);
    }
    finish(&s, 8, 60);
}

static void test_formats(void **state)
{
    static const char *const files[] = {"date-time",    "date",
                                        "duration",     "email",
                                        "hostname",     "idn-email",
                                        "ipv4",         "ipv6",
                                        "iri",          "iri-reference",
                                        "json-pointer", "regex",
                                        "time",         "relative-json-pointer",
                                        "uri",          "uri-reference",
                                        "uri-template", "uuid"};
    (void)state;
    suite s = set_up("draft2020-12", MCP_SCHEMA_2020_12, true);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char name[100];
        snprintf(name, sizeof(name), "optional/format/%s.json", files[i]);
        run_file(&s, name);
    }
    run_file(&s, "optional/ecmascript-regex.json");
    finish(&s, 19, 350);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_required_2020_12),
        cmocka_unit_test(test_required_draft_07),
        cmocka_unit_test(test_optional),
        cmocka_unit_test(test_formats),
    };
    char dir[1024];
    snprintf(dir, sizeof(dir), "%s/tests/draft2020-12", suite_root());
    DIR *d = opendir(dir);
    if (!d) {
        printf("no JSON-Schema-Test-Suite in %s: install libtest-json-schema-acceptance-perl\n",
               suite_root());
        return 77;
    }
    closedir(d);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
