/* start.h: how this process was started, the sockets that it got, and starting this program again.
 *
 * A process gets listening sockets from a service manager (systemd's socket activation), from the
 * process that it replaces (SIGUSR2), or from the supervisor whose worker it is.
 */
#ifndef MCPD_START_H
#define MCPD_START_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    START_KEY = 64 /* bytes of the secret */,
    START_SOCKETS = 64,
    START_WORKERS = 64 /* the most of each */,
    START_INSTANCE = 128,
};

typedef enum start_role {
    START_FIRST = 0, /* by a user or a service manager */
    START_SUCCESSOR, /* it replaces a process */
    START_WORKER,    /* of a supervisor */
} start_role;

typedef struct start {
    start_role role;
    int control; /* a socket to the process that started this one; -1 for START_FIRST */
    /* Of a worker, otherwise 0; `line` is then -1. */
    size_t number;   /* from 1 */
    size_t count;    /* of all workers */
    bool is_restart; /* an earlier worker had this number */
    int board;       /* memory that all workers share (board.h) */
    int line;        /* to the supervisor, for what workers tell each other (line.h) */
    int doorbell;    /* the first of `count` event descriptors, one for each worker */
    char instance[START_INSTANCE]; /* where the others reach it: "unix:PATH" */
    /* Random bytes that all workers and their successors have, and nobody else. */
    unsigned char key[START_KEY];
    /* Sockets that nothing has taken yet; a taken one is 0. */
    int sockets[START_SOCKETS];
    size_t n_sockets;
    bool activated; /* the sockets came from a service manager */
    /* What is needed to start the program again. */
    char **argv;   /* without the words that describe the inherited descriptors */
    char **env;    /* of the start */
    char *program; /* path of the program, or its name without a slash */
} start;

/* Finds out how this process was started, and removes the words about it from the command line.
 * Returns false after reporting an error. */
bool start_look(start *s, int *argc, char ***argv);
void start_clear(start *s);

/* Takes a socket that listens at this address. Returns its descriptor, or 0 if there is none. */
int start_take(start *s, const char *address);
/* Closes the sockets that were not taken. Returns whether there were any. */
bool start_close_rest(start *s);

/* Makes the control socket of a process that is going to be started, with the key in it: ends[1] is
 * its end. Returns 0, or -1 with errno. */
int start_control(const start *s, int ends[2]);
/* Starts this program again with the same command line. `role` is START_SUCCESSOR or START_WORKER,
 * and `details` what start_look() needs. fds become the descriptors from 3 on. A worker runs the
 * program that this process runs, gets a process group of its own, and SIGUSR1 when this process
 * ends; a successor runs the program that has its name now. Returns the PID, or -1 with errno. */
pid_t start_again(const start *s, start_role role, const char *details, const int *fds, size_t n);

#endif
