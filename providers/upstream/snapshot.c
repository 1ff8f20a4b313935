/* snapshot.c: what is known of the other server without asking it: what it said about itself when a
 * session began (its title and version, its instructions and its capabilities), and the pages of its
 * lists that it sent last, for the time when it does not answer.
 *
 * A snapshot outlives its sessions, and passes to the next mount of the same server. remember.c keeps
 * a part of it for the next process. If they all take too much memory, the snapshot that was used least
 * recently is forgotten or, if it is the only one, such pages.
 */
#include <mcp/sys/json.h>
#include <string.h>

#include "snapshot.h"

enum {
    MOST_BYTES = 2 << 20,    /* of all snapshots */
    OWN_BYTES = 256,         /* of memory besides the texts, about */
    MOST_INSTRUCTIONS = 4096 /* bytes that are kept */
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t size_of_page(const upstream_page *p)
{
    return OWN_BYTES + p->text.len + strlen(p->cursor);
}

static size_t size_of(const upstream_snapshot *s)
{
    return 2 * OWN_BYTES + strlen(or_empty(s->principal)) + strlen(or_empty(s->instructions));
}

static void page_free(const upstream *up, upstream_page *p)
{
    common_release(&up->alloc, p->cursor);
    common_release(&up->alloc, (void *)(uintptr_t)p->text.ptr);
    common_release(&up->alloc, p);
}

static void drop_page(upstream *up, upstream_page **at)
{
    upstream_page *p = *at;
    *at = p->next;
    up->snapshot_bytes -= size_of_page(p);
    page_free(up, p);
}

static void drop(upstream *up, upstream_snapshot **at)
{
    upstream_snapshot *s = *at;
    *at = s->next;
    while (s->pages)
        drop_page(up, &s->pages);
    up->snapshot_bytes -= size_of(s);
    common_release(&up->alloc, s->principal);
    common_release(&up->alloc, s->instructions);
    common_release(&up->alloc, s);
}

void upstream_snapshots_clear(upstream *up)
{
    while (up->snapshots)
        drop(up, &up->snapshots);
}

void upstream_snapshots_adopt(upstream *up, upstream *from)
{
    if (up->snapshots)
        return;
    up->snapshots = from->snapshots;
    up->snapshot_bytes = from->snapshot_bytes;
    from->snapshots = NULL;
    from->snapshot_bytes = 0;
    upstream_definitions_forget(up);
}

static void limit(upstream *up)
{
    while (up->snapshot_bytes > MOST_BYTES) {
        upstream_snapshot **last = &up->snapshots;
        while ((*last)->next)
            last = &(*last)->next;
        upstream_page **page = &(*last)->pages;
        while (*page && (*page)->next)
            page = &(*page)->next;
        if (last == &up->snapshots && *page)
            drop_page(up, page);
        else
            drop(up, last);
    }
}

/* Returns NULL if there is none. */
static upstream_snapshot *find(upstream *up, const char *principal)
{
    upstream_snapshot **at = &up->snapshots, *s;
    while ((s = *at) != NULL && !upstream_is_same(s->principal, principal))
        at = &s->next;
    if (!s)
        return NULL;
    *at = s->next;
    s->next = up->snapshots;
    up->snapshots = s;
    return s;
}

/* Finds or makes it. Returns NULL if out of memory. */
static upstream_snapshot *get(upstream *up, const char *principal)
{
    upstream_snapshot *s = find(up, principal);
    if (s)
        return s;
    s = common_alloc(&up->alloc, sizeof(*s));
    char *copy = s && principal ? common_copy(&up->alloc, principal, strlen(principal)) : NULL;
    if (!s || (principal && !copy)) {
        common_release(&up->alloc, s);
        return NULL;
    }
    *s = (upstream_snapshot){.next = up->snapshots, .principal = copy};
    up->snapshots = s;
    up->snapshot_bytes += size_of(s);
    return s;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static bool is_list(const upstream_page *p, const upstream_key *key)
{
    return p->item == key->item && p->apps == key->apps;
}

static upstream_page **page_of(upstream_snapshot *s, const upstream_key *key)
{
    upstream_page **at = &s->pages;
    while (*at && !(is_list(*at, key) && strcmp((*at)->cursor, key->cursor) == 0))
        at = &(*at)->next;
    return at;
}

mcp_str upstream_page_find(upstream *up, const upstream_key *key)
{
    upstream_snapshot *s = find(up, key->principal);
    upstream_page **at = s ? page_of(s, key) : NULL, *p = at ? *at : NULL;
    if (!p)
        return (mcp_str){NULL, 0};
    *at = p->next;
    p->next = s->pages;
    s->pages = p;
    return p->text;
}

/* Finds the array of entries in the text of a page. */
static mcp_str entries_of(const mcp_json *value, mcp_str text, mcp_item item)
{
    static const char *const arrays[] = {[MCP_ITEM_RESOURCE] = "resources",
                                         [MCP_ITEM_TEMPLATE] = "resourceTemplates",
                                         [MCP_ITEM_PROMPT] = "prompts",
                                         [MCP_ITEM_TOOL] = "tools"};
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, part;
    while (mcp_json_next(value, &it, &key) && mcp_json_text_next(text, &texts, NULL, &part)) {
        if (mcp_str_eq(key, mcp_str_from(arrays[item])))
            return part;
    }
    return (mcp_str){text.ptr, 0};
}

static upstream_page *make_page(const upstream *up, const upstream_key *key, mcp_str text,
                                mcp_str entries)
{
    upstream_page *p = common_alloc(&up->alloc, sizeof(*p));
    if (!p)
        return NULL;
    *p = (upstream_page){.item = key->item,
                         .apps = key->apps,
                         .from = (size_t)(entries.ptr - text.ptr),
                         .length = entries.len};
    p->cursor = common_copy(&up->alloc, key->cursor, strlen(key->cursor));
    p->text = (mcp_str){common_copy(&up->alloc, text.ptr, text.len), text.len};
    if (p->cursor && p->text.ptr)
        return p;
    page_free(up, p);
    return NULL;
}

/* Drops the page or, if it is the first one, all pages of the list: their cursors lead on from it. */
static void drop_old(upstream *up, upstream_snapshot *s, const upstream_key *key)
{
    for (upstream_page **at = &s->pages; *at;) {
        if (is_list(*at, key) && (!key->cursor[0] || strcmp((*at)->cursor, key->cursor) == 0))
            drop_page(up, at);
        else
            at = &(*at)->next;
    }
}

bool upstream_page_put(upstream *up, const upstream_key *key, const mcp_json *value, mcp_str text)
{
    upstream_snapshot *s = get(up, key->principal);
    mcp_str entries = entries_of(value, text, key->item);
    upstream_page **at = s ? page_of(s, key) : NULL;
    const upstream_page *old = at ? *at : NULL;
    bool same = old && old->length == entries.len &&
                memcmp(old->text.ptr + old->from, entries.ptr, entries.len) == 0;
    upstream_page *p = s && text.len < MOST_BYTES ? make_page(up, key, text, entries) : NULL;
    if (same && p) {
        p->measured = old->measured;
        p->cost = old->cost;
    }
    if (same)
        drop_page(up, at);
    else if (s)
        drop_old(up, s, key);
    if (!p)
        return !same;
    p->next = s->pages;
    s->pages = p;
    up->snapshot_bytes += size_of_page(p);
    limit(up);
    return !same;
}

/* ---- what the other server says about itself ------------------------------------------------- */

/* Copies the beginning of a text, up to the last whole character that has room. */
static void put(char *to, size_t room, mcp_str text)
{
    size_t len = text.len < room ? text.len : room - 1;
    while (len < text.len && len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80)
        len--;
    if (len)
        memcpy(to, text.ptr, len);
    to[len] = 0;
}

void upstream_snapshot_say(upstream *up, const char *principal,
                           const upstream_introduction *server_info)
{
    upstream_snapshot *s = get(up, principal);
    size_t len = server_info->instructions.len;
    len = len < MOST_INSTRUCTIONS ? len : MOST_INSTRUCTIONS;
    char *instructions = s ? common_alloc(&up->alloc, len + 1) : NULL;
    if (!instructions)
        return;
    put(instructions, len + 1, server_info->instructions);
    put(s->title, sizeof(s->title), server_info->title);
    put(s->version, sizeof(s->version), server_info->version);
    s->introduced = true;
    s->items = server_info->items;
    up->snapshot_bytes -= size_of(s);
    common_release(&up->alloc, s->instructions);
    s->instructions = instructions;
    up->snapshot_bytes += size_of(s);
    limit(up);
}

const upstream_kind upstream_kinds[UPSTREAM_KINDS] = {
    {"resources", MCP_ITEM_RESOURCE}, {"prompts", MCP_ITEM_PROMPT}, {"tools", MCP_ITEM_TOOL}};

void upstream_snapshot_take(upstream_session *s)
{
    if (!s->client || !mcp_client_revision(s->client))
        return;
    const mcp_json *info = mcp_client_server_info(s->client);
    const mcp_json *capabilities = mcp_client_server_capabilities(s->client);
    upstream_introduction server_info = {
        .title = mcp_json_string(mcp_json_get(info, "title")),
        .version = mcp_json_string(mcp_json_get(info, "version")),
        .instructions = mcp_client_instructions(s->client),
    };
    if (!server_info.title.len)
        server_info.title = mcp_json_string(mcp_json_get(info, "name"));
    for (size_t i = 0; i < UPSTREAM_KINDS; i++)
        server_info.items |=
            mcp_json_get(capabilities, upstream_kinds[i].name) ? 1u << upstream_kinds[i].item : 0;
    upstream_snapshot_say(s->up, s->principal, &server_info);
}

void upstream_snapshot_note(upstream_session *s)
{
    mcp_upstream_group *group = s->up->options.group;
    if (s->noted || !mcp_client_revision(s->client))
        return;
    s->noted = true;
    if (group && group->introduced)
        group->introduced(group->user);
}

void upstream_snapshot_refresh(upstream *up, const char *principal)
{
    upstream_session *s = up->sessions;
    while (s && (!upstream_session_is_of(s, principal) || !mcp_client_revision(s->client)))
        s = s->next;
    if (s)
        upstream_snapshot_take(s);
}

/* Returns NULL if it has said nothing. */
static const upstream_snapshot *introduced(upstream *up, const char *of_caller)
{
    const char *principal = upstream_principal(up, of_caller);
    upstream_snapshot_refresh(up, principal);
    const upstream_snapshot *s = find(up, principal);
    return s && s->introduced ? s : NULL;
}

bool upstream_declares(const mcp_request *req, mcp_item item, void *user)
{
    const upstream_snapshot *s = introduced(user, mcp_request_principal(req));
    return (s ? s->items : ~0u) & 1u << item;
}

void mcp_upstream_introduce(const mcp_upstream_group *group, const char *principal,
                            void (*each)(const mcp_upstream_about *about, void *user), void *user)
{
    for (upstream *up = group->first; up; up = up->next) {
        const upstream_snapshot *s = upstream_is_replaced(up) ? NULL : introduced(up, principal);
        if (s)
            each(MCP_OPTIONS(mcp_upstream_about, .name = up->options.name, .prefix = up->prefix,
                             .transparent = up->options.transparent,
                             .title = mcp_str_from(s->title), .version = mcp_str_from(s->version),
                             .instructions = mcp_str_from(s->instructions)),
                 user);
    }
}
