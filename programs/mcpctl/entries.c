/* entries.c: collects, filters and sorts resources. */
#define _GNU_SOURCE
#include "entries.h"

#include <fnmatch.h>
#include <stdlib.h>

#include <mcp/uri.h>

#include "definitions.h"

/* Limit for a list in memory. A list of a million files from mcpd takes about half of it. */
static const size_t most_bytes = (size_t)1 << 30;

static mcp_str text_of(const mcp_json *object, const char *key)
{
    return mcp_json_string(mcp_json_get(object, key));
}

entry entry_of(const mcp_json *resource)
{
    const mcp_json *annotations = mcp_json_get(resource, "annotations");
    entry e = {
        .json = resource,
        .uri = text_of(resource, "uri"),
        .name = text_of(resource, "name"),
        .title = text_of(resource, "title"),
        .description = text_of(resource, "description"),
        .type = text_of(resource, "mimeType"),
        .size = mcp_json_int(mcp_json_get(resource, "size"), -1),
        .priority = mcp_json_number(mcp_json_get(annotations, "priority"), -1),
        .modified = TIME_UNKNOWN,
    };
    time_parse(text_of(annotations, "lastModified"), &e.modified);
    mcp_json_iter it = {0};
    const mcp_json *who = mcp_json_get(annotations, "audience");
    for (const mcp_json *v; (v = mcp_json_next(who, &it, NULL)) != NULL;) {
        if (mcp_str_eq(mcp_json_string(v), MCP_STR("user")))
            e.audience |= AUDIENCE_USER;
        if (mcp_str_eq(mcp_json_string(v), MCP_STR("assistant")))
            e.audience |= AUDIENCE_ASSISTANT;
    }
    return e;
}

void size_format(int64_t size, char to[24])
{
    static const char units[] = " KMGTPE";
    double value = (double)size;
    size_t unit = 0;
    for (; value >= 999.5 && units[unit + 1]; unit++)
        value /= 1024;
    if (size < 0)
        *to = 0;
    else if (unit == 0)
        snprintf(to, 24, "%lld", (long long)size);
    else
        snprintf(to, 24, "%.*f%c", value < 9.95 ? 1 : 0, value, units[unit]);
}

/* ---- the filter ------------------------------------------------------------------------------ */

/* Parses an age: 30m, 12h, 7d, 2w. */
static bool read_age(const char *text, int64_t *ms)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || value < 0 || value > 1000000 || !*end || end[1])
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (units[i].unit == *end)
            return *ms = (int64_t)value * units[i].seconds * 1000, true;
    return false;
}

static int read_since(const char *text, int64_t *ret)
{
    int64_t age;
    if (time_parse(mcp_str_from(text), ret))
        return EXIT_OK;
    if (read_age(text, &age)) {
        *ret = time_now() - age;
        return EXIT_OK;
    }
    say("--since cannot be '%s'; it is a time, such as 2026-07-28T12:00:00Z, or an age, such as "
        "12h",
        text);
    return EXIT_USAGE;
}

int filter_make(const ctl *c, bool words_are_globs, filter *ret)
{
    *ret = (filter){.set = &c->set, .priority = -1, .since = TIME_UNKNOWN};
    if (words_are_globs) {
        ret->more_globs = (const char *const *)c->args;
        ret->n_more = c->n_args;
    }
    if (c->set.audience)
        ret->audience = strcmp(c->set.audience, "user") == 0 ? AUDIENCE_USER : AUDIENCE_ASSISTANT;
    if (c->set.priority) {
        char *end;
        ret->priority = strtod(c->set.priority, &end);
        if (end == c->set.priority || *end || !(ret->priority >= 0 && ret->priority <= 1)) {
            say("--priority cannot be '%s'; it is a number from 0 to 1", c->set.priority);
            return EXIT_USAGE;
        }
    }
    return c->set.since ? read_since(c->set.since, &ret->since) : EXIT_OK;
}

static bool matches(const char *glob, mcp_str text)
{
    char *copy = text_dup(text);
    bool match = copy && fnmatch(glob, copy, 0) == 0;
    free(copy);
    return match;
}

/* Compares the last segment of the path, decoded, which users regard as the file name. */
static bool matches_last(const char *glob, mcp_str uri)
{
    while (uri.len && uri.ptr[uri.len - 1] == '/')
        uri.len--;
    const char *slash = uri.len ? memrchr(uri.ptr, '/', uri.len) : NULL;
    if (slash)
        uri = (mcp_str){slash + 1, uri.len - (size_t)(slash + 1 - uri.ptr)};
    char *text = malloc(uri.len + 1);
    size_t len = 0;
    bool ok = text && mcp_uri_decode(uri, text, uri.len, &len) == MCP_OK;
    bool match = ok && matches(glob, (mcp_str){text, len});
    free(text);
    return match;
}

static bool matches_any(const char *const *globs, size_t count, const entry *e)
{
    for (size_t i = 0; i < count; i++)
        if (matches(globs[i], e->name) || matches(globs[i], e->uri) ||
            matches_last(globs[i], e->uri))
            return true;
    return false;
}

bool filter_passes(const filter *f, const entry *e)
{
    const settings *s = f->set;
    if (s->globs.count + f->n_more &&
        !matches_any((const char *const *)s->globs.items, s->globs.count, e) &&
        !matches_any(f->more_globs, f->n_more, e))
        return false;
    if (s->type && !matches(s->type, e->type))
        return false;
    if (f->audience && e->audience && !(e->audience & f->audience))
        return false;
    if (f->priority >= 0 && e->priority < f->priority)
        return false;
    if (s->min_size && (e->size < 0 || (uint64_t)e->size < s->min_size))
        return false;
    if (s->max_size && (e->size < 0 || (uint64_t)e->size > s->max_size))
        return false;
    return f->since == TIME_UNKNOWN || e->modified >= f->since;
}

/* ---- lists in memory ------------------------------------------------------------------------- */

typedef struct collecting {
    const filter *filter;
    entries *list;
} collecting;

static bool add_entry(entries *list, const entry *e)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 256;
        entry *grown = realloc(list->items, room * sizeof(*grown));
        if (!grown)
            return false;
        list->items = grown;
        list->room = room;
    }
    list->items[list->count] = *e;
    list->items[list->count].place = list->count;
    list->count++;
    return true;
}

/* Copies the page's array, because the page is only borrowed. The copy lives as long as the
 * list. */
static const mcp_json *keep_page(entries *list, const mcp_json *resources, int *rc)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_doc **grown = realloc(list->docs, (list->n_docs + 1) * sizeof(*grown));
    mcp_json_doc *doc = NULL;
    mcp_str text;
    if (grown)
        list->docs = grown;
    mcp_json_add_value(w, resources);
    *rc = !w || !grown ? MCP_ENOMEM : mcp_json_writer_finish(w, &text);
    /* This is an estimate: parsed values are larger than their text. */
    size_t cost = *rc == MCP_OK ? 4 * text.len + mcp_json_count(resources) * sizeof(entry) : 0;
    if (cost > most_bytes - list->bytes)
        *rc = MCP_ELIMIT;
    if (*rc == MCP_OK)
        *rc = mcp_json_parse(text, NULL, NULL, &doc, NULL);
    if (*rc == MCP_OK) {
        list->bytes += cost;
        list->docs[list->n_docs++] = doc;
    }
    mcp_json_writer_free(w);
    return mcp_json_root(doc);
}

static int collect_page(ctl *c, const mcp_json *result, void *user)
{
    collecting *k = user;
    int rc;
    mcp_json_iter it = {0};
    const mcp_json *page = keep_page(k->list, mcp_json_get(result, "resources"), &rc);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(page, &it, NULL)) != NULL;) {
        entry e = entry_of(v);
        k->list->seen++;
        if (!e.uri.len) {
            say("%s: entry %zu has no \"uri\": the server breaks the protocol", c->command->name,
                k->list->seen);
            return EXIT_PROTOCOL;
        }
        if (filter_passes(k->filter, &e) && !add_entry(k->list, &e))
            rc = MCP_ENOMEM;
    }
    if (rc == MCP_OK)
        return EXIT_OK;
    say("%s: the list: %s", c->command->name, mcp_error_text(rc));
    if (rc == MCP_ELIMIT)
        hint("'mcpctl ls' without --sort prints a list of any length");
    return EXIT_LOCAL;
}

int entries_collect(ctl *c, const filter *f, entries *ret)
{
    *ret = (entries){0};
    collecting k = {f, ret};
    return session_list(c, c->command->name, "resources/list", collect_page, &k);
}

void entries_say_none(ctl *c, size_t seen)
{
    if (c->set.quiet)
        return;
    if (!session_offers(c, "resources"))
        definitions_say_instead(c, "resources");
    else if (seen)
        say("none of %zu resource%s matches", seen, seen == 1 ? "" : "s");
    else
        say("this server lists no resources; 'mcpctl template' shows what else can be read");
}

void entries_clear(entries *list)
{
    for (size_t i = 0; i < list->n_docs; i++)
        mcp_json_free(list->docs[i]);
    free(list->docs);
    free(list->items);
    *list = (entries){0};
}

/* ---- sorting --------------------------------------------------------------------------------- */

static int compare_text(mcp_str a, mcp_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.ptr, b.ptr, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Descending order; unknown values come last. */
#define GREATER(a, b) (((a) < (b)) - ((a) > (b)))

static int by_name(const entry *a, const entry *b)
{
    return compare_text(a->name, b->name);
}
static int by_uri(const entry *a, const entry *b)
{
    return compare_text(a->uri, b->uri);
}
static int by_type(const entry *a, const entry *b)
{
    return compare_text(a->type, b->type);
}
static int by_size(const entry *a, const entry *b)
{
    return GREATER(a->size, b->size);
}
static int by_priority(const entry *a, const entry *b)
{
    return GREATER(a->priority, b->priority);
}
static int by_modified(const entry *a, const entry *b)
{
    return GREATER(a->modified, b->modified);
}
static int by_score(const entry *a, const entry *b)
{
    return GREATER(a->score, b->score);
}

typedef struct order {
    int (*compare)(const entry *a, const entry *b);
    bool reverse;
} order;

static int compare(const void *a, const void *b, void *user)
{
    const order *o = user;
    const entry *x = a, *y = b;
    int result = o->compare(x, y);
    if (result)
        return o->reverse ? -result : result;
    return (x->place > y->place) - (x->place < y->place);
}

void entries_sort(entries *list, const char *key, bool reverse)
{
    static const struct {
        const char *key;
        int (*compare)(const entry *a, const entry *b);
    } keys[] = {{"name", by_name},  {"uri", by_uri},           {"size", by_size},
                {"type", by_type},  {"priority", by_priority}, {"modified", by_modified},
                {"score", by_score}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        order o = {keys[i].compare, reverse};
        if (strcmp(keys[i].key, key) == 0 && list->count)
            qsort_r(list->items, list->count, sizeof(*list->items), compare, &o);
    }
}
