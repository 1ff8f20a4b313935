/* fleet.c: what this instance knows of the sessions of the others.
 *
 * Each instance tells the others when a session begins at it, when the session first gets something
 * that its id does not contain (subscriptions, a log level), and when it ends. A session whose
 * instance is gone is made anew from its id only by an instance that has heard of its beginning, has
 * missed nothing since, and knows that it had neither. What is not known is not made anew: so nothing
 * has to be remembered about sessions that have ended.
 *
 * If an instance cannot be reached although it lives, two instances may have the same session for a
 * moment. They notice when they hear of each other. Then the one with the smaller name keeps it, but if
 * the other has subscriptions or a log level, the session ends at both, and the client begins again.
 */
#include "http/server/session.h"

#include <mcp/task.h>

#include <stdio.h>

enum {
    ANNOUNCE = 'H', /* followed by `unique`, the instance and its address */
    KEEPS = 'S',    /* followed by `unique`, as is the next one */
    ENDED = 'E',
    KNOWN_PER_SESSION = 4, /* sessions of others that are known, for each that may be here */
};

/* ---- the table ---------------------------------------------------------------------------------- */

static mcp_str unique_of(const char *unique)
{
    return (mcp_str){unique, MCP__UNIQUE};
}

mcp__known *mcp__fleet_known(const struct mcp__fleet *fleet, const char *unique)
{
    return mcp__map_get(&fleet->known, unique_of(unique));
}

static void forget(struct mcp__fleet *fleet, mcp__known *k)
{
    mcp__map_remove(&fleet->known, unique_of(k->unique));
    mcp__list_remove(&k->link);
    mcp__release(fleet->http->allocator, k);
}

void mcp__fleet_forget(struct mcp__fleet *fleet, const char *unique)
{
    mcp__known *k = mcp__fleet_known(fleet, unique);
    if (k)
        forget(fleet, k);
}

static void forget_all(struct mcp__fleet *fleet)
{
    while (!mcp__list_empty(&fleet->order))
        forget(fleet, mcp__container(fleet->order.next, mcp__known, link));
}

/* Without memory the session is not known, and will not be made anew here. */
static void learn(struct mcp__fleet *fleet, mcp_str unique, mcp_str instance, mcp_str address)
{
    const mcp_allocator *a = fleet->http->allocator;
    mcp__known *before = mcp__fleet_known(fleet, unique.ptr);
    bool keeps = before && before->keeps;
    if (before)
        forget(fleet, before);
    if (fleet->known.count >= KNOWN_PER_SESSION * fleet->http->options.max_sessions)
        forget(fleet, mcp__container(fleet->order.next, mcp__known, link));
    mcp__known *k = mcp__zalloc(a, sizeof(*k) + address.len);
    if (!k)
        return;
    memcpy(k->unique, unique.ptr, MCP__UNIQUE);
    memcpy(k->instance, instance.ptr, MCP__INSTANCE_NAME);
    memcpy(k->address, address.ptr, address.len);
    k->address_len = address.len;
    k->keeps = keeps;
    if (mcp__map_add(&fleet->known, unique_of(k->unique), k) != MCP_OK)
        mcp__release(a, k);
    else
        mcp__list_append(&fleet->order, &k->link);
}

/* ---- to the others ------------------------------------------------------------------------------ */

static void tell(const mcp__http_session *s, char kind, bool where)
{
    const mcp_http *http = s->http;
    const mcp_http_options *o = &http->options;
    char text[1 + MCP__UNIQUE + MCP__INSTANCE_NAME + MCP__ADDRESS_MAX + 1];
    if (!o->share)
        return;
    int n = snprintf(text, sizeof(text), "%c%s%s%s", kind, s->id,
                     where ? http->fleet->instance : "", where ? o->instance_address : "");
    o->share((mcp_str){text, (size_t)n}, o->user);
}

void mcp__fleet_announce(mcp__http_session *s)
{
    tell(s, ANNOUNCE, true);
}

void mcp__fleet_note_keeps(mcp__http_session *s)
{
    if (s->keeps || !s->sealed)
        return;
    s->keeps = true;
    tell(s, KEEPS, false);
}

void mcp__fleet_note_end(mcp__http_session *s)
{
    mcp__map_remove(&s->http->fleet->own, unique_of(s->id));
    if (s->revision && !s->lost)
        tell(s, ENDED, false);
}

/* ---- from the others ---------------------------------------------------------------------------- */

/* Another instance has a session that is here too. */
static void contest(struct mcp__fleet *fleet, mcp__http_session *s, mcp_str instance,
                    mcp_str address)
{
    if (s->keeps) {
        mcp__http_session_free(s);
    } else if (memcmp(fleet->instance, instance.ptr, MCP__INSTANCE_NAME) < 0) {
        mcp__fleet_announce(s);
    } else {
        learn(fleet, unique_of(s->id), instance, address);
        mcp__http_session_lose(s);
    }
}

static void take_announce(struct mcp__fleet *fleet, mcp_str text)
{
    mcp_str unique = {text.ptr, MCP__UNIQUE};
    if (text.len <= MCP__UNIQUE + MCP__INSTANCE_NAME)
        return;
    mcp_str instance = {text.ptr + MCP__UNIQUE, MCP__INSTANCE_NAME};
    mcp_str address = mcp__str_sub(text, MCP__UNIQUE + MCP__INSTANCE_NAME);
    mcp__http_session *s = mcp__map_get(&fleet->own, unique);
    if (address.len > MCP__ADDRESS_MAX)
        return;
    if (s && !s->lost)
        contest(fleet, s, instance, address);
    else
        learn(fleet, unique, instance, address);
}

static void take_end(struct mcp__fleet *fleet, mcp_str unique)
{
    mcp__http_session *s = mcp__map_get(&fleet->own, unique);
    mcp__fleet_forget(fleet, unique.ptr);
    if (!s)
        return;
    s->lost = true; /* the others know that it ended */
    mcp__http_session_free(s);
}

static void take_keeps(struct mcp__fleet *fleet, mcp_str unique)
{
    mcp__known *k = mcp__fleet_known(fleet, unique.ptr);
    if (k)
        k->keeps = true;
}

void mcp_http_shared(mcp_http *http, mcp_str data, int64_t now)
{
    struct mcp__fleet *fleet = http ? http->fleet : NULL;
    if (!fleet || data.len < 1 + MCP__UNIQUE)
        return;
    mcp_str text = mcp__str_sub(data, 1), unique = {text.ptr, MCP__UNIQUE};
    mcp__http_enter(http, now);
    switch (data.ptr[0]) {
    case ANNOUNCE: take_announce(fleet, text); break;
    case KEEPS: take_keeps(fleet, unique); break;
    case ENDED: take_end(fleet, unique); break;
    default: break; /* of a newer version */
    }
    mcp__http_leave(http);
    mcp__http_call_wake(http);
}

void mcp_http_share_lost(mcp_http *http)
{
    if (http && http->fleet)
        forget_all(http->fleet);
}

/* ---- life --------------------------------------------------------------------------------------- */

/* Tasks are at the instance where they begin, as sessions are. */
static int set_task_home(const struct mcp__fleet *fleet)
{
    mcp_task_home home = {.size = sizeof(home)};
    memcpy(home.instance, fleet->instance, sizeof(fleet->instance));
    snprintf(home.address, sizeof(home.address), "%s", fleet->http->options.instance_address);
    return mcp_server_set_task_home(fleet->http->server, &home, NULL);
}

int mcp__fleet_new(mcp_http *http, uint64_t seed0, uint64_t seed1)
{
    unsigned char bytes[MCP__INSTANCE_NAME / 2];
    struct mcp__fleet *fleet = mcp__zalloc(http->allocator, sizeof(*fleet));
    if (!fleet)
        return MCP_ENOMEM;
    fleet->http = http;
    http->fleet = fleet;
    mcp__list_init(&fleet->order);
    mcp__map_init(&fleet->known, http->allocator, seed0, seed1);
    mcp__map_init(&fleet->own, http->allocator, seed1, seed0);
    int rc = http->options.random(bytes, sizeof(bytes), http->options.user);
    for (size_t i = 0; rc >= 0 && i < sizeof(bytes); i++)
        snprintf(fleet->instance + 2 * i, 3, "%02x", (unsigned)bytes[i]);
    return rc < 0 ? rc : set_task_home(fleet);
}

void mcp__fleet_free(struct mcp__fleet *fleet)
{
    if (!fleet)
        return;
    mcp_http *http = fleet->http;
    (void)mcp_server_set_task_home(http->server, NULL, NULL);
    forget_all(fleet);
    mcp__map_free(&fleet->known);
    mcp__map_free(&fleet->own);
    for (size_t i = 0; i < MCP__SENDERS; i++)
        mcp__release(http->allocator, fleet->senders[i]);
    mcp__release(http->allocator, fleet);
    http->fleet = NULL;
}
