/* journal_record.h: a record of the journal as bytes. Inside of this folder only.
 *
 * A record is a head, its texts, the old contents, and a tail. Both head and tail begin with the key of their segment, a
 * random number that only its name tells: contents cannot look like a record, whatever somebody writes into a file. The
 * head says where it is and has a hash of itself and the texts. The tail has the length again, so that a segment can be
 * read from its end, and a sum of the contents. Only the mark is ever changed. */
#ifndef EDITING_JOURNAL_RECORD_H
#define EDITING_JOURNAL_RECORD_H

#include "journal.h"

enum {
    EDITING_TEXTS_MAX = 60 * 1024, /* bytes of all texts of a record */
    EDITING_BLOCK = 64 * 1024,     /* in which contents are copied; the sum depends on it */
};

typedef enum editing_kind {
    EDITING_ENTRY = 1,
    EDITING_HAPPENED, /* an end: `undoes` is the id of its entry, `was` the version afterwards */
    EDITING_FAILED,   /* the same, and nothing was changed */
} editing_kind;

enum { WHO, CALL, OPERATION, PATH, TO, UNDOES, WAS, EDITING_TEXTS };

/* In the byte order of this machine, without padding. */
typedef struct editing_head {
    uint64_t key;
    uint64_t length; /* of the whole record */
    uint64_t at;     /* where it begins */
    uint64_t hash;   /* of the head with neither hash nor mark, and of the texts */
    uint64_t mark;   /* 0, EDITING_MARK_PURGED or EDITING_MARK_FREED */
    uint64_t size;   /* of the contents */
    int64_t time;
    uint64_t was_ino, fresh_ino;
    uint32_t kind; /* one that is not known is passed over */
    uint32_t mode;
    uint32_t kept; /* there are old contents, perhaps of 0 bytes */
    uint32_t texts[EDITING_TEXTS];
} editing_head;

typedef struct editing_tail {
    uint64_t key;
    uint64_t length;
    uint64_t sum;
} editing_tail;

/* Marks: the contents were overwritten; and a hole was made. */
#define EDITING_MARK_PURGED UINT64_C(0x9b1f3a5c7d2e4806)
#define EDITING_MARK_FREED  UINT64_C(0x64e0c5a3829d1b7f)

/* The size of the largest head with its texts. */
enum { EDITING_HEAD_ROOM = sizeof(editing_head) + EDITING_TEXTS_MAX };

/* A place in the journal, which is what an id says. */
typedef struct editing_spot {
    uint64_t number; /* of the segment */
    uint64_t at;
} editing_spot;

/* Numbers and places are below this. */
#define EDITING_SPOT_MAX (UINT64_C(1) << 40)

void editing_spot_name(editing_spot spot, char id[EDITING_ENTRY_ID_SIZE]);
/* Returns whether it is an id. */
bool editing_spot_parse(mcp_str id, editing_spot *ret);
/* Compares like strcmp() of the ids. */
int editing_spot_compare(editing_spot a, editing_spot b);

/* Returns the first word of a tail. */
uint64_t editing_tail_key(uint64_t key);

/* Returns the number of bytes of all texts of an entry, or SIZE_MAX if there are too many. */
size_t editing_texts_size(const editing_entry *entry);
/* Writes head and texts to `to`, which has EDITING_HEAD_ROOM bytes, and returns their size. The texts must not be too
 * many. The head needs only key, at, size, kind, kept; the rest comes from the entry. */
size_t editing_record_write(const editing_head *head, const editing_entry *entry, char *to);

typedef struct editing_record {
    editing_head head;
    editing_entry entry; /* the texts are borrowed from the bytes */
    uint64_t contents;   /* where they begin */
    uint64_t end;        /* where the record ends */
} editing_record;

/* Reads head and texts, if all is as it should be for this segment and place. `len` is what there is at most. */
bool editing_head_is_right(const editing_head *head, uint64_t key, editing_spot spot);
bool editing_record_read(const char *bytes, size_t len, uint64_t key, editing_spot spot,
                         editing_record *ret);

/* Begins the sum of a record, and returns it with one more block. A tail is right for no other record. */
uint64_t editing_sum_begin(const editing_head *head);
uint64_t editing_sum(uint64_t sum, mcp_str block);

#endif
