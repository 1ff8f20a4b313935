/* hosts.h: the hosts that mcpd knows: the format of an entry in a host's configuration file, and
 * the location of that file. */
#ifndef MCPD_HOSTS_H
#define MCPD_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

/* The names of all hosts in the table, for a table of options. */
#define HOST_NAMES                                                                                 \
    "claude|claude-code|claude-desktop|codex|copilot|cursor|gemini|kiro|lmstudio|opencode|vscode|" \
    "windsurf|zed"

typedef enum host_below {
    HOST_NOWHERE, /* unknown, because the name stands for several hosts */
    HOST_HERE,    /* the current folder: the file belongs to a project */
    HOST_HOME,
    HOST_CONFIG, /* XDG_CONFIG_HOME, or ~/.config */
} host_below;

typedef struct known_host {
    const char *name, *title;
    bool toml;                         /* the entry is a TOML table instead of a JSON member */
    const char *key;                   /* the member that contains the servers */
    const char *type;                  /* the value of "type" for commands, or NULL */
    bool one_list;                     /* program and arguments are one array */
    const char *more_key, *more_value; /* a further member, as JSON, or NULL */
    bool more_of_commands; /* the further member is only for commands, not for addresses */
    const char *url;       /* the member for an address; NULL if the host supports only commands */
    const char *url_type;
    host_below below;
    const char *file;
    const char *variable; /* environment variable with the file's folder, or NULL */
    const char *note;     /* a note for the user, or NULL */
    const char *user_add; /* the host's own command that adds a server for all projects, or NULL */
} known_host;

/* Returns NULL if the host is unknown. */
const known_host *host_find(const char *name);

/* Returns the path of the file for this user, and its usual form for messages
 * ("~/.cursor/mcp.json"). The caller frees it. Returns NULL if there is none, or if out of
 * memory. */
char *host_file(const known_host *h);
char *host_usual_file(const known_host *h);

#endif
