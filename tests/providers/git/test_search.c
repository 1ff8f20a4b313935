/* Searching the files of a revision: the results are those of git grep, for any page size. Also
 * answers as text, which have the same contents as JSON. */
#define _GNU_SOURCE
#include "repository.h"

static peer p;

static const char script[] =
    "git init -q -b main s; cd s; mkdir -p src/deep d; "
    "for i in $(seq 1 60); do echo \"line $i of a\"; done >a.txt; "
    "printf 'int needle;\\r\\nint x;\\nneedle(); needle();\\n' >src/x.c; "
    "printf 'Needle\\n' >src/deep/y.c; printf 'needle\\0needle\\n' >bin; printf 'caf\\351 "
    "needle\\n' >latin1; ln -s needle link; : >empty; printf 'needle' >d/end; "
    "{ head -c 5000 /dev/zero | tr '\\0' x; printf 'needle'; head -c 5000 /dev/zero | tr '\\0' y; "
    "} "
    ">d/long; printf 'needle 1.2\\n' >'d/#?%é'; printf '\\357\\273\\277marked\\n' >marked; "
    "git add .; git commit -q -m one; git tag v1; echo needle >>a.txt; git commit -q -a -m two";

static void open_repository(uint64_t timeout_ms)
{
    if (peer_open(&p, "s", &(mcp_git_options){.timeout_ms = timeout_ms}, NULL, NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
}

static int setup(void **state)
{
    (void)state;
    make_top();
    sh(script);
    open_repository(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    peer_close(&p);
    remove_top();
    return 0;
}

static void reads(const char *rest, const char *const has[5])
{
    check_reply(rest, read_uri(&p, rest), has);
}
#define READS(rest, ...) reads(rest, (const char *const[5]){__VA_ARGS__})

/* ---- the matches ----------------------------------------------------------------------------- */

static void test_found(void **state)
{
    (void)state;
    READS("s/-/search/HEAD?text=needle", "a.txt:61", "src/x.c:1", "src/x.c:3", "d/end:1", "!bin");
    READS("s/-/search/HEAD?text=needle", "!latin1", "!Needle", "!link", "\\\"filesPassedOver\\\":2",
          "!next");
    READS("s/-/search/HEAD?text=needle", "\\\"text\\\":\\\"int needle;\\\"", "!\\\\r",
          "git://s/HEAD/d/%23%3F%25%C3%A9");
    READS("s/-/search/v1?text=needle", "!a.txt", "git://s/v1/src/x.c");
    READS("s/-/search/HEAD?text=Needle", "src/deep/y.c:1", "!x.c");
    READS("s/-/search/HEAD?regex=%5Eneedle%24", "a.txt:61", "d/end:1", "!x.c");
    READS("s/-/search/HEAD?regex=%5Emarked%24", "\\\"text\\\":\\\"marked\\\"", "marked:1");
    READS("s/-/search/HEAD?text=1.2", "needle 1.2", "!line 1");
    READS("s/-/search/HEAD?text=absent", "\\\"matches\\\":[]", "!next");
    /* in a folder, in a file, and with a glob */
    READS("s/-/search/HEAD?text=needle&path=src", "src/x.c:1", "!a.txt", "!d/end");
    READS("s/-/search/HEAD?text=needle&path=src/x.c", "src/x.c:3", "!a.txt");
    READS("s/-/search/HEAD?text=needle&path=", "a.txt:61", "d/end:1");
    READS("s/-/search/HEAD?regex=eedle&path=*.c", "src/x.c:1", "src/deep/y.c:1", "!a.txt");
    READS("s/-/search/HEAD?text=needle&path=nothing", NOT_FOUND);
    READS("s/-/search/HEAD?text=needle&path=link", NOT_FOUND);
    /* only a part of a very long line is returned */
    READS("s/-/search/HEAD?text=needle&path=d/long", "xxxneedleyyy", "d/long:1");
    assert_true(p.len < 2000);
    /* a search in a revision with a full id never changes */
    char rest[160];
    snprintf(rest, sizeof(rest), "s/-/search/%.40s?text=needle",
             output_of("git -C s rev-parse HEAD"));
    READS(rest, "\"ttlMs\":2592000000,");
}

static void test_refused(void **state)
{
    (void)state;
    READS("s/-/search/HEAD", "-32602", "either text= or regex=");
    READS("s/-/search/HEAD?text=a&regex=b", "-32602", "either text= or regex=");
    READS("s/-/search/HEAD?regex=(", "-32602");
    READS("s/-/search/HEAD?text=a%0Ab", "-32602");
    READS("s/-/search/HEAD?text=a&limit=0", "-32602", "limit must be");
    READS("s/-/search/HEAD?text=a&after=x", "-32602", "take it from `next`");
    READS("s/-/search/HEAD?text=a&after=5", "-32602", "take it from `next`");
    READS("s/-/search/-x?text=a", "-32602", "as options do");
    READS("s/-/search/none?text=a", NOT_FOUND);
    READS("s/-/search/HEAD/x?text=a", NOT_FOUND);
}

/* For any page size, the pages together have the lines that git finds, each once. */
static void check_pages(const char *uri, const char *want)
{
    char rest[4096], got[8192] = "";
    size_t len = 0;
    for (snprintf(rest, sizeof(rest), "%s", uri); *rest;) {
        const char *reply = read_uri(&p, rest), *at = reply;
        if (!strstr(reply, "matches"))
            fail_msg("%s: %s", rest, reply);
        while ((at = strstr(at, "\\\"at\\\":\\\""))) {
            at += 9;
            len +=
                (size_t)snprintf(got + len, sizeof(got) - len, "%.*s,", (int)strcspn(at, "\\"), at);
        }
        const char *next = strstr(reply, "\\\"next\\\":\\\"git://");
        size_t n = next ? strcspn(next + 17, "\\") : 0;
        snprintf(rest, sizeof(rest), "%.*s", (int)n, next ? next + 17 : "");
    }
    assert_string_equal(got, want);
}

static void test_pages(void **state)
{
    char want[4096], uri[128];
    (void)state;
    snprintf(
        want, sizeof(want), "%s",
        output_of("git -C s -c core.quotePath=false grep -I -n --full-name -e needle -e 'line .*7' "
                  "-e 1.2 HEAD -- . ':!latin1' | cut -d: -f2,3 | tr '\\n' ,"));
    for (int limit = 1; limit < 20; limit += 2) {
        snprintf(uri, sizeof(uri), "s/-/search/HEAD?regex=needle%%7Cline%%20.*7%%7C1.2&limit=%d",
                 limit);
        check_pages(uri, want);
    }
    snprintf(want, sizeof(want), "%s",
             output_of("git -C s grep -n line HEAD -- a.txt | cut -d: -f2,3 | tr '\\n' ,"));
    check_pages("s/-/search/HEAD?text=line&path=a.txt&limit=7", want);
}

/* ---- as text --------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    static const char *const wrong[] = {"s/?format=xml", "s/-/tags?format=TEXT",
                                        "s/HEAD/a.txt?format=x", "s/-/search/HEAD?text=a&format=x"};
    (void)state;
    READS("s/?format=text", "\"mimeType\":\"text/plain\"", "\"text\":\"name: s\\n", "head: main, ",
          "git://s/-/log/HEAD");
    READS("s/HEAD/?format=text", "text/plain", "entries:\\n100644  file  ", "040000  folder");
    READS("s/-/commit/HEAD?format=text", "text/plain", "author: Ada <ada@example.org>, 2023-11-14T",
          "message:\\n\\ntwo\\n", "git://s/-/diff/");
    READS("s/-/log/HEAD?format=text&limit=1", "text/plain", "  Ada  two\\n", "next: git://s/-/log/",
          "format=text");
    READS("s/-/blame/HEAD/src/x.c?format=text", "ranges:\\n1  3  ", "  Ada  one\\n");
    READS("s/-/branches?format=text", "branches:\\n", "  main  git://s/main/\\n");
    READS("s/-/tags?format=text", "tags:\\n", "  v1  git://s/v1/\\n");
    READS("s/-/search/HEAD?text=needle&format=text", "text/plain",
          "src/x.c:3  needle(); needle();  git://s/HEAD/src/x.c\\n");
    READS("s/-/diff/v1/HEAD?format=text", "\"mimeType\":\"text/plain\"", "+needle");
    READS("s/HEAD/src/x.c?format=text", "\"mimeType\":\"text/plain\"", "int needle;");
    READS("s/HEAD/link?format=text", "\"mimeType\":\"text/plain\"", "\"text\":\"needle\"");
    READS("s/HEAD/src/x.c?format=json", "\"mimeType\":\"text/x-csrc\"");
    READS("s/-/tags?format=json", "\"mimeType\":\"application/json\"");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        READS(wrong[i], "-32602", "format");
}

/* When the time limit is reached, the matches so far are returned, or advice if there are none. */
static void test_no_time(void **state)
{
    (void)state;
    peer_close(&p);
    open_repository(1);
    const char *reply = read_uri(&p, "s/-/search/HEAD?text=needle");
    if (!strstr(reply, "It took too long"))
        check_reply("little time", reply, (const char *const[5]){"matches"});
    peer_close(&p);
    open_repository(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found), cmocka_unit_test(test_refused), cmocka_unit_test(test_pages),
        cmocka_unit_test(test_text),  cmocka_unit_test(test_no_time),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
