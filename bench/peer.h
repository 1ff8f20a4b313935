/* peer.h: a server process at the other end of two pipes, for stdio_driver.c and
 * isolated.c.
 *
 * Starts the process, writes to it, splits its output into lines, and reads its memory from /proc.
 * This header does not depend on MCP. Any failure ends the program, because nothing can be measured
 * then.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { READ_SIZE = 256 * 1024, MAX_REPLY = 256 * 1024 * 1024 };

static _Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline double ms_since(uint64_t start)
{
    return (double)(now_ns() - start) / 1e6;
}

typedef struct peer {
    pid_t pid;
    int in, out; /* our ends of its stdin and stdout, non-blocking */
    char *buffer;
    size_t start, end, capacity; /* unread replies are buffer[start, end) */
} peer;

static void spawn_command(peer *p, char *const *command, int child_in, int child_out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t reset;
    sigemptyset(&reset);
    sigaddset(&reset, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, child_in, 0);
    posix_spawn_file_actions_adddup2(&files, child_out, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &reset);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawnp(&p->pid, command[0], &files, &attributes, command, environ);
    if (rc != 0) {
        die("%s: %s", command[0], strerror(rc));
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
}

static void peer_start(peer *p, char *const *command)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
        die("pipe: %s", strerror(errno));
    }
    spawn_command(p, command, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    p->in = in[1];
    p->out = out[0];
    p->start = p->end = 0;
    fcntl(p->in, F_SETFL, O_NONBLOCK);
    fcntl(p->out, F_SETFL, O_NONBLOCK);
}

static void peer_kill(peer *p)
{
    close(p->in);
    close(p->out);
    free(p->buffer);
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
}

static void peer_wait(const peer *p, short in_events)
{
    struct pollfd fds[2] = {{.fd = p->out, .events = POLLIN}, {.fd = p->in, .events = in_events}};
    if (poll(fds, in_events ? 2 : 1, 60000) == 0) {
        die("no answer for 60 s");
    }
}

/* Writes as much as the pipe accepts now. */
static size_t peer_write(const peer *p, const char *bytes, size_t len)
{
    ssize_t n = write(p->in, bytes, len);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        die("the server is gone: %s", strerror(errno));
    }
    return n < 0 ? 0 : (size_t)n;
}

static void peer_send(const peer *p, const char *bytes, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        size_t n = peer_write(p, bytes + sent, len - sent);
        sent += n;
        if (n == 0) {
            peer_wait(p, POLLOUT);
        }
    }
}

static void peer_make_room(peer *p)
{
    if (p->start > 0) {
        memmove(p->buffer, p->buffer + p->start, p->end - p->start);
        p->end -= p->start;
        p->start = 0;
    }
    if (p->capacity - p->end >= READ_SIZE) {
        return;
    }
    p->capacity = p->capacity * 2 + READ_SIZE;
    p->buffer = p->capacity > MAX_REPLY ? NULL : realloc(p->buffer, p->capacity);
    if (!p->buffer) {
        die("a reply is too large");
    }
}

/* Returns whether something was read; false means that nothing is available now. */
static bool peer_read(peer *p)
{
    if (p->start == p->end) {
        p->start = p->end = 0;
    }
    if (p->capacity - p->end < READ_SIZE / 4) {
        peer_make_room(p);
    }
    ssize_t n = read(p->out, p->buffer + p->end, p->capacity - p->end);
    if (n == 0) {
        die("the server ended");
    }
    if (n < 0) {
        if (errno == EAGAIN || errno == EINTR) {
            return false;
        }
        die("read: %s", strerror(errno));
    }
    p->end += (size_t)n;
    return true;
}

/* Removes the next complete line from the buffer and returns it without its newline, or NULL if
 * there is none. `searched` is the length that was searched already, so that a long line is
 * searched only once. */
static char *peer_take(peer *p, size_t *searched, size_t *len)
{
    char *from = p->buffer + p->start;
    char *end = NULL;
    if (p->end - p->start > *searched) {
        end = memchr(from + *searched, '\n', p->end - p->start - *searched);
    }
    if (!end) {
        *searched = p->end - p->start;
        return NULL;
    }
    *searched = 0;
    *len = (size_t)(end - from);
    p->start += *len + 1;
    return from;
}

/* Returns a field of /proc/PID/status in KiB, or 0 on failure. */
static long peer_memory(const peer *p, const char *field)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof(path), "/proc/%ld/status", (long)p->pid);
    FILE *f = fopen(path, "re");
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

static inline void print_memory(const peer *p)
{
    printf(" hwm_kib=%ld rss_kib=%ld\n", peer_memory(p, "VmHWM:"), peer_memory(p, "VmRSS:"));
}

#endif
