/* audit.h: the audit log (--audit): one line of JSON for each request, written when it ends. */
#ifndef MCPD_AUDIT_H
#define MCPD_AUDIT_H

#include <mcp/audit.h>
#include <mcp/http.h>

/* The audit log. Its descriptor is -1 if there is none. */
typedef struct audit {
    int fd;
    bool own;        /* the descriptor has to be closed */
    bool required;   /* --audit-required: nothing is served while lines are missing */
    bool unfinished; /* the last line was written only in part */
    uint64_t n_lost; /* lines that were not written since the last one that was */
    char claim[128]; /* of a token, for the member `who`; empty if none */
    uint64_t lost_in_all, left_out_in_all; /* since the start */
    int64_t complained;                    /* when the log was last told about it, in seconds */
    /* Refusals in `second`; those without a line, of which none was told in the second `told` */
    uint64_t n_refusals, n_left_out;
    int64_t second, told;
    int64_t (*clock)(void); /* seconds, for tests; NULL means the monotonic clock */
} audit;

/* `a` may be NULL. */
bool audit_is_on(const audit *a);
/* Opens the file, or standard error if `path` is "-". Returns MCP_OK, or MCP_EIO with *error. On
 * failure `a` is unchanged. */
int audit_open(audit *a, const char *path, mcp_error *error);
/* Opens the file again after it was renamed, or another one. On failure the old one stays in use,
 * and the error is logged. */
void audit_reopen(audit *a, const char *path);
void audit_close(audit *a);
/* Sets the claim that lines have as `who`. NULL means none. */
void audit_show(audit *a, const char *claim);

/* The word for an outcome. */
const char *audit_outcome(mcp_audit_outcome outcome);
/* The function of mcp_server_set_audit(); `user` is an audit. */
void audit_request(const mcp_audit_record *record, void *user);
/* The function of mcp_server_require_audit(): whether no line is missing. */
bool audit_kept(void *user);
/* Whether requests are served: false while the log is required and cannot be written. A probe calls it, so it writes what
 * is missing, if that is possible again; without it, nobody would notice while no requests arrive. */
bool audit_serves(audit *a);
/* Writes a line about a request that the endpoint refused, at most ten in a second. Ignores all
 * others. `a` may be NULL. */
void audit_refused(audit *a, const mcp_http_record *record);

#endif
