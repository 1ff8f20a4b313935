/* pack.h: the packs of a repository, and where an object begins in one. reader.h reads the objects.
 *
 * An index is read with pread(), a few blocks for each question, and what it says is compared with
 * the size of the files. All threads share the packs of a layout: nothing of one changes once it is
 * open.
 */
#ifndef REPO_PACK_H
#define REPO_PACK_H

#include "buffer.h"

#include <git2.h>
#include <pthread.h>

enum { REPO_PACKS = 4096, REPO_PACKS_OPEN = 128, REPO_PACK_TAIL = 20, REPO_PACK_HEAD = 12 };

struct repo_layout;

typedef struct repo_pack {
    size_t place; /* index of the objects folder that contains it */
    bool looked_at, ok, kept;
    int index_fd, pack_fd; /* while `kept` */
    uint64_t index_size, pack_size;
    unsigned version; /* of the index */
    uint32_t fan[256];
    char name[]; /* pack/NAME, without .idx */
} repo_pack;

typedef struct repo_packs {
    repo_pack *pack[REPO_PACKS];
    size_t n, n_kept;
} repo_packs;

/* The two open files of a pack. */
typedef struct repo_pack_files {
    const repo_pack *pack;
    int index, data;
    bool borrowed; /* not closed by this use */
} repo_pack_files;

/* Updates the list of packs; known packs are kept. Any thread. MCP_OK, MCP_ENOMEM, MCP_ELIMIT, or
 * the reason why the folder cannot be read. */
int repo_packs_look(struct repo_layout *l);
void repo_packs_free(struct repo_layout *l);
size_t repo_packs_count(struct repo_layout *l);

/* Opens the i-th pack. MCP_ENOTFOUND: it was removed; MCP_EIO: it is not a valid pack. Any
 * thread. */
int repo_pack_open(struct repo_layout *l, size_t i, repo_pack_files *ret);
void repo_pack_close(repo_pack_files *files);

/* The offset at which an object begins. MCP_ENOTFOUND, MCP_EIO. */
int repo_pack_find(const repo_pack_files *files, const git_oid *id, uint64_t *ret);
/* The id that begins with these hexadecimal digits (2 at least). MCP_ENOTFOUND; MCP_EEXIST: several
 * do. */
int repo_pack_find_prefix(const repo_pack_files *files, const git_oid *prefix, size_t digits,
                          git_oid *ret);

#endif
