/* test_journal_kills.c: processes are killed while they append, and several append at once. The journal is whole
 * afterwards, and has every entry that was confirmed. */
#include "diary.h"
#include "dice.h"

#include <signal.h>
#include <sys/wait.h>

enum { KILLS = 200, TEXT = 200000 };

static diary d;

static int set_up(void **state)
{
    (void)state;
    diary_make(&d, 256 * MIB);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    diary_remove(&d);
    return 0;
}

static void make_text(unsigned seed, char *to, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (char)('a' + (seed + i) % 26);
}

/* What a child says about an entry that begin() has confirmed. */
typedef struct confirmed {
    char id[EDITING_ENTRY_ID_SIZE];
    unsigned seed, len;
} confirmed;

static void append_always(int to, unsigned seed, unsigned times)
{
    static char text[TEXT];
    editing_journal *j = NULL;
    chance = seed * 7919 + 1;
    if (editing_journal_open(diary_folder(&d), 256 * MIB, NULL, &j, NULL) != MCP_OK)
        _exit(1);
    while (times-- > 0) {
        confirmed c = {.seed = seed, .len = dice(TEXT)};
        make_text(seed, text, c.len);
        int fd = memfd_create("old", MFD_CLOEXEC);
        editing_entry e = entry_of("/a", c.len);
        if (write(fd, text, c.len) != (ssize_t)c.len ||
            editing_journal_begin(j, &e, fd, NOW, NULL) != MCP_OK)
            _exit(2);
        memcpy(c.id, e.id, sizeof(c.id));
        if (write(to, &c, sizeof(c)) != sizeof(c) ||
            editing_journal_end(j, e.id, true, MCP_STR("v")) != MCP_OK)
            _exit(3);
        close(fd);
    }
    _exit(0);
}

static void check(const confirmed *c)
{
    static char text[TEXT];
    bool same;
    make_text(c->seed, text, c->len);
    assert_non_null(find(c->id));
    assert_int_equal(old_is(&d, c->id, text, c->len, &same), MCP_OK);
    assert_true(same);
}

static pid_t start(int *from, unsigned seed, unsigned times)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        append_always(ends[1], seed, times);
    close(ends[1]);
    *from = ends[0];
    return child;
}

static size_t read_confirmed(int from, confirmed *to, size_t most)
{
    size_t n = 0;
    while (n < most && read(from, &to[n], sizeof(*to)) == sizeof(*to))
        n++;
    return n;
}

/* Does nothing for a random time, so that the child is somewhere. */
static void turn(unsigned most)
{
    for (volatile unsigned i = dice(most); i > 0; i--)
        ;
}

static void test_killed(void **state)
{
    static confirmed list[SEEN_MAX];
    size_t n = 0;
    size_t torn = 0;
    uint64_t before = 0;
    (void)state;
    for (unsigned i = 0; i < KILLS; i++) {
        int from;
        char last[4096];
        pid_t child = start(&from, i, UINT32_MAX);
        size_t fresh = read_confirmed(from, list + n, 1 + dice(3));
        turn(400000);
        kill(child, SIGKILL);
        fresh += read_confirmed(from, list + n + fresh, SEEN_MAX - n - fresh);
        waitpid(child, NULL, 0);
        close(from);
        look(&d);
        assert_int_equal(all_damaged, 0);
        for (size_t k = n; k < n + fresh; k++)
            check(&list[k]);
        n += fresh;
        assert_true(all_count >= n && all_count <= n + i + 1);
        segments(&d, &before, last);
        end_well(&d, list[n - 1].id); /* cuts off what is torn */
        uint64_t after;
        segments(&d, &after, last);
        torn += after < before;
        look(&d);
        assert_int_equal(all_damaged, 0);
    }
    for (size_t k = 0; k < n; k++)
        check(&list[k]);
    print_message("# %zu entries confirmed, %zu found, %zu torn\n", n, all_count, torn);
}

static void test_several(void **state)
{
    enum { CHILDREN = 3, EACH = 100 };
    static confirmed list[CHILDREN * EACH];
    int from[CHILDREN];
    pid_t children[CHILDREN];
    size_t n = 0;
    (void)state;
    for (unsigned i = 0; i < CHILDREN; i++)
        children[i] = start(&from[i], i + 1, EACH);
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        n += read_confirmed(from[i], list + n, EACH);
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
        close(from[i]);
    }
    assert_int_equal(n, CHILDREN * EACH);
    assert_int_equal(look(&d), n);
    assert_int_equal(all_damaged, 0);
    for (size_t k = 0; k < n; k++) {
        check(&list[k]);
        assert_true(find(list[k].id)->happened);
    }
}

int main(void)
{
    cmocka_set_test_filter(getenv("ONLY"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
