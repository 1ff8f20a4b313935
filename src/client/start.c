/* start.c: which era and revision a server speaks, and the legacy handshake.
 *
 *     server/discover -> DiscoverResult                 modern
 *                     -> an error that is modern's own  modern: again with a version that both have
 *                     -> anything else, or nothing      legacy: initialize, notifications/initialized
 *
 * (2026-07-28, basic/transports/stdio, "Backward Compatibility"; 2025-11-25, basic/lifecycle.) The
 * surprising thing: a probe that timed out is not cancelled, since a legacy server wants to see nothing
 * before initialize; its late answer is dropped by the channel.
 */
#include "client/client.h"

enum {
    HEADER_MISMATCH = -32020,
    MAX_PROBES = 2, /* server/discover, and once more with a version that the server named */
};

static int send_probe(mcp_client *client, const mcp__revision *r);
static int send_initialize(mcp_client *client, const mcp__revision *r);

/* ---- the end ---------------------------------------------------------------------------------------- */

static void report(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error)
{
    mcp_result_fn *fn = client->start_fn;
    client->start_fn = NULL;
    client->wanted = false;
    client->probes = 0;
    if (fn)
        fn(client, rc, result, error, client->start_user);
}

void mcp__client_start_failed(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error)
{
    if (client->state == MCP__CLIENT_STARTING)
        client->state = MCP__CLIENT_FAILED;
    report(client, rc, rc == MCP_EREMOTE ? result : NULL, error);
    mcp__client_fail_queue(client, rc, rc == MCP_EREMOTE ? result : NULL, error);
}

static void fail(mcp_client *client, int rc)
{
    mcp_error error;
    mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    mcp__client_start_failed(client, rc, NULL, &error);
}

static void ready(mcp_client *client, const mcp__revision *r)
{
    client->revision = r;
    client->state = MCP__CLIENT_READY;
    report(client, MCP_OK, mcp_json_root(client->about), NULL);
    mcp__client_flush(client);
}

/* The result outlives its message: its text is parsed again, into a document of our own. */
static int keep(mcp_client *client, const mcp_json *result)
{
    mcp__buf b;
    mcp_json_doc *doc = NULL;
    mcp__buf_init(&b, client->allocator, 0);
    mcp__json_put_value(&b, result);
    int rc = b.failed;
    if (rc == MCP_OK) {
        mcp_json_limits limits = {
            .size = sizeof(limits), .max_bytes = b.len, .max_depth = MCP__JSON_DEEPEST};
        rc = mcp_json_parse(mcp__buf_view(&b), &limits, client->allocator, &doc, NULL);
    }
    mcp__buf_free(&b);
    if (rc != MCP_OK)
        return rc;
    mcp_json_free(client->about);
    client->about = doc;
    return MCP_OK;
}

/* What both results have, where they have it. */
static int check_members(const mcp_json *result, const char *method, mcp_error *error)
{
    static const struct {
        const char *name;
        mcp_json_type type;
    } members[] = {
        {"capabilities", MCP_JSON_OBJECT},
        {"serverInfo", MCP_JSON_OBJECT},
        {"instructions", MCP_JSON_STRING},
        {"_meta", MCP_JSON_OBJECT},
    };
    for (size_t i = 0; i < MCP__COUNT(members); i++) {
        mcp_json_type type = mcp_json_typeof(mcp_json_get(result, members[i].name));
        if (type != MCP_JSON_NONE && type != members[i].type)
            return mcp__fail(error, MCP_EPROTOCOL, 0, "in the answer to %s \"%s\" is %s, not %s",
                             method, members[i].name, mcp_json_type_name(type),
                             mcp_json_type_name(members[i].type));
    }
    return MCP_OK;
}

/* ---- versions --------------------------------------------------------------------------------------- */

/* The newest modern revision in `list` that we may speak, or NULL. */
static const mcp__revision *choose(const mcp_client *client, const mcp_json *list)
{
    const mcp__revision *best = NULL;
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        const mcp__revision *r = mcp__revision_find(mcp_json_string(v));
        bool allowed = r && r->modern && (!client->only || client->only == r);
        if (allowed && (!best || r < best)) /* the table is newest first */
            best = r;
    }
    return best;
}

/* "a, b, c" of what a server lists, cut. */
static void put_list(char *to, size_t room, const mcp_json *list)
{
    size_t at = 0;
    mcp_json_iter it = {0};
    to[0] = 0;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        mcp_str s = mcp_json_string(v);
        if (s.len > 32 || at + s.len + 3 > room)
            break;
        if (at)
            memcpy(to + at, ", ", 2), at += 2;
        if (s.len)
            memcpy(to + at, s.ptr, s.len), at += s.len;
        to[at] = 0;
    }
}

static int none_in_common(const mcp_client *client, const mcp_json *list, mcp_error *error)
{
    char theirs[128];
    put_list(theirs, sizeof(theirs), list);
    if (client->only)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the server does not speak revision %s that was asked for, but: %s",
                         client->only->name, *theirs ? theirs : "none that it names");
    return mcp__fail(error, MCP_EPROTOCOL, 0,
                     "the server speaks no modern revision that we know, but: %s",
                     *theirs ? theirs : "none that it names");
}

/* ---- server/discover ---------------------------------------------------------------------------------- */

static void on_discovered(mcp_client *client, const mcp_json *result)
{
    mcp_error error = {0};
    const mcp_json *versions = mcp_json_get(result, "supportedVersions");
    const mcp__revision *r = choose(client, versions);
    int rc = check_members(result, "server/discover", &error);
    if (rc == MCP_OK && !mcp_json_is(versions, MCP_JSON_ARRAY))
        rc = mcp__fail(&error, MCP_EPROTOCOL, 0,
                       "in the answer to server/discover \"supportedVersions\" is %s, not array",
                       mcp_json_type_name(mcp_json_typeof(versions)));
    if (rc == MCP_OK && !r)
        rc = none_in_common(client, versions, &error);
    if (rc != MCP_OK) {
        mcp__client_start_failed(client, rc, NULL, &error);
        return;
    }
    rc = keep(client, result);
    if (rc == MCP_OK)
        ready(client, r);
    else
        fail(client, rc);
}

/* The server is modern, but not of our version. */
static void on_unsupported(mcp_client *client, const mcp_json *object)
{
    mcp_error error = {0};
    const mcp_json *list = mcp_json_get(mcp_json_get(object, "data"), "supported");
    const mcp__revision *r = choose(client, list);
    int rc;
    if (!r)
        rc = none_in_common(client, list, &error);
    else if (client->probes >= MAX_PROBES)
        rc = mcp__fail(&error, MCP_EPROTOCOL, 0,
                       "the server refuses revision %s although it says that it supports it",
                       r->name);
    else
        rc = send_probe(client, r);
    if (rc != MCP_OK && !error.code)
        mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    if (rc != MCP_OK)
        mcp__client_start_failed(client, rc, NULL, &error);
}

static bool is_modern_error(const mcp_json *object)
{
    int64_t code = mcp_json_int(mcp_json_get(object, "code"), 0);
    return code == HEADER_MISMATCH || code == MCP__MISSING_CAPABILITY ||
           code == MCP__UNSUPPORTED_REVISION;
}

static void fall_back(mcp_client *client)
{
    int rc = send_initialize(client, mcp__revision_newest(false));
    if (rc != MCP_OK)
        fail(client, rc);
}

static void on_probe(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp_client *client = user;
    (void)channel;
    mcp_error error = {0};
    uint64_t ms = client->only ? client->timeout_ms : client->probe_ms;
    int judged = mcp__client_judge(client, client->trying, ms, rc, result, &error);
    bool modern = rc == MCP_EREMOTE && is_modern_error(result);
    if (modern && mcp_json_int(mcp_json_get(result, "code"), 0) == MCP__UNSUPPORTED_REVISION) {
        on_unsupported(client, result);
        return;
    }
    /* A server that answers everything with some object is not modern for it. */
    bool other = rc == MCP_EREMOTE || rc == MCP_ETIMEOUT || rc == MCP_EPROTOCOL ||
                 (rc == MCP_OK && !mcp_json_get(result, "supportedVersions"));
    if (other && !modern && !client->only)
        fall_back(client);
    else if (judged == MCP_OK)
        on_discovered(client, result);
    else
        mcp__client_start_failed(client, judged, result, &error);
}

static int send_probe(mcp_client *client, const mcp__revision *r)
{
    client->trying = r;
    client->probes++;
    mcp__buf b = mcp__channel_take_buf(client->channel);
    mcp__buf_lit(&b, "{\"_meta\":{");
    mcp__client_put_meta(client, r, &b);
    mcp__buf_lit(&b, "}}");
    int rc = b.failed;
    if (rc == MCP_OK)
        rc = mcp__channel_request(client->channel, 0, MCP_STR("server/discover"), mcp__buf_view(&b),
                                  client->only ? client->timeout_ms : client->probe_ms, on_probe,
                                  client, NULL);
    mcp__channel_give_buf(client->channel, &b);
    return rc;
}

/* ---- initialize ------------------------------------------------------------------------------------- */

static int check_version(const mcp_client *client, const mcp_json *result,
                         const mcp__revision **ret, mcp_error *error)
{
    const mcp_json *version = mcp_json_get(result, "protocolVersion");
    mcp_str name = mcp_json_string(version);
    const mcp__revision *r = mcp__revision_find(name);
    if (!mcp_json_is(version, MCP_JSON_STRING))
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "in the answer to initialize \"protocolVersion\" is %s, not string",
                         mcp_json_type_name(mcp_json_typeof(version)));
    int n = (int)MCP__MIN(name.len, (size_t)64);
    if (!r || r->modern)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the server wants to speak revision \"%.*s\", which is not one of ours", n,
                         name.ptr);
    if (client->only && r != client->only)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the server wants to speak revision %s, not %s that was asked for",
                         r->name, client->only->name);
    *ret = r;
    return MCP_OK;
}

static void on_initialize(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp_client *client = user;
    mcp_error error = {0};
    const mcp__revision *r = NULL;
    rc = mcp__client_judge(client, client->trying, client->timeout_ms, rc, result, &error);
    if (rc == MCP_OK)
        rc = check_version(client, result, &r, &error);
    if (rc == MCP_OK)
        rc = check_members(result, "initialize", &error);
    if (rc != MCP_OK) {
        mcp__client_start_failed(client, rc, result, &error);
        return;
    }
    rc = keep(client, result);
    if (rc == MCP_OK)
        rc = mcp__channel_notify(channel, 0, MCP_STR("notifications/initialized"), MCP_STR("{}"));
    if (rc == MCP_OK)
        ready(client, r);
    else
        fail(client, rc);
}

static int send_initialize(mcp_client *client, const mcp__revision *r)
{
    client->trying = r;
    mcp__buf b = mcp__channel_take_buf(client->channel);
    mcp__buf_lit(&b, "{\"protocolVersion\":\"");
    mcp__buf_str(&b, mcp_str_from(r->name));
    mcp__buf_lit(&b, "\",\"capabilities\":{},\"clientInfo\":");
    mcp__buf_str(&b, mcp__buf_view(&client->info));
    mcp__buf_char(&b, '}');
    int rc = b.failed;
    if (rc == MCP_OK)
        rc = mcp__channel_request(client->channel, 0, MCP_STR("initialize"), mcp__buf_view(&b),
                                  client->timeout_ms, on_initialize, client, NULL);
    mcp__channel_give_buf(client->channel, &b);
    return rc;
}

/* ---- the beginning ------------------------------------------------------------------------------------ */

void mcp__client_begin(mcp_client *client)
{
    bool asked = client->wanted || !mcp__list_empty(&client->queue);
    if (client->state != MCP__CLIENT_IDLE || !asked)
        return;
    const mcp__revision *r = client->only ? client->only : mcp__revision_newest(true);
    client->state = MCP__CLIENT_STARTING;
    int rc = r->modern ? send_probe(client, r) : send_initialize(client, r);
    if (rc != MCP_OK)
        fail(client, rc);
}

int mcp_client_start(mcp_client *client, mcp_result_fn *fn, void *user)
{
    if (!client)
        return MCP_EINVAL;
    if (client->state == MCP__CLIENT_LOST)
        return MCP_ECLOSED;
    if (client->state == MCP__CLIENT_READY || client->wanted)
        return MCP_ESTATE;
    if (client->state == MCP__CLIENT_FAILED)
        client->state = MCP__CLIENT_IDLE;
    client->wanted = true;
    client->start_fn = fn;
    client->start_user = user;
    mcp__client_wake(client);
    return MCP_OK;
}
