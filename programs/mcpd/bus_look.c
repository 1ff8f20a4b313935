/* bus_look.c: what --doctor and /metrics say about the bus. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include <mcp/io.h>

#include "bus.h"
#include "doctor.h"
#include "modules.h"
#include "seal_key.h"

enum { PATIENCE_MS = 6000 };

/* ---- --doctor -------------------------------------------------------------------------------- */

typedef struct looking {
    bool known; /* the bus has said something */
    mcp_bus_state state;
    char why[240];
} looking;

static void on_state(mcp_bus_state state, const char *why, void *user)
{
    looking *l = user;
    l->known = true;
    l->state = state;
    snprintf(l->why, sizeof(l->why), "%s", why);
}

static void on_received(mcp_str entry, void *user)
{
    (void)entry, (void)user;
}

static void on_gap(void *user)
{
    (void)user;
}

static void on_published(int rc, const char *why, void *user)
{
    (void)rc, (void)why, (void)user;
}

/* Connects, and publishes nothing. */
static void try_bus(const settings *now, mcp_loop *loop)
{
    looking l = {.known = false};
    mcp_bus made;
    mcp_error error = {0};
    const char *which;
    mcp_bus_events events = {.size = sizeof(events),
                             .user = &l,
                             .received = on_received,
                             .gap = on_gap,
                             .published = on_published,
                             .state = on_state};
    int rc = bus_make(now, mcp_loop_host(loop), &made, &which, &error);
    if (rc == MCP_OK) {
        rc = made.open(&events, made.user, &error);
        for (int64_t end = mcp_loop_now(loop) + PATIENCE_MS;
             rc == MCP_OK && !l.known && mcp_loop_now(loop) < end;)
            mcp_loop_step(loop, 100);
        made.close(made.user);
    }
    char shown[256];
    snprintf(shown, sizeof(shown), "%s", now->bus);
    modules_remove_passwords(shown);
    if (rc != MCP_OK)
        doctor_find(FINDING_WRONG, "bus", "%s: %s", shown, error.text);
    else if (l.state != MCP_BUS_CONNECTED)
        doctor_find(FINDING_WRONG, "bus", "%s: %s", shown, l.known ? l.why : "it does not answer");
    else
        doctor_find(FINDING_OK, "bus", "%s: connected, as \"%s\"", shown, bus_name(now));
}

void bus_look(const settings *now)
{
    mcp_loop *loop = NULL;
    mcp_error error = {0};
    if (now->seal_key_file) {
        if (seal_key_use(now->seal_key_file, bus_name(now), NULL, &error) != MCP_OK)
            doctor_find(FINDING_WRONG, "seal key", "%s", error.text);
        else
            doctor_find(FINDING_OK, "seal key", "%s: can be read", now->seal_key_file);
    }
    if (!now->bus || mcp_loop_new(NULL, &loop, &error) != MCP_OK)
        return;
    try_bus(now, loop);
    (void)mcp_loop_drain(loop, 1000);
    mcp_loop_free(loop);
}

/* ---- /metrics -------------------------------------------------------------------------------- */

#define MEMBER(member) offsetof(mcp_share_usage, member), sizeof(((mcp_share_usage *)0)->member)

static const struct {
    const char *name, *type, *help;
    size_t at, width;
} rows[] = {
    {"mcp_bus_connected", "gauge", "Whether the bus is connected.", MEMBER(state)},
    {"mcp_bus_waiting", "gauge", "Changes that were not sent yet.", MEMBER(waiting)},
    {"mcp_bus_sent_total", "counter", "Entries that were stored.", MEMBER(sent)},
    {"mcp_bus_failed_total", "counter", "Attempts to send an entry that failed.", MEMBER(failed)},
    {"mcp_bus_received_total", "counter", "Entries of other instances.", MEMBER(received)},
    {"mcp_bus_ignored_total", "counter", "Entries with another key or name, or damaged.",
     MEMBER(ignored)},
    {"mcp_bus_replayed_total", "counter", "Entries that were received before.", MEMBER(replayed)},
    {"mcp_bus_gaps_total", "counter", "How often entries may have been lost.", MEMBER(gaps)},
    {"mcp_bus_overflows_total", "counter", "How often changes that waited became one.",
     MEMBER(overflows)},
};

/* A value is a size_t or a uint64_t. */
static unsigned long long value_of(const mcp_share_usage *usage, size_t at, size_t width)
{
    uint32_t small;
    uint64_t large;
    const char *from = (const char *)usage + at;
    if (width == sizeof(small))
        return memcpy(&small, from, sizeof(small)), small;
    return memcpy(&large, from, sizeof(large)), large;
}

void bus_metrics(const mcp_server *server, void (*add)(mcp_str text, void *arg), void *arg)
{
    mcp_share_usage usage = {.size = sizeof(usage)};
    char text[400];
    if (!mcp_server_get_share(server, &usage))
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int n = snprintf(text, sizeof(text), "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", rows[i].name,
                         rows[i].help, rows[i].name, rows[i].type, rows[i].name,
                         value_of(&usage, rows[i].at, rows[i].width));
        if (n > 0 && (size_t)n < sizeof(text))
            add((mcp_str){text, (size_t)n}, arg);
    }
}
