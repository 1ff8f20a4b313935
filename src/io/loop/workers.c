/* workers.c: a pool of threads for blocking work, `work` and `work_long` of the mcp_host. Each loop
 * has its own pool.
 *
 * The first threads are started as soon as work arrives. More threads are started, up to the limit,
 * when work has waited for some milliseconds because all threads are busy. Short jobs thus run on
 * few threads, and hundreds of sleeping jobs get one thread each. Idle threads end after some
 * seconds. Long work never occupies all threads, because some are reserved for short work.
 *
 * The idle threads form a stack: the most recently used thread is used first, so that the others
 * can end. A thread that ends joins the one that ended before it, so no list of threads is needed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "io/loop/loop.h"

enum {
    DEFAULT_THREADS = 256,
    MAX_THREADS = 4096,
    DEFAULT_WAITING = 4096,
    EAGER = 4,           /* threads that are started without delay */
    GROW_MS = 5,         /* how long work waits before another thread is started */
    STACK = 1024 * 1024, /* bytes of address space; memory is used only as needed */
    IDLE_MS = 5000,      /* a thread without work ends after this time */
};

typedef struct job {
    mcp__posted posted; /* must be first; returns the finished job to the loop's thread */
    mcp__link all;      /* in loop->works */
    mcp__link queued;   /* in a lane until a thread takes the job */
    mcp_loop *loop;
    uint64_t since;
    mcp__lane lane;
    void (*run)(void *arg);
    void (*done)(void *arg);
    void *arg;
} job;

/* An idle thread. The struct is on the stack of that thread. */
typedef struct idle {
    mcp__link link;
    uv_cond_t wake;
    bool is_woken;
} idle;

/* ---- limits ---------------------------------------------------------------------------------------- */

/* Sets the limits. Reserves one thread in eight, rounded up, for short work, unless there is only
 * one thread. */
static void set_limits(mcp__workers *w, size_t threads, size_t waiting)
{
    w->max_threads = threads;
    w->max_waiting = waiting;
    w->max_long = threads > 1 ? threads - (threads + 7) / 8 : threads;
}

int mcp_loop_set_workers(mcp_loop *loop, size_t threads, size_t waiting)
{
    if (!loop || threads > MAX_THREADS)
        return MCP_EINVAL;
    uv_mutex_lock(&loop->workers.lock);
    set_limits(&loop->workers, threads ? threads : DEFAULT_THREADS,
               waiting ? waiting : DEFAULT_WAITING);
    uv_mutex_unlock(&loop->workers.lock);
    return MCP_OK;
}

/* ---- threads; they hold the lock except while a job runs ------------------------------------ */

static bool may_run(const mcp__workers *w, mcp__lane lane)
{
    return lane == MCP__LANE_SHORT || w->long_running < w->max_long;
}

static bool has_work(const mcp__workers *w, mcp__lane lane)
{
    return !mcp__list_empty(&w->lanes[lane]) && may_run(w, lane);
}

/* Takes a job from the given lane or, if that has none, from the other one. */
static job *take(mcp__workers *w, mcp__lane lane)
{
    for (int i = 0; i < MCP__LANES; i++, lane = MCP__LANE_LONG - lane) {
        mcp__link *head = &w->lanes[lane];
        if (!has_work(w, lane))
            continue;
        job *j = mcp__container(head->next, job, queued);
        mcp__list_remove(&j->queued);
        w->waiting--;
        w->long_running += lane == MCP__LANE_LONG;
        return j;
    }
    return NULL;
}

/* Runs a job. Returns its lane, from which the thread should take its next job: as long as the
 * limit for long work was reached, no other thread was woken for that lane. */
static mcp__lane run(mcp__workers *w, job *j)
{
    mcp__lane lane = j->lane;

    uv_mutex_unlock(&w->lock);
    j->run(j->arg);
    uv_mutex_lock(&w->lock);
    w->long_running -= lane == MCP__LANE_LONG;
    return lane;
}

/* Returns a job to the loop's thread. */
static void hand_back(mcp__workers *w, job *j)
{
    uv_mutex_unlock(&w->lock);
    mcp__post(j->loop, &j->posted);
    uv_mutex_lock(&w->lock);
}

static void become_idle(mcp__workers *w, idle *self)
{
    self->is_woken = false;
    mcp__list_append(&w->idle, &self->link);
}

/* Waits for work, as an idle thread. Returns false if none arrived for w->idle_ms. */
static bool wait_for_work(mcp__workers *w, idle *self)
{
    int status = 0;

    while (!self->is_woken && !w->stopping && status != UV_ETIMEDOUT)
        status = uv_cond_timedwait(&self->wake, &w->lock, w->idle_ms * 1000000);
    mcp__list_remove(&self->link);
    w->starting -= self->is_woken;
    return self->is_woken;
}

/* Updates the counters and releases the lock for a thread that ends when this function returns. */
static void leave(mcp__workers *w)
{
    uv_thread_t before = w->ended;
    bool any = w->any_ended;

    w->ended = uv_thread_self();
    w->any_ended = true;
    w->threads--;
    uv_cond_signal(&w->left);
    uv_mutex_unlock(&w->lock);
    if (any)
        uv_thread_join(&before);
}

/* Lets the loop's thread run first when both have work: its callers wait for short work, and what is
 * done here takes long. On Linux nice() applies to the calling thread alone. Failures are ignored. */
static void give_way(void)
{
    enum { MORE = 5 };
    int now = nice(MORE);
    (void)now;
}

static void thread_main(void *arg)
{
    mcp__workers *w = arg;
    idle self = {0};
    bool can_wait = uv_cond_init(&self.wake) == 0;
    bool more = true;
    job *finished = NULL;
    mcp__lane lane = MCP__LANE_SHORT;

    give_way();
    mcp__list_init(&self.link);
    uv_mutex_lock(&w->lock);
    w->starting--;
    while (more) {
        job *j = take(w, lane);
        bool waits = !j && can_wait && !w->stopping;
        /* The loop's thread, when it gets the finished job, may have the next one: this thread is
         * idle by then, so that no other one is started. */
        if (waits)
            become_idle(w, &self);
        if (finished)
            hand_back(w, finished);
        finished = j;
        if (j)
            lane = run(w, j);
        else
            more = waits && wait_for_work(w, &self);
    }
    if (can_wait)
        uv_cond_destroy(&self.wake);
    leave(w);
}

/* Starts a thread. It blocks all signals except those that a crash raises; the others are left to
 * the program's own threads. */
static bool start_thread(mcp__workers *w)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    const uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK};
    uv_thread_t thread;
    sigset_t blocked, before;

    sigfillset(&blocked);
    for (size_t i = 0; i < MCP__COUNT(own); i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int status = uv_thread_create_ex(&thread, &options, thread_main, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    w->threads += status == 0;
    w->starting += status == 0;
    return status == 0;
}

/* ---- calls from the loop's thread ----------------------------------------------------------- */

/* Returns the number of jobs that have waited for GROW_MS. Each of them should get a new thread. */
static size_t overdue(const mcp__workers *w, uint64_t now)
{
    size_t n[MCP__LANES] = {0};

    for (size_t lane = 0; lane < MCP__LANES; lane++) {
        const mcp__link *head = &w->lanes[lane];
        for (mcp__link *at = head->next; at != head && n[lane] < w->max_threads; at = at->next) {
            if (now - mcp__container(at, job, queued)->since < (uint64_t)GROW_MS * 1000000)
                break;
            n[lane]++;
        }
    }
    size_t room = w->max_long - MCP__MIN(w->long_running, w->max_long);
    return n[MCP__LANE_SHORT] + MCP__MIN(n[MCP__LANE_LONG], room);
}

static bool can_grow(const mcp__workers *w)
{
    return w->threads < w->max_threads &&
           (has_work(w, MCP__LANE_SHORT) || has_work(w, MCP__LANE_LONG));
}

static void grow(uv_timer_t *timer)
{
    mcp__workers *w = timer->data;

    uv_mutex_lock(&w->lock);
    size_t wanted = overdue(w, uv_hrtime());
    wanted -= MCP__MIN(wanted, w->starting);
    while (wanted-- && can_grow(w) && start_thread(w))
        ;
    bool again = can_grow(w);
    uv_mutex_unlock(&w->lock);
    if (again)
        uv_timer_start(timer, grow, GROW_MS, 0);
}

/* Makes a thread take queued work. Returns false if there is no thread and none can be started. */
static bool wake_thread(mcp__workers *w, mcp__lane lane)
{
    if (!may_run(w, lane))
        return true; /* a thread that finishes long work takes it */
    if (!mcp__list_empty(&w->idle)) {
        idle *i = mcp__container(w->idle.prev, idle, link);
        mcp__list_remove(&i->link);
        i->is_woken = true;
        w->starting++;
        uv_cond_signal(&i->wake);
        return true;
    }
    if (w->threads < EAGER && w->threads < w->max_threads && start_thread(w))
        return true;
    if (w->threads && !uv_is_active((uv_handle_t *)&w->growth)) {
        uv_update_time(w->growth.loop);
        uv_timer_start(&w->growth, grow, GROW_MS, 0);
    }
    return w->threads > 0;
}

static int enqueue(mcp__workers *w, job *j)
{
    int rc = MCP_OK;

    uv_mutex_lock(&w->lock);
    if (w->waiting >= w->max_waiting) {
        rc = MCP_ELIMIT;
    } else {
        mcp__list_append(&w->lanes[j->lane], &j->queued);
        w->waiting++;
        if (!wake_thread(w, j->lane)) {
            mcp__list_remove(&j->queued);
            w->waiting--;
            rc = MCP_EIO;
        }
    }
    uv_mutex_unlock(&w->lock);
    return rc;
}

static void finished(mcp__posted *posted)
{
    job j = *(job *)(void *)posted;
    mcp_loop *loop = j.loop;

    mcp__list_remove(&((job *)(void *)posted)->all);
    mcp__release(&loop->allocator, posted);
    if (mcp__list_empty(&loop->works))
        uv_unref((uv_handle_t *)&loop->posts.wakeup);
    j.done(j.arg);
}

static int submit(mcp_loop *loop, mcp__lane lane, void (*fn)(void *arg), void (*done)(void *arg),
                  void *arg)
{
    if (!fn || !done)
        return MCP_EINVAL;
    job *j = mcp__alloc(&loop->allocator, sizeof(*j));
    if (!j)
        return MCP_ENOMEM;
    *j = (job){.posted.run = finished,
               .loop = loop,
               .since = uv_hrtime(),
               .lane = lane,
               .run = fn,
               .done = done,
               .arg = arg};
    mcp__list_init(&j->queued);
    mcp__list_append(&loop->works, &j->all);
    int rc = enqueue(&loop->workers, j);
    if (rc == MCP_OK) {
        uv_ref((uv_handle_t *)&loop->posts.wakeup); /* the loop runs until the work has finished */
    } else {
        mcp__list_remove(&j->all);
        mcp__release(&loop->allocator, j);
    }
    return rc;
}

int mcp__host_work(void (*fn)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    return submit(user, MCP__LANE_SHORT, fn, done, arg);
}

int mcp__host_work_long(void (*fn)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    return submit(user, MCP__LANE_LONG, fn, done, arg);
}

void mcp__workers_cancel(mcp_loop *loop)
{
    mcp__workers *w = &loop->workers;

    uv_mutex_lock(&w->lock);
    for (size_t lane = 0; lane < MCP__LANES; lane++) {
        while (!mcp__list_empty(&w->lanes[lane])) {
            job *j = mcp__container(w->lanes[lane].next, job, queued);
            mcp__list_remove(&j->queued);
            mcp__post(loop, &j->posted);
        }
    }
    w->waiting = 0;
    uv_mutex_unlock(&w->lock);
}

int mcp__workers_init(mcp_loop *loop)
{
    mcp__workers *w = &loop->workers;
    int status = uv_mutex_init(&w->lock);

    if (status < 0)
        return status;
    status = uv_cond_init(&w->left);
    if (status < 0) {
        uv_mutex_destroy(&w->lock);
        return status;
    }
    for (size_t lane = 0; lane < MCP__LANES; lane++)
        mcp__list_init(&w->lanes[lane]);
    mcp__list_init(&w->idle);
    set_limits(w, DEFAULT_THREADS, DEFAULT_WAITING);
    w->idle_ms = IDLE_MS;
    uv_timer_init(&loop->uv, &w->growth);
    w->growth.data = w;
    return 0;
}

void mcp__workers_free(mcp_loop *loop)
{
    mcp__workers *w = &loop->workers;

    uv_mutex_lock(&w->lock);
    w->stopping = true;
    for (mcp__link *at = w->idle.next; at != &w->idle; at = at->next)
        uv_cond_signal(&mcp__container(at, idle, link)->wake);
    while (w->threads)
        uv_cond_wait(&w->left, &w->lock);
    uv_mutex_unlock(&w->lock);
    if (w->any_ended)
        uv_thread_join(&w->ended);
    uv_cond_destroy(&w->left);
    uv_mutex_destroy(&w->lock);
}
