/* http_driver: puts load on an MCP server over HTTP and prints how fast it was.
 *
 *   http_driver [OPTIONS] COMMAND [ARGUMENT...]
 *
 * Starts the command, replacing {} in its arguments by a free port of 127.0.0.1. With --port it
 * uses a server that is already running. Prints one line of name=value pairs on stdout:
 *   --rate    POSTs of --method (resources/read of --uri, or tools/list) on --connections that are kept
 *             alive, one request in flight on each: per_second, p50_us, p99_us, reply_bytes, and cpu_us, the CPU
 *             time of the server and its children for each request
 *   --listen  opens --streams of subscriptions/listen for --uri, then calls the tool "touch", or writes the time
 *             to the file --touch: how much private memory a stream costs the server (stream_bytes) and when the last
 *             stream got the update (update_ms). The streams come from --addresses of 127.0.0.0/8 (default 1). Both
 *             processes need a descriptor for each stream (ulimit -n)
 * --header "NAME: VALUE" adds a header to every request. --tokens FILE adds the next line of FILE to
 * every request as a bearer token; all requests before the measurement have the first one. Then
 * private_before_kib and private_after_kib are the server's private memory without and with them.
 * Both modes add the server's hwm_kib and rss_kib from /proc. With two or more CPUs, the server is
 * bound to the first and the driver to the second.
 *
 * --call TOOL calls a tool instead of --method, with --arguments. Requests are of revision 2026-07-28,
 * which has no sessions, so each request is independent; with --legacy they are of 2025-11-25, in one
 * session. The driver parses a reply only to find its status, its end and "result"; any reply without a
 * result ends the program.
 */
#define _GNU_SOURCE
#include "http_peer.h"

/* ---- --tokens ------------------------------------------------------------------------------------- */

static FILE *tokens;
static char *token_at; /* the place of the token in the request; NULL without tokens */
static size_t token_len;

/* Reads the next token, whose length is that of the first one. */
static void next_token(char *to)
{
    if (fread(to, 1, token_len, tokens) != token_len || fgetc(tokens) != '\n') {
        die("%s has too few tokens, or tokens of different lengths", opt.tokens);
    }
}

/* Adds a header with the first token. */
static void use_tokens(void)
{
    char *line = NULL, *header = NULL;
    size_t size = 0;
    tokens = fopen(opt.tokens, "re");
    ssize_t n = tokens ? getline(&line, &size, tokens) : -1;
    if (n < 2 || asprintf(&header, "Authorization: Bearer %.*s", (int)n - 1, line) < 0) {
        die("%s has no tokens", opt.tokens);
    }
    token_len = (size_t)n - 1;
    opt.header = header;
    free(line);
}

/* ---- --rate --------------------------------------------------------------------------------------- */

typedef struct client {
    int fd;
    uint64_t sent_at;
    size_t have;
    char *in;
} client;

/* Sends a message on a connection of its own, and returns the size of the whole reply. */
static size_t exchange(const char *message, char *reply)
{
    request r;
    size_t have = 0;
    int fd = open_connection();
    request_make_legacy(&r, message);
    if (fd < 0 || send(fd, r.text, r.len, MSG_NOSIGNAL) != (ssize_t)r.len) {
        die("no legacy session: %s", strerror(errno));
    }
    while (!memmem(reply, have, "\r\n\r\n", 4) ||
           (strncmp(reply, "HTTP/1.1 200", 12) == 0 && reply_size(reply, have) == 0)) {
        ssize_t n = recv(fd, reply + have, IN_SIZE - have, 0);
        if (n <= 0) {
            die("no legacy session: the server closed the connection");
        }
        have += (size_t)n;
    }
    close(fd);
    return have;
}

/* Begins a session of revision 2025-11-25. */
static void start_session(void)
{
    static char reply[IN_SIZE];
    size_t len =
        exchange("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"2025-11-25\","
                 "\"capabilities\":{},\"clientInfo\":{\"name\":\"driver\",\"version\":\"1\"}}}",
                 reply);
    check_reply(reply, len);
    const char *id = header_of(reply, len, "Mcp-Session-Id:");
    if (id) {
        id += strspn(id, " ");
        snprintf(session, sizeof(session), "Mcp-Session-Id: %.*s\r\n", (int)strcspn(id, "\r\n"),
                 id);
    }
    exchange("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", reply);
}

static struct load {
    request request;
    client *clients;
    uint32_t *latency; /* of each request, in units of 0.1 us */
    long sent, done, total;
    size_t reply_bytes;
} load;

static void send_request(client *c)
{
    if (load.sent == load.total) {
        return;
    }
    load.sent++;
    if (token_at && load.sent > opt.warmup) {
        next_token(token_at);
    }
    c->sent_at = now_ns();
    if (send(c->fd, load.request.text, load.request.len, MSG_NOSIGNAL) !=
        (ssize_t)load.request.len) {
        die("a request was not taken: %s", strerror(errno));
    }
}

static void take_reply(client *c)
{
    ssize_t n = recv(c->fd, c->in + c->have, IN_SIZE - c->have, 0);
    if (n <= 0) {
        die("the server closed a connection after %ld requests", load.done);
    }
    c->have += (size_t)n;
    size_t size = reply_size(c->in, c->have);
    if (size == 0) {
        return;
    }
    check_reply(c->in, size);
    if (c->have != size) {
        unexpected(c->in + size, c->have - size);
    }
    load.reply_bytes = size;
    load.latency[load.done++] = (uint32_t)((now_ns() - c->sent_at) / 100);
    c->have = 0;
    send_request(c);
}

static void run_until(int epoll, long goal)
{
    struct epoll_event ready[256];
    while (load.done < goal) {
        int n = epoll_wait(epoll, ready, 256, QUIET_MS);
        if (n == 0) {
            die("no answer for %d s", QUIET_MS / 1000);
        }
        for (int i = 0; i < n; i++) {
            take_reply(ready[i].data.ptr);
        }
    }
}

static void open_clients(int epoll)
{
    for (long i = 0; i < opt.connections; i++) {
        client *c = &load.clients[i];
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = c};
        c->fd = open_connection();
        c->in = malloc(IN_SIZE);
        if (c->fd < 0 || !c->in || epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &wanted) < 0) {
            die("connection %ld: %s", i, strerror(errno));
        }
        send_request(c);
    }
}

static int by_uint32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void run_rate(void)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    char members[2048] = "";
    load.total = opt.warmup + opt.requests;
    load.clients = calloc((size_t)opt.connections, sizeof(*load.clients));
    load.latency = calloc((size_t)load.total, sizeof(*load.latency));
    if (epoll < 0 || !load.clients || !load.latency) {
        die("out of memory");
    }
    const char *name = opt.call                                    ? opt.call
                       : strcmp(opt.method, "resources/read") == 0 ? opt.uri
                                                                   : NULL;
    if (opt.call) {
        snprintf(members, sizeof(members), "\"name\":\"%s\",\"arguments\":%s,", opt.call,
                 opt.arguments);
    } else if (name) {
        snprintf(members, sizeof(members), "\"uri\":\"%s\",", opt.uri);
    }
    if (opt.legacy) {
        start_session();
    }
    if (opt.tokens) {
        use_tokens();
    }
    request_make(&load.request, opt.call ? "tools/call" : opt.method, members, name);
    if (opt.tokens) {
        token_at = strstr(load.request.text, "Bearer ") + strlen("Bearer ");
    }
    open_clients(epoll);
    run_until(epoll, opt.warmup);
    long before = load.done, private = opt.tokens ? private_memory() : 0;
    double cpu = cpu_time(server);
    uint64_t start = now_ns();
    run_until(epoll, load.total);
    double seconds = ms_since(start) / 1e3;
    cpu = cpu_time(server) - cpu;

    uint32_t *latency = load.latency + opt.warmup;
    qsort(latency, (size_t)opt.requests, sizeof(*latency), by_uint32);
    printf("per_second=%.0f p50_us=%.1f p99_us=%.1f cpu_us=%.1f reply_bytes=%zu",
           (double)(load.total - before) / seconds, latency[opt.requests / 2] / 10.0,
           latency[opt.requests * 99 / 100] / 10.0, cpu / (double)opt.requests, load.reply_bytes);
    if (opt.tokens) {
        printf(" private_before_kib=%ld private_after_kib=%ld", private, private_memory());
    }
    print_memory();
}

/* ---- --listen ------------------------------------------------------------------------------------- */

typedef struct stream {
    int fd;
    bool acknowledged, told;
    size_t have;
    char in[STREAM_IN];
} stream;

static stream *streams;

/* Reads the bytes that have arrived, and searches everything received so far for a word. */
static bool stream_says(stream *s, const char *word)
{
    ssize_t n = recv(s->fd, s->in + s->have, STREAM_IN - s->have, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        die("a stream ended: %.*s", (int)s->have, s->in);
    }
    s->have += n > 0 ? (size_t)n : 0;
    return memmem(s->in, s->have, word, strlen(word)) != NULL;
}

static void wait_for_all(int epoll, const char *word, bool acknowledged)
{
    struct epoll_event ready[256];
    for (long count = 0; count < opt.streams;) {
        int n = epoll_wait(epoll, ready, 256, QUIET_MS);
        if (n == 0) {
            die("%ld of %ld streams said nothing of %s", opt.streams - count, opt.streams, word);
        }
        for (int i = 0; i < n; i++) {
            stream *s = ready[i].data.ptr;
            bool *flag = acknowledged ? &s->acknowledged : &s->told;
            if (stream_says(s, word) && !*flag) {
                *flag = true;
                count++;
            }
        }
    }
}

static void open_streams(int epoll, const request *r)
{
    for (long i = 0; i < opt.streams; i++) {
        stream *s = &streams[i];
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = s};
        s->fd = open_connection_from((unsigned)(i % opt.addresses));
        if (s->fd < 0 || send(s->fd, r->text, r->len, MSG_NOSIGNAL) != (ssize_t)r->len ||
            epoll_ctl(epoll, EPOLL_CTL_ADD, s->fd, &wanted) < 0) {
            die("stream %ld: %s", i, strerror(errno));
        }
    }
}

/* Announces a change. */
static void touch(int fd, const request *r)
{
    FILE *f = opt.touch ? fopen(opt.touch, "we") : NULL;
    if (opt.touch && (!f || fprintf(f, "%llu\n", (unsigned long long)now_ns()) < 0 || fclose(f))) {
        die("%s cannot be written", opt.touch);
    }
    if (!opt.touch && send(fd, r->text, r->len, MSG_NOSIGNAL) != (ssize_t)r->len) {
        die("the change could not be announced");
    }
}

static void run_listen(void)
{
    request listen, call;
    char members[1024];
    struct rlimit files;
    int epoll = epoll_create1(EPOLL_CLOEXEC), fd;
    getrlimit(RLIMIT_NOFILE, &files);
    if ((rlim_t)opt.streams + 64 > files.rlim_cur) {
        die("%ld streams need more descriptors than the limit of %ld", opt.streams,
            (long)files.rlim_cur);
    }
    streams = calloc((size_t)opt.streams, sizeof(*streams));
    if (!streams) {
        die("out of memory");
    }
    snprintf(members, sizeof(members), "\"notifications\":{\"resourceSubscriptions\":[\"%s\"]},",
             opt.uri);
    request_make(&listen, "subscriptions/listen", members, NULL);
    request_make(&call, "tools/call", "\"name\":\"touch\",\"arguments\":{},", "touch");
    fd = open_connection();
    long before = private_memory();
    uint64_t start = now_ns();
    open_streams(epoll, &listen);
    wait_for_all(epoll, "acknowledged", true);
    double open_ms = ms_since(start);
    usleep(500000);
    long after = private_memory();
    start = now_ns();
    touch(fd, &call);
    wait_for_all(epoll, "resources/updated", false);
    printf("streams=%ld open_ms=%.0f stream_bytes=%.0f update_ms=%.1f", opt.streams, open_ms,
           (double)(after - before) * 1024 / (double)opt.streams, ms_since(start));
    print_memory();
}

/* ---- options --------------------------------------------------------------------------------------- */

enum {
    RATE,
    LISTEN,
    METHOD,
    URI,
    PATH,
    REQUESTS,
    WARMUP,
    CONNECTIONS,
    STREAMS,
    ADDRESSES,
    TOUCH,
    PORT,
    MIN_REPLY,
    HEADER,
    TOKENS,
    LEGACY,
    CALL,
    ARGUMENTS
};

static const struct option options[] = {
    {"rate", no_argument, NULL, RATE},
    {"listen", no_argument, NULL, LISTEN},
    {"method", required_argument, NULL, METHOD},
    {"uri", required_argument, NULL, URI},
    {"path", required_argument, NULL, PATH},
    {"requests", required_argument, NULL, REQUESTS},
    {"warmup", required_argument, NULL, WARMUP},
    {"connections", required_argument, NULL, CONNECTIONS},
    {"streams", required_argument, NULL, STREAMS},
    {"addresses", required_argument, NULL, ADDRESSES},
    {"touch", required_argument, NULL, TOUCH},
    {"port", required_argument, NULL, PORT},
    {"min-reply", required_argument, NULL, MIN_REPLY},
    {"header", required_argument, NULL, HEADER},
    {"tokens", required_argument, NULL, TOKENS},
    {"legacy", no_argument, NULL, LEGACY},
    {"call", required_argument, NULL, CALL},
    {"arguments", required_argument, NULL, ARGUMENTS},
    {NULL, 0, NULL, 0},
};

static _Noreturn void usage(void)
{
    fputs("usage: http_driver [--rate|--listen] [--method METHOD] [--uri URI] [--path PATH]\n"
          "           [--call TOOL] [--arguments JSON] [--legacy] [--requests N] [--warmup N] "
          "[--connections N] [--streams N]\n"
          "           [--addresses N] [--touch FILE]\n"
          "           [--min-reply BYTES] [--header HEADER | --tokens FILE]\n"
          "           --port PORT | COMMAND [ARGUMENT...]\n",
          stderr);
    exit(2);
}

static long number(const char *text, long min, long max)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || n < min || n > max) {
        die("not a number from %ld to %ld: %s", min, max, text);
    }
    return n;
}

static void set_option(int which, const char *value)
{
    switch (which) {
    case RATE: opt.listen = false; break;
    case LISTEN: opt.listen = true; break;
    case METHOD: opt.method = value; break;
    case URI: opt.uri = value; break;
    case PATH: opt.path = value; break;
    case REQUESTS: opt.requests = number(value, 1, 100000000); break;
    case WARMUP: opt.warmup = number(value, 0, 100000000); break;
    case CONNECTIONS: opt.connections = number(value, 1, 10000); break;
    case STREAMS: opt.streams = number(value, 1, 100000); break;
    case ADDRESSES: opt.addresses = number(value, 1, 200); break;
    case TOUCH: opt.touch = value; break;
    case PORT: opt.port = number(value, 1, 65535); break;
    case MIN_REPLY: opt.min_reply = number(value, 0, IN_SIZE); break;
    case HEADER: opt.header = value; break;
    case TOKENS: opt.tokens = value; break;
    case LEGACY: opt.legacy = true; break;
    case CALL: opt.call = value; break;
    case ARGUMENTS: opt.arguments = value; break;
    default: usage();
    }
}

int main(int argc, char **argv)
{
    int which;
    while ((which = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        set_option(which, optarg);
    }
    if ((optind == argc) != (opt.port != 0) || strpbrk(opt.uri, "\"\\\r\n")) {
        usage();
    }
    opt.command = argv + optind;
    start_server();
    if (opt.listen) {
        run_listen();
    } else {
        run_rate();
    }
    stop_server();
    return 0;
}
