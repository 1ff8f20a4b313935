/* bus_listeners.c: how long it takes until N listeners at several instances have received one
 * notification of a change.
 *
 *     bus_listeners N URI COMMAND PORT...
 *
 * Opens N streams with a subscription to URI (2026-07-28), divided among the instances at 127.0.0.1:PORT.
 * Runs COMMAND, which makes the change at one instance, five times. Prints for each the milliseconds from
 * the end of COMMAND to the last listener's notification, and to the first one's at each instance.
 * scripts/bus-fanout starts what it needs.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64000, ROUNDS = 5, PATIENCE_MS = 30000 };

/* A listener remembers the end of what it has read, in which a word may have begun. */
typedef struct listener {
    int fd;
    size_t instance, told;
    char tail[64];
} listener;

static listener all[MOST];
static int poller;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void begin(listener *l, const char *request, int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = l}};
    l->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        fail("connect");
    if (write(l->fd, request, strlen(request)) != (ssize_t)strlen(request))
        fail("write");
    if (epoll_ctl(poller, EPOLL_CTL_ADD, l->fd, &event) < 0)
        fail("epoll_ctl");
}

/* Reads what there is, and returns how often the word is in it. */
static size_t count(listener *l, const char *word)
{
    char text[sizeof(l->tail) + 16384];
    size_t kept = strlen(l->tail), n = 0, keep = strlen(word) - 1;
    memcpy(text, l->tail, kept);
    ssize_t got = read(l->fd, text + kept, sizeof(text) - kept - 1);
    if (got <= 0)
        fail("a stream has ended");
    size_t len = kept + (size_t)got;
    text[len] = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        n++;
    keep = keep < len ? keep : len;
    memcpy(l->tail, text + len - keep, keep);
    l->tail[keep] = 0;
    return n;
}

/* Waits until each listener has read the word once more. Returns how many have. */
static size_t await(size_t n, const char *word, size_t round, size_t instances, double *first)
{
    struct epoll_event events[512];
    size_t done = 0;
    for (size_t i = 0; i < instances; i++)
        first[i] = 0;
    for (double end = now_ms() + PATIENCE_MS; done < n && now_ms() < end;) {
        int ready = epoll_wait(poller, events, 512, 100);
        for (int i = 0; i < ready; i++) {
            listener *l = events[i].data.ptr;
            if (!count(l, word) || l->told >= round)
                continue;
            l->told = round;
            done++;
            if (first[l->instance] == 0)
                first[l->instance] = now_ms();
        }
    }
    return done;
}

static void measure(size_t n, const char *command, size_t round, size_t instances)
{
    double first[16];
    if (system(command) != 0)
        fail(command);
    double began = now_ms();
    size_t done = await(n, "resources/updated", round, instances, first);
    printf("%zu of %zu listeners after %.0f ms; the first ones after", done, n, now_ms() - began);
    for (size_t i = 0; i < instances; i++)
        printf(" %.0f", first[i] - began);
    puts(" ms");
    usleep(500000);
}

int main(int argc, char **argv)
{
    char request[2000], body[1000];
    double first[16];
    struct rlimit files;
    size_t n = argc > 4 ? strtoul(argv[1], NULL, 10) : 0, instances = (size_t)argc - 4;
    if (!n || n > MOST || instances > 16)
        return fprintf(stderr, "bus_listeners N URI COMMAND PORT...\n"), 2;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    poller = epoll_create1(0);
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
             "\"notifications\":{\"resourceSubscriptions\":[\"%s\"]},\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             argv[2]);
    snprintf(request, sizeof(request),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: subscriptions/listen\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    for (size_t i = 0; i < n; i++) {
        all[i].instance = i % instances;
        begin(&all[i], request, atoi(argv[4 + i % instances]));
    }
    size_t listening = await(n, "acknowledged", 1, instances, first);
    if (listening < n)
        return fprintf(stderr, "only %zu of %zu listen\n", listening, n), 1;
    for (size_t round = 0; round < ROUNDS; round++)
        measure(n, argv[3], 2 + round, instances);
    return 0;
}
