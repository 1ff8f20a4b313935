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
    /* One line: control characters and invisible characters are shown as escapes. */
    TEXT_LINE,
    /* Several lines: newlines and tabs are kept; joiners of letters and emoji are left out. */
    TEXT_BLOCK,
} text_mode;

/* Writes s so that it cannot control a terminal or hide anything. Control characters become \x1b;
 * invisible characters and those that change the order of a text become \u202e (Unicode's classes
 * Cc, Cf, Zl, Zp and Default_Ignorable_Code_Point). */
void text_put(FILE *to, mcp_str s, text_mode mode);
/* Writes the bytes as they are, for files and pipes. */
void text_put_raw(FILE *to, mcp_str s);
/* Whether text_put() with TEXT_LINE would write it unchanged. */
bool text_is_safe(mcp_str s);
/* Its width in columns as TEXT_LINE: combining characters have none, wide characters two. */
size_t text_width(mcp_str s);
/* Writes the same in exactly `width` columns (at least one): padded with spaces, or cut with
 * "…". */
void text_put_cell(FILE *to, mcp_str s, size_t width);

/* The width of the terminal that `to` writes to: COLUMNS if it is a number, otherwise the
 * terminal's own. 0: not a terminal, too narrow, or unknown. */
size_t text_columns(FILE *to);
typedef struct text_lines {
    size_t width;  /* columns of a line; 0: unlimited */
    size_t indent; /* columns before each line except the first */
    size_t column; /* where the first line begins, after the caller's output */
} text_lines;
/* As text_put(), with lines broken between words. A word longer than a line is broken; a line that
 * begins with spaces continues with the same indentation. Trailing spaces are dropped. Returns the
 * column after the text. */
size_t text_put_wrapped(FILE *to, mcp_str s, text_mode mode, text_lines form);

/* Writes a field of a record for scripts. Only C0 controls are escaped (\x09), so that each line is
 * a record and tabs separate fields. */
void text_put_field(FILE *to, mcp_str s);
/* Writes JSON text for a terminal: what could control it becomes \u escapes. */
void text_put_json(FILE *to, mcp_str json);

/* Writes a word of a command, quoted for bash on a single line, so that a user can run the
 * command. */
void text_put_word(FILE *to, const char *word);

/* A NUL-terminated copy of a view (JSON text); NULL: no memory. */
char *text_dup(mcp_str s);

/* --version: the program's name, its version, and the supported revisions of the protocol. */
void say_version(void);

/* Writes "name: …" to stderr, made safe, after flushing stdout; and the line after it with
 * advice. */
void say(const char *format, ...) MCP_PRINTF(1, 2);
void hint(const char *format, ...) MCP_PRINTF(1, 2);

#endif
