/* parent.c: detects the end of the parent process. A parent that is killed cannot send anything.
 * Its pipes to this process stay open as long as any other process holds them, often one that
 * inherited them by accident.
 *
 * A pidfd is used. prctl(PR_SET_PDEATHSIG) would report the end of the thread that started this
 * process, which may be earlier, and regular calls of getppid() would wake up an idle server.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/stdio/stdio.h"

static int open_process(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0); /* closed on exec */
#else
    (void)pid;
    return -1;
#endif
}

int mcp__parent_open(void)
{
    struct sigaction hang_up;
    pid_t pid = getppid();

    if (pid <= 1) /* the parent has ended, or is outside of this PID namespace */
        return -1;
    if (sigaction(SIGHUP, NULL, &hang_up) == 0 && hang_up.sa_handler == SIG_IGN)
        return -1;
    int fd = open_process(pid);
    if (fd >= 0 &&
        getppid() != pid) { /* the parent has ended, so another process may have its PID */
        close(fd);
        return -1;
    }
    return fd;
}
