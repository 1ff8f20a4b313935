/* options.c: the table of options, and what a command line has to have. */
#include <stdlib.h>
#include <string.h>

#include "mcpctl.h"

#define AT(field) offsetof(settings, field)

const option options[] = {
    {.name = "json",
     .letter = 'j',
     .kind = OPTION_FLAG,
     .at = AT(json),
     .help = "Print one JSON document."},
    {.name = "long",
     .letter = 'l',
     .kind = OPTION_FLAG,
     .at = AT(long_form),
     .only = "ls",
     .help = "Print URI, size, MIME type and name, separated by tabs."},
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .at = AT(force),
     .only = "read",
     .help = "Write binary contents to a terminal too."},
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
     .help = "Print this help."},
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_FLAG,
     .at = AT(version),
     .help = "Print the version."},
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

static int take_word(command_line *line, const char *word)
{
    /* The settings are a ctl's first member. */
    ctl *c = line->settings;
    if (c->command) {
        c->args[c->n_args++] = word;
        return EXIT_OK;
    }
    c->command = command_find(word);
    if (c->command) {
        line->topic = c->command->name;
        return EXIT_OK;
    }
    const char *meant = nearest_name(word, strlen(word), command_name, n_commands, NULL);
    if (meant)
        say("there is no command '%s'; did you mean '%s'?", word, meant);
    else
        say("there is no command '%s'", word);
    command_line_hint(line);
    return EXIT_USAGE;
}

/* What can only be judged when all was read. */
static int check(const ctl *c, const command_line *line)
{
    if (c->set.help || c->set.version || c->set.help_man)
        return EXIT_OK;
    if (!c->command) {
        say("no command");
        command_line_hint(line);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < n_options; i++) {
        if (option_is_given(&options[i], &c->set) && !option_is_for(&options[i], line->topic)) {
            say("%s has no option --%s", c->command->name, options[i].name);
            command_line_hint(line);
            return EXIT_USAGE;
        }
    }
    if (c->n_args < c->command->min_args || c->n_args > c->command->max_args) {
        say("%s takes %s", c->command->name,
            *c->command->args ? c->command->args : "no arguments before --");
        command_line_hint(line);
        return EXIT_USAGE;
    }
    if (!c->server || !c->server[0]) {
        say("no server: its command comes after --");
        hint("for example: mcpctl %s%s%s -- mcpd ~/project", c->command->name,
             *c->command->args ? " " : "", c->command->args);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

int options_parse(int argc, char **argv, ctl *ret)
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
        .splits = true,
    };
    int rc = command_line_parse(&line, argc, argv);
    ret->server = line.rest;
    return rc == EXIT_OK ? check(ret, &line) : rc;
}
