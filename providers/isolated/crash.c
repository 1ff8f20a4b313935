/* crash.c: finds the request that caused an unexpected end of the process.
 *
 * A request that was alone in the process caused the end. If there were several, each is repeated
 * alone, while all others wait. A single request is also repeated if something else may have caused
 * the end: a cancelled request, the search for changes, or SIGKILL from outside. A request that runs
 * alone may be cancelled, too: the process stays busy with it while the next one runs alone.
 *
 * If a request is not answered in time, the process is killed. The first such request is the oldest
 * one, so it kept the others waiting, unless the process was still busy with a cancelled request.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "provider.h"

enum { REFUSED_MS = 600000, STRIKES = 3, CANCELLED_MS = 30000, TRIES = 5 };

/* Returns the modification time of the source's path in nanoseconds, or 0. */
static int64_t time_of(const isolated *r)
{
    struct stat st;
    if (!r->options.paths || !r->options.paths[0] || stat(r->options.paths[0], &st) != 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void drop_kill(isolated *r, size_t i)
{
    common_release(&r->alloc, r->kills[i].key);
    memmove(&r->kills[i], &r->kills[i + 1], (r->n_kills - i - 1) * sizeof(*r->kills));
    r->n_kills--;
}

void isolated_kills_free(isolated *r)
{
    while (r->n_kills)
        drop_kill(r, 0);
}

/* Removes expired entries, or all of them if the source has changed. */
static void forget(isolated *r, int64_t now)
{
    if ((r->n_kills || r->aside) && time_of(r) != r->changed) {
        isolated_kills_free(r);
        r->aside = 0;
        r->strikes = 0;
    }
    while (r->n_kills && r->kills[0].until <= now)
        drop_kill(r, 0);
    if (r->aside <= now)
        r->aside = 0;
}

static void blame(isolated *r, const char *key)
{
    int64_t now = isolated_now(r);
    char *copy = key ? common_copy(&r->alloc, key, strlen(key)) : NULL;
    forget(r, now);
    r->changed = time_of(r);
    r->strikes++;
    if (copy) {
        if (r->n_kills == ISOLATED_KILLS)
            drop_kill(r, 0);
        r->kills[r->n_kills++] = (isolated_kill){copy, now + REFUSED_MS};
    }
    if (r->strikes >= STRIKES && !r->aside) {
        r->aside = now + REFUSED_MS;
        isolated_say(r, "error",
                     "it is set aside for ten minutes: three different requests ended its process");
    }
}

bool isolated_is_refused(isolated *r, const char *key, char *why, size_t room)
{
    int64_t now = isolated_now(r), until = 0;
    forget(r, now);
    for (size_t i = 0; key && !until && i < r->n_kills; i++) {
        if (strcmp(r->kills[i].key, key) == 0)
            until = r->kills[i].until;
    }
    if (until)
        snprintf(why, room,
                 "%s: this request ended the source's process; it is refused for another %" PRId64
                 " s, or until the source is changed",
                 r->options.name, (until - now + 999) / 1000);
    else if (r->aside)
        snprintf(why, room,
                 "%s: the source is set aside, because different requests ended its process; it "
                 "is tried again in %" PRId64 " s, or when it is changed",
                 r->options.name, (r->aside - now + 999) / 1000);
    return until || r->aside;
}

void isolated_succeeded(isolated *r)
{
    r->strikes = 0;
}

/* ---- after the end --------------------------------------------------------------------------- */

static size_t count_lost(const isolated *r)
{
    size_t n = 0;
    for (const isolated_call *c = r->first; c; c = c->next)
        n += c->state == ISOLATED_LOST;
    return n;
}

static isolated_call *find_lost(const isolated *r)
{
    isolated_call *c = r->first;
    while (c && c->state != ISOLATED_LOST)
        c = c->next;
    return c;
}

bool isolated_has_blamed(const isolated *r)
{
    const isolated_call *c = r->first;
    while (c && !(c->state == ISOLATED_LOST && c->blamed))
        c = c->next;
    return c != NULL;
}

/* Returns whether the process may still be busy with a cancelled request. */
static bool is_cancelling(const isolated *r)
{
    return r->cancelled && isolated_now(r) - r->cancelled <= CANCELLED_MS;
}

/* Returns whether only a call in flight can have caused the end. SIGKILL comes from outside, for
 * example from the kernel when memory is short. */
static bool is_certain(const isolated *r, const mcp_service_end *end)
{
    return end->status != 128 + SIGKILL && !isolated_watches(r) && !is_cancelling(r);
}

void isolated_late(isolated_call *c)
{
    isolated *r = c->owner;
    if (isolated_has_blamed(r))
        return;
    c->blamed = !is_cancelling(r);
    mcp_service_abort(r->link.service, "it did not answer in time");
}

static void lost(isolated_call *c, bool alone, bool suspects, const char *text)
{
    isolated *r = c->owner;
    bool cancelling = is_cancelling(r);
    if (c->blamed || (alone && c->trial && !cancelling)) {
        blame(r, c->key);
        isolated_call_fail(c,
                           "%s: this request ended the source's process (%s); it is refused for "
                           "ten minutes",
                           r->options.name, text);
    } else if (!c->repeats || c->tries >= (cancelling ? TRIES : 1)) {
        isolated_call_fail(c, "%s: the source's process ended: %s", r->options.name, text);
    } else {
        c->tries++;
        c->state = ISOLATED_QUEUED;
        r->trials += suspects && !c->trial;
        c->trial |= suspects;
    }
}

void isolated_crash(isolated *r, const mcp_service_end *end)
{
    bool ours = end->cause == MCP_SERVICE_IDLE || end->cause == MCP_SERVICE_STOPPED;
    bool known = isolated_has_blamed(r);
    size_t n = count_lost(r);
    isolated_call *c;
    if (n == 1 && !ours && !known && (is_certain(r, end) || !find_lost(r)->repeats))
        find_lost(r)->blamed = true;
    while ((c = find_lost(r)) != NULL) {
        if (ours) {
            c->state = ISOLATED_QUEUED;
            if (c->tries++ > TRIES)
                isolated_call_fail(c, "%s: the source is replaced too often", r->options.name);
        } else {
            lost(c, n == 1, !known, end->text);
        }
    }
    r->cancelled = 0;
    isolated_calls_go_on(r);
}
