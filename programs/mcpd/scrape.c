/* scrape.c: see scrape.h.
 *
 * The endpoint's own text lacks the names that the caller may not use. A caller that may see all names
 * gets the text that is made for the program instead.
 */
#define _GNU_SOURCE
#include "scrape.h"

#include <mcp/sys/http.h>
#include <mcp/sys/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A scheme alone reveals nothing that a rule could hide, unless it has the name of a source
 * ("mcp+NAME:"). */
static bool is_scheme(mcp_str prefix)
{
    return prefix.len && prefix.ptr[prefix.len - 1] == ':' && !memchr(prefix.ptr, '+', prefix.len);
}

static bool may_show(bool tool, mcp_str name, void *user)
{
    const scrape *s = user;
    if (mcp_str_eq(name, MCP_STR("other")) || (!tool && is_scheme(name)))
        return true;
    return access_may(s->identity, tool ? MCP_ITEM_TOOL : MCP_ITEM_RESOURCE, name, s->rules);
}

static size_t index_of(const scrape *s)
{
    size_t index = 0;
    while (index < s->at->count && mcp_listener_http(s->at->items[index]) != s->http)
        index++;
    return index;
}

/* Without memory nothing is answered: the text that is not filtered may contain secret names. */
static bool add_up(const scrape *s, merge *m, mcp_str text, const merge_filter *filter)
{
    return m && merge_add(m, text, filter) &&
           (!s->board || board_sum(s->board, s->at, index_of(s), m, filter));
}

/* A text in pieces. */
typedef struct whole {
    FILE *to;
    char *text;
    size_t len;
} whole;

static void add_piece(mcp_str text, void *arg)
{
    const whole *w = arg;
    fwrite(text.ptr, 1, text.len, w->to);
}

/* Returns the text with all names, which the caller frees, or NULL. */
static char *all_names(const scrape *s, mcp_str *ret)
{
    whole w = {.len = 0};
    w.to = open_memstream(&w.text, &w.len);
    bool ok = w.to && mcp_http_get_metrics(s->http, add_piece, &w) == MCP_OK;
    ok = w.to && fclose(w.to) == 0 && ok;
    *ret = (mcp_str){w.text, w.len};
    if (ok)
        return w.text;
    free(w.text);
    return NULL;
}

void scrape_answer(const scrape *s, mcp_str text, void (*add)(mcp_str text, void *arg), void *arg)
{
    bool all = access_may_see_names(s->identity, s->rules);
    const merge_filter filter = {.may = all ? NULL : may_show, .user = (void *)(uintptr_t)s};
    char *named = all && s->rules ? all_names(s, &text) : NULL;
    merge *m = all && s->rules && !named ? NULL : merge_new();
    if (add_up(s, m, text, &filter))
        merge_put(m, add, arg);
    else
        add(MCP_STR("# there was no memory for the metrics\n"), arg);
    merge_free(m);
    free(named);
}
