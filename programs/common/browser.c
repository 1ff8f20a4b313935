/* browser.c: opens an address in the user's browser.
 *
 * The address comes from a server. It is one argument of a program, is never seen by a shell, and
 * cannot be taken for an option, because it begins with http.
 */
#define _GNU_SOURCE
#include "browser.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/uri.h>

static bool is_loopback(mcp_str host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]", "::1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (mcp_str_eq(host, mcp_str_from(names[i])))
            return true;
    return false;
}

bool browser_accepts(const char *url)
{
    mcp_uri uri;
    for (const char *p = url; *p; p++)
        if (*p <= ' ' || *p >= 0x7f || strchr("\"'`<>\\^{|}", *p))
            return false;
    if (mcp_uri_parse(mcp_str_from(url), &uri, NULL) != MCP_OK || !uri.host.len || uri.has_userinfo)
        return false;
    return strncmp(url, "https://", 8) == 0 ||
           (strncmp(url, "http://", 7) == 0 && is_loopback(uri.host));
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

bool browser_exists(void)
{
    return is_set("BROWSER") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
}

/* Starts a program in a session of its own, so that Ctrl-C does not end it. */
static bool start(char *const argv[])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    pid_t pid;
    if (posix_spawn_file_actions_init(&files) != 0)
        return false;
    if (posix_spawnattr_init(&how) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return false;
    }
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    int rc = posix_spawnp(&pid, argv[0], &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return rc == 0;
}

/* Starts the command of BROWSER: words, of which %s is the address; without %s it is added at the
 * end. Of several commands, separated by colons, the first one is used. */
static bool start_command(const char *commands, const char *url)
{
    enum { MOST = 16 };
    char *line = strndup(commands, strcspn(commands, ":")), *rest = line, *argv[MOST + 2] = {0};
    char *address = strdup(url);
    size_t n = 0;
    bool has_url = false;
    for (char *word; line && n < MOST && (word = strsep(&rest, " \t")) != NULL;) {
        bool is_url = strcmp(word, "%s") == 0;
        has_url = has_url || is_url;
        if (*word)
            argv[n++] = is_url ? address : word;
    }
    if (!has_url)
        argv[n] = address;
    bool ok = line && address && n && start(argv);
    free(line);
    free(address);
    return ok;
}

static bool open_any(const char *url)
{
    const char *commands = getenv("BROWSER");
    return start_command(commands && *commands ? commands : "xdg-open", url);
}

bool browser_open(const char *url)
{
    return browser_accepts(url) && open_any(url);
}

bool browser_open_file(const char *path)
{
    static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "/._-";
    enum { LONGEST = 4096 };
    char url[LONGEST + sizeof("file://")];
    if (*path != '/' || path[strspn(path, fine)] || strlen(path) > LONGEST)
        return false;
    snprintf(url, sizeof(url), "file://%s", path);
    return open_any(url);
}
