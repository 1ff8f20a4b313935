/* notices.c: shows unsolicited output of a server (log messages, lines on stderr, lines on stdout
 * that are not messages) and protocol violations that the library reports. It is shown when it
 * arrives, whatever mcpctl is waiting for.
 */
#define _GNU_SOURCE
#include "completions.h"
#include "session.h"
#include "terminal.h"

/* Warns of a common fault of servers on stdio: print() to stdout, which is reserved for messages.
 * mcpctl continues, but a host may not. */
static void warn_of_noise(session *s, mcp_str line)
{
    size_t i = 0;
    while (i < line.len && strchr(" \t\r", line.ptr[i]))
        i++;
    if (!s->child || s->noise_told || s->quiet || i == line.len || strchr("{[", line.ptr[i]))
        return;
    s->noise_told = true;
    bar_clear();
    say("warning: the server wrote something other than a message to stdout: %.*s",
        (int)(line.len < 200 ? line.len : 200), line.ptr);
    hint("stdout is for messages only; a server must write its log to stderr");
}

void notice_trace(mcp_client *client, bool sent, uint64_t exchange, mcp_str message, void *user)
{
    session *s = user;
    (void)client, (void)exchange;
    if (!sent)
        warn_of_noise(s, message);
    if (s->trace)
        trace_message(s->trace, sent, message);
}

/* Bytes are counted even if they are not shown, because an error report includes what was written
 * since the call began. */
void notice_stderr(mcp_str bytes, void *user)
{
    session *s = user;
    s->stderr_written += bytes.len;
    if (!s->verbose)
        return;
    bar_clear();
    text_put(stderr, bytes, TEXT_BLOCK);
}

/* Some servers ignore the level that was asked for, so it is looked at again. */
static bool is_grave(mcp_str level)
{
    static const char *const levels[] = {"warning", "error", "critical", "alert", "emergency"};
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
        if (mcp_str_eq(level, mcp_str_from(levels[i])))
            return true;
    return false;
}

void notice_log(mcp_client *client, mcp_str level, mcp_str logger, const mcp_json *data, void *user)
{
    const session *s = user;
    (void)client;
    if (!s->verbose && !is_grave(level))
        return;
    mcp_str text = mcp_json_string(data), json = {0};
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, data);
    if (!mcp_json_is(data, MCP_JSON_STRING) && mcp_json_writer_finish(w, &json) == MCP_OK)
        text = json;
    bar_clear();
    say("the server says (%.*s)%s%.*s: %.*s", (int)level.len, level.ptr, logger.len ? " " : "",
        (int)logger.len, logger.len ? logger.ptr : "", (int)(text.len < 1500 ? text.len : 1500),
        text.len ? text.ptr : "");
    mcp_json_writer_free(w);
}

void notice_tool_refused(mcp_client *client, mcp_str name, const char *why, void *user)
{
    (void)client, (void)user;
    bar_clear();
    say("warning: the tool '%.*s' cannot be used: %s", (int)name.len, name.ptr, why);
}

void notice_misbehaved(mcp_client *client, const char *what, void *user)
{
    (void)client, (void)user;
    bar_clear();
    say("warning: %s", what);
}

/* Says why nothing happens for a while. */
void notice_waits(int status, uint64_t ms, void *user)
{
    const session *s = user;
    if (s->quiet)
        return;
    bar_clear();
    say("the server cannot answer now (HTTP status %d); it is asked again in %llu s", status,
        (unsigned long long)(ms + 999) / 1000);
}

/* Treats a lost server like one that ended: the call has failed, and the next command
 * reconnects. */
void notice_lost(mcp_client *client, const char *why, void *user)
{
    (void)client, (void)why;
    ((session *)user)->ended = true;
}

/* Reasons of cancellations are for people (2025-11-25, basic/utilities/cancellation, "Implementation
 * Notes"). A modern server has no requests of its own: it only ends subscriptions so. */
static void say_cancelled(const session *s, const mcp_client *client, const mcp_json *params)
{
    mcp_str reason = mcp_json_string(mcp_json_get(params, "reason"));
    if (s->quiet || !reason.len || mcp_client_is_modern(client))
        return;
    bar_clear();
    say("the server cancelled a request: %.*s", (int)(reason.len < 500 ? reason.len : 500),
        reason.ptr);
}

/* Forgets cached proposals, because any of them may be out of date. */
void notice_change(mcp_client *client, mcp_str method, const mcp_json *params, void *user)
{
    static const char *const changes[] = {
        "notifications/prompts/list_changed", "notifications/resources/list_changed",
        "notifications/resources/updated", "notifications/tools/list_changed"};
    session *s = user;
    if (mcp_str_eq(method, MCP_STR("notifications/cancelled")))
        say_cancelled(s, client, params);
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
        if (mcp_str_eq(method, mcp_str_from(changes[i])))
            completions_forget(s->completions);
}
