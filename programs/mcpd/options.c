/* options.c: the table of mcpd's options; what is made of it is the business of programs/common: the
 * parser, --help and the man page (mcpd --help-man > man/mcpd.1).
 */
#include "options.h"

#include <stdlib.h>

#include <common/completion.h>
#include <common/help.h>
#include <common/text.h>
#include <mcp/base.h>

#include "hosts.h"
#include "modules.h"

const char program_name[] = "mcpd";

#define AT(field) offsetof(settings, field)

static const option table[] = {
    {.name = "config",
     .kind = OPTION_TEXT,
     .at = AT(config),
     .argument = "FILE",
     .unkept = true,
     .line_only = true,
     .help =
         "Read the configuration from FILE, JSON with comments: sources, access rules, tools and "
         "every option below. What the command line says wins. SIGHUP reads it again."},
    {.name = "check-config",
     .kind = OPTION_FLAG,
     .at = AT(check_config),
     .unkept = true,
     .line_only = true,
     .help =
         "Say what is wrong with the configuration, with line and column, and end. It does what "
         "the start does, opens every source and address for a moment, and serves nobody: what "
         "passes starts."},
    {.name = "doctor",
     .kind = OPTION_FLAG,
     .at = AT(doctor),
     .unkept = true,
     .line_only = true,
     .help =
         "Look at the whole set-up, say what works, what does not and what a host would see, and "
         "end."},
    {.name = "json",
     .kind = OPTION_FLAG,
     .at = AT(json),
     .unkept = true,
     .line_only = true,
     .help = "With --doctor: print JSON."},
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
     .help = "Offer the resources of all sources as the tools list_resources, find_resources (by "
             "name), "
             "search_resources (by content) and read_resource to every host. Default: to those "
             "that are "
             "known to show tools alone."},
    {.name = "no-resource-tools",
     .kind = OPTION_FLAG,
     .at = AT(no_resource_tools),
     .help = "Offer the resources as tools to no host."},
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
     .is_path = true,
     .help = "Offer the Markdown files (*.md) in DIR as prompts, and read them again when they "
             "change."},
    {.name = "module",
     .kind = OPTION_LIST,
     .at = AT(modules),
     .argument = "FILE",
     .unkept = true,
     .is_path = true,
     .help = "Load a module from FILE, for sources NAME:... with the name that it has (may be "
             "repeated)."},
    {.name = "list-modules",
     .kind = OPTION_FLAG,
     .at = AT(list_modules),
     .unkept = true,
     .line_only = true,
     .help = "Say which modules there are, what their sources and options are, and what is missing "
             "where one cannot be loaded, and end."},
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
    {.name = "http-sse",
     .kind = OPTION_FLAG,
     .at = AT(http_sse),
     .unkept = true,
     .help = "With --http: serve HTTP+SSE, the transport of 2024-11-05, at the path /sse too, for "
             "clients that know no other."},
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
    {.name = "trusted-proxy",
     .kind = OPTION_LIST,
     .at = AT(trusted_proxy),
     .argument = "ADDRESS[/BITS]",
     .unkept = true,
     .help = "Behind this proxy the client is the one that X-Forwarded-For names, for limits per "
             "address and the log; unix is whoever connects to a Unix socket (may be repeated)."},
    {.name = "token-file",
     .kind = OPTION_TEXT,
     .at = AT(token_file),
     .argument = "FILE",
     .unkept = true,
     .is_path = true,
     .help =
         "Over HTTP, serve only who sends one of the bearer tokens in FILE: one in each line, or "
         "NAME:TOKEN."},
    {.name = "tls-cert",
     .kind = OPTION_TEXT,
     .at = AT(tls_cert),
     .argument = "FILE",
     .unkept = true,
     .is_path = true,
     .help = "Speak HTTPS with this certificate (PEM, with its chain); needs --tls-key."},
    {.name = "tls-key",
     .kind = OPTION_TEXT,
     .at = AT(tls_key),
     .argument = "FILE",
     .unkept = true,
     .is_path = true,
     .help = "The key of --tls-cert (PEM)."},
    {.name = "max-connections",
     .kind = OPTION_COUNT,
     .at = AT(max_connections),
     .argument = "N",
     .min = 1,
     .max = 1000000,
     .unkept = true,
     .help = "HTTP connections at the same time. Default 20000."},
    {.name = "max-per-address",
     .kind = OPTION_COUNT,
     .at = AT(max_per_address),
     .argument = "N",
     .min = 1,
     .max = 1000000,
     .unkept = true,
     .help = "HTTP connections from one address (of IPv6 from one /64) at the same time. Default "
             "1000, and for this machine --max-connections."},
    {.name = "max-memory",
     .kind = OPTION_SIZE,
     .at = AT(max_memory),
     .argument = "SIZE",
     .min = 1 << 20,
     .max = (uint64_t)1 << 40,
     .unkept = true,
     .help =
         "Memory for requests and answers of all HTTP clients together: what is being received, "
         "answered, not yet read or kept for replay. Default 512M."},
    {.name = "max-share",
     .kind = OPTION_SIZE,
     .at = AT(max_share),
     .argument = "SIZE",
     .min = 1 << 16,
     .max = (uint64_t)1 << 40,
     .unkept = true,
     .help = "How much of --max-memory one client may hold: who sends a token, or else an address. "
             "Default a quarter of it."},
    {.name = "max-work-memory",
     .kind = OPTION_SIZE,
     .at = AT(max_work_memory),
     .argument = "SIZE",
     .min = 1 << 20,
     .max = (uint64_t)1 << 40,
     .unkept = true,
     .help = "Memory for contents of 64K and more while they are read and made into answers, for "
             "all clients together: files, values of databases, objects of repositories. What does "
             "not fit waits for its turn. Default 128M."},
    {.name = "keep-files",
     .kind = OPTION_COUNT,
     .at = AT(keep_files),
     .argument = "N",
     .min = 1,
     .max = 1000000,
     .unkept = true,
     .help =
         "File descriptors that HTTP connections leave to everything else. Default a quarter of "
         "the limit of open files, 512 at the most."},
    {.name = "max-body",
     .kind = OPTION_SIZE,
     .at = AT(max_body),
     .argument = "SIZE",
     .min = 1024,
     .max = (uint64_t)1 << 30,
     .unkept = true,
     .help = "The largest body of an HTTP request. Default 4M."},
    {.name = "calls-per-second",
     .kind = OPTION_COUNT,
     .at = AT(calls_per_second),
     .argument = "N",
     .min = 1,
     .max = 1000000,
     .unkept = true,
     .help =
         "Tool calls of one caller in a second, and four times as many at once; a caller is a "
         "token, or else an address. Default 500, without a limit for callers on this machine."},
    {.name = "completions-per-second",
     .kind = OPTION_COUNT,
     .at = AT(completions_per_second),
     .argument = "N",
     .min = 1,
     .max = 1000000,
     .unkept = true,
     .help = "The same for completions. Default 200, without a limit for callers on this machine."},
    {.name = "polls-per-second",
     .kind = OPTION_COUNT,
     .at = AT(polls_per_second),
     .argument = "N",
     .min = 1,
     .max = 1000000,
     .unkept = true,
     .help =
         "The same for questions about tasks (tasks/get, tasks/result, tasks/list). Default 500, "
         "without a limit for callers on this machine."},
    {.name = "no-rate-limits",
     .kind = OPTION_FLAG,
     .at = AT(no_rate_limits),
     .unkept = true,
     .help = "Limit nobody's calls, completions and questions about tasks."},
    {.name = "drain-time",
     .kind = OPTION_COUNT,
     .at = AT(drain_time),
     .argument = "SECONDS",
     .min = 1,
     .max = 86400,
     .unkept = true,
     .help = "How long requests over HTTP may still take after SIGTERM or SIGINT; what is not "
             "answered then gets an error, and the exit status is 1. Default 10."},
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
     .choices = HOST_NAMES "|mcpd",
     .unkept = true,
     .line_only = true,
     .help =
         "Print the entry for the configuration file of HOST, made of the other options and the "
         "sources, and end. HOST is one of claude, claude-code, claude-desktop, codex, copilot, "
         "cursor, gemini, kiro, lmstudio, opencode, vscode, windsurf and zed. The entry has "
         "--resource-tools unless --no-resource-tools is given. mcpd: print all that is in force "
         "as a file for --config, without secrets."},
    {.name = "install",
     .kind = OPTION_CHOICE,
     .at = AT(install),
     .argument = "HOST",
     .choices = HOST_NAMES,
     .unkept = true,
     .line_only = true,
     .help =
         "Put that entry into the configuration file of HOST, and end: shows the change, asks, "
         "and keeps a copy of the file beside it. Of claude-code it is .mcp.json in the present "
         "folder, of the others the user's own file."},
    {.name = "install-file",
     .kind = OPTION_TEXT,
     .at = AT(install_file),
     .argument = "FILE",
     .unkept = true,
     .line_only = true,
     .help = "With --install: put it into FILE, for example that of a project."},
    {.name = "yes",
     .kind = OPTION_FLAG,
     .at = AT(yes),
     .unkept = true,
     .line_only = true,
     .help = "With --install: write without asking."},
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_FLAG,
     .at = AT(version),
     .unkept = true,
     .line_only = true,
     .help = "Print the version, and the revisions of the protocol, and end."},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .at = AT(help),
     .unkept = true,
     .line_only = true,
     .help = "Print this help and end."},
    {.name = "completion",
     .kind = OPTION_CHOICE,
     .at = AT(completion),
     .argument = "SHELL",
     .choices = COMPLETION_SHELLS,
     .unkept = true,
     .line_only = true,
     .help = "Print the completion script for bash, zsh or fish, as for: source <(mcpd "
             "--completion bash)."},
    {.name = "help-man",
     .kind = OPTION_FLAG,
     .at = AT(help_man),
     .unkept = true,
     .line_only = true,
     .help = "Print the manual page as roff and end."},
    {.name = "help-schema",
     .kind = OPTION_FLAG,
     .at = AT(help_schema),
     .unkept = true,
     .line_only = true,
     .help = "Print the JSON Schema of the configuration file and end."},
};

enum { N_OPTIONS = sizeof table / sizeof *table };

/* ---- parsing --------------------------------------------------------------------------------- */

bool sources_add(sources *list, const source *one)
{
    source *grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (!grown)
        return false;
    list->items = grown;
    list->items[list->count++] = *one;
    return true;
}

bool source_is_module(const source *s)
{
    return s->module || modules_is_source(s->text);
}

static int take_source(command_line *line, const char *word)
{
    settings *s = line->settings;
    if (sources_add(&s->sources, &(source){.text = word}))
        return 0;
    say("out of memory");
    return 2;
}

const option *options_table(size_t *count)
{
    *count = N_OPTIONS;
    return table;
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

static bool copy_texts(texts *to, const texts *from)
{
    texts_clear(to);
    for (size_t i = 0; i < from->count; i++)
        if (!texts_add(to, from->items[i]))
            return false;
    return true;
}

bool options_over(settings *file, const settings *line)
{
    bool ok = copy_texts(&file->kept, &line->kept);
    for (size_t i = 0; ok && i < N_OPTIONS; i++)
        if (option_is_given(&table[i], line))
            ok = option_copy(&table[i], file, line);
    if (line->sources.count)
        file->sources.count = 0;
    for (size_t i = 0; ok && i < line->sources.count; i++)
        ok = sources_add(&file->sources, &line->sources.items[i]);
    texts_clear(&file->files);
    for (size_t i = 0; ok && i < file->sources.count; i++)
        if (!source_is_module(&file->sources.items[i]))
            ok = texts_add(&file->files, file->sources.items[i].text);
    return ok;
}

void options_clear(settings *s)
{
    texts *lists[] = {&s->include,       &s->exclude, &s->http,  &s->allow_host, &s->allow_origin,
                      &s->trusted_proxy, &s->modules, &s->files, &s->kept};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        texts_clear(lists[i]);
    free(s->sources.items);
    s->sources = (sources){0};
}

const char *options_what(const settings *s)
{
    return s->sources.count ? s->sources.items[0].text : s->prompts;
}

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
    options_usage(to);
    fprintf(to,
            "\n%s\nA SOURCE is a folder or a file, or NAME:WHAT for a module:\n"
            "  git:PATH               a repository, at all its revisions\n"
            "  sqlite:FILE            a SQLite database\n"
            "  postgres:CONNINFO      a PostgreSQL database: 'postgres:dbname=shop user=me'\n"
            "with options behind it, quoted for the shell: 'git:src?name=app'; --list-modules\n"
            "says which there are. '--' ends the options of mcpd.\n\nOptions:\n",
            summary);
    help_options(to, table, N_OPTIONS, NULL);
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
    completion_print(to, &(completion){.table = table, .count = N_OPTIONS}, shell);
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
    fprintf(to, ".TH MCPD 1 \"\" \"libmcp " MCP_VERSION_STRING "\" \"User Commands\"\n");
    fputs(man_before, to);
    man_options(to, table, N_OPTIONS);
    fputs(man_after, to);
}
