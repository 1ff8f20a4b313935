/* check.h: reports start-up errors at their place in the configuration file. --check-config
 * performs the start without serving, so that mcpd can start with every configuration that passes.
 */
#ifndef MCPD_CHECK_H
#define MCPD_CHECK_H

#include "config.h"

/* Reports an error in the value of an option; for a list, in the value at `index`. If the value
 * comes from the configuration file and not from the command line, the error is reported with its
 * place in the file, and error->text is empty afterwards. Returns `code`. `c` may be NULL. */
int check_locate(const config *c, const settings *line, const char *name, size_t index, int code,
                 mcp_error *error);
/* Does the same for an address at which listening failed. The cause may also be the certificate,
 * its key, or a limit. */
int check_locate_http(const config *c, const settings *line, const settings *now, size_t index,
                      int code, mcp_error *error);

/* Checks options that depend on each other. Returns 0, or the exit code after reporting the
 * error. */
int check_together(const config *c, const settings *line, const settings *now);

#endif
