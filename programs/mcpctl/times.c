/* times.c: parses and formats times as in annotations (ISO 8601), independent of the local time
 * zone. */
#define _GNU_SOURCE
#include <time.h>

#include "entries.h"

int64_t time_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns the days since 1970-01-01 in the Gregorian calendar. In the computation, the year begins
 * in March. */
static int64_t days(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400, y = year - era * 400;
    int64_t d = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + y * 365 + y / 4 - y / 100 + d - 719468;
}

/* Parses exactly n digits and the character that must follow (0 for any). */
static bool number(mcp_str *s, size_t n, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < n; i++, s->ptr++, s->len--) {
        if (!s->len || *s->ptr < '0' || *s->ptr > '9')
            return false;
        *ret = *ret * 10 + (*s->ptr - '0');
    }
    return true;
}

static bool skip(mcp_str *s, char c)
{
    if (!s->len || *s->ptr != c)
        return false;
    s->ptr++, s->len--;
    return true;
}

/* Parses "Z" or "+02:00". An empty string means Z. */
static bool zone(mcp_str *s, int64_t *minutes)
{
    int64_t h, m, sign;
    *minutes = 0;
    if (!s->len || skip(s, 'Z') || skip(s, 'z'))
        return true;
    sign = skip(s, '-') ? -1 : 1;
    if (sign == 1 && !skip(s, '+'))
        return false;
    if (!number(s, 2, &h))
        return false;
    skip(s, ':');
    if (!number(s, 2, &m))
        return false;
    *minutes = sign * (h * 60 + m);
    return true;
}

bool time_parse(mcp_str s, int64_t *ret)
{
    int64_t year, month, day, h = 0, m = 0, sec = 0, ms = 0, offset = 0;
    if (!number(&s, 4, &year) || !skip(&s, '-') || !number(&s, 2, &month) || !skip(&s, '-') ||
        !number(&s, 2, &day))
        return false;
    if (skip(&s, 'T') || skip(&s, 't') || skip(&s, ' ')) {
        if (!number(&s, 2, &h) || !skip(&s, ':') || !number(&s, 2, &m))
            return false;
        if (skip(&s, ':') && !number(&s, 2, &sec))
            return false;
        if (skip(&s, '.'))
            for (int64_t unit = 100; s.len && *s.ptr >= '0' && *s.ptr <= '9'; unit /= 10)
                ms += unit * (*s.ptr - '0'), s.ptr++, s.len--;
        if (!zone(&s, &offset))
            return false;
    }
    if (s.len || month < 1 || month > 12 || day < 1 || day > 31 || h > 24 || m > 59 || sec > 60)
        return false;
    *ret = (((days(year, month, day) * 24 + h) * 60 + m - offset) * 60 + sec) * 1000 + ms;
    return true;
}

void time_format(int64_t ms, char to[32])
{
    time_t seconds = (time_t)(ms / 1000 - (ms % 1000 < 0));
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) || !strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", &utc))
        *to = 0;
}
