/* test_sandbox_table.c: the filters that are built from the table of system calls, for both
 * architectures and each kind of process, against a slow model of the table: in an interpreter of BPF,
 * and in the kernel, where a process makes each call. Also, docs/security.md has the same table. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/children/calls.h"
#include "io/children/filter.h"

enum { NUMBERS = 1024, MOST_NAMES = 400, X32 = 0x40000000 };

/* ---- the interpreter ----------------------------------------------------------------------------- */

typedef struct program {
    struct sock_filter code[8192];
    size_t n;
} program;

static uint32_t load_word(const struct seccomp_data *data, uint32_t at)
{
    uint32_t word;

    assert_true(at % 4 == 0 && at + 4 <= sizeof(*data));
    memcpy(&word, (const char *)data + at, sizeof(word));
    return word;
}

static bool jumps(uint16_t code, uint32_t a, uint32_t k)
{
    switch (code) {
    case BPF_JMP | BPF_JEQ | BPF_K: return a == k;
    case BPF_JMP | BPF_JGT | BPF_K: return a > k;
    case BPF_JMP | BPF_JGE | BPF_K: return a >= k;
    case BPF_JMP | BPF_JSET | BPF_K: return (a & k) != 0;
    default: fail_msg("instruction %x", code); return false;
    }
}

static uint32_t run(const program *p, const struct seccomp_data *data)
{
    uint32_t a = 0;

    for (size_t pc = 0; pc < p->n; pc++) {
        const struct sock_filter *i = &p->code[pc];
        if (i->code == (BPF_RET | BPF_K))
            return i->k;
        else if (i->code == (BPF_LD | BPF_W | BPF_ABS))
            a = load_word(data, i->k);
        else if (i->code == (BPF_ALU | BPF_AND | BPF_K))
            a &= i->k;
        else if (i->code == (BPF_JMP | BPF_JA))
            pc += i->k;
        else
            pc += jumps(i->code, a, i->k) ? i->jt : i->jf;
    }
    fail_msg("the end of the filter is reached");
    return 0;
}

/* ---- kinds of processes and architectures ---------------------------------------------------------- */

static const struct {
    const char *name;
    mcp__filter_kind kind;
} kinds[] = {
    {"source", {MCP__FOR_SOURCES, false}},
    {"source that writes", {MCP__FOR_SOURCES | MCP__FOR_WRITERS, false}},
    {"program", {MCP__FOR_PROGRAMS, false}},
    {"program that writes", {MCP__FOR_PROGRAMS, true}},
    {"program with the network", {MCP__FOR_PROGRAMS | MCP__FOR_NETWORK, false}},
};

static const uint32_t architectures[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

static int (*resolve)(uint32_t architecture, const char *name);

/* Adding the architecture of the machine again would be an error. */
static void export(mcp__filter_kind kind, uint32_t architecture, program *ret)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    mcp_error error;

    assert_true(fd >= 0);
    if (mcp__filter_export(kind, architecture == NATIVE ? 0 : architecture, fd, &error) != MCP_OK)
        fail_msg("%s", error.text);
    ssize_t size = pread(fd, ret->code, sizeof(ret->code), 0);
    close(fd);
    assert_true(size > 0 && size < (ssize_t)sizeof(ret->code));
    ret->n = (size_t)size / sizeof(ret->code[0]);
}

/* ---- the model --------------------------------------------------------------------------------------- */

/* Returns whether a text of names separated by blanks has this one. */
static bool has_name(const char *names, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = names; (at = strstr(at, name)) != NULL; at += len) {
        if ((at == names || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    }
    return false;
}

static bool passes(const mcp__call_rule *r, const uint64_t *args)
{
    for (size_t i = 0; i < MCP__CALL_TESTS; i++) {
        const mcp__call_test *t = &r->tests[i];
        uint64_t value = args[t->arg] & t->mask;
        bool found = value == (i == 0 && r->own_process ? (uint64_t)getpid() : t->value);
        if (i == 0 && r->n_values)
            found = false;
        for (size_t v = 0; i == 0 && v < r->n_values; v++)
            found = found || value == r->values[v];
        if (t->mask && !found)
            return false;
    }
    return true;
}

static uint32_t expected(const char *name, const uint64_t *args, mcp__filter_kind kind)
{
    for (size_t i = 0; name && i < mcp__n_call_rules; i++) {
        const mcp__call_rule *r = &mcp__call_rules[i];
        if (!(r->who & kind.who) || !has_name(r->names, name) || !passes(r, args))
            continue;
        return r->action == MCP__CALL_ALLOWED       ? SECCOMP_RET_ALLOW
               : r->action == MCP__CALL_UNSUPPORTED ? SECCOMP_RET_ERRNO | EOPNOTSUPP
               : kind.broker                        ? SECCOMP_RET_USER_NOTIF
                                                    : SECCOMP_RET_ERRNO | EPERM;
    }
    bool netlink = (kind.who & MCP__FOR_NETWORK) && args[0] == AF_NETLINK;
    if (name && strcmp(name, "socket") == 0 && (kind.who & MCP__FOR_PROGRAMS) && !netlink)
        return SECCOMP_RET_ERRNO | EAFNOSUPPORT;
    return SECCOMP_RET_ERRNO | ENOSYS;
}

static const char *kept_names[MOST_NAMES];
static int numbers[2][MOST_NAMES]; /* in each architecture; negative if it lacks the call */
static size_t n_names;

static void keep_names(void)
{
    for (size_t i = 0; i < mcp__n_call_rules; i++) {
        char *text = strdup(mcp__call_rules[i].names), *rest = text, *name;
        while ((name = strsep(&rest, " ")) != NULL) {
            bool known = false;
            for (size_t k = 0; k < n_names; k++)
                known = known || strcmp(kept_names[k], name) == 0;
            assert_true(n_names < MOST_NAMES && *name);
            if (!known)
                kept_names[n_names++] = strdup(name);
        }
        free(text);
    }
}

/* Returns the name of a call of the table, or NULL. */
static const char *name_of(uint32_t architecture, int number)
{
    const int *of = numbers[architecture == architectures[1]];

    for (size_t i = 0; i < n_names; i++) {
        if (of[i] == number)
            return kept_names[i];
    }
    return NULL;
}

/* ---- every number, and the arguments that matter ------------------------------------------------------ */

typedef struct tried {
    const program *filter;
    const char *kind, *name;
    mcp__filter_kind filter_kind;
    struct seccomp_data data;
} tried;

static void check(tried *t)
{
    uint64_t args[6];

    memcpy(args, t->data.args, sizeof(args));
    uint32_t is = run(t->filter, &t->data), wanted = expected(t->name, args, t->filter_kind);
    if (is != wanted)
        fail_msg("%s: %x %s (%d) of %llx, %llx, %llx, %llx: %x instead of %x", t->kind,
                 t->data.arch, t->name ? t->name : "-", t->data.nr, (unsigned long long)args[0],
                 (unsigned long long)args[1], (unsigned long long)args[2],
                 (unsigned long long)args[3], is, wanted);
}

/* Near a value: the value, its neighbours, single bits of it changed, and its upper half. */
static void check_near(tried *t, unsigned arg, uint64_t value)
{
    const uint64_t other[] = {value,     value + 1,          value - 1,          ~value,
                              value | 1, value | 1ULL << 32, value | ~0ULL << 32};

    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        t->data.args[arg] = other[i];
        check(t);
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        t->data.args[arg] = value ^ 1ULL << bit;
        check(t);
    }
    t->data.args[arg] = value;
}

static void check_call(tried *t)
{
    memset(t->data.args, 0, sizeof(t->data.args));
    check(t);
    memset(t->data.args, 0xff, sizeof(t->data.args));
    check(t);
    for (size_t i = 0; t->name && i < mcp__n_call_rules; i++) {
        const mcp__call_rule *r = &mcp__call_rules[i];
        const mcp__call_test *a = &r->tests[0], *b = &r->tests[1];
        if (!has_name(r->names, t->name) || !a->mask)
            continue;
        memset(t->data.args, 0, sizeof(t->data.args));
        t->data.args[b->arg] = b->mask ? b->value : 0;
        for (size_t v = 0; v < (r->n_values ? r->n_values : 1); v++)
            check_near(t, a->arg, r->n_values ? r->values[v] : a->value);
        if (r->own_process)
            check_near(t, a->arg, (uint64_t)getpid());
        for (int on = 0; b->mask && on < 2; on++)
            check_near(t, b->arg, b->value);
    }
}

static void test_every_number(void **state)
{
    static program filter;

    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (size_t a = 0; a < sizeof(architectures) / sizeof(architectures[0]); a++) {
            tried t = {.filter = &filter,
                       .kind = kinds[k].name,
                       .filter_kind = kinds[k].kind,
                       .data = {.arch = architectures[a]}};
            export(kinds[k].kind, architectures[a], &filter);
            for (int number = 0; number < NUMBERS; number++) {
                t.data.nr = number;
                t.name = name_of(architectures[a], number);
                check_call(&t);
            }
        }
    }
}

/* x32, i386, arm, and the other one of the two architectures. */
static void test_other_architectures(void **state)
{
    const uint32_t others[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, 0, ~0U};
    static program filter;

    (void)state;
    for (size_t a = 0; a < sizeof(architectures) / sizeof(architectures[0]); a++) {
        struct seccomp_data data = {.arch = architectures[1 - a]};
        export(kinds[2].kind, architectures[a], &filter);
        assert_int_equal(run(&filter, &data), SECCOMP_RET_KILL_PROCESS);
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
            data.arch = others[i];
            assert_int_equal(run(&filter, &data), SECCOMP_RET_KILL_PROCESS);
        }
        data.arch = architectures[a];
        for (int number = 0; number < NUMBERS; number++) {
            data.nr = X32 | number;
            uint32_t is = run(&filter, &data);
            assert_int_equal(is, architectures[a] == AUDIT_ARCH_X86_64
                                     ? SECCOMP_RET_KILL_PROCESS
                                     : SECCOMP_RET_ERRNO | ENOSYS);
        }
    }
}

/* ---- in the kernel ------------------------------------------------------------------------------------- */

enum { UNKNOWN = -2 }; /* the call did not return */

/* Starts a process in which the signals that cmocka handles end it. */
static pid_t start(void)
{
    const int handled[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS};
    pid_t pid = fork();

    assert_true(pid >= 0);
    for (size_t i = 0; pid == 0 && i < sizeof(handled) / sizeof(handled[0]); i++)
        signal(handled[i], SIG_DFL);
    return pid;
}

/* The kernel asks no filter about these two, which only its own code may make. */
static bool is_filtered(int number)
{
#ifdef __x86_64__
    return number != 335 /* uretprobe */ && number != 336 /* uprobe */;
#else
    return number >= 0;
#endif
}

static void enter(mcp__filter_kind kind)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || mcp__filter_enter(kind, NULL, NULL) != MCP_OK)
        _exit(126);
}

/* Makes a call, all of whose arguments are -1. That is no address, descriptor, process or signal, so a
 * call that the filter lets through does no harm. */
static int result_of(int number)
{
    long rc;

#ifdef SYS_vfork
    if (number == SYS_vfork) { /* syscall() would return twice on one stack */
        pid_t pid = vfork();
        if (pid == 0)
            _exit(0);
        return pid < 0 ? errno : 0;
    }
#endif
    rc = syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
    return rc < 0 ? errno : 0;
}

/* In a process of its own, since the call may end it or not return. */
static void try_alone(int number, volatile int *ret)
{
    pid_t pid = start();

    if (pid == 0) {
        alarm(2);
        *ret = result_of(number);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

/* Without processes, which sources may not start. */
static void try_refused(mcp__filter_kind kind, volatile int *ret)
{
    const uint64_t args[6] = {~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL};
    pid_t pid = start();

    if (pid == 0) {
        alarm(60);
        for (int number = 0; number < NUMBERS; number++) {
            if (expected(name_of(NATIVE, number), args, kind) == SECCOMP_RET_ALLOW)
                ret[number] = 0;
        }
        enter(kind);
        for (int number = 0; number < NUMBERS; number++) {
            if (ret[number] == UNKNOWN && is_filtered(number))
                ret[number] = result_of(number);
        }
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void try_all(mcp__filter_kind kind, volatile int *ret)
{
    pid_t pid = start();

    if (pid == 0) {
        enter(kind);
        for (int number = 0; number < NUMBERS; number++) {
            if (is_filtered(number))
                try_alone(number, &ret[number]);
        }
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void test_in_kernel(void **state)
{
    const uint64_t args[6] = {~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL};
    size_t size = sizeof(int) * (NUMBERS + 1);
    int *is = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(is != MAP_FAILED);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        mcp__filter_kind kind = {.who = kinds[k].kind.who};
        bool forks = (kind.who & MCP__FOR_PROGRAMS) != 0;
        for (int number = 0; number <= NUMBERS; number++)
            is[number] = UNKNOWN;
        (forks ? try_all : try_refused)(kind, is);
        for (int number = 0; number < NUMBERS; number++) {
            uint32_t wanted = expected(name_of(NATIVE, number), args, kind);
            if (!is_filtered(number))
                continue;
            bool allowed = wanted == SECCOMP_RET_ALLOW;
            if (allowed && is[number] == ENOSYS) /* perhaps the kernel lacks it */
                try_alone(number, &is[NUMBERS]);
            if (allowed ? is[number] == ENOSYS && is[NUMBERS] != ENOSYS
                        : is[number] != (int)(wanted & SECCOMP_RET_DATA))
                fail_msg("%s: call %d gives %d instead of %x", kinds[k].name, number, is[number],
                         wanted);
        }
    }
    munmap(is, size);
}

#ifdef __x86_64__
static int kill_by(bool x32)
{
    int status = 0, rc = 0;
    pid_t pid = start();

    if (pid == 0) {
        enter(kinds[2].kind);
        if (x32)
            syscall(X32 | SYS_getpid);
        else
            __asm__ volatile("int $0x80" : "=a"(rc) : "a"(20 /* getpid */) : "memory");
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_other_tables(void **state)
{
    (void)state;
    assert_int_equal(kill_by(true), SIGSYS);
    int i386 = kill_by(false);
    assert_true(i386 == SIGSYS || i386 == SIGSEGV); /* the kernel may have no such calls */
}
#endif

/* ---- the table in docs/security.md --------------------------------------------------------------------- */

static void put_row(FILE *to, const mcp__call_rule *r)
{
    static const struct {
        unsigned who;
        const char *name;
    } names[] = {
        {MCP__FOR_SOURCES, "sources"},
        {MCP__FOR_WRITERS, "sources that write"},
        {MCP__FOR_PROGRAMS, "programs"},
        {MCP__FOR_NETWORK, "programs with the network"},
    };
    const char *between = "";

    fprintf(to, "| `%s` | ", r->names);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (r->who & names[i].who) {
            fprintf(to, "%s%s", between, names[i].name);
            between = ", ";
        }
    }
    assert_int_equal(r->when != NULL, r->tests[0].mask != 0);
    fprintf(to, " | %s | %s%s |\n", r->when ? r->when : "any",
            r->action == MCP__CALL_UNSUPPORTED   ? "`EOPNOTSUPP`: "
            : r->action == MCP__CALL_CARRIED_OUT ? "by the broker: "
                                                 : "",
            r->why);
}

static void test_page(void **state)
{
    char *wanted = NULL, *is = NULL, *line = NULL;
    size_t size = 0, room = 0;
    FILE *to = open_memstream(&wanted, &size);

    (void)state;
    for (size_t i = 0; i < mcp__n_call_rules; i++)
        put_row(to, &mcp__call_rules[i]);
    fclose(to);
    FILE *page = fopen(MCP_TEST_SOURCE_DIR "/../docs/security.md", "r");
    assert_non_null(page);
    to = open_memstream(&is, &size);
    bool inside = false;
    while (getline(&line, &room, page) >= 0) {
        if (inside && line[0] == '|' && strncmp(line, "|---", 4) != 0)
            fputs(line, to);
        inside = (inside && line[0] == '|') || strncmp(line, "| system calls |", 16) == 0;
    }
    fclose(page);
    fclose(to);
    if (strcmp(is, wanted) != 0)
        fprintf(stderr, "docs/security.md should have:\n%s", wanted);
    assert_string_equal(is, wanted);
    free(line);
    free(wanted);
    free(is);
}

static int prepare(void **state)
{
    void *library = dlopen("libseccomp.so.2", RTLD_NOW);

    (void)state;
    keep_names();
    if (library)
        *(void **)&resolve = dlsym(library, "seccomp_syscall_resolve_name_arch");
    for (size_t i = 0; resolve && i < 2 * n_names; i++)
        numbers[i % 2][i / 2] = resolve(architectures[i % 2], kept_names[i / 2]);
    return !resolve;
}

static int clean(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_names; i++)
        free((void *)(uintptr_t)kept_names[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_every_number),
        cmocka_unit_test(test_other_architectures),
        cmocka_unit_test(test_in_kernel),
#ifdef __x86_64__
        cmocka_unit_test(test_other_tables),
#endif
    };

    if (!mcp__filter_available()) {
        fprintf(stderr, "there is no libseccomp, or no seccomp\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, prepare, clean);
}
