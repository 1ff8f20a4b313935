/* diary.h: a journal in a temporary folder, entries to append, and what is in it. */
#ifndef EDITING_TESTS_DIARY_H
#define EDITING_TESTS_DIARY_H

#define _GNU_SOURCE
#include "journal.h"
#include "providers/files/tree.h"

#include <dirent.h>
#include <sys/mman.h>

enum { NOW = 1800000000, MIB = 1 << 20, SEEN_MAX = 20000 };

typedef struct diary {
    tree t;
    editing_journal *j;
} diary;

static mcp_error said;

static inline mcp_str text_of(const char *text)
{
    return (mcp_str){text, strlen(text)};
}

static inline const char *diary_folder(const diary *d)
{
    return tree_at(&d->t, "state/journal");
}

static inline void diary_open(diary *d, uint64_t most)
{
    assert_int_equal(editing_journal_open(diary_folder(d), most, NULL, &d->j, &said), MCP_OK);
}

static inline void diary_make(diary *d, uint64_t most)
{
    tree_make(&d->t);
    diary_open(d, most);
}

static inline void diary_remove(diary *d)
{
    editing_journal_close(d->j);
    tree_remove(&d->t);
}

/* Returns a descriptor of a file with this text. */
static inline int file_of(const void *bytes, size_t len)
{
    int fd = memfd_create("old", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    return fd;
}

static inline editing_entry entry_of(const char *path, size_t size)
{
    return (editing_entry){.who = MCP_STR("anna"),
                           .call = MCP_STR("write_file 7"),
                           .operation = MCP_STR("change"),
                           .path = text_of(path),
                           .was = MCP_STR("1-2-3"),
                           .was_ino = 5,
                           .fresh_ino = 6,
                           .mode = 0644,
                           .size = size};
}

/* Appends an entry with this text as the old contents. Its id is in static storage, of each of the last four. */
static inline int begin_bytes(const diary *d, const char *path, const void *old, size_t len,
                              int64_t now, const char *undoes, char id[EDITING_ENTRY_ID_SIZE])
{
    int fd = file_of(old, len);
    editing_entry entry = entry_of(path, len);
    entry.undoes = text_of(undoes);
    int rc = editing_journal_begin(d->j, &entry, fd, now, &said);
    close(fd);
    assert_int_equal(rc == MCP_OK, said.text[0] == '\0');
    if (rc == MCP_OK)
        memcpy(id, entry.id, sizeof(entry.id));
    return rc;
}

static inline const char *begin_text(const diary *d, const char *path, const char *old, int64_t now)
{
    static char ids[4][EDITING_ENTRY_ID_SIZE];
    static unsigned turn;
    char *id = ids[turn++ % 4];
    assert_int_equal(begin_bytes(d, path, old, strlen(old), now, "", id), MCP_OK);
    return id;
}

static inline void end_well(const diary *d, const char *id)
{
    assert_int_equal(editing_journal_end(d->j, id, true, MCP_STR("4-5-6")), MCP_OK);
}

/* ---- what is in it ---- */

typedef struct seen {
    char id[EDITING_ENTRY_ID_SIZE];
    char path[80];
    char now[EDITING_VERSION_SIZE];
    int64_t time;
    uint64_t size;
    bool ended, happened, purged, undone;
} seen;

static seen all[SEEN_MAX];
static size_t all_count, all_damaged;

static inline bool see(const editing_entry *entry, void *user)
{
    (void)user;
    assert_true(all_count < SEEN_MAX);
    seen *s = &all[all_count++];
    memcpy(s->id, entry->id, sizeof(s->id));
    snprintf(s->path, sizeof(s->path), "%.*s", (int)entry->path.len, entry->path.ptr);
    snprintf(s->now, sizeof(s->now), "%.*s", (int)entry->now.len, entry->now.ptr);
    s->time = entry->time;
    s->size = entry->size;
    s->ended = entry->ended;
    s->happened = entry->happened;
    s->purged = entry->purged;
    s->undone = entry->undone;
    return true;
}

/* Reads all entries. They are in the right order, without repetitions. */
static inline size_t look(const diary *d)
{
    all_count = 0;
    assert_int_equal(editing_journal_each(d->j, see, NULL, &all_damaged), MCP_OK);
    for (size_t i = 1; i < all_count; i++)
        assert_true(strcmp(all[i - 1].id, all[i].id) > 0);
    return all_count;
}

static inline const seen *find(const char *id)
{
    for (size_t i = 0; i < all_count; i++)
        if (strcmp(all[i].id, id) == 0)
            return &all[i];
    return NULL;
}

/* Returns the outcome of reading old contents, and whether they are these. */
static inline int old_is(const diary *d, const char *id, const void *bytes, size_t len, bool *same)
{
    common_buffer b;
    common_buffer_init(&b, NULL);
    int rc = editing_journal_old(d->j, id, &b);
    *same = rc == MCP_OK && b.len == len && (len == 0 || memcmp(b.ptr, bytes, len) == 0);
    if (rc != MCP_OK)
        assert_int_equal(b.len, 0);
    common_buffer_free(&b);
    return rc;
}

static inline void assert_old(const diary *d, const char *id, const char *text)
{
    bool same;
    assert_int_equal(old_is(d, id, text, strlen(text), &same), MCP_OK);
    assert_true(same);
}

static inline int old_code(const diary *d, const char *id)
{
    bool same;
    return old_is(d, id, "", 0, &same);
}

/* ---- its files ---- */

/* Returns the number of segments, the sum of their sizes, and the path of the last one. */
static inline size_t segments(const diary *d, uint64_t *bytes, char last[4096])
{
    size_t n = 0;
    struct stat st;
    struct dirent **names = NULL;
    *bytes = 0;
    int count = scandir(diary_folder(d), &names, NULL, alphasort);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        if (strstr(names[i]->d_name, ".journal")) {
            snprintf(last, 4096, "%s/%s", diary_folder(d), names[i]->d_name);
            assert_int_equal(stat(last, &st), 0);
            *bytes += (uint64_t)st.st_size;
            n++;
        }
        free(names[i]);
    }
    free(names);
    return n;
}

static inline bool is_in_files(const diary *d, const char *text)
{
    char command[4400];
    snprintf(command, sizeof(command), "grep -qrF '%s' '%s'", text, diary_folder(d));
    return system(command) == 0;
}

#endif
