/* test_sandbox_calls.c: system calls that the sandbox refuses whatever their arguments are, and what
 * a process gives up when it enters the sandbox. Attempts that need more are in test_sandbox.c. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/sys/children.h>

static int inherited = -1; /* a descriptor of a socket */

/* ---- calls that are refused whatever their arguments are ----------------------------------------- */

enum { PARENT = -1000, SOCKET = -1001 }; /* arguments that are known later */

/* Outside, each of them reaches the kernel, which finds fault with the arguments or does nothing.
 * Inside, the filter refuses it first. */
static const struct {
    const char *name;
    long number;
    long args[5];
} calls[] = {
#define CALL(name, ...)    \
    {                      \
#name, SYS_##name, \
        {                  \
            __VA_ARGS__    \
        }                  \
    }
    /* files, mounts */
    CALL(name_to_handle_at, -1),
    CALL(open_by_handle_at, -1),
    CALL(io_uring_setup, 0),
    CALL(io_uring_enter, -1),
    CALL(io_uring_register, -1),
    CALL(mount, 0),
    CALL(umount2, 0),
    CALL(pivot_root, 0),
    CALL(chroot, 0),
    CALL(fchdir, -1),
    CALL(fsopen, 0),
    CALL(open_tree, -1),
    CALL(move_mount, -1, 0, -1),
    CALL(linkat, -1),
    CALL(symlinkat, 0, -1),
    CALL(mknodat, -1),
    CALL(fchownat, -1),
    CALL(fchmodat, -1),
    CALL(setxattr, 0),
    CALL(memfd_create, 0),
    CALL(sendfile, -1, -1),
    CALL(splice, -1, 0, -1, 0, 1),
    CALL(vmsplice, -1),
    CALL(copy_file_range, -1, 0, -1, 0, 1),
    CALL(fanotify_init, -1),
    /* the network */
    CALL(socket, AF_INET6, SOCK_DGRAM),
    CALL(socket, AF_NETLINK, SOCK_RAW),
    CALL(socket, AF_PACKET, SOCK_RAW),
    CALL(socket, AF_VSOCK, SOCK_STREAM),
    CALL(socket, AF_ALG, SOCK_SEQPACKET),
    CALL(connect, SOCKET),
    CALL(bind, SOCKET),
    CALL(listen, SOCKET),
    CALL(accept4, SOCKET),
    CALL(setsockopt, SOCKET),
    CALL(sendto, SOCKET, 0, 0, MSG_FASTOPEN),
    CALL(sendmsg, SOCKET),
    CALL(sendmmsg, SOCKET, 0, 1),
    /* other processes */
    CALL(kill, PARENT, 0),
    CALL(kill, -1, 99),
    CALL(tkill, PARENT, 0),
    CALL(rt_sigqueueinfo, PARENT, 0),
    CALL(pidfd_open, PARENT),
    CALL(pidfd_getfd, -1),
    CALL(pidfd_send_signal, -1),
    CALL(ptrace, 16 /* PTRACE_ATTACH */, 0),
    CALL(process_vm_readv, PARENT),
    CALL(process_vm_writev, PARENT),
    CALL(process_madvise, -1),
    CALL(kcmp, 0),
    CALL(get_robust_list, PARENT),
    CALL(sched_setaffinity, PARENT, 0),
    CALL(sched_setscheduler, PARENT, -1),
    CALL(setpriority, PRIO_PROCESS, PARENT, 0),
    CALL(ioprio_set, 0),
    CALL(move_pages, PARENT, 0),
    CALL(ioctl, 0, 0x5412 /* TIOCSTI */),
    CALL(ioctl, 0, 0x541c /* TIOCLINUX */),
    CALL(fcntl, SOCKET, F_SETSIG, 0),
    CALL(fcntl, SOCKET, F_SETLEASE, F_UNLCK),
    CALL(fcntl, SOCKET, F_SETPIPE_SZ, 4096),
    CALL(keyctl, 0),
    CALL(add_key, 0),
    CALL(shmget, 0, 0),
    CALL(msgget, 0, 0),
    CALL(semget, 0, 0),
    CALL(mq_open, 0),
    CALL(timer_create, -1),
    /* the kernel */
    CALL(bpf, -1),
    CALL(perf_event_open, 0),
    CALL(userfaultfd, -1),
    CALL(unshare, 0),
    CALL(setns, -1),
    CALL(clone3, 0),
    CALL(execveat, -1),
    CALL(seccomp, -1),
    CALL(prctl, PR_SET_PDEATHSIG, 0),
    CALL(prctl, PR_SET_DUMPABLE, 0),
    CALL(personality, -1),
    CALL(setuid, -1),
    CALL(capset, 0),
    CALL(setrlimit, RLIMIT_DATA, 0),
    CALL(madvise, 0, 0, 100 /* MADV_HWPOISON */),
    CALL(madvise, 0, 0, 101 /* MADV_SOFT_OFFLINE */),
    CALL(mlockall, 0),
#undef CALL
};

static long argument(long given)
{
    return given == PARENT ? getppid() : given == SOCKET ? inherited : given;
}

static int call(size_t i)
{
    const long *a = calls[i].args;
    long rc = syscall(calls[i].number, argument(a[0]), argument(a[1]), argument(a[2]),
                      argument(a[3]), argument(a[4]), 0L);
    return rc < 0 ? errno : 0;
}

static bool filtered(void)
{
    mcp_sandbox_part part = {.size = sizeof(part)};

    for (size_t i = 0; mcp_sandbox_probe(i, &part) == MCP_OK; i++) {
        if (part.kind == MCP_SANDBOX_CALLS)
            return part.given;
    }
    return false;
}

/* With the calls of a process that may write. */
static void enter(void)
{
    const char *const write[] = {"/no/such/path", NULL};

    if (mcp_sandbox_enter(MCP_OPTIONS(mcp_sandbox_options, .write = write), NULL, NULL) != MCP_OK)
        _exit(255);
}

static void test_calls(void **state)
{
    int results[sizeof(calls) / sizeof(calls[0])], ends[2];
    bool good = true;

    (void)state;
    if (!filtered())
        skip();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    inherited = ends[0];
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        enter();
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
            results[i] = call(i);
        _exit(write(pipe_ends[1], results, sizeof(results)) != sizeof(results));
    }
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], results, sizeof(results)), sizeof(results));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (results[i] != ENOSYS) {
            print_error("%s (row %zu): %d\n", calls[i].name, i, results[i]);
            good = false;
        }
    }
    close(pipe_ends[0]);
    close(ends[0]);
    close(ends[1]);
    assert_true(good);
}

/* ---- what is given up when it is entered --------------------------------------------------------- */

#ifndef __SANITIZE_THREAD__ /* which allows no threads after a fork */

static void *wait_long(void *arg)
{
    (void)arg;
    pause();
    return NULL;
}

/* A thread that would stay outside could do everything for those inside. */
static void test_threads(void **state)
{
    pthread_t id;
    int status = 0;

    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        if (pthread_create(&id, NULL, wait_long, NULL) != 0)
            _exit(1);
        _exit(mcp_sandbox_enter(MCP_OPTIONS(mcp_sandbox_options, .required = 0), NULL, NULL) ==
                      MCP_ESTATE
                  ? 7
                  : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
}

#endif

/* Reads a line of hexadecimal digits from /proc/PID/status. */
static unsigned long long status_of(pid_t pid, const char *name)
{
    char path[64], line[256];
    unsigned long long value = ~0ULL;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoull(line + strlen(name) + 1, NULL, 16);
    }
    fclose(f);
    return value;
}

static void test_given_up(void **state)
{
    const unsigned long long kept = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH;
    struct rlimit now, tasks, stack;
    int there[2], back[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(back), 0);
    assert_int_equal(getrlimit(RLIMIT_NPROC, &now), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(back[1]);
        errno = EINVAL; /* of a call before, which must not matter */
        enter();
        _exit(write(there[1], "x", 1) != 1 || read(back[0], &byte, 1) != 0);
    }
    assert_int_equal(read(there[0], &byte, 1), 1);
    assert_int_equal(status_of(pid, "CapEff") & ~kept, 0);
    assert_int_equal(status_of(pid, "CapPrm") & ~kept, 0);
    assert_int_equal(status_of(pid, "CapInh"), 0);
    assert_int_equal(status_of(pid, "NoNewPrivs"), 1);
    assert_int_equal(prlimit(pid, RLIMIT_NPROC, NULL, &tasks), 0);
    assert_true(tasks.rlim_max <= 16384 && tasks.rlim_max <= now.rlim_cur / 2);
    assert_int_equal(prlimit(pid, RLIMIT_STACK, NULL, &stack), 0);
    assert_true(stack.rlim_max <= 64 << 20);
    close(back[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(back[0]);
    close(there[0]);
    close(there[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(test_threads),
#endif
        cmocka_unit_test(test_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
