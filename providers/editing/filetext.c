/* filetext.c: see filetext.h. */
#include "filetext.h"

#include <stdarg.h>
#include <stdio.h>

#include "charset.h"
#include "ends.h"
#include "text.h"

int editing_fail(mcp_error *error, int code, size_t offset, const char *format, ...)
{
    va_list args;
    if (!error)
        return code;
    error->code = code;
    error->offset = offset;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return code;
}

int editing_succeed(mcp_error *error)
{
    if (error)
        *error = (mcp_error){.code = MCP_OK};
    return MCP_OK;
}

int editing_fail_code(mcp_error *error, int code)
{
    return editing_fail(error, code, 0, "%s", mcp_error_text(code));
}

/* The contents of a buffer from an offset on. */
static mcp_str behind(const common_buffer *b, size_t at)
{
    return b->len > at ? (mcp_str){b->ptr + at, b->len - at} : (mcp_str){"", 0};
}

/* The offset of the first byte that is not UTF-8, or of the first NUL. */
static size_t bad_byte(mcp_str bytes)
{
    size_t at = 0;
    while (at < bytes.len) {
        size_t size = 1;
        while (size <= 4 && size <= bytes.len - at &&
               !common_text_check((mcp_str){bytes.ptr + at, size}))
            size++;
        if (size > 4 || size > bytes.len - at)
            break;
        at += size;
    }
    return at;
}

/* Without a name: by the mark, or by looking. */
static int look(mcp_str bytes, const editing_charset **ret, mcp_error *error)
{
    static const char *const utf32[] = {"\xff\xfe\0\0", "\0\0\xfe\xff"};
    for (size_t i = 0; i < 2; i++)
        if (bytes.len >= 4 && bytes.len % 4 == 0 && memcmp(bytes.ptr, utf32[i], 4) == 0)
            return editing_fail(error, MCP_EUNSUPPORTED, 0, "a text in UTF-32 cannot be edited");
    *ret = editing_charset_marked(bytes);
    if (!*ret && common_text_check(bytes))
        *ret = editing_charset_of(EDITING_UTF8);
    if (!*ret)
        *ret = editing_charset_guess(bytes);
    if (*ret)
        return MCP_OK;
    size_t at = bad_byte(bytes);
    if (bytes.ptr[at] == 0)
        return editing_fail(error, MCP_EPARSE, at, "the file is not a text: byte %zu is NUL", at);
    return editing_fail(error, MCP_EPARSE, at,
                        "the file is not UTF-8 (byte %zu); if it is a text, name its charset", at);
}

/* With a name, to which a mark must fit. UTF-16 without a mark must be clear. */
static int find_named(mcp_str bytes, mcp_str name, const editing_charset **ret, mcp_error *error)
{
    const editing_charset *marked = editing_charset_marked(bytes);
    int rc = editing_charset_find(name, ret, error);
    if (rc != MCP_OK)
        return rc;
    bool either = (*ret)->family == EDITING_UTF16;
    if (marked && marked != *ret && !(either && marked->family != EDITING_UTF8))
        return editing_fail(error, MCP_EINVAL, 0, "the file begins with the mark of %s, not %s",
                            marked->name, (*ret)->name);
    if (!either)
        return MCP_OK;
    *ret = marked ? marked : editing_charset_guess(bytes);
    return *ret ? MCP_OK
                : editing_fail(error, MCP_EPARSE, 0,
                               "the file has no mark: name its charset UTF-16LE or UTF-16BE");
}

/* Whether the text gives exactly these bytes. */
static int check_round_trip(const editing_text *t, mcp_str bytes, mcp_error *error)
{
    common_buffer back;
    size_t bad = 0;
    common_buffer_init(&back, &t->room.alloc);
    int rc = editing_charset_encode(t->charset, t->text, bytes.len, &back, &bad);
    bool same = rc == MCP_OK && mcp_str_eq((mcp_str){back.ptr, back.len}, bytes);
    common_buffer_free(&back);
    if (rc == MCP_ENOMEM)
        return editing_fail_code(error, rc);
    return same ? MCP_OK
                : editing_fail(error, MCP_EUNSUPPORTED, 0,
                               "this file in %s cannot be written back exactly", t->charset->name);
}

static int decode(editing_text *t, mcp_str bytes, size_t most, mcp_error *error)
{
    size_t bad = 0;
    int rc = editing_charset_decode(t->charset, bytes, most, &t->room, &bad);
    bad += t->mark ? editing_charset_mark(t->charset).len : 0;
    if (rc == MCP_EPARSE)
        return editing_fail(error, rc, bad, "the file is not a text in %s: byte %zu",
                            t->charset->name, bad);
    if (rc == MCP_EUNSUPPORTED)
        return editing_fail(error, rc, 0, "this machine cannot convert %s", t->charset->name);
    if (rc != MCP_OK)
        return editing_fail_code(error, rc);
    t->text = behind(&t->room, 0);
    return check_round_trip(t, bytes, error);
}

static int not_a_text(const editing_text *t, mcp_error *error)
{
    size_t at = bad_byte(t->text);
    if (t->charset->family != EDITING_UTF8)
        return editing_fail(error, MCP_EPARSE, 0, "the file is not a text in %s: it has NUL",
                            t->charset->name);
    at += t->mark ? editing_charset_mark(t->charset).len : 0;
    return editing_fail(error, MCP_EPARSE, at, "the file is not a text in UTF-8: byte %zu", at);
}

/* Fills in the text. The bytes are those behind the mark. */
static int take_text(editing_text *t, mcp_str bytes, size_t most, mcp_error *error)
{
    bool utf8 = t->charset->family == EDITING_UTF8;
    int rc = MCP_OK;
    if (utf8 && bytes.len > most)
        return editing_fail_code(error, MCP_ELIMIT);
    if (utf8)
        t->text = bytes.len ? bytes : (mcp_str){"", 0};
    else
        rc = decode(t, bytes, most, error);
    if (rc != MCP_OK)
        return rc;
    if (!common_text_check(t->text))
        return not_a_text(t, error);
    t->has_cr = editing_is_exact(t->text);
    t->cr_ends = t->has_cr && !memchr(t->text.ptr, '\n', t->text.len);
    return MCP_OK;
}

int editing_text_open(mcp_str bytes, mcp_str charset, size_t most, const mcp_allocator *alloc,
                      editing_text *ret, mcp_error *error)
{
    editing_text t = {0};
    int rc = charset.len ? find_named(bytes, charset, &t.charset, error)
                         : look(bytes, &t.charset, error);
    if (rc != MCP_OK)
        return rc;
    mcp_str mark = editing_charset_mark(t.charset);
    t.mark = editing_charset_marked(bytes) == t.charset;
    if (t.mark)
        bytes = (mcp_str){bytes.ptr + mark.len, bytes.len - mark.len};
    common_buffer_init(&t.room, alloc);
    rc = take_text(&t, bytes, most, error);
    if (rc != MCP_OK) {
        editing_text_close(&t);
        return rc;
    }
    *ret = t;
    return editing_succeed(error);
}

int editing_text_new(mcp_str charset, const mcp_allocator *alloc, editing_text *ret,
                     mcp_error *error)
{
    editing_text t = {.text = {"", 0}, .is_new = true};
    t.charset = editing_charset_of(EDITING_UTF8);
    int rc = charset.len ? editing_charset_find(charset, &t.charset, error) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    t.mark = t.charset->family == EDITING_UTF16;
    if (t.mark)
        t.charset = editing_charset_of(EDITING_UTF16LE);
    common_buffer_init(&t.room, alloc);
    *ret = t;
    return editing_succeed(error);
}

void editing_text_close(editing_text *t)
{
    if (!t || !t->charset)
        return;
    common_buffer_free(&t->room);
    *t = (editing_text){0};
}

const char *editing_text_charset(const editing_text *t)
{
    return t->charset->name;
}

/* What a changed text begins with in its buffer. */
static mcp_str mark_inside(const editing_text *t)
{
    bool inside = t->mark && t->charset->family == EDITING_UTF8;
    return inside ? editing_charset_mark(t->charset) : (mcp_str){"", 0};
}

int editing_changed_begin(const editing_text *t, size_t size, common_buffer *changed)
{
    mcp_str mark = mark_inside(t);
    common_buffer_init(changed, &t->room.alloc);
    if (size > SIZE_MAX / 2)
        return MCP_ENOMEM;
    int rc = common_buffer_reserve(changed, size + mark.len);
    return rc == MCP_OK ? common_buffer_append(changed, mark.ptr, mark.len) : rc;
}

mcp_str editing_changed_text(const editing_text *t, const common_buffer *changed)
{
    return behind(changed, mark_inside(t).len);
}

/* Says which character the charset does not have. */
static int lacking(const editing_text *t, mcp_str text, size_t at, mcp_error *error)
{
    mcp_char c = mcp_char_at((mcp_str){text.ptr + at, text.len - at});
    return editing_fail(error, MCP_EUNSUPPORTED, at,
                        "the file is in %s, which cannot have U+%04X (line %zu)", t->charset->name,
                        (unsigned)c.code, editing_line_at(text, at, t->cr_ends));
}

/* Whether the bytes are read as the text again. */
static int check_back(const editing_text *t, mcp_str text, mcp_str bytes, mcp_error *error)
{
    common_buffer back;
    size_t bad = 0;
    common_buffer_init(&back, &t->room.alloc);
    int rc = editing_charset_decode(t->charset, bytes, text.len, &back, &bad);
    bool same = rc == MCP_OK && mcp_str_eq((mcp_str){back.ptr, back.len}, text);
    common_buffer_free(&back);
    if (rc == MCP_ENOMEM)
        return editing_fail_code(error, rc);
    return same ? MCP_OK
                : editing_fail(error, MCP_EUNSUPPORTED, 0,
                               "the new text cannot be written exactly in %s", t->charset->name);
}

static int encode(const editing_text *t, mcp_str text, size_t most, common_buffer *room,
                  mcp_error *error)
{
    mcp_str mark = t->mark ? editing_charset_mark(t->charset) : (mcp_str){"", 0};
    size_t bad = 0;
    int rc = common_buffer_append(room, mark.ptr, mark.len);
    if (rc == MCP_OK)
        rc = editing_charset_encode(t->charset, text, most, room, &bad);
    if (rc == MCP_EPARSE)
        return lacking(t, text, bad, error);
    if (rc == MCP_EUNSUPPORTED)
        return editing_fail(error, rc, 0, "this machine cannot convert %s", t->charset->name);
    if (rc != MCP_OK)
        return editing_fail_code(error, rc);
    return check_back(t, text, behind(room, mark.len), error);
}

int editing_changed_bytes(const editing_text *t, const common_buffer *changed, size_t most,
                          common_buffer *room, mcp_str *ret, mcp_error *error)
{
    const common_buffer *bytes = changed;
    common_buffer_init(room, &t->room.alloc);
    if (t->charset->family != EDITING_UTF8) {
        int rc = encode(t, editing_changed_text(t, changed), most, room, error);
        if (rc != MCP_OK)
            return rc;
        bytes = room;
    }
    if (bytes->len > most)
        return editing_fail_code(error, MCP_ELIMIT);
    *ret = behind(bytes, 0);
    return editing_succeed(error);
}
