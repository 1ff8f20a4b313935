/* filter.c: the list of system calls that a process in the sandbox may make, and its seccomp
 * filter, which libseccomp builds. At the end, the list of those that a program of others may not
 * make.
 *
 * All other calls fail with EPERM. An exception is clone3(), which fails with ENOSYS so that the C
 * library falls back to clone(). The filter can read the flags of clone(), and allows new threads
 * but no new processes. The list has names instead of numbers, so it is the same on x86-64 and
 * arm64. Some calls are missing on purpose. Without sendmsg(), the process cannot pass descriptors
 * to others. Without inotify, which Landlock does not limit, it cannot find out the names of files
 * in other folders. mremap() could enlarge the stack, which RLIMIT_DATA does not count; the C
 * library works without it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/library.h"
#include "io/children/filter.h"

/* The part of seccomp.h that is used. It is the same in all versions 2.x. */
typedef void *scmp_filter_ctx;
struct scmp_arg_cmp {
    unsigned arg;
    int op;
    uint64_t a, b;
};
scmp_filter_ctx seccomp_init(uint32_t action);
void seccomp_release(scmp_filter_ctx ctx);
int seccomp_load(scmp_filter_ctx ctx);
int seccomp_attr_set(scmp_filter_ctx ctx, int attr, uint32_t value);
int seccomp_syscall_resolve_name(const char *name);
int seccomp_rule_add_array(scmp_filter_ctx ctx, uint32_t action, int number, unsigned n,
                           const struct scmp_arg_cmp *args);
enum {
    ATTR_BAD_ARCH = 2, /* SCMP_FLTATR_ACT_BADARCH */
    LESS = 2,          /* SCMP_CMP_LT */
    EQUAL = 4,         /* SCMP_CMP_EQ */
    GREATER_OR_EQUAL = 5,
    MASKED_EQUAL = 7,  /* SCMP_CMP_MASKED_EQ */
    ATTR_OPTIMIZE = 8, /* SCMP_FLTATR_CTL_OPTIMIZE */
    OPTIMIZE_TREE = 2, /* builds a faster filter; version 2.4 rejects it, which is ignored */
};
#define KILL        0x80000000U /* SCMP_ACT_KILL_PROCESS */
#define ALLOW       0x7fff0000U
#define REFUSE(why) (0x00050000U | (unsigned)(why))

#define FUNCTIONS(X)                \
    X(seccomp_init)                 \
    X(seccomp_release)              \
    X(seccomp_load)                 \
    X(seccomp_attr_set)             \
    X(seccomp_syscall_resolve_name) \
    X(seccomp_rule_add_array)

typedef struct functions {
    FUNCTIONS(MCP__LIBRARY_MEMBER)
} functions;

static const char *const reading[] = {
    /* memory, threads, signals, exit */
    "brk",
    "munmap",
    "mprotect",
    "msync",
    "futex",
    "futex_waitv",
    "set_robust_list",
    "rseq",
    "set_tid_address",
    "membarrier",
    "sched_yield",
    "sched_getaffinity",
    "gettid",
    "getpid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getpgid",
    "getsid",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sigaltstack",
    "restart_syscall",
    "exit",
    "exit_group",
    /* time and the machine */
    "clock_gettime",
    "clock_getres",
    "clock_nanosleep",
    "nanosleep",
    "gettimeofday",
    "time",
    "times",
    "getrandom",
    "getrusage",
    "getrlimit",
    "sysinfo",
    "uname",
    /* files */
    "open",
    "openat",
    "openat2",
    "close",
    "close_range",
    "read",
    "readv",
    "pread64",
    "preadv",
    "preadv2",
    "lseek",
    "stat",
    "lstat",
    "fstat",
    "newfstatat",
    "statx",
    "statfs",
    "fstatfs",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getdents",
    "getdents64",
    "getcwd",
    "fadvise64",
    "readahead",
    "flock",
    "dup",
    "dup2",
    "dup3",
    "umask",
    /* descriptors that the process inherited, and the event loop */
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "shutdown",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "eventfd2",
    "pipe",
    "pipe2",
    "timerfd_create",
    "timerfd_settime",
    /* receiving from a socket; recv() is recvfrom() */
    "recvfrom",
    "recvmsg",
};

/* Further calls of a process that may change files. Landlock limits them to the allowed paths. */
static const char *const writing[] = {
    "ftruncate", "fallocate", "fsync", "fdatasync", "unlink", "unlinkat",  "rename",
    "renameat",  "renameat2", "mkdir", "mkdirat",   "fchmod", "utimensat",
};

static int load(functions *f, mcp_error *error)
{
    static const char *const names[] = {FUNCTIONS(MCP__LIBRARY_NAME)};
    static const mcp__library library = {{"libseccomp.so.2"},
                                         "a filter of system calls needs libseccomp 2",
                                         names,
                                         MCP__COUNT(names)};

    return mcp__library_load(&library, f, error);
}

bool mcp__filter_available(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    functions f;

#if !defined(__x86_64__) && !defined(__aarch64__)
    return false; /* other architectures are not tested */
#endif
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 &&
           load(&f, NULL) == MCP_OK;
}

enum {
    /* Threads stay in the namespaces of the process. */
    THREAD_FLAGS = CLONE_THREAD | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                   CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET,
    /* RLIMIT_DATA counts private mappings that are not stacks. Shared anonymous mappings would have
     * no limit. */
    MAP_FLAGS = MAP_TYPE | MAP_GROWSDOWN,
    HWPOISON = 100, /* MADV_HWPOISON; 101 is MADV_SOFT_OFFLINE. They are for testing the kernel */
};

typedef struct filter {
    functions f;
    scmp_filter_ctx ctx;
    int failed; /* errno */
} filter;

/* Adds a rule with conditions for arguments. Calls that this architecture does not have are
 * skipped. */
static void add(filter *p, uint32_t action, const char *name, unsigned n,
                const struct scmp_arg_cmp *args)
{
    int number = p->f.seccomp_syscall_resolve_name(name);

    if (number < 0 || p->failed)
        return;
    int rc = p->f.seccomp_rule_add_array(p->ctx, action, number, n, args);
    if (rc < 0)
        p->failed = -rc;
}

/* Calls that are allowed only if one argument has one of these values. */
static const struct {
    const char *name;
    struct scmp_arg_cmp arg;
} conditions[] = {
    {"ioctl", {1, EQUAL, 0x5421 /* FIONBIO */, 0}},
    {"ioctl", {1, EQUAL, 0x5451 /* FIOCLEX */, 0}},
    {"ioctl", {1, EQUAL, 0x541b /* FIONREAD */, 0}},
    {"fcntl", {1, EQUAL, F_DUPFD, 0}},
    {"fcntl", {1, EQUAL, F_DUPFD_CLOEXEC, 0}},
    {"fcntl", {1, EQUAL, F_GETFD, 0}},
    {"fcntl", {1, EQUAL, F_SETFD, 0}},
    {"fcntl", {1, EQUAL, F_GETFL, 0}},
    {"fcntl", {1, EQUAL, F_SETFL, 0}},
    {"fcntl", {1, EQUAL, F_GETLK, 0}},
    {"fcntl", {1, EQUAL, F_SETLK, 0}},
    {"fcntl", {1, EQUAL, F_SETLKW, 0}},
    {"fcntl", {1, EQUAL, F_OFD_GETLK, 0}},
    {"fcntl", {1, EQUAL, F_OFD_SETLK, 0}},
    {"fcntl", {1, EQUAL, F_OFD_SETLKW, 0}},
    {"fcntl", {1, EQUAL, F_GETPIPE_SZ, 0}},
    {"fcntl", {1, EQUAL, F_GET_SEALS, 0}},
    {"getsockopt", {2, EQUAL, SO_TYPE, 0}}, /* SO_PEERPIDFD would be a handle of the parent */
    {"getsockopt", {2, EQUAL, SO_ERROR, 0}},
    {"mmap", {3, MASKED_EQUAL, MAP_FLAGS, MAP_PRIVATE}},
    {"mmap", {3, MASKED_EQUAL, MAP_ANONYMOUS | MAP_GROWSDOWN, 0}},
    {"madvise", {2, LESS, HWPOISON, 0}},
    {"madvise", {2, EQUAL, 102 /* MADV_GUARD_INSTALL */, 0}},
    {"madvise", {2, EQUAL, 103 /* MADV_GUARD_REMOVE */, 0}},
    {"clone", {0, MASKED_EQUAL, THREAD_FLAGS, CLONE_THREAD}},
    {"prctl", {0, EQUAL, PR_SET_NAME, 0}},
};

static void add_rules(filter *p, bool writes)
{
    const struct scmp_arg_cmp self = {0, EQUAL, (uint64_t)getpid(), 0};
    const struct scmp_arg_cmp own_limits[] = {{0, EQUAL, 0, 0}, {2, EQUAL, 0, 0}}; /* to read */

    for (size_t i = 0; i < MCP__COUNT(reading); i++)
        add(p, ALLOW, reading[i], 0, NULL);
    for (size_t i = 0; writes && i < MCP__COUNT(writing); i++)
        add(p, ALLOW, writing[i], 0, NULL);
    for (size_t i = 0; i < MCP__COUNT(conditions); i++)
        add(p, ALLOW, conditions[i].name, 1, &conditions[i].arg);
    add(p, ALLOW, "tgkill", 1, &self); /* abort() */
    add(p, ALLOW, "prlimit64", MCP__COUNT(own_limits), own_limits);
    add(p, REFUSE(ENOSYS), "clone3", 0, NULL);
    add(p, REFUSE(ENOSYS), "io_uring_setup", 0, NULL);
}

/* ---- programs of others ---------------------------------------------------------------------- */

/* Calls that no MCP server needs, and that reach other processes, the kernel's configuration, or files
 * without their path. */
static const char *const refused[] = {
    /* other processes */
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_getfd",
    "kcmp",
    "move_pages",
    "migrate_pages",
    /* namespaces and mounts */
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    /* files by their number */
    "name_to_handle_at",
    "open_by_handle_at",
    /* interfaces of the kernel */
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_enter",
    "io_uring_register",
    "add_key",
    "request_key",
    "keyctl",
    "modify_ldt",
    "vhangup",
    "fanotify_init",
    "lookup_dcookie",
    /* administration */
    "reboot",
    "swapon",
    "swapoff",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "acct",
    "quotactl",
    "quotactl_fd",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "sethostname",
    "setdomainname",
    "iopl",
    "ioperm",
    "syslog",
    "nfsservctl",
    "_sysctl",
    "uselib",
    "ustat",
    "sysfs",
};

/* The kernel ignores the upper half of these arguments. */
static const struct {
    const char *name;
    struct scmp_arg_cmp arg;
} refused_conditions[] = {
    {"ioctl", {1, MASKED_EQUAL, UINT32_MAX, 0x5412 /* TIOCSTI: input for a terminal */}},
    {"ioctl", {1, MASKED_EQUAL, UINT32_MAX, 0x541c /* TIOCLINUX */}},
    {"clone", {0, MASKED_EQUAL, CLONE_NEWNS, CLONE_NEWNS}},
    {"clone", {0, MASKED_EQUAL, CLONE_NEWCGROUP, CLONE_NEWCGROUP}},
    {"clone", {0, MASKED_EQUAL, CLONE_NEWUTS, CLONE_NEWUTS}},
    {"clone", {0, MASKED_EQUAL, CLONE_NEWIPC, CLONE_NEWIPC}},
    {"clone", {0, MASKED_EQUAL, CLONE_NEWUSER, CLONE_NEWUSER}},
    {"clone", {0, MASKED_EQUAL, CLONE_NEWPID, CLONE_NEWPID}},
    {"clone", {0, MASKED_EQUAL, CLONE_NEWNET, CLONE_NEWNET}},
};

/* Refuses sockets of each family except those of the network. Families above the highest one include
 * all values whose upper half is set. */
static void refuse_sockets(filter *p)
{
    enum { FAMILIES = 64 };
    struct scmp_arg_cmp family = {0, EQUAL, 0, 0};

    for (; family.a < FAMILIES; family.a++) {
        if (family.a != AF_INET && family.a != AF_INET6 && family.a != AF_NETLINK)
            add(p, REFUSE(EAFNOSUPPORT), "socket", 1, &family);
    }
    family.op = GREATER_OR_EQUAL;
    add(p, REFUSE(EAFNOSUPPORT), "socket", 1, &family);
}

static void add_program_rules(filter *p, bool network)
{
    for (size_t i = 0; i < MCP__COUNT(refused); i++)
        add(p, REFUSE(EPERM), refused[i], 0, NULL);
    for (size_t i = 0; i < MCP__COUNT(refused_conditions); i++)
        add(p, REFUSE(EPERM), refused_conditions[i].name, 1, &refused_conditions[i].arg);
    if (network)
        refuse_sockets(p);
    else
        add(p, REFUSE(EPERM), "socket", 0, NULL);
    add(p, REFUSE(ENOSYS), "clone3", 0, NULL);
    add(p, REFUSE(ENOSYS), "io_uring_setup", 0, NULL);
}

/* ---- installing ------------------------------------------------------------------------------ */

/* Installs a filter with the rules of `rules`, and `other` for all other calls. */
static int enter(uint32_t other, void (*rules)(filter *p, bool flag), bool flag, mcp_error *error)
{
    filter p = {.failed = 0};
    int rc = load(&p.f, error);

    if (rc != MCP_OK)
        return rc;
    p.ctx = p.f.seccomp_init(other);
    if (!p.ctx)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a filter of system calls");
    (void)p.f.seccomp_attr_set(p.ctx, ATTR_OPTIMIZE, OPTIMIZE_TREE);
    /* By default only the calling thread is killed, and other threads would wait for it. */
    (void)p.f.seccomp_attr_set(p.ctx, ATTR_BAD_ARCH, KILL);
    rules(&p, flag);
    if (!p.failed) {
        rc = p.f.seccomp_load(p.ctx);
        p.failed = rc < 0 ? -rc : 0;
    }
    p.f.seccomp_release(p.ctx);
    if (p.failed)
        return mcp__fail(error, MCP_EIO, 0, "the filter of system calls: %s", strerror(p.failed));
    return MCP_OK;
}

int mcp__filter_enter(bool writes, mcp_error *error)
{
    return enter(REFUSE(EPERM), add_rules, writes, error);
}

int mcp__filter_enter_program(bool network, mcp_error *error)
{
    return enter(ALLOW, add_program_rules, network, error);
}
