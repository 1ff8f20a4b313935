/* format_net.c: the grammar of host names, addresses, email addresses, URIs and IRIs. Nothing is
 * resolved, and no memory is allocated. */
#include "schema/schema.h"

static bool is_alnum(char c)
{
    return mcp__schema_letter(c) || mcp__schema_digit(c);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* RFC 1123 section 2.1: a label has at most 63 characters and neither begins nor ends with "-". */
static bool is_label(mcp_str s)
{
    bool good = s.len >= 1 && s.len <= 63 && s.ptr[0] != '-' && s.ptr[s.len - 1] != '-';
    for (size_t i = 0; good && i < s.len; i++)
        good = is_alnum(s.ptr[i]) || s.ptr[i] == '-';
    /* RFC 5891 section 4.2.3.1: hyphens in positions 3 and 4 are reserved for A-labels */
    return good && (s.len < 4 || s.ptr[2] != '-' || s.ptr[3] != '-' ||
                    ((s.ptr[0] | 0x20) == 'x' && (s.ptr[1] | 0x20) == 'n' && s.len > 4));
}

bool mcp__schema_is_hostname(mcp_str s)
{
    bool good = s.len >= 1 && s.len <= 253;
    for (size_t at = 0; good && at <= s.len;) {
        const char *dot = at < s.len ? memchr(s.ptr + at, '.', s.len - at) : NULL;
        size_t end = dot ? (size_t)(dot - s.ptr) : s.len;
        good = is_label((mcp_str){s.ptr + at, end - at});
        at = end + 1;
    }
    return good;
}

bool mcp__schema_is_ipv4(mcp_str s)
{
    size_t at = 0, parts = 0;
    while (parts < 4) {
        size_t start = at;
        unsigned n = 0;
        while (at < s.len && mcp__schema_digit(s.ptr[at]) && at - start < 3)
            n = n * 10 + (unsigned)(s.ptr[at++] - '0');
        if (at == start || n > 255 || (at - start > 1 && s.ptr[start] == '0'))
            return false;
        if (++parts < 4 && (at >= s.len || s.ptr[at++] != '.'))
            return false;
    }
    return at == s.len;
}

/* RFC 4291 section 2.2: eight groups. "::" replaces one or more groups of zeros. The last two
 * groups may be written as an IPv4 address. */
bool mcp__schema_is_ipv6(mcp_str s)
{
    size_t at = 0, groups = 0;
    bool gap = false;
    if (mcp__str_starts(s, MCP_STR("::"))) {
        gap = true;
        at = 2;
    }
    while (at < s.len) {
        size_t start = at;
        while (at < s.len && mcp__schema_hex(s.ptr[at]))
            at++;
        if (at < s.len && s.ptr[at] == '.') {
            groups += 2;
            if (!mcp__schema_is_ipv4(mcp__str_sub(s, start)))
                return false;
            break;
        }
        if (at == start || at - start > 4 || ++groups > 8)
            return false;
        if (at == s.len)
            break;
        if (s.ptr[at++] != ':' || at == s.len)
            return false;
        if (s.ptr[at] == ':') {
            if (gap)
                return false;
            gap = true;
            at++;
        }
    }
    return gap ? groups < 8 : groups == 8;
}

/* ---- email addresses ------------------------------------------------------------------------- */

/* RFC 5321 section 4.1.2, Local-part: a dot-string or a quoted string. */
static bool is_local_part(mcp_str s, bool utf8)
{
    if (s.len >= 2 && s.ptr[0] == '"') {
        for (size_t i = 1; i + 1 < s.len; i++) {
            unsigned char ch = (unsigned char)s.ptr[i];
            if (ch == '"' || ch < 0x20 || ch == 0x7f || (ch >= 0x80 && !utf8))
                return false;
            if (ch == '\\' && ++i + 1 >= s.len)
                return false;
        }
        return s.ptr[s.len - 1] == '"';
    }
    bool good = s.len > 0 && s.len <= 64 && s.ptr[0] != '.' && s.ptr[s.len - 1] != '.';
    for (size_t i = 0; good && i < s.len; i++) {
        char ch = s.ptr[i];
        if (ch == '.')
            good = s.ptr[i + 1] != '.';
        else
            good = is_alnum(ch) || (ch && strchr("!#$%&'*+-/=?^_`{|}~", ch)) ||
                   (utf8 && (unsigned char)ch >= 0x80);
    }
    return good;
}

static bool is_address_literal(mcp_str s)
{
    if (s.len < 3 || s.ptr[0] != '[' || s.ptr[s.len - 1] != ']')
        return false;
    s = (mcp_str){s.ptr + 1, s.len - 2};
    if (mcp__str_starts(s, MCP_STR("IPv6:")))
        return mcp__schema_is_ipv6(mcp__str_sub(s, 5));
    return mcp__schema_is_ipv4(s);
}

static bool has_wide(mcp_str s)
{
    bool wide = false;
    for (size_t i = 0; i < s.len; i++)
        wide |= (unsigned char)s.ptr[i] >= 0x80;
    return wide;
}

bool mcp__schema_is_email(mcp_str s, bool utf8)
{
    size_t at = s.len;
    while (at > 0 && s.ptr[at - 1] != '@')
        at--;
    if (at == 0)
        return false;
    mcp_str local = {s.ptr, at - 1}, host = mcp__str_sub(s, at);
    return is_local_part(local, utf8) &&
           (mcp__schema_is_hostname(host) || is_address_literal(host) || (utf8 && has_wide(host)));
}

/* ---- RFC 3986 and RFC 3987 ------------------------------------------------------------------- */

static bool is_pchar(mcp_str s, size_t i, const char *more, bool iri)
{
    char ch = s.ptr[i];
    if (ch == '%')
        return i + 2 < s.len && mcp__schema_hex(s.ptr[i + 1]) && mcp__schema_hex(s.ptr[i + 2]);
    return is_alnum(ch) || (ch && strchr("-._~!$&'()*+,;=", ch)) || (ch && strchr(more, ch)) ||
           (iri && (unsigned char)ch >= 0x80);
}

static bool all_chars(mcp_str s, const char *more, bool iri)
{
    bool good = true;
    for (size_t i = 0; good && i < s.len; i++)
        good = is_pchar(s, i, more, iri);
    return good;
}

static bool is_host(mcp_str s, bool iri)
{
    if (s.len == 0 || s.ptr[0] != '[')
        return all_chars(s, "", iri);
    if (s.len < 4 || s.ptr[s.len - 1] != ']')
        return false;
    s = (mcp_str){s.ptr + 1, s.len - 2};
    if ((s.ptr[0] | 0x20) != 'v')
        return mcp__schema_is_ipv6(s);
    size_t at = 1;
    while (at < s.len && mcp__schema_hex(s.ptr[at]))
        at++;
    return at > 1 && at + 1 < s.len && s.ptr[at] == '.' && !memchr(s.ptr, '%', s.len) &&
           all_chars(mcp__str_sub(s, at + 1), ":", false);
}

static bool is_authority(mcp_str s, bool iri)
{
    const char *user = s.len ? memchr(s.ptr, '@', s.len) : NULL;
    if (user) {
        size_t n = (size_t)(user - s.ptr);
        if (!all_chars((mcp_str){s.ptr, n}, ":", iri))
            return false;
        s = mcp__str_sub(s, n + 1);
    }
    size_t colon = s.len;
    while (colon > 0 && mcp__schema_digit(s.ptr[colon - 1]))
        colon--;
    if (colon > 0 && s.ptr[colon - 1] == ':')
        s.len = colon - 1;
    return is_host(s, iri);
}

static size_t scheme_length(mcp_str s)
{
    size_t n = 0;
    if (s.len && mcp__schema_letter(s.ptr[0]))
        while (n < s.len && (is_alnum(s.ptr[n]) || strchr("+-.", s.ptr[n])))
            n++;
    return n < s.len && s.ptr[n] == ':' ? n : 0;
}

/* Splits s at the first of the characters in `stops`: returns the part before it and sets *s to the
 * rest. */
static mcp_str split_at(mcp_str *s, const char *stops)
{
    size_t n = 0;
    while (n < s->len && !(s->ptr[n] && strchr(stops, s->ptr[n])))
        n++;
    mcp_str front = {s->ptr, n};
    *s = mcp__str_sub(*s, n);
    return front;
}

bool mcp__schema_is_uri_reference(mcp_str s, bool absolute, bool iri)
{
    size_t scheme = scheme_length(s);
    if (s.len == 0)
        return !absolute;
    if (absolute && !scheme)
        return false;
    if (scheme)
        s = mcp__str_sub(s, scheme + 1);
    bool authority = mcp__str_starts(s, MCP_STR("//"));
    if (authority) {
        s = mcp__str_sub(s, 2);
        if (!is_authority(split_at(&s, "/?#"), iri))
            return false;
    }
    mcp_str path = split_at(&s, "?#");
    /* In a relative reference the first segment must not contain a colon, because it would be read
     * as a scheme. */
    mcp_str rest = path, first = split_at(&rest, "/");
    if (!scheme && !authority && first.len && memchr(first.ptr, ':', first.len))
        return false;
    if (!all_chars(path, "/:@", iri))
        return false;
    if (s.len && s.ptr[0] == '?') {
        s = mcp__str_sub(s, 1);
        if (!all_chars(split_at(&s, "#"), "/:@?", iri))
            return false;
    }
    return s.len == 0 || all_chars(mcp__str_sub(s, 1), "/:@?", iri);
}
