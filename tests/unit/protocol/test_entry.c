/* The tables of the members of entries: they have a row for every member of the public structs, and
 * what they write is read back unchanged.
 */
#include "support/entries.h"

#include <mcp/sys/forward.h>

#define NOT_SENT(type, member)                              \
    {                                                       \
        offsetof(type, member), sizeof(((type *)0)->member) \
    }

typedef struct span {
    size_t offset, size;
} span;

/* What the structs have for the server alone. */
static const span handlers[ENTRY_KINDS][10] = {
    [MCP_ITEM_RESOURCE] = {NOT_SENT(mcp_resource, read), NOT_SENT(mcp_resource, text)},
    [MCP_ITEM_TEMPLATE] = {NOT_SENT(mcp_resource_template, read),
                           NOT_SENT(mcp_resource_template, complete)},
    [MCP_ITEM_PROMPT] = {NOT_SENT(mcp_prompt, get), NOT_SENT(mcp_prompt, complete)},
    [MCP_ITEM_TOOL] = {NOT_SENT(mcp_tool, call), NOT_SENT(mcp_tool, timeout_ms),
                       NOT_SENT(mcp_tool, offered), NOT_SENT(mcp_tool, fields),
                       NOT_SENT(mcp_tool, n_fields), NOT_SENT(mcp_tool, result_fields),
                       NOT_SENT(mcp_tool, n_result_fields)},
};

/* The sizes of a member and of its `other` by its kind. */
static const struct {
    size_t size, other;
} sizes[] = {
    [MCP__MEMBER_TEXT] = {sizeof(char *), 0},
    [MCP__MEMBER_NAME] = {sizeof(char *), 0},
    [MCP__MEMBER_WORDS] = {sizeof(char *), 0},
    [MCP__MEMBER_JSON] = {sizeof(char *), 0},
    [MCP__MEMBER_OUTPUT] = {sizeof(char *), 0},
    [MCP__MEMBER_AUDIENCE] = {sizeof(unsigned), 0},
    [MCP__MEMBER_UINT] = {sizeof(uint64_t), sizeof(bool)},
    [MCP__MEMBER_REAL] = {sizeof(double), sizeof(bool)},
    [MCP__MEMBER_TRUE] = {sizeof(bool), 0},
    [MCP__MEMBER_HINT] = {sizeof(mcp_hint), 0},
    [MCP__MEMBER_TASKS] = {sizeof(mcp_task_support), 0},
    [MCP__MEMBER_STRUCT] = {sizeof(void *), 0},
    [MCP__MEMBER_STRUCTS] = {sizeof(void *), sizeof(size_t)},
    [MCP__MEMBER_PART] = {0, 0},
};

static void mark(char *covered, size_t offset, size_t size)
{
    for (size_t i = 0; i < size; i++)
        assert_int_equal(covered[offset + i]++, 0);
}

static void mark_shape(char *covered, const mcp__entry_shape *shape)
{
    for (const mcp__entry_member *m = shape->members; m < shape->members + shape->n; m++) {
        mark(covered, m->offset, sizes[m->kind].size);
        mark(covered, m->other, sizes[m->kind].other);
        if (m->kind == MCP__MEMBER_PART)
            mark_shape(covered, m->shape);
    }
}

/* Members are only appended, and the structs have no padding at their end: so a member without a
 * row leaves bytes at the end. Elsewhere only padding is left, which is smaller than a member. */
static void check_shape(const mcp__entry_shape *shape, const span *others)
{
    char covered[512] = {0};
    assert_true(shape->size <= sizeof(covered));
    mark(covered, 0, sizeof(size_t));
    mark_shape(covered, shape);
    for (; others && others->size; others++)
        mark(covered, others->offset, others->size);
    assert_true(covered[shape->size - 1]);
    for (size_t i = 0, left = 0; i < shape->size; i++) {
        left = covered[i] ? 0 : left + 1;
        if (left >= sizeof(void *))
            fail_msg("no row for the member before byte %zu of %zu", i + 1, shape->size);
    }
}

static void test_covered(void **state)
{
    (void)state;
    for (size_t i = 0; i < ENTRY_KINDS; i++)
        check_shape(&mcp__entry_shapes[i], handlers[i]);
    check_shape(&mcp__annotations_shape, NULL);
    check_shape(&mcp__icon_shape, NULL);
    check_shape(&mcp__argument_shape, NULL);
}

/* ---- written and read ------------------------------------------------------------------------ */

/* Returns whether the object has each member of the shape that the revision has. */
static void check_members(const mcp__entry_shape *shape, const mcp__revision *r, const mcp_json *in)
{
    for (const mcp__entry_member *m = shape->members; m < shape->members + shape->n; m++) {
        const mcp_json *v = mcp_json_get(in, m->name);
        bool has = mcp__revision_has(r, m->column) &&
                   (strcmp(m->name, "execution") != 0 || r->tasks == MCP__TASKS_ASKED);
        if (!v != !has)
            fail_msg("%s: %s is %s", r->name, m->name, v ? "written" : "missing");
        if (v && m->shape)
            check_members(m->shape, r, m->kind == MCP__MEMBER_STRUCTS ? mcp_json_at(v, 1) : v);
    }
}

/* An entry that was read from the text of a revision has the same text in each older one. */
static void check_read(mcp_item kind, const entry *filled, const mcp__revision *r)
{
    char *text = entry_json(kind, filled, r);
    mcp_json_doc *doc = NULL;
    mcp_entry_memory *memory = NULL;
    entry read = {.size = mcp__entry_shapes[kind].size};
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    check_members(&mcp__entry_shapes[kind], r, mcp_json_root(doc));
    assert_int_equal(mcp_entry_read(kind, mcp_json_root(doc), &read, NULL, &memory), MCP_OK);
    for (; r < mcp__revisions + MCP__REVISIONS; r++) {
        char *again = entry_json(kind, &read, r), *expected = entry_json(kind, filled, r);
        if (r->tasks != MCP__TASKS_ASKED || strstr(text, "\"execution\"") || kind != MCP_ITEM_TOOL)
            assert_string_equal(again, expected);
        free(expected);
        free(again);
    }
    mcp_entry_memory_free(memory);
    mcp_json_free(doc);
    free(text);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (mcp_item kind = 0; kind < ENTRY_KINDS; kind++) {
        entry filled;
        entry_used = 0;
        entry_make(kind, &filled);
        for (size_t i = 0; i < MCP__REVISIONS; i++)
            check_read(kind, &filled, &mcp__revisions[i]);
    }
}

/* ---- reading what is not well-formed --------------------------------------------------------- */

static void test_wrong_types(void **state)
{
    static const char *const values[] = {"7",    "\"x\"", "[7,{}]", "{\"a\":[]}",
                                         "null", "-1",    "1e400"};
    (void)state;
    for (mcp_item kind = 0; kind < ENTRY_KINDS; kind++) {
        for (size_t i = 0; i < MCP__COUNT(values); i++) {
            const mcp__entry_shape *shape = &mcp__entry_shapes[kind];
            char text[1024] = "{";
            for (size_t k = 0, n = 1; k < shape->n; k++)
                n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\"%s\":%s", k ? "," : "",
                                      shape->members[k].name, values[i]);
            strcat(text, "}");
            mcp_json_doc *doc = NULL;
            mcp_entry_memory *memory = NULL;
            entry read = {.size = shape->size};
            assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
            assert_int_equal(mcp_entry_read(kind, mcp_json_root(doc), &read, NULL, &memory),
                             MCP_OK);
            free(entry_json(kind, &read, &mcp__revisions[0]));
            mcp_entry_memory_free(memory);
            mcp_json_free(doc);
        }
    }
}

/* A program that was built with a shorter struct keeps what is behind it. */
static void test_size(void **state)
{
    mcp_json_doc *doc = NULL;
    mcp_entry_memory *memory = NULL;
    mcp_resource r = {.size = offsetof(mcp_resource, title), .title = "before"};
    (void)state;
    assert_int_equal(
        mcp_json_parse(MCP_STR("{\"name\":\"n\",\"title\":\"t\"}"), NULL, NULL, &doc, NULL),
        MCP_OK);
    const mcp_json *root = mcp_json_root(doc);
    assert_int_equal(mcp_entry_read(MCP_ITEM_RESOURCE, root, &r, NULL, &memory), MCP_OK);
    assert_string_equal(r.name, "n");
    assert_string_equal(r.title, "before");
    assert_int_equal(r.size, offsetof(mcp_resource, title));
    r.size = 0;
    assert_int_equal(mcp_entry_read(MCP_ITEM_RESOURCE, root, &r, NULL, &memory), MCP_EINVAL);
    r.size = sizeof(r);
    assert_int_equal(mcp_entry_read((mcp_item)ENTRY_KINDS, root, &r, NULL, &memory), MCP_EINVAL);
    mcp_entry_memory_free(memory);
    mcp_entry_memory_free(NULL);
    mcp_json_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_covered),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
