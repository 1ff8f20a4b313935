/* test_sandbox.c: what a process in the sandbox can still do. Each attempt runs in separate
 * processes, once outside, where it must succeed, and once inside. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/sys/children.h>

static char folder[] = "/tmp/mcp-sandbox-XXXXXX";
static char inside[64], outside[64], written[64];
static int inherited = -1; /* a descriptor of a socket */

/* Each attempt returns 0 or errno. */
typedef int attempt(void);

static int failed(long rc)
{
    return rc < 0 ? errno : 0;
}

static int open_path(const char *path, int flags)
{
    return failed(open(path, flags, 0600));
}

static int read_inside(void)
{
    return open_path(inside, O_RDONLY);
}

static int write_inside(void)
{
    return open_path(inside, O_WRONLY);
}

static int write_written(void)
{
    return open_path(written, O_WRONLY);
}

static int read_outside(void)
{
    return open_path(outside, O_RDONLY);
}

static int truncate_outside(void)
{
    return failed(truncate(outside, 0));
}

static int create(void)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/new", folder);
    return open_path(path, O_CREAT | O_WRONLY);
}

static int by_link(void)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/link", folder);
    return open_path(path, O_RDONLY);
}

static int read_passwd(void)
{
    return open_path("/etc/passwd", O_RDONLY);
}

static int read_parent(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)getppid());
    return open_path(path, O_RDONLY);
}

static int read_parent_memory(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)getppid());
    return open_path(path, O_RDONLY);
}

static int own_descriptors(void)
{
    return open_path("/proc/self/fd", O_RDONLY | O_DIRECTORY);
}

static int tcp(void)
{
    return failed(socket(AF_INET, SOCK_STREAM, 0));
}

static int unix_socket(void)
{
    return failed(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int pair(void)
{
    int ends[2];
    return failed(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

static int make_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return failed(pid);
}

static int make_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0)
        _exit(0);
    return failed(pid);
}

static int program(void)
{
    char name[] = "true";
    char *const argv[] = {name, NULL}, *const env[] = {NULL};
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    execve("/bin/true", argv, env); /* exit status 0 */
    return errno;
}

static int signal_parent(void)
{
    return failed(kill(getppid(), 0));
}

static int signal_by_descriptor(void)
{
    return failed(fcntl(inherited, F_SETOWN, getppid()));
}

static int raise_limit(void)
{
    struct rlimit l;
    return failed(syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, &l));
}

static int namespace(void)
{
    return failed(unshare(CLONE_NEWUSER));
}

static int memory_file(void)
{
    return failed(memfd_create("x", 0));
}

static int send_descriptor(void)
{
    char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    int fd = 0;
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    return failed(sendmsg(inherited, &m, 0));
}

static int write_socket(void)
{
    return failed(write(inherited, "x", 1));
}

static void *nothing(void *arg)
{
    return arg;
}

static int thread(void)
{
    pthread_t id;
    int rc = pthread_create(&id, NULL, nothing, NULL);
    return rc ? rc : pthread_join(id, NULL);
}

static int library(void)
{
    return open_path("/etc/ld.so.cache", O_RDONLY);
}

/* ---- memory that RLIMIT_DATA does not count, threads, machines ----------------------------------- */

static int map(int flags)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ? errno : 0;
}

static int map_private(void)
{
    return map(MAP_PRIVATE | MAP_ANONYMOUS);
}

static int map_library(void)
{
    int fd = open("/etc/ld.so.cache", O_RDONLY);
    return mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? errno : 0;
}

static int map_shared(void)
{
    return map(MAP_SHARED | MAP_ANONYMOUS);
}

static int map_stack(void)
{
    return map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN);
}

static int enlarge_map(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mremap(p, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED ? errno : 0;
}

/* glibc enlarges large blocks by mremap(), and has to do without it. */
static int enlarge_block(void)
{
    char *p = malloc(1 << 20), *grown = p ? (p[99] = 'x', realloc(p, 8 << 20)) : NULL;
    return grown && grown[99] == 'x' ? 0 : ENOMEM;
}

static int read_limits(void)
{
    struct rlimit l;
    return failed(getrlimit(RLIMIT_DATA, &l));
}

static int set_own_limit(void)
{
    struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(RLIMIT_DATA, &l);
    return failed(syscall(SYS_prlimit64, 0, RLIMIT_DATA, &l, NULL));
}

/* Where no file may be read, inotify would still tell the names of those that others use. */
static int watch_names(void)
{
    int fd = inotify_init1(0);
    return fd < 0 ? errno : failed(inotify_add_watch(fd, folder, IN_ALL_EVENTS));
}

static int parent_by_socket(void)
{
    int fd = -1;
    socklen_t size = sizeof(fd);
    return failed(getsockopt(inherited, SOL_SOCKET, 77 /* SO_PEERPIDFD */, &fd, &size));
}

static int kind_of_socket(void)
{
    int type = 0;
    socklen_t size = sizeof(type);
    return failed(getsockopt(inherited, SOL_SOCKET, SO_TYPE, &type, &size));
}

/* Only the text of the link is read, and the path's existence is no secret. */
static int reopen_path(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", open(outside, O_PATH));
    return open_path(path, O_RDONLY);
}

static int cwd_of_parent(void)
{
    char path[64], text[64];
    snprintf(path, sizeof(path), "/proc/%d/cwd", (int)getppid());
    return failed(readlink(path, text, sizeof(text)));
}

static int run_asleep(void *arg)
{
    (void)arg;
    return pause();
}

static int thread_of_another_network(void)
{
    static char stack[16384];
    return failed(clone(run_asleep, stack + sizeof(stack),
                        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SYSVSEM |
                            CLONE_THREAD | CLONE_NEWNET,
                        NULL));
}

#ifdef __x86_64__
static int x32(void)
{
    return failed(syscall(0x40000000 | SYS_getpid));
}

static int i386(void)
{
    int rc = 0;
    __asm__ volatile("int $0x80" : "=a"(rc) : "a"(20 /* getpid */) : "memory");
    return rc < 0 ? -rc : 0;
}
#endif

static const struct {
    const char *name;
    attempt *run;
    unsigned needs; /* the kinds of restriction that forbid it; 0 if it is allowed */
    bool outside;   /* whether it works outside, which depends on the machine */
} attempts[] = {
    {"read inside", read_inside, 0, true},
    {"write where it may", write_written, 0, true},
    {"threads", thread, 0, true},
    {"the linker's cache", library, 0, true},
    {"the socket that it has", write_socket, 0, true},
    {"write inside", write_inside, MCP_SANDBOX_FILES, true},
    {"read outside", read_outside, MCP_SANDBOX_FILES, true},
    {"empty a file outside", truncate_outside, MCP_SANDBOX_TRUNCATE | MCP_SANDBOX_CALLS, true},
    {"create a file", create, MCP_SANDBOX_FILES, true},
    {"follow a link to the outside", by_link, MCP_SANDBOX_FILES, true},
    {"/etc/passwd", read_passwd, MCP_SANDBOX_FILES, true},
    {"/proc of the parent", read_parent, MCP_SANDBOX_FILES, true},
    {"the parent's memory map", read_parent_memory, MCP_SANDBOX_FILES, false},
    {"its own descriptors by name", own_descriptors, MCP_SANDBOX_FILES, true},
    {"an internet socket", tcp, MCP_SANDBOX_CALLS, true},
    {"a Unix socket", unix_socket, MCP_SANDBOX_CALLS, true},
    {"a pair of sockets", pair, MCP_SANDBOX_CALLS, true},
    {"fork", make_process, MCP_SANDBOX_CALLS, true},
    {"vfork", make_vfork, MCP_SANDBOX_CALLS, true},
    {"exec", program, MCP_SANDBOX_FILES | MCP_SANDBOX_CALLS, true},
    {"signal the parent", signal_parent, MCP_SANDBOX_SIGNALS | MCP_SANDBOX_CALLS, true},
    {"signals by a descriptor", signal_by_descriptor, MCP_SANDBOX_CALLS, true},
    {"the parent's limits", raise_limit, MCP_SANDBOX_CALLS, false},
    {"a namespace", namespace, MCP_SANDBOX_CALLS, false},
    {"a file in memory", memory_file, MCP_SANDBOX_CALLS, true},
    {"pass a descriptor on", send_descriptor, MCP_SANDBOX_CALLS, true},
    {"private memory", map_private, 0, true},
    {"a shared map of a file", map_library, 0, true},
    {"a larger block", enlarge_block, 0, true},
    {"read its limits", read_limits, 0, true},
    {"the kind of its socket", kind_of_socket, 0, true},
    {"shared memory without a file", map_shared, MCP_SANDBOX_CALLS, true},
    {"memory counted as a stack", map_stack, MCP_SANDBOX_CALLS, true},
    {"enlarge a map, perhaps its stack", enlarge_map, MCP_SANDBOX_CALLS, true},
    {"set its limits", set_own_limit, MCP_SANDBOX_CALLS, true},
    {"names of files by inotify", watch_names, MCP_SANDBOX_CALLS, true},
    {"the parent by its socket", parent_by_socket, MCP_SANDBOX_CALLS, false},
    {"an O_PATH descriptor opened again", reopen_path, MCP_SANDBOX_FILES, true},
    {"where the parent is", cwd_of_parent, MCP_SANDBOX_FILES, true},
    {"a thread of another network", thread_of_another_network, MCP_SANDBOX_CALLS, false},
#ifdef __x86_64__
    {"x32", x32, MCP_SANDBOX_CALLS, false},
    {"i386", i386, MCP_SANDBOX_CALLS, false},
#endif
};

static unsigned available(void)
{
    mcp_sandbox_part part = {.size = sizeof(part)};
    unsigned kinds = 0;

    for (size_t i = 0; mcp_sandbox_probe(i, &part) == MCP_OK; i++) {
        assert_true(part.name[0] && part.without[0]);
        if (part.given)
            kinds |= part.kind;
    }
    return kinds;
}

static void enter(void)
{
    const char *const read[] = {inside, "/no/such/path", NULL};
    const char *const write[] = {written, NULL};
    unsigned kinds = 0;
    mcp_error error;

    if (mcp_sandbox_enter(MCP_OPTIONS(mcp_sandbox_options, .read = read, .write = write), &kinds,
                          &error) != MCP_OK) {
        fprintf(stderr, "%s\n", error.text);
        _exit(255);
    }
}

/* Runs the attempt in a process and returns its exit status, which is errno. */
static int try(attempt *run, bool in)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (in)
            enter();
        _exit(run() & 0xff);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

static void touch(char *path, size_t room, const char *name)
{
    snprintf(path, room, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "text", 4), 4);
    close(fd);
}

static void clean(void)
{
    const char *const names[] = {"inside", "outside", "written", "link", "new"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[80];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void test_attempts(void **state)
{
    char link[80];
    int ends[2];
    unsigned kinds = available();

    (void)state;
    assert_non_null(mkdtemp(folder));
    touch(inside, sizeof(inside), "inside");
    touch(outside, sizeof(outside), "outside");
    touch(written, sizeof(written), "written");
    snprintf(link, sizeof(link), "%s/link", folder);
    assert_int_equal(symlink(outside, link), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    inherited = ends[0];
    bool good = true;
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        int out = try(attempts[i].run, false), in = try(attempts[i].run, true);
        bool forbidden = (attempts[i].needs & kinds) != 0;
        if ((out != 0 && attempts[i].outside) || (forbidden && in == 0) || in == 255 ||
            (!attempts[i].needs && in != 0)) {
            print_error("%s: outside %d, inside %d\n", attempts[i].name, out, in);
            good = false;
        }
    }
    clean();
    assert_true(good);
}

static void test_required(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(mcp_sandbox_enter(MCP_OPTIONS(mcp_sandbox_options, .required = 1 << 20), NULL,
                                NULL) == MCP_EUNSUPPORTED
                  ? 7
                  : 1);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(mcp_sandbox_enter(NULL, NULL, NULL), MCP_EINVAL);
    assert_int_equal(mcp_sandbox_probe(0, NULL), MCP_EINVAL);
    assert_int_equal(mcp_sandbox_probe(99, NULL), MCP_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_required),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
