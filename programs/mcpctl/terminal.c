/* terminal.c: prompts on the terminal. Lines are read byte by byte, so that no input stays in a
 * buffer and is lost for other readers (the shell's editor, a command that reads stdin).
 */
#define _GNU_SOURCE
#include "terminal.h"

#include <ctype.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

bool terminal_can_ask(void)
{
    return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

/* Returns false if the input ended before a newline, or after a signal. */
static bool read_line(char **line, size_t *len)
{
    enum { LONGEST = 1 << 20 };
    size_t room = 0;
    for (;;) {
        if (*len + 1 >= room) {
            char *grown = room < LONGEST ? realloc(*line, room = room ? room * 2 : 128) : NULL;
            if (!grown)
                return false;
            *line = grown;
        }
        ssize_t n = read(STDIN_FILENO, *line + *len, 1);
        if (n != 1 || (*line)[*len] == '\n') {
            (*line)[*len] = 0;
            return n == 1;
        }
        ++*len;
    }
}

char *terminal_ask(const char *prompt, bool secret)
{
    struct termios old;
    char *line = NULL;
    size_t len = 0;
    bool hidden = secret && tcgetattr(STDIN_FILENO, &old) == 0;
    fflush(stdout);
    text_put(stderr, mcp_str_from(prompt), TEXT_LINE);
    if (hidden) {
        struct termios off = old;
        off.c_lflag &= (tcflag_t)~ECHO;
        tcsetattr(STDIN_FILENO, TCSANOW, &off);
    }
    bool ok = read_line(&line, &len);
    if (hidden)
        tcsetattr(STDIN_FILENO, TCSANOW, &old);
    if (hidden || !ok)
        fputc('\n', stderr);
    if (ok)
        return line;
    free(line);
    return NULL;
}

char terminal_choose(const char *question, const char *letters)
{
    for (;;) {
        char *line = terminal_ask(question, false);
        char letter = line ? (char)tolower((unsigned char)line[0]) : 0;
        bool ended = !line;
        free(line);
        if (ended || (letter && strchr(letters, letter)))
            return letter;
    }
}

bool terminal_ask_yes(const char *question)
{
    char *line = terminal_ask(question, false);
    bool yes = line && (line[0] == 'y' || line[0] == 'Y');
    free(line);
    return yes;
}

void terminal_show(mcp_str text, int indent)
{
    size_t column = (size_t)indent;
    if (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    if (!text.len)
        return;
    fprintf(stderr, "%*s", indent, "");
    text_put_wrapped(
        stderr, text, TEXT_BLOCK,
        (text_lines){.width = text_columns(stderr), .indent = column, .column = column});
    fputc('\n', stderr);
}

/* Writes a line: with `tabs`, these as they are. */
static void show_line(mcp_str line, bool tabs)
{
    for (const char *tab; tabs && (tab = memchr(line.ptr, '\t', line.len)) != NULL;) {
        size_t len = (size_t)(tab - line.ptr);
        text_put(stderr, (mcp_str){line.ptr, len}, TEXT_LINE);
        fputc('\t', stderr);
        line = (mcp_str){tab + 1, line.len - len - 1};
    }
    text_put(stderr, line, TEXT_LINE);
    fputc('\n', stderr);
}

static void show_lines(mcp_str text, int indent, bool tabs)
{
    while (text.len) {
        const char *newline = memchr(text.ptr, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.ptr) : text.len;
        fprintf(stderr, "%*s", indent, "");
        show_line((mcp_str){text.ptr, len}, tabs);
        len += newline != NULL;
        text = (mcp_str){text.ptr + len, text.len - len};
    }
}

void terminal_show_exactly(mcp_str text, int indent)
{
    show_lines(text, indent, false);
}

void terminal_show_lines(mcp_str text, int indent)
{
    show_lines(text, indent, true);
}
