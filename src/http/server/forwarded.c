/* forwarded.c: parses and formats addresses, and finds the client behind trusted proxies.
 *
 * X-Forwarded-For is a list, to which each proxy appends the address of its own peer. The client is
 * therefore the rightmost entry that is not a trusted proxy; a client can forge the entries to the
 * left of it. The fields arrive from left to right, so each entry that is not a trusted proxy
 * replaces the client found before. Forwarded (RFC 7239) is the same with another syntax. Only one of the two
 * headers is read, because a proxy that sets one may pass on the other as the client wrote it.
 *
 * All addresses have 16 bytes. IPv4 addresses are mapped (::ffff:0:0/96), so that both forms of an
 * address are equal.
 */
#include "http/server/connection.h"

#include <stdio.h>

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

/* ---- text to address ---------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool has(mcp_str s, char mark)
{
    return s.len && memchr(s.ptr, mark, s.len);
}

/* Parses a decimal number. Leading zeros are rejected, because some parsers treat such a number as
 * octal. */
static bool read_number(mcp_str s, unsigned max, unsigned *ret)
{
    unsigned value = 0;
    if (!s.len || s.len > 5 || (s.len > 1 && s.ptr[0] == '0'))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]))
            return false;
        value = value * 10 + (unsigned)(s.ptr[i] - '0');
    }
    *ret = value;
    return value <= max;
}

/* Removes from *s the part up to the first `mark`, and returns that part without the mark. Without
 * a mark, this is the whole string. */
static mcp_str cut(mcp_str *s, char mark, bool *found)
{
    const char *at = s->len ? memchr(s->ptr, mark, s->len) : NULL;
    mcp_str first = {s->ptr, at ? (size_t)(at - s->ptr) : s->len};
    *found = at != NULL;
    *s = mcp__str_sub(*s, first.len + *found);
    return first;
}

static bool read_v4(mcp_str s, unsigned char to[4])
{
    for (int i = 0; i < 4; i++) {
        unsigned value;
        bool dot;
        mcp_str part = cut(&s, '.', &dot);
        if (!read_number(part, 255, &value) || dot != (i < 3))
            return false;
        to[i] = (unsigned char)value;
    }
    return true;
}

static int hex_of(char c)
{
    char low = mcp__lower(c);
    return is_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static bool read_group(mcp_str s, unsigned char to[2])
{
    unsigned value = 0;
    if (!s.len || s.len > 4)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        int digit = hex_of(s.ptr[i]);
        if (digit < 0)
            return false;
        value = value << 4 | (unsigned)digit;
    }
    to[0] = (unsigned char)(value >> 8);
    to[1] = (unsigned char)value;
    return true;
}

/* Parses groups separated by single colons. If v4_last is set, the last may be an IPv4 address.
 * Returns the number of bytes, or -1 if the string is malformed. */
static int read_groups(mcp_str s, unsigned char to[16], bool v4_last)
{
    int n = 0;
    bool colon = s.len > 0;
    while (colon) {
        mcp_str part = cut(&s, ':', &colon);
        if (!colon && v4_last && n <= 12 && read_v4(part, to + n))
            return n + 4;
        if (n > 14 || !read_group(part, to + n))
            return -1;
        n += 2;
    }
    return n;
}

static bool read_v6(mcp_str s, unsigned char to[16])
{
    size_t gap = 0;
    while (gap + 1 < s.len && !(s.ptr[gap] == ':' && s.ptr[gap + 1] == ':'))
        gap++;
    if (gap + 1 >= s.len)
        return read_groups(s, to, true) == 16;
    unsigned char after[16];
    memset(to, 0, 16);
    int before = read_groups((mcp_str){s.ptr, gap}, to, false);
    int behind = read_groups(mcp__str_sub(s, gap + 2), after, true);
    if (before < 0 || behind < 0 || before + behind > 14)
        return false;
    memcpy(to + 16 - behind, after, (size_t)behind);
    return true;
}

bool mcp__http_ip_read(mcp_str s, mcp__http_ip *ret)
{
    mcp__http_ip ip;
    if (has(s, ':')) {
        if (!read_v6(s, ip.bytes))
            return false;
    } else {
        memcpy(ip.bytes, mapped, sizeof(mapped));
        if (!read_v4(s, ip.bytes + 12))
            return false;
    }
    *ret = ip;
    return true;
}

bool mcp__http_ip_read_host(mcp_str s, mcp__http_ip *ret)
{
    unsigned port;
    bool found;
    mcp_str host;
    if (s.len && s.ptr[0] == '[') {
        s = mcp__str_sub(s, 1);
        host = cut(&s, ']', &found);
        if (!found || !has(host, ':') || (s.len && s.ptr[0] != ':'))
            return false;
        found = s.len > 0;
        s = mcp__str_sub(s, found);
    } else {
        mcp_str whole = s;
        host = cut(&s, ':', &found);
        if (found && has(s, ':')) {
            host = whole;
            found = false;
        }
    }
    return (!found || read_number(s, 65535, &port)) && mcp__http_ip_read(host, ret);
}

/* ---- address to text ---------------------------------------------------------------------------------------- */

static bool is_v4(const mcp__http_ip *ip)
{
    return memcmp(ip->bytes, mapped, sizeof(mapped)) == 0;
}

static unsigned group_at(const mcp__http_ip *ip, int i)
{
    return (unsigned)ip->bytes[2 * i] << 8 | ip->bytes[2 * i + 1];
}

/* Finds the longest run of two or more zero groups (RFC 5952, 4.2), the first one if several are
 * equally long. Sets *at to -1 if there is none. Returns the length of the run. */
static int find_zeros(const mcp__http_ip *ip, int *at)
{
    int best = 1, run = 0;
    *at = -1;
    for (int i = 0; i < 8; i++) {
        run = group_at(ip, i) ? 0 : run + 1;
        if (run > best) {
            best = run;
            *at = i + 1 - run;
        }
    }
    return best;
}

/* Each request has such a text, for which snprintf() takes a tenth of its time. */
static void write_v4(const unsigned char b[4], char *to)
{
    for (int i = 0; i < 4; i++) {
        if (b[i] >= 100)
            *to++ = (char)('0' + b[i] / 100);
        if (b[i] >= 10)
            *to++ = (char)('0' + b[i] / 10 % 10);
        *to++ = (char)('0' + b[i] % 10);
        *to++ = i < 3 ? '.' : '\0';
    }
}

void mcp__http_ip_write(const mcp__http_ip *ip, char to[MCP__HTTP_IP_TEXT])
{
    if (is_v4(ip)) {
        write_v4(ip->bytes + 12, to);
        return;
    }
    int zeros, n = find_zeros(ip, &zeros);
    size_t len = 0;
    for (int i = 0; i < 8; i++) {
        if (i == zeros) {
            len += (size_t)snprintf(to + len, MCP__HTTP_IP_TEXT - len, "::");
            i += n - 1;
            continue;
        }
        const char *colon = i == 0 || i == zeros + n ? "" : ":";
        if (zeros < 0 && i)
            colon = ":";
        len += (size_t)snprintf(to + len, MCP__HTTP_IP_TEXT - len, "%s%x", colon, group_at(ip, i));
    }
}

bool mcp__http_ip_is_loopback(const mcp__http_ip *ip)
{
    static const unsigned char one[16] = {[15] = 1};
    return (is_v4(ip) && ip->bytes[12] == 127) || memcmp(ip->bytes, one, sizeof(one)) == 0;
}

void mcp__http_ip_write_account(const mcp__http_ip *ip, char to[MCP__HTTP_IP_TEXT])
{
    mcp__http_ip network = *ip;
    if (is_v4(ip) || mcp__http_ip_is_loopback(ip)) {
        mcp__http_ip_write(ip, to);
        return;
    }
    memset(network.bytes + 8, 0, 8);
    mcp__http_ip_write(&network, to);
    size_t len = strlen(to);
    snprintf(to + len, MCP__HTTP_IP_TEXT - len, "/64");
}

/* ---- networks ----------------------------------------------------------------------------------------------- */

bool mcp__http_network_read(mcp_str s, mcp__http_network *ret)
{
    mcp__http_network n = {.local = mcp_str_eq(s, MCP_STR("unix"))};
    bool slash;
    unsigned bits = 0;
    mcp_str host = cut(&s, '/', &slash);
    if (!n.local && !mcp__http_ip_read(host, &n.ip))
        return false;
    bool dotted = !has(host, ':');
    if (slash && !read_number(s, dotted ? 32 : 128, &bits))
        return false;
    n.bits = !slash ? 128 : dotted ? bits + 96 : bits;
    *ret = n;
    return true;
}

bool mcp__http_network_has(const mcp__http_network *n, const mcp__http_ip *ip)
{
    size_t whole = n->bits / 8;
    unsigned rest = n->bits % 8;
    if (n->local ||
        (is_v4(ip) && n->bits < 96)) /* a network such as ::/0 contains no IPv4 address */
        return false;
    if (memcmp(n->ip.bytes, ip->bytes, whole) != 0)
        return false;
    return !rest || (n->ip.bytes[whole] ^ ip->bytes[whole]) >> (8 - rest) == 0;
}

static bool trusts(const mcp_http *http, const mcp__http_ip *ip)
{
    for (size_t i = 0; i < http->options.n_trusted_proxies; i++) {
        if (mcp__http_network_has(&http->proxies[i], ip))
            return true;
    }
    return false;
}

static bool names(const mcp_http_options *o, const char *header)
{
    return mcp__str_same(mcp_str_from(o->proxy_header), mcp_str_from(header));
}

int mcp__http_proxies_check(const mcp_http_options *o, mcp_error *error)
{
    mcp__http_network n;
    if (o->proxy_header && !names(o, "X-Forwarded-For") && !names(o, "Forwarded"))
        return mcp__fail(error, MCP_EINVAL, 0, "'%.100s' is neither X-Forwarded-For nor Forwarded",
                         o->proxy_header);
    for (size_t i = 0; i < o->n_trusted_proxies; i++) {
        if (!mcp__http_network_read(mcp_str_from(o->trusted_proxies[i]), &n))
            return mcp__fail(error, MCP_EINVAL, 0,
                             "'%.100s' is not a proxy's address: 192.0.2.1, 192.0.2.0/24, "
                             "2001:db8::/32 or unix",
                             o->trusted_proxies[i]);
    }
    return MCP_OK;
}

int mcp__http_proxies_set(mcp_http *http)
{
    mcp_http_options *o = &http->options;
    const char *const *texts = o->trusted_proxies;
    o->proxy_header = o->proxy_header && names(o, "Forwarded") ? "Forwarded" : NULL;
    o->trusted_proxies = NULL;
    if (!o->n_trusted_proxies)
        return MCP_OK;
    http->proxies = mcp__zalloc(http->allocator, o->n_trusted_proxies * sizeof(*http->proxies));
    for (size_t i = 0; http->proxies && i < o->n_trusted_proxies; i++)
        mcp__http_network_read(mcp_str_from(texts[i]), &http->proxies[i]);
    return http->proxies ? MCP_OK : MCP_ENOMEM;
}

bool mcp__http_is_proxy(const mcp_http *http, const mcp_http_connection_options *o)
{
    mcp__http_ip ip;
    if (!o->trusted_host)
        return o->peer && http->proxies && mcp__http_ip_read_host(mcp_str_from(o->peer), &ip) &&
               trusts(http, &ip);
    for (size_t i = 0; i < http->options.n_trusted_proxies; i++) {
        if (http->proxies[i].local)
            return true;
    }
    return false;
}

/* ---- the client of a request ---------------------------------------------------------------------------------- */

/* Handles the next entry of the list. `ip` is NULL if it is not an address. */
static void take_entry(mcp_http_connection *c, const mcp__http_ip *ip)
{
    if (!ip)
        c->forwarded = MCP__HTTP_UNREADABLE;
    else if (!trusts(c->http, ip))
        c->forwarded = MCP__HTTP_CLIENT;
    else if (c->forwarded == MCP__HTTP_DIRECT)
        c->forwarded = MCP__HTTP_PROXY;
    else
        return;
    if (ip)
        c->client_ip = *ip;
}

static void read_forwarded_for(mcp_http_connection *c, mcp_str value)
{
    mcp__http_ip ip;
    for (bool more = true; more;) {
        mcp_str entry = mcp__http_trim(cut(&value, ',', &more));
        take_entry(c, mcp__http_ip_read_host(entry, &ip) ? &ip : NULL);
    }
}

/* ---- Forwarded (RFC 7239, 4) ------------------------------------------------------------------------------------ */

/* Returns whether a character may be in a token (RFC 9110, 5.6.2). */
static bool is_token(char c)
{
    char low = mcp__lower(c);
    return is_digit(c) || (low >= 'a' && low <= 'z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool next_is(mcp_str s, char c)
{
    return s.len && s.ptr[0] == c;
}

static void skip_space(mcp_str *s)
{
    while (next_is(*s, ' ') || next_is(*s, '\t'))
        *s = mcp__str_sub(*s, 1);
}

static mcp_str take_token(mcp_str *s)
{
    mcp_str token = *s;
    while (s->len && is_token(s->ptr[0]))
        *s = mcp__str_sub(*s, 1);
    token.len -= s->len;
    return token;
}

/* Takes a token, or what is within quotation marks. Escapes stay, because no address needs one. */
static bool take_value(mcp_str *s, mcp_str *ret)
{
    size_t end = 1;
    if (!next_is(*s, '"')) {
        *ret = take_token(s);
        return ret->len > 0;
    }
    while (end < s->len && s->ptr[end] != '"')
        end += s->ptr[end] == '\\' ? 2 : 1;
    if (end >= s->len)
        return false;
    *ret = (mcp_str){s->ptr + 1, end - 1};
    *s = mcp__str_sub(*s, end + 1);
    return true;
}

/* Takes a pair NAME=VALUE. *node is set if the name is "for", which may occur once. */
static bool take_pair(mcp_str *s, mcp_str *node)
{
    mcp_str name = take_token(s), value;
    if (!name.len || !next_is(*s, '='))
        return false;
    *s = mcp__str_sub(*s, 1);
    if (!take_value(s, &value))
        return false;
    if (!mcp__str_same(name, MCP_STR("for")))
        return true;
    bool first = !node->ptr;
    *node = value;
    return first;
}

/* Takes an element of the list with the comma behind it. Returns false if it is malformed. */
static bool take_element(mcp_str *s, mcp_str *node, bool *more)
{
    *node = (mcp_str){0};
    skip_space(s);
    for (bool pair = true; pair;) {
        if (s->len && s->ptr[0] != ';' && s->ptr[0] != ',' && !take_pair(s, node))
            return false;
        pair = next_is(*s, ';');
        *s = mcp__str_sub(*s, pair);
    }
    skip_space(s);
    *more = next_is(*s, ',');
    *s = mcp__str_sub(*s, *more);
    return *more || !s->len;
}

/* Removes a port that is not a number, such as ":_x" (obfport). */
static mcp_str without_hidden_port(mcp_str s)
{
    size_t at = s.len;
    while (at && (is_digit(s.ptr[at - 1]) || strchr("._-", s.ptr[at - 1]) ||
                  (mcp__lower(s.ptr[at - 1]) >= 'a' && mcp__lower(s.ptr[at - 1]) <= 'z')))
        at--;
    bool hidden = at && s.ptr[at - 1] == ':' && at + 1 < s.len && s.ptr[at] == '_';
    return hidden ? (mcp_str){s.ptr, at - 1} : s;
}

/* IPv6 addresses have brackets. "unknown" and hidden names (_x) are no addresses. */
static bool read_node(mcp_str s, mcp__http_ip *ret)
{
    size_t colons = 0;
    s = without_hidden_port(s);
    for (size_t i = 0; i < s.len; i++)
        colons += s.ptr[i] == ':';
    return (colons < 2 || next_is(s, '[')) && mcp__http_ip_read_host(s, ret);
}

/* Behind a malformed element nothing can be told apart, so the rest of the field counts as one entry. */
static void read_forwarded(mcp_http_connection *c, mcp_str value)
{
    mcp__http_ip ip;
    mcp_str node;
    for (bool more = true; more;) {
        bool valid = take_element(&value, &node, &more);
        more = more && valid;
        take_entry(c, valid && read_node(node, &ip) ? &ip : NULL);
    }
}

void mcp__http_take_forwarded(mcp_http_connection *c, mcp_str value)
{
    if (c->http->options.proxy_header)
        read_forwarded(c, value);
    else
        read_forwarded_for(c, value);
}

void mcp__http_client_text(const mcp_http_connection *c, char to[MCP__HTTP_IP_TEXT])
{
    to[0] = 0;
    if (mcp__http_is_forwarded(c))
        mcp__http_ip_write(&c->client_ip, to);
    else if (c->has_ip)
        mcp__http_ip_write(&c->peer_ip, to);
    else if (c->address)
        snprintf(to, MCP__HTTP_IP_TEXT, "%.40s", c->address->text);
}
