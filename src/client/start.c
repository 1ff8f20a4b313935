/* start.c: detection of the server's era and revision, and the legacy handshake.
 *
 *     server/discover -> DiscoverResult                 modern
 *                     -> an error of modern servers     modern: repeat with a common version
 *                     -> anything else, or nothing      legacy: initialize, then initialized
 *
 * (2026-07-28, basic/transports/stdio, "Backward Compatibility"; 2025-11-25, basic/lifecycle.)
 *
 * On a stream, initialize is sent while server/discover is still in flight. A silent server may be
 * a legacy server, or a modern one that takes long to start and then answers both requests. In the
 * second case the DiscoverResult is used, and the answer to initialize is ignored.
 */
#include "client/client.h"

enum {
    MAX_PROBES = 2, /* server/discover, repeated once with a version that the server supports */
};

static int send_probe(mcp_client *client, const mcp__revision *r);
static int send_initialize(mcp_client *client, const mcp__revision *r);
static void fall_back(mcp_client *client);

/* ---- end of a start ------------------------------------------------------------------------- */

/* Forgets the requests in flight. */
static void forget_requests(mcp_client *client)
{
    if (client->channel && client->start.probe)
        mcp__channel_forget(client->channel, client->start.probe);
    if (client->channel && client->start.handshake)
        mcp__channel_forget(client->channel, client->start.handshake);
    client->start.probe = client->start.handshake = 0;
    client->start.fall_back_at = INT64_MAX;
}

static void report(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error)
{
    mcp_result_fn *fn = client->start.fn;
    client->start.fn = NULL;
    forget_requests(client);
    client->start.requested = false;
    client->start.probes = 0;
    client->start.probe_repeated = false;
    client->start.rc = rc;
    if (error)
        client->start.error = *error;
    if (fn)
        fn(client, rc, result, error, client->start.user);
}

void mcp__client_start_failed(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error)
{
    if (client->state == MCP__CLIENT_STARTING)
        client->state = MCP__CLIENT_FAILED;
    report(client, rc, rc == MCP_EREMOTE ? result : NULL, error);
    mcp__client_fail_waiting(client, rc, rc == MCP_EREMOTE ? result : NULL, error);
    mcp__subscriptions_report(client, MCP_SUBSCRIPTION_LOST, error);
}

static void fail(mcp_client *client, int rc)
{
    mcp_error error;
    mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    mcp__client_start_failed(client, rc, NULL, &error);
}

/* Sets the level of log messages before the calls that wait for the start, whose messages the
 * program expects at that level. If out of memory, the level is not set. */
static void begin_level(mcp_client *client)
{
    mcp__link *queue = &client->calls.queue, *last = queue->prev;
    if (mcp__client_send_level(client) != MCP_OK || queue->prev == last || queue->prev == queue)
        return;
    last = queue->prev;
    mcp__list_remove(last);
    mcp__list_append(queue->next, last); /* in front of the first one */
}

static void ready(mcp_client *client, const mcp__revision *r)
{
    client->revision = r;
    client->state = MCP__CLIENT_READY;
    client->subscriptions.resync = true;
    mcp__ping_begin(client);
    if (client->self.log_level)
        begin_level(client);
    report(client, MCP_OK, mcp_json_root(client->about), NULL);
    mcp__client_flush(client);
    mcp__client_attend(client);
}

/* Copies the result, because it is needed longer than its message. */
static int store_result(mcp_client *client, const mcp_json *result)
{
    mcp_json_doc *doc = NULL;
    int rc = mcp__client_copy(client, result, &doc);
    if (rc != MCP_OK)
        return rc;
    mcp_json_free(client->about);
    client->about = doc;
    return MCP_OK;
}

/* ---- server/discover ------------------------------------------------------------------------- */

static void on_discovered(mcp_client *client, const mcp_json *result)
{
    mcp_error error = {0};
    const mcp_json *versions = mcp_json_get(result, "supportedVersions");
    const mcp__revision *r = mcp__version_choose(client, versions);
    if (mcp__version_is_legacy_only(client, versions)) {
        fall_back(client);
        return;
    }
    const mcp_str method = MCP_STR("server/discover");
    int rc = MCP_OK;
    if (r || !mcp_json_is(versions, MCP_JSON_ARRAY)) /* another revision may have another shape */
        rc = mcp__answer_check(client->start.trying, method, method, result, &error);
    if (rc == MCP_OK && !r)
        rc = mcp__version_none_in_common(client, versions, &error);
    if (rc != MCP_OK) {
        mcp__client_start_failed(client, rc, NULL, &error);
        return;
    }
    rc = store_result(client, result);
    if (rc == MCP_OK)
        ready(client, r);
    else
        fail(client, rc);
}

/* Handles a modern server that does not support the requested version. */
static void on_unsupported(mcp_client *client, const mcp_json *object)
{
    mcp_error error = {0};
    const mcp_json *list = mcp_json_get(mcp_json_get(object, "data"), "supported");
    const mcp__revision *r = mcp__version_choose(client, list);
    int rc;
    if (mcp__version_is_legacy_only(client, list))
        rc = send_initialize(client, mcp__version_first_legacy(client));
    else if (!r)
        rc = mcp__version_none_in_common(client, list, &error);
    else if (client->start.probes >= MAX_PROBES)
        rc = mcp__fail(&error, MCP_EPROTOCOL, 0,
                       "the server rejects revision %s although it lists it as supported", r->name);
    else
        rc = send_probe(client, r);
    if (rc != MCP_OK && !error.code)
        mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    if (rc != MCP_OK)
        mcp__client_start_failed(client, rc, NULL, &error);
}

static bool is_modern_error(const mcp_json *object)
{
    int64_t code = mcp__error_code(object);
    return code == MCP__HEADER_MISMATCH || code == MCP__MISSING_CAPABILITY ||
           code == MCP__UNSUPPORTED_REVISION;
}

static void fall_back(mcp_client *client)
{
    int rc = send_initialize(client, mcp__version_first_legacy(client));
    if (rc != MCP_OK)
        fail(client, rc);
}

/* Returns whether a server that does not know server/discover may answer like this. */
static bool is_foreign(const mcp_client *client, int rc, const mcp_json *result)
{
    switch (rc) {
    /* A legacy server may answer every request with some object. */
    case MCP_OK: return !mcp_json_get(result, "supportedVersions");
    case MCP_EREMOTE: return !is_modern_error(result);
    case MCP_ETIMEOUT:
    case MCP_EPROTOCOL: return true;
    default: return mcp__end_is_foreign(client->failure.end);
    }
}

static uint64_t probe_ms(const mcp_client *client)
{
    return client->start.only ? client->options.timeout_ms : mcp__client_probe_ms(client);
}

/* Returns whether an answer that arrived after initialize was sent shows that the server is modern,
 * with a revision that this client may use. */
static bool is_late_proof(const mcp_client *client, int rc, const mcp_json *result)
{
    if (rc == MCP_EREMOTE && mcp__error_code(result) == MCP__UNSUPPORTED_REVISION)
        return mcp__version_choose(client, mcp_json_get(mcp_json_get(result, "data"), "supported"));
    return rc == MCP_OK && mcp__version_choose(client, mcp_json_get(result, "supportedVersions"));
}

/* A broken event stream does not show the era, so the probe is repeated once. */
static bool repeat_probe(mcp_client *client)
{
    if (!client->failure.end || !client->failure.end->broke_off || client->start.probe_repeated)
        return false;
    client->start.probe_repeated = true;
    client->start.probes--;
    int rc = send_probe(client, client->start.trying);
    if (rc != MCP_OK)
        fail(client, rc);
    return true;
}

static void on_probe(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp_client *client = user;
    mcp_error error = {0};
    int64_t id = client->start.probe;
    (void)channel;
    client->start.probe = 0;
    client->start.fall_back_at = INT64_MAX;
    if (client->start.handshake) {
        if (!is_late_proof(client, rc, result))
            return; /* the answer to initialize decides */
        forget_requests(client);
        client->start.trying = mcp__revision_newest(true);
    }
    if (repeat_probe(client))
        return;
    int judged =
        mcp__client_judge(client, client->start.trying, probe_ms(client), rc, result, &error);
    if (rc == MCP_ETIMEOUT)
        mcp__client_give_up(client, id, NULL);
    if (rc == MCP_EREMOTE && mcp__error_code(result) == MCP__UNSUPPORTED_REVISION)
        on_unsupported(client, result);
    else if (!client->start.only && is_foreign(client, rc, result))
        fall_back(client);
    else if (judged >= MCP_OK)
        on_discovered(client, result);
    else
        mcp__client_start_failed(client, judged, result, &error);
}

/* Falls back when the server of a stream does not answer, because it may be a legacy server. The
 * probe stays in flight. */
void mcp__client_start_tick(mcp_client *client)
{
    if (client->state != MCP__CLIENT_STARTING || client->channel->now < client->start.fall_back_at)
        return;
    client->start.fall_back_at = INT64_MAX;
    fall_back(client);
}

/* Returns the time-out of a request of the start, in milliseconds. On a stream, all requests of the
 * start together may take as long as one call. */
static uint64_t time_left(const mcp_client *client)
{
    uint64_t ms = client->options.timeout_ms;
    int64_t spent = mcp__client_now(client) - client->start.began;
    if (client->connection.transport.exchanges || ms == MCP_NO_TIMEOUT)
        return ms;
    return ms > (uint64_t)spent ? ms - (uint64_t)spent : 1;
}

static int send_probe(mcp_client *client, const mcp__revision *r)
{
    bool alone = client->start.only || client->connection.transport.exchanges;
    forget_requests(client);
    client->start.trying = r;
    client->start.probes++;
    const mcp__sending s = {.revision = r,
                            .method = MCP_STR("server/discover"),
                            .timeout_ms = alone ? probe_ms(client) : time_left(client)};
    mcp__buf b = mcp__channel_take_buf(client->channel);
    mcp__buf_lit(&b, "{\"_meta\":{");
    mcp__client_put_meta(client, r, &b);
    mcp__buf_lit(&b, "}}");
    int rc = b.failed;
    if (rc == MCP_OK)
        rc =
            mcp__client_send(client, &s, mcp__buf_view(&b), on_probe, client, &client->start.probe);
    mcp__channel_give_buf(client->channel, &b);
    if (rc == MCP_OK && !alone && probe_ms(client) < s.timeout_ms)
        client->start.fall_back_at = mcp__client_now(client) + (int64_t)probe_ms(client);
    return rc;
}

/* ---- initialize ------------------------------------------------------------------------------ */

/* A server that rejects the POST may implement 2024-11-05 (2026-07-28,
 * basic/transports/streamable-http, "HTTP+SSE Transport"). */
static bool try_older_transport(mcp_client *client, int rc, const mcp_json *result)
{
    int status = client->failure.status;
    bool foreign = rc != MCP_EREMOTE && mcp__end_is_foreign(client->failure.end);
    /* With these statuses any JSON-RPC error counts as a refusal, except those that only modern
     * servers send. */
    if (rc == MCP_EREMOTE && (status == 400 || status == 404 || status == 405))
        foreign = !is_modern_error(result);
    if (!foreign || client->start.fell_back || !client->connection.transport.fall_back)
        return false;
    client->start.fell_back = true;
    return client->connection.transport.fall_back(client->channel, client->channel->options.user);
}

static void on_initialize(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp_client *client = user;
    mcp_error error = {0};
    const mcp__revision *r = NULL;
    int64_t id = client->start.handshake;
    (void)channel;
    client->start.handshake = 0;
    if (rc == MCP_ETIMEOUT)
        mcp__client_give_up(client, id, NULL);
    if (rc == MCP_EREMOTE && is_late_proof(client, rc, result)) {
        client->start.handshake_only = false;
        on_unsupported(client, result);
        return;
    }
    if (try_older_transport(client, rc, result)) {
        client->state = MCP__CLIENT_IDLE; /* starts again at the next tick */
        client->start.requested = client->start.handshake_only = true;
        mcp__client_attend(client);
        return;
    }
    rc = mcp__client_judge(client, client->start.trying, client->options.timeout_ms, rc, result,
                           &error);
    if (rc == MCP_OK)
        rc = mcp__version_agreed(client, result, &r, &error);
    if (rc == MCP_OK)
        rc = mcp__answer_check(r, MCP_STR("initialize"), MCP_STR("initialize"), result, &error);
    if (rc != MCP_OK) {
        mcp__client_start_failed(client, rc, result, &error);
        return;
    }
    client->start.trying = r;
    rc = store_result(client, result);
    if (rc == MCP_OK)
        rc = mcp__client_notify(client, MCP_STR("notifications/initialized"), MCP_STR("{}"));
    if (rc == MCP_OK)
        ready(client, r);
    else
        fail(client, rc);
}

static int send_initialize(mcp_client *client, const mcp__revision *r)
{
    client->start.trying = r;
    client->start.handshake_only = false;
    client->roots.changed = false;
    client->roots.declared = client->options.roots || client->roots.json.len;
    const mcp__sending s = {.revision = r,
                            .method = MCP_STR("initialize"),
                            .handshake = true,
                            .timeout_ms = time_left(client)};
    mcp__buf b = mcp__channel_take_buf(client->channel);
    mcp__buf_lit(&b, "{\"protocolVersion\":\"");
    mcp__buf_str(&b, mcp_str_from(r->name));
    mcp__buf_lit(&b, "\",\"capabilities\":");
    mcp__client_put_capabilities(client, r, &b);
    mcp__buf_lit(&b, ",\"clientInfo\":");
    mcp__client_put_info(client, r, &b);
    mcp__buf_char(&b, '}');
    int rc = b.failed;
    if (rc == MCP_OK)
        rc = mcp__client_send(client, &s, mcp__buf_view(&b), on_initialize, client,
                              &client->start.handshake);
    mcp__channel_give_buf(client->channel, &b);
    return rc;
}

/* ---- beginning of a start ------------------------------------------------------------------- */

void mcp__client_begin(mcp_client *client)
{
    bool is_wanted = client->start.requested || !mcp__list_empty(&client->calls.queue) ||
                     !mcp__list_empty(&client->subscriptions.list);
    if (client->state != MCP__CLIENT_IDLE || !is_wanted)
        return;
    bool modern =
        !client->start.handshake_only && (!client->start.only || client->start.only->modern);
    const mcp__revision *newest =
        client->start.only ? client->start.only : mcp__revision_newest(true);
    client->state = MCP__CLIENT_STARTING;
    client->start.began = mcp__client_now(client);
    int rc = modern ? send_probe(client, newest)
                    : send_initialize(client, mcp__version_first_legacy(client));
    if (rc != MCP_OK)
        fail(client, rc);
}

void mcp__client_renew(mcp_client *client)
{
    if (client->state != MCP__CLIENT_READY)
        return;
    mcp_error error;
    mcp__fail(&error, MCP_ECLOSED, 0, "the session has ended");
    mcp__ping_end(client);
    mcp__subscriptions_report(client, MCP_SUBSCRIPTION_LOST, &error);
    mcp__watch_forget(client); /* its subscriptions ended with the session */
    client->state = MCP__CLIENT_IDLE;
    client->start.requested = client->start.handshake_only = true;
    mcp__client_attend(client);
}

int mcp_client_start(mcp_client *client, mcp_result_fn *fn, void *user)
{
    if (!client)
        return MCP_EINVAL;
    if (client->state == MCP__CLIENT_LOST)
        return MCP_ECLOSED;
    if (client->state == MCP__CLIENT_READY || client->start.requested)
        return MCP_ESTATE;
    if (client->state == MCP__CLIENT_FAILED)
        client->state = MCP__CLIENT_IDLE;
    client->start.requested = true;
    client->start.fn = fn;
    client->start.user = user;
    mcp__client_attend(client);
    return MCP_OK;
}
