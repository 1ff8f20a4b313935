/* test_beneath.c: nothing outside a root is ever opened, by openat2 and by the walk of older
 * kernels.
 *
 * Compiled with include/, providers/files and tests/support on the include path, linked to the
 * files provider and cmocka. */
#define _GNU_SOURCE
#include "content.h"
#include "root.h"
#include "tree.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static const char secret[] = "secret";

/* inside/ is served; everything else is not. */
static void make(tree *t)
{
    tree_make(t);
    tree_file(t, "outside", secret);
    tree_file(t, "out/file", secret);
    tree_file(t, "inside_evil/file", secret);
    tree_file(t, "inside/file", "fine");
    tree_file(t, "inside/dir/file", "fine");
    tree_file(t, "inside/.hidden", secret);
    tree_file(t, "inside/.gitignore", "ignored\n");
    tree_file(t, "inside/ignored", secret);
    tree_link(t, "inside/to-file", "file");
    tree_link(t, "inside/to-dir", "dir");
    tree_link(t, "inside/dir/up", "../file");
    tree_link(t, "inside/chain", "to-file");
    tree_link(t, "inside/to-outside", "../outside");
    tree_link(t, "inside/to-out", "../out");
    tree_link(t, "inside/absolute", "/etc/passwd");
    tree_link(t, "inside/top", "/");
    tree_link(t, "inside/dangling", "nothing");
    tree_link(t, "inside/loop", "loop");
    tree_link(t, "inside/proc", "/proc/self/root/etc/passwd");
    tree_link(t, "inside/to-hidden", ".hidden");
    tree_link(t, "inside/to-ignored", "ignored");
    tree_link(t, "inside/back", "../inside/file");
    assert_int_equal(mkfifo(tree_at(t, "inside/fifo"), 0666), 0);
    tree_link(t, "inside/to-fifo", "fifo");
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof(name.sun_path), "%s/inside/socket", t->path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
    close(fd);
}

static const struct {
    const char *rel;
    int code;  /* the expected result with openat2 */
    bool link; /* the path contains a link, which the walk refuses */
} cases[] = {
    {"file", MCP_OK, false},
    {"dir/file", MCP_OK, false},
    {"dir", MCP_OK, false},
    {"", MCP_OK, false},
    {"to-file", MCP_OK, true},
    {"to-dir/file", MCP_OK, true},
    {"to-dir", MCP_OK, true},
    {"dir/up", MCP_OK, true},
    {"chain", MCP_OK, true},
    {"nothing", MCP_ENOTFOUND, false},
    {"file/x", MCP_ENOTFOUND, false},
    {"dangling", MCP_ENOTFOUND, true},
    {".hidden", MCP_ENOTFOUND, false},
    {"ignored", MCP_ENOTFOUND, false},
    {"to-hidden", MCP_ENOTFOUND, true},
    {"to-ignored", MCP_ENOTFOUND, true},
    {"to-outside", MCP_EACCESS, true},
    {"to-out", MCP_EACCESS, true},
    {"to-out/file", MCP_EACCESS, true},
    {"absolute", MCP_EACCESS, true},
    {"top", MCP_EACCESS, true},
    {"top/etc/passwd", MCP_EACCESS, true},
    /* A missing target outside gets the same error as an existing one. */
    {"to-out/nothing", MCP_EACCESS, true},
    {"top/etc/nothing/at/all", MCP_EACCESS, true},
    {"top/dev/null", MCP_EACCESS, true},
    {"top/etc/passwd/x", MCP_EACCESS, true},
    {"absolute/x", MCP_EACCESS, true},
    {"to-dir/nothing", MCP_ENOTFOUND, true},
    {"loop", MCP_EACCESS, true},
    {"loop/x", MCP_EACCESS, true},
    {"proc", MCP_EACCESS, true},
    {"back", MCP_EACCESS, true},
    {"fifo", MCP_EACCESS, false},
    {"to-fifo", MCP_EACCESS, true},
    {"socket", MCP_EACCESS, false},
    {"..", MCP_EACCESS, false},
    {"../outside", MCP_EACCESS, false},
    {"../inside_evil/file", MCP_EACCESS, false},
    {"dir/../../outside", MCP_EACCESS, false},
    {"/etc/passwd", MCP_EACCESS, false},
};

static void check_cases(const files_root *root)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct stat st;
        int fd = -1;
        int rc = files_root_open(root, cases[i].rel, &fd, &st);
        bool refused = root->at.walk && cases[i].link;
        if (refused ? rc >= 0 : rc != cases[i].code)
            fail_msg("%s (%s): %d", cases[i].rel, root->at.walk ? "walk" : "openat2", rc);
        if (rc == MCP_OK)
            close(fd);
    }
}

static files_roots open_inside(const tree *t)
{
    const char *path = tree_at(t, "inside");
    files_roots roots;
    assert_int_equal(files_roots_open(&path, 1, NULL, NULL, &roots, NULL), MCP_OK);
    return roots;
}

/* Files that may be created later: no answer depends on files outside, or on excluded files. */
static void check_awaited(const files_root *root)
{
    static const struct {
        const char *rel;
        bool yes;
        bool link; /* the path contains a link, which the walk refuses */
    } awaited[] = {
        {"nothing", true, false},          {"dir/nothing/at/all", true, false},
        {"file/x", true, false},           {"to-dir/nothing", true, true},
        {"dangling", true, true},          {"top/etc/nothing", false, true},
        {"top/etc/passwd", false, true},   {"top/nothing", false, true},
        {"to-out/nothing", false, true},   {"to-out/file", false, true},
        {"to-ignored", false, true},       {"to-hidden", false, true},
        {"ignored", false, false},         {".nothing", false, false},
        {"build", false, false},           {"build/x", false, false},
        {"dir/build", false, false},       {"to-build", false, true},
        {"to-build/nothing", false, true},
    };
    for (size_t i = 0; i < sizeof(awaited) / sizeof(awaited[0]); i++) {
        bool yes = awaited[i].yes && !(awaited[i].link && root->at.walk);
        if ((files_root_awaits(root, awaited[i].rel) == MCP_OK) != yes)
            fail_msg("%s (%s)", awaited[i].rel, root->at.walk ? "walk" : "openat2");
    }
}

static void test_awaits(void **state)
{
    tree t;
    (void)state;
    make(&t);
    tree_file(&t, "inside/.gitignore", "ignored\nbuild/\n");
    tree_file(&t, "inside/build/file", secret);
    tree_link(&t, "inside/to-build", "build");
    files_roots roots = open_inside(&t);
    if (!roots.items[0].at.walk)
        check_awaited(&roots.items[0]);
    roots.items[0].at.walk = true;
    check_awaited(&roots.items[0]);
    files_roots_close(&roots);
    tree_remove(&t);
}

static void test_containment(void **state)
{
    tree t;
    (void)state;
    make(&t);
    files_roots roots = open_inside(&t);
    if (!roots.items[0].at.walk)
        check_cases(&roots.items[0]);
    roots.items[0].at.walk = true;
    check_cases(&roots.items[0]);
    files_roots_close(&roots);
    tree_remove(&t);
}

/* /dev and /proc as roots: anything but a regular file is rejected, and the kernel's magic links
 * are not followed. */
static void test_devices(void **state)
{
    static const struct {
        const char *root, *rel;
    } refused[] = {
        {"/dev", "null"},
        {"/dev", "zero"},
        {"/dev", "tty"},
        {"/proc", "self/root/etc/passwd"},
        {"/proc", "self/root"},
        {"/proc", "self/cwd"},
        {"/proc", "self/fd/0"},
        {"/", "dev/null"},
        {"/", "proc/self/root/etc/passwd"},
    };
    const files_ignore_options all = {.hidden = true, .no_ignore = true};
    (void)state;
    for (size_t i = 0; i < 2 * (sizeof(refused) / sizeof(refused[0])); i++) {
        files_roots roots;
        struct stat st;
        int fd;
        assert_int_equal(files_roots_open(&refused[i / 2].root, 1, &all, NULL, &roots, NULL), 0);
        roots.items[0].at.walk |= i % 2;
        if (files_root_open(&roots.items[0], refused[i / 2].rel, &fd, &st) >= 0)
            fail_msg("%s/%s was opened", refused[i / 2].root, refused[i / 2].rel);
        files_roots_close(&roots);
    }
}

/* A refused FIFO or socket is never opened, so its other end is not affected. */
static void test_not_opened(void **state)
{
    tree t;
    struct stat st;
    char event[512];
    int fd;
    (void)state;
    make(&t);
    files_roots roots = open_inside(&t);
    int notify = inotify_init1(IN_NONBLOCK);
    assert_true(inotify_add_watch(notify, tree_at(&t, "inside/fifo"), IN_OPEN) >= 0);
    for (int walk = 0; walk < 2; walk++) {
        roots.items[0].at.walk |= walk;
        assert_true(files_root_open(&roots.items[0], "fifo", &fd, &st) < 0);
        assert_true(files_root_open(&roots.items[0], "to-fifo", &fd, &st) < 0);
        assert_true(common_beneath_open_dir(roots.items[0].at, "fifo", &fd) < 0);
        assert_int_equal(read(notify, event, sizeof(event)), -1);
        assert_int_equal(errno, EAGAIN);
    }
    close(notify);
    files_roots_close(&roots);
    tree_remove(&t);
}

/* Folders are opened without a prior check, so the open itself must reject a link. */
static void test_folders(void **state)
{
    static const char *const links[] = {"to-out", "top", "to-dir", "to-dir/x", "top/etc"};
    tree t;
    int fd;
    (void)state;
    make(&t);
    tree_dir(&t, "inside/dir/x");
    files_roots roots = open_inside(&t);
    for (int walk = 0; walk < 2; walk++) {
        roots.items[0].at.walk |= walk;
        for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
            assert_int_not_equal(common_beneath_open_dir(roots.items[0].at, links[i], &fd), MCP_OK);
        assert_int_equal(common_beneath_open_dir(roots.items[0].at, "dir/x", &fd), MCP_OK);
        close(fd);
    }
    files_roots_close(&roots);
    tree_remove(&t);
}

static void test_roots(void **state)
{
    tree t;
    files_roots roots;
    struct stat st;
    mcp_error error;
    int fd;
    (void)state;
    make(&t);
    tree_link(&t, "link-to-root", "inside");
    char slash[100], dots[100], link[100], file[100], plain[100], linked_file[100];
    snprintf(plain, sizeof(plain), "%s/inside", t.path);
    snprintf(slash, sizeof(slash), "%s/inside//", t.path);
    snprintf(dots, sizeof(dots), "%s/out/../inside/.", t.path);
    snprintf(link, sizeof(link), "%s/link-to-root", t.path);
    snprintf(file, sizeof(file), "%s/inside/.hidden", t.path);
    snprintf(linked_file, sizeof(linked_file), "%s/inside/to-outside", t.path);
    const char *same[] = {plain, slash, dots, link};
    assert_int_equal(files_roots_open(same, 4, NULL, NULL, &roots, NULL), MCP_OK);
    assert_int_equal(roots.count, 1);
    assert_string_equal(roots.items[0].path, plain);
    files_roots_close(&roots);

    /* A file given by name is served, with any name and type of path. */
    const char *files[] = {file, linked_file};
    assert_int_equal(files_roots_open(files, 2, NULL, NULL, &roots, NULL), MCP_OK);
    assert_int_equal(files_root_open(&roots.items[0], "", &fd, &st), MCP_OK);
    close(fd);
    assert_int_equal(files_root_open(&roots.items[0], "file", &fd, &st), MCP_ENOTFOUND);
    assert_string_equal(roots.items[1].path, tree_at(&t, "outside"));
    /* After it is replaced by a link to another file, it is no longer served. */
    assert_int_equal(unlink(file), 0);
    tree_link(&t, "inside/.hidden", "file");
    assert_true(files_root_open(&roots.items[0], "", &fd, &st) < 0);
    files_roots_close(&roots);

    const char *bad[] = {"", "/nowhere/at/all", "/dev/null"};
    int codes[] = {MCP_EINVAL, MCP_ENOTFOUND, MCP_EACCESS};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(files_roots_open(&bad[i], 1, NULL, NULL, &roots, &error), codes[i]);
        assert_int_equal(error.code, codes[i]);
    }
    /* The root is a relative path, and its folder is moved while it is served. */
    assert_int_equal(chdir(t.path), 0);
    const char *relative = "inside";
    assert_int_equal(files_roots_open(&relative, 1, NULL, NULL, &roots, NULL), MCP_OK);
    assert_string_equal(roots.items[0].path, plain);
    assert_int_equal(rename("inside", "moved"), 0);
    assert_int_equal(files_root_open(&roots.items[0], "dir/file", &fd, &st), MCP_OK);
    close(fd);
    if (!roots.items[0].at.walk) {
        assert_int_equal(files_root_open(&roots.items[0], "to-file", &fd, &st), MCP_OK);
        close(fd);
    }
    files_roots_close(&roots);
    assert_int_equal(chdir("/"), 0);
    tree_remove(&t);
}

/* ---- the race -------------------------------------------------------------------------------- */

typedef struct race {
    tree t;
    atomic_bool stop;
    atomic_uint swaps;
} race;

/* Swaps a file and a folder for links that lead outside, and back, as fast as possible. */
static void *swap(void *user)
{
    race *r = user;
    char a[100], b[100], c[100], d[100];
    snprintf(a, sizeof(a), "%s/inside/target", r->t.path);
    snprintf(b, sizeof(b), "%s/inside/target.link", r->t.path);
    snprintf(c, sizeof(c), "%s/inside/folder", r->t.path);
    snprintf(d, sizeof(d), "%s/inside/folder.link", r->t.path);
    while (!atomic_load(&r->stop)) {
        atomic_fetch_add(&r->swaps, renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0);
        renameat2(AT_FDCWD, c, AT_FDCWD, d, RENAME_EXCHANGE);
    }
    return NULL;
}

static size_t read_in_loop(const files_root *root, const char *rel, int rounds)
{
    size_t fine = 0;
    for (int i = 0; i < rounds; i++) {
        struct stat st;
        common_buffer out;
        int fd;
        if (files_root_open(root, rel, &fd, &st) != MCP_OK)
            continue;
        const files_reader reader = {.fd = fd, .limit = 100};
        common_buffer_init(&out, NULL);
        assert_int_equal(files_read_whole(&reader, (uint64_t)st.st_size, &out), MCP_OK);
        assert_true(mcp_str_eq((mcp_str){out.ptr, out.len}, MCP_STR("fine")));
        common_buffer_free(&out);
        close(fd);
        fine++;
    }
    return fine;
}

static void test_race(void **state)
{
    race r = {0};
    pthread_t thread;
    size_t fine = 0;
    (void)state;
    make(&r.t);
    tree_file(&r.t, "inside/target", "fine");
    tree_link(&r.t, "inside/target.link", "../outside");
    tree_file(&r.t, "inside/folder/file", "fine");
    tree_link(&r.t, "inside/folder.link", "../out");
    files_roots roots = open_inside(&r.t);
    assert_int_equal(pthread_create(&thread, NULL, swap, &r), 0);
    for (int walk = 0; walk < 2; walk++) {
        roots.items[0].at.walk |= walk;
        fine += read_in_loop(&roots.items[0], "target", 5000);
        fine += read_in_loop(&roots.items[0], "folder/file", 5000);
    }
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
    assert_true(fine > 0);
    assert_true(atomic_load(&r.swaps) > 0);
    files_roots_close(&roots);
    tree_remove(&r.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_containment), cmocka_unit_test(test_devices),
        cmocka_unit_test(test_not_opened),  cmocka_unit_test(test_folders),
        cmocka_unit_test(test_roots),       cmocka_unit_test(test_race),
        cmocka_unit_test(test_awaits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
