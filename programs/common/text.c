/* text.c: shows untrusted text without letting it control a terminal. mcp_char_at() says which
 * characters are shown as escapes. */
#define _GNU_SOURCE
#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef struct range {
    unsigned first, last;
} range;

static bool is_in(unsigned code, const range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    }
    return false;
}

#define IS_IN(code, ranges) is_in(code, ranges, sizeof(ranges) / sizeof(ranges[0]))

/* Joiners join letters or select a glyph. Many emoji contain one; Persian and Indic scripts need
 * them. */
static bool is_joiner(unsigned code)
{
    return code == 0x200c || code == 0x200d || code == 0xfe0e || code == 0xfe0f;
}

/* Returns the width on a terminal. Only the large blocks of Unicode are in the table; a wrong width
 * merely shifts a column. */
static size_t columns(unsigned code)
{
    static const range none[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},
                                 {0x064b, 0x065f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                 {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
    static const range two[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
                                {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
                                {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                                {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
                                {0x20000, 0x3fffd}};
    if (code < 0x300 || IS_IN(code, none))
        return code >= 0x300 ? 0 : 1;
    return IS_IN(code, two) ? 2 : 1;
}

/* Returns whether a character is shown as its escape. */
static bool is_escaped(const mcp_char *c, bool line_end_follows, text_mode mode)
{
    if (mode == TEXT_BLOCK &&
        (c->code == '\n' || c->code == '\t' || (c->code == '\r' && line_end_follows)))
        return false;
    return c->escape[0] != 0;
}

/* Returns whether a joiner may be left out of a text of several lines. It may be left out after a
 * character that it can join, if at most one other joiner is between them, as in an emoji. Between
 * ASCII letters, or in longer sequences, a joiner can only hide something, so its escape is
 * shown. */
static bool is_left_out(const mcp_char *c, text_mode mode, const text_joining *before)
{
    bool may = before->code >= 0x80 || (c->code == 0xfe0f && isdigit((int)before->code));
    return mode == TEXT_BLOCK && is_joiner(c->code) && may && before->left_out < 2;
}

static mcp_str rest(mcp_str s, size_t from)
{
    return (mcp_str){s.ptr + from, s.len - from};
}

text_glyph text_next(mcp_str *s, text_mode mode, text_joining *before)
{
    text_glyph g = {.len = 0};
    mcp_char c = mcp_char_at(*s);
    if (is_left_out(&c, mode, before)) {
        before->left_out++;
    } else if (is_escaped(&c, s->len > 1 && s->ptr[1] == '\n', mode)) {
        g.len = g.columns = strlen(c.escape);
        memcpy(g.bytes, c.escape, g.len);
        *before = (text_joining){0};
    } else {
        memcpy(g.bytes, s->ptr, c.size);
        g.len = c.size;
        g.code = c.code;
        g.columns = columns(c.code);
        *before = (text_joining){.code = c.code};
    }
    *s = rest(*s, c.size);
    return g;
}

static size_t clean_run(mcp_str s)
{
    size_t i = 0;
    while (i < s.len && (unsigned char)s.ptr[i] >= 0x20 && (unsigned char)s.ptr[i] < 0x7f)
        i++;
    return i;
}

void text_put_raw(FILE *to, mcp_str s)
{
    if (s.len) /* an empty text may have no bytes to point to */
        fwrite(s.ptr, 1, s.len, to);
}

void text_put(FILE *to, mcp_str s, text_mode mode)
{
    text_joining before = {0};
    while (s.len) {
        size_t n = clean_run(s);
        if (n) {
            fwrite(s.ptr, 1, n, to);
            before = (text_joining){.code = (unsigned char)s.ptr[n - 1]};
            s = rest(s, n);
            continue;
        }
        text_glyph g = text_next(&s, mode, &before);
        fwrite(g.bytes, 1, g.len, to);
    }
}

bool text_is_safe(mcp_str s)
{
    while (s.len) {
        mcp_char c = mcp_char_at(s);
        if (c.escape[0])
            return false;
        s = rest(s, c.size);
    }
    return true;
}

/* Returns the width, or any value above `most`. */
static size_t width_up_to(mcp_str s, size_t most)
{
    text_joining before = {0};
    size_t width = 0;
    while (s.len && width <= most)
        width += text_next(&s, TEXT_LINE, &before).columns;
    return width;
}

size_t text_width(mcp_str s)
{
    return width_up_to(s, SIZE_MAX);
}

void text_put_cell(FILE *to, mcp_str s, size_t width)
{
    text_joining before = {0};
    bool is_truncated = width_up_to(s, width) > width;
    size_t left = is_truncated ? width - 1 : width;
    while (s.len) {
        text_glyph g = text_next(&s, TEXT_LINE, &before);
        if (g.columns > left)
            break;
        fwrite(g.bytes, 1, g.len, to);
        left -= g.columns;
    }
    if (is_truncated)
        fputs("\xe2\x80\xa6", to);
    fprintf(to, "%*s", (int)left, "");
}

/* ---- lines of a terminal --------------------------------------------------------------------- */

enum { TAB = 8, NARROWEST = 10 };

size_t text_columns(FILE *to)
{
    struct winsize size;
    const char *set = getenv("COLUMNS");
    size_t columns = 0;
    if (isatty(fileno(to)) != 1)
        return 0;
    if (set && *set && strspn(set, "0123456789") == strlen(set) && strlen(set) < 6)
        columns = strtoul(set, NULL, 10);
    else if (ioctl(fileno(to), TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    return columns < NARROWEST ? 0 : columns;
}

typedef struct wrapping {
    FILE *to;
    text_lines form;
    size_t column,
        hang;   /* hang: the indentation of a line of the text, repeated where it is wrapped */
    bool empty; /* nothing has been written in this line yet, not even its indentation */
    bool is_line_start; /* this is the beginning of a line of the text and not its continuation */
} wrapping;

/* Returns the length of the line end at s, or 0. In TEXT_LINE there are none, since control
 * characters are escaped. */
static size_t newline_at(mcp_str s, text_mode mode)
{
    if (mode == TEXT_LINE || !s.len)
        return 0;
    if (s.len > 1 && s.ptr[0] == '\r' && s.ptr[1] == '\n')
        return 2;
    return s.ptr[0] == '\n';
}

static bool is_blank(mcp_str s, text_mode mode)
{
    return s.len && (s.ptr[0] == ' ' || (mode == TEXT_BLOCK && s.ptr[0] == '\t'));
}

static mcp_str take_blanks(mcp_str *s, text_mode mode)
{
    mcp_str blanks = {s->ptr, 0};
    for (; is_blank(*s, mode); s->ptr++, s->len--)
        blanks.len++;
    return blanks;
}

/* Takes characters up to a blank, the end of the line, or `most` columns. A line may also end
 * between wide characters, whose scripts have no spaces. */
static mcp_str take_word(mcp_str *s, text_mode mode, size_t most, size_t *columns)
{
    text_joining before = {0};
    mcp_str word = {s->ptr, 0};
    bool wide = false;
    *columns = 0;
    while (s->len && !is_blank(*s, mode) && !newline_at(*s, mode)) {
        mcp_str behind = *s;
        text_glyph g = text_next(&behind, mode, &before);
        bool breaks = wide || g.columns == 2 || *columns + g.columns > most;
        if (*columns && g.columns && breaks)
            break;
        wide = wide || g.columns == 2;
        *columns += g.columns;
        word.len += s->len - behind.len;
        *s = behind;
    }
    return word;
}

static size_t column_after(size_t column, mcp_str blanks)
{
    for (size_t i = 0; i < blanks.len; i++)
        column = blanks.ptr[i] == '\t' ? (column / TAB + 1) * TAB : column + 1;
    return column;
}

static void end_line(wrapping *w)
{
    fputc('\n', w->to);
    w->column = w->form.indent + w->hang;
    w->empty = true;
}

static void put_word(wrapping *w, mcp_str blanks, mcp_str word, size_t columns, text_mode mode)
{
    size_t at = column_after(w->column, blanks), width = w->form.width;
    bool fits = !width || at + columns <= width;
    if (fits && w->is_line_start && w->form.indent + (at - w->column) + NARROWEST <= width)
        w->hang = at - w->column;
    if (!fits && w->column > w->form.indent + w->hang)
        end_line(w);
    if (w->empty)
        fprintf(w->to, "%*s", (int)w->column, "");
    if (fits) {
        text_put_raw(w->to, blanks);
        w->column = at;
    }
    text_put(w->to, word, mode);
    w->column += columns;
    w->empty = w->is_line_start = false;
}

size_t text_put_wrapped(FILE *to, mcp_str s, text_mode mode, text_lines form)
{
    wrapping w = {.to = to, .form = form, .column = form.column, .is_line_start = true};
    if (form.width < form.indent + NARROWEST)
        w.form.width = 0;
    while (s.len) {
        size_t columns, most = w.form.width ? w.form.width - form.indent - w.hang : SIZE_MAX;
        mcp_str blanks = take_blanks(&s, mode);
        size_t newline = newline_at(s, mode);
        if (newline) {
            w.hang = 0;
            w.is_line_start = true;
            end_line(&w);
            s = rest(s, newline);
            continue;
        }
        mcp_str word = take_word(&s, mode, most, &columns);
        if (word.len)
            put_word(&w, blanks, word, columns, mode);
    }
    return w.column;
}

void text_put_field(FILE *to, mcp_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char byte = (unsigned char)s.ptr[i];
        if (byte < 0x20 || byte == 0x7f)
            fprintf(to, "\\x%02x", byte);
        else
            fputc(byte, to);
    }
}

void text_put_json(FILE *to, mcp_str json)
{
    while (json.len) {
        mcp_char ch = mcp_char_at(json);
        bool special = ch.code >= 0x7f && ch.escape[0];
        if (special && ch.code > 0xffff)
            fprintf(to, "\\u%04x\\u%04x", 0xd7c0 + (ch.code >> 10), 0xdc00 + (ch.code & 0x3ff));
        else if (special)
            fprintf(to, "\\u%04x", ch.code);
        else
            fwrite(json.ptr, 1, ch.size, to);
        json = rest(json, ch.size);
    }
}

void text_put_word(FILE *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=@%+,";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, to);
        return;
    }
    bool safe = text_is_safe(mcp_str_from(word));
    fputs(safe ? "'" : "$'", to);
    while (*word) {
        size_t n = strcspn(word, safe ? "'" : "'\\");
        text_put(to, (mcp_str){word, n}, TEXT_LINE);
        word += n;
        if (*word)
            fputs(safe ? "'\\''" : *word == '\\' ? "\\\\" : "\\'", to), word++;
    }
    fputc('\'', to);
}

char *text_dup(mcp_str s)
{
    char *copy = malloc(s.len + 1);
    if (copy) {
        if (s.len)
            memcpy(copy, s.ptr, s.len);
        copy[s.len] = 0;
    }
    return copy;
}

/* ---- the program's messages ------------------------------------------------------------------ */

enum { LONGEST = 2048 };

/* Writes a message. Continuation lines are indented by the width of the name and ": ". */
static void put_message(const char *format, va_list args)
{
    char text[LONGEST];
    size_t column = strlen(program_name) + 2;
    vsnprintf(text, sizeof(text), format, args);
    text_put_wrapped(
        stderr, mcp_str_from(text), TEXT_LINE,
        (text_lines){.width = text_columns(stderr), .indent = column, .column = column});
    fputc('\n', stderr);
}

void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "%s: ", program_name);
    put_message(format, args);
    va_end(args);
}

void hint(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "%*s", (int)strlen(program_name) + 2, "");
    put_message(format, args);
    va_end(args);
}

void say_version(const char *parts, bool verbose)
{
    printf("%s %s\nModel Context Protocol", program_name, mcp_version());
    for (size_t i = 0; mcp_revision(i); i++)
        printf("%s %s", i ? "," : "", mcp_revision(i));
    putchar('\n');
    if (verbose)
        printf("Contains %s\n",
               *parts ? parts : "no libraries of others: it uses those of the system");
}
