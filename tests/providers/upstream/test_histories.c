/* Generated histories of callers of two principals and both eras, and of one anonymous caller, whose
 * calls cause questions: nobody sees a question or an answer of another principal, and the other
 * server gets each call at most once. MCP_ROUNDS=N makes the histories N times as long. */
#include "asking.h"
#include "rounds.h"

enum { CALLERS = 5, MOST_OPEN = 40, STEPS = 400 };

typedef enum phase { UNUSED = 0, SENT, ASKED } phase;

typedef struct one_call {
    phase phase;
    int caller;
    size_t n;  /* its number, which its questions contain */
    size_t id; /* of its last request */
    char params[256];
    asking_round round, earlier;
} one_call;

typedef struct caller {
    mcp_channel *channel;
    const char *principal;
    bool modern;
    struct histories *all;
} caller;

typedef struct histories {
    wires w;
    caller callers[CALLERS];
    one_call calls[MOST_OPEN];
    size_t started, cancelled, succeeded, questions;
    char inbox[1 << 18]; /* what was sent to callers: "CALLER TEXT\n" */
    size_t len;
} histories;

static uint64_t seed;

static size_t chance(size_t below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(seed >> 33) % below;
}

static void take(mcp_channel *channel, mcp_exchange exchange, mcp_str text, void *user)
{
    caller *c = user;
    histories *h = c->all;
    (void)channel, (void)exchange;
    assert_true(h->len + text.len + 8 < sizeof(h->inbox));
    h->len += (size_t)snprintf(h->inbox + h->len, sizeof(h->inbox) - h->len, "%d %.*s\n",
                               (int)(c - h->callers), (int)text.len, text.ptr);
}

/* ---- what callers see ------------------------------------------------------------------------ */

/* A text for a caller names no other principal. */
static void check_owner(const caller *c, const char *text)
{
    static const char *const names[] = {"ann", "bob"};
    for (size_t i = 0; i < 2; i++) {
        char part[16];
        snprintf(part, sizeof(part), "-%s-", names[i]);
        bool own = c->principal && strcmp(c->principal, names[i]) == 0;
        if (!own && strstr(text, part))
            fail_msg("%s sees\n%s", c->principal ? c->principal : "anonymous", text);
    }
}

static one_call *find_call(histories *h, int from, size_t id)
{
    for (size_t i = 0; i < MOST_OPEN; i++) {
        if (h->calls[i].phase && h->calls[i].caller == from && h->calls[i].id == id)
            return &h->calls[i];
    }
    return NULL;
}

/* The result of a call contains the answers to its own questions only. */
static void check_result(histories *h, const one_call *call, const char *text)
{
    for (const char *at = text; (at = strstr(at, "ans-")) != NULL; at++) {
        if (strtoul(at + 4, NULL, 10) != call->n)
            fail_msg("call %zu got\n%s", call->n, text);
    }
    h->succeeded += strstr(text, "\"text\":\"said") != NULL && !strstr(text, "=error");
}

static void answer_as_user(const char *asked, char *answer, size_t room)
{
    const char *at = strstr(asked, "up: form"); /* up: form-PRINCIPAL-NUMBER */
    unsigned long n = at ? strtoul(strchr(strchr(at, '-') + 1, '-') + 1, NULL, 10) : 0;
    if (!at)
        asking_accept(asked, answer, room);
    else if (n % 7 == 3)
        snprintf(answer, room, "{\"action\":\"decline\"}");
    else
        snprintf(answer, room, "{\"action\":\"accept\",\"content\":{\"who\":\"ans-%lu\"}}", n);
}

static void say(histories *h, int to, const char *message)
{
    mcp_channel_receive(h->callers[to].channel, 0, mcp_str_from(message), h->w.now);
}

/* A legacy caller answers a request of the server, or, rarely, refuses it. */
static void respond(histories *h, int from, const mcp_json *message, const char *text)
{
    char answer[256], reply[400];
    long long id = (long long)mcp_json_int(mcp_json_get(message, "id"), 0);
    answer_as_user(text, answer, sizeof(answer));
    h->questions++;
    if (chance(20) == 0)
        snprintf(reply, sizeof(reply),
                 "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-1,\"message\":\"no\"}}",
                 id);
    else
        snprintf(reply, sizeof(reply), "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}", id,
                 answer);
    say(h, from, reply);
}

static void receive(histories *h, int from, const char *text)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    const mcp_json *message = mcp_json_root(doc), *id = mcp_json_get(message, "id");
    check_owner(&h->callers[from], text);
    one_call *call = find_call(h, from, (size_t)mcp_json_int(id, 0));
    if (id && mcp_json_get(message, "method")) {
        respond(h, from, message, text);
    } else if (id && call) {
        call->earlier = call->round;
        if (asking_read_modern(text, &call->round)) {
            call->phase = ASKED;
            h->questions += call->round.n;
        } else {
            check_result(h, call, text);
            call->phase = UNUSED;
        }
    }
    mcp_json_free(doc);
}

static void run(histories *h)
{
    do {
        static char box[sizeof(((histories *)0)->inbox)];
        memcpy(box, h->inbox, h->len);
        box[h->len] = 0;
        h->len = 0;
        for (char *line = box, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            receive(h, line[0] - '0', line + 2);
        }
        wires_run(&h->w);
    } while (h->len);
}

/* ---- what callers do ------------------------------------------------------------------------- */

static void request(histories *h, one_call *call, const char *more)
{
    static char message[1 << 15];
    const caller *c = &h->callers[call->caller];
    call->id = ++h->w.id;
    call->phase = SENT;
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{%s%s%s}}",
             call->id, call->params, more,
             c->modern ? ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                         "\"io.modelcontextprotocol/clientCapabilities\":" ASKING_CAPABILITIES "}"
                       : "");
    say(h, call->caller, message);
}

static void start(histories *h)
{
    static const char *const kinds[] = {"form-%s-%zu", "form-%s-%zu,formb-%s-%zu",
                                        "roots;form-%s-%zu", "form-%s-%zu;formb-%s-%zu;roots", ""};
    one_call *call = h->calls;
    char q[128];
    while (call < h->calls + MOST_OPEN && call->phase)
        call++;
    if (call == h->calls + MOST_OPEN)
        return;
    *call = (one_call){.caller = (int)chance(CALLERS), .n = ++h->started};
    const char *who = h->callers[call->caller].principal, *kind = kinds[chance(5)];
    who = who ? who : "nobody";
    if (strstr(kind, "formb"))
        snprintf(q, sizeof(q),
                 strchr(kind, ';') ? "form-%s-%zu;formb-%s-%zu;roots" : "form-%s-%zu,formb-%s-%zu",
                 who, call->n, who, call->n);
    else if (*kind)
        snprintf(q, sizeof(q), *kind == 'r' ? "roots;form-%s-%zu" : "form-%s-%zu", who, call->n);
    else
        q[0] = 0;
    snprintf(call->params, sizeof(call->params), "\"name\":\"up_ask\",\"arguments\":{\"q\":\"%s\"}",
             q);
    request(h, call, "");
}

/* Repeats the request of a call that was asked: with all answers or some, with an earlier state, or
 * twice. */
static void proceed(histories *h, one_call *call)
{
    static char more[1 << 14];
    const asking_round *round =
        chance(8) == 0 && call->earlier.state[0] ? &call->earlier : &call->round;
    size_t n = (size_t)snprintf(more, sizeof(more), ",\"inputResponses\":{"), count = 0;
    for (size_t i = 0; i < round->n; i++) {
        char one[256];
        if (chance(8) == 0)
            continue;
        answer_as_user(round->asked[i].text, one, sizeof(one));
        n += (size_t)snprintf(more + n, sizeof(more) - n, "%s\"%s\":%s", count++ ? "," : "",
                              round->asked[i].key, one);
    }
    snprintf(more + n, sizeof(more) - n, "},\"requestState\":\"%s\"", round->state);
    request(h, call, more);
    if (chance(10) == 0) {
        run(h);
        request(h, call, more);
    }
}

static void cancel(histories *h, one_call *call)
{
    char message[128];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
             "\"requestId\":%zu}}",
             call->id);
    say(h, call->caller, message);
    call->phase = UNUSED;
    h->cancelled++;
}

static void step(histories *h, bool harsh)
{
    one_call *call = &h->calls[chance(MOST_OPEN)];
    size_t what = chance(100);
    if (what < 30)
        start(h);
    else if (what < 85 && call->phase == ASKED)
        proceed(h, call);
    else if (what >= 85 && what < 91 && call->phase == SENT)
        cancel(h, call);
    else if (what == 91)
        h->w.now += 5000; /* the client limits the rate of questions */
    else if (what == 92)
        wires_timers(&h->w, false);
    else if (harsh && what == 93 && h->w.open)
        wires_cut(h->w.open);
    else if (harsh && what == 94)
        assert_int_equal(mcp_server_rebuild(h->w.front, wires_mount, &h->w, NULL), MCP_OK);
    else if (harsh && what == 95 && chance(4) == 0)
        h->w.now += 40000;
    if (chance(3))
        run(h);
}

/* ---- all parts ------------------------------------------------------------------------------- */

static void connect_caller(histories *h, int i, const char *principal, bool modern)
{
    caller *c = &h->callers[i];
    *c = (caller){.principal = principal, .modern = modern, .all = h};
    assert_int_equal(mcp_server_connect(h->w.front,
                                        MCP_OPTIONS(mcp_channel_options, .send = take, .user = c,
                                                    .principal = principal, .shared_stream = true),
                                        &c->channel, NULL),
                     MCP_OK);
    h->w.peers[i] = c->channel;
    if (modern)
        return;
    say(h, i,
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":" ASKING_CAPABILITIES
        ",\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    say(h, i, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    run(h);
}

static void play(histories *h, const char *revision, bool harsh)
{
    size_t steps = rounds(STEPS);
    memset(h, 0, sizeof(*h));
    h->w = (wires){.revision = revision, .rebuilt = true, .question_ms = 30000, .max_sessions = 8};
    assert_int_equal(wires_open(&h->w, asking_server(0)), MCP_OK);
    connect_caller(h, 0, "ann", true);
    connect_caller(h, 1, "ann", false);
    connect_caller(h, 2, "bob", true);
    connect_caller(h, 3, "bob", false);
    connect_caller(h, 4, NULL, true);
    for (size_t i = 0; i < steps; i++)
        step(h, harsh);
    run(h);
    bool modern = strcmp(revision, "2026-07-28") == 0;
    if (!modern && h->w.runs > h->started)
        fail_msg("%zu runs of %zu calls", h->w.runs, h->started);
    if (!modern && !harsh)
        assert_true(h->w.runs + h->cancelled >= h->started);
    assert_true(h->started > steps / 10 && h->succeeded > h->started / (harsh ? 10 : 4));
    assert_true(h->questions > h->started / 2);
    for (size_t i = 0; i < CALLERS; i++)
        mcp_channel_free(h->callers[i].channel);
    memset(h->w.peers, 0, sizeof(h->w.peers));
    wires_close(&h->w);
    mcp_server_free(h->w.other);
}

static const char *const between[] = {"2025-06-18", "2025-11-25", "2026-07-28"};

static void test_calm(void **state)
{
    static histories h;
    (void)state;
    for (size_t i = 0; i < 9; i++) {
        seed = i;
        play(&h, between[i % 3], false);
    }
}

/* With lost connections, reloads and calls that expire. */
static void test_harsh(void **state)
{
    static histories h;
    (void)state;
    for (size_t i = 0; i < 9; i++) {
        seed = 100 + i;
        play(&h, between[i % 3], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calm), cmocka_unit_test(test_harsh)};
    return cmocka_run_group_tests_name("upstream: histories", tests, NULL, NULL);
}
