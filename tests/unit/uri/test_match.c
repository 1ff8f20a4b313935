/* Matching URIs against templates: matches and their values, the inverse of every expansion, and
 * linear time and memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <mcp/uri.h>

#include "support/failalloc.h"
#include "uri/uri.h"
#include "template_cases.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static mcp_uri_template *parse(const char *text)
{
    mcp_uri_template *t = NULL;
    mcp_error e = {0};
    if (mcp_uri_template_parse(mcp_str_from(text), NULL, &t, &e) != MCP_OK)
        fail_msg("%s: %s at %zu", text, e.text, e.offset);
    return t;
}

static size_t append(char *to, size_t size, size_t len, mcp_str s)
{
    assert_true(len + s.len < size);
    memcpy(to + len, s.ptr, s.len);
    to[len + s.len] = '\0';
    return len + s.len;
}

/* Copies the variable's name as a C string. */
static const char *variable(const mcp_uri_template *t, size_t i, char name[128])
{
    mcp_str s = mcp_uri_template_variable(t, i);
    assert_true(s.len < 128);
    memcpy(name, s.ptr, s.len);
    name[s.len] = '\0';
    return name;
}

/* Writes "name=item~item|name=item" for the matched variables, in the order of the template. */
static void render(const mcp_uri_template *t, const mcp_uri_match *m, char *to, size_t size)
{
    size_t len = append(to, size, 0, MCP_STR(""));
    for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++) {
        char name[128];
        mcp_str value;
        if (!mcp_uri_match_get(m, variable(t, i, name), NULL))
            continue;
        len = append(to, size, len, mcp_str_from(len ? "|" : ""));
        len = append(to, size, len, mcp_str_from(name));
        mcp_uri_match_iter iter = {0};
        for (bool first = true; mcp_uri_match_next(m, name, &iter, &value); first = false) {
            len = append(to, size, len, mcp_str_from(first ? "=" : "~"));
            len = append(to, size, len, value);
        }
    }
}

static const struct row {
    const char *text, *uri;
    const char *found; /* NULL if there is no match */
} rows[] = {
    /* literals */
    {"a:b", "a:b", ""},
    {"a:b", "a:bc", NULL},
    {"a:b", "a:", NULL},
    {"a:b", "", NULL},
    {"", "", ""},
    {"", "x", NULL},
    {"a.c", "abc", NULL}, /* a literal is a literal */
    {"a(b)*c", "a(b)*c", ""},
    {"a(b)*c", "abbc", NULL},
    /* normal form */
    {"x:/caf\xc3\xa9/{a}", "x:/caf%C3%A9/1", "a=1"},
    {"x:/caf\xc3\xa9/{a}", "x:/caf%c3%a9/1", "a=1"},
    {"x:/caf\xc3\xa9/{a}", "x:/caf\xc3\xa9/1", "a=1"},
    {"x:/caf%c3%A9/{a}", "x:/caf\xc3\xa9/1", "a=1"},
    {"x:/caf\xc3\xa9/{a}", "x:/cafe/1", NULL},
    {"x:/%7Ea/{a}", "x:/~a/1", "a=1"},
    {"x:/~a/{a}", "x:/%7ea/1", "a=1"},
    {"x:/a%2Fb/{a}", "x:/a%2fb/1", "a=1"},
    {"x:/a%2Fb/{a}", "x:/a/b/1", NULL}, /* reserved: not the same */
    {"File:///{a}", "file:///1", "a=1"},
    {"file:///{a}", "FILE:///1", "a=1"},
    {"file:///{a}", "filE:///A", "a=A"},
    {"file:///A/{a}", "file:///a/1", NULL}, /* only the scheme has no case */
    {"{s}://x", "HTTP://x", "s=HTTP"},
    /* malformed URIs */
    {"x:{a}", "x:%", NULL},
    {"x:{a}", "x:%4", NULL},
    {"x:{a}", "x:%zz", NULL},
    {"x:{+a}", "x:ok%2", NULL},
    /* simple variables */
    {"x:{a}", "x:", "a="},
    {"x:{a}", "x:b", "a=b"},
    {"x:{a}", "x:b/c", NULL},
    {"x:{a}", "x:b?c", NULL},
    {"x:{a}", "x:b#c", NULL},
    {"x:{a}", "x:a%20b%2Fc%25", "a=a b/c%"},
    {"x:{a}", "x:%2e%2E", "a=.."},
    {"x:{a}", "x:(b);c=d&e@f!", "a=(b);c=d&e@f!"},
    {"x:{a}", "x:%C3%A9\xc3\xa9", "a=\xc3\xa9\xc3\xa9"},
    {"x:{a}/{b}", "x:1/2", "a=1|b=2"},
    {"x:{a}/{b}", "x:1/2/3", NULL},
    {"x:{a}/{b}", "x:1", NULL},
    {"x:{a}/b/{c}", "x:1/b/2", "a=1|c=2"},
    {"x:{a}/b/{c}", "x:b/b/b", "a=b|c=b"},
    {"x:{a}/b/{c}", "x:1/c/2", NULL},
    {"x:{a}/", "x:1/", "a=1"},
    {"x:{a}/", "x:1", NULL},
    {"x:{a}/", "x:1//", NULL},
    /* several in one expression */
    {"x:{a,b}", "x:1,2", "a=1|b=2"},
    {"x:{a,b}", "x:1", "a=1"},
    {"x:{a,b}", "x:1,", "a=1|b="},
    {"x:{a,b}", "x:1,2,3", NULL},
    {"x:{a,b*}", "x:1,2,3", "a=1|b=2~3"},
    {"x:{a,b}", "x:1%2C2,3", "a=1,2|b=3"},
    /* a literal that comes more than once */
    {"x:{name}.{ext}", "x:a.txt", "name=a|ext=txt"},
    {"x:{name}.{ext}", "x:a.tar.gz", "name=a.tar|ext=gz"},
    {"x:{name}.{ext}", "x:a", NULL},
    {"x:{name}.{ext}", "x:.", "name=|ext="},
    {"x:{name}.txt", "x:a.txt.txt", "name=a.txt"},
    {"x:{name}.txt", "x:.txt", "name="},
    {"x:{name}.txt", "x:txt", NULL},
    {"x:{a}aab{b}", "x:aaaab", "a=aa|b="},
    {"x:{a}abab{b}", "x:ababab", "a=ab|b="},
    {"x:{a}-{b}-{c}", "x:1-2-3-4", "a=1-2|b=3|c=4"},
    {"x:{a}.{+rest}", "x:1.2/3.4", "a=1|rest=2/3.4"},
    {"x:{a:1}-{+b}", "x:1-2", "a=1|b=2"},
    {"x:{a}ab{+b}", "x:aab/abab", "a=a|b=/abab"},
    {"x:{a}-/{b}", "x:1-2-/3", "a=1-2|b=3"},
    {"x:{a}-/{b}", "x:1-2/3", NULL},
    /* reserved */
    {"file:///{+path}", "file:///a/b/c.txt", "path=a/b/c.txt"},
    {"file:///{+path}", "file:///a%20b/%25", "path=a b/%"},
    {"file:///{+path}", "file:///", "path="},
    {"file:///{+path}", "file:///a?b", NULL},
    {"file:///{+path}", "file:///a#b", NULL},
    {"file:///{+path}", "file:///a,b", "path=a~b"},
    {"file:///{+path}.{ext}", "file:///a/b.c/d.txt", "path=a/b.c/d|ext=txt"},
    {"file:///{+path}.{ext}", "file:///a.b/c", NULL},
    {"x:{+path}/{line}", "x:a/b/3", "path=a/b|line=3"},
    {"x:{+path}/l/{line}", "x:a/l/b/l/3", "path=a/l/b|line=3"},
    {"x:{a}/{+path}/{line}", "x:1/2/3/4", "a=1|path=2/3|line=4"},
    {"x:{+a}/-/{+b}", "x:1/-/2/-/3", "a=1/-/2|b=3"},
    {"x:{+a}/-/{+b}/-/{+c}", "x:1/-/2/-/3", "a=1|b=2|c=3"},
    {"x:{+a,b}", "x:1/2,3/4", "a=1/2|b=3/4"},
    {"{+a}", "http://h/p,q", "a=http://h/p~q"},
    /* fragments */
    {"x:a{#f}", "x:a#b/c?d#e", "f=b/c?d#e"},
    {"x:a{#f}", "x:a", ""},
    {"x:a{#f}", "x:a#", "f="},
    {"x:a#{f}", "x:a#b/c?d&e", "f=b/c?d&e"},
    {"x:a#l{f}-{g}", "x:a#l3-4", "f=3|g=4"},
    {"x:{+p}{#f}", "x:a/b#c", "p=a/b|f=c"},
    {"x:{+p}{#f}", "x:a/b", "p=a/b"},
    /* labels and segments */
    {"x:a{.b}", "x:a.b.c", "b=b.c"},
    {"x:a{.b}", "x:a", ""},
    {"x:a{.b}", "x:ab", NULL},
    {"x:a{.b,c}", "x:a.1.2", "b=1|c=2"},
    {"x:a{.b,c}", "x:a.1", "b=1"},
    {"x:a{.b,c}", "x:a.1.2.3", NULL},
    {"x:a{.b*}", "x:a.1.2.3", "b=1~2~3"},
    {"x:a{/b}", "x:a/1", "b=1"},
    {"x:a{/b}", "x:a", ""},
    {"x:a{/b}", "x:a/", "b="},
    {"x:a{/b}", "x:a/1/2", NULL},
    {"x:a{/b}", "x:a1", NULL},
    {"x:a{/b,c}", "x:a/1/2", "b=1|c=2"},
    {"x:a{/b,c}", "x:a/1", "b=1"},
    {"x:a{/b,c}/d", "x:a/1/d", "b=1"},
    {"x:a{/b,c}/d", "x:a/d/d", "b=d"},
    {"x:a{/b,c}/d", "x:a/1/2/3/d", NULL},
    {"x:a{/b*}", "x:a/1//%2F/3", "b=1~~/~3"},
    {"x:a{/b*}", "x:a", ""},
    {"x:a{/b*}/c/{d}", "x:a/1/c/2/c/3", "b=1~c~2|d=3"},
    {"x:{a}{/b}", "x:1/2", "a=1|b=2"},
    {"x:{a}{/b}.j", "x:1.j", "a=1"},
    {"x:{a}{/b}.j", "x:1/2.j", "a=1|b=2"},
    /* path parameters */
    {"x:a{;b,c}", "x:a;b=1;c=2", "b=1|c=2"},
    {"x:a{;b,c}", "x:a;c=2;b", "b=|c=2"},
    {"x:a{;b,c}", "x:a", ""},
    {"x:a{;b,c}", "x:a;", NULL},
    {"x:a{;b,c}", "x:a;d=1", NULL},
    {"x:a{;b,c}", "x:a;b=1;b=2", NULL},
    {"x:a{;b*}", "x:a;b=1;b=2", "b=1~2"},
    {"x:{a}{;b}", "x:1;b=2", "a=1|b=2"},
    {"x:{a}{;b}/c", "x:1;b=2/c", "a=1|b=2"},
    /* query: any subset, any order */
    {"x:s{?a,b}", "x:s", ""},
    {"x:s{?a,b}", "x:s?a=1", "a=1"},
    {"x:s{?a,b}", "x:s?b=2", "b=2"},
    {"x:s{?a,b}", "x:s?a=1&b=2", "a=1|b=2"},
    {"x:s{?a,b}", "x:s?b=2&a=1", "a=1|b=2"},
    {"x:s{?a,b}", "x:s?a=&b", "a=|b="},
    {"x:s{?a,b}", "x:s?a=1=2/3?4", "a=1=2/3?4"},
    {"x:s{?a,b}", "x:s?a=1%262%3D%23", "a=1&2=#"},
    {"x:s{?a,b}", "x:s?", NULL},
    {"x:s{?a,b}", "x:s?&a=1", NULL},
    {"x:s{?a,b}", "x:s?a=1&", NULL},
    {"x:s{?a,b}", "x:s?a=1&c=2", NULL},
    {"x:s{?a,b}", "x:s?A=1", NULL},
    {"x:s{?a,b}", "x:s?aa=1", NULL},
    {"x:s{?a,b}", "x:s?=1", NULL},
    {"x:s{?a,b}", "x:s?a=1&a=1", NULL},
    {"x:s{?a,b}", "x:s&a=1", NULL},
    {"x:s{?a,b}", "x:s?a=1#f", NULL},
    {"x:s{?a,b}{#f}", "x:s?a=1#f", "a=1|f=f"},
    {"x:s{?a,b}{#f}", "x:s#f", "f=f"},
    {"x:s{?a}#f", "x:s?a=1#f", "a=1"},
    {"x:s{?a*,b}", "x:s?a=1&b=2&a=3", "a=1~3|b=2"},
    {"x:s{?a*,b}", "x:s?b=2&a=%2F&a&a=", "a=/~~|b=2"},
    {"x:s{?a}{&b}", "x:s?b=2&a=1", "a=1|b=2"},
    {"x:s{?a}{&b}{&c,d}", "x:s?d=4&b=2", "b=2|d=4"},
    {"x:s?k=v{&a,b}", "x:s?k=v&b=2&a=1", "a=1|b=2"},
    {"x:s?k=v{&a,b}", "x:s?k=v", ""},
    {"x:s?k=v{&a,b}", "x:s?a=1", NULL},
    {"x:s?a={a}&b={b}", "x:s?a=1/2&b=3?4", "a=1/2|b=3?4"},
    {"x:s?a={a}&b={b}", "x:s?a=1&c=2&b=3", NULL},
    {"x:s?{a}", "x:s?1&2", NULL},
    {"x:s?{+a}", "x:s?1&2?/", "a=1&2?/"},
    {"x:{+p}{?q}", "x:a/b?q=1", "p=a/b|q=1"},
    {"x:{+p}{?q}", "x:a/b?z=1", NULL},
    {"x:{a}{?q}", "x:1", "a=1"},
    {"x:s{?Stra%C3%9Fe,a%2db}", "x:s?a-b=1&Stra%c3%9fe=2", "Stra%C3%9Fe=2|a%2db=1"},
    {"x:s{?Stra%C3%9Fe*}",
     "x:s?Stra%c3%9fe=1&Stra\xc3\x9f"
     "e=%2F",
     "Stra%C3%9Fe=1~/"},
    /* prefixes and repetitions */
    {"x:{a:3}", "x:abc", "a=abc"},
    {"x:{a:3}", "x:abcd", NULL},
    {"x:{a:3}", "x:%C3%A9%C3%A9%C3%A9", "a=\xc3\xa9\xc3\xa9\xc3\xa9"},
    {"x:{a:3}", "x:%C3%A9%C3%A9%C3%A9x", NULL},
    {"x:{a}/{a}", "x:1/1", "a=1"},
    {"x:{a}/{a}", "x:1/2", NULL},
    {"x:{a}/{a}", "x:%2F/%2f", "a=/"},
    {"x:{a:1}/{a}", "x:v/value", "a=value"},
    {"x:{a:1}/{a}", "x:w/value", NULL},
    {"x:{a:2}/{a}", "x:v/value", NULL},
    {"x:{a:2}/{a}", "x:v/v", "a=v"},
    {"x:{a}/{a:1}", "x:value/v", "a=value"},
    {"x:{a}/{a:3}", "x:v/val", NULL},
    {"x:{a:1}/{a:3}", "x:v/val", "a=val"},
    {"x:{a:3}/{a:1}", "x:val/v", "a=val"},
    {"x:{a}{?a}", "x:1?a=1", "a=1"},
    {"x:{a}{?a}", "x:1?a=2", NULL},
};

static void check(const char *text, const char *uri, const char *found)
{
    mcp_uri_template *t = parse(text);
    mcp_uri_match *m = NULL;
    size_t len = strlen(uri);
    char *exact = malloc(len ? len : 1); /* so that the address sanitizer detects reads beyond it */
    memcpy(exact, uri, len);
    int rc = mcp_uri_template_match(t, (mcp_str){exact, len}, NULL, &m);
    assert_int_equal(mcp_uri_template_match(t, (mcp_str){exact, len}, NULL, NULL), rc);
    free(exact);
    char got[512] = "";
    if (rc == MCP_OK)
        render(t, m, got, sizeof(got));
    if (rc != (found ? MCP_OK : MCP_ENOTFOUND) || (found && strcmp(got, found) != 0))
        fail_msg("%s over %s: %d, %s", text, uri, rc, got);
    mcp_uri_match_free(m);
    mcp_uri_template_free(t);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        check(rows[i].text, rows[i].uri, rows[i].found);
    mcp_uri_match_free(NULL);
}

static const char *const unmatchable[] = {
    "{a}{b}",        "{a}{+b}",    "{+a}{b}",     "{a}{.b}",     "{.a}{.b}",  "{/a}{/b}",
    "{;a}{;b}",      "{?a}{?b}",   "{+a}{/b}",    "{+a}{;b}",    "{+a}{.b}",  "?{+a}{&b}",
    "{#a}{/b}",      "{#a}{#b}",   "{a*,b}",      "{/a*,b}",     "{.a*,b}",   "{+a*,b}",
    "{+a}/{b}/{+c}", "{?a}x{b}",   "{?a,a}",      "{?a}{&a}",    "{;a,b,a}",  "{a*}/{a}",
    "{a}{?a*}",      "{/a}/b{/c}", "{a:1}-{b:1}", "{a,b}-{c,d}", "{.a}-{.b}", "{+a}-{b}-{+c}",
    "{a}{;b}{c}",    "{;a}a{+b}",  "{a}-{b:1,c}", "#{a}{?b}",
};

static void test_unmatchable(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(unmatchable); i++) {
        mcp_uri_template *t = parse(unmatchable[i]);
        mcp_error e = {0};
        mcp_uri_match *m = NULL;
        if (mcp_uri_template_matchable(t, &e) != MCP_EUNSUPPORTED)
            fail_msg("%s is taken for matchable", unmatchable[i]);
        assert_int_equal(e.code, MCP_EUNSUPPORTED);
        assert_true(e.text[0] && e.offset < strlen(unmatchable[i]));
        assert_int_equal(mcp_uri_template_matchable(t, NULL), MCP_EUNSUPPORTED);
        assert_int_equal(mcp_uri_template_match(t, MCP_STR("x"), NULL, &m), MCP_EUNSUPPORTED);
        mcp_uri_template_free(t);
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        mcp_uri_template *t = parse(rows[i].text);
        assert_int_equal(mcp_uri_template_matchable(t, NULL), MCP_OK);
        mcp_uri_template_free(t);
    }
}

/* ---- the inverse of expansions --------------------------------------------------------------- */

/* Expands the matched values: a value with unencoded commas, or an exploded one, as a list. */
static char *expand_match(const mcp_uri_template *t, const mcp_uri_match *m)
{
    enum { VARIABLES = 16, ITEMS = 16 };
    mcp_uri_value values[VARIABLES];
    mcp_uri_pair items[VARIABLES][ITEMS];
    size_t count = 0;
    for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++) {
        char name[128];
        mcp_uri_match_iter iter = {0};
        mcp_uri_value *v = &values[count];
        *v = (mcp_uri_value){.name = mcp_uri_template_variable(t, i), .items = items[count]};
        while (mcp_uri_match_next(m, variable(t, i, name), &iter, &items[count][v->count].value))
            v->count++;
        v->string = items[count][0].value;
        v->type = v->count > 1 ? MCP_URI_LIST : MCP_URI_STRING;
        count += v->count > 0;
    }
    char *out = NULL;
    assert_int_equal(mcp_uri_template_expand(t, values, count, NULL, &out, NULL), MCP_OK);
    return out;
}

/* Checks that each string value is recovered, up to the length of a prefix modifier. */
static void check_strings(const template_case *c, const mcp_uri_template *t, const mcp_uri_match *m,
                          const mcp_json *values)
{
    for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++) {
        char name[128];
        mcp_str got, wanted = mcp_json_string(mcp_json_get(values, variable(t, i, name)));
        bool found = mcp_uri_match_get(m, name, &got);
        if (!wanted.ptr)
            continue;
        bool cut = strchr(c->text, ':') != NULL && got.len < wanted.len;
        if (!found || got.len > wanted.len || memcmp(got.ptr, wanted.ptr, got.len) != 0 ||
            (!cut && got.len != wanted.len))
            fail_msg("%s over %s: %s is %.*s", c->text, c->expansion, name, (int)got.len, got.ptr);
    }
}

static void check_way_back(const template_case *c, const mcp_json *values)
{
    mcp_uri_template *t = parse(c->text);
    mcp_uri_match *m = NULL;
    int rc = mcp_uri_template_match(t, mcp_str_from(c->expansion), NULL, &m);
    int wanted = c->back == REFUSED    ? MCP_EUNSUPPORTED
                 : c->back == NO_MATCH ? MCP_ENOTFOUND
                                       : MCP_OK;
    if (rc != wanted)
        fail_msg("%s over %s: %d, not %d", c->text, c->expansion, rc, wanted);
    if (rc == MCP_OK) {
        char *again = expand_match(t, m);
        if ((strcmp(again, c->expansion) == 0) != (c->back != LOSSY))
            fail_msg("%s over %s: back to %s", c->text, c->expansion, again);
        free(again);
        if (c->back == ROUND)
            check_strings(c, t, m, values);
    }
    mcp_uri_match_free(m);
    mcp_uri_template_free(t);
}

static void test_suite(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(template_sets); i++) {
        const template_set *set = &template_sets[i];
        mcp_json_doc *doc = NULL;
        assert_int_equal(mcp_json_parse(mcp_str_from(set->values), NULL, NULL, &doc, NULL), MCP_OK);
        for (size_t j = 0; j < set->count; j++)
            check_way_back(&set->cases[j], mcp_json_root(doc));
        mcp_json_free(doc);
    }
}

/* Every byte in every kind of variable is recovered. */
static void test_every_byte(void **state)
{
    (void)state;
    static const char *const kinds[] = {"x:{a}",    "x:{a}/y",  "x:y{.a}",   "x:y{/a}",
                                        "x:y{;a}",  "x:y{?a}",  "x:y?z{&a}", "x:y{?a*}",
                                        "x:y{/a*}", "x:{z}{?a}"};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        mcp_uri_template *t = parse(kinds[i]);
        for (int byte = 0; byte < 256; byte++) {
            char bytes[3] = {'b', (char)byte, 'b'};
            mcp_uri_pair in = {MCP_STR("a"), {bytes, 3}};
            char *out = NULL;
            mcp_uri_match *m = NULL;
            mcp_str value;
            assert_int_equal(mcp_uri_template_expand_strings(t, &in, 1, NULL, &out, NULL), MCP_OK);
            assert_int_equal(mcp_uri_template_match(t, mcp_str_from(out), NULL, &m), MCP_OK);
            assert_true(mcp_uri_match_get(m, "a", &value));
            assert_true(mcp_str_eq(value, in.value));
            mcp_uri_match_free(m);
            free(out);
        }
        mcp_uri_template_free(t);
    }
}

static void test_get(void **state)
{
    (void)state;
    mcp_uri_template *t = parse("x:{a}{/list*}{?n,e*}");
    mcp_uri_match *m = NULL;
    assert_int_equal(
        mcp_uri_template_match(t, MCP_STR("x:p%2fq,r/1%2c2/3?e=%41&n=%00&e=5"), NULL, &m), MCP_OK);
    mcp_str s;
    assert_true(mcp_uri_match_get(m, "a", &s));
    assert_true(mcp_str_eq(s, MCP_STR("p/q,r")));
    assert_true(mcp_uri_match_raw(m, "a", &s));
    assert_true(mcp_str_eq(s, MCP_STR("p%2Fq,r")));
    assert_true(mcp_uri_match_get(m, "list", &s));
    assert_true(mcp_str_eq(s, MCP_STR("1,2")));
    assert_true(mcp_uri_match_raw(m, "list", &s));
    assert_true(mcp_str_eq(s, MCP_STR("1%2C2/3")));
    assert_true(mcp_uri_match_get(m, "n", &s));
    assert_true(mcp_str_eq(s, (mcp_str){"\0", 1}));
    assert_true(mcp_uri_match_get(m, "e", &s));
    assert_true(mcp_str_eq(s, MCP_STR("A")));
    assert_true(mcp_uri_match_raw(m, "e", &s));
    assert_true(mcp_str_eq(s, MCP_STR("e=A&n=%00&e=5")));
    assert_false(mcp_uri_match_get(m, "none", &s));
    assert_int_equal(s.len, 0);
    assert_false(mcp_uri_match_get(m, "", NULL));
    assert_false(mcp_uri_match_raw(m, "none", &s));
    mcp_uri_match_iter iter = {0};
    assert_false(mcp_uri_match_next(m, "none", &iter, &s));
    mcp_uri_match_free(m);
    assert_int_equal(mcp_uri_template_match(t, (mcp_str){"x:a\0b", 5}, NULL, &m), MCP_ENOTFOUND);
    mcp_uri_template_free(t);
}

/* ---- time and memory ------------------------------------------------------------------------- */

enum { EXPRESSIONS = 10000, URI_SIZE = 1 << 20 };

static mcp_uri_template *parse_big(const char *head, const char *repeated, const char *tail)
{
    char *text = malloc(EXPRESSIONS * 32);
    size_t len = (size_t)sprintf(text, "%s", head);
    for (int i = 0; i < EXPRESSIONS; i++)
        len += (size_t)sprintf(text + len, repeated, i);
    len += (size_t)sprintf(text + len, "%s", tail);
    mcp_uri_template_limits limits = {sizeof(limits), 1 << 20, EXPRESSIONS + 1, 2 * EXPRESSIONS};
    mcp_uri_template *t = NULL;
    assert_int_equal(mcp_uri_template_parse_limited((mcp_str){text, len}, &limits, NULL, &t, NULL),
                     MCP_OK);
    assert_int_equal(mcp_uri_template_matchable(t, NULL), MCP_OK);
    free(text);
    return t;
}

/* Each would take minutes to years with quadratic or worse time: 10,000 expressions and a URI of 1
 * MiB, which nearly matches at every offset. */
static const struct heavy {
    const char *head, *repeated, *tail;
    const char *unit; /* the URI is head, then this repeated */
    const char *end;
    int code;
} heavy[] = {
    {"x:", "{a%d}/", "", "bbbbbbbbbb/", "", MCP_ENOTFOUND},
    {"x:", "{a%d}-", "", "-", "", MCP_OK},
    {"x:", "{a%d}aaaaaaaaaab", "", "a", "", MCP_ENOTFOUND},
    {"x:", "{a%d}-", "{+z}", "-/", "", MCP_ENOTFOUND},
    {"x:", "{a%d}-", "{+z}", "b-", "/", MCP_OK},
    {"x:", "{+a%d}/-", "", "/", "/-", MCP_ENOTFOUND},
    {"x:", "{+a%d}/-", "", "/-", "", MCP_OK},
    {"x:", "{a%d}-", "?", "-", "", MCP_ENOTFOUND},
    {"x:{z", ",a%d", "}", ",", "", MCP_ENOTFOUND},
    {"x:{?z", ",a%d", "*}", "a9999&", "a9999=1", MCP_ENOTFOUND},
    {"x:{/z", ",a%d", "*}", "/%41", "", MCP_OK},
    {"x:{/z", ",a%d", "*}", "/%41", "#", MCP_ENOTFOUND},
};

static void test_linear(void **state)
{
    (void)state;
    char *uri = malloc(URI_SIZE + 32);
    for (size_t i = 0; i < COUNT(heavy); i++) {
        const struct heavy *h = &heavy[i];
        mcp_uri_template *t = parse_big(h->head, h->repeated, h->tail);
        size_t len = (size_t)sprintf(uri, "x:"), unit = strlen(h->unit);
        for (; len + unit <= URI_SIZE; len += unit)
            memcpy(uri + len, h->unit, unit);
        len += (size_t)sprintf(uri + len, "%s", h->end);
        int rc = mcp_uri_template_match(t, (mcp_str){uri, len}, NULL, NULL);
        if (rc != h->code)
            fail_msg("row %zu: %d", i, rc);
        mcp_uri_template_free(t);
    }
    free(uri);
}

static void test_no_memory(void **state)
{
    (void)state;
    mcp_uri_template *t = parse("x:{a}{?b*}");
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_uri_match *m = NULL;
        int rc = mcp_uri_template_match(t, MCP_STR("x:1?b=2&b=3"), &a, &m);
        mcp_uri_match_free(m);
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(rc, MCP_OK);
            assert_int_equal(n, 2); /* one block per match */
            break;
        }
        assert_int_equal(rc, MCP_ENOMEM);
    }
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    assert_int_equal(mcp_uri_template_match(t, MCP_STR("y:1"), &a, NULL), MCP_ENOTFOUND);
    assert_int_equal(f.calls, 0); /* another prefix allocates nothing */
    mcp_uri_template_free(t);
}

/* ---- the canonical spelling ------------------------------------------------------------------ */

static const struct {
    const char *template, *uri, *spelling;
} spellings[] = {
    {"x:{a}", "X:%61", "x:a"},
    {"x:{a}", "x:p%3aq%2Cr", "x:p:q,r"},
    {"x:{a}", "x:p%2fq", "x:p%2Fq"},
    {"x:{a}", "x:%252F%3F%23%c3%A9", "x:%252F%3F%23%C3%A9"},
    {"x:{+a}", "x:p%2fq%3F%25", "x:p/q%3F%25"},
    {"x:{a}{?b,c}", "x:p?c=1&b=2", "x:p"},
    {"x:{a}{?b,c}", "x:p", "x:p"},
    {"x:{a}{;b}", "x:p;b=1", "x:p"},
    {"x:y?q={a}{&b}", "x:y?q=%2Fz%26&b=1", "x:y?q=/z%26"},
    {"x:{/a*}", "x:/p/q%2Fr", "x:/p/q%2Fr"},
    {"x:{a,b}", "x:p%2Cq,r", "x:p%2Cq,r"},
    {"x:{a}{#c}", "x:p#%2F%23", "x:p#/%23"},
    {"x:{a:2}/{a}", "x:%C3%A9p/%C3%A9pq", "x:%C3%A9p/%C3%A9pq"},
    {"x:{/a,b}/end", "x:/p/end", "x:/p/end"},
};

static void test_spellings(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(spellings); i++) {
        char got[64];
        mcp_uri_template *t = parse(spellings[i].template);
        mcp_uri_match *m = NULL;
        size_t len = strlen(spellings[i].spelling);
        if (mcp_uri_template_match(t, mcp_str_from(spellings[i].uri), NULL, &m) != MCP_OK)
            fail_msg("%s does not match %s", spellings[i].uri, spellings[i].template);
        assert_true(mcp__uri_match_spell(m, got, sizeof(got)));
        assert_string_equal(got, spellings[i].spelling);
        assert_true(mcp__uri_match_spell(m, got, len + 1));
        for (size_t room = 0; room <= len; room++)
            assert_false(mcp__uri_match_spell(m, got, room));
        mcp_uri_match_free(m);
        mcp_uri_template_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),   cmocka_unit_test(test_rows),
        cmocka_unit_test(test_unmatchable), cmocka_unit_test(test_suite),
        cmocka_unit_test(test_every_byte),  cmocka_unit_test(test_get),
        cmocka_unit_test(test_linear),      cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
