/* dialog_sample.c: the answer to a request for sampling. A person sees the request before the command
 * gets it, and the answer before the server gets it, and may change or decline each of them (2025-11-25
 * and 2026-07-28, client/sampling, "User Interaction Model").
 */
#include "dialog.h"

#include <stdlib.h>

#include <common/revise.h>
#include <common/sampling.h>

static mcp_str request_of(const dialog *d)
{
    return d->request ? mcp_str_from(d->request) : mcp_question_params_text(d->question);
}

void dialog_put_request(dialog *d)
{
    mcp_json_doc *changed = NULL;
    if (d->request)
        mcp_json_parse(request_of(d), NULL, NULL, &changed, NULL);
    sample_put(&d->lines, changed ? mcp_json_root(changed) : mcp_question_params(d->question));
    mcp_json_free(changed);
}

/* Takes the text, and asks whether it is sent. Returns false if it cannot be sent. */
static bool take_answer(dialog *d, char *text, const char *model)
{
    char *result = text ? sampling_result(mcp_str_from(text), model) : NULL;
    if (!result) {
        free(text);
        return false;
    }
    free(d->written);
    free(d->arguments);
    d->written = text;
    d->arguments = result;
    d->model = model;
    dialog_confirm(d);
    return true;
}

static void on_sampled(const char *text, void *user)
{
    dialog *d = user;
    d->sampler = NULL;
    if (!text || !take_answer(d, text_dup(mcp_str_from(text)), "command")) {
        dialog_set_state(d, DIALOG_FORM);
        snprintf(d->note, sizeof(d->note), "The command failed: %.150s", d->command);
    }
    d->peer->events.changed(d->peer, d->peer->events.user);
}

static void run_sampler(dialog *d)
{
    if (!d->command) {
        snprintf(d->note, sizeof(d->note), "There is no command; --sampler sets one.");
        return;
    }
    d->sampler =
        sampler_start(mcp_loop_host(d->peer->loop), d->command, request_of(d), on_sampled, d);
    if (d->sampler)
        dialog_set_state(d, DIALOG_RUNNING);
}

static void submit(dialog *d)
{
    mcp_str text = edit_text(&d->form.fields[0].value);
    if (!text.len || !take_answer(d, text_dup(text), "human"))
        snprintf(d->note, sizeof(d->note), "Write the answer, or decline with ^X.");
}

void dialog_sample_key(dialog *d, key k)
{
    form_event event = FORM_OTHER;
    *d->note = 0;
    if (k.code == CTRL('r'))
        run_sampler(d);
    else if (k.code == CTRL('o') && d->command)
        d->wants_editor = true;
    else
        event = form_key(&d->form, k);
    if (event == FORM_SUBMITTED)
        submit(d);
    else if (event == FORM_MOVED || event == FORM_OTHER)
        dialog_move(d, k);
}

/* ---- the editor ------------------------------------------------------------------------------ */

/* Takes the text of a request. One that is not JSON is kept for the editor. */
static bool take_request(dialog *d, char *text, mcp_error *error)
{
    mcp_json_doc *doc = NULL;
    int rc = mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, error);
    bool is_object = rc == MCP_OK && mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT);
    mcp_json_free(doc);
    if (rc == MCP_OK && !is_object)
        snprintf(error->text, sizeof(error->text), "that is not a JSON object");
    free(d->draft);
    d->draft = is_object ? NULL : text;
    if (!is_object)
        return false;
    free(d->request);
    d->request = text;
    dialog_set_state(d, DIALOG_FORM);
    snprintf(d->note, sizeof(d->note), "The command gets the request as it is shown.");
    return true;
}

void dialog_revise(dialog *d)
{
    bool is_answer = d->state == DIALOG_CONFIRM;
    mcp_error error = {.text = "out of memory"};
    char *before = text_dup(is_answer ? mcp_str_from(d->written) : request_of(d)), *text = NULL;
    char *shown = before && !is_answer && !d->draft ? sampling_indented(before) : NULL;
    const char *from = is_answer ? before : d->draft ? d->draft : shown;
    d->wants_editor = false;
    *d->note = 0;
    bool done = from && revise_text(from, is_answer ? ".txt" : ".json", &text, &error) == MCP_OK &&
                (is_answer ? take_answer(d, text, d->model) : take_request(d, text, &error));
    if (!done)
        snprintf(d->note, sizeof(d->note), "Not changed%s: %.150s",
                 d->draft && !is_answer ? "; ^O edits it again" : "", error.text);
    free(shown);
    free(before);
}
