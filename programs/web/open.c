/* open.c: opens the page in a browser, and says how to open it by hand. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <common/browser.h>
#include <common/text.h>

#include "web.h"

/* The file and the code have no use any more, or the streams of an earlier page have to end. Both are
 * done outside of calls of the endpoint. */
static void on_soon(void *arg)
{
    web *w = arg;
    char token[16];
    const mcp_host *host = mcp_loop_host(w->loop);
    host->timer_stop(w->soon, host->user);
    w->soon = NULL;
    redirect_remove(&w->redirect);
    for (; w->ended + 1 < w->pages; w->ended++) {
        snprintf(token, sizeof(token), "%u", w->ended + 1);
        mcp_listener_end_token(w->listener, token);
    }
}

static void on_late(void *arg)
{
    web *w = arg;
    const mcp_host *host = mcp_loop_host(w->loop);
    host->timer_stop(w->late, host->user);
    w->late = NULL;
    redirect_remove(&w->redirect);
    if (w->gate.is_used)
        return;
    say("the page was not opened within %d seconds", GATE_CODE_MS / 1000);
    hint("%s", isatty(STDIN_FILENO) ? "press Enter for another try"
                                    : "start mcpctl web again, with --no-open to see the address");
}

/* Starts a timer again. */
static bool start_timer(web *w, uint64_t ms, void (*fn)(void *arg), mcp_host_timer **timer)
{
    const mcp_host *host = mcp_loop_host(w->loop);
    if (*timer)
        host->timer_stop(*timer, host->user);
    *timer = host->timer_start(ms, fn, w, host->user);
    return *timer != NULL;
}

bool open_page(web *w)
{
    char url[sizeof(w->gate.origin) + GATE_DIGITS + 16];
    if (!gate_renew(&w->gate, mcp_loop_now(w->loop))) {
        say("there is no randomness");
        return false;
    }
    w->told = false;
    snprintf(url, sizeof(url), "%s/#code=%s", w->gate.origin, w->gate.code);
    bool ok = start_timer(w, GATE_CODE_MS, on_late, &w->late) && redirect_write(&w->redirect, url);
    bool is_opened = ok && w->opens && browser_exists() && browser_open_file(w->redirect.path);
    if (ok && !is_opened)
        fprintf(stderr,
                "Open one of these within %d seconds; each works once, and only for you:\n"
                "  file://%s\n  %s\n",
                GATE_CODE_MS / 1000, w->redirect.path, url);
    explicit_bzero(url, sizeof(url));
    return ok;
}

void open_done(web *w)
{
    if (!start_timer(w, 0, on_soon, &w->soon))
        redirect_remove(&w->redirect);
}

void open_refused(web *w, gate_answer why)
{
    if (why != GATE_USED || w->told)
        return;
    w->told = true;
    say("the code was used a second time: if no page has opened, another program has used it; end "
        "this program then");
}

void open_clear(web *w)
{
    const mcp_host *host = mcp_loop_host(w->loop);
    if (w->soon)
        host->timer_stop(w->soon, host->user);
    if (w->late)
        host->timer_stop(w->late, host->user);
    w->soon = w->late = NULL;
    redirect_remove(&w->redirect);
}
