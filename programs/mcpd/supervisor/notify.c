/* notify.c: see notify.h. */
#define _GNU_SOURCE
#include "notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int fd = -1;
static struct sockaddr_un to;
static socklen_t to_len;
static uint64_t watchdog_us;

/* A path, or a name of the abstract namespace, which begins with "@". */
static void open_socket(const char *name)
{
    size_t len = strlen(name);
    if ((*name != '/' && *name != '@') || len < 2 || len >= sizeof(to.sun_path))
        return;
    to.sun_family = AF_UNIX;
    memcpy(to.sun_path, name, len);
    if (*name == '@')
        to.sun_path[0] = '\0';
    to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void notify_open(void)
{
    const char *name = getenv("NOTIFY_SOCKET"), *every = getenv("WATCHDOG_USEC"),
               *pid = getenv("WATCHDOG_PID");
    if (name)
        open_socket(name);
    if (every && (!pid || strtol(pid, NULL, 10) == (long)getpid()))
        watchdog_us = strtoull(every, NULL, 10);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_send(const char *format, ...)
{
    char text[512];
    va_list args;
    if (fd < 0)
        return;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (len > 0 && (size_t)len < sizeof(text))
        (void)sendto(fd, text, (size_t)len, MSG_NOSIGNAL, (const struct sockaddr *)&to, to_len);
}

void notify_reloading(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    notify_send("RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
                (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

uint64_t notify_watchdog_ms(void)
{
    uint64_t half = watchdog_us / 2000;
    return fd < 0 || !watchdog_us ? 0 : half ? half : 1;
}
