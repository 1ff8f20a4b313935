/* text.h: shows untrusted text on a terminal without letting it control the terminal; and the
 * program's own messages.
 *
 * A program that uses it defines `program_name`.
 */
#ifndef PROGRAM_TEXT_H
#define PROGRAM_TEXT_H

#include <stdio.h>

#include <mcp/base.h>

extern const char program_name[];

typedef enum text_mode {
    /* Of one line: every control character is shown as an escape, and every invisible one. */
    TEXT_LINE,
    /* Of several lines: newlines and tabs stay; what only joins letters or emoji is left out. */
    TEXT_BLOCK,
} text_mode;

/* Writes s so that it does nothing to a terminal and hides nothing: controls come as \x1b, and so
 * does what is invisible or changes the order of a text, as \u202e (Unicode's classes Cc, Cf, Zl,
 * Zp and all that is Default_Ignorable). */
void text_put(FILE *to, mcp_str s, text_mode mode);
/* Writes the bytes as they are, for files and pipes. */
void text_put_raw(FILE *to, mcp_str s);
/* Whether text_put() writes it in one line as it is. */
bool text_is_safe(mcp_str s);
/* How many columns that takes in one line: none for what combines, two for what is wide. */
size_t text_width(mcp_str s);
/* The same in at most `width` columns, of which there is one at least, filled up with spaces; cut
 * with "…". */
void text_put_cell(FILE *to, mcp_str s, size_t width);

/* How wide the terminal is that `to` writes to: COLUMNS where that is a number, or what the
 * terminal says. 0: it is no terminal, or a narrow one, or not known. */
size_t text_columns(FILE *to);
typedef struct text_lines {
    size_t width;  /* columns of a line; 0: it may be as long as it is */
    size_t indent; /* columns in front of every line but the first */
    size_t column; /* where the first one begins: what the caller wrote before */
} text_lines;
/* As text_put(), in lines that end between words. A word that is longer than a line is cut; a line
 * that begins with spaces goes on behind as many. Spaces at the end of a line are left out. Returns
 * the column behind the text. */
size_t text_put_wrapped(FILE *to, mcp_str s, text_mode mode, text_lines form);

/* A field of a line that a script reads: only C0 controls are shown as \x09, so that a line is a
 * record and a tab separates. */
void text_put_field(FILE *to, mcp_str s);
/* JSON text for a terminal: what could control it is written as \u escapes. */
void text_put_json(FILE *to, mcp_str json);

/* A word of a command as bash would read it, so that the line can be tried by hand; on one line
 * whatever is in it. */
void text_put_word(FILE *to, const char *word);

/* A NUL-terminated copy of a view (JSON text); NULL: no memory. */
char *text_dup(mcp_str s);

/* --version: the program's name, its version, and the revisions of the protocol that it speaks. */
void say_version(void);

/* "name: …" on stderr, made safe, after what stdout has; and the line after it that says what to
 * do. */
void say(const char *format, ...) MCP_PRINTF(1, 2);
void hint(const char *format, ...) MCP_PRINTF(1, 2);

#endif
