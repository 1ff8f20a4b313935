/* stdio_driver: puts load on an MCP server over stdio and prints how fast it was.
 *
 *   stdio_driver [OPTIONS] COMMAND [ARGUMENT...]
 *
 * Modes (one line of name=value pairs each on stdout):
 *   --rate    resources/read of --uri, or tools/call of --call with --arguments, --inflight requests in
 *             flight: per_second, p50_us, p99_us; cpu_us is the CPU time of a request in the server
 *             and in the processes that it has started
 *   --first   spawn to the first byte of the first answer, median of --spawns: first_ms; cpu_ms is
 *             the CPU time of the server and of those of its processes that have ended
 *   --exit    spawn to the end of a command that ends by itself: exit_ms
 *   --list    resources/list to the end: pages, entries, and the time of the first and the last full
 *             page, both requested 9 more times after the list has ended (the medians)
 *   --once    one resources/read of --uri: ms, reply_bytes
 * All but --first and --exit add the server's hwm_kib and rss_kib from /proc.
 *
 * It needs libc alone, so that it can measure any server. It must never be the bottleneck: a
 * request is a copy of a prepared text with nine digits patched in, and a reply is parsed only to
 * find its end and its id.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

enum {
    ID_DIGITS = 9,
    FIRST_ID = 100000000, /* nine digits, so that all ids have the same length */
    MAX_REQUEST = 8192,
    MAX_INFLIGHT = 1024,
    MAX_TIMES = 1000,
    PAGE_ROUNDS = 9,
};

typedef enum mode { RATE, FIRST, EXIT, LIST, ONCE } mode;

static struct options {
    mode mode;
    const char *revision;
    const char *uri;
    const char *call, *arguments; /* the name of a tool, and its arguments as JSON */
    long requests, warmup, inflight, spawns, max_pages, min_reply;
    char **command;
} opt = {
    .mode = RATE,
    .revision = "2025-11-25",
    .uri = "mem://one",
    .arguments = "{}",
    .requests = 100000,
    .warmup = 10000,
    .inflight = 32,
    .spawns = 21,
};

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, size_t n)
{
    qsort(times, n, sizeof(times[0]), by_double);
    return times[n / 2];
}

/* ---- requests and replies ---------------------------------------------------------------------- */

typedef struct request {
    char text[MAX_REQUEST];
    size_t len, id_at;
} request;

#define META                                                                          \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"%s\","                  \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"driver\",\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* Revisions are dates, which compare as strings. */
static bool is_modern(void)
{
    return strcmp(opt.revision, "2026-07-28") >= 0;
}

/* `members` holds members of the parameters and ends with a comma, unless it is empty. */
static void request_make(request *r, const char *method, const char *members)
{
    char meta[512] = "";
    size_t n = strlen(members);
    if (is_modern()) {
        snprintf(meta, sizeof(meta), META, opt.revision);
    } else if (n > 0) {
        n--;
    }
    int len = snprintf(r->text, sizeof(r->text),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%.*s%s}}\n",
                       FIRST_ID, method, (int)n, members, meta);
    if (len < 0 || (size_t)len >= sizeof(r->text)) {
        die("a request is too long");
    }
    r->len = (size_t)len;
    r->id_at = strlen("{\"jsonrpc\":\"2.0\",\"id\":");
}

static void request_make_with(request *r, const char *method, const char *key, const char *value,
                              size_t len)
{
    char members[MAX_REQUEST / 2];
    int n = snprintf(members, sizeof(members), "\"%s\":\"%.*s\",", key, (int)len, value);
    if (n < 0 || (size_t)n >= sizeof(members)) {
        die("%s is too long", key);
    }
    request_make(r, method, members);
}

static void request_make_load(request *r)
{
    char members[MAX_REQUEST / 2];
    if (!opt.call) {
        request_make_with(r, "resources/read", "uri", opt.uri, strlen(opt.uri));
        return;
    }
    int n = snprintf(members, sizeof(members), "\"name\":\"%s\",\"arguments\":%s,", opt.call,
                     opt.arguments);
    if (n < 0 || (size_t)n >= sizeof(members)) {
        die("the arguments are too long");
    }
    request_make(r, "tools/call", members);
}

static void patch_id(char *at, long index)
{
    unsigned long id = FIRST_ID + (unsigned long)index;
    for (int i = ID_DIGITS - 1; i >= 0; i--, id /= 10) {
        at[i] = (char)('0' + id % 10);
    }
}

/* Returns the index of the request that a reply answers, or -1 if it has no such id. Most servers
 * write the id near the start of a reply, others at the end. Quotes in strings are escaped, so the
 * search cannot find the key inside a string. */
static long reply_index(const char *line, size_t len)
{
    static const char key[] = "\"id\":";
    const size_t near = 64;
    const char *at = memmem(line, len < near ? len : near, key, sizeof(key) - 1);
    if (!at && len > near) {
        at = memmem(line + len - near, near, key, sizeof(key) - 1);
    }
    if (!at && !(at = memmem(line, len, key, sizeof(key) - 1))) {
        return -1;
    }
    long id = 0;
    for (at += sizeof(key) - 1; at < line + len && *at >= '0' && *at <= '9'; at++) {
        id = id * 10 + (*at - '0');
    }
    return id - FIRST_ID;
}

static void check_reply(const char *line, size_t len)
{
    if (len < (size_t)opt.min_reply || !memmem(line, len, "\"result\":", 9)) {
        die("not the answer that was expected: %.*s", (int)(len < 300 ? len : 300), line);
    }
}

/* Sends one request and waits for its reply, which is valid until the next call. */
static char *ask(peer *p, request *r, long index, size_t *len)
{
    size_t searched = 0;
    patch_id(r->text + r->id_at, index);
    peer_send(p, r->text, r->len);
    for (;;) {
        char *line = peer_take(p, &searched, len);
        if (line && reply_index(line, *len) == index) {
            check_reply(line, *len);
            return line;
        }
        if (!line && !peer_read(p)) {
            peer_wait(p, 0);
        }
    }
}

static void make_opening(request *r)
{
    char members[256];
    if (is_modern()) {
        request_make(r, "server/discover", "");
        return;
    }
    snprintf(members, sizeof(members),
             "\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"driver\",\"version\":\"1\"},",
             opt.revision);
    request_make(r, "initialize", members);
}

static void handshake(peer *p)
{
    static const char initialized[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    long min_reply = opt.min_reply;
    request opening;
    size_t len;
    opt.min_reply = 0;
    make_opening(&opening);
    ask(p, &opening, 0, &len);
    opt.min_reply = min_reply;
    if (!is_modern()) {
        peer_send(p, initialized, sizeof(initialized) - 1);
    }
}

/* ---- --rate ------------------------------------------------------------------------------------ */

typedef struct load {
    request template;
    long total, next, done; /* requests to send, sent, answered */
    uint64_t *sent_at;      /* for each request: when it was sent; after its reply, its latency */
    bool *answered;
    char *out; /* pending output is out[out_start, out_end) */
    size_t out_start, out_end;
} load;

static void load_fill(load *l)
{
    if (l->out_start == l->out_end) {
        l->out_start = l->out_end = 0;
    }
    if (l->out_start > 0) {
        return; /* the pipe is full */
    }
    uint64_t now = now_ns();
    for (; l->next < l->total && l->next - l->done < opt.inflight; l->next++) {
        memcpy(l->out + l->out_end, l->template.text, l->template.len);
        patch_id(l->out + l->out_end + l->template.id_at, l->next);
        l->out_end += l->template.len;
        l->sent_at[l->next] = now;
    }
}

static void load_take_replies(load *l, peer *p, size_t *searched)
{
    size_t len;
    char *line;
    uint64_t now = now_ns();
    while ((line = peer_take(p, searched, &len)) != NULL) {
        long index = reply_index(line, len);
        if (index < 0) {
            continue; /* a notification */
        }
        if (index >= l->next || l->answered[index]) {
            die("an answer to nothing: %.*s", (int)(len < 100 ? len : 100), line);
        }
        check_reply(line, len);
        l->answered[index] = true;
        l->sent_at[index] = now - l->sent_at[index];
        l->done++;
    }
}

static void load_run_until(load *l, peer *p, long goal)
{
    size_t searched = 0;
    while (l->done < goal) {
        load_fill(l);
        if (l->out_start < l->out_end) {
            l->out_start += peer_write(p, l->out + l->out_start, l->out_end - l->out_start);
        }
        if (peer_read(p)) {
            load_take_replies(l, p, &searched);
        } else {
            peer_wait(p, l->out_start < l->out_end ? POLLOUT : 0);
        }
    }
}

static int by_uint64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the CPU time of a process and of those below it, in nanoseconds. */
static double cpu_of_tree(pid_t pid)
{
    char path[64], children[4096];
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    double sum = (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(children, 1, sizeof(children) - 1, f) : 0;
    if (f)
        fclose(f);
    children[n] = 0;
    char *at = children, *end;
    for (long child; (child = strtol(at, &end, 10)) > 0 && end != at; at = end)
        sum += cpu_of_tree((pid_t)child);
    return sum;
}

static void run_rate(void)
{
    static load l;
    peer p = {0};
    l.total = opt.warmup + opt.requests;
    l.sent_at = calloc((size_t)l.total, sizeof(*l.sent_at));
    l.answered = calloc((size_t)l.total, sizeof(*l.answered));
    l.out = malloc((size_t)opt.inflight * MAX_REQUEST);
    if (!l.sent_at || !l.answered || !l.out) {
        die("out of memory");
    }
    request_make_load(&l.template);
    peer_start(&p, opt.command);
    handshake(&p);

    load_run_until(&l, &p, opt.warmup);
    long before = l.done;
    uint64_t start = now_ns();
    double cpu = cpu_of_tree(p.pid);
    load_run_until(&l, &p, l.total);
    double seconds = ms_since(start) / 1e3;
    cpu = cpu_of_tree(p.pid) - cpu;

    uint64_t *latency = l.sent_at + opt.warmup;
    qsort(latency, (size_t)opt.requests, sizeof(*latency), by_uint64);
    printf("per_second=%.0f p50_us=%.1f p99_us=%.1f cpu_us=%.1f",
           (double)(l.done - before) / seconds, (double)latency[opt.requests / 2] / 1e3,
           (double)latency[opt.requests * 99 / 100] / 1e3, cpu / 1e3 / (double)(l.done - before));
    print_memory(&p);
    peer_kill(&p);
    free(l.sent_at);
    free(l.answered);
    free(l.out);
}

/* ---- the other modes --------------------------------------------------------------------------- */

/* CPU time of the processes that have ended, and of theirs, in milliseconds. */
static double cpu_ms(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

static void run_first(void)
{
    double times[MAX_TIMES], cpu[MAX_TIMES];
    request opening;
    char byte;
    make_opening(&opening);
    for (long i = 0; i < opt.spawns; i++) {
        peer p = {0};
        double before = cpu_ms();
        uint64_t start = now_ns();
        peer_start(&p, opt.command);
        peer_send(&p, opening.text, opening.len);
        peer_wait(&p, 0);
        if (read(p.out, &byte, 1) != 1) {
            die("the server ended without an answer");
        }
        times[i] = ms_since(start);
        peer_kill(&p);
        cpu[i] = cpu_ms() - before;
    }
    printf("first_ms=%.3f cpu_ms=%.3f\n", median(times, (size_t)opt.spawns),
           median(cpu, (size_t)opt.spawns));
}

static void run_exit(void)
{
    double times[MAX_TIMES];
    for (long i = 0; i < opt.spawns; i++) {
        peer p = {0};
        uint64_t start = now_ns();
        peer_start(&p, opt.command);
        waitpid(p.pid, NULL, 0);
        times[i] = ms_since(start);
        close(p.in);
        close(p.out);
    }
    printf("exit_ms=%.3f\n", median(times, (size_t)opt.spawns));
}

typedef struct page {
    request request;
    double ms;
    long entries;
} page;

static long count_uris(const char *line, size_t len)
{
    static const char key[] = "\"uri\":";
    const char *end = line + len;
    long n = 0;
    while ((line = memmem(line, (size_t)(end - line), key, sizeof(key) - 1)) != NULL) {
        line += sizeof(key) - 1;
        n++;
    }
    return n;
}

/* Fetches a page and prepares the request for the next one. Returns whether there is a next page.
 * The cursor is copied as it is, with its escapes. */
static bool fetch_page(peer *p, page *this, request *following, long index)
{
    static const char key[] = "\"nextCursor\":\"";
    size_t len;
    uint64_t start = now_ns();
    const char *line = ask(p, &this->request, index, &len);
    this->ms = ms_since(start);
    this->entries = count_uris(line, len);
    const char *cursor = memmem(line, len, key, sizeof(key) - 1);
    if (!cursor) {
        return false;
    }
    cursor += sizeof(key) - 1;
    size_t n = 0;
    while (cursor + n < line + len && cursor[n] != '"') {
        n += cursor[n] == '\\' ? 2 : 1;
    }
    request_make_with(following, "resources/list", "cursor", cursor, n);
    return true;
}

static void run_list(void)
{
    static page first, last, current;
    static request following, ignored;
    double first_times[PAGE_ROUNDS], last_times[PAGE_ROUNDS];
    long pages = 0, entries = 0, index = 1;
    peer p = {0};
    peer_start(&p, opt.command);
    handshake(&p);

    uint64_t start = now_ns();
    request_make(&following, "resources/list", "");
    for (bool more = true; more && (opt.max_pages == 0 || pages < opt.max_pages); pages++) {
        current.request = following;
        more = fetch_page(&p, &current, &following, index++);
        entries += current.entries;
        if (pages == 0) {
            first = current;
        }
        if (current.entries >= first.entries) {
            last = current;
        }
    }
    double all_ms = ms_since(start), cold_ms = first.ms;

    for (int i = 0; i < PAGE_ROUNDS; i++) {
        fetch_page(&p, &first, &ignored, index++);
        first_times[i] = first.ms;
        fetch_page(&p, &last, &ignored, index++);
        last_times[i] = last.ms;
    }
    printf("pages=%ld entries=%ld page_entries=%ld all_ms=%.1f cold_ms=%.3f first_ms=%.3f "
           "last_ms=%.3f",
           pages, entries, first.entries, all_ms, cold_ms, median(first_times, PAGE_ROUNDS),
           median(last_times, PAGE_ROUNDS));
    print_memory(&p);
    peer_kill(&p);
}

static void run_once(void)
{
    request r;
    size_t len;
    peer p = {0};
    peer_start(&p, opt.command);
    handshake(&p);
    request_make_with(&r, "resources/read", "uri", opt.uri, strlen(opt.uri));
    uint64_t start = now_ns();
    ask(&p, &r, 1, &len);
    printf("ms=%.3f reply_bytes=%zu", ms_since(start), len);
    print_memory(&p);
    peer_kill(&p);
}

/* ---- options ----------------------------------------------------------------------------------- */

static void (*const runs[])(void) = {
    [RATE] = run_rate, [FIRST] = run_first, [EXIT] = run_exit, [LIST] = run_list, [ONCE] = run_once,
};

enum {
    REVISION = 256,
    URI,
    CALL,
    ARGUMENTS,
    REQUESTS,
    WARMUP,
    INFLIGHT,
    SPAWNS,
    MAX_PAGES,
    MIN_REPLY
};

static const struct option options[] = {
    {"rate", no_argument, NULL, RATE},
    {"first", no_argument, NULL, FIRST},
    {"exit", no_argument, NULL, EXIT},
    {"list", no_argument, NULL, LIST},
    {"once", no_argument, NULL, ONCE},
    {"revision", required_argument, NULL, REVISION},
    {"uri", required_argument, NULL, URI},
    {"call", required_argument, NULL, CALL},
    {"arguments", required_argument, NULL, ARGUMENTS},
    {"requests", required_argument, NULL, REQUESTS},
    {"warmup", required_argument, NULL, WARMUP},
    {"inflight", required_argument, NULL, INFLIGHT},
    {"spawns", required_argument, NULL, SPAWNS},
    {"max-pages", required_argument, NULL, MAX_PAGES},
    {"min-reply", required_argument, NULL, MIN_REPLY},
    {NULL, 0, NULL, 0},
};

static void usage(void)
{
    fputs(
        "usage: stdio_driver [--rate|--first|--exit|--list|--once] [--revision DATE] [--uri URI]\n"
        "           [--call TOOL] [--arguments JSON] [--requests N] [--warmup N] [--inflight N]\n"
        "           [--spawns N] [--max-pages N] [--min-reply BYTES] COMMAND [ARGUMENT...]\n",
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
    case REVISION: opt.revision = value; break;
    case URI: opt.uri = value; break;
    case CALL: opt.call = value; break;
    case ARGUMENTS: opt.arguments = value; break;
    case REQUESTS: opt.requests = number(value, 1, 100000000); break;
    case WARMUP: opt.warmup = number(value, 0, 100000000); break;
    case INFLIGHT: opt.inflight = number(value, 1, MAX_INFLIGHT); break;
    case SPAWNS: opt.spawns = number(value, 1, MAX_TIMES); break;
    case MAX_PAGES: opt.max_pages = number(value, 0, 100000000); break;
    case MIN_REPLY: opt.min_reply = number(value, 0, MAX_REPLY); break;
    case '?': usage(); break;
    default: opt.mode = (mode)which; break;
    }
}

int main(int argc, char **argv)
{
    int which;
    while ((which = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        set_option(which, optarg);
    }
    if (optind == argc || strpbrk(opt.uri, "\"\\")) {
        usage();
    }
    opt.command = argv + optind;
    signal(SIGPIPE, SIG_IGN);
    runs[opt.mode]();
    return 0;
}
