/* seal.c: seals texts that a peer keeps for the server. A sealed text is encrypted and
 * authenticated (AES-256-GCM), and valid only together with the text to which it is bound. This
 * file also has the server's source of random bytes and its calendar clock, which the program may
 * replace.
 *
 * A token is the base64url form of: version (1 byte), name of the key (4), nonce (12), the sealed
 * bytes, tag (16). Nonces are random, so a key should be changed before it has sealed 2^32 tokens.
 * OpenSSL is loaded when the first key is made (base/library.h).
 */
#define _GNU_SOURCE
#include <sys/random.h>
#include <time.h>

#if defined(MCP_HAS_OPENSSL) || defined(MCP_TLS_LINK)
#include <openssl/evp.h>
#else
/* Declarations in place of OpenSSL's headers. This part of the interface is the same in all
 * versions 3.x. */
typedef struct evp_cipher_ctx_st EVP_CIPHER_CTX;
typedef struct evp_cipher_st EVP_CIPHER;
typedef struct evp_md_st EVP_MD;
typedef struct engine_st ENGINE;
EVP_CIPHER_CTX *EVP_CIPHER_CTX_new(void);
void EVP_CIPHER_CTX_free(EVP_CIPHER_CTX *ctx);
int EVP_CIPHER_CTX_ctrl(EVP_CIPHER_CTX *ctx, int type, int number, void *ptr);
const EVP_CIPHER *EVP_aes_256_gcm(void);
int EVP_EncryptInit_ex(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, ENGINE *engine,
                       const unsigned char *key, const unsigned char *iv);
int EVP_EncryptUpdate(EVP_CIPHER_CTX *ctx, unsigned char *to, int *len, const unsigned char *from,
                      int n);
int EVP_EncryptFinal_ex(EVP_CIPHER_CTX *ctx, unsigned char *to, int *len);
int EVP_DecryptInit_ex(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, ENGINE *engine,
                       const unsigned char *key, const unsigned char *iv);
int EVP_DecryptUpdate(EVP_CIPHER_CTX *ctx, unsigned char *to, int *len, const unsigned char *from,
                      int n);
int EVP_DecryptFinal_ex(EVP_CIPHER_CTX *ctx, unsigned char *to, int *len);
int EVP_Digest(const void *data, size_t count, unsigned char *md, unsigned *size,
               const EVP_MD *type, ENGINE *engine);
const EVP_MD *EVP_sha256(void);
enum {
    EVP_CTRL_GCM_GET_TAG = 0x10,
    EVP_CTRL_GCM_SET_TAG = 0x11,
};
#endif

#include "base/library.h"
#include "server/core/seal.h"

enum {
    VERSION = 1,
    NAME = 4, /* number of bytes that identify the key */
    NONCE = 12,
    HEAD = 1 + NAME + NONCE,
    TAG = 16,
    KEY = 32,
    DEFAULT_LIFETIME_MS = 15 * 60 * 1000,
};

/* The limit avoids an overflow when a lifetime is added to a time. */
#define LONGEST_LIFETIME_MS ((uint64_t)INT64_MAX / 4)

#define FUNCTIONS(X)       \
    X(EVP_CIPHER_CTX_new)  \
    X(EVP_CIPHER_CTX_free) \
    X(EVP_CIPHER_CTX_ctrl) \
    X(EVP_aes_256_gcm)     \
    X(EVP_EncryptInit_ex)  \
    X(EVP_EncryptUpdate)   \
    X(EVP_EncryptFinal_ex) \
    X(EVP_DecryptInit_ex)  \
    X(EVP_DecryptUpdate)   \
    X(EVP_DecryptFinal_ex) \
    X(EVP_Digest)          \
    X(EVP_sha256)

typedef struct functions {
    FUNCTIONS(MCP__LIBRARY_MEMBER)
} functions;

typedef struct seal_key {
    unsigned char name[NAME];
    unsigned char bytes[KEY];
} seal_key;

struct mcp__seal {
    functions f;
    seal_key keys[2]; /* keys[0] seals; all keys can open */
    size_t n_keys;
    uint64_t lifetime_ms;
};

/* ---- functions that the program may replace ------------------------------------------------- */

int mcp__server_random(const mcp_server *server, void *bytes, size_t len)
{
    if (server->options.random)
        return server->options.random(bytes, len, server->options.user) < 0 ? MCP_EIO : MCP_OK;
    char *at = bytes;
    while (len) {
        ssize_t n = getrandom(at, len, 0);
        if (n <= 0)
            return MCP_EIO;
        at += n;
        len -= (size_t)n;
    }
    return MCP_OK;
}

int64_t mcp__server_clock(const mcp_server *server)
{
    if (server->options.clock)
        return server->options.clock(server->options.user);
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- loading --------------------------------------------------------------------------------- */

MCP__LOAD_OPENSSL(functions, FUNCTIONS, "libcrypto.so.3", "sealing needs OpenSSL 3")

/* ---- keys ------------------------------------------------------------------------------------ */

/* Derives the key and its name from the secret with one-way functions. */
static int derive(const functions *f, mcp__buf *scratch, const void *secret, size_t len,
                  seal_key *to)
{
    static const char *const purposes[] = {"mcp seal name", "mcp seal key"};
    unsigned char digest[2][KEY];
    for (size_t i = 0; i < 2; i++) {
        mcp__buf_reset(scratch, SIZE_MAX);
        mcp__buf_str(scratch, mcp_str_from(purposes[i]));
        mcp__buf_add(scratch, secret, len);
        if (scratch->failed)
            return scratch->failed;
        if (f->EVP_Digest(scratch->ptr, scratch->len, digest[i], NULL, f->EVP_sha256(), NULL) != 1)
            return MCP_EIO;
    }
    memcpy(to->name, digest[0], NAME);
    memcpy(to->bytes, digest[1], KEY);
    return MCP_OK;
}

static int derive_keys(mcp__seal *seal, const mcp_seal_options *o, const mcp_allocator *allocator)
{
    mcp__buf scratch;
    mcp__buf_init(&scratch, allocator, 0);
    mcp__buf_reserve(&scratch, o->key_len + o->old_key_len + 64); /* one block, wiped afterwards */
    int rc = scratch.failed;
    if (rc == MCP_OK)
        rc = derive(&seal->f, &scratch, o->key, o->key_len, &seal->keys[0]);
    if (rc == MCP_OK && o->old_key)
        rc = derive(&seal->f, &scratch, o->old_key, o->old_key_len, &seal->keys[1]);
    seal->n_keys = o->old_key ? 2 : 1;
    mcp__buf_wipe(&scratch);
    return rc;
}

/* The options with which a seal is made when it is needed (load_later). */
struct mcp__later_seal {
    unsigned char key[KEY];
    uint64_t lifetime_ms;
};

void mcp__seal_free(mcp_server *server)
{
    if (server->later_seal)
        mcp__wipe(server->later_seal, sizeof(*server->later_seal));
    mcp__release(&server->allocator, server->later_seal);
    server->later_seal = NULL;
    if (server->seal)
        mcp__wipe(server->seal, sizeof(*server->seal));
    mcp__release(&server->allocator, server->seal);
    server->seal = NULL;
}

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_seal_options, lifetime_ms, DEFAULT_LIFETIME_MS, .maximum = LONGEST_LIFETIME_MS),
};

static int set_seal(mcp_server *server, mcp_seal_options *o, mcp_error *error)
{
    mcp__seal *seal = mcp__zalloc(&server->allocator, sizeof(*seal));
    if (!seal)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a key");
    MCP_SET_DEFAULTS(o, defaults);
    seal->lifetime_ms = o->lifetime_ms;
    int rc = load(&seal->f, error);
    if (rc == MCP_OK) {
        rc = derive_keys(seal, o, &server->allocator);
        if (rc != MCP_OK)
            mcp__fail(error, rc, 0, "no key could be derived");
    }
    if (rc != MCP_OK) {
        mcp__wipe(seal, sizeof(*seal));
        mcp__release(&server->allocator, seal);
        return rc;
    }
    mcp__seal_free(server);
    server->seal = seal;
    return MCP_OK;
}

static int set_own_key(mcp_server *server, mcp_seal_options *o, mcp_error *error)
{
    unsigned char key[KEY];
    int rc = mcp__server_random(server, key, sizeof(key));
    if (rc != MCP_OK)
        return mcp__fail(error, rc, 0, "no random bytes are available for a key");
    o->key = key;
    o->key_len = sizeof(key);
    rc = set_seal(server, o, error);
    o->key = NULL;
    mcp__wipe(key, sizeof(key));
    return rc;
}

static int set_later(mcp_server *server, const mcp_seal_options *o, mcp_error *error)
{
    if (o->key_len != KEY || o->old_key)
        return mcp__fail(error, MCP_EINVAL, 0, "load_later needs one key of %d bytes", KEY);
    struct mcp__later_seal *later = mcp__alloc(&server->allocator, sizeof(*later));
    if (!later)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a key");
    memcpy(later->key, o->key, KEY);
    later->lifetime_ms = o->lifetime_ms;
    mcp__seal_free(server);
    server->later_seal = later;
    return MCP_OK;
}

int mcp_server_set_seal(mcp_server *server, const mcp_seal_options *options, mcp_error *error)
{
    mcp__no_error(error);
    mcp_seal_options o;
    int rc = mcp__need_server(server, error);
    if (rc == MCP_OK)
        rc = MCP__TAKE(&o, options, mcp_seal_options, error);
    if (rc != MCP_OK)
        return rc;
    if ((o.key && o.key_len < KEY) || (o.old_key && o.old_key_len < KEY))
        return mcp__fail(error, MCP_EINVAL, 0, "a sealing key must have at least %d bytes", KEY);
    if (o.key && o.load_later)
        return set_later(server, &o, error);
    return o.key ? set_seal(server, &o, error) : set_own_key(server, &o, error);
}

static int need_seal(mcp_server *server, mcp_error *error)
{
    mcp_seal_options o = {.size = sizeof(o)};
    if (server->seal)
        return MCP_OK;
    if (!server->later_seal)
        return set_own_key(server, &o, error);
    struct mcp__later_seal later = *server->later_seal; /* set_seal() frees it */
    o.key = later.key;
    o.key_len = KEY;
    o.lifetime_ms = later.lifetime_ms;
    int rc = set_seal(server, &o, error);
    mcp__wipe(&later, sizeof(later));
    return rc;
}

uint64_t mcp__seal_lifetime(const mcp_server *server)
{
    return server->seal ? server->seal->lifetime_ms : (uint64_t)DEFAULT_LIFETIME_MS;
}

/* ---- sealing and opening --------------------------------------------------------------------- */

static bool encrypt(const mcp__seal *seal, unsigned char *token, mcp_str bound, mcp_str plain)
{
    const functions *f = &seal->f;
    const unsigned char *nonce = token + 1 + NAME;
    unsigned char *to = token + HEAD;
    int n = 0, rest = 0;
    EVP_CIPHER_CTX *ctx = f->EVP_CIPHER_CTX_new();
    bool ok =
        ctx &&
        f->EVP_EncryptInit_ex(ctx, f->EVP_aes_256_gcm(), NULL, seal->keys[0].bytes, nonce) == 1 &&
        f->EVP_EncryptUpdate(ctx, NULL, &n, (const unsigned char *)bound.ptr, (int)bound.len) ==
            1 &&
        f->EVP_EncryptUpdate(ctx, to, &n, (const unsigned char *)plain.ptr, (int)plain.len) == 1 &&
        f->EVP_EncryptFinal_ex(ctx, to + n, &rest) == 1 &&
        f->EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG, to + plain.len) == 1;
    f->EVP_CIPHER_CTX_free(ctx);
    return ok;
}

int mcp__seal_text(mcp_server *server, mcp_str bound, mcp_str plain, mcp__buf *to, mcp_error *error)
{
    int rc = need_seal(server, error);
    if (rc != MCP_OK)
        return rc;
    if (plain.len > MCP__SEAL_MAX || bound.len > MCP__SEAL_MAX)
        return mcp__fail(error, MCP_ELIMIT, 0, "the data to seal is longer than %d bytes",
                         MCP__SEAL_MAX);
    size_t len = HEAD + plain.len + TAG;
    unsigned char *raw = mcp__alloc(&server->allocator, len);
    if (!raw)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory to seal");
    raw[0] = VERSION;
    memcpy(raw + 1, server->seal->keys[0].name, NAME);
    rc = mcp__server_random(server, raw + 1 + NAME, NONCE);
    if (rc != MCP_OK || !encrypt(server->seal, raw, bound, plain))
        rc = mcp__fail(error, MCP_EIO, 0, "sealing failed");
    char *out = rc == MCP_OK ? mcp__buf_reserve(to, MCP__BASE64_SIZE(len)) : NULL;
    if (out)
        to->len += mcp__base64url_encode(out, raw, len);
    mcp__release(&server->allocator, raw);
    return rc == MCP_OK ? to->failed : rc;
}

static bool decrypt(const mcp__seal *seal, const seal_key *key, unsigned char *raw, size_t len,
                    mcp_str bound, unsigned char *to)
{
    const functions *f = &seal->f;
    size_t sealed = len - HEAD - TAG;
    int n = 0, rest = 0;
    EVP_CIPHER_CTX *ctx = f->EVP_CIPHER_CTX_new();
    bool ok =
        ctx &&
        f->EVP_DecryptInit_ex(ctx, f->EVP_aes_256_gcm(), NULL, key->bytes, raw + 1 + NAME) == 1 &&
        f->EVP_DecryptUpdate(ctx, NULL, &n, (const unsigned char *)bound.ptr, (int)bound.len) ==
            1 &&
        f->EVP_DecryptUpdate(ctx, to, &n, raw + HEAD, (int)sealed) == 1 &&
        f->EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG, raw + len - TAG) == 1 &&
        f->EVP_DecryptFinal_ex(ctx, to + n, &rest) == 1;
    f->EVP_CIPHER_CTX_free(ctx);
    return ok;
}

static int open_raw(mcp_server *server, mcp_str bound, unsigned char *raw, size_t len,
                    mcp__buf *plain)
{
    const mcp__seal *seal = server->seal;
    if (len < HEAD + TAG || raw[0] != VERSION)
        return MCP_EINVAL;
    char *to = mcp__buf_reserve(plain, len);
    if (!to)
        return plain->failed;
    for (size_t i = 0; i < seal->n_keys; i++) {
        if (memcmp(raw + 1, seal->keys[i].name, NAME) == 0 &&
            decrypt(seal, &seal->keys[i], raw, len, bound, (unsigned char *)to)) {
            plain->len += len - HEAD - TAG;
            return MCP_OK;
        }
    }
    return MCP_EINVAL;
}

int mcp__seal_open(mcp_server *server, mcp_str bound, mcp_str token, mcp__buf *plain,
                   mcp_error *error)
{
    int rc = need_seal(server, error);
    if (rc != MCP_OK)
        return rc;
    if (token.len > MCP__BASE64_SIZE(MCP__SEAL_MAX + HEAD + TAG) || bound.len > MCP__SEAL_MAX)
        return mcp__fail(error, MCP_EINVAL, 0, "it is too long");
    unsigned char *raw = mcp__alloc(&server->allocator, token.len + 1);
    if (!raw)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory to open it");
    size_t len = mcp__base64url_decode(raw, token);
    rc = len == SIZE_MAX ? MCP_EINVAL : open_raw(server, bound, raw, len, plain);
    mcp__release(&server->allocator, raw);
    return rc == MCP_OK ? rc : mcp__fail(error, rc, 0, "it was not issued by this server");
}

/* ---- texts of the program -------------------------------------------------------------------- */

enum { EXPIRY = 8 }; /* bytes of the time, in milliseconds since 1970, before the text */

/* Writes what a text is bound to: "mcp text", the name of the server, the purpose. */
static void put_bound(const mcp_server *server, mcp_str purpose, mcp__buf *bound)
{
    mcp__buf_init(bound, &server->allocator, 0);
    mcp__buf_lit(bound, "mcp text ");
    mcp__buf_str(bound, mcp_str_from(server->name));
    mcp__buf_char(bound, 0);
    mcp__buf_str(bound, purpose);
}

static int take_out(mcp__buf *b, size_t from, char *to, size_t room, size_t *len)
{
    size_t n = b->len - from;
    if (n > room)
        return MCP_ELIMIT;
    if (n)
        memcpy(to, b->ptr + from, n);
    *len = n;
    return MCP_OK;
}

int mcp_server_seal(mcp_server *server, mcp_str purpose, mcp_str text, uint64_t lifetime_ms,
                    char *to, size_t room, size_t *len)
{
    mcp__buf bound, plain, sealed;
    if (!server || !len || (room && !to) || (text.len && !text.ptr))
        return MCP_EINVAL;
    uint64_t expiry =
        (uint64_t)mcp__server_clock(server) + MCP__MIN(lifetime_ms, (uint64_t)LONGEST_LIFETIME_MS);
    put_bound(server, purpose, &bound);
    mcp__buf_init(&plain, &server->allocator, 0);
    mcp__buf_init(&sealed, &server->allocator, 0);
    for (int i = EXPIRY - 1; i >= 0; i--)
        mcp__buf_char(&plain, (char)(unsigned char)(expiry >> 8 * i));
    mcp__buf_str(&plain, text);
    int rc = bound.failed ? bound.failed : plain.failed;
    if (rc == MCP_OK)
        rc = mcp__seal_text(server, mcp__buf_view(&bound), mcp__buf_view(&plain), &sealed, NULL);
    if (rc == MCP_OK)
        rc = take_out(&sealed, 0, to, room, len);
    mcp__buf_free(&bound);
    mcp__buf_wipe(&plain);
    mcp__buf_free(&sealed);
    return rc;
}

static int64_t read_expiry(const mcp__buf *plain)
{
    uint64_t expiry = 0;
    for (size_t i = 0; i < EXPIRY; i++)
        expiry = expiry << 8 | (unsigned char)plain->ptr[i];
    return (int64_t)expiry;
}

int mcp_server_unseal(mcp_server *server, mcp_str purpose, mcp_str sealed, char *to, size_t room,
                      size_t *len, uint64_t *left_ms)
{
    mcp__buf bound, plain;
    if (!server || !len || (room && !to) || (sealed.len && !sealed.ptr))
        return MCP_EINVAL;
    put_bound(server, purpose, &bound);
    mcp__buf_init(&plain, &server->allocator, 0);
    int rc = bound.failed;
    if (rc == MCP_OK)
        rc = mcp__seal_open(server, mcp__buf_view(&bound), sealed, &plain, NULL);
    if (rc == MCP_OK && plain.len < EXPIRY)
        rc = MCP_EINVAL;
    int64_t left = rc == MCP_OK ? read_expiry(&plain) - mcp__server_clock(server) : 0;
    if (rc == MCP_OK && left <= 0)
        rc = MCP_ETIMEOUT;
    if (rc == MCP_OK)
        rc = take_out(&plain, EXPIRY, to, room, len);
    if (rc == MCP_OK && left_ms)
        *left_ms = (uint64_t)left;
    mcp__buf_free(&bound);
    mcp__buf_wipe(&plain);
    return rc;
}
