/* test_isolated_kept.c: answers that the parent keeps while their files are unchanged. The module
 * mortal answers how often its process was asked. */
#define _GNU_SOURCE
#include "dice.h"
#include "isolated_fixture.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <time.h>

enum { OLD_S = 4, FIRST = 3 }; /* the fourth equal request is answered by the parent */

/* Each test that changes files has a folder of its own, so that the files of all are old enough. */
enum { FOLDERS = 7, ONE = FOLDERS, ANOTHER, ALL };
static char folders[] = "/tmp/test_isolated_kept_XXXXXX";

static void run(const char *command, int folder)
{
    char text[300];
    snprintf(text, sizeof(text), "cd %s/%d && %s", folders, folder, command);
    assert_int_equal(system(text), 0);
}

static void begin_at(fixture *f, const char *path, bool rules, uint64_t timeout_ms)
{
    mcp_error error = {0};
    if (open_source(f, path, rules, timeout_ms, &error) != MCP_OK)
        fail_msg("%s", error.text);
    connect_as(f, NULL);
}

static void begin_with(fixture *f, bool rules, int folder, uint64_t timeout_ms)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/%d", folders, folder);
    begin_at(f, path, rules, timeout_ms);
}

static void begin_in(fixture *f, bool rules, int folder)
{
    begin_with(f, rules, folder, 0);
}

static void begin(fixture *f, bool rules)
{
    begin_in(f, rules, 0);
}

static int next_id;

/* Returns how often the process was asked, as the answer says. */
static int times(fixture *f, const char *what)
{
    char uri[100];
    snprintf(uri, sizeof(uri), "mortal://m/count/%s", what);
    next_id = (next_id + 1) % IDS;
    f->answers[next_id] = 0;
    const char *text = ask_uri(f, next_id, uri), *at = strstr(text, "asked ");
    if (!at)
        fail_msg("%s", text);
    assert_null(strstr(text, "libmcp/files"));
    assert_true(!strstr(what, "also") == !strstr(text, "\"org.example/also\":true"));
    return (int)strtol(at + strlen("asked "), NULL, 10);
}

/* Asks until the answer is kept. Returns what the first answer said. */
static int fill(fixture *f, const char *what)
{
    int first = times(f, what);
    for (int i = 1; i < FIRST; i++)
        assert_int_equal(times(f, what), first + i);
    for (int i = 0; i < 3; i++)
        assert_int_equal(times(f, what), first + FIRST - 1);
    return first;
}

static void test_kept(void **state)
{
    fixture f;
    (void)state;
    begin(&f, false);
    fill(&f, "file");
    fill(&f, "file/also");
    fill(&f, "deep");
    int last = times(&f, "deep");
    mcp_channel_free(f.channel);
    connect_as(&f, "another");
    assert_int_equal(times(&f, "deep"), last + 1);
    look(&f);
    assert_int_equal(f.starts, 1);
    close_fixture(&f);
}

/* Requests at the same time are answered by the process. Their answers are not kept, because the
 * files may have changed after the process made an answer and before they were examined for the
 * answer before it. */
static void test_at_once(void **state)
{
    fixture f;
    (void)state;
    begin(&f, false);
    for (int i = 0; i < 20; i++)
        say(&f, i, "resources/read", "\"uri\":\"mortal://m/count/file\"");
    for (int i = 0; i < 20; i++)
        has(answer(&f, i), "asked ");
    assert_int_equal(times(&f, "file"), 21);
    assert_int_equal(times(&f, "file"), 21);
    close_fixture(&f);
}

/* The next request after each of these changes is answered by the process, and so are the following
 * ones, as long as the files may change again without a trace. */
static void test_changes(void **state)
{
    static const char *const commands[FOLDERS - 1] = {
        "echo 2 >>f", "touch gone", "touch f", "mv f g; cp g f", "rm f; mv g f", "chmod 600 f",
    };
    enum { YOUNG_MS = 40 };
    (void)state;
    for (int i = 0; i < FOLDERS - 1; i++) {
        fixture f;
        begin_in(&f, false, i + 1);
        fill(&f, "file");
        int last = times(&f, "file");
        int64_t changed = mcp_loop_now(f.loop);
        run(commands[i], i + 1);
        assert_int_equal(times(&f, "file"), ++last);
        for (int n = 1; n < 6; n++) {
            int now = times(&f, "file");
            if (mcp_loop_now(f.loop) - changed < YOUNG_MS)
                assert_int_equal(now, last + n);
        }
        close_fixture(&f);
    }
}

static void path_in(char path[100], const char *name)
{
    snprintf(path, 100, "%s/%s", folders, name);
}

static void move(const char *from, const char *to)
{
    char paths[2][100];
    path_in(paths[0], from);
    path_in(paths[1], to);
    assert_int_equal(rename(paths[0], paths[1]), 0);
}

static void point(const char *name, int folder)
{
    char path[100], number[20];
    path_in(path, name);
    snprintf(number, sizeof(number), "%d", folder);
    assert_int_equal(symlink(number, path), 0);
}

/* A link to the source leads to another folder, directly after an answer. */
static void test_link(void **state)
{
    fixture f;
    char path[100], what[20];
    (void)state;
    path_in(path, "current");
    point("current", ONE);
    begin_at(&f, path, false, 0);
    for (int i = 0; i < 4; i++) {
        snprintf(what, sizeof(what), "file/%d", i);
        fill(&f, what);
        point("next", i % 2 ? ONE : ANOTHER);
        move("next", "current");
        assert_int_equal(times(&f, what), 1);
    }
    close_fixture(&f);
}

/* Another folder takes the place of the source. The process of the old one may answer for some
 * milliseconds, but its answers are not kept. */
static void test_replaced(void **state)
{
    fixture f;
    (void)state;
    for (int i = 0; i < 4; i++) {
        begin_in(&f, false, ONE);
        fill(&f, "file");
        int last = times(&f, "file");
        move("7", "old");
        move("8", "7");
        move("old", "8");
        for (int n = 0; n < FIRST; n++) {
            int now = times(&f, "file");
            assert_int_not_equal(now, last);
            last = now;
        }
        close_fixture(&f);
    }
}

/* An answer is not kept if the process names files that it must not name, or names none. */
static void test_names(void **state)
{
    static const char *const rows[] = {"none",  "lie",    "denial",  "link",
                                       "above", "beside", "nul",     "nothing",
                                       "half",  "object", "numbers", "file/big"};
    fixture f;
    (void)state;
    begin(&f, false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int first = times(&f, rows[i]);
        for (int n = 1; n < 8; n++) {
            if (times(&f, rows[i]) != first + n)
                fail_msg("%s: the answer was kept", rows[i]);
        }
    }
    close_fixture(&f);
}

/* The process decides what a caller with access rules may see. */
static void test_rules(void **state)
{
    fixture f;
    (void)state;
    begin(&f, true);
    for (int n = 1; n < 8; n++)
        assert_int_equal(times(&f, "file"), n);
    close_fixture(&f);
}

static void test_ends(void **state)
{
    fixture f;
    (void)state;
    begin(&f, false);
    fill(&f, "file");
    look(&f);
    uint64_t starts = f.starts;
    kill_process(&f);
    int64_t end = mcp_loop_now(f.loop) + WAIT_MS;
    while (f.pid > 0 && mcp_loop_now(f.loop) < end) {
        step(&f, 5);
        look(&f);
    }
    assert_int_equal(fill(&f, "file"), 1);
    look(&f);
    assert_int_equal(f.starts, starts + 1);
    close_fixture(&f);
}

/* Asks for file/0 to file/(n - 1) in turn. */
static void ask_in_turn(fixture *f, int n, int rounds)
{
    char what[40];
    for (int i = 0; i < n * rounds; i++) {
        snprintf(what, sizeof(what), "file/%d", i % n);
        times(f, what);
    }
}

/* As many answers are kept as there is room for, whatever their number. */
static void test_many(void **state)
{
    enum { MANY = 500 };
    fixture f;
    (void)state;
    begin(&f, false);
    ask_in_turn(&f, MANY, FIRST);
    look(&f);
    uint64_t before = f.answered;
    ask_in_turn(&f, MANY, 1);
    look(&f);
    assert_int_equal(f.answered - before, MANY);
    assert_in_range(f.kept, (size_t)MANY * 300, 4 << 20);
    close_fixture(&f);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t used; /* by the source, as far as the heap says it */

static void *add(void *ptr)
{
    enum { OWN = 8 };
    used += ptr ? malloc_usable_size(ptr) + OWN : 0;
    return ptr;
}

static void subtract(void *ptr)
{
    enum { OWN = 8 };
    used -= ptr ? malloc_usable_size(ptr) + OWN : 0;
}

static void *count_allocate(size_t size, void *user)
{
    (void)user;
    return add(malloc(size));
}

static void *count_resize(void *ptr, size_t size, void *user)
{
    (void)user;
    subtract(ptr);
    return add(realloc(ptr, size));
}

static void count_release(void *ptr, void *user)
{
    (void)user;
    subtract(ptr);
    free(ptr);
}

/* The memory of the answers is that which they take from the heap. */
static void test_bytes(void **state)
{
    static const mcp_allocator counting = {
        .allocate = count_allocate, .resize = count_resize, .release = count_release};
    enum { MANY = 300 };
    fixture f;
    (void)state;
    memory = &counting;
    begin(&f, false);
    fill(&f, "file/warm");
    look(&f);
    size_t before = used, kept = f.kept;
    ask_in_turn(&f, MANY, FIRST);
    look(&f);
    size_t grown = used - before;
    assert_in_range(f.kept - kept, grown * 9 / 10, grown * 6 / 5);
    close_fixture(&f);
    memory = NULL;
}

/* The answers that were not used for the longest time make room for others, but not for requests that
 * are made once. */
static void test_room(void **state)
{
    enum { ROOM = 32 << 10, TABLE = 48 << 10, FEW = 5, ENOUGH = 60 };
    fixture f;
    char what[40];
    (void)state;
    room = ROOM;
    begin(&f, false);
    fill(&f, "file/first");
    fill(&f, "file/second");
    int first = times(&f, "file/first"), second = times(&f, "file/second"), last = 0;
    for (int i = 0; i < 1000; i++) {
        snprintf(what, sizeof(what), "file/once/%d", i);
        last = times(&f, what);
    }
    assert_int_equal(times(&f, "file/second"), second);
    for (int i = 0; i < ENOUGH; i += FEW) {
        for (int n = i * (FIRST + 1); n < (i + FEW) * (FIRST + 1); n++) {
            snprintf(what, sizeof(what), "file/often/%d", n / (FIRST + 1));
            last = times(&f, what) > last ? last + 1 : last;
        }
        assert_int_equal(times(&f, "file/first"), first);
        look(&f);
        assert_in_range(f.kept, 1, ROOM + TABLE);
    }
    assert_int_equal(times(&f, "file/second"), last + 1);
    close_fixture(&f);
    room = 0;
}

/* ---- a generated history --------------------------------------------------------------------- */

enum { FILES = 6 };

/* Changes a file in one of the ways in which programs do. Most contents have the same length. */
static void change(const char *path, const char *other, int number)
{
    struct timespec past[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    unsigned way = dice(6);
    FILE *f = way == 0 ? NULL : fopen(way == 1 ? other : path, way == 2 ? "ae" : "we");
    if (way == 0) {
        unlink(path);
        return;
    }
    assert_non_null(f);
    fprintf(f, "%09d", number);
    fclose(f);
    if (way == 1)
        assert_int_equal(rename(other, path), 0);
    if (way == 3)
        assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
    if (way == 4)
        assert_int_equal(truncate(path, (off_t)dice(9)), 0);
}

/* The slow model: what the process would answer now. */
static void expected(const char *path, char text[110])
{
    char bytes[100];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
    if (f)
        fclose(f);
    snprintf(text, 110, "\"<%.*s>\"", (int)n, bytes);
}

static void become_old(const char *path)
{
    struct stat st;
    struct timespec now;
    do {
        if (stat(path, &st) != 0)
            return;
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec - st.st_ctim.tv_sec < 2 &&
             (now.tv_sec - st.st_ctim.tv_sec) * 1000000000 + now.tv_nsec - st.st_ctim.tv_nsec <
                 100000000);
}

/* Two callers read files while they change. Each answer is that of a read after the request. */
static void test_history(void **state)
{
    fixture f;
    mcp_channel *callers[2];
    char path[200], other[200], uri[100], text[110];
    (void)state;
    room = 12 << 10; /* for some of the answers */
    begin_in(&f, false, FOLDERS - 1);
    callers[0] = f.channel;
    connect_as(&f, "another");
    callers[1] = f.channel;
    snprintf(other, sizeof(other), "%s/%d/other", folders, FOLDERS - 1);
    for (int i = 0; i < 6000; i++) {
        unsigned file = dice(FILES) * dice(2); /* the first one more often */
        snprintf(path, sizeof(path), "%s/%d/h%u", folders, FOLDERS - 1, file);
        snprintf(uri, sizeof(uri), "mortal://m/content/h%u", file);
        unsigned what = dice(100);
        if (what < 4)
            change(path, other, i);
        if (what == 4)
            become_old(path);
        f.channel = callers[dice(2)];
        next_id = (next_id + 1) % IDS;
        f.answers[next_id] = 0;
        expected(path, text);
        has(ask_uri(&f, next_id, uri), text);
    }
    look(&f);
    assert_in_range(f.answered, 500, 5900);
    mcp_channel_free(callers[0]);
    f.channel = callers[1];
    close_fixture(&f);
    room = 0;
}

/* ---- no memory ------------------------------------------------------------------------------- */

static int until_failure = -1; /* number of allocations until one fails; less than 0 means never */

static void *allocate(size_t size, void *user)
{
    (void)user;
    return until_failure >= 0 && until_failure-- == 0 ? NULL : malloc(size);
}

static void *resize(void *ptr, size_t size, void *user)
{
    (void)user;
    return until_failure >= 0 && until_failure-- == 0 ? NULL : realloc(ptr, size);
}

static void release(void *ptr, void *user)
{
    (void)user;
    free(ptr);
}

/* A request fails, or its answer is not kept, if memory is exhausted. Later ones are not affected. If
 * an answer of the process is lost, the request fails after its time limit. */
static void test_no_memory(void **state)
{
    static const mcp_allocator failing = {
        .allocate = allocate, .resize = resize, .release = release};
    enum { LIMIT_MS = 5000 };
    bool failed = true;
    (void)state;
    memory = &failing;
    for (int n = 0; failed; n++) {
        fixture f;
        begin_with(&f, false, 0, LIMIT_MS);
        for (int i = 1; i <= 2; i++)
            has(ask_uri(&f, i, "mortal://m/count/file/also"), "asked ");
        until_failure = n;
        for (int i = 3; i <= 6; i++)
            has(ask_uri(&f, i, "mortal://m/count/file/also"), "\"id\"");
        failed = until_failure < 0;
        until_failure = -1;
        close_fixture(&f);
    }
    memory = NULL;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),    cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_rules),
        cmocka_unit_test(test_ends),    cmocka_unit_test(test_room),
        cmocka_unit_test(test_many),    cmocka_unit_test(test_history),
        cmocka_unit_test(test_changes), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_link),    cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_bytes),
    };
    char command[100];
    described = true;
    assert_non_null(mkdtemp(folders));
    for (int i = 0; i < ALL; i++) {
        snprintf(command, sizeof(command), "%s/%d", folders, i);
        assert_int_equal(mkdir(command, 0700), 0);
        run("echo 1 >f; mkdir d; echo 1 >d/f; ln -s d link; cp f g", i);
    }
    usleep(OLD_S * 1000000);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof(command), "rm -r %s", folders);
    return system(command) != 0 || failed;
}
