/* http_peer.h: an MCP server over HTTP, for http_driver.c: starts it, makes requests, splits replies, and
 * reads its memory and CPU time from /proc.
 *
 * It needs libc alone, so that it can measure any server. Any failure ends the program, because
 * nothing can be measured then.
 */
#ifndef BENCH_HTTP_PEER_H
#define BENCH_HTTP_PEER_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_REQUEST = 4096,
    IN_SIZE = 256 * 1024,
    STREAM_IN = 2048, /* an acknowledgement and an update */
    START_MS = 10000,
    QUIET_MS = 30000,
};

static struct options {
    bool listen, legacy;
    const char *method, *uri, *path, *header, *tokens, *call, *arguments, *touch;
    long requests, warmup, connections, streams, addresses, port, min_reply;
    char **command;
} opt = {
    .method = "resources/read",
    .uri = "mem://one",
    .path = "/mcp",
    .arguments = "{}",
    .requests = 200000,
    .warmup = 20000,
    .connections = 64,
    .streams = 10000,
    .addresses = 1,
};

static pid_t server;

static void stop_server(void)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
}

static _Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("http_driver: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    stop_server();
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static double ms_since(uint64_t start)
{
    return (double)(now_ns() - start) / 1e6;
}

/* ---- the server ---------------------------------------------------------------------------------- */

static struct sockaddr_in here(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)opt.port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

static void find_port(void)
{
    struct sockaddr_in at = here();
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0) {
        die("no port: %s", strerror(errno));
    }
    opt.port = ntohs(at.sin_port);
    close(fd);
}

static void use_cpu(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
        sched_setaffinity(0, sizeof(set), &set);
    }
}

/* Replaces {} by the port. */
static char *argument(const char *text)
{
    const char *at = strstr(text, "{}");
    char *made = NULL;
    if (!at) {
        return strdup(text);
    }
    return asprintf(&made, "%.*s%ld%s", (int)(at - text), text, opt.port, at + 2) < 0 ? NULL : made;
}

static void run_server(void)
{
    char *argv[64];
    int n = 0, null = open("/dev/null", O_RDWR);
    for (; opt.command[n] && n < 63; n++) {
        argv[n] = argument(opt.command[n]);
    }
    argv[n] = NULL;
    dup2(null, 0);
    dup2(null, 1);
    if (!getenv("HTTP_DRIVER_STDERR")) {
        dup2(null, 2);
    }
    use_cpu(0);
    execvp(argv[0], argv);
    _exit(127);
}

/* Opens a connection from 127.0.0.1 plus `from`, an address with ports of its own. */
static int open_connection_from(unsigned from)
{
    struct sockaddr_in at = here(), own = {.sin_family = AF_INET};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + from);
    if (fd >= 0 && from) {
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    }
    if (fd >= 0 && (!from || bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0) &&
        connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        return fd;
    }
    int sys = errno;
    close(fd);
    errno = sys;
    return -1;
}

static int open_connection(void)
{
    return open_connection_from(0);
}

static void start_server(void)
{
    uint64_t start = now_ns();
    if (!opt.port) {
        find_port();
        server = fork();
        if (server == 0) {
            run_server();
        }
    }
    use_cpu(1);
    for (int fd; (fd = open_connection()) < 0; usleep(2000)) {
        if (ms_since(start) > START_MS || (server > 0 && waitpid(server, NULL, WNOHANG) != 0)) {
            server = 0;
            die("%s does not listen", opt.command[0]);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
}

/* Returns a field of /proc/PID/status in KiB, or 0 on failure. */
static long memory_of(const char *field)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof(path), "/proc/%ld/status", (long)server);
    FILE *f = server > 0 ? fopen(path, "re") : NULL;
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, field, strlen(field)) == 0) {
            kib = strtol(line + strlen(field), NULL, 10);
        }
    }
    if (f) {
        fclose(f);
    }
    return kib;
}

/* Returns the private memory of the server in KiB, or 0 on failure. */
static long private_memory(void)
{
    char path[64], line[256];
    long kib = 0, value;
    snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", (long)server);
    FILE *f = server > 0 ? fopen(path, "re") : NULL;
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "Private_%*[^:]: %ld", &value) == 1) {
            kib += value;
        }
    }
    if (f) {
        fclose(f);
    }
    return kib;
}

/* Returns the CPU time of a process in microseconds, or 0 on failure. */
static double cpu_time_of(long pid)
{
    char path[64], line[1024] = "";
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (f) {
        /* the name in parentheses may contain anything; the 14th and 15th fields follow it */
        char *at = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
        if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                          &kernel) != 2) {
            user = kernel = 0;
        }
        fclose(f);
    }
    return (double)(user + kernel) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

/* Returns the CPU time of a process and its descendants in microseconds. */
static double cpu_time(long pid)
{
    char path[64];
    double us = cpu_time_of(pid);
    long child;
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", pid, pid);
    FILE *f = pid > 0 ? fopen(path, "re") : NULL;
    while (f && fscanf(f, "%ld", &child) == 1) {
        us += cpu_time(child);
    }
    if (f) {
        fclose(f);
    }
    return us;
}

static void print_memory(void)
{
    printf(" hwm_kib=%ld rss_kib=%ld\n", memory_of("VmHWM:"), memory_of("VmRSS:"));
}

/* ---- requests and replies ------------------------------------------------------------------------- */

typedef struct request {
    char text[MAX_REQUEST];
    size_t len;
} request;

#define META                                                                          \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","          \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"driver\",\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static char session[1100]; /* the header with the id of the legacy session, or "" */

/* Makes a request of revision 2025-11-25. */
static void request_make_legacy(request *r, const char *message)
{
    int n = snprintf(r->text, sizeof(r->text),
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\n"
                     "Content-Type: application/json\r\n"
                     "Accept: application/json, text/event-stream\r\n"
                     "MCP-Protocol-Version: 2025-11-25\r\n%s%s%s"
                     "Content-Length: %zu\r\n\r\n%s",
                     opt.path, opt.port, session, opt.header ? opt.header : "",
                     opt.header ? "\r\n" : "", strlen(message), message);
    if (n < 0 || (size_t)n >= sizeof(r->text)) {
        die("a request is too long");
    }
    r->len = (size_t)n;
}

/* `members` of the parameters end with a comma; `name` is the value of the header Mcp-Name, or
 * NULL. */
static void request_make(request *r, const char *method, const char *members, const char *name)
{
    char body[MAX_REQUEST / 2], header[512] = "";
    if (opt.legacy) {
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s\"_meta\":{}}}",
                 method, members);
        request_make_legacy(r, body);
        return;
    }
    int len = snprintf(body, sizeof(body),
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s" META "}}",
                       method, members);
    if (name) {
        snprintf(header, sizeof(header), "Mcp-Name: %s\r\n", name);
    }
    int n = snprintf(r->text, sizeof(r->text),
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\n"
                     "Content-Type: application/json\r\n"
                     "Accept: application/json, text/event-stream\r\n"
                     "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\n%s%s%s"
                     "Content-Length: %d\r\n\r\n%s",
                     opt.path, opt.port, method, header, opt.header ? opt.header : "",
                     opt.header ? "\r\n" : "", len, body);
    if (len < 0 || (size_t)len >= sizeof(body) || n < 0 || (size_t)n >= sizeof(r->text)) {
        die("a request is too long");
    }
    r->len = (size_t)n;
}

static _Noreturn void unexpected(const char *reply, size_t len)
{
    die("not the answer that was expected: %.*s", (int)(len < 600 ? len : 600), reply);
}

/* Returns the beginning of a header's value, or NULL if the header is absent. */
static const char *header_of(const char *head, size_t len, const char *name)
{
    const char *at = head, *end = head + len;
    size_t n = strlen(name);
    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at++;
        if ((size_t)(end - at) > n && strncasecmp(at, name, n) == 0) {
            return at + n;
        }
    }
    return NULL;
}

/* Returns the end of the last chunk of a chunked body, or 0 if the body is incomplete. */
static size_t chunked_size(const char *reply, size_t at, size_t len)
{
    for (;;) {
        const char *line_end = memmem(reply + at, len - at, "\r\n", 2);
        if (!line_end) {
            return 0;
        }
        size_t size = strtoul(reply + at, NULL, 16);
        at = (size_t)(line_end - reply) + 2 + size + 2;
        if (at > len) {
            return 0;
        }
        if (size == 0) {
            return at;
        }
    }
}

/* Returns the size of the first reply, or 0 if it is incomplete. */
static size_t reply_size(const char *reply, size_t len)
{
    const char *end = memmem(reply, len, "\r\n\r\n", 4);
    if (!end) {
        return 0;
    }
    size_t head = (size_t)(end - reply) + 4;
    if (memcmp(reply, "HTTP/1.1 200", 12) != 0) {
        unexpected(reply, len);
    }
    const char *length = header_of(reply, head, "Content-Length:");
    if (!length) {
        return chunked_size(reply, head, len);
    }
    size_t size = head + strtoul(length, NULL, 10);
    return size <= len ? size : 0;
}

static void check_reply(const char *reply, size_t len)
{
    if (len < (size_t)opt.min_reply || !memmem(reply, len, "\"result\":", 9)) {
        unexpected(reply, len);
    }
}

#endif
