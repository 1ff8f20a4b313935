/* http_script.h: a scripted HTTP server on the loop of the client, which can send any bytes.
 *
 * A complete request is stored and passed to `handle`, which may send a whole response with
 * script_reply() or any bytes with script_write(), close the connection with script_close(), or
 * send bytes later with script_later().
 */
#ifndef MCP_TESTS_HTTP_SCRIPT_H
#define MCP_TESTS_HTTP_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>
#include <uv.h>

#include <mcp/io.h>

enum { SCRIPT_REQUESTS = 64, SCRIPT_CONNECTIONS = 256 };

typedef struct script script;

typedef struct script_request {
    char method[8], path[256];
    char head[4096]; /* with \r\n, NUL-terminated */
    char body[8192];
    int connection; /* number of the connection, from 1 */
    uint64_t at;    /* uv_now() */
} script_request;

typedef struct script_connection {
    uv_tcp_t tcp;
    script *script;
    int number;
    char in[16384];
    size_t len;
    bool closed, ending;
    int pending; /* pieces to be sent later */
    uv_timer_t timer;
    void (*later)(struct script_connection *c);
    script_request request; /* the last */
} script_connection;

struct script {
    uv_tcp_t listener;
    int port;
    void (*handle)(script_connection *c, const script_request *r);
    void *user;
    size_t split; /* not 0: the first piece of each script_write(); the rest comes 1 ms later */
    script_request requests[SCRIPT_REQUESTS];
    size_t n_requests;
    script_connection *connections[SCRIPT_CONNECTIONS];
    int n_connections, n_open;
    int n_aborted; /* connections that the client closed */
};

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct script_piece {
    uv_write_t write;
    uv_timer_t timer;
    script_connection *c;
    char *bytes;
    size_t len;
} script_piece;

static void script_shutdown(script_connection *c);

static void script_written(uv_write_t *write, int status)
{
    script_piece *p = write->data;

    (void)status;
    free(p->bytes);
    free(p);
}

static void script_send_piece(script_piece *p)
{
    uv_buf_t buf = uv_buf_init(p->bytes, (unsigned)p->len);

    p->write.data = p;
    if (p->c->closed || uv_write(&p->write, (uv_stream_t *)&p->c->tcp, &buf, 1, script_written) < 0)
        script_written(&p->write, 0);
}

static void script_timer_gone(uv_handle_t *handle)
{
    script_piece *p = handle->data;
    script_connection *c = p->c;

    script_send_piece(p);
    if (--c->pending == 0 && c->ending)
        script_shutdown(c);
}

static void script_piece_due(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, script_timer_gone);
}

static script_piece *script_piece_of(script_connection *c, const char *bytes, size_t len)
{
    script_piece *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->c = c;
    p->len = len;
    p->bytes = malloc(len ? len : 1);
    assert_non_null(p->bytes);
    memcpy(p->bytes, bytes, len);
    return p;
}

static inline void script_write_bytes(script_connection *c, const char *bytes, size_t len)
{
    size_t first = c->script->split && c->script->split < len ? c->script->split : len;

    script_send_piece(script_piece_of(c, bytes, first));
    if (first == len)
        return;
    script_piece *rest = script_piece_of(c, bytes + first, len - first);
    uv_timer_init(c->tcp.loop, &rest->timer);
    rest->timer.data = rest;
    c->pending++;
    uv_timer_start(&rest->timer, script_piece_due, 1, 0);
}

static inline void script_write(script_connection *c, const char *text)
{
    script_write_bytes(c, text, strlen(text));
}

/* Sends a response: a status such as "200 OK", headers such as "Content-Type: application/json"
 * (joined by \r\n, or NULL), and a body. */
static inline void script_reply(script_connection *c, const char *status, const char *headers,
                                const char *body)
{
    size_t room = strlen(status) + (headers ? strlen(headers) : 0) + strlen(body) + 128;
    char *text = malloc(room);

    assert_non_null(text);
    snprintf(text, room, "HTTP/1.1 %s\r\n%s%sContent-Length: %zu\r\n\r\n%s", status,
             headers ? headers : "", headers ? "\r\n" : "", strlen(body), body);
    script_write(c, text);
    free(text);
}

static inline void script_json(script_connection *c, const char *body)
{
    script_reply(c, "200 OK", "Content-Type: application/json", body);
}

/* The head of an event stream that ends with the connection. */
#define SCRIPT_STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

/* ---- reading --------------------------------------------------------------------------------- */

static void script_connection_gone(uv_handle_t *handle)
{
    script_connection *c = handle->data;

    c->script->n_open--;
}

static inline void script_close(script_connection *c)
{
    if (c->closed)
        return;
    c->closed = true;
    uv_close((uv_handle_t *)&c->timer, NULL);
    uv_close((uv_handle_t *)&c->tcp, script_connection_gone);
}

static void script_shut(uv_shutdown_t *shutdown, int status)
{
    script_connection *c = shutdown->data;

    (void)status;
    free(shutdown);
    script_close(c);
}

static void script_shutdown(script_connection *c)
{
    uv_shutdown_t *shutdown = calloc(1, sizeof(*shutdown));

    assert_non_null(shutdown);
    shutdown->data = c;
    if (c->closed || uv_shutdown(shutdown, (uv_stream_t *)&c->tcp, script_shut) < 0)
        free(shutdown);
}

/* Closes the connection after the pending output. */
static inline void script_end(script_connection *c)
{
    c->ending = true;
    if (!c->pending)
        script_shutdown(c);
}

static void script_timer_due(uv_timer_t *timer)
{
    script_connection *c = timer->data;

    c->later(c);
}

static inline void script_later(script_connection *c, uint64_t ms, void (*fn)(script_connection *c))
{
    c->later = fn;
    uv_timer_start(&c->timer, script_timer_due, ms, 0);
}

/* Returns the value of a header, or "" if it is absent. */
static inline const char *script_header(const script_request *r, const char *name, char room[512])
{
    size_t len = strlen(name);

    room[0] = 0;
    for (const char *line = strstr(r->head, "\r\n"); line && line[2];
         line = strstr(line + 2, "\r\n")) {
        const char *at = line + 2;
        if (strncasecmp(at, name, len) != 0 || at[len] != ':')
            continue;
        at += len + 1;
        while (*at == ' ')
            at++;
        snprintf(room, 512, "%.*s", (int)strcspn(at, "\r"), at);
    }
    return room;
}

static inline bool script_has(const script_request *r, const char *name)
{
    char line[128];

    snprintf(line, sizeof(line), "\r\n%s:", name);
    return strcasestr(r->head, line) != NULL;
}

/* Parses and removes the first request of the buffer. */
static bool script_take(script_connection *c)
{
    c->in[c->len] = 0;
    char *end = strstr(c->in, "\r\n\r\n");
    char value[512];

    if (!end)
        return false;
    script_request *r = &c->request;
    *r = (script_request){.connection = c->number, .at = uv_now(c->tcp.loop)};
    size_t head = (size_t)(end - c->in) + 4;
    snprintf(r->head, sizeof(r->head), "%.*s", (int)head, c->in);
    sscanf(r->head, "%7s %255s", r->method, r->path);
    size_t body = (size_t)atoi(script_header(r, "Content-Length", value));
    if (c->len < head + body)
        return false;
    snprintf(r->body, sizeof(r->body), "%.*s", (int)body, c->in + head);
    c->len -= head + body;
    memmove(c->in, c->in + head + body, c->len);
    return true;
}

static void script_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    script_connection *c = handle->data;

    (void)size;
    *buf = uv_buf_init(c->in + c->len, (unsigned)(sizeof(c->in) - 1 - c->len));
}

static void script_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    script_connection *c = stream->data;

    (void)buf;
    if (n < 0) {
        c->script->n_aborted++;
        script_close(c);
        return;
    }
    c->len += (size_t)n;
    while (!c->closed && script_take(c)) {
        script *s = c->script;
        if (s->n_requests < SCRIPT_REQUESTS)
            s->requests[s->n_requests] = c->request;
        s->n_requests++;
        s->handle(c, &c->request);
    }
}

static void script_accept(uv_stream_t *listener, int status)
{
    script *s = listener->data;

    assert_int_equal(status, 0);
    assert_true(s->n_connections < SCRIPT_CONNECTIONS);
    script_connection *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    c->script = s;
    uv_tcp_init(listener->loop, &c->tcp);
    uv_timer_init(listener->loop, &c->timer);
    c->tcp.data = c->timer.data = c;
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&c->tcp), 0);
    uv_tcp_nodelay(&c->tcp, 1);
    s->connections[s->n_connections++] = c;
    s->n_open++;
    c->number = s->n_connections;
    uv_read_start((uv_stream_t *)&c->tcp, script_alloc, script_read);
}

/* ---- life ------------------------------------------------------------------------------------ */

static inline void script_open(script *s, mcp_loop *loop,
                               void (*handle)(script_connection *c, const script_request *r),
                               void *user)
{
    struct sockaddr_in address;
    struct sockaddr_storage bound;
    int len = sizeof(bound);

    memset(s, 0, sizeof(*s));
    s->handle = handle;
    s->user = user;
    uv_tcp_init(mcp_loop_uv(loop), &s->listener);
    s->listener.data = s;
    uv_ip4_addr("127.0.0.1", 0, &address);
    assert_int_equal(uv_tcp_bind(&s->listener, (const struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&s->listener, 64, script_accept), 0);
    uv_tcp_getsockname(&s->listener, (struct sockaddr *)&bound, &len);
    s->port = ntohs(((struct sockaddr_in *)&bound)->sin_port);
    uv_unref((uv_handle_t *)&s->listener);
}

/* The client must be closed before. */
static inline void script_free(script *s, mcp_loop *loop)
{
    for (int i = 0; i < s->n_connections; i++)
        script_close(s->connections[i]);
    uv_close((uv_handle_t *)&s->listener, NULL);
    for (int i = 0; i < 1000 && (s->n_open || i < 5); i++)
        uv_run(mcp_loop_uv(loop), UV_RUN_NOWAIT);
    assert_int_equal(s->n_open, 0);
    for (int i = 0; i < s->n_connections; i++)
        free(s->connections[i]);
}

#endif
