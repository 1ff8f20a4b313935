/* proposals.c: what the server proposes for a field. One request is pending at most: what is typed
 * meanwhile is asked for when it was answered.
 */
#define _GNU_SOURCE
#include "proposals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void forget(proposals *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->values[i]);
    s->count = s->total = 0;
    s->taken = SIZE_MAX;
}

static bool is_offered(const peer *p)
{
    const mcp_json *offers = mcp_client_server_capabilities(p->client);
    const char *revision = mcp_client_revision(p->client);
    /* the first revision has the method, but no capability for it */
    return mcp_json_get(offers, "completions") || (revision && !strcmp(revision, "2024-11-05"));
}

static mcp_str typed(const proposals *s)
{
    return edit_text(&s->form->fields[s->form->at].value);
}

/* Keeps what differs from the text. */
static void take_values(proposals *s, const mcp_json *completion)
{
    mcp_json_iter it = {0};
    const mcp_json *values = mcp_json_get(completion, "values");
    for (const mcp_json *v; (v = mcp_json_next(values, &it, NULL)) && s->count < MOST_PROPOSALS;) {
        mcp_str text = mcp_json_string(v);
        if (!text.len || text.len > LONGEST_PROPOSAL || mcp_str_eq(text, typed(s)))
            continue;
        s->values[s->count] = text_dup(text);
        s->count += s->values[s->count] != NULL;
    }
    int64_t total = mcp_json_int(mcp_json_get(completion, "total"), 0);
    s->total = total > 0 ? (size_t)total : 0;
}

/* Does what Tab does without proposals. */
static void move_on(proposals *s)
{
    if (form_key(s->form, (key){.code = KEY_TAB_}) == FORM_MOVED)
        proposals_ask(s);
}

static void on_values(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                      void *user)
{
    proposals *s = user;
    (void)client, (void)error;
    if (rc == MCP_ECANCELLED)
        return;
    bool wants = s->wants;
    s->call = 0;
    forget(s);
    if (s->again) {
        proposals_ask(s);
        s->wants = wants && s->call;
    } else {
        s->wants = false;
        if (rc == MCP_OK)
            take_values(s, mcp_json_get(result, "completion"));
        if (wants && !proposals_take(s, true))
            move_on(s);
    }
    s->peer->events.changed(s->peer, s->peer->events.user);
}

/* Returns the values of the other fields, which the caller frees; NULL if there are none. */
static char *context(const form *f)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    char *ret = NULL;
    size_t n = 0;
    mcp_str text;
    mcp_json_begin_object(w);
    for (size_t i = 0; i < f->count; i++) {
        if (i == f->at || !f->fields[i].value.len)
            continue;
        mcp_json_key_str(w, f->fields[i].name);
        mcp_json_add_str(w, edit_text(&f->fields[i].value));
        n++;
    }
    mcp_json_end(w);
    if (n && mcp_json_writer_finish(w, &text) == MCP_OK)
        ret = text_dup(text);
    mcp_json_writer_free(w);
    return ret;
}

void proposals_ask(proposals *s)
{
    if (!s->form || !s->form->count)
        return;
    forget(s);
    s->wants = false;
    s->again = s->call != 0;
    if (s->call || s->peer->state != PEER_READY)
        return;
    char *others = context(s->form), *name = text_dup(s->form->fields[s->form->at].name);
    const mcp_completion_query *query =
        MCP_OPTIONS(mcp_completion_query, .prompt = s->prompt, .uri_template = s->uri_template,
                    .argument = name, .value = typed(s).ptr, .context = others);
    if (!name || mcp_client_complete(s->peer->client, query,
                                     MCP_OPTIONS(mcp_call_options, .done = on_values, .user = s),
                                     &s->call) != MCP_OK)
        s->call = 0;
    free(others);
    free(name);
}

void proposals_begin(proposals *s, peer *p, form *f, const char *prompt, const char *uri_template)
{
    proposals_end(s);
    if (p->state != PEER_READY || !is_offered(p))
        return;
    *s = (proposals){
        .peer = p, .form = f, .prompt = prompt, .uri_template = uri_template, .taken = SIZE_MAX};
    proposals_ask(s);
}

void proposals_end(proposals *s)
{
    mcp_call_id call = s->call;
    forget(s);
    s->call = 0;
    s->form = NULL;
    if (call && s->peer->client)
        mcp_client_cancel(s->peer->client, call, "the form was left");
}

bool proposals_take(proposals *s, bool next)
{
    bool only = s->count == 1 && s->taken == 0; /* there is nothing else to take */
    bool waits = s->call && !s->wants;          /* Tab for the second time does not wait */
    s->wants = waits && next;
    if (s->wants)
        return true;
    if (!s->count || only)
        return false;
    if (s->taken == SIZE_MAX)
        s->taken = next ? 0 : s->count - 1;
    else
        s->taken = (s->taken + (next ? 1 : s->count - 1)) % s->count;
    edit_set(&s->form->fields[s->form->at].value, mcp_str_from(s->values[s->taken]));
    *s->form->fields[s->form->at].error = 0;
    return true;
}

void proposals_draw(const proposals *s, screen *to, area where)
{
    size_t rows = where.rows > 1 ? where.rows - 1 : 0;
    size_t top = s->taken != SIZE_MAX && s->taken >= rows ? s->taken - rows + 1 : 0;
    if (!s->count || !rows)
        return;
    pen p = pen_at(to, where, 0, LOOK_DIM);
    pen_print(&p, "  Tab takes one of %zu", s->total > s->count ? s->total : s->count);
    for (size_t row = 0; row < rows && top + row < s->count; row++) {
        p = pen_at(to, where, row + 1, top + row == s->taken ? LOOK_CURSOR : LOOK_STRING);
        pen_print(&p, "    ");
        pen_put(&p, mcp_str_from(s->values[top + row]));
    }
}
