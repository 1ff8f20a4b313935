/* parse.c: parses a JSON text into a document, within limits.
 *
 * yyjson does the parsing. The checks that it lacks are here: size, depth and number of values
 * (before yyjson runs), duplicate keys (after it). An mcp_json_doc is yyjson's own document under
 * another name, so a parse in place costs one allocation. Each memory block begins with a copy of
 * its allocator, so that the document does not depend on the lifetime of the caller's struct.
 */
#include <limits.h>
#include <stdalign.h>
#include <yyjson.h>

#include "json/json.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_json_limits, max_bytes, 64 << 20),
    MCP_DEFAULT(mcp_json_limits, max_depth, 64, .maximum = MCP__JSON_DEEPEST),
};

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct block_head {
    alignas(max_align_t) mcp_allocator allocator;
} block_head;

static void *alc_malloc(void *ctx, size_t size)
{
    const mcp_allocator *a = ctx;
    if (size > SIZE_MAX - sizeof(block_head))
        return NULL;
    block_head *head = mcp__alloc(a, sizeof(*head) + size);
    if (!head)
        return NULL;
    head->allocator = *a;
    return head + 1;
}

static void *alc_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
    (void)old_size;
    const mcp_allocator *a = ctx;
    if (size > SIZE_MAX - sizeof(block_head))
        return NULL;
    block_head *head = mcp__resize(a, (block_head *)ptr - 1, sizeof(*head) + size);
    return head ? head + 1 : NULL;
}

static void alc_free(void *ctx, void *ptr)
{
    (void)ctx; /* the caller's struct may no longer exist when a document is freed */
    if (!ptr)
        return;
    block_head *head = (block_head *)ptr - 1;
    mcp_allocator a = head->allocator;
    mcp__release(&a, head);
}

/* ---- depth and number of values, before parsing ---------------------------------------------- */

/* 16 counters of a byte each. gcc and clang make vector instructions of the operators. */
typedef unsigned char counters __attribute__((vector_size(16)));

/* Counts the bytes '{' and '[', including those inside strings, and stops when the count exceeds
 * `max`. The count is an upper bound of the depth. For nearly every message it suffices to prove
 * that the message is not too deep. */
static size_t count_openers(const char *text, size_t len, size_t max)
{
    size_t count = 0, i = 0;
    while (len - i >= sizeof(counters) && count <= max) {
        counters found = {0};
        size_t blocks = MCP__MIN((len - i) / sizeof(found), (size_t)UCHAR_MAX);
        for (; blocks > 0; blocks--, i += sizeof(found)) {
            counters bytes;
            memcpy(&bytes, text + i, sizeof(bytes));
            found -= (counters)((bytes | 0x20) == '{'); /* '[' | 0x20 is '{'; true is -1 */
        }
        for (size_t k = 0; k < sizeof(found); k++)
            count += found[k];
    }
    for (; i < len; i++)
        count += text[i] == '{' || text[i] == '[';
    return count;
}

/* Returns the offset at which a limit is exceeded, or len if none is. The result is exact if the
 * text before it is valid JSON; if it is not, the parser reports an error. A key counts as a value,
 * and an empty container as two. */
static size_t exceeds_at(const char *text, size_t len, size_t max_depth, size_t max_values,
                         bool *too_deep)
{
    size_t depth = 0, values = 1, i = 0;
    *too_deep = false;
    while (i < len) {
        switch (text[i++]) {
        case '"': i = mcp__json_skip_string(text, len, i); break;
        case '{':
        case '[':
            *too_deep = ++depth > max_depth;
            if (*too_deep || ++values > max_values)
                return i - 1;
            break;
        case ':':
        case ',':
            if (++values > max_values)
                return i - 1;
            break;
        case '}':
        case ']':
            if (depth)
                depth--;
            break;
        default: break;
        }
    }
    return len;
}

/* Each value takes at least two bytes, one of which is a comma, a colon or a bracket. */
static int check_structure(const char *text, size_t len, const mcp_json_limits *limits,
                           mcp_error *error)
{
    size_t max_depth = limits->max_depth, max_values = limits->max_values;
    bool many = max_values && len / 2 >= max_values, deep;
    if (!many && (len <= max_depth || count_openers(text, len, max_depth) <= max_depth))
        return MCP_OK;
    size_t at = exceeds_at(text, len, max_depth, many ? max_values : SIZE_MAX, &deep);
    if (at == len)
        return MCP_OK;
    if (deep)
        return mcp__fail(error, MCP_ELIMIT, at, "JSON nested deeper than the limit of %zu",
                         max_depth);
    return mcp__fail(error, MCP_ELIMIT, at,
                     "JSON with more values than the limit of %zu (max_values)", max_values);
}

/* ---- the call into yyjson -------------------------------------------------------------------- */

static int read_doc(char *text, size_t len, yyjson_read_flag flags, const mcp_allocator *allocator,
                    yyjson_doc **ret, mcp_error *error)
{
    yyjson_alc alc = {
        .malloc = alc_malloc,
        .realloc = alc_realloc,
        .free = alc_free,
        .ctx = (void *)(uintptr_t)allocator,
    };
    yyjson_read_err why = {0};
    yyjson_doc *doc = yyjson_read_opts(text, len, flags | YYJSON_READ_BIGNUM_AS_RAW, &alc, &why);
    if (doc) {
        *ret = doc;
        return MCP_OK;
    }
    if (why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return mcp__fail(error, MCP_ENOMEM, 0, "out of memory for a JSON text of %zu bytes", len);
    return mcp__fail(error, MCP_EPARSE, MCP__MIN(why.pos, len), "invalid JSON at byte %zu: %s",
                     why.pos, why.msg ? why.msg : "unknown");
}

static int check_text(const char *text, size_t len, const mcp_json_limits *limits, mcp_error *error)
{
    if (len > limits->max_bytes)
        return mcp__fail(error, MCP_ELIMIT, limits->max_bytes,
                         "a JSON text of %zu bytes is over the limit of %zu", len,
                         limits->max_bytes);
    if (len == 0)
        return mcp__fail(error, MCP_EPARSE, 0, "invalid JSON: there is no text");
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        return mcp__fail(error, MCP_EPARSE, 0, "invalid JSON: it starts with a byte order mark");
    return check_structure(text, len, limits, error);
}

static int take_limits(const mcp_json_limits *given, mcp_json_limits *limits, mcp_error *error)
{
    int rc = MCP__TAKE_OPTIONAL(limits, given, mcp_json_limits, error);
    MCP_SET_DEFAULTS(limits, defaults);
    return rc;
}

/* Writes to the text only if flags contains YYJSON_READ_INSITU. */
static int parse(char *text, size_t len, yyjson_read_flag flags, const mcp_json_limits *given,
                 const mcp_allocator *allocator, mcp_json_doc **ret, mcp_error *error)
{
    const mcp_allocator *a = mcp__allocator(allocator);
    mcp_json_limits limits;
    int rc = take_limits(given, &limits, error);
    if (rc == MCP_OK)
        rc = check_text(text, len, &limits, error);
    if (rc)
        return rc;
    if (flags & YYJSON_READ_INSITU)
        memset(text + len, 0, MCP__JSON_PADDING);
    yyjson_doc *doc = NULL;
    rc = read_doc(text, len, flags, a, &doc, error);
    if (rc)
        return rc;
    assert(doc);
    /* Strings are decoded in place, in the text or in its copy, so the offset of a key is known. */
    const char *base = flags & YYJSON_READ_INSITU ? text : doc->str_pool;
    rc = mcp__json_check_keys((const mcp_json *)doc->root, base, a, error);
    if (rc) {
        yyjson_doc_free(doc);
        return rc;
    }
    *ret = (mcp_json_doc *)doc;
    return MCP_OK;
}

int mcp_json_parse(mcp_str text, const mcp_json_limits *limits, const mcp_allocator *allocator,
                   mcp_json_doc **ret, mcp_error *error)
{
    mcp__no_error(error);
    if (!ret || (!text.ptr && text.len))
        return mcp__fail(error, MCP_EINVAL, 0, "mcp_json_parse() needs a text and a result");
    return parse((char *)(uintptr_t)text.ptr, text.len, YYJSON_READ_NOFLAG, limits, allocator, ret,
                 error);
}

int mcp__json_parse_insitu(char *text, size_t len, const mcp_json_limits *limits,
                           const mcp_allocator *allocator, mcp_json_doc **ret, mcp_error *error)
{
    return parse(text, len, YYJSON_READ_INSITU, limits, allocator, ret, error);
}

void mcp_json_free(mcp_json_doc *doc)
{
    yyjson_doc_free((yyjson_doc *)doc);
}

void mcp__json_wipe(mcp_json_doc *doc)
{
    yyjson_doc *d = (yyjson_doc *)doc;
    if (d)
        mcp__wipe(d->str_pool, yyjson_doc_get_read_size(d));
    mcp_json_free(doc);
}

size_t mcp__json_doc_bytes(const mcp_json_doc *doc)
{
    return yyjson_doc_get_read_size((yyjson_doc *)(uintptr_t)doc);
}

size_t mcp__json_doc_memory(const mcp_json_doc *doc)
{
    yyjson_doc *d = (yyjson_doc *)(uintptr_t)doc;
    return yyjson_doc_get_read_size(d) + yyjson_doc_get_val_count(d) * sizeof(yyjson_val);
}

/* yyjson puts the values behind its struct, in one block. Returns the size of both. */
static size_t values_size(const yyjson_doc *d)
{
    return (size_t)((const char *)(d->root + d->val_read) - (const char *)d);
}

size_t mcp__json_doc_allocated(const mcp_json_doc *doc)
{
    enum { HEAP = 24 }; /* the heap's own part of a block, at most */
    const yyjson_doc *d = (const yyjson_doc *)doc;
    if (!d)
        return 0;
    size_t text = d->str_pool ? d->dat_read + YYJSON_PADDING_SIZE + sizeof(block_head) + HEAP : 0;
    return values_size(d) + sizeof(block_head) + HEAP + text;
}

int mcp__json_shrink(mcp_json_doc **doc)
{
    yyjson_doc *d = (yyjson_doc *)*doc;
    if (!d)
        return MCP_OK;
    /* Resizing the block would leave a hole behind it that no other document fits in. */
    block_head *head = (block_head *)d - 1;
    const mcp_allocator a = head->allocator;
    size_t size = sizeof(*head) + values_size(d);
    block_head *copy = mcp__alloc(&a, size);
    if (!copy)
        return MCP_ENOMEM;
    memcpy(copy, head, size);
    yyjson_doc *to = (yyjson_doc *)(copy + 1);
    to->root = (yyjson_val *)((char *)to + ((char *)d->root - (char *)d));
    mcp__release(&a, head);
    *doc = (mcp_json_doc *)to;
    return MCP_OK;
}

const mcp_json *mcp_json_root(const mcp_json_doc *doc)
{
    return doc ? (const mcp_json *)((const yyjson_doc *)doc)->root : NULL;
}
