/* embed.c: see embed.h.
 *
 * What surprises: a channel can be freed neither from within its `send` nor by who is called from there, so
 * one whose answer came late waits for a timer, or for the end.
 */
#include "embed.h"

#include <stdio.h>

#include "buffer.h"

/* Revisions of this era need no handshake. */
static const char revision[] = "2026-07-28";

typedef struct reading reading;

struct reading {
    reading *next; /* in the list of those that are under way, or over */
    prompts_embeds *all;
    mcp_request *req;
    const mcp_str *uris;
    size_t n, at;
    mcp_json_doc **docs; /* n of them; of the request */
    const mcp_json **results;
    size_t left; /* bytes that may still come */
    mcp_channel *channel;
    bool receiving; /* the message is being handed in: an answer now is one at once */
    bool answered;
    bool later; /* the handler returned MCP_PENDING */
    int rc;
    char why[300];
    prompts_embedded_fn *done;
    void *user;
};

typedef struct spent {
    struct spent *next;
    mcp_channel *channel;
} spent;

struct prompts_embeds {
    mcp_server *server;
    mcp_allocator alloc;
    reading *first; /* that wait for an answer */
    spent *spent;   /* channels to be freed */
    mcp_host_timer *timer;
};

/* ---- channels that are over ------------------------------------------------------------------ */

static void free_spent(prompts_embeds *e)
{
    const mcp_host *host = mcp_server_host(e->server);
    if (e->timer && host) /* else it went with its host */
        host->timer_stop(host->user, e->timer);
    e->timer = NULL;
    while (e->spent) {
        spent *s = e->spent;
        e->spent = s->next;
        mcp_channel_free(s->channel);
        common_release(&e->alloc, s);
    }
}

static void on_timer(void *arg)
{
    free_spent(arg);
}

/* The node was taken with the channel: this cannot fail. */
static void spend(prompts_embeds *e, spent *node, mcp_channel *channel)
{
    const mcp_host *host = mcp_server_host(e->server);
    node->channel = channel;
    node->next = e->spent;
    e->spent = node;
    if (!e->timer && host && host->timer_start && host->timer_stop)
        e->timer = host->timer_start(host->user, 0, on_timer, e);
}

/* ---- one answer ------------------------------------------------------------------------------ */

static int fail(reading *r, const char *why)
{
    mcp_str uri = r->uris[r->at];
    snprintf(r->why, sizeof r->why, "%.*s: %.150s", uri.len < 120 ? (int)uri.len : 120, uri.ptr,
             why);
    return MCP_EREMOTE;
}

/* At a character's end. */
static int fail_with(reading *r, mcp_str message)
{
    char text[150];
    size_t len = message.len < sizeof text ? message.len : sizeof text - 1;
    while (len && len < message.len && ((unsigned char)message.ptr[len] & 0xc0) == 0x80)
        len--;
    if (len)
        memcpy(text, message.ptr, len);
    text[len] = '\0';
    return fail(r, len ? text : "it cannot be read");
}

static int take_answer(reading *r, const mcp_json *root)
{
    const mcp_json *result = mcp_json_get(root, "result");
    mcp_str type = mcp_json_string(mcp_json_get(result, "resultType"));
    if (!result)
        return fail_with(r, mcp_json_string(mcp_json_get(mcp_json_get(root, "error"), "message")));
    if (type.ptr && !mcp_str_eq(type, MCP_STR("complete")))
        return fail(r, "it asks for input, which cannot be given within a prompt");
    r->results[r->at] = result;
    return MCP_OK;
}

static int advance(reading *r);

/* All were read, or one could not be. */
static int finish(reading *r)
{
    int rc = r->done(r->req, r->rc, r->results, r->why, r->user);
    for (size_t i = 0; i < r->n; i++)
        mcp_json_free(r->docs[i]);
    return rc;
}

static void unlink_reading(reading *r)
{
    reading **at = &r->all->first;
    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
}

/* From within `send`, some time later. */
static void go_on(reading *r)
{
    unlink_reading(r);
    r->channel = NULL; /* spent with its answer */
    int rc = advance(r);
    if (rc != MCP_PENDING)
        mcp_reply_finish(r->req, rc);
}

typedef struct line { /* of one channel */
    spent node;       /* first */
    reading *r;       /* NULL: nobody waits any more */
} line;

static void on_message(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    line *l = user;
    reading *r = l->r;
    (void)exchange;
    if (!r || mcp_channel_output_info(channel).kind != MCP_OUTPUT_RESPONSE)
        return;
    l->r = NULL;
    mcp_json_limits limits = {.size = sizeof limits};
    int rc = mcp_json_parse(message, &limits, &r->all->alloc, &r->docs[r->at], NULL);
    r->left -= message.len < r->left ? message.len : r->left;
    r->rc = rc == MCP_OK ? take_answer(r, mcp_json_root(r->docs[r->at])) : rc;
    r->at++;
    r->answered = true;
    if (r->receiving)
        return;
    spend(r->all, &l->node, channel);
    go_on(r);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int put_request(reading *r, mcp_json_writer *w, mcp_str *ret)
{
    mcp_json_begin_object(w);
    mcp_json_key(w, "jsonrpc"), mcp_json_add_string(w, "2.0");
    mcp_json_key(w, "id"), mcp_json_add_int(w, 1);
    mcp_json_key(w, "method"), mcp_json_add_string(w, "resources/read");
    mcp_json_key(w, "params"), mcp_json_begin_object(w);
    mcp_json_key(w, "uri"), mcp_json_add_str(w, r->uris[r->at]);
    mcp_json_key(w, "_meta"), mcp_json_begin_object(w);
    mcp_json_key(w, "io.modelcontextprotocol/protocolVersion"), mcp_json_add_string(w, revision);
    mcp_json_key(w, "io.modelcontextprotocol/clientCapabilities"), mcp_json_begin_object(w);
    mcp_json_end(w), mcp_json_end(w), mcp_json_end(w), mcp_json_end(w);
    return w ? mcp_json_writer_finish(w, ret) : MCP_ENOMEM;
}

static int send_request(reading *r)
{
    const mcp_host *host = mcp_server_host(r->all->server);
    mcp_json_writer *w = mcp_json_writer_new(&r->all->alloc, 0);
    mcp_str text;
    int rc = put_request(r, w, &text);
    r->receiving = true;
    r->answered = false;
    if (rc == MCP_OK)
        rc =
            mcp_channel_receive(r->channel, 0, text, host && host->now ? host->now(host->user) : 0);
    r->receiving = false;
    mcp_json_writer_free(w);
    return rc;
}

static int connect(reading *r, line **ret)
{
    line *l = common_alloc(&r->all->alloc, sizeof *l);
    if (!l)
        return MCP_ENOMEM;
    *l = (line){.r = r};
    int rc = mcp_server_connect(r->all->server,
                                MCP_OPTIONS(mcp_channel_options, .send = on_message, .user = l,
                                            .principal = mcp_request_principal(r->req),
                                            .max_reply = r->left),
                                &r->channel, NULL);
    if (rc == MCP_OK)
        *ret = l;
    else
        common_release(&r->all->alloc, l);
    return rc;
}

/* One resource. MCP_PENDING: its answer will go on. */
static int read_one(reading *r)
{
    line *l;
    if (r->left < 1024)
        return fail(r, "the resources of this prompt are too large together");
    int rc = connect(r, &l);
    if (rc != MCP_OK)
        return rc;
    rc = send_request(r);
    if (rc == MCP_OK && !r->answered) {
        r->next = r->all->first;
        r->all->first = r;
        return MCP_PENDING;
    }
    mcp_channel_free(r->channel);
    common_release(&r->all->alloc, l);
    r->channel = NULL;
    return rc == MCP_OK ? r->rc : rc;
}

/* As far as answers are at hand. Returns what `done` returned, or MCP_PENDING. */
static int advance(reading *r)
{
    while (r->rc == MCP_OK && r->at < r->n) {
        int rc = read_one(r);
        if (rc == MCP_PENDING)
            return rc;
        r->rc = rc;
    }
    return finish(r);
}

int prompts_embed(prompts_embeds *e, mcp_request *req, const mcp_str *uris, size_t n,
                  prompts_embedded_fn *done, void *user)
{
    reading *r = mcp_request_alloc(req, sizeof *r);
    mcp_json_doc **docs = mcp_request_alloc(req, n * sizeof(*docs));
    const mcp_json **results = mcp_request_alloc(req, n * sizeof(*results));
    if (!r || !docs || !results)
        return done(req, MCP_ENOMEM, NULL, "", user);
    for (size_t i = 0; i < n; i++)
        docs[i] = NULL, results[i] = NULL;
    *r = (reading){.all = e,
                   .req = req,
                   .uris = uris,
                   .n = n,
                   .docs = docs,
                   .results = results,
                   .left = PROMPTS_MAX_EMBEDDED,
                   .done = done,
                   .user = user};
    return advance(r);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int prompts_embeds_new(mcp_server *server, const mcp_allocator *alloc, prompts_embeds **ret)
{
    mcp_allocator a = common_allocator(alloc);
    prompts_embeds *e = common_alloc(&a, sizeof *e);
    if (!e)
        return MCP_ENOMEM;
    *e = (prompts_embeds){.server = server, .alloc = a};
    *ret = e;
    return MCP_OK;
}

void prompts_embeds_free(prompts_embeds *e)
{
    if (!e)
        return;
    while (e->first) {
        reading *r = e->first;
        line *l = mcp_channel_user(r->channel);
        e->first = r->next;
        l->r = NULL; /* its answer is not waited for */
        mcp_channel_free(r->channel);
        common_release(&e->alloc, l);
        r->rc = fail(r, "the server ends");
        mcp_reply_finish(r->req, finish(r));
    }
    free_spent(e);
    mcp_allocator a = e->alloc;
    common_release(&a, e);
}
