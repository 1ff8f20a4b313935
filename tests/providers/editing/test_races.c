/* test_races.c: other processes at the same time. Editors save by rename and in place, and no save is ever lost; of two
 * writers one wins; a writer is killed at any moment, and each file is whole. test_faults.c does this between two chosen
 * system calls; here it happens by chance. */
#include "folder.h"

#include "dice.h"
#include "rounds.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static folder f;

/* What the processes tell each other. */
static struct shared {
    volatile unsigned long turns;
    volatile unsigned long won;
    volatile unsigned long lost;
    volatile bool stop;
} * shared;

static int set_up(void **state)
{
    (void)state;
    folder_make(&f);
    tree_file(&f.t, "in/a", "0 0\n");
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    munmap(shared, sizeof(*shared));
    folder_remove(&f);
    return 0;
}

/* ---- editors ---- */

/* The file has two numbers: of the editor's last save, and of our last change, which keeps the other one. */
static bool read_numbers(unsigned long *save, unsigned long *change, editing_version *version)
{
    char text[64];
    struct stat st;
    int fd;
    if (common_beneath_open(f.at, "a", &fd, &st) != MCP_OK)
        return false;
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    int rc = fstat(fd, &st) < 0 ? MCP_EIO : editing_version_of(fd, &st, version);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return rc == MCP_OK && sscanf(text, "%lu %lu\n", save, change) == 2 && strchr(text, '\n');
}

/* Changes the file again and again, in a process of its own. Never returns. */
static void change_for_ever(void)
{
    unsigned long save;
    unsigned long change;
    editing_version version;
    while (!shared->stop) {
        char text[64];
        if (!read_numbers(&save, &change, &version))
            continue;
        snprintf(text, sizeof(text), "%lu %lu\n", save, change + 1);
        int rc = put_over(&f, "a", text, version.text);
        shared->turns++;
        if (rc == MCP_OK)
            shared->won++;
        else if (rc == MCP_ESTATE)
            shared->lost++;
        else {
            fprintf(stderr, "# %s\n", said.text);
            _exit(1);
        }
        if (last.saved[0])
            _exit(2);
    }
    _exit(0);
}

static void save_by_rename(unsigned long save)
{
    char text[64];
    snprintf(text, sizeof(text), "%lu 0\n", save);
    tree_file(&f.t, "in/edit", text);
    assert_int_equal(renameat(f.at.fd, "edit", f.at.fd, "a"), 0);
}

static void save_in_place(unsigned long save)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "%lu 0\n", save);
    int fd = open(tree_at(&f.t, "in/a"), O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)len),
                     len); /* never shorter than before but for the second number */
    assert_int_equal(ftruncate(fd, len), 0);
    close(fd);
}

/* The save must be there, or what a change has made of it. It may take the microseconds of an exchange that is undone. */
static bool save_is_there(unsigned long save)
{
    unsigned long found;
    unsigned long change;
    editing_version version;
    for (unsigned tries = 0; tries < 100000; tries++) {
        if (read_numbers(&found, &change, &version) && found == save)
            return true;
        sched_yield();
    }
    return false;
}

static void edit(void (*save)(unsigned long), unsigned long least)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        change_for_ever();
    unsigned long n = 1;
    unsigned long bound = 200 * least;
    bool there = true;
    for (; there && shared->lost < least && n < bound && waitpid(child, &status, WNOHANG) == 0;
         n++) {
        unsigned long turn = shared->turns;
        save(n);
        there = save_is_there(n);
        while (dice(3) == 0 && shared->turns == turn && waitpid(child, &status, WNOHANG) == 0)
            sched_yield();
        for (unsigned wait = dice(2000); wait > 0; wait--)
            __asm__ volatile("");
    }
    shared->stop = true;
    if (!there)
        print_error("save %lu is lost: %s\n", n - 1, contents(&f, "a"));
    if (waitpid(child, &status, 0) == child)
        assert_int_equal(status, 0);
    assert_true(there);
    assert_true(save_is_there(n - 1));
    assert_int_equal(temporaries(&f, "in"), 0);
    print_message("# %lu saves, %lu changes, %lu lost to a save\n", n - 1, shared->won,
                  shared->lost);
    assert_true(shared->lost >= least);
}

static void test_editor_renames(void **state)
{
    (void)state;
    edit(save_by_rename, rounds(300));
}

static void test_editor_writes_in_place(void **state)
{
    (void)state;
    edit(save_in_place, rounds(100));
}

/* ---- two writers ---- */

static void add_for_ever(unsigned long turns)
{
    unsigned long save;
    unsigned long change;
    editing_version version;
    while (turns > 0) {
        char text[64];
        if (!read_numbers(&save, &change, &version))
            _exit(1);
        snprintf(text, sizeof(text), "%lu %lu\n", save, change + 1);
        int rc = put_over(&f, "a", text, version.text);
        if (rc == MCP_OK) {
            __sync_fetch_and_add(&shared->won, 1);
            turns--;
        } else if (rc == MCP_ESTATE)
            __sync_fetch_and_add(&shared->lost, 1);
        else {
            fprintf(stderr, "# %s\n", said.text);
            _exit(2);
        }
    }
    _exit(0);
}

static void test_two_writers(void **state)
{
    unsigned long save;
    unsigned long change;
    editing_version version;
    unsigned long turns = rounds(300);
    pid_t children[2];
    int status;
    (void)state;
    for (int i = 0; i < 2; i++)
        if ((children[i] = fork()) == 0)
            add_for_ever(turns);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_true(read_numbers(&save, &change, &version));
    assert_int_equal(change, 2 * turns);
    assert_int_equal(shared->won, 2 * turns);
    assert_int_equal(temporaries(&f, "in"), 0);
    assert_int_equal(count_names(&f, "in", "mcpd-saved"), 0);
    print_message("# %lu changes, %lu lost to the other writer\n", shared->won, shared->lost);
    assert_true(shared->lost > 20);
}

/* Of two that make the same file, one does. */
static void test_two_makers(void **state)
{
    pid_t children[2];
    int status;
    (void)state;
    for (int i = 0; i < 2; i++)
        if ((children[i] = fork()) == 0) {
            for (unsigned n = 0; n < 200; n++) {
                char name[16];
                snprintf(name, sizeof(name), "new%u", n);
                int rc = put_new(&f, name, i ? "first" : "second");
                if (rc == MCP_OK)
                    __sync_fetch_and_add(&shared->won, 1);
                else if (rc != MCP_EEXIST)
                    _exit(1);
            }
            _exit(0);
        }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(shared->won, 200);
}

/* ---- kills at any moment ---- */

enum { WHOLE = 5000 };

static void write_for_ever(void)
{
    static char text[WHOLE + 1];
    for (unsigned long n = 0;; n++) {
        memset(text, (int)('a' + n % 26), WHOLE);
        put_over(&f, "a", text, "");
        put_new(&f, "b", text);
        put_to(&f, "b", "c", "");
        put_away(&f, "c", "");
        shared->turns++;
    }
}

static bool is_whole(const char *rel)
{
    const char *text = contents(&f, rel);
    if (!text || strcmp(text, "0 0\n") == 0)
        return true;
    for (size_t i = 0; i < WHOLE; i++)
        if (text[i] != text[0])
            return false;
    return text[WHOLE] == '\0';
}

static void test_killed(void **state)
{
    unsigned kills = rounds(200);
    size_t swept_files = 0;
    (void)state;
    for (unsigned n = 0; n < kills; n++) {
        int status;
        editing_swept swept;
        unsigned long turn = shared->turns;
        pid_t child = fork();
        if (child == 0)
            write_for_ever();
        while (shared->turns == turn)
            sched_yield();
        for (unsigned wait = dice(300); wait > 0; wait--)
            sched_yield();
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(is_whole("a") && is_whole("b") && is_whole("c"));
        assert_non_null(contents(&f, "a"));
        assert_int_equal(editing_sweep(f.at, "", 0, &swept, &said), MCP_OK);
        swept_files += swept.removed;
        assert_int_equal(swept.rescued, 0);
        assert_int_equal(temporaries(&f, "in"), 0);
        unlinkat(f.at.fd, "b", 0);
        unlinkat(f.at.fd, "c", 0);
    }
    print_message("# %u kills, %zu neighbours swept\n", kills, swept_files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_editor_renames, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_editor_writes_in_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_writers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_makers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
