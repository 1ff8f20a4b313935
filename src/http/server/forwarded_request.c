/* forwarded_request.c: the header of requests that another instance forwards.
 *
 * Its value is sealed with the key of all instances. It names the two instances, and has a number, the
 * digest of the request, the client's address, the principal and the view. A request is accepted only
 * by the instance that it names, once, for five minutes, with that digest, and only if this instance
 * authenticates the sender as the same principal in the same view. A client has no use for the header: it cannot make
 * one, and the header of a request that it observed fits only that request, which was received already.
 *
 * Numbers ascend. For each sender the last MCP__WINDOW of them are remembered; smaller ones are
 * refused.
 */
#include "http/server/http_session.h"

#include "auth/crypto.h"

#include <mcp/sys/server.h>

enum {
    VERSION = 1,
    LIFE_MS = 300000, /* also how much the calendar clocks of two instances may differ */
    NUMBER = 8,
    HEAD = 1 + 2 * MCP__INSTANCE_NAME + NUMBER + MCP__SHA256 + 1,
    PLAIN_MAX = 4096,
};

static const mcp_str purpose = {"forwarded request", 17};

/* ---- the digest ------------------------------------------------------------------------------ */

static void put_part(mcp__buf *b, mcp_str part)
{
    mcp__buf_printf(b, "%zu:", part.len);
    mcp__buf_str(b, part);
}

/* Computes the digest of what the instances must agree on: the method, the headers that decide what the
 * request means, and the body. */
static int digest_of(const mcp_http_connection *c, const mcp__forward_head *head, mcp_str body,
                     unsigned char to[MCP__SHA256])
{
    unsigned char of_body[MCP__SHA256];
    mcp__crypto crypto;
    mcp__buf text;
    int rc = mcp__crypto_load(&crypto, NULL);
    if (rc != MCP_OK)
        return rc;
    bool ok = mcp__sha256(&crypto, body.ptr ? body : MCP_STR(""), of_body);
    mcp__buf_init(&text, c->http->allocator, 0);
    put_part(&text, mcp_str_from(llhttp_method_name((llhttp_method_t)c->http_method)));
    put_part(&text, head->session);
    put_part(&text, head->revision);
    put_part(&text, mcp__http_header(&c->head, MCP__HTTP_LAST_EVENT));
    mcp__buf_add(&text, of_body, sizeof(of_body));
    rc = text.failed;
    ok = ok && rc == MCP_OK && mcp__sha256(&crypto, mcp__buf_view(&text), to);
    mcp__buf_free(&text);
    return rc == MCP_OK && !ok ? MCP_EIO : rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_client(const mcp_http_connection *c, mcp__buf *b)
{
    char client[MCP__HTTP_IP_TEXT];
    mcp__http_client_text(c, client);
    mcp__buf_char(b, (char)(unsigned char)strlen(client));
    mcp__buf_str(b, mcp_str_from(client));
}

int mcp__forwarded_put(mcp_http_connection *c, const char *to_instance,
                       const mcp__forward_head *head, mcp_str body, mcp__buf *value)
{
    struct mcp__fleet *fleet = c->http->fleet;
    unsigned char digest[MCP__SHA256];
    char *room = mcp__buf_reserve(value, MCP__BASE64_SIZE(PLAIN_MAX));
    size_t len = 0;
    mcp__buf b;
    int rc = room ? digest_of(c, head, body, digest) : MCP_ENOMEM;
    if (rc != MCP_OK)
        return rc;
    uint64_t number = ++fleet->forwarded;
    mcp__buf_init(&b, c->http->allocator, PLAIN_MAX - 64);
    mcp__buf_char(&b, VERSION);
    mcp__buf_add(&b, to_instance, MCP__INSTANCE_NAME);
    mcp__buf_add(&b, fleet->instance, MCP__INSTANCE_NAME);
    for (int i = NUMBER - 1; i >= 0; i--)
        mcp__buf_char(&b, (char)(unsigned char)(number >> 8 * i));
    mcp__buf_add(&b, digest, sizeof(digest));
    put_client(c, &b);
    mcp__buf_char(&b, mcp__http_binding(c) ? 'n' : 'a');
    mcp__buf_str(&b, mcp_str_from(mcp__http_binding(c)));
    rc = b.failed;
    if (rc == MCP_OK)
        rc = mcp_server_seal(c->http->server, purpose, mcp__buf_view(&b), LIFE_MS, room,
                             MCP__BASE64_SIZE(PLAIN_MAX), &len);
    value->len += len;
    mcp__buf_free(&b);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the address of the client, which counts for limits as if a trusted proxy had named it. */
static void take_client(mcp_http_connection *c, mcp_str client)
{
    if (mcp__http_ip_read(client, &c->client_ip))
        c->forwarded = MCP__HTTP_CLIENT;
}

static mcp__http_refusal take(mcp_http_connection *c, mcp_str plain)
{
    const mcp_allocator *a = c->http->allocator;
    const char *at = plain.ptr + 1;
    size_t client = plain.len >= HEAD ? (unsigned char)plain.ptr[HEAD - 1] : 0;
    if (plain.len < HEAD + client + 1 || plain.ptr[0] != VERSION)
        return MCP__HTTP_BAD_FORWARDED;
    if (memcmp(at, c->http->fleet->instance, MCP__INSTANCE_NAME) != 0)
        return MCP__HTTP_MISDIRECTED;
    mcp_str binding = mcp__str_sub(plain, HEAD + client);
    struct mcp__forwarded *forwarded = mcp__zalloc(a, sizeof(*forwarded) + binding.len);
    if (!forwarded)
        return MCP__HTTP_NO_MEMORY;
    at += MCP__INSTANCE_NAME;
    memcpy(forwarded->instance, at, MCP__INSTANCE_NAME);
    at += MCP__INSTANCE_NAME;
    for (size_t i = 0; i < NUMBER; i++)
        forwarded->number = forwarded->number << 8 | (unsigned char)at[i];
    memcpy(forwarded->digest, at + NUMBER, sizeof(forwarded->digest));
    memcpy(forwarded->text, binding.ptr + 1, binding.len - 1); /* zeroed, so it ends with a NUL */
    forwarded->binding = binding.ptr[0] == 'n' ? forwarded->text : NULL;
    take_client(c, (mcp_str){plain.ptr + HEAD, client});
    c->other.forwarded = forwarded;
    c->is_forwarded = true;
    return MCP__HTTP_FINE;
}

void mcp__forwarded_free(mcp_http_connection *c)
{
    if (!c->is_forwarded)
        return;
    mcp__release(c->http->allocator, c->other.forwarded);
    c->other.forwarded = NULL;
    c->is_forwarded = false;
}

mcp__http_refusal mcp__forwarded_read(mcp_http_connection *c)
{
    mcp_str value = mcp__http_header(&c->head, MCP__HTTP_HOP);
    char plain[PLAIN_MAX];
    size_t len = 0;
    if (!value.ptr || !c->http->fleet)
        return MCP__HTTP_FINE; /* without other instances, the header means nothing */
    int rc = mcp_server_unseal(c->http->server, purpose, value, plain, sizeof(plain), &len, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? MCP__HTTP_NO_MEMORY : MCP__HTTP_BAD_FORWARDED;
    return take(c, (mcp_str){plain, len});
}

/* ---- requests that were received before ------------------------------------------------------ */

static bool is_old(const mcp_http *http, const mcp__sender *s)
{
    return http->now - s->used_at > 2 * LIFE_MS; /* what it sealed until then has expired */
}

/* Returns NULL if there are too many senders, or out of memory. */
static mcp__sender *sender_of(mcp_http *http, const char *instance)
{
    mcp__sender **senders = http->fleet->senders, **place = NULL;
    for (size_t i = 0; i < MCP__SENDERS; i++) {
        if (!senders[i] || is_old(http, senders[i]))
            place = place ? place : &senders[i];
        if (senders[i] && memcmp(senders[i]->instance, instance, MCP__INSTANCE_NAME) == 0)
            return senders[i];
    }
    if (place && !*place)
        *place = mcp__alloc(http->allocator, sizeof(**place));
    if (!place || !*place)
        return NULL;
    **place = (mcp__sender){0};
    memcpy((*place)->instance, instance, MCP__INSTANCE_NAME);
    return *place;
}

/* Returns false if the number was used, or is too old to tell. */
static bool use_number(mcp__sender *s, uint64_t number)
{
    if (number == 0 || number > UINT64_MAX / 2 ||
        (s->newest >= MCP__WINDOW && number <= s->newest - MCP__WINDOW))
        return false;
    for (uint64_t n = MCP__MAX(s->newest + 1, number >= MCP__WINDOW ? number - MCP__WINDOW + 1 : 0);
         n <= number; n++)
        s->used[n % MCP__WINDOW / 64] &= ~(UINT64_C(1) << n % 64);
    s->newest = MCP__MAX(s->newest, number);
    uint64_t *word = &s->used[number % MCP__WINDOW / 64], bit = UINT64_C(1) << number % 64;
    bool fresh = !(*word & bit);
    *word |= bit;
    return fresh;
}

mcp__http_refusal mcp__forwarded_check(mcp_http_connection *c)
{
    unsigned char digest[MCP__SHA256];
    mcp__forward_head head = mcp__forward_head_of(c);
    int rc = digest_of(c, &head, mcp__http_body(c), digest);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? MCP__HTTP_NO_MEMORY : MCP__HTTP_BAD_FORWARDED;
    if (memcmp(digest, c->other.forwarded->digest, sizeof(digest)) != 0 ||
        !mcp__same_binding(c->other.forwarded->binding, mcp__http_binding(c)))
        return MCP__HTTP_BAD_FORWARDED;
    mcp__sender *s = sender_of(c->http, c->other.forwarded->instance);
    if (!s)
        return MCP__HTTP_NO_MEMORY;
    s->used_at = c->http->now;
    return use_number(s, c->other.forwarded->number) ? MCP__HTTP_FINE : MCP__HTTP_BAD_FORWARDED;
}
