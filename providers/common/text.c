/* text.c: see text.h. */
#include "text.h"

/* Returns the length of the sequence at `p`, or 0 if it is malformed or truncated. */
static size_t sequence(const unsigned char *p, size_t left)
{
    static const struct {
        unsigned char first, last; /* range of the first byte */
        unsigned char low, high;   /* range of the second byte; excludes overlong
                                    * forms and surrogates */
        unsigned char len;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (p[0] < forms[i].first || p[0] > forms[i].last)
            continue;
        size_t len = forms[i].len;
        if (left < len || p[1] < forms[i].low || p[1] > forms[i].high)
            return 0;
        for (size_t j = 2; j < len; j++) {
            if ((p[j] & 0xc0) != 0x80)
                return 0;
        }
        return len;
    }
    return 0;
}

/* Returns how many of the first bytes are known to be ASCII. Most texts are, so several words are compared
 * at once. */
static size_t ascii(const unsigned char *p, size_t len)
{
    static const uint64_t others = 0x8080808080808080u;
    uint64_t words[4];
    size_t at = 0;
    for (; len - at >= sizeof(words); at += sizeof(words)) {
        memcpy(words, p + at, sizeof(words));
        if ((words[0] | words[1] | words[2] | words[3]) & others)
            break;
    }
    for (; len - at >= sizeof(*words); at += sizeof(*words)) {
        memcpy(words, p + at, sizeof(*words));
        if (*words & others)
            break;
    }
    return at;
}

bool common_text_utf8(mcp_str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    size_t at = 0;
    while (at < bytes.len) {
        if (p[at] < 0x80)
            at += ascii(p + at, bytes.len - at);
        if (at == bytes.len)
            break;
        size_t len = p[at] < 0x80 ? 1 : sequence(p + at, bytes.len - at);
        if (len == 0)
            return false;
        at += len;
    }
    return true;
}

bool common_text_check(mcp_str bytes)
{
    if (bytes.len && memchr(bytes.ptr, '\0', bytes.len))
        return false;
    return common_text_utf8(bytes);
}

/* Compilers add the bytes of a block at once, because their sum fits in a byte. */
size_t common_text_feeds(mcp_str text)
{
    enum { BLOCK = 128 };
    size_t sum = 0, at = 0;
    for (; text.len - at >= BLOCK; at += BLOCK) {
        unsigned char n = 0;
        for (size_t i = 0; i < BLOCK; i++)
            n = (unsigned char)(n + (text.ptr[at + i] == '\n'));
        sum += n;
    }
    for (; at < text.len; at++)
        sum += text.ptr[at] == '\n';
    return sum;
}

mcp_str common_text_whole(mcp_str part)
{
    enum { LONGEST = 4 };
    size_t n = 0;
    while (n < LONGEST - 1 && part.len && ((unsigned char)*part.ptr & 0xc0) == 0x80)
        part.ptr++, part.len--, n++;
    for (n = 1; n < LONGEST && n <= part.len; n++) {
        unsigned char c = (unsigned char)part.ptr[part.len - n];
        size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        if ((c & 0xc0) == 0x80)
            continue;
        part.len -= len > n ? n : 0;
        break;
    }
    return part;
}

const char *common_text_without_path(const char *text, const char *instead)
{
    const char *slash = strrchr(text, '/'), *end = slash ? strstr(slash, ": ") : NULL;
    return !slash ? text : end && end[2] ? end + 2 : instead;
}
