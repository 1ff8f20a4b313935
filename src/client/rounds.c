/* rounds.c: repeats a call that the server answered with questions. The call is repeated with the
 * answers (2026-07-28, basic/patterns/mrtr), or after the user has opened the URLs that the error
 * names (2025-11-25, client/elicitation, "URL Elicitation Required Error").
 *
 * The client sends requestState back as it received it and does not interpret it.
 */
#include "client/client.h"

enum {
    AGAIN_MS = 250,                /* delay before the second repetition without questions */
    MAX_ID = 1024,                 /* longest elicitationId that is remembered */
    COMPLETION_MS = 5 * 60 * 1000, /* how long to wait for the user if no completion is reported */
};

/* ---- asking ---------------------------------------------------------------------------------- */

/* Creates one question for the call. ask_all() passes it to the program. */
static int add_question(mcp__call *call, mcp_str key, mcp_str method, const mcp_json *params,
                        mcp_error *error)
{
    mcp_question *q = NULL;
    uint64_t retry_ms;
    mcp_error why = {0};
    const mcp__asking asking = {.method = method, .params = params};
    int rc = mcp__question_new(call->client, &asking, &q, &retry_ms, &why);
    if (rc == MCP_ENOTFOUND || rc == MCP_EUNSUPPORTED)
        return mcp__fail(error, MCP_EUNSUPPORTED, 0,
                         "the server asks for input that this client does not support (%.*s)",
                         (int)MCP__MIN(method.len, (size_t)64), method.ptr ? method.ptr : "");
    if (rc != MCP_OK)
        return mcp__fail(error, rc, 0, "%s", why.text);
    q->call = call;
    q->key = mcp__strdup(call->client->allocator, key);
    q->key_len = key.len;
    return q->key ? MCP_OK : mcp__fail(error, MCP_ENOMEM, 0, "%s", mcp_error_text(MCP_ENOMEM));
}

/* Passes new questions to the program. The callbacks do not change the list before the next
 * tick. */
static void ask_all(mcp__call *call)
{
    mcp_client *client = call->client;
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list; l = l->next) {
        mcp_question *q = mcp__container(l, mcp_question, link);
        if (q->call == call && !q->delivered && !q->answered)
            mcp__question_ask(q);
    }
}

static int add_questions(mcp__call *call, const mcp_json *requests, mcp_error *error)
{
    mcp_json_iter it = {0};
    mcp_str key;
    int rc = MCP_OK;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(requests, &it, &key)) != NULL;) {
        if (mcp__call_task_has_answered(call, key))
            continue;
        rc = add_question(call, key, mcp_json_string(mcp_json_get(v, "method")),
                          mcp_json_get(v, "params"), error);
    }
    return rc;
}

/* Writes requestState, the first member of the next round. */
static int put_state(mcp__call *call, const mcp_json *state)
{
    mcp__buf_reset(&call->input, 0);
    if (!state)
        return MCP_OK;
    mcp__buf_lit(&call->input, "\"requestState\":");
    mcp__json_put_value(&call->input, state);
    return call->input.failed;
}

static int count_round(mcp__call *call, mcp_error *error)
{
    size_t limit = call->client->options.max_rounds;
    if (call->rounds >= limit)
        return mcp__fail(error, MCP_ELIMIT, 0,
                         "the server still asks for input after %zu rounds (max_rounds)", limit);
    call->rounds++;
    call->no_store = true;
    return MCP_OK;
}

/* null counts as absent. */
static const mcp_json *optional_member(const mcp_json *object, const char *name)
{
    const mcp_json *v = mcp_json_get(object, name);
    return mcp_json_is(v, MCP_JSON_NULL) ? NULL : v;
}

int mcp__round_begin(mcp__call *call, const mcp_json *result, mcp_error *error)
{
    if (!mcp__method_is(call->method, MCP__MAY_ASK))
        return mcp__fail(
            error, MCP_EPROTOCOL, 0,
            "the server answered %s with questions (input_required), which is allowed only for "
            "tools/call, resources/read and prompts/get",
            call->method.ptr);
    const mcp_json *requests = optional_member(result, "inputRequests");
    const mcp_json *state = optional_member(result, "requestState");
    if (!requests && !state)
        return mcp__fail(error, MCP_EPROTOCOL, 0, "the server's request for input is empty");
    int rc = count_round(call, error);
    if (rc == MCP_OK)
        rc = put_state(call, state);
    if (rc == MCP_OK)
        rc = add_questions(call, requests, error);
    if (rc != MCP_OK) {
        mcp__round_drop(call);
        return error->code ? rc : mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
    }
    if (mcp_json_count(requests)) {
        ask_all(call);
        mcp__client_attend(call->client);
    } else {
        /* The server only requests a repetition. Each further repetition is delayed longer. */
        int64_t wait = call->rounds > 1 ? (int64_t)AGAIN_MS * (call->rounds - 1) : 0;
        mcp__call_again(call, mcp__client_now(call->client) + wait);
    }
    return MCP_OK;
}

static bool has_questions(const mcp__call *call)
{
    const mcp_client *client = call->client;
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list; l = l->next) {
        if (mcp__container(l, mcp_question, link)->call == call)
            return true;
    }
    return false;
}

int mcp__round_begin_task(mcp__call *call, const mcp_json *requests, mcp_error *error)
{
    if (!mcp_json_is(requests, MCP_JSON_OBJECT))
        return mcp__fail(error, MCP_EPROTOCOL, 0, "the task asks for input without inputRequests");
    int rc = add_questions(call, requests, error);
    if (rc == MCP_OK && !has_questions(call))
        return MCP_ENOTFOUND;
    if (rc == MCP_OK)
        rc = count_round(call, error);
    if (rc != MCP_OK) {
        mcp__round_drop(call);
        return error->code ? rc : mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
    }
    mcp__buf_reset(&call->input, 0);
    call->due = INT64_MAX;
    ask_all(call);
    mcp__client_attend(call->client);
    return MCP_OK;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void finish_failed(mcp__call *call, const mcp_question *q)
{
    mcp_error error;
    mcp_str text = mcp__buf_view(&q->answer);
    mcp__fail(&error, MCP_ECANCELLED, 0, "%.*s", (int)text.len, text.ptr ? text.ptr : "");
    mcp__call_finish(call, MCP_ECANCELLED, NULL, &error);
}

/* Writes `"inputResponses":{…}` after the requestState. */
static int put_responses(mcp__call *call)
{
    mcp_client *client = call->client;
    mcp__buf *b = &call->input;
    if (b->len)
        mcp__buf_char(b, ',');
    mcp__buf_lit(b, "\"inputResponses\":");
    mcp__json_list responses = mcp__json_begin_object(b);
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list; l = l->next) {
        const mcp_question *q = mcp__container(l, mcp_question, link);
        if (q->call != call)
            continue;
        mcp__json_key(&responses, (mcp_str){q->key, q->key_len});
        mcp__buf_str(b, mcp__buf_view(&q->answer));
        if (call->task && mcp__call_task_note_answer(call, (mcp_str){q->key, q->key_len}) != MCP_OK)
            return MCP_ENOMEM;
    }
    mcp__json_end(&responses);
    return b->failed;
}

/* ---- URLs that the user has to visit first -------------------------------------------------- */

static bool all_questions(const mcp__call *call, bool (*is)(const mcp_question *q))
{
    const mcp_client *client = call->client;
    bool all = true;
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list; l = l->next) {
        const mcp_question *q = mcp__container(l, mcp_question, link);
        all &= q->call != call || is(q);
    }
    return all;
}

static bool is_accepted(const mcp_question *q)
{
    return q->accepted;
}

/* Without an id, the server cannot report the completion, so the client does not wait for it. */
static bool has_ended(const mcp_question *q)
{
    return q->completed || !mcp_question_elicitation_id(q).len;
}

/* Repeats the call. */
static void resume(mcp__call *call)
{
    mcp__round_drop(call);
    mcp__call_again(call, 0);
}

/* Continues when the user has decided about every URL. */
static void continue_urls(mcp__call *call)
{
    mcp_json_doc *original = call->outcome;
    call->outcome = NULL;
    if (all_questions(call, is_accepted)) {
        call->awaits_urls = true;
        call->due = mcp__client_now(call->client) + COMPLETION_MS;
        if (all_questions(call, has_ended))
            resume(call);
    } else {
        mcp_error error = {0};
        int rc = mcp__client_judge(call->client, call->client->revision, 0, MCP_EREMOTE,
                                   mcp_json_root(original), &error);
        mcp__call_finish(call, rc, mcp_json_root(original), &error);
    }
    mcp_json_free(original);
}

bool mcp__round_begin_urls(mcp__call *call, const mcp_json *object)
{
    mcp_client *client = call->client;
    const mcp_json *list = mcp_json_get(mcp_json_get(object, "data"), "elicitations");
    mcp_error error = {0};
    mcp_json_iter it = {0};
    if (!client->options.elicit_url || !mcp_json_is(list, MCP_JSON_ARRAY) ||
        !mcp_json_count(list) || count_round(call, &error) != MCP_OK)
        return false;
    int rc = mcp__client_copy(client, object, &call->outcome);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        bool url = mcp_str_eq(mcp_json_string(mcp_json_get(v, "mode")), MCP_STR("url"));
        rc = url ? add_question(call, MCP_STR(""), MCP_STR("elicitation/create"), v, &error)
                 : MCP_EPROTOCOL;
    }
    if (rc != MCP_OK) { /* the original error becomes the outcome */
        mcp__round_drop(call);
        mcp_json_free(call->outcome);
        call->outcome = NULL;
        return false;
    }
    ask_all(call);
    mcp__client_attend(client);
    return true;
}

void mcp__round_overdue(mcp__call *call)
{
    if (call->awaits_urls)
        resume(call); /* no completion was reported; the repeated call shows if it is complete */
}

void mcp__client_expect(mcp_client *client, mcp_str id)
{
    if (!id.len || id.len > MAX_ID)
        return;
    char **place = &client->questions.completing[client->questions.n_completing++ %
                                                 MCP__COUNT(client->questions.completing)];
    mcp__release(client->allocator, *place);
    *place = mcp__strdup(client->allocator, id); /* if NULL, the completion is not reported */
}

/* Returns whether the user accepted this elicitation, and forgets it. */
static bool was_expected(mcp_client *client, mcp_str id)
{
    for (size_t i = 0; i < MCP__COUNT(client->questions.completing); i++) {
        char **place = &client->questions.completing[i];
        if (!*place || !mcp_str_eq(mcp_str_from(*place), id))
            continue;
        mcp__release(client->allocator, *place);
        *place = NULL;
        return true;
    }
    return false;
}

void mcp__round_completed(mcp_client *client, mcp_str id)
{
    bool is_known = was_expected(client, id);
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list; l = l->next) {
        mcp_question *q = mcp__container(l, mcp_question, link);
        if (!q->call || q->kind != MCP_QUESTION_URL || !q->accepted ||
            !mcp_str_eq(mcp_question_elicitation_id(q), id))
            continue;
        is_known |= !q->completed;
        q->completed = true;
    }
    for (mcp__link *l = client->calls.parked.next; l != &client->calls.parked;) {
        mcp__call *call = mcp__container(l, mcp__call, link);
        l = l->next;
        if (call->awaits_urls && all_questions(call, has_ended))
            resume(call);
    }
    if (is_known && client->options.elicitation_complete)
        client->options.elicitation_complete(client, id, client->options.user);
}

/* ---- continuing calls ----------------------------------------------------------------------- */

/* Continues a call whose questions have all been answered. */
static void end_round(mcp__call *call)
{
    mcp_client *client = call->client;
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list; l = l->next) {
        const mcp_question *q = mcp__container(l, mcp_question, link);
        if (q->call == call && q->failed) {
            finish_failed(call, q);
            return;
        }
    }
    if (call->outcome) {
        continue_urls(call);
        return;
    }
    int rc = put_responses(call);
    mcp__round_drop(call);
    if (rc != MCP_OK)
        mcp__call_fail(call, rc);
    else if (call->task)
        mcp__call_task_update(call);
    else
        mcp__call_again(call, 0);
}

void mcp__round_drop(mcp__call *call)
{
    mcp_client *client = call->client;
    call->awaits_urls = false;
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list;) {
        mcp_question *q = mcp__container(l, mcp_question, link);
        l = l->next;
        if (q->call == call)
            mcp__question_withdraw(q);
    }
}

/* Returns whether a call has questions and all of them are answered, or one of them has failed. */
static bool is_complete(mcp_client *client, const mcp__call *call)
{
    bool any = false;
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list; l = l->next) {
        const mcp_question *q = mcp__container(l, mcp_question, link);
        if (q->call != call)
            continue;
        if (q->failed)
            return true;
        if (!q->answered)
            return false;
        any = true;
    }
    return any && !call->awaits_urls;
}

void mcp__rounds_end(mcp_client *client)
{
    /* Finishing a call may change the list, so the search restarts after each one. */
    for (mcp__link *l = client->calls.parked.next; l != &client->calls.parked;) {
        mcp__call *call = mcp__container(l, mcp__call, link);
        l = l->next;
        if (!is_complete(client, call))
            continue;
        end_round(call);
        l = client->calls.parked.next;
    }
}
