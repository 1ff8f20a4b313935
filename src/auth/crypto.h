/* crypto.h: the functions of libcrypto (OpenSSL 3) that this layer calls. They are loaded late; see
 * base/library.h. The table is immutable after it is loaded, so any thread may use it. */
#ifndef MCP_SRC_AUTH_CRYPTO_H
#define MCP_SRC_AUTH_CRYPTO_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/rsa.h>

#include "base/library.h"

#define MCP__CRYPTO_FUNCTIONS(X)         \
    X(CRYPTO_memcmp)                     \
    X(OPENSSL_cleanse)                   \
    X(ERR_clear_error)                   \
    X(EVP_sha256)                        \
    X(EVP_Digest)                        \
    X(HMAC)                              \
    X(EVP_MAC_fetch)                     \
    X(EVP_MAC_free)                      \
    X(EVP_MAC_CTX_new)                   \
    X(EVP_MAC_CTX_free)                  \
    X(EVP_MAC_init)                      \
    X(EVP_MAC_update)                    \
    X(EVP_MAC_final)                     \
    X(EVP_MD_CTX_new)                    \
    X(EVP_MD_CTX_free)                   \
    X(EVP_DigestVerifyInit_ex)           \
    X(EVP_DigestVerify)                  \
    X(EVP_DigestSignInit_ex)             \
    X(EVP_DigestSign)                    \
    X(EVP_PKEY_free)                     \
    X(EVP_PKEY_new_raw_public_key)       \
    X(EVP_PKEY_new_raw_private_key)      \
    X(EVP_PKEY_get_raw_public_key)       \
    X(EVP_PKEY_get_raw_private_key)      \
    X(EVP_PKEY_get_bn_param)             \
    X(EVP_PKEY_get_utf8_string_param)    \
    X(EVP_PKEY_is_a)                     \
    X(EVP_PKEY_keygen_init)              \
    X(EVP_PKEY_CTX_set_params)           \
    X(EVP_PKEY_generate)                 \
    X(BN_num_bits)                       \
    X(BN_bn2binpad)                      \
    X(BN_clear_free)                     \
    X(d2i_AutoPrivateKey)                \
    X(EVP_PKEY_CTX_new_from_name)        \
    X(EVP_PKEY_CTX_new_from_pkey)        \
    X(EVP_PKEY_CTX_free)                 \
    X(EVP_PKEY_fromdata_init)            \
    X(EVP_PKEY_fromdata)                 \
    X(EVP_PKEY_pairwise_check)           \
    X(EVP_PKEY_CTX_set_rsa_padding)      \
    X(EVP_PKEY_CTX_set_rsa_pss_saltlen)  \
    X(OSSL_PARAM_construct_utf8_string)  \
    X(OSSL_PARAM_construct_octet_string) \
    X(OSSL_PARAM_construct_BN)           \
    X(OSSL_PARAM_construct_end)

typedef struct mcp__crypto {
    MCP__CRYPTO_FUNCTIONS(MCP__LIBRARY_MEMBER)
} mcp__crypto;

/* The size of a SHA-256 digest, and of its base64url form. */
#define MCP__SHA256      32
#define MCP__SHA256_TEXT 43

/* Returns MCP_OK, or MCP_EUNSUPPORTED if OpenSSL 3 is not installed. */
int mcp__crypto_load(mcp__crypto *crypto, mcp_error *error);

/* The next three functions return false if libcrypto fails. */
bool mcp__sha256(const mcp__crypto *crypto, mcp_str text, unsigned char to[MCP__SHA256]);
/* Writes the digest in base64url, without a NUL. */
bool mcp__sha256_text(const mcp__crypto *crypto, mcp_str text, char to[MCP__SHA256_TEXT]);
/* Computes HMAC-SHA256. */
bool mcp__hmac(const mcp__crypto *crypto, const unsigned char key[MCP__SHA256], mcp_str text,
               unsigned char to[MCP__SHA256]);
/* Compares two strings in a time that depends only on their lengths. */
bool mcp__same_secret(const mcp__crypto *crypto, mcp_str a, mcp_str b);

#endif
