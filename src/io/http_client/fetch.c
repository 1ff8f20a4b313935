/* fetch.c: fetches documents (mcp/fetch.h), whose URLs may come from an untrusted source.
 *
 * Fetches do not reuse connections of other requests, because the addresses of those connections were
 * not checked.
 */
#define _GNU_SOURCE
#include "io/http_client/http_client.h"

enum { CONNECT_MS = 10000 };

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_fetch_options, max_bytes, 16 << 20),
    MCP_DEFAULT(mcp_fetch_options, timeout_ms, 60000),
};

struct mcp_fetch {
    const mcp_allocator *allocator;
    mcp__transfer *transfer;
    mcp_fetch_fn *done;
    void *user;
    size_t max_bytes;
    mcp__buf body;
    char *post; /* the body of a POST; NULL for a GET */
};

static void fetch_free(mcp_fetch *f)
{
    mcp__buf_wipe(&f->body); /* may have tokens, or a secret */
    mcp__wipe(f->post, f->post ? strlen(f->post) : 0);
    mcp__release(f->allocator, f->post);
    mcp__release(f->allocator, f);
}

static bool on_head(void *arg, const mcp__answer *answer)
{
    mcp_fetch *f = arg;

    if (answer->length >= 0 && (uint64_t)answer->length > f->max_bytes)
        f->body.failed = MCP_ELIMIT;
    return !f->body.failed;
}

static bool on_bytes(void *arg, mcp_str bytes)
{
    mcp_fetch *f = arg;

    mcp__buf_str(&f->body, bytes);
    return !f->body.failed;
}

static void on_done(void *arg, int rc, const char *text)
{
    mcp_fetch *f = arg;
    const mcp__answer *answer = &f->transfer->answer;
    mcp_fetched fetched = {.size = sizeof(fetched),
                           .status = answer->status,
                           .media_type = answer->media_text,
                           .body = mcp__buf_view(&f->body),
                           .cache_control = mcp__buf_view(&answer->caching),
                           .dpop_nonce = mcp__buf_view(&answer->nonce),
                           .www_authenticate = mcp__buf_view(&answer->challenge)};
    mcp_error error;

    if (rc == MCP_OK)
        rc = f->body.failed;
    if (rc == MCP_OK) {
        f->done(rc, &fetched, NULL, f->user);
    } else {
        if (f->body.failed == MCP_ELIMIT)
            mcp__fail(&error, rc, 0, "it is larger than %zu bytes", f->max_bytes);
        else
            mcp__fail(&error, rc, 0, "%s", text ? text : mcp_error_text(rc));
        f->done(rc, NULL, &error, f->user);
    }
    fetch_free(f);
}

static const mcp__transfer_events events = {.head = on_head, .bytes = on_bytes, .done = on_done};

static int add_headers(mcp__headers *headers, const mcp_fetch_options *o)
{
    int rc = mcp__headers_add(headers, MCP_STR("Accept"),
                              o->accept ? mcp_str_from(o->accept) : MCP_STR("*/*"));
    if (rc == MCP_OK && (o->form || o->json))
        rc = mcp__headers_add(headers, MCP_STR("Content-Type"),
                              o->form ? MCP_STR("application/x-www-form-urlencoded")
                                      : MCP_STR("application/json"));
    if (rc == MCP_OK && o->authorization)
        rc = mcp__headers_add(headers, MCP_STR("Authorization"), mcp_str_from(o->authorization));
    if (rc == MCP_OK && o->protocol_version)
        rc = mcp__headers_add(headers, MCP_STR("MCP-Protocol-Version"),
                              mcp_str_from(o->protocol_version));
    if (rc == MCP_OK && o->dpop)
        rc = mcp__headers_add(headers, MCP_STR("DPoP"), mcp_str_from(o->dpop));
    return rc;
}

static int start(mcp_fetch *f, mcp__multi *multi, const mcp_fetch_options *o)
{
    mcp__headers headers;
    const char *post = o->form ? o->form : o->json;
    mcp__target target = {.unix_socket = o->unix_socket,
                          .proxy = o->proxy ? o->proxy : "",
                          .ca_file = o->ca_file,
                          .connect_ms = CONNECT_MS,
                          .any_origin = !o->same_origin,
                          .public_only = !o->allow_private,
                          .no_redirect = o->no_redirect || post || o->authorization || o->dpop};
    mcp__transfer_request request = {.method = post ? MCP__POST : MCP__GET,
                                     .url = o->url,
                                     .headers = &headers,
                                     .timeout_ms = o->timeout_ms,
                                     .decode = true,
                                     .once = post != NULL,
                                     .target = &target,
                                     .events = &events,
                                     .arg = f};

    if (post && !(f->post = mcp__strdup(f->allocator, mcp_str_from(post))))
        return MCP_ENOMEM;
    request.body = mcp_str_from(f->post);
    mcp__headers_init(&headers, f->allocator);
    int rc = add_headers(&headers, o);
    if (rc == MCP_OK)
        rc = mcp__transfer_start(multi, &request, &f->transfer);
    mcp__headers_free(&headers);
    return rc;
}

static int check(mcp_loop *loop, const mcp_fetch_options *o, mcp_error *error)
{
    if (!loop || !o->url || !o->done)
        return mcp__fail(error, MCP_EINVAL, 0, "a loop, a URL and a function are needed");
    if (o->form && o->json)
        return mcp__fail(error, MCP_EINVAL, 0, "a request has one body, a form or JSON");
    int rc = mcp__url_check(mcp_str_from(o->url), error);
    if (rc == MCP_OK && !o->allow_private && mcp__url_is_private(mcp_str_from(o->url), o->proxy))
        rc = mcp__fail(error, MCP_EACCESS, 0, "it names this machine or a private network");
    return rc;
}

int mcp_loop_fetch(mcp_loop *loop, const mcp_fetch_options *options, mcp_fetch **ret,
                   mcp_error *error)
{
    mcp__no_error(error);
    mcp_fetch_options o;
    mcp__multi *multi = NULL;

    int rc = MCP__TAKE(&o, options, mcp_fetch_options, error);
    if (rc == MCP_OK)
        rc = check(loop, &o, error);
    if (rc == MCP_OK)
        rc = mcp__multi_get(loop, &multi, error);
    if (rc < 0)
        return rc;
    mcp_fetch *f = mcp__zalloc(&loop->allocator, sizeof(*f));
    if (!f)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory to fetch");
    f->allocator = &loop->allocator;
    f->done = o.done;
    f->user = o.user;
    MCP_SET_DEFAULTS(&o, defaults);
    f->max_bytes = o.max_bytes;
    mcp__buf_init(&f->body, f->allocator, f->max_bytes);
    mcp__ignore_sigpipe();
    rc = start(f, multi, &o);
    if (rc < 0) {
        fetch_free(f);
        return mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
    }
    if (ret)
        *ret = f;
    return MCP_OK;
}

void mcp_fetch_cancel(mcp_fetch *fetch)
{
    if (!fetch)
        return;
    mcp__transfer_abandon(fetch->transfer);
    fetch_free(fetch);
}
