/* rates.c: see rates.h. Whom a rate is about is read and decided as for an access rule. If that is unknown, because
 * the token of the caller lacks the claim, the rate counts: it takes something away.
 */
#define _GNU_SOURCE
#include "rates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access_rules.h"

typedef struct one_rate {
    access_rule who; /* and the tools, if it names some */
    uint32_t per_minute, burst;
    bool together;
    char name[24];
} one_rate;

struct rates {
    one_rate *items;
    size_t count;
};

void rates_free(rates *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++)
        access_rule_clear(&all->items[i].who);
    free(all->items);
    free(all);
}

static int add_tool(config *c, const mcp_json *text, const char *pointer, globs *to)
{
    mcp_str given = mcp_json_string(text);
    int rc = memchr(given.ptr, 0, given.len) ? MCP_EINVAL : globs_add(to, given);
    if (rc == MCP_ELIMIT || rc == MCP_EINVAL)
        return config_wrong(c, rc, pointer,
                            rc == MCP_ELIMIT ? "longer than 1024 bytes"
                                             : "it contains a NUL character");
    return rc;
}

static int read_tools(config *c, const mcp_json *value, const char *pointer, access_rule *r)
{
    globs *to = &r->what[MCP_ITEM_TOOL];
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    r->has[MCP_ITEM_TOOL] = value != NULL;
    if (mcp_json_is(value, MCP_JSON_STRING))
        return add_tool(c, value, pointer, to);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(value, &it, NULL)) != NULL;)
        rc = add_tool(c, v, pointer, to);
    return rc;
}

static int read_rate(config *c, const views *all, const mcp_json *value, size_t i, one_rate *r)
{
    char pointer[64];
    snprintf(r->name, sizeof(r->name), "rates/%zu", i);
    snprintf(pointer, sizeof(pointer), "/rates/%zu", i);
    r->per_minute = (uint32_t)mcp_json_int(mcp_json_get(value, "per-minute"), 0);
    r->burst = (uint32_t)mcp_json_int(mcp_json_get(value, "burst"), 0);
    r->together = mcp_json_bool(mcp_json_get(value, "together"), false);
    int rc = access_read_callers(c, all, value, pointer, &r->who);
    snprintf(pointer, sizeof(pointer), "/rates/%zu/tools", i);
    return rc == MCP_OK ? read_tools(c, mcp_json_get(value, "tools"), pointer, &r->who) : rc;
}

int rates_read(config *c, const views *all, rates **ret)
{
    const mcp_json *section = c ? mcp_json_get(config_root(c), "rates") : NULL;
    size_t count = mcp_json_count(section);
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    *ret = NULL;
    if (!count)
        return MCP_OK;
    rates *made = calloc(1, sizeof(*made));
    if (!made || !(made->items = calloc(count, sizeof(*made->items)))) {
        rates_free(made);
        return MCP_ENOMEM;
    }
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(section, &it, NULL)) != NULL;) {
        made->count++;
        rc = read_rate(c, all, v, it.index - 1, &made->items[made->count - 1]);
    }
    if (rc == MCP_OK)
        *ret = made;
    else
        rates_free(made);
    return rc;
}

const struct access_rule *rates_callers(const rates *all, size_t index)
{
    return all && index < all->count ? &all->items[index].who : NULL;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static bool counts(const one_rate *r, const mcp_identity *identity, mcp_item item, mcp_str name)
{
    bool has_tools = r->who.has[MCP_ITEM_TOOL];
    if (has_tools && (item != MCP_ITEM_TOOL || !globs_match(&r->who.what[MCP_ITEM_TOOL], name)))
        return false;
    return access_is_about(&r->who, identity) != NO;
}

int rates_take(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    const rates *all = user;
    const mcp_identity *identity = mcp_request_identity(req);
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < all->count; i++) {
        const one_rate *r = &all->items[i];
        if (counts(r, identity, item, name))
            rc = mcp_request_take(req, MCP_OPTIONS(mcp_rate, .name = r->name,
                                                   .per_minute = r->per_minute, .burst = r->burst,
                                                   .together = r->together));
    }
    return rc;
}
