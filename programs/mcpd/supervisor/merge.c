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
    {"mcp_certificate_expiry_timestamp_seconds", LEAST},
    {"mcp_stream_oldest_seconds", MOST},
    {"mcp_tool_definition_tokens", MOST},
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

enum { BUCKETS = 8192 };

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

enum {
    KEY = 2048,  /* bytes of a name with its labels that are understood */
    GROWS = KEY, /* room for "other" in place of shorter names */
};

/* A label of a key: NAME="VALUE", with what precedes it, a comma or a brace. */
typedef struct label {
    mcp_str text, name, value;
} label;

/* Takes the next label. Returns false at the end, and if there is none. */
static bool take_label(mcp_str *rest, label *ret)
{
    const char *equals = rest->len ? memchr(rest->ptr, '=', rest->len) : NULL;
    size_t at = equals ? (size_t)(equals - rest->ptr) : rest->len, end = at + 2;
    if (end >= rest->len || rest->ptr[at + 1] != '"')
        return false;
    while (end < rest->len && rest->ptr[end] != '"')
        end += rest->ptr[end] == '\\' ? 2 : 1;
    if (end >= rest->len)
        return false;
    *ret = (label){.text = {rest->ptr, end + 1},
                   .name = {rest->ptr + 1, at - 1},
                   .value = {rest->ptr + at + 2, end - at - 2}};
    *rest = (mcp_str){rest->ptr + end + 1, rest->len - end - 1};
    return true;
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

static bool is_hidden(const label *l, bool tool, const merge_filter *filter)
{
    char name[KEY];
    return !filter->may(tool, plain(l->value, name), filter->user);
}

static void put_text(char to[KEY], size_t *len, mcp_str text)
{
    memcpy(to + *len, text.ptr, text.len);
    *len += text.len;
}

/* Copies a key, with "other" for a tool or source that may not be shown, and for every group. The source of a tool is left
 * out with the name of either, and the issuer of a group always. Returns false if the key is malformed. */
static bool show_labels(mcp_str *key, size_t name_len, char to[KEY + GROWS],
                        const merge_filter *filter)
{
    mcp_str rest = {key->ptr + name_len, key->len - name_len};
    bool has_tool = false, other = false;
    size_t len = 0;
    put_text(to, &len, (mcp_str){key->ptr, name_len});
    for (label l; take_label(&rest, &l);) {
        bool tool = mcp_str_eq(l.name, MCP_STR("tool"));
        bool source = mcp_str_eq(l.name, MCP_STR("source"));
        bool group = mcp_str_eq(l.name, MCP_STR("group"));
        bool hidden = group || ((tool || source) && is_hidden(&l, tool, filter));
        has_tool = has_tool || tool;
        other = other || (tool && hidden);
        if ((source && has_tool && (hidden || other)) || mcp_str_eq(l.name, MCP_STR("issuer")))
            continue;
        if (hidden) {
            put_text(to, &len, (mcp_str){l.text.ptr, l.name.len + 1});
            put_text(to, &len, MCP_STR("=\"other\""));
        } else {
            put_text(to, &len, l.text);
        }
    }
    put_text(to, &len, rest);
    *key = (mcp_str){to, len};
    return mcp_str_eq(rest, MCP_STR("}"));
}

/* Replaces names that may not be shown by "other". Returns false for a key that is not understood. */
static bool show(mcp_str *key, char to[KEY + GROWS], const merge_filter *filter)
{
    const char *brace = memchr(key->ptr, '{', key->len);
    if (!filter->may || !brace)
        return true;
    return key->len < KEY && show_labels(key, (size_t)(brace - key->ptr), to, filter);
}

static bool add_sample(merge *m, family *f, mcp_str line, const merge_filter *filter)
{
    const char *space = memrchr(line.ptr, ' ', line.len);
    char text[64], shown[KEY + GROWS];
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
    int n = snprintf(to, 64, "%.6f", value); /* microseconds */
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
