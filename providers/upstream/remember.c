/* remember.c: what other servers said about themselves, as JSON, so that the next process knows it before
 * it starts them.
 *
 * A record belongs to a server with the same name and the same program or URL. Arguments may be secrets,
 * so the records have a hash of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "snapshot.h"

enum { MOST_REMEMBERED = 16 /* principals of each server */ };

/* FNV-1a, which is the same in each process. */
static uint64_t add_hash(uint64_t hash, const char *text)
{
    size_t len = text ? strlen(text) + 1 : 0; /* the NUL separates the texts */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void put_source(const upstream *up, char to[17])
{
    const mcp_upstream_options *o = &up->options;
    uint64_t hash = add_hash(UINT64_C(0xcbf29ce484222325), o->url);
    for (size_t i = 0; o->argv && o->argv[i]; i++)
        hash = add_hash(hash, o->argv[i]);
    snprintf(to, 17, "%016" PRIx64, hash);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_member(mcp_json_writer *w, const char *name, const char *value)
{
    if (!*value)
        return;
    mcp_json_key(w, name);
    mcp_json_add_string(w, value);
}

static void put_record(mcp_json_writer *w, const upstream *up, const upstream_snapshot *snapshot)
{
    char source[17];
    put_source(up, source);
    mcp_json_begin_object(w);
    put_member(w, "server", up->options.name);
    put_member(w, "source", source);
    if (snapshot->principal) {
        mcp_json_key(w, "principal");
        mcp_json_add_string(w, snapshot->principal);
    }
    put_member(w, "title", snapshot->title);
    put_member(w, "version", snapshot->version);
    put_member(w, "instructions", snapshot->instructions);
    mcp_json_key(w, "has");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < UPSTREAM_KINDS; i++)
        if (snapshot->items & 1u << upstream_kinds[i].item)
            mcp_json_add_string(w, upstream_kinds[i].name);
    mcp_json_end(w);
    mcp_json_end(w);
}

static void put_server(mcp_json_writer *w, upstream *up)
{
    size_t n = 0;
    for (const upstream_session *s = up->sessions; s; s = s->next)
        upstream_snapshot_refresh(up, s->principal);
    for (const upstream_snapshot *s = up->snapshots; s && n < MOST_REMEMBERED; s = s->next) {
        if (!s->introduced)
            continue;
        put_record(w, up, s);
        n++;
    }
}

void mcp_upstream_remember(const mcp_upstream_group *group, mcp_json_writer *w)
{
    mcp_json_begin_object(w);
    mcp_json_key(w, "said");
    mcp_json_begin_array(w);
    for (upstream *up = group->first; up; up = up->next)
        if (!upstream_is_replaced(up))
            put_server(w, up);
    mcp_json_end(w);
    mcp_json_end(w);
}

/* ---- reading --------------------------------------------------------------------------------- */

static unsigned items_in(const mcp_json *names)
{
    mcp_json_iter it = {0};
    unsigned items = 0;
    for (const mcp_json *v; (v = mcp_json_next(names, &it, NULL)) != NULL;)
        for (size_t i = 0; i < UPSTREAM_KINDS; i++)
            if (mcp_str_eq(mcp_json_string(v), mcp_str_from(upstream_kinds[i].name)))
                items |= 1u << upstream_kinds[i].item;
    return items;
}

static mcp_str member(const mcp_json *record, const char *name)
{
    return mcp_json_string(mcp_json_get(record, name));
}

static void take(upstream *up, const mcp_json *record)
{
    const upstream_introduction snapshot = {.title = member(record, "title"),
                                            .version = member(record, "version"),
                                            .instructions = member(record, "instructions"),
                                            .items = items_in(mcp_json_get(record, "has"))};
    upstream_snapshot_say(up, member(record, "principal").ptr, &snapshot);
}

void upstream_remember_take(upstream *up)
{
    const mcp_upstream_group *group = up->options.group;
    const mcp_json *records = group ? mcp_json_get(group->remembered, "said") : NULL;
    mcp_json_iter it = {0};
    char source[17];
    put_source(up, source);
    if (up->snapshots)
        return; /* an earlier mount of this process knew more */
    for (const mcp_json *v; (v = mcp_json_next(records, &it, NULL)) != NULL;)
        if (mcp_str_eq(member(v, "server"), mcp_str_from(up->options.name)) &&
            mcp_str_eq(member(v, "source"), mcp_str_from(source)))
            take(up, v);
}
