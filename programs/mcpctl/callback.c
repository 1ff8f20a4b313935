/* callback.c: waits for the browser at an address on this machine.
 *
 * This is no web server: it reads the head of a GET request, at most 16 KiB of it, and answers one
 * of three constant pages. The pages contain nothing of the request, no scripts, and do not say
 * whether the login succeeded, because that is not known yet. Only a request for the path of the
 * redirect URI, with a query, is passed on. The caller checks its contents.
 */
#define _GNU_SOURCE
#include "callback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mcp/uri.h>

enum {
    VISITORS = 8,         /* connections at once; a further one replaces the oldest */
    VISITOR_MS = 30000,   /* for one request */
    HEAD_BYTES = 16384,   /* of one request */
    REST_BYTES = 1 << 16, /* which are read after a request, at most */
};

typedef struct visitor {
    callback *cb;
    int fd; /* -1: none */
    mcp_host_poll *poll;
    mcp_host_timer *timer;
    unsigned long number;
    size_t len;
    char head[HEAD_BYTES];
} visitor;

typedef union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} address;

/* A socket that listens, so that nobody else gets the port. Connections wait until they are wanted. */
typedef struct listener {
    callback *cb;
    int fd; /* -1: none */
    mcp_host_poll *poll;
} listener;

enum { LISTENERS = 2 }; /* localhost has two addresses */

struct callback {
    const mcp_host *host;
    char url[512];
    size_t path_at; /* in `url` */
    listener listeners[LISTENERS];
    callback_fn *fn;
    void *user;
    bool wanted, answered;
    unsigned long visitors_so_far;
    visitor visitors[VISITORS];
};

/* ---- answers --------------------------------------------------------------------------------- */

#define PAGE(status, text)                                                                      \
    "HTTP/1.1 " status "\r\nContent-Type: text/html; charset=utf-8\r\n"                         \
    "Content-Security-Policy: default-src 'none'; base-uri 'none'; frame-ancestors 'none'\r\n"  \
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: "       \
    "nosniff\r\nConnection: close\r\n\r\n<!doctype html><html lang=\"en\"><meta charset=utf-8>" \
    "<title>mcpctl</title><p>" text "</p></html>\n"

static const char page_done[] =
    PAGE("200 OK", "The answer has arrived. You can close this page and go back to the terminal.");
static const char page_unexpected[] =
    PAGE("400 Bad Request", "This is not the answer that mcpctl is waiting for.");
static const char page_none[] = PAGE("404 Not Found", "There is nothing here.");

static void leave(visitor *v)
{
    if (v->poll)
        v->cb->host->poll_stop(v->poll, v->cb->host->user);
    if (v->timer)
        v->cb->host->timer_stop(v->timer, v->cb->host->user);
    if (v->fd >= 0)
        close(v->fd);
    v->poll = NULL;
    v->timer = NULL;
    v->fd = -1;
}

/* The page is small enough for the buffer of a new connection. */
static void answer(visitor *v, const char *page)
{
    char rest[1024];
    size_t most = REST_BYTES / sizeof(rest);
    (void)!send(v->fd, page, strlen(page), MSG_NOSIGNAL);
    shutdown(v->fd, SHUT_WR);
    while (most-- && recv(v->fd, rest, sizeof(rest), MSG_DONTWAIT) > 0) {
        /* what remains unread would make the kernel reset the connection */
    }
    leave(v);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Gets the target of "GET TARGET HTTP/1.1", or the empty string. */
static mcp_str target_of(const visitor *v)
{
    const char *end = memmem(v->head, v->len, "\r\n", 2), *target = v->head + 4;
    const char *blank = end ? memchr(v->head, ' ', (size_t)(end - v->head)) : NULL;
    if (!blank || blank != v->head + 3 || memcmp(v->head, "GET ", 4) != 0)
        return (mcp_str){0};
    blank = memchr(target, ' ', (size_t)(end - target));
    if (!blank || (size_t)(end - blank) != 9 || memcmp(blank, " HTTP/1.", 8) != 0)
        return (mcp_str){0};
    for (const char *p = target; p < blank; p++)
        if (*p <= ' ' || *p >= 0x7f)
            return (mcp_str){0};
    return (mcp_str){target, (size_t)(blank - target)};
}

/* Passes the answer on, if this request is one. That may stop the callback, but not free it. */
static const char *handle(const visitor *v)
{
    callback *cb = v->cb;
    const char *path = cb->url + cb->path_at;
    size_t path_len = strlen(path);
    mcp_str target = target_of(v);
    char *url = NULL;
    if (!cb->wanted || cb->answered || target.len <= path_len ||
        memcmp(target.ptr, path, path_len) != 0 || target.ptr[path_len] != '?')
        return page_none;
    int len = asprintf(&url, "%.*s%.*s", (int)cb->path_at, cb->url, (int)target.len, target.ptr);
    if (len < 0)
        return page_unexpected;
    cb->answered = cb->fn((mcp_str){url, (size_t)len}, cb->user);
    free(url);
    return cb->answered ? page_done : page_unexpected;
}

static void on_readable(void *arg)
{
    visitor *v = arg;
    ssize_t n = recv(v->fd, v->head + v->len, sizeof(v->head) - v->len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        v->len += (size_t)n;
    if (n > 0 && memmem(v->head, v->len, "\r\n\r\n", 4))
        answer(v, handle(v));
    else if (n <= 0 || v->len == sizeof(v->head))
        leave(v);
}

static visitor *place_for_visitor(callback *cb)
{
    visitor *oldest = &cb->visitors[0];
    for (size_t i = 0; i < VISITORS; i++) {
        if (cb->visitors[i].fd < 0)
            return &cb->visitors[i];
        if (cb->visitors[i].number < oldest->number)
            oldest = &cb->visitors[i];
    }
    leave(oldest);
    return oldest;
}

static void on_silence(void *arg)
{
    leave(arg);
}

static void on_visitor(void *arg)
{
    const listener *l = arg;
    callback *cb = l->cb;
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    visitor *v = place_for_visitor(cb);
    v->fd = fd;
    v->number = ++cb->visitors_so_far;
    v->len = 0;
    v->poll = cb->host->poll_start(fd, on_readable, v, cb->host->user);
    v->timer = cb->host->timer_start(VISITOR_MS, on_silence, v, cb->host->user);
    if (!v->poll || !v->timer)
        leave(v);
}

/* ---- the address ----------------------------------------------------------------------------- */

/* Makes the addresses of a redirect URI. Returns their number: 0 if it is not of this machine. */
static size_t addresses_of(const mcp_uri *uri, address to[LISTENERS])
{
    in_port_t port = htons(uri->port < 0 ? 80 : (uint16_t)uri->port);
    const address v4 = {
        .in = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    const address v6 = {
        .in6 = {.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT}};
    if (uri->is_ip_literal) {
        to[0] = v6;
        return mcp_str_eq(uri->host, MCP_STR("::1"));
    }
    to[0] = v4;
    to[1] = v6;
    if (mcp_str_eq(uri->host, MCP_STR("localhost")))
        return 2;
    return mcp_str_eq(uri->host, MCP_STR("127.0.0.1"));
}

static int fail(mcp_error *error, int rc, const char *text)
{
    error->code = rc;
    snprintf(error->text, sizeof(error->text), "%s", text);
    return rc;
}

static int refused(mcp_error *error)
{
    bool none = errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
    return fail(error,
                none                  ? MCP_ENOTFOUND
                : errno == EADDRINUSE ? MCP_EEXIST
                                      : MCP_EIO,
                strerror(errno));
}

/* Two sockets may have one port if both allow reuse, but only one can listen. Reuse is necessary
 * for a given port, to which connections of an earlier login may linger. */
static int reserve(listener *l, const address *at, bool reuse, mcp_error *error)
{
    int on = reuse;
    socklen_t len = at->any.sa_family == AF_INET6 ? sizeof(at->in6) : sizeof(at->in);
    l->fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return refused(error);
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(l->fd, &at->any, len) == 0 && listen(l->fd, VISITORS) == 0) {
        on = true; /* so that the next login can have the port */
        setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        return MCP_OK;
    }
    int rc = refused(error);
    close(l->fd);
    l->fd = -1;
    return rc;
}

static int reserve_any(callback *cb, mcp_error *error)
{
    address at = {.in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t at_len = sizeof(at.in);
    int rc = reserve(&cb->listeners[0], &at, false, error);
    if (rc == MCP_OK && getsockname(cb->listeners[0].fd, &at.any, &at_len) != 0)
        rc = fail(error, MCP_EIO, strerror(errno));
    unsigned port = ntohs(at.in.sin_port);
    int len = snprintf(cb->url, sizeof(cb->url), "http://127.0.0.1:%u/callback", port);
    cb->path_at = (size_t)len - strlen("/callback");
    return rc;
}

static int reserve_url(callback *cb, const char *url, mcp_error *error)
{
    mcp_uri uri;
    address at[LISTENERS];
    if (strlen(url) >= sizeof(cb->url) || mcp_uri_parse(mcp_str_from(url), &uri, NULL) != MCP_OK ||
        !uri.host.len || uri.has_fragment)
        return fail(error, MCP_EINVAL, "it is not an absolute URL without a fragment");
    snprintf(cb->url, sizeof(cb->url), "%s", url);
    cb->path_at = uri.path.len ? (size_t)(uri.path.ptr - url) : strlen(url);
    size_t n = mcp_uri_scheme_is(&uri, "http") ? addresses_of(&uri, at) : 0;
    if (n && (uri.has_query || !uri.path.len || uri.port == 0))
        return fail(error, MCP_EINVAL,
                    "an address of this machine needs a path, and must not have a query");
    int rc = MCP_OK;
    for (size_t i = 0; i < n && rc == MCP_OK; i++) {
        rc = reserve(&cb->listeners[i], &at[i], true, error);
        if (rc == MCP_ENOTFOUND && i > 0)
            rc = MCP_OK; /* without IPv6, localhost has one address */
    }
    return rc;
}

int callback_new(mcp_loop *loop, const char *url, callback **ret, mcp_error *error)
{
    callback *cb = calloc(1, sizeof(*cb));
    if (!cb)
        return fail(error, MCP_ENOMEM, "out of memory");
    cb->host = mcp_loop_host(loop);
    for (size_t i = 0; i < LISTENERS; i++)
        cb->listeners[i] = (listener){.cb = cb, .fd = -1};
    for (size_t i = 0; i < VISITORS; i++)
        cb->visitors[i].fd = -1, cb->visitors[i].cb = cb;
    int rc = url ? reserve_url(cb, url, error) : reserve_any(cb, error);
    if (rc == MCP_OK)
        *ret = cb;
    else
        callback_free(cb);
    return rc;
}

const char *callback_url(const callback *cb)
{
    return cb->url;
}

int callback_start(callback *cb, callback_fn *fn, void *user)
{
    cb->fn = fn;
    cb->user = user;
    cb->wanted = true;
    cb->answered = false;
    for (size_t i = 0; i < LISTENERS; i++) {
        listener *l = &cb->listeners[i];
        if (l->fd >= 0 && !l->poll)
            l->poll = cb->host->poll_start(l->fd, on_visitor, l, cb->host->user);
        if (l->fd >= 0 && !l->poll) {
            callback_stop(cb);
            return MCP_EIO;
        }
    }
    return MCP_OK;
}

void callback_stop(callback *cb)
{
    cb->wanted = false;
    for (size_t i = 0; i < LISTENERS; i++) {
        if (cb->listeners[i].poll)
            cb->host->poll_stop(cb->listeners[i].poll, cb->host->user);
        cb->listeners[i].poll = NULL;
    }
}

void callback_free(callback *cb)
{
    if (!cb)
        return;
    callback_stop(cb);
    for (size_t i = 0; i < VISITORS; i++)
        leave(&cb->visitors[i]);
    for (size_t i = 0; i < LISTENERS; i++)
        if (cb->listeners[i].fd >= 0)
            close(cb->listeners[i].fd);
    free(cb);
}
