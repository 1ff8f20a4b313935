/* Base64: the vectors of RFC 4648, every byte value, strictness. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/base.h"

static void test_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *plain, *padded, *url;
    } vectors[] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xFB\xFF\xBF", "+/+/", "-_-_"},
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "/////////w==", "_________w"},
    };
    for (size_t i = 0; i < MCP__COUNT(vectors); i++) {
        size_t len = strlen(vectors[i].plain);
        char text[32] = {0}, back[32] = {0};
        mcp__base64_encode(text, vectors[i].plain, len);
        assert_string_equal(text, vectors[i].padded);
        assert_int_equal(MCP__BASE64_SIZE(len), strlen(text));
        assert_int_equal(mcp__base64_decode(back, mcp_str_from(text)), len);
        assert_memory_equal(back, vectors[i].plain, len + 1);
        memset(text, 0, sizeof(text));
        assert_int_equal(mcp__base64url_encode(text, vectors[i].plain, len),
                         strlen(vectors[i].url));
        assert_string_equal(text, vectors[i].url);
        memset(back, 0, sizeof(back));
        assert_int_equal(mcp__base64url_decode(back, mcp_str_from(text)), len);
        assert_memory_equal(back, vectors[i].plain, len + 1);
    }
    assert_int_equal(mcp__base64_decode(NULL, (mcp_str){NULL, 0}), 0);
    assert_int_equal(mcp__base64url_decode(NULL, (mcp_str){NULL, 0}), 0);
}

static void round_trip(const unsigned char *bytes, size_t len)
{
    char text[1024];
    unsigned char back[1024];
    memset(text, '#', sizeof(text));
    mcp__base64_encode(text, bytes, len);
    assert_int_equal(text[MCP__BASE64_SIZE(len)], '#');
    assert_int_equal(mcp__base64_decode(back, (mcp_str){text, MCP__BASE64_SIZE(len)}), len);
    assert_memory_equal(back, bytes, len);
    memset(text, '#', sizeof(text));
    size_t size = mcp__base64url_encode(text, bytes, len);
    assert_int_equal(text[size], '#');
    assert_int_equal(mcp__base64url_decode(back, (mcp_str){text, size}), len);
    assert_memory_equal(back, bytes, len);
}

static void test_every_byte(void **state)
{
    (void)state;
    unsigned char bytes[256 + 8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    for (size_t len = 1; len <= 256; len++)
        round_trip(bytes, len);
    for (size_t start = 0; start < 256; start++) {
        for (size_t len = 1; len <= 8; len++)
            round_trip(bytes + start, len);
    }
}

static void test_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "Z",        "Zg",     "Zg=",        "Zg===", "Z===",  "====",     "=",
        "Zh==",     "Zm9=",   "Zm9v\n",     "Zm 9v", "Zm9v=", "Zg==Zg==", "Zm-_",
        "Zm9v====", "Zg==\n", "\xC3\xA9==", "Zm=v",  "Zm+=",  "Zo==",
    };
    static const char *const bad_url[] = {
        "Z",      "Zg==", "Zh",   "Zm9",      "Zm9vY", "Zm+/",
        "Zm9v\n", " Zm8", "Zm8=", "\xFF\xFF", "Zm-",   "Zo",
    };
    char to[32];
    for (size_t i = 0; i < MCP__COUNT(bad); i++)
        assert_true(mcp__base64_decode(to, mcp_str_from(bad[i])) == SIZE_MAX);
    for (size_t i = 0; i < MCP__COUNT(bad_url); i++)
        assert_true(mcp__base64url_decode(to, mcp_str_from(bad_url[i])) == SIZE_MAX);
    assert_true(mcp__base64_decode(to, (mcp_str){"Zg\0=", 4}) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
