/* share.c: tells the other instances what changed here.
 *
 * A change sets a mark. When the interval has elapsed, the marks become one entry, which is sealed and
 * published. Until it is stored it is kept, and is sent again under the same number, so that an entry
 * that was stored although its answer was lost counts once. Nothing grows while the bus is down.
 */
#include <stdio.h>

#include "server/core/hub.h"
#include "server/core/seal.h"
#include "server/input/input.h"
#include "server/share/share.h"
#include "server/tasks/tasks.h"

enum {
    COUNTS_MS = 100, /* counts wait for so long, so that a caller is one item for many requests */
    FIRST_PAUSE_MS = 250, /* before a failed entry is sent again */
    LONGEST_PAUSE_MS = 30000,
    TOPIC_BYTES = 32,
    /* What an entry has before it is sealed: base64url, with the head and the tag of the seal. */
    PLAIN_BYTES = MCP_BUS_ENTRY_BYTES / 4 * 3 - 64,
};

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_share_options, interval_ms, 50),
    MCP_DEFAULT(mcp_share_options, max_marks, 4096),
    MCP_DEFAULT(mcp_share_options, max_bytes, 512 << 10),
};

/* ---- sending --------------------------------------------------------------------------------- */

static int seal(struct mcp__share *share)
{
    mcp_server *server = share->server;
    mcp__entry_head head = {.number = share->number, .time = mcp__server_clock(server)};
    mcp__buf plain;
    memcpy(head.instance, server->instance, MCP__INSTANCE);
    mcp__buf_init(&plain, &server->allocator, PLAIN_BYTES);
    mcp__entry_put_head(&plain, &head);
    mcp__buf_str(&plain, mcp__buf_view(&share->items));
    mcp__buf_reset(&share->sealed, SIZE_MAX);
    int rc = plain.failed;
    if (rc == MCP_OK)
        rc = mcp__seal_text(server, mcp_str_from(share->bound), mcp__buf_view(&plain),
                            &share->sealed, NULL);
    mcp__buf_free(&plain);
    return rc;
}

static void arm(struct mcp__share *share, uint64_t ms);

static void failed(struct mcp__share *share, int rc, const char *why)
{
    uint64_t pause = (uint64_t)FIRST_PAUSE_MS << MCP__MIN(share->failures, 7u);
    bool first = share->failures++ == 0;
    share->usage.failed++;
    if (share->usage.state == MCP_BUS_CONNECTED) { /* else it says why it is down */
        snprintf(share->why, sizeof(share->why), "an entry could not be sent: %s",
                 why && *why ? why : mcp_error_text(rc));
        if (first)
            mcp__server_log(share->server, "warning", "the bus: %s; it is sent again", share->why);
    }
    arm(share, MCP__MIN(pause, (uint64_t)LONGEST_PAUSE_MS));
}

static void send_next(struct mcp__share *share)
{
    if (share->under_way || share->usage.state != MCP_BUS_CONNECTED)
        return; /* the bus will say when it can take an entry */
    if (!share->items.len &&
        (mcp__marks_any(&share->marks) || mcp__rate_has_untold(share->server))) {
        mcp__marks_take(&share->marks, &share->items, PLAIN_BYTES - MCP__ENTRY_HEAD);
        mcp__rate_tell(share->server, &share->items, PLAIN_BYTES - MCP__ENTRY_HEAD);
        share->number++;
    }
    if (!share->items.len)
        return;
    int rc = seal(share);
    if (rc == MCP_OK)
        rc = share->bus.publish(mcp__buf_view(&share->sealed), share->bus.user);
    share->under_way = rc == MCP_OK;
    share->sent_at = share->server->host.now(share->server->host.user);
    if (rc != MCP_OK)
        failed(share, rc, NULL);
}

static void stop_timer(struct mcp__share *share)
{
    const mcp_host *h = &share->server->host;
    if (share->timer)
        h->timer_stop(share->timer, h->user);
    share->timer = NULL;
    share->patient = false;
}

static void due(void *arg)
{
    struct mcp__share *share = arg;
    stop_timer(share);
    send_next(share);
}

/* Without memory for a timer, the next change or the next state of the bus tries again. */
static void arm(struct mcp__share *share, uint64_t ms)
{
    const mcp_host *h = &share->server->host;
    if (share->patient)
        stop_timer(share);
    if (!share->timer)
        share->timer = h->timer_start(ms, due, share, h->user);
}

/* The first change after a pause is sent in the next turn of the loop, with all others of this turn. */
static void arm_next(struct mcp__share *share)
{
    uint64_t since = (uint64_t)(share->server->host.now(share->server->host.user) - share->sent_at);
    arm(share, since < share->options.interval_ms ? share->options.interval_ms - since : 0);
}

bool mcp__share_limits(const mcp_server *server)
{
    const struct mcp__share *share = server->share;
    return share && share->options.share_limits && share->usage.state == MCP_BUS_CONNECTED;
}

void mcp__share_soon(mcp_server *server)
{
    struct mcp__share *share = server->share;
    if (share->timer || share->under_way)
        return;
    arm(share, COUNTS_MS);
    share->patient = share->timer != NULL;
}

static int mark(struct mcp__share *share, char kind, mcp_str a, mcp_str b)
{
    int rc = mcp__marks_set(&share->marks, kind, a, b);
    if (!share->under_way && share->usage.state == MCP_BUS_CONNECTED)
        arm_next(share);
    return rc;
}

/* ---- what the bus says ------------------------------------------------------------------------- */

static void on_received(mcp_str entry, void *user)
{
    mcp__share_received(user, entry);
}

static void on_gap(void *user)
{
    mcp__share_gap(user);
}

static void on_published(int rc, const char *why, void *user)
{
    struct mcp__share *share = user;
    share->under_way = false;
    if (rc != MCP_OK) {
        failed(share, rc, why);
        return;
    }
    mcp__buf_reset(&share->items, SIZE_MAX);
    share->usage.sent++;
    share->failures = 0;
    share->why[0] = 0;
    if (mcp__marks_any(&share->marks))
        arm_next(share);
    else if (mcp__rate_has_untold(share->server))
        mcp__share_soon(share->server);
}

static void on_kept(int rc, const char *why, void *user)
{
    mcp__archive_stored(((struct mcp__share *)user)->server, rc, why);
}

static void on_fetched(uint64_t number, int rc, mcp_str value, void *user)
{
    mcp__archive_fetched(((struct mcp__share *)user)->server, number, rc, value);
}

static void on_state(mcp_bus_state state, const char *why, void *user)
{
    struct mcp__share *share = user;
    int64_t now = share->server->host.now(share->server->host.user);
    bool was_connected = share->usage.state == MCP_BUS_CONNECTED;
    share->usage.state = state;
    snprintf(share->why, sizeof(share->why), "%s", why ? why : "");
    if (state != MCP_BUS_CONNECTED) {
        if (was_connected)
            share->down_since = now ? now : 1;
        mcp__rate_forget(share->server);
        mcp__server_log(share->server, "warning", "the bus is down: %s", share->why);
        share->told_down = true;
        return;
    }
    /* The end of an outage is as important as its beginning. */
    mcp__server_log(share->server, share->told_down ? "warning" : "info", "the bus is connected");
    share->told_down = false;
    bool too_long = share->down_since && now - share->down_since > MCP__SHARE_DOWN_MS;
    share->down_since = 0;
    share->failures = 0;
    if (too_long)
        mcp__share_gap(share);
    else if (!share->was_connected) /* clients may have subscribed before */
        mcp__hub_everything(share->server);
    share->was_connected = true;
    stop_timer(share);
    arm(share, 0);
    mcp__archive_connected(share->server);
}

/* ---- changes --------------------------------------------------------------------------------- */

void mcp__share_mark(mcp_server *server, char kind, mcp_str text)
{
    if (server->share)
        mark(server->share, kind, text, (mcp_str){NULL, 0});
}

void mcp__share_list(mcp_server *server, mcp_item item)
{
    char digit = (char)('0' + item);
    mcp__share_mark(server, MCP__MARK_LIST, (mcp_str){&digit, 1});
}

void mcp__share_list_for(mcp_server *server, mcp_item item, const char *principal)
{
    char head[2] = {(char)('0' + item), principal ? 'n' : 'a'};
    if (server->share)
        mark(server->share, MCP__MARK_LIST_FOR, (mcp_str){head, 2}, mcp_str_from(principal));
}

int mcp_server_share_send(mcp_server *server, mcp_str topic, mcp_str data)
{
    char head[1 + TOPIC_BYTES];
    if (!server || !topic.len || topic.len > TOPIC_BYTES || !topic.ptr || (data.len && !data.ptr))
        return MCP_EINVAL;
    if (!server->share)
        return MCP_ESTATE;
    head[0] = (char)topic.len;
    memcpy(head + 1, topic.ptr, topic.len);
    if (data.len > MCP_SHARE_MESSAGE_BYTES - topic.len)
        return MCP_EINVAL;
    return mark(server->share, MCP__MARK_MESSAGE, (mcp_str){head, 1 + topic.len}, data);
}

bool mcp_server_get_share(const mcp_server *server, mcp_share_usage *ret)
{
    if (!server || !server->share || !ret || ret->size < sizeof(ret->size))
        return false;
    mcp_share_usage now = server->share->usage;
    size_t size = MCP__MIN(ret->size, sizeof(now));
    now.size = ret->size;
    now.why = server->share->why;
    now.waiting = mcp__marks_count(&server->share->marks);
    now.overflows = server->share->marks.overflows;
    now.pending = (server->share->items.len > 0) + mcp__archive_pending(server);
    memcpy(ret, &now, size);
    return true;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void free_share(struct mcp__share *share)
{
    mcp_server *server = share->server;
    stop_timer(share);
    if (share->bus.close)
        share->bus.close(share->bus.user);
    mcp__marks_clear(&share->marks);
    mcp__instances_clear(&share->instances);
    mcp__buf_free(&share->items);
    mcp__buf_free(&share->sealed);
    mcp__release(&server->allocator, share->bound);
    mcp__release(&server->allocator, share);
}

void mcp__share_free(mcp_server *server)
{
    if (server->share)
        free_share(server->share);
    server->share = NULL;
    mcp__archive_free(server); /* the bus answers nothing any more */
}

static int check(mcp_server *server, const mcp_share_options *o, const mcp_bus *bus,
                 mcp_error *error)
{
    if (!bus->open || !bus->publish || !bus->close)
        return mcp__fail(error, MCP_EINVAL, 0, "a mcp_bus needs open, publish and close");
    if (server->share)
        return mcp__fail(error, MCP_ESTATE, 0, "the server shares its changes already");
    if (!server->has_host || !server->host.timer_start || !server->host.now)
        return mcp__fail(error, MCP_ESTATE, 0, "sharing needs a host with timers");
    if (!server->seal)
        return mcp__fail(error, MCP_ESTATE, 0, "sharing needs a key: mcp_server_set_seal()");
    if (!o->name || !*o->name)
        return mcp__fail(error, MCP_EINVAL, 0, "instances that share need a \"name\"");
    if (!mcp__server_instance(server))
        return mcp__fail(error, MCP_EIO, 0, "no random bytes are available");
    return MCP_OK;
}

/* Allocates all that sending needs. */
static int prepare(struct mcp__share *share)
{
    mcp_server *server = share->server;
    mcp__buf bound;
    mcp__buf_init(&bound, &server->allocator, 0);
    mcp__buf_lit(&bound, "mcp bus ");
    mcp__buf_str(&bound, mcp_str_from(share->options.name));
    mcp__buf_char(&bound, 0);
    if (bound.failed)
        mcp__buf_free(&bound);
    share->bound = bound.ptr;
    bool ok = share->bound && mcp__buf_reserve(&share->items, PLAIN_BYTES) &&
              mcp__buf_reserve(&share->sealed, MCP_BUS_ENTRY_BYTES);
    return ok ? MCP_OK : MCP_ENOMEM;
}

static struct mcp__share *make(mcp_server *server, const mcp_share_options *o, const mcp_bus *bus)
{
    struct mcp__share *share = mcp__zalloc(&server->allocator, sizeof(*share));
    if (!share)
        return NULL;
    share->server = server;
    share->bus = *bus;
    share->options = *o;
    MCP_SET_DEFAULTS(&share->options, defaults);
    mcp__marks_init(&share->marks, &server->allocator, share->options.max_marks,
                    share->options.max_bytes);
    mcp__instances_init(&share->instances, &server->allocator);
    mcp__buf_init(&share->items, &server->allocator, 0);
    mcp__buf_init(&share->sealed, &server->allocator, 0);
    return share;
}

static int begin(mcp_server *server, const mcp_share_options *o, const mcp_bus *bus,
                 mcp_error *error)
{
    mcp_bus_events events = {.size = sizeof(events),
                             .received = on_received,
                             .gap = on_gap,
                             .published = on_published,
                             .state = on_state,
                             .kept = on_kept,
                             .fetched = on_fetched};
    struct mcp__share *share = make(server, o, bus);
    if (!share) {
        bus->close(bus->user);
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory to share changes");
    }
    int rc = prepare(share);
    if (rc != MCP_OK)
        mcp__fail(error, rc, 0, "no memory to share changes");
    events.user = share;
    if (rc == MCP_OK)
        rc = share->bus.open(&events, share->bus.user, error);
    share->options.name = NULL;
    share->options.bus = NULL;
    if (rc != MCP_OK) {
        free_share(share);
        return rc;
    }
    server->share = share;
    rc = mcp__archive_new(server, &share->bus);
    if (rc == MCP_OK)
        return rc;
    mcp__share_free(server);
    return mcp__fail(error, rc, 0, "no memory to share changes");
}

int mcp_server_share(mcp_server *server, const mcp_share_options *options, mcp_error *error)
{
    mcp__no_error(error);
    mcp_share_options o = {.size = 0};
    mcp_bus bus = {.size = 0};
    int rc = MCP__TAKE(&o, options, mcp_share_options, error);
    if (rc == MCP_OK)
        rc = MCP__TAKE(&bus, o.bus, mcp_bus, error);
    if (rc != MCP_OK)
        return rc;
    rc = mcp__need_server(server, error);
    if (rc == MCP_OK)
        rc = check(server, &o, &bus, error);
    if (rc == MCP_OK)
        return begin(server, &o, &bus, error);
    if (bus.close)
        bus.close(bus.user);
    return rc;
}
