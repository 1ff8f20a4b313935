/* gitalloc.h: counts libgit2's allocations and makes a chosen one fail, as failalloc.h does for
 * ours. It is thread-safe. Call gitalloc_install() before libgit2 is initialized. */
#ifndef MCP_TESTS_GIT_GITALLOC_H
#define MCP_TESTS_GIT_GITALLOC_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <git2.h>
#include <git2/sys/alloc.h>

static struct {
    atomic_size_t calls; /* number of allocations and resizes */
    /* number of the call that fails, counted from 1; 0 means that none fails */
    atomic_size_t fail_at;
    atomic_size_t live;  /* blocks that are not released */
    atomic_size_t bytes; /* their size in bytes */
    atomic_size_t peak;  /* the maximum of `bytes` */
} gitalloc;

static void *gitalloc_count(void *p)
{
    if (p) {
        atomic_fetch_add(&gitalloc.live, 1);
        size_t now_live = malloc_usable_size(p);
        now_live += atomic_fetch_add(&gitalloc.bytes, now_live);
        if (now_live > atomic_load(&gitalloc.peak))
            atomic_store(&gitalloc.peak, now_live);
    }
    return p;
}

static void gitalloc_free(void *p)
{
    if (p) {
        atomic_fetch_sub(&gitalloc.live, 1);
        atomic_fetch_sub(&gitalloc.bytes, malloc_usable_size(p));
    }
    free(p);
}

static bool gitalloc_fails(void)
{
    return atomic_fetch_add(&gitalloc.calls, 1) + 1 == atomic_load(&gitalloc.fail_at);
}

static void *gitalloc_malloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return gitalloc_fails() ? NULL : gitalloc_count(malloc(size ? size : 1));
}

static void *gitalloc_realloc(void *p, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    size_t before = p ? malloc_usable_size(p) : 0;
    void *grown = gitalloc_fails() ? NULL : realloc(p, size ? size : 1);
    if (!grown)
        return NULL;
    atomic_fetch_sub(&gitalloc.live, p != NULL);
    atomic_fetch_sub(&gitalloc.bytes, before);
    return gitalloc_count(grown);
}

/* later versions implement these three functions themselves */
#if LIBGIT2_VER_MAJOR == 1 && LIBGIT2_VER_MINOR < 7

static void *gitalloc_calloc(size_t n, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return gitalloc_fails() ? NULL : gitalloc_count(calloc(n, size));
}

static char *gitalloc_substrdup(const char *text, size_t len, const char *file, int line)
{
    char *copy = gitalloc_malloc(len + 1, file, line);
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = 0;
    }
    return copy;
}

static char *gitalloc_strdup(const char *text, const char *file, int line)
{
    return gitalloc_substrdup(text, strlen(text), file, line);
}

static char *gitalloc_strndup(const char *text, size_t len, const char *file, int line)
{
    return gitalloc_substrdup(text, strnlen(text, len), file, line);
}

static void *gitalloc_reallocarray(void *p, size_t n, size_t size, const char *file, int line)
{
    return n && size > SIZE_MAX / n ? NULL : gitalloc_realloc(p, n * size, file, line);
}

static void *gitalloc_mallocarray(size_t n, size_t size, const char *file, int line)
{
    return gitalloc_reallocarray(NULL, n, size, file, line);
}

#endif

static inline void gitalloc_install(void)
{
    static git_allocator a = {
        .gmalloc = gitalloc_malloc,
        .grealloc = gitalloc_realloc,
        .gfree = gitalloc_free,
#if LIBGIT2_VER_MAJOR == 1 && LIBGIT2_VER_MINOR < 7
        .gcalloc = gitalloc_calloc,
        .gstrdup = gitalloc_strdup,
        .gstrndup = gitalloc_strndup,
        .gsubstrdup = gitalloc_substrdup,
        .greallocarray = gitalloc_reallocarray,
        .gmallocarray = gitalloc_mallocarray,
#endif
    };
    git_libgit2_opts(GIT_OPT_SET_ALLOCATOR, &a);
}

#endif
