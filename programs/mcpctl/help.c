/* help.c: --help and the manual page (mcpctl --help-man > man/mcpctl.1), both made of the tables of
 * commands, options and exit codes.
 */
#include <string.h>

#include "mcpctl.h"

static const char summary[] = "Use the resources of an MCP server from the command line.";
static const char explanation[] = "The words after -- are the command line of the server. It is "
                                  "started without a shell, spoken to "
                                  "over its stdin and stdout, and ended afterwards.";

static const struct {
    int code;
    const char *text;
} exits[] = {
#define EXIT_ROW(name, number, text) {number, text},
    EXITS(EXIT_ROW)
#undef EXIT_ROW
};

static const char *const examples[] = {
    "mcpctl info -- mcpd ~/project",
    "mcpctl ls --long -- mcpd ~/project",
    "mcpctl read file:///home/me/project/README.md -- mcpd ~/project",
    "mcpctl ls --json -- npx -y @modelcontextprotocol/server-everything",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- --help ----------------------------------------------------------------------------------------- */

/* Words in lines of at most 78 columns, each but the first begun by `indent` spaces. */
static void wrap(FILE *to, const char *text, int indent, int column)
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

static void usage(FILE *to, const command *c)
{
    fprintf(to, "Usage: mcpctl %s [OPTIONS]%s%s -- SERVER-COMMAND [ARGS...]\n",
            c ? c->name : "COMMAND", c && *c->args ? " " : "", c ? c->args : " [ARGS]");
}

static void help_options(FILE *to, const command *c)
{
    enum { COLUMN = 24 };
    for (size_t i = 0; i < n_options; i++) {
        const option *o = &options[i];
        if (c ? !option_is_for(o, c) : o->only != NULL)
            continue;
        char left[64], letter[8] = "";
        if (o->letter)
            snprintf(letter, sizeof(letter), ", -%c", o->letter);
        snprintf(left, sizeof(left), "--%s%s%s%s", o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "", letter);
        fprintf(to, "  %-*s", COLUMN - 2, left);
        wrap(to, o->help, COLUMN, COLUMN);
    }
}

void help_print(FILE *to, const command *c)
{
    usage(to, c);
    fprintf(to, "\n");
    wrap(to, c ? c->details : summary, 0, 0);
    if (!c) {
        wrap(to, explanation, 0, 0);
        fprintf(to, "\nCommands:\n");
        for (size_t i = 0; i < n_commands; i++)
            fprintf(to, "  %-20s  %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(to, c ? "\nOptions:\n" : "\nOptions of all commands:\n");
    help_options(to, c);
    if (c)
        return;
    fprintf(to, "\nExit status:\n");
    for (size_t i = 0; i < COUNT(exits); i++) {
        fprintf(to, "  %-22d", exits[i].code);
        wrap(to, exits[i].text, 24, 24);
    }
    fprintf(to, "\nExamples:\n");
    for (size_t i = 0; i < COUNT(examples); i++)
        fprintf(to, "  %s\n", examples[i]);
}

/* ---- the manual page ---------------------------------------------------------------------------------- */

/* Text as roff reads it: a hyphen is a minus, a backslash a backslash; no line begins with a dot or a
 * quote. A newline begins a paragraph. */
static void roff(FILE *to, const char *text)
{
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

static void roff_line(FILE *to, const char *text)
{
    roff(to, text);
    fputc('\n', to);
}

static void man_options(FILE *to)
{
    for (size_t i = 0; i < n_options; i++) {
        const option *o = &options[i];
        fputs(".TP\n\\fB\\-\\-", to);
        roff(to, o->name);
        fputs("\\fR", to);
        if (o->argument)
            fprintf(to, " \\fI%s\\fR", o->argument);
        if (o->letter)
            fprintf(to, ", \\fB\\-%c\\fR", o->letter);
        fputc('\n', to);
        roff(to, o->help);
        if (o->only)
            fprintf(to, " Only of \\fB%s\\fR.", o->only);
        fputc('\n', to);
    }
}

void help_man(FILE *to)
{
    fprintf(to, ".\\\" Made by mcpctl --help-man.\n.TH MCPCTL 1 \"\" \"mcpctl %s\"\n",
            mcp_version());
    fputs(".SH NAME\nmcpctl \\- ", to);
    roff_line(to, "use the resources of an MCP server from the command line");
    fputs(".SH SYNOPSIS\n\\fBmcpctl\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGS\\fR] "
          "\\fB\\-\\-\\fR "
          "\\fISERVER\\-COMMAND\\fR [\\fIARGS\\fR...]\n.SH DESCRIPTION\n",
          to);
    roff_line(to, explanation);
    fputs(".SH COMMANDS\n", to);
    for (size_t i = 0; i < n_commands; i++) {
        fprintf(to, ".SS %s%s%s\n", commands[i].name, *commands[i].args ? " " : "",
                commands[i].args);
        roff_line(to, commands[i].summary);
        fputs(".PP\n", to);
        roff_line(to, commands[i].details);
    }
    fputs(".SH OPTIONS\n", to);
    man_options(to);
    fputs(".SH EXIT STATUS\n", to);
    for (size_t i = 0; i < COUNT(exits); i++) {
        fprintf(to, ".TP\n%d\n", exits[i].code);
        roff_line(to, exits[i].text);
    }
    fputs(".PP\n", to);
    roff_line(to, "A signal that ends mcpctl gives 128 and its number.");
    fputs(".SH EXAMPLES\n.nf\n", to);
    for (size_t i = 0; i < COUNT(examples); i++)
        roff_line(to, examples[i]);
    fputs(".fi\n.SH SEE ALSO\n\\fBmcpd\\fR(1)\n", to);
}
