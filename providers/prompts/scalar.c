/* scalar.c: reads one value of the front matter: a YAML scalar on one line.
 *
 * Every value is a string, even `yes`, `1.0` and `null`. Anything that YAML would not read as a
 * string on one line (anchors, tags, block scalars, flow mappings) is an error.
 */
#include "parse.h"

static mcp_str skip_spaces(mcp_str s)
{
    while (s.len && (*s.ptr == ' ' || *s.ptr == '\t'))
        s.ptr++, s.len--;
    return s;
}

bool prompts_is_rest_empty(mcp_str rest)
{
    mcp_str s = skip_spaces(rest);
    return !s.len || (*s.ptr == '#' && s.ptr != rest.ptr);
}

static int too_long(prompts_parser *p, size_t line)
{
    return prompts_fail(p, line, "the value is longer than %d bytes", PROMPTS_MAX_TEXT);
}

/* ---- quoted scalars -------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Converts four hexadecimal digits to UTF-8. Returns the length, or 0 for invalid digits, NUL
 * or a surrogate. */
static size_t unicode(mcp_str digits, char to[3])
{
    unsigned c = 0;
    if (digits.len < 4)
        return 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = hex_digit(digits.ptr[i]);
        if (digit < 0)
            return 0;
        c = c * 16 + (unsigned)digit;
    }
    if (c == 0 || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    if (c < 0x80)
        return to[0] = (char)c, 1;
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    to[0] = (char)(0xe0 | c >> 12);
    to[1] = (char)(0x80 | (c >> 6 & 0x3f));
    to[2] = (char)(0x80 | (c & 0x3f));
    return 3;
}

/* Decodes an escape sequence; `s` begins after the backslash. Returns the number of bytes read, or
 * 0 if it is invalid. */
static size_t escape(mcp_str s, char to[3], size_t *len)
{
    static const char names[] = "\"\\/ntr", meant[] = "\"\\/\n\t\r";
    const char *found = s.len && *s.ptr ? strchr(names, *s.ptr) : NULL;
    *len = 1;
    if (found)
        return to[0] = meant[found - names], 1;
    if (!s.len || *s.ptr != 'u')
        return 0;
    *len = unicode((mcp_str){s.ptr + 1, s.len - 1}, to);
    return *len ? 5 : 0;
}

/* Decodes one character, escape sequence or doubled quote of a quoted scalar into `to`, and sets
 * *len to the number of bytes written, which never exceeds the number of bytes read. Returns the
 * number of bytes read, or 0 if the input is malformed. */
static size_t quoted_piece(mcp_str s, char quote, char *to, size_t *len)
{
    *len = 1;
    *to = *s.ptr;
    if (quote == '\'')
        return *s.ptr == quote ? 2 : 1;
    if (*s.ptr != '\\')
        return 1;
    char made[3];
    size_t took = escape((mcp_str){s.ptr + 1, s.len - 1}, made, len);
    if (!took)
        return 0;
    memcpy(to, made, *len);
    return 1 + took;
}

static bool closes(mcp_str s, char quote)
{
    return *s.ptr == quote && (quote == '"' || s.len < 2 || s.ptr[1] != quote);
}

static int quoted(prompts_parser *p, size_t line, mcp_str *rest, mcp_str *ret)
{
    char to[PROMPTS_MAX_TEXT + 4];
    mcp_str s = *rest;
    char quote = *s.ptr;
    size_t len = 0;
    s.ptr++, s.len--;
    while (s.len && !closes(s, quote)) {
        size_t made, took = quoted_piece(s, quote, to + len, &made);
        if (!took)
            return prompts_fail(
                p, line,
                "\"\\%.*s\" is not an escape sequence; use \\\" \\\\ \\/ \\n \\t \\r "
                "\\uXXXX",
                s.len > 1 ? prompts_shown((mcp_str){s.ptr + 1, 1}) : 0, s.ptr + 1);
        s.ptr += took, s.len -= took;
        len += made;
        if (len > PROMPTS_MAX_TEXT)
            return too_long(p, line);
    }
    if (!s.len)
        return prompts_fail(p, line, "the value that begins with %c does not end on its line",
                            quote);
    const char *copy = prompts_arena_copy(&p->doc->arena, (mcp_str){to, len});
    *rest = (mcp_str){s.ptr + 1, s.len - 1};
    *ret = (mcp_str){copy, len};
    return copy ? MCP_OK : MCP_ENOMEM;
}

/* ---- plain scalars --------------------------------------------------------------------------- */

static bool is_space_at(mcp_str s, size_t i)
{
    return i >= s.len || s.ptr[i] == ' ' || s.ptr[i] == '\t';
}

/* Returns the end of a plain value: at a comment or, in a list, at a separator. */
static size_t plain_end(mcp_str s, bool in_list)
{
    size_t i = 0;
    for (; i < s.len; i++) {
        if (s.ptr[i] == '#' && i && is_space_at(s, i - 1))
            break;
        if (in_list && strchr(",[]{}", s.ptr[i]))
            break;
    }
    return i;
}

static bool begins_plain(mcp_str s)
{
    if (strchr("[]{}&*!|>%@`,#", *s.ptr))
        return false;
    return !strchr("-?:", *s.ptr) || !is_space_at(s, 1);
}

static int plain(prompts_parser *p, size_t line, mcp_str *rest, bool in_list, mcp_str *ret)
{
    mcp_str s = *rest;
    if (!begins_plain(s))
        return prompts_fail(p, line, "a value that begins with \"%c\" must be quoted", *s.ptr);
    size_t end = plain_end(s, in_list);
    mcp_str value = prompts_trim((mcp_str){s.ptr, end});
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == ':' && is_space_at(value, i + 1))
            return prompts_fail(p, line, "a value with \": \" in it must be quoted");
    }
    if (value.len > PROMPTS_MAX_TEXT)
        return too_long(p, line);
    *rest = (mcp_str){s.ptr + value.len, s.len - value.len};
    *ret = value;
    return MCP_OK;
}

int prompts_scalar(prompts_parser *p, size_t line, mcp_str *rest, bool in_list, mcp_str *ret)
{
    *rest = skip_spaces(*rest);
    if (!rest->len)
        return prompts_fail(p, line, "a value is missing");
    if (*rest->ptr == '"' || *rest->ptr == '\'')
        return quoted(p, line, rest, ret);
    return plain(p, line, rest, in_list, ret);
}
