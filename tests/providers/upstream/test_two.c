/* Generated exchanges with two servers that have the same names and URIs, behind one endpoint. Two
 * principals, each with a client of either era, have questions of both servers open at the same
 * time. Each question reaches the client whose call caused it, and each answer its call. So it is if
 * they share the sessions; there, a server that does not say which call it asks for gets an answer only
 * while there is one call. */
#include "asking.h"

static uint64_t seed;

static uint32_t any(uint32_t below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(seed >> 33) % below;
}

enum { PERSONS = 4, MOST_OPEN = 3, STEPS = 250 };

static const char *const mounts[] = {"up", "ob"};

/* A call that waits for an answer. */
typedef struct waiting {
    int id; /* 0 if it is free */
    unsigned server, kind;
    char key[32]; /* of the question, or the id of the request of the server */
    char state[8192];
} waiting;

typedef struct person {
    const char *principal, *other; /* the other one must never be seen here */
    bool modern;
    mcp_channel *channel;
    char log[1 << 15];
    size_t len;
    int id;
    waiting open[MOST_OPEN];
    size_t n_open;
} person;

typedef struct world {
    wires w[2]; /* the first one has the front server */
    person persons[PERSONS];
    size_t begun[2], refused;
    bool shared, names_calls; /* names_calls: the servers say which call a question belongs to */
} world;

/* ---- the world ------------------------------------------------------------------------------- */

static void hear(mcp_channel *channel, mcp_exchange exchange, mcp_str text, void *user)
{
    person *p = user;
    (void)channel, (void)exchange;
    assert_true(p->len + text.len + 2 < sizeof(p->log));
    p->len += (size_t)snprintf(p->log + p->len, sizeof(p->log) - p->len, "%.*s\n", (int)text.len,
                               text.ptr);
    if (strstr(p->log, p->other))
        fail_msg("%s got %s", p->principal, p->log);
}

static void run_all(world *all)
{
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 2; k++) {
            all->w[k].now = all->w[0].now > all->w[1].now ? all->w[0].now : all->w[1].now;
            wires_run(&all->w[k]);
        }
        for (int k = 0; k < PERSONS; k++)
            mcp_channel_tick(all->persons[k].channel, all->w[0].now);
    }
}

static void say(world *all, person *p, const char *message)
{
    p->len = 0;
    p->log[0] = 0;
    mcp_channel_receive(p->channel, 0, mcp_str_from(message), all->w[0].now);
    run_all(all);
}

static void open_person(world *all, size_t i)
{
    static const char *const names[] = {"ann", "bob"};
    person *p = &all->persons[i];
    *p = (person){.principal = names[i / 2], .other = i / 2 ? "ann-" : "bob-", .modern = i % 2};
    assert_int_equal(
        mcp_server_connect(all->w[0].front,
                           MCP_OPTIONS(mcp_channel_options, .send = hear, .user = p,
                                       .principal = p->principal, .shared_stream = true),
                           &p->channel, NULL),
        MCP_OK);
}

static void greet(world *all, person *p)
{
    if (p->modern)
        return;
    say(all, p,
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":" ASKING_CAPABILITIES
        ",\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    say(all, p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void open_world(world *all, const char *between)
{
    wires *second = &all->w[1];
    all->w[0] = (wires){.revision = between, .max_sessions = 8, .shared = all->shared};
    assert_int_equal(wires_open(&all->w[0], asking_server(0)), MCP_OK);
    *second = (wires){.last = &second->first, .now = 1000};
    second->other = asking_server(0);
    assert_int_equal(mcp_upstream_mount(
                         all->w[0].front,
                         MCP_OPTIONS(mcp_upstream_options, .name = "ob", .connect = wires_connect,
                                     .disconnect = wires_disconnect, .user = second,
                                     .revision = between, .max_sessions = 8, .shared = all->shared),
                         NULL),
                     MCP_OK);
    memset(all->begun, 0, sizeof(all->begun));
    for (size_t i = 0; i < PERSONS; i++)
        open_person(all, i);
    for (size_t i = 0; i < PERSONS; i++)
        greet(all, &all->persons[i]);
}

static void close_world(world *all)
{
    for (size_t i = 0; i < PERSONS; i++)
        mcp_channel_free(all->persons[i].channel);
    wires_close(&all->w[0]);
    assert_null(all->w[1].open);
    mcp_server_free(all->w[0].other);
    mcp_server_free(all->w[1].other);
}

/* ---- messages -------------------------------------------------------------------------------- */

static mcp_json_doc *parse(const char *line, size_t len)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse((mcp_str){line, len}, NULL, NULL, &doc, NULL), MCP_OK);
    return doc;
}

/* The request of a waiting call; `more` has its own comma. */
static void request(world *all, person *p, const waiting *c, const char *more)
{
    static const char *const methods[] = {"tools/call", "prompts/get", "resources/read"};
    static char message[20000];
    char params[200];
    const char *name = mounts[c->server];
    if (c->kind == 2)
        snprintf(params, sizeof(params), "\"uri\":\"mcp+%s:ask:1\"", name);
    else
        snprintf(params, sizeof(params), "\"name\":\"%s_ask\",\"arguments\":{\"q\":\"form\"}",
                 name);
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s%s%s}}", c->id,
             methods[c->kind], params, more,
             p->modern ? ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                         "\"io.modelcontextprotocol/clientCapabilities\":" ASKING_CAPABILITIES "}"
                       : "");
    say(all, p, message);
}

/* Reads the question that the person got for a call, and checks who asks. */
static void take_question(const person *p, waiting *c)
{
    char asks[32];
    mcp_json_doc *doc = parse(p->log, p->len - 1);
    const mcp_json *root = mcp_json_root(doc), *result = mcp_json_get(root, "result");
    mcp_json_iter it = {0};
    mcp_str key = {0};
    snprintf(asks, sizeof(asks), "\"message\":\"%s: form\"", mounts[c->server]);
    wires_has(p->log, asks);
    if (p->modern) {
        assert_int_equal(mcp_json_int(mcp_json_get(root, "id"), 0), c->id);
        (void)mcp_json_next(mcp_json_get(result, "inputRequests"), &it, &key);
        snprintf(c->key, sizeof(c->key), "%.*s", (int)key.len, key.ptr);
        snprintf(c->state, sizeof(c->state), "%s",
                 mcp_json_string(mcp_json_get(result, "requestState")).ptr);
    } else {
        snprintf(c->key, sizeof(c->key), "%lld",
                 (long long)mcp_json_int(mcp_json_get(root, "id"), -1));
    }
    mcp_json_free(doc);
}

/* Returns how many calls of all persons wait at a server. */
static size_t n_waiting(const world *all, unsigned server)
{
    size_t n = 0;
    for (size_t i = 0; i < PERSONS; i++)
        for (size_t k = 0; k < MOST_OPEN; k++)
            n += all->persons[i].open[k].id && all->persons[i].open[k].server == server;
    return n;
}

static void begin(world *all, person *p)
{
    waiting *c = p->open;
    while (c->id)
        c++;
    waiting made = {.id = ++p->id, .server = any(2), .kind = any(3)};
    bool refused = all->shared && !all->names_calls && n_waiting(all, made.server);
    *c = made;
    all->begun[c->server]++;
    request(all, p, c, "");
    if (refused) {
        wires_has(p->log, "said form=error.");
        all->refused++;
        c->id = 0;
        return;
    }
    p->n_open++;
    take_question(p, c);
}

/* Answers one of the open questions, and checks the result of its call. */
static void finish(world *all, person *p)
{
    static char more[12000];
    char who[32], said[64], id[32];
    waiting *c;
    do
        c = &p->open[any(MOST_OPEN)];
    while (!c->id);
    snprintf(who, sizeof(who), "%s-%u", p->principal, any(1u << 20));
    snprintf(said, sizeof(said), "said form=accept:%s.", who);
    snprintf(id, sizeof(id), "\"id\":%d,", c->id);
    if (p->modern) {
        snprintf(
            more, sizeof(more),
            ",\"inputResponses\":{\"%s\":{\"action\":\"accept\",\"content\":{\"who\":\"%s\"}}},"
            "\"requestState\":\"%s\"",
            c->key, who, c->state);
        request(all, p, c, more);
    } else {
        snprintf(more, sizeof(more),
                 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\",\"content\":{"
                 "\"who\":\"%s\"}}}",
                 c->key, who);
        say(all, p, more);
    }
    wires_has(p->log, said);
    wires_has(p->log, id);
    c->id = 0;
    p->n_open--;
}

static void test_two(void **state)
{
    static const char *const revisions[] = {"2025-06-18", "2025-11-25", "2026-07-28"};
    static world all;
    (void)state;
    seed = 1;
    for (size_t round = 0; round < 6; round++) {
        size_t between = round % 3;
        all.shared = round >= 3;
        all.names_calls = between == 2;
        all.refused = 0;
        open_world(&all, revisions[between]);
        for (size_t i = 0; i < STEPS; i++) {
            person *p = &all.persons[any(PERSONS)];
            all.w[0].now += 1000; /* a server may ask 120 questions in a minute */
            /* a legacy client cannot know which of its calls has caused a question */
            size_t most = p->modern ? MOST_OPEN : 1;
            if (p->n_open < most && (!p->n_open || any(2)))
                begin(&all, p);
            else
                finish(&all, p);
        }
        for (size_t i = 0; i < PERSONS; i++) {
            while (all.persons[i].n_open)
                finish(&all, &all.persons[i]);
        }
        if (all.shared)
            assert_int_equal(all.w[0].connects + all.w[1].connects, 2);
        assert_int_equal(all.refused > 0, all.shared && !all.names_calls);
        /* no call was made twice; a modern server gets each one again with the answer */
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(all.w[k].runs, all.begun[k] * (between == 2 ? 2 : 1));
        close_world(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two)};
    return cmocka_run_group_tests_name("upstream: two servers", tests, NULL, NULL);
}
