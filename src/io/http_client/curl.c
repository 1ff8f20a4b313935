/* curl.c: runs libcurl's multi interface on a loop. The loop watches libcurl's sockets and runs its
 * timer.
 *
 * libcurl is not linked. It is loaded for the first HTTP client, because linking it would cost
 * several milliseconds at every start (base/library.h). In a callback of libcurl, its handles must
 * not be changed. Transfers are therefore started and freed before the loop blocks.
 */
#define _GNU_SOURCE
#include "io/http_client/http_client.h"

enum {
    /* Connections that libcurl keeps, of all clients of a loop. If there are more requests in
     * flight, those above this number open and close a connection each. */
    IDLE_CONNECTIONS = 128,
    MOST_AT_ONCE = 64 << 10, /* bytes of all long answers in one turn of the loop: about 0.1 ms */
    /* The same for answers that libcurl decodes: it decodes all that it has received, keeps that while
     * the transfer is paused, and moves it at each pause. */
    DECODED_AT_ONCE = 512 << 10,
    LEAST_AT_ONCE = 16 << 10, /* bytes of one of them */
};

/* One of libcurl's sockets. */
typedef struct multi_socket {
    uv_poll_t poll;
    mcp__multi *multi;
    curl_socket_t fd;
} multi_socket;

/* ---- loading --------------------------------------------------------------------------------- */

static int load(mcp__curl *f, mcp_error *error)
{
#ifdef MCP_CURL_LINK
    (void)error;
    MCP__CURL_FUNCTIONS(MCP__LIBRARY_ADDRESS)
    return MCP_OK;
#else
    static const char *const names[] = {MCP__CURL_FUNCTIONS(MCP__LIBRARY_NAME)};
    /* Debian has two builds of libcurl, with different TLS libraries. */
    static const mcp__library library = {.files = {"libcurl.so.4", "libcurl-gnutls.so.4"},
                                         .wanted = "HTTP needs libcurl (package libcurl4)",
                                         .names = names,
                                         .n_names = MCP__COUNT(names)};

    return mcp__library_load(&library, f, error);
#endif
}

/* ---- calls from libcurl to the loop ---------------------------------------------------------- */

static void settle(mcp__multi *multi);

void mcp__multi_ref(mcp__multi *multi)
{
    multi->n_users++;
}

void mcp__multi_unref(mcp__multi *multi)
{
    if (--multi->n_users == 0)
        mcp__release(&multi->loop->allocator, multi);
}

static void socket_closed(uv_handle_t *handle)
{
    multi_socket *s = handle->data;
    mcp__multi *multi = s->multi;

    mcp__release(&multi->loop->allocator, s);
    mcp__multi_unref(multi);
}

/* Runs libcurl, and then ends the transfers that have finished. */
static void act(mcp__multi *multi, curl_socket_t fd, int events)
{
    int running = 0;

    mcp__multi_flush(multi); /* the message of an abandoned transfer may have been freed */
    multi->inside++;
    multi->acts++;
    (void)multi->f.curl_multi_socket_action(multi->handle, fd, events, &running);
    multi->inside--;
    settle(multi);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    multi_socket *s = poll->data;
    int flags = 0;

    /* libcurl finds the error by reading. If it is told of one, it does not repeat the request on another
     * connection, which it does if the server has closed this one since its last answer. */
    if (status < 0)
        flags |= CURL_CSELECT_IN | CURL_CSELECT_OUT;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    act(s->multi, s->fd, flags);
}

static void on_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static multi_socket *socket_new(mcp__multi *multi, curl_socket_t fd)
{
    multi_socket *s = mcp__zalloc(&multi->loop->allocator, sizeof(*s));

    if (!s)
        return NULL;
    s->multi = multi;
    s->fd = fd;
    if (uv_poll_init(&multi->loop->uv, &s->poll, fd) < 0) {
        mcp__release(&multi->loop->allocator, s);
        return NULL;
    }
    s->poll.data = s;
    mcp__multi_ref(multi);
    multi->f.curl_multi_assign(multi->handle, fd, s);
    return s;
}

/* Watches a socket for libcurl. On failure, settle() ends all running transfers. An error must not
 * be returned, because the multi handle could no longer be used. */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
    mcp__multi *multi = user;
    multi_socket *s = known;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (s)
            uv_close((uv_handle_t *)&s->poll, socket_closed);
        return 0;
    }
    if (!s)
        s = socket_new(multi, fd);
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    if (!s || uv_poll_start(&s->poll, events, on_socket) < 0)
        multi->starved = true;
    return 0;
}

static int set_timer(CURLM *handle, long ms, void *user)
{
    mcp__multi *multi = user;

    (void)handle;
    if (uv_is_closing((uv_handle_t *)&multi->timer))
        return 0;
    if (ms < 0)
        return uv_timer_stop(&multi->timer);
    uv_update_time(&multi->loop->uv);
    return uv_timer_start(&multi->timer, on_timer, (uint64_t)ms, 0);
}

/* ---- starting and ending transfers ----------------------------------------------------------- */

static mcp__transfer *first_of(const mcp__link *list)
{
    return mcp__container(list->next, mcp__transfer, link);
}

static void move(mcp__transfer *t, mcp__link *to)
{
    mcp__list_remove(&t->link);
    mcp__list_append(to, &t->link);
}

static void start_waiting(mcp__multi *multi)
{
    while (!mcp__list_empty(&multi->waiting)) {
        mcp__transfer *t = first_of(&multi->waiting);
        move(t, &multi->running);
        multi->inside++;
        CURLMcode code = multi->f.curl_multi_add_handle(multi->handle, t->easy);
        multi->inside--;
        t->added = code == CURLM_OK;
        if (!t->added)
            mcp__transfer_over(t, CURLE_OUT_OF_MEMORY);
    }
}

void mcp__multi_flush(mcp__multi *multi)
{
    while (!mcp__list_empty(&multi->dead)) {
        mcp__transfer *t = first_of(&multi->dead);
        multi->inside++; /* libcurl calls watch_socket() for the sockets that it closes */
        if (t->added)
            multi->f.curl_multi_remove_handle(multi->handle, t->easy);
        mcp__transfer_release(t);
        multi->inside--;
    }
}

static void end_finished(mcp__multi *multi)
{
    CURLMsg *message;
    int left;

    while ((message = multi->f.curl_multi_info_read(multi->handle, &left))) {
        char *t = NULL;
        CURLcode code = message->data.result; /* invalid after the handle is removed */
        if (message->msg != CURLMSG_DONE)
            continue;
        multi->f.curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
        mcp__transfer_over((mcp__transfer *)(void *)t, code);
    }
}

/* Fails all running transfers, because one of their sockets is not watched. */
static void fail_running(mcp__multi *multi)
{
    multi->starved = false;
    while (!mcp__list_empty(&multi->running))
        mcp__transfer_fail(first_of(&multi->running), MCP_ENOMEM);
}

static void settle(mcp__multi *multi)
{
    if (multi->inside)
        return;
    end_finished(multi);
    if (multi->starved)
        fail_running(multi);
    mcp__multi_flush(multi);
}

void mcp__transfer_took_event(mcp__transfer *t)
{
    t->taken += MCP__FLOW_COST;
}

/* ---- transfers that have to wait ------------------------------------------------------------- */

static bool is_held(const mcp__transfer *t)
{
    return t->held_until > mcp__loop_now(t->multi->loop);
}

static void on_hold_over(uv_timer_t *timer)
{
    mcp__multi *multi = timer->data;

    multi->pausing = true;
    mcp__multi_note(multi);
}

/* Starts the timer for the first transfer that may go on. */
static void arm_holds(mcp__multi *multi)
{
    int64_t due = INT64_MAX, now = mcp__loop_now(multi->loop);

    for (mcp__link *l = multi->running.next; l != &multi->running; l = l->next) {
        const mcp__transfer *t = mcp__container(l, mcp__transfer, link);
        if (t->paused && is_held(t))
            due = MCP__MIN(due, t->held_until);
    }
    if (due != INT64_MAX && !uv_is_closing((uv_handle_t *)&multi->holds))
        uv_timer_start(&multi->holds, on_hold_over, (uint64_t)(due - now), 0);
}

void mcp__transfer_hold(mcp__transfer *t, int64_t until)
{
    t->held_until = until;
}

/* libcurl reads from a connection as long as there is anything to read. A server that sends without
 * end would keep it from returning, and so keep the loop from everything else. All answers that were
 * paused in the turn before share what one of them alone would get. */
bool mcp__transfer_must_wait(mcp__transfer *t, size_t n)
{
    mcp__multi *multi = t->multi;
    size_t all = t->answer.is_encoded ? DECODED_AT_ONCE : MOST_AT_ONCE;
    size_t most = MCP__MAX(all / MCP__MAX(multi->n_long, 1), LEAST_AT_ONCE);

    if (is_held(t)) {
        t->paused = true;
        arm_holds(multi);
        return true;
    }
    if (t->act != multi->acts)
        t->taken = 0;
    t->act = multi->acts;
    t->paused = t->taken >= most;
    if (t->paused) {
        multi->pausing = true;
        mcp__multi_note(multi);
    } else {
        t->taken += n;
    }
    return t->paused;
}

static mcp__transfer *find_paused(const mcp__multi *multi)
{
    for (mcp__link *l = multi->running.next; l != &multi->running; l = l->next) {
        mcp__transfer *t = mcp__container(l, mcp__transfer, link);
        if (t->paused && t->act != multi->acts && !is_held(t))
            return t;
    }
    return NULL;
}

/* Continues the transfers that were paused in earlier turns. Each of them may end meanwhile, or be
 * paused again. If the receiver refuses what libcurl has kept, only the result of the call says so:
 * libcurl itself would notice at its next timer, or never. */
static void resume_paused(mcp__multi *multi)
{
    multi->pausing = false;
    multi->inside++;
    multi->acts++;
    multi->n_long = 0;
    for (mcp__link *l = multi->running.next; l != &multi->running; l = l->next) {
        const mcp__transfer *t = mcp__container(l, mcp__transfer, link);
        multi->n_long += t->paused && !is_held(t);
    }
    for (mcp__transfer *t; (t = find_paused(multi)) != NULL;) {
        t->act = multi->acts;
        t->taken = 0;
        t->paused = false;
        CURLcode code = multi->f.curl_easy_pause(t->easy, CURLPAUSE_CONT);
        if (code != CURLE_OK)
            mcp__transfer_over(t, code);
    }
    multi->inside--;
    arm_holds(multi);
}

static void before_waiting(uv_idle_t *idle)
{
    mcp__multi *multi = idle->data;

    uv_idle_stop(idle);
    mcp__multi_flush(multi);
    if (mcp__list_empty(&multi->waiting) && !multi->pausing)
        return;
    if (multi->pausing)
        resume_paused(multi);
    start_waiting(multi);
    act(multi, CURL_SOCKET_TIMEOUT, 0);
}

void mcp__multi_note(mcp__multi *multi)
{
    uv_idle_start(&multi->idle, before_waiting);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void timer_closed(uv_handle_t *handle)
{
    mcp__multi_unref(handle->data);
}

/* Ends all transfers, and frees the multi handle. Called when the loop is freed. */
static void multi_stop(mcp__multi *multi)
{
    while (!mcp__list_empty(&multi->waiting))
        mcp__transfer_fail(first_of(&multi->waiting), MCP_ECANCELLED);
    while (!mcp__list_empty(&multi->running))
        mcp__transfer_fail(first_of(&multi->running), MCP_ECANCELLED);
    mcp__multi_flush(multi);
    multi->inside++;
    mcp__transfers_forget(multi);
    if (multi->handle)
        multi->f.curl_multi_cleanup(multi->handle);
    multi->f.curl_global_cleanup();
    uv_close((uv_handle_t *)&multi->timer, timer_closed);
    uv_close((uv_handle_t *)&multi->holds, timer_closed);
    uv_close((uv_handle_t *)&multi->idle, timer_closed);
}

static int set_up(mcp__multi *multi)
{
    const mcp__curl *f = &multi->f;

    multi->handle = f->curl_multi_init();
    if (!multi->handle)
        return MCP_ENOMEM;
    f->curl_multi_setopt(multi->handle, CURLMOPT_SOCKETFUNCTION, watch_socket);
    f->curl_multi_setopt(multi->handle, CURLMOPT_SOCKETDATA, multi);
    f->curl_multi_setopt(multi->handle, CURLMOPT_TIMERFUNCTION, set_timer);
    f->curl_multi_setopt(multi->handle, CURLMOPT_TIMERDATA, multi);
    f->curl_multi_setopt(multi->handle, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
    return MCP_OK;
}

static void open_handles(mcp__multi *multi)
{
    uv_timer_init(&multi->loop->uv, &multi->timer);
    uv_timer_init(&multi->loop->uv, &multi->holds);
    uv_idle_init(&multi->loop->uv, &multi->idle);
    multi->timer.data = multi->holds.data = multi->idle.data = multi;
    multi->n_users = 3;
}

static int check_version(const mcp__curl *f, mcp_error *error)
{
    const curl_version_info_data *info = f->curl_version_info(CURLVERSION_NOW);

    if (info->version_num >= CURL_VERSION_BITS(7, 85, 0))
        return MCP_OK;
    return mcp__fail(error, MCP_EUNSUPPORTED, 0, "HTTP needs libcurl 7.85 or newer, not %s",
                     info->version);
}

int mcp__multi_get(mcp_loop *loop, mcp__multi **ret, mcp_error *error)
{
    if (loop->multi) {
        *ret = loop->multi;
        return MCP_OK;
    }
    mcp__multi *multi = mcp__zalloc(&loop->allocator, sizeof(*multi));
    if (!multi)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an HTTP client");
    multi->loop = loop;
    mcp__list_init(&multi->waiting);
    mcp__list_init(&multi->running);
    mcp__list_init(&multi->dead);
    mcp__list_init(&multi->reusable);
    mcp__buf_init(&multi->shape, &loop->allocator, 0);
    int rc = load(&multi->f, error);
    if (rc == MCP_OK)
        rc = check_version(&multi->f, error);
    if (rc == MCP_OK && multi->f.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        rc = mcp__fail(error, MCP_EUNSUPPORTED, 0, "libcurl cannot be used");
    if (rc < 0) {
        mcp__release(&loop->allocator, multi);
        return rc;
    }
    open_handles(multi);
    rc = set_up(multi);
    if (rc < 0) {
        multi_stop(multi);
        return mcp__fail(error, rc, 0, "no memory for an HTTP client");
    }
    loop->multi = *ret = multi;
    loop->multi_stop = multi_stop;
    return MCP_OK;
}

int mcp__multi_resolve(mcp__multi *multi, const char *base, mcp_str reference, char **ret)
{
    const mcp__curl *f = &multi->f;
    const mcp_allocator *a = &multi->loop->allocator;
    char *text = mcp__strdup(a, reference), *found = NULL;
    CURLU *url = f->curl_url();
    int rc = !text || !url ? MCP_ENOMEM : MCP_OK;

    if (rc == MCP_OK && (strlen(text) != reference.len ||
                         f->curl_url_set(url, CURLUPART_URL, base, 0) != CURLUE_OK ||
                         f->curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK ||
                         f->curl_url_get(url, CURLUPART_URL, &found, 0) != CURLUE_OK))
        rc = MCP_EINVAL;
    if (rc == MCP_OK) {
        *ret = mcp__strdup(a, mcp_str_from(found));
        rc = *ret ? MCP_OK : MCP_ENOMEM;
    }
    f->curl_free(found);
    if (url)
        f->curl_url_cleanup(url);
    mcp__release(a, text);
    return rc;
}
