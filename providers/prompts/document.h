/* document.h: parses one prompt file: its name, arguments and messages.
 *
 * The parser does not depend on directories, servers or requests: its input is bytes, and its
 * output a document or an error with its line. A document is immutable. docs/prompts.md describes
 * the format.
 */
#ifndef PROMPTS_DOCUMENT_H
#define PROMPTS_DOCUMENT_H

#include <mcp/mcp.h>

#include "arena.h"

/* Limits of one file. */
enum {
    PROMPTS_MAX_BYTES = 256 << 10,
    PROMPTS_MAX_ARGUMENTS = 64,
    PROMPTS_MAX_CHOICES = 1000, /* of one argument */
    PROMPTS_MAX_ICONS = 8,
    PROMPTS_MAX_RESOURCES = 32,
    PROMPTS_MAX_NAME = 128, /* in bytes, of a prompt or an argument */
    PROMPTS_MAX_TEXT = 4096 /* in bytes, of any other value */
};

typedef struct prompts_argument {
    const char *name;
    const char *title;
    const char *description;
    bool required;
    mcp_str *choices; /* for completion */
    size_t n_choices;
} prompts_argument;

typedef enum prompts_piece_kind {
    PROMPTS_TEXT = 0, /* `text` unchanged */
    PROMPTS_VALUE,    /* the value of the argument `argument` */
    PROMPTS_RESOURCE, /* the resource with the URI `text`; always a separate message */
} prompts_piece_kind;

/* A part of a message. */
typedef struct prompts_piece {
    prompts_piece_kind kind;
    bool begins; /* the first piece of its message */
    mcp_role role;
    mcp_str text; /* NUL-terminated for a resource */
    size_t argument;
} prompts_piece;

typedef struct prompts_document {
    prompts_arena arena; /* owns everything, including the document */
    unsigned refs;       /* reference count; accessed on the server's thread only */
    const char *name;
    const char *title;
    const char *description;
    prompts_argument *arguments;
    size_t n_arguments;
    const char **icons; /* URIs */
    size_t n_icons;
    prompts_piece *pieces;
    size_t n_pieces;
    size_t n_resources;
} prompts_document;

/* An error in a file, for its author. */
typedef struct prompts_fault {
    size_t line; /* counted from 1 */
    char text[200];
} prompts_fault;

/* Parses a file. `file` is the file's name, which ends in .md. The document has one reference.
 * Returns MCP_OK, MCP_ENOMEM, or MCP_EINVAL with the error in *fault. */
int prompts_parse(mcp_str bytes, const char *file, const mcp_allocator *alloc,
                  prompts_document **ret, prompts_fault *fault);

prompts_document *prompts_document_ref(prompts_document *d);
/* NULL is allowed. */
void prompts_document_unref(prompts_document *d);

/* Returns whether both documents have the same list entry: everything except the messages and the
 * choices is equal. */
bool prompts_document_same_entry(const prompts_document *a, const prompts_document *b);

#endif
