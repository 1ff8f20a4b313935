/* filter.c: builds the seccomp filter of a process in the sandbox from the table of calls (calls.c),
 * with libseccomp.
 *
 * The table has names instead of numbers, so it is the same on x86-64 and arm64. A name that
 * libseccomp does not know is left out, so the call is refused. Calls of another architecture, and of
 * x32, kill the process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/library.h"
#include "io/children/calls.h"
#include "io/children/filter.h"

/* The part of seccomp.h that is used. It is the same in all versions 2.x from 2.5. */
typedef void *scmp_filter_ctx;
struct scmp_arg_cmp {
    unsigned arg;
    int op;
    uint64_t a, b;
};
scmp_filter_ctx seccomp_init(uint32_t action);
void seccomp_release(scmp_filter_ctx ctx);
int seccomp_load(scmp_filter_ctx ctx);
int seccomp_export_bpf(scmp_filter_ctx ctx, int fd);
int seccomp_notify_fd(scmp_filter_ctx ctx);
int seccomp_arch_add(scmp_filter_ctx ctx, uint32_t arch);
int seccomp_arch_remove(scmp_filter_ctx ctx, uint32_t arch);
int seccomp_attr_set(scmp_filter_ctx ctx, int attr, uint32_t value);
int seccomp_syscall_resolve_name(const char *name);
int seccomp_rule_add_array(scmp_filter_ctx ctx, uint32_t action, int number, unsigned n,
                           const struct scmp_arg_cmp *args);
enum {
    NATIVE = 0,        /* SCMP_ARCH_NATIVE */
    ATTR_BAD_ARCH = 2, /* SCMP_FLTATR_ACT_BADARCH */
    EQUAL = 4,         /* SCMP_CMP_EQ */
    GREATER_OR_EQUAL = 5,
    MASKED_EQUAL = 7,  /* SCMP_CMP_MASKED_EQ */
    ATTR_OPTIMIZE = 8, /* SCMP_FLTATR_CTL_OPTIMIZE */
    OPTIMIZE_TREE = 2, /* builds a faster filter */
    /* SCMP_FLTATR_CTL_WAITKILL: only a deadly signal interrupts a call that the broker makes.
     * libseccomp 2.5 rejects it, and calls are then begun again after each signal. */
    ATTR_WAIT_KILLABLE = 10,
};
#define KILL        0x80000000U /* SCMP_ACT_KILL_PROCESS */
#define ALLOW       0x7fff0000U
#define NOTIFY      0x7fc00000U
#define REFUSE(why) (0x00050000U | (unsigned)(why))

#define FUNCTIONS(X)                \
    X(seccomp_init)                 \
    X(seccomp_release)              \
    X(seccomp_load)                 \
    X(seccomp_export_bpf)           \
    X(seccomp_notify_fd)            \
    X(seccomp_arch_add)             \
    X(seccomp_arch_remove)          \
    X(seccomp_attr_set)             \
    X(seccomp_syscall_resolve_name) \
    X(seccomp_rule_add_array)

typedef struct functions {
    FUNCTIONS(MCP__LIBRARY_MEMBER)
} functions;

#ifdef MCP_SECCOMP_LINK
MCP__LOAD_LINKED(functions, FUNCTIONS)
#else
MCP__LOAD_LATE(functions, FUNCTIONS, "libseccomp.so.2",
               "a filter of system calls needs libseccomp 2.5")
#endif

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

/* ---- rules ------------------------------------------------------------------------------------- */

typedef struct filter {
    functions f;
    scmp_filter_ctx ctx;
    mcp__filter_kind kind;
    int failed; /* errno */
} filter;

/* Adds a rule. Calls that the architecture does not have are skipped. */
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

static uint32_t action_of(const filter *p, mcp__call_action action)
{
    return action == MCP__CALL_ALLOWED       ? ALLOW
           : action == MCP__CALL_UNSUPPORTED ? REFUSE(EOPNOTSUPP)
           : p->kind.broker                  ? NOTIFY
                                             : REFUSE(EPERM);
}

static void add_call(filter *p, const mcp__call_rule *rule, const char *name)
{
    struct scmp_arg_cmp args[MCP__CALL_TESTS];
    unsigned n = 0;

    for (; n < MCP__CALL_TESTS && rule->tests[n].mask; n++) {
        const mcp__call_test *t = &rule->tests[n];
        args[n] = (struct scmp_arg_cmp){t->arg, MASKED_EQUAL, t->mask, t->value};
    }
    if (rule->own_process)
        args[0].b = (uint64_t)getpid();
    for (size_t i = 0; i < MCP__MAX(rule->n_values, (size_t)1); i++) {
        if (rule->n_values)
            args[0].b = rule->values[i];
        add(p, action_of(p, rule->action), name, n, args);
    }
}

static void add_calls(filter *p, const mcp__call_rule *rule)
{
    char name[32];

    for (const char *at = rule->names; *at;) {
        size_t len = strcspn(at, " ");
        assert(len < sizeof(name));
        memcpy(name, at, len);
        name[len] = '\0';
        add_call(p, rule, name);
        at += len + strspn(at + len, " ");
    }
}

/* Programs expect that a machine may lack a family of sockets, so those that the table does not allow
 * fail with this error. Families above the highest one include all values whose upper half is set. */
static void refuse_sockets(filter *p)
{
    enum { FAMILIES = 64 };
    bool network = (p->kind.who & MCP__FOR_NETWORK) != 0;
    struct scmp_arg_cmp family = {0, EQUAL, 0, 0};

    for (; family.a < FAMILIES; family.a++) {
        if (!network || (family.a != AF_INET && family.a != AF_INET6 && family.a != AF_NETLINK))
            add(p, REFUSE(EAFNOSUPPORT), "socket", 1, &family);
    }
    family.op = GREATER_OR_EQUAL;
    add(p, REFUSE(EAFNOSUPPORT), "socket", 1, &family);
}

/* ---- installing -------------------------------------------------------------------------------- */

static int build(filter *p, uint32_t architecture)
{
    p->ctx = p->f.seccomp_init(REFUSE(ENOSYS));
    if (!p->ctx)
        return MCP_ENOMEM;
    if (architecture != NATIVE) {
        p->failed = -p->f.seccomp_arch_add(p->ctx, architecture);
        if (!p->failed)
            p->failed = -p->f.seccomp_arch_remove(p->ctx, NATIVE);
    }
    (void)p->f.seccomp_attr_set(p->ctx, ATTR_OPTIMIZE, OPTIMIZE_TREE);
    (void)p->f.seccomp_attr_set(p->ctx, ATTR_WAIT_KILLABLE, p->kind.broker);
    /* By default only the calling thread is killed, and other threads would wait for it. */
    (void)p->f.seccomp_attr_set(p->ctx, ATTR_BAD_ARCH, KILL);
    for (size_t i = 0; i < mcp__n_call_rules; i++) {
        if (mcp__call_rules[i].who & p->kind.who)
            add_calls(p, &mcp__call_rules[i]);
    }
    if (p->kind.who & MCP__FOR_PROGRAMS)
        refuse_sockets(p);
    return MCP_OK;
}

/* Builds the filter and passes it to the kernel, or writes it to `fd` if that is not negative. */
static int make(mcp__filter_kind kind, uint32_t architecture, int fd, int *listener,
                mcp_error *error)
{
    filter p = {.kind = kind};
    int rc = load(&p.f, error);

    if (rc != MCP_OK)
        return rc;
    if (build(&p, architecture) != MCP_OK)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a filter of system calls");
    if (!p.failed) {
        rc = fd < 0 ? p.f.seccomp_load(p.ctx) : p.f.seccomp_export_bpf(p.ctx, fd);
        p.failed = rc < 0 ? -rc : 0;
    }
    if (!p.failed && listener && kind.broker)
        *listener = p.f.seccomp_notify_fd(p.ctx);
    p.f.seccomp_release(p.ctx);
    if (p.failed)
        return mcp__fail(error, MCP_EIO, 0, "the filter of system calls: %s", strerror(p.failed));
    return MCP_OK;
}

int mcp__filter_enter(mcp__filter_kind kind, int *listener, mcp_error *error)
{
    return make(kind, NATIVE, -1, listener, error);
}

int mcp__filter_export(mcp__filter_kind kind, uint32_t architecture, int fd, mcp_error *error)
{
    return make(kind, architecture, fd, NULL, error);
}
