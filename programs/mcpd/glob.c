/* glob.c: see glob.h. Matching reads the text once and keeps the set of all possible positions in
 * the pattern.
 */
#define _GNU_SOURCE
#include "glob.h"

#include <stdio.h>
#include <stdlib.h>

#include <mcp/uri.h>

enum { LONGEST = 1024 };

/* ---- adding patterns ------------------------------------------------------------------------- */

/* Adds a string and takes ownership of it. */
static int add(globs *list, char *text)
{
    glob *grown = text ? realloc(list->items, (list->count + 1) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(text);
        return MCP_ENOMEM;
    }
    list->items = grown;
    list->items[list->count++] = (glob){.text = text, .literal = strcspn(text, "*")};
    return MCP_OK;
}

static bool stands_in_uri(unsigned char c)
{
    return c > 0x20 && c < 0x7f && !strchr("\"<>\\^`{|}", c);
}

int globs_add(globs *list, mcp_str text)
{
    return text.len > LONGEST ? MCP_ELIMIT : add(list, strndup(text.ptr, text.len));
}

int globs_add_uri(globs *list, mcp_str text)
{
    static const char digits[] = "0123456789ABCDEF";
    char made[3 * LONGEST + 1];
    size_t n = 0;
    if (text.len > LONGEST)
        return MCP_ELIMIT;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (!stands_in_uri(c)) {
            made[n++] = '%';
            made[n++] = digits[c >> 4];
            made[n++] = digits[c & 15];
        } else {
            made[n++] = (char)c;
        }
    }
    return add(list, strndup(made, n));
}

bool glob_is_place(mcp_str text)
{
    if (text.len >= 2 && memcmp(text.ptr, "**", 2) == 0)
        return false;
    for (size_t i = 0; i < text.len && text.ptr[i] != '/' && text.ptr[i] != '*'; i++)
        if (text.ptr[i] == ':')
            return i <= 1;
    return true;
}

/* Resolves links in the folder before the first *, and appends the rest. If the folder does not
 * exist, the path stays unchanged. */
static char *follow_links(const char *path)
{
    size_t fixed = strcspn(path, "*");
    char *real, *made = NULL;
    if (path[fixed])
        while (fixed > 1 && path[fixed - 1] != '/')
            fixed--;
    char *folder = strndup(path, fixed);
    if (!folder)
        return NULL;
    real = realpath(folder, NULL);
    free(folder);
    if (!real)
        return strdup(path);
    bool slash = path[fixed] && strcmp(real, "/") != 0;
    if (asprintf(&made, "%s%s%s", real, slash ? "/" : "", path + fixed) < 0)
        made = NULL;
    free(real);
    return made;
}

/* Adds a path whose links have been followed, and with `below` everything below it. Takes ownership
 * of it. */
static int add_real(globs *list, char *real, bool below)
{
    size_t len = real ? strlen(real) : 0;
    while (len > 1 && real[len - 1] == '/')
        len--;
    char *uri = real && len <= LONGEST ? malloc(MCP_URI_ENCODED_SIZE(len) + 16) : NULL;
    if (!uri) {
        free(real);
        return len > LONGEST ? MCP_ELIMIT : MCP_ENOMEM;
    }
    memcpy(uri, "file://", 7);
    size_t n = 7 + mcp_uri_encode_path((mcp_str){real, len}, uri + 7);
    uri[n] = 0;
    free(real);
    int rc = add(list, strdup(uri));
    if (rc == MCP_OK && below && n >= 2 && memcmp(uri + n - 2, "**", 2) != 0) {
        if (uri[n - 1] != '/')
            uri[n++] = '/';
        memcpy(uri + n, "**", 3);
        rc = add(list, strdup(uri));
    }
    free(uri);
    return rc;
}

int globs_add_path(globs *list, const char *path)
{
    return add_real(list, follow_links(path), true);
}

/* Returns whether a path is a folder of the list, or below one. */
static bool is_within(const char *real, const char *const *folders, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(folders[i]);
        len -= len == 1; /* the root */
        if (strncmp(real, folders[i], len) == 0 && (!real[len] || real[len] == '/'))
            return true;
    }
    return false;
}

/* Follows links until the path has reached one of the folders. *ret is NULL if it does not before
 * the first *. Returns false if out of memory. */
static bool follow_until(const char *path, const char *const *folders, size_t n, char **ret)
{
    bool ok = true;
    *ret = NULL;
    for (size_t at = 1; ok && !*ret; at++) {
        at += strcspn(path + at, "/*");
        if (path[at] == '*')
            break;
        char *begin = strndup(path, at), *real = begin ? realpath(begin, NULL) : NULL;
        ok = begin != NULL;
        if (real && is_within(real, folders, n))
            ok = asprintf(ret, "%s%s", strcmp(real, "/") ? real : "", path + at) >= 0;
        free(real);
        free(begin);
        if (!path[at])
            break;
    }
    return ok;
}

int globs_add_path_until(globs *list, const char *path, const char *const *folders, size_t n)
{
    char *real;
    if (!follow_until(path, folders, n, &real))
        return MCP_ENOMEM;
    return add_real(list, real ? real : follow_links(path), true);
}

int globs_add_below(globs *list, const char *folder, const char *below)
{
    char *real = realpath(folder, NULL), *made = NULL;
    const char *top = real ? real : folder;
    size_t len = strlen(top);
    while (len && top[len - 1] == '/')
        len--;
    if (asprintf(&made, "%.*s/%s", (int)len, top, below) < 0)
        made = NULL;
    free(real);
    return add_real(list, made, !strchr(below, '*'));
}

void globs_clear(globs *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].text);
    free(list->items);
    *list = (globs){0};
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Adds a position, and those after it that are reached if the stars in between match nothing. */
static void arrive(const char *pattern, bool *set, size_t at)
{
    set[at] = true;
    while (pattern[at] == '*') {
        at += pattern[at + 1] == '*' ? 2 : 1;
        set[at] = true;
    }
}

static bool match_rest(const char *pattern, mcp_str text)
{
    bool sets[2][3 * LONGEST + 16] = {{0}};
    size_t len = strlen(pattern);
    bool *now = sets[0], *next = sets[1];
    arrive(pattern, now, 0);
    for (size_t i = 0; i < text.len; i++) {
        bool any = false;
        memset(next, 0, len + 1);
        for (size_t at = 0; at <= len; at++) {
            if (!now[at] || at == len)
                continue;
            bool many = pattern[at] == '*' && pattern[at + 1] == '*';
            if (many || (pattern[at] == '*' && text.ptr[i] != '/'))
                arrive(pattern, next, at), any = true;
            else if (pattern[at] != '*' && pattern[at] == text.ptr[i])
                arrive(pattern, next, at + 1), any = true;
        }
        if (!any)
            return false;
        bool *swap = now;
        now = next, next = swap;
    }
    return now[len];
}

static bool match(const glob *g, mcp_str name)
{
    const char *rest = g->text + g->literal;
    if (name.len < g->literal || memcmp(name.ptr, g->text, g->literal) != 0)
        return false;
    name.ptr += g->literal;
    name.len -= g->literal;
    if (!*rest)
        return name.len == 0;
    if (strcmp(rest, "**") == 0)
        return true;
    return match_rest(rest, name);
}

bool globs_match(const globs *list, mcp_str name)
{
    for (size_t i = 0; i < list->count; i++)
        if (match(&list->items[i], name))
            return true;
    return false;
}

bool globs_name(const globs *list, mcp_str name)
{
    for (size_t i = 0; i < list->count; i++) {
        const glob *g = &list->items[i];
        if (!g->text[g->literal] && mcp_str_eq(mcp_str_from(g->text), name))
            return true;
    }
    return false;
}

bool globs_may_match(const globs *list, mcp_str prefix)
{
    for (size_t i = 0; i < list->count; i++) {
        const glob *g = &list->items[i];
        size_t common = g->literal < prefix.len ? g->literal : prefix.len;
        bool ends = !g->text[g->literal] && prefix.len > g->literal;
        if (!ends && memcmp(g->text, prefix.ptr, common) == 0)
            return true;
    }
    return false;
}
