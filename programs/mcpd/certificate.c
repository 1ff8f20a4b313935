/* certificate.c: see certificate.h. All listeners have the same certificate. */
#define _GNU_SOURCE
#include "certificate.h"

#include <stdio.h>
#include <time.h>

#include "log.h"

enum { DAY_S = 86400, SOON_S = 14 * DAY_S };

certificate_state certificate_say(const char *path, int64_t expires, char to[CERTIFICATE_ROOM])
{
    int64_t left = expires - (int64_t)time(NULL);
    certificate_state state = left <= 0       ? CERTIFICATE_EXPIRED
                              : left < SOON_S ? CERTIFICATE_SOON
                                              : CERTIFICATE_FINE;
    time_t at = (time_t)expires;
    struct tm tm;
    char day[32] = "?";
    if (gmtime_r(&at, &tm))
        strftime(day, sizeof(day), "%Y-%m-%d", &tm);
    snprintf(to, CERTIFICATE_ROOM, "%.300s %s on %s%s", path,
             state == CERTIFICATE_EXPIRED ? "expired" : "expires", day,
             state == CERTIFICATE_FINE ? "" : "; replace it, then reload with SIGHUP");
    return state;
}

void certificate_warn(const settings *s, const listeners *at)
{
    char text[CERTIFICATE_ROOM], line[CERTIFICATE_ROOM + 32];
    int64_t expires = at->count ? mcp_listener_tls_expiry(at->items[0]) : 0;
    if (!expires || certificate_say(s->tls_cert, expires, text) == CERTIFICATE_FINE)
        return;
    snprintf(line, sizeof(line), "the certificate %s", text);
    log_line("warning", line, NULL);
}

static void again(void *arg)
{
    certificate_watch *w = arg;
    certificate_watch_stop(w);
    certificate_watch_start(w);
}

void certificate_watch_start(certificate_watch *w)
{
    if (!w->s->tls_cert)
        return;
    certificate_warn(w->s, w->at);
    w->timer = w->host->timer_start((uint64_t)DAY_S * 1000, again, w, w->host->user);
}

void certificate_watch_stop(certificate_watch *w)
{
    if (w->timer)
        w->host->timer_stop(w->timer, w->host->user);
    w->timer = NULL;
}
