/* curl.c: libcurl's multi interface on a loop: its sockets are libuv polls, its timer a libuv timer.
 *
 * What may surprise: libcurl is not linked but loaded with the first HTTP client, because it would cost
 * every start several milliseconds (base/library.h). And while libcurl is calling us its handles must not be
 * touched; so transfers are started and freed in one place, before the loop waits.
 */
#define _GNU_SOURCE
#include "io/http_client/client.h"

enum { IDLE_CONNECTIONS = 16 };

/* One of libcurl's sockets. */
typedef struct web_socket {
    uv_poll_t poll;
    mcp__web *web;
    curl_socket_t fd;
} web_socket;

/* ---- loading ------------------------------------------------------------------------------------------ */

static int load(mcp__curl *f, mcp_error *error)
{
#ifdef MCP_CURL_LINK
    (void)error;
    MCP__CURL_FUNCTIONS(MCP__LIBRARY_ADDRESS)
    return MCP_OK;
#else
    static const char *const names[] = {MCP__CURL_FUNCTIONS(MCP__LIBRARY_NAME)};
    /* Debian has it in two builds, which differ in the TLS library. */
    static const mcp__library library = {.files = {"libcurl.so.4", "libcurl-gnutls.so.4"},
                                         .wanted = "HTTP needs libcurl (package libcurl4)",
                                         .names = names,
                                         .n_names = MCP__COUNT(names)};

    return mcp__library_load(&library, f, error);
#endif
}

/* ---- what libcurl asks of the loop -------------------------------------------------------------------- */

static void settle(mcp__web *web);

static void handle_closed(mcp__web *web)
{
    if (--web->n_handles == 0)
        mcp__release(&web->loop->allocator, web);
}

static void socket_closed(uv_handle_t *handle)
{
    web_socket *s = handle->data;
    mcp__web *web = s->web;

    mcp__release(&web->loop->allocator, s);
    handle_closed(web);
}

/* Lets libcurl do what is to be done, then ends what it is through with. */
static void act(mcp__web *web, curl_socket_t fd, int events)
{
    int running = 0;

    mcp__web_flush(web); /* what was abandoned may have lost the message that it sends */
    web->inside++;
    (void)web->f.curl_multi_socket_action(web->multi, fd, events, &running);
    web->inside--;
    settle(web);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    web_socket *s = poll->data;
    int flags = 0;

    if (status < 0)
        flags |= CURL_CSELECT_ERR;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    act(s->web, s->fd, flags);
}

static void on_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static web_socket *socket_new(mcp__web *web, curl_socket_t fd)
{
    web_socket *s = mcp__zalloc(&web->loop->allocator, sizeof(*s));

    if (!s)
        return NULL;
    s->web = web;
    s->fd = fd;
    if (uv_poll_init(&web->loop->uv, &s->poll, fd) < 0) {
        mcp__release(&web->loop->allocator, s);
        return NULL;
    }
    s->poll.data = s;
    web->n_handles++;
    web->f.curl_multi_assign(web->multi, fd, s);
    return s;
}

/* An error here would make the whole multi handle useless: the transfers are ended by settle() instead. */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
    mcp__web *web = user;
    web_socket *s = known;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (s)
            uv_close((uv_handle_t *)&s->poll, socket_closed);
        return 0;
    }
    if (!s)
        s = socket_new(web, fd);
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    if (!s || uv_poll_start(&s->poll, events, on_socket) < 0)
        web->starved = true;
    return 0;
}

static int set_timer(CURLM *multi, long ms, void *user)
{
    mcp__web *web = user;

    (void)multi;
    if (uv_is_closing((uv_handle_t *)&web->timer))
        return 0;
    if (ms < 0)
        return uv_timer_stop(&web->timer);
    uv_update_time(&web->loop->uv);
    return uv_timer_start(&web->timer, on_timer, (uint64_t)ms, 0);
}

/* ---- transfers begin and end ---------------------------------------------------------------------------- */

static mcp__transfer *first_of(const mcp__link *list)
{
    return mcp__container(list->next, mcp__transfer, link);
}

static void move(mcp__transfer *t, mcp__link *to)
{
    mcp__list_remove(&t->link);
    mcp__list_append(to, &t->link);
}

static void start_waiting(mcp__web *web)
{
    while (!mcp__list_empty(&web->waiting)) {
        mcp__transfer *t = first_of(&web->waiting);
        move(t, &web->running);
        web->inside++;
        CURLMcode code = web->f.curl_multi_add_handle(web->multi, t->easy);
        web->inside--;
        t->added = code == CURLM_OK;
        if (!t->added)
            mcp__transfer_over(t, CURLE_OUT_OF_MEMORY);
    }
}

void mcp__web_flush(mcp__web *web)
{
    while (!mcp__list_empty(&web->dead)) {
        mcp__transfer *t = first_of(&web->dead);
        web->inside++; /* libcurl tells of sockets that it closes */
        if (t->added)
            web->f.curl_multi_remove_handle(web->multi, t->easy);
        mcp__transfer_free(t);
        web->inside--;
    }
}

static void end_finished(mcp__web *web)
{
    CURLMsg *message;
    int left;

    while ((message = web->f.curl_multi_info_read(web->multi, &left))) {
        char *t = NULL;
        CURLcode code = message->data.result; /* gone when the handle is removed */
        if (message->msg != CURLMSG_DONE)
            continue;
        web->f.curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
        mcp__transfer_over((mcp__transfer *)(void *)t, code);
    }
}

/* One of their sockets is not watched. */
static void fail_running(mcp__web *web)
{
    web->starved = false;
    while (!mcp__list_empty(&web->running))
        mcp__transfer_fail(first_of(&web->running), MCP_ENOMEM);
}

static void settle(mcp__web *web)
{
    if (web->inside)
        return;
    end_finished(web);
    if (web->starved)
        fail_running(web);
    mcp__web_flush(web);
}

static void before_waiting(uv_idle_t *idle)
{
    mcp__web *web = idle->data;

    uv_idle_stop(idle);
    mcp__web_flush(web);
    if (mcp__list_empty(&web->waiting))
        return;
    start_waiting(web);
    act(web, CURL_SOCKET_TIMEOUT, 0);
}

void mcp__web_note(mcp__web *web)
{
    uv_idle_start(&web->idle, before_waiting);
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void timer_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

/* The loop is about to close what is on it. */
static void web_stop(mcp__web *web)
{
    while (!mcp__list_empty(&web->waiting))
        mcp__transfer_fail(first_of(&web->waiting), MCP_ECANCELLED);
    while (!mcp__list_empty(&web->running))
        mcp__transfer_fail(first_of(&web->running), MCP_ECANCELLED);
    mcp__web_flush(web);
    web->inside++;
    if (web->multi)
        web->f.curl_multi_cleanup(web->multi);
    web->f.curl_global_cleanup();
    uv_close((uv_handle_t *)&web->timer, timer_closed);
    uv_close((uv_handle_t *)&web->idle, timer_closed);
}

static int set_up(mcp__web *web)
{
    const mcp__curl *f = &web->f;

    web->multi = f->curl_multi_init();
    if (!web->multi)
        return MCP_ENOMEM;
    f->curl_multi_setopt(web->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    f->curl_multi_setopt(web->multi, CURLMOPT_SOCKETDATA, web);
    f->curl_multi_setopt(web->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    f->curl_multi_setopt(web->multi, CURLMOPT_TIMERDATA, web);
    f->curl_multi_setopt(web->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
    return MCP_OK;
}

static void open_handles(mcp__web *web)
{
    uv_timer_init(&web->loop->uv, &web->timer);
    uv_idle_init(&web->loop->uv, &web->idle);
    web->timer.data = web->idle.data = web;
    web->n_handles = 2;
}

static int check_version(const mcp__curl *f, mcp_error *error)
{
    const curl_version_info_data *info = f->curl_version_info(CURLVERSION_NOW);

    if (info->version_num >= CURL_VERSION_BITS(7, 85, 0))
        return MCP_OK;
    return mcp__fail(error, MCP_EUNSUPPORTED, 0, "HTTP needs libcurl 7.85 or newer, not %s",
                     info->version);
}

int mcp__web_get(mcp_loop *loop, mcp__web **ret, mcp_error *error)
{
    if (loop->web) {
        *ret = loop->web;
        return MCP_OK;
    }
    mcp__web *web = mcp__zalloc(&loop->allocator, sizeof(*web));
    if (!web)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an HTTP client");
    web->loop = loop;
    mcp__list_init(&web->waiting);
    mcp__list_init(&web->running);
    mcp__list_init(&web->dead);
    int rc = load(&web->f, error);
    if (rc == MCP_OK)
        rc = check_version(&web->f, error);
    if (rc == MCP_OK && web->f.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        rc = mcp__fail(error, MCP_EUNSUPPORTED, 0, "libcurl cannot be used");
    if (rc < 0) {
        mcp__release(&loop->allocator, web);
        return rc;
    }
    open_handles(web);
    rc = set_up(web);
    if (rc < 0) {
        web_stop(web);
        return mcp__fail(error, rc, 0, "no memory for an HTTP client");
    }
    loop->web = *ret = web;
    loop->web_stop = web_stop;
    return MCP_OK;
}

int mcp__web_resolve(mcp__web *web, const char *base, mcp_str reference, char **ret)
{
    const mcp__curl *f = &web->f;
    const mcp_allocator *a = &web->loop->allocator;
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
