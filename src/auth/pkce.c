/* pkce.c: proof keys for code exchange (RFC 7636), and states; see authorize.h. */
#include "auth/authorize.h"

void mcp__random_text(const unsigned char random[MCP__RANDOM], char to[MCP__RANDOM_TEXT])
{
    size_t len = mcp__base64url_encode(to, random, MCP__RANDOM);
    to[len] = '\0';
}

bool mcp__pkce_challenge(const mcp__crypto *crypto, mcp_str verifier, char to[MCP__RANDOM_TEXT])
{
    to[MCP__SHA256_TEXT] = '\0';
    return mcp__sha256_text(crypto, verifier, to);
}

bool mcp__pkce_make(const mcp__crypto *crypto, const unsigned char random[MCP__RANDOM],
                    mcp__pkce *ret)
{
    mcp__random_text(random, ret->verifier);
    return mcp__pkce_challenge(crypto, mcp_str_from(ret->verifier), ret->challenge);
}
