/* servers.h: the server to use: a command after "--", an address, or a name in the configuration
 * files of mcpctl and of the hosts in the table of servers.c.
 */
#ifndef MCPCTL_SERVERS_H
#define MCPCTL_SERVERS_H

#include "mcpctl.h"

/* Texts that are ours; the last of `items` is followed by NULL. */
typedef struct words {
    char **items;
    size_t count;
} words;

/* False: no memory. Takes `text`, which may be NULL (then it fails). */
bool words_add(words *w, char *text);
void words_clear(words *w);

typedef struct file_format file_format;

typedef struct server {
    const char *name;    /* NULL: it was not named in a file */
    char *file;          /* where its entry was found */
    bool from_project;   /* in a file of the present folder, which may be a stranger's */
    bool trusted;        /* its tools are called without a question */
    mcp_json_doc *entry; /* what the file says of it */
    const file_format *format;
    const char *const *argv; /* NULL: an address */
    char *url;
    bool sse; /* the entry says that it is HTTP+SSE of 2024-11-05 */
    char *cwd;
    words line;        /* argv, when it is from a file */
    words env;         /* NAME=value, beside ours; of two with one name the later counts */
    size_t n_file_env; /* how many of them, the first ones, are from a file of variables */
    words headers;     /* "Name: value" */
    /* What a person is shown of an entry and is remembered, with ${input:x} where a secret is: its
     * command line or address (n_first words), then a line for each other thing. */
    words shown;
    size_t n_first;
    bool is_address;
    words variables; /* the same for what the file of variables sets */
} server;

/* Whether a text is an address and no name: http://, https://, unix:. */
bool is_address(const char *text);

/* EXIT_OK, or after saying why not. */
int server_find(ctl *c, server **ret);
void server_free(server *s);

/* How a host writes its configuration. */
struct file_format {
    bool is_toml;
    unsigned expands; /* EXPAND_…: what is replaced in its texts */
    /* Where its servers are: keys of objects within each other, separated by "/"; $PWD is the
     * present folder. What stands first counts. */
    const char *objects[5];
};

enum {
    EXPAND_BRACES = 1, /* ${NAME} and its relatives */
    EXPAND_DOLLAR = 2, /* $NAME */
    EXPAND_ENV = 4,    /* {env:NAME} */
};

typedef struct server_file {
    const char *path;
    bool project; /* in the present folder */
    const file_format *format;
    const mcp_json *root;
} server_file;

/* Visits every file there may be, in the order in which they are looked at. fn returning false
 * stops. */
typedef bool server_file_fn(const server_file *file, void *user);
int server_files(const ctl *c, server_file_fn *fn, void *user);
/* The i-th object with servers of a file, which may be NULL; false: there is no such one. */
bool server_objects(const server_file *file, size_t i, const mcp_json **ret);

/* confirm.c: a file in our state folder, which is made; to be freed. NULL: there is nowhere. */
char *state_path(const char *name);

/* confirm.c: shows what is to be started and asks, unless that was answered before. The second does
 * so for what the file of variables sets, which is only read when the first was answered. */
int server_confirm(ctl *c, const server *s);
int server_confirm_variables(ctl *c, const server *s);

/* expand.c: a text of a file with ${env:NAME}, ${NAME:-default}, ${workspaceFolder}, ${userHome},
 * ${input:id}, as it is used or, with `only_shown`, as a person may see it: without what is secret,
 * and without looking it up. To be freed. EXIT_OK or after saying why not. */
typedef struct expansion {
    bool only_shown;
    unsigned kinds;         /* EXPAND_… */
    const server *server;   /* of which an input is */
    const mcp_json *inputs; /* of the file; may be NULL */
    words asked;            /* id, answer, id, answer, … */
} expansion;
int expand_text(expansion *e, mcp_str text, char **ret);

#endif
