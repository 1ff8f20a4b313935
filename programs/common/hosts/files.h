/* files.h: the configuration files of MCP hosts: where they are, and where in them the servers are. */
#ifndef PROGRAM_HOSTS_FILES_H
#define PROGRAM_HOSTS_FILES_H

#include <mcp/json.h>

/* The format of a host's configuration file. */
typedef struct file_format {
    bool is_toml;
    unsigned expands; /* EXPAND_…: the kinds of variables in its strings */
    /* Paths to the objects that contain servers: keys separated by "/"; $PWD is the current folder.
     * The first one that contains the server is used. */
    const char *objects[5];
} file_format;

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

/* Receives an error: one line without a newline. */
typedef void server_tell(void *user, const char *line);

/* Visits the named files or, if there are none, all possible files in the order of the search, until
 * fn returns false. Returns MCP_OK, or another code after reporting that a named file cannot be
 * used. Files that are not named may be missing or invalid. */
typedef bool server_file_fn(const server_file *file, void *user);
int server_files(const char *const *named, size_t count, server_tell *tell, server_file_fn *fn,
                 void *user);

/* Gets the i-th object with servers in a file; *ret is NULL if the file does not have it. Returns
 * false at the end. */
bool server_objects(const server_file *file, size_t i, const mcp_json **ret);

/* Calls fn for each server of a file, in the order of the file, until fn returns false. Returns
 * whether fn never did. */
typedef bool server_entry_fn(const server_file *file, mcp_str name, const mcp_json *entry,
                             void *user);
bool server_entries(const server_file *file, server_entry_fn *fn, void *user);

#endif
