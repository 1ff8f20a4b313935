/* kept.h: the answers that are kept, between kept.c (which of them are), kept_table.c (finding them,
 * and the room that they take) and kept_files.c (the files on which they depend).
 */
#ifndef ISOLATED_KEPT_H
#define ISOLATED_KEPT_H

#include "provider.h"

/* What is compared of a file. There are no gaps between the members. */
typedef struct isolated_file_state {
    uint64_t exists, dev, ino, size, mode;
    int64_t s, ns; /* when it was last changed (st_ctim) */
} isolated_file_state;

typedef struct isolated_file {
    char *path;
    bool follow; /* whether links are followed */
    isolated_file_state state;
} isolated_file;

enum { ISOLATED_FILES = 16 }; /* on which an answer may depend */

typedef struct isolated_files {
    isolated_file *file; /* an array of `n`, or NULL */
    size_t n;
} isolated_files;

/* A request that arrived more than once and, if `key` is not NULL, its answer. */
typedef struct isolated_kept_entry {
    struct isolated_kept_entry *next;          /* in the chain of its number */
    struct isolated_kept_entry *newer, *older; /* in the order of use */
    uint64_t number;                           /* of the request; no other entry has it */
    uint64_t looked;   /* the value of r->kept_clock when `files` were examined */
    int64_t not_until; /* the process is not asked for names of files before this time */
    isolated_files files;
    char *key; /* the params */
    size_t key_len;
    isolated_result result;
    size_t bytes; /* of this entry, as they are counted now */
} isolated_kept_entry;

/* ---- kept_table.c ------------------------------------------------------------------------------ */

/* Returns a number that is equal for equal requests, and never 0. */
uint64_t isolated_kept_number(const isolated_params *p);
/* Finds the entry with this number, which becomes the one that was used last. Returns NULL if there
 * is none. */
isolated_kept_entry *isolated_kept_find(const isolated *r, uint64_t number);
/* Makes an entry if the number is one of the last that were entered, so that requests that are not
 * repeated take no room. Otherwise, or without memory, returns NULL. */
isolated_kept_entry *isolated_kept_enter(isolated *r, uint64_t number);
/* Counts the bytes of the entry again, and drops those other entries that were not used for the
 * longest time, as far as all of them need too much room. */
void isolated_kept_count(isolated *r, isolated_kept_entry *e);
/* Forgets the answer of the entry, but not its files. */
void isolated_kept_forget(const isolated *r, isolated_kept_entry *e);

/* An allocator whose user is the source. It uses that of the source, and adds to r->counted. */
void *isolated_count_allocate(size_t size, void *user);
void *isolated_count_resize(void *ptr, size_t size, void *user);
void isolated_count_release(void *ptr, void *user);
/* Returns the memory of an allocation, with what the heap adds to it. */
size_t isolated_block(size_t size);

/* ---- kept_files.c ------------------------------------------------------------------------------ */

/* Whether an answer may be kept. */
typedef enum isolated_outlook {
    ISOLATED_KEEP,
    ISOLATED_LATER, /* a file has just changed */
    ISOLATED_NEVER,
} isolated_outlook;

/* Examines the files that the process named. *to is empty unless ISOLATED_KEEP is returned. */
isolated_outlook isolated_files_look(const isolated *r, const mcp_json *names, isolated_files *to);
bool isolated_files_same(const isolated_files *a, const isolated_files *b);
/* Examines the files again. */
bool isolated_files_unchanged(const isolated_files *files);
size_t isolated_files_bytes(const isolated_files *files);
void isolated_files_free(const isolated *r, isolated_files *files);

#endif
