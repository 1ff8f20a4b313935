/* help.c: --help and the manual page (mcpctl --help-man > man/mcpctl.1), both made of the tables of
 * commands, options and exit codes.
 */
#include <common/help.h>

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

static void usage(FILE *to, const command *c)
{
    fprintf(to, "Usage: mcpctl %s [OPTIONS]%s%s -- SERVER-COMMAND [ARGS...]\n",
            c ? c->name : "COMMAND", c && *c->args ? " " : "", c ? c->args : " [ARGS]");
}

void help_print(FILE *to, const command *c)
{
    usage(to, c);
    fprintf(to, "\n");
    help_wrap(to, c ? c->details : summary, 0, 0);
    if (!c) {
        help_wrap(to, explanation, 0, 0);
        fprintf(to, "\nCommands:\n");
        for (size_t i = 0; i < n_commands; i++)
            help_entry(to, commands[i].name, commands[i].summary, 25);
    }
    fprintf(to, c ? "\nOptions:\n" : "\nOptions of all commands:\n");
    help_options(to, options, n_options, c ? c->name : NULL);
    if (c)
        return;
    fprintf(to, "\nExit status:\n");
    for (size_t i = 0; i < COUNT(exits); i++) {
        char code[16];
        snprintf(code, sizeof(code), "%d", exits[i].code);
        help_entry(to, code, exits[i].text, 25);
    }
    fprintf(to, "\nExamples:\n");
    for (size_t i = 0; i < COUNT(examples); i++)
        fprintf(to, "  %s\n", examples[i]);
}

/* ---- the manual page ---------------------------------------------------------------------------------- */

void help_man(FILE *to)
{
    fprintf(to, ".\\\" Made by mcpctl --help-man.\n.TH MCPCTL 1 \"\" \"mcpctl %s\"\n",
            mcp_version());
    fputs(".SH NAME\nmcpctl \\- ", to);
    man_line(to, "use the resources of an MCP server from the command line");
    fputs(".SH SYNOPSIS\n\\fBmcpctl\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGS\\fR] "
          "\\fB\\-\\-\\fR "
          "\\fISERVER\\-COMMAND\\fR [\\fIARGS\\fR...]\n.SH DESCRIPTION\n",
          to);
    man_line(to, explanation);
    fputs(".SH COMMANDS\n", to);
    for (size_t i = 0; i < n_commands; i++) {
        fprintf(to, ".SS %s%s%s\n", commands[i].name, *commands[i].args ? " " : "",
                commands[i].args);
        man_line(to, commands[i].summary);
        fputs(".PP\n", to);
        man_line(to, commands[i].details);
    }
    fputs(".SH OPTIONS\n", to);
    man_options(to, options, n_options);
    fputs(".SH EXIT STATUS\n", to);
    for (size_t i = 0; i < COUNT(exits); i++) {
        fprintf(to, ".TP\n%d\n", exits[i].code);
        man_line(to, exits[i].text);
    }
    fputs(".PP\n", to);
    man_line(to, "A signal that ends mcpctl gives 128 and its number.");
    fputs(".SH EXAMPLES\n.nf\n", to);
    for (size_t i = 0; i < COUNT(examples); i++)
        man_line(to, examples[i]);
    fputs(".fi\n.SH SEE ALSO\n\\fBmcpd\\fR(1)\n", to);
}
