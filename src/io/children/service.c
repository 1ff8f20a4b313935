/* service.c: starts and ends the process of a service. The phases are down, starting, up, ending,
 * ended, and down again.
 *
 * The functions of this API do not themselves start, reap or free anything. A timer does that
 * later, because they may be called from callbacks of the client that is connected to the process.
 * A process that ends by itself counts as failed even if its exit status is 0.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/children/service.h"

enum { STABLE_MS = 10000 }; /* a process that was up this long counts as started successfully */

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_service_options, idle_ms, 60000),
    MCP_DEFAULT(mcp_service_options, start_ms, 10000),
    MCP_DEFAULT(mcp_service_options, pause_ms, 100),
    MCP_DEFAULT(mcp_service_options, max_pause_ms, 60000),
};

static void on_timer(uv_timer_t *timer);

static void arm(mcp_service *s, uint64_t ms)
{
    if (!s->timer_open)
        return;
    uv_update_time(&s->loop->uv);
    uv_timer_start(&s->timer, on_timer, ms, 0);
}

/* Every use of a process that is up may end here, so its timer runs on: it is set again only when it
 * is over. */
static void begin_idling(mcp_service *s)
{
    s->idle_since = mcp__loop_now(s->loop);
    if (s->options.idle_ms != UINT64_MAX && !uv_is_active((uv_handle_t *)&s->timer))
        arm(s, s->options.idle_ms);
}

void mcp__service_attend(mcp_service *s)
{
    if (s->phase == MCP__SERVICE_DOWN && (!mcp__list_empty(&s->waiting) || s->freed)) {
        int64_t wait = s->not_before - mcp_loop_now(s->loop);
        arm(s, s->freed || wait < 0 ? 0 : (uint64_t)wait);
    } else if (s->phase == MCP__SERVICE_UP && !s->uses) {
        begin_idling(s);
    }
}

/* ---- the end of a process ------------------------------------------------------------------- */

static bool is_failure(mcp_service_cause cause)
{
    return cause != MCP_SERVICE_IDLE && cause != MCP_SERVICE_STOPPED;
}

static uint64_t next_pause(const mcp_service *s)
{
    uint64_t pause = s->options.pause_ms;

    if (s->failures < 2)
        return 0;
    for (uint64_t i = 2; i < s->failures && pause < s->options.max_pause_ms; i++)
        pause *= 2;
    return MCP__MIN(pause, s->options.max_pause_ms);
}

/* Handles the end of a process or a failed start, and notifies the waiting uses. This happens
 * before the client's calls fail. A caller that then repeats its call thus waits for the next
 * process. */
static void settle(mcp_service *s, int code)
{
    bool stable = s->since && mcp_loop_now(s->loop) - s->since >= STABLE_MS;
    mcp_error error;

    s->ends[s->cause]++;
    s->failures = is_failure(s->cause) ? (stable ? 1 : s->failures + 1) : 0;
    s->pause = next_pause(s);
    s->not_before = mcp_loop_now(s->loop) + (int64_t)s->pause;
    s->phase = s->child ? MCP__SERVICE_ENDED : MCP__SERVICE_DOWN;
    arm(s, 0);
    mcp__fail(&error, code, 0, "%s: %s", s->options.name, s->text);
    /* After a deliberate end, the waiting uses get the next process. */
    if (is_failure(s->cause))
        mcp__service_tell(s, code, &error);
}

static void report(mcp_service *s, int status)
{
    mcp_service_end end = {.size = sizeof(end),
                           .cause = s->cause,
                           .status = status,
                           .text = s->text,
                           .pause_ms = s->pause};

    mcp__service_stderr_end(s);
    if (is_failure(s->cause))
        mcp__service_log(s, "warning", s->text);
    if (s->options.on_end && !s->freed)
        s->options.on_end(&end, s->options.user);
}

static void on_gone(int status, void *user)
{
    mcp_service *s = user;
    bool by_signal = status > 128;

    if (s->phase != MCP__SERVICE_ENDING)
        s->cause = by_signal ? MCP_SERVICE_KILLED : MCP_SERVICE_EXITED;
    if (s->why[0])
        snprintf(s->text, sizeof(s->text), "%s", s->why);
    else if (by_signal)
        snprintf(s->text, sizeof(s->text), "the process was ended by signal %d (%s)", status - 128,
                 strsignal(status - 128));
    else
        snprintf(s->text, sizeof(s->text), "the process ended with exit status %d", status);
    settle(s, s->cause == MCP_SERVICE_ABORTED ? MCP_ETIMEOUT : MCP_ECLOSED);
}

static void on_exit_status(int status, void *user)
{
    report(user, status);
}

static void on_stderr(mcp_str bytes, void *user)
{
    mcp__service_stderr(user, bytes);
}

static void end_process(mcp_service *s, mcp_service_cause cause, const char *why, bool now)
{
    if (s->phase != MCP__SERVICE_UP && s->phase != MCP__SERVICE_STARTING) {
        if (s->phase == MCP__SERVICE_ENDING && now)
            mcp__child_kill(s->child);
        return;
    }
    s->phase = MCP__SERVICE_ENDING;
    s->cause = cause;
    snprintf(s->why, sizeof(s->why), "%s", why);
    s->child->why = s->why[0] ? s->why : NULL;
    uv_timer_stop(&s->timer);
    if (now)
        mcp__child_kill(s->child);
    else
        mcp__child_end(s->child);
}

void mcp_service_stop(mcp_service *s)
{
    if (!s)
        return;
    end_process(s, MCP_SERVICE_STOPPED, "", false);
    if (s->phase == MCP__SERVICE_DOWN || s->phase == MCP__SERVICE_ENDED) {
        s->failures = s->pause = 0;
        s->not_before = 0;
        mcp__service_attend(s);
    }
}

void mcp_service_abort(mcp_service *s, const char *why)
{
    if (s)
        end_process(s, MCP_SERVICE_ABORTED, why ? why : "it took too long", true);
}

/* ---- starting ------------------------------------------------------------------------------- */

static void on_started(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                       void *user)
{
    mcp_service *s = user;

    (void)client;
    (void)result;
    if (s->phase != MCP__SERVICE_STARTING)
        return;
    if (rc == MCP_OK) {
        s->phase = MCP__SERVICE_UP;
        s->since = mcp_loop_now(s->loop);
        uv_timer_stop(&s->timer);
        mcp__service_tell(s, MCP_OK, NULL);
        mcp__service_attend(s);
    } else if (mcp__child_is_running(s->child)) {
        end_process(s, MCP_SERVICE_REFUSED, error->text, false);
    }
}

static void on_too_long(void *user)
{
    end_process(user, MCP_SERVICE_ABORTED, "it sent a line that is longer than a message may be",
                true);
}

static void on_slowed(void *user)
{
    const mcp_service *s = user;

    if (s->options.slowed && !s->freed)
        s->options.slowed(s->options.user);
}

static int start_child(mcp_service *s, mcp_error *error)
{
    const mcp_service_options *o = &s->options;
    mcp__child_extra extra = {.own_pipes = o->own_pipes,
                              .limits = {.max_data = o->max_data,
                                         .max_files = o->max_files,
                                         .no_core = true,
                                         .yields = o->low_priority,
                                         .with_parent = o->with_parent},
                              .first_line = mcp_str_from(o->first_line),
                              .on_gone = on_gone,
                              .on_too_long = o->own_pipes ? on_too_long : NULL,
                              .messages_per_second = o->messages_per_second,
                              .slowed = on_slowed};

    if (o->own_pipes && o->fourth) {
        extra.fourth = o->fourth(o->user);
        if (extra.fourth < 0)
            return mcp__fail(error, MCP_EIO, 0, "its descriptor 4 cannot be made");
    }
    int rc =
        mcp__child_start(s->loop, o->client,
                         MCP_OPTIONS(mcp_child_options, .argv = o->argv, .env = o->env,
                                     .cwd = o->cwd, .on_stderr = on_stderr,
                                     .on_exit = on_exit_status, .user = s, .kill_ms = o->kill_ms),
                         &extra, &s->child, error);
    if (extra.fourth > 0)
        close(extra.fourth);
    if (rc == MCP_OK)
        rc = mcp_client_start(o->client, on_started, s);
    return rc == MCP_OK || error->code ? rc : mcp__fail(error, rc, 0, "its client is in use");
}

static void start(mcp_service *s)
{
    mcp_error error = {0};

    s->phase = MCP__SERVICE_STARTING;
    s->since = 0;
    s->why[0] = '\0';
    s->lines.len = 0;
    s->starts++;
    arm(s, s->options.start_ms);
    if (start_child(s, &error) == MCP_OK)
        return;
    if (s->child && mcp__child_is_running(s->child)) {
        end_process(s, MCP_SERVICE_REFUSED, error.text, true);
        return;
    }
    s->cause = MCP_SERVICE_REFUSED;
    snprintf(s->text, sizeof(s->text), "%s", error.text);
    settle(s, error.code);
    report(s, -1);
}

/* ---- the next step -------------------------------------------------------------------------- */

static void timer_closed(uv_handle_t *handle)
{
    mcp_service *s = handle->data;
    mcp_allocator allocator = s->loop->allocator;

    mcp__list_remove(&s->link);
    mcp__release(&allocator, s->vectors);
    mcp__release(&allocator, s->texts);
    mcp__release(&allocator, s);
}

static void close_service(mcp_service *s)
{
    if (!s->timer_open)
        return;
    s->timer_open = false;
    uv_close((uv_handle_t *)&s->timer, timer_closed);
}

static void release_child(mcp_service *s)
{
    if (!mcp__child_release(s->child)) {
        arm(s, 1); /* 0 would fire in this turn, before the handles are closed */
        return;
    }
    s->child = NULL;
    s->phase = MCP__SERVICE_DOWN;
    if (s->freed)
        close_service(s);
    else
        mcp__service_attend(s);
}

static void end_idling(mcp_service *s)
{
    int64_t rest = s->idle_since + (int64_t)s->options.idle_ms - mcp__loop_now(s->loop);

    if (rest > 0)
        arm(s, (uint64_t)rest);
    else
        end_process(s, MCP_SERVICE_IDLE, "", false);
}

static void on_timer(uv_timer_t *timer)
{
    mcp_service *s = timer->data;

    if (s->phase == MCP__SERVICE_ENDED)
        release_child(s);
    else if (s->phase == MCP__SERVICE_DOWN && s->freed)
        close_service(s);
    else if (s->phase == MCP__SERVICE_DOWN && !mcp__list_empty(&s->waiting))
        start(s);
    else if (s->phase == MCP__SERVICE_STARTING)
        end_process(s, MCP_SERVICE_REFUSED, "it did not answer in time after its start", true);
    else if (s->phase == MCP__SERVICE_UP && !s->uses)
        end_idling(s);
}

/* ---- making and freeing ---------------------------------------------------------------------------- */

static size_t count(const char *const *texts)
{
    size_t n = 0;

    while (texts && texts[n])
        n++;
    return n;
}

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *copy(char **at, const char *text)
{
    size_t n = size_of(text);
    char *to = *at;

    if (!text)
        return NULL;
    memcpy(to, text, n);
    *at += n;
    return to;
}

static const char *const *copy_all(char **at, const char ***vector, const char *const *texts)
{
    const char **to = *vector;
    size_t n = count(texts);

    if (!texts)
        return NULL;
    for (size_t i = 0; i < n; i++)
        to[i] = copy(at, texts[i]);
    to[n] = NULL;
    *vector += n + 1;
    return to;
}

static bool copy_texts(mcp_service *s)
{
    mcp_service_options *o = &s->options;
    size_t size = size_of(o->name) + size_of(o->cwd) + size_of(o->first_line);
    const char *const *const vectors[] = {o->argv, o->env};
    size_t n = MCP__COUNT(vectors);

    for (size_t i = 0; i < MCP__COUNT(vectors); i++) {
        for (const char *const *text = vectors[i]; text && *text; text++)
            size += size_of(*text);
        n += count(vectors[i]);
    }
    char *at = s->texts = mcp__alloc(&s->loop->allocator, size);
    const char **vector = s->vectors = mcp__alloc(&s->loop->allocator, n * sizeof(*vector));
    if (!at || !vector)
        return false;
    o->name = copy(&at, o->name);
    o->cwd = copy(&at, o->cwd);
    o->first_line = copy(&at, o->first_line);
    o->argv = copy_all(&at, &vector, o->argv);
    o->env = copy_all(&at, &vector, o->env);
    return true;
}

static int check_options(mcp_service_options *o, mcp_error *error)
{
    if (!o->name || !o->argv || !o->argv[0] || !o->argv[0][0] || !o->client)
        return mcp__fail(error, MCP_EINVAL, 0, "a name, a program and a client are needed");
    if ((o->first_line || o->fourth) && !o->own_pipes)
        return mcp__fail(error, MCP_EINVAL, 0, "first_line and fourth need own_pipes");
    MCP_SET_DEFAULTS(o, defaults);
    if ((o->idle_ms > INT32_MAX && o->idle_ms != UINT64_MAX) || o->start_ms > INT32_MAX ||
        o->kill_ms > INT32_MAX || o->max_pause_ms > INT32_MAX || o->pause_ms > o->max_pause_ms)
        return mcp__fail(error, MCP_EINVAL, 0, "a time is out of range");
    return MCP_OK;
}

static void stop_all(mcp_loop *loop);

static void enter(mcp_loop *loop, mcp_service *s)
{
    if (!loop->services_stop) {
        mcp__list_init(&loop->services);
        loop->services_stop = stop_all;
    }
    mcp__list_append(&loop->services, &s->link);
}

int mcp_service_new(mcp_loop *loop, const mcp_service_options *options, mcp_service **ret,
                    mcp_error *error)
{
    mcp__no_error(error);
    mcp_service_options given;
    if (!loop || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "a loop and ret are needed");
    int rc = MCP__TAKE(&given, options, mcp_service_options, error);
    if (rc == MCP_OK)
        rc = check_options(&given, error);
    if (rc != MCP_OK)
        return rc;
    mcp_service *s = mcp__zalloc(&loop->allocator, sizeof(*s));
    if (!s)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a service");
    s->loop = loop;
    s->options = given;
    s->lines.tokens = MCP__SERVICE_BURST;
    if (!copy_texts(s)) {
        mcp__release(&loop->allocator, s->vectors);
        mcp__release(&loop->allocator, s->texts);
        mcp__release(&loop->allocator, s);
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a service");
    }
    mcp__list_init(&s->waiting);
    uv_timer_init(&loop->uv, &s->timer);
    s->timer.data = s;
    s->timer_open = true;
    enter(loop, s);
    *ret = s;
    return MCP_OK;
}

static void forget_uses(mcp_service *s)
{
    while (!mcp__list_empty(&s->waiting))
        mcp__list_remove(s->waiting.next);
    s->uses = 0;
}

void mcp_service_free(mcp_service *s)
{
    if (!s || s->freed)
        return;
    mcp_service_stop(s);
    s->freed = true;
    s->options.log = NULL;
    forget_uses(s);
    if (s->child)
        mcp__pump_end(&s->child->pump, "the service is at its end");
    mcp__service_attend(s);
}

/* Frees all services when the loop is freed. Kills their processes immediately. */
static void stop_all(mcp_loop *loop)
{
    for (mcp__link *at = loop->services.next; at != &loop->services; at = at->next) {
        mcp_service *s = mcp__container(at, mcp_service, link);
        mcp_service_free(s);
        if (s->child)
            mcp__child_kill(s->child);
    }
    while (!mcp__list_empty(&loop->services))
        mcp__loop_turn(loop);
}
