/* succeed.h: another process of this program takes over the sockets of this one (SIGUSR2). It runs
 * the program that has our name now, reads the configuration again, and says when it serves. Until
 * then this process serves too. If it fails, nothing changes. */
#ifndef MCPD_SUCCEED_H
#define MCPD_SUCCEED_H

#include "start.h"

typedef struct successor {
    pid_t pid;   /* 0 if there is none, or if it was reaped */
    int control; /* readable when it is ready or has failed; -1 if there is none */
} successor;

/* Starts a successor with these sockets. Does nothing if one starts already. Returns false after
 * logging an error. */
bool succeed_begin(successor *to, const start *s, const int *sockets, size_t n);
/* Reads the message of the successor. Returns 1 if it serves (the service manager is notified), 0 if
 * there is no message yet, and -1 if it failed (the reason is logged). */
int succeed_hear(successor *to);
/* Ends a successor that is not ready yet. */
void succeed_stop(successor *to);
/* Says to the process that started this one that this process serves. */
void succeed_ready(start *s);

#endif
