/* pack.h: the packs of a repository: which there are, and where an object begins in one. What is in
 * it reader.h reads.
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
    size_t place; /* which folder of objects it is in */
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

/* The two files of a pack that is used. */
typedef struct repo_pack_files {
    const repo_pack *pack;
    int index, data;
    bool borrowed; /* they stay open for the next */
} repo_pack_files;

/* Looks which packs there are now; those that are known stay. Any thread. MCP_OK, MCP_ENOMEM,
 * MCP_ELIMIT, or what says that the folder cannot be read. */
int repo_packs_look(struct repo_layout *l);
void repo_packs_free(struct repo_layout *l);
size_t repo_packs_count(struct repo_layout *l);

/* Opens the i-th. MCP_ENOTFOUND: it is gone; MCP_EIO: it is none. Any thread. */
int repo_pack_open(struct repo_layout *l, size_t i, repo_pack_files *ret);
void repo_pack_close(repo_pack_files *files);

/* Where an object begins in the pack. MCP_ENOTFOUND, MCP_EIO. */
int repo_pack_find(const repo_pack_files *files, const git_oid *id, uint64_t *ret);
/* The id that begins with so many hexadecimal digits (2 at least). MCP_ENOTFOUND; MCP_EEXIST:
 * several do. */
int repo_pack_find_prefix(const repo_pack_files *files, const git_oid *prefix, size_t digits,
                          git_oid *ret);

#endif
