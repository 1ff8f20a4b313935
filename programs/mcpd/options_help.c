/* options_help.c: --help, the completion scripts and the manual page (mcpd --help-man >
 * man/mcpd.1), made of the table of options and the texts here.
 */
#include <common/completion.h>
#include <common/help.h>
#include <files.h>
#include <mcp/base.h>

#include "options.h"

/* ---- --help ---------------------------------------------------------------------------------- */

static const char summary[] =
    "Serve folders, git repositories and databases as MCP resources, over stdin and\n"
    "stdout or over HTTP.";

void options_usage(FILE *to)
{
    fprintf(to, "Usage: mcpd [OPTIONS] SOURCE...\n");
}

void options_help(FILE *to)
{
    size_t count;
    const option *table = options_table(&count);
    options_usage(to);
    fprintf(to,
            "\n%s\nA SOURCE is a folder or a file, or NAME:WHAT for a module:\n"
            "  git:PATH               a repository, at all its revisions\n"
            "  sqlite:FILE            a SQLite database\n"
            "  postgres:CONNINFO      a PostgreSQL database: 'postgres:dbname=shop user=me'\n"
            "  mcp:COMMAND            another MCP server; also mcp:https://HOST/PATH\n"
            "The options of a source follow it, quoted for the shell: 'git:src?name=app'.\n"
            "'notes?write=*.md' lets the host that starts mcpd change files of a folder.\n"
            "--list-modules lists them. '--' ends the options of mcpd.\n\nOptions:\n",
            summary);
    help_options(to, table, count, NULL);
    fprintf(to, "\nExamples:\n"
                "  mcpd ~/project\n"
                "  mcpd --exclude '*.log' ~/project ~/notes/todo.md\n"
                "  mcpd --http 127.0.0.1:8642 ~/project\n"
                "  mcpd --prompts ~/prompts ~/project\n"
                "  mcpd sqlite:shop.db git:src ~/project\n"
                "  mcpd --print-config claude ~/project\n"
                "  mcpd --install cursor ~/project\n");
}

void options_completion(FILE *to, const char *shell)
{
    completion all = {0};
    all.table = options_table(&all.count);
    completion_print(to, &all, shell);
}

/* ---- the manual page ------------------------------------------------------------------------- */

#define MAN_PART(kind, name, title, about, parameters)      ".TP\n.BI " parameters "\n" about "\n"
#define MAN_FIRST(kind, member, name, value, bounds, about) "?" name "= " value
#define MAN_NEXT(kind, member, name, value, bounds, about)  " &" name "= " value

#define MAN_PARTS COMMON_PARTS(MAN_PART, MAN_FIRST, MAN_NEXT)

static const char *const man_before =
    ".SH NAME\n"
    "mcpd \\- serve folders, git repositories and databases to MCP hosts\n"
    ".SH SYNOPSIS\n"
    ".B mcpd\n"
    ".RI [ options ] \" source\" ...\n"
    ".SH DESCRIPTION\n"
    ".B mcpd\n"
    "is a server for the Model Context Protocol (MCP). It offers every folder and file below "
    "its\n"
    "sources as a resource with a\n"
    ".B file://\n"
    "URI. By default it uses standard input and output, and a host (an editor, a chat "
    "program) starts it;\n"
    ".B \\-\\-print\\-config\n"
    "prints the entry for that host's configuration. With\n"
    ".B \\-\\-http\n"
    "it serves any number of clients over Streamable HTTP instead. On SIGTERM and SIGINT it "
    "finishes the\n"
    "requests in flight first.\n"
    ".PP\n"
    "A source is a folder or a single file. Relative paths and symbolic links are allowed, "
    "and there may be\n"
    "several sources. Nothing outside the sources is ever read: a symbolic link inside a "
    "source is not\n"
    "followed if it leads out of it. FIFOs, sockets and devices are neither listed nor "
    "opened. Hidden files\n"
    "and files that git would ignore are left out unless an option says otherwise.\n"
    ".PP\n"
    ".IB FOLDER ?write= GLOB\n"
    "lets the host that starts\n"
    ".B mcpd\n"
    "create, change, move and delete what GLOB matches below the folder\n"
    ".RB ( ** \n"
    "for everything). It may be repeated:\n"
    ".BR \"'notes?write=*.md&write=drafts'\" .\n"
    "Nobody else may, and without it nobody may change anything, unless a rule of the "
    "configuration\n"
    "says so.\n"
    ".PP\n"
    "A source\n"
    ".IR NAME : WHAT\n"
    "belongs to the module\n"
    ".IR NAME ,\n"
    "which is loaded for it:\n"
    ".TP\n"
    ".BI git: PATH\n"
    "a repository, at any of its revisions: files, folders, commits, history, differences, "
    "blame\n"
    ".TP\n"
    ".BI sqlite: FILE\n"
    "a SQLite database: its schema, tables and rows, and a read-only tool for queries\n"
    ".TP\n"
    ".BI postgres: CONNINFO\n"
    "the same for a PostgreSQL database. CONNINFO is a libpq connection string\n"
    "(postgres:dbname=shop user=reader, postgres://reader@db.example.org/shop). Keep "
    "passwords in\n"
    "libpq's usual places, such as\n"
    ".IR \\(ti/.pgpass .\n"
    ".TP\n"
    ".BI mcp: COMMAND\n"
    "another MCP server: a program that speaks MCP on its stdin and stdout, with its arguments.\n"
    ".BI mcp:https:// URL\n"
    "and\n"
    ".BI mcp:unix: PATH\n"
    "are servers over HTTP. Their URIs get the prefix\n"
    ".BI mcp+ NAME : \\fR,\n"
    "their tools and prompts\n"
    ".IB NAME _\\fR.\n"
    "This module is part of the program.\n"
    ".PP\n"
    "The options of such a source follow it like the query of a URI, and have to be quoted "
    "in a shell:\n"
    ".B \\(aqsqlite:shop.db?name=shop&max_rows=50\\(aq\\fR;\n"
    ".B name\n"
    "is the name of the source in URIs.\n"
    ".B \\-\\-list\\-modules\n"
    "lists the modules and their options. To serve a file whose name has this form, write\n"
    ".BI ./ NAME : WHAT\\fR.\n"
    ".PP\n"
    "To read a part of a file or folder, add a query to its URI:\n" MAN_PARTS ".SH OPTIONS\n"
    "Options may precede or follow the sources;\n"
    ".B \\-\\-\n"
    "ends them. No source is needed with\n"
    ".BR \\-\\-prompts .\n";

static const char *const man_after =
    ".SH PROMPTS\n"
    "Each file\n"
    ".IB NAME .md\n"
    "in the folder of\n"
    ".B \\-\\-prompts\n"
    "is a prompt. It may begin with a front matter between two lines\n"
    ".BR \\-\\-\\- ,\n"
    "with the keys\n"
    ".BR name ,\n"
    ".BR title ,\n"
    ".BR description ,\n"
    ".B icons\n"
    "and\n"
    ".BR arguments .\n"
    "The latter is a list with\n"
    ".BR name ,\n"
    ".BR title ,\n"
    ".BR description ,\n"
    ".B required\n"
    "and\n"
    ".B complete\n"
    "(values for completion). In the text,\n"
    ".B {{NAME}}\n"
    "is replaced by an argument, and\n"
    ".B \\e{{\n"
    "by two braces. A line\n"
    ".B <!\\-\\- assistant \\-\\->\n"
    "or\n"
    ".B <!\\-\\- user \\-\\->\n"
    "begins a message of that role, and a line\n"
    ".B {{resource: URI}}\n"
    "embeds a resource of this server. Errors in a file are reported on stderr, with the "
    "line; the prompt\n"
    "keeps its last valid version.\n"
    ".SH CONFIGURATION\n"
    "The file of\n"
    ".B \\-\\-config\n"
    "is JSON in which comments and trailing commas are allowed. Its keys are the options "
    "above, and\n"
    ".BR sources ,\n"
    ".B tokens\n"
    "(bearer tokens by the name of the principal),\n"
    ".B access\n"
    "(access rules),\n"
    ".B rates\n"
    "(how often callers may call),\n"
    ".B annotations\n"
    "(annotations of resources) and\n"
    ".B tools\n"
    "(programs that are offered as tools).\n"
    ".B \\-\\-help\\-schema\n"
    "prints the schema with all of them. Paths are relative to the folder of the file. The "
    "command\n"
    "line takes precedence: its lists and sources replace those of the file.\n"
    ".PP\n"
    "With\n"
    ".BR \\-\\-config ,\n"
    "SIGHUP reloads the file, also for a server on stdin and stdout. If the file is invalid, "
    "nothing changes\n"
    "and the errors are written to stderr. Changes to sources, access, rates, annotations, tools, "
    "the files of\n"
    ".BR \\-\\-prompts ,\n"
    "tokens and the log take effect at once; all other changes require a restart. With\n"
    ".BR \\-\\-http ,\n"
    "SIGHUP also reloads the files of\n"
    ".BR \\-\\-prompts ,\n"
    ".B \\-\\-token\\-file\n"
    "and\n"
    ".BR \\-\\-tls\\-cert ,\n"
    "with or without\n"
    ".BR \\-\\-config .\n"
    "If the new certificate cannot be used, the old one stays in force.\n"
    ".PP\n"
    "With\n"
    ".BR \\-\\-http ,\n"
    "SIGUSR2 starts the program that has the name of this one now, which takes over the addresses. "
    "When it\n"
    "serves, this process answers the requests that it has and ends. If it does not start, this "
    "process\n"
    "continues.\n"
    ".SH EXIT STATUS\n"
    ".TP\n"
    ".B 0\n"
    "The host closed standard input or exited (unless under\n"
    ".BR nohup (1)),\n"
    "or a signal (SIGTERM, SIGINT; SIGHUP without \\-\\-config and \\-\\-http) ended the "
    "program.\n"
    ".TP\n"
    ".B 1\n"
    "A source does not exist or cannot be read, the configuration is wrong, or input or "
    "output failed.\n"
    ".TP\n"
    ".B 2\n"
    "The command line is wrong.\n"
    ".SH EXAMPLES\n"
    ".TP\n"
    ".B mcpd ~/project\n"
    "Serve one folder.\n"
    ".TP\n"
    ".B mcpd \\(ti/project git:\\(ti/project \\(aqsqlite:shop.db?name=shop\\(aq "
    "\\(aqpostgres:dbname=orders user=reader\\(aq\n"
    "Serve a folder, its repository and two databases.\n"
    ".TP\n"
    ".B mcpd \\-\\-config mcpd.json \\-\\-check\\-config\n"
    "Report errors in a configuration.\n"
    ".TP\n"
    ".B mcpd \\-\\-print\\-config vscode \\-\\-exclude '*.log' ~/project\n"
    "Print the entry for the file\n"
    ".I .vscode/mcp.json\n"
    ".SH SEE ALSO\n"
    ".BR mcpctl (1)\n";

void options_man(FILE *to)
{
    size_t count;
    const option *table = options_table(&count);
    fprintf(to, ".TH MCPD 1 \"\" \"libmcp " MCP_VERSION_STRING "\" \"User Commands\"\n");
    fputs(man_before, to);
    man_options(to, table, count);
    fputs(man_after, to);
}
