/* mcp/json.h: read-only JSON values, and a small writer.
 *
 * A value comes from a request or a result, or from mcp_json_parse(). It is borrowed: it lives as
 * long as its request, result or document. All accessors accept NULL as "no value", so that lookups
 * can be chained without checks:
 *
 *     mcp_str city = mcp_json_string(mcp_json_get(mcp_json_get(args, "address"), "city"));
 *
 * Input must be strict RFC 8259 JSON in valid UTF-8. An object with duplicate keys is rejected.
 * Keys are compared byte for byte. Values are immutable, so any thread may read them.
 */
#ifndef MCP_JSON_H
#define MCP_JSON_H

#include <mcp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A JSON value; opaque. mcp/yyjson.h gives access to the underlying yyjson value. */
typedef struct mcp_json mcp_json;

typedef enum mcp_json_type {
    MCP_JSON_NONE = 0, /* no value: NULL was passed */
    MCP_JSON_NULL,
    MCP_JSON_BOOL,
    MCP_JSON_INT,    /* fits int64_t or uint64_t */
    MCP_JSON_REAL,   /* a number with fraction or exponent */
    MCP_JSON_BIGINT, /* an integer beyond 64 bits, or a real too large for a double */
    MCP_JSON_STRING,
    MCP_JSON_ARRAY,
    MCP_JSON_OBJECT,
} mcp_json_type;

/* Returns the type of a value; MCP_JSON_NONE for NULL. */
MCP_API mcp_json_type mcp_json_typeof(const mcp_json *value);

/* Returns the name of a type for messages, for example "object" or "string", and "nothing" for
 * MCP_JSON_NONE. The string has static storage. */
MCP_API const char *mcp_json_type_name(mcp_json_type type);

/* Returns whether a value has the given type. */
static inline bool mcp_json_is(const mcp_json *value, mcp_json_type type)
{
    return mcp_json_typeof(value) == type;
}

/* Returns the value of a member, or NULL if there is none. The key is compared byte for byte. The
 * time is proportional to the number of members. */
MCP_API const mcp_json *mcp_json_get(const mcp_json *object, const char *key);
MCP_API const mcp_json *mcp_json_get_str(const mcp_json *object, mcp_str key);

/* Returns the number of elements of an array or members of an object, and 0 for any other value. */
MCP_API size_t mcp_json_count(const mcp_json *container);

/* Returns an element of an array, or NULL if there is none. The time is proportional to the index:
 * use mcp_json_next() to visit all elements. */
MCP_API const mcp_json *mcp_json_at(const mcp_json *array, size_t index);

/* Iterates over an array or an object in order. Zero-initialize the iterator. Returns the next
 * element, or the next member's value (and its key in *key if key is not NULL); NULL at the end. The
 * key of an element of an array is empty (its ptr is NULL). */
typedef struct mcp_json_iter {
    size_t index;
    const void *next;
} mcp_json_iter;
MCP_API const mcp_json *mcp_json_next(const mcp_json *container, mcp_json_iter *iter, mcp_str *key);

/* Converts to a C value. A value of another type gives `fallback` or the empty string.
 * mcp_json_string() returns decoded UTF-8 that may contain NUL; ptr is NULL if the value is not a
 * string. mcp_json_int() accepts integers that fit int64_t and reals with an integral value within
 * 2^53. mcp_json_number() accepts every number whose nearest double is finite. */
MCP_API mcp_str mcp_json_string(const mcp_json *value);
MCP_API int64_t mcp_json_int(const mcp_json *value, int64_t fallback);
MCP_API double mcp_json_number(const mcp_json *value, double fallback);
MCP_API bool mcp_json_bool(const mcp_json *value, bool fallback);

/* ---- documents ------------------------------------------------------------------------------- */

typedef struct mcp_json_doc mcp_json_doc;

/* Limits of one parse. 0 selects the default. */
typedef struct mcp_json_limits {
    size_t size;      /* sizeof(mcp_json_limits) */
    size_t max_bytes; /* length of the text; default 64 MiB */
    size_t max_depth; /* nesting of arrays and objects; default 64, maximum 1024 */
    /* Number of members and elements. Each may need 16 bytes of memory or more. No limit by
     * default. */
    size_t max_values;
} mcp_json_limits;

/* Parses one JSON text (white space around it is allowed). The text is not needed afterwards.
 * limits, allocator and error may be NULL. Free the document with mcp_json_free(), which accepts
 * NULL. Returns MCP_OK, MCP_EPARSE (error->offset is the position), MCP_ELIMIT or MCP_ENOMEM. */
MCP_API int mcp_json_parse(mcp_str text, const mcp_json_limits *limits,
                           const mcp_allocator *allocator, mcp_json_doc **ret, mcp_error *error);
/* Frees a document with all of its values. NULL is allowed. */
MCP_API void mcp_json_free(mcp_json_doc *doc);
/* Returns the root value of a document; NULL for NULL. */
MCP_API const mcp_json *mcp_json_root(const mcp_json_doc *doc);

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes one JSON text into a growing buffer. The writer adds commas and colons. After the first
 * failure (out of memory, the limit, a string that is not UTF-8, unbalanced containers) all later
 * calls do nothing, and mcp_json_writer_finish() reports that failure. Every call treats a NULL
 * writer as one that failed with MCP_ENOMEM. A writer must not be used by two threads at the same
 * time.
 *
 *     mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
 *     mcp_json_begin_object(w);
 *     mcp_json_put_real(w, "temperature", 22.5);
 *     mcp_json_end(w);
 *     mcp_str text;
 *     int rc = mcp_json_writer_finish(w, &text); */
typedef struct mcp_json_writer mcp_json_writer;

/* Makes a writer. Returns NULL if out of memory. `limit` is the maximum number of bytes of the
 * text; 0 means 64 MiB. */
MCP_API mcp_json_writer *mcp_json_writer_new(const mcp_allocator *allocator, size_t limit);
/* Frees a writer and its text. NULL is allowed. */
MCP_API void mcp_json_writer_free(mcp_json_writer *w);

/* Begin an object or an array. mcp_json_end() ends the innermost one that is open. */
MCP_API void mcp_json_begin_object(mcp_json_writer *w);
MCP_API void mcp_json_begin_array(mcp_json_writer *w);
MCP_API void mcp_json_end(mcp_json_writer *w);
/* Writes the key of a member. The next call must add its value. */
MCP_API void mcp_json_key(mcp_json_writer *w, const char *key);
MCP_API void mcp_json_key_str(mcp_json_writer *w, mcp_str key);
/* Add one value. Strings are escaped, and bytes are written as a string in Base64. */
MCP_API void mcp_json_add_null(mcp_json_writer *w);
MCP_API void mcp_json_add_bool(mcp_json_writer *w, bool value);
MCP_API void mcp_json_add_int(mcp_json_writer *w, int64_t value);
MCP_API void mcp_json_add_uint(mcp_json_writer *w, uint64_t value);
MCP_API void mcp_json_add_real(mcp_json_writer *w, double value); /* writes null if not finite */
MCP_API void mcp_json_add_string(mcp_json_writer *w, const char *value);
MCP_API void mcp_json_add_str(mcp_json_writer *w, mcp_str value);
MCP_API void mcp_json_add_base64(mcp_json_writer *w, const void *bytes, size_t len);
/* Copies a parsed value. */
MCP_API void mcp_json_add_value(mcp_json_writer *w, const mcp_json *value);
/* Copies JSON text without checking it. The caller must ensure that the text is valid. A newline in
 * the text makes the writer fail with MCP_EINVAL. */
MCP_API void mcp_json_add_raw(mcp_json_writer *w, mcp_str json);

/* Write a whole member of an object: its key, and its value as mcp_json_add_*() writes it. (The
 * parameters end with _ so that they shadow no global name of a program.) */
static inline void mcp_json_put_null(mcp_json_writer *w_, const char *key_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_null(w_);
}

static inline void mcp_json_put_bool(mcp_json_writer *w_, const char *key_, bool value_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_bool(w_, value_);
}

static inline void mcp_json_put_int(mcp_json_writer *w_, const char *key_, int64_t value_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_int(w_, value_);
}

static inline void mcp_json_put_uint(mcp_json_writer *w_, const char *key_, uint64_t value_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_uint(w_, value_);
}

static inline void mcp_json_put_real(mcp_json_writer *w_, const char *key_, double value_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_real(w_, value_);
}

static inline void mcp_json_put_string(mcp_json_writer *w_, const char *key_, const char *value_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_string(w_, value_);
}

static inline void mcp_json_put_str(mcp_json_writer *w_, const char *key_, mcp_str value_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_str(w_, value_);
}

static inline void mcp_json_put_base64(mcp_json_writer *w_, const char *key_, const void *bytes_,
                                       size_t len_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_base64(w_, bytes_, len_);
}

static inline void mcp_json_put_value(mcp_json_writer *w_, const char *key_, const mcp_json *value_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_value(w_, value_);
}

static inline void mcp_json_put_raw(mcp_json_writer *w_, const char *key_, mcp_str json_)
{
    mcp_json_key(w_, key_);
    mcp_json_add_raw(w_, json_);
}

/* Write the key of a member whose value is an object or an array, and begin it. mcp_json_end() ends
 * it. */
static inline void mcp_json_put_object(mcp_json_writer *w_, const char *key_)
{
    mcp_json_key(w_, key_);
    mcp_json_begin_object(w_);
}

static inline void mcp_json_put_array(mcp_json_writer *w_, const char *key_)
{
    mcp_json_key(w_, key_);
    mcp_json_begin_array(w_);
}

/* Returns MCP_OK and the text, which belongs to the writer and is valid until the writer is used
 * again or freed; or the first failure: MCP_ENOMEM, MCP_ELIMIT, MCP_EINVAL (not UTF-8), MCP_ESTATE
 * (unbalanced). */
MCP_API int mcp_json_writer_finish(mcp_json_writer *w, mcp_str *ret);
/* Empties the writer and clears its failure. The writer keeps its memory for the next text. */
MCP_API void mcp_json_writer_reset(mcp_json_writer *w);

#ifdef __cplusplus
}
#endif
#endif
