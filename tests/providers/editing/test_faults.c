/* test_faults.c: something happens at each system call of a change. It fails (the disk is full, ...); the process is
 * killed; a part of the path becomes a link to the outside. Afterwards each file is whole, nothing temporary is left, and
 * nothing outside has changed. */
#include "folder.h"
#include "steps.h"

#include <linux/fs.h>
#include <signal.h>
#include <sys/wait.h>

/* ---- one operation in a folder ---- */

enum { NEW, OVER, MOVE, AWAY, OPERATIONS };

static const char *const operation_names[OPERATIONS] = {"create", "replace", "move", "remove"};

static folder f;

static int set_up(void **state)
{
    (void)state;
    memset(&hook, 0, sizeof(hook));
    umask(022);
    folder_make(&f);
    tree_file(&f.t, "out/a", "outside");
    tree_file(&f.t, "out/sub/a", "outside");
    tree_dir(&f.t, "in/folder/sub");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    memset(&hook, 0, sizeof(hook));
    folder_remove(&f);
    return 0;
}

/* Large enough for two writes of a slow disk, and to see whether it is whole. */
static char old_text[9000], new_text[7000];

static void prepare(void)
{
    memset(old_text, 'o', sizeof(old_text) - 1);
    memset(new_text, 'n', sizeof(new_text) - 1);
    unlinkat(f.at.fd, "folder/sub/new", 0);
    unlinkat(f.at.fd, "folder/sub/b", 0);
    unlinkat(f.at.fd, "folder/sub/a", 0);
    tree_file(&f.t, "in/folder/sub/a", old_text);
    setxattr(tree_at(&f.t, "in/folder/sub/a"), "user.note", "x", 1, 0);
}

/* The contents that the operation was going to replace, move or remove when it began. */
static char seen[sizeof(old_text)];

static int see(const editing_about *about, mcp_error *err, void *user)
{
    (void)err, (void)user;
    hook.counts = false;
    ssize_t n = about->old < 0 ? 0 : pread(about->old, seen, sizeof(seen) - 1, 0);
    seen[n > 0 ? n : 0] = '\0';
    hook.counts = true;
    return MCP_OK;
}

static int run(int operation)
{
    static const char *const names[OPERATIONS] = {"folder/sub/new", "folder/sub/a", "folder/sub/a",
                                                  "folder/sub/a"};
    editing_change change = {.at = f.at,
                             .rel = names[operation],
                             .content = text_of(new_text),
                             .to = f.at,
                             .about = see,
                             .to_rel = "folder/sub/b"};
    hook.steps = 0;
    seen[0] = '\0';
    hook.failed = NULL;
    hook.counts = true;
    int rc = operation == NEW    ? editing_create(&change, &last, &said)
             : operation == OVER ? editing_replace(&change, &last, &said)
             : operation == MOVE ? editing_move(&change, &last, &said)
                                 : editing_remove(&change, &last, &said);
    hook.counts = false;
    return rc;
}

static bool holds(const char *rel, const char *text)
{
    const char *found = contents(&f, rel);
    return text ? found && strcmp(found, text) == 0 : !found;
}

/* Returns whether the folder is as before the operation, or as after it. */
static bool is_before(void)
{
    return holds("folder/sub/a", old_text) && holds("folder/sub/new", NULL) &&
           holds("folder/sub/b", NULL);
}

static bool is_after(int operation)
{
    const char *a = operation == NEW ? old_text : operation == OVER ? new_text : NULL;
    return holds("folder/sub/a", a) &&
           holds("folder/sub/new", operation == NEW ? new_text : NULL) &&
           holds("folder/sub/b", operation == MOVE ? old_text : NULL);
}

static size_t left_over(void)
{
    return temporaries(&f, "in/folder/sub") + count_names(&f, "in/folder/sub", "mcpd-saved");
}

/* ---- each call fails ---- */

/* Whether the version that the change tells is that of the file now. What could not be found out is not told: the hash,
 * or all of it. */
static bool tells_version(int operation)
{
    static const char *const names[OPERATIONS] = {"folder/sub/new", "folder/sub/a", "folder/sub/b",
                                                  NULL};
    editing_version now;
    if (!last.version.text[0] || !names[operation])
        return true;
    snprintf(now.text, sizeof(now.text), "%s", version_of(&f, names[operation]));
    return editing_version_matches(text_of(last.version.text), &now);
}

static void test_each_call_fails(void **state)
{
    static const int errors[] = {ENOSPC, EIO, EROFS, EDQUOT, EMFILE};
    static const char *const names[] = {"(ENOSPC)", "(EIO)", "(EROFS)", "(EDQUOT)", "(EMFILE)"};
    size_t tried = 0;
    size_t refused = 0;
    (void)state;
    for (int way = 0; way < 2; way++)
        for (int operation = 0; operation < OPERATIONS; operation++)
            for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++)
                for (unsigned at = 1;; at++, tried++) {
                    hook.no_tmpfile = way == 1;
                    prepare();
                    hook.fail_at = at;
                    hook.error = errors[e];
                    int rc = run(operation);
                    bool right = (rc == MCP_OK ? is_after(operation) && tells_version(operation)
                                               : is_before() && strstr(said.text, names[e])) &&
                                 left_over() == 0 && (rc == MCP_OK) == (said.text[0] == '\0');
                    if (!right)
                        print_error("%s, %s (call %u) fails with %d: %d, %s; %s, %zu left\n",
                                    operation_names[operation], hook.failed ? hook.failed : "none",
                                    at, errors[e], rc, said.text,
                                    is_before()           ? "as before"
                                    : is_after(operation) ? "as after"
                                                          : "broken",
                                    left_over());
                    assert_true(right);
                    refused += rc != MCP_OK;
                    if (!hook.failed)
                        break;
                }
    print_message("# %zu calls failed, %zu operations with them\n", tried, refused);
    assert_true(refused > 500);
}

/* The error is named, and the step. */
static void test_errors_are_named(void **state)
{
    static const struct {
        int error;
        int code;
        const char *name;
    } rows[] = {{ENOSPC, MCP_ELIMIT, "disk is full"},
                {EDQUOT, MCP_ELIMIT, "quota"},
                {EIO, MCP_EIO, "EIO"},
                {EROFS, MCP_EACCESS, "read-only"}};
    (void)state;
    for (size_t e = 0; e < sizeof(rows) / sizeof(rows[0]); e++) {
        unsigned syncs = 0; /* of the file and of its folder */
        for (unsigned at = 1;; at++) {
            prepare();
            hook.fail_at = at;
            hook.error = rows[e].error;
            int rc = run(OVER);
            if (!hook.failed)
                break;
            syncs += strcmp(hook.failed, "fsync") == 0;
            if (strcmp(hook.failed, "write") != 0 && strcmp(hook.failed, "fsync") != 0)
                continue;
            assert_int_equal(rc, rows[e].code);
            assert_non_null(strstr(said.text, rows[e].name));
            assert_non_null(strstr(said.text, "folder/sub/a: "));
        }
        assert_int_equal(syncs, 2);
    }
}

static void test_no_exchange(void **state)
{
    (void)state;
    hook.no_exchange = true;
    prepare();
    assert_int_equal(run(OVER), MCP_EUNSUPPORTED);
    assert_non_null(strstr(said.text, "cannot exchange"));
    assert_true(is_before());
    assert_int_equal(left_over(), 0);
    assert_int_equal(run(NEW), MCP_OK);
}

/* ---- a file system that folds names (vfat, ext4 with casefold) ---- */

static void test_folds(void **state)
{
    (void)state;
    prepare();
    hook.folds = true;
    hook.counts = true;
    assert_int_equal(put_new(&f, "folder/New", "x"), MCP_EACCESS);
    assert_non_null(strstr(said.text, "another spelling"));
    assert_null(contents(&f, "folder/new"));
    assert_int_equal(put_new(&f, "folder/new", "x"), MCP_OK);
    assert_int_equal(put_new(&f, "folder/NEW", "y"), MCP_EEXIST);
    assert_int_equal(put_over(&f, "folder/NEW", "y", ""), MCP_EACCESS);
    assert_int_equal(put_away(&f, "folder/NEW", ""), MCP_EACCESS);
    assert_int_equal(put_to(&f, "folder/NEW", "folder/b", ""), MCP_EACCESS);
    assert_int_equal(put_to(&f, "folder/new", "folder/B", ""), MCP_EACCESS);
    assert_string_equal(contents(&f, "folder/new"), "x");
    assert_int_equal(put_to(&f, "folder/new", "folder/b", ""), MCP_OK);
    assert_int_equal(put_over(&f, "folder/b", "z", ""), MCP_OK);
    assert_int_equal(put_away(&f, "folder/b", ""), MCP_OK);
    assert_int_equal(temporaries(&f, "in/folder"), 0);
}

/* ---- a save that status does not show ---- */

static unsigned sneak_at;
static bool sneaked;

/* As many bytes, in the same tick of the clock. */
static void sneak(unsigned number)
{
    struct stat st;
    if (number != sneak_at || fstatat(f.at.fd, "folder/sub/a", &st, 0) != 0 ||
        st.st_size != (off_t)strlen(old_text))
        return;
    struct timespec times[] = {st.st_atim, st.st_mtim};
    /* Without waiting for the lease, which this very thread has. */
    int fd = open(tree_at(&f.t, "in/folder/sub/a"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    assert_int_equal(pwrite(fd, "sneaked", 7, 100), 7);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    sneaked = true;
}

static void test_same_times(void **state)
{
    size_t noticed = 0;
    (void)state;
    for (sneak_at = 1;; sneak_at++) {
        prepare();
        sneaked = false;
        hook.before = sneak;
        int rc = run(OVER);
        hook.before = NULL;
        if (hook.steps < sneak_at)
            break;
        noticed += rc != MCP_OK;
        if (sneaked && !strstr(seen, "sneaked"))
            assert_non_null(strstr(contents(&f, "folder/sub/a"), "sneaked"));
        assert_int_equal(left_over(), 0);
    }
    assert_true(noticed > 20);
}

/* ---- the process is killed before each call ---- */

static unsigned kill_at;

static void kill_now(unsigned number)
{
    if (number == kill_at)
        kill(getpid(), SIGKILL);
}

static void test_killed(void **state)
{
    size_t kills = 0;
    size_t befores = 0;
    size_t left = 0;
    editing_swept swept;
    (void)state;
    for (int way = 0; way < 2; way++)
        for (int operation = 0; operation < OPERATIONS; operation++)
            for (kill_at = 1;; kill_at++) {
                int status;
                prepare();
                hook.no_tmpfile = way == 1;
                pid_t child = fork();
                if (child == 0) {
                    hook.before = kill_now;
                    run(operation);
                    _exit(0);
                }
                assert_true(child > 0);
                assert_int_equal(waitpid(child, &status, 0), child);
                if (!WIFSIGNALED(status))
                    break;
                kills++;
                bool before = is_before();
                befores += before;
                left += temporaries(&f, "in/folder/sub") != 0;
                if (!before && !is_after(operation))
                    print_error("%s, killed before call %u\n", operation_names[operation], kill_at);
                assert_true(before || is_after(operation));
                assert_int_equal(editing_sweep(f.at, "folder/sub", 0, &swept, &said), MCP_OK);
                assert_int_equal(left_over(), 0);
                assert_int_equal(swept.rescued, 0);
                assert_true(before ? is_before() : is_after(operation));
            }
    print_message("# %zu kills, %zu before the change, %zu left something for the sweep\n", kills,
                  befores, left);
    assert_true(kills > 100 && befores > 50 && left > 20);
}

/* Killed between an exchange and its comparison, when an editor had saved: the neighbour holds that save. */
static void save_then_kill(unsigned number)
{
    if (number + 1 == kill_at) {
        tree_file(&f.t, "in/folder/sub/edit", "a save");
        renameat(f.at.fd, "folder/sub/edit", f.at.fd, "folder/sub/a");
    }
    kill_now(number);
}

static void test_killed_after_a_save(void **state)
{
    size_t rescued = 0;
    (void)state;
    for (kill_at = 2;; kill_at++) {
        int status;
        editing_swept swept;
        prepare();
        pid_t child = fork();
        if (child == 0) {
            hook.before = save_then_kill;
            run(OVER);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status))
            break;
        assert_int_equal(editing_sweep(f.at, "folder/sub", 0, &swept, &said), MCP_OK);
        rescued += swept.rescued;
        assert_true(holds("folder/sub/a", "a save") ||
                    (swept.rescued == 1 && count_names(&f, "in/folder/sub", "mcpd-saved") > 0));
        if (swept.rescued) {
            char name[300];
            snprintf(name, sizeof(name), "folder/sub/%s", swept.saved);
            assert_true(holds(name, "a save"));
        }
        assert_int_equal(temporaries(&f, "in/folder/sub"), 0);
    }
    assert_int_equal(rescued, 1);
}

/* ---- somebody else saves before each call ---- */

static unsigned save_at, saves;

static void save(unsigned number)
{
    char text[32];
    if (number < save_at || number >= save_at + saves)
        return;
    snprintf(text, sizeof(text), "save %u", number);
    tree_file(&f.t, "in/folder/sub/edit", text);
    assert_int_equal(renameat(f.at.fd, "folder/sub/edit", f.at.fd, "folder/sub/a"), 0);
}

/* The last save of somebody else is there, or our change came after it. Several in a row come between an exchange and the
 * one that undoes it. */
static void test_saves_survive(void **state)
{
    size_t collisions = 0;
    size_t tried = 0;
    (void)state;
    for (int operation = OVER; operation < OPERATIONS; operation++)
        for (saves = 1; saves <= 12; saves += 1 + saves / 4)
            for (save_at = 1;; save_at++, tried++) {
                char text[32];
                prepare();
                hook.before = save;
                int rc = run(operation);
                hook.before = NULL;
                if (hook.steps < save_at)
                    break;
                unsigned newest =
                    save_at + saves - 1 < hook.steps ? save_at + saves - 1 : hook.steps;
                snprintf(text, sizeof(text), "save %u", newest);
                bool there = holds("folder/sub/a", text);
                if (rc != MCP_OK) {
                    collisions++;
                    if (!there)
                        print_error("%s, %u saves from call %u: %s\n", operation_names[operation],
                                    saves, save_at, said.text);
                    assert_true(there);
                    assert_non_null(strstr(said.text, "folder/sub/a"));
                    assert_int_equal(rc, MCP_ESTATE);
                    if (saves == 1) /* no save came after the last look */
                        assert_string_equal(last.version.text, version_of(&f, "folder/sub/a"));
                } else if (!there) { /* saved before the file was looked at */
                    assert_string_equal(seen, text);
                    if (operation == MOVE)
                        assert_true(holds("folder/sub/b", text));
                }
                assert_int_equal(temporaries(&f, "in/folder/sub"), 0);
                tree_dir(&f.t, "in/folder/sub");
            }
    print_message("# %zu collisions of %zu\n", collisions, tried);
    assert_true(collisions > 300);
}

/* ---- somebody else has the file open, and writes into it later ---- */

static unsigned open_at, write_at;
static int open_fd;
static bool written; /* it could be opened without waiting for the lease */

static void open_then_write(unsigned number)
{
    if (number == open_at)
        open_fd = open(tree_at(&f.t, "in/folder/sub/a"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (number != write_at || open_fd < 0)
        return;
    assert_int_equal(pwrite(open_fd, "sneaked", 7, 100), 7);
    close(open_fd);
    open_fd = -1;
    written = true;
}

static void test_writes_in_place_survive(void **state)
{
    size_t refused = 0;
    (void)state;
    for (unsigned later = 1; later <= 40; later += 1 + later / 2)
        for (open_at = 1;; open_at++) {
            prepare();
            open_fd = -1;
            written = false;
            write_at = open_at + later;
            hook.before = open_then_write;
            int rc = run(OVER);
            hook.before = NULL;
            if (open_fd >= 0)
                open_then_write(write_at);
            if (hook.steps < open_at)
                break;
            refused += rc != MCP_OK;
            if (written && !strstr(seen, "sneaked"))
                assert_non_null(strstr(contents(&f, "folder/sub/a"), "sneaked"));
            assert_int_equal(left_over(), 0);
        }
    assert_true(refused > 100);
}

/* ---- parts of the path become links ---- */

static const struct {
    const char *name, *link;
} places[] = {
    {"in/folder", "in/folder.link"}, /* out */
    {"in/folder/sub", "in/folder/sub.link"},
    {"in/folder/sub/a", "in/folder/sub/a.link"},
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

static unsigned swap_at, swap_back, swap_place, swapped;

static void swap_now(void)
{
    char a[256];
    char b[256];
    strcpy(a, tree_at(&f.t, places[swap_place].name));
    strcpy(b, tree_at(&f.t, places[swap_place].link));
    if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0)
        swapped++;
}

static void swap(unsigned number)
{
    if (number == swap_at || number == swap_back)
        swap_now();
}

static void assert_outside(void)
{
    assert_true(holds("../out/a", "outside"));
    assert_true(holds("../out/sub/a", "outside"));
    assert_int_equal(count_names(&f, "out", ""), 4); /* with . and .. */
    assert_int_equal(count_names(&f, "out/sub", ""), 3);
}

static void make_links(void)
{
    tree_link(&f.t, "in/folder.link", tree_at(&f.t, "out"));
    tree_link(&f.t, "in/folder/sub.link", "../../out/sub");
    tree_link(&f.t, "in/folder/sub/a.link", "../../../out/a");
}

static bool is_link(const char *rel)
{
    struct stat st;
    return fstatat(f.at.fd, rel, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

static void test_swaps(void **state)
{
    size_t during = 0;
    size_t refused = 0;
    (void)state;
    make_links();
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (swap_place = 0; swap_place < PLACES; swap_place++)
            for (unsigned stay = 1;
                 stay<100000; stay *= stay> 4 ? 1000 : 2) /* the last ones: to the end */
                for (swap_at = 1;; swap_at++) {
                    prepare();
                    swapped = 0;
                    swap_back = swap_at + stay;
                    hook.before = swap;
                    int rc = run(operation);
                    hook.before = NULL;
                    bool reached = hook.steps >= swap_at;
                    during += swapped > 0 && swap_at > 1;
                    refused += rc != MCP_OK;
                    if (swapped % 2)
                        swap_now();
                    assert_outside();
                    /* The link is still there, or was moved away in place of the file. */
                    if (rc != MCP_OK)
                        assert_true(is_link("folder/sub/a.link") || is_link("folder/sub/a") ||
                                    is_link("folder/sub/b") || last.saved[0]);
                    assert_int_equal(temporaries(&f, "in/folder/sub"), 0);
                    unlinkat(f.at.fd, "folder/sub/a.link", 0);
                    tree_link(&f.t, "in/folder/sub/a.link", "../../../out/a");
                    if (!reached)
                        break;
                }
    print_message("# %zu swaps between the first check and the end, %zu refusals\n", during,
                  refused);
    assert_true(during >= 1000);
}

/* The folder is moved out of the root during the change: the change is undone. */
static void move_out(unsigned number)
{
    if (number == swap_at)
        assert_int_equal(rename(tree_at(&f.t, "in/folder/sub"), tree_at(&f.t, "out/moved")), 0);
}

static void test_folder_moves_out(void **state)
{
    size_t undone = 0;
    (void)state;
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (swap_at = 1;; swap_at++) {
            prepare();
            hook.before = move_out;
            int rc = run(operation);
            hook.before = NULL;
            if (hook.steps < swap_at)
                break;
            assert_int_equal(rename(tree_at(&f.t, "out/moved"), tree_at(&f.t, "in/folder/sub")), 0);
            undone += rc != MCP_OK;
            if (!(rc == MCP_OK ? is_after(operation) : is_before()) || left_over())
                print_error("%s, moved out before call %u of %u: %d, %s\n",
                            operation_names[operation], swap_at, hook.steps, rc, said.text);
            assert_true(rc == MCP_OK ? is_after(operation) : is_before());
            assert_int_equal(left_over(), 0);
        }
    assert_true(undone > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_call_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_exchange, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_after_a_save, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_saves_survive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_writes_in_place_survive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_swaps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folder_moves_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
