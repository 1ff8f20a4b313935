/* names.c: maps the names of tools and prompts; see names.h. */
#include "names.h"

#include "policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HASH = 17, /* "_" and the digits */ MOST = 1024 /* limit of remembered names */ };

typedef struct upstream_renamed {
    char name[UPSTREAM_NAME_MAX + 1];
    char *original;
    size_t len;
} upstream_renamed; /* sorted by name */

bool upstream_is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n && n <= UPSTREAM_SOURCE_MAX && !name[n] && name[0] >= 'a' && name[0] <= 'z';
}

void upstream_names_init(upstream_names *names, const char *prefix,
                         const mcp_upstream_options *options, const mcp_allocator *alloc)
{
    *names = (upstream_names){.prefix = prefix, .options = options, .alloc = *alloc};
}

void upstream_names_free(upstream_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        common_release(&names->alloc, names->renamed[i].original);
    common_release(&names->alloc, names->renamed);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool is_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Returns whether `name` ends with "_" and 16 hexadecimal digits, as a changed name does. */
static bool ends_hashed(mcp_str name)
{
    if (name.len < HASH || name.ptr[name.len - HASH] != '_')
        return false;
    for (size_t i = name.len - HASH + 1; i < name.len; i++) {
        if (!is_digit(name.ptr[i]))
            return false;
    }
    return true;
}

/* Returns whether names stay as they are. */
static bool is_transparent(const upstream_names *names)
{
    return !names->prefix[0];
}

static bool has_to_change(const upstream_names *names, mcp_item item, mcp_str original)
{
    if (is_transparent(names))
        return false;
    if (strlen(names->prefix) + original.len > UPSTREAM_NAME_MAX || ends_hashed(original) ||
        upstream_change_to(names->options, item, original))
        return true;
    for (size_t i = 0; i < original.len; i++) {
        if (!is_plain(original.ptr[i]))
            return true;
    }
    return false;
}

static uint64_t hash_of(mcp_str s)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < s.len; i++)
        hash = (hash ^ (unsigned char)s.ptr[i]) * 0x100000001b3U;
    return hash;
}

static void change(const upstream_names *names, mcp_str original, char to[UPSTREAM_NAME_MAX + 1])
{
    size_t prefix = strlen(names->prefix), room = UPSTREAM_NAME_MAX - HASH - prefix, n = 0;
    memcpy(to, names->prefix, prefix);
    for (; n < room && n < original.len; n++)
        to[prefix + n] = is_plain(original.ptr[n]) ? original.ptr[n] : '_';
    snprintf(to + prefix + n, HASH + 1, "_%016" PRIx64, hash_of(original));
}

size_t upstream_place(const void *array, size_t n, mcp_str (*name_at)(const void *array, size_t i),
                      mcp_str name, bool *found)
{
    size_t from = 0, to = n;
    *found = false;
    while (from < to && !*found) {
        size_t at = from + (to - from) / 2;
        mcp_str other = name_at(array, at);
        size_t len = other.len < name.len ? other.len : name.len;
        int order = len ? memcmp(other.ptr, name.ptr, len) : 0;
        order = order ? order : (other.len > name.len) - (other.len < name.len);
        *found = order == 0;
        if (order < 0)
            from = at + 1;
        else
            to = at;
    }
    return to;
}

static mcp_str name_at(const void *array, size_t i)
{
    return mcp_str_from(((const upstream_renamed *)array)[i].name);
}

/* Returns the index of a changed name, or where it would be. */
static size_t place(const upstream_names *names, mcp_str name, bool *found)
{
    return upstream_place(names->renamed, names->n, name_at, name, found);
}

static int remember(upstream_names *names, const char *name, mcp_str original)
{
    bool known;
    size_t at = place(names, mcp_str_from(name), &known);
    upstream_renamed *r = names->renamed + at;
    if (known) /* Of two originals with the same hash only the first can be reached, so only that
                * one is listed. */
        return mcp_str_eq((mcp_str){r->original, r->len}, original) ? MCP_OK : MCP_ENOTFOUND;
    if (names->n == MOST)
        return MCP_ENOTFOUND;
    if (names->n == names->cap) {
        size_t cap = names->cap ? names->cap * 2 : 8;
        upstream_renamed *grown =
            names->alloc.resize(names->renamed, cap * sizeof(*grown), names->alloc.user);
        if (!grown)
            return MCP_ENOMEM;
        names->renamed = grown;
        names->cap = cap;
    }
    char *copy = common_copy(&names->alloc, original.ptr, original.len);
    if (!copy)
        return MCP_ENOMEM;
    r = names->renamed + at;
    memmove(r + 1, r, (names->n - at) * sizeof(*r));
    r->original = copy;
    r->len = original.len;
    snprintf(r->name, sizeof(r->name), "%s", name);
    names->n++;
    return MCP_OK;
}

/* Returns the name that the configuration gives an item, or NULL. */
static const char *own_name(const upstream_names *names, mcp_item item, mcp_str original)
{
    const mcp_upstream_change *c = upstream_change_of(names->options, item, original);
    return c ? c->name : NULL;
}

int upstream_names_give(upstream_names *names, mcp_item item, mcp_str original,
                        char to[MCP_NAME_ROOM])
{
    const char *own = own_name(names, item, original);
    if (own)
        original = mcp_str_from(own);
    if (!original.len || strlen(names->prefix) + original.len >= MCP_NAME_ROOM)
        return MCP_ENOTFOUND;
    if (!own && has_to_change(names, item, original)) {
        change(names, original, to);
        return remember(names, to, original);
    }
    snprintf(to, MCP_NAME_ROOM, "%s%.*s", names->prefix, (int)original.len, original.ptr);
    return MCP_OK;
}

bool upstream_names_is_changed(const upstream_names *names, mcp_str name)
{
    size_t prefix = strlen(names->prefix);
    return !is_transparent(names) && name.len > prefix &&
           ends_hashed((mcp_str){name.ptr + prefix, name.len - prefix});
}

mcp_str upstream_names_find(const upstream_names *names, mcp_item item, mcp_str name)
{
    size_t prefix = strlen(names->prefix);
    const mcp_str none = {NULL, 0};
    mcp_str rest = {name.ptr + prefix, name.len > prefix ? name.len - prefix : 0};
    if (!rest.len)
        return none;
    const mcp_upstream_change *to = upstream_change_to(names->options, item, rest);
    if (to)
        return mcp_str_from(to->original);
    if (upstream_names_is_changed(names, name)) {
        bool known;
        const upstream_renamed *r = names->renamed + place(names, name, &known);
        rest = known ? (mcp_str){r->original, r->len} : none;
    }
    return rest.ptr && own_name(names, item, rest) ? none : rest;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool is_valid(const char *name, size_t prefix)
{
    for (const char *c = name; *c; c++)
        if (!is_plain(*c))
            return false;
    return *name && prefix + strlen(name) <= UPSTREAM_NAME_MAX && !ends_hashed(mcp_str_from(name));
}

/* Returns the part of the name here that follows NAME_. */
static const char *rest_of(const mcp_upstream_change *c)
{
    return c->name ? c->name : c->original;
}

static int check_name(const mcp_upstream_options *o, const mcp_upstream_change *c, mcp_error *error)
{
    size_t prefix = strlen(o->name) + 1;
    if (!c->name)
        return MCP_OK;
    if (o->transparent)
        return upstream_invalid(error, "with \"transparent\", names cannot be changed");
    if (is_valid(c->name, prefix))
        return MCP_OK;
    return upstream_invalid(error,
                            "\"%.80s\" cannot be the name of \"%.80s\": it may have at most %zu "
                            "characters of A-Z, a-z, 0-9, \"_\" and \"-\", and must not end with "
                            "\"_\" and 16 hexadecimal digits",
                            c->name, c->original, (size_t)UPSTREAM_NAME_MAX - prefix);
}

int upstream_names_check(const mcp_upstream_options *o, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < o->n_changes; i++) {
        const mcp_upstream_change *a = &o->changes[i], *b = a + 1;
        rc = check_name(o, a, error);
        for (; rc == MCP_OK && b < o->changes + o->n_changes; b++)
            if (a->item == b->item && strcmp(rest_of(a), rest_of(b)) == 0)
                rc = upstream_invalid(
                    error, "the %s \"%.80s\" and \"%.80s\" would both be called %s_%.80s",
                    a->item == MCP_ITEM_TOOL ? "tools" : "prompts", a->original, b->original,
                    o->name, rest_of(a));
    }
    return rc;
}
