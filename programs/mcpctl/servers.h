/* servers.h: the server to use: a command after "--", an address, or a name in the configuration
 * files of mcpctl and of the hosts in the table of servers.c.
 */
#ifndef MCPCTL_SERVERS_H
#define MCPCTL_SERVERS_H

#include "mcpctl.h"

/* A list of owned texts; `items` ends with NULL. */
typedef struct words {
    char **items;
    size_t count;
} words;

/* Takes ownership of `text`. False: no memory, or `text` is NULL. */
bool words_add(words *w, char *text);
void words_clear(words *w);

typedef struct file_format file_format;

typedef struct server {
    const char *name;    /* NULL: not from a file */
    char *file;          /* the file that contains its entry */
    bool from_project;   /* from a file in the current folder, which may be untrusted */
    bool trusted;        /* its tools are called without confirmation */
    mcp_json_doc *entry; /* its entry in the file */
    const file_format *format;
    const char *const *argv; /* NULL: an address */
    char *url;
    bool sse; /* the entry selects HTTP+SSE of 2024-11-05 */
    char *cwd;
    words line;        /* argv, if from a file */
    words env;         /* NAME=value, added to the environment; the last of equal names counts */
    size_t n_file_env; /* how many of them, at the beginning, are from a file of variables */
    words headers;     /* "Name: value" */
    /* What the user is shown of an entry, and what a confirmation is remembered for: the command
     * line or address (n_first words), then a line for everything else. Secrets appear as
     * ${input:x}. */
    words shown;
    size_t n_first;
    bool is_address;
    words variables; /* the same for the file of variables */
} server;

/* Whether a text is an address: http://, https://, unix:. */
bool is_address(const char *text);

/* EXIT_OK, or another code after reporting the error. */
int server_find(ctl *c, server **ret);
void server_free(server *s);

/* The format of a host's configuration file. */
struct file_format {
    bool is_toml;
    unsigned expands; /* EXPAND_…: the kinds of variables in its texts */
    /* Paths to the objects that contain servers: keys separated by "/"; $PWD is the current folder.
     * The first match counts. */
    const char *objects[5];
};

enum {
    EXPAND_BRACES = 1, /* ${NAME} and its variants */
    EXPAND_DOLLAR = 2, /* $NAME */
    EXPAND_ENV = 4,    /* {env:NAME} */
};

typedef struct server_file {
    const char *path;
    bool project; /* in the current folder */
    const file_format *format;
    const mcp_json *root;
} server_file;

/* Visits all possible files in the order of the search. It stops if fn returns false. */
typedef bool server_file_fn(const server_file *file, void *user);
int server_files(const ctl *c, server_file_fn *fn, void *user);
/* The i-th object with servers in a file, which may be NULL; false: no more. */
bool server_objects(const server_file *file, size_t i, const mcp_json **ret);

/* confirm.c: the path of a file in mcpctl's state folder, which is created. The caller frees it.
 * NULL: there is no such folder. */
char *state_path(const char *name);

/* confirm.c: shows what will be started and asks for confirmation, unless it was confirmed before.
 * The second function does this for the file of variables, which is read only after the first
 * confirmation. */
int server_confirm(ctl *c, const server *s);
int server_confirm_variables(ctl *c, const server *s);

/* expand.c: expands ${env:NAME}, ${NAME:-default}, ${workspaceFolder}, ${userHome} and ${input:id}
 * in a text of a file. With `only_shown`, the text is for display: secrets are neither included nor
 * looked up. The caller frees it. EXIT_OK, or another code after reporting the error. */
typedef struct expansion {
    bool only_shown;
    unsigned kinds;         /* EXPAND_… */
    const server *server;   /* the server that needs the inputs */
    const mcp_json *inputs; /* of the file; may be NULL */
    words asked;            /* id, answer, id, answer, … */
} expansion;
int expand_text(expansion *e, mcp_str text, char **ret);

#endif
