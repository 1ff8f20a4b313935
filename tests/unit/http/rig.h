/* rig.h: an HTTP endpoint over the fixture server, and connections that are strings.
 *
 * Requests are written with \n for line ends. These macros are expanded in them:
 *
 *     {{std}}      Host, Content-Type, Accept
 *     {{modern M}} the same, MCP-Protocol-Version 2026-07-28 and Mcp-Method M
 *     {{meta}}     "_meta":{…} of a modern request
 *     {{session}}  the id of the latest session
 *     {{len}}      the length of what follows the empty line
 *
 * Expected output also has \n for line ends, and ~ matches anything.
 */
#ifndef MCP_TESTS_HTTP_RIG_H
#define MCP_TESTS_HTTP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <mcp/http.h>
#include <mcp/sys/http.h>

#include "failalloc.h"
#include "fixture.h"
#include "login.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct rig {
    failalloc memory;
    mcp_allocator allocator;
    fixture *fixture;
    mcp_http *http;
    int64_t now;
    unsigned random;
    size_t woken;
    char session[1100];
    mcp_http_record record; /* of the last request; its strings are no longer valid */
    char traceparent[64];
    size_t logged;
} rig;

typedef struct wire {
    rig *rig;
    mcp_http_connection *c;
    char *out; /* without \r */
    size_t len, cap;
    int closed; /* 0 while open, then the mcp_http_close plus 1 */
    size_t writes;
    size_t pending; /* the sum of what was reported after each write */
    bool slow;
} wire;

/* Where the random numbers of the next rig begin. */
static unsigned rig_seed;
/* Whether the servers of the next rigs have tools that may be called as tasks. */
static bool rig_tasks;

static int rig_random(void *bytes, size_t len, void *user)
{
    rig *r = user;
    unsigned char *at = bytes;
    for (size_t i = 0; i < len; i++)
        at[i] = (unsigned char)(r->random++ * 37u + i * 11u);
    if (len >= sizeof(r->random))
        memcpy(at, &r->random, sizeof(r->random));
    return MCP_OK;
}

static void rig_woken(mcp_http *http, void *user)
{
    (void)http;
    ((rig *)user)->woken++;
}

static inline void rig_log(const mcp_http_record *record, void *user)
{
    rig *r = user;
    r->record = *record;
    snprintf(r->traceparent, sizeof(r->traceparent), "%.*s", (int)record->traceparent.len,
             record->traceparent.len ? record->traceparent.ptr : "");
    r->logged++;
}

static int rig_begin_with(rig *r, const mcp_http_options *options, size_t fail_at)
{
    *r = (rig){.memory.fail_at = fail_at, .now = 1000, .random = rig_seed};
    r->allocator = failalloc_allocator(&r->memory);
    mcp_http_options o = options ? *options : (mcp_http_options){0};
    o.size = sizeof(o);
    o.random = rig_random;
    o.user = r;
    o.allocator = &r->allocator;
    int rc = fixture_new(
        &(fixture_options){.allocator = &r->allocator, .page_size = 100, .tasks = rig_tasks},
        &r->fixture, NULL);
    if (rc == MCP_OK)
        rc = mcp_http_new(fixture_server(r->fixture), &o, &r->http, NULL);
    if (rc == MCP_OK)
        mcp_http_on_wake(r->http, rig_woken, r);
    return rc;
}

static inline void rig_begin(rig *r, const mcp_http_options *options)
{
    assert_int_equal(rig_begin_with(r, options, 0), MCP_OK);
}

static void rig_end(rig *r)
{
    mcp_http_free(r->http);
    if (r->fixture)
        fixture_free(r->fixture);
    assert_int_equal(r->memory.live, 0);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void wire_write(mcp_http_connection *c, mcp_str bytes, void *user)
{
    wire *w = user;
    if (w->len + bytes.len + 1 > w->cap) {
        w->cap = (w->len + bytes.len + 1) * 2;
        w->out = realloc(w->out, w->cap);
        assert_non_null(w->out);
    }
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.ptr[i] != '\r')
            w->out[w->len++] = bytes.ptr[i];
    }
    w->out[w->len] = 0;
    w->writes++;
    if (w->slow) {
        w->pending += bytes.len;
        mcp_http_set_pending(c, w->pending, w->rig->now);
    }
}

static void wire_close(mcp_http_connection *c, mcp_http_close how, void *user)
{
    (void)c;
    ((wire *)user)->closed = (int)how + 1;
}

static int wire_open_from(wire *w, rig *r, const char *address)
{
    *w = (wire){.rig = r};
    return mcp_http_accept(r->http,
                           MCP_OPTIONS(mcp_http_connection_options, .write = wire_write,
                                       .close = wire_close, .user = w, .peer = "peer:1",
                                       .address = address),
                           r->now, &w->c, NULL);
}

static inline void wire_open(wire *w, rig *r)
{
    assert_int_equal(wire_open_from(w, r, "peer"), MCP_OK);
}

/* Clears the recorded output. */
static inline void wire_clear(wire *w)
{
    w->len = w->writes = 0;
    if (w->out)
        w->out[0] = 0;
}

static inline const char *wire_text(const wire *w)
{
    return w->len ? w->out : "";
}

static void wire_end(wire *w)
{
    mcp_http_connection_free(w->c, w->rig->now);
    free(w->out);
    w->c = NULL;
    w->out = NULL;
}

static void wire_bytes(wire *w, const char *bytes, size_t len)
{
    /* Use a copy of exactly that size, so that the address sanitizer detects reads beyond it. */
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    mcp_http_receive(w->c, (mcp_str){copy, len}, w->rig->now);
    free(copy);
}

/* Advances the time in ticks. */
static inline void rig_pass(rig *r, int64_t ms)
{
    int64_t end = r->now + ms;
    while (mcp_http_deadline(r->http) <= end) {
        int64_t due = mcp_http_deadline(r->http);
        r->now = due > r->now ? due : r->now;
        mcp_http_tick(r->http, r->now);
        if (mcp_http_deadline(r->http) <= r->now)
            r->now++;
    }
    r->now = end;
}

/* ---- texts ----------------------------------------------------------------------------------- */

#define RIG_META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","     \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

typedef struct expansion {
    char *ptr;
    size_t len;
} expansion;

static void expansion_add(expansion *e, const char *bytes, size_t len)
{
    e->ptr = realloc(e->ptr, e->len + len + 1);
    assert_non_null(e->ptr);
    memcpy(e->ptr + e->len, bytes, len);
    e->len += len;
    e->ptr[e->len] = 0;
}

static void expand_macro(const rig *r, expansion *e, mcp_str name)
{
    char text[512];
    int len = 0;
    if (mcp_str_eq(name, MCP_STR("meta"))) {
        expansion_add(e, RIG_META, sizeof(RIG_META) - 1);
    } else if (mcp_str_eq(name, MCP_STR("session"))) {
        expansion_add(e, r->session, strlen(r->session));
    } else if (mcp_str_eq(name, MCP_STR("std"))) {
        len = snprintf(text, sizeof(text),
                       "Host: localhost:8642\nContent-Type: application/json\n"
                       "Accept: application/json, text/event-stream\n");
    } else {
        assert_true(name.len > 7 && memcmp(name.ptr, "modern ", 7) == 0);
        len = snprintf(text, sizeof(text),
                       "Host: localhost:8642\nContent-Type: application/json\n"
                       "Accept: application/json, text/event-stream\n"
                       "MCP-Protocol-Version: 2026-07-28\nMcp-Method: %.*s\n",
                       (int)name.len - 7, name.ptr + 7);
    }
    expansion_add(e, text, (size_t)len);
}

/* Expands all macros except {{len}}. */
static expansion expand_macros(const rig *r, const char *text)
{
    expansion e = {0};
    expansion_add(&e, "", 0);
    /* "}}}" ends objects of JSON as well */
    for (const char *at, *end; (at = strstr(text, "{{")) && (end = strstr(at, "}}"));) {
        mcp_str name = {at + 2, (size_t)(end - at - 2)};
        if (mcp_str_eq(name, MCP_STR("len"))) {
            expansion_add(&e, text, (size_t)(end + 2 - text));
        } else {
            expansion_add(&e, text, (size_t)(at - text));
            expand_macro(r, &e, name);
        }
        text = end + 2;
    }
    expansion_add(&e, text, strlen(text));
    return e;
}

/* Expands one request to the bytes on the wire. */
static void expand_request(const rig *r, const char *request, expansion *ret)
{
    expansion e = expand_macros(r, request);
    /* a request that is written with \r\n has its empty line in this form */
    const char *end = strstr(e.ptr, "\n\n"), *other = strstr(e.ptr, "\r\n\r\n");
    if (other && (!end || other < end))
        end = other + 2;
    size_t head = end ? (size_t)(end - e.ptr) + 2 : e.len;
    char length[24];
    snprintf(length, sizeof(length), "%zu", e.len - head);
    for (size_t i = 0; i < head; i++) {
        if (strncmp(e.ptr + i, "{{len}}", 7) == 0) {
            expansion_add(ret, length, strlen(length));
            i += 6;
        } else if (e.ptr[i] == '\n') {
            expansion_add(ret, "\r\n", 2);
        } else if (e.ptr[i] != '\r' || e.ptr[i + 1] != '\n') {
            expansion_add(ret, e.ptr + i, 1);
        }
    }
    expansion_add(ret, e.ptr + head, e.len - head);
    free(e.ptr);
}

static inline void wire_send(wire *w, const char *request)
{
    expansion e = {0};
    expand_request(w->rig, request, &e);
    wire_bytes(w, e.ptr, e.len);
    free(e.ptr);
}

/* Returns whether a text matches, where ~ in `expected` stands for anything. */
static inline bool rig_matches(const char *text, const char *expected)
{
    const char *star = NULL, *from = NULL;
    while (*text) {
        if (*expected == '~') {
            star = expected++;
            from = text;
        } else if (*expected == *text) {
            expected++, text++;
        } else if (star) {
            expected = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*expected == '~')
        expected++;
    return *expected == 0;
}

#define wire_expect(w, expected)                                        \
    do {                                                                \
        const char *text_ = wire_text(w);                               \
        if (!rig_matches(text_, (expected)))                            \
            fail_msg("expected:\n%s\nbut got:\n%s", (expected), text_); \
    } while (0)

/* ---- sessions -------------------------------------------------------------------------------- */

/* Begins a legacy session on a separate connection, and sets r->session to its id. */
static inline void rig_initialize_as(rig *r, const char *revision, const char *more_headers,
                                     const char *capabilities)
{
    wire w;
    char request[1024];
    if (wire_open_from(&w, r, NULL) != MCP_OK)
        return;
    snprintf(request, sizeof(request),
             "POST /mcp HTTP/1.1\n{{std}}%sContent-Length: {{len}}\n\n"
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":{ %s },"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"} } }",
             more_headers, revision, capabilities);
    wire_send(&w, request);
    const char *id = strstr(wire_text(&w), "Mcp-Session-Id: ");
    r->session[0] = 0;
    if (id)
        snprintf(r->session, sizeof(r->session), "%.*s", (int)strcspn(id + 16, "\n"), id + 16);
    snprintf(request, sizeof(request),
             "POST /mcp HTTP/1.1\n{{std}}%sMcp-Session-Id: {{session}}\nContent-Length: {{len}}\n\n"
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
             more_headers);
    if (id)
        wire_send(&w, request);
    wire_end(&w);
}

static inline void rig_initialize(rig *r, const char *revision, const char *more_headers)
{
    rig_initialize_as(r, revision, more_headers, "");
}

#endif
