/* date.c: the time of day as HTTP writes it, made once per second. Locales have no say in it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "io/http_server/net.h"

static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

mcp_str mcp__date_text(mcp__date *date, int64_t second)
{
    time_t at = (time_t)second;
    struct tm t;

    if (date->len && date->second == second)
        return (mcp_str){date->text, date->len};
    if (!gmtime_r(&at, &t))
        t = (struct tm){.tm_mday = 1, .tm_year = 70, .tm_wday = 4};
    int len = snprintf(date->text, sizeof(date->text), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                       days[t.tm_wday], t.tm_mday, months[t.tm_mon], 1900 + t.tm_year, t.tm_hour,
                       t.tm_min, t.tm_sec);
    date->second = second;
    date->len = len > 0 ? (size_t)len : 0;
    return (mcp_str){date->text, date->len};
}

mcp_str mcp__date_now(mcp__date *date)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    return mcp__date_text(date, (int64_t)now.tv_sec);
}
