/* handles.c: makes transfers, and sets the options of their handles of libcurl.
 *
 * A handle costs more to make than the request that it sends. A transfer that has ended is therefore
 * kept with its handle, for the next request that needs the same options. Only what differs from
 * request to request is set again: the headers and the body.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "io/http_client/http_client.h"

enum {
    CONNECT_MS = 10000,
    MOST_KEPT = 64, /* transfers of a loop that wait for another request */
};

/* ---- headers --------------------------------------------------------------------------------- */

/* Makes the list of libcurl point into a copy of the headers. */
static int copy_headers(mcp__transfer *t, const mcp__headers *headers)
{
    static char expect[] = "Expect:";
    const char *line;
    size_t n = 1, at = 0;

    mcp__buf_reset(&t->lines.lines, MCP__HEADERS_MOST);
    int rc = mcp__headers_append(&t->lines, headers);
    while (rc == MCP_OK && mcp__headers_next(&t->lines, &at))
        n++;
    mcp__buf_reset(&t->nodes, SIZE_MAX);
    struct curl_slist *nodes = (void *)mcp__buf_reserve(&t->nodes, n * sizeof(*nodes));
    if (rc != MCP_OK || !nodes)
        return MCP_ENOMEM;
    t->nodes.len = n * sizeof(*nodes);
    /* Suppresses libcurl's own header Expect. Many servers do not send "100 Continue", for which
     * libcurl would wait one second. */
    nodes[0] = (struct curl_slist){.data = expect};
    for (n = 1, at = 0; (line = mcp__headers_next(&t->lines, &at)) != NULL; n++) {
        nodes[n] = (struct curl_slist){.data = t->lines.lines.ptr + (line - t->lines.lines.ptr)};
        nodes[n - 1].next = &nodes[n];
    }
    return MCP_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

/* curl_easy_setopt() has variable arguments, so an integer must have the type long. */
static bool set_long(mcp__transfer *t, CURLoption option, long value)
{
    return t->multi->f.curl_easy_setopt(t->easy, option, value) == CURLE_OK;
}

static bool set_text(mcp__transfer *t, CURLoption option, const char *value)
{
    return t->multi->f.curl_easy_setopt(t->easy, option, value) == CURLE_OK;
}

/* Where distributions keep the certificates of authorities. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch, Alpine */
    "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, Red Hat */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem", /* openSUSE */
    "/var/lib/ca-certificates/ca-bundle.pem",
    "/etc/ssl/cert.pem", /* Alpine, the BSDs */
};

/* Returns the file of trusted certificates. NULL means that libcurl knows where the system has them, as a
 * libcurl of the system does; one that is linked into a static program does not. */
static const char *ca_file_of(mcp__transfer *t)
{
    const char *file = t->target.ca_file ? t->target.ca_file : secure_getenv("SSL_CERT_FILE");
    const curl_version_info_data *v = t->multi->f.curl_version_info(CURLVERSION_NOW);

    if (file && *file)
        return file;
    if (v->age >= CURLVERSION_SEVENTH && (v->cainfo || v->capath))
        return NULL;
    for (size_t i = 0; i < MCP__COUNT(bundles); i++)
        if (access(bundles[i], R_OK) == 0)
            return bundles[i];
    t->has_no_bundle = true;
    return NULL;
}

/* Sets how to connect. A connection whose address is checked is not taken from the pool, because
 * connections in the pool were not checked. */
static bool set_connection(mcp__transfer *t)
{
    const mcp__target *target = &t->target;
    const char *proxy = target->proxy, *ca_file = ca_file_of(t);

    if (!proxy &&
        (target->unix_socket || target->public_only || mcp__url_is_loopback(mcp_str_from(t->url))))
        proxy = "";
    t->checks_address = target->public_only && proxy && !*proxy;
    return (!target->unix_socket || set_text(t, CURLOPT_UNIX_SOCKET_PATH, target->unix_socket)) &&
           (!proxy || set_text(t, CURLOPT_PROXY, proxy)) &&
           (!ca_file || set_text(t, CURLOPT_CAINFO, ca_file)) &&
           (!t->checks_address ||
            (set_long(t, CURLOPT_FRESH_CONNECT, 1) && set_long(t, CURLOPT_FORBID_REUSE, 1)));
}

static bool set_method(mcp__transfer *t)
{
    switch (t->method) {
    case MCP__POST: return set_long(t, CURLOPT_POST, 1);
    case MCP__DELETE: return set_text(t, CURLOPT_CUSTOMREQUEST, "DELETE");
    default: return true;
    }
}

static long clamp(uint64_t ms)
{
    return (long)MCP__MIN(ms, (uint64_t)INT32_MAX);
}

/* Sets the options that stay as they are if the handle is used again. */
static int set_up(mcp__transfer *t, const mcp__transfer_request *r)
{
    uint64_t connect_ms = t->target.connect_ms;

    if (!connect_ms)
        connect_ms = CONNECT_MS;
    /* With this option, freeing does not wait for a name server. It requires libcurl 7.87. */
    (void)set_long(t, CURLOPT_QUICK_EXIT, 1);
    bool ok = mcp__transfer_set_callbacks(t) && set_connection(t) && set_method(t) &&
              set_text(t, CURLOPT_URL, t->url) &&
              set_text(t, CURLOPT_PROTOCOLS_STR, "http,https") &&
              set_text(t, CURLOPT_USERAGENT, "libmcp/" MCP_VERSION_STRING) &&
              set_long(t, CURLOPT_NOSIGNAL, 1) && set_long(t, CURLOPT_TCP_KEEPALIVE, 1) &&
              set_long(t, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1) &&
              set_long(t, CURLOPT_CONNECTTIMEOUT_MS, clamp(connect_ms)) &&
              set_long(t, CURLOPT_TIMEOUT_MS, clamp(r->timeout_ms)) &&
              /* A server of this machine would compress for nothing. */
              (!r->decode || t->target.unix_socket || set_text(t, CURLOPT_ACCEPT_ENCODING, ""));
    return ok ? MCP_OK : MCP_ENOMEM;
}

/* Sets what belongs to one request. */
static int set_request(mcp__transfer *t, const mcp__transfer_request *r)
{
    const mcp__curl *f = &t->multi->f;
    int rc = copy_headers(t, r->headers);

    if (rc != MCP_OK)
        return rc;
    bool ok = f->curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->nodes.ptr) == CURLE_OK &&
              mcp__jar_enter(r->jar, t);
    if (ok && t->method == MCP__POST)
        ok = set_text(t, CURLOPT_POSTFIELDS, r->body.ptr) &&
             f->curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len) ==
                 CURLE_OK;
    return ok ? MCP_OK : MCP_ENOMEM;
}

/* ---- transfers that are used again ----------------------------------------------------------- */

static void put_text(mcp__buf *shape, const char *text)
{
    mcp__buf_char(shape, text ? '+' : '-');
    mcp__buf_add(shape, text ? text : "", text ? strlen(text) + 1 : 0);
}

/* Writes everything that set_up() depends on. */
static int put_shape(mcp__buf *shape, const mcp__transfer_request *r)
{
    const mcp__target *target = r->target;
    const uint64_t numbers[] = {target->connect_ms, r->timeout_ms, (uint64_t)r->method,
                                (uint64_t)r->decode | (uint64_t)r->once << 1};

    put_text(shape, r->url);
    put_text(shape, target->unix_socket);
    put_text(shape, target->proxy);
    put_text(shape, target->ca_file);
    mcp__buf_add(shape, numbers, sizeof(numbers));
    return shape->failed;
}

/* Streams and documents are rare, and an address that is checked needs a new connection anyway. */
static bool may_be_kept(const mcp__transfer_request *r)
{
    return r->method == MCP__POST && !r->target->public_only;
}

static mcp__transfer *take_kept(mcp__multi *multi, mcp_str shape)
{
    for (mcp__link *l = multi->reusable.prev; l != &multi->reusable; l = l->prev) {
        mcp__transfer *t = mcp__container(l, mcp__transfer, link);
        if (!mcp_str_eq(mcp__buf_view(&t->shape), shape))
            continue;
        mcp__list_remove(l);
        t->is_reusable = false;
        multi->n_reusable--;
        return t;
    }
    return NULL;
}

/* Forgets the request that has ended, and its answer. */
static void clear(mcp__transfer *t)
{
    mcp__jar_leave(t);
    mcp__wipe(t->lines.lines.ptr, t->lines.lines.len); /* there may be a token */
    mcp__answer_free(&t->answer);
    mcp__answer_init(&t->answer, &t->multi->loop->allocator);
    t->target = (mcp__target){0};
    t->failed = MCP_OK;
    t->added = t->satisfied = t->head_reported = t->begun = t->paused = t->ended_well = false;
    t->error[0] = 0;
    t->taken = 0;
    t->held_until = 0;
    t->n_sent = 0;
}

static void keep(mcp__transfer *t)
{
    mcp__multi *multi = t->multi;

    clear(t);
    mcp__list_remove(&t->link);
    mcp__list_append(&multi->reusable, &t->link);
    t->is_reusable = true;
    if (++multi->n_reusable > MOST_KEPT)
        mcp__transfer_free(mcp__container(multi->reusable.next, mcp__transfer, link));
}

void mcp__transfer_release(mcp__transfer *t)
{
    /* libcurl counts how often it has sent a request again, over all requests of a handle. */
    if (t->ended_well && t->shape.len && !t->redirects && t->n_sent == 1)
        keep(t);
    else
        mcp__transfer_free(t);
}

void mcp__transfers_forget(mcp__multi *multi)
{
    while (!mcp__list_empty(&multi->reusable))
        mcp__transfer_free(mcp__container(multi->reusable.next, mcp__transfer, link));
    mcp__buf_free(&multi->shape);
}

/* ---- making ---------------------------------------------------------------------------------- */

void mcp__transfer_free(mcp__transfer *t)
{
    const mcp__curl *f = &t->multi->f;
    const mcp_allocator *a = &t->multi->loop->allocator;

    if (t->is_reusable)
        t->multi->n_reusable--;
    mcp__list_remove(&t->link);
    mcp__jar_leave(t);
    if (t->easy)
        f->curl_easy_cleanup(t->easy);
    mcp__headers_free(&t->lines);
    mcp__buf_free(&t->nodes);
    mcp__buf_free(&t->shape);
    mcp__answer_free(&t->answer);
    mcp__release(a, t->url);
    mcp__release(a, t);
}

/* Makes a transfer with a handle of its own. */
static int make(mcp__multi *multi, const mcp__transfer_request *r, mcp__transfer **ret)
{
    const mcp_allocator *a = &multi->loop->allocator;
    mcp__transfer *t = mcp__zalloc(a, sizeof(*t));

    if (!t)
        return MCP_ENOMEM;
    mcp__list_init(&t->link);
    mcp__answer_init(&t->answer, a);
    mcp__headers_init(&t->lines, a);
    mcp__buf_init(&t->nodes, a, 0);
    mcp__buf_init(&t->shape, a, 0);
    t->multi = multi;
    t->target = *r->target;
    t->method = r->method;
    t->once = r->once;
    t->url = mcp__strdup(a, mcp_str_from(r->url));
    t->easy = multi->f.curl_easy_init();
    if (multi->shape.ptr)
        mcp__buf_str(&t->shape, mcp__buf_view(&multi->shape));
    int rc = t->url && t->easy && !t->shape.failed ? set_up(t, r) : MCP_ENOMEM;
    if (rc < 0)
        mcp__transfer_free(t);
    else
        *ret = t;
    return rc;
}

/* Finds a transfer that has ended, or makes one. */
static int get(mcp__multi *multi, const mcp__transfer_request *r, mcp__transfer **ret)
{
    mcp__buf_reset(&multi->shape, SIZE_MAX);
    if (may_be_kept(r) && put_shape(&multi->shape, r) < 0)
        return MCP_ENOMEM;
    mcp__transfer *t = multi->shape.ptr && multi->shape.len
                           ? take_kept(multi, mcp__buf_view(&multi->shape))
                           : NULL;
    if (!t)
        return make(multi, r, ret);
    t->target = *r->target;
    *ret = t;
    return MCP_OK;
}

int mcp__transfer_start(mcp__multi *multi, const mcp__transfer_request *r, mcp__transfer **ret)
{
    mcp__transfer *t;
    int rc = get(multi, r, &t);

    if (rc < 0)
        return rc;
    t->events = r->events;
    t->arg = r->arg;
    rc = set_request(t, r);
    if (rc < 0) {
        mcp__transfer_free(t);
        return rc;
    }
    mcp__list_append(&multi->waiting, &t->link);
    mcp__multi_note(multi);
    *ret = t;
    return MCP_OK;
}
