/* load: measures how healthy clients of a server are affected by hostile ones.
 *
 *   load PORT PID SECONDS CLIENTS URI PROVOKERS FILE
 *
 * Each of CLIENTS connections reads URI every INTERVAL ms. Each of PROVOKERS connections sends the
 * requests of FILE in turn. Each line of FILE is an HTTP request with the escapes "\r\n" and "\\".
 * PID is the server; its memory and that of its children is measured. Prints one line of name=value
 * pairs. The exit status is 1 if a healthy request failed.
 *
 * The time of a response is the kernel's time stamp of its arrival, so it does not include the time
 * that this program waits for a CPU, which is late_us. The provokers run in another process, so
 * that large responses do not delay the healthy clients.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { INTERVAL = 50, IN = 1 << 16, MAX_LINES = 256, STUCK_MS = 30000, LATENCIES = 1 << 22 };

typedef struct client {
    int fd;
    bool waiting;
    int64_t due, sent; /* ns */
    size_t have, line;
    char *in;
} client;

static unsigned short port;
static struct shared {
    long asked, answered, lost, slowest_ms;
} * provoked;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(2);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t); /* the clock of the kernel's time stamps */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now_ms(void)
{
    return now_ns() / 1000000;
}

static void open_client(client *c, int epoll)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = c};
    int on = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    c->have = 0;
    c->waiting = false;
    if (!c->in)
        c->in = malloc(IN + 1);
    if (c->fd < 0 || !c->in || connect(c->fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(c->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &wanted) < 0)
        die("epoll");
}

/* ---- healthy --------------------------------------------------------------------------------- */

static uint32_t *latency; /* us */
static size_t n_latency, bad;
static int64_t late;

/* Receives bytes and stores the time at which the last of them arrived. */
static ssize_t receive(client *c, int64_t *when)
{
    char control[64];
    struct iovec to = {c->in + c->have, IN - c->have};
    struct msghdr m = {
        .msg_iov = &to, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT);
    *when = now_ns();
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); n > 0 && h; h = CMSG_NXTHDR(&m, h)) {
        struct timespec t;
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&t, CMSG_DATA(h), sizeof(t));
            *when = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
        }
    }
    c->have += n > 0 ? (size_t)n : 0;
    c->in[c->have] = '\0';
    return n;
}

/* Returns whether a response with a Content-Length is complete. */
static bool whole(const client *c)
{
    const char *end = strstr(c->in, "\r\n\r\n"), *length = strcasestr(c->in, "content-length:");
    return end && length && length < end &&
           c->have >= (size_t)(end - c->in) + 4 + strtoul(length + 15, NULL, 10);
}

static void take(client *c)
{
    int64_t when;
    ssize_t n = receive(c, &when);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        die("a healthy connection was closed");
    if (!whole(c))
        return;
    bad += !strstr(c->in, "200") || !strstr(c->in, "\"result\"");
    if (n_latency < LATENCIES)
        latency[n_latency++] = (uint32_t)((when - c->sent) / 1000);
    c->have = 0;
    c->waiting = false;
}

static void send_due(client *c, const char *text, size_t len)
{
    int64_t t = now_ns();
    if (c->waiting || t < c->due)
        return;
    if (t - c->due > late)
        late = t - c->due;
    c->sent = t;
    c->due = t + (int64_t)INTERVAL * 1000000;
    c->waiting = true;
    if (send(c->fd, text, len, MSG_NOSIGNAL) != (ssize_t)len)
        die("send");
}

static size_t waiting(const client *c, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += c[i].waiting;
    return sum;
}

static void healthy_step(int epoll)
{
    struct epoll_event ready[64];
    int k = epoll_wait(epoll, ready, 64, 1);
    for (int i = 0; i < k; i++)
        take(ready[i].data.ptr);
}

/* ---- provoking ------------------------------------------------------------------------------- */

static char *lines[MAX_LINES];
static size_t n_lines;

static void unescape(char *line)
{
    char *to = line;
    for (char *p = line; *p && *p != '\n'; p++)
        if (*p == '\\' && p[1])
            p++, *to++ = (char)(*p == 'r' ? '\r' : *p == 'n' ? '\n' : *p);
        else
            *to++ = *p;
    *to = '\0';
}

static void read_lines(const char *path)
{
    FILE *f = fopen(path, "re");
    size_t cap = 0;
    while (f && n_lines < MAX_LINES && getline(&lines[n_lines], &cap, f) > 0) {
        unescape(lines[n_lines++]);
        cap = 0;
    }
    if (!f || !n_lines)
        die(path);
    fclose(f);
}

static void answered(client *c)
{
    long took = (long)((now_ns() - c->sent) / 1000000);
    provoked->answered++;
    if (took > provoked->slowest_ms)
        provoked->slowest_ms = took;
}

/* The first bytes of a response are enough. Each request uses a new connection, so that no response
 * must be read to its end. */
static void provoke_next(client *c, int epoll, size_t step)
{
    if (c->fd >= 0)
        close(c->fd);
    open_client(c, epoll);
    const char *text = lines[c->line % n_lines];
    c->line += step;
    c->sent = now_ns();
    provoked->asked++;
    if (send(c->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        provoked->lost++;
}

static void provoke(size_t n, int64_t end)
{
    struct epoll_event ready[64];
    client *c = calloc(n, sizeof(*c));
    int epoll = epoll_create1(0);
    for (size_t i = 0; i < n; i++) {
        c[i].fd = -1;
        c[i].line = i;
        provoke_next(&c[i], epoll, 1);
    }
    while (now_ms() < end) {
        int k = epoll_wait(epoll, ready, 64, 50);
        for (int i = 0; i < k; i++) {
            client *one = ready[i].data.ptr;
            if (recv(one->fd, one->in, IN, 0) > 0)
                answered(one);
            else
                provoked->lost++;
            provoke_next(one, epoll, 1);
        }
        usleep(2000);
    }
    for (size_t i = 0; i < n; i++) /* requests in flight may finish */
        while (c[i].fd >= 0) {
            ssize_t got = recv(c[i].fd, c[i].in, IN, MSG_DONTWAIT);
            if (got < 0 && errno == EAGAIN && now_ms() < end + STUCK_MS) {
                usleep(5000);
                continue;
            }
            if (got > 0)
                answered(&c[i]);
            else
                provoked->lost++;
            break;
        }
    _exit(0);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static long memory(const char *pid)
{
    char path[64];
    long size = 0, resident = 0;
    snprintf(path, sizeof(path), "/proc/%.20s/statm", pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%ld %ld", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Returns the memory of the largest child. */
static long child_memory(const char *pid)
{
    char path[128], child[24];
    long most = 0;
    snprintf(path, sizeof(path), "/proc/%.20s/task/%.20s/children", pid, pid);
    FILE *f = fopen(path, "re");
    while (f && fscanf(f, "%20s", child) == 1) {
        long kib = memory(child);
        most = kib > most ? kib : most;
    }
    if (f)
        fclose(f);
    return most;
}

/* ---- main ------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double ms_at(double share)
{
    size_t at = (size_t)(share * (double)n_latency);
    return n_latency ? latency[at < n_latency ? at : n_latency - 1] / 1000.0 : -1;
}

static size_t make_request(char *to, size_t room, const char *uri)
{
    char body[2048];
    int n =
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
                 "\"%s\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                 uri);
    return (size_t)snprintf(to, room,
                            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: "
                            "application/json\r\nAccept: application/json, text/event-stream\r\n"
                            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: resources/read\r\n"
                            "Mcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s",
                            port, uri, n, body);
}

int main(int argc, char **argv)
{
    char text[4096];
    if (argc != 8) {
        fputs("usage: load PORT PID SECONDS CLIENTS URI PROVOKERS FILE\n", stderr);
        return 2;
    }
    port = (unsigned short)atoi(argv[1]);
    int64_t begin = now_ms(), end = begin + atoi(argv[3]) * 1000;
    size_t n = (size_t)atoi(argv[4]), len = make_request(text, sizeof(text), argv[5]);
    long first = memory(argv[2]), most = first, child = 0;
    provoked =
        mmap(NULL, sizeof(*provoked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    latency = calloc(LATENCIES, sizeof(*latency));
    client *c = calloc(n, sizeof(*c));
    int epoll = epoll_create1(0);
    if (!c || !latency || provoked == MAP_FAILED)
        die("memory");
    read_lines(argv[7]);
    signal(SIGPIPE, SIG_IGN);
    pid_t other = atoi(argv[6]) ? fork() : 0;
    if (atoi(argv[6]) && other == 0) {
        if (nice(10) < 0 && errno) /* they stand for other machines: the server comes first */
            perror("load: nice");
        provoke((size_t)atoi(argv[6]), end);
    }
    for (size_t i = 0; i < n; i++) {
        open_client(&c[i], epoll);
        c[i].due = now_ns() + (int64_t)(i * INTERVAL / n) * 1000000;
    }
    for (int64_t looked = 0; now_ms() < end || (waiting(c, n) && now_ms() < end + STUCK_MS);) {
        for (size_t i = 0; i < n && now_ms() < end; i++)
            send_due(&c[i], text, len);
        healthy_step(epoll);
        if (now_ms() - looked > 20) {
            long kib = memory(argv[2]), theirs = child_memory(argv[2]);
            most = kib > most ? kib : most;
            child = theirs > child ? theirs : child;
            looked = now_ms();
        }
    }
    bad += waiting(c, n);
    if (other > 0)
        waitpid(other, NULL, 0);
    qsort(latency, n_latency, sizeof(*latency), by_size);
    printf("reads=%zu bad=%zu p50_ms=%.2f p99_ms=%.2f p999_ms=%.2f max_ms=%.2f late_ms=%.1f "
           "first_kib=%ld most_kib=%ld last_kib=%ld child_kib=%ld asked=%ld answered=%ld lost=%ld "
           "slowest_ms=%ld\n",
           n_latency, bad, ms_at(0.5), ms_at(0.99), ms_at(0.999), ms_at(1), (double)late / 1e6,
           first, most, memory(argv[2]), child, provoked->asked, provoked->answered, provoked->lost,
           provoked->slowest_ms);
    for (size_t i = 0; i < n; i++)
        free(c[i].in);
    free(c);
    return bad != 0;
}
