/* child.h: one running program: started without a shell, observed through descriptors, and
 * terminated together with its children. */
#ifndef COMMAND_CHILD_H
#define COMMAND_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct command_child {
    pid_t pid;    /* also the number of its process group and session */
    int end;      /* readable once the program has ended; -1 if not supported (before Linux 5.3) */
    int out, err; /* its stdout and stderr, non-blocking */
} command_child;

/* Starts a program. argv and env end with NULL. The descriptor `input` becomes its stdin; -1 means
 * empty. Returns 0 or an errno value. */
int command_child_start(char *const *argv, char *const *env, const char *folder, int input,
                        command_child *ret);
/* Reaps the program if it has ended and kills the rest of its group. Returns its wait status, or -1
 * if it is still running. */
int command_child_reap(command_child *c);
/* Waits at most `ms` milliseconds for the program; returns the same as command_child_reap(). */
int command_child_wait(command_child *c, int ms);
void command_child_signal(const command_child *c, int number);
void command_child_close(command_child *c);

/* Returns a descriptor from which these bytes can be read without blocking, or -1
 * with errno set. */
int command_input(const void *bytes, size_t len);

#endif
