/* http_floor: answers every HTTP request with the same bytes, without parsing its body.
 *
 *   http_floor PORT BYTES
 *
 * This is the lower bound for a server: a bare epoll loop that looks only for the end of the head
 * and for Content-Length, and answers 200 with BYTES of body. With it, http_driver measures the
 * cost of the sockets and of the driver itself.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_FDS = 4096, IN_SIZE = 16 * 1024, MAX_BODY = 64 * 1024 };

static struct client {
    size_t have;
    char in[IN_SIZE];
} * clients[MAX_FDS];

static char reply[MAX_BODY + 512];
static size_t reply_len;

static int listen_at(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1024) < 0) {
        perror("http_floor");
        exit(1);
    }
    return fd;
}

/* Returns the size of the first request, or 0 if it is incomplete. */
static size_t request_size(const char *in, size_t have)
{
    const char *end = memmem(in, have, "\r\n\r\n", 4);
    const char *length = end ? memmem(in, (size_t)(end - in), "Content-Length: ", 16) : NULL;
    size_t size = end ? (size_t)(end - in) + 4 + (length ? strtoul(length + 16, NULL, 10) : 0) : 0;
    return size <= have ? size : 0;
}

static void serve(int fd)
{
    struct client *c = clients[fd];
    ssize_t n = read(fd, c->in + c->have, IN_SIZE - c->have);
    if (n <= 0) {
        close(fd);
        return;
    }
    c->have += (size_t)n;
    for (size_t size; (size = request_size(c->in, c->have)) > 0;) {
        if (write(fd, reply, reply_len) < 0) {
            close(fd);
            return;
        }
        memmove(c->in, c->in + size, c->have - size);
        c->have -= size;
    }
}

static void accept_one(int epoll, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    struct epoll_event wanted = {.events = EPOLLIN, .data.fd = fd};
    if (fd < 0 || fd >= MAX_FDS) {
        return;
    }
    if (!clients[fd]) {
        clients[fd] = malloc(sizeof(*clients[fd]));
    }
    if (clients[fd]) {
        clients[fd]->have = 0;
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted);
    }
}

int main(int argc, char **argv)
{
    size_t body = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (body == 0 || body > MAX_BODY) {
        fputs("usage: http_floor PORT BYTES\n", stderr);
        return 2;
    }
    int listener = listen_at(atoi(argv[1])), epoll = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN, .data.fd = listener}, ready[256];
    int head = snprintf(reply, sizeof(reply),
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        body);
    memset(reply + head, 'x', body);
    memcpy(reply + head, "{\"result\":", body < 10 ? body : 10);
    reply_len = (size_t)head + body;
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &wanted);
    for (;;) {
        int n = epoll_wait(epoll, ready, 256, -1);
        for (int i = 0; i < n; i++) {
            if (ready[i].data.fd == listener) {
                accept_one(epoll, listener);
            } else {
                serve(ready[i].data.fd);
            }
        }
    }
}
