/* check.c: finds the value of the configuration file that a start-up error is about. */
#define _GNU_SOURCE
#include "check.h"

#include <common/text.h>

#include "oauth.h"
#include "supervisor/share.h"

static const option *option_of(const char *name)
{
    size_t count;
    const option *table = options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

/* Returns the value in force, if it comes from the configuration file; otherwise NULL. */
static const mcp_json *value_of(const config *c, const settings *line, const char *name)
{
    const option *o = option_of(name);
    return c && !(o && option_is_given(o, line)) ? mcp_json_get(config_root(c), name) : NULL;
}

int check_locate(const config *c, const settings *line, const char *name, size_t index, int code,
                 mcp_error *error)
{
    char pointer[80];
    const mcp_json *value = code < 0 && error->text[0] ? value_of(c, line, name) : NULL;
    if (!value)
        return code;
    if (mcp_json_is(value, MCP_JSON_ARRAY))
        snprintf(pointer, sizeof(pointer), "/%s/%zu", name, index);
    else
        snprintf(pointer, sizeof(pointer), "/%s", name);
    config_wrong(c, code, pointer, "%s: %s", name, error->text);
    error->text[0] = 0;
    return code;
}

/* Returns the option that an error text is about, from the option's name or the file in it. */
static const char *named_in(const char *text)
{
    size_t count, len;
    const option *table = options_table(&count);
    const char *at = strstr(text, "--");
    for (size_t i = 0; at && i < count; i++) {
        len = strlen(table[i].name);
        if (strncmp(at + 2, table[i].name, len) == 0 &&
            !strchr("abcdefghijklmnopqrstuvwxyz-", at[2 + len]))
            return table[i].name;
    }
    return NULL;
}

int check_locate_http(const config *c, const settings *line, const settings *now, size_t index,
                      int code, mcp_error *error)
{
    const char *name = named_in(error->text);
    if (now->tls_key && strstr(error->text, now->tls_key))
        name = "tls-key";
    if (now->tls_cert && strstr(error->text, now->tls_cert))
        name = "tls-cert";
    return check_locate(c, line, name ? name : "http", index, code, error);
}

/* ---- options that depend on each other ------------------------------------------------------- */

static int needs(const config *c, const settings *line, const char *name, const char *other)
{
    mcp_error error = {0};
    snprintf(error.text, sizeof(error.text), "it needs %s", other);
    check_locate(c, line, name, 0, MCP_EINVAL, &error);
    if (!error.text[0])
        return 1;
    say("--%s needs --%s", name, other);
    return 2;
}

static int wrong_value(const config *c, const settings *line, const char *name, const char *why)
{
    mcp_error error = {0};
    snprintf(error.text, sizeof(error.text), "%s", why);
    check_locate(c, line, name, 0, MCP_EINVAL, &error);
    if (!error.text[0])
        return 1;
    say("--%s: %s", name, why);
    return 2;
}

/* Whether a URL has a user, or may have one: a password may not have been encoded. */
static bool has_user(const char *url)
{
    const char *host = url ? strstr(url, "//") : NULL;
    return host && memchr(host, '@', strcspn(host, "?#"));
}

/* A URL is printed in the log and by --doctor and --print-config, so it must have no password. */
static int check_urls(const config *c, const settings *line, const settings *now)
{
    const char *const rows[][3] = {{"traces", now->traces, "traces-auth-file"},
                                   {"decisions", now->decisions, "decisions-auth-file"}};
    char why[200];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(why, sizeof(why),
                 "the URL must not contain a user or a password: put the header Authorization into "
                 "the file of %s, such as \"Basic …\"",
                 rows[i][2]);
        if (has_user(rows[i][1]))
            return wrong_value(c, line, rows[i][0], why);
    }
    return 0;
}

/* Returns what is wrong with --instance-address, or NULL. */
static const char *wrong_instance(const settings *now)
{
    static const char *const local[] = {"http://127.", "http://[::1]:", "http://localhost:"};
    const char *address = now->instance_address;
    bool secure = strncmp(address, "https://", 8) == 0;
    if (!secure && strncmp(address, "http://", 7) != 0)
        return strncmp(address, "unix:", 5) == 0
                   ? NULL
                   : "it must be unix:PATH, https://HOST:PORT or http://HOST:PORT";
    for (size_t i = 0; i < sizeof(local) / sizeof(*local); i++)
        secure = secure || strncmp(address, local[i], strlen(local[i])) == 0;
    /* whoever sees the network would see tokens and contents */
    return secure ? NULL : "instances on several machines need https://";
}

static int check_instance(const config *c, const settings *line, const settings *now)
{
    const char *wrong = wrong_instance(now);
    if (!now->http.count)
        return needs(c, line, "instance-address", "http");
    if (!now->seal_key_file)
        return needs(c, line, "instance-address", "seal-key-file");
    if (!wrong && strncmp(now->instance_address, "https:", 6) == 0 && !now->tls_cert)
        return needs(c, line, "instance-address", "tls-cert");
    return wrong ? wrong_value(c, line, "instance-address", wrong) : 0;
}

/* What needs that all requests of a client come to one process. */
static int check_workers(const settings *now)
{
    static const char one[] = "cannot be combined with --workers above 1";
    if (share_workers(now) <= 1)
        return 0;
    if (now->stdio)
        return say("--stdio %s", one), 2;
    if (now->http_sse)
        return say("--http-sse %s: its sessions are at one process", one), 2;
    if (now->instance_address)
        return say("--instance-address %s: workers reach each other's sessions without it. For "
                   "several machines, start a mcpd with --workers 1 and an --instance-address "
                   "of its own for each processor",
                   one),
               2;
    return 0;
}

int check_together(const config *c, const settings *line, const settings *now)
{
    int status = check_urls(c, line, now);
    if (status)
        return status;
    if (!now->http.count && now->tls_cert)
        return needs(c, line, "tls-cert", "http");
    if (!now->http.count && now->tls_key)
        return needs(c, line, "tls-key", "http");
    if (!now->http.count && oauth_section(c))
        return config_wrong(c, MCP_EINVAL, "/oauth", "oauth: it needs http"), 1;
    if (!now->http.count && now->token_file)
        return needs(c, line, "token-file", "http");
    if (!now->http.count && now->workers)
        return needs(c, line, "workers", "http");
    if (!now->http.count && now->drain_delay)
        return needs(c, line, "drain-delay", "http");
    if (check_workers(now))
        return 2;
    if (now->tls_cert && !now->tls_key)
        return needs(c, line, "tls-cert", "tls-key");
    if (now->tls_key && !now->tls_cert)
        return needs(c, line, "tls-key", "tls-cert");
    if (now->bus && !now->seal_key_file)
        return needs(c, line, "bus", "seal-key-file");
    if (now->bus && !now->bus_name && !now->name)
        return needs(c, line, "bus", "bus-name");
    if (now->bus_name && !now->seal_key_file)
        return needs(c, line, "bus-name", "seal-key-file");
    if (now->bus_password_file && !now->bus)
        return needs(c, line, "bus-password-file", "bus");
    if (now->traces_auth_file && !now->traces)
        return needs(c, line, "traces-auth-file", "traces");
    if (now->decisions_auth_file && !now->decisions)
        return needs(c, line, "decisions-auth-file", "decisions");
    if (now->decisions_ms && !now->decisions)
        return needs(c, line, "decisions-ms", "decisions");
    if (now->traces_one_in && !now->traces)
        return needs(c, line, "traces-one-in", "traces");
    if (now->share_limits && !now->bus && share_workers(now) <= 1 && now->workers != OPTION_AUTO)
        return needs(c, line, "share-limits", "bus");
    status = now->instance_address ? check_instance(c, line, now) : 0;
    if (status)
        return status;
    if (now->instance_ca_file && !now->instance_address)
        return needs(c, line, "instance-ca-file", "instance-address");
    if (now->withhold_changed && !now->approved)
        return needs(c, line, "withhold-changed", "approved");
    if (now->approve && !now->approved)
        return needs(c, line, "approve", "approved");
    if (options_what(now) || !c || line->doctor)
        return 0;
    config_wrong(c, MCP_EINVAL, "/sources",
                 "nothing is served: add a folder, a file or a module's source to sources, or a "
                 "folder to prompts");
    return 1;
}
