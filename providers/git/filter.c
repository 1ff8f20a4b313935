/* filter.c: see filter.h. */
#define _GNU_SOURCE
#include "filter.h"

#include "search.h"

#include <time.h>

/* Takes a number with exactly `digits` digits, and the character after it, unless that is 0. */
static bool take(mcp_str *rest, size_t digits, char after, int *ret)
{
    size_t len = digits + (after != 0);
    if (rest->len < len || (after && rest->ptr[digits] != after))
        return false;
    *ret = 0;
    for (size_t i = 0; i < digits; i++) {
        if (rest->ptr[i] < '0' || rest->ptr[i] > '9')
            return false;
        *ret = *ret * 10 + (rest->ptr[i] - '0');
    }
    *rest = (mcp_str){rest->ptr + len, rest->len - len};
    return true;
}

/* Takes the time zone and gives its distance from UTC in seconds. */
static bool take_zone(mcp_str rest, int *ret)
{
    int hours, minutes;
    *ret = 0;
    if (!rest.len || mcp_str_eq(rest, MCP_STR("Z")))
        return true;
    int sign = *rest.ptr == '-' ? -1 : 1;
    if (*rest.ptr != '+' && *rest.ptr != '-')
        return false;
    rest = (mcp_str){rest.ptr + 1, rest.len - 1};
    if (!take(&rest, 2, ':', &hours) || !take(&rest, 2, 0, &minutes) || rest.len || hours > 23 ||
        minutes > 59)
        return false;
    *ret = sign * (hours * 3600 + minutes * 60);
    return true;
}

bool repo_date(mcp_str text, bool end, int64_t *ret)
{
    struct tm tm = {0}, again;
    int zone = 0;
    bool timed = text.len > 10;
    if (!take(&text, 4, '-', &tm.tm_year) || !take(&text, 2, '-', &tm.tm_mon) ||
        !take(&text, 2, timed ? 'T' : 0, &tm.tm_mday))
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    if (timed && (!take(&text, 2, ':', &tm.tm_hour) || !take(&text, 2, ':', &tm.tm_min) ||
                  !take(&text, 2, 0, &tm.tm_sec) || !take_zone(text, &zone)))
        return false;
    again = tm;
    *ret = (int64_t)timegm(&again) - zone + (!timed && end ? 86399 : 0);
    return again.tm_mon == tm.tm_mon && again.tm_mday == tm.tm_mday && /* the day exists */
           again.tm_hour == tm.tm_hour && again.tm_min == tm.tm_min && again.tm_sec == tm.tm_sec;
}

static bool take_date(repo_job *j, repo_param param, int64_t fallback, int64_t *ret)
{
    mcp_str text = j->target.param[param];
    *ret = fallback;
    if (!text.ptr || repo_date(text, param == REPO_PARAM_UNTIL, ret))
        return true;
    repo_job_fail(j, MCP_CODE_INVALID_PARAMS,
                  "%s must be a date like 2024-01-31 or 2024-01-31T09:30:00Z",
                  repo_param_name(param));
    return false;
}

static void lower(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        text[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] | 0x20) : text[i];
}

int repo_filter_take(repo_job *j, repo_filter *ret)
{
    mcp_str author = j->target.param[REPO_PARAM_AUTHOR], text = j->target.param[REPO_PARAM_TEXT];
    *ret = (repo_filter){.author = {"", 0}, .text = {"", 0}};
    common_buffer_init(&ret->room, &j->r->base.alloc);
    ret->dated = j->target.param[REPO_PARAM_SINCE].ptr || j->target.param[REPO_PARAM_UNTIL].ptr;
    if (!take_date(j, REPO_PARAM_SINCE, INT64_MIN, &ret->since) ||
        !take_date(j, REPO_PARAM_UNTIL, INT64_MAX, &ret->until))
        return MCP_OK;
    size_t len = author.len + text.len;
    if (!len)
        return MCP_OK;
    if (common_buffer_reserve(&ret->room, len) != MCP_OK)
        return MCP_ENOMEM;
    if (author.len)
        memcpy(ret->room.ptr, author.ptr, author.len);
    if (text.len)
        memcpy(ret->room.ptr + author.len, text.ptr, text.len);
    lower(ret->room.ptr, len);
    ret->author = (mcp_str){ret->room.ptr, author.len};
    ret->text = (mcp_str){ret->room.ptr + author.len, text.len};
    return MCP_OK;
}

void repo_filter_free(repo_filter *f)
{
    common_buffer_free(&f->room);
}

/* Returns whether "NAME <EMAIL>" contains the author. */
static bool is_author(const repo_filter *f, const repo_person *p, const mcp_allocator *alloc,
                      int *rc)
{
    common_buffer whole;
    if (!f->author.len)
        return true;
    common_buffer_init(&whole, alloc);
    bool ok = common_buffer_append(&whole, p->name.ptr, p->name.len) == MCP_OK &&
              common_put(&whole, " <") &&
              common_buffer_append(&whole, p->email.ptr, p->email.len) == MCP_OK &&
              common_put(&whole, ">");
    if (!ok)
        *rc = MCP_ENOMEM;
    ok = ok && search_contains((mcp_str){whole.ptr, whole.len}, f->author);
    common_buffer_free(&whole);
    return ok;
}

bool repo_filter_passes(repo_filter *f, repo_commit *c, const mcp_allocator *alloc, int *rc)
{
    *rc = MCP_OK;
    if (c->committer.time < f->since || c->committer.time > f->until)
        return false;
    if (!f->author.len && !f->text.len)
        return true;
    *rc = repo_commit_decode(c, alloc);
    return *rc == MCP_OK && is_author(f, &c->author, alloc, rc) &&
           (!f->text.len || search_contains(c->message, f->text));
}
