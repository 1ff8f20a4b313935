/* hosts.h: the hosts that mcpd knows: the format of an entry in a host's configuration file, and
 * the location of that file. */
#ifndef MCPD_HOSTS_H
#define MCPD_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

/* All of the table's names, for a table of options. */
#define HOST_NAMES                                                                                 \
    "claude|claude-code|claude-desktop|codex|copilot|cursor|gemini|kiro|lmstudio|opencode|vscode|" \
    "windsurf|zed"

typedef enum host_below {
    HOST_NOWHERE, /* the name stands for several hosts */
    HOST_HERE,    /* in the present folder: the file belongs to a project */
    HOST_HOME,
    HOST_CONFIG, /* XDG_CONFIG_HOME, or ~/.config */
} host_below;

typedef struct known_host {
    const char *name, *title;
    bool toml;                         /* a table of TOML instead of a member of JSON */
    const char *key;                   /* the member that holds the servers */
    const char *type;                  /* "type" of a command; NULL: none */
    bool one_list;                     /* program and arguments are one array */
    const char *more_key, *more_value; /* one more member, JSON; NULL: none */
    bool more_of_commands;             /* which an address has not */
    const char *url; /* the member that holds an address; NULL: the host takes commands alone */
    const char *url_type;
    host_below below;
    const char *file;
    const char *variable; /* names the file's folder, where it is set; NULL: none */
    const char *note;     /* for a person; NULL: none */
} known_host;

/* NULL: there is none of that name. */
const known_host *host_find(const char *name);

/* Where the file is for this user, or usually for a text ("~/.cursor/mcp.json"). NULL: nowhere, or
 * no memory. free() it. */
char *host_file(const known_host *h);
char *host_usual_file(const known_host *h);

#endif
