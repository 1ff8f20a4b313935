/* log.h: the log of mcpd on stderr: lines of text or of JSON. */
#ifndef MCPD_LOG_H
#define MCPD_LOG_H

#include <mcp/http.h>

#include "options.h"

/* --log-level and --log-format. */
void log_configure(const settings *s);
/* The log of a mcp_host. */
void log_line(const char *level, const char *line, void *user);
/* Whether it had a line of level "error" by now, also one that was not shown. */
bool log_has_errors(void);
/* Says it whatever the level is; in JSON it is of level "info". */
void log_notice(const char *line);
/* Whether anybody wants to see requests. */
bool log_wants_requests(void);
/* The log of a mcp_http: one request. */
void log_request(const mcp_http_record *record, void *user);

#endif
