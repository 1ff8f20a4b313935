/* timer.c: a pairing heap of timers, whose links are part of the timers.
 *
 * Nothing is allocated. Adding a timer takes one comparison, and removing one takes amortized
 * logarithmic time. With ten thousand connections, an event moves only its own timer.
 */
#include "http/server/timer.h"

static mcp__http_timer *merge(mcp__http_timer *a, mcp__http_timer *b)
{
    if (!a || !b)
        return a ? a : b;
    if (b->due < a->due) {
        mcp__http_timer *t = a;
        a = b;
        b = t;
    }
    b->prev = a;
    b->next = a->child;
    if (a->child)
        a->child->prev = b;
    a->child = b;
    return a;
}

/* Merges siblings into one heap: first in pairs from the left, then the pairs from the right. */
static mcp__http_timer *merge_siblings(mcp__http_timer *first)
{
    mcp__http_timer *pairs = NULL, *root = NULL;
    while (first) {
        mcp__http_timer *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b)
            b->next = b->prev = NULL;
        a = merge(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        mcp__http_timer *rest = pairs->next;
        pairs->next = NULL;
        root = merge(root, pairs);
        pairs = rest;
    }
    return root;
}

void mcp__http_timer_stop(mcp__http_timer **heap, mcp__http_timer *timer)
{
    if (!timer->armed)
        return;
    mcp__http_timer *children = merge_siblings(timer->child);
    if (*heap == timer) {
        *heap = children;
    } else {
        if (timer->prev->child == timer)
            timer->prev->child = timer->next;
        else
            timer->prev->next = timer->next;
        if (timer->next)
            timer->next->prev = timer->prev;
        *heap = merge(*heap, children);
    }
    timer->child = timer->next = timer->prev = NULL;
    timer->armed = false;
}

void mcp__http_timer_set(mcp__http_timer **heap, mcp__http_timer *timer, int64_t due)
{
    mcp__http_timer_stop(heap, timer);
    if (due == INT64_MAX)
        return;
    timer->due = due;
    timer->armed = true;
    *heap = merge(*heap, timer);
}
