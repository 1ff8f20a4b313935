/* utf8.c: UTF-8 checks. Strict: no surrogates, no overlong forms, nothing above U+10FFFF. */
#include "base/base.h"

static inline bool is_ascii8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return (word & UINT64_C(0x8080808080808080)) == 0;
}

/* The characters that begin with a range of lead bytes: their size, and the range of the second
 * byte, which excludes overlong forms, surrogates and code points above U+10FFFF. All further bytes
 * are in the range 80..BF. */
typedef struct utf8_lead {
    unsigned char first, last; /* lead bytes */
    unsigned char size;
    unsigned char low, high; /* second byte */
} utf8_lead;

static const utf8_lead leads[] = {
    {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xEE, 0xEF, 3, 0x80, 0xBF},
    {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F}, {0xF1, 0xF3, 4, 0x80, 0xBF},
    {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

size_t mcp__utf8_size(const char *bytes, size_t len)
{
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0; i < MCP__COUNT(leads); i++) {
        const utf8_lead *lead = &leads[i];
        if (p[0] < lead->first || p[0] > lead->last)
            continue;
        if (len < lead->size || p[1] < lead->low || p[1] > lead->high)
            return 0;
        for (size_t k = 2; k < lead->size; k++) {
            if ((p[k] & 0xC0) != 0x80)
                return 0;
        }
        return lead->size;
    }
    return p[0] < 0x80;
}

size_t mcp__utf8_valid(const char *bytes, size_t len)
{
    size_t i = 0;
    while (i < len) {
        while (len - i >= 8 && is_ascii8(bytes + i))
            i += 8;
        while (i < len && (unsigned char)bytes[i] < 0x80)
            i++;
        /* Runs of characters outside ASCII stay in this loop. */
        while (i < len && (unsigned char)bytes[i] >= 0x80) {
            size_t n = mcp__utf8_size(bytes + i, len - i);
            if (n == 0)
                return i;
            i += n;
        }
    }
    return len;
}

size_t mcp__utf8_cut(const char *bytes, size_t len)
{
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t back = 1; back <= 4 && back <= len; back++) {
        unsigned char c = p[len - back];
        if ((c & 0xC0) == 0x80)
            continue;
        size_t size = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        return size > back ? len - back : len;
    }
    return len;
}
