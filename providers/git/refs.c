/* refs.c: implements store.h for references: loose files beneath the repository's folders, and
 * packed-refs.
 *
 * packed-refs is a sorted text file. A name is found by binary search that reads one block at a
 * time, so that a hundred thousand tags need no memory. A file that is not sorted, or is full of
 * lines that are not references, is read line by line; on the server's thread only its beginning is
 * read.
 */
#define _GNU_SOURCE
#include "expr.h"
#include "store.h"
#include "uri.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MAX_HOPS = 5,
    BLOCK = 4096,
    MAX_REF_DEPTH = 16,
    MAX_REFS = 1000000,
    NEAR_BLOCKS = 64, /* limit for one name on the server's thread; a million sorted names
                       * need 30 blocks */
};

/* ---- packed-refs ----------------------------------------------------------------------------- */

typedef struct packed {
    const repo_use *u;
    int fd;
    int rc; /* why there are no more lines; MCP_OK at the end of the file */
    size_t blocks;
    off_t size;
    bool sorted;
    off_t at;    /* offset of the next line */
    off_t begin; /* offset of the block */
    size_t len;
    char block[BLOCK];
} packed;

static int packed_open(const repo_use *u, packed *p)
{
    struct stat st;
    int rc = repo_layout_open_in(u->layout, u->layout->common, "packed-refs", &p->fd, &st);
    if (rc != MCP_OK)
        return rc;
    p->u = u;
    p->rc = MCP_OK;
    p->blocks = 0;
    p->size = st.st_size;
    p->at = p->begin = 0;
    p->len = 0;
    p->sorted = false;
    return MCP_OK;
}

/* Reads the block at p->at. Returns false at the end, or if this thread may not read more. */
static bool packed_block(packed *p)
{
    p->rc = p->u->near && ++p->blocks > NEAR_BLOCKS ? MCP_PENDING : repo_use_check(p->u);
    ssize_t n = p->rc == MCP_OK ? pread(p->fd, p->block, BLOCK, p->at) : 0;
    p->begin = p->at;
    p->len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* Reads the line at p->at and advances. A line that does not fit a block is truncated. Returns
 * false at the end. */
static bool packed_line(packed *p, mcp_str *ret)
{
    const char *end = NULL;
    for (int tries = 0; tries < 2 && !end; tries++) {
        bool outside = p->at < p->begin || p->at >= p->begin + (off_t)p->len;
        if (p->rc != MCP_OK || ((tries || outside) && !packed_block(p)))
            return false;
        size_t from = (size_t)(p->at - p->begin);
        end = memchr(p->block + from, '\n', p->len - from);
        *ret = (mcp_str){p->block + from, (end ? (size_t)(end - p->block) : p->len) - from};
    }
    p->at += (off_t)ret->len + (end != NULL);
    return true;
}

/* Parses "ID NAME". Other lines (comments, peeled tags) are not references. */
static bool packed_ref(mcp_str line, git_oid *id, mcp_str *name)
{
    char hex[GIT_OID_HEXSZ + 1];
    if (line.len < GIT_OID_HEXSZ + 2 || line.ptr[GIT_OID_HEXSZ] != ' ')
        return false;
    memcpy(hex, line.ptr, GIT_OID_HEXSZ);
    hex[GIT_OID_HEXSZ] = 0;
    *name = (mcp_str){line.ptr + GIT_OID_HEXSZ + 1, line.len - GIT_OID_HEXSZ - 1};
    return git_oid_fromstr(id, hex) == 0;
}

static int compare(mcp_str a, mcp_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Finds the first reference in a line that begins at or after `at`. */
static bool packed_ref_from(packed *p, off_t at, git_oid *id, mcp_str *name)
{
    mcp_str line;
    p->at = at;
    if (at && !packed_line(p, &line)) /* skips the rest of a line that begins before `at` */
        return false;
    while (packed_line(p, &line))
        if (packed_ref(line, id, name))
            return true;
    return false;
}

/* Moves to the position of `name`, or to the beginning if the file is not sorted. */
static void packed_seek(packed *p, mcp_str name)
{
    mcp_str line, found;
    git_oid id;
    off_t low = 0, high = p->size;
    p->at = 0;
    p->sorted = packed_line(p, &line) && line.len && *line.ptr == '#' &&
                memmem(line.ptr, line.len, " sorted", 7);
    while (p->sorted && high - low > BLOCK / 4) {
        off_t middle = low + (high - low) / 2;
        if (packed_ref_from(p, middle, &id, &found) && compare(found, name) < 0)
            low = middle;
        else
            high = middle;
    }
    p->at = low;
    if (low)
        packed_line(p, &line);
}

static int packed_find(const repo_use *u, mcp_str name, git_oid *id)
{
    packed p;
    mcp_str line, found;
    git_oid other;
    int order = 1, rc = packed_open(u, &p);
    if (rc != MCP_OK)
        return rc;
    packed_seek(&p, name);
    while (packed_line(&p, &line)) {
        if (!packed_ref(line, &other, &found))
            continue;
        order = compare(found, name);
        if (order == 0 || (p.sorted && order > 0))
            break;
    }
    close(p.fd);
    if (p.rc != MCP_OK || order != 0)
        return p.rc != MCP_OK ? p.rc : MCP_ENOTFOUND;
    *id = other;
    return MCP_OK;
}

/* ---- loose references ------------------------------------------------------------------------ */

static bool begins(mcp_str s, const char *with)
{
    size_t len = strlen(with);
    return s.len >= len && memcmp(s.ptr, with, len) == 0;
}

static bool is_full_name(mcp_str name)
{
    return (mcp_str_eq(name, MCP_STR("HEAD")) || begins(name, "refs/")) && !repo_rev_refused(name);
}

/* Returns the folder of a worktree's two folders that contains the reference. */
static common_beneath place_of(const repo_layout *l, mcp_str name)
{
    bool own = !begins(name, "refs/") || begins(name, "refs/bisect/") ||
               begins(name, "refs/worktree/") || begins(name, "refs/rewritten/");
    return own ? l->git : l->common;
}

/* Reads a reference that is a link, or in a folder that is one. As in git, a link to the name of a
 * reference is symbolic; any other is followed. */
static int read_linked(const repo_use *u, common_beneath at, const char *name, char *text,
                       size_t room, size_t *len)
{
    ssize_t n = readlinkat(at.fd, name, text + 5, room - 6);
    if (n > 0 && (size_t)n < room - 6 && is_full_name((mcp_str){text + 5, (size_t)n})) {
        memcpy(text, "ref: ", 5);
        text[ *len = (size_t)n + 5] = 0;
        return MCP_OK;
    }
    return repo_read_small(u->layout, at, name, text, room, len);
}

static int read_one(const repo_use *u, const char *name, git_oid *id, char target[REPO_REF_MAX + 1])
{
    char text[REPO_REF_MAX + 32];
    mcp_str full = mcp_str_from(name);
    common_beneath at = place_of(u->layout, full);
    size_t len;
    *target = 0;
    int rc = repo_read_small(NULL, at, name, text, sizeof(text), &len);
    if (rc == COMMON_IS_LINK)
        rc = read_linked(u, at, name, text, sizeof(text), &len);
    if (rc == MCP_ENOTFOUND && begins(full, "refs/"))
        return packed_find(u, full, id);
    if (rc != MCP_OK)
        return rc;
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
        text[--len] = 0;
    if (begins((mcp_str){text, len}, "ref: ")) {
        snprintf(target, REPO_REF_MAX + 1, "%.*s", REPO_REF_MAX, text + 5);
        return is_full_name(mcp_str_from(target)) ? MCP_OK : MCP_EIO;
    }
    return repo_rev_is_id((mcp_str){text, len}) && git_oid_fromstr(id, text) == 0 ? MCP_OK
                                                                                  : MCP_EIO;
}

int repo_ref_read(const repo_use *u, mcp_str name, git_oid *id, char final[REPO_REF_MAX + 1])
{
    char at[REPO_REF_MAX + 1] = "", target[REPO_REF_MAX + 1] = "";
    int rc = MCP_OK;
    if (name.len > REPO_REF_MAX || !is_full_name(name))
        return MCP_ENOTFOUND;
    memcpy(at, name.ptr, name.len);
    at[name.len] = 0;
    for (int hops = 0; rc == MCP_OK && hops <= MAX_HOPS; hops++) {
        if (final)
            memcpy(final, at, sizeof(at));
        rc = read_one(u, at, id, target);
        if (rc == MCP_OK && !*target)
            return MCP_OK;
        memcpy(at, target, sizeof(at));
    }
    return rc == MCP_OK ? MCP_EIO : rc;
}

/* ---- resolving a REV ------------------------------------------------------------------------- */

static int find_by_id(repo_use *u, mcp_str rev, git_oid *id)
{
    char hex[GIT_OID_HEXSZ + 1];
    git_oid beginning;
    if (rev.len < 7 || rev.len >= GIT_OID_HEXSZ)
        return MCP_ENOTFOUND;
    for (size_t i = 0; i < rev.len; i++)
        if (!strchr("0123456789abcdef", rev.ptr[i]))
            return MCP_ENOTFOUND;
    memcpy(hex, rev.ptr, rev.len);
    if (git_oid_fromstrn(&beginning, hex, rev.len) < 0)
        return MCP_ENOTFOUND;
    return repo_object_by_prefix(u, &beginning, rev.len, id);
}

static int find_name(repo_use *u, mcp_str rev, git_oid *id, bool *fixed,
                     char full[REPO_REF_MAX + 1])
{
    static const char *const forms[] = {"%.*s",
                                        "refs/%.*s",
                                        "refs/tags/%.*s",
                                        "refs/heads/%.*s",
                                        "refs/remotes/%.*s",
                                        "refs/remotes/%.*s/HEAD"};
    char name[REPO_REF_MAX + 32], hex[GIT_OID_HEXSZ + 1];
    *fixed = repo_rev_is_id(rev);
    if (full)
        *full = 0;
    if (*fixed) {
        memcpy(hex, rev.ptr, GIT_OID_HEXSZ);
        hex[GIT_OID_HEXSZ] = 0;
        return git_oid_fromstr(id, hex) == 0 ? MCP_OK : MCP_ENOTFOUND;
    }
    if (rev.len > REPO_REF_MAX)
        return MCP_ENOTFOUND;
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        /* the format is not a literal that the compiler could check, so it is split */
        const char *percent = strchr(forms[i], '%');
        snprintf(name, sizeof(name), "%.*s%.*s%s", (int)(percent - forms[i]), forms[i],
                 (int)rev.len, rev.ptr, percent + 4);
        int rc = repo_ref_read(u, mcp_str_from(name), id, full);
        if (rc != MCP_ENOTFOUND)
            return rc;
    }
    if (full)
        *full = 0;
    return find_by_id(u, rev, id);
}

/* Replaces the commit by its n-th parent. */
static int step_to_parent(repo_use *u, git_oid *id, unsigned n)
{
    repo_commit c;
    int rc = repo_commit_read(u, id, &c);
    if (rc != MCP_OK)
        return rc;
    rc = n && n <= c.n_parents ? MCP_OK : MCP_ENOTFOUND;
    if (rc == MCP_OK)
        *id = repo_commit_parent(&c, n - 1);
    repo_commit_free(&c);
    return rc;
}

/* Goes back from the commit. The number of steps was checked when the expression was parsed. */
static int follow_steps(repo_use *u, mcp_str steps, git_oid *id)
{
    git_object_t type;
    char kind;
    unsigned n;
    int rc = repo_peel(u, id, &type);
    if (rc == MCP_OK && type != GIT_OBJECT_COMMIT)
        rc = MCP_ENOTFOUND;
    while (rc == MCP_OK && repo_expr_step(&steps, &kind, &n)) {
        if (kind == '^' && n)
            rc = step_to_parent(u, id, n);
        for (; rc == MCP_OK && kind == '~' && n; n--) {
            rc = step_to_parent(u, id, 1);
            if (rc == MCP_OK && n % 64 == 0)
                rc = repo_use_check(u);
        }
    }
    return rc;
}

int repo_rev_find(repo_use *u, mcp_str rev, git_oid *id, bool *fixed, char full[REPO_REF_MAX + 1])
{
    mcp_str name, steps;
    repo_expr_split(rev, &name, &steps);
    int rc = find_name(u, name, id, fixed, full);
    if (rc != MCP_OK || !steps.len)
        return rc;
    if (full)
        *full = 0;
    return follow_steps(u, steps, id);
}

int repo_rev_commit(repo_use *u, mcp_str rev, git_oid *id, bool *fixed)
{
    git_object_t type;
    int rc = repo_rev_find(u, rev, id, fixed, NULL);
    if (rc == MCP_OK)
        rc = repo_peel(u, id, &type);
    if (rc == MCP_OK && type != GIT_OBJECT_COMMIT)
        rc = MCP_ENOTFOUND;
    return rc;
}

const char *repo_ref_short(repo_use *u, const char *name)
{
    char full[REPO_REF_MAX + 1];
    git_oid id;
    bool fixed;
    const char *slash = strchr(name, '/');
    if (!slash || repo_rev_refused(mcp_str_from(slash + 1)) ||
        repo_rev_find(u, mcp_str_from(slash + 1), &id, &fixed, full) != MCP_OK)
        return name;
    return strncmp(full, "refs/", 5) == 0 && strcmp(full + 5, name) == 0 ? slash + 1 : name;
}

/* ---- all references -------------------------------------------------------------------------- */

typedef struct collecting {
    repo_use *u;
    common_buffer *names; /* each followed by NUL */
    size_t count;
} collecting;

static int keep(collecting *c, const git_oid *id, mcp_str name)
{
    if (++c->count > MAX_REFS)
        return MCP_ELIMIT;
    int going = c->count % 1024 ? MCP_OK : repo_use_check(c->u);
    if (going != MCP_OK)
        return going;
    if (!is_full_name(name))
        return MCP_OK; /* too long to be requested */
    int rc = common_buffer_append(c->names, id->id, GIT_OID_RAWSZ);
    if (rc == MCP_OK)
        rc = common_buffer_append(c->names, name.ptr + 5, name.len - 5);
    return rc == MCP_OK ? common_buffer_append(c->names, "", 1) : rc;
}

static int collect_packed(collecting *c, mcp_str prefix)
{
    packed p;
    mcp_str line, name;
    git_oid id;
    int rc = packed_open(c->u, &p);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_OK : rc;
    packed_seek(&p, prefix);
    while (rc == MCP_OK && packed_line(&p, &line)) {
        if (!packed_ref(line, &id, &name))
            continue;
        if (begins(name, prefix.ptr))
            rc = keep(c, &id, name);
        else if (p.sorted && compare(name, prefix) > 0)
            break;
    }
    close(p.fd);
    return rc == MCP_OK ? p.rc : rc;
}

static mode_t kind_of(int dir, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN)
        return (mode_t)DTTOIF(e->d_type);
    return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & S_IFMT : 0;
}

/* Adds one reference. A damaged reference is skipped. */
static int collect_one(collecting *c, mcp_str name)
{
    git_oid id;
    int rc = repo_ref_read(c->u, name, &id, NULL);
    if (rc == MCP_OK)
        return keep(c, &id, name);
    return rc == MCP_EFILES ? rc : MCP_OK;
}

static int collect_loose(collecting *c, const char *folder, int depth)
{
    int fd, rc = repo_layout_open_dir(c->u->layout, c->u->layout->common, folder, &fd);
    DIR *d = rc == MCP_OK ? fdopendir(fd) : NULL;
    const struct dirent *e;
    if (!d) {
        if (rc == MCP_OK)
            close(fd);
        return rc == MCP_EFILES ? rc : MCP_OK; /* it was removed meanwhile */
    }
    while (rc == MCP_OK && (e = readdir(d))) {
        char name[REPO_REF_MAX + 1];
        int len = snprintf(name, sizeof(name), "%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.' || len < 0 || (size_t)len >= sizeof(name))
            continue;
        mode_t kind = kind_of(fd, e);
        if (kind == S_IFDIR && depth < MAX_REF_DEPTH)
            rc = collect_loose(c, name, depth + 1);
        else if (kind == S_IFREG || kind == S_IFLNK)
            rc = collect_one(c, mcp_str_from(name));
    }
    closedir(d);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    int order = strcmp(*x + GIT_OID_RAWSZ, *y + GIT_OID_RAWSZ);
    return order ? order : (*x > *y) - (*x < *y); /* the loose reference, which was collected first,
                                                   * takes precedence */
}

static int sort_names(const common_buffer *from, common_buffer *ret)
{
    size_t n = 0, i = 0, at = 0;
    repo_ref ref;
    int rc = MCP_OK;
    while (repo_refs_next(from, &at, &ref))
        n++;
    const char **items = common_alloc(&ret->alloc, (n + 1) * sizeof(*items));
    if (!items)
        return MCP_ENOMEM;
    for (at = 0; i < n; i++) {
        items[i] = from->ptr + at;
        repo_refs_next(from, &at, &ref);
    }
    qsort(items, n, sizeof(*items), by_name);
    for (i = 0; rc == MCP_OK && i < n; i++)
        if (!i || strcmp(items[i] + GIT_OID_RAWSZ, items[i - 1] + GIT_OID_RAWSZ) != 0)
            rc = common_buffer_append(ret, items[i],
                                      GIT_OID_RAWSZ + strlen(items[i] + GIT_OID_RAWSZ) + 1);
    common_release(&ret->alloc, items);
    return rc;
}

int repo_refs_collect(repo_use *u, const char *prefix, common_buffer *ret)
{
    common_buffer names;
    collecting c = {.u = u, .names = &names};
    char folder[64];
    common_buffer_init(&names, &ret->alloc);
    snprintf(folder, sizeof(folder), "%.*s", (int)strlen(prefix) - 1, prefix);
    int rc = collect_loose(&c, folder, 0);
    if (rc == MCP_OK)
        rc = collect_packed(&c, mcp_str_from(prefix));
    int sorted = rc == MCP_OK || rc == MCP_PENDING ? sort_names(&names, ret) : rc;
    common_buffer_free(&names);
    return sorted == MCP_OK ? rc : sorted;
}

bool repo_refs_next(const common_buffer *refs, size_t *at, repo_ref *ret)
{
    if (*at >= refs->len)
        return false;
    memcpy(ret->id.id, refs->ptr + *at, GIT_OID_RAWSZ);
    ret->name = refs->ptr + *at + GIT_OID_RAWSZ;
    *at += GIT_OID_RAWSZ + strlen(ret->name) + 1;
    return true;
}
