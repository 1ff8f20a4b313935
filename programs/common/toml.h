/* toml.h: configuration files in TOML, as the JSON value that they mean. */
#ifndef PROGRAM_TOML_H
#define PROGRAM_TOML_H

#include <mcp/json.h>

#include "file.h"

/* TOML 1.0, but for this: an array of tables ([[name]]) is left out with all that is in it, and
 * what is neither a text, a boolean nor a number as JSON writes it (a date, 0xff, inf) becomes the
 * text that stands there. A table may be opened twice. MCP_EPARSE (error->offset says where),
 * MCP_ELIMIT (depth, or the number of values), MCP_ENOMEM. */
int toml_parse(mcp_str text, mcp_json_doc **ret, mcp_error *error);

/* A file of at most 1 MiB. As file_load() and toml_parse(); `line` is that of a mistake. */
int toml_read(const char *path, file_trust trust, mcp_json_doc **ret, size_t *line,
              mcp_error *error);

#endif
