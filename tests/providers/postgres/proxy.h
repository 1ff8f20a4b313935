/* proxy.h: a proxy between the provider and its server that can be frozen. A frozen proxy accepts
 * data but forwards nothing in either direction, like a network that drops packets, until it is
 * released. */
#ifndef MCP_TESTS_POSTGRES_PROXY_H
#define MCP_TESTS_POSTGRES_PROXY_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROXY_PAIRS = 200, PROXY_CHUNK = 16384 };

/* One connection. Index 0 is the provider's side, index 1 the server's; `held` has the bytes that
 * were received from that side and not yet forwarded. */
typedef struct proxy_pair {
    int fd[2];
    char *held[2];
    size_t n_held[2];
    bool frozen;
    bool answered; /* cut when the server answers */
} proxy_pair;

typedef struct proxy {
    pthread_t thread;
    pthread_mutex_t lock; /* protects the members below */
    int listener, wake[2];
    unsigned short port, to;
    proxy_pair pair[PROXY_PAIRS];
    size_t n;
    size_t accepted;
    bool frozen, done;
    bool cut;              /* close all existing connections */
    bool slam;             /* close each new connection at once */
    const char *freeze_on; /* freeze when the provider sends this string; NULL means never */
    bool only_one;         /* freeze_on freezes every connection on which the string is sent */
    bool each;             /* the same, for every connection on which the string is sent */
    const char *cut_on;    /* cut the connection on which the provider sends this string, once; NULL
                            * means never */
    bool
        forward; /* cut_on: the string is forwarded, and the connection is cut when the server has answered */
    size_t cuts;
    size_t freeze_after; /* freeze after this many more bytes from the server; 0 means never */
} proxy;

static inline struct sockaddr_in proxy_address(unsigned short number)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(number),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static inline void proxy_drop(proxy *x, size_t i)
{
    for (int side = 0; side < 2; side++) {
        close(x->pair[i].fd[side]);
        free(x->pair[i].held[side]);
    }
    x->pair[i] = x->pair[--x->n];
}

static inline void proxy_accept(proxy *x)
{
    struct sockaddr_in to = proxy_address(x->to);
    int fd = accept(x->listener, NULL, NULL);
    int far = socket(AF_INET, SOCK_STREAM, 0);
    x->accepted++;
    if (x->slam || x->n == PROXY_PAIRS || connect(far, (struct sockaddr *)&to, sizeof(to)) != 0) {
        close(fd);
        close(far);
        return;
    }
    x->pair[x->n++] = (proxy_pair){
        .fd = {fd, far}, .held = {malloc(PROXY_CHUNK), malloc(PROXY_CHUNK)}, .frozen = x->frozen};
}

static inline void proxy_freeze_all(proxy *x, bool frozen)
{
    x->frozen = frozen;
    for (size_t i = 0; i < x->n; i++)
        x->pair[i].frozen = frozen;
}

/* Returns how many of the held bytes may be forwarded. */
static inline size_t proxy_allowed(proxy *x, proxy_pair *p, int side)
{
    size_t n = p->n_held[side];
    if (p->frozen)
        return 0;
    if (side == 0 && x->freeze_on && memmem(p->held[0], n, x->freeze_on, strlen(x->freeze_on))) {
        if (!x->each)
            x->freeze_on = NULL;
        if (x->only_one || x->each)
            p->frozen = true;
        else
            proxy_freeze_all(x, true);
        return 0;
    }
    if (side == 1 && x->freeze_after) {
        n = n < x->freeze_after ? n : x->freeze_after;
        x->freeze_after -= n;
        if (!x->freeze_after)
            proxy_freeze_all(x, true);
    }
    return n;
}

/* Returns whether the connection is cut now (cut_on). The bytes before the string are forwarded. */
static inline bool proxy_cuts(proxy *x, proxy_pair *p, int side)
{
    if (side == 1)
        return p->answered;
    char *at = x->cut_on ? memmem(p->held[0], p->n_held[0], x->cut_on, strlen(x->cut_on)) : NULL;
    if (!at)
        return false;
    x->cut_on = NULL;
    x->cuts++;
    p->answered = x->forward;
    return !x->forward;
}

/* Returns false if the connection has ended. */
static inline bool proxy_forward(proxy *x, proxy_pair *p, int side)
{
    if (proxy_cuts(x, p, side))
        return false;
    size_t n = proxy_allowed(x, p, side);
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(p->fd[!side], p->held[side] + at, n - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += (size_t)sent;
    }
    p->n_held[side] -= n;
    memmove(p->held[side], p->held[side] + n, p->n_held[side]);
    return true;
}

static inline bool proxy_take(proxy *x, proxy_pair *p, int side)
{
    ssize_t n = recv(p->fd[side], p->held[side], PROXY_CHUNK, 0);
    if (n <= 0)
        return false;
    p->n_held[side] = (size_t)n;
    return proxy_forward(x, p, side);
}

static inline bool proxy_work(proxy *x, proxy_pair *p, const struct pollfd fds[2])
{
    for (int side = 0; side < 2; side++)
        if (!p->frozen && ((p->n_held[side] && !proxy_forward(x, p, side)) ||
                           (!p->n_held[side] && fds[side].revents && !proxy_take(x, p, side))))
            return false;
    return true;
}

static void *proxy_run(void *arg)
{
    static struct pollfd fds[2 + 2 * PROXY_PAIRS];
    proxy *x = arg;
    pthread_mutex_lock(&x->lock);
    while (!x->done) {
        char told[16];
        size_t n = x->n;
        fds[0] = (struct pollfd){x->listener, POLLIN, 0};
        fds[1] = (struct pollfd){x->wake[0], POLLIN, 0};
        for (size_t i = 0; i < n; i++)
            for (size_t side = 0; side < 2; side++)
                fds[2 + 2 * i + side] =
                    (struct pollfd){x->pair[i].frozen ? -1 : x->pair[i].fd[side], POLLIN, 0};
        pthread_mutex_unlock(&x->lock);
        poll(fds, 2 + 2 * n, -1);
        pthread_mutex_lock(&x->lock);
        if (fds[1].revents && read(x->wake[0], told, sizeof(told)) < 0)
            break;
        for (size_t i = n; i-- > 0;)
            if (x->cut || !proxy_work(x, &x->pair[i], &fds[2 + 2 * i]))
                proxy_drop(x, i);
        x->cut = false;
        if (fds[0].revents)
            proxy_accept(x);
    }
    while (x->n)
        proxy_drop(x, x->n - 1);
    pthread_mutex_unlock(&x->lock);
    return NULL;
}

static inline void proxy_start(proxy *x, unsigned short to)
{
    struct sockaddr_in here = proxy_address(0);
    socklen_t size = sizeof(here);
    *x = (proxy){.listener = socket(AF_INET, SOCK_STREAM, 0), .to = to};
    pthread_mutex_init(&x->lock, NULL);
    if (pipe(x->wake) != 0 || bind(x->listener, (struct sockaddr *)&here, size) != 0 ||
        listen(x->listener, 100) != 0 ||
        getsockname(x->listener, (struct sockaddr *)&here, &size) != 0 ||
        pthread_create(&x->thread, NULL, proxy_run, x) != 0)
        abort();
    x->port = ntohs(here.sin_port);
}

/* Between these two calls, the members of the proxy may be changed. */
static inline void proxy_hold(proxy *x)
{
    pthread_mutex_lock(&x->lock);
}

static inline void proxy_go_on(proxy *x)
{
    ssize_t sent = write(x->wake[1], "", 1);
    (void)sent;
    pthread_mutex_unlock(&x->lock);
}

static inline void proxy_freeze(proxy *x, bool frozen)
{
    proxy_hold(x);
    x->freeze_on = NULL;
    x->freeze_after = 0;
    x->slam = x->only_one = x->each = false;
    proxy_freeze_all(x, frozen);
    proxy_go_on(x);
}

static inline size_t proxy_cuts_made(proxy *x)
{
    proxy_hold(x);
    size_t n = x->cuts;
    proxy_go_on(x);
    return n;
}

static inline size_t proxy_accepted(proxy *x)
{
    proxy_hold(x);
    size_t n = x->accepted;
    proxy_go_on(x);
    return n;
}

static inline bool proxy_is_frozen(proxy *x)
{
    proxy_hold(x);
    bool frozen = x->frozen;
    proxy_go_on(x);
    return frozen;
}

static inline void proxy_stop(proxy *x)
{
    proxy_hold(x);
    x->done = true;
    proxy_go_on(x);
    pthread_join(x->thread, NULL);
    close(x->listener);
    close(x->wake[0]);
    close(x->wake[1]);
    pthread_mutex_destroy(&x->lock);
}

#endif
