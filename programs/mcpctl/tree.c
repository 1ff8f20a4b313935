/* tree.c: mcpctl tree: prints resources as a tree, by the paths of their URIs.
 *
 * The entries are sorted so that those below one folder are adjacent. No tree is built: a node is a
 * run of entries together with the number of parts that their paths share.
 */
#include <stdlib.h>

#include "entries.h"

#include <mcp/uri.h>

enum { DEEPEST = 200 };

typedef struct drawing {
    ctl *c;
    const entry *items;
    size_t folders, leaves;
    bool utf8;
    char before[8 * (DEEPEST + 1)]; /* the lines drawn left of a node */
    mcp_json_writer *json;
} drawing;

/* ---- paths ----------------------------------------------------------------------------------- */

/* Gets the next part of a URI. Part 0 is the root, "file://" or "mem:"; the rest is split at "/".
 * *at is advanced. Returns false at the end. */
static bool next_part(mcp_str uri, size_t *at, mcp_str *part)
{
    size_t i = *at;
    while (uri.len && uri.ptr[uri.len - 1] == '/')
        uri.len--;
    if (i >= uri.len)
        return false;
    if (i == 0) {
        const char *colon = memchr(uri.ptr, ':', uri.len);
        i = colon ? (size_t)(colon - uri.ptr) + 1 : 0;
        if (i + 1 < uri.len && uri.ptr[i] == '/' && uri.ptr[i + 1] == '/')
            for (i += 2; i < uri.len && uri.ptr[i] != '/';)
                i++;
        if (i == 0)
            i = strcspn(uri.ptr, "/") < uri.len ? strcspn(uri.ptr, "/") : uri.len;
        *part = (mcp_str){uri.ptr, i};
    } else {
        while (i < uri.len && uri.ptr[i] == '/')
            i++;
        size_t begin = i;
        while (i < uri.len && uri.ptr[i] != '/')
            i++;
        *part = (mcp_str){uri.ptr + begin, i - begin};
    }
    *at = i;
    return part->len != 0;
}

static bool part_at(mcp_str uri, size_t index, mcp_str *part)
{
    size_t at = 0;
    for (size_t i = 0; i <= index; i++)
        if (!next_part(uri, &at, part))
            return false;
    return true;
}

static int compare_paths(const void *a, const void *b)
{
    mcp_str x = ((const entry *)a)->uri, y = ((const entry *)b)->uri, p, q;
    size_t i = 0, k = 0;
    for (;;) {
        bool more_x = next_part(x, &i, &p), more_y = next_part(y, &k, &q);
        if (!more_x || !more_y)
            return (int)more_x - (int)more_y;
        size_t len = p.len < q.len ? p.len : q.len;
        int order = memcmp(p.ptr, q.ptr, len);
        if (order || p.len != q.len)
            return order ? order : p.len < q.len ? -1 : 1;
    }
}

/* Returns the end of the run of entries that share part number `depth` with entry `from`. */
static size_t run_end(const drawing *d, size_t from, size_t to, size_t depth)
{
    mcp_str first = {0}, part = {0};
    part_at(d->items[from].uri, depth, &first);
    size_t i = from + 1;
    while (i < to && part_at(d->items[i].uri, depth, &part) && mcp_str_eq(first, part))
        i++;
    return i;
}

/* Returns whether entry i is the node itself and not below it. */
static bool ends_at(const drawing *d, size_t i, size_t depth)
{
    mcp_str part;
    return !part_at(d->items[i].uri, depth + 1, &part);
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Decodes a part for display. If it cannot be decoded, *ret is the part itself. The caller frees
 * the result, which may be NULL. */
static char *decoded(mcp_str part, mcp_str *ret)
{
    char *text = malloc(part.len + 1);
    size_t len = 0;
    *ret = part;
    if (text && mcp_uri_decode(part, text, part.len, &len) == MCP_OK)
        *ret = (mcp_str){text, len};
    return text;
}

static void put_node(const drawing *d, mcp_str part, const entry *e, bool is_folder)
{
    const ctl *c = d->c;
    mcp_str name;
    char size[24] = "", *text = decoded(part, &name);
    put_styled(c, is_folder ? STYLE_BOLD : STYLE_NONE, name);
    if (is_folder)
        putchar('/');
    if (e)
        size_format(e->size, size);
    if (*size && c->out_is_terminal)
        printf("  %s%s%s", style_of(c, STYLE_DIM), size, style_of(c, STYLE_NONE));
    putchar('\n');
    free(text);
}

static void begin_json_node(const drawing *d, mcp_str part, const entry *e)
{
    mcp_json_writer *w = d->json;
    mcp_str name;
    char *text = decoded(part, &name);
    mcp_json_begin_object(w);
    mcp_json_writer *probe = mcp_json_writer_new(NULL, 0);
    mcp_str unused;
    mcp_json_add_str(probe, name); /* fails if the decoded text is not UTF-8 */
    bool ok = mcp_json_writer_finish(probe, &unused) == MCP_OK;
    mcp_json_writer_free(probe);
    mcp_json_put_str(w, "name", ok ? name : part);
    if (e)
        mcp_json_put_value(w, "resource", e->json);
    free(text);
}

static void draw(drawing *d, size_t from, size_t to, size_t depth, size_t level);

static void draw_node(drawing *d, size_t from, size_t to, size_t depth, size_t level, bool last)
{
    mcp_str part = {0};
    part_at(d->items[from].uri, depth, &part);
    const entry *e = ends_at(d, from, depth) ? &d->items[from] : NULL;
    size_t below = from;
    while (below < to && ends_at(d, below, depth))
        below++;
    bool is_folder = below < to || (e && e->uri.len && e->uri.ptr[e->uri.len - 1] == '/');
    *(is_folder ? &d->folders : &d->leaves) += 1;
    size_t len = strlen(d->before);
    if (d->json) {
        begin_json_node(d, part, e);
    } else {
        fputs(d->before, stdout);
        fputs(d->utf8 ? (last ? "└── " : "├── ") : (last ? "`-- " : "|-- "), stdout);
        put_node(d, part, e, is_folder);
        snprintf(d->before + len, sizeof(d->before) - len, "%s",
                 last      ? "    "
                 : d->utf8 ? "│   "
                           : "|   ");
    }
    bool deeper = !d->c->set.depth || level < d->c->set.depth;
    if (below < to && level < DEEPEST && deeper)
        draw(d, below, to, depth + 1, level + 1);
    d->before[len] = 0;
    if (d->json)
        mcp_json_end(d->json);
}

static void draw(drawing *d, size_t from, size_t to, size_t depth, size_t level)
{
    if (d->json)
        mcp_json_put_array(d->json, "children");
    while (from < to) {
        size_t end = run_end(d, from, to, depth);
        draw_node(d, from, end, depth, level, end == to);
        from = end;
    }
    if (d->json)
        mcp_json_end(d->json);
}

/* Draws the root line, which extends to the first branch: "file:///home/me/project". */
static void draw_root(drawing *d, size_t from, size_t to)
{
    size_t depth = 0, length = 0;
    mcp_str part = {0};
    while (depth < DEEPEST && !ends_at(d, from, depth) && run_end(d, from, to, depth + 1) == to)
        depth++;
    for (size_t i = 0; i <= depth; i++)
        next_part(d->items[from].uri, &length, &part);
    const entry *e = ends_at(d, from, depth) ? &d->items[from] : NULL;
    size_t below = from;
    while (below < to && ends_at(d, below, depth))
        below++;
    /* "/a" is not a URI and has no root */
    mcp_str root = {d->items[from].uri.ptr, length ? length : d->items[from].uri.len};
    if (d->json) {
        begin_json_node(d, root, e);
    } else {
        put_styled(d->c, STYLE_BOLD, root);
        putchar('\n');
    }
    d->leaves += below == to;
    if (below < to)
        draw(d, below, to, depth + 1, 1);
    if (d->json)
        mcp_json_end(d->json);
}

static bool speaks_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = NULL;
    for (size_t i = 0; i < 3 && !(value && *value); i++)
        value = getenv(names[i]);
    return value && (strstr(value, "UTF-8") || strstr(value, "utf8"));
}

static int draw_all(ctl *c, entries *all)
{
    drawing d = {.c = c, .items = all->items, .utf8 = speaks_utf8()};
    if (c->set.json) {
        d.json = mcp_json_writer_new(NULL, (size_t)1 << 30);
        mcp_json_begin_object(d.json);
        mcp_json_put_array(d.json, "tree");
    }
    for (size_t from = 0; from < all->count;) {
        size_t end = run_end(&d, from, all->count, 0);
        draw_root(&d, from, end);
        from = end;
    }
    if (d.json) {
        mcp_json_end(d.json), mcp_json_end(d.json);
        return put_written(c, "tree", d.json);
    }
    if (c->out_is_terminal)
        printf("\n%s%zu folder%s, %zu other resource%s%s\n", style_of(c, STYLE_DIM), d.folders,
               d.folders == 1 ? "" : "s", d.leaves, d.leaves == 1 ? "" : "s",
               style_of(c, STYLE_NONE));
    return EXIT_OK;
}

int run_tree(ctl *c)
{
    filter f;
    entries all = {0};
    int code = filter_make(c, true, &f);
    if (code == EXIT_OK && session_offers(c, "resources"))
        code = entries_collect(c, &f, &all);
    if (code == EXIT_OK && all.count)
        qsort(all.items, all.count, sizeof(*all.items), compare_paths);
    if (code == EXIT_OK && !all.count)
        entries_say_none(c, all.seen);
    if (code == EXIT_OK && (all.count || c->set.json))
        code = draw_all(c, &all);
    entries_clear(&all);
    return code;
}
