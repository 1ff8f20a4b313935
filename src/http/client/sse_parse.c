/* sse_parse.c: parses an event stream as it arrives (WHATWG HTML, 9.2.6, "Interpreting an event
 * stream"). Data goes directly into the buffer of the event; lines are not buffered.
 *
 * The id of an event takes effect at the end of the event. A stream that breaks in the middle of an
 * event is therefore resumed before that event. Unlike in a browser, an event without data is
 * returned too if it has an id or a type, because it shows that the stream is alive and can be
 * resumed.
 */
#include "http/client/parser.h"

enum { AT_START, IN_NAME, AFTER_COLON, IN_VALUE, IN_NOTHING };
enum { FIELD_OTHER, FIELD_DATA, FIELD_EVENT, FIELD_ID, FIELD_RETRY };

static const char bom[] = "\xEF\xBB\xBF";

enum {
    BOM_LEN = 3,
    WINDOW = 512,
    KEEP_IDLE = 64 * 1024,
    LEAST = 4096,
    RETRY_MOST = 24 * 3600 * 1000
};

void mcp__sse_init(mcp__sse *p, const mcp_allocator *allocator, size_t max_event)
{
    *p = (mcp__sse){.retry = -1, .max_event = MCP__MAX(max_event, (size_t)LEAST)};
    mcp__buf_init(&p->data, allocator, 0);
    mcp__buf_init(&p->id, allocator, 0);
    mcp__buf_init(&p->next, allocator, 0);
}

void mcp__sse_free(mcp__sse *p)
{
    mcp__buf_free(&p->data);
    mcp__buf_free(&p->id);
    mcp__buf_free(&p->next);
}

static void begin_event(mcp__sse *p)
{
    mcp__buf_reset(&p->data, KEEP_IDLE);
    mcp__buf_reset(&p->next, MCP__SSE_MAX_ID);
    p->type_len = 0;
    p->has_data = p->has_next = p->is_cut = p->given = false;
}

void mcp__sse_restart(mcp__sse *p)
{
    begin_event(p);
    p->state = AT_START;
    p->seen = 0;
    p->after_cr = false;
}

mcp_str mcp__sse_last_id(const mcp__sse *p)
{
    return mcp__buf_view(&p->id);
}

/* ---- one field ------------------------------------------------------------------------------- */

static unsigned char field_of(const mcp__sse *p)
{
    static const struct {
        mcp_str name;
        unsigned char field;
    } fields[] = {
        {{"data", 4}, FIELD_DATA},
        {{"event", 5}, FIELD_EVENT},
        {{"id", 2}, FIELD_ID},
        {{"retry", 5}, FIELD_RETRY},
    };
    mcp_str name = {p->name, p->name_len};
    for (size_t i = 0; i < MCP__COUNT(fields); i++) {
        if (mcp_str_eq(name, fields[i].name))
            return fields[i].field;
    }
    return FIELD_OTHER;
}

static void append_data(mcp__sse *p, const char *bytes, size_t n)
{
    if (p->is_cut) {
        mcp__id_scan_feed(&p->scan, (mcp_str){bytes, n});
        return;
    }
    size_t room = p->max_event - MCP__MIN(p->data.len, p->max_event);
    if (n <= room) {
        mcp__buf_add(&p->data, bytes, n);
        return;
    }
    p->is_cut = true; /* only the id is kept */
    p->scan = (mcp__id_scan){0};
    mcp__id_scan_feed(&p->scan, mcp__buf_view(&p->data));
    mcp__id_scan_feed(&p->scan, (mcp_str){bytes, n});
    p->data.len = 0;
}

static void begin_value(mcp__sse *p)
{
    p->field = field_of(p);
    p->bad_value = false;
    p->number = 0;
    p->line_data = 0;
    switch (p->field) {
    case FIELD_DATA:
        if (p->has_data)
            append_data(p, "\n", 1);
        p->has_data = true;
        break;
    case FIELD_EVENT: p->type_len = 0; break;
    case FIELD_ID: mcp__buf_reset(&p->next, MCP__SSE_MAX_ID); break;
    default: break;
    }
}

/* A type that is too long is truncated. A truncated type never equals a known one. */
static void append_type(mcp__sse *p, const char *bytes, size_t n)
{
    size_t room = sizeof(p->type) - p->type_len;
    memcpy(p->type + p->type_len, bytes, MCP__MIN(n, room));
    p->type_len = (unsigned char)(p->type_len + MCP__MIN(n, room));
}

/* The client sends the id back in a header, so an id that a header cannot contain is ignored. */
static void append_id(mcp__sse *p, const char *bytes, size_t n)
{
    if (n > MCP__SSE_MAX_ID - p->next.len)
        p->bad_value = true;
    for (size_t i = 0; i < n && !p->bad_value; i++) {
        unsigned char c = (unsigned char)bytes[i];
        p->bad_value = c < 0x20 || c == 0x7F;
    }
    if (!p->bad_value)
        mcp__buf_add(&p->next, bytes, n);
}

static void append_retry(mcp__sse *p, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && !p->bad_value; i++) {
        p->bad_value = bytes[i] < '0' || bytes[i] > '9';
        p->number = MCP__MIN(p->number * 10 + (uint64_t)(bytes[i] - '0'), (uint64_t)RETRY_MOST);
        p->line_data++;
    }
}

static void append_value(mcp__sse *p, const char *bytes, size_t n)
{
    switch (p->field) {
    case FIELD_DATA: append_data(p, bytes, n); break;
    case FIELD_EVENT: append_type(p, bytes, n); break;
    case FIELD_ID: append_id(p, bytes, n); break;
    case FIELD_RETRY: append_retry(p, bytes, n); break;
    default: break;
    }
}

static void end_value(mcp__sse *p)
{
    if (p->field == FIELD_RETRY && !p->bad_value && p->line_data)
        p->retry = (int64_t)p->number;
    if (p->field == FIELD_ID)
        p->has_next = !p->bad_value;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Returns the number of bytes before the end of the line, or the number of all bytes if there is no
 * end. Searches in windows. Without them, if lines end with carriage returns, the search for a
 * newline would scan the whole rest for each line. */
static size_t line_length(mcp_str s)
{
    for (size_t at = 0; at < s.len; at += WINDOW) {
        size_t n = MCP__MIN(s.len - at, (size_t)WINDOW);
        const char *nl = memchr(s.ptr + at, '\n', n);
        if (nl)
            n = (size_t)(nl - s.ptr) - at;
        const char *cr = n ? memchr(s.ptr + at, '\r', n) : NULL;
        if (cr || nl)
            return (size_t)((cr ? cr : nl) - s.ptr);
    }
    return s.len;
}

/* Removes from a piece of a line the characters of the field name, and the colon. */
static void take_name(mcp__sse *p, mcp_str *piece)
{
    const char *colon = memchr(piece->ptr, ':', piece->len);
    size_t n = colon ? (size_t)(colon - piece->ptr) : piece->len;
    size_t room = sizeof(p->name) - p->name_len;
    memcpy(p->name + p->name_len, piece->ptr, MCP__MIN(n, room));
    p->name_len = (unsigned char)(p->name_len + MCP__MIN(n, room));
    *piece = mcp__str_sub(*piece, colon ? n + 1 : n);
    if (!colon)
        return;
    p->state = p->name_len ? AFTER_COLON : IN_NOTHING; /* a line without a name is a comment */
    if (p->name_len)
        begin_value(p);
}

static void take_piece(mcp__sse *p, mcp_str piece)
{
    if (!piece.len)
        return;
    if (p->state == AT_START) {
        p->name_len = 0;
        p->state = IN_NAME;
    }
    if (p->state == IN_NAME)
        take_name(p, &piece);
    if (p->state == AFTER_COLON && piece.len) {
        if (piece.ptr[0] == ' ')
            piece = mcp__str_sub(piece, 1);
        p->state = IN_VALUE;
    }
    if (p->state == IN_VALUE)
        append_value(p, piece.ptr, piece.len);
}

/* Ends a line. Returns true if the line is empty, which ends an event. */
static bool end_line(mcp__sse *p)
{
    bool is_empty = p->state == AT_START;
    if (p->state == IN_NAME)
        begin_value(p); /* a field without a colon has an empty value */
    if (p->state == IN_NAME || p->state == AFTER_COLON || p->state == IN_VALUE)
        end_value(p);
    p->state = AT_START;
    return is_empty;
}

static bool end_event(mcp__sse *p, mcp__sse_event *event)
{
    bool counts = p->has_data || p->has_next || p->type_len;
    p->given = true;
    if (p->has_next) {
        mcp__buf id = p->id;
        p->id = p->next;
        p->next = id;
    }
    *event =
        (mcp__sse_event){.type = {p->type, p->type_len},
                         .data = p->is_cut ? mcp__id_scan_end(&p->scan) : mcp__buf_view(&p->data),
                         .is_cut = p->is_cut};
    return counts;
}

/* Skips a byte order mark at the start of the stream. Returns false if more bytes are needed to
 * recognize it. */
static bool skip_mark(mcp__sse *p, mcp_str *bytes)
{
    while (p->seen < BOM_LEN && bytes->len) {
        if (bytes->ptr[0] != bom[p->seen]) {
            /* This is not a byte order mark, so the bytes so far belong to the first line. */
            size_t n = p->seen;
            p->seen = BOM_LEN;
            take_piece(p, (mcp_str){bom, n});
            return true;
        }
        p->seen++;
        *bytes = mcp__str_sub(*bytes, 1);
    }
    return p->seen == BOM_LEN;
}

int mcp__sse_next(mcp__sse *p, mcp_str *bytes, mcp__sse_event *event)
{
    if (p->given)
        begin_event(p);
    if (p->seen < BOM_LEN && !skip_mark(p, bytes))
        return MCP_OK;
    while (bytes->len) {
        if (p->after_cr && bytes->ptr[0] == '\n')
            *bytes = mcp__str_sub(*bytes, 1);
        p->after_cr = false;
        size_t n = line_length(*bytes);
        take_piece(p, (mcp_str){bytes->ptr, n});
        if (p->data.failed || p->next.failed)
            return MCP_ENOMEM;
        if (n == bytes->len) {
            *bytes = mcp__str_sub(*bytes, n);
            break;
        }
        p->after_cr = bytes->ptr[n] == '\r';
        *bytes = mcp__str_sub(*bytes, n + 1);
        if (end_line(p)) {
            if (end_event(p, event))
                return MCP_PENDING;
            begin_event(p);
        }
    }
    return MCP_OK;
}
