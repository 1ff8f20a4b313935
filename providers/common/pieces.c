/* pieces.c: see pieces.h. */
#include "pieces.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool common_pieces_take(common_pieces *p, const char *stops, mcp_str *ret)
{
    size_t len = 0, decoded;
    while (len < p->rest.len && p->rest.ptr[len] && !strchr(stops, p->rest.ptr[len]))
        len++;
    if ((len < p->rest.len && !p->rest.ptr[len]) ||
        mcp_uri_decode((mcp_str){p->rest.ptr, len}, p->room, len, &decoded) != MCP_OK ||
        (!p->nul && decoded && memchr(p->room, 0, decoded)))
        return false;
    p->room[decoded] = 0;
    *ret = (mcp_str){p->room, decoded};
    p->room += decoded + 1;
    p->rest.ptr += len;
    p->rest.len -= len;
    return true;
}

bool common_pieces_skip(common_pieces *p, char c)
{
    return common_pieces_skip_text(p, (mcp_str){&c, 1});
}

bool common_pieces_skip_text(common_pieces *p, mcp_str text)
{
    if (p->rest.len < text.len || memcmp(p->rest.ptr, text.ptr, text.len) != 0)
        return false;
    p->rest.ptr += text.len;
    p->rest.len -= text.len;
    return true;
}

bool common_pieces_take_keys(common_pieces *p, mcp_str *keys, size_t max, size_t *ret_n)
{
    size_t n = 0;
    while (common_pieces_skip(p, '/')) {
        if (n == max || !common_pieces_take(p, "/?#", &keys[n++]))
            return false;
    }
    *ret_n = n;
    return n > 0;
}

bool common_pieces_take_pairs(common_pieces *p, mcp_uri_pair *pairs, size_t max, size_t *ret_n)
{
    size_t n = 0;
    while (p->rest.len) {
        if (n == max)
            return false;
        mcp_uri_pair *pair = &pairs[n++];
        if (!common_pieces_take(p, "=&#", &pair->name) || !pair->name.len)
            return false;
        pair->value = (mcp_str){"", 0};
        if (common_pieces_skip(p, '=') && !common_pieces_take(p, "&#", &pair->value))
            return false;
        if (p->rest.len && (!common_pieces_skip(p, '&') || !p->rest.len))
            return false;
    }
    *ret_n = n;
    return true;
}

size_t common_pieces_encode(char to[3], char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    unsigned char c = (unsigned char)byte;
    if ((c < 0x80 && isalnum(c)) || (c && strchr("-._~", c))) {
        to[0] = byte;
        return 1;
    }
    to[0] = '%';
    to[1] = digits[c >> 4];
    to[2] = digits[c & 15];
    return 3;
}

bool common_pieces_put(common_buffer *to, mcp_str text)
{
    char encoded[3];
    for (size_t i = 0; i < text.len; i++)
        if (common_buffer_append(to, encoded, common_pieces_encode(encoded, text.ptr[i])) != MCP_OK)
            return false;
    return true;
}

bool common_pieces_behind(mcp_str uri, const char *prefix, mcp_str *rest)
{
    size_t scheme = strcspn(prefix, ":"), len = strlen(prefix);
    if (uri.len < len || memcmp(uri.ptr + scheme, prefix + scheme, len - scheme) != 0)
        return false;
    for (size_t i = 0; i < scheme; i++)
        if (tolower((unsigned char)uri.ptr[i]) != prefix[i])
            return false;
    *rest = (mcp_str){uri.ptr + len, uri.len - len};
    return true;
}

bool common_pieces_number(mcp_str text, uint64_t min, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;
    if (!text.len || text.len > 18)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *ret = value;
    return value >= min && value <= max;
}

bool common_pieces_only(const mcp_uri_pair *pairs, size_t n, const char *const *names,
                        char why[300])
{
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (names[k] && !mcp_str_eq(pairs[i].name, mcp_str_from(names[k])))
            k++;
        if (names[k])
            continue;
        int len =
            snprintf(why, 300, "the parameter %.60s is not supported here", pairs[i].name.ptr);
        for (k = 0; names[k] && len < 250; k++)
            len += snprintf(why + len, 300 - (size_t)len, "%s%.30s", k ? " and " : ", only ",
                            names[k]);
        if (!names[0])
            snprintf(why + len, 300 - (size_t)len, ": this URI has no parameters");
        return false;
    }
    return true;
}

const mcp_str *common_pieces_value(const mcp_uri_pair *pairs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (mcp_str_eq(pairs[i].name, mcp_str_from(name)))
            return &pairs[i].value;
    return NULL;
}
