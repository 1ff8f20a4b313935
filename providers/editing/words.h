/* words.h: what is said when a system call of a change fails. Inside of this folder only. */
#ifndef EDITING_WORDS_H
#define EDITING_WORDS_H

#include <mcp/base.h>

/* Writes "REL was not DONE: ...", with what `error` (an errno) means and what to do next, and returns its code. `step`
 * is what was tried, for example "writing its new contents". */
int editing_failed(mcp_error *err, const char *rel, const char *step, int error);

/* Writes "REL: " and the text, and returns the code. A path that is long loses its beginning. */
int editing_refuse(mcp_error *err, int code, const char *rel, const char *format, ...)
    MCP_PRINTF(4, 5);

#endif
