/* folder.h: writes the listing of a folder: one line for each entry that the caller may see. */
#ifndef FILES_FOLDER_H
#define FILES_FOLDER_H

#include "asking.h"
#include "provider.h"

enum { FILES_FOLDER_LINES = 1000 };

typedef struct files_folder {
    files *f;
    const files_target *target;
    size_t depth, max; /* if 0: one level, and FILES_FOLDER_LINES */
    bool (*stop)(void *user);
    void *user;
    common_asking asking;
    size_t lines;
    bool cut;
} files_folder;

/* Writes the listing of the folder to `out`, replacing its contents. The caller may have to call it
 * again; see common_asking_again(). Returns MCP_OK, MCP_ELIMIT if the listing is longer than one
 * read may be, or the errors of files_dir_page(). */
int files_folder_write(files_folder *folder, common_buffer *out);

#endif
