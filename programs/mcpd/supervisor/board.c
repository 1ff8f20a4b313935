/* board.c: see board.h.
 *
 * A cell is written by its worker only, and after the worker's end by the supervisor. Its version is
 * odd while it is written, so a reader notices that it has read a mixture, and reads again.
 *
 * The worker that sums up waits for the others without running its loop. Two workers that do so at
 * the same time do not wait for each other, because each writes its own cells first.
 */
#define _GNU_SOURCE
#include "board.h"

#include <errno.h>
#include <mcp/sys/http.h>
#include <mcp/sys/io.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    CELL = 4 << 20, /* bytes for 1,000 names; memory that is never written does not exist */
    WAIT_MS = 100,
    STEP_US = 200,
    READS = 100, /* attempts to read a cell that is being written */
};

typedef struct cell {
    _Atomic uint64_t version;
    _Atomic int64_t at; /* when it was written, in nanoseconds of the monotonic clock */
    _Atomic size_t len;
    char text[];
} cell;

typedef struct head {
    _Atomic uint64_t starts;
    _Atomic bool serves[64]; /* by the number of the worker, from 1 */
} head;

struct board {
    void *memory;
    size_t bytes, workers, addresses;
    size_t number; /* of this worker; 0 in the supervisor */
    int doorbell;  /* the first of `workers` descriptors */
};

enum { HEAD = 4096 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static head *head_of(const board *b)
{
    return b->memory;
}

/* Row 0 is that of the supervisor. */
static cell *cell_of(const board *b, size_t row, size_t address)
{
    size_t at = HEAD + (row * b->addresses + address) * CELL;
    return (cell *)(void *)((char *)b->memory + at);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

board *board_open(int fd, size_t number, size_t workers, size_t addresses, int doorbell)
{
    board *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->bytes = HEAD + (workers + 1) * addresses * CELL;
    b->memory = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    b->workers = workers;
    b->addresses = addresses;
    b->number = number;
    b->doorbell = doorbell;
    if (b->memory != MAP_FAILED)
        return b;
    free(b);
    return NULL;
}

board *board_new(size_t workers, size_t addresses, int *fd)
{
    *fd = memfd_create("mcpd-metrics", MFD_CLOEXEC);
    board *b = NULL;
    if (*fd >= 0 && ftruncate(*fd, (off_t)(HEAD + (workers + 1) * addresses * CELL)) == 0)
        b = board_open(*fd, 0, workers, addresses, -1);
    if (!b && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return b;
}

void board_free(board *b)
{
    if (!b)
        return;
    munmap(b->memory, b->bytes);
    free(b);
}

int board_doorbell(const board *b)
{
    return b->doorbell + (int)b->number - 1;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct writing {
    cell *to;
    size_t len;
    bool full;
} writing;

static void put(mcp_str text, void *arg)
{
    writing *w = arg;
    w->full = w->full || text.len > CELL - sizeof(cell) - w->len;
    if (w->full)
        return;
    memcpy(w->to->text + w->len, text.ptr, text.len);
    w->len += text.len;
}

static void begin_cell(writing *w, cell *to)
{
    *w = (writing){.to = to};
    atomic_fetch_or(&to->version, 1);
}

/* A text that does not fit ends with its last whole line. */
static void end_cell(writing *w)
{
    const char *end = w->full ? memrchr(w->to->text, '\n', w->len) : NULL;
    if (w->full)
        w->len = end ? (size_t)(end - w->to->text) + 1 : 0;
    atomic_store(&w->to->len, w->len);
    atomic_store(&w->to->at, now_ns());
    atomic_fetch_add(&w->to->version, 1);
}

void board_publish(board *b, const listeners *at)
{
    uint64_t rings;
    while (read(board_doorbell(b), &rings, sizeof(rings)) > 0)
        ;
    for (size_t i = 0; i < at->count && i < b->addresses; i++) {
        writing w;
        begin_cell(&w, cell_of(b, b->number, i));
        mcp_http_get_metrics(mcp_listener_http(at->items[i]), put, &w);
        end_cell(&w);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns a copy, whose memory the caller frees, or NULL. */
static char *read_cell(cell *from, size_t *len)
{
    for (int i = 0; i < READS; i++) {
        uint64_t version = atomic_load(&from->version);
        *len = atomic_load(&from->len);
        if (!*len || *len > CELL - sizeof(cell))
            return NULL;
        char *copy = version & 1 ? NULL : malloc(*len);
        if (copy) {
            memcpy(copy, from->text, *len);
            atomic_thread_fence(memory_order_seq_cst);
            if (atomic_load(&from->version) == version)
                return copy;
        }
        free(copy);
        usleep(STEP_US / 10);
    }
    return NULL;
}

/* A cell that cannot be read is left out. */
static bool add_cell(merge *m, cell *from, const merge_filter *filter)
{
    size_t len;
    char *text = read_cell(from, &len);
    bool ok = !text || merge_add(m, (mcp_str){text, len}, filter);
    free(text);
    return ok;
}

/* Asks the other workers to write their cells, and waits for them. */
static void ask(const board *b, size_t index)
{
    static const uint64_t one = 1;
    int64_t began = now_ns();
    bool all = false;
    for (size_t i = 1; i <= b->workers; i++)
        if (i != b->number && atomic_load(&head_of(b)->serves[i - 1]))
            (void)!write(b->doorbell + (int)i - 1, &one, sizeof(one));
    while (!all && now_ns() - began < (int64_t)WAIT_MS * 1000000) {
        all = true;
        for (size_t i = 1; all && i <= b->workers; i++)
            all = i == b->number || !atomic_load(&head_of(b)->serves[i - 1]) ||
                  atomic_load(&cell_of(b, i, index)->at) >= began;
        if (!all)
            usleep(STEP_US);
    }
}

static bool add_workers(const board *b, merge *m)
{
    char text[300];
    size_t n = 0;
    for (size_t i = 0; i < b->workers; i++)
        n += atomic_load(&head_of(b)->serves[i]);
    int len = snprintf(text, sizeof(text),
                       "# HELP mcp_workers Processes that serve.\n# TYPE mcp_workers gauge\n"
                       "mcp_workers %zu\n"
                       "# HELP mcp_worker_starts_total Processes started to serve.\n"
                       "# TYPE mcp_worker_starts_total counter\nmcp_worker_starts_total %llu\n",
                       n, (unsigned long long)atomic_load(&head_of(b)->starts));
    return merge_add(m, (mcp_str){text, (size_t)len}, NULL);
}

bool board_sum(board *b, const listeners *at, size_t index, merge *to, const merge_filter *filter)
{
    bool ok = true;
    if (index >= b->addresses)
        return true;
    board_publish(b, at);
    ask(b, index);
    for (size_t row = 0; ok && row <= b->workers; row++)
        ok = row == b->number || add_cell(to, cell_of(b, row, index), filter);
    return ok && add_workers(b, to);
}

/* ---- the supervisor -------------------------------------------------------------------------- */

void board_begins(board *b, size_t number)
{
    atomic_fetch_add(&head_of(b)->starts, 1);
    atomic_store(&head_of(b)->serves[number - 1], true);
}

static void keep_counts(board *b, size_t number, size_t index)
{
    static const merge_filter counters = {.counters = true};
    merge *m = merge_new();
    cell *from = cell_of(b, number, index);
    writing w;
    if (atomic_load(&from->version) & 1) { /* it ended while it wrote */
        atomic_store(&from->len, 0);
        atomic_fetch_add(&from->version, 1);
    }
    if (!m)
        return;
    add_cell(m, cell_of(b, 0, index), NULL);
    add_cell(m, from, &counters);
    begin_cell(&w, cell_of(b, 0, index));
    merge_put(m, put, &w);
    end_cell(&w);
    merge_free(m);
    atomic_store(&from->len, 0);
}

void board_ended(board *b, size_t number)
{
    atomic_store(&head_of(b)->serves[number - 1], false);
    for (size_t i = 0; i < b->addresses; i++)
        keep_counts(b, number, i);
}
