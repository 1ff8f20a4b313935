/* reader.h: objects as they lie in a repository, loose or in packs, read within limits. It is the
 * backend of the object databases that libgit2 keeps its cache and checks ids in; libgit2's own
 * backends never see a file.
 *
 * These believe what an object says of its size (1.5 writes beyond the buffer, and follows a delta
 * that leads to itself), and inflate a base before anything is compared with a limit. Here nothing
 * is read before its size is known and allowed:
 *
 * - a loose object has to end where its header says, and its file with it;
 * - a chain of deltas has at most REPO_CHAIN links, and what it needs of the pack (the base and all deltas, whose
 *   sizes stand in the pack) is added up first; each result adds to the sum before it is made, and has the size that
 *   the next delta expects;
 * - each instruction of a delta is compared with both texts (delta.h).
 *
 * On the server's thread the limits are those of what may be read there (repo_use.near), and what
 * is beyond is MCP_PENDING. One thread at a time.
 */
#ifndef REPO_READER_H
#define REPO_READER_H

#include "inflate.h"
#include "layout.h"

#include <git2/sys/odb_backend.h>

enum {
    REPO_OBJECT_MAX = 256 << 20, /* largest object, in bytes */
    REPO_WORK_MAX = 1 << 30,     /* largest sum of the texts made for one object, in bytes */
    REPO_CHAIN = 4096,           /* deltas in a chain; git makes 50, or up to 4,095 with an
                                  * option */
    REPO_NEAR_CHAIN = 64,
    REPO_NEAR_WORK = 1 << 20,
    REPO_BASES = 256,          /* cached results, because further deltas often start from them */
    REPO_BASES_MAX = 4 << 20,  /* bytes of all */
    REPO_BASE_MAX = 512 << 10, /* of one */
};

typedef struct repo_text {
    char *ptr; /* from the layout's allocator; NULL: unused */
    size_t len;
    git_object_t type;
} repo_text;

typedef struct repo_base {
    const repo_pack *pack;
    uint64_t at;
    repo_text text;
} repo_base;

/* A delta of the chain: where its stream begins, and its length. */
typedef struct repo_link {
    uint64_t at, data, size;
} repo_link;

typedef struct repo_reader {
    git_odb_backend backend; /* must be first: libgit2 has a pointer to it */
    repo_layout *layout;
    const struct repo_use *use; /* the current use */
    int outcome;                /* why the last read failed: a code from store.h */
    uint64_t too_large;         /* the size that caused MCP_ELIMIT */
    repo_inflate inflate;
    size_t last; /* the pack of the last object that was found */
    repo_link *chain;
    size_t chain_cap;
    repo_base base[REPO_BASES];
    size_t bases_size, oldest;
} repo_reader;

/* The reader belongs to the database and is freed with it. NULL: no memory. */
git_odb *repo_reader_odb(repo_layout *l, repo_reader **ret);

#endif
