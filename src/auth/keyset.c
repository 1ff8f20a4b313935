/* keyset.c: see keyset.h. */
#include "auth/keyset.h"

void mcp__keyset_init(mcp__keyset *keyset)
{
    memset(keyset, 0, sizeof(*keyset));
}

void mcp__keyset_clear(mcp__keyset *keyset)
{
    mcp__jwk_set_unref(keyset->set);
    keyset->set = NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Requests a fetch, unless the last one failed too recently. Returns whether a fetch is wanted or
 * in flight. */
static bool want(mcp__keyset *keyset, uint64_t now)
{
    if (keyset->in_flight)
        return true;
    if (keyset->pause && now < keyset->retry_at)
        return false;
    keyset->wanted = true;
    return true;
}

/* Returns the time until a fetch for an unknown key is allowed. */
static uint64_t unknown_pause(const mcp__keyset *keyset, uint64_t now)
{
    uint64_t from = now + (MCP__KEYSET_UNKNOWN_BURST - 1) * MCP__KEYSET_UNKNOWN_MS;
    return keyset->unknown > from ? keyset->unknown - from : 0;
}

mcp__keyset_answer mcp__keyset_ask_again(mcp__keyset *keyset, uint64_t since, uint64_t now)
{
    if (keyset->set && keyset->from > since)
        return MCP__KEYSET_READY; /* the set is newer than the token */
    if (keyset->in_flight || keyset->wanted)
        return MCP__KEYSET_WAIT;
    if (unknown_pause(keyset, now) || !want(keyset, now))
        return MCP__KEYSET_AWAY;
    keyset->unknown = MCP__MAX(keyset->unknown, now) + MCP__KEYSET_UNKNOWN_MS;
    return MCP__KEYSET_WAIT;
}

mcp__keyset_answer mcp__keyset_ask(mcp__keyset *keyset, mcp_str kid, const mcp__jws_alg *alg,
                                   uint64_t since, uint64_t now)
{
    size_t at = 0;
    if (!keyset->set)
        return want(keyset, now) ? MCP__KEYSET_WAIT : MCP__KEYSET_AWAY;
    if (!mcp__jwk_set_next(keyset->set, kid, alg, &at))
        return mcp__keyset_ask_again(keyset, since, now);
    if (now < keyset->fresh_until || !want(keyset, now))
        return MCP__KEYSET_READY;
    return now < keyset->fresh_until + MCP__KEYSET_STALE_MS ? MCP__KEYSET_READY : MCP__KEYSET_WAIT;
}

bool mcp__keyset_wants_fetch(mcp__keyset *keyset)
{
    bool start = keyset->wanted; /* never while a fetch is in flight */
    keyset->wanted = false;
    keyset->in_flight = keyset->in_flight || start;
    keyset->begun += start;
    return start;
}

/* ---- outcomes -------------------------------------------------------------------------------- */

void mcp__keyset_on_set(mcp__keyset *keyset, mcp__jwk_set *set, mcp_str cache_control, uint64_t now)
{
    mcp__jwk_set_unref(keyset->set);
    keyset->set = set;
    keyset->from = keyset->begun;
    keyset->in_flight = false;
    keyset->pause = 0;
    keyset->fresh_until = now + mcp__keyset_lifetime(cache_control);
}

void mcp__keyset_on_failure(mcp__keyset *keyset, const char *why, uint64_t now)
{
    mcp__fail(&keyset->error, MCP_EIO, 0, "%s", why);
    keyset->in_flight = false;
    keyset->pause = keyset->pause ? MCP__MIN(2 * keyset->pause, MCP__KEYSET_LONGEST_RETRY_MS)
                                  : MCP__KEYSET_RETRY_MS;
    keyset->retry_at = now + keyset->pause;
}

static bool is_paused(const mcp__keyset *keyset, uint64_t now)
{
    return keyset->pause && keyset->retry_at > now;
}

uint64_t mcp__keyset_limited(const mcp__keyset *keyset, uint64_t now)
{
    return keyset->set && !is_paused(keyset, now) ? unknown_pause(keyset, now) : 0;
}

uint64_t mcp__keyset_retry_after(const mcp__keyset *keyset, uint64_t now)
{
    uint64_t left = is_paused(keyset, now) ? keyset->retry_at - now : unknown_pause(keyset, now);
    return MCP__MAX((left + 999) / 1000, 1);
}

/* ---- Cache-Control --------------------------------------------------------------------------- */

/* Removes the next directive and its comma from *rest. *ret is the directive without white space
 * around it. */
static bool next_directive(mcp_str *rest, mcp_str *ret)
{
    if (!rest->len)
        return false;
    const char *comma = memchr(rest->ptr, ',', rest->len);
    *ret = (mcp_str){rest->ptr, comma ? (size_t)(comma - rest->ptr) : rest->len};
    *rest = mcp__str_sub(*rest, MCP__MIN(ret->len + 1, rest->len));
    while (ret->len && (ret->ptr[0] == ' ' || ret->ptr[0] == '\t'))
        *ret = mcp__str_sub(*ret, 1);
    while (ret->len && (ret->ptr[ret->len - 1] == ' ' || ret->ptr[ret->len - 1] == '\t'))
        ret->len--;
    return true;
}

/* Converts a number of seconds, which may be quoted, to milliseconds within the bounds. */
static uint64_t read_age(mcp_str text)
{
    uint64_t ms = 0;
    if (text.len > 1 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"')
        text = (mcp_str){text.ptr + 1, text.len - 2};
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return MCP__KEYSET_LEAST_MS;
        ms = MCP__MIN(10 * ms + 1000 * (uint64_t)(text.ptr[i] - '0'), MCP__KEYSET_MOST_MS);
    }
    return MCP__MAX(ms, MCP__KEYSET_LEAST_MS);
}

uint64_t mcp__keyset_lifetime(mcp_str cache_control)
{
    const mcp_str max_age = MCP_STR("max-age=");
    uint64_t ms = MCP__KEYSET_DEFAULT_MS;
    for (mcp_str d; next_directive(&cache_control, &d);) {
        if (mcp__str_same(d, MCP_STR("no-store")) || mcp__str_same(d, MCP_STR("no-cache")))
            return MCP__KEYSET_LEAST_MS;
        if (d.len >= max_age.len && mcp__str_same((mcp_str){d.ptr, max_age.len}, max_age))
            ms = read_age(mcp__str_sub(d, max_age.len));
    }
    return ms;
}
