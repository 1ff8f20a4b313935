/* service.h: shared by the files of services. service.c is the life cycle, uses.c the users of a
 * process and its state, lines.c its stderr in the log.
 */
#ifndef MCP_SRC_IO_SERVICE_H
#define MCP_SRC_IO_SERVICE_H

#include <mcp/children.h>

#include "io/child/child.h"

enum {
    MCP__SERVICE_LINE = 1024, /* longest part of a line of stderr that is logged */
    MCP__SERVICE_BURST = 100, /* lines that may be logged at once */
    MCP__SERVICE_CAUSES = 8,  /* size of `ends` in mcp_service_state */
};

typedef enum mcp__service_phase {
    MCP__SERVICE_DOWN,
    MCP__SERVICE_STARTING, /* the handshake is in progress */
    MCP__SERVICE_UP,
    MCP__SERVICE_ENDING, /* it has been asked to end */
    MCP__SERVICE_ENDED,  /* its process is reaped, its handles are being closed */
} mcp__service_phase;

typedef struct mcp__service_lines {
    char line[MCP__SERVICE_LINE];
    size_t len;
    int64_t filled; /* time when tokens were last added */
    uint64_t tokens;
    uint64_t seen, left_out, untold;
} mcp__service_lines;

struct mcp_service {
    mcp__link link; /* of the loop's services */
    mcp_loop *loop;
    mcp_service_options options; /* its texts are in `texts` */
    char *texts;
    const char **vectors; /* argv and env */
    mcp_child *child;     /* NULL: none */
    mcp__service_phase phase;
    bool freed; /* frees itself when its process has ended */

    mcp__link waiting; /* uses that wait for the process */
    uint64_t uses;     /* held or waiting */

    mcp_service_cause cause; /* of the end in progress */
    char why[200];           /* reason of that end, if this code caused it; else empty */
    char text[300];          /* description of the last end */
    uint64_t pause;          /* until the next start */
    uint64_t failures;
    int64_t not_before; /* earliest time of the next start */
    int64_t since;      /* when it came up */
    uint64_t starts, ends[MCP__SERVICE_CAUSES];

    uv_timer_t timer; /* for the next step of the phase */
    bool timer_open;
    mcp__service_lines lines;
};

/* ---- service.c ------------------------------------------------------------------------------------- */

/* Schedules the next step. Nothing is started or ended during the call. */
void mcp__service_attend(mcp_service *s);

/* ---- uses.c ------------------------------------------------------------------------------------------ */

/* Notifies the waiting uses. */
void mcp__service_tell(mcp_service *s, int rc, const mcp_error *error);

/* ---- lines.c ---------------------------------------------------------------------------------------- */

void mcp__service_stderr(mcp_service *s, mcp_str bytes);
/* Logs the last line without a newline, and the number of dropped lines. */
void mcp__service_stderr_end(mcp_service *s);
void mcp__service_log(mcp_service *s, const char *level, const char *text);

#endif
