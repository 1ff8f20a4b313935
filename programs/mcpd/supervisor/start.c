/* start.c: see start.h.
 *
 * The descriptors of a successor are 3 (control) and its sockets. Those of a worker are 3 (control),
 * 4 (the board), 5 (the line), one doorbell for each worker, and the sockets. Two words of the command
 * line say so, and are not shown to users.
 */
#define _GNU_SOURCE
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <common/options.h>
#include <common/text.h>
#include <mcp/sys/io.h>

#include "secret.h"

enum {
    FIRST = 3,
    OF_WORKER = 3 /* besides doorbells and sockets */,
    ON_EXEC = 1 << 2 /* CLOSE_RANGE_CLOEXEC */
};

static const char successor_word[] = "--@successor", worker_word[] = "--@worker";

/* ---- what was inherited ---------------------------------------------------------------------- */

static bool inherit_sockets(start *s, int from, size_t n)
{
    if (n > START_SOCKETS) {
        say("at most %d sockets can be inherited, not %zu", START_SOCKETS, n);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        s->sockets[i] = from + (int)i;
    s->n_sockets = n;
    return true;
}

/* The service manager names its sockets in the environment, for this process only. */
static bool look_for_activation(start *s)
{
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
    char *end;
    if (!pid || !n || strtol(pid, NULL, 10) != (long)getpid())
        return true;
    unsigned long count = strtoul(n, &end, 10);
    if (*end || count > INT_MAX)
        return say("LISTEN_FDS cannot be '%s'", n), false;
    s->activated = count > 0;
    return inherit_sockets(s, FIRST, count);
}

/* Reads a number and the character after it, if it is `end`. Returns false if there is none. */
static bool take_number(const char **text, char end, size_t *ret)
{
    size_t digits = strspn(*text, "0123456789");
    *ret = strtoul(*text, NULL, 10);
    *text += digits;
    bool ok = digits && (!end || **text == end);
    *text += end && **text == end;
    return ok;
}

static bool look_for_successor(start *s, const char *details)
{
    s->role = START_SUCCESSOR;
    s->control = FIRST;
    size_t n = 0;
    if (!take_number(&details, 0, &n))
        return false;
    s->activated = *details == 'a';
    return inherit_sockets(s, FIRST + 1, n);
}

static bool look_for_worker(start *s, const char *details)
{
    size_t n = 0;
    s->role = START_WORKER;
    s->control = FIRST;
    s->board = FIRST + 1;
    s->line = FIRST + 2;
    s->doorbell = FIRST + OF_WORKER;
    if (!take_number(&details, ':', &s->number) || !take_number(&details, ':', &s->count) ||
        !take_number(&details, 0, &n) || !s->number || s->number > s->count ||
        s->count > START_WORKERS)
        return false;
    s->is_restart = *details == 'r';
    const char *folder = strchr(details, ':');
    if (!folder)
        return false;
    snprintf(s->instance, sizeof(s->instance), "unix:%s/%zu", folder + 1, s->number);
    return inherit_sockets(s, s->doorbell + (int)s->count, n);
}

/* Sets close-on-exec for all inherited descriptors. Returns false if one is not open. */
static bool guard(const start *s)
{
    int last = s->n_sockets ? s->sockets[s->n_sockets - 1] : s->control;
    for (int fd = FIRST; fd <= last; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            return say("descriptor %d is not open", fd), false;
    return true;
}

/* Returns the path of the program, which stays valid when the working directory changes. */
static char *path_of(const char *name)
{
    char *path = NULL, folder[PATH_MAX];
    if (*name == '/' || !strchr(name, '/') || !getcwd(folder, sizeof(folder)))
        return strdup(name);
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* Copies the environment without what concerns only this process. The service manager's socket for
 * messages stays. */
static char **copy_environment(void)
{
    static const char *const own[] = {
        "LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES=", "WATCHDOG_PID="};
    size_t n = 0, count = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        bool keep = true;
        for (size_t k = 0; k < sizeof(own) / sizeof(*own); k++)
            keep = keep && strncmp(environ[i], own[k], strlen(own[k])) != 0;
        if (keep)
            copy[n++] = environ[i];
    }
    return copy;
}

/* The process that started this one sends the key as the first message. */
static bool get_key(start *s)
{
    ssize_t n = s->control >= 0 ? recv(s->control, s->key, START_KEY, MSG_DONTWAIT)
                                : getrandom(s->key, START_KEY, 0);
    return n == START_KEY || (say("there is no key"), false);
}

int start_control(const start *s, int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    if (send(ends[0], s->key, START_KEY, MSG_NOSIGNAL) == START_KEY)
        return 0;
    close(ends[0]);
    close(ends[1]);
    return -1;
}

bool start_look(start *s, int *argc, char ***argv)
{
    char **words = *argv;
    bool ok = true;
    *s = (start){.control = -1, .line = -1};
    s->program = path_of(words[0]);
    s->env = copy_environment();
    if (!s->program || !s->env)
        return say("out of memory"), false;
    bool worker = *argc > 2 && strcmp(words[1], worker_word) == 0;
    bool successor = *argc > 2 && strcmp(words[1], successor_word) == 0;
    if (!worker && !successor) {
        ok = look_for_activation(s);
    } else {
        ok = worker ? look_for_worker(s, words[2]) : look_for_successor(s, words[2]);
        words[2] = words[0];
        *argv = words + 2;
        *argc -= 2;
    }
    s->argv = *argv;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return ok && guard(s) && get_key(s);
}

void start_clear(start *s)
{
    explicit_bzero(s->key, sizeof(s->key));
    free(s->program);
    free(s->env);
    s->program = NULL;
    s->env = NULL;
}

/* ---- sockets --------------------------------------------------------------------------------- */

int start_take(start *s, const char *address)
{
    for (size_t i = 0; i < s->n_sockets; i++) {
        int fd = s->sockets[i];
        if (fd && mcp_socket_listens(fd, address)) {
            s->sockets[i] = 0;
            return fd;
        }
    }
    return 0;
}

bool start_close_rest(start *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n_sockets; i++) {
        any = any || s->sockets[i];
        if (s->sockets[i])
            close(s->sockets[i]);
    }
    s->n_sockets = 0;
    return any;
}

/* ---- starting again -------------------------------------------------------------------------- */

/* What the child needs, made before fork(), because other threads may exist. */
typedef struct plan {
    const char *program;
    char *const *argv, *const *env;
    const int *fds;
    int n;
    pid_t parent;
    bool worker;
} plan;

static bool place_descriptors(const plan *p)
{
    int moved[OF_WORKER + START_WORKERS + START_SOCKETS];
    for (int i = 0; i < p->n; i++) {
        moved[i] = fcntl(p->fds[i], F_DUPFD_CLOEXEC, FIRST + p->n);
        if (moved[i] < 0)
            return false;
    }
    for (int i = 0; i < p->n; i++)
        if (dup2(moved[i], FIRST + i) < 0)
            return false;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)(FIRST + p->n), ~0U, (unsigned)ON_EXEC) == 0)
        return true;
#endif
    return true; /* this program opens everything with close-on-exec */
}

static void child(const plan *p)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int i = 1; i < NSIG; i++) {
        struct sigaction now;
        if (sigaction(i, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            (void)sigaction(i, &standard, NULL);
    }
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    bool bound = !p->worker || (setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0 &&
                                getppid() == p->parent);
    if (bound && place_descriptors(p))
        execvpe(p->program, p->argv, p->env);
    _exit(127);
}

pid_t start_again(const start *s, start_role role, const char *details, const int *fds, size_t n)
{
    sigset_t all, before;
    size_t count = 0, at = 0;
    bool worker = role == START_WORKER;
    while (s->argv[count])
        count++;
    char **argv =
        n > OF_WORKER + START_WORKERS + START_SOCKETS ? NULL : calloc(count + 3, sizeof(*argv));
    if (!argv) {
        errno = ENOMEM;
        return -1;
    }
    argv[at++] = s->argv[0];
    argv[at++] = (char *)(uintptr_t)(worker ? worker_word : successor_word);
    argv[at++] = (char *)(uintptr_t)details;
    for (size_t i = 1; i < count; i++)
        argv[at++] = s->argv[i];
    char **env = secret_environment(worker ? environ : s->env);
    if (!env) {
        free(argv);
        errno = ENOMEM;
        return -1;
    }
    plan p = {.program = worker ? "/proc/self/exe" : s->program,
              .argv = argv,
              .env = env,
              .fds = fds,
              .n = (int)n,
              .parent = getpid(),
              .worker = worker};
    sigfillset(&all); /* no handler of this process may run in the child */
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        child(&p);
    int why = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(env);
    free(argv);
    errno = why;
    return pid;
}
