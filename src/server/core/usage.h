/* usage.h: counts calls of tools and reads of mounts; see usage.c. */
#ifndef MCP_SRC_USAGE_H
#define MCP_SRC_USAGE_H

#include <mcp/audit.h>
#include <mcp/server.h>

#include "base/base.h"

/* Hashes of the names of the tools that the provider of a mount has listed. */
typedef struct mcp__listed_tools {
    uint64_t *hashes; /* open addressing; 0 is empty */
    size_t count, room;
} mcp__listed_tools;

/* The counters of a tool or a mount. */
typedef struct mcp__meter {
    mcp_usage usage;
    mcp_server *server;
    mcp__link link; /* in server->meters[].all */
    size_t refs;    /* number of tools or mounts with this name, plus requests in progress */
    bool shown;     /* one of the MCP_USAGE_NAMES that are reported by their names */
    bool unnamed;   /* of a source: for calls of tools without a meter of their own */
    /* Of a mount: the meters of its provider's tools, each of which holds a reference. */
    mcp__link tools;
    mcp__link of_source; /* of such a tool: in `tools` */
    struct mcp__meter *unnamed_tools;
    mcp__listed_tools listed;
} mcp__meter;

typedef struct mcp__meters {
    mcp__map by_name;
    mcp__link all;    /* in order of registration */
    mcp__meter other; /* for requests without a meter of their own */
    size_t n_shown;
} mcp__meters;

/* The counters of change_count.c. */
enum { MCP__CHANGE_OPERATIONS = 7, MCP__CHANGE_RESULTS = 10 };
typedef uint64_t mcp__change_counts[MCP__CHANGE_OPERATIONS][MCP__CHANGE_RESULTS];

typedef enum mcp__used_outcome {
    MCP__USED_GONE = 0, /* initial value; stays if the client is gone */
    MCP__USED_OK,
    MCP__USED_TOOL_ERROR,
    MCP__USED_NOT_FOUND,
    MCP__USED_ERROR,
    MCP__USED_INPUT,
} mcp__used_outcome;

/* What is counted for a request. */
typedef struct mcp__used {
    mcp__meter *meter;  /* NULL if the request is not counted */
    mcp__meter *source; /* of a call of a provider's tool: the mount's, with a reference */
    int64_t since;      /* when the request began, in microseconds */
    uint64_t bytes;     /* size of the contents in the result */
    uint64_t answer;    /* size of the answer */
    const char *caller; /* of audit.c; these are copies in the arena, or NULL */
    const char *session, *traceparent;
    const char *reason;             /* NULL if the client gave none for its cancellation */
    const mcp_audit_change *change; /* in the arena, or NULL */
    unsigned char operation;        /* of change_count.c: 0, or one more than that of its change */
    bool dry_run;
    mcp__used_outcome outcome;
    bool inner;    /* of audit.c */
    bool denied;   /* access rules deny the item that was requested */
    bool refused;  /* mcp_request_note_denied() */
    bool limited;  /* a rate is exceeded */
    bool recorded; /* audit.c has passed its record to the program */
} mcp__used;

void mcp__usage_init(mcp_server *server);
/* Must be called after the tools and mounts have been freed. */
void mcp__usage_free(mcp_server *server);
/* Returns the meter with that name, or NULL if out of memory. The caller releases it with
 * mcp__meter_give(). */
mcp__meter *mcp__meter_take(mcp_server *server, mcp_usage_kind kind, mcp_str name);
/* meter may be NULL. */
void mcp__meter_give(mcp__meter *meter);
/* Counts the request for this meter instead of the request's previous meter. */
void mcp__usage_begin(mcp_request *req, mcp__meter *meter);
/* The same for a call of a tool that the provider of a mount runs. */
void mcp__usage_begin_mounted(mcp_request *req, mcp__meter *source, mcp_str tool);
/* The provider of a mount has listed a tool of this name. */
void mcp__meter_listed(mcp__meter *source, mcp_str tool);
/* A page of a list is without the mount. */
void mcp__meter_left_out(mcp__meter *source);
/* Counts the request for "other", until its own meter is known. */
void mcp__usage_begin_other(mcp_request *req, mcp_usage_kind kind);
/* Returns the time at which the request was received, for used.since, and the microseconds since
 * then. */
int64_t mcp__usage_start(const mcp_request *req);
int64_t mcp__usage_now(const mcp_request *req);
uint64_t mcp__usage_elapsed(const mcp_request *req);
/* Counts the end of a request that has a meter, with req->used.outcome. */
void mcp__usage_end(mcp_request *req);

#endif
