/* completions.c: caches a few results of completion/complete for a few seconds. */
#define _GNU_SOURCE
#include "completions.h"

#include <stdlib.h>
#include <string.h>

typedef struct completion_cached {
    char *key; /* NULL if the entry is unused */
    mcp_json_doc *result;
    int64_t until;
} completion_cached;

struct completions {
    completion_cached places[COMPLETIONS_MOST];
    size_t next; /* the oldest entry, to be replaced next */
    unsigned changes;
};

completions *completions_new(void)
{
    return calloc(1, sizeof(completions));
}

static void clear(completion_cached *place)
{
    free(place->key);
    mcp_json_free(place->result);
    *place = (completion_cached){0};
}

void completions_forget(completions *k)
{
    if (!k)
        return;
    k->changes++;
    for (size_t i = 0; i < COMPLETIONS_MOST; i++)
        clear(&k->places[i]);
}

void completions_free(completions *k)
{
    completions_forget(k);
    free(k);
}

unsigned completions_changes(const completions *k)
{
    return k ? k->changes : 0;
}

const mcp_json *completions_get(const completions *k, const char *key, int64_t now)
{
    for (size_t i = 0; k && i < COMPLETIONS_MOST; i++) {
        const completion_cached *place = &k->places[i];
        if (place->key && place->until > now && strcmp(place->key, key) == 0)
            return mcp_json_root(place->result);
    }
    return NULL;
}

/* Returns NULL if the value is too large, or if out of memory. */
static mcp_json_doc *copy(const mcp_json *value, size_t most)
{
    mcp_str text;
    mcp_json_doc *doc = NULL;
    mcp_json_writer *w = mcp_json_writer_new(NULL, most);
    mcp_json_add_value(w, value);
    if (w && mcp_json_writer_finish(w, &text) == MCP_OK)
        mcp_json_parse(text, NULL, NULL, &doc, NULL);
    mcp_json_writer_free(w);
    return doc;
}

void completions_put(completions *k, const char *key, const mcp_json *result, unsigned changes,
                     int64_t now)
{
    size_t len = strlen(key);
    if (!k || changes != k->changes || len >= COMPLETIONS_MOST_BYTES)
        return;
    completion_cached one = {.key = strdup(key),
                             .result = copy(result, COMPLETIONS_MOST_BYTES - len),
                             .until = now + COMPLETIONS_MS};
    if (!one.key || !one.result) {
        clear(&one);
        return;
    }
    clear(&k->places[k->next]);
    k->places[k->next] = one;
    k->next = (k->next + 1) % COMPLETIONS_MOST;
}
