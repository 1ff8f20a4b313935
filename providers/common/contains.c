/* contains.c: see contains.h. */
#include "contains.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

static const char *const names[] = {"contains", "icontains"};

bool common_contains_is(mcp_str name)
{
    return mcp_str_eq(name, mcp_str_from(names[0])) || mcp_str_eq(name, mcp_str_from(names[1]));
}

static bool refuse(char why[300], const char *name, const char *reason)
{
    snprintf(why, 300, "%s %s", name, reason);
    return false;
}

static bool check(const char *name, mcp_str text, char why[300])
{
    if (!text.len || text.len > COMMON_CONTAINS_MAX)
        return refuse(why, name, "must have 1 to 1000 bytes");
    if (!common_text_utf8(text))
        return refuse(why, name, "must be UTF-8");
    if (memchr(text.ptr, '\n', text.len) || memchr(text.ptr, 0, text.len))
        return refuse(why, name, "must be one line, without NUL");
    return true;
}

bool common_contains_read(const mcp_uri_pair *pairs, size_t n, common_contains *ret, char why[300])
{
    bool given = false;
    *ret = (common_contains){{"", 0}, false};
    for (size_t i = 0; i < n; i++) {
        if (!common_contains_is(pairs[i].name))
            continue;
        bool ignore_case = mcp_str_eq(pairs[i].name, mcp_str_from(names[1]));
        if (given)
            return refuse(why, "contains and icontains", "cannot be given together, or twice");
        if (!check(names[ignore_case], pairs[i].value, why))
            return false;
        *ret = (common_contains){pairs[i].value, ignore_case};
        given = true;
    }
    return true;
}

/* Also those of "Infinity" and "NaN", in any case. */
bool common_contains_number(const common_contains *c)
{
    for (size_t i = 0; i < c->text.len; i++)
        if (!strchr("0123456789+-.einfatyEINFATY", c->text.ptr[i]))
            return false;
    return true;
}
