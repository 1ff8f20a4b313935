/* parent.c: detects the end of the parent process. A parent that is killed sends nothing, and its
 * pipes to this process end only with the last process that holds them, often a child that
 * inherited them by accident.
 *
 * What may surprise: this uses neither prctl(PR_SET_PDEATHSIG), which reports the end of the thread
 * that started the process, nor regular calls of getppid(), which would wake up an idle server.
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

    if (pid <= 1) /* outside of our namespace, or has ended */
        return -1;
    if (sigaction(SIGHUP, NULL, &hang_up) == 0 && hang_up.sa_handler == SIG_IGN)
        return -1;
    int fd = open_process(pid);
    if (fd >= 0 &&
        getppid() != pid) { /* the parent has ended meanwhile: its number may be reused */
        close(fd);
        return -1;
    }
    return fd;
}
