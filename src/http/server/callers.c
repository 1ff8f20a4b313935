/* callers.c: counts the connections of each address and of each principal, and limits them.
 *
 * A connection is counted for its transport's peer while it is open. Requests are counted for the
 * client that a trusted proxy named, and for their principal, until they end.
 */
#include "http/server/connection.h"

static bool names_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* Returns the limit of the caller. */
static size_t max_of(const mcp_http_connection *c, size_t limit, bool spares_local)
{
    return spares_local && mcp__http_is_local(c) ? SIZE_MAX : limit;
}

static size_t max_per_address(const mcp_http_connection *c)
{
    return max_of(c, c->http->options.max_per_address, c->http->spares_local_addresses);
}

/* Finds or makes an entry of one of the maps. */
static mcp__http_refusal find(mcp_http *http, mcp__map *in, mcp_str text, mcp__http_address **ret)
{
    mcp__http_address *a = mcp__map_get(in, text);
    if (!a) {
        a = mcp__zalloc(http->allocator, sizeof(*a) + text.len + 1);
        if (!a)
            return MCP__HTTP_NO_MEMORY;
        a->len = text.len;
        memcpy(a->text, text.ptr, text.len);
        if (mcp__map_add(in, (mcp_str){a->text, a->len}, a) != MCP_OK) {
            mcp__release(http->allocator, a);
            return MCP__HTTP_NO_MEMORY;
        }
    }
    *ret = a;
    return MCP__HTTP_FINE;
}

/* Removes an entry that nothing refers to. */
static void tidy(mcp_http *http, mcp__map *in, mcp__http_address *a)
{
    if (a->count || a->connections)
        return;
    mcp__map_remove(in, (mcp_str){a->text, a->len});
    mcp__release(http->allocator, a);
}

/* Counts a connection of an address. */
static mcp__http_refusal join(mcp_http *http, const char *address, mcp__http_address **which)
{
    mcp__http_refusal why = find(http, &http->addresses, mcp_str_from(address), which);
    if (!why)
        (*which)->count++;
    return why;
}

static void leave(mcp_http *http, mcp__http_address **which)
{
    mcp__http_address *a = *which;
    *which = NULL;
    if (!a)
        return;
    a->count--;
    tidy(http, &http->addresses, a);
}

mcp__http_refusal mcp__http_count_peer(mcp_http_connection *c, const char *address)
{
    mcp__http_refusal why = address ? join(c->http, address, &c->address) : MCP__HTTP_FINE;
    if (c->address)
        c->address->is_proxy = c->proxy;
    c->local = c->trusted || (c->address && names_loopback(c->address->text));
    if (why || !c->address || c->proxy || c->address->count <= max_per_address(c))
        return why;
    return MCP__HTTP_MANY_PER_ADDRESS;
}

static mcp__http_refusal refuse(mcp_http *http, mcp__http_refusal why)
{
    http->metrics.refused++;
    mcp__http_complain_of(http, &http->complaint, why);
    return why;
}

mcp__http_refusal mcp__http_count_client(mcp_http_connection *c)
{
    char text[MCP__HTTP_IP_TEXT];
    mcp__http_ip_write_account(&c->client_ip, text);
    leave(c->http, &c->client);
    mcp__http_refusal why = join(c->http, text, &c->client);
    if (why || c->client->count <= max_per_address(c))
        return why;
    leave(c->http, &c->client);
    return refuse(c->http, MCP__HTTP_MANY_PER_ADDRESS);
}

static void leave_account(mcp_http_connection *c)
{
    if (c->in_account)
        c->account->count--;
    c->in_account = false;
}

static void drop_account(mcp_http_connection *c)
{
    leave_account(c);
    if (!c->account)
        return;
    c->account->connections--;
    tidy(c->http, &c->http->principals, c->account);
    c->account = NULL;
}

/* Sets c->account. Usually all requests of a connection have the same principal. */
static mcp__http_refusal find_account(mcp_http_connection *c)
{
    mcp__http_address *account;
    if (c->account && strcmp(c->account->text, c->principal) == 0)
        return MCP__HTTP_FINE;
    drop_account(c);
    mcp__http_refusal why =
        find(c->http, &c->http->principals, mcp_str_from(c->principal), &account);
    if (why)
        return why;
    account->connections++;
    c->account = account;
    return MCP__HTTP_FINE;
}

mcp__http_refusal mcp__http_count_principal(mcp_http_connection *c)
{
    size_t max = max_of(c, c->http->options.max_per_principal, c->http->spares_local_principals);
    leave_account(c);
    mcp__http_refusal why = find_account(c);
    if (why)
        return why;
    c->account->count++;
    c->in_account = true;
    if (c->account->count <= max)
        return MCP__HTTP_FINE;
    leave_account(c);
    return refuse(c->http, MCP__HTTP_MANY_PER_PRINCIPAL);
}

void mcp__http_uncount_request(mcp_http_connection *c)
{
    leave(c->http, &c->client);
    leave_account(c);
}

void mcp__http_uncount(mcp_http_connection *c)
{
    leave(c->http, &c->client);
    drop_account(c);
    leave(c->http, &c->address);
}
