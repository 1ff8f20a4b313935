/* sandbox.c: restricts the calling process: its files by Landlock, its system calls by seccomp.
 *
 * Each part works without the other, because either may be missing. A kernel may lack Landlock or
 * some of its rights, and a container may forbid seccomp. Landlock's constants are declared here,
 * because the headers of Debian 12 lack the newer ones.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mcp/sys/children.h>

#include "base/base.h"
#include "io/children/broker.h"
#include "io/children/calls.h"
#include "io/children/filter.h"

/* ---- Landlock -------------------------------------------------------------------------------------- */

enum {
    CREATE_RULESET = 444, /* system call numbers, the same on all architectures */
    ADD_RULE = 445,
    RESTRICT_SELF = 446,
    VERSION = 1 << 0, /* flag of CREATE_RULESET */
    PATH_BENEATH = 1, /* type of ADD_RULE */

    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    WRITE = 0x7ff2, /* all rights to modify files, except IOCTL_DEV */
    OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15, /* rights that a file can have */
};

/* struct landlock_ruleset_attr. An older kernel accepts only the first members. */
typedef struct ruleset {
    uint64_t files, network, scopes;
} ruleset;

typedef struct beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed)) beneath;

/* The rights that each version of Landlock can restrict. */
static const struct {
    size_t size;
    ruleset set;
} versions[] = {
    {sizeof(uint64_t), {0x1fff, 0, 0}},     {sizeof(uint64_t), {0x3fff, 0, 0}},
    {sizeof(uint64_t), {0x7fff, 0, 0}},     {2 * sizeof(uint64_t), {0x7fff, 3, 0}},
    {2 * sizeof(uint64_t), {0xffff, 3, 0}}, {sizeof(ruleset), {0xffff, 3, 3}},
};

/* Paths that every process may read, because the dynamic linker and the C library may open them
 * later. */
static const char *const libraries[] = {
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/dev/null",
    "/dev/urandom",
    NULL,
};

/* What programs of others commonly need, in addition. Files with passwords are not among them, and
 * nothing of other processes. */
static const char *const system_paths[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/opt",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/gai.conf",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/localtime",
    "/etc/locale.alias",
    "/etc/lsb-release",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/protocols",
    "/etc/redhat-release",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/dev/random",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/vm/overcommit_memory",
    "/proc/uptime",
    "/proc/version",
    "/run/systemd/resolve/stub-resolv.conf",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    NULL,
};

static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", NULL};

static int landlock_version(void)
{
    long version = syscall(CREATE_RULESET, NULL, 0, (unsigned)VERSION);

    return version < 1 ? 0 : version > INT32_MAX ? INT32_MAX : (int)version;
}

/* Allows access to a path. A path that does not exist, or cannot be reached, is skipped. */
static int allow(int set, const char *path, uint64_t rights)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
    beneath rule = {.allowed = rights, .parent = fd};
    int rc = fstat(fd, &st);
    if (rc == 0 && !S_ISDIR(st.st_mode))
        rule.allowed &= OF_FILES;
    if (rc == 0)
        rc = (int)syscall(ADD_RULE, set, (unsigned)PATH_BENEATH, &rule, 0U);
    int why = errno;
    close(fd);
    errno = why;
    return rc;
}

static int allow_all(int set, const char *const *paths, uint64_t rights)
{
    for (; paths && *paths; paths++) {
        if (allow(set, *paths, rights) < 0)
            return -1;
    }
    return 0;
}

static int restrict_files(const mcp_sandbox_options *o, int version)
{
    size_t row = MCP__MIN((size_t)version, MCP__COUNT(versions)) - 1;
    ruleset r = versions[row].set;
    uint64_t reading = READ_FILE | READ_DIR | (o->runs_program ? EXECUTE : 0);

    if (o->runs_program && o->network)
        r.network = 0;
    int set = (int)syscall(CREATE_RULESET, &r, versions[row].size, 0U);

    if (set < 0)
        return -1;
    int rc = allow_all(set, libraries, reading);
    if (rc == 0 && o->runs_program)
        rc = allow_all(set, system_paths, reading);
    if (rc == 0 && o->runs_program)
        rc = allow_all(set, devices, READ_FILE | WRITE_FILE);
    if (rc == 0)
        rc = allow_all(set, o->read, reading);
    if (rc == 0)
        rc = allow_all(set, o->write, (reading | WRITE) & r.files);
    if (rc == 0)
        rc = (int)syscall(RESTRICT_SELF, set, 0U);
    int why = errno;
    close(set);
    errno = why;
    return rc;
}

/* ---- the parts ------------------------------------------------------------------------------------- */

static const struct {
    mcp_sandbox_kind kind;
    int version; /* least version of Landlock; 0 means that seccomp is needed instead */
    const char *name, *without;
} parts[] = {
    {MCP_SANDBOX_FILES, 1, "files", "a child can open every file that this user can open"},
    {MCP_SANDBOX_TRUNCATE, 3, "truncation", "a child can empty files that this user can write"},
    {MCP_SANDBOX_NETWORK, 4, "network", "only the filter of system calls keeps a child off it"},
    {MCP_SANDBOX_DEVICES, 5, "devices", "only the filter of system calls keeps a child off them"},
    {MCP_SANDBOX_SIGNALS, 6, "signals",
     "only the filter of system calls keeps a child from them, and no program runs in a sandbox"},
    {MCP_SANDBOX_CALLS, 0, "system calls",
     "a child can use the network, start programs and trace processes of this user"},
};

static bool is_given(size_t i)
{
    return parts[i].version ? landlock_version() >= parts[i].version : mcp__filter_available();
}

int mcp_sandbox_probe(size_t i, mcp_sandbox_part *ret)
{
    if (i >= MCP__COUNT(parts) || !ret)
        return i >= MCP__COUNT(parts) ? MCP_ENOTFOUND : MCP_EINVAL;
    mcp_sandbox_part part = {.size = sizeof(part),
                             .name = parts[i].name,
                             .without = parts[i].without,
                             .kind = parts[i].kind,
                             .given = is_given(i)};
    size_t size = MCP__MIN(ret->size, sizeof(part));
    memcpy(ret, &part, size);
    ret->size = size;
    return MCP_OK;
}

/* ---- entering ---------------------------------------------------------------------------------------- */

enum {
    STACK = 64 << 20, /* RLIMIT_DATA does not count the stack */
    TASKS = 16384,    /* limit for the tasks of the user in all processes; does not apply to root */
    KEPT = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH, /* Landlock limits these */
};

/* Returns whether other threads run, which would stay outside the sandbox and share the memory of
 * those inside. unshare() changes nothing here; a container may refuse it. */
static bool has_threads(void)
{
    struct stat st;

#ifdef __SANITIZE_THREAD__
    return false; /* the sanitizer has a thread of its own */
#endif
    if (unshare(CLONE_THREAD) == 0)
        return false;
    if (errno == EINVAL)
        return true;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink > 3;
}

static void lower_limit(int what, rlim_t most)
{
    struct rlimit now;

    if (syscall(SYS_prlimit64, 0, what, NULL, &now) < 0)
        return;
    now.rlim_max = MCP__MIN(now.rlim_max, most);
    now.rlim_cur = MCP__MIN(now.rlim_cur, most);
    (void)syscall(SYS_prlimit64, 0, what, &now, NULL);
}

/* Leaves half of the tasks that the user may have to the user's other processes. */
static void lower_limits(void)
{
    struct rlimit tasks = {RLIM_INFINITY, RLIM_INFINITY};

    (void)getrlimit(RLIMIT_NPROC, &tasks);
    lower_limit(RLIMIT_NPROC, MCP__MIN(tasks.rlim_cur / 2, (rlim_t)TASKS));
    lower_limit(RLIMIT_STACK, STACK);
}

/* Root keeps only what may be needed to read the given files. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];

    if (syscall(SYS_capget, &head, sets) < 0)
        return -1;
    sets[0].permitted &= KEPT;
    sets[0].effective &= KEPT;
    sets[0].inheritable = 0;
    sets[1] = (struct __user_cap_data_struct){0};
    return (int)syscall(SYS_capset, &head, sets);
}

static int give_up_rights(mcp_error *error)
{
    if (has_threads())
        return mcp__fail(error, MCP_ESTATE, 0,
                         "another thread runs already, and the sandbox would not hold it");
    lower_limits();
    if (drop_capabilities() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return mcp__fail(error, MCP_EIO, 0, "rights cannot be given up: %s", strerror(errno));
    return MCP_OK;
}

static bool has_paths(const char *const *paths)
{
    return paths && paths[0];
}

static int enter_filter(const mcp_sandbox_options *o, int broker, mcp_error *error)
{
    mcp__filter_kind kind = {.who = o->runs_program ? MCP__FOR_PROGRAMS : MCP__FOR_SOURCES,
                             .broker = broker >= 0};
    int listener = -1;

    if (o->runs_program && o->network)
        kind.who |= MCP__FOR_NETWORK;
    if (!o->runs_program && has_paths(o->write))
        kind.who |= MCP__FOR_WRITERS;
    int rc = mcp__filter_enter(kind, &listener, error);
    return rc == MCP_OK && broker >= 0 ? mcp__broker_connect(broker, listener, error) : rc;
}

/* Returns which kinds of restriction this system has. */
static unsigned given_kinds(void)
{
    unsigned kinds = 0;

    for (size_t i = 0; i < MCP__COUNT(parts); i++)
        kinds |= is_given(i) ? parts[i].kind : 0;
    return kinds;
}

static int check_required(size_t lacking, mcp_error *error)
{
    char names[128] = "";
    size_t len = 0;

    for (size_t i = 0; i < MCP__COUNT(parts); i++) {
        if (lacking & parts[i].kind)
            len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "",
                                    parts[i].name);
    }
    return !lacking ? MCP_OK
                    : mcp__fail(error, MCP_EUNSUPPORTED, 0,
                                "the kernel or the container lacks what is required: %s",
                                len ? names : "a part that this version does not know");
}

int mcp_sandbox_enter(const mcp_sandbox_options *options, unsigned *ret, mcp_error *error)
{
    mcp__no_error(error);
    mcp_sandbox_options o;
    int broker = -1;
    unsigned kinds = given_kinds();
    int rc = MCP__TAKE(&o, options, mcp_sandbox_options, error);
    if (rc == MCP_OK)
        rc = check_required(o.required & ~kinds, error);
    if (rc == MCP_OK)
        rc = give_up_rights(error);
    bool filtered = (kinds & MCP_SANDBOX_CALLS) != 0;
    if (rc == MCP_OK && filtered && o.runs_program && has_paths(o.write))
        rc = mcp__broker_start(o.write, &broker, error);
    if (rc != MCP_OK)
        return rc;
    if ((kinds & MCP_SANDBOX_FILES) && restrict_files(&o, landlock_version()) < 0)
        return mcp__fail(error, MCP_EIO, 0, "Landlock: %s", strerror(errno));
    rc = filtered ? enter_filter(&o, broker, error) : MCP_OK;
    if (rc == MCP_OK && ret)
        *ret = kinds;
    return rc;
}
