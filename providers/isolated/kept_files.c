/* kept_files.c: examines the files on which kept answers depend.
 *
 * A file has not changed if its state is the same, because the kernel sets the time st_ctim with
 * each change, and no program can set it. Two changes can leave the same time if they happen within
 * one tick of the clock from which the kernel takes it. So nothing is kept that depends on a file
 * whose time is young: any change after that leaves a later time.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "kept.h"

enum {
    /* A tick takes at most 10 ms. */
    YOUNG_NS = 50 * 1000 * 1000,
    /* The same for file systems that store whole seconds, such as ext3. */
    YOUNG_S = 2,
};

/* ---- state ----------------------------------------------------------------------------------- */

static bool same(const isolated_file_state *a, const isolated_file_state *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static isolated_file_state state_of(const char *path, bool follow)
{
    struct stat st;
    if ((follow ? stat(path, &st) : lstat(path, &st)) != 0)
        return (isolated_file_state){.exists = 0};
    return (isolated_file_state){.exists = 1,
                                 .dev = (uint64_t)st.st_dev,
                                 .ino = (uint64_t)st.st_ino,
                                 .size = (uint64_t)st.st_size,
                                 .mode = (uint64_t)st.st_mode,
                                 .s = (int64_t)st.st_ctim.tv_sec,
                                 .ns = (int64_t)st.st_ctim.tv_nsec};
}

/* Compares the time with the clock from which the kernel takes it. A file of the future is young,
 * too. */
static bool is_young(const isolated_file_state *state)
{
    const int64_t second = 1000000000;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    int64_t s = now.tv_sec - state->s;
    if (state->ns == 0 || s < 0 || s > YOUNG_S)
        return s <= YOUNG_S;
    return s * second + now.tv_nsec - state->ns <= YOUNG_NS;
}

bool isolated_files_unchanged(const isolated_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        isolated_file_state now = state_of(files->file[i].path, files->file[i].follow);
        if (!same(&now, &files->file[i].state))
            return false;
    }
    return true;
}

bool isolated_files_same(const isolated_files *a, const isolated_files *b)
{
    bool equal = a->n == b->n;
    for (size_t i = 0; equal && i < a->n; i++)
        equal = strcmp(a->file[i].path, b->file[i].path) == 0 &&
                same(&a->file[i].state, &b->file[i].state);
    return equal;
}

/* ---- memory ---------------------------------------------------------------------------------- */

size_t isolated_files_bytes(const isolated_files *files)
{
    size_t bytes = isolated_block(files->n * sizeof(*files->file));
    for (size_t i = 0; i < files->n; i++)
        bytes += isolated_block(strlen(files->file[i].path) + 1);
    return bytes;
}

void isolated_files_free(const isolated *r, isolated_files *files)
{
    while (files->n)
        common_release(&r->alloc, files->file[--files->n].path);
    common_release(&r->alloc, files->file);
    files->file = NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Whether the file system has its files to itself, so that their times are always exact. A client of
 * a network file system learns late about changes. */
static bool is_local(const char *path)
{
    static const uint32_t types[] = {
        0xEF53,     /* ext2, ext3, ext4 */
        0x58465342, /* XFS */
        0x9123683E, /* Btrfs */
        0xF2F52010, /* F2FS */
        0x2FC12FC1, /* ZFS */
        0x01021994, /* tmpfs */
        0x794C7630, /* overlayfs */
    };
    struct statfs fs;
    bool found = false;
    if (statfs(path, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        found = found || (uint32_t)fs.f_type == types[i];
    return found;
}

/* Whether all folders of the path below `root`, which is `len` bytes of it, are folders of the same
 * file system and not links, as far as they exist. */
static bool is_below(char *path, size_t len, uint64_t dev)
{
    for (char *end = path + len; *end == '/';) {
        char *name = end + 1;
        size_t n = strcspn(name, "/");
        if (!n || (n <= 2 && strspn(name, ".") >= n))
            return false;
        end = name + n;
        if (!*end)
            break;
        *end = 0;
        isolated_file_state at = state_of(path, false);
        *end = '/';
        if (at.exists && (!S_ISDIR((mode_t)at.mode) || at.dev != dev))
            return false;
    }
    return true;
}

/* The source whose files are examined. A folder is examined by the path of the options. A file is
 * examined by its real path, because SQLite looks for the files beside that. */
typedef struct source {
    char path[PATH_MAX];
    size_t len;
    uint64_t dev;
    bool folder;
    bool linked; /* `path` is not that of the options */
} source;

static isolated_outlook find_source(const isolated *r, source *to)
{
    struct stat st;
    const char *given = r->options.paths[0];
    if (stat(given, &st) != 0)
        return ISOLATED_LATER;
    to->dev = (uint64_t)st.st_dev;
    to->folder = S_ISDIR(st.st_mode);
    if (!to->folder && (!S_ISREG(st.st_mode) || st.st_nlink != 1))
        return ISOLATED_NEVER; /* with a second name, other files may be beside it */
    if (!to->folder && !realpath(given, to->path))
        return ISOLATED_LATER;
    if (to->folder && snprintf(to->path, PATH_MAX, "%s", given) >= PATH_MAX)
        return ISOLATED_NEVER;
    to->len = strlen(to->path);
    to->linked = strcmp(to->path, given) != 0;
    return is_local(to->path) ? ISOLATED_KEEP : ISOLATED_NEVER;
}

/* Whether the process may name this file. `path` begins with that of the source. */
static bool may_name(const source *s, mcp_str name, char *path)
{
    static const mcp_str beside[] = {{"", 0}, {"-wal", 4}, {"-journal", 8}};
    bool found = false;
    for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++)
        found = found || mcp_str_eq(name, beside[i]);
    if (!s->folder)
        return found;
    return name.len && name.ptr[0] == '/' && !memchr(name.ptr, 0, name.len) &&
           is_below(path, s->len, s->dev);
}

/* Examines a file that the process named. */
static isolated_outlook look_at(const isolated *r, const source *s, mcp_str name, bool exists,
                                isolated_file *to)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s%.*s", s->path,
                       (int)(name.len < PATH_MAX ? name.len : PATH_MAX), name.len ? name.ptr : "");
    if (len < 0 || len >= PATH_MAX || !may_name(s, name, path))
        return ISOLATED_NEVER;
    *to = (isolated_file){.state = state_of(path, false)};
    if (exists && to->state.exists && to->state.dev != s->dev)
        return ISOLATED_NEVER;
    if (to->state.exists != exists || (exists && is_young(&to->state)))
        return ISOLATED_LATER;
    to->path = common_copy(&r->alloc, path, (size_t)len);
    return to->path ? ISOLATED_KEEP : ISOLATED_LATER;
}

/* If links lead to the file, adds the path with which they begin. */
static isolated_outlook look_at_link(const isolated *r, const source *s, isolated_files *to)
{
    const char *given = r->options.paths[0];
    if (s->folder || !s->linked)
        return ISOLATED_KEEP;
    if (to->n == ISOLATED_FILES)
        return ISOLATED_NEVER;
    isolated_file *file = &to->file[to->n];
    *file = (isolated_file){.follow = true, .state = state_of(given, true)};
    file->path = common_copy(&r->alloc, given, strlen(given));
    to->n += file->path != NULL;
    return file->path ? ISOLATED_KEEP : ISOLATED_LATER;
}

static isolated_outlook look_at_each(const isolated *r, const source *s, const mcp_json *names,
                                     isolated_files *to)
{
    const mcp_json *name, *exists;
    mcp_json_iter it = {0};
    while ((name = mcp_json_next(names, &it, NULL)) != NULL) {
        exists = mcp_json_next(names, &it, NULL);
        if (to->n == ISOLATED_FILES || !mcp_json_is(name, MCP_JSON_STRING) ||
            !mcp_json_is(exists, MCP_JSON_BOOL))
            return ISOLATED_NEVER;
        isolated_outlook one =
            look_at(r, s, mcp_json_string(name), mcp_json_bool(exists, false), &to->file[to->n]);
        if (one != ISOLATED_KEEP)
            return one;
        to->n++;
    }
    return to->n ? look_at_link(r, s, to) : ISOLATED_NEVER;
}

/* Copies what was found to memory of its size. */
static isolated_outlook keep(const isolated *r, const isolated_files *found, isolated_files *to)
{
    to->file = common_alloc(&r->alloc, found->n * sizeof(*found->file));
    if (!to->file)
        return ISOLATED_LATER;
    memcpy(to->file, found->file, found->n * sizeof(*found->file));
    to->n = found->n;
    return ISOLATED_KEEP;
}

isolated_outlook isolated_files_look(const isolated *r, const mcp_json *names, isolated_files *to)
{
    isolated_file room[ISOLATED_FILES];
    isolated_files found = {.file = room};
    source s;
    *to = (isolated_files){.n = 0};
    isolated_outlook all = find_source(r, &s);
    if (all == ISOLATED_KEEP)
        all = look_at_each(r, &s, names, &found);
    if (all == ISOLATED_KEEP)
        all = keep(r, &found, to);
    while (all != ISOLATED_KEEP && found.n)
        common_release(&r->alloc, found.file[--found.n].path);
    return all;
}
