/* jwk.h: the algorithms of signatures (RFC 7518, 8037, 9864), and the keys for them (RFC 7517).
 *
 * The key determines which algorithms a signature may use, and the header of a token only chooses
 * among them. The tables contain neither symmetric algorithms nor "none", so a header cannot choose
 * these. Keys are immutable, so any thread may use them. The reference count of a set is not
 * atomic: only the thread that owns the set may take and release references.
 */
#ifndef MCP_SRC_AUTH_JWK_H
#define MCP_SRC_AUTH_JWK_H

#include "auth/crypto.h"
#include "json/json.h"

/* The kind of a key: its type and, for all but RSA, its curve. */
typedef enum mcp__jwk_kind {
    MCP__JWK_RSA,
    MCP__JWK_P256,
    MCP__JWK_P384,
    MCP__JWK_P521,
    MCP__JWK_ED25519,
} mcp__jwk_kind;

typedef struct mcp__jws_alg {
    const char *name;
    mcp__jwk_kind kind;
    const char *digest; /* NULL for Ed25519 */
    bool pss;
} mcp__jws_alg;

/* The table of algorithms, which ends with a NULL name. */
extern const mcp__jws_alg mcp__jws_algs[];
/* Returns NULL for a name that is not in the table. */
const mcp__jws_alg *mcp__jws_alg_find(mcp_str name);

enum {
    MCP__JWK_LEAST_BITS = 2048, /* of an RSA key */
    MCP__JWK_MOST_BITS = 8192,
    MCP__JWK_SET_KEYS = 64,
    MCP__JWK_SET_BYTES = 64 << 10,
};

typedef struct mcp__jwk {
    const mcp__crypto *crypto;
    mcp_allocator allocator;
    EVP_PKEY *pkey;
    mcp__jwk_kind kind;
    const mcp__jws_alg *alg; /* the only algorithm that the key allows; NULL if it has no "alg" */
    size_t signature;        /* the size of a JWS signature with this key, in bytes */
    bool can_sign;
    mcp_str kid; /* empty if the key has no "kid"; in the same block of memory as the key */
    char thumbprint[MCP__SHA256_TEXT];
} mcp__jwk;

/* The members of a private RSA key, and their names in OpenSSL. The first two are public. */
extern const struct mcp__jwk_number {
    const char *name, *param;
} mcp__jwk_rsa[8];

typedef enum mcp__jwk_use {
    MCP__JWK_VERIFY, /* a key with a private part is refused */
    MCP__JWK_SIGN,   /* a key without a private part is refused */
} mcp__jwk_use;

/* Reads one key. `crypto` is borrowed and must outlive the key. Returns MCP_OK, MCP_EUNSUPPORTED (a
 * key of another type, or for another purpose), MCP_EINVAL (not a valid key) or MCP_ENOMEM. The
 * text of the error contains no part of the key. */
int mcp__jwk_read(const mcp__crypto *crypto, const mcp_json *jwk, mcp__jwk_use use,
                  const mcp_allocator *allocator, mcp__jwk **ret, mcp_error *error);
void mcp__jwk_free(mcp__jwk *key); /* NULL is allowed */

/* Returns whether the key allows signatures of this algorithm. */
bool mcp__jwk_allows(const mcp__jwk *key, const mcp__jws_alg *alg);

/* ---- sets ------------------------------------------------------------------------------------ */

typedef struct mcp__jwk_set {
    mcp_allocator allocator;
    size_t refs;
    size_t n;
    size_t skipped; /* number of keys that cannot verify signatures or are malformed */
    mcp__jwk *keys[MCP__JWK_SET_KEYS];
} mcp__jwk_set;

/* Reads a JWK set (RFC 7517 section 5). Keys that this layer cannot use are skipped. Returns
 * MCP_OK, MCP_ELIMIT (too long, or too many keys), MCP_EPARSE (not a JWK set), MCP_EINVAL (no key
 * that can verify a signature; the error says why the last one cannot) or MCP_ENOMEM. The set is
 * made with one reference. */
int mcp__jwk_set_read(const mcp__crypto *crypto, mcp_str text, const mcp_allocator *allocator,
                      mcp__jwk_set **ret, mcp_error *error);
mcp__jwk_set *mcp__jwk_set_ref(mcp__jwk_set *set);
void mcp__jwk_set_unref(mcp__jwk_set *set); /* NULL is allowed */

/* Returns the next key that allows the algorithm and has the `kid`, or NULL if there is none. An
 * empty `kid` matches every key. *at is the index to start from, 0 for the first call; it is set to
 * the index after the key. */
const mcp__jwk *mcp__jwk_set_next(const mcp__jwk_set *set, mcp_str kid, const mcp__jws_alg *alg,
                                  size_t *at);

#endif
