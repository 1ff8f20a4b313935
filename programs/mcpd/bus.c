/* bus.c: see bus.h. */
#define _GNU_SOURCE
#include "bus.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "seal_key.h"
#include "supervisor/line.h"

struct bus {
    bus_context c;
    mcp_bus made;      /* `user` is NULL once the server owns it */
    worker_line *line; /* of a worker; else NULL */
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

/* A worker hears of sessions on its line. It does not know all of those at other machines. */
static void on_session(bus *b, mcp_str message)
{
    if (b->line)
        return;
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

/* A removed token may be among what was lost, if the bus has other instances than workers, which
 * reload together. */
static void on_gap(void *user)
{
    bus *b = user;
    if (!b->line)
        http_shared(b->c.at, (mcp_str){0}, true, 0);
    if (b->c.oauth)
        mcp_resource_server_forget(b->c.oauth);
    log_line("warning",
             *b->c.known && b->c.s->bus
                 ? "entries of the bus were lost: everything is announced as changed; if "
                   "tokens were removed at another instance meanwhile, send SIGHUP"
                 : "entries of the bus were lost: everything is announced as changed",
             NULL);
}

static void on_told(mcp_str message, void *user)
{
    const bus *b = user;
    http_shared(b->c.at, message, false, b->c.host->now(b->c.host->user));
}

static void on_forget_sessions(void *user)
{
    http_shared(((const bus *)user)->c.at, (mcp_str){0}, true, 0);
}

/* ---- one worker watches for all ---------------------------------------------------------------- */

static void on_role(bool watches, bool missed, void *user)
{
    mcp_server_watch_role(((const bus *)user)->c.server, watches, missed);
}

static void on_watching(size_t from, mcp_str message, void *user)
{
    mcp_server_watch_received(((const bus *)user)->c.server, from, message);
}

static bool ask(mcp_str message, void *user)
{
    return line_ask(((const bus *)user)->line, message);
}

static bool answer(size_t to, mcp_str message, void *user)
{
    return line_answer(((const bus *)user)->line, to, message);
}

/* With --bus, changes would come through the bus, also those of this machine: each worker watches, so that
 * they come while the bus is down. */
static int watch_once(bus *b, mcp_error *error)
{
    if (!b->line || b->c.s->bus)
        return MCP_OK;
    return mcp_server_watch_once(
        b->c.server, MCP_OPTIONS(mcp_watch_options, .ask = ask, .answer = answer, .user = b),
        error);
}

/* ---- messages to the others ------------------------------------------------------------------- */

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

static int make(bus *b, const char **which, mcp_error *error)
{
    const bus_context *c = &b->c;
    int rc = MCP_OK;
    if (c->line >= 0)
        rc = line_new(c->line, c->host,
                      &(line_events){.told = on_told,
                                     .forget = on_forget_sessions,
                                     .role = on_role,
                                     .watching = on_watching,
                                     .user = b},
                      &b->line);
    if (rc == MCP_OK && c->s->bus)
        rc = bus_make(c->s, c->host, &b->made, which, error);
    else if (rc == MCP_OK)
        line_bus(b->line, &b->made);
    return rc;
}

/* What a client keeps sealed, and ids of sessions, come back to any worker, any instance and the successor of this
 * process, which gets the same key (supervisor/start.h). */
static int set_seal(const bus_context *c, mcp_error *error)
{
    if (c->s->seal_key_file)
        return seal_key_use(c->s->seal_key_file, bus_name(c->s), c->server, error);
    if (!c->s->http.count)
        return MCP_OK;
    return mcp_server_set_seal(
        c->server,
        MCP_OPTIONS(mcp_seal_options, .key = c->key, .key_len = BUS_KEY, .load_later = c->line < 0),
        error);
}

int bus_new(const bus_context *context, bus **ret, const char **which, mcp_error *error)
{
    const settings *s = context->s;
    *which = "seal-key-file";
    int rc = set_seal(context, error);
    if (rc != MCP_OK || (!s->bus && context->line < 0))
        return rc;
    *which = "bus";
    bus *b = calloc(1, sizeof(*b));
    if (!b)
        return MCP_ENOMEM;
    b->c = *context;
    rc = make(b, which, error);
    if (rc == MCP_OK)
        *ret = b;
    else
        bus_free(b);
    return rc;
}

int bus_share(bus *b, mcp_error *error)
{
    if (!b)
        return MCP_OK;
    mcp_bus made = b->made;
    b->made.user = NULL;
    int rc = mcp_server_share(b->c.server,
                              MCP_OPTIONS(mcp_share_options, .bus = &made, .name = bus_name(b->c.s),
                                          .message = on_message, .gap = on_gap, .user = b,
                                          .share_limits = b->c.s->share_limits),
                              error);
    return rc == MCP_OK ? watch_once(b, error) : rc;
}

void bus_settle(const bus *b, mcp_loop *loop)
{
    enum { MOST_MS = 2000, STEP_MS = 20 };
    const mcp_host *h = mcp_loop_host(loop);
    for (int64_t end = h->now(h->user) + MOST_MS; b && h->now(h->user) < end;) {
        mcp_share_usage u = {.size = sizeof(u)};
        if (!mcp_server_get_share(b->c.server, &u) || u.state != MCP_BUS_CONNECTED ||
            !(u.waiting + u.pending))
            return;
        (void)mcp_loop_step(loop, STEP_MS);
    }
}

void bus_free(bus *b)
{
    if (!b)
        return;
    if (b->made.user)
        b->made.close(b->made.user);
    line_free(b->line);
    free(b);
}

worker_line *bus_line(const bus *b)
{
    return b ? b->line : NULL;
}
