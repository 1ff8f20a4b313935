/* options.c: the table of mcpd's options and the three things that are made of it: the parser,
 * --help and the man page (mcpd --help-man > man/mcpd.1).
 *
 * Not getopt_long(): it permutes argv, abbreviates (so that a new option breaks an old script)
 * and cannot say what was probably meant.
 */
#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/base.h>

typedef enum kind {
    FLAG,   /* bool */
    TEXT,   /* const char * */
    CHOICE, /* const char *, one of `choices` */
    LIST,   /* texts, may come several times */
    COUNT,  /* uint64_t */
    SIZE,   /* uint64_t with K, M, G */
} kind;

typedef struct option {
    const char *name; /* without "--" */
    char letter;      /* the short form, or 0 */
    kind kind;
    size_t at;            /* offset in settings */
    const char *argument; /* what --help calls it */
    const char *choices;  /* separated by '|' */
    uint64_t min, max;
    bool unkept; /* is not part of a host's configuration */
    const char *help;
} option;

#define AT(field) offsetof(settings, field)

static const option table[] = {
    {.name = "hidden",
     .kind = FLAG,
     .at = AT(hidden),
     .help = "Serve hidden files and folders too (names that begin with a dot). .git stays out."},
    {.name = "no-ignore",
     .kind = FLAG,
     .at = AT(no_ignore),
     .help = "Serve what .gitignore files and .git/info/exclude leave out, too."},
    {.name = "include",
     .kind = LIST,
     .at = AT(include),
     .argument = "GLOB",
     .help =
         "Serve only files that match GLOB, as a line of a .gitignore would (may be repeated)."},
    {.name = "exclude",
     .kind = LIST,
     .at = AT(exclude),
     .argument = "GLOB",
     .help = "Leave out files and folders that match GLOB; wins over --include (may be repeated)."},
    {.name = "page-size",
     .kind = COUNT,
     .at = AT(page_size),
     .argument = "N",
     .min = 1,
     .max = 100000,
     .help = "Entries in one page of a list. Default 1000; many hosts read only the first page."},
    {.name = "max-read",
     .kind = SIZE,
     .at = AT(max_read),
     .argument = "SIZE",
     .min = 1,
     .max = (uint64_t)1 << 30,
     .help = "The largest piece that one read returns, in bytes or as 64K, 10M, 1G. Default 10M."},
    {.name = "resource-tools",
     .kind = FLAG,
     .at = AT(resource_tools),
     .help =
         "Offer the resources as the tools list_resources and read_resource too, for hosts that "
         "know only tools."},
    {.name = "no-watch",
     .kind = FLAG,
     .at = AT(no_watch),
     .help = "Watch nothing: the same as --no-subscribe and --no-list-changed."},
    {.name = "no-subscribe",
     .kind = FLAG,
     .at = AT(no_subscribe),
     .help = "Do not offer subscriptions to single files and folders."},
    {.name = "no-list-changed",
     .kind = FLAG,
     .at = AT(no_list_changed),
     .help = "Do not announce that files appeared or disappeared."},
    {.name = "watch-budget",
     .kind = COUNT,
     .at = AT(watch_budget),
     .argument = "N",
     .min = 1,
     .max = 1u << 24,
     .help = "Folders to watch with inotify at the most; what is beyond is looked at every two "
             "seconds. Default 8192, or a quarter of what the system allows if that is less."},
    {.name = "name",
     .kind = TEXT,
     .at = AT(name),
     .argument = "NAME",
     .help = "The server's name, for hosts and for --print-config. Default mcpd."},
    {.name = "instructions",
     .kind = TEXT,
     .at = AT(instructions),
     .argument = "TEXT",
     .help = "What to tell the model about these files, instead of a list of the sources."},
    {.name = "http",
     .kind = LIST,
     .at = AT(http),
     .argument = "ADDR",
     .unkept = true,
     .help =
         "Serve over HTTP at ADDR, path /mcp, instead of standard input and output: "
         "127.0.0.1:8642, [::1]:8642 (port 0: any), unix:PATH (may be repeated). Other machines "
         "get in only at an address that is not of the loopback."},
    {.name = "stdio",
     .kind = FLAG,
     .at = AT(stdio),
     .unkept = true,
     .help = "With --http: serve standard input and output too; their end is the end of both."},
    {.name = "allow-host",
     .kind = LIST,
     .at = AT(allow_host),
     .argument = "HOST",
     .unkept = true,
     .help = "Answer requests for this host name (without port) besides those for localhost; * is "
             "any (may be repeated)."},
    {.name = "allow-origin",
     .kind = LIST,
     .at = AT(allow_origin),
     .argument = "ORIGIN",
     .unkept = true,
     .help = "Let web pages from this origin, as https://app.example, use the server; * is any "
             "(may be repeated)."},
    {.name = "token-file",
     .kind = TEXT,
     .at = AT(token_file),
     .argument = "FILE",
     .unkept = true,
     .help =
         "Over HTTP, serve only who sends one of the bearer tokens in FILE: one in each line, or "
         "NAME:TOKEN."},
    {.name = "tls-cert",
     .kind = TEXT,
     .at = AT(tls_cert),
     .argument = "FILE",
     .unkept = true,
     .help = "Speak HTTPS with this certificate (PEM, with its chain); needs --tls-key."},
    {.name = "tls-key",
     .kind = TEXT,
     .at = AT(tls_key),
     .argument = "FILE",
     .unkept = true,
     .help = "The key of --tls-cert (PEM)."},
    {.name = "max-connections",
     .kind = COUNT,
     .at = AT(max_connections),
     .argument = "N",
     .min = 1,
     .max = 1000000,
     .unkept = true,
     .help = "HTTP connections at the same time. Default 20000."},
    {.name = "max-body",
     .kind = SIZE,
     .at = AT(max_body),
     .argument = "SIZE",
     .min = 1024,
     .max = (uint64_t)1 << 30,
     .unkept = true,
     .help = "The largest body of an HTTP request. Default 4M."},
    {.name = "heartbeat",
     .kind = COUNT,
     .at = AT(heartbeat),
     .argument = "SECONDS",
     .min = 1,
     .max = 86400,
     .unkept = true,
     .help = "How often a quiet event stream gets a comment, so that no proxy takes it for dead. "
             "Default 15."},
    {.name = "log-level",
     .kind = CHOICE,
     .at = AT(log_level),
     .argument = "LEVEL",
     .choices = "debug|info|warning|error|none",
     .help = "What is written to stderr: debug, info, warning, error or none. Default warning."},
    {.name = "log-format",
     .kind = CHOICE,
     .at = AT(log_format),
     .argument = "FORMAT",
     .choices = "text|json",
     .unkept = true,
     .help =
         "Write one line for every HTTP request too (as --log-level info does), and all lines as "
         "text or json."},
    {.name = "print-config",
     .kind = CHOICE,
     .at = AT(print_config),
     .argument = "HOST",
     .choices = "claude|vscode|cursor",
     .unkept = true,
     .help =
         "Print the entry for the configuration file of HOST (claude, vscode or cursor), made of "
         "the other options and the sources, and end."},
    {.name = "version",
     .letter = 'V',
     .kind = FLAG,
     .at = AT(version),
     .unkept = true,
     .help = "Print the version and end."},
    {.name = "help",
     .letter = 'h',
     .kind = FLAG,
     .at = AT(help),
     .unkept = true,
     .help = "Print this help and end."},
    {.name = "help-man",
     .kind = FLAG,
     .at = AT(help_man),
     .unkept = true,
     .help = "Print the manual page as roff and end."},
};

enum { N_OPTIONS = sizeof table / sizeof *table };

/* ---- parsing --------------------------------------------------------------------------------- */

static bool texts_add(texts *list, const char *text)
{
    const char **grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (!grown)
        return false;
    list->items = grown;
    list->items[list->count++] = text;
    return true;
}

static int no_memory(void)
{
    fprintf(stderr, "mcpd: out of memory\n");
    return 2;
}

static const option *find(const char *name, size_t len)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
            return &table[i];
    return NULL;
}

static const option *find_letter(char letter)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (letter && table[i].letter == letter)
            return &table[i];
    return NULL;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* How many letters have to be added, removed or changed to make b of a (Levenshtein). */
static size_t distance(const char *a, size_t a_len, const char *b)
{
    enum { MOST = 32 };
    size_t row[MOST + 1], b_len = strlen(b);
    if (a_len > MOST || b_len > MOST)
        return MOST;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}

/* The option that was probably meant, or NULL when none is near. */
static const option *nearest(const char *name, size_t len)
{
    const option *best = NULL;
    size_t least = len / 3 + 2;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        size_t d = distance(name, len, table[i].name);
        if (len >= 3 && strncmp(table[i].name, name, len) == 0)
            d = 1;
        if (d < least)
            least = d, best = &table[i];
    }
    return best;
}

static int unknown(const char *given)
{
    const char *name = given + strspn(given, "-");
    const option *meant = nearest(name, strcspn(name, "="));
    fprintf(stderr, "mcpd: unknown option %s", given);
    if (meant)
        fprintf(stderr, "; did you mean --%s?", meant->name);
    fprintf(stderr, "\nTry 'mcpd --help'.\n");
    return 2;
}

static unsigned shift_of(char suffix)
{
    switch (suffix) {
    case 'k':
    case 'K': return 10;
    case 'm':
    case 'M': return 20;
    case 'g':
    case 'G': return 30;
    default: return 0;
    }
}

static bool number(const option *o, const char *text, uint64_t *ret)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno)
        return false;
    unsigned shift = o->kind == SIZE ? shift_of(*end) : 0;
    end += shift > 0;
    if (shift && *end == 'i') /* 64Ki, 64KiB, 64KB: all the same */
        end++;
    if (o->kind == SIZE && *end == 'B')
        end++;
    if (*end || value > (UINT64_MAX >> shift))
        return false;
    *ret = (uint64_t)value << shift;
    return *ret >= o->min && *ret <= o->max;
}

static bool chosen(const char *choices, const char *text)
{
    size_t len = strlen(text);
    for (const char *c = choices; *c; c += strcspn(c, "|"), c += *c == '|')
        if (strcspn(c, "|") == len && memcmp(c, text, len) == 0)
            return true;
    return false;
}

static int bad_value(const option *o, const char *text)
{
    fprintf(stderr, "mcpd: --%s cannot be '%s'", o->name, text);
    if (o->choices) {
        fprintf(stderr, "; it is one of");
        for (const char *c = o->choices; *c; c += strcspn(c, "|"), c += *c == '|')
            fprintf(stderr, " %.*s", (int)strcspn(c, "|"), c);
    } else {
        fprintf(stderr, "; it is a number from %llu to %llu%s", (unsigned long long)o->min,
                (unsigned long long)o->max, o->kind == SIZE ? ", which may end in K, M or G" : "");
    }
    fprintf(stderr, "\n");
    return 2;
}

static int set(settings *s, const option *o, const char *value)
{
    void *at = (char *)s + o->at;
    switch (o->kind) {
    case FLAG: *(bool *)at = true; return 0;
    case CHOICE:
        if (!chosen(o->choices, value))
            return bad_value(o, value);
        *(const char **)at = value;
        return 0;
    case TEXT: *(const char **)at = value; return 0;
    case LIST: return texts_add(at, value) ? 0 : no_memory();
    case COUNT:
    case SIZE: return number(o, value, at) ? 0 : bad_value(o, value);
    }
    return 2;
}

/* One option at argv[*i], which is moved on when the value is a word of its own. */
static int parse_option(settings *s, int argc, char **argv, int *i)
{
    const char *given = argv[*i], *value = NULL;
    const option *o = NULL;
    if (given[1] == '-') {
        size_t len = strcspn(given + 2, "=");
        o = find(given + 2, len);
        value = given[2 + len] ? given + 2 + len + 1 : NULL;
    } else if (!given[2]) {
        o = find_letter(given[1]);
    }
    if (!o)
        return unknown(given);
    int first = *i;
    if (o->kind == FLAG && value) {
        fprintf(stderr, "mcpd: --%s takes no value\n", o->name);
        return 2;
    }
    if (o->kind != FLAG && !value) {
        if (*i + 1 >= argc) {
            fprintf(stderr, "mcpd: --%s needs a value: --%s %s\n", o->name, o->name, o->argument);
            return 2;
        }
        value = argv[++*i];
    }
    int rc = set(s, o, value);
    for (int k = first; rc == 0 && !o->unkept && k <= *i; k++)
        rc = texts_add(&s->kept, argv[k]) ? 0 : no_memory();
    return rc;
}

int options_parse(int argc, char **argv, settings *ret)
{
    *ret = (settings){0};
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        int rc = 0;
        if (!ended && strcmp(argv[i], "--") == 0)
            ended = true;
        else if (!ended && argv[i][0] == '-' && argv[i][1])
            rc = parse_option(ret, argc, argv, &i);
        else
            rc = texts_add(&ret->sources, argv[i]) ? 0 : no_memory();
        if (rc)
            return rc;
    }
    return 0;
}

void options_clear(settings *s)
{
    texts *lists[] = {&s->include,      &s->exclude, &s->http, &s->allow_host,
                      &s->allow_origin, &s->sources, &s->kept};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        free(lists[i]->items);
        *lists[i] = (texts){0};
    }
}

/* ---- --help ---------------------------------------------------------------------------------- */

static const char summary[] =
    "Serve folders and files as MCP resources over stdin and stdout, or HTTP.";

void options_usage(FILE *to)
{
    fprintf(to, "Usage: mcpd [OPTIONS] SOURCE...\n");
}

/* Prints text in lines of at most 78 columns, each but the first begun by `indent` spaces. */
static void wrap(FILE *to, const char *text, int indent, int column)
{
    while (*text) {
        int len = (int)strcspn(text, " ");
        if (column > indent && column + 1 + len > 78)
            column = fprintf(to, "\n%*s", indent, "") - 1;
        else if (column > indent)
            column += fprintf(to, " ");
        column += fprintf(to, "%.*s", len, text);
        text += len;
        text += *text == ' ';
    }
    fprintf(to, "\n");
}

static void help_option(FILE *to, const option *o)
{
    enum { COLUMN = 25 };
    char left[64];
    int len = snprintf(left, sizeof left, "  --%s%s%s", o->name, o->argument ? " " : "",
                       o->argument ? o->argument : "");
    if (o->letter)
        snprintf(left + len, sizeof left - (size_t)len, ", -%c", o->letter);
    fprintf(to, "%-*s", COLUMN, left);
    wrap(to, o->help, COLUMN, COLUMN);
}

void options_help(FILE *to)
{
    options_usage(to);
    fprintf(to, "\n%s\nA SOURCE is a folder or a file. '--' ends the options.\n\nOptions:\n",
            summary);
    for (size_t i = 0; i < N_OPTIONS; i++)
        help_option(to, &table[i]);
    fprintf(to, "\nExamples:\n"
                "  mcpd ~/project\n"
                "  mcpd --exclude '*.log' ~/project ~/notes/todo.md\n"
                "  mcpd --http 127.0.0.1:8642 ~/project\n"
                "  mcpd --print-config claude ~/project\n");
}

/* ---- the manual page ------------------------------------------------------------------------- */

/* Text as roff reads it: a hyphen is a minus, a backslash a backslash, a leading dot no request. */
static void roff(FILE *to, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", to);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", to);
        else if (*text == '\\')
            fputs("\\e", to);
        else
            fputc(*text, to);
    }
}

static void man_option(FILE *to, const option *o)
{
    fprintf(to, ".TP\n.B \\-\\-");
    roff(to, o->name);
    if (o->letter)
        fprintf(to, "\\fR, \\fB\\-%c", o->letter);
    if (o->argument)
        fprintf(to, " \\fI%s\\fR", o->argument);
    fprintf(to, "\n");
    roff(to, o->help);
    fprintf(to, "\n");
}

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
    "ends them.\n";

static const char *const man_after =
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
    ".B mcpd \\-\\-print\\-config vscode \\-\\-exclude '*.log' ~/project\n"
    "Print the entry for the file\n"
    ".I .vscode/mcp.json\n"
    ".SH SEE ALSO\n"
    ".BR mcpctl (1)\n";

void options_man(FILE *to)
{
    fprintf(to, ".TH MCPD 1 \"\" \"libmcp " MCP_VERSION_STRING "\" \"User Commands\"\n");
    fputs(man_before, to);
    for (size_t i = 0; i < N_OPTIONS; i++)
        man_option(to, &table[i]);
    fputs(man_after, to);
}
