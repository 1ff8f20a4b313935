/* nonce.c: nonces of DPoP; see dpop.h.
 *
 * A nonce is the base64url form of 32 bytes: the time in seconds (8 bytes, big-endian), and the
 * first 24 bytes of the HMAC-SHA256 of a label and that time. The label identifies this format.
 */
#include "auth/dpop.h"

enum {
    HEAD = 8,
    TAG = 24,
};

static const char label[] = "mcp dpop nonce";

static bool seal(const mcp__crypto *crypto, const unsigned char key[MCP__SHA256],
                 const unsigned char head[HEAD], unsigned char tag[MCP__SHA256])
{
    char text[sizeof(label) + HEAD];
    memcpy(text, label, sizeof(label));
    memcpy(text + sizeof(label), head, HEAD);
    return mcp__hmac(crypto, key, (mcp_str){text, sizeof(text)}, tag);
}

bool mcp__nonce_make(const mcp__crypto *crypto, const unsigned char key[MCP__SHA256], int64_t now,
                     char to[MCP__NONCE_BYTES])
{
    unsigned char raw[HEAD + MCP__SHA256];
    for (size_t i = 0; i < 8; i++)
        raw[i] = (unsigned char)((uint64_t)now >> (56 - 8 * i));
    if (!seal(crypto, key, raw, raw + HEAD))
        return false;
    to[mcp__base64url_encode(to, raw, HEAD + TAG)] = '\0';
    return true;
}

bool mcp__nonce_check(const mcp__crypto *crypto, const unsigned char (*keys)[MCP__SHA256],
                      size_t n_keys, mcp_str nonce, int64_t now)
{
    unsigned char raw[HEAD + TAG], tag[MCP__SHA256];
    uint64_t made = 0;
    if (nonce.len != (sizeof(raw) * 4 + 2) / 3 || mcp__base64url_decode(raw, nonce) != sizeof(raw))
        return false;
    for (size_t i = 0; i < 8; i++)
        made = made << 8 | raw[i];
    bool known = false;
    for (size_t i = 0; i < n_keys && !known; i++)
        known = seal(crypto, keys[i], raw, tag) && crypto->CRYPTO_memcmp(tag, raw + HEAD, TAG) == 0;
    /* The time is authentic, so it was written by a server and the difference cannot overflow. */
    return known && now - (int64_t)made <= MCP__DPOP_WINDOW &&
           (int64_t)made - now <= MCP__TOKEN_SKEW;
}
