/* postgres CONNINFO: compares the cost of reading a row with libpq's own calls.
 *
 * Measures two things in short turns in one process: PQexecPrepared() executes a prepared
 * statement, and only the number of its rows is checked; and the server answers a whole request on
 * a loop, from the text of the message to the text of the answer. Both take one round trip with the
 * same statement, outside of a transaction, in sessions of the same server. Requests are sent one
 * at a time, so the figures are the latency of one request and the CPU time of this process. The
 * table is `row` (id, name, amount, note) with ROWS rows. The program creates it in a schema of its
 * own, so the role must be allowed to create schemas.
 *
 * Meanwhile a process of the lowest priority spins on every CPU. On a virtual machine, waking a
 * halted CPU takes longer than a whole call, and it is chance whether client and server find their
 * CPUs halted. Without the spinning processes, the measured ratio varied from 0.4 to 5.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <libpq-fe.h>
#include <mcp/io.h>
#include <mcp/sys/server.h>
#include <postgres.h>

#include "clock.h"

enum { ROUNDS = 41, ROWS = 500 };

static void die(const char *why)
{
    fprintf(stderr, "postgres: %s\n", why);
    exit(1);
}

/* Busy processes keep the CPU awake. Their time is not counted, and they end with this program. */
static void keep_awake(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < n; i++) {
        pid_t child = fork();
        if (child < 0)
            die("no process to keep a CPU awake");
        if (child > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}) < 0)
            _exit(1);
        for (volatile unsigned spin = 0;; spin++)
            ;
    }
}

static void run(PGconn *c, const char *sql)
{
    PGresult *r = PQexec(c, sql);
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        die(PQerrorMessage(c));
    PQclear(r);
}

static double bare(PGconn *c)
{
    double begin = now_us();
    for (int i = 1; i <= ROWS; i++) {
        char id[16];
        const char *values[] = {id};
        snprintf(id, sizeof(id), "%d", i);
        PGresult *r = PQexecPrepared(c, "row", 1, values, NULL, NULL, 0);
        if (PQntuples(r) != 1)
            die("a row is missing");
        PQclear(r);
    }
    return (now_us() - begin) / ROWS;
}

/* ---- the requests --------------------------------------------------------------------------------------- */

typedef struct peer {
    mcp_server *server;
    mcp_channel *channel;
    size_t bytes;
} peer;

static void on_message(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange;
    ((peer *)user)->bytes = message.len;
}

static double ask(peer *p, mcp_loop *loop)
{
    char text[600];
    double begin = now_us();
    for (int i = 1; i <= ROWS; i++) {
        int n = snprintf(text, sizeof(text),
                         "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/read\",\"params\":{"
                         "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                         "\"io.modelcontextprotocol/clientCapabilities\":{}},"
                         "\"uri\":\"postgres://b/mcp_bench/row/row/%d\"}}",
                         i, i);
        p->bytes = 0;
        mcp_channel_receive(p->channel, 0, (mcp_str){text, (size_t)n}, 0);
        while (!p->bytes)
            mcp_loop_step(loop, 1000);
        if (p->bytes < 200)
            die("no answer");
    }
    return (now_us() - begin) / ROWS;
}

static void open_peer(peer *p, mcp_loop *loop, const char *conninfo)
{
    mcp_error error = {0};
    int rc = mcp_server_new(
        MCP_OPTIONS(mcp_server_options, .name = "b", .version = "1", .host = mcp_loop_host(loop)),
        &p->server, &error);
    if (rc == MCP_OK)
        rc = mcp_postgres_mount(
            p->server, MCP_OPTIONS(mcp_postgres_options, .conninfo = conninfo, .name = "b"),
            &error);
    if (rc == MCP_OK)
        rc = mcp_server_connect(p->server,
                                MCP_OPTIONS(mcp_channel_options, .send = on_message, .user = p),
                                &p->channel, &error);
    if (rc != MCP_OK)
        die(error.text);
}

int main(int argc, char **argv)
{
    double t[2][ROUNDS], cpu[3], spent[2] = {0, 0};
    char sql[300];
    mcp_loop *loop = NULL;
    peer p;
    if (argc != 2) {
        fprintf(stderr, "usage: postgres CONNINFO\n");
        return 2;
    }
    keep_awake();
    PGconn *c = PQconnectdb(argv[1]);
    if (PQstatus(c) != CONNECTION_OK || mcp_loop_new(NULL, &loop, NULL) != MCP_OK)
        die(PQerrorMessage(c));
    run(c, "DROP SCHEMA IF EXISTS mcp_bench CASCADE");
    run(c, "CREATE SCHEMA mcp_bench");
    snprintf(
        sql, sizeof(sql),
        "CREATE TABLE mcp_bench.row AS SELECT i AS id, 'name ' || i AS name, i / 7.0::float8 AS "
        "amount, 'a note of some length, as notes are: ' || i AS note FROM generate_series(1, "
        "%d) i",
        ROWS);
    run(c, sql);
    run(c, "ALTER TABLE mcp_bench.row ADD PRIMARY KEY (id)");
    PQclear(PQprepare(c, "row", "SELECT id, name, amount, note FROM mcp_bench.row WHERE id = $1", 1,
                      NULL));
    open_peer(&p, loop, argv[1]);
    for (int i = 0; i < ROUNDS; i++) {
        cpu[0] = clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e3;
        t[0][i] = bare(c);
        cpu[1] = clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e3;
        t[1][i] = ask(&p, loop);
        cpu[2] = clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e3;
        spent[0] += cpu[1] - cpu[0];
        spent[1] += cpu[2] - cpu[1];
    }
    printf("row_bare_us=%.2f row_us=%.2f row_bare_cpu_us=%.2f row_cpu_us=%.2f\n",
           median(t[0], ROUNDS), median(t[1], ROUNDS), spent[0] / ROUNDS / ROWS,
           spent[1] / ROUNDS / ROWS);
    mcp_channel_free(p.channel);
    mcp_loop_drain(loop, 1000);
    mcp_server_free(p.server);
    mcp_loop_free(loop);
    run(c, "DROP SCHEMA mcp_bench CASCADE");
    PQfinish(c);
    return 0;
}
