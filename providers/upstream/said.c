/* said.c: what the other server said about itself when a session began: its title and version, and
 * its instructions. They are also known after the session has ended.
 *
 * They belong to one principal, because the other server may tell each one something else.
 */
#include <stdio.h>
#include <string.h>

#include "session.h"

enum {
    MOST_SAID = 64,          /* principals whose sessions have ended */
    MOST_INSTRUCTIONS = 4096 /* bytes that are kept */
};

struct upstream_said {
    upstream_said *next; /* last the one that was added first */
    bool named;          /* false for the anonymous principal */
    char *principal, *instructions;
    char title[100], version[40];
};

static void said_free(upstream *up, upstream_said *said)
{
    common_release(&up->alloc, said->principal);
    common_release(&up->alloc, said->instructions);
    common_release(&up->alloc, said);
}

void upstream_said_clear(upstream *up)
{
    for (upstream_said *said; (said = up->said) != NULL;) {
        up->said = said->next;
        said_free(up, said);
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

static upstream_said *make(const upstream_session *s)
{
    const mcp_allocator *alloc = &s->up->alloc;
    const char *principal = s->principal ? s->principal : "";
    mcp_str text = mcp_client_instructions(s->client);
    size_t room = (text.len < MOST_INSTRUCTIONS ? text.len : MOST_INSTRUCTIONS) + 1;
    upstream_said *said = common_alloc(alloc, sizeof(*said));
    if (!said)
        return NULL;
    *said = (upstream_said){.named = s->principal != NULL};
    said->principal = common_copy(alloc, principal, strlen(principal));
    said->instructions = common_alloc(alloc, room);
    if (!said->principal || !said->instructions) {
        said_free(s->up, said);
        return NULL;
    }
    put(said->instructions, room, text);
    put(said->title, sizeof(said->title), title_of(s->client));
    put(said->version, sizeof(said->version), version_of(s->client));
    return said;
}

/* Without memory, nothing is known about the server until the next session. */
void upstream_said_keep(upstream_session *s)
{
    upstream *up = s->up;
    upstream_said **at = &up->said;
    size_t n = 1;
    if (!s->client || !mcp_client_revision(s->client))
        return;
    for (; *at && !is_of(*at, s->principal) && (n < MOST_SAID || (*at)->next); n++)
        at = &(*at)->next;
    if (*at && (n >= MOST_SAID || is_of(*at, s->principal))) {
        upstream_said *old = *at;
        *at = old->next;
        said_free(up, old);
    }
    upstream_said *said = make(s);
    if (!said)
        return;
    said->next = up->said;
    up->said = said;
}

/* Returns false if nothing is known. */
static bool find(const upstream *up, const char *principal, mcp_upstream_about *about)
{
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        if (!upstream_session_is_of(s, principal) || !mcp_client_revision(s->client))
            continue;
        about->title = title_of(s->client);
        about->version = version_of(s->client);
        about->instructions = mcp_client_instructions(s->client);
        return true;
    }
    for (const upstream_said *said = up->said; said; said = said->next) {
        if (!is_of(said, principal))
            continue;
        about->title = mcp_str_from(said->title);
        about->version = mcp_str_from(said->version);
        about->instructions = mcp_str_from(said->instructions);
        return true;
    }
    return false;
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
