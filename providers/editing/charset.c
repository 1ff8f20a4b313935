/* charset.c: see charset.h. */
#include "charset.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <stdio.h>

#include "filetext.h"
#include "utf16.h"

enum { MAX_NAME = 40 };

#define BY_ICONV(name, ...)                \
    {                                      \
        name, {__VA_ARGS__}, EDITING_ICONV \
    }

/* The rows of `family` are found by their index. */
static const editing_charset charsets[] = {
    [EDITING_UTF8] = {"UTF-8", {"UTF8"}, EDITING_UTF8},
    [EDITING_UTF16] = {"UTF-16", {"UTF16"}, EDITING_UTF16},
    [EDITING_UTF16LE] = {"UTF-16LE", {"UTF16LE"}, EDITING_UTF16LE},
    [EDITING_UTF16BE] = {"UTF-16BE", {"UTF16BE"}, EDITING_UTF16BE},
    BY_ICONV("US-ASCII", "USASCII", "ASCII"),
    BY_ICONV("ISO-8859-1", "ISO88591", "LATIN1"),
    BY_ICONV("ISO-8859-2", "ISO88592", "LATIN2"),
    BY_ICONV("ISO-8859-3", "ISO88593", "LATIN3"),
    BY_ICONV("ISO-8859-4", "ISO88594", "LATIN4"),
    BY_ICONV("ISO-8859-5", "ISO88595"),
    BY_ICONV("ISO-8859-6", "ISO88596"),
    BY_ICONV("ISO-8859-7", "ISO88597"),
    BY_ICONV("ISO-8859-8", "ISO88598"),
    BY_ICONV("ISO-8859-9", "ISO88599", "LATIN5"),
    BY_ICONV("ISO-8859-10", "ISO885910", "LATIN6"),
    BY_ICONV("ISO-8859-11", "ISO885911"),
    BY_ICONV("ISO-8859-13", "ISO885913"),
    BY_ICONV("ISO-8859-14", "ISO885914"),
    BY_ICONV("ISO-8859-15", "ISO885915", "LATIN9"),
    BY_ICONV("ISO-8859-16", "ISO885916"),
    BY_ICONV("CP1250", "WINDOWS1250", "CP1250"),
    BY_ICONV("CP1251", "WINDOWS1251", "CP1251"),
    BY_ICONV("CP1252", "WINDOWS1252", "CP1252"),
    BY_ICONV("CP1253", "WINDOWS1253", "CP1253"),
    BY_ICONV("CP1254", "WINDOWS1254", "CP1254"),
    BY_ICONV("CP1256", "WINDOWS1256", "CP1256"),
    BY_ICONV("CP1257", "WINDOWS1257", "CP1257"),
    BY_ICONV("KOI8-R", "KOI8R"),
    BY_ICONV("KOI8-U", "KOI8U"),
    BY_ICONV("CP437", "CP437", "IBM437"),
    BY_ICONV("CP850", "CP850", "IBM850"),
    BY_ICONV("CP852", "CP852", "IBM852"),
    BY_ICONV("CP866", "CP866", "IBM866"),
    BY_ICONV("MACINTOSH", "MACINTOSH", "MACROMAN"),
    BY_ICONV("TIS-620", "TIS620"),
    BY_ICONV("SHIFT_JIS", "SHIFTJIS", "SJIS"),
    BY_ICONV("CP932", "CP932", "WINDOWS31J", "MS932"),
    BY_ICONV("EUC-JP", "EUCJP"),
    BY_ICONV("EUC-KR", "EUCKR"),
    BY_ICONV("CP949", "CP949", "UHC"),
    BY_ICONV("GB2312", "GB2312", "EUCCN"),
    BY_ICONV("GBK", "GBK", "CP936"),
    BY_ICONV("GB18030", "GB18030"),
    BY_ICONV("BIG5", "BIG5"),
    BY_ICONV("EUC-TW", "EUCTW"),
};

enum { COUNT = sizeof(charsets) / sizeof(charsets[0]) };

static const struct {
    editing_family family;
    mcp_str mark;
} marks[] = {
    {EDITING_UTF8, {"\xef\xbb\xbf", 3}},
    {EDITING_UTF16LE, {"\xff\xfe", 2}},
    {EDITING_UTF16BE, {"\xfe\xff", 2}},
};

const editing_charset *editing_charset_of(editing_family family)
{
    return &charsets[family];
}

/* Copies a name, and the same without punctuation. */
static bool take_name(mcp_str given, char name[MAX_NAME + 1], char plain[MAX_NAME + 1])
{
    size_t n = 0;
    if (given.len == 0 || given.len > MAX_NAME)
        return false;
    for (size_t i = 0; i < given.len; i++) {
        unsigned char c = (unsigned char)given.ptr[i];
        if (c >= 0x80 || (!isalnum(c) && !strchr("-_.:+", c)) || c == 0)
            return false;
        if (isalnum(c))
            plain[n++] = (char)toupper(c);
    }
    plain[n] = 0;
    memcpy(name, given.ptr, given.len);
    name[given.len] = 0;
    return true;
}

static bool is_called(const editing_charset *c, const char *plain)
{
    for (size_t i = 0; i < sizeof(c->aliases) / sizeof(c->aliases[0]) && c->aliases[i]; i++)
        if (strcmp(c->aliases[i], plain) == 0)
            return true;
    return false;
}

static bool iconv_knows(const char *name)
{
    iconv_t with = iconv_open("UTF-8", name);
    if (with == (iconv_t)-1)
        return false;
    iconv_close(with);
    return true;
}

int editing_charset_find(mcp_str name, const editing_charset **ret, mcp_error *error)
{
    char text[MAX_NAME + 1], plain[MAX_NAME + 1];
    if (!take_name(name, text, plain))
        return editing_fail(error, MCP_EINVAL, 0, "this is not the name of a charset");
    for (size_t i = 0; i < COUNT; i++)
        if (is_called(&charsets[i], plain)) {
            *ret = &charsets[i];
            return MCP_OK;
        }
    if (iconv_knows(text))
        return editing_fail(error, MCP_EUNSUPPORTED, 0,
                            "a text in %s cannot be written back exactly", text);
    return editing_fail(error, MCP_EINVAL, 0, "no charset %s is known here", text);
}

mcp_str editing_charset_mark(const editing_charset *charset)
{
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (marks[i].family == charset->family)
            return marks[i].mark;
    return (mcp_str){"", 0};
}

const editing_charset *editing_charset_marked(mcp_str bytes)
{
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (bytes.len >= marks[i].mark.len &&
            memcmp(bytes.ptr, marks[i].mark.ptr, marks[i].mark.len) == 0)
            return &charsets[marks[i].family];
    return NULL;
}

const editing_charset *editing_charset_guess(mcp_str bytes)
{
    for (editing_family f = EDITING_UTF16LE; f <= EDITING_UTF16BE; f++)
        if (editing_utf16_is_clear(bytes, f == EDITING_UTF16BE))
            return &charsets[f];
    return NULL;
}

/* Converts a part. A character without counterpart is an error, also where iconv replaces it. */
static int convert_step(iconv_t with, char **from, size_t *left, size_t most, common_buffer *to)
{
    int rc = common_buffer_reserve(to, *left + *left / 2 + 16);
    if (rc != MCP_OK)
        return rc;
    char *at = to->ptr + to->len;
    size_t before = to->cap - to->len, room = before;
    size_t replaced = iconv(with, from, left, &at, &room);
    to->len += before - room;
    if (to->len > most)
        return MCP_ELIMIT;
    if (replaced == (size_t)-1)
        return errno == E2BIG ? MCP_OK : MCP_EPARSE;
    return replaced ? MCP_EPARSE : MCP_OK;
}

static int convert(const char *to_name, const char *from_name, mcp_str bytes, size_t most,
                   common_buffer *to, size_t *ret_bad)
{
    iconv_t with = iconv_open(to_name, from_name);
    char *from = (char *)(uintptr_t)bytes.ptr;
    size_t left = bytes.len;
    int rc = MCP_OK;
    if (with == (iconv_t)-1)
        return errno == ENOMEM ? MCP_ENOMEM : MCP_EUNSUPPORTED;
    while (rc == MCP_OK && left > 0)
        rc = convert_step(with, &from, &left, most, to);
    if (rc == MCP_EPARSE)
        *ret_bad = bytes.len - left;
    iconv_close(with);
    return rc;
}

int editing_charset_decode(const editing_charset *charset, mcp_str bytes, size_t most,
                           common_buffer *to, size_t *ret_bad)
{
    if (charset->family != EDITING_ICONV)
        return editing_utf16_decode(bytes, charset->family == EDITING_UTF16BE, most, to, ret_bad);
    return convert("UTF-8", charset->name, bytes, most, to, ret_bad);
}

int editing_charset_encode(const editing_charset *charset, mcp_str text, size_t most,
                           common_buffer *to, size_t *ret_bad)
{
    if (charset->family != EDITING_ICONV)
        return editing_utf16_encode(text, charset->family == EDITING_UTF16BE, most, to);
    return convert(charset->name, "UTF-8", text, most, to, ret_bad);
}
