/* test_swap.c: a file or a folder is replaced by a link that leads outside while it is read, and
 * back. Files outside are never shown, at whatever moment this happens, neither with openat2 nor
 * with the walk for older kernels.
 *
 * The linker redirects the provider's system calls to this file (--wrap), so that a swap happens
 * exactly between two of them. There is no host, so everything happens within
 * mcp_channel_receive(). test_beneath.c swaps from another thread at random moments. */
#define _GNU_SOURCE
#include "files.h"
#include "tree.h"

#include <linux/openat2.h>
#include <mcp/sys/server.h>
#include <sys/syscall.h>

enum { ENOUGH = 1000, MAX_ROUNDS = 200000 };

/* ---- the swapped files ----------------------------------------------------------------------- */

enum { FILE_LEAF = 1, FOLDER = 2, SUBFOLDER = 4, PLACES = 3 };

static struct {
    tree t;
    /* descriptors of folders, so that a swap works while other parts of the path are links */
    int inside, folder;
    unsigned links; /* the places that are links at present */
} served;

/* All files outside are named "secret" and contain that word. */
static int make(void **state)
{
    tree *t = &served.t;
    (void)state;
    tree_make(t);
    tree_file(t, "outside", "secret");
    tree_file(t, "out/file", "secret");
    tree_file(t, "out/secret-name", "secret");
    tree_file(t, "out/sub/file", "secret");
    tree_file(t, "out/sub/secret-name", "secret");
    tree_file(t, "inside/target", "fine");
    tree_file(t, "inside/folder/file", "fine");
    tree_file(t, "inside/folder/sub/file", "fine");
    tree_link(t, "inside/target.link", "../outside");
    tree_link(t, "inside/folder.link", tree_at(t, "out"));
    tree_link(t, "inside/folder/sub.link", "../../out/sub");
    served.inside = open(tree_at(t, "inside"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    served.folder = open(tree_at(t, "inside/folder"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    served.links = 0;
    return served.inside < 0 || served.folder < 0 ? -1 : 0;
}

static int clean(void **state)
{
    (void)state;
    close(served.inside);
    close(served.folder);
    tree_remove(&served.t);
    return 0;
}

static void swap(unsigned place)
{
    static const struct {
        const char *name, *link;
    } names[PLACES] = {{"target", "target.link"}, {"folder", "folder.link"}, {"sub", "sub.link"}};
    unsigned i = place == FILE_LEAF ? 0 : place == FOLDER ? 1 : 2;
    int dir = place == SUBFOLDER ? served.folder : served.inside;
    if (renameat2(dir, names[i].name, dir, names[i].link, RENAME_EXCHANGE) != 0)
        abort();
    served.links ^= place;
}

/* ---- between the system calls ---------------------------------------------------------------- */

static struct {
    bool no_openat2;       /* simulates a kernel without openat2 */
    bool follows;          /* simulates a provider that follows links */
    void (*between)(void); /* called before each system call of a read; NULL outside of reads */
    unsigned steps;        /* number of system calls of this read */
    unsigned openat2;      /* number of those that used openat2 successfully */
} hook;

static void step(void)
{
    if (!hook.between)
        return;
    void (*between)(void) = hook.between;
    hook.between = NULL; /* the callback's own system calls are not part of the read */
    between();
    hook.between = between;
    hook.steps++;
}

int __real_openat(int dir, const char *path, int flags, ...);
int __real_fstatat(int dir, const char *path, struct stat *st, int flags);
int __real_fstat(int fd, struct stat *st);
ssize_t __real_pread(int fd, void *to, size_t len, off_t from);
long __real_syscall(long number, ...);

/* The provider creates no files, so the mode is always absent. */
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
    step();
    return __real_openat(dir, path, hook.follows ? flags & ~O_NOFOLLOW : flags);
}

/* With _FORTIFY_SOURCE, the compiler calls this function for an open without a mode. */
int __wrap___openat_2(int dir, const char *path, int flags);
int __wrap___openat_2(int dir, const char *path, int flags)
{
    return __wrap_openat(dir, path, flags);
}

int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags)
{
    step();
    return __real_fstatat(dir, path, st, flags);
}

int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
    step();
    return __real_fstat(fd, st);
}

ssize_t __wrap_pread(int fd, void *to, size_t len, off_t from);
ssize_t __wrap_pread(int fd, void *to, size_t len, off_t from)
{
    step();
    return __real_pread(fd, to, len, from);
}

static long call_openat2(int dir, const char *path, const struct open_how *how)
{
    struct open_how given = *how;
    if (hook.no_openat2) {
        errno = ENOSYS;
        return -1;
    }
    if (hook.follows)
        given.resolve = 0;
    long fd = __real_syscall(SYS_openat2, dir, path, &given, sizeof(given));
    hook.openat2 += fd >= 0;
    return fd;
}

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long arg[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        arg[i] = va_arg(args, long);
    va_end(args);
    step();
    if (number == SYS_openat2)
        return call_openat2((int)arg[0], (const char *)arg[1], (const struct open_how *)arg[2]);
    return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* ---- a server and its peer ------------------------------------------------------------------- */

typedef struct peer {
    mcp_server *server;
    mcp_channel *channel;
    char reply[16 << 10];
} peer;

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)channel, (void)exchange;
    assert_true(message.len < sizeof(p->reply));
    memcpy(p->reply, message.ptr, message.len);
    p->reply[message.len] = '\0';
}

static void peer_open(peer *p, bool walk)
{
    const char *source = tree_at(&served.t, "inside");
    hook.no_openat2 = walk;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1"),
                                    &p->server, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_files_mount(p->server,
                        MCP_OPTIONS(mcp_files_options, .sources = &source, .n_sources = 1), NULL),
        MCP_OK);
    assert_int_equal(mcp_server_connect(p->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                                        &p->channel, NULL),
                     MCP_OK);
}

static void peer_close(peer *p)
{
    mcp_channel_free(p->channel);
    mcp_server_free(p->server);
    hook.no_openat2 = hook.follows = false;
}

static const struct {
    const char *rel;
    unsigned places; /* the places on this path that may be swapped */
} reads[] = {
    {"/target", FILE_LEAF},
    {"/target?lines=1", FILE_LEAF},
    {"/folder/file", FOLDER},
    {"/folder/file?offset=1", FOLDER},
    {"/folder", FOLDER},
    {"?depth=3", FOLDER | SUBFOLDER},
    {"/folder/sub/file", FOLDER | SUBFOLDER},
    {"/folder/sub/file?tail=1", FOLDER | SUBFOLDER},
    {"/folder/sub", FOLDER | SUBFOLDER},
};
enum { READS = sizeof(reads) / sizeof(reads[0]) };

static void read_one(peer *p, size_t which, void (*between)(void))
{
    char message[1024];
    int len = snprintf(message, sizeof(message),
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{"
                       "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":{}},"
                       "\"uri\":\"file://%s/inside%s\"}}",
                       served.t.path, reads[which].rel);
    p->reply[0] = '\0';
    hook.steps = 0;
    hook.between = between;
    mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)len}, 0);
    hook.between = NULL;
    assert_non_null(strstr(p->reply, "\"id\":1"));
}

/* The results of a number of reads. */
typedef struct outcome {
    size_t rounds;
    /* reads during which a place on the path was swapped between two system calls */
    size_t swapped;
    size_t shown; /* reads that returned the contents inside */
    size_t refused;
    /* reads that began with plain files and folders, but returned the contents outside */
    size_t secret;
} outcome;

static void count(outcome *o, const peer *p, bool plain)
{
    bool refused = strstr(p->reply, "\"error\":") != NULL;
    o->rounds++;
    o->refused += refused;
    o->shown += !refused;
    if (strstr(p->reply, "secret"))
        o->secret += plain || !hook.follows;
}

static void check(const outcome *o)
{
    print_message("# %zu reads, %zu with a swap inside: %zu shown, %zu refused\n", o->rounds,
                  o->swapped, o->shown, o->refused);
    assert_int_equal(o->secret, 0);
    assert_true(o->swapped >= ENOUGH);
    assert_true(o->shown > 0);
    assert_true(o->refused > 0);
}

/* ---- swaps at chosen moments ----------------------------------------------------------------- */

static struct {
    uint32_t random;
    unsigned places; /* the places that were swapped after the first system call of the read */
} chosen;

static void swap_sometimes(void)
{
    if (tree_random(&chosen.random) % 3)
        return;
    unsigned place = 1u << tree_random(&chosen.random) % PLACES;
    swap(place);
    if (hook.steps > 0)
        chosen.places |= place;
}

/* Every other read begins with plain files and folders. The others begin with what the previous
 * read left. */
static void read_with_swaps(peer *p, outcome *o)
{
    while (o->swapped < 2 * ENOUGH && o->rounds < MAX_ROUNDS) {
        size_t which = o->rounds / 2 % READS;
        bool plain = o->rounds % 2 == 0;
        for (unsigned place = 1; plain && place < 1u << PLACES; place <<= 1)
            if (served.links & place)
                swap(place);
        chosen.places = 0;
        read_one(p, which, swap_sometimes);
        o->swapped += (chosen.places & reads[which].places) != 0;
        count(o, p, plain);
    }
}

static void test_between_calls(void **state)
{
    (void)state;
    for (int walk = 0; walk < 2; walk++) {
        peer p;
        outcome o = {0};
        chosen.random = 1;
        hook.openat2 = 0;
        peer_open(&p, walk);
        read_with_swaps(&p, &o);
        peer_close(&p);
        assert_true(!walk || hook.openat2 == 0);
        check(&o);
    }
}

/* With a provider that follows links, the same swaps do reveal the secret. So the test above can
 * detect an error. */
static void test_can_fail(void **state)
{
    (void)state;
    for (int walk = 0; walk < 2; walk++) {
        peer p;
        outcome o = {0};
        chosen.random = 1;
        peer_open(&p, walk);
        hook.follows = true;
        read_with_swaps(&p, &o);
        peer_close(&p);
        print_message("# %zu of %zu reads showed the secret\n", o.secret, o.rounds);
        assert_true(o.secret > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_between_calls, make, clean),
        cmocka_unit_test_setup_teardown(test_can_fail, make, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
