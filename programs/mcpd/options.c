/* options.c: the table of mcpd's options; what is made of it is the business of programs/common: the
 * parser, --help and the man page (mcpd --help-man > man/mcpd.1).
 */
#include "options.h"

#include <common/help.h>
#include <common/text.h>
#include <mcp/base.h>

#include "modules.h"

const char program_name[] = "mcpd";

#define AT(field) offsetof(settings, field)

static const option table[] = {
    {.name = "hidden",
     .kind = OPTION_FLAG,
     .at = AT(hidden),
     .help = "Serve hidden files and folders too (names that begin with a dot). .git stays out."},
    {.name = "no-ignore",
     .kind = OPTION_FLAG,
     .at = AT(no_ignore),
     .help = "Serve what .gitignore files and .git/info/exclude leave out, too."},
    {.name = "include",
     .kind = OPTION_LIST,
     .at = AT(include),
     .argument = "GLOB",
     .help =
         "Serve only files that match GLOB, as a line of a .gitignore would (may be repeated)."},
    {.name = "exclude",
     .kind = OPTION_LIST,
     .at = AT(exclude),
     .argument = "GLOB",
     .help = "Leave out files and folders that match GLOB; wins over --include (may be repeated)."},
    {.name = "page-size",
     .kind = OPTION_COUNT,
     .at = AT(page_size),
     .argument = "N",
     .min = 1,
     .max = 100000,
     .help = "Entries in one page of a list. Default 1000; many hosts read only the first page."},
    {.name = "max-read",
     .kind = OPTION_SIZE,
     .at = AT(max_read),
     .argument = "SIZE",
     .min = 1,
     .max = (uint64_t)1 << 30,
     .help = "The largest piece that one read returns, in bytes or as 64K, 10M, 1G. Default 10M."},
    {.name = "resource-tools",
     .kind = OPTION_FLAG,
     .at = AT(resource_tools),
     .help =
         "Offer folders and files as the tools list_resources, find_resources (by name), "
         "search_resources (by content) and read_resource too, for hosts that know only tools."},
    {.name = "no-watch",
     .kind = OPTION_FLAG,
     .at = AT(no_watch),
     .help = "Watch nothing: the same as --no-subscribe and --no-list-changed."},
    {.name = "no-subscribe",
     .kind = OPTION_FLAG,
     .at = AT(no_subscribe),
     .help = "Do not offer subscriptions to single files and folders."},
    {.name = "no-list-changed",
     .kind = OPTION_FLAG,
     .at = AT(no_list_changed),
     .help = "Do not announce that files appeared or disappeared."},
    {.name = "watch-budget",
     .kind = OPTION_COUNT,
     .at = AT(watch_budget),
     .argument = "N",
     .min = 1,
     .max = 1u << 24,
     .help = "Folders to watch with inotify at the most; what is beyond is looked at every two "
             "seconds. Default 8192, or a quarter of what the system allows if that is less."},
    {.name = "prompts",
     .kind = OPTION_TEXT,
     .at = AT(prompts),
     .argument = "DIR",
     .unkept = true,
     .help = "Offer the Markdown files (*.md) in DIR as prompts, and read them again when they "
             "change."},
    {.name = "module",
     .kind = OPTION_LIST,
     .at = AT(modules),
     .argument = "FILE",
     .unkept = true,
     .help = "Load a module from FILE, for sources NAME:... with the name that it has (may be "
             "repeated)."},
    {.name = "name",
     .kind = OPTION_TEXT,
     .at = AT(name),
     .argument = "NAME",
     .help = "The server's name, for hosts and for --print-config. Default mcpd."},
    {.name = "instructions",
     .kind = OPTION_TEXT,
     .at = AT(instructions),
     .argument = "TEXT",
     .help = "What to tell the model about these files, instead of a list of the sources."},
    {.name = "http",
     .kind = OPTION_LIST,
     .at = AT(http),
     .argument = "ADDR",
     .unkept = true,
     .help =
         "Serve over HTTP at ADDR, path /mcp, instead of standard input and output: "
         "127.0.0.1:8642, [::1]:8642 (port 0: any), unix:PATH (may be repeated). Other machines "
         "get in only at an address that is not of the loopback."},
    {.name = "stdio",
     .kind = OPTION_FLAG,
     .at = AT(stdio),
     .unkept = true,
     .help = "With --http: serve standard input and output too; their end is the end of both."},
    {.name = "allow-host",
     .kind = OPTION_LIST,
     .at = AT(allow_host),
     .argument = "HOST",
     .unkept = true,
     .help = "Answer requests for this host name (without port) besides those for localhost; * is "
             "any (may be repeated)."},
    {.name = "allow-origin",
     .kind = OPTION_LIST,
     .at = AT(allow_origin),
     .argument = "ORIGIN",
     .unkept = true,
     .help = "Let web pages from this origin, as https://app.example, use the server; * is any "
             "(may be repeated)."},
    {.name = "token-file",
     .kind = OPTION_TEXT,
     .at = AT(token_file),
     .argument = "FILE",
     .unkept = true,
     .help =
         "Over HTTP, serve only who sends one of the bearer tokens in FILE: one in each line, or "
         "NAME:TOKEN."},
    {.name = "tls-cert",
     .kind = OPTION_TEXT,
     .at = AT(tls_cert),
     .argument = "FILE",
     .unkept = true,
     .help = "Speak HTTPS with this certificate (PEM, with its chain); needs --tls-key."},
    {.name = "tls-key",
     .kind = OPTION_TEXT,
     .at = AT(tls_key),
     .argument = "FILE",
     .unkept = true,
     .help = "The key of --tls-cert (PEM)."},
    {.name = "max-connections",
     .kind = OPTION_COUNT,
     .at = AT(max_connections),
     .argument = "N",
     .min = 1,
     .max = 1000000,
     .unkept = true,
     .help = "HTTP connections at the same time. Default 20000."},
    {.name = "max-body",
     .kind = OPTION_SIZE,
     .at = AT(max_body),
     .argument = "SIZE",
     .min = 1024,
     .max = (uint64_t)1 << 30,
     .unkept = true,
     .help = "The largest body of an HTTP request. Default 4M."},
    {.name = "heartbeat",
     .kind = OPTION_COUNT,
     .at = AT(heartbeat),
     .argument = "SECONDS",
     .min = 1,
     .max = 86400,
     .unkept = true,
     .help = "How often a quiet event stream gets a comment, so that no proxy takes it for dead. "
             "Default 15."},
    {.name = "log-level",
     .kind = OPTION_CHOICE,
     .at = AT(log_level),
     .argument = "LEVEL",
     .choices = "debug|info|warning|error|none",
     .help = "What is written to stderr: debug, info, warning, error or none. Default warning."},
    {.name = "log-format",
     .kind = OPTION_CHOICE,
     .at = AT(log_format),
     .argument = "FORMAT",
     .choices = "text|json",
     .unkept = true,
     .help =
         "Write one line for every HTTP request too (as --log-level info does), and all lines as "
         "text or json."},
    {.name = "print-config",
     .kind = OPTION_CHOICE,
     .at = AT(print_config),
     .argument = "HOST",
     .choices = "claude|vscode|cursor",
     .unkept = true,
     .help =
         "Print the entry for the configuration file of HOST (claude, vscode or cursor), made of "
         "the other options and the sources, and end."},
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_FLAG,
     .at = AT(version),
     .unkept = true,
     .help = "Print the version and end."},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .at = AT(help),
     .unkept = true,
     .help = "Print this help and end."},
    {.name = "help-man",
     .kind = OPTION_FLAG,
     .at = AT(help_man),
     .unkept = true,
     .help = "Print the manual page as roff and end."},
};

enum { N_OPTIONS = sizeof table / sizeof *table };

/* ---- parsing --------------------------------------------------------------------------------- */

static int take_source(command_line *line, const char *word)
{
    settings *s = line->settings;
    if (texts_add(&s->sources, word) && (modules_is_source(word) || texts_add(&s->files, word)))
        return 0;
    say("out of memory");
    return 2;
}

int options_parse(int argc, char **argv, settings *ret)
{
    *ret = (settings){0};
    command_line line = {
        .table = table,
        .count = N_OPTIONS,
        .settings = ret,
        .word = take_source,
        .kept = &ret->kept,
    };
    return command_line_parse(&line, argc, argv);
}

void options_clear(settings *s)
{
    texts *lists[] = {&s->include, &s->exclude, &s->http,  &s->allow_host, &s->allow_origin,
                      &s->modules, &s->sources, &s->files, &s->kept};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        texts_clear(lists[i]);
}

const char *options_what(const settings *s)
{
    return s->sources.count ? s->sources.items[0] : s->prompts;
}

/* ---- --help ---------------------------------------------------------------------------------- */

static const char summary[] =
    "Serve folders, files and databases as MCP resources over stdin and stdout, or HTTP.";

void options_usage(FILE *to)
{
    fprintf(to, "Usage: mcpd [OPTIONS] SOURCE...\n");
}

void options_help(FILE *to)
{
    options_usage(to);
    fprintf(to,
            "\n%s\nA SOURCE is a folder or a file, or NAME:WHAT for a module:\nsqlite:FILE is a "
            "database. '--' ends the options.\n\nOptions:\n",
            summary);
    help_options(to, table, N_OPTIONS, NULL);
    fprintf(to, "\nExamples:\n"
                "  mcpd ~/project\n"
                "  mcpd --exclude '*.log' ~/project ~/notes/todo.md\n"
                "  mcpd --http 127.0.0.1:8642 ~/project\n"
                "  mcpd --prompts ~/prompts ~/project\n"
                "  mcpd sqlite:shop.db ~/project\n"
                "  mcpd --print-config claude ~/project\n");
}

/* ---- the manual page ------------------------------------------------------------------------- */

static const char *const man_before =
    ".SH NAME\n"
    "mcpd \\- serve folders and files to MCP hosts\n"
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
    "which is loaded for it;\n"
    ".B sqlite:\\fIFILE\n"
    "is a database, whose tables and rows are resources\n"
    ".RB ( sqlite:shop.db?name=shop\n"
    "gives it a name). A file whose name looks like that is written\n"
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
    ".SH EXIT STATUS\n"
    ".TP\n"
    ".B 0\n"
    "The host closed standard input, or a signal (SIGTERM, SIGINT, SIGHUP) ended the program.\n"
    ".TP\n"
    ".B 1\n"
    "A source does not exist or cannot be read, or input and output failed.\n"
    ".TP\n"
    ".B 2\n"
    "The command line is wrong.\n"
    ".SH EXAMPLES\n"
    ".TP\n"
    ".B mcpd ~/project\n"
    "Serve one folder.\n"
    ".TP\n"
    ".B mcpd sqlite:shop.db\n"
    "Serve a database.\n"
    ".TP\n"
    ".B mcpd \\-\\-print\\-config vscode \\-\\-exclude '*.log' ~/project\n"
    "Print the entry for the file\n"
    ".I .vscode/mcp.json\n"
    ".SH SEE ALSO\n"
    ".BR mcpctl (1)\n";

void options_man(FILE *to)
{
    fprintf(to, ".TH MCPD 1 \"\" \"libmcp " MCP_VERSION_STRING "\" \"User Commands\"\n");
    fputs(man_before, to);
    man_options(to, table, N_OPTIONS);
    fputs(man_after, to);
}
