/* sockets.h: the listening sockets that a supervisor opens and keeps. */
#ifndef MCPD_SOCKETS_H
#define MCPD_SOCKETS_H

#include <sys/stat.h>

#include "options.h"
#include "start.h"

/* Initialize it with zeros. */
typedef struct sockets {
    int fds[START_SOCKETS];
    struct stat files[START_SOCKETS]; /* of Unix sockets that this program made; else st_ino is 0 */
    const texts *addresses;
    size_t count;
} sockets;

/* Takes the sockets that were inherited, and opens the others. `addresses` must outlive them. Returns
 * false after reporting an error. */
bool sockets_open(sockets *s, start *from, const texts *addresses);
/* Closes the sockets, and removes the files of Unix sockets unless a successor uses them. Does
 * nothing the second time. */
void sockets_close(sockets *s, bool remove);

#endif
