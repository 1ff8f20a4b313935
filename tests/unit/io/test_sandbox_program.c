/* test_sandbox_program.c: what a program of others can do in the sandbox, and what its broker does for
 * it. Each attempt runs in separate processes, once outside, where it must succeed, and once inside.
 * test_sandbox_table.c makes all system calls; here are those whose arguments matter. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/sys/children.h>

static char folder[] = "/tmp/mcp-sandboxed-XXXXXX";
static char outside[64], readable[64], writable[64], own[64], link_out[80];
static pid_t victim;
static int shared = -1, queue = -1, semaphores = -1;
static char queue_name[40];

/* Each attempt returns 0 or errno. */
typedef int attempt(void);

static int failed(long rc)
{
    return rc < 0 ? errno : 0;
}

/* ---- other processes ----------------------------------------------------------------------------- */

static int limit_victim(void)
{
    struct rlimit l;
    int rc = prlimit(victim, RLIMIT_NOFILE, NULL, &l);
    return failed(rc < 0 ? rc : prlimit(victim, RLIMIT_NOFILE, &l, NULL));
}

static int read_limit(void)
{
    struct rlimit l;
    return failed(prlimit(victim, RLIMIT_NOFILE, NULL, &l));
}

static int own_limit(void)
{
    struct rlimit l;
    int rc = getrlimit(RLIMIT_NOFILE, &l);
    return failed(rc < 0 ? rc : setrlimit(RLIMIT_NOFILE, &l));
}

static int priority_of_victim(void)
{
    return failed(setpriority(PRIO_PROCESS, (id_t)victim, 0));
}

static int priority_of_user(void)
{
    return failed(getpriority(PRIO_USER, 0));
}

static int priority_of_group(void)
{
    return failed(setpriority(PRIO_PGRP, 0, 0));
}

static int own_priority(void)
{
    return failed(setpriority(PRIO_PROCESS, 0, 1));
}

static int processors_of_victim(void)
{
    cpu_set_t set;
    int rc = sched_getaffinity(0, sizeof(set), &set);
    return failed(rc < 0 ? rc : sched_setaffinity(victim, sizeof(set), &set));
}

static int own_processors(void)
{
    cpu_set_t set;
    int rc = sched_getaffinity(0, sizeof(set), &set);
    return failed(rc < 0 ? rc : sched_setaffinity(0, sizeof(set), &set));
}

static int schedule_of_victim(void)
{
    struct sched_param p = {0};
    return failed(sched_setscheduler(victim, SCHED_OTHER, &p));
}

static int io_priority_of_victim(void)
{
    return failed(syscall(SYS_ioprio_set, 1, victim, 2 << 13 | 4));
}

static int own_io_priority(void)
{
    return failed(syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 4));
}

static int session_of_victim(void)
{
    return failed(getsid(victim));
}

static int signal_victim(void)
{
    return failed(kill(victim, 0));
}

static int signal_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        return pause();
    int rc = failed(kill(pid, SIGKILL)), status = 0;
    waitpid(pid, &status, 0);
    return rc ? rc : WTERMSIG(status) == SIGKILL ? 0 : ECHILD;
}

static int handle_of_victim(void)
{
    return failed(syscall(SYS_pidfd_open, victim, 0));
}

static int clock_of_victim(void)
{
    struct timespec t;
    clockid_t clock;
    int rc = clock_getcpuclockid(victim, &clock);
    return rc ? rc : failed(clock_gettime(clock, &t));
}

static int own_clocks(void)
{
    struct timespec t;
    clockid_t clock;
    int rc = pthread_getcpuclockid(pthread_self(), &clock);
    return rc ? rc : failed(syscall(SYS_clock_gettime, clock, &t));
}

static int child_of_parent(void)
{
    long rc = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (rc == 0)
        _exit(0);
    return failed(rc);
}

static int shared_memory(void)
{
    return shmat(shared, NULL, SHM_RDONLY) == (void *)-1 ? errno : 0;
}

static int message_queue(void)
{
    struct msqid_ds q;
    return failed(msgctl(queue, IPC_STAT, &q));
}

static int semaphore(void)
{
    return failed(semctl(semaphores, 0, GETVAL));
}

static int posix_queue(void)
{
    return failed(syscall(SYS_mq_open, queue_name + 1, O_RDONLY, 0, 0));
}

/* ---- files ---------------------------------------------------------------------------------------- */

static int watch_names(void)
{
    int fd = inotify_init1(0);
    return fd < 0 ? errno : failed(inotify_add_watch(fd, outside, IN_ALL_EVENTS));
}

static int watch_folder(void)
{
    return failed(fcntl(open("/usr", O_RDONLY), F_NOTIFY, DN_CREATE | DN_DELETE));
}

static int lease(void)
{
    return failed(fcntl(open(readable, O_RDONLY), F_SETLEASE, F_RDLCK));
}

static int flags_of_file(void)
{
    int flags = 0, fd = open(readable, O_RDONLY);
    (void)ioctl(fd, FS_IOC_GETFLAGS, &flags);
    return failed(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static int terminal_input(void)
{
    return failed(ioctl(0, TIOCSTI, ""));
}

static int set_attribute(void)
{
    return failed(setxattr(outside, "user.x", "x", 1, 0));
}

static int list_attributes(void)
{
    return failed(listxattr(outside, NULL, 0));
}

static int mode_outside(void)
{
    return failed(chmod(outside, 0600));
}

static int mode_of_readable(void)
{
    return failed(chmod(readable, 0600));
}

static int mode_of_descriptor(void)
{
    return failed(fchmod(open(readable, O_RDONLY), 0600));
}

static int mode_by_proc(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", open(readable, O_RDONLY));
    return failed(chmod(path, 0600));
}

static int mode_by_link(void)
{
    return failed(chmod(link_out, 0600));
}

static int mode_by_dots(void)
{
    return chdir(writable) < 0 ? errno : failed(chmod("../outside", 0600));
}

static int mode_by_folder(void)
{
    return failed(fchmodat(open(writable, O_RDONLY), "../outside", 0600, 0));
}

static int mode_above(void)
{
    return chdir(writable) < 0 ? errno : failed(chmod("..", 0700));
}

/* The name of the folder that may be written is only the beginning of this one. */
static int mode_beside(void)
{
    char path[80];
    snprintf(path, sizeof(path), "%s-2", writable);
    return failed(chmod(path, 0700));
}

static int mode_of_deleted(void)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/deleted", writable);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    unlink(path);
    return failed(fchmod(fd, 0600));
}

static int times_outside(void)
{
    return failed(utimensat(AT_FDCWD, outside, NULL, 0));
}

static int times_of_descriptor(void)
{
    return failed(futimens(open(readable, O_RDONLY), NULL));
}

static int times_of_null(void)
{
    return failed(futimens(open("/dev/null", O_WRONLY), NULL));
}

static int owner_outside(void)
{
    return failed(chown(outside, geteuid(), getegid()));
}

static int owner_of_descriptor(void)
{
    return failed(fchown(open(readable, O_RDONLY), geteuid(), getegid()));
}

/* ---- files that others would run with the rights of this user -------------------------------------- */

static const char *fresh(const char *name)
{
    static char path[96];
    snprintf(path, sizeof(path), "%s/%s-%d", writable, name, (int)getpid());
    return path;
}

static int link_inside(void)
{
    return failed(link(readable, fresh("hard")));
}

static int set_user_id(void)
{
    return failed(chmod(own, 04700));
}

static int set_group_id(void)
{
    return failed(fchmod(open(own, O_RDONLY), 02700));
}

static int create_set_id(void)
{
    return failed(open(fresh("open"), O_CREAT | O_WRONLY, 04700));
}

static int create_unnamed(void)
{
    return failed(open(writable, O_TMPFILE | O_WRONLY, 02700));
}

static int make_node(void)
{
    return failed(mknod(fresh("node"), S_IFREG | 06700, 0));
}

/* ---- sockets, the filter ----------------------------------------------------------------------------- */

static int pair_of(int type)
{
    int ends[2];
    return failed(socketpair(AF_UNIX, type, 0, ends));
}

static int datagrams(void)
{
    return pair_of(SOCK_DGRAM);
}

static int streams(void)
{
    return pair_of(SOCK_STREAM | SOCK_CLOEXEC);
}

static int unix_socket(void)
{
    return failed(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int internet(void)
{
    return failed(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int routes(void)
{
    return failed(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
}

static int events(void)
{
    return failed(socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT));
}

/* A filter of its own could let the kernel continue calls of the broker. */
static int second_filter(void)
{
    return failed(prctl(PR_SET_SECCOMP, 1, 0, 0, 0));
}

static int trace_me(void)
{
    return failed(prctl(PR_SET_PTRACER, (unsigned long)victim, 0, 0, 0));
}

static int new_namespace(void)
{
    long rc = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (rc == 0)
        _exit(0);
    return failed(rc);
}

/* ---- what the broker does ------------------------------------------------------------------------------ */

static int mode_is(const char *path, mode_t mode)
{
    struct stat st;
    return stat(path, &st) < 0 ? errno : (st.st_mode & 07777) == mode ? 0 : EDOM;
}

static int by_path(void)
{
    int rc = failed(chmod(own, 0640));
    return rc ? rc : mode_is(own, 0640);
}

static int by_descriptor(void)
{
    int fd = open(own, O_RDONLY), rc = failed(fchmod(fd, 0604));
    return rc ? rc : mode_is(own, 0604);
}

static int by_relative_path(void)
{
    int rc = failed(chdir(folder));
    rc = rc ? rc : failed(chmod("writable/../writable/./file", 0660));
    return rc ? rc : mode_is(own, 0660);
}

static int by_folder(void)
{
    int rc = failed(fchmodat(open(writable, O_RDONLY | O_DIRECTORY), "file", 0606, 0));
    return rc ? rc : mode_is(own, 0606);
}

static int by_link(void)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/to-file", writable);
    int rc = failed(chmod(path, 0620));
    return rc ? rc : mode_is(own, 0620);
}

static int by_proc(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", open(own, O_RDONLY));
    int rc = failed(chmod(path, 0602));
    return rc ? rc : mode_is(own, 0602);
}

static int of_folder(void)
{
    int rc = failed(chmod(writable, 01700));
    rc = rc ? rc : mode_is(writable, 01700);
    return rc ? rc : failed(chmod(writable, 0700));
}

static int times_are_set(void)
{
    const struct timespec times[2] = {{1, 2}, {3, 4}};
    struct stat st;
    int rc = failed(utimensat(AT_FDCWD, own, times, 0));
    rc = rc ? rc : failed(stat(own, &st));
    return rc ? rc : st.st_mtim.tv_sec == 3 && st.st_mtim.tv_nsec == 4 ? 0 : EDOM;
}

/* The link itself, whose target is outside. */
static int times_of_link(void)
{
    const struct timespec times[2] = {{1, 0}, {5, 0}};
    struct stat st;
    int rc = failed(utimensat(AT_FDCWD, link_out, times, AT_SYMLINK_NOFOLLOW));
    rc = rc ? rc : failed(lstat(link_out, &st));
    return rc ? rc : st.st_mtim.tv_sec == 5 ? 0 : EDOM;
}

static int times_by_descriptor(void)
{
    return failed(futimens(open(own, O_RDONLY), NULL));
}

static int owner_stays(void)
{
    int rc = failed(chown(own, geteuid(), getegid()));
    rc = rc ? rc : failed(lchown(link_out, (uid_t)-1, getegid()));
    return rc ? rc : failed(fchown(open(own, O_RDONLY), (uid_t)-1, (gid_t)-1));
}

/* Inside, nobody has the right to give files away. */
static int give_away(void)
{
    int rc = failed(chown(own, 12345, (gid_t)-1));
    return rc ? rc : failed(chown(own, geteuid(), (gid_t)-1));
}

static int missing_file(void)
{
    return chmod(fresh("missing"), 0600) < 0 && errno == ENOENT ? 0 : EDOM;
}

static int bad_arguments(void)
{
    if (syscall(SYS_fchmodat, AT_FDCWD, NULL, 0600) == 0 || errno != EFAULT)
        return EDOM;
    if (syscall(SYS_fchmod, -1, 0600) == 0 || errno != EBADF)
        return EDOM;
    if (syscall(SYS_fchownat, AT_FDCWD, own, -1, -1, 1 << 20) == 0 || errno != EINVAL)
        return EDOM;
    if (syscall(SYS_utimensat, AT_FDCWD, own, 8, 0) == 0 || errno != EFAULT)
        return EDOM;
    if (syscall(SYS_fchmodat, AT_FDCWD, "", 0600) == 0 || errno != ENOENT)
        return EDOM;
    char *big = malloc(9000);
    memset(big, 'x', 8999);
    big[8999] = 0;
    return chmod(big, 0600) < 0 && errno == ENAMETOOLONG ? 0 : EDOM;
}

/* A path that ends just before memory that does not exist. */
static int path_at_edge(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), len = strlen(own) + 1;
    char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || munmap(map + page, page) < 0)
        return errno;
    char *text = map + page - len;
    memcpy(text, own, len);
    return failed(chmod(text, 0600));
}

/* A process whose parents have ended is still below the broker. */
static int orphan(void)
{
    int ends[2], rc = EPIPE;
    if (pipe(ends) < 0)
        return errno;
    pid_t child = fork();
    if (child == 0) {
        pid_t first = getpid();
        if (fork() > 0)
            _exit(0);
        while (getppid() == first)
            sched_yield();
        rc = by_path();
        _exit(write(ends[1], &rc, sizeof(rc)) != sizeof(rc));
    }
    close(ends[1]);
    waitpid(child, NULL, 0);
    return read(ends[0], &rc, sizeof(rc)) == sizeof(rc) ? rc : EPIPE;
}

/* ---- the attempts --------------------------------------------------------------------------------------- */

enum { NETWORK = 1, MAYBE_OUTSIDE = 2, NOT_OUTSIDE = 4 };

static const struct {
    const char *name;
    attempt *run;
    int inside; /* the error inside; 0: it works */
    int flags;
} attempts[] = {
    {"limits of another process", limit_victim, ENOSYS, 0},
    {"read limits of another process", read_limit, ENOSYS, 0},
    {"own limits", own_limit, 0, 0},
    {"priority of another process", priority_of_victim, ENOSYS, 0},
    {"priority of all processes of the user", priority_of_user, ENOSYS, 0},
    {"priority of the group", priority_of_group, ENOSYS, 0},
    {"own priority", own_priority, 0, 0},
    {"processors of another process", processors_of_victim, ENOSYS, 0},
    {"own processors", own_processors, 0, 0},
    {"schedule of another process", schedule_of_victim, ENOSYS, 0},
    {"I/O priority of another process", io_priority_of_victim, ENOSYS, 0},
    {"own I/O priority", own_io_priority, 0, 0},
    {"session of another process", session_of_victim, ENOSYS, 0},
    {"signal another process", signal_victim, EPERM, 0},
    {"signal a child", signal_child, 0, 0},
    {"handle of another process", handle_of_victim, ENOSYS, 0},
    {"CPU clock of another process", clock_of_victim, ENOSYS, 0},
    {"own CPU clock", own_clocks, 0, 0},
    {"a child of the parent", child_of_parent, ENOSYS, 0},
    {"System V shared memory", shared_memory, ENOSYS, 0},
    {"System V queue", message_queue, ENOSYS, 0},
    {"System V semaphores", semaphore, ENOSYS, 0},
    {"POSIX queue", posix_queue, ENOSYS, MAYBE_OUTSIDE},
    {"inotify", watch_names, ENOSYS, 0},
    {"dnotify", watch_folder, ENOSYS, MAYBE_OUTSIDE},
    {"a lease", lease, ENOSYS, MAYBE_OUTSIDE},
    {"flags of a file", flags_of_file, ENOSYS, MAYBE_OUTSIDE},
    {"input for a terminal", terminal_input, ENOSYS, MAYBE_OUTSIDE},
    {"set an attribute", set_attribute, EOPNOTSUPP, MAYBE_OUTSIDE},
    {"list attributes", list_attributes, EOPNOTSUPP, MAYBE_OUTSIDE},
    {"mode outside", mode_outside, EPERM, 0},
    {"mode of a file that may be read", mode_of_readable, EPERM, 0},
    {"mode by descriptor", mode_of_descriptor, EPERM, 0},
    {"mode by /proc", mode_by_proc, EPERM, 0},
    {"mode by a link", mode_by_link, EPERM, 0},
    {"mode by ..", mode_by_dots, EPERM, 0},
    {"mode by a folder and ..", mode_by_folder, EPERM, 0},
    {"mode of the folder above", mode_above, EPERM, 0},
    {"mode beside, with a longer name", mode_beside, EPERM, 0},
    {"mode of a deleted file", mode_of_deleted, EPERM, 0},
    {"times outside", times_outside, EPERM, 0},
    {"times by descriptor", times_of_descriptor, EPERM, 0},
    {"times of /dev/null", times_of_null, EPERM, MAYBE_OUTSIDE},
    {"owner outside", owner_outside, EPERM, 0},
    {"owner by descriptor", owner_of_descriptor, EPERM, 0},
    {"a hard link to a file that may be read", link_inside, EXDEV, 0},
    {"set-user-ID", set_user_id, EPERM, 0},
    {"set-group-ID by descriptor", set_group_id, EPERM, 0},
    {"create with set-user-ID", create_set_id, ENOSYS, 0},
    {"create unnamed with set-group-ID", create_unnamed, ENOSYS, MAYBE_OUTSIDE},
    {"make a node with set-user-ID", make_node, ENOSYS, 0},
    {"a pair for datagrams", datagrams, ENOSYS, 0},
    {"a pair for datagrams, with the network", datagrams, ENOSYS, NETWORK},
    {"a pair for streams", streams, 0, 0},
    {"Unix socket", unix_socket, EAFNOSUPPORT, 0},
    {"Unix socket, with the network", unix_socket, EAFNOSUPPORT, NETWORK},
    {"internet", internet, EAFNOSUPPORT, 0},
    {"internet, with the network", internet, 0, NETWORK},
    {"routes", routes, EAFNOSUPPORT, 0},
    {"routes, with the network", routes, 0, NETWORK},
    {"events of devices, with the network", events, ENOSYS, NETWORK},
    {"another filter", second_filter, ENOSYS, MAYBE_OUTSIDE},
    {"be traced", trace_me, ENOSYS, MAYBE_OUTSIDE},
    {"a namespace", new_namespace, ENOSYS, MAYBE_OUTSIDE},
    {"broker: mode by path", by_path, 0, 0},
    {"broker: mode by descriptor", by_descriptor, 0, 0},
    {"broker: mode by relative path", by_relative_path, 0, 0},
    {"broker: mode by folder", by_folder, 0, 0},
    {"broker: mode by link", by_link, 0, 0},
    {"broker: mode by /proc", by_proc, 0, 0},
    {"broker: mode of the folder itself", of_folder, 0, 0},
    {"broker: times", times_are_set, 0, 0},
    {"broker: times of a link", times_of_link, 0, 0},
    {"broker: times by descriptor", times_by_descriptor, 0, 0},
    {"broker: owner", owner_stays, 0, 0},
    {"broker: another owner", give_away, EPERM, MAYBE_OUTSIDE},
    {"broker: missing file", missing_file, 0, 0},
    {"broker: bad arguments", bad_arguments, 0, NOT_OUTSIDE},
    {"broker: path at the edge of memory", path_at_edge, 0, 0},
    {"broker: orphan", orphan, 0, NOT_OUTSIDE},
};

static void enter(bool network, bool writes)
{
    const char *const read[] = {readable, NULL}, *const write[] = {writable, NULL};
    mcp_error error;

    if (mcp_sandbox_enter(MCP_OPTIONS(mcp_sandbox_options, .read = read,
                                      .write = writes ? write : NULL, .runs_program = true,
                                      .network = network),
                          NULL, &error) != MCP_OK) {
        fprintf(stderr, "%s\n", error.text);
        _exit(255);
    }
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as exec does */
}

static int wait_for(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Returns the exit status of a process that makes the attempt, which is errno. */
static int try(attempt *run, bool in, bool network, bool writes)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (in)
            enter(network, writes);
        alarm(60);
        _exit(run() & 0xff);
    }
    return wait_for(pid);
}

static void test_attempts(void **state)
{
    bool good = true;

    (void)state;
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        int flags = attempts[i].flags,
            out = flags & NOT_OUTSIDE ? 0 : try(attempts[i].run, false, false, false),
            in = try(attempts[i].run, true, flags & NETWORK, true);
        if ((out != 0 && !(flags & MAYBE_OUTSIDE)) || in != attempts[i].inside) {
            print_error("%s: outside %d, inside %d instead of %d\n", attempts[i].name, out, in,
                        attempts[i].inside);
            good = false;
        }
    }
    assert_true(good);
}

/* A program that may write nothing has no broker, and can change no mode, owner and times. */
static void test_without_broker(void **state)
{
    (void)state;
    assert_int_equal(try(by_path, true, false, false), EPERM);
    assert_int_equal(try(mode_of_descriptor, true, false, false), EPERM);
    assert_int_equal(try(times_outside, true, false, false), EPERM);
    assert_int_equal(try(owner_outside, true, false, false), EPERM);
}

/* ---- the life of the broker ------------------------------------------------------------------------------ */

static int end_with(void)
{
    return 7;
}

static int end_by_signal(void)
{
    return kill(getpid(), SIGTERM);
}

static void test_status(void **state)
{
    (void)state;
    assert_int_equal(try(end_with, true, false, true), 7);
    assert_int_equal(try(end_by_signal, true, false, true), 128 + SIGTERM);
}

/* Starts a program that writes a byte to `ends`, and then does nothing. */
static pid_t start_idle(const int *ends)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    dup2(ends[1], 1);
    close(ends[1]);
    close(ends[0]);
    enter(false, true);
    alarm(120);
    if (write(1, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* Returns whether the end of a pipe is reached. A minute stands for never. */
static bool is_over(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    char byte;

    return poll(&p, 1, 60000) == 1 && read(fd, &byte, 1) == 0;
}

/* The end of the broker is the end of the program: the pipe has no other writer. */
static void test_end_of_broker(void **state)
{
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe2(ends, 0), 0);
    pid_t pid = start_idle(ends);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGTERM), 0); /* of the group, which the program would get, too */
    usleep(50000);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(wait_for(pid), 128 + SIGKILL);
    assert_true(is_over(ends[0]));
    close(ends[0]);
}

static int close_output(void)
{
    char byte;

    close(1);
    return (int)read(0, &byte, 1); /* until the reader has seen the end of the output */
}

/* The broker does not keep the output of its program open. */
static void test_pipes(void **state)
{
    int in[2], out[2];

    (void)state;
    assert_int_equal(pipe2(in, 0), 0);
    assert_int_equal(pipe2(out, 0), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (int i = 0; i < 2; i++) {
            close(in[i]);
            close(out[i]);
        }
        enter(false, true);
        _exit(close_output());
    }
    close(in[0]);
    close(out[1]);
    assert_true(is_over(out[0]));
    close(in[1]);
    assert_int_equal(wait_for(pid), 0);
    close(out[0]);
}

/* A folder that the program replaces by a link is still the previous folder for the broker. */
static int replace_folder(void)
{
    char inner[80], moved[80];

    snprintf(inner, sizeof(inner), "%s/inner", writable);
    snprintf(moved, sizeof(moved), "%s/moved", writable);
    if (rename(inner, moved) < 0 || symlink(folder, inner) < 0)
        return errno;
    int rc = failed(chmod(outside, 0666));
    return rc == EPERM ? 0 : EDOM;
}

static void test_replaced_folder(void **state)
{
    char inner[80];
    const char *const write[] = {writable, inner, NULL};
    struct stat before, after;

    (void)state;
    snprintf(inner, sizeof(inner), "%s/inner", writable);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(stat(outside, &before), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (mcp_sandbox_enter(
                MCP_OPTIONS(mcp_sandbox_options, .write = write, .runs_program = true), NULL,
                NULL) != MCP_OK)
            _exit(255);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        _exit(replace_folder());
    }
    assert_int_equal(wait_for(pid), 0);
    assert_int_equal(stat(outside, &after), 0);
    assert_int_equal(before.st_mode, after.st_mode);
}

/* ---- the surroundings ---------------------------------------------------------------------------------------- */

static void touch(char *path, size_t room, const char *name)
{
    snprintf(path, room, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static int prepare(void **state)
{
    char path[80];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(writable, sizeof(writable), "%s/writable", folder);
    snprintf(link_out, sizeof(link_out), "%s/link", writable);
    assert_int_equal(mkdir(writable, 0700), 0);
    snprintf(path, sizeof(path), "%s-2", writable);
    assert_int_equal(mkdir(path, 0700), 0);
    touch(outside, sizeof(outside), "outside");
    touch(readable, sizeof(readable), "readable");
    touch(own, sizeof(own), "writable/file");
    assert_int_equal(symlink(outside, link_out), 0);
    snprintf(path, sizeof(path), "%s/to-file", writable);
    assert_int_equal(symlink("file", path), 0);
    shared = shmget(IPC_PRIVATE, 4096, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    snprintf(queue_name, sizeof(queue_name), "/mcp-sandbox-%d", (int)getpid());
    (void)syscall(SYS_mq_open, queue_name + 1, O_CREAT | O_RDWR, 0600, NULL);
    victim = fork();
    if (victim == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return victim < 0;
}

static int clean(void **state)
{
    char command[80];

    (void)state;
    kill(victim, SIGKILL);
    waitpid(victim, NULL, 0);
    shmctl(shared, IPC_RMID, NULL);
    msgctl(queue, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
    (void)syscall(SYS_mq_unlink, queue_name + 1);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static bool given(void)
{
    mcp_sandbox_part part = {.size = sizeof(part)};

    for (size_t i = 0; mcp_sandbox_probe(i, &part) == MCP_OK; i++) {
        if (!part.given)
            return false;
    }
    return true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attempts), cmocka_unit_test(test_without_broker),
        cmocka_unit_test(test_status),   cmocka_unit_test(test_end_of_broker),
        cmocka_unit_test(test_pipes),    cmocka_unit_test(test_replaced_folder),
    };

    if (!given()) {
        fprintf(stderr, "a part of the sandbox is missing here\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, prepare, clean);
}
