/* descriptor.c: prepares descriptors for non-blocking use, and restores their flags.
 *
 * O_NONBLOCK belongs to the open file description, which other processes may share. The flags of a
 * pipe or socket are restored at the end. A terminal is usually shared with a shell, so it is
 * opened again instead. Descriptor 1 is not restored: output of the program may still be in the
 * buffer of stdio, and must not reach the peer when exit() flushes that buffer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/stdio/stdio.h"

int mcp__descriptor_fill_standard(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        if (open("/dev/null", O_RDWR) != fd) /* open() returns the lowest free number */
            return -1;
    }
    return 0;
}

/* Opens the terminal again, for a file description of its own. If that fails, keeps the
 * descriptor. */
static void open_again(mcp__descriptor *d, int mode)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", d->fd);
    int fd = open(path, mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return;
    if (d->owned)
        close(d->fd);
    d->fd = fd;
    d->owned = true;
}

static void inspect(mcp__descriptor *d, int mode)
{
    struct stat st;

    if (fstat(d->fd, &st) < 0)
        return;
    d->fifo = S_ISFIFO(st.st_mode);
    if (S_ISCHR(st.st_mode) && isatty(d->fd))
        open_again(d, mode);
    d->flags = fcntl(d->fd, F_GETFL);
}

int mcp__descriptor_input(mcp__descriptor *d, int fd)
{
    *d = (mcp__descriptor){.fd = -1, .flags = -1};
    if (fcntl(fd, F_GETFD) < 0)
        return -1;
    d->fd = fd;
    inspect(d, O_RDONLY);
    return 0;
}

int mcp__descriptor_output(mcp__descriptor *d, int fd, bool take)
{
    *d = (mcp__descriptor){.fd = -1, .flags = -1};
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        return -1;
    d->fd = copy;
    d->owned = true;
    inspect(d, O_WRONLY);
    return take && dup2(STDERR_FILENO, fd) < 0 ? -1 : 0;
}

void mcp__descriptor_release(mcp__descriptor *d)
{
    if (d->fd < 0)
        return;
    if (d->flags >= 0)
        fcntl(d->fd, F_SETFL, d->flags);
    if (d->owned)
        close(d->fd);
    d->fd = -1;
}
