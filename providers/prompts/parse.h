/* parse.h: declarations shared by the parts of the parser of document.h.
 *
 * front.c reads the front matter, scalar.c a value in it, body.c the messages, and document.c
 * combines them. All parts report the first fault with its line and stop.
 */
#ifndef PROMPTS_PARSE_H
#define PROMPTS_PARSE_H

#include "document.h"

typedef struct prompts_parser {
    prompts_document *doc;
    prompts_fault *fault;
    mcp_str text; /* the whole file; line ends are "\n" */
    size_t at;    /* offset of the next line */
    size_t line;  /* number of the next line, from 1 */
} prompts_parser;

/* Sets the fault. Returns MCP_EINVAL. */
int prompts_fail(prompts_parser *p, size_t line, const char *format, ...) MCP_PRINTF(3, 4);

/* Returns the next line without its end; false at the end of the text. */
bool prompts_next_line(prompts_parser *p, mcp_str *ret);

/* Removes spaces and tabs at both ends. */
mcp_str prompts_trim(mcp_str s);

/* Returns the length for "%.*s" in a message, at most 60 bytes. */
int prompts_shown(mcp_str s);

/* Returns whether a name is valid. A name of an argument consists of letters, digits, "_", "-" and
 * "."; a name of a prompt has no control characters and no spaces at its ends. */
bool prompts_is_argument_name(mcp_str name);
bool prompts_is_prompt_name(mcp_str name);

/* Reads one value at the beginning of *rest and advances *rest: "double" or 'single' quoted, or
 * plain. In a list ([a, b]) a plain value also ends at a comma or a bracket. */
int prompts_scalar(prompts_parser *p, size_t line, mcp_str *rest, bool in_list, mcp_str *ret);
/* Returns whether nothing but spaces or a comment follows. */
bool prompts_is_rest_empty(mcp_str rest);

/* Reads the front matter, if any, and sets p->at to the beginning of the body. */
int prompts_front(prompts_parser *p);
/* Reads the rest of the file as messages. */
int prompts_body(prompts_parser *p);

#endif
