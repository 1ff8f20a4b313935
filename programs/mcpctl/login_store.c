/* login_store.c: where mcpctl keeps logins: in a file, $XDG_STATE_HOME/mcp/auth.json, and with
 * --keyring in the keyring of the desktop, by secret-tool. The file then only says that the record is
 * there, so that the locks of the file are used in any case and later commands find the record.
 *
 * secret-tool gets records on stdin, never as arguments, which others can see.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include <common/filter.h>

#include "login.h"
#include "servers.h"

#define IN_KEYRING "{\"keyring\":true}"

struct login_store {
    mcp_oauth_file_store *file;
    const mcp_oauth_store *below; /* of the file */
    mcp_oauth_store functions;
    bool keyring; /* new records go there */
};

/* ---- secret-tool ------------------------------------------------------------------------------ */

static int tool_fail(mcp_error *error, const char *text)
{
    if (error) {
        error->code = MCP_EIO;
        snprintf(error->text, sizeof(error->text), "the keyring: %s", text);
    }
    return MCP_EIO;
}

#define ATTRIBUTES(key) "service", "mcp", "login", (key), NULL

/* A record is locked while a token is renewed: for at most three calls of secret-tool and a few
 * requests, which take fetch_ms each. Others wait longer. */
enum { TOOL_MS = 20000, LOCK_MS = 120000 };

/* Runs secret-tool. *text gets the output, which the caller frees; it may be NULL. *status gets its
 * exit status. Returns MCP_OK or MCP_EIO (it did not run, or not to its end). */
static int tool_run(filter_call call, char **text, int *status, mcp_error *error)
{
    call.ms = TOOL_MS;
    *status = filter_run(&call, text);
    if (*status == FILTER_NO_PROGRAM)
        return tool_fail(error, "secret-tool is not installed (Debian: libsecret-tools)");
    return *status < 0 ? tool_fail(error, "secret-tool failed, or took too long") : MCP_OK;
}

static int keyring_put(const char *key, mcp_str record, mcp_error *error)
{
    const char *const argv[] = {"secret-tool", "store", "--label=MCP login", ATTRIBUTES(key)};
    char *text = NULL;
    int status;
    int rc = tool_run((filter_call){.argv = argv, .input = record}, &text, &status, error);
    free(text);
    return rc == MCP_OK && status != 0
               ? tool_fail(error,
                           "secret-tool could not store the login; the keyring may be locked")
               : rc;
}

/* The exit status of secret-tool does not tell whether there is no such secret, or the keyring is
 * locked. A login that only seems to be absent must not be replaced. */
static int keyring_get(const char *key, char **ret, mcp_error *error)
{
    const char *const argv[] = {"secret-tool", "lookup", ATTRIBUTES(key)};
    int status;
    int rc = tool_run((filter_call){.argv = argv}, ret, &status, error);
    return rc == MCP_OK && (status != 0 || !**ret)
               ? tool_fail(error, "the login cannot be read; unlock the keyring, or log out if the "
                                  "login is gone from it")
               : rc;
}

/* secret-tool also fails if there is nothing to remove, but then it says nothing. */
static int keyring_remove(const char *key, mcp_error *error)
{
    const char *const argv[] = {"secret-tool", "clear", ATTRIBUTES(key)};
    char *text = NULL;
    int status;
    int rc = tool_run((filter_call){.argv = argv, .errors = true}, &text, &status, error);
    if (rc == MCP_OK && status != 0 && *text)
        rc = tool_fail(error, "secret-tool could not remove the login");
    free(text);
    return rc;
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
    if (!l.in_keyring && (!s->keyring || !record.ptr))
        return s->below->save(key, record, s->below->user, error);
    if (!record.ptr) {
        rc = keyring_remove(key, error);
        return rc == MCP_OK ? s->below->save(key, record, s->below->user, error) : rc;
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
    int rc = s ? mcp_oauth_file_store_new(
                     loop, MCP_OPTIONS(mcp_oauth_file_options, .path = path, .lock_ms = LOCK_MS),
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
