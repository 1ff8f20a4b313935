/* entry.h: the entry for a host's configuration file (mcpd --print-config, --install). */
#ifndef MCPD_ENTRY_H
#define MCPD_ENTRY_H

#include "hosts.h"
#include "modules.h"
#include "options.h"

typedef struct entry {
    const known_host *host;
    const char *name; /* of the server, for the host */
    char **words;     /* the program and its arguments */
    size_t count;
    char *url;   /* over HTTP, instead */
    bool tokens; /* it is reached with a token only */
} entry;

/* What the host of that name, which has to be one of the table, is to start, or over HTTP to reach;
 * `tokens`: only with one. False after saying why not. */
bool entry_make(const char *name, const settings *line, const settings *now, bool tokens,
                modules *m, entry *ret);
void entry_clear(entry *e);

/* A whole file that has the entry alone: JSON with one member or element in each line, or TOML.
 * NULL after saying why; free() it. */
char *entry_text(const entry *e);

/* The entry to stdout, where it belongs to stderr. 0, or 1 after saying what is wrong. */
int entry_print(const entry *e);
/* What there is to do besides, to stderr. */
void entry_say_rest(const entry *e);

/* The path made absolute without following symbolic links, so that a link keeps meaning what it
 * will point to; with ".." in it, as the file system resolves it. NULL after a message; free()
 * it. */
char *absolute_path(const char *path);

#endif
