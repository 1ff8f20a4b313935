/* toml.h: parses configuration files in TOML into a JSON value. */
#ifndef PROGRAM_TOML_H
#define PROGRAM_TOML_H

#include <mcp/json.h>

#include "file.h"

/* Parses TOML 1.0 with these exceptions: arrays of tables ([[name]]) are left out with all their
 * contents. Values that are not strings, booleans or numbers in JSON's notation (a date, 0xff, inf)
 * become strings. A table may be defined twice. Fails with MCP_EPARSE (error->offset has the
 * position), MCP_ELIMIT (depth, or the number of values), MCP_ENOMEM. */
int toml_parse(mcp_str text, mcp_json_doc **ret, mcp_error *error);

/* Reads a file of at most 1 MiB. Returns the errors of file_load() and toml_parse(); `line` gets
 * the line of a syntax error. */
int toml_read(const char *path, file_trust trust, mcp_json_doc **ret, size_t *line,
              mcp_error *error);

#endif
