/* options.c: the table of options, and checks of complete command lines. */
#include <stdlib.h>

#include <common/completion.h>

#include "servers.h"

#define AT(field) offsetof(settings, field)
#define LISTS     "ls|tree|find|context"

const option options[] = {
    {.name = "server",
     .letter = 's',
     .kind = OPTION_TEXT,
     .at = AT(server),
     .argument = "NAME|URL",
     .help = "The server, instead of a command after --: an address (http://, https://, or "
             "unix:PATH for HTTP over a Unix socket), which may also be the first word, or "
             "the name of an entry in a configuration file (SERVERS in man mcpctl lists the "
             "files)."},
    {.name = "config",
     .kind = OPTION_LIST,
     .at = AT(config),
     .argument = "FILE",
     .help = "Look for the server's name only in FILE."},
    {.name = "trust",
     .kind = OPTION_FLAG,
     .at = AT(trust),
     .help = "Start servers from configuration files without confirmation, and remember them "
             "as confirmed."},
    {.name = "header",
     .letter = 'H',
     .kind = OPTION_LIST,
     .at = AT(headers),
     .argument = "'NAME: VALUE'",
     .help = "Send this header to a server at an address."},
    {.name = "json", .letter = 'j', .kind = OPTION_FLAG, .at = AT(json), .help = "Print JSON."},
    {.name = "long",
     .letter = 'l',
     .kind = OPTION_FLAG,
     .at = AT(long_form),
     .only = "ls|find|prompts|tools",
     .help = "Print all fields, one line per entry: separated by tabs, or in columns on a "
             "terminal."},
    {.name = "glob",
     .letter = 'g',
     .kind = OPTION_LIST,
     .at = AT(globs),
     .argument = "GLOB",
     .only = LISTS,
     .help = "Only resources whose name, URI or last path segment matches GLOB, in which * "
             "also matches slashes. If several globs are given, one match is enough."},
    {.name = "type",
     .letter = 't',
     .kind = OPTION_TEXT,
     .at = AT(type),
     .argument = "GLOB",
     .only = LISTS,
     .help = "Only resources whose MIME type matches, such as text/*."},
    {.name = "audience",
     .kind = OPTION_CHOICE,
     .at = AT(audience),
     .argument = "WHO",
     .choices = "user|assistant",
     .only = LISTS,
     .help = "Only resources for this audience, user or assistant, and resources without "
             "one."},
    {.name = "priority",
     .kind = OPTION_TEXT,
     .at = AT(priority),
     .argument = "P",
     .only = LISTS,
     .help = "Only resources with a priority of at least P, from 0 to 1."},
    {.name = "min-size",
     .kind = OPTION_SIZE,
     .at = AT(min_size),
     .argument = "SIZE",
     .min = 1,
     .max = INT64_MAX,
     .only = LISTS,
     .help = "Only resources of at least SIZE bytes; also 10K, 1M."},
    {.name = "max-size",
     .kind = OPTION_SIZE,
     .at = AT(max_size),
     .argument = "SIZE",
     .min = 1,
     .max = INT64_MAX,
     .only = LISTS,
     .help = "Only resources of at most SIZE bytes."},
    {.name = "since",
     .kind = OPTION_TEXT,
     .at = AT(since),
     .argument = "TIME",
     .only = LISTS,
     .help = "Only resources modified since TIME: 2026-07-28, 2026-07-28T12:00:00Z, or an "
             "age such as 30m, 12h, 7d."},
    {.name = "sort",
     .kind = OPTION_CHOICE,
     .at = AT(sort),
     .argument = "KEY",
     .choices = "name|uri|size|type|priority|modified|score",
     .only = "ls|find",
     .help = "Sort by name, uri, size, type, priority, modified or (find) score. The "
             "largest, newest and best come first. The default is the server's order; for "
             "find, score."},
    {.name = "reverse",
     .letter = 'r',
     .kind = OPTION_FLAG,
     .at = AT(reverse),
     .only = "ls|find",
     .help = "Reverse the order."},
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_COUNT,
     .at = AT(limit),
     .argument = "N",
     .min = 1,
     .max = UINT32_MAX,
     .only = "ls|find|complete",
     .help = "Print only the first N."},
    {.name = "pages",
     .kind = OPTION_COUNT,
     .at = AT(pages),
     .argument = "N",
     .min = 1,
     .max = UINT32_MAX,
     .only = LISTS "|template|prompts|tools",
     .help = "Read only the first N pages of the server's list. Default: all; a list of "
             "more than 10000 pages counts as endless and is an error."},
    {.name = "depth",
     .letter = 'L',
     .kind = OPTION_COUNT,
     .at = AT(depth),
     .argument = "N",
     .min = 1,
     .max = 1000,
     .only = "tree",
     .help = "Show only N levels."},
    {.name = "budget",
     .letter = 'b',
     .kind = OPTION_TEXT,
     .at = AT(budget),
     .argument = "SIZE",
     .only = "context",
     .help = "Maximum size of the output: bytes, such as 32K, or tokens, such as 8000t. "
             "Default 32K. The number of tokens is an estimate: one for four ASCII "
             "characters, or for one other character."},
    {.name = "explain",
     .kind = OPTION_FLAG,
     .at = AT(explain),
     .only = "context",
     .help = "Instead of the contents, print for each resource why it is or is not included."},
    {.name = "range",
     .kind = OPTION_TEXT,
     .at = AT(range),
     .argument = "FIRST-LAST",
     .only = "read",
     .help = "Only these bytes, counted from 0: 0-99, 100-, -500 (the last 500)."},
    {.name = "lines",
     .kind = OPTION_TEXT,
     .at = AT(lines),
     .argument = "FIRST-LAST",
     .only = "read",
     .help = "Only these lines, counted from 1: 1-10, 20-, 7."},
    {.name = "tail",
     .kind = OPTION_COUNT,
     .at = AT(tail),
     .argument = "N",
     .min = 1,
     .max = UINT32_MAX,
     .only = "read",
     .help = "Only the last N lines."},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .at = AT(output),
     .argument = "FILE",
     .only = "read",
     .help = "Write to FILE instead of stdout."},
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .at = AT(force),
     .only = "read|call",
     .help = "read: write binary contents even to a terminal. call: call the tool even if "
             "the arguments do not fit its schema."},
    {.name = "raw",
     .kind = OPTION_FLAG,
     .at = AT(raw),
     .only = "read|watch",
     .help = "On a terminal, write contents as they are: database rows and logs of commits "
             "as JSON, not as a table."},
    {.name = "read",
     .kind = OPTION_FLAG,
     .at = AT(read),
     .only = "template|watch",
     .help = "template: read the resource at the URI. watch: print the new contents after "
             "each change; for a list, the entries that were added and removed."},
    {.name = "fetch",
     .kind = OPTION_FLAG,
     .at = AT(fetch),
     .only = "read",
     .help = "Get https:// resources from the web instead of from the server. Addresses of "
             "this machine and of private networks are refused."},
    {.name = "count",
     .kind = OPTION_COUNT,
     .at = AT(count),
     .argument = "N",
     .min = 1,
     .max = UINT32_MAX,
     .only = "watch|ping",
     .help = "watch: exit after N changes. ping: send N pings."},
    {.name = "args",
     .kind = OPTION_TEXT,
     .at = AT(args),
     .argument = "JSON",
     .only = "call",
     .help = "The arguments as a JSON object, or @FILE, or - for stdin; words NAME=VALUE "
             "are added to it."},
    {.name = "yes",
     .letter = 'y',
     .kind = OPTION_FLAG,
     .at = AT(yes),
     .only = "call|shell",
     .help = "Call without confirmation."},
    {.name = "answer",
     .kind = OPTION_LIST,
     .at = AT(answers),
     .argument = "NAME=VALUE",
     .only = "call|prompt|read|shell",
     .help = "Fill in this field of a form that the server requests. NAME:=JSON sets a JSON "
             "value; @FILE is a JSON object with fields. Without a terminal, the form is "
             "sent if every required field has a value. On a terminal, mcpctl asks for the "
             "remaining fields."},
    {.name = "sampler",
     .kind = OPTION_TEXT,
     .at = AT(sampler),
     .argument = "COMMAND",
     .only = "call|prompt|read|shell",
     .help = "Answer the server's requests for a language model with this shell command. It "
             "reads the request as JSON from stdin, and writes a text or the result as "
             "JSON. Without it, such requests are refused."},
    {.name = "root",
     .kind = OPTION_LIST,
     .at = AT(roots),
     .argument = "DIR",
     .help = "Offer this folder to servers that ask for roots, which are the folders to work "
             "on. Roots are deprecated since revision 2026-07-28: if a server takes folders "
             "as arguments, use those."},
    {.name = "revision",
     .kind = OPTION_TEXT,
     .at = AT(revision),
     .argument = "REV",
     .help = "Use this protocol revision, such as 2025-06-18, instead of detecting the "
             "server's."},
    {.name = "timeout",
     .kind = OPTION_SECONDS,
     .at = AT(timeout_ms),
     .argument = "SECONDS",
     .help = "Maximum time for one answer, such as 2.5. Default 60."},
    {.name = "ping",
     .kind = OPTION_SECONDS,
     .at = AT(ping_ms),
     .argument = "SECONDS",
     .help = "Ping the server every SECONDS; a server that does not answer within that time "
             "counts as lost. Only for revisions before 2026-07-28, which removed the ping."},
    {.name = "trace",
     .kind = OPTION_TEXT,
     .at = AT(trace),
     .argument = "FILE",
     .help = "Write every message to FILE (- is stderr), as one line of JSON: time, "
             "direction, message."},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .at = AT(quiet),
     .help = "Print only errors on stderr."},
    {.name = "verbose",
     .letter = 'v',
     .kind = OPTION_FLAG,
     .at = AT(verbose),
     .help = "Show the server's stderr while it runs."},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .at = AT(help),
     .help = "Print this help; the same as 'mcpctl help COMMAND'."},
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_FLAG,
     .at = AT(version),
     .help = "Print the version and the protocol revisions."},
    {.name = "completion",
     .kind = OPTION_CHOICE,
     .at = AT(completion),
     .argument = "SHELL",
     .choices = COMPLETION_SHELLS,
     .help = "Print the completion script for bash, zsh or fish. For bash, use: source "
             "<(mcpctl --completion bash)."},
    {.name = "help-man",
     .kind = OPTION_FLAG,
     .at = AT(help_man),
     .help = "Print the manual page as roff."},
};

const size_t n_options = sizeof(options) / sizeof(options[0]);

static const char *command_name(size_t i, const void *user)
{
    (void)user;
    return commands[i].name;
}

/* Names of commands in other programs. */
static const char *known_as(const char *word)
{
    static const struct {
        const char *word, *name;
    } table[] = {
        {"list", "ls"},   {"resources", "ls"}, {"cat", "read"},        {"get", "read"},
        {"tail", "read"}, {"search", "find"},  {"subscribe", "watch"}, {"run", "call"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (strcmp(table[i].word, word) == 0)
            return table[i].name;
    return nearest_name(word, strlen(word), command_name, n_commands, NULL);
}

static int take_word(command_line *line, const char *word)
{
    ctl *c = line->settings;
    bool in_shell = !line->splits;
    if (!c->command && !in_shell && strcmp(word, "help") == 0) { /* "help ls" is "ls --help" */
        c->set.help = true;
        return EXIT_OK;
    }
    if (c->command) {
        c->args[c->n_args++] = word;
        return EXIT_OK;
    }
    if (!in_shell && !c->set.server && is_address(word)) {
        c->set.server = word;
        return EXIT_OK;
    }
    c->command = command_find(word);
    if (c->command) {
        line->topic = c->command->name;
        return EXIT_OK;
    }
    const char *meant = known_as(word);
    if (meant)
        say("there is no command '%s'; did you mean '%s'?", word, meant);
    else
        say("there is no command '%s'", word);
    if (in_shell)
        hint("'help' lists the commands");
    else
        command_line_hint(line);
    return EXIT_USAGE;
}

static int check_options(const ctl *c, const command_line *line)
{
    for (size_t i = 0; i < n_options; i++) {
        if (option_is_given(&options[i], &c->set) && !option_is_for(&options[i], line->topic)) {
            say("%s has no option --%s", c->command->name, options[i].name);
            command_line_hint(line);
            return EXIT_USAGE;
        }
    }
    return EXIT_OK;
}

static int check_server(const ctl *c)
{
    if (c->server && c->set.server) {
        say("there are two servers: --server and the command after --");
        return EXIT_USAGE;
    }
    bool none = !c->set.server && (!c->server || !c->server[0]);
    if (!none || (c->command->flags & COMMAND_ALONE))
        return EXIT_OK;
    say("no server: its command comes after --, its name after -s, its address after -s or first");
    hint("for example: mcpctl %s%s%s -- mcpd ~/project", c->command->name,
         *c->command->args ? " " : "", c->command->args);
    return EXIT_USAGE;
}

/* Takes an address as the first word for the server, unless a server is given otherwise. */
static void take_address(ctl *c)
{
    bool named = c->set.server || (c->server && c->server[0]);
    if (named || (c->command->flags & COMMAND_ALONE) || !c->n_args || !is_address(c->args[0]))
        return;
    c->set.server = c->args[0];
    memmove(c->args, c->args + 1, --c->n_args * sizeof(*c->args));
}

/* Checks that need the complete command line. */
static int check(ctl *c, const command_line *line, bool shell)
{
    if (c->set.help || c->set.version || c->set.help_man || c->set.completion)
        return EXIT_OK;
    if (!c->command) {
        say("no command");
        command_line_hint(line);
        return EXIT_USAGE;
    }
    int code = check_options(c, line);
    if (code != EXIT_OK)
        return code;
    if (!shell)
        take_address(c);
    if (c->n_args < c->command->min_args || c->n_args > c->command->max_args) {
        say("%s takes %s", c->command->name,
            *c->command->args ? c->command->args : "no arguments before --");
        command_line_hint(line);
        return EXIT_USAGE;
    }
    return shell ? EXIT_OK : check_server(c);
}

int options_parse(int argc, char **argv, bool shell, ctl *ret)
{
    *ret = (ctl){0};
    ret->args = calloc((size_t)argc + 1, sizeof(*ret->args));
    if (!ret->args) {
        say("out of memory");
        return EXIT_LOCAL;
    }
    command_line line = {
        .table = options,
        .count = n_options,
        .settings = ret,
        .word = take_word,
        .splits = !shell,
    };
    int rc = command_line_parse(&line, argc, argv);
    ret->server = line.rest && line.splits ? line.rest : NULL;
    return rc == EXIT_OK ? check(ret, &line, shell) : rc;
}

void ctl_clear(ctl *c)
{
    free(c->args);
    c->args = NULL;
    texts_clear(&c->set.config);
    texts_clear(&c->set.headers);
    texts_clear(&c->set.answers);
    texts_clear(&c->set.roots);
    texts_clear(&c->set.globs);
}
