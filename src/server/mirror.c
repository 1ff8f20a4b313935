/* mirror.c: what headers repeat of a message is compared with it, so that whoever routes by a header and
 * whoever acts on the message cannot be told different things.
 */
#include "server/mirror.h"

/* ---- comparing ----------------------------------------------------------------------------------------- */

static bool mirrors(const mcp_request *req)
{
    return req->in.channel->options.header != NULL;
}

static bool find_header(const mcp_request *req, const char *name, mcp_str *value)
{
    mcp_channel *channel = req->in.channel;
    return channel->options.header(channel, req->in.exchange, name, value, channel->options.user);
}

static int mismatch(mcp_request *req, const char *header, const char *why)
{
    req->in.malformed = true;
    return mcp_reply_fail(req, MCP__HEADER_MISMATCH, "Header mismatch: %s %s", header, why);
}

/* Visible ASCII, space and tab. */
static bool is_plain(mcp_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if ((c < 0x20 && c != '\t') || c > 0x7e)
            return false;
    }
    return true;
}

/* Undoes the Base64 form. False: it is malformed. */
static bool decode(mcp_request *req, mcp_str *value)
{
    mcp_str text;
    if (!is_plain(*value))
        return false;
    if (!mcp__mirror_is_encoded(*value, &text))
        return true;
    char *bytes = mcp_request_alloc(req, text.len + 1);
    size_t len = bytes ? mcp__base64_decode(bytes, text) : SIZE_MAX;
    *value = (mcp_str){bytes, len};
    return len != SIZE_MAX;
}

static int compare_string(mcp_request *req, const char *header, mcp_str expected)
{
    mcp_str value;
    if (!find_header(req, header, &value))
        return mismatch(req, header, "is missing");
    if (!decode(req, &value))
        return mismatch(req, header, "has invalid characters or malformed Base64");
    if (!mcp_str_eq(value, expected))
        return mismatch(req, header, "is not what the message says");
    return MCP_OK;
}

int mcp__mirror_check_revision(mcp_request *req)
{
    if (!mirrors(req))
        return MCP_OK;
    const mcp_json *version = mcp_json_get(mcp_request_meta(req), MCP__META_REVISION);
    mcp_str value;
    if (!mcp_json_is(version, MCP_JSON_STRING))
        return MCP_OK;
    if (!find_header(req, "MCP-Protocol-Version", &value))
        return mismatch(req, "MCP-Protocol-Version", "is missing");
    if (!mcp_str_eq(value, mcp_json_string(version)))
        return mismatch(req, "MCP-Protocol-Version", "is not what the message's _meta says");
    return MCP_OK;
}

int mcp__mirror_check_method(mcp_request *req)
{
    mcp_str method = req->in.message.method, value;
    if (!mirrors(req))
        return MCP_OK;
    if (!find_header(req, "Mcp-Method", &value))
        return mismatch(req, "Mcp-Method", "is missing");
    if (!mcp_str_eq(value, method))
        return mismatch(req, "Mcp-Method", "is not the message's method");
    const char *param = mcp__mirror_name(method);
    const mcp_json *name = param ? mcp_json_get(req->in.message.params, param) : NULL;
    /* Without one the method itself says what is missing. */
    return mcp_json_is(name, MCP_JSON_STRING)
               ? compare_string(req, "Mcp-Name", mcp_json_string(name))
               : MCP_OK;
}

/* Whether the header's text is the same number: "42.0" is 42. */
static bool same_number(const mcp_request *req, mcp_str text, const mcp_json *value)
{
    mcp_json_doc *doc = NULL;
    if (mcp_json_parse(text, NULL, &req->server->allocator, &doc, NULL) != MCP_OK)
        return false;
    const mcp_json *root = mcp_json_root(doc);
    bool same = (mcp_json_is(root, MCP_JSON_INT) || mcp_json_is(root, MCP_JSON_REAL)) &&
                mcp_json_number(root, 0) == mcp_json_number(value, 1);
    mcp_json_free(doc);
    return same;
}

static int compare_argument(mcp_request *req, const mcp__mirrored *m, const mcp_json *argument)
{
    mcp_str value;
    bool there = find_header(req, m->header, &value);
    if (!argument || mcp_json_is(argument, MCP_JSON_NULL))
        return there ? mismatch(req, m->header, "has no value in the arguments") : MCP_OK;
    if (!there)
        return mismatch(req, m->header, "is missing");
    if (!decode(req, &value))
        return mismatch(req, m->header, "has invalid characters or malformed Base64");
    bool same;
    switch (mcp_json_typeof(argument)) {
    case MCP_JSON_STRING: same = mcp_str_eq(value, mcp_json_string(argument)); break;
    case MCP_JSON_BOOL:
        same =
            mcp_str_eq(value, mcp_json_bool(argument, false) ? MCP_STR("true") : MCP_STR("false"));
        break;
    case MCP_JSON_INT:
    case MCP_JSON_REAL: same = same_number(req, value, argument); break;
    default: return MCP_OK; /* of a wrong type: that is the schema's business */
    }
    return same ? MCP_OK : mismatch(req, m->header, "is not what the arguments say");
}

int mcp__mirror_check_tool(mcp_request *req, const mcp__mirror *mirror, const mcp_json *arguments)
{
    if (!mirrors(req) || !req->revision->modern)
        return MCP_OK;
    for (size_t i = 0; i < mirror->count; i++) {
        const mcp__mirrored *m = &mirror->items[i];
        int rc = compare_argument(req, m, mcp__mirrored_value(m, arguments));
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}
