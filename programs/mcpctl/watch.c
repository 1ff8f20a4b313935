/* watch.c: mcpctl watch: one line for each change.
 *
 * After a lost connection, the library subscribes again; this file only restarts a server that has
 * ended. A resource may be watched before it exists, so a URI that cannot be read is not an error.
 * Each URI is read once, so that a typing mistake does not go unnoticed. Lists are read once too if
 * additions and removals are shown. After an interruption, everything that is watched counts as
 * changed.
 */
#include <stdlib.h>

#include "entries.h"
#include "lists.h"
#include "read.h"
#include "session.h"
#include "terminal.h"

typedef struct change {
    mcp_change kind;
    char *uri;
} change;

typedef struct watching {
    ctl *c;
    change *queue; /* to be printed outside of callbacks, because printing may need calls */
    size_t waiting, room;
    uint64_t n_printed;
    bool is_woken, active, is_checked, refused, gap;
    lists *lists; /* NULL if only the fact that lists changed is reported */
} watching;

static const char *const kinds[] = {"updated", "resources", "prompts", "tools"};

/* ---- callbacks ------------------------------------------------------------------------------- */

static void note(watching *w, mcp_change kind, mcp_str uri)
{
    if (w->waiting == w->room) {
        size_t room = w->room ? w->room * 2 : 16;
        change *grown = realloc(w->queue, room * sizeof(*grown));
        if (!grown)
            return;
        w->queue = grown;
        w->room = room;
    }
    for (size_t i = 0; i < w->waiting; i++)
        if (w->queue[i].kind == kind && mcp_str_eq(mcp_str_from(w->queue[i].uri), uri))
            return;
    char *copy = text_dup(uri);
    if (copy)
        w->queue[w->waiting++] = (change){kind, copy};
    w->is_woken = true;
}

static void on_changed(mcp_client *client, mcp_subscription *subscription, mcp_change kind,
                       mcp_str uri, void *user)
{
    (void)client, (void)subscription;
    note(user, kind, uri);
}

/* Reports everything that is watched as changed, because changes may have been missed. */
static void note_all(watching *w, const mcp_subscription *subscription)
{
    const ctl *c = w->c;
    for (size_t i = 0; i < c->n_args; i++)
        if (mcp_subscription_honours(subscription, MCP_CHANGE_RESOURCE, c->args[i]))
            note(w, MCP_CHANGE_RESOURCE, mcp_str_from(c->args[i]));
    for (int kind = MCP_CHANGE_RESOURCES; !c->n_args && kind <= MCP_CHANGE_TOOLS; kind++)
        if (mcp_subscription_honours(subscription, (mcp_change)kind, NULL))
            note(w, (mcp_change)kind, MCP_STR(""));
}

/* Of the URIs, or of the lists, none is announced. */
static void say_refused(const ctl *c, const char *why)
{
    if (!c->n_args) {
        say("the server does not announce changes: %s", why);
        return;
    }
    for (size_t i = 0; i < c->n_args; i++)
        say("the server does not announce changes to %s: %s", c->args[i], why);
    report_unknown_uri(c->args[0]);
}

static void on_state(mcp_client *client, mcp_subscription *subscription,
                     mcp_subscription_state state, const mcp_error *error, void *user)
{
    watching *w = user;
    const ctl *c = w->c;
    (void)client;
    w->is_woken = true;
    bar_clear();
    if (c->session->interrupted)
        return;
    switch (state) {
    case MCP_SUBSCRIPTION_ACTIVE:
        /* This is checked again here, because a legacy session over HTTP is lost and replaced in
         * one step. */
        if ((w->gap || w->active) && !c->set.quiet)
            say("connected again; everything may have changed");
        if (w->gap || w->active)
            note_all(w, subscription);
        w->active = true;
        w->gap = false;
        break;
    case MCP_SUBSCRIPTION_LOST:
        if (!w->gap && !c->set.quiet)
            say("the connection was lost: %s; trying again", error ? error->text : "");
        w->gap = true;
        break;
    case MCP_SUBSCRIPTION_REFUSED:
        say_refused(c, error ? error->text : "");
        w->refused = true;
        break;
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A resource that no longer exists or cannot be read now does not end the watch. */
static void put_contents(ctl *c, const char *uri, mcp_json_writer *line)
{
    json_list contents;
    json_list_begin(&contents, "contents");
    int code = read_resource(c, uri, &contents);
    (void)json_list_move(c, &contents, code, line);
}

static int put_json_change(const watching *w, const change *k, const char *now)
{
    mcp_json_writer *line = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(line);
    mcp_json_put_string(line, "time", now);
    mcp_json_put_string(line, "changed", kinds[k->kind]);
    if (k->kind == MCP_CHANGE_RESOURCE)
        mcp_json_put_string(line, "uri", k->uri);
    else if (w->lists && line)
        lists_put_changes(w->lists, k->kind, line);
    if (k->kind == MCP_CHANGE_RESOURCE && w->c->set.read && line)
        put_contents(w->c, k->uri, line);
    mcp_json_end(line);
    return put_written(w->c, "watch", line);
}

static void put_text_change(const watching *w, const change *k, const char *now)
{
    printf("%s\t%s\t", now, kinds[k->kind]);
    put_field(w->c, mcp_str_from(k->uri));
    putchar('\n');
    if (w->lists && k->kind != MCP_CHANGE_RESOURCE && flush_stdout(w->c))
        lists_put_changes(w->lists, k->kind, NULL);
}

static int put_change(watching *w, const change *k)
{
    ctl *c = w->c;
    char now[32];
    int code = EXIT_OK;
    time_format(time_now(), now);
    w->n_printed++;
    if (c->set.json)
        code = put_json_change(w, k, now);
    else
        put_text_change(w, k, now);
    if (!c->set.json && c->set.read && k->kind == MCP_CHANGE_RESOURCE)
        read_resource(c, k->uri, NULL); /* as in put_contents() */
    return flush_stdout(c) ? code : EXIT_LOCAL;
}

static int put_changes(watching *w)
{
    int code = EXIT_OK;
    bool is_done = false;
    while (w->waiting && code == EXIT_OK && !is_done) {
        change k = w->queue[0];
        memmove(w->queue, w->queue + 1, --w->waiting * sizeof(*w->queue));
        code = put_change(w, &k);
        free(k.uri);
        is_done = w->c->set.count && w->n_printed >= w->c->set.count;
    }
    return code;
}

/* ---- the connection -------------------------------------------------------------------------- */

/* Restarts a server that has ended: at once, then after increasing pauses. */
static int keep_alive(watching *w)
{
    ctl *c = w->c;
    bool stop = false;
    for (uint64_t ms = 100; !session_is_connected(c->session) && !c->session->interrupted;
         ms = ms < 30000 ? ms * 2 : 60000) {
        if (!c->set.quiet)
            say("the server ended; starting it again");
        w->gap = true;
        if (session_restart(c) == EXIT_OK)
            return EXIT_OK;
        session_wait(c, &stop, ms);
    }
    return EXIT_OK;
}

static void look_at(const watching *w, const mcp_subscription *subscription, const char *uri)
{
    mcp_json_writer *params = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(params);
    mcp_json_put_string(params, "uri", uri);
    mcp_json_end(params);
    char *text = take_written("watch", params);
    if (!mcp_subscription_honours(subscription, MCP_CHANGE_RESOURCE, uri))
        say("the server does not announce changes to %s", uri);
    else if (text && session_call_quietly(w->c, "resources/read", text, NULL, NULL) == EXIT_REMOTE)
        say("%s cannot be read now; waiting for it", uri);
    free(text);
}

static void look_at_all(watching *w, const mcp_subscription *subscription)
{
    ctl *c = w->c;
    w->is_checked = true;
    if (!c->n_args && (c->set.read || (c->out_is_terminal && !c->set.json)))
        w->lists = lists_new(c); /* without memory they are not compared */
    for (size_t i = 0; i < c->n_args && !c->set.quiet; i++)
        if (!c->session->interrupted && session_is_connected(c->session))
            look_at(w, subscription, c->args[i]);
}

static int run_until_enough(watching *w, const mcp_subscription *subscription)
{
    ctl *c = w->c;
    int code = EXIT_OK;
    while (code == EXIT_OK && !c->session->interrupted && !w->refused) {
        if (c->set.count && w->n_printed >= c->set.count)
            break;
        w->is_woken = false;
        session_wait(c, &w->is_woken, 1000);
        if (w->active && !w->is_checked)
            look_at_all(w, subscription);
        code = put_changes(w);
        if (code == EXIT_OK)
            code = keep_alive(w);
    }
    return w->refused ? EXIT_REMOTE : code;
}

int run_watch(ctl *c)
{
    watching w = {.c = c};
    mcp_subscription *subscription = NULL;
    bool of_lists = c->n_args == 0;
    int rc = mcp_client_subscribe(
        c->session->client,
        MCP_OPTIONS(mcp_subscription_options, .uris = (const char *const *)c->args,
                    .n_uris = c->n_args, .resources = of_lists, .prompts = of_lists,
                    .tools = of_lists, .changed = on_changed, .state = on_state, .user = &w),
        &subscription);
    if (rc != MCP_OK) {
        say("watch: %s", mcp_error_text(rc));
        return rc == MCP_EINVAL ? EXIT_USAGE : EXIT_LOCAL;
    }
    int code = run_until_enough(&w, subscription);
    if (c->session->client)
        mcp_subscription_end(subscription);
    for (size_t i = 0; i < w.waiting; i++)
        free(w.queue[i].uri);
    free(w.queue);
    lists_free(w.lists);
    return code;
}
