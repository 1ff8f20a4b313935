/* config.h: the configuration file of mcpd --config: JSON with comments, checked against its
 * schema.
 *
 * Errors are reported as FILE:LINE:COLUMN, all of them at once if possible, with a correction. This
 * file serves nothing: the callers interpret the sections.
 */
#ifndef MCPD_CONFIG_H
#define MCPD_CONFIG_H

#include <mcp/json.h>

#include "options.h"

typedef struct config config;

/* Gets one line, without a newline. */
typedef void config_tell(const char *line);

/* The schema (config.schema.json), as it was when the program was built. */
extern const char config_schema[];
extern const size_t config_schema_len;

/* Reads, parses and checks a file. MCP_OK; a negative code after telling why. `tell` is kept. */
int config_read(const char *path, config_tell *tell, config **ret);
/* The same with a text, which is said to stand in a file of that name, and paths that begin at
 * `folder`. */
int config_read_text(const char *path, const char *folder, mcp_str text, config_tell *tell,
                     config **ret);
/* NULL is allowed. */
void config_free(config *c);

/* Whatever its options say, into settings that are empty, and the sources. They point into the
 * configuration. MCP_OK, MCP_EINVAL after telling why, MCP_ENOMEM. */
int config_fill(config *c, settings *s);

const mcp_json *config_root(const config *c);
/* A path in it: absolute, of ~/ and of the file's folder. NULL: no memory. The configuration's. */
const char *config_place(config *c, mcp_str path);
/* A NUL-terminated copy; NULL: no memory, or there is no text. The configuration's. */
const char *config_text(config *c, const mcp_json *value);

/* Keeps a text that free() releases as long as the configuration; NULL: no memory, or there was
 * none. */
const char *config_keep(config *c, char *text);

/* Tells what the schema does not see: at a JSON Pointer, made as by printf; `code` is returned. */
int config_wrong(const config *c, int code, const char *pointer, const char *format, ...)
    MCP_PRINTF(4, 5);
/* What a schema of somebody else's says about the value at a pointer. MCP_OK; a negative code after
 * telling. */
int config_check(const config *c, mcp_str schema, const char *pointer, const mcp_json *value);

/* JSON text for people: one member or element in each line, short arrays in one. */
void config_pretty(FILE *to, mcp_str json);
/* The schema with what the table of options says put into it. 0; 1 where it cannot be. */
int config_print_schema(FILE *to);

#endif
