/* link.c: see link.h.
 *
 * hiredis frees its context itself when the connection fails; it then calls `cleanup`. Our own failures
 * wait until hiredis has returned (`busy`), because its context must not be freed below it.
 */
#define _GNU_SOURCE
#include "link.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- reasons --------------------------------------------------------------------------------- */

void link_line(char *to, size_t room, const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len && text[i] && n + 1 < room; i++)
        to[n++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    to[n] = 0;
}

/* The first reason is the cause of the others. */
static void explain(redis_link *l, const char *why)
{
    if (!l->why[0])
        link_line(l->why, sizeof(l->why), why, strlen(why));
}

/* hiredis does not say why TLS failed. Called while its context exists. */
static void explain_end(const redisAsyncContext *ac)
{
    redis_link *l = ac->data;
    char text[LINK_WHY];
    const char *refusal = l->session ? redis_tls_refusal(l->session) : NULL;
    snprintf(text, sizeof(text), refusal ? "its certificate is not accepted: %s" : "%s",
             refusal ? refusal : ac->errstr);
    explain(l, text);
}

void link_fail(redis_link *l, const char *format, ...)
{
    char text[LINK_WHY];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    explain(l, text);
    l->failed = true;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Called for each part of a reply before it is allocated. If it returns false, the caller returns NULL,
 * which hiredis takes for a lack of memory: it closes the connection. */
static bool may_take(const redisReadTask *task, size_t bytes, size_t parts)
{
    redis_link *l = task->privdata;
    if (!task->parent)
        l->bytes = l->parts = 0;
    if (!task->parent && !l->waiting) {
        link_fail(l, "it sends replies without a request");
        return false;
    }
    l->too_large = bytes > LINK_REPLY_BYTES - l->bytes || parts > LINK_REPLY_PARTS - l->parts;
    if (l->too_large) {
        link_fail(l, "a reply is too large");
        return false;
    }
    l->bytes += bytes;
    l->parts += parts;
    return true;
}

static void *take_string(const redisReadTask *task, char *text, size_t len)
{
    const redis_link *l = task->privdata;
    return may_take(task, len, 1) ? l->plain.createString(task, text, len) : NULL;
}

static void *take_integer(const redisReadTask *task, long long value)
{
    const redis_link *l = task->privdata;
    return may_take(task, 0, 1) ? l->plain.createInteger(task, value) : NULL;
}

static void *take_nil(const redisReadTask *task)
{
    const redis_link *l = task->privdata;
    return may_take(task, 0, 1) ? l->plain.createNil(task) : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *take_array(const redisReadTask *task, size_t elements)
{
    const redis_link *l = task->privdata;
    return may_take(task, 0, elements) ? l->plain.createArray(task, elements) : NULL;
}

static void *take_double(const redisReadTask *task, double value, char *text, size_t len)
{
    const redis_link *l = task->privdata;
    return may_take(task, len, 1) ? l->plain.createDouble(task, value, text, len) : NULL;
}

static void *take_bool(const redisReadTask *task, int value)
{
    const redis_link *l = task->privdata;
    return may_take(task, 0, 1) ? l->plain.createBool(task, value) : NULL;
}
#else
static void *take_array(const redisReadTask *task, int elements)
{
    const redis_link *l = task->privdata;
    return elements >= 0 && may_take(task, 0, (size_t)elements)
               ? l->plain.createArray(task, elements)
               : NULL;
}
#endif

static void bound(redis_link *l)
{
    redisReader *reader = l->ac->c.reader;
    l->plain = *reader->fn;
    l->bounded = (redisReplyObjectFunctions)
    {
        .createString = take_string, .createArray = take_array, .createInteger = take_integer,
        .createNil = take_nil,
#if HIREDIS_MAJOR >= 1
        .createDouble = take_double, .createBool = take_bool,
#endif
        .freeObject = l->plain.freeObject
    };
    reader->fn = &l->bounded;
    reader->privdata = l;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void stop_timer(redis_link *l)
{
    if (l->timer)
        l->host->timer_stop(l->timer, l->host->user);
    l->timer = NULL;
}

static void settle(redis_link *l);

static void on_late(void *arg)
{
    redis_link *l = arg;
    link_fail(l, "it does not answer");
    settle(l);
}

/* The time begins again with each command and each reply. */
static void restart_timer(redis_link *l)
{
    stop_timer(l);
    l->timer = l->host->timer_start(l->patience_ms, on_late, l, l->host->user);
    if (!l->timer)
        link_fail(l, "out of memory");
}

/* ---- the loop of the host -------------------------------------------------------------------- */

static void on_readable(void *arg)
{
    redis_link *l = arg;
    l->busy = true;
    redisAsyncHandleRead(l->ac); /* at most 16 KiB */
    l->busy = false;
    if (l->ac && l->ac->c.reader->len - l->ac->c.reader->pos > LINK_REPLY_BYTES) {
        l->too_large = true;
        link_fail(l, "a reply is too large");
    }
    settle(l);
}

static void on_writable(void *arg)
{
    redis_link *l = arg;
    l->busy = true;
    redisAsyncHandleWrite(l->ac);
    l->busy = false;
    settle(l);
}

static void stop_poll(redis_link *l, mcp_host_poll **poll)
{
    if (*poll)
        l->host->poll_stop(*poll, l->host->user);
    *poll = NULL;
}

/* Without memory for polling the time runs out, at the latest. */
static void add_read(void *arg)
{
    redis_link *l = arg;
    if (!l->reading)
        l->reading = l->host->poll_start(l->ac->c.fd, on_readable, l, l->host->user);
    if (!l->reading)
        link_fail(l, "out of memory");
}

static void del_read(void *arg)
{
    redis_link *l = arg;
    stop_poll(l, &l->reading);
}

static void add_write(void *arg)
{
    redis_link *l = arg;
    if (l->write_fd < 0)
        l->write_fd = fcntl(l->ac->c.fd, F_DUPFD_CLOEXEC, 0);
    if (!l->writing && l->write_fd >= 0)
        l->writing = l->host->poll_start_write(l->write_fd, on_writable, l, l->host->user);
    if (!l->writing)
        link_fail(l, "out of memory or descriptors");
}

static void del_write(void *arg)
{
    redis_link *l = arg;
    stop_poll(l, &l->writing);
}

static void cleanup(void *arg)
{
    redis_link *l = arg;
    stop_poll(l, &l->reading);
    stop_poll(l, &l->writing);
    if (l->write_fd >= 0)
        close(l->write_fd);
    l->write_fd = -1;
    l->ac = NULL;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void on_connected(const redisAsyncContext *ac, int status)
{
    if (status != REDIS_OK)
        explain_end(ac);
}

static void on_disconnected(const redisAsyncContext *ac, int status)
{
    if (status != REDIS_OK)
        explain_end(ac);
}

static void attach(redis_link *l)
{
    redisAsyncContext *ac = l->ac;
    int flags = fcntl(ac->c.fd, F_GETFD);
    if (flags >= 0)
        fcntl(ac->c.fd, F_SETFD, flags | FD_CLOEXEC);
    ac->data = l;
    ac->ev.data = l;
    ac->ev.addRead = add_read;
    ac->ev.delRead = del_read;
    ac->ev.addWrite = add_write;
    ac->ev.delWrite = del_write;
    ac->ev.cleanup = cleanup;
    bound(l);
    redisAsyncSetConnectCallback(ac, on_connected); /* begins to poll */
    redisAsyncSetDisconnectCallback(ac, on_disconnected);
}

int link_open(redis_link *l, const link_place *at)
{
    l->why[0] = 0;
    l->too_large = l->failed = false;
    l->waiting = l->bytes = l->parts = 0;
    l->write_fd = -1;
    l->session = NULL;
    redisAsyncContext *ac =
        at->path ? redisAsyncConnectUnix(at->path) : redisAsyncConnect(at->host, at->port);
    if (!ac || ac->err) {
        explain(l, ac ? ac->errstr : "out of memory");
        if (ac)
            redisAsyncFree(ac);
        return ac ? MCP_EIO : MCP_ENOMEM;
    }
    if (at->tls && !redis_tls_begin(at->tls, &ac->c, &l->session)) {
        explain(l, ac->c.errstr[0] ? ac->c.errstr : "TLS cannot begin");
        redisAsyncFree(ac);
        return MCP_EIO;
    }
    l->ac = ac;
    attach(l);
    restart_timer(l);
    if (!l->failed)
        return MCP_OK;
    link_close(l);
    return MCP_ENOMEM;
}

void link_close(redis_link *l)
{
    stop_timer(l);
    l->failed = true; /* replies are no longer wanted */
    if (l->ac)
        redisAsyncFree(l->ac);
}

bool link_is_open(const redis_link *l)
{
    return l->ac != NULL;
}

/* After hiredis has returned: ends the link if it has failed. */
static void settle(redis_link *l)
{
    if (l->ac && !l->failed)
        return;
    explain(l, "the connection was lost");
    link_close(l);
    l->lost(l->user);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void on_reply(redisAsyncContext *ac, void *reply, void *data)
{
    redis_link *l = ac->data;
    const link_command *command = data;
    if (!reply && ac->err)
        explain_end(ac);
    if (!reply || l->failed)
        return; /* the connection ends */
    l->waiting--;
    if (l->waiting)
        restart_timer(l);
    else
        stop_timer(l);
    command->answered(reply, l->user);
}

int link_send(redis_link *l, const link_command *command, int argc, const char *const *argv,
              const size_t *lens)
{
    const char *words[16];
    if (!l->ac || l->failed)
        return MCP_ESTATE;
    for (int i = 0; i < argc; i++)
        words[i] = argv[i];
    void *data = (void *)(uintptr_t)command; /* hiredis does not write to it */
    if (redisAsyncCommandArgv(l->ac, on_reply, data, argc, words, lens) != REDIS_OK)
        return MCP_ENOMEM;
    l->waiting++;
    restart_timer(l);
    return MCP_OK;
}
