/* folder.h: reads the prompt files of a folder.
 *
 * These are the files directly in the folder whose names end in .md and do not begin with a dot, in
 * byte order. A symbolic link is followed if it points into the folder or below. A file with an
 * unchanged stamp is not read again; an invalid file keeps its previous document. Any thread may
 * read, one at a time; nothing is logged here.
 */
#ifndef PROMPTS_FOLDER_H
#define PROMPTS_FOLDER_H

#include <sys/stat.h>

#include "document.h"

enum {
    PROMPTS_MAX_FILES = 1000,
    PROMPTS_MAX_ALL_BYTES = 16 << 20, /* of all files together */
};

typedef struct prompts_entry {
    char *file; /* its name in the folder */
    struct stat st;
    bool settled;          /* written so long before that a later change shows in the stamp */
    prompts_document *doc; /* the last that was right; NULL: there was none */
    bool kept;             /* it is of the reading before, which it is not counted for yet */
    bool wrong;            /* `fault` says why there is no newer document; line 0: the whole file */
    bool news;             /* the fault is not that of the reading before */
    prompts_fault fault;
} prompts_entry;

typedef struct prompts_folder {
    mcp_allocator alloc;
    prompts_entry *entries;
    size_t count;
    bool cut; /* there are more files than PROMPTS_MAX_FILES */
} prompts_folder;

/* Reads the folder; `before` may be NULL, and has to live until prompts_folder_adopt().
 * MCP_ENOTFOUND, … as common_code_of_errno() has it, with errno in *why; MCP_ENOMEM. */
int prompts_folder_read(const char *path, const prompts_folder *before, const mcp_allocator *alloc,
                        prompts_folder **ret, int *why);
/* On the server's thread: from now on what was kept counts here too, and `before` may be freed. */
void prompts_folder_adopt(prompts_folder *folder);
/* NULL is fine; so is one that was not adopted. */
void prompts_folder_free(prompts_folder *folder);

#endif
