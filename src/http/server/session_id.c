/* session_id.c: session ids that any instance with the same key can read.
 *
 * The id is sealed for the caller and the view, so that it is of no use to others. It contains, after a byte for
 * the version: what identifies the session (16 bytes), the instance where it began (8 bytes), the
 * address of that instance (a byte for the length), and the params of an initialize with which the
 * session can be made anew. It is at most MCP__SESSION_ID_TEXT characters of base64url.
 */
#include "http/server/fleet.h"
#include "json/json.h"
#include "protocol/revision.h"

#include <mcp/sys/server.h>

enum {
    VERSION = 1,
    NAME_MAX_BYTES = 64, /* of the client's name, and of its version */
    UNIQUE_BYTES = MCP__UNIQUE / 2,
    INSTANCE_BYTES = MCP__INSTANCE_NAME / 2,
    HEAD = 1 + UNIQUE_BYTES + INSTANCE_BYTES + 1,
};

/* ---- params ------------------------------------------------------------------------------------ */

static void put_bounded(mcp__buf *b, mcp_str s)
{
    if (s.len > NAME_MAX_BYTES) {
        s.len = NAME_MAX_BYTES;
        while (s.len && ((unsigned char)s.ptr[s.len] & 0xc0) == 0x80)
            s.len--; /* characters are not split */
    }
    mcp__json_put_str(b, s);
}

void mcp__session_id_put_params(mcp__buf *b, const mcp_json *params)
{
    const mcp_json *info = mcp_json_get(params, "clientInfo");
    const mcp_json *capabilities = mcp_json_get(params, "capabilities");
    mcp_str wanted = mcp_json_string(mcp_json_get(params, "protocolVersion"));
    mcp_str name = mcp_json_string(mcp_json_get(info, "name"));
    mcp_str version = mcp_json_string(mcp_json_get(info, "version"));
    if (!wanted.ptr || !name.ptr || !version.ptr || !mcp_json_is(capabilities, MCP_JSON_OBJECT))
        return;
    const mcp__revision *r = mcp__revision_find(wanted);
    if (!r || r->modern)
        r = mcp__revision_newest(false); /* what initialize is answered with */
    mcp__buf_lit(b, "{\"protocolVersion\":");
    mcp__json_put_str(b, mcp_str_from(r->name));
    mcp__buf_lit(b, ",\"capabilities\":");
    mcp__json_put_value(b, capabilities);
    mcp__buf_lit(b, ",\"clientInfo\":{\"name\":");
    put_bounded(b, name);
    mcp__buf_lit(b, ",\"version\":");
    put_bounded(b, version);
    mcp__buf_lit(b, "}}");
}

/* ---- ids ---------------------------------------------------------------------------------------- */

/* What an id is sealed for: a session of this caller (mcp_identity_binding()). */
static void put_purpose(mcp__buf *b, const mcp_allocator *allocator, const char *binding)
{
    mcp__buf_init(b, allocator, 0);
    mcp__buf_lit(b, "session ");
    mcp__buf_char(b, binding ? 'n' : 'a');
    mcp__buf_str(b, mcp_str_from(binding));
}

static void put_plain(mcp__buf *b, const mcp__session_id *t)
{
    unsigned char unique[UNIQUE_BYTES], instance[INSTANCE_BYTES];
    mcp__hex_decode(unique, t->unique, UNIQUE_BYTES);
    mcp__hex_decode(instance, t->instance, INSTANCE_BYTES);
    mcp__buf_char(b, VERSION);
    mcp__buf_add(b, unique, UNIQUE_BYTES);
    mcp__buf_add(b, instance, INSTANCE_BYTES);
    mcp__buf_char(b, (char)(unsigned char)t->address.len);
    mcp__buf_str(b, t->address);
    if (b->len + t->params.len <= MCP__SESSION_ID_PLAIN)
        mcp__buf_str(b, t->params);
}

int mcp__session_id_seal(mcp_server *server, const char *binding, uint64_t life_ms,
                         const mcp__session_id *session_id, mcp__buf *id)
{
    mcp__buf purpose, plain;
    size_t len = 0;
    put_purpose(&purpose, id->allocator, binding);
    mcp__buf_init(&plain, id->allocator, 0);
    put_plain(&plain, session_id);
    char *to = mcp__buf_reserve(id, MCP__SESSION_ID_TEXT);
    int rc = !to ? MCP_ENOMEM : purpose.failed ? purpose.failed : plain.failed;
    if (rc == MCP_OK)
        rc = mcp_server_seal(server, mcp__buf_view(&purpose), mcp__buf_view(&plain), life_ms, to,
                             MCP__SESSION_ID_TEXT, &len);
    id->len += len;
    mcp__buf_free(&purpose);
    mcp__buf_free(&plain);
    return rc;
}

static int read_plain(mcp__session_id *t, size_t len)
{
    const unsigned char *at = (const unsigned char *)t->text;
    if (len < HEAD || at[0] != VERSION || len < (size_t)HEAD + at[HEAD - 1])
        return MCP_EINVAL;
    *mcp__hex_encode(t->unique, t->text + 1, UNIQUE_BYTES) = 0;
    *mcp__hex_encode(t->instance, t->text + 1 + UNIQUE_BYTES, INSTANCE_BYTES) = 0;
    t->address = (mcp_str){t->text + HEAD, at[HEAD - 1]};
    size_t end = HEAD + t->address.len;
    t->params = (mcp_str){t->text + end, len - end};
    return t->address.len && t->address.len <= MCP__ADDRESS_MAX ? MCP_OK : MCP_EINVAL;
}

int mcp__session_id_open(mcp_server *server, const mcp_allocator *allocator, const char *binding,
                         mcp_str id, mcp__session_id *ret)
{
    mcp__buf purpose;
    size_t len = 0;
    if (id.len > MCP__SESSION_ID_TEXT)
        return MCP_EINVAL;
    put_purpose(&purpose, allocator, binding);
    int rc = purpose.failed;
    if (rc == MCP_OK)
        rc = mcp_server_unseal(server, mcp__buf_view(&purpose), id, ret->text, sizeof(ret->text),
                               &len, &ret->left_ms);
    mcp__buf_free(&purpose);
    return rc == MCP_OK ? read_plain(ret, len) : rc;
}
