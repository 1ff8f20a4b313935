/* listener.c: connects an endpoint (mcp/sys/http.h) with a listening socket: accepts connections,
 * runs the endpoint's timers, drains and closes.
 *
 * When no descriptor is left, a reserved one is closed in order to accept a connection and close it
 * immediately. The peer thus sees the connection end. A connection that is not accepted would stay
 * in the queue and wake up the loop again and again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mcp/sys/io.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/http_server/net.h"

enum {
    ACCEPTS = 64,        /* connections accepted in one turn */
    SHARED_ACCEPTS = 1,  /* the same, if other processes accept from the same socket */
    MOST_REST = 4096,    /* connections accepted at the end */
    PAUSE_MS = 100,      /* pause when the system lacks memory for another connection */
    SHED = 8,            /* idle connections to close when descriptors run short */
    SHED_AGAIN_MS = 100, /* pause after a search that found no idle connection */
    KEEP_FILES = 512,    /* default of keep_files, at most a quarter of the limit */
    LOG_MS = 10000,      /* shortest time between two log lines */
};

static const char default_address[] = "127.0.0.1:8642";

/* ---- accepting ------------------------------------------------------------------------------- */

static void pause_accepting(mcp_listener *l)
{
    l->resume_at = mcp__loop_now(l->net->loop) + PAUSE_MS;
    mcp__net_watch(l->net, &l->socket, 0);
}

static void log_turned_away(mcp_listener *l)
{
    mcp__net *net = l->net;
    const mcp_host *host = mcp_server_host(l->server);
    int64_t now = mcp__loop_now(net->loop);
    char line[200];

    net->turned_away++;
    if (!host || !host->log || (net->away_logged && now - net->away_logged < LOG_MS))
        return;
    snprintf(
        line, sizeof(line),
        "no file descriptor is left: %zu connections were turned away; raise the limit of open "
        "files (ulimit -n, LimitNOFILE=)",
        net->turned_away);
    net->turned_away = 0;
    net->away_logged = now ? now : 1;
    host->log("warning", line, host->user);
}

/* Accepts a connection and closes it, because no descriptor is left. */
static bool turn_away(mcp_listener *l)
{
    mcp__net *net = l->net;

    log_turned_away(l);
    if (net->reserve >= 0)
        close(net->reserve);
    int fd = accept4(l->socket.fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close(fd);
    net->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0 && net->reserve >= 0;
}

/* Returns whether descriptors run short. A new descriptor gets the lowest free number, so at least
 * fd others are open. */
static bool is_short_of_files(const mcp_listener *l, int fd)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    rlim_t keep = l->keep_files ? l->keep_files : MCP__MIN(limit.rlim_cur / 4, (rlim_t)KEEP_FILES);
    return (rlim_t)fd + keep >= limit.rlim_cur;
}

/* Closes idle connections of all listeners, preferably those that have not authenticated. Their
 * descriptors become free at the end of this turn. */
static void shed(mcp__net *net)
{
    int64_t now = mcp__loop_now(net->loop);
    size_t n = 0;

    if (now < net->shed_at)
        return;
    for (int strangers = 1; strangers >= 0 && !n; strangers--) {
        for (mcp__link *at = net->listeners.next; at != &net->listeners && n < SHED;
             at = at->next) {
            mcp_http *http = mcp__container(at, mcp_listener, link)->http;
            n += http ? mcp_http_shed(http, SHED - n, strangers != 0, now) : 0;
        }
    }
    net->shedding = n > 0;
    net->shed_at = n ? now : now + SHED_AGAIN_MS;
}

/* Handles a failed accept4(). Returns whether to try again immediately. */
static bool accept_failed(mcp_listener *l, int sys)
{
    switch (sys) {
    case EAGAIN: return false;
    case EINTR:
    case ECONNABORTED:
    case EPROTO: return true;
    case EMFILE:
    case ENFILE:
        shed(l->net);
        if (l->net->shedding)
            return false;
        if (turn_away(l))
            return true;
        break;
    default: break;
    }
    pause_accepting(l);
    return false;
}

static bool accept_one(mcp_listener *l)
{
    char peer[MCP__ADDRESS_TEXT], address[MCP__ADDRESS_TEXT];

    if (l->net->shedding)
        return false; /* new connections wait until the idle ones are closed */
    int fd = accept4(l->socket.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return accept_failed(l, errno);
    bool is_short = is_short_of_files(l, fd);
    if (is_short)
        shed(l->net);
    mcp__address_peer(fd, peer, address);
    mcp__connection_open(l, fd, peer, address, is_short && !l->net->shedding);
    return true;
}

static void on_ready(mcp__socket *socket, uint32_t events)
{
    mcp_listener *l = mcp__container(socket, mcp_listener, socket);

    (void)events;
    /* A connection whose request was received is not idle, and must not be closed for a new one. */
    mcp__connections_take_received(l->net);
    for (int i = 0; i < (l->shared ? SHARED_ACCEPTS : ACCEPTS) && accept_one(l); i++)
        ;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void on_wake(mcp_http *http, void *user)
{
    mcp_listener *l = user;

    (void)http;
    l->woken = true;
}

int64_t mcp__listener_turn(mcp_listener *l, int64_t now)
{
    if (l->woken || now >= mcp_http_deadline(l->http)) {
        l->woken = false;
        mcp_http_tick(l->http, now);
    }
    if (now >= l->resume_at) {
        l->resume_at = INT64_MAX;
        if (l->socket.fd >= 0)
            mcp__net_watch(l->net, &l->socket, EPOLLIN);
    }
    int64_t due = l->woken ? now : mcp_http_deadline(l->http);
    return MCP__MIN(due, l->resume_at);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void warn(const char *line, void *user)
{
    mcp_listener *l = user;
    const mcp_host *host = mcp_server_host(l->server);

    if (host && host->log)
        host->log("warning", line, host->user);
}

static void warn_if_open(mcp_listener *l, const mcp__address *a, const mcp_http_options *http)
{
    const mcp_host *host = mcp_server_host(l->server);
    char text[200];

    bool asks = http->authenticate || http->resource_server;

    if (a->loopback || asks || !host || !host->log)
        return;
    snprintf(text, sizeof(text),
             "listening at %s without authentication: everyone who can connect may use it",
             l->address);
    host->log("warning", text, host->user);
}

/* Creates the endpoint. The address on which it listens is allowed as Host, which is safe because
 * DNS rebinding needs a name. */
static int make_endpoint(mcp_listener *l, const mcp__address *a, const mcp_http_options *given,
                         mcp_error *error)
{
    const mcp_allocator *allocator = &l->net->loop->allocator;
    mcp_http_options o;
    int rc = MCP__TAKE_OPTIONAL(&o, given, mcp_http_options, error);
    if (rc != MCP_OK)
        return rc;
    if (!o.random)
        o.random = mcp__system_random;
    if (!o.allocator)
        o.allocator = allocator;
    if (!o.clock_us && !o.clock)
        o.clock_us = mcp__system_us;
    const char **hosts = mcp__alloc(allocator, (o.n_allow_hosts + 1) * sizeof(*hosts));
    if (!hosts)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a listener");
    for (size_t i = 0; i < o.n_allow_hosts; i++)
        hosts[i] = o.allow_hosts[i];
    hosts[o.n_allow_hosts] = a->host;
    o.allow_hosts = hosts;
    o.n_allow_hosts += !a->path && !a->any && !a->loopback;
    rc = mcp_http_new(l->server, &o, &l->http, error);
    mcp__release(allocator, hosts);
    if (rc < 0)
        return rc;
    mcp_http_on_wake(l->http, on_wake, l);
    mcp_http_set_log(l->http, warn, l);
    if (o.instance_address)
        mcp__relays_set(l);
    mcp_http_set_clock_source(l->http, mcp__net_date, mcp__net_clock, mcp__system_wall, l->net);
    return MCP_OK;
}

/* Uses the endpoint of another listener. */
static int share_endpoint(mcp_listener *l, const mcp_listen_options *o, mcp_error *error)
{
    if (o->endpoint->server != l->server || o->endpoint->net != l->net)
        return mcp__fail(error, MCP_EINVAL, 0,
                         "\"endpoint\" must be a listener of the same loop and server");
    l->shares = true;
    l->http = o->endpoint->http;
    return MCP_OK;
}

static void set_address(mcp_listener *l, const mcp__address *a)
{
    struct stat st;

    if (!a->path) {
        snprintf(l->address, MCP__ADDRESS_TEXT, "%s:%u", a->host, a->port);
        return;
    }
    snprintf(l->address, MCP__ADDRESS_TEXT, "unix:%s", a->path);
    if (lstat(a->path, &st) == 0) {
        l->path = l->address + strlen("unix:");
        l->dev = (uint64_t)st.st_dev;
        l->ino = (uint64_t)st.st_ino;
    }
}

static int make_tls(mcp_listener *l, const mcp_listen_options *o, mcp_error *error)
{
    const mcp_allocator *allocator = &l->net->loop->allocator;

    if (!o->tls_cert && !o->tls_key)
        return MCP_OK;
    if (!o->tls_cert || !o->tls_key)
        return mcp__fail(error, MCP_EINVAL, 0, "TLS needs both a certificate and its key");
    if (!l->net->plain && !(l->net->plain = mcp__alloc(allocator, MCP__NET_BUFFER)))
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for TLS");
    l->tls_cert = mcp__strdup(allocator, mcp_str_from(o->tls_cert));
    l->tls_key = mcp__strdup(allocator, mcp_str_from(o->tls_key));
    if (!l->tls_cert || !l->tls_key)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for TLS");
    return mcp__tls_new(allocator, o->tls_cert, o->tls_key, &l->tls, error);
}

int mcp_listener_reload_tls(mcp_listener *l, mcp_error *error)
{
    mcp__no_error(error);
    if (!l)
        return mcp__fail(error, MCP_EINVAL, 0, "a listener is needed");
    return l->tls ? mcp__tls_load(l->tls, l->tls_cert, l->tls_key, error) : MCP_OK;
}

int64_t mcp_listener_tls_expiry(const mcp_listener *l)
{
    return l && l->tls ? mcp__tls_expiry(l->tls) : 0;
}

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_listen_options, socket_mode, 0600),
};

static int open_socket(mcp_listener *l, mcp__address *a, const mcp_listen_options *o,
                       mcp_error *error)
{
    if (!o->socket)
        return mcp__address_listen(a, o->socket_mode, &l->socket.fd, error);
    int rc = mcp__address_adopt(a, o->socket, error);
    l->shared = true;
    if (rc == MCP_OK)
        l->socket.fd = o->socket;
    return rc;
}

/* Opens the listener. The socket is opened last, so that a failure leaves no file behind, and no
 * peer can connect too early. */
static int open_listener(mcp_listener *l, const mcp_listen_options *o, mcp_error *error)
{
    mcp__address a;
    int rc = mcp__address_parse(&a, o->address ? o->address : default_address, error);

    l->address = mcp__alloc(&l->net->loop->allocator, MCP__ADDRESS_TEXT);
    if (!l->address)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a listener");
    if (rc == MCP_OK)
        rc = make_tls(l, o, error);
    if (rc == MCP_OK)
        rc = o->endpoint ? share_endpoint(l, o, error) : make_endpoint(l, &a, o->http, error);
    if (rc == MCP_OK && o->instance_ca &&
        !(l->instance_ca = mcp__strdup(&l->net->loop->allocator, mcp_str_from(o->instance_ca))))
        rc = mcp__fail(error, MCP_ENOMEM, 0, "no memory for a listener");
    if (rc == MCP_OK)
        rc = open_socket(l, &a, o, error);
    if (rc == MCP_OK)
        set_address(l, &a);
    if (o->keep_file)
        l->path = NULL;
    if (rc == MCP_OK && mcp__net_watch(l->net, &l->socket, EPOLLIN) < 0)
        rc = mcp__fail(error, MCP_EIO, 0, "the socket cannot be watched: %s", strerror(errno));
    if (rc == MCP_OK && !l->shares)
        warn_if_open(l, &a, o->http ? o->http : &(mcp_http_options){0});
    return rc;
}

static void lend_host(mcp_listener *l)
{
    if (mcp_server_host(l->server))
        return;
    mcp_server_set_host(l->server, mcp_loop_host(l->net->loop));
    l->lent = true;
}

int mcp_loop_listen(mcp_loop *loop, mcp_server *server, const mcp_listen_options *options,
                    mcp_listener **ret, mcp_error *error)
{
    mcp__no_error(error);
    mcp_listen_options o;
    mcp__net *net = NULL;

    if (!loop || !server || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "a loop, a server and ret are needed");
    int rc = MCP__TAKE_OPTIONAL(&o, options, mcp_listen_options, error);
    if (rc == MCP_OK)
        rc = mcp__net_get(loop, &net, error);
    if (rc < 0)
        return rc;
    mcp_listener *l = mcp__zalloc(&loop->allocator, sizeof(*l));
    if (!l)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a listener");
    l->socket = (mcp__socket){.ready = on_ready, .fd = -1};
    l->net = net;
    l->server = server;
    l->resume_at = INT64_MAX;
    l->keep_files = o.keep_files;
    mcp__list_init(&l->connections);
    mcp__net_add(net, &l->link);
    uv_update_time(&loop->uv);
    lend_host(l);
    MCP_SET_DEFAULTS(&o, defaults);
    rc = open_listener(l, &o, error);
    if (rc < 0 && o.socket)
        l->socket.fd = -1; /* still belongs to the caller */
    if (rc < 0)
        mcp_listener_close(l);
    else
        *ret = l;
    return rc;
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Closes the socket. Removes the file of a Unix socket, unless another process has replaced it. */
static void stop_accepting(mcp_listener *l)
{
    struct stat st;

    mcp__net_close(l->net, &l->socket);
    if (l->path && lstat(l->path, &st) == 0 && (uint64_t)st.st_dev == l->dev &&
        (uint64_t)st.st_ino == l->ino)
        unlink(l->path);
    l->ino = 0;
    l->resume_at = INT64_MAX;
}

/* Accepts the connections that are complete already: their peers may have sent a request, and would lose it. */
static void accept_rest(mcp_listener *l)
{
    for (int i = 0; i < MOST_REST && accept_one(l); i++)
        ;
}

void mcp_listener_drain(mcp_listener *l)
{
    if (!l || l->socket.fd < 0)
        return;
    if (l->lingers && !l->handed_over)
        accept_rest(l);
    stop_accepting(l);
    l->net->lingers = l->net->lingers || l->lingers;
    mcp_http_drain(l->http, mcp_loop_now(l->net->loop));
}

size_t mcp_listener_cut(mcp_listener *l)
{
    return l ? mcp_http_cut(l->http, mcp_loop_now(l->net->loop)) : 0;
}

int mcp_listener_socket(const mcp_listener *l)
{
    return l->socket.fd;
}

void mcp_listener_hand_over(mcp_listener *l, uint64_t linger_ms)
{
    l->path = NULL;
    l->handed_over = true;
    l->lingers = linger_ms > 0;
    mcp_http_set_linger(l->http, linger_ms);
}

void mcp__listener_linger(mcp_listener *l, uint64_t ms)
{
    l->lingers = ms > 0;
    mcp_http_set_idle_linger(l->http, ms);
}

void mcp_listener_revoke(mcp_listener *l, const char *principal)
{
    mcp_http_revoke(l->http, principal, mcp_loop_now(l->net->loop));
}

size_t mcp_listener_end_token(mcp_listener *l, const char *token)
{
    return mcp_http_end_token(l->http, token, mcp_loop_now(l->net->loop));
}

size_t mcp_listener_connections(const mcp_listener *l)
{
    return l->n_connections;
}

const char *mcp_listener_address(const mcp_listener *l)
{
    return l->address;
}

mcp_http *mcp_listener_http(mcp_listener *l)
{
    return l->http;
}

/* Removes the loop's host from the server when the server's last listener on this loop is closed.
 * If another listener of the server is left, that listener takes over this duty. */
static void take_host_back(mcp_listener *l)
{
    const mcp__link *all = &l->net->listeners;

    if (!l->lent)
        return;
    for (mcp__link *at = all->next; at != all; at = at->next) {
        mcp_listener *other = mcp__container(at, mcp_listener, link);
        if (other->server == l->server) {
            other->lent = true;
            return;
        }
    }
    mcp_server_set_host(l->server, NULL);
}

void mcp_listener_close(mcp_listener *l)
{
    if (!l)
        return;
    mcp__net *net = l->net;
    const mcp_allocator *allocator = &net->loop->allocator;
    stop_accepting(l);
    while (!mcp__list_empty(&l->connections))
        mcp__connection_drop(mcp__container(l->connections.next, mcp__connection, link));
    if (!l->shares)
        mcp_http_free(l->http);
    mcp__tls_free(l->tls);
    mcp__net_remove(net, &l->link);
    take_host_back(l);
    mcp__release(allocator, l->tls_cert);
    mcp__release(allocator, l->tls_key);
    mcp__release(allocator, l->instance_ca);
    mcp__release(allocator, l->address);
    mcp__release(allocator, l);
}
