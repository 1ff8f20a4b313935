/* reader_pack.h: reads objects from packs, for reader.c. */
#ifndef REPO_READER_PACK_H
#define REPO_READER_PACK_H

#include "reader.h"

/* An object that was read, in memory that libgit2 will own. */
typedef struct repo_reading {
    char *ptr;
    size_t len;
    git_object_t type;
} repo_reading;

int repo_reading_alloc(repo_reader *r, repo_reading *ret, uint64_t len, git_object_t type);

/* Checks whether the current use may read an object of this size. Returns MCP_OK, MCP_ELIMIT or
 * MCP_PENDING. */
int repo_reader_allows(repo_reader *r, uint64_t size);

/* Reads an object, or only its size and type. Returns MCP_ENOTFOUND if no pack has it, otherwise a
 * code from store.h. */
int repo_pack_read(repo_reader *r, const git_oid *id, repo_reading *ret);
int repo_pack_header(repo_reader *r, const git_oid *id, uint64_t *size, git_object_t *type);

void repo_bases_free(repo_reader *r);

#endif
