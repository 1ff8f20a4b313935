/* dialog.c: forms, confirmations, calls and results. */
#define _GNU_SOURCE
#include "dialog.h"

#include <stdlib.h>
#include <string.h>

#include <mcp/uri.h>

#include <common/dry_run.h>

static void changed(dialog *d)
{
    d->peer->events.changed(d->peer, d->peer->events.user);
}

void dialog_set_state(dialog *d, dialog_state state)
{
    d->state = state;
    d->top = d->first = 0;
    lines_clear(&d->lines);
    if (state == DIALOG_FORM && dialog_asks(d, MCP_QUESTION_SAMPLE))
        dialog_put_request(d);
    else if (state == DIALOG_FORM && d->question)
        dialog_put_message(d);
}

/* Answers the question without a choice of the user. */
static void dismiss(mcp_question *q)
{
    if (mcp_question_kind_of(q) == MCP_QUESTION_SAMPLE)
        mcp_question_fail(q, 0, "rejected by the user");
    else
        mcp_question_cancel(q);
}

void dialog_close(dialog *d)
{
    mcp_call_id call = d->call;
    const char *command = d->command;
    unsigned leaving = d->leaving;
    sampler_stop(d->sampler);
    if (call && d->peer->client)
        leaving += mcp_client_cancel(d->peer->client, call, "cancelled by the user") == MCP_OK;
    if (d->question)
        dismiss(d->question);
    proposals_end(&d->proposals);
    form_clear(&d->form);
    lines_clear(&d->lines);
    mcp_json_free(d->definition);
    free(d->definition_text);
    free(d->arguments);
    free(d->written);
    free(d->request);
    free(d->draft);
    free(d->key);
    memset(d, 0, sizeof(*d));
    d->command = command;
    d->leaving = leaving;
}

/* Returns whether it is the end of a call that dialog_close() has cancelled. The dialog may be another
 * one now, but its call ends after this one. */
static bool is_left(dialog *d, int rc)
{
    if (rc != MCP_ECANCELLED || !d->leaving)
        return false;
    d->leaving--;
    return true;
}

static const mcp_json *definition(const dialog *d)
{
    return mcp_json_root(d->definition);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool template_form(dialog *d)
{
    mcp_uri_template *t = NULL;
    if (mcp_uri_template_parse(mcp_str_from(d->key), NULL, &t, NULL) != MCP_OK)
        return false;
    for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++) {
        /* the name in the definition lives longer than the template */
        mcp_str name = mcp_uri_template_variable(t, i);
        const char *at = memmem(d->key, strlen(d->key), name.ptr, name.len);
        form_add(&d->form, (mcp_str){at ? at : "", at ? name.len : 0});
    }
    mcp_uri_template_free(t);
    return true;
}

static bool make_form(dialog *d)
{
    form_clear(&d->form);
    switch (d->kind) {
    case LIST_TOOLS: return form_of_schema(&d->form, mcp_json_get(definition(d), "inputSchema"));
    case LIST_PROMPTS: return form_of_prompt(&d->form, definition(d));
    case LIST_TEMPLATES: return template_form(d);
    default: return false;
    }
}

static bool set_definition(dialog *d, mcp_str text)
{
    mcp_json_free(d->definition);
    free(d->definition_text);
    d->definition = NULL;
    d->definition_text = text_dup(text);
    return d->definition_text && mcp_json_parse(mcp_str_from(d->definition_text), NULL, NULL,
                                                &d->definition, NULL) == MCP_OK;
}

void dialog_open(dialog *d, peer *p, list_kind kind, const item *i, size_t page_index)
{
    dialog_close(d);
    d->peer = p;
    d->kind = kind;
    d->page = page_index;
    d->key = text_dup(i->key);
    if (!d->key || !set_definition(d, i->json) || !make_form(d))
        dialog_close(d);
    else
        dialog_set_state(d, DIALOG_FORM);
    if (d->state == DIALOG_FORM && kind != LIST_TOOLS)
        proposals_begin(&d->proposals, p, &d->form, kind == LIST_PROMPTS ? d->key : NULL,
                        kind == LIST_TEMPLATES ? d->key : NULL);
}

/* The question may still be answered, but nobody waits for the answer. */
static void on_withdrawn(mcp_question *q, void *user)
{
    dialog *d = user;
    (void)q;
    snprintf(d->note, sizeof(d->note), "The server no longer waits for an answer.");
    changed(d);
}

void dialog_ask(dialog *d, peer *p, mcp_question *q)
{
    dialog_close(d);
    d->peer = p;
    d->question = q;
    d->kind = LISTS;
    if (mcp_question_kind_of(q) == MCP_QUESTION_FORM)
        form_of_schema(&d->form, mcp_question_schema(q));
    else if (dialog_asks(d, MCP_QUESTION_SAMPLE))
        form_add(&d->form, MCP_STR("answer"));
    mcp_question_on_cancel(q, on_withdrawn, d);
    dialog_set_state(d, DIALOG_FORM);
}

/* ---- results --------------------------------------------------------------------------------- */

static void on_result(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                      void *user)
{
    dialog *d = user;
    (void)client;
    if (is_left(d, rc))
        return;
    d->call = 0;
    *d->note = 0;
    if (d->tries && rc == MCP_OK && !mcp_json_bool(mcp_json_get(result, "isError"), false)) {
        dialog_confirm(d);
        dialog_put_change(d, result);
        changed(d);
        return;
    }
    dialog_set_state(d, DIALOG_RESULT);
    if (d->tries)
        lines_put_text(&d->lines, LOOK_WARN, MCP_STR("It would fail, so it is not called."));
    if (rc != MCP_OK)
        lines_print(&d->lines, LOOK_BAD, "%s", error ? error->text : mcp_error_text(rc));
    else
        result_put(&d->lines, d->kind, definition(d), result);
    if (d->lines.is_open)
        lines_end(&d->lines);
    changed(d);
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *p, void *user)
{
    dialog *d = user;
    (void)client, (void)call;
    if (p->has_total && p->total > 0)
        snprintf(d->note, sizeof(d->note), "%.0f%%  %.*s", p->progress / p->total * 100,
                 (int)(p->message.len < 150 ? p->message.len : 150), p->message.ptr);
    else
        snprintf(d->note, sizeof(d->note), "%g  %.*s", p->progress,
                 (int)(p->message.len < 150 ? p->message.len : 150), p->message.ptr);
    changed(d);
}

static void on_task(mcp_client *client, mcp_call_id call, const mcp_json *task, void *user)
{
    dialog *d = user;
    mcp_str id = mcp_json_string(mcp_json_get(task, "taskId"));
    mcp_str status = mcp_json_string(mcp_json_get(task, "status"));
    mcp_str message = mcp_json_string(mcp_json_get(task, "statusMessage"));
    (void)client, (void)call;
    snprintf(d->note, sizeof(d->note), "task %.*s: %.*s  %.*s", (int)(id.len < 40 ? id.len : 40),
             id.len ? id.ptr : "", (int)(status.len < 20 ? status.len : 20),
             status.len ? status.ptr : "", (int)(message.len < 100 ? message.len : 100),
             message.len ? message.ptr : "");
    changed(d);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static char *expanded(const dialog *d)
{
    mcp_uri_template *t = NULL;
    mcp_json_doc *values = NULL;
    char *uri = NULL;
    mcp_error error = {0};
    mcp_json_parse(mcp_str_from(d->arguments), NULL, NULL, &values, NULL);
    if (values && mcp_uri_template_parse(mcp_str_from(d->key), NULL, &t, &error) == MCP_OK)
        mcp_uri_template_expand_json(t, mcp_json_root(values), NULL, &uri, &error);
    mcp_uri_template_free(t);
    mcp_json_free(values);
    return uri;
}

static void run(dialog *d)
{
    const mcp_call_options *options =
        MCP_OPTIONS(mcp_call_options, .done = on_result, .progress = on_progress, .task = on_task,
                    .user = d, .once = d->kind == LIST_TOOLS);
    mcp_client *client = d->peer->client;
    int rc = MCP_EINVAL;
    char *uri = d->kind == LIST_TEMPLATES ? expanded(d) : NULL;
    char *trial = d->tries ? dry_run_arguments(d->arguments) : NULL;
    dialog_set_state(d, DIALOG_RUNNING);
    *d->note = 0;
    if (d->tries && !trial)
        rc = MCP_ENOMEM; /* nothing is called without it */
    else if (d->kind == LIST_TOOLS)
        rc = mcp_client_call_tool(client, d->key, trial ? trial : d->arguments, options, &d->call);
    else if (d->kind == LIST_PROMPTS)
        rc = mcp_client_get_prompt(client, d->key, d->arguments, options, &d->call);
    else if (uri)
        rc = mcp_client_read(client, uri, options, &d->call);
    free(trial);
    free(uri);
    if (rc == MCP_OK)
        return;
    dialog_set_state(d, DIALOG_RESULT);
    lines_print(&d->lines, LOOK_BAD, "%s", mcp_error_text(rc));
    lines_end(&d->lines);
}

/* ---- the confirmation ------------------------------------------------------------------------ */

void dialog_confirm(dialog *d)
{
    dialog_set_state(d, DIALOG_CONFIRM);
    dialog_put_confirmation(d);
}

static bool has_name(const mcp_json *tool, const char *name)
{
    return mcp_str_eq(mcp_json_string(mcp_json_get(tool, "name")), mcp_str_from(name));
}

static void refuse(dialog *d, const char *why)
{
    dialog_set_state(d, DIALOG_RESULT);
    lines_put(&d->lines, LOOK_BAD, mcp_str_from(why));
    lines_end(&d->lines);
}

/* Calls the tool if its definition is the one that was confirmed. */
static void compare(dialog *d, const mcp_json *tool)
{
    mcp_json_writer *w = tool ? mcp_json_writer_new(NULL, 0) : NULL;
    mcp_str text = {0};
    mcp_json_add_value(w, tool);
    if (!w || mcp_json_writer_finish(w, &text) != MCP_OK) {
        refuse(d, "Not called: the server no longer offers this tool.");
    } else if (mcp_str_eq(text, mcp_str_from(d->definition_text))) {
        run(d);
    } else if (set_definition(d, text) && make_form(d)) {
        dialog_set_state(d, DIALOG_FORM);
        snprintf(d->note, sizeof(d->note),
                 "Not called: the tool has changed. Fill in and confirm "
                 "it again.");
    } else {
        refuse(d, "Not called: the tool has changed, and cannot be used.");
    }
    mcp_json_writer_free(w);
}

static void on_checked(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                       void *user)
{
    dialog *d = user;
    mcp_json_iter it = {0};
    const mcp_json *found = NULL;
    (void)client;
    if (is_left(d, rc))
        return;
    d->call = 0;
    for (const mcp_json *t;
         !found && (t = mcp_json_next(mcp_json_get(result, "tools"), &it, NULL));)
        found = has_name(t, d->key) ? t : NULL;
    if (d->page && peer_cursor_refused(rc, result)) {
        d->page = 0; /* nobody knows which page has it now */
        rc = peer_request_list(d->peer, d->kind, on_checked, d, &d->call);
        if (rc == MCP_OK)
            return;
        error = NULL;
    }
    if (rc != MCP_OK)
        refuse(d, error ? error->text : mcp_error_text(rc));
    else
        compare(d, found);
    changed(d);
}

static void check(dialog *d)
{
    dialog_set_state(d, DIALOG_CHECKING);
    int rc = peer_request_page(d->peer, d->kind, d->page, on_checked, d, &d->call);
    if (rc != MCP_OK)
        refuse(d, mcp_error_text(rc));
}

/* ---- questions ------------------------------------------------------------------------------- */

static void answer(dialog *d)
{
    mcp_error error = {0};
    int rc = dialog_asks(d, MCP_QUESTION_SAMPLE)
                 ? mcp_question_sampled(d->question, d->arguments, &error)
                 : mcp_question_accept(d->question, d->arguments, &error);
    if (rc == MCP_OK) {
        d->question = NULL;
        dialog_close(d);
        return;
    }
    dialog_set_state(d, DIALOG_FORM);
    snprintf(d->note, sizeof(d->note), "Not sent: %.150s", error.text);
}

static void decline(dialog *d)
{
    if (dialog_asks(d, MCP_QUESTION_SAMPLE))
        dismiss(d->question);
    else
        mcp_question_decline(d->question);
    d->question = NULL;
    dialog_close(d);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void submit(dialog *d)
{
    free(d->arguments);
    d->arguments = form_json(&d->form, d->kind == LIST_PROMPTS || d->kind == LIST_TEMPLATES);
    *d->note = 0;
    d->tries = false;
    if (!d->arguments) { /* the cursor is on another field */
        proposals_ask(&d->proposals);
        return;
    }
    if (dialog_asks(d, MCP_QUESTION_URL))
        free(d->arguments), d->arguments = NULL, answer(d);
    else if (d->question || d->kind == LIST_TOOLS)
        dialog_confirm(d);
    else
        run(d);
}

static void confirm_key(dialog *d, key k)
{
    bool back = k.code == 'n' || k.code == 'e' || k.code == KEY_ESCAPE_;
    if (k.code == 'e' && d->written)
        d->wants_editor = true;
    else if (k.code == CTRL('x') && d->question)
        decline(d);
    else if (k.code == 'y' && d->question)
        answer(d);
    else if (k.code == 'y' || (k.code == 'd' && dialog_can_try(d)))
        d->tries = k.code == 'd', check(d);
    else if (back)
        dialog_set_state(d, DIALOG_FORM);
}

void dialog_move(dialog *d, key k)
{
    action what = key_action(k.code);
    size_t step = 10, most = d->lines.n_rows ? d->lines.n_rows - 1 : 0;
    if (k.code == KEY_WHEEL_UP_ || k.code == KEY_WHEEL_DOWN_)
        what = k.code == KEY_WHEEL_UP_ ? ACTION_UP : ACTION_DOWN;
    switch (what) {
    case ACTION_UP: d->top -= d->top > 0; break;
    case ACTION_DOWN: d->top += d->top < most; break;
    case ACTION_PAGE_UP: d->top = d->top > step ? d->top - step : 0; break;
    case ACTION_PAGE_DOWN: d->top = d->top + step < most ? d->top + step : most; break;
    case ACTION_FIRST: d->top = 0; break;
    case ACTION_LAST: d->top = most; break;
    default: break;
    }
}

static void form_dialog_key(dialog *d, key k)
{
    bool is_tab = k.code == KEY_TAB_ || k.code == KEY_BACK_TAB_;
    if (is_tab && proposals_take(&d->proposals, k.code == KEY_TAB_))
        return;
    form_event event = form_key(&d->form, k);
    if (event == FORM_SUBMITTED)
        submit(d);
    else if (event != FORM_OTHER)
        proposals_ask(&d->proposals);
    else if (d->question)
        dialog_move(d, k); /* the message */
}

void dialog_key(dialog *d, key k)
{
    bool leaves = k.code == KEY_ESCAPE_ || k.code == CTRL('c');
    if (d->state == DIALOG_FORM) {
        if (leaves)
            dialog_close(d);
        else if (d->question && k.code == CTRL('x'))
            decline(d);
        else if (dialog_asks(d, MCP_QUESTION_SAMPLE))
            dialog_sample_key(d, k);
        else
            form_dialog_key(d, k);
    } else if (k.code == CTRL('c') || (leaves && d->state != DIALOG_CONFIRM) ||
               (k.code == 'q' && d->state == DIALOG_RESULT)) {
        dialog_close(d);
    } else if (d->state == DIALOG_CONFIRM) {
        confirm_key(d, k);
        dialog_move(d, k);
    } else {
        dialog_move(d, k);
    }
}
