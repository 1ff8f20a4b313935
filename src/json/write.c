/* write.c: writes JSON text directly into a buffer, without state: the caller writes the commas.
 *
 * Most bytes of a reply are strings. So bytes that need no escape are found up to 64 at a time and
 * copied together, and the same pass checks UTF-8. Nothing here depends on the locale.
 */
#include <math.h>

#include <mcp/yyjson.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "json/json.h"

/* ---- strings --------------------------------------------------------------------------------- */

/* How a byte is written: unchanged (0), as \uXXXX ('u'), as a short escape (its letter), or as part
 * of a multi-byte character (8). */
enum { MULTI = 8 };
/* clang-format off */
#define X4(x)  x, x, x, x
#define X16(x) X4(x), X4(x), X4(x), X4(x)
static const unsigned char escapes[256] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b', 't', 'n', 'u', 'f', 'r', 'u', 'u',
    X16('u'),
    ['"'] = '"', ['\\'] = '\\',
    [128] = X16(MULTI), X16(MULTI), X16(MULTI), X16(MULTI),
    X16(MULTI), X16(MULTI), X16(MULTI), X16(MULTI),
};
#undef X16
#undef X4
/* clang-format on */

#ifdef __SSE2__
/* These return a bit for each byte that cannot be copied unchanged. Bytes are compared as signed
 * numbers, so that those outside ASCII, like control characters, are not above 0x1f. */
static inline unsigned dirty_of(__m128i special, __m128i above)
{
    return (unsigned)_mm_movemask_epi8(_mm_andnot_si128(special, above)) ^ 0xffff;
}

static inline __m128i load16(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline __m128i special(__m128i bytes)
{
    return _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                        _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
}

static inline __m128i above(__m128i bytes)
{
    return _mm_cmpgt_epi8(bytes, _mm_set1_epi8(0x1f));
}

static inline bool clean64(const char *p)
{
    __m128i a = load16(p), b = load16(p + 16), c = load16(p + 32), d = load16(p + 48);
    __m128i any_special =
        _mm_or_si128(_mm_or_si128(special(a), special(b)), _mm_or_si128(special(c), special(d)));
    __m128i all_above =
        _mm_and_si128(_mm_and_si128(above(a), above(b)), _mm_and_si128(above(c), above(d)));
    return dirty_of(any_special, all_above) == 0;
}

static inline unsigned dirty16(const char *p)
{
    __m128i bytes = load16(p);
    return dirty_of(special(bytes), above(bytes));
}

static inline unsigned dirty8(const char *p)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return dirty_of(special(bytes), above(bytes)) & 0xff;
}

static inline size_t clean_run(const char *p, size_t len)
{
    size_t i = 0;
    unsigned dirty;
    while (len - i >= 64 && clean64(p + i))
        i += 64;
    for (; len - i >= 16; i += 16) {
        dirty = dirty16(p + i);
        if (dirty)
            return i + (size_t)__builtin_ctz(dirty);
    }
    if (i < len && len >= 16) { /* the first of the last 16 bytes were clean */
        dirty = dirty16(p + len - 16);
        return dirty ? len - 16 + (size_t)__builtin_ctz(dirty) : len;
    }
    if (len - i >= 8) {
        dirty = dirty8(p + i);
        if (dirty)
            return i + (size_t)__builtin_ctz(dirty);
        i += 8;
    }
    while (i < len && escapes[(unsigned char)p[i]] == 0)
        i++;
    return i;
}
#else
/* Returns whether all 8 bytes can be copied unchanged. They can if all are ASCII, and none is a
 * control character, a quote or a backslash. */
static inline bool clean8(const char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
    /* x - 1 sets the top bit of a byte that is 0, and word - 0x20 that of a control character. Only
     * a byte that needs an escape can borrow from the next byte, so 8 bytes with such a byte are
     * never treated as clean. */
    uint64_t dirty = word | (word - ones * 0x20) | (quote - ones) | (slash - ones);
    return (dirty & (ones * 0x80)) == 0;
}

static size_t clean_run(const char *p, size_t len)
{
    size_t i = 0;
    while (len - i >= 32 && clean8(p + i) && clean8(p + i + 8) && clean8(p + i + 16) &&
           clean8(p + i + 24))
        i += 32;
    while (len - i >= 8 && clean8(p + i))
        i += 8;
    while (i < len && escapes[(unsigned char)p[i]] == 0)
        i++;
    return i;
}
#endif

/* Returns the length of the run of multi-byte characters at p, or 0 if it is not UTF-8. */
static size_t multi_run(const char *p, size_t len)
{
    size_t i = 0;
    while (i < len && escapes[(unsigned char)p[i]] == MULTI) {
        size_t n = mcp__utf8_size(p + i, len - i);
        if (n == 0)
            return 0;
        i += n;
    }
    return i;
}

/* The number of bytes that are written one by one after a byte that needs an escape, because such
 * bytes are often close together: a JSON text has many quotes. */
enum { NEAR = 32, ESCAPE_SIZE = 6 };

static char *put_escape(char *to, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    *to++ = '\\';
    *to++ = (char)escapes[c];
    if (escapes[c] == 'u') {
        *to++ = '0';
        *to++ = '0';
        *to++ = hex[c >> 4];
        *to++ = hex[c & 15];
    }
    return to;
}

static size_t written_size(char c)
{
    unsigned char how = escapes[(unsigned char)c];
    return how == 0 ? 1 : how == 'u' ? ESCAPE_SIZE : 2;
}

/* Writes up to NEAR bytes, but stops before a byte outside ASCII. Returns how many. */
static size_t put_near(mcp__buf *b, const char *p, size_t len)
{
    size_t i = 0, n = MCP__MIN(len, (size_t)NEAR), room = n * ESCAPE_SIZE;
    if (MCP__UNLIKELY(room > b->limit - b->len)) { /* there may still be room for what is needed */
        n = 1;
        room = written_size(*p);
    }
    char *to = mcp__buf_reserve(b, room);
    if (!to)
        return len;
    for (; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (escapes[c] == 0)
            *to++ = p[i];
        else if (escapes[c] != MULTI)
            to = put_escape(to, c);
        else
            break;
    }
    b->len = (size_t)(to - b->ptr);
    return i;
}

static void fail(mcp__buf *b, int code)
{
    if (!b->failed)
        b->failed = code;
}

/* Writes a string of which the first bytes, as many as `clean`, need no escape. */
static MCP__NOINLINE void put_escaped(mcp__buf *b, mcp_str s, size_t clean)
{
    mcp__buf_char(b, '"');
    mcp__buf_add(b, s.ptr, clean);
    for (size_t i = clean; i < s.len; i += clean) {
        i += put_near(b, s.ptr + i, s.len - i);
        if (i < s.len && escapes[(unsigned char)s.ptr[i]] == MULTI) {
            size_t n = multi_run(s.ptr + i, s.len - i);
            if (n == 0) {
                fail(b, MCP_EINVAL);
                return;
            }
            mcp__buf_add(b, s.ptr + i, n);
            i += n;
        }
        clean = clean_run(s.ptr + i, s.len - i);
        mcp__buf_add(b, s.ptr + i, clean);
    }
    mcp__buf_char(b, '"');
}

void mcp__json_put_str(mcp__buf *b, mcp_str s)
{
    /* The minimum length. With this reservation most strings grow the buffer only once. */
    char *to = s.len > SIZE_MAX - 2 ? NULL : mcp__buf_reserve(b, s.len + 2);
    if (!to) {
        fail(b, MCP_ELIMIT);
        return;
    }
    size_t clean = clean_run(s.ptr, s.len);
    if (clean < s.len) {
        put_escaped(b, s, clean);
        return;
    }
    to[0] = '"';
    if (s.len)
        memcpy(to + 1, s.ptr, s.len);
    to[s.len + 1] = '"';
    b->len += s.len + 2;
}

void mcp__json_put_base64(mcp__buf *b, const void *bytes, size_t len)
{
    if (len > SIZE_MAX / 2) {
        fail(b, MCP_ELIMIT);
        return;
    }
    size_t size = MCP__BASE64_SIZE(len);
    char *to = mcp__buf_reserve(b, size + 2);
    if (!to)
        return;
    to[0] = '"';
    mcp__base64_encode(to + 1, bytes, len);
    to[size + 1] = '"';
    b->len += size + 2;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Writes two digits at a time. */
static void put_digits(mcp__buf *b, uint64_t value, bool negative)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char text[24];
    size_t at = sizeof(text);
    for (; value >= 100; value /= 100) {
        at -= 2;
        memcpy(text + at, pairs + value % 100 * 2, 2);
    }
    if (value >= 10) {
        at -= 2;
        memcpy(text + at, pairs + value * 2, 2);
    } else {
        text[--at] = (char)('0' + value);
    }
    if (negative)
        text[--at] = '-';
    mcp__buf_add(b, text + at, sizeof(text) - at);
}

void mcp__json_put_uint(mcp__buf *b, uint64_t value)
{
    put_digits(b, value, false);
}

void mcp__json_put_int(mcp__buf *b, int64_t value)
{
    put_digits(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

/* Stack memory for one number: yyjson allocates one block and returns it as the result. */
typedef struct number_room {
    char bytes[128];
} number_room;

static void *room_malloc(void *ctx, size_t size)
{
    number_room *room = ctx;
    return size <= sizeof(room->bytes) ? room->bytes : NULL;
}

static void *room_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
    (void)ptr;
    (void)old_size;
    return room_malloc(ctx, size);
}

static void room_free(void *ctx, void *ptr)
{
    (void)ctx;
    (void)ptr;
}

/* Writes the shortest text that reads back as the same double, or null if it is not finite. */
static void put_shortest(mcp__buf *b, double value)
{
    number_room room;
    yyjson_alc alc = {room_malloc, room_realloc, room_free, &room};
    yyjson_val number = {.tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL, .uni.f64 = value};
    size_t len = 0;
    char *text = yyjson_val_write_opts(&number, YYJSON_WRITE_INF_AND_NAN_AS_NULL, &alc, &len, NULL);
    if (text)
        mcp__buf_add(b, text, len);
    else
        fail(b, MCP_ENOMEM);
}

void mcp__json_put_real(mcp__buf *b, double value)
{
    const double exact = 9007199254740992.0;
    if (value >= -exact && value <= exact) {
        int64_t whole = (int64_t)value;
        /* -0.0 compares equal to 0, but must be written as -0.0. */
        if ((double)whole == value && !(whole == 0 && signbit(value))) {
            mcp__json_put_int(b, whole);
            return;
        }
    }
    put_shortest(b, value);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Recursion is bounded: no document is deeper than MCP__JSON_DEEPEST. */
static void put_container(mcp__buf *b, const mcp_json *container, bool object)
{
    mcp_json_iter iter = {0};
    mcp_str key = {NULL, 0};
    mcp__buf_char(b, object ? '{' : '[');
    for (const mcp_json *item; (item = mcp_json_next(container, &iter, &key)) && !b->failed;) {
        if (iter.index > 1)
            mcp__buf_char(b, ',');
        if (object) {
            mcp__json_put_str(b, key);
            mcp__buf_char(b, ':');
        }
        mcp__json_put_value(b, item);
    }
    mcp__buf_char(b, object ? '}' : ']');
}

static void put_integer(mcp__buf *b, const yyjson_val *v)
{
    if (yyjson_is_sint((yyjson_val *)(uintptr_t)v))
        mcp__json_put_int(b, v->uni.i64);
    else
        mcp__json_put_uint(b, v->uni.u64);
}

void mcp__json_put_value(mcp__buf *b, const mcp_json *value)
{
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_NONE:
    case MCP_JSON_NULL: mcp__buf_lit(b, "null"); break;
    case MCP_JSON_BOOL:
        if (mcp_json_bool(value, false))
            mcp__buf_lit(b, "true");
        else
            mcp__buf_lit(b, "false");
        break;
    case MCP_JSON_INT: put_integer(b, mcp_json_yyjson(value)); break;
    case MCP_JSON_REAL: mcp__json_put_real(b, mcp_json_number(value, 0)); break;
    case MCP_JSON_BIGINT: mcp__buf_str(b, mcp__json_bigint_text(value)); break;
    case MCP_JSON_STRING: mcp__json_put_str(b, mcp_json_string(value)); break;
    case MCP_JSON_ARRAY: put_container(b, value, false); break;
    case MCP_JSON_OBJECT: put_container(b, value, true); break;
    }
}

int mcp__json_put_checked(mcp__buf *b, mcp_str text, mcp_json_type type, mcp_error *error)
{
    mcp_json_doc *doc = NULL;
    int rc = mcp_json_parse(text, NULL, b->allocator, &doc, error);
    if (rc)
        return rc;
    mcp_json_type found = mcp_json_typeof(mcp_json_root(doc));
    if (type != MCP_JSON_NONE && found != type) {
        rc = mcp__fail(error, MCP_EPARSE, 0, "a JSON %s was expected, not a JSON %s",
                       mcp_json_type_name(type), mcp_json_type_name(found));
    } else {
        mcp__json_put_value(b, mcp_json_root(doc));
        if (b->failed)
            rc = mcp__fail(error, b->failed, 0, "%s", mcp_error_text(b->failed));
    }
    mcp_json_free(doc);
    return rc;
}
