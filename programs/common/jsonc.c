/* jsonc.c: JSON with comments and trailing commas. */
#include "jsonc.h"

#include <stdlib.h>

enum { LARGEST = 16 << 20 };

/* Returns the index after the string that begins at i. */
static size_t skip_string(const char *text, size_t len, size_t i)
{
    for (i++; i < len && text[i] != '"'; i++)
        i += text[i] == '\\';
    return i < len ? i + 1 : len;
}

static size_t blank(char *text, size_t len, size_t i, bool block)
{
    while (i < len) {
        if (block && i + 1 < len && text[i] == '*' && text[i + 1] == '/') {
            text[i] = text[i + 1] = ' ';
            return i + 2;
        }
        if (text[i] == '\n' && !block)
            return i;
        if (text[i] != '\n')
            text[i] = ' ';
        i++;
    }
    return i;
}

void jsonc_strip(char *text, size_t len)
{
    size_t comma = SIZE_MAX; /* the last comma, if only white space and comments follow it so far */
    for (size_t i = 0; i < len;) {
        char next = i + 1 < len ? text[i + 1] : 0;
        if (text[i] == '"') {
            i = skip_string(text, len, i);
            comma = SIZE_MAX;
        } else if (text[i] == '/' && (next == '/' || next == '*')) {
            text[i] = text[i + 1] = ' ';
            i = blank(text, len, i + 2, next == '*');
        } else {
            if ((text[i] == '}' || text[i] == ']') && comma != SIZE_MAX)
                text[comma] = ' ';
            if (text[i] == ',')
                comma = i;
            else if (!strchr(" \t\r\n", text[i]))
                comma = SIZE_MAX;
            i++;
        }
    }
}

int jsonc_load(const char *path, file_trust trust, char **ret, size_t *len, mcp_error *error)
{
    return file_load(path, trust, LARGEST, ret, len, error);
}

int jsonc_read(const char *path, file_trust trust, mcp_json_doc **ret, size_t *line,
               mcp_error *error)
{
    char *text = NULL;
    size_t len = 0, column;
    int rc = jsonc_load(path, trust, &text, &len, error);
    if (rc != MCP_OK)
        return rc;
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        memset(text, ' ', 3); /* some editors of Windows write it */
    jsonc_strip(text, len);
    rc = mcp_json_parse((mcp_str){text, len}, NULL, NULL, ret, error);
    if (rc != MCP_OK)
        jsonc_position((mcp_str){text, len}, error->offset, line, &column);
    free(text);
    return rc;
}

void jsonc_position(mcp_str text, size_t offset, size_t *line, size_t *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < offset && i < text.len; i++) {
        if (text.ptr[i] == '\n')
            ++*line, *column = 1;
        else
            *column += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    }
}

/* ---- positions of values --------------------------------------------------------------------- */

/* A position in text that is valid JSON. */
typedef struct walk {
    const char *text;
    size_t len, at;
} walk;

static char peek(walk *w)
{
    while (w->at < w->len && strchr(" \t\r\n", w->text[w->at]))
        w->at++;
    return w->at < w->len ? w->text[w->at] : 0;
}

/* Advances past the value that begins here. */
static void skip_value(walk *w)
{
    size_t depth = 0;
    do {
        char c = peek(w);
        if (c == '"') {
            w->at = skip_string(w->text, w->len, w->at);
        } else {
            depth += c == '{' || c == '[';
            depth -= depth && (c == '}' || c == ']');
            w->at++;
            while (!strchr("{}[],:\"", c) && w->at < w->len &&
                   !strchr("{}[],:\" \t\r\n", w->text[w->at]))
                w->at++;
        }
    } while (depth && w->at < w->len);
}

/* Returns whether the JSON string at `at` equals this text. Of the escapes, only \" \\ \/ are
 * decoded. */
static bool is_key(const walk *w, size_t at, mcp_str key)
{
    size_t end = skip_string(w->text, w->len, at), i = at + 1, k = 0;
    for (; i + 1 < end && k < key.len; i++, k++) {
        if (w->text[i] == '\\')
            i++;
        if (w->text[i] != key.ptr[k])
            return false;
    }
    return i + 1 == end && k == key.len;
}

/* Moves to the value of a member or element of the container that begins here. */
static bool enter(walk *w, mcp_str name, size_t *key_at)
{
    bool object = peek(w) == '{';
    unsigned long index = strtoul(name.ptr, NULL, 10);
    if (!object && peek(w) != '[')
        return false;
    w->at++;
    for (unsigned long i = 0; peek(w) && !strchr("]}", peek(w)); i++) {
        bool found = !object && i == index;
        if (object) {
            *key_at = w->at;
            found = is_key(w, w->at, name);
            skip_value(w);
            peek(w);
            w->at++;
            peek(w);
        }
        if (found)
            return true;
        skip_value(w);
        if (peek(w) == ',')
            w->at++;
    }
    return false;
}

/* Decodes one name of a pointer into `to`; returns the rest of the pointer. */
static const char *next_name(const char *p, const char *end, char *to, size_t room)
{
    size_t n = 0;
    for (p++; p < end && *p != '/'; p++) {
        char c = *p;
        if (c == '~' && p + 1 < end)
            c = *++p == '1' ? '/' : '~';
        if (n + 1 < room)
            to[n++] = c;
    }
    to[n] = 0;
    return p;
}

size_t jsonc_find(mcp_str json, mcp_str pointer, bool key)
{
    walk w = {.text = json.ptr, .len = json.len};
    size_t found, key_at;
    peek(&w);
    found = w.at;
    for (const char *p = pointer.ptr, *end = p + pointer.len; p && p < end;) {
        char name[256] = "";
        key_at = SIZE_MAX;
        p = next_name(p, end, name, sizeof(name));
        if (!enter(&w, mcp_str_from(name), &key_at))
            break;
        found = key && key_at != SIZE_MAX && p == end ? key_at : w.at;
    }
    return found;
}

bool jsonc_member(mcp_str json, size_t object, const char *name, size_t *begin, size_t *end)
{
    walk w = {.text = json.ptr, .len = json.len, .at = object};
    size_t key_at;
    if (peek(&w) != '{' || !enter(&w, mcp_str_from(name), &key_at))
        return false;
    *begin = w.at;
    skip_value(&w);
    *end = w.at;
    return true;
}
