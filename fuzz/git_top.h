/* git_top.h: a repository in memory for the fuzz targets of git's files, an allocator that limits
 * the memory for reading it, and the invariants of everything that is read. */
#ifndef MCP_FUZZ_GIT_TOP_H
#define MCP_FUZZ_GIT_TOP_H

#include <limits.h>
#include <unistd.h>

#include <reader.h>
#include <store.h>

#include "../tests/providers/git/craft.h"

enum { MOST = 64 << 20 };

static char top[PATH_MAX], git[PATH_MAX];
static size_t live;

/* ---- memory ------------------------------------------------------------------------------------------------- */

static inline void *allocate(size_t size, void *user)
{
    size_t *block = malloc(size + 16);
    (void)user;
    if (!block)
        return NULL;
    *block = size;
    if ((live += size) > MOST)
        abort();
    return block + 2;
}

static inline void release(void *ptr, void *user)
{
    size_t *block = ptr;
    (void)user;
    if (!block)
        return;
    live -= block[-2];
    free(block - 2);
}

static inline void *resize(void *ptr, size_t size, void *user)
{
    size_t *block = ptr, before = block ? block[-2] : 0;
    void *grown = allocate(size, user);
    if (grown && before)
        memcpy(grown, ptr, before < size ? before : size);
    if (grown)
        release(ptr, user);
    return grown;
}

static const mcp_allocator alloc = {allocate, resize, release, NULL};

/* ---- the repository ----------------------------------------------------------------------------------------- */

static inline void remove_top(void)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof(command), "rm -rf %s", top);
    if (system(command) != 0)
        abort();
}

static inline void make_top(void)
{
    static const char *const folders[] = {"", "/objects", "/objects/pack", "/objects/aa", "/refs"};
    char path[PATH_MAX + 32];
    snprintf(top, sizeof(top), "%s/mcp-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(top) || atexit(remove_top) != 0 || git_libgit2_init() < 0)
        abort();
    git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
    git_libgit2_opts(GIT_OPT_ENABLE_CACHING, 0);
    snprintf(git, sizeof(git), "%.*s/r", PATH_MAX - 3, top);
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        snprintf(path, sizeof(path), "%s%s", git, folders[i]);
        craft_need(mkdir(path, 0700) == 0);
    }
    snprintf(path, sizeof(path), "%s/HEAD", git);
    craft_file(path, "ref: refs/heads/main\n", 21);
}

/* ---- invariants ------------------------------------------------------------------------------ */

static inline void look(repo_use *u, git_oid id)
{
    git_odb_object *o = NULL;
    git_object_t type = GIT_OBJECT_ANY;
    size_t size = 0;
    int header = repo_object_header(u, &id, &type, &size);
    int rc = repo_object(u, &id, GIT_OBJECT_ANY, &o);
    if (rc == MCP_OK && (header != MCP_OK || size != git_odb_object_size(o) ||
                         type != git_odb_object_type(o) || size > REPO_OBJECT_MAX))
        abort();
    git_odb_object_free(o);
    (void)repo_object_by_prefix(u, &id, 10, &id);
}

#endif
