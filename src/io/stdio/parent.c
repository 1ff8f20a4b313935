/* parent.c: the end of the process that started us.
 *
 * Who is killed cannot say goodbye, and its pipes to us end only with the last process that has them: often a
 * child that inherited them unasked. What may surprise: neither prctl(PR_SET_PDEATHSIG), which tells of the
 * end of the thread that started us, nor getppid() from time to time, for which an idle server would wake up.
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

    if (pid <= 1) /* outside of our namespace, or gone already */
        return -1;
    if (sigaction(SIGHUP, NULL, &hang_up) == 0 && hang_up.sa_handler == SIG_IGN)
        return -1;
    int fd = open_process(pid);
    if (fd >= 0 && getppid() != pid) { /* it ended meanwhile: who knows whose number that is now */
        close(fd);
        return -1;
    }
    return fd;
}
