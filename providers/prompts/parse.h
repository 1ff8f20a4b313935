/* parse.h: what the parts of the parser share; see document.h for what it is about.
 *
 * front.c reads the front matter, scalar.c a value in it, body.c the messages, document.c puts them
 * together. All report the first fault with its line and go no further.
 */
#ifndef PROMPTS_PARSE_H
#define PROMPTS_PARSE_H

#include "document.h"

typedef struct prompts_parser {
    prompts_document *doc;
    prompts_fault *fault;
    mcp_str text; /* the whole file; line ends are "\n" */
    size_t at;    /* where the next line begins */
    size_t line;  /* its number */
} prompts_parser;

/* Sets the fault. MCP_EINVAL. */
int prompts_fail(prompts_parser *p, size_t line, const char *format, ...) MCP_PRINTF(3, 4);

/* The next line without its end; false at the end of the text. */
bool prompts_next_line(prompts_parser *p, mcp_str *ret);

/* Without spaces and tabs at both ends. */
mcp_str prompts_trim(mcp_str s);

/* For "%.*s" in a message: not too much of it. */
int prompts_shown(mcp_str s);

/* An argument's name: letters, digits, "_", "-" and "."; a prompt's: anything but control
 * characters, without spaces at its ends. */
bool prompts_is_argument_name(mcp_str name);
bool prompts_is_prompt_name(mcp_str name);

/* Reads one value at the start of *rest and moves *rest behind it: "double" or 'single' quoted, or
 * plain. In a list ([a, b]) a plain value ends at a comma or a bracket too. */
int prompts_scalar(prompts_parser *p, size_t line, mcp_str *rest, bool in_list, mcp_str *ret);
/* Whether nothing but spaces or a comment follows. */
bool prompts_is_rest_empty(mcp_str rest);

/* Reads the front matter, if there is any; the body begins at p->at then. */
int prompts_front(prompts_parser *p);
/* Reads the rest as messages. */
int prompts_body(prompts_parser *p);

#endif
