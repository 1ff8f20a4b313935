/* asking.c: see asking.h. */
#include "asking.h"

#include <string.h>

enum {
    TURNS = 64,
    FIRST_HIDDEN = 256, /* limit of assumed hidden items in the third run; 0 before, grows later */
    MOST_HIDDEN = 4096, /* checking this many takes some milliseconds on the server's thread */
    FIRST_SLOTS = 256,
    BATCH = 256, /* URIs in one access check */
};

/* The confirmed or assumed answer for a URI. */
enum { HIDDEN = 0, SHOWN = 1 };

void common_asking_init(common_asking *a, mcp_request *req, const mcp_allocator *alloc)
{
    *a = (common_asking){.req = req, .needed = mcp_request_restricted(req), .here = true};
    common_buffer_init(&a->texts, alloc);
}

void common_asking_free(common_asking *a)
{
    common_release(&a->texts.alloc, a->slot);
    common_buffer_free(&a->texts);
    a->slot = NULL;
    a->n = a->cap = a->answered = 0;
}

/* ---- table ----------------------------------------------------------------------------------- */

static mcp_str text_at(const common_asking *a, size_t at)
{
    return mcp_str_from(a->texts.ptr + at + 1);
}

static size_t hash_of(mcp_str uri)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < uri.len; i++)
        hash = (hash ^ (unsigned char)uri.ptr[i]) * 0x100000001b3U;
    return (size_t)(hash ^ hash >> 32);
}

/* Returns the slot of the URI, or the free slot for it. */
static size_t *find(const common_asking *a, mcp_str uri)
{
    size_t at = hash_of(uri) & (a->cap - 1);
    while (a->slot[at] && !mcp_str_eq(text_at(a, a->slot[at] - 1), uri))
        at = (at + 1) & (a->cap - 1);
    return &a->slot[at];
}

static int grow(common_asking *a)
{
    common_asking grown = *a;
    grown.cap = a->cap ? a->cap * 2 : FIRST_SLOTS;
    grown.slot = common_alloc(&a->texts.alloc, grown.cap * sizeof(*grown.slot));
    if (!grown.slot)
        return MCP_ENOMEM;
    memset(grown.slot, 0, grown.cap * sizeof(*grown.slot));
    for (size_t i = 0; i < a->cap; i++)
        if (a->slot[i])
            *find(&grown, text_at(a, a->slot[i] - 1)) = a->slot[i];
    common_release(&a->texts.alloc, a->slot);
    *a = grown;
    return MCP_OK;
}

static int add(common_asking *a, mcp_str uri, char state)
{
    size_t at = a->texts.len;
    int rc = a->n >= a->cap / 2 ? grow(a) : MCP_OK;
    if (rc == MCP_OK)
        rc = common_buffer_reserve(&a->texts, uri.len + 2);
    if (rc != MCP_OK)
        return rc;
    size_t *slot = find(a, uri);
    a->texts.ptr[at] = state;
    memcpy(a->texts.ptr + at + 1, uri.ptr, uri.len);
    a->texts.ptr[at + 1 + uri.len] = 0;
    a->texts.len += uri.len + 2;
    *slot = at + 1;
    a->n++;
    return MCP_OK;
}

/* ---- assumptions ----------------------------------------------------------------------------- */

static size_t most_hidden(const common_asking *a)
{
    if (a->turn < 2)
        return 0;
    size_t most = (size_t)FIRST_HIDDEN << (2 * (a->turn < 5 ? a->turn - 2 : 3));
    return most < MOST_HIDDEN ? most : MOST_HIDDEN;
}

size_t common_asking_spare(const common_asking *a)
{
    if (!a->needed)
        return 0;
    return a->here ? (size_t)1 << 20 : a->n + most_hidden(a);
}

bool common_asking_may(common_asking *a, mcp_str uri)
{
    if (!a->needed)
        return true;
    if (a->here)
        return mcp_request_may(a->req, MCP_ITEM_RESOURCE, uri);
    if (!uri.len || memchr(uri.ptr, 0, uri.len))
        return false;
    size_t known = a->cap ? *find(a, uri) : 0;
    if (known)
        return a->texts.ptr[known - 1] == SHOWN;
    bool shown = a->hidden >= most_hidden(a);
    a->hidden += !shown;
    if (a->rc == MCP_OK)
        a->rc = add(a, uri, shown ? SHOWN : HIDDEN);
    return a->rc == MCP_OK && shown;
}

/* Checks up to BATCH assumptions. Returns whether one was wrong. */
static bool answer_some(common_asking *a)
{
    mcp_str uris[BATCH];
    bool shown[BATCH], mismatch = false;
    size_t n = 0, at = a->answered;
    for (; n < BATCH && at < a->texts.len; at += uris[n - 1].len + 2)
        uris[n++] = text_at(a, at);
    int rc = mcp_request_may_all(a->req, MCP_ITEM_RESOURCE, uris, n, shown);
    if (rc != MCP_OK && a->rc == MCP_OK)
        a->rc = rc;
    for (size_t i = 0; i < n; i++) {
        char *state = a->texts.ptr + a->answered;
        char found = shown[i] ? SHOWN : HIDDEN;
        mismatch = mismatch || found != *state;
        *state = found;
        a->answered += uris[i].len + 2;
    }
    return mismatch;
}

/* Checks all assumptions. Returns whether one was wrong. */
static bool answer_all(common_asking *a)
{
    bool mismatch = false;
    while (a->answered < a->texts.len)
        mismatch = answer_some(a) || mismatch;
    return mismatch;
}

bool common_asking_again(common_asking *a, int *rc)
{
    if (*rc == MCP_ENOMEM || *rc == MCP_ECANCELLED)
        return false;
    bool mismatch = answer_all(a);
    a->hidden = 0;
    a->turn++;
    if (mismatch && a->turn == TURNS)
        a->rc = MCP_ETIMEOUT;
    if (a->rc != MCP_OK)
        *rc = a->rc;
    return mismatch && a->rc == MCP_OK;
}
