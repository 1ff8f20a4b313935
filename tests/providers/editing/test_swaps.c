/* test_swaps.c: between the check and the write of a change, what it is about is swapped: a folder of the path, the file, or
 * the name that must be free, for a link to the outside, to .git or to a hidden folder, for a hard link, a pipe, a folder or
 * a file of somebody else.
 *
 * The moments are chosen and not met by chance. steps.h counts the system calls of a change; a run without a swap says which
 * of them looks at what is going to be swapped, and which one writes, that is gives or takes a name. A swap comes before each
 * call behind the first one, up to the second one, and in turn it stays, is taken back after one call, or after the write. Nothing
 * else is changed, no file is torn, nothing is lost, and nothing temporary is left. test_faults.c swaps at all moments. */
#include "folder.h"
#include "steps.h"

#include <limits.h>
#include <linux/fs.h>

enum { NEW, OVER, MOVE, AWAY };
static const char *const operation_names[] = {"create", "replace", "move", "remove"};

/* What is swapped, and the call that looks at it: the nth of this name. `free`: there is nothing of this name until then. */
static const struct row {
    int operation;
    const char *rel, *call;
    unsigned nth;
    bool free;
} rows[] = {
    {NEW, "folder", "fstatat", 1, false},        {NEW, "folder/sub", "fstatat", 1, false},
    {NEW, "folder/sub/new", "fstatat", 1, true}, {OVER, "folder", "openat2", 2, false},
    {OVER, "folder/sub", "openat2", 2, false},   {OVER, "folder/sub/a", "openat2", 2, false},
    {MOVE, "folder", "openat2", 2, false},       {MOVE, "folder/sub", "openat2", 2, false},
    {MOVE, "folder/sub/a", "openat2", 2, false}, {MOVE, "folder/sub/b", "fstatat", 3, true},
    {AWAY, "folder", "openat2", 2, false},       {AWAY, "folder/sub", "openat2", 2, false},
    {AWAY, "folder/sub/a", "openat2", 2, false},
};

/* What comes in its place. */
enum { LINK_OUT, LINK_GIT, LINK_HIDDEN, HARD_LINK, PIPE, FOLDER, FILE_OF_OTHERS, KINDS };
static const char *const kind_names[KINDS] = {
    "link out", "link to .git", "link to .hidden", "hard link", "pipe", "folder", "file"};
static const char *const targets[] = {"out", "in/.git", "in/.hidden"};

/* ---- the tree ---- */

static folder f;
static char old_text[3000], new_text[2500];

/* Folders to which nobody may write, wherever a swap takes them: three, and the one that comes in place of something. */
enum { KEPT = 4 };
static int fixed[KEPT];

static void keep(int i, const char *rel)
{
    char file[80];
    snprintf(file, sizeof(file), "%s/sub/a", rel);
    tree_file(&f.t, file, "keep");
    snprintf(file, sizeof(file), "%s/a", rel);
    tree_file(&f.t, file, "keep");
    fixed[i] = open(tree_at(&f.t, rel), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixed[i] >= 0);
}

static bool holds_keep(int dir, const char *name)
{
    char bytes[8];
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    if (fd >= 0)
        close(fd);
    return n == 4 && memcmp(bytes, "keep", 4) == 0;
}

static size_t entries(int dir, const char *rel)
{
    size_t n = 0;
    DIR *entry = fdopendir(openat(dir, rel, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    assert_non_null(entry);
    while (readdir(entry))
        n++;
    closedir(entry);
    return n - 2; /* . and .. */
}

static bool all_kept(void)
{
    for (int i = 0; i < KEPT; i++)
        if (fixed[i] >= 0 && (!holds_keep(fixed[i], "a") || !holds_keep(fixed[i], "sub/a") ||
                              entries(fixed[i], ".") != 2 || entries(fixed[i], "sub") != 1))
            return false;
    return true;
}

/* Makes what comes in place of the row's name, with ".swap" behind it until then. */
static void make_other(const struct row *row, int kind)
{
    char at[64];
    char target[128];
    snprintf(at, sizeof(at), "in/%s.swap", row->rel);
    if (kind <= LINK_HIDDEN) {
        bool is_file = strlen(row->rel) > strlen("folder/sub");
        snprintf(target, sizeof(target), "%s/%s%s", f.t.path, targets[kind], is_file ? "/a" : "");
        tree_link(&f.t, at, target);
    } else if (kind == HARD_LINK)
        assert_int_equal(link(tree_at(&f.t, "out/a"), tree_at(&f.t, at)), 0);
    else if (kind == PIPE)
        assert_int_equal(mkfifo(tree_at(&f.t, at), 0600), 0);
    else if (kind == FOLDER)
        keep(KEPT - 1, at);
    else
        tree_file(&f.t, at, "keep");
}

/* In memory, if that is possible: thousands of folders are made and removed. */
static void make_folder(void)
{
    char path[] = "/dev/shm/mcp-files-XXXXXX";
    if (!mkdtemp(path)) {
        folder_make(&f);
        return;
    }
    strcpy(f.t.path, path);
    tree_dir(&f.t, "in");
    f.at = (common_beneath){.fd = open(tree_at(&f.t, "in"), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    assert_true(f.at.fd >= 0);
}

static void prepare(const struct row *row, int kind)
{
    memset(old_text, 'o', sizeof(old_text) - 1);
    memset(new_text, 'n', sizeof(new_text) - 1);
    make_folder();
    tree_file(&f.t, "in/folder/sub/a", old_text);
    fixed[KEPT - 1] = -1;
    for (int i = 0; i < KEPT - 1; i++)
        keep(i, targets[i]);
    make_other(row, kind);
}

static void tidy(void)
{
    for (int i = 0; i < KEPT; i++)
        if (fixed[i] >= 0)
            close(fixed[i]);
    folder_remove(&f);
}

/* How many of what there are in the tree, under any name. */
typedef struct tally {
    unsigned olds, news, keeps, torn, links, pipes, temporaries;
} tally;

static tally counted;

static void count_text(const char *path)
{
    static char bytes[8192];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, bytes, sizeof(bytes) - 1);
    close(fd);
    bytes[n > 0 ? n : 0] = '\0';
    ++*(strcmp(bytes, old_text) == 0   ? &counted.olds
        : strcmp(bytes, new_text) == 0 ? &counted.news
        : strcmp(bytes, "keep") == 0   ? &counted.keeps
                                       : &counted.torn);
}

static int count_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)type;
    counted.temporaries += strncmp(path + where->base, ".mcpd-", strlen(".mcpd-")) == 0;
    counted.links += S_ISLNK(st->st_mode);
    counted.pipes += S_ISFIFO(st->st_mode);
    if (S_ISREG(st->st_mode))
        count_text(path);
    return 0;
}

static tally count(void)
{
    counted = (tally){0};
    assert_int_equal(nftw(f.t.path, count_one, 16, FTW_PHYS), 0);
    return counted;
}

/* ---- a change, and where its check and its write are ---- */

static int run(int operation)
{
    editing_change change = {.at = f.at,
                             .rel = operation == NEW ? "folder/sub/new" : "folder/sub/a",
                             .content = text_of(new_text),
                             .to = f.at,
                             .to_rel = "folder/sub/b"};
    hook.steps = 0;
    hook.counts = true;
    int rc = operation == NEW    ? editing_create(&change, &last, &said)
             : operation == OVER ? editing_replace(&change, &last, &said)
             : operation == MOVE ? editing_move(&change, &last, &said)
                                 : editing_remove(&change, &last, &said);
    hook.counts = false;
    return rc;
}

static const struct row *row_now;
static struct window {
    unsigned seen, check, write;
} window;

static void watch(unsigned number)
{
    if (strcmp(hook.name, row_now->call) == 0 && ++window.seen == row_now->nth)
        window.check = number;
    if (strcmp(hook.name, "renameat2") == 0 || strcmp(hook.name, "linkat") == 0)
        window.write = number;
}

static void find_window(const struct row *row)
{
    row_now = row;
    window = (struct window){0};
    prepare(row, FILE_OF_OTHERS);
    hook.before = watch;
    assert_int_equal(run(row->operation), MCP_OK);
    hook.before = NULL;
    tidy();
    assert_true(window.check > 0 && window.check < window.write);
}

/* ---- swaps ---- */

static unsigned swap_at, back_at;
static size_t swapped, at_the_write;

static bool swap_names(bool back)
{
    char name[64];
    char other[80];
    snprintf(name, sizeof(name), "in/%s", row_now->rel);
    snprintf(other, sizeof(other), "in/%s.swap", row_now->rel);
    const char *from = tree_at(&f.t, back ? name : other);
    const char *to = tree_at(&f.t, back ? other : name);
    return renameat2(AT_FDCWD, from, AT_FDCWD, to,
                     row_now->free ? RENAME_NOREPLACE : RENAME_EXCHANGE) == 0;
}

static void swap(unsigned number)
{
    if (number == swap_at) {
        assert_true(swap_names(false));
        swapped++;
        at_the_write += number == window.write;
    } else if (number == back_at)
        swap_names(true); /* if both are still there */
}

/* Whether the tree is as it must be after the change. */
static bool is_right(int rc, tally before, tally after)
{
    bool back_before = back_at <= window.write;
    bool moved_on = back_at > window.write &&
                    back_at < 1000; /* the new text may have been given another name */
    int operation = row_now->operation;
    bool same =
        after.keeps == before.keeps && after.links == before.links && after.pipes == before.pipes;
    bool clean = after.torn == 0 && after.temporaries == 0;
    if (!same || !clean || !all_kept())
        return false;
    if (rc != MCP_OK)
        return after.olds == 1 && after.news <= moved_on;
    return (back_before || moved_on) && after.olds == (operation == NEW || operation == MOVE) &&
           after.news == (operation == NEW || operation == OVER);
}

static void try_one(int kind, size_t *refused)
{
    prepare(row_now, kind);
    tally before = count();
    hook.before = swap;
    int rc = run(row_now->operation);
    hook.before = NULL;
    tally after = count();
    bool right = is_right(rc, before, after);
    if (!right)
        print_error("%s: %s becomes a %s before call %u, until %u, checked at %u, written at %u: "
                    "%d, %s; %u old, %u new, %u torn, "
                    "%u temporary\n",
                    operation_names[row_now->operation], row_now->rel, kind_names[kind], swap_at,
                    back_at, window.check, window.write, rc, said.text, after.olds, after.news,
                    after.torn, after.temporaries);
    assert_true(right);
    *refused += rc != MCP_OK;
    tidy();
}

static void test_swaps(void **state)
{
    size_t refused = 0;
    unsigned turn = 0;
    (void)state;
    umask(022);
    hook.no_sync = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int way = 0; way < (rows[i].operation == NEW ? 2 : 1); way++) {
            hook.no_tmpfile = way == 1;
            find_window(&rows[i]);
            for (int kind = 0; kind < KINDS; kind++)
                for (swap_at = window.check + 1; swap_at <= window.write; swap_at++) {
                    const unsigned backs[] = {swap_at + 1, window.write + 1, UINT_MAX};
                    back_at = backs[turn++ % 3];
                    try_one(kind, &refused);
                }
        }
    print_message("# %zu swaps between the check and the write, %zu of them behind the last check; "
                  "%zu refusals\n",
                  swapped, at_the_write, refused);
    assert_true(swapped >= 1000 && refused >= 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_swaps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
