/* versions.c: chooses a revision from those that the server supports, and writes the error if there
 * is none that the client may use. This file only compares lists; start.c sends the messages.
 */
#include "client/client.h"

const mcp__revision *mcp__version_choose(const mcp_client *client, const mcp_json *list)
{
    const mcp__revision *best = NULL;
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        const mcp__revision *r = mcp__revision_find(mcp_json_string(v));
        bool allowed = r && r->modern && (!client->start.only || client->start.only == r);
        if (allowed && (!best || r < best)) /* the table is newest first */
            best = r;
    }
    return best;
}

bool mcp__version_is_legacy_only(const mcp_client *client, const mcp_json *list)
{
    bool legacy = false;
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        const mcp__revision *r = mcp__revision_find(mcp_json_string(v));
        if (r && r->modern)
            return false;
        legacy |= r != NULL;
    }
    return legacy && !client->start.only;
}

/* Writes the server's list as "a, b, c", truncated to the size of the buffer. */
static void put_list(char *to, size_t size, const mcp_json *list)
{
    size_t at = 0;
    mcp_json_iter it = {0};
    to[0] = 0;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        mcp_str s = mcp_json_string(v);
        if (s.len > 32 || at + s.len + 3 > size)
            break;
        if (at)
            memcpy(to + at, ", ", 2), at += 2;
        if (s.len)
            memcpy(to + at, s.ptr, s.len), at += s.len;
        to[at] = 0;
    }
}

int mcp__version_none_in_common(const mcp_client *client, const mcp_json *list, mcp_error *error)
{
    char listed[128];
    put_list(listed, sizeof(listed), list);
    if (client->start.only)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the server does not support the requested revision %s; it lists: %s",
                         client->start.only->name, *listed ? listed : "none");
    return mcp__fail(error, MCP_EPROTOCOL, 0,
                     "the server supports no modern revision that this client knows; it lists: %s",
                     *listed ? listed : "none");
}

int mcp__version_agreed(const mcp_client *client, const mcp_json *result, const mcp__revision **ret,
                        mcp_error *error)
{
    const mcp_json *version = mcp_json_get(result, "protocolVersion");
    mcp_str name = mcp_json_string(version);
    const mcp__revision *r = mcp__revision_find(name);
    if (!mcp_json_is(version, MCP_JSON_STRING))
        return mcp__fail(
            error, MCP_EPROTOCOL, 0,
            "the answer to initialize is malformed: \"protocolVersion\" is %s, not string",
            mcp_json_type_name(mcp_json_typeof(version)));
    int n = (int)MCP__MIN(name.len, (size_t)64);
    if (!r || r->modern)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the server chose revision \"%.*s\", which this client does not support",
                         n, name.ptr);
    if (client->start.only && r != client->start.only)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the server chose revision %s instead of the requested %s", r->name,
                         client->start.only->name);
    *ret = r;
    return MCP_OK;
}

const mcp__revision *mcp__version_first_legacy(const mcp_client *client)
{
    return client->start.only && !client->start.only->modern ? client->start.only
                                                             : mcp__revision_newest(false);
}
