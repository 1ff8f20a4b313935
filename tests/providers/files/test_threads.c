/* test_threads.c: workers list, read and look up types concurrently while the rules change.
 *
 * Compiled with include/, providers/files and tests/support on the include path, linked to the
 * files provider and cmocka. The test is most useful with the thread
 * sanitizer. */
#define _GNU_SOURCE
#include "mime.h"
#include "root.h"
#include "tree.h"
#include "walk.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WORKERS = 4, ROUNDS = 40 };

typedef struct shared {
    tree t;
    files_roots roots;
    files_mime *mime;
    atomic_size_t wrong;
} shared;

static int look(const files_entry *e, void *user)
{
    shared *s = user;
    const char *type = e->is_dir ? "" : files_mime_of_name(s->mime, e->name);
    if (!type || (e->name.ptr[0] == 'x' && e->is_dir))
        atomic_fetch_add(&s->wrong, 1);
    return MCP_OK;
}

static void *work(void *user)
{
    shared *s = user;
    files_cursor *at = calloc(1, sizeof(*at));
    for (int i = 0; i < ROUNDS; i++) {
        files_walk_result result;
        struct stat st;
        int fd;
        memset(at, 0, sizeof(*at));
        if (files_walk_page(&s->roots, at, NULL, look, s, at, &result) != MCP_OK)
            atomic_fetch_add(&s->wrong, 1);
        if (files_root_open(&s->roots.items[0], "d1/keep.c", &fd, &st) == MCP_OK)
            close(fd);
        else
            atomic_fetch_add(&s->wrong, 1);
        if (files_root_open(&s->roots.items[0], "d2/never.c", &fd, &st) != MCP_ENOTFOUND)
            atomic_fetch_add(&s->wrong, 1);
    }
    free(at);
    return NULL;
}

static void test_workers(void **state)
{
    const files_ignore_options options = {.max_folders = 4, .fresh_ns = -1};
    shared s = {0};
    pthread_t threads[WORKERS];
    (void)state;
    tree_make(&s.t);
    tree_file(&s.t, ".gitignore", "never.c\n");
    for (int d = 0; d < 8; d++) {
        char path[32];
        snprintf(path, sizeof(path), "d%d/keep.c", d);
        tree_file(&s.t, path, "");
        snprintf(path, sizeof(path), "d%d/never.c", d);
        tree_file(&s.t, path, "");
    }
    const char *path = s.t.path;
    assert_int_equal(files_roots_open(&path, 1, &options, NULL, &s.roots, NULL), MCP_OK);
    assert_int_equal(files_mime_new(NULL, NULL, NULL, &s.mime), MCP_OK);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &s), 0);
    for (int i = 0; i < 200; i++) {
        tree_file(&s.t, i % 2 ? "d3/.gitignore.new" : "d3/x.c", "keep.c\n");
        rename(tree_at(&s.t, "d3/.gitignore.new"), tree_at(&s.t, "d3/.gitignore"));
        files_ignore_recheck(s.roots.items[0].ignore);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&s.wrong), 0);
    files_mime_free(s.mime);
    files_roots_close(&s.roots);
    tree_remove(&s.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
