/* base.h: the basis of all layers: memory hook, bounded buffer, arena, map, UTF-8, Base64.
 *
 * Symbols with two underscores (mcp__) are shared between the files of the library. Those that
 * libmcp-io also calls are marked MCP__SHARED and exported from libmcp.so in a version node of
 * their own (src/CMakeLists.txt). The others are not exported.
 */
#ifndef MCP_SRC_BASE_H
#define MCP_SRC_BASE_H

#include <assert.h>

#include <mcp/base.h>

#define MCP__COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MCP__MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MCP__MAX(a, b)    ((a) > (b) ? (a) : (b))

#if defined(__GNUC__) || defined(__clang__)
#define MCP__LIKELY(x)   __builtin_expect(!!(x), 1)
#define MCP__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MCP__CLEANUP(fn) __attribute__((cleanup(fn)))
#define MCP__NOINLINE    __attribute__((noinline))
#define MCP__FALLTHROUGH __attribute__((fallthrough))
#define MCP__SHARED      __attribute__((visibility("default")))
#else
#define MCP__LIKELY(x)   (x)
#define MCP__UNLIKELY(x) (x)
#define MCP__NOINLINE
#define MCP__FALLTHROUGH
#define MCP__SHARED
#endif

/* The name contains the version, and libmcp-io refers to it. A program therefore cannot be linked
 * with archives of two versions, just as it cannot load shared libraries of two versions. */
#define MCP__PAIR_NAME(major, minor, patch)   mcp__pair_##major##_##minor##_##patch
#define MCP__PAIR_EXPAND(major, minor, patch) MCP__PAIR_NAME(major, minor, patch)
#define MCP__PAIR                             MCP__PAIR_EXPAND(MCP_VERSION_MAJOR, MCP_VERSION_MINOR, MCP_VERSION_PATCH)
MCP__SHARED extern const char MCP__PAIR;
static inline void mcp__refer_to_version(void)
{
    (void)*(const volatile char *)&MCP__PAIR;
}

/* ---- error.c --------------------------------------------------------------------------------- */

/* Fills *error (which may be NULL) and returns code, so that a failing function ends with
 * `return mcp__fail(error, MCP_EPARSE, offset, "…", …)`. */
MCP__SHARED int mcp__fail(mcp_error *error, int code, size_t offset, const char *format, ...)
    MCP_PRINTF(4, 5);

/* ---- memory.c -------------------------------------------------------------------------------- */

/* Uses malloc(), realloc() and free(). */
MCP__SHARED extern const mcp_allocator mcp__default_allocator;

/* Returns allocator, or the default allocator if it is NULL. */
static inline const mcp_allocator *mcp__allocator(const mcp_allocator *allocator)
{
    return allocator ? allocator : &mcp__default_allocator;
}

static inline void *mcp__alloc(const mcp_allocator *a, size_t size)
{
    return a->allocate(size, a->user);
}
static inline void *mcp__resize(const mcp_allocator *a, void *ptr, size_t size)
{
    return a->resize(ptr, size, a->user);
}
static inline void mcp__release(const mcp_allocator *a, void *ptr)
{
    if (ptr)
        a->release(ptr, a->user);
}
/* Allocates zeroed memory. */
MCP__SHARED void *mcp__zalloc(const mcp_allocator *a, size_t size);
/* Returns a NUL-terminated copy of s, or NULL if out of memory. */
MCP__SHARED char *mcp__strdup(const mcp_allocator *a, mcp_str s);
/* Overwrites memory that had a secret, also if nothing reads it afterwards. NULL is allowed. */
MCP__SHARED void mcp__wipe(void *bytes, size_t len);

/* ---- sized.c --------------------------------------------------------------------------------- */

/* Copies a struct that the program passed. The struct begins with its size, and may have fewer or
 * more members than the library's version of the struct. Members that it lacks are zero in the
 * copy. Returns MCP_EINVAL if `from` is NULL or its size is not set; `to` is then zero. The
 * optional variant accepts NULL, which means a struct whose members are zero. */
MCP__SHARED int mcp__take(void *to, size_t to_size, const void *from, const char *type,
                          mcp_error *error);
MCP__SHARED int mcp__take_optional(void *to, size_t to_size, const void *from, const char *type,
                                   mcp_error *error);
#define MCP__TAKE(to, from, type, error) mcp__take((to), sizeof(type), (from), #type, (error))
#define MCP__TAKE_OPTIONAL(to, from, type, error) \
    mcp__take_optional((to), sizeof(type), (from), #type, (error))

/* Checks an array of such structs. Returns MCP_EINVAL if the size of the first element is not set
 * or another element has a different size. mcp__take_element() then copies one element. */
MCP__SHARED int mcp__check_array(const void *array, size_t n, const char *type, mcp_error *error);
MCP__SHARED void mcp__take_element(void *to, size_t to_size, const void *array, size_t i);

/* Clears *error (which may be NULL), as every call that succeeds does. */
static inline void mcp__no_error(mcp_error *error)
{
    if (error) {
        error->code = MCP_OK;
        error->offset = 0;
        error->text[0] = '\0';
    }
}

/* ---- buf.c: a growing byte buffer with a limit ----------------------------------------------- */

/* Initialize with mcp__buf_init(); a limit of 0 means no limit. The first failure (MCP_ENOMEM,
 * MCP_ELIMIT) is stored in `failed`, and later appends do nothing, so the caller can check once
 * after a series of appends. */
typedef struct mcp__buf {
    char *ptr;
    size_t len;
    size_t cap;
    size_t limit;
    int failed;
    const mcp_allocator *allocator; /* borrowed */
} mcp__buf;

MCP__SHARED void mcp__buf_init(mcp__buf *b, const mcp_allocator *allocator, size_t limit);
MCP__SHARED void mcp__buf_free(mcp__buf *b);
/* Empties a buffer that had a secret, and frees its memory after overwriting it. Growth may have left
 * copies elsewhere. */
MCP__SHARED void mcp__buf_wipe(mcp__buf *b);
/* Empties the buffer and clears a failure. The memory is freed if it is larger than `keep`
 * bytes. */
MCP__SHARED void mcp__buf_reset(mcp__buf *b, size_t keep);
/* Makes room for n more bytes and returns their address, or stores the failure and returns NULL.
 * The caller writes up to n bytes and increases len by their number. */
MCP__SHARED char *mcp__buf_grow(mcp__buf *b, size_t n);
static inline char *mcp__buf_reserve(mcp__buf *b, size_t n)
{
    /* `<`, not `<=`: an empty buffer has no memory to point into, even for zero bytes. */
    if (MCP__LIKELY(!b->failed && n < b->cap - b->len))
        return b->ptr + b->len;
    return mcp__buf_grow(b, n);
}
static inline void mcp__buf_add(mcp__buf *b, const void *bytes, size_t n)
{
    char *to = mcp__buf_reserve(b, n);
    if (MCP__LIKELY(to != NULL) && n) {
        memcpy(to, bytes, n);
        b->len += n;
    }
}
static inline void mcp__buf_str(mcp__buf *b, mcp_str s)
{
    mcp__buf_add(b, s.ptr, s.len);
}
static inline void mcp__buf_char(mcp__buf *b, char c)
{
    mcp__buf_add(b, &c, 1);
}
/* Appends a string literal. */
#define mcp__buf_lit(b, literal) mcp__buf_add((b), "" literal, sizeof(literal) - 1)
/* Does not format floating-point numbers, because their decimal point depends on the locale. */
MCP__SHARED void mcp__buf_printf(mcp__buf *b, const char *format, ...) MCP_PRINTF(2, 3);
/* Removes the first n bytes. */
MCP__SHARED void mcp__buf_consume(mcp__buf *b, size_t n);
static inline mcp_str mcp__buf_view(const mcp__buf *b)
{
    mcp_str s = {b->ptr, b->len};
    return s;
}

/* ---- arena.c: many small pieces that are freed together -------------------------------------- */

/* Embed an arena in another struct and call mcp__arena_init(). Pieces are aligned for any type. The
 * first block can be memory of the caller (such as the inline space of a request), which is never
 * freed. */
typedef struct mcp__arena_block mcp__arena_block;
typedef struct mcp__arena {
    char *at, *end;
    mcp__arena_block *blocks;
    char *first;
    size_t first_size;
    const mcp_allocator *allocator;
} mcp__arena;

MCP__SHARED void mcp__arena_init(mcp__arena *a, const mcp_allocator *allocator, void *first,
                                 size_t first_size);
MCP__SHARED void mcp__arena_free(mcp__arena *a); /* frees all blocks */
MCP__SHARED void mcp__arena_wipe(mcp__arena *a); /* the same, after overwriting them */
void mcp__arena_reset(mcp__arena *a);            /* frees all blocks; a can be used again */
/* Return NULL if out of memory. The copy is NUL-terminated. */
MCP__SHARED void *mcp__arena_alloc(mcp__arena *a, size_t size);
MCP__SHARED char *mcp__arena_strdup(mcp__arena *a, mcp_str s);

/* ---- map.c: byte-string keys to pointers ----------------------------------------------------- */

/* A hash table with open addressing. Keys are hashed with SipHash-1-3 and a seed. They are
 * borrowed: they must live as long as the value that they map to. Initialize with
 * mcp__map_init(). */
typedef struct mcp__map_slot {
    uint64_t hash;
    mcp_str key;
    void *value;
} mcp__map_slot;
typedef struct mcp__map {
    mcp__map_slot *slots;
    size_t cap, count, used;
    uint64_t seed[2];
    const mcp_allocator *allocator;
} mcp__map;

MCP__SHARED void mcp__map_init(mcp__map *m, const mcp_allocator *allocator, uint64_t seed0,
                               uint64_t seed1);
MCP__SHARED void mcp__map_free(mcp__map *m);
MCP__SHARED void *mcp__map_get(const mcp__map *m, mcp_str key);
/* Returns MCP_OK, MCP_EEXIST (nothing changed) or MCP_ENOMEM. value must not be NULL. */
MCP__SHARED int mcp__map_add(mcp__map *m, mcp_str key, void *value);
/* Makes room for one entry, so that adding it cannot fail for lack of memory. Returns MCP_OK or
 * MCP_ENOMEM. */
int mcp__map_reserve(mcp__map *m);
/* Returns the value that was removed, or NULL. Never allocates. */
MCP__SHARED void *mcp__map_remove(mcp__map *m, mcp_str key);
/* Replaces the value of a key that is in the map. The entry then refers to `key`, which has the
 * same bytes but may have another address, instead of its old key. Never allocates. */
void mcp__map_replace(mcp__map *m, mcp_str key, void *value);
/* Visits all entries in no particular order. Start with *at = 0; returns NULL at the end. The entry
 * just visited may be removed. */
MCP__SHARED void *mcp__map_next(const mcp__map *m, size_t *at);

MCP__SHARED uint64_t mcp__siphash(const void *bytes, size_t len, const uint64_t seed[2]);

/* ---- list: an intrusive doubly linked list, all inline --------------------------------------- */

typedef struct mcp__link {
    struct mcp__link *prev, *next;
} mcp__link;

#define mcp__container(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static inline void mcp__list_init(mcp__link *head)
{
    head->prev = head->next = head;
}
static inline bool mcp__list_empty(const mcp__link *head)
{
    return head->next == head;
}
static inline void mcp__list_append(mcp__link *head, mcp__link *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}
/* Safe to call twice: a removed link points at itself. */
static inline void mcp__list_remove(mcp__link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->prev = link->next = link;
}

/* ---- utf8.c, base64.c and hex.c -------------------------------------------------------------- */

/* Returns the number of bytes at the start that are valid UTF-8 (no surrogates, no overlong forms,
 * at most U+10FFFF), which is len if all are valid. ASCII is checked 8 bytes at a time. */
size_t mcp__utf8_valid(const char *bytes, size_t len);
/* Returns the size of the valid character at the start, or 0. len must not be 0. */
size_t mcp__utf8_size(const char *bytes, size_t len);
/* Returns the largest length up to len that does not split a character of valid UTF-8. */
size_t mcp__utf8_cut(const char *bytes, size_t len);

/* Standard Base64 with padding. Writes 4 * ceil(len / 3) bytes to `to`. */
#define MCP__BASE64_SIZE(len) (((len) + 2) / 3 * 4)
MCP__SHARED void mcp__base64_encode(char *to, const void *bytes, size_t len);
/* base64url without padding. Returns the number of bytes written: ceil(len * 4 / 3). */
MCP__SHARED size_t mcp__base64url_encode(char *to, const void *bytes, size_t len);
/* Decodes base64url. Returns the number of bytes written to `to`, which must have room for text.len
 * * 3 / 4, or SIZE_MAX if the text is not canonical (padding and white space are not allowed). */
MCP__SHARED size_t mcp__base64url_decode(void *to, mcp_str text);
/* Decodes strict standard Base64 with padding. Returns SIZE_MAX if the text is malformed. */
size_t mcp__base64_decode(void *to, mcp_str text);
/* Returns whether mcp__base64_decode() accepts the text. */
bool mcp__base64_is_valid(mcp_str text);

/* Writes 2 * len lower-case hexadecimal digits and no NUL, and returns the end. */
MCP__SHARED char *mcp__hex_encode(char *to, const void *bytes, size_t len);
/* Reads 2 * len digits, which must be lower-case hexadecimal ones, into len bytes. */
MCP__SHARED void mcp__hex_decode(void *to, const char *digits, size_t len);

static inline bool mcp__str_starts(mcp_str s, mcp_str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}
/* Changes ASCII letters only, as the comparison of schemes and header names requires. */
static inline char mcp__lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
/* Returns whether both are equal, ignoring the case of ASCII letters. */
static inline bool mcp__str_same(mcp_str a, mcp_str b)
{
    size_t i = 0;
    while (a.len == b.len && i < a.len && mcp__lower(a.ptr[i]) == mcp__lower(b.ptr[i]))
        i++;
    return a.len == b.len && i == a.len;
}
/* Returns whether one of 8 bytes is an ASCII control character. */
static inline bool mcp__has_control(const char *bytes)
{
    /* x - 1 sets the top bit of a byte that is 0, and word - 0x20 that of a control character. Borrows
     * reach only bytes above the first such byte. */
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    uint64_t deleted = word ^ ones * 0x7f;
    uint64_t found = (~word & (word - ones * 0x20)) | (~deleted & (deleted - ones));
    return (found & ones * 0x80) != 0;
}
/* Returns whether 8 bytes are ASCII. */
static inline bool mcp__is_ascii(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return (word & UINT64_C(0x8080808080808080)) == 0;
}
static inline mcp_str mcp__str_sub(mcp_str s, size_t from)
{
    /* C does not define NULL + 0. */
    mcp_str r = {from ? s.ptr + from : s.ptr, s.len - from};
    return r;
}

#endif
