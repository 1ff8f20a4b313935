/* traces.c: see traces.h. The form is that of OTLP 1 over HTTP in JSON: https://opentelemetry.io/docs/specs/otlp/, in
 * which numbers of 64 bits are strings and ids have hexadecimal digits. The names of attributes are those of the semantic
 * conventions for MCP, and "mcpd." for what these do not have.
 */
#define _GNU_SOURCE
#include "traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit.h"
#include "log.h"
#include "secret.h"

enum {
    BATCH = 512,               /* spans that are sent at once, without waiting for more */
    WAIT_MS = 2000,            /* how long others wait */
    SEND_MS = 10000,           /* how long the collector may take */
    STOP_MS = 2000,            /* how long the end may take */
    TRIES = 4,                 /* of one batch */
    ANSWER_BYTES = 65536,      /* of which a partial success is read */
    METHOD_NOT_FOUND = -32601, /* of JSON-RPC */
    NAME_ROOM = 128,
    URI_ROOM = 256,
};

struct traces {
    mcp_loop *loop;
    const settings *s;
    char *authorization;   /* NULL if none */
    mcp_json_writer *open; /* the batch that is being made; NULL if it is empty */
    size_t n_open;
    char *text; /* the batch that is being sent, or will be again; NULL if none */
    size_t n_sending;
    unsigned tries;
    mcp_fetch *fetch;
    mcp_host_timer *timer;
    bool failing; /* the last batch was lost, which was logged */
    traces_counts counts;
};

/* ---- attributes ------------------------------------------------------------------------------ */

static mcp_str cut(mcp_str text, size_t room)
{
    if (text.len <= room)
        return text;
    text.len = room;
    while (text.len && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
        text.len--;
    return text;
}

static mcp_str target_of(const mcp_trace *t, const char *method)
{
    bool is = mcp_str_eq(t->request->method, mcp_str_from(method));
    return is ? cut(t->request->name, NAME_ROOM) : (mcp_str){NULL, 0};
}

static mcp_str method_of(const mcp_trace *t, const mcp_span *span)
{
    (void)span;
    if (t->request->code == METHOD_NOT_FOUND)
        return MCP_STR("_OTHER");
    return cut(t->request->method, NAME_ROOM);
}

static mcp_str tool_of(const mcp_trace *t, const mcp_span *span)
{
    (void)span;
    return target_of(t, "tools/call");
}

static mcp_str prompt_of(const mcp_trace *t, const mcp_span *span)
{
    (void)span;
    return target_of(t, "prompts/get");
}

static bool has_user(mcp_str uri)
{
    const char *at = uri.len ? memmem(uri.ptr, uri.len, "//", 2) : NULL;
    size_t left = at ? (size_t)(uri.ptr + uri.len - at) - 2 : 0;
    const char *end = left ? memchr(at + 2, '/', left) : NULL;
    return left && memchr(at + 2, '@', end ? (size_t)(end - at) - 2 : left);
}

/* A resource, without what may be an argument or a password. */
static mcp_str uri_of(const mcp_trace *t, const mcp_span *span)
{
    static const char prefix[] = "resources/";
    mcp_str uri = t->request->name, method = t->request->method;
    (void)span;
    if (!uri.len || method.len < sizeof(prefix) - 1 ||
        memcmp(method.ptr, prefix, sizeof(prefix) - 1) != 0)
        return (mcp_str){NULL, 0};
    for (size_t i = 0; i < uri.len; i++) {
        if (uri.ptr[i] == '?' || uri.ptr[i] == '#')
            uri.len = i;
    }
    return has_user(uri) ? (mcp_str){NULL, 0} : cut(uri, URI_ROOM);
}

static mcp_str session_of(const mcp_trace *t, const mcp_span *span)
{
    (void)span;
    return t->request->session;
}

/* A name of the configuration: a request in no view of it is refused before. */
static mcp_str view_of(const mcp_trace *t, const mcp_span *span)
{
    (void)span;
    return mcp_str_from(mcp_identity_view(t->request->identity));
}

static mcp_str outcome_of(const mcp_trace *t, const mcp_span *span)
{
    (void)span;
    return mcp_str_from(audit_outcome(t->request->outcome));
}

static mcp_str error_of(const mcp_trace *t, const mcp_span *span)
{
    return span->failed ? outcome_of(t, span) : (mcp_str){NULL, 0};
}

static mcp_str code_of(const mcp_trace *t, const mcp_span *span)
{
    static char text[24];
    (void)span;
    return (mcp_str){text, t->request->code ? log_number(text, t->request->code) : 0};
}

static mcp_str name_of(const mcp_trace *t, const mcp_span *span)
{
    (void)t;
    return cut(mcp_str_from(span->name), NAME_ROOM);
}

/* Everything that a collector learns. An attribute whose text is empty is left out. */
static const struct {
    unsigned kinds;
    const char *name;
    mcp_str (*of)(const mcp_trace *t, const mcp_span *span);
} attributes[] = {
    {1u << MCP_SPAN_REQUEST, "mcp.method.name", method_of},
    {1u << MCP_SPAN_REQUEST, "gen_ai.tool.name", tool_of},
    {1u << MCP_SPAN_REQUEST, "gen_ai.prompt.name", prompt_of},
    {1u << MCP_SPAN_REQUEST, "mcp.resource.uri", uri_of},
    {1u << MCP_SPAN_REQUEST, "mcp.session.id", session_of},
    {1u << MCP_SPAN_REQUEST, "mcpd.view", view_of},
    {1u << MCP_SPAN_REQUEST, "mcpd.outcome", outcome_of},
    {1u << MCP_SPAN_REQUEST, "error.type", error_of},
    {1u << MCP_SPAN_REQUEST, "rpc.response.status_code", code_of},
    {1u << MCP_SPAN_SOURCE, "mcpd.source", name_of},
    {1u << MCP_SPAN_CALL, "mcpd.server", name_of},
};

static void put_attribute(mcp_json_writer *w, const char *name, mcp_str text)
{
    if (!text.len)
        return;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "key", name);
    mcp_json_key(w, "value");
    mcp_json_begin_object(w);
    mcp_json_put_str(w, "stringValue", text);
    mcp_json_end(w);
    mcp_json_end(w);
}

/* ---- spans ----------------------------------------------------------------------------------- */

static const struct {
    int kind; /* of OTLP: 1 internal, 2 server, 3 client */
    const char *name;
} kinds[] = {
    [MCP_SPAN_REQUEST] = {2, NULL},
    [MCP_SPAN_SOURCE] = {1, "source"},
    [MCP_SPAN_CALL] = {3, "call"},
    [MCP_SPAN_WORK] = {1, "work"},
};

static void put_id(mcp_json_writer *w, const char *member, const unsigned char *id, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    char digits[32];
    for (size_t i = 0; i < n; i++) {
        digits[2 * i] = hex[id[i] >> 4];
        digits[2 * i + 1] = hex[id[i] & 15];
    }
    mcp_json_put_str(w, member, (mcp_str){digits, 2 * n});
}

static void put_time(mcp_json_writer *w, const char *member, int64_t us)
{
    char text[32];
    size_t n = log_number(text, us > 0 ? us : 0);
    memcpy(text + n, "000", 3);
    mcp_json_put_str(w, member, (mcp_str){text, n + 3});
}

static void put_name(mcp_json_writer *w, const mcp_trace *t, const mcp_span *span)
{
    char text[2 * NAME_ROOM + 1];
    mcp_str first = mcp_str_from(kinds[span->kind].name), second = name_of(t, span);
    if (span->kind == MCP_SPAN_REQUEST) {
        first = method_of(t, span);
        second = tool_of(t, span);
        second = second.len ? second : prompt_of(t, span);
    }
    size_t n = first.len;
    memcpy(text, first.ptr, n);
    if (second.len) {
        text[n++] = ' ';
        memcpy(text + n, second.ptr, second.len);
    }
    mcp_json_put_str(w, "name", (mcp_str){text, n + second.len});
}

/* `begin` is when the request began, in microseconds since 1970. */
static void put_span(mcp_json_writer *w, const mcp_trace *t, const mcp_span *span, int64_t begin)
{
    static const unsigned char none[8];
    begin += (int64_t)span->begin_us;
    mcp_json_begin_object(w);
    put_id(w, "traceId", t->id, sizeof(t->id));
    put_id(w, "spanId", span->id, sizeof(span->id));
    if (memcmp(span->parent, none, sizeof(none)) != 0)
        put_id(w, "parentSpanId", span->parent, sizeof(span->parent));
    put_name(w, t, span);
    mcp_json_put_int(w, "kind", kinds[span->kind].kind);
    put_time(w, "startTimeUnixNano", begin);
    put_time(w, "endTimeUnixNano", begin + (int64_t)span->duration_us);
    mcp_json_key(w, "attributes");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
        if (attributes[i].kinds & 1u << span->kind)
            put_attribute(w, attributes[i].name, attributes[i].of(t, span));
    }
    mcp_json_end(w);
    if (span->failed) {
        mcp_json_key(w, "status");
        mcp_json_begin_object(w);
        mcp_json_put_int(w, "code", 2); /* an error */
        mcp_json_end(w);
    }
    mcp_json_end(w);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void put_scope(mcp_json_writer *w)
{
    mcp_json_key(w, "scope");
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "name", "mcpd");
    mcp_json_put_string(w, "version", mcp_version());
    mcp_json_end(w);
}

static void put_resource(mcp_json_writer *w, const settings *s)
{
    char pid[24];
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    mcp_json_key(w, "resource");
    mcp_json_begin_object(w);
    mcp_json_key(w, "attributes");
    mcp_json_begin_array(w);
    put_attribute(w, "service.name", mcp_str_from(s->name ? s->name : "mcpd"));
    put_attribute(w, "service.version", mcp_str_from(mcp_version()));
    put_attribute(w, "service.instance.id", mcp_str_from(pid));
    mcp_json_end(w);
    mcp_json_end(w);
}

/* Begins {"resourceSpans":[{…,"scopeSpans":[{…,"spans":[. */
static mcp_json_writer *batch_begin(const settings *s)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_key(w, "resourceSpans");
    mcp_json_begin_array(w);
    mcp_json_begin_object(w);
    put_resource(w, s);
    mcp_json_key(w, "scopeSpans");
    mcp_json_begin_array(w);
    mcp_json_begin_object(w);
    put_scope(w);
    mcp_json_key(w, "spans");
    mcp_json_begin_array(w);
    return w;
}

static char *batch_end(mcp_json_writer *w)
{
    mcp_str text;
    for (int i = 0; i < 6; i++)
        mcp_json_end(w);
    char *copy = mcp_json_writer_finish(w, &text) == MCP_OK ? malloc(text.len + 1) : NULL;
    if (copy) {
        memcpy(copy, text.ptr, text.len);
        copy[text.len] = '\0';
    }
    mcp_json_writer_free(w);
    return copy;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void lose(traces *t, const char *why)
{
    char line[400];
    t->counts.lost += t->n_sending;
    snprintf(line, sizeof(line),
             "traces: %.100s does not accept spans: %.200s; they are lost until it does",
             t->s->traces, why);
    if (!t->failing)
        log_line("warning", line, NULL);
    t->failing = true;
}

static void end_batch(traces *t)
{
    free(t->text);
    t->text = NULL;
    t->n_sending = 0;
    t->tries = 0;
}

static void send(traces *t);

static void on_timer(void *arg)
{
    send(arg);
}

/* Calls send() later, unless that is arranged already. */
static void wait_then_send(traces *t, uint64_t ms)
{
    const mcp_host *host = mcp_loop_host(t->loop);
    if (t->timer)
        host->timer_stop(t->timer, host->user);
    t->timer = host->timer_start(ms, on_timer, t, host->user);
}

/* What the collector may accept later, by OTLP. */
static bool is_passing(int rc, int status)
{
    static const int passing[] = {429, 502, 503, 504};
    for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++) {
        if (rc == MCP_OK && status == passing[i])
            return true;
    }
    return rc == MCP_ECLOSED || rc == MCP_ETIMEOUT;
}

/* The spans that it refused, of those that it got. */
static uint64_t rejected(const mcp_fetched *answer)
{
    mcp_json_doc *doc = NULL;
    if (mcp_json_parse(answer->body, NULL, NULL, &doc, NULL) != MCP_OK)
        return 0;
    const mcp_json *part = mcp_json_get(mcp_json_root(doc), "partialSuccess");
    const mcp_json *n = mcp_json_get(part, "rejectedSpans");
    mcp_str text = mcp_json_string(n);
    uint64_t count = text.ptr ? strtoull(text.ptr, NULL, 10) : (uint64_t)mcp_json_int(n, 0);
    mcp_json_free(doc);
    return count;
}

static void accepted(traces *t, const mcp_fetched *answer)
{
    uint64_t n = rejected(answer);
    n = n < t->n_sending ? n : t->n_sending;
    t->counts.lost += n;
    t->counts.sent += t->n_sending - n;
    if (t->failing)
        log_line("warning", "traces: spans are accepted again", NULL);
    t->failing = false;
    end_batch(t);
}

static void on_done(int rc, const mcp_fetched *answer, const mcp_error *error, void *user)
{
    traces *t = user;
    char status[32];
    t->fetch = NULL;
    if (rc == MCP_OK && answer->status / 100 == 2) {
        accepted(t, answer);
    } else if (is_passing(rc, rc == MCP_OK ? answer->status : 0) && t->tries < TRIES) {
        wait_then_send(t, (uint64_t)WAIT_MS << t->tries);
        return;
    } else {
        snprintf(status, sizeof(status), "its status is %d", rc == MCP_OK ? answer->status : 0);
        lose(t, rc == MCP_OK ? status : error->text[0] ? error->text : mcp_error_text(rc));
        end_batch(t);
    }
    if (t->n_open >= BATCH)
        send(t);
    else if (t->n_open)
        wait_then_send(t, WAIT_MS);
}

/* Takes the batch that was made, if none is left. */
static bool take_batch(traces *t)
{
    if (t->text)
        return true;
    if (!t->open)
        return false;
    t->text = batch_end(t->open);
    t->n_sending = t->n_open;
    t->open = NULL;
    t->n_open = 0;
    if (t->text)
        return true;
    lose(t, mcp_error_text(MCP_ENOMEM));
    end_batch(t);
    return false;
}

static void send(traces *t)
{
    mcp_error error = {0};
    if (t->fetch || !take_batch(t))
        return;
    t->tries++;
    int rc = mcp_loop_fetch(t->loop,
                            MCP_OPTIONS(mcp_fetch_options, .url = t->s->traces, .json = t->text,
                                        .authorization = t->authorization, .timeout_ms = SEND_MS,
                                        .max_bytes = ANSWER_BYTES, .allow_private = true,
                                        .done = on_done, .user = t),
                            &t->fetch, &error);
    if (rc == MCP_OK)
        return;
    t->fetch = NULL;
    lose(t, error.text[0] ? error.text : mcp_error_text(rc));
    end_batch(t);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static size_t length(const mcp_span *span)
{
    size_t n = 0;
    for (; span; span = span->next)
        n++;
    return n;
}

static void on_trace(const mcp_trace *trace, void *user)
{
    traces *t = user;
    size_t n = length(trace->spans);
    int64_t begin = now_us() - (int64_t)trace->spans->duration_us;
    if (t->n_open + n > TRACES_KEPT) {
        t->counts.lost += n;
        return;
    }
    if (!t->open)
        t->open = batch_begin(t->s);
    for (const mcp_span *s = trace->spans; s; s = s->next)
        put_span(t->open, trace, s, begin);
    t->n_open += n;
    if (t->text)
        return; /* what is being sent goes first */
    if (t->n_open >= BATCH)
        send(t);
    else if (t->n_open == n)
        wait_then_send(t, WAIT_MS);
}

/* ---- the object ------------------------------------------------------------------------------ */

void traces_renew(traces *t)
{
    mcp_error error = {0};
    if (t && secret_renew(t->s->traces_auth_file, &t->authorization, &error) != MCP_OK)
        log_line("error", error.text, NULL);
}

static bool is_http(const char *url)
{
    return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

int traces_start(const settings *s, mcp_loop *loop, mcp_server *server, traces **ret,
                 mcp_error *error)
{
    *ret = NULL;
    if (!s->traces)
        return MCP_OK;
    if (!is_http(s->traces)) {
        snprintf(error->text, sizeof(error->text),
                 "traces: %.100s is no http:// or https:// URL; collectors usually have "
                 "http://HOST:4318/v1/traces",
                 s->traces);
        return error->code = MCP_EINVAL;
    }
    traces *t = calloc(1, sizeof(*t));
    if (!t)
        return error->code = MCP_ENOMEM;
    *t = (traces){.loop = loop, .s = s};
    int rc = secret_renew(s->traces_auth_file, &t->authorization, error);
    if (rc == MCP_OK)
        rc = mcp_server_set_trace(server, 1.0 / (double)(s->traces_one_in ? s->traces_one_in : 1),
                                  on_trace, t);
    if (rc != MCP_OK) {
        free(t->authorization);
        free(t);
        return rc;
    }
    *ret = t;
    return MCP_OK;
}

traces_counts traces_count(const traces *t)
{
    return t ? t->counts : (traces_counts){0};
}

void traces_stop(traces *t)
{
    if (!t)
        return;
    const mcp_host *host = mcp_loop_host(t->loop);
    int64_t until = host->now(host->user) + STOP_MS;
    t->tries = TRIES; /* no further ones */
    for (int64_t left = STOP_MS; left > 0 && (t->text || t->open) && !t->failing;
         left = until - host->now(host->user)) {
        send(t);
        if (t->fetch)
            mcp_loop_step(t->loop, (uint64_t)left);
    }
    if (t->timer)
        host->timer_stop(t->timer, host->user);
    mcp_fetch_cancel(t->fetch);
    mcp_json_writer_free(t->open);
    free(t->text);
    free(t->authorization);
    free(t);
}
