/* mirror.c: the rules for mirrored headers: which parameters of a tool they repeat, and how values
 * are encoded and compared.
 */
#include "protocol/mirror.h"

/* ---- the parts ------------------------------------------------------------------------------- */

const mcp_json *mcp__mirrored_value(const mcp__mirrored *m, const mcp_json *arguments)
{
    const mcp_json *value = arguments;
    for (size_t k = 0; k < m->depth; k++)
        value = mcp_json_get(value, m->path[k]);
    return value;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns whether the value can be sent unchanged in a header. Spaces within it are kept, but
 * spaces at its ends would be stripped in transit. */
static bool is_safe(mcp_str value)
{
    mcp_str text;
    for (size_t i = 0; i < value.len; i++) {
        if ((unsigned char)value.ptr[i] < 0x20 || (unsigned char)value.ptr[i] > 0x7e)
            return false;
    }
    if (value.len && (is_space(value.ptr[0]) || is_space(value.ptr[value.len - 1])))
        return false;
    return !mcp__mirror_is_encoded(value, &text);
}

void mcp__mirror_put(mcp__buf *b, mcp_str value)
{
    if (is_safe(value)) {
        mcp__buf_str(b, value);
        return;
    }
    mcp__buf_lit(b, "=?base64?");
    size_t n = MCP__BASE64_SIZE(value.len);
    char *to = mcp__buf_reserve(b, n);
    if (to) {
        mcp__base64_encode(to, value.ptr, value.len);
        b->len += n;
    }
    mcp__buf_lit(b, "?=");
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A number: its digits from the first to the last one that is not zero, and the power of ten of the
 * last digit. */
typedef struct decimal {
    mcp_str text; /* the digits, possibly with a point between them */
    int64_t power;
    bool negative;
} decimal;

static bool is_digit(mcp_str s, size_t at)
{
    return at < s.len && s.ptr[at] >= '0' && s.ptr[at] <= '9';
}

static size_t digits_end(mcp_str s, size_t at)
{
    while (is_digit(s, at))
        at++;
    return at;
}

/* Reads an exponent. Exponents of more than 15 digits are rejected. */
static bool read_exponent(mcp_str s, int64_t *ret)
{
    bool negative = s.len && s.ptr[0] == '-';
    size_t at = s.len && (s.ptr[0] == '-' || s.ptr[0] == '+');
    if (!is_digit(s, at) || digits_end(s, at) != s.len || s.len - at > 15)
        return false;
    for (; at < s.len; at++)
        *ret = *ret * 10 + (s.ptr[at] - '0');
    *ret = negative ? -*ret : *ret;
    return true;
}

static bool is_filler(char c)
{
    return c == '0' || c == '.';
}

/* Strips the zeros at both ends of a number such as "012.340". `point` is the offset of its
 * point. */
static void normalize(decimal *d, size_t point)
{
    mcp_str s = d->text;
    size_t from = 0, end = s.len;
    while (end && is_filler(s.ptr[end - 1]))
        end--;
    while (from < end && is_filler(s.ptr[from]))
        from++;
    d->text = (mcp_str){s.ptr + from, end - from};
    d->power += end > point ? (int64_t)point + 1 - (int64_t)end : (int64_t)(point - end);
    if (from == end) /* zeros are equal, whatever their sign and exponent */
        *d = (decimal){0};
}

static bool read_decimal(mcp_str s, decimal *d)
{
    *d = (decimal){.negative = s.len && s.ptr[0] == '-'};
    size_t from = d->negative, point = digits_end(s, from), end = point;
    bool zero = is_digit(s, from) && s.ptr[from] == '0';
    if (point == from || (zero && point > from + 1))
        return false;
    if (point < s.len && s.ptr[point] == '.') {
        end = digits_end(s, point + 1);
        if (end == point + 1)
            return false;
    }
    if (end < s.len &&
        ((s.ptr[end] | 0x20) != 'e' || !read_exponent(mcp__str_sub(s, end + 1), &d->power)))
        return false;
    d->text = (mcp_str){s.ptr + from, end - from};
    normalize(d, point - from);
    return true;
}

/* Returns the next digit, skipping the point. */
static char next_digit(mcp_str *s)
{
    if (s->len && s->ptr[0] == '.')
        *s = mcp__str_sub(*s, 1);
    char digit = s->len ? s->ptr[0] : 0;
    *s = mcp__str_sub(*s, s->len > 0);
    return digit;
}

bool mcp__mirror_same_number(mcp_str a, mcp_str b)
{
    decimal x, y;
    if (!read_decimal(a, &x) || !read_decimal(b, &y) || x.negative != y.negative ||
        x.power != y.power)
        return false;
    for (char digit = 1; digit;) {
        digit = next_digit(&x.text);
        if (digit != next_digit(&y.text))
            return false;
    }
    return true;
}

/* ---- x-mcp-header in a tool's schema --------------------------------------------------------- */

enum { MAX_DEPTH = 16 };

typedef struct walk {
    const mcp_allocator *allocator;
    mcp__mirror *mirror;
    mcp_error *error;
    mcp_str path[MAX_DEPTH];
} walk;

static bool is_token(mcp_str s)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool alphanumeric =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alphanumeric && !memchr(others, c, sizeof(others) - 1))
            return false;
    }
    return s.len > 0;
}

static int bad_header(walk *w, mcp_str name, const char *why)
{
    return mcp__fail(w->error, MCP_EINVAL, 0, "x-mcp-header \"%.*s\" %s",
                     (int)MCP__MIN(name.len, 60u), name.ptr ? name.ptr : "", why);
}

static int check_header(walk *w, const mcp_json *schema, mcp_str name)
{
    mcp_str type = mcp_json_string(mcp_json_get(schema, "type"));
    if (!is_token(name))
        return bad_header(w, name, "has to be a header's name (RFC 9110, token)");
    if (!mcp_str_eq(type, MCP_STR("string")) && !mcp_str_eq(type, MCP_STR("integer")) &&
        !mcp_str_eq(type, MCP_STR("boolean")))
        return bad_header(w, name, "belongs on a string, an integer or a boolean only");
    for (size_t i = 0; i < w->mirror->count; i++) {
        if (mcp__str_same(name, mcp_str_from(w->mirror->items[i].header + strlen("Mcp-Param-"))))
            return bad_header(w, name, "is used twice");
    }
    return MCP_OK;
}

static int add_header(walk *w, mcp_str name, size_t depth)
{
    const mcp_allocator *a = w->allocator;
    mcp__mirrored *items =
        mcp__resize(a, w->mirror->items, (w->mirror->count + 1) * sizeof(*items));
    if (!items)
        return MCP_ENOMEM;
    w->mirror->items = items;
    mcp__mirrored *m = &items[w->mirror->count++];
    *m = (mcp__mirrored){0};
    m->path = mcp__zalloc(a, depth * sizeof(*m->path));
    size_t prefix = strlen("Mcp-Param-");
    m->header = mcp__alloc(a, prefix + name.len + 1);
    if (!m->path || !m->header)
        return MCP_ENOMEM;
    memcpy(m->header, "Mcp-Param-", prefix);
    memcpy(m->header + prefix, name.ptr, name.len);
    m->header[prefix + name.len] = 0;
    for (m->depth = 0; m->depth < depth; m->depth++) {
        m->path[m->depth] = mcp__strdup(a, w->path[m->depth]);
        if (!m->path[m->depth])
            return MCP_ENOMEM;
    }
    return MCP_OK;
}

/* Rejects an annotation in a part of the schema that is not reached through properties alone. */
static int refuse_within(walk *w, const mcp_json *part)
{
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(part, &it, &key)) != NULL;) {
        if (mcp_json_is(part, MCP_JSON_OBJECT) && mcp_str_eq(key, MCP_STR("x-mcp-header")))
            return bad_header(w, mcp_json_string(v), "has to be reached through properties only");
        int rc = refuse_within(w, v);
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

static int walk_schema(walk *w, const mcp_json *schema, size_t depth)
{
    const mcp_json *header = mcp_json_get(schema, "x-mcp-header");
    if (header) {
        mcp_str name = mcp_json_string(header);
        int rc = depth == 0 ? bad_header(w, name, "belongs on a property") : MCP_OK;
        if (rc == MCP_OK)
            rc = check_header(w, schema, name);
        if (rc == MCP_OK)
            rc = add_header(w, name, depth);
        if (rc != MCP_OK)
            return rc;
    }
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(schema, &it, &key)) != NULL;) {
        int rc = MCP_OK;
        mcp_json_iter inner = {0};
        mcp_str name;
        if (!mcp_str_eq(key, MCP_STR("properties"))) {
            rc = refuse_within(w, v);
        } else if (depth >= MAX_DEPTH) {
            rc = refuse_within(w, v);
        } else {
            for (const mcp_json *p;
                 rc == MCP_OK && (p = mcp_json_next(v, &inner, &name)) != NULL;) {
                w->path[depth] = name;
                rc = walk_schema(w, p, depth + 1);
            }
        }
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

int mcp__mirror_compile(const mcp_allocator *allocator, const mcp_json *schema, mcp__mirror *ret,
                        mcp_error *error)
{
    *ret = (mcp__mirror){0};
    walk w = {.allocator = allocator, .mirror = ret, .error = error};
    return walk_schema(&w, schema, 0);
}

void mcp__mirror_free(const mcp_allocator *allocator, mcp__mirror *mirror)
{
    for (size_t i = 0; i < mirror->count; i++) {
        mcp__mirrored *m = &mirror->items[i];
        for (size_t k = 0; k < m->depth; k++)
            mcp__release(allocator, m->path[k]);
        mcp__release(allocator, m->path);
        mcp__release(allocator, m->header);
    }
    mcp__release(allocator, mirror->items);
    *mirror = (mcp__mirror){0};
}
