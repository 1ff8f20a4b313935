/* glob.c: see glob.h.
 *
 * There is no recursion and no search tree. A star that matches as little as possible never needs
 * to be reconsidered once a later star has been reached, so it is enough to remember the last `*`
 * of the current component and the last `**`. */
#include "glob.h"

#include <stdint.h>

typedef unsigned char byte;

static bool in_range(byte c, byte low, byte high)
{
    return c >= low && c <= high;
}

static bool is_alpha(byte c)
{
    return in_range(c, 'a', 'z') || in_range(c, 'A', 'Z');
}

static bool is_digit(byte c)
{
    return in_range(c, '0', '9');
}

static bool is_alnum(byte c)
{
    return is_alpha(c) || is_digit(c);
}

static bool is_blank(byte c)
{
    return c == ' ' || c == '\t';
}

static bool is_cntrl(byte c)
{
    return c < 0x20 || c == 0x7f;
}

static bool is_graph(byte c)
{
    return in_range(c, 0x21, 0x7e);
}

static bool is_lower(byte c)
{
    return in_range(c, 'a', 'z');
}

static bool is_print(byte c)
{
    return in_range(c, 0x20, 0x7e);
}

static bool is_punct(byte c)
{
    return is_graph(c) && !is_alnum(c);
}

static bool is_space(byte c)
{
    return c == ' ' || in_range(c, '\t', '\r');
}

static bool is_upper(byte c)
{
    return in_range(c, 'A', 'Z');
}

static bool is_xdigit(byte c)
{
    return is_digit(c) || in_range(c, 'a', 'f') || in_range(c, 'A', 'F');
}

static const struct {
    const char *name;
    bool (*has)(byte c);
} classes[] = {
    {"alnum", is_alnum}, {"alpha", is_alpha}, {"blank", is_blank}, {"cntrl", is_cntrl},
    {"digit", is_digit}, {"graph", is_graph}, {"lower", is_lower}, {"print", is_print},
    {"punct", is_punct}, {"space", is_space}, {"upper", is_upper}, {"xdigit", is_xdigit},
};

/* Returns 1 if `c` is in the class, 0 if it is not, or -1 if there is no such class. */
static int in_class(const char *name, size_t len, byte c)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0)
            return classes[i].has(c);
    }
    return -1;
}

/* Parses a "[:name:]" at `p`. Returns what follows it, or NULL if `p` is an ordinary member. *hit
 * gets the result of in_class(), which is -1 for an unknown name. *next_close caches the
 * position of the next `]` or the end, so that it is searched for once, however many brackets
 * open before it. */
static const char *class_at(const char *p, const char *end, byte c, const char **next_close,
                            int *hit)
{
    if (end - p < 2 || p[0] != '[' || p[1] != ':')
        return NULL;
    if (*next_close < p + 2) {
        *next_close = memchr(p + 2, ']', (size_t)(end - p - 2));
        *next_close = *next_close ? *next_close : end;
    }
    const char *close = *next_close;
    if (close == end || close == p + 2 || close[-1] != ':')
        return NULL;
    *hit = in_class(p + 2, (size_t)(close - p - 3), c);
    return close + 1;
}

/* Reads one member or one end of a range. Returns what follows it, or NULL at the end
 * of the pattern. */
static const char *member_at(const char *p, const char *end, byte *c)
{
    if (p < end && *p == '\\')
        p++;
    if (p >= end)
        return NULL;
    *c = (byte)*p;
    return p + 1;
}

/* Matches the bracket expression whose contents begin at `p`. Returns what follows its `]`, or NULL
 * if it is malformed. */
static const char *bracket(const char *p, const char *end, byte c, bool *match)
{
    bool negated = p < end && (*p == '!' || *p == '^');
    bool found = false;
    bool first = true;
    int low = -1; /* the previous member, if it may begin a range */
    const char *close = p;
    for (p += negated; p < end && (first || *p != ']'); first = false) {
        int hit = 0;
        byte member;
        const char *after = class_at(p, end, c, &close, &hit);
        if (after) {
            if (hit < 0)
                return NULL;
            found |= hit > 0;
            low = -1;
            p = after;
        } else if (*p == '-' && low >= 0 && p + 1 < end && p[1] != ']') {
            p = member_at(p + 1, end, &member);
            if (!p)
                return NULL;
            found |= in_range(c, (byte)low, member);
            low = -1;
        } else {
            p = member_at(p, end, &member);
            if (!p)
                return NULL;
            found |= c == member;
            low = member;
        }
    }
    if (p >= end)
        return NULL;
    *match = found != negated && c != '/';
    return p + 1;
}

/* Matches one byte against the element at `p`, which is not a star. Returns what follows the
 * element, or NULL if it does not match. *bad is set for a malformed bracket, which ends the match,
 * so that a long one is not read again. */
static const char *one(const char *p, const char *end, byte c, bool *bad)
{
    bool match;
    switch (*p) {
    case '?': return c != '/' ? p + 1 : NULL;
    case '[':
        p = bracket(p + 1, end, c, &match);
        *bad = !p;
        return p && match ? p : NULL;
    case '\\': return end - p > 1 && (byte)p[1] == c ? p + 2 : NULL;
    default: return (byte)*p == c ? p + 1 : NULL;
    }
}

/* If the whole component at `p` is a run of two or more stars, returns its end, otherwise NULL. */
static const char *double_star(const char *p, const char *begin, const char *end)
{
    const char *q = p;
    if (p != begin && p[-1] != '/')
        return NULL;
    while (q < end && *q == '*')
        q++;
    return q - p >= 2 && (q == end || *q == '/') ? q : NULL;
}

bool common_glob_match(mcp_str pattern, mcp_str path)
{
    const char *begin = pattern.ptr, *p = begin, *end = begin + pattern.len;
    const char *t = path.ptr, *stop = t + path.len;
    const char *star = NULL, *star_at = NULL;      /* after the last `*`, and the end
                                                    * of its match */
    const char *folders = NULL, *folder_at = NULL; /* the same for the last "**" and its slash */
    for (bool bad = false; !bad;) {
        const char *next;
        if (p < end && *p == '*') {
            next = double_star(p, begin, end);
            if (next == end)
                return true;
            if (next) {
                folders = p = next + 1;
                folder_at = t;
                star = NULL;
                continue;
            }
            while (p < end && *p == '*')
                p++;
            star = p;
            star_at = t;
            continue;
        }
        if (p < end && t < stop && (next = one(p, end, (byte)*t, &bad)) != NULL) {
            if (*t == '/')
                star = NULL;
            p = next;
            t++;
            continue;
        }
        if (p == end && t == stop)
            return true;
        if (star && star_at < stop && *star_at != '/') {
            t = ++star_at;
            p = star;
        } else if (folders && folder_at < stop) {
            const char *slash = memchr(folder_at, '/', (size_t)(stop - folder_at));
            if (!slash)
                return false;
            t = folder_at = slash + 1;
            p = folders;
            star = NULL;
        } else {
            return false;
        }
    }
    return false;
}

size_t common_glob_literal(mcp_str pattern)
{
    size_t n = 0;
    while (n < pattern.len && !strchr("*?[\\", pattern.ptr[n]))
        n++;
    return n;
}
