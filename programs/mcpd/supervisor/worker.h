/* worker.h: a worker, as its supervisor sees it. */
#ifndef MCPD_WORKER_H
#define MCPD_WORKER_H

#include <stdint.h>
#include <sys/types.h>

#include "folder.h"
#include "relay.h"
#include "sockets.h"
#include "start.h"

typedef struct worker {
    pid_t pid;      /* 0 if it does not run */
    int control;    /* -1 if it does not run */
    bool ready;     /* it serves */
    bool started;   /* it was ready at least once */
    bool reloading; /* it was told to reload, and has not answered */
    bool watched;   /* it has answered the last LIFE_WATCH */
    int64_t since;  /* when it was started */
    int64_t due;    /* when to start it again */
    unsigned failures;
} worker;

/* What all workers get. */
typedef struct worker_needs {
    start *start;
    size_t count; /* of the workers */
    int board;
    int doorbells[START_WORKERS];
    sockets sockets;
    relay *relay;
    char folder[FOLDER_PATH];
} worker_needs;

/* Starts the worker with this number, from 1. Returns false with errno. */
bool worker_start(worker *w, size_t number, const worker_needs *needs);
/* Sends a word of life.h. */
void worker_tell(const worker *w, char word);
/* Returns how long to wait before it is started again, in milliseconds. */
int64_t worker_pause(const worker *w);

#endif
