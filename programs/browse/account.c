/* account.c: the login at a server that requires one (OAuth).
 *
 * There is no person for the OAuth client here: a server that needs one gets an error, and nothing is
 * registered at its authorization server. The user then starts the login by a key.
 */
#define _GNU_SOURCE
#include "account.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include <common/sibling.h>
#include <common/text.h>

struct account {
    mcp_oauth_file_store *store;
    mcp_oauth_client *client;
};

static bool has_authorization(const char *const *headers)
{
    for (; headers && *headers; headers++)
        if (strncasecmp(*headers, "authorization:", 14) == 0)
            return true;
    return false;
}

/* The file of mcpctl. Without a home there is none, and the tokens stay in memory. */
static int open_store(account *a, mcp_loop *loop, mcp_error *error)
{
    char path[PATH_MAX];
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int len = state && *state ? snprintf(path, sizeof(path), "%s/mcp/auth.json", state)
              : home && *home ? snprintf(path, sizeof(path), "%s/.local/state/mcp/auth.json", home)
                              : -1;
    if (len < 0 || (size_t)len >= sizeof(path))
        return MCP_OK;
    return mcp_oauth_file_store_new(loop, MCP_OPTIONS(mcp_oauth_file_options, .path = path),
                                    &a->store, error);
}

int account_open(mcp_loop *loop, const char *url, const char *const *headers, account **ret,
                 mcp_error *error)
{
    mcp_auth_host host = {.size = sizeof(host)};
    *ret = NULL;
    if (strncmp(url, "http", 4) != 0 || has_authorization(headers))
        return MCP_OK;
    account *a = calloc(1, sizeof(*a));
    int rc = a ? open_store(a, loop, error) : MCP_ENOMEM;
    mcp_loop_auth_host(loop, &host);
    if (rc == MCP_OK)
        rc = mcp_oauth_client_new(
            MCP_OPTIONS(mcp_oauth_client_options, .server = url, .client_name = "mcpctl",
                        .ca_file = getenv("SSL_CERT_FILE"),
                        .store = a->store ? mcp_oauth_file_store_get(a->store) : NULL,
                        .host = &host),
            &a->client, error);
    if (rc == MCP_OK) {
        *ret = a;
        return MCP_OK;
    }
    account_close(a);
    bool is_plain = strncmp(url, "http://", 7) == 0; /* tokens are not sent to other machines so */
    return rc == MCP_EUNSUPPORTED || (rc == MCP_EINVAL && is_plain) ? MCP_OK : rc;
}

void account_close(account *a)
{
    if (!a)
        return;
    mcp_oauth_client_free(a->client);
    mcp_oauth_file_store_free(a->store);
    free(a);
}

mcp_oauth_client *account_client(const account *a)
{
    return a ? a->client : NULL;
}

/* ---- mcpctl login ---------------------------------------------------------------------------- */

/* ^C has its usual meaning for the program. Returns 0, or an errno. */
static int spawn(const char *program, char *const *argv, pid_t *pid)
{
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    int rc = posix_spawnattr_init(&attributes);
    if (rc != 0)
        return rc;
    rc = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (rc == 0)
        rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (rc == 0)
        rc = posix_spawn(pid, program, NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

bool account_login(const char *url)
{
    char program[PATH_MAX], *address = strdup(url);
    char *argv[] = {(char[]){"mcpctl"}, (char[]){"login"}, address, NULL};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    pid_t pid;
    int status = -1;
    bool found = address && sibling_find("mcpctl", program);
    sigaction(SIGINT, &ignore, &before); /* ^C ends the login only */
    int rc = found ? spawn(program, argv, &pid) : ENOENT;
    while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &before, NULL);
    free(address);
    if (rc != 0)
        say("mcpctl cannot be run: %s", strerror(rc));
    return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
