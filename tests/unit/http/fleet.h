/* fleet.h: several endpoints as instances of one server, with a network and a bus that the test plays. */
#ifndef MCP_TESTS_HTTP_FLEET_H
#define MCP_TESTS_HTTP_FLEET_H

#include "rig.h"

#include <mcp/sys/http.h>

enum { NODES = 3, RELAYS = 16, MESSAGES = 64 };

typedef struct node {
    rig r;
    bool alive, no_bus;
} node;

static node nodes[NODES];
static unsigned generation; /* of the next node; its random numbers depend on it */
static const char *fleet_key = "0123456789abcdef0123456789abcdef";

/* ---- the bus --------------------------------------------------------------------------------- */

static struct {
    const node *from;
    char text[512];
    size_t len;
} messages[MESSAGES];
static size_t n_messages;
static char last_message[512];

static void share(mcp_str message, void *user)
{
    const node *n = (const node *)user; /* the rig is its first member */
    assert_in_range(message.len, 1, sizeof(messages[0].text) - 1);
    if (n->no_bus || n_messages == MESSAGES)
        return;
    messages[n_messages].from = n;
    memcpy(messages[n_messages].text, message.ptr, message.len);
    messages[n_messages++].len = message.len;
    snprintf(last_message, sizeof(last_message), "%.*s", (int)message.len, message.ptr);
}

static bool sharing(void *user)
{
    return !((const node *)user)->no_bus;
}

static void pump_bus(void)
{
    for (size_t i = 0; i < n_messages; i++) {
        for (size_t k = 0; k < NODES; k++) {
            node *n = &nodes[k];
            if (n != messages[i].from && n->alive && !n->no_bus)
                mcp_http_shared(n->r.http, (mcp_str){messages[i].text, messages[i].len}, n->r.now);
        }
    }
    n_messages = 0;
}

/* ---- the network ----------------------------------------------------------------------------- */

typedef struct relayed {
    mcp_http_relay *relay; /* NULL if this place is free */
    node *from, *to;
    char *text;
    wire w;
    bool sent, head, chunked;
    size_t read; /* bytes of the answer that were passed on */
    size_t left; /* bytes of the body or of the chunk that are to come */
} relayed;

static relayed relays[RELAYS];
static size_t n_relayed, n_cancelled;
static char last_request[8192]; /* the last that was forwarded, with \n for line ends */

static int relay_send(mcp_http_relay *relay, const mcp_http_relay_request *q, void **handle,
                      void *user)
{
    relayed *r = relays;
    while (r->relay)
        r++;
    assert_true(r < relays + RELAYS);
    *r = (relayed){.relay = relay, .from = user};
    assert_int_equal(strncmp(q->address, "http://n", 8), 0);
    r->to = &nodes[q->address[8] - '0'];
    size_t room = 16384 + q->body.len, at;
    r->text = malloc(room);
    assert_non_null(r->text);
    at = (size_t)snprintf(r->text, room, "%s %s HTTP/1.1\nHost: other\n", q->method, q->path);
    for (size_t i = 0; i < q->n_headers; i++)
        at += (size_t)snprintf(r->text + at, room - at, "%s\n", q->headers[i]);
    snprintf(r->text + at, room - at, "Content-Length: %zu\n\n%.*s", q->body.len, (int)q->body.len,
             q->body.len ? q->body.ptr : "");
    snprintf(last_request, sizeof(last_request), "%s", r->text);
    *handle = r;
    n_relayed++;
    return MCP_OK;
}

static void relay_free(relayed *r)
{
    free(r->text);
    if (r->sent)
        wire_end(&r->w);
    *r = (relayed){0};
}

static void relay_cancel(void *handle, void *user)
{
    (void)user;
    n_cancelled++;
    relay_free(handle);
}

static void relay_end(relayed *r, mcp_http_relay_outcome outcome)
{
    mcp_http_relay *relay = r->relay;
    int64_t now = r->from->r.now;
    relay_free(r);
    mcp_http_relay_end(relay, outcome, now);
}

/* Passes on what has arrived. Returns false if the relay has ended. */
static bool relay_body(relayed *r)
{
    while (r->read < r->w.len) {
        const char *at = r->w.out + r->read;
        if (r->chunked && !r->left) {
            char *end;
            r->left = strtoul(at, &end, 16);
            assert_int_equal(*end, '\n');
            r->read += (size_t)(end + 1 - at);
            if (!r->left) {
                relay_end(r, MCP_HTTP_RELAY_DONE);
                return false;
            }
            continue;
        }
        size_t n = r->w.len - r->read;
        n = n < r->left ? n : r->left;
        r->read += n;
        r->left -= n;
        if (!mcp_http_relay_bytes(r->relay, (mcp_str){at, n}, r->from->r.now))
            return false;
        if (r->chunked && !r->left)
            r->read++; /* the line end of the chunk */
    }
    if (r->chunked || r->left)
        return true;
    relay_end(r, MCP_HTTP_RELAY_DONE);
    return false;
}

static void relay_head(relayed *r)
{
    const char *end = r->w.len ? strstr(r->w.out, "\n\n") : NULL;
    if (!end)
        return;
    const char *type = strstr(r->w.out, "Content-Type: "), *length;
    length = strstr(r->w.out, "Content-Length: ");
    r->chunked = strstr(r->w.out, "Transfer-Encoding: chunked") != NULL;
    r->left = length && length < end ? strtoul(length + 16, NULL, 10) : 0;
    r->read = (size_t)(end + 2 - r->w.out);
    r->head = true;
    mcp_str kind = {type ? type + 14 : "", type ? strcspn(type + 14, "\n") : 0};
    int status = atoi(r->w.out + 9);
    if (!mcp_http_relay_head(r->relay, status, kind, r->from->r.now))
        r->relay = NULL; /* it was cancelled, and is free */
}

static void pump_relay(relayed *r)
{
    if (!r->sent && !r->to->alive) {
        relay_end(r, MCP_HTTP_RELAY_UNSENT);
        return;
    }
    if (!r->sent) {
        r->sent = true;
        if (wire_open_from(&r->w, &r->to->r, "10.0.0.1") != MCP_OK) {
            r->sent = false;
            relay_end(r, MCP_HTTP_RELAY_UNSENT);
            return;
        }
        wire_send(&r->w, r->text);
    }
    if (!r->head)
        relay_head(r);
    if (r->relay && r->head && !relay_body(r))
        return;
    if (r->relay && r->w.closed)
        relay_end(r, MCP_HTTP_RELAY_BROKEN);
}

/* Delivers everything that is under way. */
static void pump(void)
{
    for (int turn = 0; turn < 4; turn++) {
        pump_bus();
        for (size_t i = 0; i < RELAYS; i++) {
            if (relays[i].relay)
                pump_relay(&relays[i]);
        }
        for (size_t i = 0; i < NODES; i++) {
            if (nodes[i].alive)
                rig_pass(&nodes[i].r, 0);
        }
    }
}

/* ---- instances ------------------------------------------------------------------------------- */

static int node_begin_with(node *n, bool logins, const mcp_http_options *more, size_t fail_at)
{
    char address[16];
    mcp_http_options o = more ? *more : (mcp_http_options){0};
    snprintf(address, sizeof(address), "http://n%d", (int)(n - nodes));
    o.instance_address = address;
    o.share = share;
    o.sharing = sharing;
    if (logins)
        o.authenticate = login_by_name;
    rig_seed = ++generation * 100000;
    int rc = rig_begin_with(&n->r, &o, fail_at);
    if (rc == MCP_OK)
        rc = mcp_server_set_seal(fixture_server(n->r.fixture),
                                 MCP_OPTIONS(mcp_seal_options, .key = fleet_key, .key_len = 32),
                                 NULL);
    if (rc != MCP_OK)
        return rc;
    mcp_http_set_relays(n->r.http, MCP_OPTIONS(mcp_http_relays, .send = relay_send,
                                               .cancel = relay_cancel, .user = n));
    n->alive = true;
    n->no_bus = false;
    return MCP_OK;
}

static inline void node_begin(node *n, bool logins)
{
    assert_int_equal(node_begin_with(n, logins, NULL, 0), MCP_OK);
}

/* The process ends without a word. Its own clients must be closed before. */
static void node_kill(node *n)
{
    if (!n->alive)
        return;
    n->alive = false;
    for (size_t i = 0; i < RELAYS; i++) {
        if (relays[i].relay && relays[i].to == n)
            relay_end(&relays[i], relays[i].sent ? MCP_HTTP_RELAY_BROKEN : MCP_HTTP_RELAY_UNSENT);
    }
    rig_end(&n->r);
}

static inline void fleet_end(void)
{
    for (size_t i = 0; i < NODES; i++)
        node_kill(&nodes[i]);
    n_messages = 0;
    for (size_t i = 0; i < RELAYS; i++)
        assert_null(relays[i].relay);
}

/* ---- requests -------------------------------------------------------------------------------- */

#define AS(who) "Authorization: Bearer " who "\n"
#define POST_AS(who, body)            \
    "POST /mcp HTTP/1.1\n{{std}}" AS( \
        who) "Mcp-Session-Id: {{session}}\nContent-Length: {{len}}\n\n" body
#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{ " params "} }"

/* Sends a request for the session `id`, and delivers everything. */
static inline void ask(wire *w, node *n, const char *id, const char *request)
{
    wire_open(w, &n->r);
    snprintf(n->r.session, sizeof(n->r.session), "%s", id);
    wire_send(w, request);
    pump();
}

static inline void expect_at(node *n, const char *id, const char *request, const char *expected)
{
    wire w;
    ask(&w, n, id, request);
    wire_expect(&w, expected);
    wire_end(&w);
    pump();
}

#endif
