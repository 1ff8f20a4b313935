/* pack.h: the packs of a repository, and the lookup of an object's offset in a pack. reader.h reads
 * the objects.
 *
 * An index is read with pread(), a few blocks for each lookup, and its data is checked against the
 * sizes of the files. All threads share the packs of a layout: an open pack does not change.
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
    bool looked_at, ok, is_open;
    int index_fd, pack_fd; /* valid if `kept` */
    uint64_t index_size, pack_size;
    unsigned version; /* of the index */
    uint32_t fan[256];
    char name[]; /* "pack/NAME", without ".idx" */
} repo_pack;

typedef struct repo_packs {
    repo_pack *pack[REPO_PACKS];
    size_t n, n_open;
} repo_packs;

/* The two open files of a pack, for one use. */
typedef struct repo_pack_files {
    const repo_pack *pack;
    int index, data;
    bool borrowed; /* shared; not closed by this use */
} repo_pack_files;

/* Updates the list of packs; known packs are kept. May be called on any thread. Returns MCP_OK,
 * MCP_ENOMEM, MCP_ELIMIT (too many packs) or MCP_EFILES. */
int repo_packs_look(struct repo_layout *l);
void repo_packs_free(struct repo_layout *l);
size_t repo_packs_count(struct repo_layout *l);

/* Opens the i-th pack. May be called on any thread. Returns MCP_OK, MCP_ENOTFOUND if it was
 * removed, MCP_EIO if it is not a valid pack, or the errors of repo_layout_open_file(). */
int repo_pack_open(struct repo_layout *l, size_t i, repo_pack_files *ret);
void repo_pack_close(repo_pack_files *files);

/* Finds the offset at which an object begins. Returns MCP_OK, MCP_ENOTFOUND or MCP_EIO. */
int repo_pack_find(const repo_pack_files *files, const git_oid *id, uint64_t *ret);
/* Finds the id that begins with these hexadecimal digits, at least 2. Returns MCP_OK,
 * MCP_ENOTFOUND, MCP_EIO, or MCP_EEXIST if several ids do. */
int repo_pack_find_prefix(const repo_pack_files *files, const git_oid *prefix, size_t digits,
                          git_oid *ret);

#endif
