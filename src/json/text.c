/* text.c: finds the texts of the parts of a JSON text, without building a tree. They are used for
 * values that are forwarded unchanged, such as numbers with more digits than a double holds.
 *
 * The text must have been parsed before, so that it is valid. With invalid text the results are
 * undefined, but nothing is read beyond its end.
 */
#include <mcp/sys/json.h>

#include "json/json.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The class of a byte outside a string. */
enum { OTHER, SPACE, STRING, OPEN, CLOSE, BETWEEN };
static const unsigned char classes[256] = {
    [' '] = SPACE, ['\t'] = SPACE, ['\n'] = SPACE, ['\r'] = SPACE,  ['"'] = STRING,  ['{'] = OPEN,
    ['['] = OPEN,  ['}'] = CLOSE,  [']'] = CLOSE,  [','] = BETWEEN, [':'] = BETWEEN,
};

static inline unsigned class_of(char c)
{
    return classes[(unsigned char)c];
}

static size_t skip_space(mcp_str text, size_t i)
{
    while (i < text.len && class_of(text.ptr[i]) == SPACE)
        i++;
    return i;
}

/* ---- many bytes at once ---------------------------------------------------------------------- */

/* A group of STEP bytes is searched at once. The search functions return a value that is 0 if
 * nothing was found, and from which first_of() computes the offset of the first byte found. */
#ifdef __SSE2__

enum { STEP = 16 };
typedef unsigned found;

static inline __m128i equal(__m128i bytes, char c)
{
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c));
}

static inline found quote_in(const char *text)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)text);
    return (found)_mm_movemask_epi8(_mm_or_si128(equal(bytes, '"'), equal(bytes, '\\')));
}

static inline found bracket_in(const char *text)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)text);
    /* '[' | 0x20 is '{', and ']' | 0x20 is '}' */
    __m128i bent = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    __m128i brackets = _mm_or_si128(equal(bent, '{'), equal(bent, '}'));
    return (found)_mm_movemask_epi8(_mm_or_si128(equal(bytes, '"'), brackets));
}

static inline size_t first_of(found f)
{
    return (size_t)__builtin_ctz(f);
}

#else

enum { STEP = 8 };
typedef uint64_t found;
static const uint64_t ones = UINT64_C(0x0101010101010101);

/* Sets the top bit of each byte of the word that equals c, and clears all other bits. */
static inline uint64_t equal(uint64_t word, unsigned char c)
{
    const uint64_t low7 = ones * 0x7f;
    uint64_t x = word ^ (ones * c);
    return ~(((x & low7) + low7) | x | low7);
}

static inline found quote_in(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    return equal(word, '"') | equal(word, '\\');
}

static inline found bracket_in(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    uint64_t bent = word | (ones * 0x20);
    return equal(word, '"') | equal(bent, '{') | equal(bent, '}');
}

static inline size_t first_of(found f)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll(f) / 8;
#else
    return (size_t)__builtin_clzll(f) / 8;
#endif
}

#endif

/* Returns the offset of the next quote or backslash, or `len`. */
static size_t find_in_string(const char *text, size_t len, size_t i)
{
    for (; len - i >= STEP; i += STEP) {
        found f = quote_in(text + i);
        if (f)
            return i + first_of(f);
    }
    while (i < len && text[i] != '"' && text[i] != '\\')
        i++;
    return i;
}

/* Returns the offset of the next quote or bracket, or `len`. */
static size_t find_in_container(const char *text, size_t len, size_t i)
{
    for (; len - i >= STEP; i += STEP) {
        found f = bracket_in(text + i);
        if (f)
            return i + first_of(f);
    }
    while (i < len && (class_of(text[i]) < STRING || class_of(text[i]) > CLOSE))
        i++;
    return i;
}

/* ---- skipping -------------------------------------------------------------------------------- */

/* Skips the rest of a long string. Escaped quotes are rare, so searching for quotes is fastest. */
static size_t skip_long(const char *text, size_t len, size_t i)
{
    while (i < len) {
        const char *quote = memchr(text + i, '"', len - i);
        if (!quote)
            return len;
        size_t end = (size_t)(quote - text), slashes = 0;
        while (slashes < end - i && text[end - slashes - 1] == '\\')
            slashes++;
        i = end + 1;
        if (slashes % 2 == 0)
            break;
    }
    return i;
}

size_t mcp__json_skip_string(const char *text, size_t len, size_t i)
{
    enum { SHORT = 64 }; /* calling memchr() pays for longer strings only */
    size_t stop = len - i > SHORT ? i + SHORT : len;
    while (i < stop) {
        i = find_in_string(text, stop, i);
        if (i < stop && text[i] == '"')
            return i + 1;
        if (i < stop)
            i += 2; /* an escaped character */
    }
    return i < len ? skip_long(text, len, i) : len;
}

static size_t skip_container(mcp_str text, size_t i)
{
    size_t depth = 0;
    while ((i = find_in_container(text.ptr, text.len, i)) < text.len) {
        switch (class_of(text.ptr[i++])) {
        case STRING: i = mcp__json_skip_string(text.ptr, text.len, i); break;
        case OPEN: depth++; break;
        default:
            if (--depth == 0)
                return i;
            break;
        }
    }
    return i;
}

/* Returns the offset after the value that begins at i. */
static size_t skip_value(mcp_str text, size_t i)
{
    if (i >= text.len)
        return i;
    unsigned first = class_of(text.ptr[i]);
    if (first == STRING)
        return mcp__json_skip_string(text.ptr, text.len, i + 1);
    if (first == OPEN)
        return skip_container(text, i);
    while (i < text.len && class_of(text.ptr[i]) == OTHER)
        i++;
    return i;
}

static mcp_str slice(mcp_str text, size_t from, size_t to)
{
    return (mcp_str){text.ptr + from, to - from};
}

/* Returns the offset after the last value of a container, or 0 if there is none. The text ends with
 * the container's bracket. */
static size_t end_of_last(mcp_str container)
{
    size_t end = container.len;
    while (end && class_of(container.ptr[end - 1]) == SPACE)
        end--;
    if (!end || class_of(container.ptr[end - 1]) != CLOSE)
        return 0;
    end--;
    while (end && class_of(container.ptr[end - 1]) == SPACE)
        end--;
    return end;
}

/* Returns the offset after the next value, which begins at i. */
static size_t end_of_next(mcp_str container, mcp_json_text_iter *iter, size_t i)
{
    size_t end = iter->count && --iter->count == 0 ? end_of_last(container) : 0;
    return end > i ? end : skip_value(container, i);
}

bool mcp_json_text_next(mcp_str container, mcp_json_text_iter *iter, mcp_str *key, mcp_str *value)
{
    size_t i = iter->at;
    if (i == 0) {
        i = skip_space(container, 0);
        if (i >= container.len || !memchr("{[", container.ptr[i], 2))
            return false;
        iter->object = container.ptr[i] == '{';
        i = skip_space(container, i + 1);
    } else {
        i = skip_space(container, i);
        if (i >= container.len || container.ptr[i] != ',')
            return false;
        i = skip_space(container, i + 1);
    }
    size_t name = i;
    if (iter->object) {
        i = skip_value(container, i);
        if (key)
            *key = slice(container, name, i);
        i = skip_space(container, i);
        if (i >= container.len || container.ptr[i] != ':')
            return false;
        i = skip_space(container, i + 1);
    } else if (key) {
        *key = (mcp_str){NULL, 0};
    }
    size_t end = end_of_next(container, iter, i);
    if (end == i)
        return false;
    *value = slice(container, i, end);
    iter->at = end;
    return true;
}

mcp_str mcp__json_text_get(mcp_str object, size_t count, mcp_str quoted_key)
{
    mcp_json_text_iter it = {.count = count};
    mcp_str key, value;
    while (mcp_json_text_next(object, &it, &key, &value)) {
        if (mcp_str_eq(key, quoted_key))
            return value;
    }
    return (mcp_str){NULL, 0};
}

mcp_str mcp__json_text_at(mcp_str array, size_t index)
{
    mcp_json_text_iter it = {0};
    mcp_str value;
    while (mcp_json_text_next(array, &it, NULL, &value)) {
        if (index-- == 0)
            return value;
    }
    return (mcp_str){NULL, 0};
}

void mcp__json_put_text(mcp__buf *b, mcp_str json)
{
    size_t start = b->len;
    mcp__buf_str(b, json);
    if (b->failed)
        return;
    /* In valid JSON line ends occur only as white space between tokens. */
    static const char ends[] = {'\n', '\r'};
    for (size_t e = 0; e < sizeof(ends); e++) {
        char *at = b->ptr + start, *end = b->ptr + b->len;
        while ((at = memchr(at, ends[e], (size_t)(end - at))) != NULL)
            *at = ' ';
    }
}

void mcp_json_add_text(mcp_json_writer *w, mcp_str json)
{
    mcp__buf *b = mcp__json_writer_place(w);
    if (b && json.len == 0)
        b->failed = MCP_EINVAL;
    else if (b)
        mcp__json_put_text(b, json);
}
