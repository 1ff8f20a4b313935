/* isolated: measures the cost of requests to a source in a process of its own.
 *
 *   isolated [--turns N] [--requests N] [--only SOURCE] MCPD REPOSITORY DATABASE
 *
 * REPOSITORY is a git repository with a file `one.txt` at HEAD; DATABASE has a table `row` with a row
 * with the key 1 (bench/sqlite creates such a database). Each source is served by two mcpd, one of
 * them with --no-isolate. They take turns, on one CPU together with this program. All requests to a
 * source are equal. For each source, and for 1 and 32 requests in flight, prints a line of name=value
 * pairs:
 *
 *   cpu_us       CPU time of a request in the one process
 *   cpu_child_us CPU time of a request in both processes together
 *   least_us, least_child_us   the same in the fastest turn, which was disturbed least by other
 *                              load
 *   p50_us, p50_child_us       median time until the answer, with the time of this program
 *   kib_first, kib             private memory of the source's idle process, after one request and
 *                              after all of them
 *
 * All other times are medians of the turns.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <sched.h>

#include "clock.h"
#include "peer.h"

enum { DIGITS = 6, FIRST_ID = 100000, MOST_TURNS = 1000, MAX_INFLIGHT = 32, PAUSE_US = 300000 };

static struct options {
    int turns, requests;
    const char *only; /* the name of the only source to measure, or NULL */
    char *mcpd;
} opt = {.turns = 15, .requests = 1000};

typedef struct source {
    const char *name, *path, *uri;
} source;

/* A mcpd, and the process of its source, if it has one. */
typedef struct side {
    peer peer;
    pid_t child;
    char text[1024];
    size_t len, id_at;
    double cpu_us[2][MOST_TURNS], p50_us[2][MOST_TURNS]; /* with 1 and MAX_INFLIGHT requests */
    long kib_first, kib;
} side;

/* ---- processes ------------------------------------------------------------------------------- */

static double cpu_of(pid_t pid)
{
    clockid_t clock;
    if (pid == 0)
        return 0;
    if (clock_getcpuclockid(pid, &clock) != 0)
        die("no CPU clock of process %ld", (long)pid);
    return clock_ns(clock) / 1e3;
}

static pid_t child_of(pid_t pid)
{
    char path[64], text[32] = "";
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(text, sizeof(text), f))
        text[0] = 0;
    if (f)
        fclose(f);
    return (pid_t)strtol(text, NULL, 10);
}

static long private_kib(pid_t pid)
{
    static const char *const fields[] = {"Private_Clean:", "Private_Dirty:"};
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", (long)pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        for (size_t i = 0; i < 2; i++)
            if (strncmp(line, fields[i], strlen(fields[i])) == 0)
                kib += strtol(line + strlen(fields[i]), NULL, 10);
    }
    if (f)
        fclose(f);
    return kib;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void make_request(side *s, const source *from)
{
    int len = snprintf(s->text, sizeof(s->text),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/read\",\"params\":{"
                       "\"uri\":\"%s\",\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"b\",\"version\":\"1\"},"
                       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n",
                       FIRST_ID, from->uri);
    if (len < 0 || (size_t)len >= sizeof(s->text))
        die("the URI is too long");
    s->len = (size_t)len;
    s->id_at = strlen("{\"jsonrpc\":\"2.0\",\"id\":");
}

/* `index` is less than FIRST_ID, so that all ids have the same length. */
static void send_request(side *s, int index)
{
    int id = FIRST_ID + index;
    for (size_t i = DIGITS; i-- > 0; id /= 10)
        s->text[s->id_at + i] = (char)('0' + id % 10);
    peer_send(&s->peer, s->text, s->len);
}

/* Waits for a reply and returns the index of its request. */
static int take_reply(side *s)
{
    static const char key[] = "\"id\":";
    size_t searched = 0, len;
    char *line;
    while ((line = peer_take(&s->peer, &searched, &len)) == NULL)
        if (!peer_read(&s->peer))
            peer_wait(&s->peer, 0);
    const char *at = memmem(line, len, key, sizeof(key) - 1);
    if (!at || !memmem(line, len, "\"result\":{", 10))
        die("not the answer that was expected: %.*s", (int)(len < 300 ? len : 300), line);
    return (int)strtol(at + sizeof(key) - 1, NULL, 10) - FIRST_ID;
}

/* Runs opt.requests requests. Returns the CPU time of each in both processes. */
static double run(side *s, int inflight, double *p50)
{
    static double at[100000];
    int sent = 0, done = 0;
    double before = cpu_of(s->peer.pid) + cpu_of(s->child);
    while (done < opt.requests) {
        for (; sent < opt.requests && sent - done < inflight; sent++) {
            at[sent] = now_us();
            send_request(s, sent);
        }
        int index = take_reply(s);
        if (index < 0 || index >= sent)
            die("an answer to nothing");
        at[index] = now_us() - at[index];
        done++;
    }
    double after = cpu_of(s->peer.pid) + cpu_of(s->child);
    *p50 = median(at, (size_t)opt.requests);
    return (after - before) / opt.requests;
}

static void open_side(side *s, const source *from, bool isolated)
{
    char text[4096], isolation[] = "--no-isolate";
    double ignored;
    snprintf(text, sizeof(text), "%s:%s", from->name, from->path);
    char *with[] = {opt.mcpd, text, NULL};
    char *without[] = {opt.mcpd, isolation, text, NULL};
    int requests = opt.requests;
    peer_start(&s->peer, isolated ? with : without);
    make_request(s, from);
    opt.requests = 1;
    run(s, 1, &ignored);
    opt.requests = requests;
    s->child = isolated ? child_of(s->peer.pid) : 0;
    if (isolated && !s->child)
        die("%s has no process of its own", text);
    usleep(PAUSE_US);
    s->kib_first = isolated ? private_kib(s->child) : 0;
    run(s, 1, &ignored);
}

static void measure(const source *from)
{
    static side sides[2];
    memset(sides, 0, sizeof(sides));
    for (int i = 0; i < 2; i++)
        open_side(&sides[i], from, i == 1);
    for (int turn = 0; turn < opt.turns; turn++) {
        for (int many = 0; many < 2; many++)
            for (int i = 0; i < 2; i++)
                sides[i].cpu_us[many][turn] =
                    run(&sides[i], many ? MAX_INFLIGHT : 1, &sides[i].p50_us[many][turn]);
    }
    usleep(PAUSE_US);
    for (int many = 0; many < 2; many++) {
        size_t n = (size_t)opt.turns;
        double here = median(sides[0].cpu_us[many], n), apart = median(sides[1].cpu_us[many], n);
        /* the samples are sorted now */
        printf("source=%s in_flight=%d cpu_us=%.1f cpu_child_us=%.1f least_us=%.1f "
               "least_child_us=%.1f p50_us=%.1f p50_child_us=%.1f kib_first=%ld kib=%ld\n",
               from->name, many ? MAX_INFLIGHT : 1, here, apart, sides[0].cpu_us[many][0],
               sides[1].cpu_us[many][0], median(sides[0].p50_us[many], n),
               median(sides[1].p50_us[many], n), sides[1].kib_first, private_kib(sides[1].child));
    }
    for (int i = 0; i < 2; i++)
        peer_kill(&sides[i].peer);
}

/* Runs this program and its children on the CPU that it is on. */
static void pin(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)sched_getcpu(), &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        die("the CPU cannot be chosen: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"turns", required_argument, NULL, 't'},
                                          {"requests", required_argument, NULL, 'r'},
                                          {"only", required_argument, NULL, 'o'},
                                          {NULL, 0, NULL, 0}};
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 't')
            opt.turns = atoi(optarg);
        else if (c == 'r')
            opt.requests = atoi(optarg);
        else if (c == 'o')
            opt.only = optarg;
        else
            return 2;
    }
    if (argc - optind != 3 || opt.turns < 1 || opt.turns > MOST_TURNS || opt.requests < 1 ||
        opt.requests > 100000)
        die("usage: isolated [--turns N] [--requests N] [--only SOURCE] MCPD REPOSITORY DATABASE");
    opt.mcpd = argv[optind];
    const source sources[] = {
        {"git", argv[optind + 1], "git://repo/HEAD/one.txt"},
        {"sqlite", argv[optind + 2], "sqlite://bench/row/row/1"},
    };
    pin();
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
        if (!opt.only || strcmp(opt.only, sources[i].name) == 0)
            measure(&sources[i]);
    return 0;
}
