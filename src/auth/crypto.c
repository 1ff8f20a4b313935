/* crypto.c: loads libcrypto, and computes digests with it. */
#include "auth/crypto.h"

#define FUNCTIONS MCP__CRYPTO_FUNCTIONS
typedef mcp__crypto functions;

MCP__LOAD_OPENSSL(functions, FUNCTIONS, "libcrypto.so.3", "OAuth needs OpenSSL 3")

int mcp__crypto_load(mcp__crypto *crypto, mcp_error *error)
{
    return load(crypto, error);
}

bool mcp__sha256(const mcp__crypto *crypto, mcp_str text, unsigned char to[MCP__SHA256])
{
    return crypto->EVP_Digest(text.ptr, text.len, to, NULL, crypto->EVP_sha256(), NULL) == 1;
}

bool mcp__sha256_text(const mcp__crypto *crypto, mcp_str text, char to[MCP__SHA256_TEXT])
{
    unsigned char digest[MCP__SHA256];
    if (!mcp__sha256(crypto, text, digest))
        return false;
    mcp__base64url_encode(to, digest, sizeof(digest));
    return true;
}

bool mcp__hmac(const mcp__crypto *crypto, const unsigned char key[MCP__SHA256], mcp_str text,
               unsigned char to[MCP__SHA256])
{
    return crypto->HMAC(crypto->EVP_sha256(), key, MCP__SHA256, (const unsigned char *)text.ptr,
                        text.len, to, NULL) != NULL;
}

bool mcp__same_secret(const mcp__crypto *crypto, mcp_str a, mcp_str b)
{
    return a.len == b.len && crypto->CRYPTO_memcmp(a.ptr, b.ptr, a.len) == 0;
}
