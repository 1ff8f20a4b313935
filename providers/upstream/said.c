/* said.c: what the other server said about itself when a session began: its title and version, its
 * instructions and its capabilities. They are also known after the session has ended. remember.c
 * keeps them for the next process.
 *
 * They belong to one principal, because the other server may tell each one something else.
 */
#include <stdio.h>
#include <string.h>

#include "said.h"

enum {
    MOST_SAID = 64,          /* principals whose sessions have ended */
    MOST_INSTRUCTIONS = 4096 /* bytes that are kept */
};

void upstream_said_free(const upstream *up, upstream_said *said)
{
    common_release(&up->alloc, said->principal);
    common_release(&up->alloc, said->instructions);
    common_release(&up->alloc, said);
}

void upstream_said_clear(upstream *up)
{
    for (upstream_said *said; (said = up->said) != NULL;) {
        up->said = said->next;
        upstream_said_free(up, said);
    }
}

void upstream_said_adopt(upstream *up, upstream *from)
{
    if (up->said)
        return;
    up->said = from->said;
    from->said = NULL;
}

static bool is_of(const upstream_said *said, const char *principal)
{
    return said->named == (principal != NULL) &&
           strcmp(said->principal, principal ? principal : "") == 0;
}

static mcp_str title_of(const mcp_client *client)
{
    const mcp_json *info = mcp_client_server_info(client);
    mcp_str title = mcp_json_string(mcp_json_get(info, "title"));
    return title.len ? title : mcp_json_string(mcp_json_get(info, "name"));
}

static mcp_str version_of(const mcp_client *client)
{
    return mcp_json_string(mcp_json_get(mcp_client_server_info(client), "version"));
}

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

upstream_said *upstream_said_make(const upstream *up, const char *principal, mcp_str title,
                                  mcp_str version, mcp_str instructions, unsigned items)
{
    const mcp_allocator *alloc = &up->alloc;
    const char *name = principal ? principal : "";
    size_t most = instructions.len < MOST_INSTRUCTIONS ? instructions.len : MOST_INSTRUCTIONS;
    upstream_said *said = common_alloc(alloc, sizeof(*said));
    if (!said)
        return NULL;
    *said = (upstream_said){.named = principal != NULL, .items = items};
    said->principal = common_copy(alloc, name, strlen(name));
    said->instructions = common_alloc(alloc, most + 1);
    if (!said->principal || !said->instructions) {
        upstream_said_free(up, said);
        return NULL;
    }
    put(said->instructions, most + 1, instructions);
    put(said->title, sizeof(said->title), title);
    put(said->version, sizeof(said->version), version);
    return said;
}

const upstream_kind upstream_kinds[UPSTREAM_KINDS] = {
    {"resources", MCP_ITEM_RESOURCE}, {"prompts", MCP_ITEM_PROMPT}, {"tools", MCP_ITEM_TOOL}};

/* Returns the kinds of items that a server has declared. */
static unsigned items_of(const mcp_client *client)
{
    const mcp_json *capabilities = mcp_client_server_capabilities(client);
    unsigned items = 0;
    for (size_t i = 0; i < UPSTREAM_KINDS; i++)
        items |=
            mcp_json_get(capabilities, upstream_kinds[i].name) ? 1u << upstream_kinds[i].item : 0;
    return items;
}

upstream_said *upstream_said_of(const upstream_session *s)
{
    if (!s->client || !mcp_client_revision(s->client))
        return NULL;
    return upstream_said_make(s->up, s->principal, title_of(s->client), version_of(s->client),
                              mcp_client_instructions(s->client), items_of(s->client));
}

void upstream_said_put(upstream *up, upstream_said *said)
{
    const char *principal = said->named ? said->principal : NULL;
    upstream_said **at = &up->said;
    size_t n = 1;
    for (; *at && !is_of(*at, principal) && (n < MOST_SAID || (*at)->next); n++)
        at = &(*at)->next;
    if (*at && (n >= MOST_SAID || is_of(*at, principal))) {
        upstream_said *old = *at;
        *at = old->next;
        upstream_said_free(up, old);
    }
    said->next = up->said;
    up->said = said;
}

/* Without memory, nothing is known about the server until the next session. */
void upstream_said_keep(upstream_session *s)
{
    upstream_said *said = upstream_said_of(s);
    if (said)
        upstream_said_put(s->up, said);
}

void upstream_said_note(upstream_session *s)
{
    mcp_upstream_group *group = s->up->options.group;
    if (s->noted || !mcp_client_revision(s->client))
        return;
    s->noted = true;
    if (group && group->said)
        group->said(group->user);
}

const upstream_session *upstream_said_session(const upstream *up, const char *principal)
{
    const upstream_session *s = up->sessions;
    while (s && (!upstream_session_is_of(s, principal) || !mcp_client_revision(s->client)))
        s = s->next;
    return s;
}

static const upstream_said *find_ended(const upstream *up, const char *principal)
{
    const upstream_said *said = up->said;
    while (said && !is_of(said, principal))
        said = said->next;
    return said;
}

bool upstream_declares(const mcp_request *req, mcp_item item, void *user)
{
    const upstream *up = user;
    const char *principal = upstream_principal(up, mcp_request_principal(req));
    const upstream_session *s = upstream_said_session(up, principal);
    const upstream_said *said = s ? NULL : find_ended(up, principal);
    unsigned items = s ? items_of(s->client) : said ? said->items : ~0u;
    return items & 1u << item;
}

/* Returns false if nothing is known. */
static bool find(const upstream *up, const char *principal, mcp_upstream_about *about)
{
    const upstream_session *s = upstream_said_session(up, principal);
    const upstream_said *said = s ? NULL : find_ended(up, principal);
    if (s) {
        about->title = title_of(s->client);
        about->version = version_of(s->client);
        about->instructions = mcp_client_instructions(s->client);
    } else if (said) {
        about->title = mcp_str_from(said->title);
        about->version = mcp_str_from(said->version);
        about->instructions = mcp_str_from(said->instructions);
    }
    return s || said;
}

void mcp_upstream_introduce(const mcp_upstream_group *group, const char *principal,
                            void (*each)(const mcp_upstream_about *about, void *user), void *user)
{
    for (const upstream *up = group->first; up; up = up->next) {
        mcp_upstream_about about = {.size = sizeof(about),
                                    .name = up->options.name,
                                    .prefix = up->prefix,
                                    .transparent = up->options.transparent};
        if (!upstream_is_replaced(up) && find(up, upstream_principal(up, principal), &about))
            each(&about, user);
    }
}
