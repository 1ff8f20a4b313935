/* journal.h: what was changed, with the old contents, so that it can be undone.
 *
 * A folder, mode 0700, with files of mode 0600 to which records are appended. Several processes may use it. A record is
 * on the disk before its change happens; the version that the change led to follows it. Whether a change happened
 * although its end is missing, because the process was killed, is told by inodes (put.h, editing_about).
 *
 * Records that are older than a day give way to new ones when the journal is full. Younger ones do not, nor those with
 * a time that is yet to come: then there is no room, and nothing is changed any more. All functions may be called from
 * any thread; the time is an argument. */
#ifndef EDITING_JOURNAL_H
#define EDITING_JOURNAL_H

#include "buffer.h"
#include "version.h"

enum {
    EDITING_ENTRY_ID_SIZE =
        40, /* of the name of an entry, including NUL: digits, letters and "-" */
    EDITING_JOURNAL_KEEP_S = 86400, /* an entry younger than this is never dropped */
};

/* A change. All strings are borrowed. */
typedef struct editing_entry {
    char id
        [EDITING_ENTRY_ID_SIZE]; /* given by the journal; later entries have greater ones (strcmp) */
    int64_t time;                /* seconds since 1970; set by the journal */
    mcp_str who;                 /* the principal of the caller; empty: anonymous */
    mcp_str call;                /* the tool, and what identifies the request */
    mcp_str operation;           /* "create", "change", "move", "delete" */
    mcp_str path, to;            /* absolute; `to` only of a move */
    mcp_str undoes;              /* the entry that this change takes back, or empty */
    uint64_t was_ino, fresh_ino; /* of the old and the new file, or 0 (put.h, editing_about) */
    mcp_str was;                 /* version of the old file, or empty */
    unsigned mode;               /* of the old file */
    uint64_t size;               /* of the old contents; 0 if there are none (create, move) */
    /* Only when read: */
    mcp_str now;   /* version after the change, or empty */
    bool ended;    /* the end is in the journal */
    bool happened; /* with `ended`: the change was made */
    bool purged;   /* the old contents were forgotten */
    /* A later entry takes this one back. It happened, and was not taken back itself. */
    bool undone;
} editing_entry;

typedef struct editing_journal editing_journal;

/* Opens the journal, and makes the folder if it does not exist, with those above it. The folder must belong to the user
 * of this process, and nobody else may write to it or read it; it may not be a link. `most` is the limit in bytes; ends
 * of entries may exceed it. `alloc` may be NULL. Returns MCP_OK, MCP_EACCESS, MCP_EIO or MCP_ENOMEM, or another code
 * that an error of the system has (put.h), with a text in `err`. */
int editing_journal_open(const char *folder, uint64_t most, const mcp_allocator *alloc,
                         editing_journal **ret, mcp_error *err);
/* NULL is allowed. */
void editing_journal_close(editing_journal *j);

/* Appends an entry and waits until it is on the disk. `old` is a descriptor of the old contents, which has `size`
 * bytes, or -1; its offset is not used. Sets entry->id and entry->time. Returns MCP_OK, or with a text in `err`:
 *   MCP_ELIMIT   full: entries that are younger than a day are in the way, and the text says how to make room; or one
 *                entry is larger than the journal may be; or its texts are longer than 60 KiB; or no space, no quota
 *   MCP_ESTATE   the old contents have become shorter
 *   MCP_EACCESS, MCP_EIO, MCP_EFILES, MCP_ENOMEM, and other codes that an error of the system has (put.h)
 * After a failure nothing is appended. */
int editing_journal_begin(editing_journal *j, editing_entry *entry, int old, int64_t now,
                          mcp_error *err);

/* Appends how an entry ended: with this version, or not at all (`happened` is false). Need not be on the disk. The last
 * end of an entry is the one that counts. Returns MCP_OK, MCP_EINVAL (not an id, or a version that is longer than
 * EDITING_VERSION_SIZE - 1), or a code as editing_journal_begin() does. It is written even if the journal is full. */
int editing_journal_end(editing_journal *j, const char *id, bool happened, mcp_str version);

/* Calls `fn` for the entries, newest first, until it returns false. Damaged parts are skipped, and counted in *damaged
 * (may be NULL). Entries that are appended in the meantime are not shown. `fn` may call the other functions; nobody
 * waits for it. Returns MCP_OK, MCP_EIO or MCP_ENOMEM. */
int editing_journal_each(editing_journal *j, bool (*fn)(const editing_entry *entry, void *user),
                         void *user, size_t *damaged);

/* Appends the old contents of an entry to a buffer. Returns MCP_OK, MCP_ENOTFOUND (no such entry, it has none, or they
 * were forgotten), MCP_EIO (also if they are not what was written) or MCP_ENOMEM. */
int editing_journal_old(editing_journal *j, const char *id, common_buffer *to);

/* Forgets the old contents of all entries of this path and everything below it: they are overwritten and, where the file
 * system can make holes, no longer count towards the limit. Damaged parts are overwritten as well, because nobody can
 * tell what they hold. *ret is the number of entries whose contents were forgotten. Returns MCP_OK, MCP_EINVAL (an empty
 * path), MCP_EIO or MCP_ENOMEM; after a failure, call it again. */
int editing_journal_purge(editing_journal *j, mcp_str path, size_t *ret);

#endif
