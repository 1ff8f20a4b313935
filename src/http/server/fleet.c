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
#include "http/server/http_session.h"

#include <mcp/sys/server.h>

#include <inttypes.h>
#include <stdio.h>

enum {
    ANNOUNCE = 'A', /* followed by `unique`, the owner, the instance and its address */
    KEEPS = 'S',    /* followed by `unique`, as is the next one */
    ENDED = 'E',
    KNOWN_PER_SESSION = 4, /* sessions of others that are known, for each that may be here */
};

/* ---- the table ------------------------------------------------------------------------------- */

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
    mcp__shares_remove(&fleet->shares, &k->owned);
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
    size_t at = 0;
    for (mcp__known *k; (k = mcp__map_next(&fleet->known, &at)) != NULL;)
        forget(fleet, k);
}

/* What an announcement says. */
typedef struct place {
    mcp_str unique, owner, instance, address;
} place;

static int enter(struct mcp__fleet *fleet, mcp__known *k, mcp_str owner)
{
    int rc = mcp__shares_add(&fleet->shares, &k->owned, owner);
    if (rc != MCP_OK)
        return rc;
    mcp__shares_release(&fleet->shares, &k->owned);
    rc = mcp__map_add(&fleet->known, unique_of(k->unique), k);
    if (rc != MCP_OK)
        mcp__shares_remove(&fleet->shares, &k->owned);
    return rc;
}

/* Without memory the session is not known, and will not be made anew here. */
static void learn(struct mcp__fleet *fleet, const place *p)
{
    mcp_http *http = fleet->http;
    mcp__known *before = mcp__fleet_known(fleet, p->unique.ptr);
    bool keeps = before && before->keeps;
    if (before)
        forget(fleet, before);
    if (fleet->known.count >= KNOWN_PER_SESSION * http->options.max_sessions) {
        forget(fleet, mcp__container(mcp__shares_loser(&fleet->shares, p->owner, false), mcp__known,
                                     owned));
        http->metrics.sessions_forgotten++;
    }
    mcp__known *k = mcp__zalloc(http->allocator, sizeof(*k) + p->address.len);
    if (!k)
        return;
    memcpy(k->unique, p->unique.ptr, MCP__UNIQUE);
    memcpy(k->instance, p->instance.ptr, MCP__INSTANCE_NAME);
    memcpy(k->address, p->address.ptr, p->address.len);
    k->address_len = p->address.len;
    k->keeps = keeps;
    if (enter(fleet, k, p->owner) != MCP_OK)
        mcp__release(http->allocator, k);
}

/* ---- to the others --------------------------------------------------------------------------- */

static void tell(const mcp__http_session *s, char kind, const char *more)
{
    const mcp_http_options *o = &s->http->options;
    char text[1 + MCP__UNIQUE + MCP__OWNER + MCP__INSTANCE_NAME + MCP__ADDRESS_MAX + 1];
    if (!o->share)
        return;
    int n = snprintf(text, sizeof(text), "%c%s%s", kind, s->id, more);
    o->share((mcp_str){text, (size_t)n}, o->user);
}

/* The owner is not named, and is the same number at all instances. */
void mcp__fleet_announce(mcp__http_session *s)
{
    static const uint64_t seed[2] = {0};
    const mcp__owner *owner = s->owned.owner;
    char more[MCP__OWNER + MCP__INSTANCE_NAME + MCP__ADDRESS_MAX + 1];
    snprintf(more, sizeof(more), "%016" PRIx64 "%s%s", mcp__siphash(owner->name, owner->len, seed),
             s->http->fleet->instance, s->http->options.instance_address);
    tell(s, ANNOUNCE, more);
}

void mcp__fleet_note_keeps(mcp__http_session *s)
{
    if (s->keeps || !s->sealed)
        return;
    s->keeps = true;
    tell(s, KEEPS, "");
}

void mcp__fleet_note_end(mcp__http_session *s)
{
    mcp__map_remove(&s->http->fleet->own, unique_of(s->id));
    if (s->revision && !s->lost)
        tell(s, ENDED, "");
}

/* ---- from the others ------------------------------------------------------------------------- */

/* Another instance has a session that is here too. */
static void contest(struct mcp__fleet *fleet, mcp__http_session *s, const place *p)
{
    if (s->keeps) {
        mcp__http_session_free(s);
    } else if (memcmp(fleet->instance, p->instance.ptr, MCP__INSTANCE_NAME) < 0) {
        mcp__fleet_announce(s);
    } else {
        learn(fleet, p);
        mcp__http_session_lose(s);
    }
}

/* Takes the beginning of a text. */
static mcp_str take(mcp_str *text, size_t len)
{
    mcp_str part = {text->ptr, len};
    *text = mcp__str_sub(*text, len);
    return part;
}

static void take_announce(struct mcp__fleet *fleet, mcp_str text)
{
    if (text.len <= MCP__UNIQUE + MCP__OWNER + MCP__INSTANCE_NAME)
        return;
    place p = {.unique = take(&text, MCP__UNIQUE)};
    p.owner = take(&text, MCP__OWNER);
    p.instance = take(&text, MCP__INSTANCE_NAME);
    p.address = text;
    mcp__http_session *s = mcp__map_get(&fleet->own, p.unique);
    if (p.address.len > MCP__ADDRESS_MAX)
        return;
    if (s && !s->lost)
        contest(fleet, s, &p);
    else
        learn(fleet, &p);
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

/* ---- life ------------------------------------------------------------------------------------ */

/* Tasks are at the instance where they begin, as sessions are. */
static int set_task_instance(const struct mcp__fleet *fleet)
{
    mcp_task_instance instance = {.size = sizeof(instance)};
    memcpy(instance.instance, fleet->instance, sizeof(fleet->instance));
    snprintf(instance.address, sizeof(instance.address), "%s",
             fleet->http->options.instance_address);
    return mcp_server_set_task_instance(fleet->http->server, &instance, NULL);
}

int mcp__fleet_new(mcp_http *http, uint64_t seed0, uint64_t seed1)
{
    unsigned char bytes[MCP__INSTANCE_NAME / 2];
    struct mcp__fleet *fleet = mcp__zalloc(http->allocator, sizeof(*fleet));
    if (!fleet)
        return MCP_ENOMEM;
    fleet->http = http;
    http->fleet = fleet;
    mcp__shares_init(&fleet->shares, http->allocator, seed0, seed1);
    mcp__map_init(&fleet->known, http->allocator, seed0, seed1);
    mcp__map_init(&fleet->own, http->allocator, seed1, seed0);
    int rc = http->options.random(bytes, sizeof(bytes), http->options.user);
    if (rc >= 0)
        *mcp__hex_encode(fleet->instance, bytes, sizeof(bytes)) = 0;
    return rc < 0 ? rc : set_task_instance(fleet);
}

void mcp__fleet_free(struct mcp__fleet *fleet)
{
    if (!fleet)
        return;
    mcp_http *http = fleet->http;
    (void)mcp_server_set_task_instance(http->server, NULL, NULL);
    forget_all(fleet);
    mcp__map_free(&fleet->known);
    mcp__shares_free(&fleet->shares);
    mcp__map_free(&fleet->own);
    for (size_t i = 0; i < MCP__SENDERS; i++)
        mcp__release(http->allocator, fleet->senders[i]);
    mcp__release(http->allocator, fleet);
    http->fleet = NULL;
}
