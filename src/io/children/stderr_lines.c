/* stderr_lines.c: writes the stderr of a process to the log, line by line. Each line begins with
 * the name of the service. Control characters are escaped, and the rate is limited so that a process cannot
 * flood the log.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>

#include "io/children/service.h"

enum { PER_SECOND = 20 }; /* lines that may be logged per second after the burst */

void mcp__service_log(mcp_service *s, const char *level, const char *text)
{
    char line[4 * MCP__SERVICE_LINE + 160];
    size_t n = mcp_text_escape(line, 96, mcp_str_from(s->options.name));

    n += (size_t)snprintf(line + n, sizeof(line) - n, ": ");
    mcp_text_escape(line + n, sizeof(line) - n, mcp_str_from(text));
    if (s->options.log)
        s->options.log(level, line, s->options.user);
    else
        mcp__log_line(s->loop, level, line);
}

static void fill(mcp__service_lines *l, int64_t now)
{
    uint64_t ms = now > l->filled ? (uint64_t)(now - l->filled) : 0;
    uint64_t more = MCP__MIN(ms, UINT64_C(3600000)) * PER_SECOND / 1000;

    if (more) {
        l->tokens = MCP__MIN(l->tokens + more, (uint64_t)MCP__SERVICE_BURST);
        l->filled = now;
    }
}

static void tell_left_out(mcp_service *s)
{
    char text[80];

    if (!s->lines.untold)
        return;
    snprintf(text, sizeof(text), "%" PRIu64 " lines of its stderr were left out", s->lines.untold);
    s->lines.untold = 0;
    mcp__service_log(s, "warning", text);
}

static void line_complete(mcp_service *s)
{
    mcp__service_lines *l = &s->lines;

    if (!l->len)
        return;
    l->line[l->len] = '\0';
    for (size_t i = 0; i < l->len; i++) {
        if (!l->line[i])
            l->line[i] = '\x1a'; /* logged as an escape; a NUL would end the string */
    }
    l->len = 0;
    l->seen++;
    if (!l->tokens) {
        l->left_out++;
        l->untold++;
        return;
    }
    l->tokens--;
    tell_left_out(s);
    mcp__service_log(s, "info", l->line);
}

void mcp__service_stderr(mcp_service *s, mcp_str bytes)
{
    mcp__service_lines *l = &s->lines;

    fill(l, mcp__loop_now(s->loop));
    while (bytes.len) {
        const char *nl = memchr(bytes.ptr, '\n', bytes.len);
        size_t n = nl ? (size_t)(nl - bytes.ptr) : bytes.len;
        size_t room = sizeof(l->line) - 1 - l->len;
        size_t take = MCP__MIN(n, room);
        if (take) /* the rest of a long line is discarded */
            memcpy(l->line + l->len, bytes.ptr, take);
        l->len += take;
        if (nl)
            line_complete(s);
        bytes = mcp__str_sub(bytes, n + (nl != NULL));
    }
}

void mcp__service_stderr_end(mcp_service *s)
{
    line_complete(s);
    tell_left_out(s);
}
