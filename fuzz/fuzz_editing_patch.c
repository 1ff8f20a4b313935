/* fuzz_editing_patch.c: a text and a patch of it, which may be hostile, separated by a NUL. Whatever is
 * accepted gives a text; a difference of two texts is accepted, and gives the second one.
 */
#include <stdint.h>
#include <stdlib.h>

#include <diff.h>
#include <patch.h>
#include <rewrite.h>

enum { MOST = 1 << 20 };

static const editing_limits limits = {.edits = 1 << 20, .text = MOST};

static void check_patch(const editing_text *t, mcp_str patch)
{
    common_buffer changed;
    mcp_error error;
    int rc = editing_patch(t, patch, MCP_STR("dir/f"), &limits, &changed, &error);
    if (rc != error.code || (rc == MCP_OK) != (error.text[0] == 0) || changed.len > MOST + 3)
        abort();
    common_buffer_free(&changed);
}

static void check_diff(const editing_text *t, mcp_str after)
{
    common_buffer diff, changed;
    editing_counts counts;
    common_buffer_init(&diff, NULL);
    if (editing_diff(t->text, after, MCP_STR("f"), SIZE_MAX, &diff, &counts) != MCP_OK)
        abort();
    int rc = editing_patch(t, (mcp_str){diff.ptr, diff.len}, MCP_STR("f"), &limits, &changed, NULL);
    bool same = mcp_str_eq(t->text, after);
    if (rc != (same ? MCP_EINVAL : MCP_OK) ||
        (!same && !mcp_str_eq(editing_changed_text(t, &changed), after)))
        abort();
    common_buffer_free(&changed);
    common_buffer_free(&diff);
}

/* The second text takes the place of the first one. */
static void check_replace(const editing_text *t, mcp_str after)
{
    common_buffer changed;
    mcp_error error;
    int rc = editing_rewrite(t, after, MOST, &changed, &error);
    if (rc != error.code)
        abort();
    common_buffer_free(&changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    editing_text t;
    if (!nul || size > MOST / 2)
        return 0;
    size_t len = (size_t)(nul - data);
    mcp_str second = {(const char *)nul + 1, size - len - 1};
    if (editing_text_open((mcp_str){(const char *)data, len}, MCP_STR(""), MOST, NULL, &t, NULL) !=
        MCP_OK)
        return 0;
    check_patch(&t, second);
    check_replace(&t, second);
    /* A text of the same kind, since a diff is UTF-8 without NUL. */
    editing_text other;
    if (editing_text_open(second, MCP_STR("UTF-8"), MOST, NULL, &other, NULL) == MCP_OK) {
        check_diff(&t, second);
        editing_text_close(&other);
    }
    editing_text_close(&t);
    return 0;
}
