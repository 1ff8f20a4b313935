/* fileuri.c: see fileuri.h. */
#include "fileuri.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Returns whether a path segment may contain the character unencoded: unreserved, sub-delims,
 * ":" and "@". */
static bool plain(unsigned char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    return c && strchr("-._~!$&'()*+,;=:@", c);
}

/* Skips a word, ignoring case; `lower` is in lower case. */
static bool skip_word(mcp_str *s, const char *lower)
{
    size_t len = strlen(lower);
    if (s->len < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = s->ptr[i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != lower[i])
            return false;
    }
    s->ptr += len;
    s->len -= len;
    return true;
}

/* Removes "file:" and the authority, so that the path remains. */
static int skip_prefix(mcp_str *uri)
{
    if (!skip_word(uri, "file:"))
        return memchr(uri->ptr ? uri->ptr : "", ':', uri->len) ? MCP_EUNSUPPORTED : MCP_EPARSE;
    if (uri->len >= 2 && uri->ptr[0] == '/' && uri->ptr[1] == '/') {
        uri->ptr += 2, uri->len -= 2;
        if (uri->len && uri->ptr[0] != '/' && !skip_word(uri, "localhost"))
            return MCP_EUNSUPPORTED;
        if (uri->len && uri->ptr[0] != '/')
            return MCP_EUNSUPPORTED;
    }
    return uri->len && uri->ptr[0] == '/' ? MCP_OK : MCP_EPARSE;
}

static int decode(mcp_str text, char *out, size_t cap, size_t *ret_len)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '?' || c == '#')
            return MCP_EUNSUPPORTED;
        if (c == '%') {
            int high = text.len - i > 2 ? hex(text.ptr[i + 1]) : -1;
            int low = high >= 0 ? hex(text.ptr[i + 2]) : -1;
            if (low < 0)
                return MCP_EPARSE;
            c = (unsigned char)(high * 16 + low);
            if (c == '\0' || c == '/')
                return MCP_EPARSE;
            i += 2;
        } else if (c != '/' && !plain(c)) {
            return MCP_EPARSE;
        }
        if (len + 1 >= cap)
            return MCP_ELIMIT;
        out[len++] = (char)c;
    }
    out[len] = '\0';
    *ret_len = len;
    return MCP_OK;
}

bool files_rel_valid(mcp_str rel)
{
    size_t begin = 0;
    if (rel.len == 0)
        return true;
    if (memchr(rel.ptr, '\0', rel.len))
        return false;
    for (size_t i = 0; i <= rel.len; i++) {
        if (i < rel.len && rel.ptr[i] != '/')
            continue;
        size_t len = i - begin;
        const char *name = rel.ptr + begin;
        if (len == 0 || (len == 1 && name[0] == '.') || (len == 2 && memcmp(name, "..", 2) == 0))
            return false;
        begin = i + 1;
    }
    return true;
}

/* Returns whether the path is at or below the root. Whole components are compared: "/allow" does
 * not contain "/allow_evil". */
static bool lies_in(const files_root *root, const char *path, size_t len)
{
    return root->path_len <= len && memcmp(root->path, path, root->path_len) == 0 &&
           (root->path_len == len || path[root->path_len] == '/');
}

/* Finds the most specific root for ret->path, which is "" or "/a/b", NUL-terminated. */
static int choose_root(const files_roots *roots, size_t len, files_target *ret)
{
    const files_root *best = NULL;
    for (size_t i = 0; i < roots->count; i++) {
        const files_root *root = &roots->items[i];
        if (lies_in(root, ret->path, len) && (!best || root->path_len > best->path_len))
            best = root;
    }
    if (!best)
        return MCP_ENOTFOUND;
    size_t skip = best->path_len == len ? len : best->path_len + 1;
    if (best->only && skip != len)
        return MCP_ENOTFOUND;
    ret->root = (size_t)(best - roots->items);
    ret->rel = ret->path + skip;
    ret->rel_len = len - skip;
    return MCP_OK;
}

/* Sets the other members of *ret from ret->path, an absolute path of length `len`. */
static int place(const files_roots *roots, size_t len, files_target *ret)
{
    ret->slash = len > 0 && ret->path[len - 1] == '/';
    if (ret->slash)
        ret->path[--len] = '\0';
    if (len && !files_rel_valid((mcp_str){ret->path + 1, len - 1}))
        return MCP_EPARSE;
    if (len == 1)
        return MCP_EPARSE; /* the path was "//" */
    int rc = choose_root(roots, len, ret);
    if (rc == MCP_OK && ret->slash && roots->items[ret->root].only)
        return MCP_ENOTFOUND;
    return rc;
}

int files_uri_parse(const files_roots *roots, mcp_str uri, files_target *ret)
{
    size_t len;
    int rc = skip_prefix(&uri);
    if (rc == MCP_OK)
        rc = decode(uri, ret->path, sizeof(ret->path), &len);
    return rc == MCP_OK ? place(roots, len, ret) : rc;
}

int files_path_parse(const files_roots *roots, mcp_str path, files_target *ret)
{
    if (path.len == 0 || path.ptr[0] != '/' || memchr(path.ptr, '\0', path.len))
        return MCP_EPARSE;
    if (path.len >= sizeof(ret->path))
        return MCP_ELIMIT;
    memcpy(ret->path, path.ptr, path.len);
    ret->path[path.len] = '\0';
    return place(roots, path.len, ret);
}

static char *encode(char *out, const char *path, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)path[i];
        if (c == '/' || plain(c)) {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = digits[c >> 4];
            *out++ = digits[c & 15];
        }
    }
    return out;
}

int files_uri_write(const files_root *root, mcp_str rel, common_buffer *out)
{
    static const char scheme[] = "file://";
    int rc = common_buffer_reserve(out, sizeof(scheme) + 3 * (root->path_len + rel.len) + 1);
    if (rc != MCP_OK)
        return rc;
    char *p = out->ptr + out->len;
    memcpy(p, scheme, sizeof(scheme) - 1);
    p = encode(p + sizeof(scheme) - 1, root->path, root->path_len);
    if (rel.len || root->path_len == 0)
        *p++ = '/';
    p = encode(p, rel.ptr, rel.len);
    out->len = (size_t)(p - out->ptr);
    return MCP_OK;
}

int files_uri_canonical(const files_roots *roots, mcp_str uri, common_buffer *out)
{
    files_target target;
    int rc = files_uri_parse(roots, uri, &target);
    if (rc != MCP_OK)
        return rc;
    return files_uri_write(&roots->items[target.root], (mcp_str){target.rel, target.rel_len}, out);
}
