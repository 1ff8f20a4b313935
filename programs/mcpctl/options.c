/* options.c: the table of options, and the parser of the command line.
 *
 * Not getopt_long(): what stands behind "--" is another program's command line and must not be looked
 * at, and options may come before, between and after the arguments.
 */
#include <errno.h>
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

bool option_is_for(const option *o, const command *c)
{
    if (!o->only || !c)
        return !o->only;
    size_t len = strlen(c->name);
    for (const char *p = o->only; *p; p += strcspn(p, "|"), p += *p == '|') {
        if (strcspn(p, "|") == len && memcmp(p, c->name, len) == 0)
            return true;
    }
    return false;
}

static int usage(const ctl *c)
{
    if (c->command)
        hint("'mcpctl %s --help' shows how it is used", c->command->name);
    else
        hint("'mcpctl --help' shows how it is used");
    return EXIT_USAGE;
}

static const option *find(const char *name, size_t len)
{
    for (size_t i = 0; i < n_options; i++) {
        if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0)
            return &options[i];
    }
    return NULL;
}

static const option *find_letter(char letter)
{
    for (size_t i = 0; letter && i < n_options; i++) {
        if (options[i].letter == letter)
            return &options[i];
    }
    return NULL;
}

/* Decimal seconds with up to three digits after the point; no strtod(), which depends on the locale. */
static bool read_seconds(const char *text, uint64_t *ms)
{
    uint64_t value = 0, scale = 1000;
    bool point = false, digits = false;
    for (; *text; text++) {
        if (*text == '.' && !point) {
            point = true;
        } else if (*text >= '0' && *text <= '9' && value <= 1000000000 && scale > (point ? 1 : 0)) {
            value = value * 10 + (uint64_t)(*text - '0');
            digits = true;
            if (point)
                scale /= 10;
        } else {
            return false;
        }
    }
    *ms = value * scale;
    return digits && *ms > 0;
}

static int set(ctl *c, const option *o, const char *value)
{
    void *at = (char *)&c->set + o->at;
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)at = true; return EXIT_OK;
    case OPTION_TEXT: *(const char **)at = value; return EXIT_OK;
    case OPTION_SECONDS:
        if (read_seconds(value, at))
            return EXIT_OK;
        say("--%s cannot be '%s': it is a number of seconds above 0, such as 2.5", o->name, value);
        return EXIT_USAGE;
    }
    return EXIT_USAGE;
}

/* One word that begins with '-'; takes the next word too when that is its value. */
static int parse_option(ctl *c, const char *given, const char *next, bool *took_next)
{
    const option *o = NULL;
    const char *value = NULL;
    if (given[1] == '-') {
        size_t len = strcspn(given + 2, "=");
        o = find(given + 2, len);
        value = given[2 + len] ? given + 2 + len + 1 : NULL;
    } else if (!given[2]) {
        o = find_letter(given[1]);
    }
    if (!o) {
        say("unknown option %s", given);
        return usage(c);
    }
    if (o->kind == OPTION_FLAG && value) {
        say("--%s takes no value", o->name);
        return EXIT_USAGE;
    }
    if (o->kind != OPTION_FLAG && !value) {
        if (!next) {
            say("--%s needs a value: --%s %s", o->name, o->name, o->argument);
            return EXIT_USAGE;
        }
        *took_next = true;
        value = next;
    }
    return set(c, o, value);
}

static int take_word(ctl *c, const char *word)
{
    if (c->command) {
        c->args[c->n_args++] = word;
        return EXIT_OK;
    }
    c->command = command_find(word);
    if (c->command)
        return EXIT_OK;
    say("there is no command '%s'", word);
    return usage(c);
}

static bool given(const ctl *c, const option *o)
{
    const void *at = (const char *)&c->set + o->at;
    switch (o->kind) {
    case OPTION_FLAG: return *(const bool *)at;
    case OPTION_TEXT: return *(const char *const *)at != NULL;
    case OPTION_SECONDS: return *(const uint64_t *)at != 0;
    }
    return false;
}

/* What can only be judged when all was read. */
static int check(const ctl *c)
{
    if (c->set.help || c->set.version || c->set.help_man)
        return EXIT_OK;
    if (!c->command) {
        say("no command");
        return usage(c);
    }
    for (size_t i = 0; i < n_options; i++) {
        if (given(c, &options[i]) && !option_is_for(&options[i], c->command)) {
            say("%s has no option --%s", c->command->name, options[i].name);
            return usage(c);
        }
    }
    if (c->n_args < c->command->min_args || c->n_args > c->command->max_args) {
        say("%s takes %s", c->command->name,
            *c->command->args ? c->command->args : "no arguments before --");
        return usage(c);
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
    for (int i = 1; i < argc; i++) {
        int rc = EXIT_OK;
        bool took_next = false;
        const char *next = i + 1 < argc && strcmp(argv[i + 1], "--") != 0 ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--") == 0) {
            ret->server = (const char *const *)(argv + i + 1);
            break;
        }
        if (argv[i][0] == '-' && argv[i][1])
            rc = parse_option(ret, argv[i], next, &took_next);
        else
            rc = take_word(ret, argv[i]);
        if (rc != EXIT_OK)
            return rc;
        i += took_next;
    }
    return check(ret);
}
