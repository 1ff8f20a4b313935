/* folder.h: the private folder with the sockets at which the workers of one supervisor reach each other. */
#ifndef MCPD_FOLDER_H
#define MCPD_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

enum { FOLDER_PATH = 96 /* bytes, so that the path of a socket fits in its address */ };

/* Makes a folder that no other user can enter, in TMPDIR, or in /tmp if its path is too long. Returns
 * false with errno. */
bool folder_make(char to[FOLDER_PATH]);
/* Removes it, with the sockets of `workers` workers. Does nothing if the path is empty. */
void folder_remove(char path[FOLDER_PATH], size_t workers);
/* Removes the socket of a worker whose supervisor is gone, and the folder if it was the last one. The
 * address is "unix:FOLDER/NUMBER". */
void folder_leave(const char *address);

#endif
