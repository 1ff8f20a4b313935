/* Generated histories of legacy sessions at several instances, against a slow model: clients of two
 * principals send requests to any instance, instances die and are replaced, and miss what the bus
 * carried. Each request gets exactly one answer, that of its session, and 404 exactly if the model
 * says so.
 */
#include "fleet.h"

#include "dice.h"
#include "rounds.h"

enum { HISTORIES = 20, STEPS = 120, SESSIONS = 4 };

/* What the model knows of a session. */
typedef struct session {
    char id[1100];
    char who;
    bool begun, ended, keeps;
    int home;              /* the node that has it */
    unsigned home_life;    /* of that node */
    unsigned first_life;   /* of the node where it began, which its id names */
    unsigned known[NODES]; /* the life in which the node heard of it, or 0 */
} session;

static session sessions[SESSIONS];
static unsigned lives[NODES];
static unsigned n_requests;

/* ---- the model ---------------------------------------------------------------------------------- */

static bool lives_at_home(const session *s)
{
    return nodes[s->home].alive && lives[s->home] == s->home_life;
}

static void announced(session *s, int home)
{
    s->home = home;
    s->home_life = lives[home];
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].alive && !nodes[i].no_bus)
            s->known[i] = lives[i];
    }
}

/* Returns whether a request at that node reaches the session, which it may make anew. */
static bool reaches(session *s, int at, char who)
{
    if (s->ended || s->who != who)
        return false;
    bool knows = s->known[at] == lives[at];
    if (lives_at_home(s)) /* whoever does not know that it moved looks for it where it began */
        return knows || s->home_life == s->first_life || (at == s->home);
    if (s->keeps || !knows)
        return false;
    announced(s, at);
    return true;
}

/* ---- the steps ---------------------------------------------------------------------------------- */

static const char *const uses[] = {
    CALL("ping", ""),
    CALL("resources/list", ""),
    CALL("resources/subscribe", "\"uri\":\"fixed:/text\""),
    CALL("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"x\"}"),
};
enum { SUBSCRIBES = 2, GETS = COUNT(uses), DELETES, USES };

static void head_of(char *to, size_t room, const char *method, char who)
{
    snprintf(to, room,
             "%s /mcp HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
             "Accept: application/json, text/event-stream\nAuthorization: Bearer %c\n"
             "Mcp-Session-Id: {{session}}\n",
             method, who);
}

static void use(session *s, int at, char who, unsigned what)
{
    char request[1024];
    head_of(request, sizeof(request),
            what == GETS      ? "GET"
            : what == DELETES ? "DELETE"
                              : "POST",
            who);
    size_t n = strlen(request);
    if (what < GETS)
        snprintf(request + n, sizeof(request) - n, "Content-Length: {{len}}\n\n%s", uses[what]);
    else
        snprintf(request + n, sizeof(request) - n, "\n");
    bool ok = reaches(s, at, who);
    wire w;
    ask(&w, &nodes[at], s->id, request);
    n_requests++;
    if (!ok) {
        wire_expect(&w, "HTTP/1.1 404 Not Found\n~");
    } else if (what == DELETES) {
        wire_expect(&w, "HTTP/1.1 204 No Content\n~");
        s->ended = true;
    } else {
        wire_expect(&w, what == GETS ? "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n~"
                                     : "HTTP/1.1 200 OK\n~\"id\":1~");
        s->keeps |= what == SUBSCRIBES;
    }
    assert_null(strstr(wire_text(&w) + 1, "HTTP/1.1 ")); /* one answer */
    wire_end(&w);
    pump();
}

static void begin_session(session *s, int at)
{
    char head[64];
    *s = (session){.who = dice(2) ? 'a' : 'b'};
    snprintf(head, sizeof(head), "Authorization: Bearer %c\n", s->who);
    rig_initialize_as(&nodes[at].r, dice(2) ? "2025-11-25" : "2025-03-26", head, "\"roots\":{}");
    snprintf(s->id, sizeof(s->id), "%s", nodes[at].r.session);
    assert_true(s->id[0]);
    s->begun = true;
    pump();
    announced(s, at);
    s->first_life = lives[at];
}

static void replace(int i)
{
    node_kill(&nodes[i]);
    if (dice(3) == 0)
        return;
    node_begin(&nodes[i], true);
    lives[i] = generation;
}

/* Messages of the bus were lost. */
static void lose_marks(int i)
{
    mcp_http_share_lost(nodes[i].r.http);
    for (size_t k = 0; k < SESSIONS; k++)
        sessions[k].known[i] = 0;
}

static int any_alive(void)
{
    for (;;) {
        int i = (int)dice(NODES);
        if (nodes[i].alive)
            return i;
        node_begin(&nodes[i], true);
        lives[i] = generation;
    }
}

static void step(void)
{
    session *s = &sessions[dice(SESSIONS)];
    int at = any_alive();
    if (!s->begun || (s->ended && dice(4) == 0))
        begin_session(s, at);
    else if (dice(12) == 0)
        replace(at);
    else if (dice(30) == 0)
        lose_marks(at);
    else
        use(s, at,
            dice(6)         ? s->who
            : s->who == 'a' ? 'b'
                            : 'a',
            dice(4)    ? dice(SUBSCRIBES)
            : dice(20) ? dice(GETS + 1)
                       : DELETES);
}

static void test_histories(void **state)
{
    (void)state;
    unsigned histories = rounds(HISTORIES);
    for (unsigned h = 0; h < histories; h++) {
        memset(sessions, 0, sizeof(sessions));
        for (int i = 0; i < NODES; i++) {
            node_begin(&nodes[i], true);
            lives[i] = generation;
        }
        for (int i = 0; i < STEPS; i++)
            step();
        fleet_end();
    }
    assert_true(n_requests > histories * STEPS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
