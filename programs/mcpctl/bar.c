/* bar.c: shows activity and progress on stderr when an operation takes more than half a second.
 * There is only one terminal, so there is only one bar, and its state is global.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "terminal.h"

enum { PATIENCE_MS = 500, STEP_MS = 100, BAR = 24 };

static struct {
    bool wanted, shown;
    unsigned depth; /* nesting depth: only the outermost begin() and end() count */
    int64_t begun, moved;
    double progress, total;
    char what[64], message[128];
} bar;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void keep(char *to, size_t room, mcp_str text)
{
    size_t len = text.len < room - 1 ? text.len : room - 1;
    while (len < text.len && len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
        len--;
    if (len)
        memcpy(to, text.ptr, len);
    to[len] = 0;
}

/* Returns whether the terminal can clear a line. A "dumb" terminal would print the sequence for
 * it. */
static bool can_be_redrawn(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && !(term && strcmp(term, "dumb") == 0);
}

void bar_begin(const char *what, bool quiet)
{
    if (bar.depth++)
        return;
    bar.wanted = !quiet && can_be_redrawn();
    bar.begun = bar.moved = bar.wanted ? now_ms() : 0;
    bar.progress = bar.total = 0;
    bar.message[0] = 0;
    keep(bar.what, sizeof(bar.what), mcp_str_from(what));
}

void bar_set(double progress, double total, mcp_str message)
{
    bar.progress = progress;
    bar.total = total;
    keep(bar.message, sizeof(bar.message), message);
}

void bar_set_message(mcp_str message)
{
    keep(bar.message, sizeof(bar.message), message);
}

uint64_t bar_wait_ms(void)
{
    int64_t now = bar.wanted ? now_ms() : 0;
    int64_t due = bar.moved == bar.begun ? bar.begun + PATIENCE_MS : bar.moved + STEP_MS;
    if (!bar.wanted)
        return 10000;
    return due > now ? (uint64_t)(due - now) : 0;
}

static void draw_bar(void)
{
    double part = bar.progress / bar.total;
    part = part > 1 ? 1 : part < 0 ? 0 : part;
    int full = (int)(part * BAR);
    fprintf(stderr, "[%.*s%*s] %3d%%", full, "########################", BAR - full, "",
            (int)(part * 100));
}

void bar_tick(void)
{
    static const char wheel[] = "|/-\\";
    if (!bar.wanted || bar_wait_ms())
        return;
    bar.moved = now_ms();
    int64_t ms = bar.moved - bar.begun;
    fflush(stdout);
    fputs("\r\x1b[K", stderr);
    if (bar.total > 0)
        draw_bar();
    else
        fprintf(stderr, "%c %llds", wheel[ms / STEP_MS % 4], (long long)(ms / 1000));
    if (bar.total <= 0 && bar.progress > 0 && !bar.message[0]) /* a message says more than the
                                                                * number */
        fprintf(stderr, " %.6g", bar.progress);
    fputc(' ', stderr);
    mcp_str text = mcp_str_from(bar.message[0] ? bar.message : bar.what);
    /* The text has to fit on one line, because "\r" returns only to the beginning of the last
     * line. */
    text_put_cell(stderr, text, text_width(text) < 40 ? text_width(text) : 40);
    bar.shown = true;
}

void bar_clear(void)
{
    if (bar.shown)
        fputs("\r\x1b[K", stderr);
    bar.shown = false;
}

void bar_end(void)
{
    if (--bar.depth)
        return;
    bar_clear();
    bar.wanted = false;
}
