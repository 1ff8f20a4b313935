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
    VISITORS = 8,       /* connections at once; a further one replaces the oldest */
    HEAD_BYTES = 16384, /* of one request */
};

typedef struct visitor {
    callback *cb;
    int fd; /* -1: none */
    mcp_host_poll *poll;
    unsigned long number;
    size_t len;
    char head[HEAD_BYTES];
} visitor;

struct callback {
    const mcp_host *host;
    char url[512];
    size_t path_at; /* in `url` */
    int fd;         /* -1: nothing is reserved */
    struct sockaddr_storage at;
    socklen_t at_len;
    mcp_host_poll *poll;
    callback_fn *fn;
    void *user;
    bool answered;
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
    if (v->fd >= 0)
        close(v->fd);
    v->poll = NULL;
    v->fd = -1;
}

/* The page is small enough for the buffer of a new connection. */
static void answer(visitor *v, const char *page)
{
    char rest[1024];
    (void)!send(v->fd, page, strlen(page), MSG_NOSIGNAL);
    shutdown(v->fd, SHUT_WR);
    while (recv(v->fd, rest, sizeof(rest), MSG_DONTWAIT) > 0) {
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
    if (!cb->poll || cb->answered || target.len <= path_len ||
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

static void on_visitor(void *arg)
{
    callback *cb = arg;
    int fd = accept4(cb->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    visitor *v = place_for_visitor(cb);
    v->fd = fd;
    v->number = ++cb->visitors_so_far;
    v->len = 0;
    v->poll = cb->host->poll_start(fd, on_readable, v, cb->host->user);
    if (!v->poll)
        leave(v);
}

/* ---- the address ----------------------------------------------------------------------------- */

/* Makes the socket's address of a redirect URI. Returns false if it is not of this machine. */
static bool address_of(const mcp_uri *uri, struct sockaddr_storage *to, socklen_t *len)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)to;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)to;
    uint16_t port = uri->port < 0 ? 80 : (uint16_t)uri->port;
    memset(to, 0, sizeof(*to));
    if (uri->is_ip_literal) {
        *in6 = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        *len = sizeof(*in6);
        return mcp_str_eq(uri->host, MCP_STR("::1"));
    }
    *in = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *len = sizeof(*in);
    return mcp_str_eq(uri->host, MCP_STR("127.0.0.1")) ||
           mcp_str_eq(uri->host, MCP_STR("localhost"));
}

static int fail(mcp_error *error, int rc, const char *text)
{
    error->code = rc;
    snprintf(error->text, sizeof(error->text), "%s", text);
    return rc;
}

static int reserve(callback *cb, mcp_error *error)
{
    int on = 1;
    cb->fd = socket(cb->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (cb->fd < 0)
        return fail(error, MCP_EIO, strerror(errno));
    setsockopt(cb->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(cb->fd, (const struct sockaddr *)&cb->at, cb->at_len) != 0)
        return fail(error, errno == EADDRINUSE ? MCP_EEXIST : MCP_EIO, strerror(errno));
    return MCP_OK;
}

static int reserve_any(callback *cb, mcp_error *error)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&cb->at;
    cb->at_len = sizeof(*in);
    *in = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int rc = reserve(cb, error);
    if (rc == MCP_OK && getsockname(cb->fd, (struct sockaddr *)&cb->at, &cb->at_len) != 0)
        rc = fail(error, MCP_EIO, strerror(errno));
    unsigned port = ntohs(in->sin_port);
    int len = snprintf(cb->url, sizeof(cb->url), "http://127.0.0.1:%u/callback", port);
    cb->path_at = (size_t)len - strlen("/callback");
    return rc;
}

static int reserve_url(callback *cb, const char *url, mcp_error *error)
{
    mcp_uri uri;
    if (strlen(url) >= sizeof(cb->url) || mcp_uri_parse(mcp_str_from(url), &uri, NULL) != MCP_OK ||
        !uri.host.len || uri.has_fragment)
        return fail(error, MCP_EINVAL, "it is not an absolute URL without a fragment");
    snprintf(cb->url, sizeof(cb->url), "%s", url);
    cb->path_at = uri.path.len ? (size_t)(uri.path.ptr - url) : strlen(url);
    if (!mcp_uri_scheme_is(&uri, "http") || !address_of(&uri, &cb->at, &cb->at_len))
        return MCP_OK; /* it is elsewhere */
    if (uri.has_query)
        return fail(error, MCP_EINVAL, "an address of this machine must not have a query");
    return reserve(cb, error);
}

int callback_new(mcp_loop *loop, const char *url, callback **ret, mcp_error *error)
{
    callback *cb = calloc(1, sizeof(*cb));
    if (!cb)
        return fail(error, MCP_ENOMEM, "out of memory");
    cb->host = mcp_loop_host(loop);
    cb->fd = -1;
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

bool callback_start(callback *cb, callback_fn *fn, void *user)
{
    cb->fn = fn;
    cb->user = user;
    cb->answered = false;
    if (cb->fd < 0 || cb->poll)
        return cb->poll != NULL;
    if (listen(cb->fd, VISITORS) == 0)
        cb->poll = cb->host->poll_start(cb->fd, on_visitor, cb, cb->host->user);
    return cb->poll != NULL;
}

void callback_stop(callback *cb)
{
    if (!cb->poll)
        return;
    cb->host->poll_stop(cb->poll, cb->host->user);
    cb->poll = NULL;
    close(cb->fd); /* nobody can connect until the next listen() */
    mcp_error error;
    if (reserve(cb, &error) != MCP_OK && cb->fd >= 0)
        close(cb->fd), cb->fd = -1;
}

void callback_free(callback *cb)
{
    if (!cb)
        return;
    callback_stop(cb);
    for (size_t i = 0; i < VISITORS; i++)
        leave(&cb->visitors[i]);
    if (cb->fd >= 0)
        close(cb->fd);
    free(cb);
}
