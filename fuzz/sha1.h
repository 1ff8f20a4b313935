/* sha1.h: SHA-1 for the checksums of files that fuzz targets write. It is short rather than fast,
 * and must not be used for security. */
#ifndef MCP_FUZZ_SHA1_H
#define MCP_FUZZ_SHA1_H

#include <stdint.h>
#include <string.h>

enum { SHA1_SIZE = 20, SHA1_BLOCK = 64 };

static inline uint32_t sha1_turn(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static inline uint32_t sha1_mix(unsigned i, uint32_t b, uint32_t c, uint32_t d)
{
    if (i < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (i >= 40 && i < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + (i < 40 ? 0x6ed9eba1 : 0xca62c1d6);
}

static inline void sha1_block(uint32_t h[5], const unsigned char *p)
{
    uint32_t w[80], v[5];
    for (unsigned i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (unsigned i = 16; i < 80; i++)
        w[i] = sha1_turn(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    memcpy(v, h, sizeof(v));
    for (unsigned i = 0; i < 80; i++) {
        uint32_t next = sha1_turn(v[0], 5) + sha1_mix(i, v[1], v[2], v[3]) + v[4] + w[i];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = sha1_turn(v[1], 30);
        v[1] = v[0];
        v[0] = next;
    }
    for (unsigned i = 0; i < 5; i++)
        h[i] += v[i];
}

static inline void sha1(const void *bytes, size_t len, unsigned char sum[SHA1_SIZE])
{
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    unsigned char last[2 * SHA1_BLOCK] = {0};
    const unsigned char *p = bytes;
    size_t rest = len % SHA1_BLOCK, tail = rest < 56 ? SHA1_BLOCK : 2 * SHA1_BLOCK;
    for (size_t i = 0; i + SHA1_BLOCK <= len; i += SHA1_BLOCK)
        sha1_block(h, p + i);
    if (rest)
        memcpy(last, p + len - rest, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[tail - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    for (size_t i = 0; i < tail; i += SHA1_BLOCK)
        sha1_block(h, last + i);
    for (unsigned i = 0; i < SHA1_SIZE; i++)
        sum[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}

#endif
