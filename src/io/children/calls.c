/* calls.c: the table of the system calls that a process in the sandbox may make, and why. What it
 * lacks does not exist in the sandbox. docs/security.md has the same table, which
 * tests/unit/io/test_sandbox_table.c compares.
 *
 * Landlock limits which files can be opened, made, removed and renamed, and which processes can be
 * signalled. The table lacks what Landlock does not limit, and what acts on other processes: System V
 * IPC and POSIX message queues, inotify and dnotify, limits, priorities and processors of others,
 * handles of processes, changes to modes, owners, times and attributes. The names are the same on
 * x86-64 and arm64, and each has a part of them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "io/children/calls.h"

#ifndef PR_SET_VMA /* musl's header lacks it */
#define PR_SET_VMA 0x53564d41
#endif

enum {
    ALL = MCP__FOR_SOURCES | MCP__FOR_PROGRAMS,
    SOURCES = MCP__FOR_SOURCES,
    WRITERS = MCP__FOR_WRITERS,
    PROGRAMS = MCP__FOR_PROGRAMS,
    NETWORK = MCP__FOR_NETWORK,

    NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                 CLONE_NEWPID | CLONE_NEWNET,
    TMPFILE = 020000000, /* the bit of O_TMPFILE that O_DIRECTORY lacks */
    SET_ID = 06000,      /* S_ISUID | S_ISGID */
    SOCKET_TYPE = 0xf,   /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
    THREAD_CLOCK = 4,    /* the bit in the number of a clock of a thread, which has to be one of
                              * the process */
};
/* No bits of this mask are in the number of a clock that has a name. */
#define CONSTANT_CLOCKS (UINT32_MAX - 15)
/* MADV_HWPOISON and MADV_SOFT_OFFLINE, which test the kernel, are above. */
#define ORDINARY_ADVICE (UINT32_MAX - 63)
#define ANY             UINT32_MAX /* the kernel ignores the upper half of a number */

#define TEST(n, bits, wanted) .tests[0] = {.arg = (n), .mask = (bits), .value = (wanted)}
#define AND(n, bits, wanted)  .tests[1] = {.arg = (n), .mask = (bits), .value = (wanted)}
#define VALUES(...)                            \
    .values = (const uint32_t[]){__VA_ARGS__}, \
    .n_values = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static const char own_memory[] = "the memory of the process",
                  own_threads[] = "the threads of the process, and its end",
                  new_threads[] = "new threads, in the same namespaces",
                  own_signals[] = "how the process handles its signals",
                  signals[] = "Landlock limits signals to the processes in the sandbox",
                  own_schedule[] = "the schedule, priority and processors of the thread itself",
                  numbers[] = "numbers of the process, its user and its groups",
                  machine[] = "the time, random numbers, and what the machine is",
                  clocks[] = "the clocks of the machine and of the process's own threads; a clock "
                             "of another process tells how long it ran",
                  reading[] = "files, which Landlock limits when they are opened; the names, sizes "
                              "and times of others can be found out",
                  writing[] = "changes to files and folders that Landlock allows to be written",
                  no_set_id[] = "whoever runs a file with these bits leaves the sandbox",
                  descriptors[] = "descriptors, and waiting for them",
                  commands[] = "descriptors; other commands watch folders, break leases, or send "
                               "signals",
                  sockets[] = "sockets that the process has",
                  attributes[] =
                      "Landlock does not limit these; the broker changes only files that "
                      "the program may write";

const mcp__call_rule mcp__call_rules[] = {
    /* memory */
    {"brk munmap mprotect msync membarrier", ALL, .why = own_memory},
    {"mmap mremap mlock mlock2 munlock mlockall munlockall mincore pkey_alloc pkey_free "
     "pkey_mprotect mseal memfd_create",
     PROGRAMS, .why = own_memory},
    {"mmap", SOURCES, .why = "memory that a limit counts", .when = "private, and not a stack",
     TEST(3, MAP_TYPE | MAP_GROWSDOWN, MAP_PRIVATE)},
    {"mmap", SOURCES, .why = "maps of files", .when = "with a file, and not a stack",
     TEST(3, MAP_ANONYMOUS | MAP_GROWSDOWN, 0)},
    {"madvise", ALL, .why = own_memory, .when = "no advice for tests of the kernel",
     TEST(2, ORDINARY_ADVICE, 0)},
    {"madvise", ALL, .why = own_memory, .when = "`MADV_GUARD_INSTALL`, `MADV_GUARD_REMOVE`",
     TEST(2, ANY, 0), VALUES(102, 103)},
    /* threads and processes */
    {"futex futex_waitv set_robust_list rseq set_tid_address gettid sched_yield exit exit_group "
     "restart_syscall",
     ALL, .why = own_threads},
    {"clone", SOURCES, .why = new_threads, .when = "`CLONE_THREAD`, no namespaces",
     TEST(0, CLONE_THREAD | NAMESPACES, CLONE_THREAD)},
    {"clone", PROGRAMS, .why = "new threads and processes, below this one and in its namespaces",
     .when = "no namespaces, no `CLONE_PARENT`, no `CLONE_PTRACE`",
     TEST(0, NAMESPACES | CLONE_PARENT | CLONE_PTRACE, 0)},
    {"fork vfork execve execveat wait4 waitid setpgid setsid", PROGRAMS,
     .why = "processes of the program, which stay in the sandbox"},
    {"arch_prctl", PROGRAMS, .why = own_threads},
    {"prctl", SOURCES, .why = "the name of a thread", .when = "`PR_SET_NAME`",
     TEST(0, ANY, PR_SET_NAME)},
    {"prctl", PROGRAMS, .why = "properties of the process itself, and not those that protect it",
     .when = "names, `PR_SET_PDEATHSIG`, dumpable, subreaper, timer slack, huge pages, "
             "`PR_SET_NO_NEW_PRIVS`, and reading of capabilities and registers",
     TEST(0, ANY, 0),
     VALUES(PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_SET_PDEATHSIG, PR_GET_PDEATHSIG,
            PR_SET_DUMPABLE, PR_GET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER,
            PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, PR_SET_THP_DISABLE, PR_GET_THP_DISABLE,
            PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_CAPBSET_READ, PR_GET_SECCOMP,
            PR_SVE_GET_VL, PR_GET_TAGGED_ADDR_CTRL)},
    {"personality", PROGRAMS, .why = "to ask", .when = "0 and -1", TEST(0, ANY, 0),
     VALUES(0, UINT32_MAX)},
    /* signals */
    {"rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack", ALL, .why = own_signals},
    {"rt_sigpending rt_sigsuspend rt_sigtimedwait pause signalfd signalfd4 alarm getitimer "
     "setitimer timer_settime timer_gettime timer_getoverrun timer_delete",
     PROGRAMS, .why = own_signals},
    {"tgkill", SOURCES, .why = "`abort()`", .when = "its own process", TEST(0, ANY, 0),
     .own_process = true},
    {"kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal", PROGRAMS,
     .why = signals},
    /* the schedule, limits, numbers */
    {"sched_getaffinity", ALL, .why = own_schedule, .when = "process 0", TEST(0, ANY, 0)},
    {"sched_setaffinity sched_getscheduler sched_setscheduler sched_getparam sched_setparam "
     "sched_getattr sched_setattr sched_rr_get_interval",
     PROGRAMS, .why = own_schedule, .when = "process 0", TEST(0, ANY, 0)},
    {"sched_get_priority_max sched_get_priority_min", PROGRAMS, .why = machine},
    {"getpriority setpriority", PROGRAMS, .why = own_schedule, .when = "`PRIO_PROCESS`, process 0",
     TEST(0, ANY, PRIO_PROCESS), AND(1, ANY, 0)},
    {"ioprio_get ioprio_set", PROGRAMS, .why = own_schedule,
     .when = "`IOPRIO_WHO_PROCESS`, process 0", TEST(0, ANY, 1), AND(1, ANY, 0)},
    {"prlimit64", SOURCES, .why = "to ask for its own limits", .when = "process 0, no new limit",
     TEST(0, ANY, 0), AND(2, UINT64_MAX, 0)},
    {"prlimit64", PROGRAMS, .why = "its own limits, and those of its new processes",
     .when = "process 0", TEST(0, ANY, 0)},
    {"get_robust_list", PROGRAMS, .why = own_threads, .when = "process 0", TEST(0, ANY, 0)},
    {"getrlimit getrusage getpid getppid getuid geteuid getgid getegid getpgid", ALL,
     .why = numbers},
    {"setrlimit getpgrp getresuid getresgid getgroups capget", PROGRAMS, .why = numbers},
    {"getsid", ALL, .why = numbers, .when = "process 0", TEST(0, ANY, 0)},
    /* time and the machine */
    {"nanosleep gettimeofday time times getrandom sysinfo uname", ALL, .why = machine},
    {"getcpu", PROGRAMS, .why = machine},
    {"clock_gettime clock_getres clock_nanosleep", ALL, .why = clocks,
     .when = "a clock of the machine or of the process itself", TEST(0, CONSTANT_CLOCKS, 0)},
    {"clock_gettime clock_getres clock_nanosleep", ALL, .why = clocks,
     .when = "a clock of a thread", TEST(0, THREAD_CLOCK, THREAD_CLOCK)},
    {"timer_create", PROGRAMS, .why = clocks,
     .when = "a clock of the machine or of the process itself", TEST(0, CONSTANT_CLOCKS, 0)},
    {"timer_create", PROGRAMS, .why = clocks, .when = "a clock of a thread",
     TEST(0, THREAD_CLOCK, THREAD_CLOCK)},
    /* files */
    {"close close_range read readv pread64 preadv preadv2 lseek stat lstat fstat newfstatat statx "
     "statfs fstatfs access faccessat faccessat2 readlink readlinkat getdents getdents64 getcwd "
     "fadvise64 readahead flock dup dup2 dup3 umask",
     ALL, .why = reading},
    {"open openat openat2", SOURCES, .why = reading},
    {"chdir fchdir", PROGRAMS, .why = reading},
    {"open", PROGRAMS, .why = reading, .when = "without `O_CREAT`, `O_TMPFILE`",
     TEST(1, O_CREAT | TMPFILE, 0)},
    {"openat", PROGRAMS, .why = reading, .when = "without `O_CREAT`, `O_TMPFILE`",
     TEST(2, O_CREAT | TMPFILE, 0)},
    {"open", PROGRAMS, .why = no_set_id,
     .when = "the mode has neither set-user-ID nor set-group-ID", TEST(2, SET_ID, 0)},
    {"openat", PROGRAMS, .why = no_set_id,
     .when = "the mode has neither set-user-ID nor set-group-ID", TEST(3, SET_ID, 0)},
    {"creat mknod", PROGRAMS, .why = no_set_id,
     .when = "the mode has neither set-user-ID nor set-group-ID", TEST(1, SET_ID, 0)},
    {"mknodat", PROGRAMS, .why = no_set_id,
     .when = "the mode has neither set-user-ID nor set-group-ID", TEST(2, SET_ID, 0)},
    {"ftruncate fallocate fsync fdatasync unlink unlinkat rename renameat renameat2 mkdir mkdirat",
     WRITERS | PROGRAMS, .why = writing},
    {"truncate rmdir link linkat symlink symlinkat pwritev2 sync_file_range sendfile "
     "copy_file_range splice tee",
     PROGRAMS, .why = writing},
    {"chmod fchmod fchmodat chown fchown lchown fchownat utimensat", PROGRAMS,
     MCP__CALL_CARRIED_OUT, .why = attributes},
    {"setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr "
     "removexattr lremovexattr fremovexattr",
     PROGRAMS, MCP__CALL_UNSUPPORTED,
     .why = "Landlock does not limit these; files in the sandbox have no extended attributes"},
    /* descriptors */
    {"write writev pwrite64 pwritev poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait "
     "epoll_pwait epoll_pwait2 eventfd2 pipe pipe2 timerfd_create timerfd_settime",
     ALL, .why = descriptors},
    {"epoll_create eventfd timerfd_gettime", PROGRAMS, .why = descriptors},
    {"ioctl", ALL, .why = commands, .when = "`FIONBIO`, `FIOCLEX`, `FIONREAD`", TEST(1, ANY, 0),
     VALUES(FIONBIO, FIOCLEX, FIONREAD)},
    {"ioctl", PROGRAMS,
     .why = "terminals, copies of files, and the addresses of the machine; no input for a "
            "terminal, no flags of files",
     .when = "those of terminals without `TIOCSTI`, `TIOCLINUX` and `TIOCCONS`; `FIONCLEX`, "
             "`FIOASYNC`, `FICLONE`, `FICLONERANGE`, `FIGETBSZ`, `FS_IOC_GETFLAGS`, `SIOCATMARK`, "
             "`SIOCGIF…`",
     TEST(1, ANY, 0),
     VALUES(FIONCLEX, FIOASYNC, FICLONE, FICLONERANGE, FIGETBSZ, FS_IOC_GETFLAGS, TCGETS, TCSETS,
            TCSETSW, TCSETSF, 0x802c542a /* TCGETS2 */, 0x402c542b /* TCSETS2 */, 0x402c542c,
            0x402c542d, TCSBRK, TCXONC, TCFLSH, TCSBRKP, TIOCEXCL, TIOCNXCL, TIOCSCTTY, TIOCNOTTY,
            TIOCGPGRP, TIOCSPGRP, TIOCGSID, TIOCOUTQ, TIOCGWINSZ, TIOCSWINSZ, TIOCGPTN, TIOCSPTLCK,
            TIOCGPTPEER, TIOCGPTLCK, 0x8905 /* SIOCATMARK */, 0x8910 /* SIOCGIFNAME */,
            0x8912 /* SIOCGIFCONF */, 0x8913 /* SIOCGIFFLAGS */, 0x8915 /* SIOCGIFADDR */,
            0x8917 /* SIOCGIFDSTADDR */, 0x8919 /* SIOCGIFBRDADDR */, 0x891b /* SIOCGIFNETMASK */,
            0x891d /* SIOCGIFMETRIC */, 0x8921 /* SIOCGIFMTU */, 0x8927 /* SIOCGIFHWADDR */,
            0x8933 /* SIOCGIFINDEX */)},
    {"fcntl", ALL, .why = commands, .when = "duplicates, flags, locks, the size of a pipe, seals",
     TEST(1, ANY, 0),
     VALUES(F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK,
            F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GETPIPE_SZ, F_GET_SEALS)},
    {"fcntl", PROGRAMS, .why = commands, .when = "`F_ADD_SEALS`", TEST(1, ANY, F_ADD_SEALS)},
    /* sockets */
    {"recvfrom recvmsg shutdown", ALL, .why = sockets},
    {"sendto sendmsg sendmmsg recvmmsg getsockname getpeername getsockopt setsockopt", PROGRAMS,
     .why = sockets},
    {"getsockopt", SOURCES, .why = sockets, .when = "`SO_TYPE`, `SO_ERROR`", TEST(2, ANY, 0),
     VALUES(SO_TYPE, SO_ERROR)},
    {"socketpair", PROGRAMS,
     .why = "pipes in both directions; one for datagrams could be connected to any Unix socket",
     .when = "`AF_UNIX`, `SOCK_STREAM` or `SOCK_SEQPACKET`", TEST(1, SOCKET_TYPE, 0),
     AND(0, ANY, AF_UNIX), VALUES(SOCK_STREAM, SOCK_SEQPACKET)},
    {"socket", NETWORK, .why = "the network", .when = "`AF_INET`, `AF_INET6`", TEST(0, ANY, 0),
     VALUES(AF_INET, AF_INET6)},
    {"socket", NETWORK, .why = "the addresses of the machine",
     .when = "`AF_NETLINK`, `NETLINK_ROUTE`", TEST(0, ANY, AF_NETLINK), AND(2, ANY, 0)},
    {"connect bind listen accept accept4", NETWORK, .why = "the network"},
};

const size_t mcp__n_call_rules = MCP__COUNT(mcp__call_rules);
