/* complete.c: see complete.h. */
#define _GNU_SOURCE
#include "complete.h"

#include "buffer.h"
#include "fileuri.h"
#include "scan.h"
#include "text.h"

#include <dirent.h>
#include <unistd.h>

static const mcp_default defaults[] = {
    MCP_DEFAULT(files_complete_options, max, 100),
    MCP_DEFAULT(files_complete_options, count, 1000),
};

typedef struct completion {
    const files_root *root;
    mcp_allocator alloc;
    files_complete_fn *emit;
    void *user;
    mcp_str lead; /* part of the values before the relative path */
    files_complete_options opt;
    size_t given, total;
    bool uncounted; /* more than `total` entries match */
    /* The folder as requested, after `lead`. Values begin with it, even if it is a link to another
     * folder. */
    char path[COMMON_PATH_MAX];
    size_t len; /* of `path` */
} completion;

/* Returns whether the entry is a completion. A link is one only if it leads to a file, or to a folder
 * in a volume. */
static bool counts(completion *c, const files_slot *slot, const char *real, size_t real_len,
                   bool *is_dir)
{
    char path[COMMON_PATH_MAX], target[COMMON_PATH_MAX];
    struct stat st;
    size_t from = real_len ? real_len + 1 : 0;
    *is_dir = slot->type == DT_DIR;
    if (slot->type != DT_LNK)
        return true;
    memcpy(path, real, real_len);
    if (from)
        path[from - 1] = '/';
    memcpy(path + from, slot->name, (size_t)slot->len + 1);
    if (files_root_resolve(c->root, path, target, &st) != MCP_OK)
        return false;
    *is_dir = S_ISDIR(st.st_mode);
    return !*is_dir || files_root_in_volume(c->root, path, target);
}

static int give(completion *c, const files_slot *slot, bool is_dir)
{
    char value[2 * COMMON_PATH_MAX];
    size_t len = 0;
    if (c->lead.len + c->len + slot->len + 2 > sizeof(value))
        return MCP_OK;
    if (c->lead.len)
        memcpy(value, c->lead.ptr, len = c->lead.len);
    memcpy(value + len, c->path, c->len);
    len += c->len;
    memcpy(value + len, slot->name, slot->len);
    len += slot->len;
    if (is_dir)
        value[len++] = '/';
    c->given++;
    return c->emit((mcp_str){value, len}, c->user);
}

/* Emits the names in order. Names beyond opt.max are only counted. */
static int give_all(completion *c, files_batch *batch, const char *real, size_t real_len)
{
    const files_slot *slot;
    bool is_dir;
    int rc = MCP_OK;
    while (rc == MCP_OK && (slot = files_batch_take(batch)) != NULL) {
        if (!common_text_utf8((mcp_str){slot->name, slot->len}) ||
            !counts(c, slot, real, real_len, &is_dir))
            c->total--;
        else if (c->given < c->opt.max)
            rc = give(c, slot, is_dir);
    }
    return rc;
}

static int scan_folder(completion *c, int fd, char real[COMMON_PATH_MAX], mcp_str prefix)
{
    char path[COMMON_PATH_MAX];
    files_batch batch;
    size_t len = strlen(real);
    files_scan scan = {.path = path, .len = len, .prefix = prefix, .count = c->opt.count};
    files_batch_init(&batch, &c->alloc, c->opt.max);
    memcpy(path, real, len);
    scan.ignore = c->root->ignore;
    int rc = files_ignore_enter(scan.ignore, real, len, &scan.rules);
    void *buffer = common_alloc(&c->alloc, FILES_SCAN_BUFFER);
    if (rc == MCP_OK && !buffer)
        rc = MCP_ENOMEM;
    if (rc == MCP_OK && scan.rules) {
        rc = files_scan_folder(&scan, fd, buffer, &batch);
        c->total += scan.served;
        c->uncounted |= scan.extra > scan.count;
        if (rc == MCP_OK)
            rc = give_all(c, &batch, real, len);
    }
    files_ignore_leave(scan.ignore, scan.rules);
    common_release(&c->alloc, buffer);
    files_batch_free(&batch);
    return rc;
}

/* Completes in the folder c->path, which is as requested and ends with a slash (or is empty). */
static int in_folder(completion *c, mcp_str prefix)
{
    char rel[COMMON_PATH_MAX], real[COMMON_PATH_MAX];
    struct stat st;
    int fd;
    size_t len = c->len ? c->len - 1 : 0;
    memcpy(rel, c->path, len);
    rel[len] = '\0';
    memcpy(real, rel, len + 1);
    if (!files_rel_valid((mcp_str){rel, len}))
        return MCP_OK;
    int rc = common_beneath_open_dir(c->root->at, rel, &fd);
    if (rc == COMMON_IS_LINK) {
        rc = files_root_resolve(c->root, rel, real, &st);
        if (rc == MCP_OK)
            rc = common_beneath_open_dir(c->root->at, real, &fd);
        if (rc == MCP_OK && files_root_in_volume(c->root, rel, real))
            memcpy(real, rel, len + 1);
    }
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM || rc == MCP_EFILES ? rc : MCP_OK;
    if (c->opt.too_large && fstat(fd, &st) == 0 && c->opt.too_large(&st))
        rc = FILES_IS_LARGE;
    else
        rc = scan_folder(c, fd, real, prefix);
    close(fd);
    return rc;
}

static int complete_in(completion *c, mcp_str value)
{
    const char *slash = value.len ? memrchr(value.ptr, '/', value.len) : NULL;
    size_t folder = slash ? (size_t)(slash - value.ptr) + 1 : 0;
    if (c->root->only || folder >= sizeof(c->path) || (slash && folder == 1))
        return MCP_OK;
    if (folder)
        memcpy(c->path, value.ptr, folder);
    c->len = folder;
    return in_folder(c, (mcp_str){value.ptr + folder, value.len - folder});
}

static completion begin(const files_complete_options *options, files_complete_fn *emit, void *user)
{
    completion c = {.emit = emit, .user = user};
    if (options)
        c.opt = *options;
    MCP_SET_DEFAULTS(&c.opt, defaults);
    c.alloc = common_allocator(c.opt.alloc);
    return c;
}

static size_t total_of(const completion *c)
{
    return c->uncounted && c->total <= c->given ? c->given + 1 : c->total;
}

int files_complete(const files_roots *roots, size_t root, mcp_str value,
                   const files_complete_options *options, files_complete_fn *emit, void *user,
                   size_t *ret_total)
{
    completion c = begin(options, emit, user);
    if (root >= roots->count)
        return MCP_EINVAL;
    c.root = &roots->items[root];
    int rc = complete_in(&c, value.len ? value : MCP_STR(""));
    if (rc == MCP_OK)
        *ret_total = total_of(&c);
    return rc;
}

/* Emits the root, because the value is a prefix of its path. */
static int offer_root(completion *c)
{
    files_slot nothing = {.name = ""};
    c->total++;
    if (c->given >= c->opt.max)
        return MCP_OK;
    c->lead = (mcp_str){c->root->path, c->root->path_len};
    c->len = 0;
    return give(c, &nothing, !c->root->only);
}

int files_complete_absolute(const files_roots *roots, mcp_str value,
                            const files_complete_options *options, files_complete_fn *emit,
                            void *user, size_t *ret_total)
{
    completion c = begin(options, emit, user);
    int rc = MCP_OK;
    for (size_t i = 0; i < roots->count && rc == MCP_OK; i++) {
        const files_root *root = c.root = &roots->items[i];
        size_t common = value.len < root->path_len ? value.len : root->path_len;
        if (common && memcmp(root->path, value.ptr, common) != 0)
            continue;
        if (value.len <= root->path_len) {
            rc = offer_root(&c);
        } else if (value.ptr[root->path_len] == '/') {
            size_t skip = root->path_len + 1;
            c.lead = (mcp_str){value.ptr, skip};
            rc = complete_in(&c, (mcp_str){value.ptr + skip, value.len - skip});
        }
    }
    if (rc == MCP_OK)
        *ret_total = total_of(&c);
    return rc;
}
