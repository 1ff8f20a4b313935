/* options.c: the parser of the command line.
 *
 * getopt_long() is not used, because it permutes argv, accepts abbreviations (so that a new option
 * can break an old script), parses another program's command line after "--", and cannot suggest a
 * correction.
 */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { WRONG = 2 };

bool texts_add(texts *list, const char *text)
{
    const char **grown = realloc(list->items, (list->count + 1) * sizeof(*grown));
    if (!grown)
        return false;
    list->items = grown;
    list->items[list->count++] = text;
    return true;
}

void texts_clear(texts *list)
{
    free(list->items);
    *list = (texts){0};
}

static int keep(texts *list, const char *text)
{
    if (texts_add(list, text))
        return 0;
    say("out of memory");
    return WRONG;
}

bool option_has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = list; *p; p += strcspn(p, "|"), p += *p == '|')
        if (strcspn(p, "|") == len && memcmp(p, word, len) == 0)
            return true;
    return false;
}

bool option_is_for(const option *o, const char *command)
{
    return !o->only || (command && option_has_word(o->only, command));
}

/* ---- suggestions ----------------------------------------------------------------------------- */

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Returns the number of letters to add, remove or change to turn a into b (Levenshtein
 * distance). */
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

const char *nearest_name(const char *given, size_t len,
                         const char *(*at)(size_t i, const void *user), size_t count,
                         const void *user)
{
    const char *best = NULL;
    size_t least = len / 3 + 2;
    for (size_t i = 0; i < count; i++) {
        const char *name = at(i, user);
        size_t d = distance(given, len, name);
        if (len >= 3 && strncmp(name, given, len) == 0)
            d = 1;
        if (d < least)
            least = d, best = name;
    }
    return best;
}

static const char *option_name(size_t i, const void *user)
{
    return ((const option *)user)[i].name;
}

void command_line_hint(const command_line *line)
{
    fprintf(stderr, "Try '%s%s%s --help'.\n", program_name, line->topic ? " " : "",
            line->topic ? line->topic : "");
}

static int unknown(const command_line *line, const char *given)
{
    const char *name = given + strspn(given, "-");
    const char *meant =
        nearest_name(name, strcspn(name, "="), option_name, line->count, line->table);
    if (meant)
        say("unknown option %s; did you mean --%s?", given, meant);
    else
        say("unknown option %s", given);
    command_line_hint(line);
    return WRONG;
}

/* ---- values ---------------------------------------------------------------------------------- */

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

static bool read_number(const option *o, const char *text, uint64_t *ret)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno)
        return false;
    unsigned shift = o->kind == OPTION_SIZE ? shift_of(*end) : 0;
    end += shift > 0;
    if (shift && *end == 'i') /* 64Ki, 64KiB and 64KB are the same */
        end++;
    if (o->kind == OPTION_SIZE && *end == 'B')
        end++;
    if (*end || value > (UINT64_MAX >> shift))
        return false;
    *ret = (uint64_t)value << shift;
    return *ret >= o->min && *ret <= o->max;
}

/* Reads decimal seconds with up to three digits after the point. It does not use strtod(), which
 * depends on the locale. */
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

const char *option_more(const option *o)
{
    return o->kind == OPTION_SIZE ? ", which may end in K, M or G"
           : o->automatic         ? ", or auto"
                                  : "";
}

static int bad_value(const option *o, const char *text)
{
    char list[256] = "";
    size_t len = 0;
    for (const char *c = o->choices; c && *c; c += strcspn(c, "|"), c += *c == '|') {
        int n = snprintf(list + len, sizeof(list) - len, " %.*s", (int)strcspn(c, "|"), c);
        len += n > 0 && (size_t)n < sizeof(list) - len ? (size_t)n : 0;
    }
    if (o->choices)
        say("--%s cannot be '%s'; it is one of%s", o->name, text, list);
    else if (o->kind == OPTION_SECONDS)
        say("--%s cannot be '%s'; it is a number of seconds above 0, such as 2.5", o->name, text);
    else
        say("--%s cannot be '%s'; it is a number from %llu to %llu%s", o->name, text,
            (unsigned long long)o->min, (unsigned long long)o->max, option_more(o));
    return WRONG;
}

bool option_take(const option *o, void *settings, const char *value)
{
    void *at = (char *)settings + o->at;
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)at = true; return true;
    case OPTION_CHOICE:
        if (!option_has_word(o->choices, value))
            return false;
        *(const char **)at = value;
        return true;
    case OPTION_TEXT: *(const char **)at = value; return true;
    case OPTION_LIST: return texts_add(at, value);
    case OPTION_COUNT:
        if (o->automatic && strcmp(value, "auto") == 0) {
            *(uint64_t *)at = OPTION_AUTO;
            return true;
        }
        return read_number(o, value, at);
    case OPTION_SIZE: return read_number(o, value, at);
    case OPTION_SECONDS: return read_seconds(value, at);
    }
    return false;
}

static int set(void *settings, const option *o, const char *value)
{
    if (o->kind == OPTION_LIST)
        return keep((texts *)(void *)((char *)settings + o->at), value);
    return option_take(o, settings, value) ? 0 : bad_value(o, value);
}

bool option_copy(const option *o, void *to, const void *from)
{
    void *a = (char *)to + o->at;
    const void *b = (const char *)from + o->at;
    const texts *list = b;
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)a = *(const bool *)b; break;
    case OPTION_CHOICE:
    case OPTION_TEXT: *(const char **)a = *(const char *const *)b; break;
    case OPTION_LIST:
        texts_clear(a);
        for (size_t i = 0; i < list->count; i++)
            if (!texts_add(a, list->items[i]))
                return false;
        break;
    case OPTION_COUNT:
    case OPTION_SIZE:
    case OPTION_SECONDS: *(uint64_t *)a = *(const uint64_t *)b; break;
    }
    return true;
}

bool option_is_given(const option *o, const void *settings)
{
    const void *at = (const char *)settings + o->at;
    switch (o->kind) {
    case OPTION_FLAG: return *(const bool *)at;
    case OPTION_CHOICE:
    case OPTION_TEXT: return *(const char *const *)at != NULL;
    case OPTION_LIST: return ((const texts *)at)->count != 0;
    case OPTION_COUNT:
    case OPTION_SIZE:
    case OPTION_SECONDS: return *(const uint64_t *)at != 0;
    }
    return false;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static const option *find(const command_line *line, const char *name, size_t len)
{
    for (size_t i = 0; i < line->count; i++)
        if (strlen(line->table[i].name) == len && memcmp(line->table[i].name, name, len) == 0)
            return &line->table[i];
    return NULL;
}

static const option *find_letter(const command_line *line, char letter)
{
    for (size_t i = 0; letter && i < line->count; i++)
        if (line->table[i].letter == letter)
            return &line->table[i];
    return NULL;
}

static bool is_value(const command_line *line, int argc, char **argv, int i)
{
    return i < argc && !(line->splits && strcmp(argv[i], "--") == 0);
}

/* Parses the option at argv[*i]; advances *i if its value is the next argument. */
static int parse_option(command_line *line, int argc, char **argv, int *i)
{
    const char *given = argv[*i], *value = NULL;
    const option *o = NULL;
    if (given[1] == '-') {
        size_t len = strcspn(given + 2, "=");
        o = find(line, given + 2, len);
        value = given[2 + len] ? given + 2 + len + 1 : NULL;
    } else if (!given[2]) {
        o = find_letter(line, given[1]);
    }
    if (!o)
        return unknown(line, given);
    int first = *i;
    if (o->kind == OPTION_FLAG && value) {
        say("--%s takes no value", o->name);
        return WRONG;
    }
    if (o->kind != OPTION_FLAG && !value) {
        if (!is_value(line, argc, argv, *i + 1)) {
            say("--%s needs a value: --%s %s", o->name, o->name, o->argument);
            return WRONG;
        }
        value = argv[++*i];
    }
    int rc = set(line->settings, o, value);
    for (int k = first; rc == 0 && line->kept && !o->unkept && k <= *i; k++)
        rc = keep(line->kept, argv[k]);
    return rc;
}

int command_line_parse(command_line *line, int argc, char **argv)
{
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        int rc = 0;
        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = true;
            line->rest = (const char *const *)(argv + i + 1);
            if (line->splits)
                break;
        } else if (!ended && argv[i][0] == '-' && argv[i][1]) {
            rc = parse_option(line, argc, argv, &i);
        } else {
            rc = line->word(line, argv[i]);
        }
        if (rc)
            return rc;
    }
    return 0;
}
