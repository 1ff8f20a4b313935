/* words.h: the words of a command, filled with the arguments of a call. */
#ifndef COMMAND_WORDS_H
#define COMMAND_WORDS_H

#include <mcp/json.h>

#include "buffer.h"

/* One piece of a word: literal text, or the name of an argument. False at the end. */
bool command_piece(const char **at, mcp_str *literal, mcp_str *name);

/* Appends the word to `to`, with a NUL. MCP_OK; MCP_PENDING: an argument is missing, nothing was
 * appended; MCP_EINVAL: an argument cannot stand there, *which is its name and *why the reason;
 * MCP_ENOMEM. `dash`: whether *which of them may begin with a minus is asked of `allow` (n names);
 * otherwise all may. */
typedef struct command_fill {
    const mcp_json *arguments;
    const char *const *allow;
    size_t n_allow;
    bool dash;
    mcp_str which;
    const char *why;
} command_fill;
int command_word(command_fill *f, const char *word, common_buffer *to);

#endif
