/* bus.c: see bus.h. */
#define _GNU_SOURCE
#include "bus.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "seal_key.h"

struct bus {
    bus_context c;
    mcp_bus made; /* `user` is NULL once the server owns it */
};

const char *bus_name(const settings *s)
{
    return s->bus_name ? s->bus_name : s->name ? s->name : "mcpd";
}

/* ---- messages -------------------------------------------------------------------------------- */

static const char removed[] = "token-removed", forget[] = "tokens-forget";

static void on_removed(bus *b, mcp_str digest)
{
    if (*b->c.known)
        tokens_remove(*b->c.known, digest, http_revoke, b->c.at);
}

static void on_forget(bus *b, mcp_str none)
{
    (void)none;
    if (b->c.oauth)
        mcp_resource_server_forget(b->c.oauth);
}

static void on_session(bus *b, mcp_str message)
{
    http_shared(b->c.at, message, false, b->c.host->now(b->c.host->user));
}

static const struct {
    const char *topic;
    void (*take)(bus *b, mcp_str data);
} topics[] = {{removed, on_removed}, {forget, on_forget}, {HTTP_TOPIC, on_session}};

static void on_message(mcp_str topic, mcp_str data, void *user)
{
    for (size_t i = 0; i < sizeof(topics) / sizeof(*topics); i++)
        if (mcp_str_eq(topic, mcp_str_from(topics[i].topic)))
            topics[i].take(user, data);
}

/* A removed token may be among what was lost. */
static void on_gap(void *user)
{
    bus *b = user;
    http_shared(b->c.at, (mcp_str){0}, true, 0);
    if (b->c.oauth)
        mcp_resource_server_forget(b->c.oauth);
    log_line("warning",
             *b->c.known ? "entries of the bus were lost: everything is announced as changed; if "
                           "tokens were removed at another instance meanwhile, send SIGHUP"
                         : "entries of the bus were lost: everything is announced as changed",
             NULL);
}

/* The server logs the state of the bus. A message that cannot be kept is reported as a loss. */
void bus_tell_removed(const bus *b, const mcp_identity *identity)
{
    if (b)
        (void)mcp_server_share_send(b->c.server, mcp_str_from(removed),
                                    mcp_str_from(mcp_identity_token(identity)));
}

void bus_tell_forget(const bus *b)
{
    if (b && b->c.oauth)
        (void)mcp_server_share_send(b->c.server, mcp_str_from(forget), (mcp_str){"", 0});
}

/* ---- begin and end --------------------------------------------------------------------------- */

int bus_new(const bus_context *context, bus **ret, const char **which, mcp_error *error)
{
    const settings *s = context->s;
    *which = "seal-key-file";
    int rc = s->seal_key_file ? seal_key_use(s->seal_key_file, bus_name(s), context->server, error)
                              : MCP_OK;
    if (rc != MCP_OK || !s->bus)
        return rc;
    *which = "bus";
    bus *b = calloc(1, sizeof(*b));
    if (!b)
        return MCP_ENOMEM;
    b->c = *context;
    rc = bus_make(s, context->host, &b->made, which, error);
    if (rc == MCP_OK)
        *ret = b;
    else
        free(b);
    return rc;
}

int bus_share(bus *b, mcp_error *error)
{
    if (!b)
        return MCP_OK;
    mcp_bus made = b->made;
    b->made.user = NULL;
    return mcp_server_share(b->c.server,
                            MCP_OPTIONS(mcp_share_options, .bus = &made, .name = bus_name(b->c.s),
                                        .message = on_message, .gap = on_gap, .user = b),
                            error);
}

void bus_free(bus *b)
{
    if (b && b->made.user)
        b->made.close(b->made.user);
    free(b);
}
