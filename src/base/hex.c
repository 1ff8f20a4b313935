/* hex.c: lower-case hexadecimal digits, the form of ids. */
#include "base/base.h"

char *mcp__hex_encode(char *to, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < len; i++) {
        *to++ = "0123456789abcdef"[p[i] >> 4];
        *to++ = "0123456789abcdef"[p[i] & 15];
    }
    return to;
}

static unsigned value_of(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

void mcp__hex_decode(void *to, const char *digits, size_t len)
{
    unsigned char *p = to;
    for (size_t i = 0; i < len; i++)
        p[i] = (unsigned char)(value_of(digits[2 * i]) << 4 | value_of(digits[2 * i + 1]));
}
