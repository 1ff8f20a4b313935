/* text.h: shows untrusted text on a terminal without letting it control the terminal, and prints
 * the program's own messages.
 *
 * A program that uses this file defines `program_name`.
 */
#ifndef PROGRAM_TEXT_H
#define PROGRAM_TEXT_H

#include <stdio.h>

#include <mcp/base.h>

extern const char *program_name;

typedef enum text_mode {
    /* One line: control characters and invisible characters are shown as escapes. */
    TEXT_LINE,
    /* Several lines: newlines and tabs are kept; joiners of letters and emoji are left out. */
    TEXT_BLOCK,
} text_mode;

/* One character as it may be shown: the character, or its escape, or nothing. */
typedef struct text_glyph {
    char bytes[16];
    size_t len, columns;
    unsigned code; /* the character; 0 if `bytes` is its escape, or if it is left out */
} text_glyph;
/* What precedes a character in a text; {0} before the first one. */
typedef struct text_joining {
    unsigned code;     /* the last character that is shown; 0 if there is none */
    unsigned left_out; /* the number of joiners after it */
} text_joining;
/* Takes one character from the beginning of *s, which must not be empty. All functions of this file
 * use this one, so a program that writes each glyph shows the same as text_put(). */
text_glyph text_next(mcp_str *s, text_mode mode, text_joining *before);

/* Writes s so that it cannot control a terminal or hide anything. Control characters become
 * escapes such as \x1b. Invisible characters, and those that change the order of a text, become
 * escapes such as \u202e (Unicode's classes Cc, Cf, Zl, Zp and Default_Ignorable_Code_Point). */
void text_put(FILE *to, mcp_str s, text_mode mode);
/* Writes the bytes as they are, for files and pipes. */
void text_put_raw(FILE *to, mcp_str s);
/* Returns whether text_put() with TEXT_LINE would write s unchanged. */
bool text_is_safe(mcp_str s);
/* Returns the width of s in columns, as written with TEXT_LINE. Combining characters have no width,
 * wide characters two columns. */
size_t text_width(mcp_str s);
/* Writes s as TEXT_LINE in exactly `width` columns (at least one): padded with spaces, or truncated
 * with "…". */
void text_put_cell(FILE *to, mcp_str s, size_t width);

/* Returns the width of the terminal that `to` writes to: COLUMNS if it is a number, otherwise the
 * terminal's own. Returns 0 if `to` is not a terminal, or its width is too small or unknown. */
size_t text_columns(FILE *to);
typedef struct text_lines {
    size_t width;  /* columns of a line; 0 means unlimited */
    size_t indent; /* columns before each line except the first */
    size_t column; /* the column where the first line begins, after output of the caller */
} text_lines;
/* Like text_put(), but wraps lines between words. A word longer than a line is broken. A line that
 * begins with spaces continues with the same indentation. Trailing spaces are dropped. Returns the
 * column after the text. */
size_t text_put_wrapped(FILE *to, mcp_str s, text_mode mode, text_lines form);

/* Writes a field of a record for scripts. Only C0 controls are escaped (\x09), so that each line is
 * a record and tabs separate fields. */
void text_put_field(FILE *to, mcp_str s);
/* Writes JSON text for a terminal. Characters that could control the terminal become \u escapes. */
void text_put_json(FILE *to, mcp_str json);

/* Writes a word of a command, quoted for bash on a single line, so that a user can run the
 * command. */
void text_put_word(FILE *to, const char *word);

/* Returns a NUL-terminated copy, which the caller frees, or NULL if out of memory. */
char *text_dup(mcp_str s);

/* Prints the output of --version: the program's name, its version, the supported revisions of the
 * protocol; if `verbose`, also `parts`: the libraries of others that the program contains, with their
 * versions. Callers pass MCP_PARTS. */
#ifndef MCP_PARTS
#define MCP_PARTS ""
#endif
void say_version(const char *parts, bool verbose);

/* say() flushes stdout and writes "name: …" to stderr, with control characters escaped. hint()
 * writes a further line with advice. */
void say(const char *format, ...) MCP_PRINTF(1, 2);
void hint(const char *format, ...) MCP_PRINTF(1, 2);

#endif
