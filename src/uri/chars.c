/* chars.c: character classes, percent-encoding, and the normal form of URIs.
 *
 * Templates and URIs are compared in normal form. It is the part of RFC 3986 section 6.2.2 that is
 * safe for any scheme: %XX in upper case, no %XX for unreserved characters, and %XX for bytes that
 * are not allowed in a URI. Dot segments are not removed.
 */
#include "uri/uri.h"

#define U   MCP__URI_UNRESERVED | MCP__URI_SEGMENT | MCP__URI_LITERAL
#define A   U | MCP__URI_SCHEME | MCP__URI_VARCHAR /* letter, digit */
#define P   U | MCP__URI_SCHEME                    /* - . */
#define V   U | MCP__URI_VARCHAR                   /* _ */
#define R   MCP__URI_RESERVED | MCP__URI_LITERAL   /* / ? # [ ] ; */
#define S   R | MCP__URI_SEGMENT                   /* ! $ & ' ( ) * , = : @ */
#define C   S | MCP__URI_SCHEME                    /* + */
#define L   MCP__URI_LITERAL                       /* above ASCII */
#define L16 L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L
/* clang-format off */
const unsigned char mcp__uri_classes[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /*   ! " # $ % & ' ( ) * + , - . / */
    0, S, 0, R, S, 0, S, S, S, S, S, C, S, P, P, R,
    /* 0 ... 9 : ; < = > ? */
    A, A, A, A, A, A, A, A, A, A, S, R, 0, S, 0, R,
    S, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A,
    /* P ... Z [ \ ] ^ _ */
    A, A, A, A, A, A, A, A, A, A, A, R, 0, R, 0, V,
    0, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A,
    /* p ... z { | } ~ DEL */
    A, A, A, A, A, A, A, A, A, A, A, 0, 0, 0, U, 0,
    L16, L16, L16, L16, L16, L16, L16, L16,
};
/* clang-format on */

const unsigned char mcp__uri_stops[256] = {
    ['/'] = MCP__URI_STOP_SLASH, ['?'] = MCP__URI_STOP_QUERY, ['#'] = MCP__URI_STOP_HASH,
    ['&'] = MCP__URI_STOP_AMP,   [';'] = MCP__URI_STOP_SEMI,
};

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = mcp__lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int mcp__uri_triplet(mcp_str s, size_t at)
{
    if (s.len - at < 3 || s.ptr[at] != '%')
        return -1;
    int high = hex(s.ptr[at + 1]);
    int low = hex(s.ptr[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void mcp__uri_escape(char *to, unsigned char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    to[0] = '%';
    to[1] = digits[byte >> 4];
    to[2] = digits[byte & 15];
}

size_t mcp__uri_normal(mcp_str s, size_t *at, char out[3])
{
    char c = s.ptr[*at];
    if (c == '%') {
        int byte = mcp__uri_triplet(s, *at);
        if (byte < 0)
            return 0;
        *at += 3;
        if (mcp__uri_is((char)byte, MCP__URI_UNRESERVED)) {
            out[0] = (char)byte;
            return 1;
        }
        mcp__uri_escape(out, (unsigned char)byte);
        return 3;
    }
    if (c == '\0')
        return 0;
    *at += 1;
    if (mcp__uri_is(c, MCP__URI_UNRESERVED | MCP__URI_RESERVED)) {
        out[0] = c;
        return 1;
    }
    mcp__uri_escape(out, (unsigned char)c);
    return 3;
}

size_t mcp__uri_scheme_length(mcp_str s)
{
    size_t n = 0;
    while (n < s.len && mcp__uri_is(s.ptr[n], MCP__URI_SCHEME))
        n++;
    if (n == 0 || n == s.len || s.ptr[n] != ':')
        return 0;
    char first = mcp__lower(s.ptr[0]);
    return first >= 'a' && first <= 'z' ? n + 1 : 0;
}

int mcp_uri_decode(mcp_str text, char *to, size_t size, size_t *ret_len)
{
    size_t len = 0;
    for (size_t at = 0; at < text.len; len++) {
        char c = text.ptr[at];
        if (c == '%') {
            int byte = mcp__uri_triplet(text, at);
            if (byte < 0)
                return MCP_EPARSE;
            c = (char)byte;
            at += 3;
        } else {
            at++;
        }
        if (len == size)
            return MCP_ELIMIT;
        to[len] = c;
    }
    *ret_len = len;
    return MCP_OK;
}

static size_t encode(mcp_str bytes, char *to, bool keep_slash)
{
    size_t len = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        char c = bytes.ptr[i];
        if (mcp__uri_is(c, MCP__URI_SEGMENT) || (keep_slash && c == '/')) {
            to[len++] = c;
        } else {
            mcp__uri_escape(to + len, (unsigned char)c);
            len += 3;
        }
    }
    return len;
}

size_t mcp_uri_encode_segment(mcp_str bytes, char *to)
{
    return encode(bytes, to, false);
}

size_t mcp_uri_encode_path(mcp_str bytes, char *to)
{
    return encode(bytes, to, true);
}
