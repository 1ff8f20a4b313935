/* write.c: writes JSON text directly into a buffer, without state: the caller writes the commas.
 *
 * Most bytes of a reply are strings. So bytes that need no escape are found 16 or 8 at a time and
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
/* Returns how many of 16 bytes can be copied unchanged. */
static inline size_t clean_of_16(const char *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    __m128i special = _mm_or_si128(_mm_or_si128(control, quote), slash);
    /* The top bit of a byte outside ASCII is set anyway. */
    unsigned dirty = (unsigned)_mm_movemask_epi8(_mm_or_si128(special, bytes));
    return dirty ? (size_t)__builtin_ctz(dirty) : 16;
}

static size_t clean_run(const char *p, size_t len)
{
    size_t i = 0;
    while (len - i >= 16) {
        size_t n = clean_of_16(p + i);
        i += n;
        if (n < 16)
            return i;
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

static void put_escape(mcp__buf *b, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', (char)escapes[c], '0', '0', hex[c >> 4], hex[c & 15]};
    mcp__buf_add(b, text, escapes[c] == 'u' ? 6 : 2);
}

static void fail(mcp__buf *b, int code)
{
    if (!b->failed)
        b->failed = code;
}

static void put_escaped(mcp__buf *b, mcp_str s)
{
    size_t copied = 0, i = 0;
    for (;;) {
        i += clean_run(s.ptr + i, s.len - i);
        if (i == s.len)
            break;
        unsigned char c = (unsigned char)s.ptr[i];
        if (escapes[c] == MULTI) {
            size_t n = multi_run(s.ptr + i, s.len - i);
            if (n == 0) {
                fail(b, MCP_EINVAL);
                return;
            }
            i += n;
            continue;
        }
        mcp__buf_add(b, s.ptr + copied, i - copied);
        put_escape(b, c);
        copied = ++i;
    }
    mcp__buf_add(b, s.ptr + copied, s.len - copied);
}

void mcp__json_put_str(mcp__buf *b, mcp_str s)
{
    /* The minimum length. With this reservation most strings grow the buffer only once. */
    if (s.len > SIZE_MAX - 2 || !mcp__buf_reserve(b, s.len + 2)) {
        fail(b, MCP_ELIMIT);
        return;
    }
    mcp__buf_char(b, '"');
    if (s.len)
        put_escaped(b, s);
    mcp__buf_char(b, '"');
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

static void put_digits(mcp__buf *b, uint64_t value, bool negative)
{
    char text[24];
    size_t at = sizeof(text);
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
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
