/* parse.c: parses a command line, and checks it as a whole. */
#include <stdlib.h>

#include "servers.h"

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
        {"list", "ls"},   {"resources", "ls"},       {"cat", "read"},        {"get", "read"},
        {"tail", "read"}, {"search", "find"},        {"subscribe", "watch"}, {"run", "call"},
        {"grep", "find"}, {"templates", "template"},
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
    if (strcmp(word, "search") == 0 || strcmp(word, "grep") == 0)
        hint("'find' searches names; mcpd searches contents with the tool search_resources "
             "(mcpd --resource-tools)");
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
    texts_clear(&c->set.servers);
}
