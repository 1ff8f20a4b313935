/* child.h: one running program: started without a shell, observed through descriptors, and
 * terminated together with its children. */
#ifndef COMMAND_CHILD_H
#define COMMAND_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct command_child {
    pid_t pid;    /* also the number of its process group and session */
    int end;      /* readable after it ended; -1: not supported (before Linux 5.3) */
    int out, err; /* its stdout and stderr, non-blocking */
} command_child;

/* argv and env end with NULL; `input` becomes its stdin (-1: empty). Returns 0 or an errno. */
int command_child_start(char *const *argv, char *const *env, const char *folder, int input,
                        command_child *ret);
/* Reaps the program and kills the rest of its group. Returns its wait status; -1: still running. */
int command_child_reap(command_child *c);
/* Waits for it, at most `ms` milliseconds. */
int command_child_wait(command_child *c, int ms);
void command_child_signal(const command_child *c, int number);
void command_child_close(command_child *c);

/* A descriptor from which these bytes can be read, without a writer; -1 and errno. */
int command_input(const void *bytes, size_t len);

#endif
