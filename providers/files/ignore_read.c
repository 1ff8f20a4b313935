/* ignore_read.c: see ignore_read.h. */
#define _GNU_SOURCE
#include "ignore_read.h"

#include "buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- rules ---------------------------------------------------------------------- */

/* Reads at most one byte beyond the limit, so that the parser notices that the file
 * is too large. */
int files_rules_read(const mcp_allocator *alloc, int fd, size_t size, files_rules **ret)
{
    common_buffer text;
    int rc;
    size_t max = FILES_RULES_MAX_BYTES + 1;
    common_buffer_init(&text, alloc);
    rc = common_buffer_reserve(&text, size < max ? size + 1 : max);
    while (rc == MCP_OK && text.len < text.cap) {
        ssize_t n = read(fd, text.ptr + text.len, text.cap - text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text.len += (size_t)n;
    }
    if (rc == MCP_OK)
        rc = files_rules_parse((mcp_str){text.ptr, text.len}, alloc, ret);
    common_buffer_free(&text);
    return rc;
}

/* Reads the rules of a file. A file that is unreadable, or a link, has no rules; git does not
 * follow links here either. */
static int read_rules_at(const mcp_allocator *alloc, const char *path, files_rules **ret)
{
    struct stat st;
    int rc = MCP_OK;
    *ret = NULL;
    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return MCP_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return MCP_OK;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        rc = files_rules_read(alloc, fd, (size_t)st.st_size, ret);
    close(fd);
    return rc;
}

int files_rules_of_globs(const mcp_allocator *alloc, const char *const *list, size_t count,
                         files_rules **ret)
{
    common_buffer text;
    int rc = MCP_OK;
    common_buffer_init(&text, alloc);
    for (size_t i = 0; i < count && rc == MCP_OK; i++) {
        /* Unlike in a file, `#` does not begin a comment. */
        if (list[i][0] == '#')
            rc = common_buffer_append(&text, "\\", 1);
        if (rc == MCP_OK)
            rc = common_buffer_append(&text, list[i], strcspn(list[i], "\r\n"));
        if (rc == MCP_OK)
            rc = common_buffer_append(&text, "\n", 1);
    }
    if (rc == MCP_OK)
        rc = files_rules_parse((mcp_str){text.ptr, text.len}, alloc, ret);
    common_buffer_free(&text);
    return rc;
}

/* ---- above the root -------------------------------------------------------------------------- */

bool files_path_add(char path[COMMON_PATH_MAX], const char *dir, size_t len, const char *name)
{
    size_t name_len = strlen(name);
    if (len + name_len >= COMMON_PATH_MAX)
        return false;
    memcpy(path, dir, len);
    memcpy(path + len, name, name_len + 1);
    return true;
}

/* Returns the length of the path of the repository that contains the root, or SIZE_MAX if
 * there is none. */
static size_t find_top(const char *root, size_t len)
{
    char path[COMMON_PATH_MAX];
    struct stat st;
    for (;;) {
        if (files_path_add(path, root, len, "/.git") && lstat(path, &st) == 0)
            return len;
        if (len == 0)
            return SIZE_MAX;
        while (root[--len] != '/') {
        }
    }
}

static int add(files_above *a, const mcp_allocator *alloc, const char *root, size_t len,
               size_t skip, const char *name)
{
    char path[COMMON_PATH_MAX];
    files_rules *rules = NULL;
    if (!files_path_add(path, root, len, name))
        return MCP_OK;
    int rc = read_rules_at(alloc, path, &rules);
    if (rc == MCP_OK && rules)
        a->items[a->count++] = (files_rules_above){rules, skip};
    return rc;
}

int files_above_read(files_above *ret, const char *root, const mcp_allocator *alloc, char *lead)
{
    size_t len = strlen(root);
    size_t top = find_top(root, len);
    size_t levels = 1;
    int rc = MCP_OK;
    if (top == SIZE_MAX || len >= COMMON_PATH_MAX)
        return MCP_OK;
    for (size_t i = top; i < len; i++)
        levels += root[i] == '/';
    ret->items = common_alloc(alloc, levels * sizeof(*ret->items));
    if (!ret->items)
        return MCP_ENOMEM;
    if (len > top) {
        ret->lead = len - top; /* without the slash after the top, but with one at the end */
        memcpy(lead, root + top + 1, ret->lead - 1);
        lead[ret->lead - 1] = '/';
    }
    for (size_t at = len; rc == MCP_OK && at > top;) {
        while (root[--at] != '/') {
        }
        rc = add(ret, alloc, root, at, at - top, "/.gitignore");
    }
    if (rc == MCP_OK)
        rc = add(ret, alloc, root, top, 0, "/.git/info/exclude");
    return rc;
}

void files_above_free(files_above *a, const mcp_allocator *alloc)
{
    for (size_t i = 0; i < a->count; i++)
        files_rules_free(a->items[i].rules);
    common_release(alloc, a->items);
}
