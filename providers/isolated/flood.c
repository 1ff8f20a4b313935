/* flood.c: limits the messages and questions that a process sends, because each takes time of the
 * server's thread.
 *
 * A process that has not been taken over does not reach these limits: a request sends at most 20
 * notifications per second, changes to a resource are combined, and a question waits for its
 * answer.
 */
#include "provider.h"

enum {
    MESSAGES = 2000,   /* per second; a longer message than PIECE bytes counts several times */
    OF_WATCHED = 4,    /* additional messages per second for each watched resource */
    QUESTIONS = 20000, /* per second; a question with more than NAMES names counts several times */
    PIECE = 4096,
    NAMES = 8,
    BURST = 4, /* a bucket holds the tokens of this many seconds */
};

/* Takes tokens from a bucket. Returns false if it was overdrawn before. */
static bool take(isolated_bucket *b, int64_t now, int64_t rate, int64_t cost)
{
    int64_t ms = b->filled ? now - b->filled : INT64_C(1000) * BURST;
    ms = ms < 0 ? 0 : ms < INT64_C(1000) * BURST ? ms : INT64_C(1000) * BURST;
    b->tokens += ms * rate / 1000;
    if (b->tokens > rate * BURST)
        b->tokens = rate * BURST;
    b->filled = now;
    if (b->tokens < 0)
        return false;
    b->tokens -= cost;
    return true;
}

void isolated_flood_message(mcp_client *client, bool sent, mcp_exchange exchange, mcp_str message,
                            void *user)
{
    isolated_link *l = user;
    int64_t rate = MESSAGES + OF_WATCHED * (int64_t)l->owner->n_uris;
    (void)client, (void)exchange;
    if (sent)
        return;
    isolated_pulse_hear(&l->pulse, isolated_now(l->owner));
    l->last = 1 + (int64_t)(message.len / PIECE);
    if (!take(&l->messages, isolated_now(l->owner), rate, l->last))
        isolated_link_refuse(l, "its process sends too many unsolicited messages");
}

void isolated_flood_answer(isolated_link *l)
{
    l->messages.tokens += l->last;
}

bool isolated_flood_line(isolated_link *l, size_t names)
{
    return take(&l->questions, isolated_now(l->owner), QUESTIONS, 1 + (int64_t)(names / NAMES));
}
