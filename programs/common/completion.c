/* completion.c: completion scripts, generated from the table of options.
 *
 * They complete only what is in the tables and start no server. Names that a server offers are
 * completed only by the shell of mcpctl.
 */
#include "completion.h"

#include <string.h>

#include "text.h"

/* Writes the first sentence of a help text, without characters that are special in one of the three
 * shells. */
static void put_about(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '.' && (text[1] == ' ' || !text[1]))
            break;
        if (strchr("'\\[]", *text))
            continue;
        fputc(*text, to);
    }
}

/* Prints words separated by '|' with another separator. */
static void put_words(FILE *to, const char *list, const char *between)
{
    for (const char *p = list; *p; p += strcspn(p, "|"), p += *p == '|')
        fprintf(to, "%s%.*s", p == list ? "" : between, (int)strcspn(p, "|"), p);
}

static bool takes_file(const option *o)
{
    return o->argument && (strstr(o->argument, "FILE") || strstr(o->argument, "DIR"));
}

static bool has_values(const completion *c, const option *o)
{
    return c->values_of && strcmp(c->values_of, o->name) == 0;
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_option_names(FILE *to, const completion *c, const char *command)
{
    for (size_t i = 0; i < c->count; i++)
        if (option_is_for(&c->table[i], command))
            fprintf(to, " --%s", c->table[i].name);
}

/* With `-o filenames`, bash adds a slash to every word that names a folder, so it is set only where
 * files are completed. */
static const char bash_files[] =
    "compopt -o filenames 2>/dev/null || :; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";

static void bash_values(FILE *to, const completion *c)
{
    fputs("    case $prev in\n", to);
    for (size_t i = 0; i < c->count; i++) {
        const option *o = &c->table[i];
        if (!o->argument)
            continue;
        fprintf(to, "    --%s", o->name);
        if (o->letter)
            fprintf(to, " | -%c", o->letter);
        if (o->choices) {
            fputs(") mapfile -t COMPREPLY < <(compgen -W '", to);
            put_words(to, o->choices, " ");
            fputs("' -- \"$cur\"); return ;;\n", to);
        } else if (has_values(c, o)) {
            /* In a word with a colon, the shell treats only the part after the colon as the current
             * word, and replaces only that. */
            fputs(") printf -v whole %s \"${COMP_WORDS[@]:first:COMP_CWORD-first+1}\"\n"
                  "        before=${whole%\"${whole##*:}\"}\n",
                  to);
            fprintf(to, "        mapfile -t COMPREPLY < <(%s | while IFS= read -r word; do\n",
                    c->values);
            fputs("            [[ $word != \"$whole\"* ]] || printf '%s\\n' "
                  "\"${word#\"$before\"}\"; done); return ;;\n",
                  to);
        } else if (takes_file(o)) {
            fprintf(to, ") %s; return ;;\n", bash_files);
        } else {
            fputs(") return ;;\n", to);
        }
    }
    fputs("    esac\n", to);
}

static void bash(FILE *to, const completion *c)
{
    fprintf(to, "# bash completion for %s\n_%s() {\n", program_name, program_name);
    /* COMP_WORDS splits words at colons; `first` is the index where the current word begins. */
    fputs("    local cur=${COMP_WORDS[COMP_CWORD]} prev i command= whole before word "
          "first=$COMP_CWORD\n"
          "    while ((first > 1)) && [[ ${COMP_WORDS[first]} == : || ${COMP_WORDS[first-1]} == : "
          "]]\n"
          "    do ((first--)); done\n"
          "    prev=${COMP_WORDS[first-1]}\n"
          "    COMPREPLY=()\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n",
          to);
    if (c->n_commands) {
        fprintf(
            to,
            "        --) if ((i + 1 == COMP_CWORD)); then mapfile -t COMPREPLY < <(compgen -c -- "
            "\"$cur\")\n"
            "            else %s; fi; return ;;\n"
            "        ",
            bash_files);
        for (size_t i = 0; i < c->n_commands; i++)
            fprintf(to, "%s%s", i ? " | " : "", c->commands[i].name);
        fputs(") command=${command:-${COMP_WORDS[i]}} ;;\n", to);
    } else {
        fprintf(to, "        --) %s; return ;;\n", bash_files);
    }
    fputs("        esac\n    done\n", to);
    bash_values(to, c);
    fputs("    if [[ $cur == -* ]]; then\n        case $command in\n", to);
    for (size_t i = 0; i < c->n_commands; i++) {
        fprintf(to, "        %s) mapfile -t COMPREPLY < <(compgen -W '", c->commands[i].name);
        bash_option_names(to, c, c->commands[i].name);
        fputs("' -- \"$cur\") ;;\n", to);
    }
    fputs("        *) mapfile -t COMPREPLY < <(compgen -W '", to);
    bash_option_names(to, c, NULL);
    fputs("' -- \"$cur\") ;;\n        esac\n", to);
    if (c->n_commands) {
        fputs("    elif [[ ! $command ]]; then\n        mapfile -t COMPREPLY < <(compgen -W '", to);
        for (size_t i = 0; i < c->n_commands; i++)
            fprintf(to, " %s", c->commands[i].name);
        fputs("' -- \"$cur\")\n", to);
    }
    fprintf(to, "    else\n        %s\n    fi\n}\n", bash_files);
    fprintf(to, "complete -F _%s %s\n", program_name, program_name);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void zsh_value(FILE *to, const completion *c, const option *o)
{
    if (!o->argument)
        return;
    fputc(':', to);
    for (const char *p = o->argument; *p; p++)
        if (*p != '\'')
            fprintf(to, *p == ':' ? "\\%c" : "%c", *p);
    fputc(':', to);
    if (o->choices) {
        fputc('(', to);
        put_words(to, o->choices, " ");
        fputc(')', to);
    } else if (has_values(c, o)) {
        fprintf(to, "->%s", o->name);
    } else if (takes_file(o)) {
        fputs("_files", to);
    } else {
        fputc(' ', to);
    }
}

static void zsh_option(FILE *to, const completion *c, const option *o)
{
    if (o->only) {
        fputs("    [[ -z $command || $command == (", to);
        put_words(to, o->only, "|");
        fputs(") ]] && specs+=(", to);
    } else {
        fputs("    specs+=(", to);
    }
    fputc('\'', to);
    if (o->kind == OPTION_LIST)
        fputc('*', to);
    else if (o->letter)
        fprintf(to, "(-%c --%s)", o->letter, o->name);
    fputc('\'', to);
    if (o->letter)
        fprintf(to, "{-%c,--%s}", o->letter, o->name);
    else
        fprintf(to, "--%s", o->name);
    fputs("'[", to);
    put_about(to, o->help);
    fputc(']', to);
    zsh_value(to, c, o);
    fputs("')\n", to);
}

static void zsh(FILE *to, const completion *c)
{
    fprintf(
        to,
        "#compdef %s\n_%s() {\n    local state word command=\n    local -a commands values specs\n",
        program_name, program_name);
    fputs("    commands=(\n", to);
    for (size_t i = 0; i < c->n_commands; i++) {
        fprintf(to, "        '%s:", c->commands[i].name);
        put_about(to, c->commands[i].summary);
        fputs("'\n", to);
    }
    fputs("    )\n    for word in $words[2,CURRENT-1]; do\n", to);
    fputs("        [[ $command ]] || command=${${(M)commands:#$word:*}%%:*}\n    done\n", to);
    for (size_t i = 0; i < c->count; i++)
        zsh_option(to, c, &c->table[i]);
    fputs("    _arguments -s $specs \\\n", to);
    fputs(c->n_commands ? "        '1:command:->command' '*:argument:_files'\n"
                        : "        '*:argument:_files'\n",
          to);
    fputs("    case $state in\n", to);
    if (c->n_commands)
        fputs("    command) _describe command commands ;;\n", to);
    if (c->values_of)
        fprintf(to, "    %s) values=(\"${(@f)$(%s)}\"); compadd -a values ;;\n", c->values_of,
                c->values);
    /* Loaded by `source`, or from a completion folder on first use. */
    fprintf(
        to,
        "    esac\n}\nif [[ $funcstack[1] == _%s ]]; then _%s \"$@\"; else compdef _%s %s; fi\n",
        program_name, program_name, program_name, program_name);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_option(FILE *to, const completion *c, const option *o)
{
    fprintf(to, "complete -c %s -l %s", program_name, o->name);
    if (o->letter)
        fprintf(to, " -s %c", o->letter);
    if (o->only) {
        fputs(" -n '__fish_seen_subcommand_from ", to);
        put_words(to, o->only, " ");
        fputc('\'', to);
    }
    if (o->choices) {
        fputs(" -x -a '", to);
        put_words(to, o->choices, " ");
        fputc('\'', to);
    } else if (has_values(c, o)) {
        fprintf(to, " -x -a '(%s)'", c->values);
    } else if (o->argument) {
        fputs(takes_file(o) ? " -r -F" : " -x", to);
    }
    fputs(" -d '", to);
    put_about(to, o->help);
    fputs("'\n", to);
}

static void fish(FILE *to, const completion *c)
{
    fprintf(to, "# fish completion for %s\n", program_name);
    for (size_t i = 0; i < c->n_commands; i++) {
        fprintf(to, "complete -c %s -f -n __fish_use_subcommand -a %s -d '", program_name,
                c->commands[i].name);
        put_about(to, c->commands[i].summary);
        fputs("'\n", to);
    }
    for (size_t i = 0; i < c->count; i++)
        fish_option(to, c, &c->table[i]);
}

void completion_print(FILE *to, const completion *c, const char *shell)
{
    static const struct {
        const char *shell;
        void (*print)(FILE *to, const completion *c);
    } table[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (strcmp(table[i].shell, shell) == 0)
            table[i].print(to, c);
}
