/* cost.c: what the definitions of the tools of another server cost a model: their names, descriptions and input schemas, as
 * the server listed them last. A page is measured when somebody asks, once as long as its entries stay the same.
 */
#include <mcp/sys/json.h>

#include "policy.h"
#include "snapshot.h"

/* Returns whether the APIs of models take this member of a tool. */
static bool is_shown(mcp_str member)
{
    return mcp_str_eq(member, MCP_STR("name")) || mcp_str_eq(member, MCP_STR("description")) ||
           mcp_str_eq(member, MCP_STR("inputSchema"));
}

static uint64_t cost_of_tool(const upstream *up, const mcp_json *tool, mcp_str text)
{
    const mcp_upstream_group *group = up->options.group;
    mcp_str name = mcp_json_string(mcp_json_get(tool, "name")), key, part;
    const mcp_upstream_change *c = upstream_change_of(&up->options, MCP_ITEM_TOOL, name);
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    uint64_t sum = 0;
    if (!name.ptr || !upstream_offers(up, MCP_ITEM_TOOL, name))
        return 0;
    while (mcp_json_next(tool, &it, &key) && mcp_json_text_next(text, &texts, NULL, &part)) {
        bool replaced = c && c->description && mcp_str_eq(key, MCP_STR("description"));
        if (is_shown(key))
            sum += group->cost(replaced ? mcp_str_from(c->description) : part);
    }
    return sum;
}

/* Without memory the page costs nothing, until the next time. */
static uint64_t cost_of_page(const upstream *up, upstream_page *p)
{
    mcp_str text = {p->text.ptr + p->from, p->length}, part;
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    if (p->measured)
        return p->cost;
    p->cost = 0;
    if (text.len && mcp_json_parse(text, NULL, &up->alloc, &doc, NULL) == MCP_ENOMEM)
        return 0;
    for (const mcp_json *v; (v = mcp_json_next(mcp_json_root(doc), &it, NULL)) != NULL &&
                            mcp_json_text_next(text, &texts, NULL, &part);)
        p->cost += cost_of_tool(up, v, part);
    mcp_json_free(doc);
    p->measured = true;
    return p->cost;
}

uint64_t upstream_definitions_cost(const upstream *up)
{
    uint64_t most = 0;
    if (!up->options.group || !up->options.group->cost)
        return 0;
    for (const upstream_snapshot *s = up->snapshots; s; s = s->next) {
        uint64_t sums[2] = {0, 0}; /* of callers that show apps, and of others */
        for (upstream_page *p = s->pages; p; p = p->next)
            sums[p->apps] += p->item == MCP_ITEM_TOOL ? cost_of_page(up, p) : 0;
        for (size_t i = 0; i < 2; i++)
            most = sums[i] > most ? sums[i] : most;
    }
    return most;
}

void upstream_definitions_forget(upstream *up)
{
    for (upstream_snapshot *s = up->snapshots; s; s = s->next)
        for (upstream_page *p = s->pages; p; p = p->next)
            p->measured = false;
}
