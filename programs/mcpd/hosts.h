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
    HOST_NOWHERE, /* unknown, as the name stands for several hosts */
    HOST_HERE,    /* in the current folder: the file belongs to a project */
    HOST_HOME,
    HOST_CONFIG, /* XDG_CONFIG_HOME, or ~/.config */
} host_below;

typedef struct known_host {
    const char *name, *title;
    bool toml;                         /* the entry is a TOML table instead of a JSON member */
    const char *key;                   /* the member that contains the servers */
    const char *type;                  /* the value of "type" for commands; NULL: none */
    bool one_list;                     /* program and arguments are one array */
    const char *more_key, *more_value; /* one more member, JSON; NULL: none */
    bool more_of_commands;             /* only for commands, not for addresses */
    const char *url; /* the member for an address; NULL: the host supports only commands */
    const char *url_type;
    host_below below;
    const char *file;
    const char *variable; /* environment variable with the file's folder; NULL: none */
    const char *note;     /* shown to the user; NULL: none */
} known_host;

/* NULL: unknown. */
const known_host *host_find(const char *name);

/* The path of the file for this user, and its usual form for messages ("~/.cursor/mcp.json"). The
 * caller frees it. NULL: none, or no memory. */
char *host_file(const known_host *h);
char *host_usual_file(const known_host *h);

#endif
