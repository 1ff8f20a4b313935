/* headers.c: collects those headers of a request that are used, and parses media types.
 *
 * The parser delivers names and values in pieces, which are joined here. A header that neither this
 * layer nor the server uses is discarded as soon as its name is complete.
 */
#include "http/server/head.h"

static const mcp_str known[MCP__HTTP_KNOWN] = {
    [MCP__HTTP_HOST] = {"host", 4},
    [MCP__HTTP_ORIGIN] = {"origin", 6},
    [MCP__HTTP_AUTHORIZATION] = {"authorization", 13},
    [MCP__HTTP_CONTENT_TYPE] = {"content-type", 12},
    [MCP__HTTP_CONTENT_ENCODING] = {"content-encoding", 16},
    [MCP__HTTP_ACCEPT] = {"accept", 6},
    [MCP__HTTP_EXPECT] = {"expect", 6},
    [MCP__HTTP_SESSION] = {"mcp-session-id", 14},
    [MCP__HTTP_REVISION] = {"mcp-protocol-version", 20},
    [MCP__HTTP_METHOD] = {"mcp-method", 10},
    [MCP__HTTP_NAME] = {"mcp-name", 8},
    [MCP__HTTP_LAST_EVENT] = {"last-event-id", 13},
    [MCP__HTTP_TRACEPARENT] = {"traceparent", 11},
    [MCP__HTTP_FORWARDED_FOR] = {"x-forwarded-for", 15},
    [MCP__HTTP_HOP] = {"libmcp-forwarded-request", 24},
    [MCP__HTTP_REQUEST_HEADERS] = {"access-control-request-headers", 30},
    [MCP__HTTP_LENGTH] = {"content-length", 14},
    [MCP__HTTP_CODING] = {"transfer-encoding", 17},
};

/* Precedes the name and value of each Mcp-Param-*, and of login_headers, in the buffer. The struct
 * is not aligned there. */
typedef struct param {
    uint32_t next; /* offset of the next one, or 0 */
    uint32_t name_len, value_len;
    bool repeated;
} param;

enum {
    /* headers that may occur several times, and then form one list */
    LISTS = 1u << MCP__HTTP_ACCEPT | 1u << MCP__HTTP_FORWARDED_FOR,
    MIRRORED = 1u << MCP__HTTP_REVISION | 1u << MCP__HTTP_METHOD | 1u << MCP__HTTP_NAME |
               1u << MCP__HTTP_PARAM,
};

static const mcp_str no_value = {"\n", 1};

mcp_str mcp__http_trim(mcp_str s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = mcp__str_sub(s, 1);
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

void mcp__http_head_reset(mcp__http_head *head)
{
    mcp__buf bytes = head->bytes;
    *head = (mcp__http_head){.bytes = bytes, .options = head->options};
    mcp__buf_reset(&head->bytes, 4096);
}

void mcp__http_head_shrink(mcp__http_head *head)
{
    mcp__buf *b = &head->bytes;
    char *small = b->ptr ? mcp__resize(b->allocator, b->ptr, b->len) : NULL;
    if (!small)
        return;
    b->ptr = small;
    b->cap = b->len;
}

/* Compares the name of a header, ignoring case, with a name from the table that has the same
 * length. Names in the table consist of lower-case letters and hyphens, which all have the bit
 * 0x20. */
static bool same_name(mcp_str ours, mcp_str name)
{
    const uint64_t small = UINT64_C(0x2020202020202020);
    size_t i = 0;
    for (; name.len - i >= 8; i += 8) {
        uint64_t a, b;
        memcpy(&a, ours.ptr + i, 8);
        memcpy(&b, name.ptr + i, 8);
        if (a != (b | small))
            return false;
    }
    for (; i < name.len; i++) {
        if (ours.ptr[i] != (name.ptr[i] | 0x20))
            return false;
    }
    return true;
}

/* Returns the only known header that can have this name, by length and first letter. */
static mcp__http_known candidate(mcp_str name)
{
    char first = name.len ? mcp__lower(name.ptr[0]) : 0;
    switch (name.len) {
    case 4: return MCP__HTTP_HOST;
    case 6:
        return first == 'a' ? MCP__HTTP_ACCEPT : first == 'o' ? MCP__HTTP_ORIGIN : MCP__HTTP_EXPECT;
    case 8: return MCP__HTTP_NAME;
    case 9: return MCP__HTTP_FORWARDED_FOR;
    case 10: return MCP__HTTP_METHOD;
    case 11: return MCP__HTTP_TRACEPARENT;
    case 12: return MCP__HTTP_CONTENT_TYPE;
    case 13: return first == 'a' ? MCP__HTTP_AUTHORIZATION : MCP__HTTP_LAST_EVENT;
    case 14: return first == 'c' ? MCP__HTTP_LENGTH : MCP__HTTP_SESSION;
    case 15: return MCP__HTTP_FORWARDED_FOR;
    case 16: return MCP__HTTP_CONTENT_ENCODING;
    case 17: return MCP__HTTP_CODING;
    case 20: return MCP__HTTP_REVISION;
    case 24: return MCP__HTTP_HOP;
    case 30: return MCP__HTTP_REQUEST_HEADERS;
    default: return MCP__HTTP_KNOWN;
    }
}

/* This function is not inlined, because most programs have no such headers. */
static MCP__NOINLINE bool is_more(const mcp__http_head *head, mcp_str name)
{
    const mcp_http_options *o = head->options;
    if (o->resource_server && mcp__str_same(MCP_STR("DPoP"), name))
        return true;
    for (size_t i = 0; i < o->n_login_headers; i++) {
        if (mcp__str_same(mcp_str_from(o->login_headers[i]), name))
            return true;
    }
    return false;
}

static mcp_str of_proxies(const mcp__http_head *head)
{
    bool other = head->options && head->options->proxy_header;
    return other ? MCP_STR("forwarded") : known[MCP__HTTP_FORWARDED_FOR];
}

static mcp__http_known classify(const mcp__http_head *head, mcp_str name)
{
    mcp__http_known kind = candidate(name);
    mcp_str own = kind == MCP__HTTP_FORWARDED_FOR ? of_proxies(head)
                  : kind < MCP__HTTP_KNOWN        ? known[kind]
                                                  : (mcp_str){0};
    if (own.len == name.len && name.len && same_name(own, name))
        return kind;
    mcp_str prefix = MCP_STR("mcp-param-");
    bool is_param = name.len > prefix.len && same_name(prefix, (mcp_str){name.ptr, prefix.len});
    if (is_param)
        return MCP__HTTP_PARAM;
    const mcp_http_options *o = head->options;
    bool may_be_more = o && (o->n_login_headers || o->resource_server);
    return may_be_more && is_more(head, name) ? MCP__HTTP_MORE : MCP__HTTP_IGNORED;
}

static mcp_str tail(const mcp__http_head *head, uint32_t from)
{
    return (mcp_str){head->bytes.ptr + from, head->bytes.len - from};
}

void mcp__http_head_name(mcp__http_head *head, const char *at, size_t len)
{
    if (head->field == 0) {
        if (head->bytes.len == 0)
            mcp__buf_char(&head->bytes, 0); /* so that no header begins at offset 0 */
        head->field = (uint32_t)head->bytes.len;
        param p = {0};
        mcp__buf_add(&head->bytes, &p, sizeof(p));
    }
    mcp__buf_add(&head->bytes, at, len);
}

void mcp__http_head_name_end(mcp__http_head *head)
{
    if (head->bytes.failed)
        return;
    uint32_t name = head->field + (uint32_t)sizeof(param);
    mcp_str text = tail(head, name);
    head->count++;
    head->field_kind = (uint8_t)classify(head, text);
    if (head->field_kind == MCP__HTTP_IGNORED)
        head->bytes.len = head->field;
    else if (head->field_kind < MCP__HTTP_KNOWN)
        head->bytes.len = name;
    head->field_value = (uint32_t)head->bytes.len;
}

void mcp__http_head_value(mcp__http_head *head, const char *at, size_t len)
{
    if (head->field_kind != MCP__HTTP_IGNORED)
        mcp__buf_add(&head->bytes, at, len);
}

/* Returns the offset of the Mcp-Param-* with that name, or 0. */
static uint32_t find_param(const mcp__http_head *head, mcp_str name, param *p)
{
    for (uint32_t at = head->params; at; at = p->next) {
        memcpy(p, head->bytes.ptr + at, sizeof(*p));
        if (mcp__str_same((mcp_str){head->bytes.ptr + at + sizeof(*p), p->name_len}, name))
            return at;
    }
    return 0;
}

bool mcp__http_next_param(const mcp__http_head *head, uint32_t *at, mcp_str *name, mcp_str *value)
{
    param p;
    do {
        if (*at)
            memcpy(&p, head->bytes.ptr + *at, sizeof(p));
        *at = *at ? p.next : head->params;
        if (!*at)
            return false;
        memcpy(&p, head->bytes.ptr + *at, sizeof(p));
    } while (p.repeated);
    const char *text = head->bytes.ptr + *at + sizeof(p);
    *name = (mcp_str){text, p.name_len};
    *value = (mcp_str){text + p.name_len, p.value_len};
    return true;
}

static void note_repeated(mcp__http_head *head, uint32_t at, param *p)
{
    p->repeated = true;
    memcpy(head->bytes.ptr + at, p, sizeof(*p));
    if (head->field_kind == MCP__HTTP_PARAM)
        head->repeated |= 1u << MCP__HTTP_PARAM;
}

static void keep_param(mcp__http_head *head, mcp_str value)
{
    mcp_str name = tail(head, head->field + (uint32_t)sizeof(param));
    name.len = head->field_value - head->field - sizeof(param);
    param other;
    uint32_t before = find_param(head, name, &other);
    if (before)
        note_repeated(head, before, &other);
    /* Moves the value to the front, over the white space that precedes it. */
    memmove(head->bytes.ptr + head->field_value, value.ptr, value.len);
    head->bytes.len = head->field_value + value.len;
    param p = {.name_len = (uint32_t)name.len, .value_len = (uint32_t)value.len};
    memcpy(head->bytes.ptr + head->field, &p, sizeof(p));
    if (head->last_param) {
        memcpy(&p, head->bytes.ptr + head->last_param, sizeof(p));
        p.next = head->field;
        memcpy(head->bytes.ptr + head->last_param, &p, sizeof(p));
    } else {
        head->params = head->field;
    }
    head->last_param = head->field;
}

void mcp__http_head_value_end(mcp__http_head *head)
{
    uint32_t kind = head->field_kind;
    if (head->bytes.failed == MCP_OK && (kind == MCP__HTTP_PARAM || kind == MCP__HTTP_MORE)) {
        keep_param(head, mcp__http_trim(tail(head, head->field_value)));
    } else if (head->bytes.failed == MCP_OK && kind < MCP__HTTP_KNOWN) {
        mcp_str value = mcp__http_trim(tail(head, head->field_value));
        uint32_t again = head->present & 1u << kind;
        head->repeated |= again & MIRRORED;
        head->duplicate |= (again & ~(uint32_t)(MIRRORED | LISTS)) != 0;
        if (kind == MCP__HTTP_ACCEPT)
            head->accepts |= (uint8_t)mcp__http_accepts(value);
        head->present |= 1u << kind;
        head->known[kind] =
            (mcp__http_span){(uint32_t)(value.ptr - head->bytes.ptr), (uint32_t)value.len};
    }
    head->field = 0;
    head->field_kind = MCP__HTTP_IGNORED;
}

bool mcp__http_is_mirrored(const mcp__http_head *head)
{
    return (MIRRORED & 1u << head->field_kind) != 0;
}

mcp_str mcp__http_header(const mcp__http_head *head, mcp__http_known which)
{
    if (!(head->present & 1u << which))
        return (mcp_str){0};
    return mcp__http_text(head, head->known[which]);
}

bool mcp__http_find(const mcp__http_head *head, const char *name, mcp_str *value)
{
    mcp_str wanted = mcp_str_from(name);
    mcp__http_known kind = classify(head, wanted);
    param p;
    uint32_t at;
    if (kind < MCP__HTTP_KNOWN) {
        *value = head->repeated & 1u << kind ? no_value : mcp__http_header(head, kind);
        return value->ptr != NULL;
    }
    if (kind == MCP__HTTP_IGNORED || (at = find_param(head, wanted, &p)) == 0)
        return false;
    const char *text = head->bytes.ptr + at + sizeof(p);
    *value = p.repeated ? no_value : (mcp_str){text + p.name_len, p.value_len};
    return true;
}

/* ---- media types (RFC 9110, 12.5.1 and 8.3) ------------------------------------------------- */

/* Returns the part of *s before the first separator that is not in quotes. *s becomes the part
 * after the separator. */
static mcp_str split(mcp_str *s, char separator)
{
    bool quoted = false;
    size_t i = 0;
    for (; i < s->len; i++) {
        if (quoted && s->ptr[i] == '\\')
            i++;
        else if (s->ptr[i] == '"')
            quoted = !quoted;
        else if (!quoted && s->ptr[i] == separator)
            break;
    }
    i = MCP__MIN(i, s->len);
    mcp_str part = {s->ptr, i};
    *s = mcp__str_sub(*s, i < s->len ? i + 1 : i);
    return mcp__http_trim(part);
}

/* Returns whether the parameter is "q=0", "q=0.000" or similar, which excludes a media type. */
static bool is_refusal(mcp_str parameter)
{
    if (parameter.len < 3 || (parameter.ptr[0] | 0x20) != 'q' || parameter.ptr[1] != '=')
        return false;
    for (size_t i = 2; i < parameter.len; i++) {
        if (parameter.ptr[i] != '0' && parameter.ptr[i] != '.')
            return false;
    }
    return true;
}

unsigned mcp__http_accepts(mcp_str value)
{
    static const struct {
        mcp_str range;
        unsigned types;
    } ranges[] = {
        {{"application/json", 16}, MCP__HTTP_JSON},
        {{"text/event-stream", 17}, MCP__HTTP_SSE},
        {{"*/*", 3}, MCP__HTTP_JSON | MCP__HTTP_SSE},
        {{"application/*", 13}, MCP__HTTP_JSON},
        {{"text/*", 6}, MCP__HTTP_SSE},
    };
    unsigned types = 0;
    /* Nearly all clients send this value. */
    if (mcp_str_eq(value, MCP_STR("application/json, text/event-stream")))
        return MCP__HTTP_JSON | MCP__HTTP_SSE;
    while (value.len) {
        mcp_str entry = split(&value, ',');
        mcp_str range = split(&entry, ';');
        bool refused = false;
        while (entry.len)
            refused |= is_refusal(split(&entry, ';'));
        for (size_t i = 0; i < MCP__COUNT(ranges) && !refused; i++) {
            if (mcp__str_same(range, ranges[i].range))
                types |= ranges[i].types;
        }
    }
    return types;
}

bool mcp__http_is_json(mcp_str content_type)
{
    if (mcp_str_eq(content_type, MCP_STR("application/json")))
        return true;
    return mcp__str_same(split(&content_type, ';'), MCP_STR("application/json"));
}
