/* options.h: the command line of mcpd as one table, from which parsing, --help and the man page are
 * made. What an option means is main.c's business; nothing here looks at the file system.
 */
#ifndef MCPD_OPTIONS_H
#define MCPD_OPTIONS_H

#include <common/options.h>

typedef struct settings {
    bool hidden, no_ignore;
    texts include, exclude;
    uint64_t page_size, max_read, watch_budget;
    bool resource_tools, no_watch, no_subscribe, no_list_changed;
    const char *name, *instructions, *log_level, *log_format, *print_config;
    texts http, allow_host, allow_origin;
    bool stdio;
    const char *token_file, *tls_cert, *tls_key;
    uint64_t max_connections, max_body, heartbeat;
    bool version, help, help_man;

    texts modules;
    const char *prompts;

    texts sources; /* all of them */
    texts files;   /* those of them that are files and folders, not a module's */
    texts kept;    /* options as they came, for the configuration of a host */
} settings;

/* Fills *ret, which options_clear() empties. 0; 2 after saying on stderr what is wrong. */
int options_parse(int argc, char **argv, settings *ret);
void options_clear(settings *s);

/* What is served, for a line to a person: the first source, or the folder of prompts. NULL: nothing. */
const char *options_what(const settings *s);

void options_usage(FILE *to);
void options_help(FILE *to);
void options_man(FILE *to);

#endif
