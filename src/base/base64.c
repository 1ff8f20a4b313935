/* base64.c: Base64 with padding and base64url without it (RFC 4648).
 *
 * Encoding is on the hot path of every binary resource, so it looks up 12 bits at a time: two
 * characters from one 8 KiB table. Decoding is strict: accepted text has exactly one spelling.
 */
#include "base/base.h"

/* clang-format off */
#define ROW(a) \
    {a, 'A'}, {a, 'B'}, {a, 'C'}, {a, 'D'}, {a, 'E'}, {a, 'F'}, {a, 'G'}, {a, 'H'}, \
    {a, 'I'}, {a, 'J'}, {a, 'K'}, {a, 'L'}, {a, 'M'}, {a, 'N'}, {a, 'O'}, {a, 'P'}, \
    {a, 'Q'}, {a, 'R'}, {a, 'S'}, {a, 'T'}, {a, 'U'}, {a, 'V'}, {a, 'W'}, {a, 'X'}, \
    {a, 'Y'}, {a, 'Z'}, {a, 'a'}, {a, 'b'}, {a, 'c'}, {a, 'd'}, {a, 'e'}, {a, 'f'}, \
    {a, 'g'}, {a, 'h'}, {a, 'i'}, {a, 'j'}, {a, 'k'}, {a, 'l'}, {a, 'm'}, {a, 'n'}, \
    {a, 'o'}, {a, 'p'}, {a, 'q'}, {a, 'r'}, {a, 's'}, {a, 't'}, {a, 'u'}, {a, 'v'}, \
    {a, 'w'}, {a, 'x'}, {a, 'y'}, {a, 'z'}, {a, '0'}, {a, '1'}, {a, '2'}, {a, '3'}, \
    {a, '4'}, {a, '5'}, {a, '6'}, {a, '7'}, {a, '8'}, {a, '9'}, {a, '+'}, {a, '/'},
static const char pairs[4096][2] = {
    ROW('A') ROW('B') ROW('C') ROW('D') ROW('E') ROW('F') ROW('G') ROW('H')
    ROW('I') ROW('J') ROW('K') ROW('L') ROW('M') ROW('N') ROW('O') ROW('P')
    ROW('Q') ROW('R') ROW('S') ROW('T') ROW('U') ROW('V') ROW('W') ROW('X')
    ROW('Y') ROW('Z') ROW('a') ROW('b') ROW('c') ROW('d') ROW('e') ROW('f')
    ROW('g') ROW('h') ROW('i') ROW('j') ROW('k') ROW('l') ROW('m') ROW('n')
    ROW('o') ROW('p') ROW('q') ROW('r') ROW('s') ROW('t') ROW('u') ROW('v')
    ROW('w') ROW('x') ROW('y') ROW('z') ROW('0') ROW('1') ROW('2') ROW('3')
    ROW('4') ROW('5') ROW('6') ROW('7') ROW('8') ROW('9') ROW('+') ROW('/')
};
#undef ROW

/* The value of a character plus one, or 0 if it is not in the alphabet. */
#define COMMON_VALUES \
    ['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7, ['H'] = 8, \
    ['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, \
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24, \
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32, \
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, \
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48, \
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56, \
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62,
/* clang-format on */
static const unsigned char standard_values[256] = {COMMON_VALUES['+'] = 63, ['/'] = 64};
static const unsigned char url_values[256] = {COMMON_VALUES['-'] = 63, ['_'] = 64};

static inline void put_pair(char *to, uint64_t twelve_bits)
{
    memcpy(to, pairs[twelve_bits & 0xfff], 2);
}

static inline uint64_t load_big6(const unsigned char *p)
{
    return (uint64_t)p[0] << 40 | (uint64_t)p[1] << 32 | (uint64_t)p[2] << 24 |
           (uint64_t)p[3] << 16 | (uint64_t)p[4] << 8 | p[5];
}

void mcp__base64_encode(char *to, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    for (; len >= 6; p += 6, to += 8, len -= 6) {
        uint64_t word = load_big6(p);
        put_pair(to, word >> 36);
        put_pair(to + 2, word >> 24);
        put_pair(to + 4, word >> 12);
        put_pair(to + 6, word);
    }
    for (; len >= 3; p += 3, to += 4, len -= 3) {
        uint64_t word = (uint64_t)p[0] << 16 | (uint64_t)p[1] << 8 | p[2];
        put_pair(to, word >> 12);
        put_pair(to + 2, word);
    }
    if (len == 0)
        return;
    uint64_t word = (uint64_t)p[0] << 16 | (len == 2 ? (uint64_t)p[1] << 8 : 0);
    put_pair(to, word >> 12);
    put_pair(to + 2, word);
    to[3] = '=';
    if (len == 1)
        to[2] = '=';
}

size_t mcp__base64url_encode(char *to, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    char four[4];
    size_t out = 0;
    while (len) {
        size_t n = MCP__MIN(len, (size_t)3);
        mcp__base64_encode(four, p, n);
        for (size_t i = 0; i < n + 1; i++)
            to[out++] = (char)(four[i] == '+' ? '-' : four[i] == '/' ? '_' : four[i]);
        p += n;
        len -= n;
    }
    return out;
}

/* Decodes text without padding, for both alphabets. */
static size_t decode(unsigned char *to, mcp_str text, const unsigned char values[256])
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    size_t out = 0, i = 0;
    uint32_t bits = 0;
    for (; i < text.len; i++) {
        uint32_t value = values[p[i]];
        if (value == 0)
            return SIZE_MAX;
        bits = bits << 6 | (value - 1);
        if (i % 4 == 3) {
            to[out++] = (unsigned char)(bits >> 16);
            to[out++] = (unsigned char)(bits >> 8);
            to[out++] = (unsigned char)bits;
            bits = 0;
        }
    }
    /* Two remaining characters are 8 bits of data and 4 bits that must be zero. Three are 16 bits
     * and 2 bits. One is malformed. */
    switch (i % 4) {
    case 0: return out;
    case 2:
        if (bits & 0xf)
            return SIZE_MAX;
        to[out++] = (unsigned char)(bits >> 4);
        return out;
    case 3:
        if (bits & 0x3)
            return SIZE_MAX;
        to[out++] = (unsigned char)(bits >> 10);
        to[out++] = (unsigned char)(bits >> 2);
        return out;
    default: return SIZE_MAX;
    }
}

bool mcp__base64_is_valid(mcp_str text)
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    if (text.len % 4 != 0)
        return false;
    for (int pad = 0; pad < 2 && text.len && text.ptr[text.len - 1] == '='; pad++)
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        if (!standard_values[p[i]])
            return false;
    }
    /* The last character of a part of a group has bits that are no data, which must be zero. */
    unsigned last = text.len ? standard_values[p[text.len - 1]] - 1u : 0;
    return text.len % 4 == 0 || (text.len % 4 == 2 && !(last & 0xf)) ||
           (text.len % 4 == 3 && !(last & 0x3));
}

size_t mcp__base64url_decode(void *to, mcp_str text)
{
    return decode(to, text, url_values);
}

size_t mcp__base64_decode(void *to, mcp_str text)
{
    if (text.len % 4 != 0)
        return SIZE_MAX;
    for (int pad = 0; pad < 2 && text.len && text.ptr[text.len - 1] == '='; pad++)
        text.len--;
    return decode(to, text, standard_values);
}
