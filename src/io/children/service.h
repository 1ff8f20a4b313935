/* service.h: what the files of services share: service.c is the life cycle, uses.c those who need a process and how it
 * is told, lines.c its stderr in the log.
 */
#ifndef MCP_SRC_IO_SERVICE_H
#define MCP_SRC_IO_SERVICE_H

#include <mcp/children.h>

#include "io/child/child.h"

enum {
    MCP__SERVICE_LINE = 1024, /* bytes of a line of stderr that are shown */
    MCP__SERVICE_BURST = 100, /* lines at once */
    MCP__SERVICE_CAUSES = 8,  /* as in mcp_service_state */
};

typedef enum mcp__service_phase {
    MCP__SERVICE_DOWN,
    MCP__SERVICE_STARTING, /* the handshake is on its way */
    MCP__SERVICE_UP,
    MCP__SERVICE_ENDING, /* it was told to */
    MCP__SERVICE_ENDED,  /* its process is reaped, its handles are being closed */
} mcp__service_phase;

typedef struct mcp__service_lines {
    char line[MCP__SERVICE_LINE];
    size_t len;
    int64_t filled; /* when tokens were added */
    uint64_t tokens;
    uint64_t seen, left_out, untold;
} mcp__service_lines;

struct mcp_service {
    mcp__link link; /* of the loop's services */
    mcp_loop *loop;
    mcp_service_options options; /* its texts are in `texts` */
    char *texts;
    const char **vectors; /* argv and env */
    mcp_child *child;     /* NULL: there is none */
    mcp__service_phase phase;
    bool freed; /* ends with its process */

    mcp__link waiting; /* of uses */
    uint64_t uses;     /* held or waiting */

    mcp_service_cause cause; /* of the end that is on its way */
    char why[200];           /* the reason of that end, if it is ours to say */
    char text[300];          /* how it ended */
    uint64_t pause;          /* until the next start */
    uint64_t failures;
    int64_t not_before; /* the next start */
    int64_t since;      /* it is up */
    uint64_t starts, ends[MCP__SERVICE_CAUSES];

    uv_timer_t timer; /* the next thing to do in this phase */
    bool timer_open;
    mcp__service_lines lines;
};

/* ---- service.c ------------------------------------------------------------------------------------- */

/* Looks at what is to be done next, soon: nothing is started or ended from within a call. */
void mcp__service_attend(mcp_service *s);

/* ---- uses.c ------------------------------------------------------------------------------------------ */

/* Tells those who wait. */
void mcp__service_tell(mcp_service *s, int rc, const mcp_error *error);

/* ---- lines.c ---------------------------------------------------------------------------------------- */

void mcp__service_stderr(mcp_service *s, mcp_str bytes);
/* Its last line, which has no newline; and what was left out. */
void mcp__service_stderr_end(mcp_service *s);
void mcp__service_log(mcp_service *s, const char *level, const char *text);

#endif
