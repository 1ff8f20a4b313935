/* async.c: runs calls from other threads on the loop's thread. Calls of mcp_host.post and finished
 * work arrive through one queue, which is protected by a lock and wakes up the loop with an
 * eventfd. Other threads use nothing else of the loop.
 *
 * This is not a uv_async_t, because libuv makes the loop's thread wait until a thread that wakes it
 * up has returned from uv_async_send(). On a busy machine that thread, a worker, may have lost its
 * processor in between, and the loop would stand still until it gets another one.
 *
 * A turn runs only the calls that are queued when it begins. A function that posts itself again
 * therefore does not starve descriptors and timers. Calls in the queue do not keep the loop
 * running.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "io/loop/loop.h"

/* The arguments of mcp_host.post. */
typedef struct call {
    mcp__posted posted; /* must be first */
    mcp_loop *loop;
    void (*fn)(void *arg);
    void *arg;
} call;

/* The write cannot fail for want of room: the counter is read long before it is full. */
static void wake(const mcp__posts *posts)
{
    const uint64_t one = 1;

    while (write(posts->counter, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

void mcp__post(mcp_loop *loop, mcp__posted *posted)
{
    mcp__posts *posts = &loop->posts;

    posted->next = NULL;
    uv_mutex_lock(&posts->lock);
    bool is_first = !posts->first;
    *posts->end = posted;
    posts->end = &posted->next;
    uv_mutex_unlock(&posts->lock);
    /* Whoever queued the first call wakes up the loop, which then takes all of them. */
    if (is_first)
        wake(posts);
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

static void woken(uv_poll_t *wakeup, int status, int events)
{
    mcp_loop *loop = wakeup->data;
    uint64_t count;
    ssize_t n = read(loop->posts.counter, &count, sizeof(count));

    (void)n; /* there is nothing to read if the calls have been made already */
    (void)status;
    (void)events;
    mcp__posts_run(loop);
}

static int wakeup_init(mcp_loop *loop)
{
    mcp__posts *posts = &loop->posts;

    posts->counter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (posts->counter < 0)
        return uv_translate_sys_error(errno);
    int status = uv_poll_init(&loop->uv, &posts->wakeup, posts->counter);
    if (status == 0)
        status = uv_poll_start(&posts->wakeup, UV_READABLE, woken);
    if (status < 0)
        close(posts->counter);
    return status;
}

int mcp__posts_init(mcp_loop *loop)
{
    mcp__posts *posts = &loop->posts;
    int status = uv_mutex_init(&posts->lock);

    if (status < 0)
        return status;
    posts->end = &posts->first;
    status = wakeup_init(loop);
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
    close(loop->posts.counter);
    uv_mutex_destroy(&loop->posts.lock);
}
