/* sockets.c: see sockets.h. */
#define _GNU_SOURCE
#include "sockets.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <common/text.h>
#include <mcp/sys/io.h>

static const char *path_of(const char *address)
{
    return strncmp(address, "unix:", 5) == 0 ? address + 5 : NULL;
}

static bool open_one(sockets *s, start *from, const char *address)
{
    mcp_error error = {0};
    const char *path = path_of(address);
    int fd = start_take(from, address);
    bool own = !fd || !from->activated;
    if (!fd && mcp_socket_listen(address, 0, &fd, &error) != MCP_OK)
        return say("%s", error.text), false;
    if (path && own && lstat(path, &s->files[s->count]) < 0)
        s->files[s->count].st_ino = 0;
    s->fds[s->count++] = fd;
    return true;
}

bool sockets_open(sockets *s, start *from, const texts *addresses)
{
    s->addresses = addresses;
    if (addresses->count > START_SOCKETS)
        return say("with --workers, there can be %d addresses", START_SOCKETS), false;
    for (size_t i = 0; i < addresses->count; i++)
        if (!open_one(s, from, addresses->items[i]))
            return false;
    if (start_close_rest(from) && from->activated)
        return say("a socket that was passed listens at an address that no --http names"), false;
    return true;
}

void sockets_close(sockets *s, bool remove)
{
    struct stat st;
    for (size_t i = 0; i < s->count; i++) {
        const char *path = path_of(s->addresses->items[i]);
        const struct stat *own = &s->files[i];
        close(s->fds[i]);
        if (remove && path && own->st_ino && lstat(path, &st) == 0 && st.st_ino == own->st_ino &&
            st.st_dev == own->st_dev)
            unlink(path);
    }
    s->count = 0;
}
