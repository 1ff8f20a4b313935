/* route.c: checks the head of a request: target, source, caller and media types. All checks run
 * before the body is read, so that the body of a refused request need not be read.
 */
#include <stdio.h>

#include "http/server/http_session.h"
#include "protocol/identity.h"

/* ---- allowed hosts and origins ------------------------------------------------------------
 *
 * A web page in a user's browser can send requests to a server on the user's machine. If it does so
 * directly, the header Origin names the page. If it uses a foreign name that resolves to this
 * machine (DNS rebinding), the header Host contains that name. Both headers are therefore compared
 * with the allowed values. Loopback names are always allowed.
 */

static const mcp_str loopback[] = {{"localhost", 9}, {"127.0.0.1", 9}, {"[::1]", 5}};

static bool is_loopback(mcp_str name)
{
    for (size_t i = 0; i < MCP__COUNT(loopback); i++) {
        if (mcp__str_same(name, loopback[i]))
            return true;
    }
    return false;
}

/* Removes ":port" from *host. Returns false if the characters after the name are not a port. */
static bool cut_port(mcp_str *host)
{
    size_t at = 0;
    if (host->len && host->ptr[0] == '[') {
        while (at < host->len && host->ptr[at] != ']')
            at++;
        at++;
    } else {
        while (at < host->len && host->ptr[at] != ':')
            at++;
    }
    if (at > host->len)
        return false;
    for (size_t i = at + 1; i < host->len; i++) {
        if (host->ptr[i] < '0' || host->ptr[i] > '9')
            return false;
    }
    bool ok = at == host->len || host->ptr[at] == ':';
    host->len = at;
    return ok && host->len;
}

static bool is_listed(const char *const *list, size_t n, mcp_str value)
{
    for (size_t i = 0; i < n; i++) {
        mcp_str allowed = mcp_str_from(list[i]);
        if (mcp_str_eq(allowed, MCP_STR("*")) || mcp__str_same(allowed, value))
            return true;
    }
    return false;
}

static bool host_allowed(const mcp_http_options *o, mcp_str host)
{
    if (!cut_port(&host))
        return false;
    return is_loopback(host) || is_listed(o->allow_hosts, o->n_allow_hosts, host);
}

static bool names_host(mcp_str target, size_t *len)
{
    static const mcp_str schemes[] = {{"http://", 7}, {"https://", 8}};
    for (size_t i = 0; i < MCP__COUNT(schemes); i++) {
        *len = schemes[i].len;
        if (target.len >= *len && mcp__str_same((mcp_str){target.ptr, *len}, schemes[i]))
            return true;
    }
    return false;
}

static bool origin_allowed(const mcp_http_options *o, mcp_str origin)
{
    size_t len;
    if (is_listed(o->allow_origins, o->n_allow_origins, origin))
        return true;
    if (!names_host(origin, &len))
        return false;
    mcp_str host = mcp__str_sub(origin, len);
    return cut_port(&host) && is_loopback(host);
}

/* ---- target ---------------------------------------------------------------------------------- */

/* Finds the path in the target. Returns the host, which a target in absolute form contains (RFC
 * 9112, 3.2.2); otherwise the value of the Host header. */
static mcp_str read_target(mcp_http_connection *c)
{
    mcp_str target = mcp__http_text(&c->head, c->head.target);
    mcp_str host = mcp__http_header(&c->head, MCP__HTTP_HOST);
    size_t at = 0;
    if (names_host(target, &at)) {
        size_t end = at;
        while (end < target.len && !memchr("/?#", target.ptr[end], 3))
            end++;
        host = (mcp_str){target.ptr + at, end - at};
        at = end;
    } else {
        at = 0;
    }
    size_t end = at;
    while (end < target.len && !memchr("?#", target.ptr[end], 2))
        end++;
    c->head.path = (mcp__http_span){c->head.target.at + (uint32_t)at, (uint32_t)(end - at)};
    return host;
}

static bool is_path(const mcp_http_connection *c, const char *path)
{
    return mcp_str_eq(mcp__http_text(&c->head, c->head.path), mcp_str_from(path));
}

static bool is_health(const mcp_http_connection *c)
{
    return !c->http->options.no_healthz && (is_path(c, "/healthz") || is_path(c, "/readyz"));
}

static bool is_metadata(const mcp_http_connection *c)
{
    return c->http->options.resource_server && mcp__http_is_metadata(c);
}

/* Checks Host and Origin. /healthz and /readyz are exempt: a foreign page could not use their answers,
 * and probes often send an IP address as Host. The metadata of a resource is exempt too, because it is
 * public. */
static mcp__http_refusal check_source(mcp_http_connection *c, mcp_str host)
{
    const mcp_http_options *o = &c->http->options;
    if (c->head.duplicate || (c->head.repeated && c->http_method != HTTP_POST))
        return MCP__HTTP_DUPLICATE;
    if (c->trusted || c->is_forwarded)
        return MCP__HTTP_FINE;
    if (!host.ptr && c->parser.http_minor >= 1)
        return MCP__HTTP_NO_HOST;
    if (is_health(c) || is_metadata(c))
        return MCP__HTTP_FINE;
    if (!host.ptr || !host_allowed(o, host))
        return MCP__HTTP_BAD_HOST;
    mcp_str origin = mcp__http_header(&c->head, MCP__HTTP_ORIGIN);
    if (!origin.ptr)
        return MCP__HTTP_FINE;
    if (!origin_allowed(o, origin))
        return MCP__HTTP_BAD_ORIGIN;
    c->cors = o->cors;
    return MCP__HTTP_FINE;
}

/* Returns whether the path is that of the endpoint, a slash and the name of a view. */
static bool names_view(mcp_http_connection *c)
{
    const mcp_http_options *o = &c->http->options;
    mcp_str path = mcp__http_text(&c->head, c->head.path), own = mcp_str_from(o->path);
    own.len -= own.len && own.ptr[own.len - 1] == '/';
    if (!o->has_view || !mcp__str_starts(path, own) || path.len == own.len ||
        path.ptr[own.len] != '/')
        return false;
    mcp_str name = mcp__str_sub(path, own.len + 1);
    if (!mcp__is_view(name) || !o->has_view(name, o->user))
        return false;
    c->head.view = (mcp__http_span){c->head.path.at + (uint32_t)own.len + 1, (uint32_t)name.len};
    return true;
}

static mcp__http_refusal find_target(mcp_http_connection *c)
{
    const mcp_http_options *o = &c->http->options;
    mcp_str path = mcp__http_text(&c->head, c->head.path);
    if (mcp_str_eq(path, mcp_str_from(o->path)))
        c->target = MCP__HTTP_ENDPOINT;
    else if (o->sse_path && mcp_str_eq(path, mcp_str_from(o->sse_path)))
        c->target = MCP__HTTP_DUPLEX;
    else if (is_health(c))
        c->target = MCP__HTTP_HEALTHZ;
    else if (!o->no_metrics && mcp_str_eq(path, MCP_STR("/metrics")))
        c->target = MCP__HTTP_METRICS;
    else if (is_metadata(c))
        c->target = MCP__HTTP_RESOURCE;
    else if (names_view(c))
        c->target = MCP__HTTP_ENDPOINT;
    else if (o->page)
        c->target = MCP__HTTP_PAGE;
    else
        return MCP__HTTP_NO_PATH;
    bool has_messages = c->target == MCP__HTTP_ENDPOINT || c->target == MCP__HTTP_DUPLEX;
    bool is_allowed = c->http_method == HTTP_GET || c->http_method == HTTP_HEAD ||
                      (c->target == MCP__HTTP_RESOURCE && c->http_method == HTTP_OPTIONS) ||
                      (c->target == MCP__HTTP_PAGE && c->http_method == HTTP_POST);
    if (has_messages)
        is_allowed = c->http_method == HTTP_POST || c->http_method == HTTP_GET ||
                     (c->http_method == HTTP_DELETE && c->target == MCP__HTTP_ENDPOINT);
    if (has_messages && c->http_method == HTTP_OPTIONS && c->cors) {
        c->target = MCP__HTTP_PREFLIGHT;
        is_allowed = true;
    }
    return is_allowed ? MCP__HTTP_FINE : MCP__HTTP_NOT_ALLOWED;
}

/* Charges the connection's memory to the caller of this request. */
static mcp__http_refusal find_account(mcp_http_connection *c)
{
    mcp__http_refusal why = mcp__http_is_forwarded(c) ? mcp__http_count_client(c) : MCP__HTTP_FINE;
    if (!why && c->principal)
        why = mcp__http_count_principal(c);
    if (why || mcp__http_charged_to(&c->charge, c->principal, mcp__http_caller(c)))
        return why;
    int rc = mcp__http_charge_to(c->http->budget, &c->charge, c->principal, mcp__http_caller(c));
    return rc == MCP_OK ? MCP__HTTP_FINE : MCP__HTTP_NO_MEMORY;
}

static mcp__http_refusal check_form(mcp_http_connection *c)
{
    mcp_str coding = mcp__http_header(&c->head, MCP__HTTP_CONTENT_ENCODING);
    mcp_str expect = mcp__http_header(&c->head, MCP__HTTP_EXPECT);
    if (!(c->head.present & 1u << MCP__HTTP_ACCEPT))
        c->head.accepts = MCP__HTTP_JSON | MCP__HTTP_SSE;
    if (expect.ptr && c->parser.http_minor >= 1 && !mcp__str_same(expect, MCP_STR("100-continue")))
        return MCP__HTTP_BAD_EXPECT;
    if (c->http_method != HTTP_POST)
        return MCP__HTTP_FINE;
    if (!mcp__http_is_json(mcp__http_header(&c->head, MCP__HTTP_CONTENT_TYPE)))
        return MCP__HTTP_BAD_TYPE;
    if (coding.len && !mcp__str_same(coding, MCP_STR("identity")))
        return MCP__HTTP_BAD_CODING;
    /* The answer to a POST of HTTP+SSE has no body, so its media type does not matter. */
    bool is_accepted = c->head.accepts & MCP__HTTP_JSON || c->target == MCP__HTTP_DUPLEX;
    return is_accepted ? MCP__HTTP_FINE : MCP__HTTP_NOT_ACCEPTABLE;
}

mcp__http_refusal mcp__http_route(mcp_http_connection *c)
{
    if (c->parser.http_major != 1)
        return MCP__HTTP_BAD_VERSION;
    mcp_str host = read_target(c);
    mcp__http_refusal why = mcp__forwarded_read(c);
    if (!why)
        why = check_source(c, host);
    if (!why)
        why = find_target(c);
    if (!why && c->head.view.len && !mcp__http_asks(c->http))
        why = mcp__http_identify(c, NULL);
    return !why && c->is_forwarded && c->target != MCP__HTTP_ENDPOINT ? MCP__HTTP_BAD_FORWARDED
                                                                      : why;
}

mcp__http_refusal mcp__http_admit(mcp_http_connection *c)
{
    mcp__http_refusal why = find_account(c);
    if (!why)
        why = check_form(c);
    if (!why && c->parser.content_length > c->http->options.max_body)
        why = MCP__HTTP_LONG_BODY;
    return why;
}

static void add_text(mcp_str text, void *arg)
{
    mcp__buf_str(arg, text);
}

/* Replaces the text by that of the program, if it has one. */
static void merge_metrics(mcp_http_connection *c, mcp__buf *b)
{
    const mcp_http_options *o = &c->http->options;
    mcp__buf merged;
    if (!o->merge_metrics)
        return;
    mcp__buf_init(&merged, c->http->allocator, 0);
    o->merge_metrics(c->http, mcp__http_identity(c), mcp__buf_view(b), add_text, &merged, o->user);
    mcp__buf_free(b);
    *b = merged;
}

static void answer_metrics(mcp_http_connection *c)
{
    const mcp_http_options *o = &c->http->options;
    mcp__buf b;
    if (o->may_see_metrics && !o->may_see_metrics(mcp__http_identity(c), o->user)) {
        mcp__http_refuse(c, MCP__HTTP_NO_PATH);
        return;
    }
    mcp__buf_init(&b, c->http->allocator, 0);
    mcp__http_put_metrics(c->http, mcp__http_identity(c), &b);
    if (!b.failed)
        merge_metrics(c, &b);
    mcp__http_answer a = {.status = 200, .type = "text/plain; version=0.0.4; charset=utf-8"};
    a.body = mcp__buf_view(&b);
    if (b.failed)
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
    else
        mcp__http_respond(c, &a);
    mcp__buf_free(&b);
}

/* Returns the word that says why requests should not be sent here, or NULL if they should. If another process takes over,
 * the service stays ready. */
static const char *not_ready(const mcp_http *http)
{
    const mcp_http_options *o = &http->options;
    if ((http->retired || http->draining) && !http->succeeded)
        return "draining";
    return o->not_ready ? o->not_ready(o->user) : NULL;
}

static void answer_health(mcp_http_connection *c)
{
    char line[80];
    bool asks_ready = is_path(c, "/readyz");
    const char *why = asks_ready ? not_ready(c->http) : NULL;
    int n = snprintf(line, sizeof(line), "%.64s\n", why ? why : asks_ready ? "ready" : "ok");
    mcp__http_answer a = {
        .status = why ? 503 : 200, .type = "text/plain; charset=utf-8", .body = {line, (size_t)n}};
    mcp__http_respond(c, &a);
}

void mcp__http_handle(mcp_http_connection *c)
{
    static const mcp__http_answer preflight = {.status = 204, .preflight = true};
    mcp__http_refusal why;
    switch ((mcp__http_target)c->target) {
    case MCP__HTTP_HEALTHZ: answer_health(c); break;
    case MCP__HTTP_METRICS: answer_metrics(c); break;
    case MCP__HTTP_RESOURCE: mcp__http_answer_resource(c); break;
    case MCP__HTTP_PAGE: mcp__http_answer_page(c); break;
    case MCP__HTTP_TARGETS: break;
    case MCP__HTTP_PREFLIGHT: mcp__http_respond(c, &preflight); break;
    case MCP__HTTP_DUPLEX:
        if (c->http_method == HTTP_POST)
            mcp__http_duplex_post(c);
        else
            mcp__http_duplex_open(c);
        break;
    case MCP__HTTP_ENDPOINT:
        if (c->is_forwarded && (why = mcp__forwarded_check(c)) != MCP__HTTP_FINE)
            mcp__http_refuse(c, why);
        else if (c->http_method == HTTP_POST)
            mcp__http_post(c);
        else if (c->http_method == HTTP_GET)
            mcp__http_get(c);
        else
            mcp__http_delete(c);
        break;
    }
}
