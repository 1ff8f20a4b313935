/* Blocks of a pack that stays open are read once for what is close together. */
#define _GNU_SOURCE
#include "repository.h"

#include <fcntl.h>
#include <unistd.h>

#include "inflate.h"

enum { SIZE = 3 * REPO_INFLATE_BLOCK };

static void write_file(int fd, char c)
{
    char bytes[SIZE];
    memset(bytes, c, sizeof(bytes));
    assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), SIZE);
}

/* Returns the first byte at an offset. */
static char near(repo_inflate *i, int fd, uint64_t at)
{
    assert_int_equal(repo_inflate_begin_near(i, fd, at, SIZE), MCP_OK);
    mcp_str raw = repo_inflate_raw(i);
    assert_true(raw.len >= 64 || at + raw.len == SIZE);
    assert_int_equal(repo_inflate_position(i), at);
    return *raw.ptr;
}

static void test_blocks(void **state)
{
    char names[2][192];
    int fd[2];
    repo_inflate i;
    (void)state;
    for (int k = 0; k < 2; k++) {
        snprintf(names[k], sizeof(names[k]), "%s/block%d", top, k);
        fd[k] = open(names[k], O_RDWR | O_CREAT, 0600);
        assert_true(fd[k] >= 0);
        write_file(fd[k], (char)('a' + k));
    }
    const mcp_allocator alloc = common_allocator(NULL);
    repo_inflate_init(&i, &alloc);
    assert_int_equal(near(&i, fd[0], 5000), 'a');
    write_file(fd[0], 'c');
    /* around it the block is used again, before and after; elsewhere and in another file it is not */
    assert_int_equal(near(&i, fd[0], 5100), 'a');
    assert_int_equal(near(&i, fd[0], REPO_INFLATE_PAGE), 'a');
    assert_int_equal(near(&i, fd[1], 5000), 'b');
    assert_int_equal(near(&i, fd[0], 5000), 'c');
    write_file(fd[0], 'd');
    assert_int_equal(near(&i, fd[0], REPO_INFLATE_PAGE - 1), 'd');
    write_file(fd[0], 'e');
    assert_int_equal(near(&i, fd[0], REPO_INFLATE_BLOCK - 10), 'e');
    assert_int_equal(near(&i, fd[0], SIZE - 1), 'e');
    /* a block that was read otherwise may be of a descriptor that another file has now */
    assert_int_equal(repo_inflate_begin(&i, fd[0], 5000, SIZE), MCP_OK);
    write_file(fd[0], 'f');
    assert_int_equal(near(&i, fd[0], 5000), 'f');
    /* the end */
    assert_int_equal(repo_inflate_begin_near(&i, fd[0], SIZE, SIZE), MCP_EIO);
    assert_int_equal(ftruncate(fd[0], 100), 0);
    assert_int_equal(repo_inflate_begin_near(&i, fd[0], 3 * REPO_INFLATE_PAGE, SIZE), MCP_EIO);
    repo_inflate_free(&i);
    close(fd[0]);
    close(fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks)};
    return cmocka_run_group_tests(tests, setup_top, teardown_top);
}
