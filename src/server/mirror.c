/* mirror.c: what headers repeat of a message is compared with it, so that whoever routes by a header and
 * whoever acts on the message cannot be told different things.
 */
#include "server/mirror.h"

static const char sentinel_head[] = "=?base64?", sentinel_tail[] = "?=";

/* ---- x-mcp-header in a tool's schema --------------------------------------------------------------- */

enum { MAX_DEPTH = 16 };

typedef struct walk {
    const mcp_allocator *allocator;
    mcp__mirror *mirror;
    mcp_error *error;
    mcp_str path[MAX_DEPTH];
} walk;

static bool is_token(mcp_str s)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool alphanumeric =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alphanumeric && !memchr(others, c, sizeof(others) - 1))
            return false;
    }
    return s.len > 0;
}

static int bad_header(walk *w, mcp_str name, const char *why)
{
    return mcp__fail(w->error, MCP_EINVAL, 0, "x-mcp-header \"%.*s\" %s",
                     (int)MCP__MIN(name.len, 60u), name.ptr ? name.ptr : "", why);
}

static int check_header(walk *w, const mcp_json *schema, mcp_str name)
{
    mcp_str type = mcp_json_string(mcp_json_get(schema, "type"));
    if (!is_token(name))
        return bad_header(w, name, "has to be a header's name (RFC 9110, token)");
    if (!mcp_str_eq(type, MCP_STR("string")) && !mcp_str_eq(type, MCP_STR("integer")) &&
        !mcp_str_eq(type, MCP_STR("boolean")))
        return bad_header(w, name, "belongs on a string, an integer or a boolean only");
    for (size_t i = 0; i < w->mirror->count; i++) {
        if (mcp__str_same(name, mcp_str_from(w->mirror->items[i].header + strlen("Mcp-Param-"))))
            return bad_header(w, name, "is used twice");
    }
    return MCP_OK;
}

static int add_header(walk *w, mcp_str name, size_t depth)
{
    const mcp_allocator *a = w->allocator;
    mcp__mirrored *items =
        mcp__resize(a, w->mirror->items, (w->mirror->count + 1) * sizeof(*items));
    if (!items)
        return MCP_ENOMEM;
    w->mirror->items = items;
    mcp__mirrored *m = &items[w->mirror->count++];
    *m = (mcp__mirrored){0};
    m->path = mcp__zalloc(a, depth * sizeof(*m->path));
    size_t prefix = strlen("Mcp-Param-");
    m->header = mcp__alloc(a, prefix + name.len + 1);
    if (!m->path || !m->header)
        return MCP_ENOMEM;
    memcpy(m->header, "Mcp-Param-", prefix);
    memcpy(m->header + prefix, name.ptr, name.len);
    m->header[prefix + name.len] = 0;
    for (m->depth = 0; m->depth < depth; m->depth++) {
        m->path[m->depth] = mcp__strdup(a, w->path[m->depth]);
        if (!m->path[m->depth])
            return MCP_ENOMEM;
    }
    return MCP_OK;
}

/* Refuses an annotation anywhere in a part of the schema that is not reached by properties alone. */
static int refuse_within(walk *w, const mcp_json *part)
{
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(part, &it, &key)) != NULL;) {
        if (mcp_json_is(part, MCP_JSON_OBJECT) && mcp_str_eq(key, MCP_STR("x-mcp-header")))
            return bad_header(w, mcp_json_string(v), "has to be reached through properties only");
        int rc = refuse_within(w, v);
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

static int walk_schema(walk *w, const mcp_json *schema, size_t depth)
{
    const mcp_json *header = mcp_json_get(schema, "x-mcp-header");
    if (header) {
        mcp_str name = mcp_json_string(header);
        int rc = depth == 0 ? bad_header(w, name, "belongs on a property") : MCP_OK;
        if (rc == MCP_OK)
            rc = check_header(w, schema, name);
        if (rc == MCP_OK)
            rc = add_header(w, name, depth);
        if (rc != MCP_OK)
            return rc;
    }
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(schema, &it, &key)) != NULL;) {
        int rc = MCP_OK;
        mcp_json_iter inner = {0};
        mcp_str name;
        if (!mcp_str_eq(key, MCP_STR("properties"))) {
            rc = refuse_within(w, v);
        } else if (depth >= MAX_DEPTH) {
            rc = refuse_within(w, v);
        } else {
            for (const mcp_json *p;
                 rc == MCP_OK && (p = mcp_json_next(v, &inner, &name)) != NULL;) {
                w->path[depth] = name;
                rc = walk_schema(w, p, depth + 1);
            }
        }
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

int mcp__mirror_compile(const mcp_allocator *allocator, const mcp_json *schema, mcp__mirror *ret,
                        mcp_error *error)
{
    *ret = (mcp__mirror){0};
    walk w = {.allocator = allocator, .mirror = ret, .error = error};
    return walk_schema(&w, schema, 0);
}

void mcp__mirror_free(const mcp_allocator *allocator, mcp__mirror *mirror)
{
    for (size_t i = 0; i < mirror->count; i++) {
        mcp__mirrored *m = &mirror->items[i];
        for (size_t k = 0; k < m->depth; k++)
            mcp__release(allocator, m->path[k]);
        mcp__release(allocator, m->path);
        mcp__release(allocator, m->header);
    }
    mcp__release(allocator, mirror->items);
    *mirror = (mcp__mirror){0};
}

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
    size_t head = sizeof(sentinel_head) - 1, tail = sizeof(sentinel_tail) - 1;
    if (!is_plain(*value))
        return false;
    if (value->len < head + tail || memcmp(value->ptr, sentinel_head, head) != 0 ||
        memcmp(value->ptr + value->len - tail, sentinel_tail, tail) != 0)
        return true;
    mcp_str text = {value->ptr + head, value->len - head - tail};
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
    static const struct {
        const char *method, *param;
    } named[] = {
        {"tools/call", "name"},
        {"prompts/get", "name"},
        {"resources/read", "uri"},
    };
    mcp_str method = req->in.message.method, value;
    if (!mirrors(req))
        return MCP_OK;
    if (!find_header(req, "Mcp-Method", &value))
        return mismatch(req, "Mcp-Method", "is missing");
    if (!mcp_str_eq(value, method))
        return mismatch(req, "Mcp-Method", "is not the message's method");
    for (size_t i = 0; i < MCP__COUNT(named); i++) {
        if (!mcp_str_eq(method, mcp_str_from(named[i].method)))
            continue;
        const mcp_json *name = mcp_json_get(req->in.message.params, named[i].param);
        /* Without one the method itself says what is missing. */
        return mcp_json_is(name, MCP_JSON_STRING)
                   ? compare_string(req, "Mcp-Name", mcp_json_string(name))
                   : MCP_OK;
    }
    return MCP_OK;
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
        const mcp_json *value = arguments;
        for (size_t k = 0; k < mirror->items[i].depth; k++)
            value = mcp_json_get(value, mirror->items[i].path[k]);
        int rc = compare_argument(req, &mirror->items[i], value);
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}
