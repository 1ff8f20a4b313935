/* lists.c: finds what changed in a list. The notification does not say what changed, so the list is
 * read again and compared with its previous state. An untrusted list may be endless, so a list that
 * is too long is not read again.
 */
#include "lists.h"

#include <stdlib.h>

#include "roster.h"

enum { KINDS = MCP_CHANGE_TOOLS + 1, MOST_PAGES = 5000, SHOWN = 100, ENOUGH = -1 };

static const struct {
    const char *capability, *method, *key;
} kinds[KINDS] = {
    [MCP_CHANGE_RESOURCES] = {"resources", "resources/list", "uri"},
    [MCP_CHANGE_PROMPTS] = {"prompts", "prompts/list", "name"},
    [MCP_CHANGE_TOOLS] = {"tools", "tools/list", "name"},
};

struct lists {
    ctl *c;
    struct {
        roster names;
        bool known, too_long;
    } of[KINDS];
};

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reading {
    mcp_change kind;
    roster *names;
    size_t pages;
} reading;

static int on_page(ctl *c, const mcp_json *result, void *user)
{
    reading *r = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, kinds[r->kind].capability);
    (void)c;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        roster_add(r->names, mcp_json_string(mcp_json_get(v, kinds[r->kind].key)));
    if (++r->pages == MOST_PAGES)
        r->names->is_incomplete = true;
    return r->names->is_incomplete ? ENOUGH : EXIT_OK;
}

/* Returns false if the list cannot be compared. roster_clear() must be called in any case. */
static bool read_list(lists *l, mcp_change kind, roster *ret)
{
    reading r = {.kind = kind, .names = ret};
    if (l->of[kind].too_long || !session_offers(l->c, kinds[kind].capability))
        return false;
    int code = session_quietly(l->c, kinds[kind].method, on_page, &r);
    l->of[kind].too_long = ret->is_incomplete;
    if (ret->is_incomplete)
        say("watch: the list of %s is too long: its changes are not shown", kinds[kind].capability);
    else if (code != EXIT_OK && !l->c->session->interrupted)
        say("watch: the list of %s cannot be read now: its changes are shown with the next one",
            kinds[kind].capability);
    return code == EXIT_OK && !ret->is_incomplete;
}

lists *lists_new(ctl *c)
{
    lists *l = calloc(1, sizeof(*l));
    if (!l) {
        say("watch: out of memory");
        return NULL;
    }
    l->c = c;
    for (mcp_change kind = MCP_CHANGE_RESOURCES; kind <= MCP_CHANGE_TOOLS; kind++)
        l->of[kind].known = read_list(l, kind, &l->of[kind].names);
    return l;
}

void lists_free(lists *l)
{
    for (size_t i = 0; l && i < KINDS; i++)
        roster_clear(&l->of[i].names);
    free(l);
}

/* ---- changes --------------------------------------------------------------------------------- */

typedef struct changes {
    const char *added[SHOWN], *removed[SHOWN];
    size_t n_added, n_removed, more;
} changes;

static void note(bool added, const char *name, void *user)
{
    changes *k = user;
    if (k->n_added + k->n_removed == SHOWN)
        k->more++;
    else if (added)
        k->added[k->n_added++] = name;
    else
        k->removed[k->n_removed++] = name;
}

static void put_lines(const ctl *c, char sign, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        printf("%c ", sign);
        put_field(c, mcp_str_from(names[i]));
        putchar('\n');
    }
}

static void add_names(mcp_json_writer *w, const char *key, const char *const *names, size_t count)
{
    if (!count)
        return;
    mcp_json_put_array(w, key);
    for (size_t i = 0; i < count; i++)
        mcp_json_add_string(w, names[i]);
    mcp_json_end(w);
}

static void put_all(const ctl *c, const changes *k, mcp_json_writer *w)
{
    if (w) {
        add_names(w, "added", k->added, k->n_added);
        add_names(w, "removed", k->removed, k->n_removed);
        if (k->more)
            mcp_json_put_uint(w, "more", k->more);
        return;
    }
    put_lines(c, '+', k->added, k->n_added);
    put_lines(c, '-', k->removed, k->n_removed);
    if (k->more)
        printf("and %zu more\n", k->more);
}

void lists_put_changes(lists *l, mcp_change kind, mcp_json_writer *w)
{
    roster now = {0};
    changes k = {.more = 0};
    if (!read_list(l, kind, &now)) {
        roster_clear(&now);
        return;
    }
    if (l->of[kind].known) {
        roster_compare(&l->of[kind].names, &now, note, &k);
        put_all(l->c, &k, w);
    }
    roster_clear(&l->of[kind].names);
    l->of[kind].names = now;
    l->of[kind].known = true;
}
