/* document.h: parses one prompt file: its name, arguments and messages.
 *
 * Independent of directories, servers and requests: it takes bytes and returns a document or an
 * error with its line. A document is immutable. docs/prompts.md has the format.
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
    PROMPTS_MAX_NAME = 128, /* bytes, of a prompt and of an argument */
    PROMPTS_MAX_TEXT = 4096 /* bytes of any other value */
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
    PROMPTS_TEXT = 0, /* `text` as it is */
    PROMPTS_VALUE,    /* of the argument `argument` */
    PROMPTS_RESOURCE, /* of the URI `text`; a message of its own */
} prompts_piece_kind;

/* The messages, taken apart. */
typedef struct prompts_piece {
    prompts_piece_kind kind;
    bool begins; /* a message begins here */
    mcp_role role;
    mcp_str text; /* of a resource NUL-terminated */
    size_t argument;
} prompts_piece;

typedef struct prompts_document {
    prompts_arena arena; /* holds everything, the document itself too */
    unsigned refs;       /* counted on the server's thread alone */
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

/* What is wrong with a file, for its author. */
typedef struct prompts_fault {
    size_t line; /* the first is 1 */
    char text[200];
} prompts_fault;

/* MCP_OK; MCP_EINVAL and what is wrong; MCP_ENOMEM. `file` is the file's name, which ends in .md;
 * the document begins with one reference. */
int prompts_parse(mcp_str bytes, const char *file, const mcp_allocator *alloc,
                  prompts_document **ret, prompts_fault *fault);

prompts_document *prompts_document_ref(prompts_document *d);
/* NULL is fine. */
void prompts_document_unref(prompts_document *d);

/* Whether a list of prompts looks the same with either: all but the messages and the choices. */
bool prompts_document_same_entry(const prompts_document *a, const prompts_document *b);

#endif
