/* succeed.c: see succeed.h. */
#define _GNU_SOURCE
#include "succeed.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "notify.h"

static const char ready = 'R';

static void complain(const char *what, const char *why)
{
    char line[300];
    snprintf(line, sizeof(line), "%s%s%s; this process continues", what, *why ? ": " : "", why);
    log_line("error", line, NULL);
}

bool succeed_begin(successor *to, const start *s, const int *sockets, size_t n)
{
    int ends[2], fds[1 + START_SOCKETS];
    char details[32];
    if (to->control >= 0)
        return true;
    if (n > START_SOCKETS || start_control(s, ends) < 0) {
        complain("no successor can be started", strerror(errno));
        return false;
    }
    fds[0] = ends[1];
    memcpy(fds + 1, sockets, n * sizeof(*sockets));
    snprintf(details, sizeof(details), "%zu%s", n, s->activated ? "a" : "");
    pid_t pid = start_again(s, START_SUCCESSOR, details, fds, n + 1);
    int why = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        complain("no successor can be started", strerror(why));
        return false;
    }
    *to = (successor){.pid = pid, .control = ends[0]};
    return true;
}

int succeed_hear(successor *to)
{
    char word = 0, line[80];
    ssize_t n = recv(to->control, &word, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    close(to->control);
    to->control = -1;
    if (n == 1 && word == ready) {
        snprintf(line, sizeof(line), "process %ld takes over", (long)to->pid);
        log_notice(line);
        notify_send("MAINPID=%ld", (long)to->pid);
        return 1;
    }
    if (to->pid > 0) { /* it has closed its control socket, so it is ending */
        (void)kill(to->pid, SIGKILL);
        while (waitpid(to->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    to->pid = 0;
    complain("the successor did not start", "");
    return -1;
}

void succeed_stop(successor *to)
{
    if (to->pid && to->control >= 0)
        (void)kill(to->pid, SIGTERM);
    if (to->control >= 0)
        close(to->control);
    *to = (successor){.control = -1};
}

void succeed_ready(start *s)
{
    if (s->control >= 0)
        (void)send(s->control, &ready, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (s->role == START_SUCCESSOR && s->control >= 0) {
        close(s->control);
        s->control = -1;
    }
}
