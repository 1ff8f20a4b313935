/* reader.h: reads objects of a repository, loose or in packs, within limits. It is the backend of
 * libgit2's object databases, which provide only a cache and the verification of ids. libgit2's own
 * backends are not used.
 *
 * Those backends trust the sizes that an object claims (version 1.5 writes beyond a buffer, and
 * follows a delta that is its own base), and inflate a base before any limit is checked. This
 * reader reads nothing before its size is known and allowed:
 *
 * - A loose object has to end where its header says, and its file has to end there too.
 * - A chain of deltas has at most REPO_CHAIN links. The sizes of the base and of all deltas, which
 *   are stored in the pack, are added up first. The size of each result is added before the result
 *   is made, and must be the size that the next delta expects.
 * - Each instruction of a delta is checked against the bounds of both texts (delta.h).
 *
 * On the server's thread the limits are those of repo_use.near, and a read beyond them returns
 * MCP_PENDING. A reader may be used by one thread at a time.
 */
#ifndef REPO_READER_H
#define REPO_READER_H

#include "inflate.h"
#include "layout.h"

#include <git2/sys/odb_backend.h>

enum {
    REPO_OBJECT_MAX = 256 << 20, /* bytes of the largest object */
    REPO_WORK_MAX = 1 << 30,     /* bytes of all texts made for one object */
    REPO_CHAIN = 4096,           /* deltas in a chain; git makes 50, or up to 4,095
                                  * with an option */
    REPO_NEAR_CHAIN = 64,
    REPO_NEAR_WORK = 1 << 20,
    REPO_BASES = 256,          /* cached results, which often are the bases of further deltas */
    REPO_BASES_MAX = 4 << 20,  /* bytes of all cached results */
    REPO_BASE_MAX = 512 << 10, /* bytes of the largest cached result */
};

typedef struct repo_text {
    char *ptr; /* from the layout's allocator; NULL if unused */
    size_t len;
    git_object_t type;
} repo_text;

typedef struct repo_base {
    const repo_pack *pack;
    uint64_t at;
    repo_text text;
} repo_base;

/* A delta of the chain: offsets of its entry and of its stream, and its inflated size. */
typedef struct repo_link {
    uint64_t at, data, size;
} repo_link;

typedef struct repo_reader {
    git_odb_backend backend; /* must be the first member: libgit2 has a pointer to it */
    repo_layout *layout;
    const struct repo_use *use; /* the current use */
    int outcome;                /* result of the last read: a code from store.h */
    uint64_t too_large;         /* if `outcome` is MCP_ELIMIT, the size that was too large */
    repo_inflate inflate;
    size_t last; /* index of the pack that had the last object */
    repo_link *chain;
    size_t chain_cap;
    repo_base base[REPO_BASES];
    size_t bases_size, oldest;
} repo_reader;

/* Creates an object database with a reader, which is owned by the database. Returns NULL if
 * memory is exhausted. */
git_odb *repo_reader_odb(repo_layout *l, repo_reader **ret);

#endif
