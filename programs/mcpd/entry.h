/* entry.h: the entry for a host's configuration file (mcpd --print-config, --install). */
#ifndef MCPD_ENTRY_H
#define MCPD_ENTRY_H

#include "hosts.h"
#include "modules.h"
#include "options.h"

typedef struct entry {
    const known_host *host;
    const char *name; /* the server's name in the host */
    char **words;     /* the program and its arguments */
    size_t count;
    char *url;   /* over HTTP, instead of `words` */
    bool tokens; /* the server accepts only requests with a token */
} entry;

/* Makes the entry for a host of the table: the command to start or, over HTTP, the address to
 * connect to. `tokens` says that the server requires a token. Returns false after reporting the
 * error. */
bool entry_make(const char *name, const settings *line, const settings *now, bool tokens,
                modules *m, entry *ret);
void entry_clear(entry *e);

/* Adds a word to the command and takes ownership of it. Returns false if the word is NULL, or if out of
 * memory. */
bool entry_add_word(entry *e, char *word);

/* Adds how a host starts mcpd, by --via: its path, or a program with arguments that runs it (via.c). The
 * entry has the words of mcpd after it. Returns false after reporting the error. */
bool via_add(entry *e, const settings *line, modules *m);

/* Returns a complete file with only this entry: JSON with one member or element per line, or TOML.
 * The caller frees it. Returns NULL after reporting the error. */
char *entry_text(const entry *e);

/* Prints the entry to stdout, and where it belongs to stderr. Returns 0, or 1 after reporting the
 * error. */
int entry_print(const entry *e);
/* Prints the host's note and further steps for the user to stderr. */
void entry_say_rest(const entry *e);

/* Makes a path absolute without following symbolic links, so that the entry stays valid if a link
 * changes. Only a path that contains ".." is resolved by the file system. The caller frees the
 * result. Returns NULL after reporting the error. */
char *absolute_path(const char *path);

#endif
