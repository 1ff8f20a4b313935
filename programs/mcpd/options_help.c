/* options_help.c: --help, the completion scripts and the manual page (mcpd --help-man > man/mcpd.1), made of the table of
 * options and the texts here.
 */
#include <common/completion.h>
#include <common/help.h>
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
            "with options behind it, quoted for the shell: 'git:src?name=app'; --list-modules\n"
            "says which there are. '--' ends the options of mcpd.\n\nOptions:\n",
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

static const char *const man_before =
    ".SH NAME\n"
    "mcpd \\- serve folders, git repositories and databases to MCP hosts\n"
    ".SH SYNOPSIS\n"
    ".B mcpd\n"
    ".RI [ options ] \" source\" ...\n"
    ".SH DESCRIPTION\n"
    ".B mcpd\n"
    "is a server for the Model Context Protocol (MCP). It offers every folder and file below its\n"
    "sources as a resource with a\n"
    ".B file://\n"
    "URI, over standard input and output, so that a host (an editor, a chat program) starts it "
    "itself:\n"
    ".B \\-\\-print\\-config\n"
    "prints what to put into that host's configuration. With\n"
    ".B \\-\\-http\n"
    "it serves any number of clients over Streamable HTTP instead; SIGTERM and SIGINT let what is "
    "in\n"
    "flight finish first.\n"
    ".PP\n"
    "A source is a folder or a single file; relative paths and symbolic links are allowed, and "
    "several\n"
    "sources too. Nothing outside of them is ever read: a symbolic link inside of a source that "
    "leads\n"
    "out of it is not followed. FIFOs, sockets and devices are neither listed nor opened. Hidden "
    "files\n"
    "and what git would ignore are left out unless an option says otherwise.\n"
    ".PP\n"
    "A source\n"
    ".IR NAME : WHAT\n"
    "belongs to the module\n"
    ".IR NAME ,\n"
    "which is loaded for it:\n"
    ".TP\n"
    ".BI git: PATH\n"
    "a repository, at any of its revisions: files, folders, commits, history, differences, blame\n"
    ".TP\n"
    ".BI sqlite: FILE\n"
    "a SQLite database: its schema, tables and rows, and a read-only tool for queries\n"
    ".TP\n"
    ".BI postgres: CONNINFO\n"
    "the same of a PostgreSQL database; what follows is libpq's connection string\n"
    "(postgres:dbname=shop user=reader, postgres://reader@db.example.org/shop). Passwords belong "
    "into\n"
    "libpq's own places, such as\n"
    ".IR \\(ti/.pgpass .\n"
    ".PP\n"
    "Options of such a source stand behind it like the query of a URI, and have to be quoted in a "
    "shell:\n"
    ".B \\(aqsqlite:shop.db?name=shop&max_rows=50\\(aq\\fR;\n"
    ".B name\n"
    "is what it is called in URIs.\n"
    ".B \\-\\-list\\-modules\n"
    "says which modules there are and what options they have. A file whose name looks like that "
    "is\n"
    "written\n"
    ".BI ./ NAME : WHAT\\fR.\n"
    ".PP\n"
    "Parts of large files are read by adding a query to the URI:\n"
    ".TP\n"
    ".B ?offset=0&length=65536\n"
    "bytes\n"
    ".TP\n"
    ".B ?line=1&lines=100\n"
    "lines, counted from 1\n"
    ".TP\n"
    ".B ?tail=100\n"
    "the last lines\n"
    ".TP\n"
    ".B ?depth=2&limit=1000\n"
    "of a folder: how deep its listing goes, and how many entries it has\n"
    ".SH OPTIONS\n"
    "Options may stand before and after the sources;\n"
    ".B \\-\\-\n"
    "ends them. A source may be missing where there is\n"
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
    ".BR arguments :\n"
    "a list with\n"
    ".BR name ,\n"
    ".BR title ,\n"
    ".BR description ,\n"
    ".B required\n"
    "and\n"
    ".B complete\n"
    "(values to complete). In the text\n"
    ".B {{NAME}}\n"
    "is an argument, and\n"
    ".B \\e{{\n"
    "two braces. A line\n"
    ".B <!\\-\\- assistant \\-\\->\n"
    "or\n"
    ".B <!\\-\\- user \\-\\->\n"
    "begins a message of that role, and a line\n"
    ".B {{resource: URI}}\n"
    "is a resource of this server. What is wrong with a file is written to stderr, with its line; "
    "a "
    "file\n"
    "that was right before stays what it was.\n"
    ".SH CONFIGURATION\n"
    "The file of\n"
    ".B \\-\\-config\n"
    "is JSON in which comments and trailing commas are allowed. Its keys are the options above, "
    "and\n"
    ".BR sources ,\n"
    ".B tokens\n"
    "(bearer tokens by the name of who sends them),\n"
    ".B access\n"
    "(who may see what),\n"
    ".B annotations\n"
    "(what is said about resources) and\n"
    ".B tools\n"
    "(programs that are offered as tools).\n"
    ".B \\-\\-help\\-schema\n"
    "prints the schema with all of them. Relative paths begin at the folder of the file. The "
    "command\n"
    "line wins: its lists and sources replace those of the file.\n"
    ".PP\n"
    "With\n"
    ".B \\-\\-config\n"
    "SIGHUP reads the file again, over stdin and stdout too. A file that is wrong changes nothing; "
    "what\n"
    "is wrong with it is written to stderr. Sources, access, annotations, tools, the files of\n"
    ".BR \\-\\-prompts ,\n"
    "tokens and the log change at once, what else changed takes a restart. With\n"
    ".B \\-\\-http\n"
    "SIGHUP also reads the files of\n"
    ".BR \\-\\-prompts ,\n"
    ".B \\-\\-token\\-file\n"
    "and\n"
    ".B \\-\\-tls\\-cert\n"
    "again, with and without\n"
    ".BR \\-\\-config ;\n"
    "a certificate that cannot be used leaves the one in force.\n"
    ".SH EXIT STATUS\n"
    ".TP\n"
    ".B 0\n"
    "The host closed standard input or ended (unless under\n"
    ".BR nohup (1)),\n"
    "or a signal (SIGTERM, SIGINT; SIGHUP without --config and --http) ended the program.\n"
    ".TP\n"
    ".B 1\n"
    "A source does not exist or cannot be read, the configuration is wrong, or input and output "
    "failed.\n"
    ".TP\n"
    ".B 2\n"
    "The command line is wrong.\n"
    ".SH EXAMPLES\n"
    ".TP\n"
    ".B mcpd ~/project\n"
    "Serve one folder.\n"
    ".TP\n"
    ".B mcpd \\(ti/project git:\\(ti/project \\(aqsqlite:shop.db?name=shop\\(aq "
    "\\(aqpostgres:dbname=orders "
    "user=reader\\(aq\n"
    "Serve a folder, its repository and two databases.\n"
    ".TP\n"
    ".B mcpd \\-\\-config mcpd.json \\-\\-check\\-config\n"
    "Say what is wrong with a configuration.\n"
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
