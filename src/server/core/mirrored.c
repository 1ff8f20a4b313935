/* mirrored.c: compares headers with the parts of a message that they repeat, so that a proxy which
 * routes by a header and the server which acts on the message agree.
 */
#include "server/core/mirrored.h"
#include "server/core/request.h"

#include <mcp/sys/forward.h>

/* ---- comparing ------------------------------------------------------------------------------- */

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

/* Returns whether s consists of visible ASCII, spaces and tabs. */
static bool is_plain(mcp_str s)
{
    size_t i = 0;
    while (s.len - i >= 8 && mcp__is_ascii(s.ptr + i) && !mcp__has_control(s.ptr + i))
        i += 8;
    for (; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if ((c < 0x20 && c != '\t') || c > 0x7e)
            return false;
    }
    return true;
}

/* Reads a header's value. A value from several headers of the same name contains a line feed
 * (mcp/sys/channel.h). */
static int take_value(mcp_request *req, const char *header, mcp_str *value)
{
    if (!find_header(req, header, value))
        return mismatch(req, header, "is missing");
    if (value->len && memchr(value->ptr, '\n', value->len))
        return mismatch(req, header, "occurs more than once");
    return is_plain(*value) ? MCP_OK : mismatch(req, header, "has invalid characters");
}

/* Reads a header's value and decodes its Base64 form. */
static int take_decoded(mcp_request *req, const char *header, mcp_str *value)
{
    mcp_str text;
    int rc = take_value(req, header, value);
    if (rc != MCP_OK || !mcp__mirror_is_encoded(*value, &text))
        return rc;
    char *bytes = mcp_request_alloc(req, text.len + 1);
    if (!bytes)
        return MCP_ENOMEM;
    size_t len = mcp__base64_decode(bytes, text);
    *value = (mcp_str){bytes, len};
    return len != SIZE_MAX ? MCP_OK : mismatch(req, header, "has malformed Base64");
}

static int compare(mcp_request *req, const char *header, mcp_str value, mcp_str expected,
                   const char *why)
{
    return mcp_str_eq(value, expected) ? MCP_OK : mismatch(req, header, why);
}

int mcp__mirror_check_revision(mcp_request *req)
{
    static const char header[] = "MCP-Protocol-Version";
    const mcp_json *version = mcp_json_get(mcp_request_meta(req), MCP__META_REVISION);
    mcp_str value;
    if (!mcp_json_is(version, MCP_JSON_STRING))
        return MCP_OK;
    int rc = take_value(req, header, &value);
    return rc != MCP_OK ? rc
                        : compare(req, header, value, mcp_json_string(version),
                                  "does not match the message's _meta");
}

static int compare_name(mcp_request *req, mcp_str expected)
{
    mcp_str value;
    int rc = take_decoded(req, "Mcp-Name", &value);
    return rc != MCP_OK ? rc
                        : compare(req, "Mcp-Name", value, expected, "does not match the message");
}

int mcp__mirror_check_method(mcp_request *req)
{
    mcp_str method = req->in.message.method, value;
    int rc = take_value(req, "Mcp-Method", &value);
    if (rc == MCP_OK)
        rc = compare(req, "Mcp-Method", value, method, "does not match the message's method");
    const char *param = mcp__mirror_name(method);
    const mcp_json *name = param ? mcp_json_get(req->in.message.params, param) : NULL;
    /* If the parameter is missing, the method itself reports that. */
    return rc == MCP_OK && mcp_json_is(name, MCP_JSON_STRING)
               ? compare_name(req, mcp_json_string(name))
               : rc;
}

/* Returns whether the parsed number is exact. A number that was written with a fraction or an
 * exponent is a double, which is exact up to 2^53 - 1. The specification allows no larger
 * numbers. */
static bool is_exact(const mcp_json *value)
{
    const double limit = 9007199254740991.0;
    double number = mcp_json_number(value, 0);
    return !mcp_json_is(value, MCP_JSON_REAL) || (number >= -limit && number <= limit);
}

/* Returns whether the header has the same number. "42.0" is the same number as 42. */
static bool same_number(mcp_request *req, mcp_str text, const mcp_json *value)
{
    mcp__buf number = mcp__channel_take_buf(req->in.channel);
    mcp__json_put_value(&number, value);
    bool same =
        is_exact(value) && !number.failed && mcp__mirror_same_number(text, mcp__buf_view(&number));
    mcp__channel_give_buf(req->in.channel, &number);
    return same;
}

static int compare_argument(mcp_request *req, const mcp__mirrored *m, const mcp_json *argument)
{
    mcp_str value;
    bool is_present = find_header(req, m->header, &value), same;
    if (!argument || mcp_json_is(argument, MCP_JSON_NULL))
        return is_present ? mismatch(req, m->header, "has no value in the arguments") : MCP_OK;
    int rc = take_decoded(req, m->header, &value);
    if (rc != MCP_OK)
        return rc;
    switch (mcp_json_typeof(argument)) {
    case MCP_JSON_STRING: same = mcp_str_eq(value, mcp_json_string(argument)); break;
    case MCP_JSON_BOOL:
        same =
            mcp_str_eq(value, mcp_json_bool(argument, false) ? MCP_STR("true") : MCP_STR("false"));
        break;
    case MCP_JSON_INT:
    case MCP_JSON_BIGINT:
    case MCP_JSON_REAL: same = same_number(req, value, argument); break;
    default: return MCP_OK; /* the validation of the arguments reports a wrong type */
    }
    return same ? MCP_OK : mismatch(req, m->header, "does not match the arguments");
}

bool mcp_request_has_headers(const mcp_request *req)
{
    return req->revision->modern && req->in.channel && req->in.channel->options.header;
}

int mcp__mirror_check_tool(mcp_request *req, const mcp__mirror *mirror, const mcp_json *arguments)
{
    if (!mcp_request_has_headers(req))
        return MCP_OK;
    for (size_t i = 0; i < mirror->count; i++) {
        const mcp__mirrored *m = &mirror->items[i];
        int rc = compare_argument(req, m, mcp__mirrored_value(m, arguments));
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

/* ---- tools of providers ---------------------------------------------------------------------- */

struct mcp_tool_headers {
    mcp_allocator allocator;
    mcp__mirror mirror;
};

void mcp_tool_headers_free(mcp_tool_headers *headers)
{
    if (!headers)
        return;
    mcp_allocator allocator = headers->allocator;
    mcp__mirror_free(&allocator, &headers->mirror);
    mcp__release(&allocator, headers);
}

int mcp_tool_headers_new(const mcp_json *input_schema, const mcp_allocator *allocator,
                         mcp_tool_headers **ret, mcp_error *error)
{
    mcp_tool_headers *h = mcp__zalloc(mcp__allocator(allocator), sizeof(*h));
    if (!h)
        return MCP_ENOMEM;
    h->allocator = *mcp__allocator(allocator);
    int rc = mcp__mirror_compile(&h->allocator, input_schema, &h->mirror, error);
    if (rc != MCP_OK || !h->mirror.count) {
        mcp_tool_headers_free(h);
        h = NULL;
    }
    if (rc == MCP_OK)
        *ret = h;
    return rc;
}

int mcp_request_check_headers(mcp_request *req, const mcp_tool_headers *headers)
{
    const mcp_json *arguments = mcp_json_get(mcp_request_params(req), "arguments");
    return headers ? mcp__mirror_check_tool(req, &headers->mirror, arguments) : MCP_OK;
}
