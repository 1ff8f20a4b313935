/* service.h: the internals of a service, a child process that is started on demand. service.c
 * starts and ends the process, uses.c counts its users and reports its state, and stderr_lines.c
 * writes its stderr to the log.
 */
#ifndef MCP_SRC_IO_SERVICE_H
#define MCP_SRC_IO_SERVICE_H

#include <mcp/sys/children.h>

#include "io/child/child.h"

enum {
    MCP__SERVICE_LINE = 1024, /* bytes of a line of stderr that are logged */
    MCP__SERVICE_BURST = 100, /* lines that may be logged without a pause */
    MCP__SERVICE_CAUSES = 8,  /* size of `ends` in mcp_service_state */
};

typedef enum mcp__service_phase {
    MCP__SERVICE_DOWN,     /* there is no process */
    MCP__SERVICE_STARTING, /* the handshake is in progress */
    MCP__SERVICE_UP,       /* the process can be used */
    MCP__SERVICE_ENDING,   /* the process is being ended */
    MCP__SERVICE_ENDED,    /* the process has been reaped; its handles are being closed */
} mcp__service_phase;

typedef struct mcp__service_lines {
    char line[MCP__SERVICE_LINE];
    size_t len;
    int64_t filled;                  /* when tokens were last added */
    uint64_t tokens;                 /* lines that may be logged now */
    uint64_t seen, left_out, untold; /* lines: all; not logged; not logged and not reported yet */
} mcp__service_lines;

struct mcp_service {
    mcp__link link; /* in loop->services */
    mcp_loop *loop;
    mcp_service_options options; /* its strings are copies in `texts` */
    char *texts;
    const char **vectors; /* argv and env */
    mcp_child *child;     /* NULL if there is no process */
    mcp__service_phase phase;
    bool freed; /* the program freed it; the memory is freed after the process has ended */

    mcp__link waiting; /* uses that wait for the process */
    uint64_t uses;     /* number of uses, active and waiting */

    mcp_service_cause cause; /* of the end in progress */
    char why[200];           /* reason for that end if the service caused it, else empty */
    char text[300];          /* description of the last end */
    uint64_t pause;          /* milliseconds until the next start */
    uint64_t failures;       /* in a row */
    int64_t not_before;      /* earliest time of the next start */
    int64_t since;           /* when the process was ready; 0 if it never was */
    int64_t idle_since;      /* when the last use ended */
    uint64_t starts, ends[MCP__SERVICE_CAUSES];

    uv_timer_t timer; /* for the next step of the phase */
    bool timer_open;
    mcp__service_lines lines;
};

/* ---- service.c ------------------------------------------------------------------------------- */

/* Schedules the next step, such as a start. Nothing is started or ended during this call. */
void mcp__service_attend(mcp_service *s);

/* ---- uses.c ---------------------------------------------------------------------------------- */

/* Calls `ready` of all waiting uses. `error` is NULL if rc is MCP_OK. */
void mcp__service_tell(mcp_service *s, int rc, const mcp_error *error);

/* ---- stderr_lines.c -------------------------------------------------------------------------- */

void mcp__service_stderr(mcp_service *s, mcp_str bytes);
/* Logs a last line that has no newline, and the number of lines that were not logged. */
void mcp__service_stderr_end(mcp_service *s);
void mcp__service_log(mcp_service *s, const char *level, const char *text);

#endif
