/* seen.c: which entries of a list were passed on already.
 *
 * A server may refuse a cursor that it has given, for example because the list has changed. The list is
 * then read again from the beginning, but pages that are printed already cannot be taken back. Entries
 * are recognized by what identifies them, so that none is printed twice.
 */
#define _GNU_SOURCE
#include "seen.h"

#include <stdlib.h>

enum { MOST = 100000 }; /* entries that are remembered */

typedef struct list_kind {
    const char *method, *array, *id;
} list_kind;

static const list_kind *kind_of(const char *method)
{
    static const list_kind kinds[] = {
        {"resources/list", "resources", "uri"},
        {"resources/templates/list", "resourceTemplates", "uriTemplate"},
        {"prompts/list", "prompts", "name"},
        {"tools/list", "tools", "name"},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i].method, method) == 0)
            return &kinds[i];
    return NULL;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void seen_add(seen *s, const char *method, const mcp_json *page)
{
    const list_kind *k = kind_of(method);
    mcp_json_iter it = {0};
    if (s->sorted)
        return;
    s->lost = s->lost || !k;
    const mcp_json *entries = k ? mcp_json_get(page, k->array) : NULL;
    for (const mcp_json *v; !s->lost && (v = mcp_json_next(entries, &it, NULL)) != NULL;) {
        mcp_str id = mcp_json_string(mcp_json_get(v, k->id));
        s->lost = !id.ptr || s->ids.count == MOST || !words_add(&s->ids, text_dup(id));
    }
}

bool seen_restart(seen *s)
{
    if (s->sorted || s->lost || !s->ids.count)
        return false;
    qsort(s->ids.items, s->ids.count, sizeof(*s->ids.items), compare);
    s->sorted = true;
    return true;
}

static bool is_new(const seen *s, const list_kind *k, const mcp_json *entry)
{
    char *id = text_dup(mcp_json_string(mcp_json_get(entry, k->id)));
    bool is = !id || !bsearch(&id, s->ids.items, s->ids.count, sizeof(*s->ids.items), compare);
    free(id);
    return is;
}

static void put_new(const seen *s, const list_kind *k, const mcp_json *entries, mcp_json_writer *w)
{
    mcp_json_iter it = {0};
    mcp_json_begin_array(w);
    for (const mcp_json *v; (v = mcp_json_next(entries, &it, NULL)) != NULL;)
        if (is_new(s, k, v))
            mcp_json_add_value(w, v);
    mcp_json_end(w);
}

bool seen_filter(const seen *s, const char *method, const mcp_json *page, mcp_json_doc **ret)
{
    const list_kind *k = kind_of(method);
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_iter it = {0};
    mcp_str key, text;
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(page, &it, &key)) != NULL;) {
        mcp_json_key_str(w, key);
        if (mcp_str_eq(key, mcp_str_from(k->array)))
            put_new(s, k, v, w);
        else
            mcp_json_add_value(w, v);
    }
    mcp_json_end(w);
    bool ok = w && mcp_json_writer_finish(w, &text) == MCP_OK &&
              mcp_json_parse(text, NULL, NULL, ret, NULL) == MCP_OK;
    mcp_json_writer_free(w);
    return ok;
}

void seen_clear(seen *s)
{
    words_clear(&s->ids);
    *s = (seen){0};
}
