/* sampling.c: see sampling.h. */
#include "protocol/sampling.h"

/* The tool_use and tool_result blocks of a message, by their ids. */
typedef struct blocks {
    mcp__map uses, results;
    size_t n_uses, n_results, all;
    bool nameless; /* one of them has no id */
} blocks;

/* Returns the next content of a message. The content may be a single object instead of an array. */
static const mcp_json *next_content(const mcp_json *message, mcp_json_iter *it)
{
    const mcp_json *content = mcp_json_get(message, "content");
    if (mcp_json_is(content, MCP_JSON_ARRAY))
        return mcp_json_next(content, it, NULL);
    return content && it->index++ == 0 ? content : NULL;
}

static int add(blocks *b, mcp__map *to, size_t *n, const mcp_json *content, const char *id)
{
    mcp_str name = mcp_json_string(mcp_json_get(content, id));
    ++*n;
    b->nameless |= !name.ptr;
    if (!name.ptr)
        return MCP_OK;
    int rc = mcp__map_add(to, name, (void *)(uintptr_t)content);
    return rc == MCP_EEXIST ? MCP_OK : rc;
}

/* The seeds are addresses, which a peer does not know. */
static int read_blocks(blocks *b, const mcp_json *message, const mcp_allocator *allocator)
{
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    *b = (blocks){.n_uses = 0};
    mcp__map_init(&b->uses, allocator, (uintptr_t)message, (uintptr_t)b);
    mcp__map_init(&b->results, allocator, (uintptr_t)message, (uintptr_t)b);
    for (const mcp_json *c; rc == MCP_OK && (c = next_content(message, &it)) != NULL;) {
        mcp_str type = mcp_json_string(mcp_json_get(c, "type"));
        b->all++;
        if (mcp_str_eq(type, MCP_STR("tool_use")))
            rc = add(b, &b->uses, &b->n_uses, c, "id");
        else if (mcp_str_eq(type, MCP_STR("tool_result")))
            rc = add(b, &b->results, &b->n_results, c, "toolUseId");
    }
    return rc;
}

static void clear_blocks(blocks *b)
{
    mcp__map_free(&b->uses);
    mcp__map_free(&b->results);
}

/* Returns whether each of these blocks, with its id in this member, has its counterpart. */
static bool each_has(const mcp__map *some, const char *id, const mcp__map *others)
{
    size_t at = 0;
    for (const mcp_json *c; (c = mcp__map_next(some, &at)) != NULL;)
        if (!mcp__map_get(others, mcp_json_string(mcp_json_get(c, id))))
            return false;
    return true;
}

/* Returns what is wrong with a message after another one, or NULL if it is valid. */
static const char *problem_of(const blocks *before, const blocks *b, bool user)
{
    if (b->nameless)
        return "a tool_use or tool_result has no id";
    if (before->n_uses && (!b->n_results || !each_has(&before->uses, "id", &b->results)))
        return "it has no tool_result for a tool_use of the previous message";
    if (!b->n_results)
        return user && b->n_uses ? "a user message must not have a tool_use" : NULL;
    if (!user)
        return "only a user message may have a tool_result";
    if (b->n_results != b->all)
        return "it has other content beside its tool_results";
    return each_has(&b->results, "toolUseId", &before->uses)
               ? NULL
               : "a tool_result refers to no tool_use of the previous message";
}

int mcp__sampling_check(const mcp_json *messages, const mcp_allocator *allocator,
                        mcp__sampling *ret)
{
    blocks before = {.n_uses = 0}, b;
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    *ret = (mcp__sampling){.problem = NULL};
    for (const mcp_json *m;
         rc == MCP_OK && !ret->problem && (m = mcp_json_next(messages, &it, NULL)) != NULL;) {
        mcp_str role = mcp_json_string(mcp_json_get(m, "role"));
        rc = read_blocks(&b, m, allocator);
        if (rc == MCP_OK)
            ret->problem = problem_of(&before, &b, mcp_str_eq(role, MCP_STR("user")));
        ret->has_tools |= b.n_uses || b.n_results;
        ret->message++;
        clear_blocks(&before);
        before = b;
    }
    if (rc == MCP_OK && !ret->problem && before.n_uses)
        ret->problem = "no tool_result follows its tool_use";
    clear_blocks(&before);
    return rc;
}
