/* probe.c: a module that tries to escape from its sandbox. The resource probe://report has a line
 * for each attempt, with its name and errno. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mcp/module.h>

static char report[4096];

static void note(const char *name, long rc)
{
    size_t n = strlen(report);
    snprintf(report + n, sizeof(report) - n, "%s %d\n", name, rc < 0 ? errno : 0);
}

static void try_file(const char *name, const char *path, int flags)
{
    note(name, open(path, flags | O_CLOEXEC, 0600));
}

static void try_all(const char *source)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = 22};
    char path[64];
    struct rlimit core = {1, 1};

    try_file("source", source, O_RDONLY);
    try_file("source-write", source, O_WRONLY);
    try_file("passwd", "/etc/passwd", O_RDONLY);
    try_file("create", "/tmp/mcp-probe-was-here", O_CREAT | O_WRONLY);
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
    try_file("parent-environ", path, O_RDONLY);
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
    try_file("parent-memory", path, O_RDWR);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    note("connect", fd < 0 ? fd : connect(fd, (struct sockaddr *)(void *)&to, sizeof(to)));
    note("ptrace", ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
    note("kill", kill(getppid(), 0));
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    note("fork", pid);
    getrlimit(RLIMIT_CORE, &core);
    snprintf(path, sizeof(path), "core=%ld env=%d", (long)core.rlim_cur, environ && environ[0]);
    note(path, 0);
    for (fd = 5; fd < 64;
         fd++) { /* the child's own loop has some descriptors, but none is inherited */
        char byte;
        if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
            note("inherited-socket", 0);
    }
}

static int read_report(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri;
    (void)match;
    (void)user;
    return mcp_reply_text(req, report);
}

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    (void)options;
    (void)name;
    if (strcmp(source, "refuse") == 0)
        return MCP_ENOTFOUND;
    if (strcmp(source, "crash") == 0)
        raise(SIGSEGV);
    if (strcmp(source, "spin") == 0)
        for (volatile unsigned i = 0;; i++)
            ;
    try_all(source);
    return mcp_server_add_resource(
        server,
        MCP_OPTIONS(mcp_resource, .uri = "probe://report", .name = "report", .read = read_report),
        NULL, error);
}

MCP_MODULE(probe, .source_is_path = true, .mount = mount);
