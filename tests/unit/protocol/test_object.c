/* Common members of objects in each revision: names, annotations, icons, _meta; and the
 * replacements for content that a revision does not support.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "protocol/contents.h"
#include "support/failalloc.h"

enum { R2026, R2511, R2506, R2503, R2411 };

typedef void write_fn(mcp__object *o);

static void expect_code(write_fn *write, int revision, const char *text, int code)
{
    mcp__buf b;
    mcp__buf_init(&b, &mcp__default_allocator, 0);
    mcp__object o = mcp__object_begin(&b, &mcp__revisions[revision]);
    write(&o);
    mcp__object_end(&o);
    mcp__buf_char(&b, 0);
    assert_int_equal(b.failed, code);
    if (code == MCP_OK)
        assert_string_equal(b.ptr, text);
    mcp__buf_free(&b);
}

static void expect(write_fn *write, int revision, const char *text)
{
    expect_code(write, revision, text, MCP_OK);
}

static void nothing(mcp__object *o)
{
    mcp__object_str(o, "absent", NULL);
    mcp__object_annotations(o, NULL);
    mcp__object_icons(o, NULL, 0);
    mcp__object_meta(o, NULL);
}

static void named(mcp__object *o)
{
    mcp__object_name(o, "name", "Title");
}
static void nameless(mcp__object *o)
{
    mcp__object_name(o, "", "Title");
}
static void neither(mcp__object *o)
{
    mcp__object_name(o, NULL, NULL);
}

static void test_names(void **state)
{
    (void)state;
    expect(nothing, R2026, "{}");
    expect(named, R2506, "{\"name\":\"name\",\"title\":\"Title\"}");
    expect(named, R2503, "{\"name\":\"name\"}");
    expect(nameless, R2026, "{\"name\":\"\",\"title\":\"Title\"}");
    expect(nameless, R2411, "{\"name\":\"Title\"}");
    expect(neither, R2411, "{\"name\":\"\"}");
}

static const mcp_annotations *annotations;

static void annotated(mcp__object *o)
{
    mcp__object_annotations(o, annotations);
}

static void test_annotations(void **state)
{
    (void)state;
    static const struct {
        mcp_annotations a;
        int revision;
        const char *text;
    } cases[] = {
        {{0}, R2026, "{}"},
        {{.audience = MCP_AUDIENCE_USER}, R2411, "{\"annotations\":{\"audience\":[\"user\"]}}"},
        {{.audience = MCP_AUDIENCE_ASSISTANT},
         R2411,
         "{\"annotations\":{\"audience\":[\"assistant\"]}}"},
        {{.audience = 3}, R2411, "{\"annotations\":{\"audience\":[\"user\",\"assistant\"]}}"},
        {{.audience = 8}, R2411, "{}"},
        {{.priority = 1}, R2026, "{}"},
        {{.last_modified = "2026-01-01"},
         R2506,
         "{\"annotations\":{\"lastModified\":\"2026-01-01\"}}"},
        {{.last_modified = "2026-01-01"}, R2503, "{}"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_annotations a = cases[i].a;
        a.size = sizeof(a);
        annotations = &a;
        expect(annotated, cases[i].revision, cases[i].text);
    }
}

static mcp_icon icon;

static void with_icon(mcp__object *o)
{
    mcp__object_icons(o, &icon, 1);
}

static void test_icons(void **state)
{
    (void)state;
    icon = (mcp_icon){.size = sizeof(icon), .src = "data:,"};
    expect(with_icon, R2511, "{\"icons\":[{\"src\":\"data:,\"}]}");
    expect(with_icon, R2506, "{}");
    icon.sizes = "  48x48   any ";
    icon.theme = "light";
    expect(with_icon, R2026,
           "{\"icons\":[{\"src\":\"data:,\",\"sizes\":[\"48x48\",\"any\"],\"theme\":\"light\"}]}");
    icon = (mcp_icon){.size = sizeof(icon), .src = "data:,", .sizes = ""};
    expect(with_icon, R2026, "{\"icons\":[{\"src\":\"data:,\",\"sizes\":[]}]}");
}

static const char *meta;

static void with_meta(mcp__object *o)
{
    mcp__object_meta(o, meta);
}

static void test_meta(void **state)
{
    (void)state;
    meta = "{ \"a\" :\n 1 }";
    expect(with_meta, R2506, "{\"_meta\":{\"a\":1}}");
    expect(with_meta, R2503, "{}");
    static const char *const wrong[] = {"", "[]", "7", "{", "{\"a\":1,\"a\":2}"};
    for (size_t i = 0; i < MCP__COUNT(wrong); i++) {
        meta = wrong[i];
        expect_code(with_meta, R2026, "", MCP_EINVAL);
        expect(with_meta, R2411, "{}");
    }
}

static void test_content(void **state)
{
    (void)state;
    static const struct {
        mcp_content c;
        int revision;
        const char *text;
    } cases[] = {
        {{.text = {"", 0}}, R2026, "{\"type\":\"text\",\"text\":\"\"}"},
        {{.kind = MCP_CONTENT_IMAGE, .bytes = "", .mime_type = "image/png"},
         R2411,
         "{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"image/png\"}"},
        /* mimeType is required by every revision's schema */
        {{.kind = MCP_CONTENT_IMAGE, .bytes = "a", .bytes_len = 1},
         R2026,
         "{\"type\":\"image\",\"data\":\"YQ==\",\"mimeType\":\"application/octet-stream\"}"},
        {{.kind = MCP_CONTENT_AUDIO, .bytes = "a", .bytes_len = 1},
         R2411,
         "{\"type\":\"text\",\"text\":\"[audio, 1 bytes]\"}"},
        {{.kind = MCP_CONTENT_LINK, .uri = "a:\"", .name = "", .title = "T"},
         R2506,
         "{\"type\":\"resource_link\",\"uri\":\"a:\\\"\",\"name\":\"\",\"title\":\"T\"}"},
        {{.kind = MCP_CONTENT_LINK, .uri = "a:b", .name = "n"},
         R2503,
         "{\"type\":\"text\",\"text\":\"[resource link] a:b\"}"},
        {{.kind = MCP_CONTENT_RESOURCE, .uri = "a:b", .text = {"t", 1}, .meta = "{}"},
         R2026,
         "{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"t\"},\"_meta\":{}}"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__buf b;
        mcp__buf_init(&b, &mcp__default_allocator, 0);
        mcp__put_content_block(&b, &mcp__revisions[cases[i].revision], &cases[i].c);
        mcp__buf_char(&b, 0);
        assert_int_equal(b.failed, MCP_OK);
        assert_string_equal(b.ptr, cases[i].text);
        mcp__buf_free(&b);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    const mcp_content c = {.kind = MCP_CONTENT_AUDIO,
                           .bytes = "abc",
                           .bytes_len = 3,
                           .uri = "a:b",
                           .meta = "{\"a\":[1,2,3]}"};
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__buf b;
        mcp__buf_init(&b, &a, 0);
        for (size_t i = 0; i < MCP__REVISIONS; i++)
            mcp__put_content_block(&b, &mcp__revisions[i], &c);
        assert_int_equal(b.failed, f.calls < n ? MCP_OK : MCP_ENOMEM);
        mcp__buf_free(&b);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_annotations),
        cmocka_unit_test(test_icons),   cmocka_unit_test(test_meta),
        cmocka_unit_test(test_content), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
