/* folder.c: see folder.h. */
#define _GNU_SOURCE
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool folder_make(char to[FOLDER_PATH])
{
    const char *parent = getenv("TMPDIR");
    int n = parent && *parent == '/' ? snprintf(to, FOLDER_PATH, "%s/mcpd-XXXXXX", parent) : -1;
    if (n < 0 || n >= FOLDER_PATH)
        snprintf(to, FOLDER_PATH, "/tmp/mcpd-XXXXXX");
    if (mkdtemp(to)) /* with mode 0700 */
        return true;
    *to = 0;
    return false;
}

void folder_remove(char path[FOLDER_PATH], size_t workers)
{
    char socket[FOLDER_PATH + 24];
    if (!*path)
        return;
    for (size_t i = 1; i <= workers; i++) {
        snprintf(socket, sizeof(socket), "%s/%zu", path, i);
        (void)unlink(socket);
    }
    (void)rmdir(path);
    *path = 0;
}

void folder_leave(const char *address)
{
    char path[FOLDER_PATH + 24];
    snprintf(path, sizeof(path), "%s", address + strlen("unix:"));
    (void)unlink(path);
    char *end = strrchr(path, '/');
    if (end) {
        *end = 0;
        (void)rmdir(path);
    }
}
