/* opaque.c: sends requests to the introspection endpoint (RFC 7662), a limited number at once. */
#include <stdio.h>

#include "auth/resource/resource.h"

static void pump(mcp_resource_server *rs);

static void leave_turn(mcp__rs_check *check)
{
    if (check->in_turn)
        check->job.rs->introspecting--;
    check->in_turn = false;
}

/* Handles a request that got no answer. For a while no further request is sent. */
static void no_answer(mcp__rs_check *check, const char *why)
{
    mcp_resource_server *rs = check->job.rs;
    mcp__rs_issuer *issuer = check->issuer;
    mcp_str name = rs->rules[issuer->index].issuer;
    if (!issuer->is_away)
        mcp__rs_log(rs, "warning", "the introspection endpoint of %.*s does not answer: %s",
                    (int)name.len, name.ptr, why);
    issuer->is_away = true;
    issuer->away_until = mcp__rs_now(rs) + MCP__RS_AWAY_MS;
    rs->usage.fetches_failed++;
    mcp__rs_check_finish(check, MCP__REFUSED_AWAY, 1);
    pump(rs);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void read_answer(mcp__rs_job *job)
{
    mcp__rs_check *check = mcp__container(job, mcp__rs_check, job);
    const mcp_resource_server *rs = job->rs;
    mcp__introspection answer;
    mcp__refused why = MCP__REFUSED_AWAY;
    int rc = mcp__introspection_read(&answer, mcp__buf_view(&check->body), mcp__rs_rules(check),
                                     check->now, rs->allocator, &why);
    if (rc == MCP_OK && why == MCP__ACCEPTED) {
        mcp__buf_char(&check->body, '\0');
        if (check->body.failed)
            why = MCP__REFUSED_NO_MEMORY;
        else
            why = mcp__rs_identify(check, answer.doc, &answer.claims, check->body.ptr);
    }
    mcp__introspection_clear(&answer);
    check->rc = rc;
    check->known.why = why;
}

static void on_read(mcp__rs_job *job, bool ran)
{
    mcp__rs_check *check = mcp__container(job, mcp__rs_check, job);
    mcp_resource_server *rs = job->rs;
    mcp_str name = rs->rules[check->issuer->index].issuer;
    leave_turn(check);
    if (rs->freed || !ran) {
        mcp__rs_check_finish(check, MCP__REFUSED_BUSY, 1);
    } else if (check->rc != MCP_OK) {
        no_answer(check, check->rc == MCP_ENOMEM ? "out of memory" : "it is no answer of RFC 7662");
    } else {
        if (check->issuer->is_away)
            mcp__rs_log(rs, "info", "the introspection endpoint of %.*s answers again",
                        (int)name.len, name.ptr);
        check->issuer->is_away = false;
        mcp__rs_check_finish(check, check->known.why, 1);
        pump(rs);
    }
}

static void on_fetched(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user)
{
    mcp__rs_check *check = user;
    char text[64];
    check->fetch = NULL;
    if (rc == MCP_OK)
        mcp__buf_str(&check->body, fetched->body);
    if (rc == MCP_OK && fetched->status == 200 && !check->body.failed) {
        mcp__rs_check_run(check, read_answer, on_read);
        return;
    }
    leave_turn(check);
    if (rc == MCP_OK)
        snprintf(text, sizeof(text), "HTTP status %d", fetched->status);
    no_answer(check, rc == MCP_OK ? text : error ? error->text : mcp_error_text(rc));
}

/* ---- the question ---------------------------------------------------------------------------- */

static int send_question(mcp__rs_check *check, mcp_error *error)
{
    mcp_resource_server *rs = check->job.rs;
    const mcp__rs_issuer *issuer = check->issuer;
    mcp__buf form;
    mcp__buf_init(&form, rs->allocator, 0);
    mcp__introspect_put(&form, (mcp_str){check->text, check->len});
    mcp__buf_char(&form, '\0');
    int rc = form.failed;
    if (rc == MCP_OK) {
        mcp_fetch_options options = {
            .size = sizeof(options),
            .url = issuer->introspection_url,
            .accept = "application/json",
            .max_bytes = MCP__INTROSPECT_BYTES,
            .timeout_ms = rs->options.fetch_ms,
            .allow_private = issuer->allow_private,
            .proxy = issuer->proxy,
            .ca_file = issuer->ca_file,
            .form = form.ptr,
            .authorization = issuer->authorization,
            .no_redirect = true,
            .done = on_fetched,
            .user = check,
        };
        rc = rs->host.fetch(&options, &check->fetch, error, rs->host.user);
    }
    if (rc != MCP_OK)
        check->fetch = NULL;
    mcp__buf_wipe(&form);
    return rc;
}

/* Sends waiting requests until the limit is reached. */
static void pump(mcp_resource_server *rs)
{
    while (rs->introspecting < rs->options.max_introspecting && !mcp__list_empty(&rs->asking)) {
        mcp__rs_check *check = mcp__container(rs->asking.next, mcp__rs_check, waiting);
        mcp_error error = {0};
        mcp__list_remove(&check->waiting);
        if (mcp__rs_now(rs) < check->issuer->away_until) {
            mcp__rs_check_finish(check, MCP__REFUSED_AWAY, 1);
            continue;
        }
        check->in_turn = true;
        rs->introspecting++;
        rs->usage.introspected++;
        if (send_question(check, &error) != MCP_OK) {
            leave_turn(check);
            no_answer(check, error.text);
        }
    }
}

void mcp__rs_introspect(mcp__rs_check *check)
{
    mcp_resource_server *rs = check->job.rs;
    mcp__list_append(&rs->asking, &check->waiting);
    pump(rs);
}

void mcp__rs_introspect_stop(mcp__rs_check *check)
{
    mcp_resource_server *rs = check->job.rs;
    if (check->fetch)
        rs->host.fetch_cancel(check->fetch, rs->host.user);
    check->fetch = NULL;
    if (!check->job.running)
        leave_turn(check);
    if (!rs->freed)
        pump(rs);
}
