/* options.h: a command line as a table, from which the parser, --help and the manual page are made.
 *
 * A program describes its options in one table of `option`, each with the place in its own settings
 * where the value is stored. The program interprets the values.
 */
#ifndef PROGRAM_OPTIONS_H
#define PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_TEXT,    /* const char * */
    OPTION_CHOICE,  /* const char *, one of `choices` */
    OPTION_LIST,    /* texts: may come several times */
    OPTION_COUNT,   /* uint64_t from min to max */
    OPTION_SIZE,    /* the same, with K, M, G */
    OPTION_SECONDS, /* uint64_t of milliseconds, above 0: "2.5" */
} option_kind;

typedef struct option {
    const char *name; /* without "--" */
    char letter;      /* the short form, or 0 */
    option_kind kind;
    size_t at;            /* offset in the settings */
    const char *argument; /* what --help calls its value; NULL for a flag */
    const char *choices;  /* separated by '|' */
    uint64_t min, max;
    bool unkept;    /* is not among the options that `kept` collects */
    bool line_only; /* cannot stand in a configuration file */
    bool is_path;   /* what a relative path in a configuration file is relative to is its folder */
    const char *only; /* the commands that have it, separated by '|'; NULL: all */
    const char *help;
} option;

/* Texts in the order they came; they point into argv. */
typedef struct texts {
    const char **items;
    size_t count;
} texts;

/* False: no memory. */
bool texts_add(texts *list, const char *text);
void texts_clear(texts *list);

/* Whether `word` is among the words of `list`, "a|b|c". */
bool option_has_word(const char *list, const char *word);

typedef struct command_line {
    const option *table;
    size_t count;
    void *settings;
    /* A word that is no option. 0, or the exit code to stop with. */
    int (*word)(struct command_line *line, const char *word);
    /* What stands behind "--" is not ours: `rest` leads there. Otherwise it is words, whatever they
     * begin with. */
    bool splits;
    const char *const *rest; /* NULL-terminated; NULL: there was no "--" */
    const char *topic;       /* whose --help is pointed at: the command that was read, or NULL */
    texts *kept; /* may be NULL: all options but those that are `unkept`, as they came */
} command_line;

/* Fills the settings, options and words in any order. 0; 2 after saying on stderr what is wrong; or
 * what word() returned. Options are never abbreviated, so that a new one breaks no old script. */
int command_line_parse(command_line *line, int argc, char **argv);

/* Sets it without a word; false: the value is not right, or there is no memory. The text is
 * kept. */
bool option_take(const option *o, void *settings, const char *value);
/* The same value in other settings, instead of what is there; false: no memory. Texts are
 * shared. */
bool option_copy(const option *o, void *to, const void *from);

/* Whether the option was given: its place in the settings is not zero. */
bool option_is_given(const option *o, const void *settings);
/* Whether the command has it; NULL: whether all have it. */
bool option_is_for(const option *o, const char *command);

/* Of a table that somebody misspelled: the one that was probably meant, or NULL. `at` gives the
 * name. */
const char *nearest_name(const char *given, size_t len,
                         const char *(*at)(size_t i, const void *user), size_t count,
                         const void *user);

/* Points at --help, on stderr. */
void command_line_hint(const command_line *line);

#endif
