/* config.h: the configuration file of mcpd --config: JSON with comments, checked against its
 * schema.
 *
 * Errors are reported as FILE:LINE:COLUMN, all of them at once if possible, with a suggested
 * correction. The sections are interpreted by the callers.
 */
#ifndef MCPD_CONFIG_H
#define MCPD_CONFIG_H

#include <mcp/json.h>

#include "options.h"

typedef struct config config;

/* Receives one line, without a newline. */
typedef void config_tell(const char *line);

/* The schema (config.schema.json), compiled into the program. */
extern const char config_schema[];
extern const size_t config_schema_len;

/* Reads, parses and checks a file. Returns MCP_OK, or a negative code after reporting the errors.
 * `tell` is also used for later errors. */
int config_read(const char *path, config_tell *tell, config **ret);
/* Like config_read(), but parses `text`. Errors show `path`; relative paths are resolved against
 * `folder`. */
int config_read_text(const char *path, const char *folder, mcp_str text, config_tell *tell,
                     config **ret);
/* NULL is allowed. */
void config_free(config *c);

/* Stores the configuration's options and sources in `s`, which must be empty. Its strings belong to
 * `c`, so `c` must outlive it. Returns MCP_OK, MCP_EINVAL after reporting the error, or
 * MCP_ENOMEM. */
int config_fill(config *c, settings *s);

/* Determines the settings in force: those of the file that the command line names, if any, then those
 * of the command line, then the sources of --servers (servers_add()). Returns MCP_OK, or a negative
 * code after reporting the errors. *ret and `now`, which must be empty, have to be freed in any case. */
int config_settings(const settings *line, bool strict, config_tell *tell, config **ret,
                    settings *now);

/* The configuration, with the secrets that it refers to (secrets_resolve()). */
const mcp_json *config_root(const config *c);
/* The configuration as it stands in the file, to be shown. */
const mcp_json *config_written(const config *c);
/* Returns the value to which a JSON Pointer leads, or NULL. */
const mcp_json *config_follow(const mcp_json *at, mcp_str pointer);
/* Makes a path of the configuration absolute: "~/" stands for the home folder, and relative paths
 * are resolved against the file's folder. The result belongs to the configuration. Returns NULL if
 * out of memory. */
const char *config_place(config *c, mcp_str path);
/* Returns a NUL-terminated copy, which belongs to the configuration. Returns NULL if out of memory,
 * or if `value` is not a string. */
const char *config_text(config *c, const mcp_json *value);

/* Takes ownership of a string, which is freed with the configuration. Returns NULL if out of
 * memory, or if `text` is NULL. */
const char *config_keep(config *c, char *text);

/* Reports an error that the schema cannot detect, at a JSON Pointer that is formatted as by printf.
 * Returns `code`. */
int config_wrong(const config *c, int code, const char *pointer, const char *format, ...)
    MCP_PRINTF(4, 5);
/* Checks the value at a pointer with another schema, for example a module's. Returns MCP_OK, or a
 * negative code after reporting the errors. */
int config_check(const config *c, mcp_str schema, const char *pointer, const mcp_json *value);

/* Prints JSON text for people: one member or element per line, short arrays on one line. */
void config_pretty(FILE *to, mcp_str json);
/* Prints the schema completed from the table of options. Returns 0, or 1 on failure. */
int config_print_schema(FILE *to);

#endif
