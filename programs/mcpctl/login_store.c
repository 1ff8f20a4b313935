/* login_store.c: where mcpctl keeps logins: in a file, $XDG_STATE_HOME/mcp/auth.json, and with
 * --keyring in the keyring of the desktop, by secret-tool. The file then only says that the record is
 * there, so that the locks of the file are used in any case and later commands find the record.
 *
 * secret-tool gets records on stdin, never as arguments, which others can see.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "login.h"
#include "servers.h"

#define IN_KEYRING "{\"keyring\":true}"

struct login_store {
    mcp_oauth_file_store *file;
    const mcp_oauth_store *below; /* of the file */
    mcp_oauth_store functions;
    bool keyring; /* new records go there */
};

/* ---- secret-tool ----------------------------------------------------------------------------- */

typedef struct tool {
    pid_t pid;
    int in, out;
} tool;

static int tool_fail(mcp_error *error, const char *text)
{
    if (error) {
        error->code = MCP_EIO;
        snprintf(error->text, sizeof(error->text), "the keyring: %s", text);
    }
    return MCP_EIO;
}

static int tool_start(const char *const argv[], tool *ret, mcp_error *error)
{
    int in[2], out[2];
    posix_spawn_file_actions_t files;
    if (pipe2(in, O_CLOEXEC) != 0)
        return tool_fail(error, strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]), close(in[1]);
        return tool_fail(error, strerror(errno));
    }
    int rc = posix_spawn_file_actions_init(&files);
    if (rc == 0) {
        posix_spawn_file_actions_adddup2(&files, in[0], 0);
        posix_spawn_file_actions_adddup2(&files, out[1], 1);
        rc = posix_spawnp(&ret->pid, argv[0], &files, NULL, (char **)(uintptr_t)argv, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    close(in[0]), close(out[1]);
    ret->in = in[1], ret->out = out[0];
    if (rc == 0)
        return MCP_OK;
    close(in[1]), close(out[0]);
    return tool_fail(error, rc == ENOENT ? "secret-tool is not installed (Debian: libsecret-tools)"
                                         : strerror(rc));
}

/* Writes the input, which fits a pipe or is read by the tool. */
static void tool_write(const tool *t, mcp_str text)
{
    while (text.len) {
        ssize_t n = write(t->in, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text = (mcp_str){text.ptr + n, text.len - (size_t)n};
    }
}

/* Reads the output, at most 1 MiB of it, for at most a minute, because the keyring may ask for its
 * password. */
static char *tool_read(const tool *t, size_t *len)
{
    enum { MOST = 1 << 20, MS = 60000 };
    char *text = malloc(MOST + 1);
    *len = 0;
    while (text) {
        struct pollfd p = {.fd = t->out, .events = POLLIN};
        ssize_t n =
            poll(&p, 1, MS) == 1 && *len < MOST ? read(t->out, text + *len, MOST - *len) : -1;
        if (n < 0) {
            kill(t->pid, SIGTERM);
            free(text);
            return NULL;
        }
        *len += (size_t)n;
        if (n == 0)
            break;
    }
    if (text)
        text[*len] = 0;
    return text;
}

/* Runs secret-tool. *ret gets the output, which the caller frees; it may be NULL. Returns MCP_OK,
 * MCP_ENOTFOUND (it failed without output: there is no such secret) or MCP_EIO. */
static int tool_run(const char *const argv[], mcp_str input, char **ret, mcp_error *error)
{
    tool t;
    size_t len;
    int status = -1, rc = tool_start(argv, &t, error);
    if (rc != MCP_OK)
        return rc;
    tool_write(&t, input);
    close(t.in);
    char *text = tool_read(&t, &len);
    close(t.out);
    while (waitpid(t.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!text || status != 0)
        rc = text && len == 0 ? MCP_ENOTFOUND : MCP_EIO;
    if (rc == MCP_OK && ret)
        *ret = text;
    else
        free(text);
    return rc == MCP_EIO ? tool_fail(error, "secret-tool failed") : rc;
}

#define ATTRIBUTES(key) "service", "mcp", "login", (key), NULL

static int keyring_put(const char *key, mcp_str record, mcp_error *error)
{
    const char *const argv[] = {"secret-tool", "store", "--label=MCP login", ATTRIBUTES(key)};
    int rc = tool_run(argv, record, NULL, error);
    return rc == MCP_ENOTFOUND ? tool_fail(error, "secret-tool could not store the login") : rc;
}

static int keyring_get(const char *key, char **ret, mcp_error *error)
{
    const char *const argv[] = {"secret-tool", "lookup", ATTRIBUTES(key)};
    return tool_run(argv, (mcp_str){0}, ret, error);
}

static void keyring_remove(const char *key)
{
    const char *const argv[] = {"secret-tool", "clear", ATTRIBUTES(key)};
    tool_run(argv, (mcp_str){0}, NULL, NULL);
}

/* ---- the store ------------------------------------------------------------------------------- */

typedef struct loading {
    const char *key;
    void (*give)(void *arg, mcp_str record);
    void *arg;
    mcp_error *error;
    bool in_keyring;
    bool only_look; /* do not give the record */
    int rc;
} loading;

static void on_record(void *arg, mcp_str record)
{
    loading *l = arg;
    char *text = NULL;
    l->in_keyring = mcp_str_eq(record, MCP_STR(IN_KEYRING));
    if (l->only_look)
        return;
    if (!l->in_keyring) {
        l->give(l->arg, record);
        return;
    }
    l->rc = keyring_get(l->key, &text, l->error);
    if (l->rc == MCP_OK)
        l->give(l->arg, mcp_str_from(text));
    free(text);
}

static int load(const char *key, void (*give)(void *arg, mcp_str record), void *arg, void *user,
                mcp_error *error)
{
    login_store *s = user;
    loading l = {.key = key, .give = give, .arg = arg, .error = error};
    int rc = s->below->load(key, on_record, &l, s->below->user, error);
    return rc == MCP_OK ? l.rc : rc;
}

/* A record stays where it is: in the keyring, or in the file. */
static int save(const char *key, mcp_str record, void *user, mcp_error *error)
{
    login_store *s = user;
    loading l = {.key = key, .only_look = true};
    int rc = s->below->load(key, on_record, &l, s->below->user, error);
    if (rc != MCP_OK && rc != MCP_ENOTFOUND)
        return rc;
    if (!l.in_keyring && !s->keyring)
        return s->below->save(key, record, s->below->user, error);
    if (!record.ptr) {
        keyring_remove(key);
        return s->below->save(key, record, s->below->user, error);
    }
    rc = keyring_put(key, record, error);
    if (rc == MCP_OK && !l.in_keyring)
        rc = s->below->save(key, MCP_STR(IN_KEYRING), s->below->user, error);
    return rc;
}

static int lock(mcp_oauth_client *client, const char *key, void *user)
{
    login_store *s = user;
    return s->below->lock(client, key, s->below->user);
}

static void unlock(mcp_oauth_client *client, const char *key, void *user)
{
    login_store *s = user;
    s->below->unlock(client, key, s->below->user);
}

int login_store_open(mcp_loop *loop, bool keyring, login_store **ret)
{
    mcp_error error = {0};
    char *path = state_file("mcp/auth.json");
    login_store *s = path ? calloc(1, sizeof(*s)) : NULL;
    int rc = s ? mcp_oauth_file_store_new(loop, MCP_OPTIONS(mcp_oauth_file_options, .path = path),
                                          &s->file, &error)
               : MCP_ENOMEM;
    bool none = !path;
    free(path);
    if (none)
        return EXIT_OK;
    if (rc != MCP_OK) {
        say("%s", error.text[0] ? error.text : mcp_error_text(rc));
        free(s);
        return EXIT_LOCAL;
    }
    s->below = mcp_oauth_file_store_get(s->file);
    s->keyring = keyring;
    s->functions = (mcp_oauth_store){.size = sizeof(s->functions),
                                     .user = s,
                                     .lock = lock,
                                     .unlock = unlock,
                                     .load = load,
                                     .save = save};
    *ret = s;
    return EXIT_OK;
}

void login_store_close(login_store *s)
{
    if (!s)
        return;
    mcp_oauth_file_store_free(s->file);
    free(s);
}

const mcp_oauth_store *login_store_functions(const login_store *s)
{
    return s ? &s->functions : NULL;
}

int login_store_list(const login_store *s, void (*each)(void *arg, mcp_str key, mcp_str record),
                     void *arg)
{
    mcp_error error = {0};
    int rc = s ? mcp_oauth_file_store_list(s->file, each, arg, &error) : MCP_OK;
    if (rc == MCP_OK)
        return EXIT_OK;
    say("%s", error.text[0] ? error.text : mcp_error_text(rc));
    return EXIT_LOCAL;
}
