/* revise.h: lets a person change a text with the editor of VISUAL or EDITOR. */
#ifndef PROGRAM_REVISE_H
#define PROGRAM_REVISE_H

#include <mcp/base.h>

/* Runs the editor on the terminal, on this file. Fails if the editor fails; error->text says why, and what to set if
 * there is none. */
int revise_file(const char *path, mcp_error *error);

/* Runs the editor on the terminal, on a file with the text, whose name ends with `suffix`. *ret gets
 * the new text, which the caller frees: without the newline that editors add to the last line. Fails if
 * the editor fails or the file has more than 1 MiB; error->text says why. */
int revise_text(const char *text, const char *suffix, char **ret, mcp_error *error);

#endif
