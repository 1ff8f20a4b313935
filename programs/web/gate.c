/* gate.c: the code, the secret, and where requests come from. */
#define _GNU_SOURCE
#include "gate.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

bool gate_choose_address(gate *g, bool own_origin)
{
    unsigned char n[3] = {0, 0, 0};
    if (own_origin && getrandom(n, sizeof(n), 0) != (ssize_t)sizeof(n))
        return false;
    if (own_origin) /* neither 127.0.0.0/16, which has other uses, nor the broadcast address */
        snprintf(g->name, sizeof(g->name), "127.%d.%d.%d", n[0] % 254 + 1, n[1], n[2] % 254 + 1);
    else
        snprintf(g->name, sizeof(g->name), "127.0.0.1");
    return true;
}

void gate_set_address(gate *g, const char *address)
{
    snprintf(g->host, sizeof(g->host), "%s", address);
    snprintf(g->origin, sizeof(g->origin), "http://%s", g->host);
}

static bool make(char to[GATE_DIGITS + 1])
{
    unsigned char bytes[GATE_DIGITS / 2];
    *to = 0;
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof(bytes));
    return true;
}

/* Compares in a time that does not depend on where the texts differ. */
static bool is_same(mcp_str given, const char expected[GATE_DIGITS + 1])
{
    unsigned char differs = 0;
    if (given.len != GATE_DIGITS || !*expected)
        return false;
    for (size_t i = 0; i < GATE_DIGITS; i++)
        differs |= (unsigned char)(given.ptr[i] ^ expected[i]);
    return differs == 0;
}

bool gate_renew(gate *g, int64_t now)
{
    g->made = now;
    g->is_used = false;
    return make(g->code);
}

gate_answer gate_exchange(gate *g, mcp_str code, int64_t now)
{
    if (!is_same(code, g->code))
        return GATE_WRONG;
    if (g->is_used)
        return GATE_USED;
    if (now - g->made > GATE_CODE_MS)
        return GATE_LATE;
    g->is_used = true;
    return make(g->secret) ? GATE_FINE : GATE_WRONG;
}

bool gate_admits(const gate *g, mcp_str authorization)
{
    static const char scheme[] = "Bearer ";
    enum { LEN = sizeof(scheme) - 1 };
    if (authorization.len <= LEN || strncasecmp(authorization.ptr, scheme, LEN) != 0)
        return false;
    return is_same((mcp_str){authorization.ptr + LEN, authorization.len - LEN}, g->secret);
}

bool gate_is_host(const gate *g, mcp_str host)
{
    return mcp_str_eq(host, mcp_str_from(g->host));
}

bool gate_is_own(const gate *g, const gate_source *from)
{
    return gate_is_host(g, from->host) &&
           (!from->origin.ptr || mcp_str_eq(from->origin, mcp_str_from(g->origin))) &&
           (!from->site.ptr || mcp_str_eq(from->site, MCP_STR("same-origin")));
}
