/* format.c: the table of formats, and the formats of dates, identifiers and JSON. format_net.c has
 * those of hosts and URIs.
 *
 * Each format follows the RFC that the validation vocabulary names. A leap second is valid only at
 * the end of a day in UTC.
 */
#include "schema/schema.h"

/* ---- RFC 3339 -------------------------------------------------------------------------------- */

/* Returns the number that the n digits at s[at] represent, or -1 if they are not all digits. */
static int digits(mcp_str s, size_t at, size_t n)
{
    int value = 0;
    if (s.len < n || at > s.len - n)
        return -1;
    for (size_t i = at; i < at + n; i++) {
        if (!mcp__schema_digit(s.ptr[i]))
            return -1;
        value = value * 10 + (s.ptr[i] - '0');
    }
    return value;
}

static bool is_char(mcp_str s, size_t at, char ch)
{
    return at < s.len && s.ptr[at] == ch;
}

static bool is_date(mcp_str s)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = digits(s, 0, 4), month = digits(s, 5, 2), day = digits(s, 8, 2);
    if (s.len != 10 || s.ptr[4] != '-' || s.ptr[7] != '-' || year < 0 || month < 1 || month > 12)
        return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

/* Reads an offset such as "Z" or "+01:30". *ret gets the minutes by which local time is ahead of
 * UTC. */
static bool read_offset(mcp_str s, int *ret)
{
    *ret = 0;
    if (s.len == 1)
        return (s.ptr[0] | 0x20) == 'z';
    int hours = digits(s, 1, 2), minutes = digits(s, 4, 2);
    if (s.len != 6 || (s.ptr[0] != '+' && s.ptr[0] != '-') || s.ptr[3] != ':' || hours < 0 ||
        hours > 23 || minutes < 0 || minutes > 59)
        return false;
    *ret = (hours * 60 + minutes) * (s.ptr[0] == '-' ? -1 : 1);
    return true;
}

static bool is_time(mcp_str s)
{
    int hour = digits(s, 0, 2), minute = digits(s, 3, 2), second = digits(s, 6, 2), offset;
    size_t at = 8;
    if (!is_char(s, 2, ':') || !is_char(s, 5, ':') || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || second < 0 || second > 60)
        return false;
    if (is_char(s, at, '.')) {
        size_t start = ++at;
        while (at < s.len && mcp__schema_digit(s.ptr[at]))
            at++;
        if (at == start)
            return false;
    }
    if (at >= s.len || !read_offset(mcp__str_sub(s, at), &offset))
        return false;
    int utc = (hour * 60 + minute - offset + 2 * 24 * 60) % (24 * 60);
    return second < 60 || utc == 23 * 60 + 59;
}

static int check_date(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return is_date(s);
}

static int check_time(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return is_time(s);
}

static int check_date_time(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return s.len > 11 && (s.ptr[10] | 0x20) == 't' && is_date((mcp_str){s.ptr, 10}) &&
           is_time(mcp__str_sub(s, 11));
}

/* Reads the units of a duration (RFC 3339 appendix A), which must be in order and without gaps.
 * Moves *at past them. Returns false if they are malformed. */
static bool read_units(mcp_str s, size_t *at, const char *units, size_t *count)
{
    const char *next = units;
    for (*count = 0; *at < s.len && s.ptr[*at] != 'T'; ++*count) {
        size_t start = *at;
        while (*at < s.len && mcp__schema_digit(s.ptr[*at]))
            ++*at;
        const char *unit = *at > start && *at < s.len ? strchr(next, s.ptr[*at]) : NULL;
        if (!unit || (*count > 0 && unit != next))
            return false;
        next = unit + 1;
        ++*at;
    }
    return true;
}

static int check_duration(const mcp_schema *schema, mcp_str s)
{
    size_t at = 1, date = 0, time = 0;
    (void)schema;
    if (!is_char(s, 0, 'P') || s.len < 3)
        return 0;
    if (s.ptr[s.len - 1] == 'W')
        return read_units(s, &at, "W", &date) && date == 1;
    if (!read_units(s, &at, "YMD", &date))
        return 0;
    if (at == s.len)
        return date > 0;
    at++;
    return read_units(s, &at, "HMS", &time) && time > 0 && at == s.len;
}

/* ---- identifiers ----------------------------------------------------------------------------- */

static int check_uuid(const mcp_schema *schema, mcp_str s)
{
    bool good = s.len == 36;
    (void)schema;
    for (size_t i = 0; good && i < s.len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        good = dash ? s.ptr[i] == '-' : mcp__schema_hex(s.ptr[i]);
    }
    return good;
}

static bool is_pointer(mcp_str s)
{
    bool good = s.len == 0 || s.ptr[0] == '/';
    for (size_t i = 0; good && i < s.len; i++)
        good = s.ptr[i] != '~' || is_char(s, i + 1, '0') || is_char(s, i + 1, '1');
    return good;
}

static int check_pointer(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return is_pointer(s);
}

static int check_relative_pointer(const mcp_schema *schema, mcp_str s)
{
    size_t n = 0;
    (void)schema;
    while (n < s.len && mcp__schema_digit(s.ptr[n]))
        n++;
    if (n == 0 || (n > 1 && s.ptr[0] == '0'))
        return 0;
    s = mcp__str_sub(s, n);
    return mcp_str_eq(s, MCP_STR("#")) || is_pointer(s);
}

static int check_regex(const mcp_schema *schema, mcp_str s)
{
    int rc = mcp__schema_pattern_check(schema, s);
    return rc == MCP_ENOMEM ? rc : rc == MCP_OK;
}

/* ---- hosts and URIs -------------------------------------------------------------------------- */

static int check_email(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return mcp__schema_is_email(s, false);
}

static int check_idn_email(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return mcp__schema_is_email(s, true);
}

static int check_hostname(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return mcp__schema_is_hostname(s);
}

/* Labels outside ASCII are accepted without a check, because the tables of IDNA are not
 * included. */
static int check_idn_hostname(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] >= 0x80)
            return 1;
    }
    return mcp__schema_is_hostname(s);
}

static int check_ipv4(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return mcp__schema_is_ipv4(s);
}

static int check_ipv6(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return mcp__schema_is_ipv6(s);
}

static int check_uri(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return mcp__schema_is_uri_reference(s, true, false);
}

static int check_uri_reference(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return mcp__schema_is_uri_reference(s, false, false);
}

static int check_iri(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return mcp__schema_is_uri_reference(s, true, true);
}

static int check_iri_reference(const mcp_schema *schema, mcp_str s)
{
    (void)schema;
    return mcp__schema_is_uri_reference(s, false, true);
}

static int check_uri_template(const mcp_schema *schema, mcp_str s)
{
    mcp_uri_template *t = NULL;
    int rc = mcp_uri_template_parse(s, &schema->allocator, &t, NULL);
    mcp_uri_template_free(t);
    return rc == MCP_ENOMEM ? rc : rc == MCP_OK;
}

const format_info *mcp__schema_format(mcp_str name)
{
    static const format_info formats[] = {
        {"date-time", check_date_time, "a date and time like \"2026-07-28T12:00:00Z\""},
        {"date", check_date, "a date like \"2026-07-28\""},
        {"time", check_time, "a time with its offset, like \"12:00:00Z\""},
        {"duration", check_duration, "a duration like \"P1DT12H\""},
        {"email", check_email, "an email address"},
        {"idn-email", check_idn_email, "an email address"},
        {"hostname", check_hostname, "a host name"},
        {"idn-hostname", check_idn_hostname, "a host name"},
        {"ipv4", check_ipv4, "an IPv4 address like \"192.0.2.1\""},
        {"ipv6", check_ipv6, "an IPv6 address like \"2001:db8::1\""},
        {"uri", check_uri, "an absolute URI"},
        {"uri-reference", check_uri_reference, "a URI or a relative reference"},
        {"iri", check_iri, "an absolute IRI"},
        {"iri-reference", check_iri_reference, "an IRI or a relative reference"},
        {"uri-template", check_uri_template, "a URI template"},
        {"uuid", check_uuid, "a UUID"},
        {"json-pointer", check_pointer, "a JSON Pointer like \"/a/0\""},
        {"relative-json-pointer", check_relative_pointer, "a relative JSON Pointer like \"1/a\""},
        {"regex", check_regex, "a regular expression"},
    };
    for (size_t i = 0; i < MCP__COUNT(formats); i++) {
        if (mcp_str_eq(name, mcp_str_from(formats[i].name)))
            return &formats[i];
    }
    return NULL;
}
