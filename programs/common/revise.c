/* revise.c: see revise.h. */
#define _GNU_SOURCE
#include "revise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"

enum { LONGEST = 1 << 20 };

/* Returns the command, or NULL if none is set. */
static const char *editor_command(void)
{
    const char *visual = getenv("VISUAL"), *editor = getenv("EDITOR");
    if (visual && *visual)
        return visual;
    return editor && *editor ? editor : NULL;
}

/* stdout may be a file, so the editor gets the terminal. */
static int terminal(void)
{
    if (isatty(STDERR_FILENO))
        return STDERR_FILENO;
    return isatty(STDOUT_FILENO) ? STDOUT_FILENO : open("/dev/tty", O_WRONLY | O_CLOEXEC);
}

/* Ctrl-C belongs to the editor meanwhile. Returns the status of waitpid(), or -1. */
static int run_editor(const char *editor, const char *path)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    char *line = NULL;
    int status = -1;
    if (asprintf(&line, "%s \"$@\"", editor) < 0)
        return -1;
    fflush(NULL);
    sigaction(SIGINT, &ignore, &old);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        dup2(terminal(), STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", line, editor, path, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &old, NULL);
    free(line);
    return status;
}

static int fail(mcp_error *error, int rc, const char *what, const char *why)
{
    error->code = rc;
    snprintf(error->text, sizeof(error->text), "%s: %s", what, why);
    return rc;
}

static bool write_to(int fd, const char *text)
{
    FILE *f = fdopen(fd, "w");
    bool written = f && fputs(text, f) >= 0;
    if (!f)
        close(fd);
    return f && fclose(f) == 0 && written;
}

int revise_file(const char *path, mcp_error *error)
{
    const char *set = editor_command(), *editor = set ? set : "vi";
    int status = run_editor(editor, path);
    if (status == 0)
        return MCP_OK;
    if (!set && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return fail(error, MCP_ENOTFOUND, "there is no editor",
                    "set VISUAL or EDITOR to the command of yours");
    return fail(error, MCP_EIO, "the editor failed", editor);
}

int revise_text(const char *text, const char *suffix, char **ret, mcp_error *error)
{
    const char *folder = getenv("TMPDIR");
    char *path = NULL;
    size_t len = 0, before = strlen(text);
    if (asprintf(&path, "%s/mcpctl-XXXXXX%s", folder && *folder ? folder : "/tmp", suffix) < 0)
        return fail(error, MCP_ENOMEM, "the editor", mcp_error_text(MCP_ENOMEM));
    int fd = mkostemps(path, (int)strlen(suffix), O_CLOEXEC);
    int rc = MCP_OK;
    if (fd < 0 || !write_to(fd, text))
        rc = fail(error, MCP_EIO, path, strerror(errno));
    else if ((rc = revise_file(path, error)) == MCP_OK) /* some editors replace the file */
        rc = file_load(path, FILE_FOUND, LONGEST, ret, &len, error);
    if (fd >= 0)
        unlink(path);
    free(path);
    if (rc == MCP_OK && len && (*ret)[len - 1] == '\n' && !(before && text[before - 1] == '\n'))
        (*ret)[len - 1] = 0;
    return rc;
}
