/* merge.c: see merge.h.
 *
 * The texts come from workers of the same program. The sums of samples with the same name and labels
 * mean the same as the samples of one process, with the exceptions in `rules`.
 */
#define _GNU_SOURCE
#include "merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum rule { SUM = 0, LEAST, MOST } rule;

static const struct {
    const char *name;
    rule rule;
} rules[] = {
    {"mcp_build_info", MOST},
    {"process_start_time_seconds", LEAST},
    {"mcp_source_process_up", MOST},
    {"mcp_source_refused", MOST},
    {"mcp_source_failed", MOST},
    {"mcp_configuration_timestamp_seconds", LEAST},
    {"mcp_stream_oldest_seconds", MOST},
};

typedef struct sample {
    struct sample *next;  /* of the family */
    struct sample *chain; /* of the map */
    double value;
    size_t len;
    char key[]; /* name and labels */
} sample;

typedef struct family {
    struct family *next;
    sample *first, **last;
    rule rule;
    bool counts; /* a counter or histogram */
    size_t name_len;
    size_t len;
    char head[]; /* the lines HELP and TYPE; the name is at the place of `name` */
} family;

enum { BUCKETS = 1024 };

struct merge {
    family *first, **last;
    sample *map[BUCKETS];
};

merge *merge_new(void)
{
    merge *m = calloc(1, sizeof(*m));
    if (m)
        m->last = &m->first;
    return m;
}

void merge_free(merge *m)
{
    for (family *f = m ? m->first : NULL, *next; f; f = next) {
        for (sample *s = f->first, *after; s; s = after) {
            after = s->next;
            free(s);
        }
        next = f->next;
        free(f);
    }
    free(m);
}

/* ---- finding --------------------------------------------------------------------------------- */

static sample **bucket_of(merge *m, mcp_str key)
{
    size_t hash = 5381;
    for (size_t i = 0; i < key.len; i++)
        hash = hash * 33 + (unsigned char)key.ptr[i];
    return &m->map[hash % BUCKETS];
}

static sample *find(merge *m, mcp_str key)
{
    for (sample *s = *bucket_of(m, key); s; s = s->chain)
        if (s->len == key.len && memcmp(s->key, key.ptr, key.len) == 0)
            return s;
    return NULL;
}

static const char *name_of(const family *f)
{
    return f->head + strlen("# HELP ");
}

static family *find_family(const merge *m, mcp_str name)
{
    for (family *f = m->first; f; f = f->next)
        if (f->name_len == name.len && memcmp(name_of(f), name.ptr, name.len) == 0)
            return f;
    return NULL;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static mcp_str take_line(mcp_str *text)
{
    const char *end = memchr(text->ptr, '\n', text->len);
    mcp_str line = {text->ptr, end ? (size_t)(end - text->ptr) : text->len};
    size_t n = line.len + (end != NULL);
    *text = (mcp_str){text->ptr + n, text->len - n};
    return line;
}

static bool begins(mcp_str text, const char *with)
{
    size_t n = strlen(with);
    return text.len >= n && memcmp(text.ptr, with, n) == 0;
}

/* Adds the family of which `help` and `type` are the lines, unless it exists. */
static bool add_family(merge *m, mcp_str help, mcp_str type, family **ret)
{
    static const size_t at = sizeof("# HELP ") - 1;
    const char *space = memchr(help.ptr + at, ' ', help.len - at);
    size_t name_len = space ? (size_t)(space - help.ptr) - at : help.len - at;
    mcp_str name = {help.ptr + at, name_len};
    if ((*ret = find_family(m, name)) != NULL)
        return true;
    family *f = calloc(1, sizeof(*f) + help.len + type.len + 3);
    if (!f)
        return false;
    f->len = (size_t)snprintf(f->head, help.len + type.len + 3, "%.*s\n%.*s\n", (int)help.len,
                              help.ptr, (int)type.len, type.ptr);
    f->name_len = name_len;
    f->last = &f->first;
    f->counts = !(type.len > 6 && memcmp(type.ptr + type.len - 6, " gauge", 6) == 0);
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (mcp_str_eq(name, mcp_str_from(rules[i].name)))
            f->rule = rules[i].rule;
    *m->last = f;
    m->last = &f->next;
    *ret = f;
    return true;
}

static void add_value(const family *f, sample *s, double value)
{
    switch (f->rule) {
    case SUM: s->value += value; break;
    case LEAST: s->value = value < s->value ? value : s->value; break;
    case MOST: s->value = value > s->value ? value : s->value; break;
    }
}

enum { KEY = 2048 /* bytes of a name with its labels that are understood */ };

/* Returns where the value of the first label begins and ends, without quotes, if it names a tool or a
 * source. */
static bool find_named(mcp_str key, bool *tool, size_t *from, size_t *to)
{
    *tool = begins(key, "mcp_tool_call");
    if (!*tool && !begins(key, "mcp_source_read"))
        return false;
    const char *quote = memchr(key.ptr, '"', key.len);
    if (!quote)
        return false;
    size_t at = *from = (size_t)(quote - key.ptr) + 1;
    while (at < key.len && key.ptr[at] != '"')
        at += key.ptr[at] == '\\' ? 2 : 1;
    *to = at;
    return at < key.len;
}

/* Removes the escapes of a label's value. */
static mcp_str plain(mcp_str value, char to[KEY])
{
    size_t n = 0;
    for (size_t i = 0; i < value.len && n < KEY; i++) {
        bool escape = value.ptr[i] == '\\' && i + 1 < value.len;
        i += escape;
        to[n++] = escape && value.ptr[i] == 'n' ? '\n' : value.ptr[i];
    }
    return (mcp_str){to, n};
}

/* Replaces a name that may not be shown by "other". Returns false if the key is too long. */
static bool show(mcp_str *key, char to[KEY], const merge_filter *filter)
{
    bool tool;
    size_t from, end;
    char name[KEY];
    if (!filter->may || !find_named(*key, &tool, &from, &end))
        return true;
    if (key->len >= KEY)
        return false;
    if (filter->may(tool, plain((mcp_str){key->ptr + from, end - from}, name), filter->user))
        return true;
    int n = snprintf(to, KEY, "%.*sother%.*s", (int)from, key->ptr, (int)(key->len - end),
                     key->ptr + end);
    *key = (mcp_str){to, (size_t)n};
    return n > 0 && n < KEY;
}

static bool add_sample(merge *m, family *f, mcp_str line, const merge_filter *filter)
{
    const char *space = memrchr(line.ptr, ' ', line.len);
    char text[64], shown[KEY];
    if (!space || (filter->counters && !f->counts))
        return true;
    mcp_str key = {line.ptr, (size_t)(space - line.ptr)};
    snprintf(text, sizeof(text), "%.*s", (int)(line.len - key.len - 1), space + 1);
    double value = strtod(text, NULL);
    if (!show(&key, shown, filter))
        return true;
    sample *s = find(m, key);
    if (s) {
        add_value(f, s, value);
        return true;
    }
    s = malloc(sizeof(*s) + key.len);
    if (!s)
        return false;
    sample **bucket = bucket_of(m, key);
    *s = (sample){.chain = *bucket, .value = value, .len = key.len};
    memcpy(s->key, key.ptr, key.len);
    *bucket = s;
    *f->last = s;
    f->last = &s->next;
    return true;
}

bool merge_add(merge *m, mcp_str text, const merge_filter *filter)
{
    static const merge_filter everything;
    family *f = NULL;
    mcp_str help = {0};
    bool ok = true;
    while (ok && text.len) {
        mcp_str line = take_line(&text);
        if (begins(line, "# HELP "))
            help = line, f = NULL;
        else if (begins(line, "# TYPE ") && help.ptr)
            ok = add_family(m, help, line, &f);
        else if (f && line.len && *line.ptr != '#')
            ok = add_sample(m, f, line, filter ? filter : &everything);
    }
    return ok;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Writes a number without trailing zeros. */
static size_t number(char to[64], double value)
{
    int n = snprintf(to, 64, "%.3f", value);
    while (n > 1 && to[n - 1] == '0')
        n--;
    n -= n > 1 && to[n - 1] == '.';
    to[n++] = '\n';
    return (size_t)n;
}

void merge_put(const merge *m, void (*add)(mcp_str text, void *arg), void *arg)
{
    char text[64] = " ";
    for (const family *f = m->first; f; f = f->next) {
        add((mcp_str){f->head, f->len}, arg);
        for (const sample *s = f->first; s; s = s->next) {
            add((mcp_str){s->key, s->len}, arg);
            add((mcp_str){" ", 1}, arg);
            add((mcp_str){text, number(text, s->value)}, arg);
        }
    }
}
