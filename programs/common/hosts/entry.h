/* entry.h: a server's entry in a configuration file, in the format of any host. */
#ifndef PROGRAM_HOSTS_ENTRY_H
#define PROGRAM_HOSTS_ENTRY_H

#include <common/words.h>

#include "files.h"

typedef struct server {
    const char *name;    /* NULL if the server is not from a file; borrowed */
    char *file;          /* the file that contains the entry */
    bool from_project;   /* from a file in the current folder, which may be untrusted */
    bool trusted;        /* its tools are called without confirmation */
    mcp_json_doc *entry; /* the entry in the file */
    const file_format *format;
    const char *const *argv; /* NULL if the server is at an address */
    char *url;
    bool sse; /* the entry selects HTTP+SSE of 2024-11-05 */
    char *cwd;
    words line; /* owns the words of argv if they are from a file */
    words env;  /* NAME=value, added to the environment; of equal names, the last one is used */
    size_t n_file_env; /* how many of them, at the beginning, are from a file of variables */
    words headers;     /* "Name: value" */
    words oauth;       /* "key=value": the object "oauth" of the entry */
    /* The texts that the user is shown and confirms: the command line or the address (n_first
     * words), then one line for each other item. Secrets appear as ${input:x}. */
    words shown;
    size_t n_first;
    bool is_address;
    words variables; /* the same for the file of variables */
} server;

/* Releases what the members own, not the server itself. */
void server_clear(server *s);

typedef enum entry_part {
    ENTRY_WORD, /* a word of the command line; words are visited in order */
    ENTRY_URL,
    ENTRY_FOLDER,
    ENTRY_ENV_FILE,
    ENTRY_VARIABLE,
    ENTRY_HEADER,
    ENTRY_OAUTH,         /* a member of the object "oauth" */
    ENTRY_SECRET_HEADER, /* a header whose value contains a variable, always written as ${NAME} */
} entry_part;

/* Calls fn for the parts of an entry, in the order of the file. If fn returns anything but MCP_OK,
 * entry_walk() stops and returns that. `name` is the name of a variable, header or member. */
typedef int entry_fn(void *user, entry_part part, mcp_str name, mcp_str text);
int entry_walk(const mcp_json *entry, entry_fn *fn, void *user);

/* What reading an entry needs from the program. */
typedef struct entry_io {
    server_tell *tell;
    /* Returns the value of ${input:ID}, which the caller frees, or NULL after reporting why there is
     * none. `input` is its definition in the file, or NULL. Called once for each input. */
    char *(*ask)(void *user, const server *s, const mcp_json *input, mcp_str id);
    /* Called after the file of variables was read. Anything but MCP_OK ends the reading and is
     * returned. NULL allows every file. */
    int (*variables)(void *user, const server *s);
    void *user;
} entry_io;

/* Fills in the texts of a server from an entry, to be shown to the user. It reads no files, looks
 * up no variables and asks no questions. Returns MCP_OK, MCP_ENOMEM, or another negative code after
 * reporting the error. */
int entry_describe(server *s, const mcp_json *entry, const mcp_json *inputs, const entry_io *io);
/* Fills in the actual values: looks up variables, asks for inputs, and reads the file of variables.
 * Called only after the user confirmed what was shown. Returns MCP_OK, MCP_ENOMEM, MCP_EACCESS (a
 * variable or input has no value), another negative code, or that of io->variables; errors other
 * than MCP_ENOMEM were reported. */
int entry_resolve(server *s, const entry_io *io);

/* expand.c: expands ${env:NAME}, ${NAME:-default}, ${workspaceFolder}, ${userHome} and ${input:id}
 * in a text of a file. With `only_shown`, the text is for display: secrets are neither included nor
 * looked up. The caller frees it. Returns the codes of entry_resolve(). */
typedef struct expansion {
    bool only_shown;
    unsigned kinds;         /* EXPAND_… */
    const server *server;   /* the server that needs the inputs */
    const mcp_json *inputs; /* the inputs that the file defines; may be NULL */
    words asked;            /* identifiers and answers in turn */
    const entry_io *io;
} expansion;
int expand_text(expansion *e, mcp_str text, char **ret);

/* Formats a text and reports it. */
void entry_tell(const entry_io *io, const char *format, ...) MCP_PRINTF(2, 3);

#endif
