/* Memory does not grow with the number of reads: ten thousand different blobs, loose and packed, a
 * long log, a long list.
 *
 * Three figures are measured: the provider's allocations, libgit2's allocations, and the private
 * memory of the process. libgit2 caches small objects up to a limit, which is set low here, so that
 * it is reached at once; any later growth is a leak. */
#define _GNU_SOURCE
#include "repository.h"

#include "gitalloc.h"

enum {
    BLOBS = 10000,
    LOOSE = 2500, /* each of these has a separate file */
    FOLDERS = 100,
    SLACK = 512 << 10,
    PRIVATE_SLACK = 4 << 20,
    /* Up to 256 results of 4 KB are cached. Addresses decide which one replaces which, so the number
     * varies between runs and within a run. */
    VARIES = 256 << 10,
    BASES = 4 << 20, /* memory that the object reader uses for delta bases */
};

static peer p;
static size_t ours;

/* Limits the freed memory that the sanitizer keeps, because it would count as used. The sanitizer
 * must find this function in spite of -fvisibility=hidden. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

/* ---- counting -------------------------------------------------------------------------------- */

static void *ours_allocate(size_t size, void *user)
{
    void *block = malloc(size ? size : 1);
    (void)user;
    ours += block ? malloc_usable_size(block) : 0;
    return block;
}

static void *ours_resize(void *block, size_t size, void *user)
{
    size_t before = block ? malloc_usable_size(block) : 0;
    void *grown = realloc(block, size ? size : 1);
    (void)user;
    if (grown)
        ours += malloc_usable_size(grown) - before;
    return grown;
}

static void ours_release(void *block, void *user)
{
    (void)user;
    ours -= block ? malloc_usable_size(block) : 0;
    free(block);
}

#ifdef __SANITIZE_THREAD__ /* defined by gcc */
#define IS_TSAN 1
#elif defined(__has_feature)
#define IS_TSAN __has_feature(thread_sanitizer)
#else
#define IS_TSAN 0
#endif

/* Returns 0 under the thread sanitizer, which uses more memory for every address that was ever
 * used. */
static size_t private_bytes(void)
{
    char line[128];
    unsigned long kib = 0;
    if (IS_TSAN)
        return 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) && sscanf(line, "Anonymous: %lu kB", &kib) != 1)
        ;
    fclose(f);
    assert_true(kib > 0);
    return kib << 10;
}

typedef struct use {
    size_t ours, theirs, private;
} use;

static use used(void)
{
    return (use){ours, atomic_load(&gitalloc.bytes), private_bytes()};
}

static void check_flat(const char *what, use before, size_t kept)
{
    use now = used();
    if (now.ours > before.ours + (kept ? VARIES : 0) || now.theirs > before.theirs + SLACK ||
        now.private > before.private + PRIVATE_SLACK + kept)
        fail_msg("%s: ours %zu -> %zu, libgit2's %zu -> %zu, all %zu -> %zu", what, before.ours,
                 now.ours, before.theirs, now.theirs, before.private, now.private);
}

/* ---- the repositories ------------------------------------------------------------------------ */

static void put_blob(FILE *f, int i)
{
    uint32_t state = (uint32_t)i * 2654435761U + 1;
    fprintf(f, "M 100644 inline d%02d/f%04d\ndata 4000\n", i % FOLDERS, i);
    /* the second half is the same in all blobs, so that packs contain deltas */
    for (int k = 0; k < 500; k++) {
        state = k == 250 ? 1 : state * 1664525U + 1013904223U;
        fprintf(f, "%08x", (unsigned)state);
    }
    fputs("\n", f);
}

static void put_commit(FILE *f, int i)
{
    fprintf(f, "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata 1\nx\n",
            1700000000 + i);
}

/* Creates a repository with one commit per file in a pack, or with a single commit in loose
 * objects. */
static void make(const char *name, int files, bool loose)
{
    char command[512];
    snprintf(command, sizeof(command),
             "cd %s && git init -q --bare -b main %s && cd %s && git -c core.fsync=none -c "
             "fastimport.unpackLimit=%d fast-import --quiet",
             top, name, name, loose ? 1 << 30 : 1);
    FILE *f = popen(command, "w");
    assert_non_null(f);
    for (int i = 0; i < files; i++) {
        if (i == 0 || !loose)
            put_commit(f, i);
        put_blob(f, i);
    }
    assert_int_equal(pclose(f), 0);
}

static int setup(void **state)
{
    (void)state;
    make_top();
    make("loose.git", LOOSE, true);
    make("packed.git", BLOBS, false);
    return 0;
}

/* ---- reading everything ---------------------------------------------------------------------- */

static void open_peer(const char *name)
{
    static const mcp_allocator alloc = {ours_allocate, ours_resize, ours_release, NULL};
    p.page_size = 100;
    if (peer_open(&p, name, &(mcp_git_options){0}, NULL, &alloc) != MCP_OK)
        fail_msg("%s", p.error.text);
    git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, (ssize_t)(256 << 10));
}

static void close_peer(void)
{
    peer_close(&p);
    assert_int_equal(ours, 0);
}

static void check_blobs(const char *name, int files, size_t kept)
{
    char file[64], rest[64];
    use warm = {0};
    snprintf(file, sizeof(file), "%s.git", name);
    open_peer(file);
    for (int i = 0; i < files; i++) {
        if (i == files / 10)
            warm = used();
        snprintf(rest, sizeof(rest), "%s/HEAD/d%02d/f%04d", name, i % FOLDERS, i);
        if (strlen(read_uri(&p, rest)) < 4000)
            fail_msg("%s: %s", rest, p.reply);
    }
    check_flat(name, warm, kept);
    close_peer();
}

static void test_loose_blobs(void **state)
{
    (void)state;
    assert_string_equal(output_of("find loose.git -name '*.pack' | wc -l"), "0");
    check_blobs("loose", LOOSE, 0);
}

static void test_packed_blobs(void **state)
{
    (void)state;
    assert_string_equal(output_of("find packed.git -name '*.pack' | wc -l"), "1");
    check_blobs("packed", BLOBS, BASES);
}

static void test_log(void **state)
{
    char rest[4096] = "packed/-/log/HEAD?limit=100";
    use warm = {0};
    size_t pages = 0;
    (void)state;
    open_peer("packed.git");
    for (; *rest; pages++) {
        if (pages == 10)
            warm = used();
        const char *next = strstr(read_uri(&p, rest), "\\\"next\\\":\\\"git://");
        size_t len = next ? strcspn(next + 17, "\\") : 0;
        snprintf(rest, sizeof(rest), "%.*s", (int)len, next ? next + 17 : "");
    }
    assert_int_equal(pages, BLOBS / 100);
    check_flat("log", warm, BASES);
    close_peer();
}

static void test_list(void **state)
{
    char cursor[2048] = "";
    use warm = {0};
    size_t pages = 0;
    (void)state;
    open_peer("loose.git");
    do {
        if (pages == 5)
            warm = used();
        const char *next = strstr(ask(&p, "resources/list", cursor), "\"nextCursor\":\"");
        cursor[0] = 0;
        if (next)
            snprintf(cursor, sizeof(cursor), "\"cursor\":\"%.*s\"", (int)strcspn(next + 14, "\""),
                     next + 14);
        pages++;
    } while (*cursor);
    assert_true(pages > LOOSE / 100);
    check_flat("list", warm, 0);
    close_peer();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loose_blobs),
        cmocka_unit_test(test_packed_blobs),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_list),
    };
    gitalloc_install();
    return cmocka_run_group_tests(tests, setup, teardown_top);
}
