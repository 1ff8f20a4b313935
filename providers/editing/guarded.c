/* guarded.c: see guarded.h. How names are compared; the table is in guarded_rows.c.
 *
 * A path is folded as a whole and then split, because folding can make new separators. Too much is better than too
 * little: a name that no program obeys, but looks like one that is obeyed, is refused as well. */
#define _GNU_SOURCE
#include "guarded.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8proc.h>

/* Paths of the system are not longer. Folding makes at most 18 characters of one (U+FDFA). */
enum { MAX_PATH_BYTES = 4096, MAX_PARTS = 2048 };

/* A folded path: its components, which are slices of `text`. */
typedef struct folded {
    char *text;
    size_t n;
    mcp_str parts[MAX_PARTS];
    size_t stems[MAX_PARTS]; /* see short_stem() */
} folded;

/* ---- folding ------------------------------------------------------------------------------------------------- */

/* Characters that nobody sees, beyond those that Unicode says to ignore: controls, formats, and the empty pattern of
 * Braille. */
static bool is_invisible(utf8proc_int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || c == 0x2800;
}

static bool is_blank(utf8proc_int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

/* Removes what is invisible, and makes one blank of each kind of blank. In place: no character gets longer. */
static void simplify(char *text)
{
    utf8proc_uint8_t *from = (utf8proc_uint8_t *)text;
    utf8proc_uint8_t *to = from;
    while (*from) {
        utf8proc_int32_t c;
        utf8proc_ssize_t len = utf8proc_iterate(from, -1, &c);
        if (len <= 0)
            break;
        if (is_blank(c))
            *to++ = ' ';
        else if (!is_invisible(c)) {
            memmove(to, from, (size_t)len);
            to += len;
        }
        from += len;
    }
    *to = '\0';
}

/* Returns the text after NFKC and case folding, or NULL: not UTF-8, or no memory. */
static char *fold_once(mcp_str path)
{
    utf8proc_uint8_t *text = NULL;
    utf8proc_option_t options =
        UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
    if (utf8proc_map((const utf8proc_uint8_t *)path.ptr, (utf8proc_ssize_t)path.len, &text,
                     options) < 0)
        return NULL;
    simplify((char *)text);
    return (char *)text;
}

/* Twice, because a letter and an accent get together when what was between them is removed. */
static char *fold_text(mcp_str path)
{
    char *once = fold_once(path);
    char *twice = once ? fold_once((mcp_str){once, strlen(once)}) : NULL;
    free(once);
    return twice;
}

static bool is_trimmed(char c)
{
    return c == ' ' || c == '.';
}

/* Windows drops trailing dots and blanks, and what follows a colon is a stream of the same file. */
static mcp_str trim(mcp_str part)
{
    const char *colon = memchr(part.ptr, ':', part.len);
    if (colon)
        part.len = (size_t)(colon - part.ptr);
    while (part.len && is_trimmed(part.ptr[part.len - 1]))
        part.len--;
    while (part.len && part.ptr[0] == ' ') {
        part.ptr++;
        part.len--;
    }
    return part;
}

/* Short names of FAT and NTFS: "GIT~1" is ".git", "GI7EBA~1" also. Returns the length of what stands before "~", or 0
 * if it is no short name. */
static size_t short_stem(mcp_str name)
{
    const char *tilde = memchr(name.ptr, '~', name.len);
    size_t stem = tilde ? (size_t)(tilde - name.ptr) : 0;
    size_t at = stem + 1;
    if (stem == 0 || stem > 6 || memchr(name.ptr, '.', stem))
        return 0;
    while (at < name.len && isdigit((unsigned char)name.ptr[at]))
        at++;
    bool number = at > stem + 1 && at <= 8;
    bool ended = at == name.len || (name.ptr[at] == '.' && name.len - at <= 4);
    return number && ended ? stem : 0;
}

static bool fold(mcp_str path, folded *ret)
{
    ret->n = 0;
    ret->text = NULL;
    if (path.len == 0 || path.len > MAX_PATH_BYTES || memchr(path.ptr, '\0', path.len))
        return false;
    ret->text = fold_text(path);
    if (!ret->text)
        return false;
    for (const char *at = ret->text; *at;) {
        size_t len = strcspn(at, "/\\");
        mcp_str part = trim((mcp_str){at, len});
        if (part.len && ret->n == MAX_PARTS)
            return false;
        if (part.len) {
            ret->stems[ret->n] = short_stem(part);
            ret->parts[ret->n++] = part;
        }
        at += len + (at[len] != '\0');
    }
    return true;
}

static folded *fold_new(mcp_str path)
{
    folded *f = malloc(sizeof(*f));
    if (f && fold(path, f))
        return f;
    if (f)
        free(f->text);
    free(f);
    return NULL;
}

static void fold_free(folded *f)
{
    if (f)
        free(f->text);
    free(f);
}

/* ---- one component and one name of the table ----------------------------------------------------------------- */

static bool same_letter(char pattern, char letter)
{
    return (pattern >= 'A' && pattern <= 'Z' ? pattern + ('a' - 'A') : pattern) == letter;
}

/* "*" stands for any text. */
static bool matches(mcp_str pattern, mcp_str name)
{
    size_t p = 0;
    size_t n = 0;
    size_t star = SIZE_MAX;
    size_t from = 0;
    while (n < name.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            from = n;
        } else if (p < pattern.len && same_letter(pattern.ptr[p], name.ptr[n])) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++from;
        } else
            return false;
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

/* Makes what the short name of the pattern is made of: without leading dots and what follows the last dot. */
static mcp_str long_stem(mcp_str pattern, char room[64])
{
    size_t last = pattern.len;
    size_t n = 0;
    while (last > 1 && pattern.ptr[last - 1] != '.')
        last--;
    if (last <= 1)
        last = pattern.len + 1;
    for (size_t i = 0; i < last - 1 && n < 63; i++)
        if (pattern.ptr[i] != '.' && pattern.ptr[i] != ' ')
            room[n++] = (char)tolower((unsigned char)pattern.ptr[i]);
    return (mcp_str){room, n};
}

static bool is_hash(mcp_str four)
{
    for (size_t i = 0; i < four.len; i++)
        if (!isxdigit((unsigned char)four.ptr[i]))
            return false;
    return four.len == 4;
}

/* `given` is what stands before "~". */
static bool matches_short(mcp_str pattern, mcp_str given)
{
    char room[64];
    mcp_str whole = long_stem(pattern, room);
    if (memchr(whole.ptr, '*', whole.len))
        return whole.len > 1 && matches(whole, given);
    size_t least = whole.len < 3 ? whole.len : 3; /* of a longer number less is left of the name */
    if (given.len >= least && given.len <= whole.len &&
        memcmp(whole.ptr, given.ptr, given.len) == 0)
        return true;
    return given.len == 6 && whole.len >= 2 && memcmp(whole.ptr, given.ptr, 2) == 0 &&
           is_hash((mcp_str){given.ptr + 2, 4});
}

/* ---- paths --------------------------------------------------------------------------------------------------- */

/* Compares a pattern of one or more components with those from `at` on. A file is the end of the path. */
static bool matches_at(const editing_guarded *row, const folded *path, size_t at)
{
    const char *pattern = row->pattern;
    for (; at < path->n; at++) {
        size_t len = strcspn(pattern, "/");
        mcp_str one = {pattern, len};
        mcp_str stem = {path->parts[at].ptr, path->stems[at]};
        if (!matches(one, path->parts[at]) && !(stem.len && matches_short(one, stem)))
            return false;
        if (pattern[len] == '\0')
            return row->folder || at + 1 == path->n;
        pattern += len + 1;
    }
    return false;
}

static uint64_t letter_bit(char letter)
{
    return 1ull << ((unsigned char)letter & 31); /* the same for both cases */
}

/* Returns which letters the components begin with. Any if one is a short name, which has other letters than the long one. */
static uint64_t first_letters(const folded *path)
{
    uint64_t found = letter_bit('*');
    for (size_t at = 0; at < path->n; at++)
        found |= path->stems[at] ? UINT64_MAX : letter_bit(path->parts[at].ptr[0]);
    return found;
}

static bool row_matches(const editing_guarded *row, const folded *path)
{
    for (size_t at = 0; at < path->n; at++)
        if (matches_at(row, path, at))
            return true;
    return false;
}

editing_guard editing_guarded_look(mcp_str path, const editing_guarded **ret)
{
    const editing_guarded *found = NULL;
    const editing_guarded *row;
    folded *names = fold_new(path);
    uint64_t letters = names ? first_letters(names) : 0; /* most rows begin with another one */
    for (size_t i = 0; names && (row = editing_guarded_row(i)); i++)
        if (letters & letter_bit(*row->pattern) && (!found || (row->never && !found->never)) &&
            row_matches(row, names))
            found = row;
    if (ret)
        *ret = found;
    editing_guard guard = !names         ? EDITING_NOT_TEXT
                          : !found       ? EDITING_FREE
                          : found->never ? EDITING_NEVER
                                         : EDITING_LIFTED;
    fold_free(names);
    return guard;
}

static bool begins_with(const folded *path, const folded *folder)
{
    if (folder->n > path->n)
        return false;
    for (size_t i = 0; i < folder->n; i++) {
        mcp_str a = path->parts[i];
        mcp_str b = folder->parts[i];
        if (a.len != b.len || memcmp(a.ptr, b.ptr, a.len) != 0)
            return false;
    }
    return true;
}

/* What cannot be compared counts as inside. */
bool editing_guarded_within(mcp_str path, mcp_str folder)
{
    folded *a = fold_new(path);
    folded *b = fold_new(folder);
    bool within = !a || !b || begins_with(a, b);
    fold_free(a);
    fold_free(b);
    return within;
}

bool editing_guarded_bare(int fd)
{
    static const char *const names[] = {"HEAD", "objects", "refs"};
    struct stat st;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 &&
            (errno == ENOENT || errno == ENOTDIR))
            return false;
    return true;
}

void editing_guarded_say(editing_guard guard, const editing_guarded *row, mcp_error *err)
{
    *err = (mcp_error){.code = guard == EDITING_FREE ? MCP_OK : MCP_EACCESS};
    if (guard == EDITING_NOT_TEXT)
        snprintf(
            err->text, sizeof(err->text),
            "the path is not UTF-8, or too long; such names are never written; use another name");
    else if (row && row->never)
        snprintf(err->text, sizeof(err->text),
                 "%s%s belongs to %s and is never written; use that program itself", row->pattern,
                 row->folder ? "/" : "", row->program);
    else if (row)
        snprintf(
            err->text, sizeof(err->text),
            "%s%s is obeyed by %s; only an access rule with the exact path of this file allows it",
            row->pattern, row->folder ? "/" : "", row->program);
}
