/* RFC 3986: components, invalid URIs, percent-encoding and decoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <mcp/uri.h>

/* NULL means that the component is absent (has_* is false; for a host, there is no authority). */
typedef struct pieces {
    const char *text, *scheme, *userinfo, *host;
    int port;
    const char *path, *query, *fragment;
} pieces;

static const pieces good[] = {
    {"file:///a/b.txt", "file", NULL, "", -1, "/a/b.txt", NULL, NULL},
    {"file:/a", "file", NULL, NULL, -1, "/a", NULL, NULL},
    {"mem:none", "mem", NULL, NULL, -1, "none", NULL, NULL},
    {"urn:a:b?x#y", "urn", NULL, NULL, -1, "a:b", "x", "y"},
    {"http://u:p@host:8080/p/q?a=b&c=d#f", "http", "u:p", "host", 8080, "/p/q", "a=b&c=d", "f"},
    {"http://host", "http", NULL, "host", -1, "", NULL, NULL},
    {"http://host:/", "http", NULL, "host", -1, "/", NULL, NULL},
    {"http://host:0/", "http", NULL, "host", 0, "/", NULL, NULL},
    {"http://host:65535", "http", NULL, "host", 65535, "", NULL, NULL},
    {"http://host:000080", "http", NULL, "host", 80, "", NULL, NULL},
    {"http://@host", "http", "", "host", -1, "", NULL, NULL},
    {"http://host?", "http", NULL, "host", -1, "", "", NULL},
    {"http://host#", "http", NULL, "host", -1, "", NULL, ""},
    {"http://host?#", "http", NULL, "host", -1, "", "", ""},
    {"http://127.0.0.1:1/", "http", NULL, "127.0.0.1", 1, "/", NULL, NULL},
    {"http://[::1]:9/x", "http", NULL, "::1", 9, "/x", NULL, NULL},
    {"http://[v1.a]/x", "http", NULL, "v1.a", -1, "/x", NULL, NULL},
    {"a+b-c.1:x", "a+b-c.1", NULL, NULL, -1, "x", NULL, NULL},
    {"x:", "x", NULL, NULL, -1, "", NULL, NULL},
    {"x:?q", "x", NULL, NULL, -1, "", "q", NULL},
    {"f:////x//y/", "f", NULL, "", -1, "//x//y/", NULL, NULL},
    {"f:///a%20b/%c3%A9?%25#%00", "f", NULL, "", -1, "/a%20b/%c3%A9", "%25", "%00"},
    {"f:///a?b?c/d#e?f/g", "f", NULL, "", -1, "/a", "b?c/d", "e?f/g"},
};

static void expect(mcp_str piece, bool has, const char *wanted)
{
    assert_int_equal(has, wanted != NULL);
    assert_true(mcp_str_eq(piece, mcp_str_from(wanted)));
}

static void test_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        const pieces *g = &good[i];
        mcp_uri u;
        mcp_error e;
        assert_int_equal(mcp_uri_parse(mcp_str_from(g->text), &u, &e), MCP_OK);
        assert_ptr_equal(u.text.ptr, g->text);
        assert_true(mcp_str_eq(u.scheme, mcp_str_from(g->scheme)));
        expect(u.userinfo, u.has_userinfo, g->userinfo);
        expect(u.host, u.has_authority, g->host);
        assert_int_equal(u.port, g->port);
        assert_true(mcp_str_eq(u.path, mcp_str_from(g->path)));
        expect(u.query, u.has_query, g->query);
        expect(u.fragment, u.has_fragment, g->fragment);
        assert_int_equal(u.is_ip_literal, strchr(g->text, '[') != NULL);
    }
}

static const struct bad {
    mcp_str text;
    int code;
    size_t offset;
} bad[] = {
    {{"", 0}, MCP_EPARSE, 0},
    {{"a", 1}, MCP_EPARSE, 0},
    {{"/a", 2}, MCP_EPARSE, 0},
    {{"//host/a", 8}, MCP_EPARSE, 0},
    {{"?q", 2}, MCP_EPARSE, 0},
    {{"#f", 2}, MCP_EPARSE, 0},
    {{":a", 2}, MCP_EPARSE, 0},
    {{"1a:b", 4}, MCP_EPARSE, 2},
    {{"f:///a b", 8}, MCP_EPARSE, 6},
    {{"f:///a\n", 7}, MCP_EPARSE, 6},
    {{"f:///a\0b", 8}, MCP_EPARSE, 6},
    {{"f:///\xc3\xa9", 7}, MCP_EPARSE, 5},
    {{"f:///%", 6}, MCP_EPARSE, 0},
    {{"f:///%2", 7}, MCP_EPARSE, 0},
    {{"f:///%zz", 8}, MCP_EPARSE, 0},
    {{"f:///a\"", 7}, MCP_EPARSE, 6},
    {{"f:///{a}", 8}, MCP_EPARSE, 5},
    {{"f:///a\\b", 8}, MCP_EPARSE, 6},
    {{"f:a#b#c", 7}, MCP_EPARSE, 5},
    {{"http://[::1/", 12}, MCP_EPARSE, 0},
    {{"http://host:8o/", 15}, MCP_EPARSE, 0},
    {{"http://host:65536/", 18}, MCP_ELIMIT, 12},
    {{"http://host:99999999999999999999/", 33}, MCP_ELIMIT, 12},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        mcp_error e = {0};
        mcp_uri u = {.port = 4711};
        assert_int_equal(mcp_uri_parse(bad[i].text, &u, &e), bad[i].code);
        assert_int_equal(e.code, bad[i].code);
        assert_true(e.text[0]);
        assert_int_equal(u.port, 4711); /* written on success only */
        if (bad[i].offset)
            assert_int_equal(e.offset, bad[i].offset);
        assert_int_equal(mcp_uri_parse(bad[i].text, &u, NULL), bad[i].code);
    }
}

/* Nothing beyond the end is read: the block has the exact size, for the address sanitizer. */
static void test_every_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        size_t len = strlen(good[i].text);
        for (size_t cut = 0; cut < len; cut++) {
            char *copy = malloc(cut ? cut : 1);
            memcpy(copy, good[i].text, cut);
            mcp_uri u;
            int rc = mcp_uri_parse((mcp_str){copy, cut}, &u, NULL);
            assert_true(rc == MCP_OK || rc == MCP_EPARSE);
            free(copy);
        }
    }
}

static void test_length(void **state)
{
    (void)state;
    char *text = malloc(MCP_URI_MAX_LENGTH + 1);
    memset(text, '/', MCP_URI_MAX_LENGTH + 1);
    memcpy(text, "f:", 2);
    mcp_uri u;
    mcp_error e;
    assert_int_equal(mcp_uri_parse((mcp_str){text, MCP_URI_MAX_LENGTH}, &u, &e), MCP_OK);
    assert_int_equal(u.path.len, MCP_URI_MAX_LENGTH - 4);
    assert_int_equal(mcp_uri_parse((mcp_str){text, MCP_URI_MAX_LENGTH + 1}, &u, &e), MCP_ELIMIT);
    free(text);
}

static void test_scheme(void **state)
{
    (void)state;
    mcp_uri u;
    assert_int_equal(mcp_uri_parse(MCP_STR("FiLe:///x"), &u, NULL), MCP_OK);
    assert_true(mcp_uri_scheme_is(&u, "file"));
    assert_false(mcp_uri_scheme_is(&u, "fil"));
    assert_false(mcp_uri_scheme_is(&u, "files"));
    assert_false(mcp_uri_scheme_is(&u, "http"));
    assert_false(mcp_uri_scheme_is(&u, ""));
}

static const struct decoded {
    const char *text;
    int code;
    mcp_str result;
} decodings[] = {
    {"", MCP_OK, {"", 0}},           {"plain", MCP_OK, {"plain", 5}},
    {"a%20b", MCP_OK, {"a b", 3}},   {"%2f%2F%2e", MCP_OK, {"//.", 3}},
    {"%00", MCP_OK, {"\0", 1}},      {"%FF%fe", MCP_OK, {"\xff\xfe", 2}},
    {"%252F", MCP_OK, {"%2F", 3}}, /* once, not twice */
    {"+", MCP_OK, {"+", 1}},         {"%", MCP_EPARSE, {NULL, 0}},
    {"%2", MCP_EPARSE, {NULL, 0}},   {"a%", MCP_EPARSE, {NULL, 0}},
    {"%2g", MCP_EPARSE, {NULL, 0}},  {"%g2", MCP_EPARSE, {NULL, 0}},
    {"%%20", MCP_EPARSE, {NULL, 0}}, {"% 2", MCP_EPARSE, {NULL, 0}},
};

static void test_decode(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(decodings) / sizeof(decodings[0]); i++) {
        mcp_str text = mcp_str_from(decodings[i].text);
        mcp_str wanted = decodings[i].result;
        char *copy = malloc(text.len + 1);
        memcpy(copy, text.ptr, text.len);
        size_t len = 4711;
        assert_int_equal(mcp_uri_decode((mcp_str){copy, text.len}, copy, text.len, &len),
                         decodings[i].code);
        if (decodings[i].code != MCP_OK) {
            assert_int_equal(len, 4711);
        } else {
            assert_true(mcp_str_eq((mcp_str){copy, len}, wanted));
            if (wanted.len)
                assert_int_equal(mcp_uri_decode(text, copy, wanted.len - 1, &len), MCP_ELIMIT);
        }
        free(copy);
    }
}

static const struct encoded {
    mcp_str bytes;
    const char *segment, *path;
} encodings[] = {
    {{"", 0}, "", ""},
    {{"a b.txt", 7}, "a%20b.txt", "a%20b.txt"},
    {{"100%", 4}, "100%25", "100%25"},
    {{"a#b?c", 5}, "a%23b%3Fc", "a%23b%3Fc"},
    {{"a\nb", 3}, "a%0Ab", "a%0Ab"},
    {{"\xc3\xa9", 2}, "%C3%A9", "%C3%A9"},
    {{"\xff\xfe", 2}, "%FF%FE", "%FF%FE"},
    {{"a\0b", 3}, "a%00b", "a%00b"},
    {{"/a/b c/", 7}, "%2Fa%2Fb%20c%2F", "/a/b%20c/"},
    {{"-._~!$&'()*+,=:@", 16}, "-._~!$&'()*+,=:@", "-._~!$&'()*+,=:@"},
    {{";[]{}|\\^`\"<>", 12},
     "%3B%5B%5D%7B%7D%7C%5C%5E%60%22%3C%3E",
     "%3B%5B%5D%7B%7D%7C%5C%5E%60%22%3C%3E"},
};

static void test_encode(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
        char to[MCP_URI_ENCODED_SIZE(16)];
        size_t len = mcp_uri_encode_segment(encodings[i].bytes, to);
        assert_true(mcp_str_eq((mcp_str){to, len}, mcp_str_from(encodings[i].segment)));
        len = mcp_uri_encode_path(encodings[i].bytes, to);
        assert_true(mcp_str_eq((mcp_str){to, len}, mcp_str_from(encodings[i].path)));
    }
}

/* Encoding and decoding every byte round-trips, and the encoded text is a valid URI. */
static void test_every_byte(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char name[2] = {(char)byte, 'x'};
        char text[16] = "f:///", back[2];
        size_t len = mcp_uri_encode_segment((mcp_str){name, 2}, text + 5);
        mcp_uri u;
        assert_int_equal(mcp_uri_parse((mcp_str){text, 5 + len}, &u, NULL), MCP_OK);
        assert_int_equal(u.path.len, len + 1);
        assert_int_equal(mcp_uri_decode((mcp_str){text + 5, len}, back, 2, &len), MCP_OK);
        assert_true(mcp_str_eq((mcp_str){back, len}, (mcp_str){name, 2}));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_every_cut), cmocka_unit_test(test_length),
        cmocka_unit_test(test_scheme),    cmocka_unit_test(test_decode),
        cmocka_unit_test(test_encode),    cmocka_unit_test(test_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
