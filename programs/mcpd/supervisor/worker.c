/* worker.c: see worker.h. start.c describes the descriptors of a worker. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PAUSE_MS = 100, /* after the second failure in a row; doubled by each further one */
    MOST_PAUSE_MS = 10000,
};

int64_t worker_pause(const worker *w)
{
    int64_t pause = PAUSE_MS;
    if (w->failures < 2)
        return 0;
    for (unsigned i = 2; i < w->failures && pause < MOST_PAUSE_MS; i++)
        pause *= 2;
    return pause < MOST_PAUSE_MS ? pause : MOST_PAUSE_MS;
}

void worker_tell(const worker *w, char word)
{
    if (w->control >= 0)
        (void)send(w->control, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static pid_t run(const worker *w, size_t number, const worker_needs *needs, int control, int line)
{
    int fds[3 + START_WORKERS + START_SOCKETS];
    char details[64 + FOLDER_PATH];
    size_t n = 0;
    fds[n++] = control;
    fds[n++] = needs->board;
    fds[n++] = line;
    for (size_t i = 0; i < needs->count; i++)
        fds[n++] = needs->doorbells[i];
    for (size_t i = 0; i < needs->sockets.count; i++)
        fds[n++] = needs->sockets.fds[i];
    snprintf(details, sizeof(details), "%zu:%zu:%zu%s:%s", number, needs->count,
             needs->sockets.count, w->started || needs->start->role == START_SUCCESSOR ? "r" : "",
             needs->folder);
    return start_again(needs->start, START_WORKER, details, fds, n);
}

bool worker_start(worker *w, size_t number, const worker_needs *needs)
{
    int ends[2], line = relay_add(needs->relay, number - 1);
    if (line < 0)
        return false;
    if (start_control(needs->start, ends) < 0) {
        close(line);
        return false;
    }
    pid_t pid = run(w, number, needs, ends[1], line);
    int why = errno;
    close(ends[1]);
    close(line);
    if (pid < 0) {
        close(ends[0]);
        errno = why;
        return false;
    }
    w->pid = pid;
    w->control = ends[0];
    w->ready = w->reloading = false;
    w->watched = true;
    return true;
}
