/* check.h: reports start-up errors at their place in the configuration file. --check-config is the
 * start without serving, so that every configuration that passes it also starts.
 */
#ifndef MCPD_CHECK_H
#define MCPD_CHECK_H

#include "config.h"

/* *error is about the value of an option, in a list the one at `index`. Where the file has it, and
 * not the command line, it is told there, and error->text is empty afterwards. `code` is returned.
 * `c` may be NULL. */
int check_locate(const config *c, const settings *line, const char *name, size_t index, int code,
                 mcp_error *error);
/* The same of an address that cannot be listened at: the fault may be with the certificate, its
 * key, or a limit. */
int check_locate_http(const config *c, const settings *line, const settings *now, size_t index,
                      int code, mcp_error *error);

/* What options need of each other. 0, or the exit code after telling. */
int check_together(const config *c, const settings *line, const settings *now);

#endif
