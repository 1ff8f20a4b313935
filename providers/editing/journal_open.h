/* journal_open.h: an opened journal, and its lock. Inside of this folder only.
 *
 * Two locks: a mutex between the threads of a process, and a lock on a file between processes. Both are held while the
 * journal is changed. Records are read without them, up to an end that was found under them, since nothing before it is
 * changed but marks. */
#ifndef EDITING_JOURNAL_OPEN_H
#define EDITING_JOURNAL_OPEN_H

#include "journal_segment.h"

#include <pthread.h>

struct editing_journal {
    mcp_allocator alloc;
    pthread_mutex_t mutex;
    int folder, lock;
    uint64_t most;
    editing_segments list; /* as it was when the lock was last held */
    char *head;            /* EDITING_HEAD_ROOM */
    char *block;           /* EDITING_BLOCK */
};

/* Takes both locks, for changes or only for reading, and lists the segments. Returns MCP_OK, or MCP_ENOMEM or MCP_EIO
 * (with errno) without the locks. */
int editing_journal_lock(editing_journal *j, bool changes);
void editing_journal_unlock(editing_journal *j);

/* Writes what failed, with an errno, and returns its code. */
int editing_journal_failed(mcp_error *err, const char *step, int error);

/* Prepares to visit a segment. */
editing_walk editing_journal_walk(const editing_segment *segment, int fd, char *bytes);

/* Makes room for so many bytes: removes segments without young entries, but not the last segment, if that is enough,
 * otherwise nothing. Returns
 * MCP_OK, MCP_ELIMIT (there is no room) or MCP_EIO with errno. */
int editing_journal_room(editing_journal *j, uint64_t bytes, int64_t now);

#endif
