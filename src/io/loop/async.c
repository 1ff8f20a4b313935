/* async.c: runs calls from other threads on the loop's thread. Calls of mcp_host.post and finished
 * work arrive through one queue, which is protected by a lock and wakes up the loop with a
 * uv_async_t. Other threads use nothing else of the loop.
 *
 * A turn runs only the calls that are queued when it begins. A function that posts itself again
 * therefore does not starve descriptors and timers. Calls in the queue do not keep the loop
 * running.
 */
#define _GNU_SOURCE
#include "io/loop/loop.h"

/* The arguments of mcp_host.post. */
typedef struct call {
    mcp__posted posted; /* must be first */
    mcp_loop *loop;
    void (*fn)(void *arg);
    void *arg;
} call;

void mcp__post(mcp_loop *loop, mcp__posted *posted)
{
    mcp__posts *posts = &loop->posts;

    posted->next = NULL;
    uv_mutex_lock(&posts->lock);
    *posts->end = posted;
    posts->end = &posted->next;
    uv_mutex_unlock(&posts->lock);
    uv_async_send(&posts->wakeup);
}

static mcp__posted *take_all(mcp__posts *posts)
{
    uv_mutex_lock(&posts->lock);
    mcp__posted *first = posts->first;
    posts->first = NULL;
    posts->end = &posts->first;
    uv_mutex_unlock(&posts->lock);
    return first;
}

bool mcp__posts_run(mcp_loop *loop)
{
    mcp__posted *next, *at = take_all(&loop->posts);
    bool any = at != NULL;

    for (; at; at = next) {
        next = at->next;
        at->run(at);
    }
    return any;
}

static void woken(uv_async_t *wakeup)
{
    mcp__posts_run(wakeup->data);
}

int mcp__posts_init(mcp_loop *loop)
{
    mcp__posts *posts = &loop->posts;
    int status = uv_mutex_init(&posts->lock);

    if (status < 0)
        return status;
    posts->end = &posts->first;
    status = uv_async_init(&loop->uv, &posts->wakeup, woken);
    if (status < 0) {
        uv_mutex_destroy(&posts->lock);
        return status;
    }
    posts->wakeup.data = loop;
    uv_unref((uv_handle_t *)&posts->wakeup);
    return 0;
}

/* ---- mcp_host.post ----------------------------------------------------------------------------------- */

static void run_call(mcp__posted *posted)
{
    call c = *(call *)(void *)posted;

    mcp__release(&c.loop->allocator, posted);
    c.fn(c.arg);
}

int mcp__host_post(void (*fn)(void *arg), void *arg, void *user)
{
    mcp_loop *loop = user;

    if (!fn)
        return MCP_EINVAL;
    call *c = mcp__alloc(&loop->allocator, sizeof(*c));
    if (!c)
        return MCP_ENOMEM;
    *c = (call){.posted.run = run_call, .loop = loop, .fn = fn, .arg = arg};
    mcp__post(loop, &c->posted);
    return MCP_OK;
}

void mcp__posts_free(mcp_loop *loop)
{
    mcp__posted *next;

    /* All work has finished, so only calls of mcp_host.post are left. */
    for (mcp__posted *at = take_all(&loop->posts); at; at = next) {
        next = at->next;
        mcp__release(&loop->allocator, at);
    }
    uv_mutex_destroy(&loop->posts.lock);
}
