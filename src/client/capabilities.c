/* capabilities.c: writes the options of a client as the JSON text of its requests: client
 * information and capabilities.
 *
 * clientInfo is kept in one buffer. Older revisions receive only a prefix of it.
 */
#include "client/client.h"

#include "protocol/contents.h"

#include <mcp/sys/json.h>

enum {
    DEFAULT_PROBE_MS = 3000,
    DEFAULT_EXCHANGE_PROBE_MS = 10000,
};

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_client_options, timeout_ms, 60000),
    MCP_DEFAULT(mcp_client_options, max_pages, 10000),
    MCP_DEFAULT(mcp_client_options, max_message, 64 << 20),
    MCP_DEFAULT(mcp_client_options, max_rounds, 10),
    MCP_DEFAULT(mcp_client_options, max_questions, 64),
    MCP_DEFAULT(mcp_client_options, questions_per_minute, 120),
    MCP_DEFAULT(mcp_client_options, max_list, 64 << 20),
    MCP_DEFAULT(mcp_client_options, max_cache, 8 << 20),
    MCP_DEFAULT(mcp_client_options, retry_ms, 1000),
    MCP_DEFAULT(mcp_client_options, max_retry_ms, 60000),
    MCP_DEFAULT(mcp_client_options, ping_timeout_ms, 10000, .maximum = INT64_MAX / 4),
};

const char *mcp__client_log_level(const char *name)
{
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    for (size_t i = 0; name && i < MCP__COUNT(levels); i++) {
        if (strcmp(levels[i], name) == 0)
            return levels[i];
    }
    return NULL;
}

/* ---- reading the options --------------------------------------------------------------------- */

uint64_t mcp__client_probe_ms(const mcp_client *client)
{
    uint64_t ms = client->options.probe_ms, limit = client->options.timeout_ms;
    if (!ms)
        ms = client->connection.transport.exchanges ? DEFAULT_EXCHANGE_PROBE_MS : DEFAULT_PROBE_MS;
    if (!client->connection.transport.exchanges)
        limit /= 2; /* all requests of a start share the time-out */
    return MCP__MIN(ms, limit);
}

static int find_revision(const char *name, const mcp__revision **ret, mcp_error *error)
{
    *ret = NULL;
    if (!name)
        return MCP_OK;
    *ret = mcp__revision_find(mcp_str_from(name));
    if (*ret)
        return MCP_OK;
    char supported[128] = "";
    for (size_t i = 0, at = 0; i < MCP__REVISIONS; i++) {
        mcp_str r = mcp_str_from(mcp__revisions[i].name);
        if (at + r.len + 3 > sizeof(supported))
            break;
        if (at)
            memcpy(supported + at, ", ", 2), at += 2;
        memcpy(supported + at, r.ptr, r.len + 1), at += r.len;
    }
    return mcp__fail(error, MCP_EINVAL, 0, "\"%.32s\" is not one of the supported revisions: %s",
                     name, supported);
}

/* Writes `{"name":…,"version":…,"title":…`, then the members of newer revisions. */
static int put_own_info(mcp_client *client, const mcp_client_options *o, mcp_error *error)
{
    mcp__buf *b = &client->self.info;
    mcp__object info = mcp__object_begin(b, mcp__revision_newest(true));
    mcp__object_str(&info, "name", o->name);
    mcp__object_str(&info, "version", o->version);
    client->self.oldest_info = b->len;
    mcp__object_str(&info, "title", o->title);
    client->self.short_info = b->len;
    mcp__object_str(&info, "description", o->description);
    mcp__object_str(&info, "websiteUrl", o->website_url);
    mcp__object_icons(&info, o->icons, o->n_icons);
    if (b->failed == MCP_EINVAL)
        return mcp__fail(error, MCP_EINVAL, 0,
                         "name, version, title, description, address and icons must be UTF-8");
    return b->failed ? mcp__fail(error, b->failed, 0, "no memory for a client") : MCP_OK;
}

static int put_object(mcp__buf *b, const char *text, const char *name, mcp_error *error)
{
    mcp_error why = {0};
    if (!text)
        return MCP_OK;
    int rc = mcp__json_put_checked(b, mcp_str_from(text), MCP_JSON_OBJECT, &why);
    if (rc == MCP_OK)
        return MCP_OK;
    if (rc == MCP_ENOMEM)
        return mcp__fail(error, rc, 0, "no memory for a client");
    return mcp__fail(error, MCP_EINVAL, 0, "\"%s\" is not a JSON object: %s", name, why.text);
}

int mcp_client_declare_extension(mcp_client *client, const char *extension)
{
    if (!client || !extension)
        return MCP_EINVAL;
    mcp__buf *b = &client->self.extensions;
    mcp_json_doc *doc = NULL;
    mcp_json_limits limits = {
        .size = sizeof(limits), .max_bytes = b->len, .max_depth = MCP__JSON_DEEPEST};
    int rc =
        b->len ? mcp_json_parse(mcp__buf_view(b), &limits, client->allocator, &doc, NULL) : MCP_OK;
    size_t members = mcp_json_count(mcp_json_root(doc));
    bool declared = mcp_json_get(mcp_json_root(doc), extension) != NULL;
    mcp_json_free(doc);
    if (rc == MCP_OK && !declared) {
        if (b->len)
            b->len--; /* removes the closing brace */
        else
            mcp__buf_char(b, '{');
        if (members)
            mcp__buf_char(b, ',');
        mcp__json_put_str(b, mcp_str_from(extension));
        mcp__buf_lit(b, ":{}}");
        rc = b->failed;
    }
    return rc;
}

int mcp__client_read_options(mcp_client *client, mcp_error *error)
{
    mcp_client_options *o = &client->options;
    if (!o->name || !o->version)
        return mcp__fail(error, MCP_EINVAL, 0, "a client needs a name and a version");
    int rc = find_revision(o->revision, &client->start.only, error);
    if (rc == MCP_OK)
        rc = put_own_info(client, o, error);
    if (rc == MCP_OK)
        rc = put_object(&client->self.extensions, o->extensions, "extensions", error);
    if (rc == MCP_OK)
        rc = put_object(&client->self.experimental, o->experimental, "experimental", error);
    if (rc == MCP_OK && o->tasks && mcp_client_declare_extension(client, MCP__EXTENSION_TASKS) < 0)
        rc = mcp__fail(error, MCP_ENOMEM, 0, "no memory for a client");
    MCP_SET_DEFAULTS(o, defaults);
    /* The caller may free these strings after the client is created. */
    o->name = o->version = o->title = o->description = o->website_url = NULL;
    o->extensions = o->experimental = o->revision = NULL;
    o->icons = NULL;
    o->allocator = NULL;
    return rc;
}

/* ---- writing requests ------------------------------------------------------------------------ */

void mcp__client_put_info(const mcp_client *client, const mcp__revision *r, mcp__buf *b)
{
    mcp_str info = mcp__buf_view(&client->self.info);
    if (!r->implementation_extras)
        info.len = r->title ? client->self.short_info : client->self.oldest_info;
    mcp__buf_str(b, info);
    mcp__buf_char(b, '}');
}

/* Writes `"name":{"part":{},…}`. */
static void put_capability(mcp__object *o, const char *name, const char *const parts[2],
                           const bool has[2])
{
    mcp__object_key(o, name);
    mcp__object inner = mcp__object_begin(o->buf, o->revision);
    for (size_t i = 0; i < 2; i++) {
        if (!has[i])
            continue;
        mcp__object_key(&inner, parts[i]);
        mcp__buf_lit(o->buf, "{}");
    }
    mcp__object_end(&inner);
}

static void put_raw(mcp__object *o, const char *name, const mcp__buf *text)
{
    if (!text->len)
        return;
    mcp__object_key(o, name);
    mcp__buf_str(o->buf, mcp__buf_view(text));
}

static bool is_tasks(mcp_str key)
{
    return mcp_str_eq(key, MCP_STR("\"" MCP__EXTENSION_TASKS "\""));
}

static void put_extensions_without_tasks(mcp__object *o, const mcp_client *client)
{
    mcp_json_text_iter it = {0};
    mcp_str key, value;
    mcp__object_key(o, "extensions");
    mcp__json_list members = mcp__json_begin_object(o->buf);
    while (mcp_json_text_next(mcp__buf_view(&client->self.extensions), &it, &key, &value)) {
        if (is_tasks(key))
            continue;
        mcp__json_next(&members);
        mcp__buf_str(o->buf, key);
        mcp__buf_char(o->buf, ':');
        mcp__buf_str(o->buf, value);
    }
    mcp__json_end(&members);
}

/* Legacy servers get all extensions but that for tasks, which their revisions do not have. */
static bool has_legacy_extensions(const mcp_client *client)
{
    mcp_json_text_iter it = {0};
    mcp_str key, value;
    while (mcp_json_text_next(mcp__buf_view(&client->self.extensions), &it, &key, &value)) {
        if (!is_tasks(key))
            return true;
    }
    return false;
}

static void put_capabilities(const mcp_client *client, const mcp__revision *r, bool tasks,
                             mcp__buf *b)
{
    static const char *const modes[] = {"form", "url"}, *const sampling[] = {"tools", "context"};
    const mcp_client_options *c = &client->options;
    const bool has_modes[] = {c->elicit_form && r->elicitation_modes,
                              c->elicit_url && r->elicitation_modes};
    const bool has_sampling[] = {c->sample_tools && r->sampling_tools,
                                 c->sample_context && r->sampling_tools};
    mcp__object o = mcp__object_begin(b, r);
    if (r->elicitation && (c->elicit_form || has_modes[1]))
        put_capability(&o, "elicitation", modes, has_modes);
    if (c->sample)
        put_capability(&o, "sampling", sampling, has_sampling);
    if (c->roots || client->roots.json.len) {
        mcp__object_key(&o, "roots");
        mcp__buf_str(b, r->modern ? MCP_STR("{}") : MCP_STR("{\"listChanged\":true}"));
    }
    put_raw(&o, "experimental", &client->self.experimental);
    if (r->extensions && tasks)
        put_raw(&o, "extensions", &client->self.extensions);
    else if (r->extensions ? client->self.extensions.len > 0 : has_legacy_extensions(client))
        put_extensions_without_tasks(&o, client);
    mcp__object_end(&o);
}

void mcp__client_put_capabilities(const mcp_client *client, const mcp__revision *r, mcp__buf *b)
{
    put_capabilities(client, r, true, b);
}

void mcp__client_put_meta(const mcp_client *client, const mcp__revision *r, mcp__buf *b)
{
    mcp__client_put_meta_with(client, r, (mcp_str){0}, true, b);
}

void mcp__client_put_meta_with(const mcp_client *client, const mcp__revision *r,
                               mcp_str capabilities, bool tasks, mcp__buf *b)
{
    mcp__buf_lit(b, "\"" MCP__META_REVISION "\":\"");
    mcp__buf_str(b, mcp_str_from(r->name));
    mcp__buf_lit(b, "\",\"" MCP__META_CLIENT_INFO "\":");
    mcp__client_put_info(client, r, b);
    mcp__buf_lit(b, ",\"" MCP__META_CAPABILITIES "\":");
    if (capabilities.len)
        mcp__buf_str(b, capabilities);
    else
        put_capabilities(client, r, tasks, b);
}
