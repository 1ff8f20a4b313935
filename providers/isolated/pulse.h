/* pulse.h: when a process is asked whether it still answers, and when it does not. The time is an
 * argument. */
#ifndef ISOLATED_PULSE_H
#define ISOLATED_PULSE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ISOLATED_QUIET_MS = 1000, /* without a message, after which it is asked while requests wait */
    ISOLATED_PONG_MS = 4000,  /* in which it has to answer then */
    ISOLATED_LOOK_MS = 500,   /* between two calls of isolated_pulse_look() */
    ISOLATED_LATE_MS = 1000,  /* a longer delay of a call was in this program */
};

/* All members are 0 at the start of a process. */
typedef struct isolated_pulse {
    int64_t heard;  /* when it last sent a message, or the first request was sent to it */
    int64_t pinged; /* when it was asked; 0 if it has answered since */
    int64_t looked; /* when isolated_pulse_look() was last called; 0 if nothing waits */
} isolated_pulse;

typedef enum isolated_sign { ISOLATED_ALIVE, ISOLATED_ASK, ISOLATED_HUNG } isolated_sign;

/* A request is sent. */
void isolated_pulse_send(isolated_pulse *p, int64_t now);
/* The process has sent a message. */
void isolated_pulse_hear(isolated_pulse *p, int64_t now);
/* Returns what to do now; `waits`: requests are not answered yet. */
isolated_sign isolated_pulse_look(isolated_pulse *p, bool waits, int64_t now);

#endif
