/* help.c: --help and the manual page, generated from the table of options. */
#include "help.h"

#include <string.h>

void help_wrap(FILE *to, const char *text, int indent, int column)
{
    while (*text) {
        int len = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + len > 78)
            column = fprintf(to, "\n%*s", indent, "") - 1;
        else if (column > indent)
            column += fprintf(to, " ");
        column += fprintf(to, "%.*s", len, text);
        text += len;
        if (*text == '\n' && text[1])
            column = fprintf(to, "\n%*s", indent, "") - 1;
        text += *text != 0;
    }
    fprintf(to, "\n");
}

void help_entry(FILE *to, const char *left, const char *text, int column)
{
    fprintf(to, "  %-*s", column - 2, left);
    if (2 + (int)strlen(left) >= column) /* there has to be a blank between the two */
        fprintf(to, "\n%*s", column, "");
    help_wrap(to, text, column, column);
}

/* Writes the help text of an option to `buf`, and returns it. */
static const char *text_of(const option *o, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s", o->help, o->kind == OPTION_LIST ? " May be repeated." : "");
    return buf;
}

void help_option(FILE *to, const option *o)
{
    enum { COLUMN = 25 };
    char left[64], letter[8] = "", text[1024];
    if (o->letter)
        snprintf(letter, sizeof(letter), ", -%c", o->letter);
    snprintf(left, sizeof(left), "--%s%s%s%s", o->name, o->argument ? " " : "",
             o->argument ? o->argument : "", letter);
    help_entry(to, left, text_of(o, text, sizeof(text)), COLUMN);
}

void help_options(FILE *to, const option *table, size_t count, const char *command)
{
    for (size_t i = 0; i < count; i++)
        if (option_is_for(&table[i], command))
            help_option(to, &table[i]);
}

/* ---- the manual page ------------------------------------------------------------------------- */

/* Writes text escaped for roff: hyphens become minus signs, and a backslash or a dot at the
 * beginning has no special meaning. A newline starts a paragraph. */
static void put_man(FILE *to, const char *text)
{
    if (*text == '.')
        fputs("\\&", to);
    for (; *text; text++) {
        switch (*text) {
        case '-': fputs("\\-", to); break;
        case '\\': fputs("\\e", to); break;
        case '\'': fputs("\\(aq", to); break;
        case '~': fputs("\\(ti", to); break;
        case '\n': fputs("\n.PP\n", to); break;
        default: fputc(*text, to);
        }
    }
}

void man_line(FILE *to, const char *text)
{
    put_man(to, text);
    fputc('\n', to);
}

/* Writes " Only for a, b and c." */
static void man_commands(FILE *to, const char *only)
{
    const char *before = " Only for ";
    while (*only) {
        int len = (int)strcspn(only, "|");
        fprintf(to, "%s\\fB%.*s\\fR", before, len, only);
        only += len;
        only += *only == '|';
        before = strchr(only, '|') ? ", " : " and ";
    }
    fputc('.', to);
}

void man_options(FILE *to, const option *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const option *o = &table[i];
        char text[1024];
        fputs(".TP\n.B \\-\\-", to);
        put_man(to, o->name);
        if (o->letter)
            fprintf(to, "\\fR, \\fB\\-%c", o->letter);
        if (o->argument)
            fprintf(to, " \\fI%s\\fR", o->argument);
        fputc('\n', to);
        put_man(to, text_of(o, text, sizeof(text)));
        if (o->only)
            man_commands(to, o->only);
        fputc('\n', to);
    }
}
