/* Random histories of tasks at several instances that end, lose the bus and come back, against a slow model
 * of what may be said of each task.
 */
#include "instances.h"
#include "rounds.h"

enum { HISTORIES = 20, STEPS = 300, JOBS = 200 };

/* The model: what is known of each task. */
typedef struct job {
    char id[MCP_TASK_ID_BYTES + 1];
    size_t who, node;
    unsigned life;      /* of the instance */
    int64_t made, died; /* in now_ms; died is 0 while the instance lives */
    int end;            /* 0 while it runs, 1 completed, 2 cancelled */
    size_t kept;        /* index of the request */
    bool sure;          /* its last state has been kept */
} job;

static job jobs[JOBS];
static size_t n_jobs;
static unsigned node_life[NODES];
static unsigned long seed;

static unsigned any(unsigned n)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(seed >> 33) % n;
}

static bool home_lives(const job *j)
{
    return nodes[j->node].alive && node_life[j->node] == j->life;
}

static void check_job(const job *j, node *n)
{
    char label[32];
    const char *text = ask(home_lives(j) ? &nodes[j->node] : n, j->who, "tasks/get", j->id);
    bool over = now_ms - j->made >= 3600 * 1000;
    snprintf(label, sizeof(label), "\"label %zu\"", (size_t)(j - jobs));
    bool completed = strstr(text, "\"completed\"") && strstr(text, label);
    bool cancelled = strstr(text, "\"status\":\"cancelled\"") != NULL;
    bool working = strstr(text, "\"status\":\"working\"") != NULL;
    bool lost = strstr(text, LOST) != NULL, away = strstr(text, AWAY) != NULL;
    assert_true(completed + cancelled + working + lost + away + (strstr(text, "-32602") != NULL) ==
                1);
    if (over) {
        assert_has(text, "-32602");
    } else if (home_lives(j)) {
        assert_true(j->end == 0 ? working : j->end == 1 ? completed : cancelled);
    } else if (!n->connected) {
        assert_true(away);
    } else {
        bool truth = (completed && j->end == 1) || (cancelled && j->end == 2);
        bool late = now_ms - j->died > 15000;
        assert_true(truth || (late ? lost : working || lost || away));
        if (j->end && j->sure)
            assert_true(truth);
    }
    assert_has(
        ask(home_lives(j) ? &nodes[j->node] : n, (j->who + 1) % PRINCIPALS, "tasks/get", j->id),
        "-32602");
}

static void end_job(job *j)
{
    char label[32];
    if (j->end || !home_lives(j) || now_ms - j->made >= 3600 * 1000)
        return;
    j->end = 1 + (int)any(2);
    j->sure = false;
    snprintf(label, sizeof(label), "label %zu", (size_t)(j - jobs));
    if (j->end == 1)
        finish(&nodes[j->node], j->kept, label);
    else
        assert_has(ask(&nodes[j->node], j->who, "tasks/cancel", j->id), "\"result\"");
    if (j->end == 2) /* its handler ends too */
        mcp_reply_finish(nodes[j->node].r.kept[j->kept], MCP_ECANCELLED);
}

static void kill_or_begin(size_t k)
{
    for (size_t i = 0; i < n_jobs && nodes[k].alive; i++) {
        if (jobs[i].node == k && jobs[i].life == node_life[k])
            jobs[i].died = now_ms;
    }
    if (nodes[k].alive) {
        node_kill(&nodes[k]);
        return;
    }
    node_begin(&nodes[k]);
    node_life[k] = lives;
}

/* After some time with a connection everything has been kept. */
static void settle(void)
{
    pass(6000);
    for (size_t i = 0; i < n_jobs; i++)
        jobs[i].sure |= home_lives(&jobs[i]) && nodes[jobs[i].node].connected;
}

static void step(void)
{
    size_t k = any(NODES);
    switch (any(12)) {
    case 0:
    case 1:
    case 2:
        if (nodes[k].alive && n_jobs < JOBS && nodes[k].r.n_kept < COUNT(nodes[k].r.kept)) {
            job *j = &jobs[n_jobs++];
            *j = (job){.who = any(PRINCIPALS), .node = k, .life = node_life[k], .made = now_ms};
            j->kept = nodes[k].r.n_kept;
            assert_has(make(&nodes[k], j->who, j->id), "\"working\"");
        }
        break;
    case 3:
    case 4:
        if (n_jobs)
            end_job(&jobs[any((unsigned)n_jobs)]);
        break;
    case 5: kill_or_begin(k); break;
    case 6:
        if (nodes[k].alive)
            set_connected(&nodes[k], !nodes[k].connected);
        break;
    case 7: settle(); break;
    case 8: pass(10 * any(3000)); break;
    default:
        if (nodes[k].alive && n_jobs)
            check_job(&jobs[any((unsigned)n_jobs)], &nodes[k]);
        break;
    }
}

static void test_histories(void **state)
{
    (void)state;
    unsigned histories = rounds(HISTORIES);
    for (unsigned h = 0; h < histories; h++) {
        seed = h + 1;
        n_jobs = 0;
        begin();
        for (size_t i = 0; i < NODES; i++)
            node_life[i] = lives - NODES + 1 + (unsigned)i;
        for (int i = 0; i < STEPS; i++)
            step();
        for (size_t i = 0; i < NODES; i++) {
            for (size_t j = 0; j < n_jobs && nodes[i].alive; j++)
                check_job(&jobs[j], &nodes[i]);
        }
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
