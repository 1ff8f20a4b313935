/* words.h: the words of a command, filled with the arguments of a call. */
#ifndef COMMAND_WORDS_H
#define COMMAND_WORDS_H

#include <mcp/json.h>

#include "buffer.h"

/* Reads one piece of a word: literal text, or the name of an argument. Returns false at the end. */
bool command_piece(const char **at, mcp_str *literal, mcp_str *name);

/* Input and output of command_word(). */
typedef struct command_fill {
    const mcp_json *arguments;
    const char *const *allow;
    size_t n_allow;
    bool dash;       /* only the arguments in `allow` may begin with "-" */
    mcp_str which;   /* the name of a rejected argument */
    const char *why; /* why it was rejected */
} command_fill;

/* Appends the word to `to`, NUL-terminated. Returns MCP_OK, MCP_ENOMEM, MCP_PENDING if an argument
 * is missing and nothing was appended, or MCP_EINVAL if an argument is not allowed there. */
int command_word(command_fill *f, const char *word, common_buffer *to);

#endif
