/* servers.h: the server to use: a command after "--", an address, or a name in the configuration
 * files of mcpctl and of the hosts in the table of servers.c.
 */
#ifndef MCPCTL_SERVERS_H
#define MCPCTL_SERVERS_H

#include "mcpctl.h"

/* A list of owned strings; `items` ends with NULL. */
typedef struct words {
    char **items;
    size_t count;
} words;

/* Takes ownership of `text`. Returns false if out of memory, or if `text` is NULL. */
bool words_add(words *w, char *text);
void words_clear(words *w);

typedef struct file_format file_format;

typedef struct server {
    const char *name;    /* NULL if the server is not from a file */
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
    words oauth;       /* "key=value": the object "oauth" of the entry (login.h) */
    /* The texts that the user is shown and confirms: the command line or the address (n_first
     * words), then one line for each other item. Secrets appear as ${input:x}. */
    words shown;
    size_t n_first;
    bool is_address;
    words variables; /* the same for the file of variables */
} server;

/* Returns whether a text is an address: http://, https://, unix:. */
bool is_address(const char *text);

/* Finds the server that the command line selects. Returns EXIT_OK, or another code after reporting
 * the error. */
int server_find(ctl *c, server **ret);
void server_free(server *s);

/* The format of a host's configuration file. */
struct file_format {
    bool is_toml;
    unsigned expands; /* EXPAND_…: the kinds of variables in its strings */
    /* Paths to the objects that contain servers: keys separated by "/"; $PWD is the current folder.
     * The first one that contains the server is used. */
    const char *objects[5];
};

enum {
    EXPAND_BRACES = 1, /* ${NAME} and its variants */
    EXPAND_DOLLAR = 2, /* $NAME */
    EXPAND_ENV = 4,    /* {env:NAME} */
};

typedef struct server_file {
    const char *path;
    bool project; /* the file is in the current folder */
    const file_format *format;
    const mcp_json *root;
} server_file;

/* Visits all possible files in the order of the search, until fn returns false. */
typedef bool server_file_fn(const server_file *file, void *user);
int server_files(const ctl *c, server_file_fn *fn, void *user);
/* Gets the i-th object with servers in a file; *ret is NULL if the file does not have it. Returns
 * false at the end. */
bool server_objects(const server_file *file, size_t i, const mcp_json **ret);

/* confirm.c: returns the path of a file below the user's state folder, which the caller frees, or
 * NULL if there is no such folder. */
char *state_file(const char *name);
/* confirm.c: returns the path of a file in mcpctl's state folder, which is created if necessary.
 * The caller frees the path. Returns NULL if there is no such folder. */
char *state_path(const char *name);

/* confirm.c: shows what will be started and asks for confirmation, unless it was confirmed before.
 * The second function does this for the file of variables, which is read only after the first
 * confirmation. */
int server_confirm(ctl *c, const server *s);
int server_confirm_variables(ctl *c, const server *s);

/* expand.c: expands ${env:NAME}, ${NAME:-default}, ${workspaceFolder}, ${userHome} and ${input:id}
 * in a text of a file. With `only_shown`, the text is for display: secrets are neither included nor
 * looked up. The caller frees it. Returns EXIT_OK, or another code after reporting the error. */
typedef struct expansion {
    bool only_shown;
    unsigned kinds;         /* EXPAND_… */
    const server *server;   /* the server that needs the inputs */
    const mcp_json *inputs; /* the inputs that the file defines; may be NULL */
    words asked;            /* identifiers and answers in turn */
} expansion;
int expand_text(expansion *e, mcp_str text, char **ret);

#endif
