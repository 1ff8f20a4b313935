/* log.c: writes log lines to stderr, safe for a terminal and without blocking.
 *
 * If stderr is not writable, the line is discarded and counted. When stderr is writable again, the
 * number of lost lines is reported. A line has at most PIPE_BUF bytes, because a writable pipe
 * takes that many without blocking.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "io/loop/loop.h"

static const char *const levels[] = {"debug", "info", "warning", "error"};

static int level_of(const char *name)
{
    for (size_t i = 0; i < MCP__COUNT(levels); i++) {
        if (strcmp(levels[i], name) == 0)
            return (int)i;
    }
    return -1;
}

int mcp_loop_set_log_level(mcp_loop *loop, const char *level)
{
    int found = level ? level_of(level) : (int)MCP__COUNT(levels);

    if (!loop || found < 0)
        return MCP_EINVAL;
    loop->log_level = found;
    return MCP_OK;
}

static bool try_write(const char *bytes, size_t n)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
        return false;
    return write(STDERR_FILENO, bytes, n) == (ssize_t)n;
}

static void report_lost(mcp_loop *loop)
{
    char text[80];
    int n = snprintf(text, sizeof(text), "mcp: warning: %zu lines of the log were lost\n",
                     loop->log_lost);

    if (n > 0 && try_write(text, (size_t)n))
        loop->log_lost = 0;
}

void mcp__log_line(mcp_loop *loop, const char *level, const char *line)
{
    char text[PIPE_BUF];
    int rank = level ? level_of(level) : -1;

    if (!line || rank < 0 || rank < loop->log_level)
        return;
    size_t n = (size_t)snprintf(text, sizeof(text), "mcp: %s: ", levels[rank]);
    n += mcp_text_escape(text + n, sizeof(text) - 1 - n, mcp_str_from(line));
    text[n++] = '\n';
    int saved = errno;
    if (loop->log_lost)
        report_lost(loop);
    if (!try_write(text, n))
        loop->log_lost++;
    errno = saved;
}
