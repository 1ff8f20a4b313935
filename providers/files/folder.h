/* folder.h: the listing of a folder as it is read: a line for each entry that the caller may
 * see. */
#ifndef FILES_FOLDER_H
#define FILES_FOLDER_H

#include "asking.h"
#include "provider.h"

enum { FILES_FOLDER_LINES = 1000, FILES_FOLDER_MAX_LINES = 10000 };

typedef struct files_folder {
    files *f;
    const files_target *target;
    size_t depth, max; /* 0: 1, FILES_FOLDER_LINES */
    bool (*stop)(void *user);
    void *user;
    common_asking asking;
    size_t lines;
    bool cut;
} files_folder;

/* Writes the listing of the folder to `out`, replacing its contents. It may have to run again:
 * common_asking_again(). MCP_OK, MCP_ELIMIT (it is longer than one read), and as
 * files_dir_page(). */
int files_folder_write(files_folder *folder, common_buffer *out);

#endif
