/* options.c: the table of options, and what a command line has to have. */
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
     .help = "The server, instead of a command behind --: an address (http://, https://, or "
             "unix:PATH for HTTP at a socket), which may also be the first word, or the name of an "
             "entry in a configuration file (see SERVERS)."},
    {.name = "config",
     .kind = OPTION_LIST,
     .at = AT(config),
     .argument = "FILE",
     .help = "Look for the server's name in FILE, and in no other (may be repeated)."},
    {.name = "trust",
     .kind = OPTION_FLAG,
     .at = AT(trust),
     .help =
         "Start what a configuration file says without asking, and remember that it was allowed."},
    {.name = "header",
     .letter = 'H',
     .kind = OPTION_LIST,
     .at = AT(headers),
     .argument = "'NAME: VALUE'",
     .help = "Send this header to a server at an address (may be repeated)."},
    {.name = "json", .letter = 'j', .kind = OPTION_FLAG, .at = AT(json), .help = "Print JSON."},
    {.name = "long",
     .letter = 'l',
     .kind = OPTION_FLAG,
     .at = AT(long_form),
     .only = "ls|find|prompts|tools",
     .help =
         "Print all that is known, one line each: separated by tabs; on a terminal in columns."},
    {.name = "glob",
     .letter = 'g',
     .kind = OPTION_LIST,
     .at = AT(globs),
     .argument = "GLOB",
     .only = LISTS,
     .help =
         "Only resources whose name, URI or last part of the path matches GLOB; * matches slashes "
         "too (may be repeated: any of them)."},
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
     .help = "Only resources that are meant for user or assistant, or for anybody."},
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
     .help = "Only resources of at least SIZE bytes; 10K, 1M."},
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
     .help = "Only resources that were modified since TIME: 2026-07-28, 2026-07-28T12:00:00Z, or "
             "an age such as 30m, 12h, 7d."},
    {.name = "sort",
     .kind = OPTION_CHOICE,
     .at = AT(sort),
     .argument = "KEY",
     .choices = "name|uri|size|type|priority|modified|score",
     .only = "ls|find",
     .help = "Sort by name, uri, size, type, priority, modified or (find) score; the largest, "
             "newest and best come first. Default is the server's order; of find, the score."},
    {.name = "reverse",
     .letter = 'r',
     .kind = OPTION_FLAG,
     .at = AT(reverse),
     .only = "ls|find",
     .help = "Sort the other way."},
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_COUNT,
     .at = AT(limit),
     .argument = "N",
     .min = 1,
     .max = UINT32_MAX,
     .only = "ls|find|complete",
     .help = "The first N only."},
    {.name = "pages",
     .kind = OPTION_COUNT,
     .at = AT(pages),
     .argument = "N",
     .min = 1,
     .max = UINT32_MAX,
     .only = LISTS "|template|prompts|tools",
     .help =
         "The first N pages of the server's list only. Default: all, but a list that goes on after "
         "10000 is taken for one without an end."},
    {.name = "depth",
     .letter = 'L',
     .kind = OPTION_COUNT,
     .at = AT(depth),
     .argument = "N",
     .min = 1,
     .max = 1000,
     .only = "tree",
     .help = "N levels only."},
    {.name = "budget",
     .letter = 'b',
     .kind = OPTION_TEXT,
     .at = AT(budget),
     .argument = "SIZE",
     .only = "context",
     .help = "How long the bundle may be: bytes, such as 32K, or tokens, such as 8000t. Default "
             "32K. Tokens are an estimate: four ASCII characters each, or one other."},
    {.name = "explain",
     .kind = OPTION_FLAG,
     .at = AT(explain),
     .only = "context",
     .help = "Instead of the bundle say of each resource why it is in or out."},
    {.name = "range",
     .kind = OPTION_TEXT,
     .at = AT(range),
     .argument = "FIRST-LAST",
     .only = "read",
     .help = "These bytes, counted from 0: 0-99, 100-, -500 (the last 500)."},
    {.name = "lines",
     .kind = OPTION_TEXT,
     .at = AT(lines),
     .argument = "FIRST-LAST",
     .only = "read",
     .help = "These lines, counted from 1: 1-10, 20-, 7."},
    {.name = "tail",
     .kind = OPTION_COUNT,
     .at = AT(tail),
     .argument = "N",
     .min = 1,
     .max = UINT32_MAX,
     .only = "read",
     .help = "The last N lines."},
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
     .help =
         "read: write binary contents to a terminal too. call: call also when the arguments do not "
         "fit the tool's schema."},
    {.name = "raw",
     .kind = OPTION_FLAG,
     .at = AT(raw),
     .only = "read|watch",
     .help = "On a terminal write contents as they are elsewhere: rows of a database and the "
             "commits of a log as JSON, instead of as a table."},
    {.name = "read",
     .kind = OPTION_FLAG,
     .at = AT(read),
     .only = "template|watch",
     .help = "template: read what the URI names. watch: print the new contents after each change; "
             "of a list, what was added and removed."},
    {.name = "fetch",
     .kind = OPTION_FLAG,
     .at = AT(fetch),
     .only = "read",
     .help = "Get https:// resources from the web instead of asking the server for them; nothing "
             "on this machine and in private networks."},
    {.name = "count",
     .kind = OPTION_COUNT,
     .at = AT(count),
     .argument = "N",
     .min = 1,
     .max = UINT32_MAX,
     .only = "watch|ping",
     .help = "watch: end after N changes. ping: ask N times."},
    {.name = "args",
     .kind = OPTION_TEXT,
     .at = AT(args),
     .argument = "JSON",
     .only = "call",
     .help =
         "The arguments as a JSON object, or @FILE, or - for stdin; words name=value are added."},
    {.name = "yes",
     .letter = 'y',
     .kind = OPTION_FLAG,
     .at = AT(yes),
     .only = "call|shell",
     .help = "Call without asking."},
    {.name = "answer",
     .kind = OPTION_LIST,
     .at = AT(answers),
     .argument = "NAME=VALUE",
     .only = "call|prompt|read|shell",
     .help =
         "Fill in this field of a form that the server asks for, NAME:=JSON in any case as JSON; "
         "or @FILE with a JSON object of fields (may be repeated). Without a terminal this answers "
         "the form, where each required field has a value; on one the others are asked for."},
    {.name = "sampler",
     .kind = OPTION_TEXT,
     .at = AT(sampler),
     .argument = "COMMAND",
     .only = "call|prompt|read|shell",
     .help =
         "Answer the server's requests for a language model with this shell command: it reads the "
         "request as JSON from stdin and writes a text, or the result as JSON. Without it such "
         "requests are refused."},
    {.name = "root",
     .kind = OPTION_LIST,
     .at = AT(roots),
     .argument = "DIR",
     .help = "Name this folder to a server that asks for roots, the folders that its work is about "
             "(may be repeated). Roots are deprecated since revision 2026-07-28: where a server "
             "takes folders as arguments of its own, use those."},
    {.name = "revision",
     .kind = OPTION_TEXT,
     .at = AT(revision),
     .argument = "REV",
     .help =
         "Speak this protocol revision, for example 2025-06-18, instead of finding out what the "
         "server speaks."},
    {.name = "timeout",
     .kind = OPTION_SECONDS,
     .at = AT(timeout_ms),
     .argument = "SECONDS",
     .help = "How long one answer may take, for example 2.5. Default 60."},
    {.name = "ping",
     .kind = OPTION_SECONDS,
     .at = AT(ping_ms),
     .argument = "SECONDS",
     .help =
         "Ask the server every SECONDS whether it is still there; one that does not answer for as "
         "long counts as gone. Of revisions before 2026-07-28, which removed the ping: others "
         "are not asked."},
    {.name = "trace",
     .kind = OPTION_TEXT,
     .at = AT(trace),
     .argument = "FILE",
     .help = "Write every message to FILE (- is stderr), one line of JSON each: time, direction, "
             "message."},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .at = AT(quiet),
     .help = "Say nothing on stderr but errors."},
    {.name = "verbose",
     .letter = 'v',
     .kind = OPTION_FLAG,
     .at = AT(verbose),
     .help = "Show what the server writes to stderr while it runs."},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .at = AT(help),
     .help = "Print this help; 'mcpctl help COMMAND' does so too."},
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_FLAG,
     .at = AT(version),
     .help = "Print the version, and the revisions of the protocol."},
    {.name = "completion",
     .kind = OPTION_CHOICE,
     .at = AT(completion),
     .argument = "SHELL",
     .choices = COMPLETION_SHELLS,
     .help = "Print the completion script for bash, zsh or fish, as for: source <(mcpctl "
             "--completion bash)."},
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

/* What other programs call it. */
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
        hint("'help' shows what there is");
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
        say("there are two servers: --server and the command behind --");
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

/* An address that is the first word is the server's, where none is named otherwise. */
static void take_address(ctl *c)
{
    bool named = c->set.server || (c->server && c->server[0]);
    if (named || (c->command->flags & COMMAND_ALONE) || !c->n_args || !is_address(c->args[0]))
        return;
    c->set.server = c->args[0];
    memmove(c->args, c->args + 1, --c->n_args * sizeof(*c->args));
}

/* What can only be judged when all was read. */
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
