/* fuzz_http.c: the input of two HTTP connections. It is received twice, as a whole and in pieces
 * whose size the first byte selects; the answers must be the same. Then time passes, and the
 * connections are closed, either half-closed first or at once. A byte 0x1e switches to the other
 * connection.
 *
 * The second connection comes from a trusted proxy. Session ids are predictable here, so that an input can begin a session and continue it. */
#include <stdlib.h>

#include <mcp/http.h>
#include <mcp/sys/http.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONNECTIONS = 2, OTHER_ONE = 0x1e };

/* The outcome of one connection. */
typedef struct wire {
    mcp_http_connection *c;
    char *out;
    size_t len, cap;
    int closed; /* 0 while open, then the mcp_http_close plus 1 */
} wire;

typedef struct run {
    unsigned char random;
    wire wires[CONNECTIONS];
} run;

static void must(bool condition)
{
    if (!condition)
        abort();
}

/* Removes the figures that may differ. Whether the bytes after a request for /metrics count as
 * received, and what a connection keeps of its requests, depends on the size of the pieces, so neither
 * these figures nor their length are compared. */
static void forget_metrics(wire *r)
{
    static const char type[] = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n";
    static const char *const figures[] = {
        "Content-Length: ", "mcp_received_bytes_total ", "mcp_limit_used{limit=\"max_memory\"} ",
        "mcp_limit_used{limit=\"max_share\"} ", "mcp_memory_bytes "};
    if (r->len == 0)
        return;
    char *at = r->out, *to = r->out, *end = r->out + r->len;
    bool metrics = false;
    while (at < end) {
        size_t left = (size_t)(end - at);
        metrics |= left >= sizeof(type) - 1 && memcmp(at, type, sizeof(type) - 1) == 0;
        for (size_t i = 0; metrics && i < sizeof(figures) / sizeof(figures[0]); i++) {
            size_t len = strlen(figures[i]);
            if (left < len || memcmp(at, figures[i], len) != 0)
                continue;
            for (at += len; at < end && *at >= '0' && *at <= '9';)
                at++;
        }
        if (at < end)
            *to++ = *at++;
    }
    r->len = (size_t)(to - r->out);
}

/* ---- a server with a little of everything --------------------------------------------------------- */

static int call_echo(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    mcp_request_progress(req, 1, 2, "half");
    return mcp_reply_str(req, mcp_json_string(mcp_json_get(arguments, "text")), NULL);
}

enum { MAX_PENDING = 16 };
static mcp_request *pending[MAX_PENDING];
static size_t n_pending;

static int call_later(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    if (n_pending == MAX_PENDING)
        return MCP_ELIMIT;
    pending[n_pending++] = req;
    return MCP_PENDING;
}

static void finish(void)
{
    while (n_pending) {
        mcp_request *req = pending[--n_pending];
        mcp_reply_finish(req, mcp_reply_text(req, "later"));
    }
}

static mcp_server *new_server(void)
{
    static const mcp_tool echo = {.size = sizeof(mcp_tool), .name = "echo", .call = call_echo};
    static const mcp_tool later = {.size = sizeof(mcp_tool), .name = "later", .call = call_later};
    static const mcp_resource text = {
        .size = sizeof(mcp_resource), .uri = "a:b", .name = "b", .text = "text"};
    mcp_server *server;
    must(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "f", .version = "1"), &server,
                        NULL) == MCP_OK);
    must(mcp_server_add_tool(server, &echo, NULL, NULL) == MCP_OK);
    must(mcp_server_add_tool(server, &later, NULL, NULL) == MCP_OK);
    must(mcp_server_add_resource(server, &text, NULL, NULL) == MCP_OK);
    return server;
}

/* ---- a connection ------------------------------------------------------------------------------------ */

static int fill(void *bytes, size_t len, void *user)
{
    memset(bytes, ++((run *)user)->random, len);
    return MCP_OK;
}

static void take(mcp_http_connection *c, mcp_str bytes, void *user)
{
    (void)c;
    wire *w = user;
    must(!w->closed);
    if (w->len + bytes.len > w->cap) {
        w->cap = (w->len + bytes.len) * 2;
        w->out = realloc(w->out, w->cap);
        must(w->out != NULL);
    }
    if (bytes.len)
        memcpy(w->out + w->len, bytes.ptr, bytes.len);
    w->len += bytes.len;
}

static void end(mcp_http_connection *c, mcp_http_close how, void *user)
{
    (void)c;
    wire *w = user;
    must(w->closed < (int)how + 1); /* a later call may only close more strictly */
    w->closed = (int)how + 1;
}

static void feed(mcp_http_connection *c, const uint8_t *data, size_t size, size_t piece)
{
    for (size_t at = 0; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        char *copy = malloc(n);
        must(copy != NULL);
        memcpy(copy, data + at, n);
        mcp_http_receive(c, (mcp_str){copy, n}, 0);
        free(copy);
    }
}

static void feed_all(run *r, const uint8_t *data, size_t size, size_t piece)
{
    for (size_t which = 0;; which = (which + 1) % CONNECTIONS) {
        const uint8_t *other = size ? memchr(data, OTHER_ONE, size) : NULL;
        size_t n = other ? (size_t)(other - data) : size;
        feed(r->wires[which].c, data, n, piece);
        if (!other)
            break;
        data += n + 1;
        size -= n + 1;
    }
}

/* The second connection is that of a proxy, which names its clients in Forwarded. */
static const char *const proxies[] = {"192.0.2.0/24"};

static void run_once(run *r, const uint8_t *data, size_t size, size_t piece, bool half)
{
    mcp_server *server = new_server();
    mcp_http *http;
    must(mcp_http_new(server,
                      MCP_OPTIONS(mcp_http_options, .random = fill, .user = r, .cors = true,
                                  .max_body = 4096, .max_header_bytes = 2048, .max_sessions = 2,
                                  .sse_path = "/sse", .trusted_proxies = proxies,
                                  .n_trusted_proxies = 1, .proxy_header = "Forwarded"),
                      &http, NULL) == MCP_OK);
    for (size_t i = 0; i < CONNECTIONS; i++)
        must(mcp_http_accept(http,
                             MCP_OPTIONS(mcp_http_connection_options, .write = take, .close = end,
                                         .user = &r->wires[i], .peer = i ? "192.0.2.1:1" : NULL,
                                         .address = i ? "192.0.2.1" : NULL),
                             0, &r->wires[i].c, NULL) == MCP_OK);
    feed_all(r, data, size, piece);
    for (size_t i = 0; i < CONNECTIONS; i++)
        must(r->wires[i].len == 0 || memcmp(r->wires[i].out, "HTTP/1.1 ", 9) == 0);
    mcp_server_resource_updated(server, "a:b");
    for (int64_t now = 50; now < 100000; now = now * 3 / 2) {
        mcp_http_tick(http, now);
        if (now > 300)
            finish();
    }
    mcp_http_drain(http, 100000);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        if (half)
            mcp_http_receive_end(r->wires[i].c, 100000);
        mcp_http_connection_free(r->wires[i].c, 100000);
    }
    finish();
    mcp_http_free(http);
    mcp_server_free(server);
}

/* Returns where the last answer begins, and its status. */
static size_t last_answer(const wire *r, int *status)
{
    static const char line[] = "HTTP/1.1 ";
    enum { LINE = sizeof(line) - 1 };
    size_t at = r->len < LINE + 3 ? 0 : r->len - LINE - 3;
    while (at && memcmp(r->out + at, line, LINE) != 0)
        at--;
    *status = r->len < LINE + 3 ? 0 : atoi(r->out + at + LINE);
    return at;
}

static bool is_long(int status)
{
    return status == 414 || status == 431;
}

/* Removes the last answer of both if one of them refuses a head that is too long, and the other a head
 * that is wrong. A head that is both is refused for what is found first, which depends on the size of
 * the pieces. */
static void forget_reason(wire *a, wire *b)
{
    int status[2];
    size_t at[2] = {last_answer(a, &status[0]), last_answer(b, &status[1])};
    if (status[0] != status[1] && (is_long(status[0]) || is_long(status[1])) &&
        status[0] / 100 == 4 && status[1] / 100 == 4) {
        a->len = at[0];
        b->len = at[1];
    }
}

static void compare(wire *a, wire *b)
{
    must(a->closed == b->closed);
    if (a->closed)
        forget_reason(a, b);
    forget_metrics(a);
    forget_metrics(b);
    must(a->len == b->len);
    must(a->len == 0 || memcmp(a->out, b->out, a->len) == 0);
    free(a->out);
    free(b->out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    run whole = {0}, parts = {0};
    bool half = data[0] & 1;
    run_once(&whole, data + 1, size - 1, size, half);
    run_once(&parts, data + 1, size - 1, (size_t)data[0] / 2 + 1, half);
    for (size_t i = 0; i < CONNECTIONS; i++)
        compare(&whole.wires[i], &parts.wires[i]);
    return 0;
}
