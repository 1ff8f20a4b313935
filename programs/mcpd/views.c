/* views.c: see views.h.
 *
 * A resource belongs to a view if it is below a source of the view. A tool or prompt belongs to its
 * source, if it has one; the resource tools and those that change files have none, and show only
 * what the view has. A command has none either, but it is no part of any source that a view names: it
 * must be named, too.
 */
#define _GNU_SOURCE
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "glob.h"
#include "oauth.h"

typedef struct copies {
    char **items;
    size_t count;
} copies;

/* What is kept of a view_source. */
typedef struct bound {
    char *place, *alias, *names;
    copies tools, prompts;
    bool alone;
} bound;

struct view {
    const views *all;
    const char *name, *instructions;
    const mcp_json *sources; /* NULL: all */
    bool has_tools;          /* it names tools */
    globs tools;
    bool *shows; /* for each source, if `sources` */
};

struct views {
    view *items;
    size_t count;
    const mcp_json *commands; /* the section "tools"; NULL if there is none */
    bound *sources;
    size_t n_sources;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Calls each() for a string, or for each element of a list of strings. */
static int for_each(const mcp_json *value, const char *pointer,
                    int (*each)(const mcp_json *text, const char *pointer, void *user), void *user)
{
    char below[200];
    int rc = MCP_OK;
    mcp_json_iter it = {0};
    if (mcp_json_is(value, MCP_JSON_STRING))
        return each(value, pointer, user);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(value, &it, NULL)) != NULL;) {
        snprintf(below, sizeof(below), "%s/%zu", pointer, it.index - 1);
        rc = each(v, below, user);
    }
    return rc;
}

/* A pattern that is being read. */
typedef struct pattern {
    config *c;
    view *v;
    globs *to;
} pattern;

static int add_pattern(const mcp_json *text, const char *pointer, void *user)
{
    const pattern *p = user;
    mcp_str given = mcp_json_string(text);
    int rc = memchr(given.ptr, 0, given.len) ? MCP_EINVAL : globs_add(p->to, given);
    if (rc == MCP_ELIMIT || rc == MCP_EINVAL)
        return config_wrong(p->c, rc, pointer,
                            rc == MCP_ELIMIT ? "longer than 1024 bytes"
                                             : "it contains a NUL character");
    return rc;
}

static int read_view(config *c, mcp_str name, const mcp_json *value, view *v)
{
    char pointer[120];
    const mcp_json *instructions = mcp_json_get(value, "instructions");
    const mcp_json *tools = mcp_json_get(value, "tools");
    const mcp_json *resource = mcp_json_get(value, "resource");
    v->name = config_keep(c, strndup(name.ptr, name.len));
    v->instructions = instructions ? config_text(c, instructions) : NULL;
    v->sources = mcp_json_get(value, "sources");
    v->has_tools = tools != NULL;
    if (!v->name || (instructions && !v->instructions))
        return MCP_ENOMEM;
    snprintf(pointer, sizeof(pointer), "/views/%s/resource", v->name);
    if (resource && oauth_check_view(c, pointer, v->name, mcp_json_string(resource)) != MCP_OK)
        return MCP_EINVAL;
    snprintf(pointer, sizeof(pointer), "/views/%s/tools", v->name);
    return tools ? for_each(tools, pointer, add_pattern, &(pattern){c, v, &v->tools}) : MCP_OK;
}

int views_read(config *c, views **ret)
{
    const mcp_json *section = c ? mcp_json_get(config_root(c), "views") : NULL;
    size_t count = mcp_json_count(section);
    mcp_json_iter it = {0};
    mcp_str name;
    int rc = MCP_OK;
    *ret = NULL;
    if (!count)
        return MCP_OK;
    views *made = calloc(1, sizeof(*made));
    if (!made || !(made->items = calloc(count, sizeof(*made->items)))) {
        views_free(made);
        return MCP_ENOMEM;
    }
    made->commands = mcp_json_get(config_root(c), "tools");
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(section, &it, &name)) != NULL;) {
        view *to = &made->items[made->count++];
        to->all = made;
        rc = read_view(c, name, v, to);
    }
    if (rc == MCP_OK)
        *ret = made;
    else
        views_free(made);
    return rc;
}

static bool copy_all(copies *to, const char *const *from, size_t n)
{
    to->items = calloc(n + 1, sizeof(*to->items));
    while (to->items && to->count < n && (to->items[to->count] = strdup(from[to->count])) != NULL)
        to->count++;
    return to->items && to->count == n;
}

static void copies_clear(copies *list)
{
    while (list->count)
        free(list->items[--list->count]);
    free(list->items);
}

static void bound_clear(bound *b)
{
    copies_clear(&b->tools);
    copies_clear(&b->prompts);
    free(b->place);
    free(b->alias);
    free(b->names);
}

static void unbind(views *all)
{
    while (all->n_sources)
        bound_clear(&all->sources[--all->n_sources]);
    free(all->sources);
    all->sources = NULL;
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].shows);
        all->items[i].shows = NULL;
    }
}

void views_free(views *all)
{
    if (!all)
        return;
    unbind(all);
    for (size_t i = 0; i < all->count; i++)
        globs_clear(&all->items[i].tools);
    free(all->items);
    free(all);
}

/* ---- the sources ----------------------------------------------------------------------------- */

/* Returns the second prefix of the URIs of another server, "ui://mcp+NAME/" beside "mcp+NAME:". */
static bool make_alias(bound *b)
{
    size_t len = strlen(b->place);
    if (strncmp(b->place, "mcp+", 4) != 0 || b->place[len - 1] != ':')
        return true;
    return asprintf(&b->alias, "ui://%.*s/", (int)len - 1, b->place) >= 0;
}

static int keep(bound *to, const view_source *from)
{
    bool ok = copy_all(&to->tools, from->tools, from->n_tools) &&
              copy_all(&to->prompts, from->prompts, from->n_prompts);
    to->alone = from->alone;
    if (ok && from->place && *from->place)
        ok = (to->place = strdup(from->place)) != NULL && make_alias(to);
    if (ok && from->names)
        ok = (to->names = strdup(from->names)) != NULL;
    return ok ? MCP_OK : MCP_ENOMEM;
}

/* Returns the name in the prefix of URIs: "shop" of "sqlite://shop/" and of "mcp+shop:". */
static mcp_str name_in(const char *place)
{
    const char *at = place ? strstr(place, "://") : NULL;
    const char *plus = place && strncmp(place, "mcp+", 4) == 0 ? place + 4 : NULL;
    if (at)
        return (mcp_str){at + 3, strcspn(at + 3, "/")};
    return plus ? (mcp_str){plus, strcspn(plus, ":")} : (mcp_str){0};
}

/* One view, while it is compared with the sources. */
typedef struct binding {
    view *v;
    config *c;
    const view_source *list;
    size_t n;
    bool absent; /* a source is, so nobody knows its name */
} binding;

static bool is_path(const globs *paths, const char *path)
{
    char *real = realpath(path, NULL);
    bool is =
        globs_match(paths, mcp_str_from(path)) || (real && globs_match(paths, mcp_str_from(real)));
    free(real);
    return is;
}

/* Finds the sources that a word names: files and folders by their path, others by their name. */
static int find_named(const mcp_json *word, const char *pointer, void *user)
{
    binding *b = user;
    globs names = {0}, paths = {0};
    bool found = false;
    int rc = add_pattern(word, pointer, &(pattern){b->c, b->v, &names});
    const char *place = rc == MCP_OK ? config_place(b->c, mcp_json_string(word)) : NULL;
    if (rc == MCP_OK)
        rc = place ? globs_add(&paths, mcp_str_from(place)) : MCP_ENOMEM;
    for (size_t i = 0; rc == MCP_OK && i < b->n; i++) {
        const view_source *s = &b->list[i];
        bool is = s->path   ? is_path(&paths, s->path)
                  : s->name ? globs_match(&names, mcp_str_from(s->name))
                            : globs_match(&names, name_in(s->place));
        b->v->shows[i] = b->v->shows[i] || is;
        found = found || is;
    }
    globs_clear(&names);
    globs_clear(&paths);
    if (rc == MCP_OK && !found && !b->absent)
        return config_wrong(
            b->c, MCP_EINVAL, pointer,
            "no source has this name or path: write the path of a file or folder as "
            "in sources, and the name of another source as in its URIs");
    return rc;
}

static int bind_one(binding *b)
{
    char pointer[120];
    snprintf(pointer, sizeof(pointer), "/views/%s/sources", b->v->name);
    b->v->shows = calloc(b->n + 1, sizeof(*b->v->shows));
    int rc = b->v->shows ? for_each(b->v->sources, pointer, find_named, b) : MCP_ENOMEM;
    for (size_t i = 0; rc == MCP_OK && i < b->n; i++)
        if (b->list[i].unknown && !b->v->shows[i])
            rc = config_wrong(
                b->c, MCP_EINVAL, pointer,
                "the source %.100s cannot be left out, because its module does not say "
                "which tools it has",
                b->list[i].name ? b->list[i].name : "without a name");
    return rc;
}

int views_bind(views *all, config *c, const view_source *list, size_t n)
{
    bool absent = false;
    unbind(all);
    all->sources = calloc(n + 1, sizeof(*all->sources));
    int rc = all->sources ? MCP_OK : MCP_ENOMEM;
    for (size_t i = 0; rc == MCP_OK && i < n; i++) {
        absent = absent || !list[i].place;
        all->n_sources++;
        rc = keep(&all->sources[i], &list[i]);
    }
    for (size_t i = 0; rc == MCP_OK && i < all->count; i++)
        if (all->items[i].sources)
            rc = bind_one(&(binding){&all->items[i], c, list, n, absent});
    return rc;
}

/* ---- finding views --------------------------------------------------------------------------- */

size_t views_count(const views *all)
{
    return all ? all->count : 0;
}

const view *views_at(const views *all, size_t i)
{
    return &all->items[i];
}

const view *views_find(const views *all, mcp_str name)
{
    for (size_t i = 0; i < views_count(all); i++)
        if (mcp_str_eq(mcp_str_from(all->items[i].name), name))
            return &all->items[i];
    return NULL;
}

const char *view_name(const view *v)
{
    return v->name;
}

const char *view_instructions(const view *v)
{
    return v->instructions;
}

/* ---- what belongs to a view ------------------------------------------------------------------ */

static bool begins(mcp_str text, const char *with)
{
    size_t len = with ? strlen(with) : 0;
    return len && text.len >= len && memcmp(text.ptr, with, len) == 0;
}

/* Whether a URI is at or below a place. The place of a folder has no slash at its end. */
static bool is_below(const char *place, mcp_str uri)
{
    if (!begins(uri, place))
        return false;
    size_t len = strlen(place);
    return uri.len == len || strchr("/:", place[len - 1]) || uri.ptr[len] == '/';
}

/* Whether a template may expand to a URI below a place: what is before its first expression is below
 * the place, or may lead there. */
static bool leads_below(const char *place, mcp_str tmpl)
{
    const char *brace = tmpl.len ? memchr(tmpl.ptr, '{', tmpl.len) : NULL;
    mcp_str fixed = {tmpl.ptr, brace ? (size_t)(brace - tmpl.ptr) : tmpl.len};
    return is_below(place, fixed) || (brace && place && strlen(place) >= fixed.len &&
                                      (!fixed.len || memcmp(place, fixed.ptr, fixed.len) == 0));
}

static bool shows_uri(const view *v, mcp_str uri, bool (*is_of)(const char *place, mcp_str uri))
{
    for (size_t i = 0; v->shows && i < v->all->n_sources; i++) {
        const bound *b = &v->all->sources[i];
        if (v->shows[i] && (b->alone || is_of(b->place, uri) || is_of(b->alias, uri)))
            return true;
    }
    return false;
}

static bool has(const copies *list, mcp_str name)
{
    for (size_t i = 0; i < list->count; i++)
        if (mcp_str_eq(mcp_str_from(list->items[i]), name))
            return true;
    return false;
}

static bool is_command(const views *all, mcp_str name)
{
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(all->commands, &it, NULL)) != NULL;)
        if (mcp_str_eq(mcp_json_string(mcp_json_get(v, "name")), name))
            return true;
    return false;
}

/* Returns the index of the source that has a tool or prompt, or n_sources. The longest beginning of
 * names counts, after the names that a source has said. */
static size_t owner_of(const views *all, mcp_item item, mcp_str name)
{
    size_t found = all->n_sources, longest = 0;
    for (size_t i = 0; i < all->n_sources; i++) {
        const bound *b = &all->sources[i];
        if (has(item == MCP_ITEM_TOOL ? &b->tools : &b->prompts, name))
            return i;
        size_t len = b->names ? strlen(b->names) : 0;
        if (b->alone || (begins(name, b->names) && len > longest))
            found = i, longest = len;
    }
    return found;
}

/* Whether a tool or prompt is of a source of the view, or of none. */
static bool shows_owned(const view *v, mcp_item item, mcp_str name)
{
    size_t owner = v->shows ? owner_of(v->all, item, name) : 0;
    return v->shows && (owner == v->all->n_sources || v->shows[owner]);
}

static bool shows_tool(const view *v, mcp_str name)
{
    if (v->has_tools && !globs_match(&v->tools, name))
        return false;
    if (v->sources && is_command(v->all, name))
        return v->has_tools;
    return !v->sources || shows_owned(v, MCP_ITEM_TOOL, name);
}

bool view_shows(const view *v, mcp_item item, mcp_str name)
{
    switch (item) {
    case MCP_ITEM_RESOURCE: return !v->sources || shows_uri(v, name, is_below);
    case MCP_ITEM_TEMPLATE: return !v->sources || shows_uri(v, name, leads_below);
    case MCP_ITEM_PROMPT: return !v->sources || shows_owned(v, item, name);
    case MCP_ITEM_TOOL: return shows_tool(v, name);
    default: return false;
    }
}
