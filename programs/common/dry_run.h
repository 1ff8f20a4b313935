/* dry_run.h: calls that can be tried before they are made: with the argument dry_run, the tool only says what it would
 * change, usually as a unified difference. Whether it then changes nothing is the server's word, so a person is asked
 * before such a call as before every other.
 */
#ifndef PROGRAM_DRY_RUN_H
#define PROGRAM_DRY_RUN_H

#include <mcp/mcp.h>

/* Returns whether a call of this tool with these arguments, which are JSON text, can be tried: the tool says that it is
 * not read-only, its schema has dry_run as a boolean, and in the arguments it is false or missing. */
bool dry_run_is_for(const mcp_json *tool, const char *arguments);

/* Returns the arguments with dry_run, which the caller frees; NULL if out of memory, or if they have it already or are
 * no object. */
char *dry_run_arguments(const char *arguments);

#endif
