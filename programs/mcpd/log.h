/* log.h: the log of mcpd on stderr: lines of text or of JSON. */
#ifndef MCPD_LOG_H
#define MCPD_LOG_H

#include <sys/types.h>

#include <mcp/http.h>

#include "options.h"

/* Applies --log-level and --log-format. */
void log_configure(const settings *s);
/* Sets the number of this worker, which is in each line from then on. */
void log_set_worker(size_t number);
/* The log function of an mcp_host. */
void log_line(const char *level, const char *line, void *user);
/* Returns whether a line of level "error" was logged so far, even if it was not shown. */
bool log_has_errors(void);
/* Returns how many lines stderr did not accept since the start. */
uint64_t log_lost(void);
/* Logs a line whatever --log-level is. In JSON its level is "info". */
void log_notice(const char *line);
/* Writes the time in UTC, in the form of RFC 3339. */
void log_time(char to[32]);
/* Writes a number in decimal, and returns its length. snprintf() takes ten times as long. */
size_t log_number(char to[24], int64_t value);
/* Writes to a descriptor if this does not block. Returns the result of write(), or -1 with errno
 * EAGAIN. A pipe that is writable accepts PIPE_BUF bytes without blocking. */
ssize_t log_write(int fd, const char *line, size_t len);
/* Returns whether requests are logged. */
bool log_wants_requests(void);
/* The log function of an mcp_http: logs one request. */
void log_request(const mcp_http_record *record, void *user);

#endif
