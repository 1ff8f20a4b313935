/* embed.c: see embed.h. */
#include "embed.h"

#include <stdio.h>

#include "loopback.h"

typedef struct reading {
    prompts_embeds *all;
    mcp_request *req;
    const mcp_str *uris;
    size_t n, at;
    mcp_json_doc **docs; /* n of them, in the request's memory */
    const mcp_json **results;
    size_t left; /* bytes that may still be read */
    common_ask ask;
    int rc;
    char why[300];
    prompts_embedded_fn *done;
    void *user;
} reading;

struct prompts_embeds {
    common_loopback *door;
    mcp_allocator alloc;
};

/* ---- answers --------------------------------------------------------------------------------- */

static int fail(reading *r, const char *why)
{
    mcp_str uri = r->uris[r->at];
    snprintf(r->why, sizeof(r->why), "%.*s: %.150s", uri.len < 120 ? (int)uri.len : 120, uri.ptr,
             why);
    return MCP_EREMOTE;
}

/* Fails with the message of an answer, truncated at a character boundary. */
static int fail_with(reading *r, mcp_str message)
{
    char text[150];
    size_t len = message.len < sizeof(text) ? message.len : sizeof(text) - 1;
    while (len && len < message.len && ((unsigned char)message.ptr[len] & 0xc0) == 0x80)
        len--;
    if (len)
        memcpy(text, message.ptr, len);
    text[len] = '\0';
    return fail(r, len ? text : "it cannot be read");
}

static int take_result(reading *r, const common_ask *ask)
{
    mcp_str type = mcp_json_string(mcp_json_get(ask->result, "resultType"));
    if (ask->rc == MCP_ECLOSED)
        return fail(r, "the server ends");
    if (ask->rc != MCP_OK)
        return ask->rc;
    if (!ask->result)
        return fail_with(r, mcp_json_string(mcp_json_get(ask->error, "message")));
    if (type.ptr && !mcp_str_eq(type, MCP_STR("complete")))
        return fail(r, "it asks for input, which is not possible within a prompt");
    r->results[r->at] = ask->result;
    return MCP_OK;
}

static void take_answer(reading *r)
{
    r->left -= r->ask.len < r->left ? r->ask.len : r->left;
    r->docs[r->at] = r->ask.doc;
    r->rc = take_result(r, &r->ask);
    r->at++;
}

/* Called when all resources were read or one failed. */
static int finish(reading *r)
{
    int rc = r->done(r->req, r->rc, r->results, r->why, r->user);
    for (size_t i = 0; i < r->n; i++)
        mcp_json_free(r->docs[i]);
    return rc;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int advance(reading *r);

static void later(void *user)
{
    reading *r = user;
    mcp_request *req = r->req;
    take_answer(r);
    int rc = advance(r);
    if (rc != MCP_PENDING)
        mcp_reply_finish(req, rc);
}

static void put_uri(mcp_json_writer *w, const void *user)
{
    const reading *r = user;
    mcp_json_put_str(w, "uri", r->uris[r->at]);
}

/* Reads one resource. If it returns MCP_PENDING, later() continues. */
static int read_one(reading *r)
{
    if (r->left < 1024)
        return fail(r, "the resources of this prompt are too large together");
    r->ask = (common_ask){.req = r->req,
                          .method = "resources/read",
                          .put = put_uri,
                          .later = later,
                          .user = r,
                          .max_reply = r->left};
    int rc = common_loopback_ask(r->all->door, &r->ask);
    if (rc != MCP_OK)
        return rc;
    take_answer(r);
    return r->rc;
}

/* Reads resources until one answer is not yet available. Returns what `done` returned,
 * or MCP_PENDING. */
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
    reading *r = mcp_request_alloc(req, sizeof(*r));
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

/* ---- creating and freeing -------------------------------------------------------------------- */

int prompts_embeds_new(mcp_server *server, const mcp_allocator *alloc, prompts_embeds **ret)
{
    mcp_allocator a = common_allocator(alloc);
    prompts_embeds *e = common_alloc(&a, sizeof(*e));
    if (!e)
        return MCP_ENOMEM;
    *e = (prompts_embeds){.alloc = a};
    int rc = common_loopback_new(server, &a, &e->door);
    if (rc == MCP_OK)
        *ret = e;
    else
        common_release(&a, e);
    return rc;
}

void prompts_embeds_free(prompts_embeds *e)
{
    if (!e)
        return;
    common_loopback_free(e->door);
    mcp_allocator a = e->alloc;
    common_release(&a, e);
}
