/* client_browser.c: the browser of the conformance client, which sends one request. */
#define _GNU_SOURCE
#include "client.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_BYTES = 16384, TIMEOUT_SECONDS = 30 };

typedef struct place {
    char host[128], port[8], authority[160];
    const char *path;
} place;

static bool place_of(const char *url, place *ret)
{
    if (strncmp(url, "http://", 7) != 0)
        return false;
    url += 7;
    size_t len = strcspn(url, "/?#");
    if (len == 0 || len >= sizeof(ret->authority) || url[len] != '/')
        return false;
    memcpy(ret->authority, url, len);
    ret->authority[len] = 0;
    ret->path = url + len;
    const char *colon = strrchr(ret->authority, ':');
    size_t host = colon ? (size_t)(colon - ret->authority) : len;
    if (host >= sizeof(ret->host))
        return false;
    memcpy(ret->host, ret->authority, host);
    ret->host[host] = 0;
    int n = snprintf(ret->port, sizeof(ret->port), "%s", colon ? colon + 1 : "80");
    return n > 0 && (size_t)n < sizeof(ret->port);
}

static int connect_to(const place *p)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    const struct timeval patience = {.tv_sec = TIMEOUT_SECONDS};
    struct addrinfo *all = NULL;
    if (getaddrinfo(p->host, p->port, &hints, &all) != 0)
        return -1;
    int fd = -1;
    for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
                        connect(fd, a->ai_addr, a->ai_addrlen) < 0)) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(all);
    return fd;
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* Reads until the head of the answer is complete. */
static bool receive_head(int fd, char *answer, size_t size)
{
    size_t len = 0;
    answer[0] = 0;
    while (!strstr(answer, "\r\n\r\n") && len + 1 < size) {
        ssize_t n = recv(fd, answer + len, size - 1 - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        answer[len] = 0;
    }
    return true;
}

bool browser_follow(const char *url, char *to, size_t size)
{
    place p;
    char request[8192], answer[ANSWER_BYTES];
    int fd = place_of(url, &p) ? connect_to(&p) : -1;
    if (fd < 0)
        return false;
    int n =
        snprintf(request, sizeof(request),
                 "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", p.path, p.authority);
    bool ok = n > 0 && (size_t)n < sizeof(request) && send_all(fd, request, (size_t)n) &&
              receive_head(fd, answer, sizeof(answer));
    close(fd);
    for (char *line = ok ? strstr(answer, "\r\n") : NULL; line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, "location:", 9) != 0)
            continue;
        line += 9 + strspn(line + 9, " \t");
        size_t len = strcspn(line, "\r\n");
        if (len >= size)
            return false;
        memcpy(to, line, len);
        to[len] = 0;
        return true;
    }
    return false;
}
