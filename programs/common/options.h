/* options.h: a table that describes a command line. The parser, --help and the manual page use it.
 *
 * A program describes its options in one table of `option`. Each row contains the offset in the
 * program's settings at which the value is stored. The program interprets the values.
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
    OPTION_LIST,    /* texts: the option may be repeated */
    OPTION_COUNT,   /* uint64_t from min to max */
    OPTION_SIZE,    /* the same, with K, M, G */
    OPTION_SECONDS, /* uint64_t of milliseconds, above 0: "2.5" */
} option_kind;

#define OPTION_AUTO UINT64_MAX

typedef struct option {
    const char *name; /* without "--" */
    char letter;      /* the short form, or 0 */
    option_kind kind;
    size_t at;            /* offset of the value in the settings */
    const char *argument; /* the value's name in --help; NULL for a flag */
    const char *choices;  /* separated by '|' */
    uint64_t min, max;
    bool automatic; /* OPTION_COUNT: may be "auto", which is stored as OPTION_AUTO */
    bool unkept;    /* command_line.kept does not collect this option */
    bool line_only; /* not allowed in a configuration file */
    bool is_path;   /* a relative path in a configuration file is relative to the file's folder */
    bool is_secret; /* the path of a file with secrets: in a configuration file also a reference */
    const char *only; /* the commands that have it, separated by '|'; NULL for all commands */
    const char *help;
} option;

/* Texts in the order in which they were given; they point into argv. */
typedef struct texts {
    const char **items;
    size_t count;
} texts;

/* Returns false if out of memory. */
bool texts_add(texts *list, const char *text);
void texts_clear(texts *list);

/* Returns whether `word` is in `list`, "a|b|c". */
bool option_has_word(const char *list, const char *word);

typedef struct command_line {
    const option *table;
    size_t count;
    void *settings;
    /* Called for each argument that is not an option. Returns 0, or the exit code to stop with. */
    int (*word)(struct command_line *line, const char *word);
    /* Whether arguments after "--" belong to another program. If so, `rest` points to them.
     * Otherwise they are passed to word(), even if they begin with a hyphen. */
    bool splits;
    const char *const *rest; /* NULL-terminated; NULL if there was no "--" */
    const char *topic;       /* the command whose --help error messages mention, or NULL */
    texts *kept; /* collects all options except `unkept` ones, as they were given; may be NULL */
} command_line;

/* Fills the settings; options and words may come in any order. Returns 0, or 2 after reporting an
 * error on stderr, or the result of word() if it is not 0. Options cannot be abbreviated, so that a
 * new option breaks no old script. */
int command_line_parse(command_line *line, int argc, char **argv);

/* Sets the option without reporting errors. Returns false if the value is invalid, or if out of
 * memory. The settings keep a pointer to `value`. */
bool option_take(const option *o, void *settings, const char *value);
/* Returns the end of a message about numbers: what else the value may be. */
const char *option_more(const option *o);
/* Copies an option's value to other settings, where it replaces the old value. Texts are not
 * copied. Returns false if out of memory. */
bool option_copy(const option *o, void *to, const void *from);

/* Returns whether the option was given: its value in the settings is not zero. */
bool option_is_given(const option *o, const void *settings);
/* Returns whether the command accepts the option; if `command` is NULL, whether all commands do. */
bool option_is_for(const option *o, const char *command);

/* Returns the name in a table that is most similar to a misspelled one, or NULL. `at` returns the
 * names. */
const char *nearest_name(const char *given, size_t len,
                         const char *(*at)(size_t i, const void *user), size_t count,
                         const void *user);

/* Writes a line to stderr that mentions --help. */
void command_line_hint(const command_line *line);

#endif
