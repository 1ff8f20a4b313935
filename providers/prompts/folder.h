/* folder.h: reads the prompt files of a folder.
 *
 * Prompt files are directly in the folder; their names end in .md and do not begin with a dot. They
 * are read in byte order of the names. A symbolic link is followed if its target is in the folder
 * or a subfolder. A file with an unchanged stamp is not read again; an invalid file keeps its
 * previous document. Any thread may read, but only one at a time. These functions do not log.
 */
#ifndef PROMPTS_FOLDER_H
#define PROMPTS_FOLDER_H

#include <sys/stat.h>

#include "document.h"

enum {
    PROMPTS_MAX_FILES = 1000,
    PROMPTS_MAX_ALL_BYTES = 16 << 20, /* total size of all files, in bytes */
};

typedef struct prompts_entry {
    char *file; /* its name in the folder */
    struct stat st;
    bool settled;          /* the change time is so old that any later change alters it */
    prompts_document *doc; /* the last valid version, or NULL */
    bool borrowed;         /* `doc` is borrowed from the previous reading until
                            * prompts_folder_adopt() takes a reference */
    bool invalid;          /* the file is invalid: see `fault`, whose line is 0 if it concerns
                            * the whole file */
    bool is_new;           /* the fault differs from that of the previous reading */
    prompts_fault fault;
} prompts_entry;

typedef struct prompts_folder {
    mcp_allocator alloc;
    prompts_entry *entries;
    size_t count;
    bool truncated; /* there are more than PROMPTS_MAX_FILES files */
} prompts_folder;

/* Reads the folder. `before` is the previous reading or NULL, and must live until
 * prompts_folder_adopt(). Returns MCP_OK, MCP_ENOMEM, or common_code_of_errno() of the errno that
 * is stored in *why. */
int prompts_folder_read(const char *path, const prompts_folder *before, const mcp_allocator *alloc,
                        prompts_folder **ret, int *why);
/* Takes references to the documents that are shared with `before`, which may be freed afterwards.
 * Must be called on the server's thread. */
void prompts_folder_adopt(prompts_folder *folder);
/* Accepts NULL, and a folder that was not adopted. */
void prompts_folder_free(prompts_folder *folder);

#endif
