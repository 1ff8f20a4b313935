/* login_settings.c: how to log in at a server: options, then the "oauth" object of the server's
 * entry, then the environment.
 *
 * An entry of a configuration file in the current folder is untrusted. It cannot name files or
 * commands, and cannot turn checks off.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>

#include <common/file.h>
#include <common/filter.h>

#include "login.h"
#include "servers.h"

typedef struct login_setting {
    const char *option;  /* also the name of the variable: MCPCTL_CLIENT_ID */
    const char *keys[3]; /* in "oauth", as the hosts name them */
    bool own_only;       /* not taken from files of the current folder */
} login_setting;

static const login_setting table[LOGIN_KEYS] = {
    [LOGIN_GRANT] = {"grant", {"grant"}, false},
    [LOGIN_CLIENT_ID] = {"client-id", {"clientId"}, false},
    [LOGIN_CLIENT_SECRET] = {"client-secret", {"clientSecret"}, false},
    [LOGIN_CLIENT_SECRET_FILE] = {"client-secret-file", {"clientSecretFile"}, true},
    [LOGIN_CLIENT_METADATA_URL] = {"client-metadata-url", {"clientMetadataUrl"}, false},
    [LOGIN_KEY] = {"key", {"key"}, true},
    [LOGIN_SCOPE] = {"scope", {"scopes", "scope"}, false},
    [LOGIN_ISSUER] = {"issuer", {"issuer"}, false},
    [LOGIN_CALLBACK_URL] = {"callback-url", {"callbackUrl", "redirectUri", "callbackPort"}, false},
    [LOGIN_ASSERTION_FILE] = {"assertion-file", {"assertionFile"}, true},
    [LOGIN_ASSERTION_COMMAND] = {"assertion-command", {"assertionCommand"}, true},
    [LOGIN_IDP_TOKEN_ENDPOINT] = {"idp-token-endpoint", {"idpTokenEndpoint"}, true},
    [LOGIN_IDP_CLIENT_ID] = {"idp-client-id", {"idpClientId"}, true},
    [LOGIN_IDP_CLIENT_SECRET_FILE] = {"idp-client-secret-file", {"idpClientSecretFile"}, true},
    [LOGIN_OMIT_RESOURCE] = {"omit-resource", {"omitResource"}, true},
    [LOGIN_ASSUME_PKCE] = {"assume-pkce", {"assumePkce"}, true},
    [LOGIN_LEGACY_ENDPOINTS] = {"legacy-endpoints", {"legacyEndpoints"}, true},
    [LOGIN_DPOP] = {"dpop", {"dpop"}, false},
    [LOGIN_TRUSTED_ISSUER] = {"trusted-issuer", {"trustedIssuer"}, true},
    [LOGIN_KEYRING] = {"keyring", {"keyring"}, false},
};

/* ---- one setting ----------------------------------------------------------------------------- */

static bool is_flag(login_key key)
{
    return key == LOGIN_OMIT_RESOURCE || key == LOGIN_ASSUME_PKCE ||
           key == LOGIN_LEGACY_ENDPOINTS || key == LOGIN_DPOP || key == LOGIN_KEYRING;
}

static const char *from_options(const settings *set, login_key key)
{
    bool flags[LOGIN_KEYS] = {[LOGIN_OMIT_RESOURCE] = set->omit_resource,
                              [LOGIN_ASSUME_PKCE] = set->assume_pkce,
                              [LOGIN_LEGACY_ENDPOINTS] = set->legacy_endpoints,
                              [LOGIN_DPOP] = set->dpop,
                              [LOGIN_KEYRING] = set->keyring};
    if (key == LOGIN_GRANT && set->device)
        return "device";
    return is_flag(key) ? flags[key] ? "true" : NULL : set->login[key];
}

/* Returns the value of "name=value" in the entry. */
static const char *from_entry(const server *s, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; s && i < s->oauth.count; i++)
        if (strncmp(s->oauth.items[i], name, len) == 0 && s->oauth.items[i][len] == '=')
            return s->oauth.items[i] + len + 1;
    return NULL;
}

static const char *from_environment(const char *at)
{
    char name[64] = "MCPCTL_";
    size_t n = strlen(name);
    for (; *at && n + 1 < sizeof(name); at++)
        name[n++] = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    name[n] = '\0';
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Returns a copy of the value, or NULL with EXIT_OK if there is none. */
static int find(const ctl *c, const server *s, login_key key, char **ret)
{
    const login_setting *t = &table[key];
    const char *value = from_options(&c->set, key), *name = NULL;
    bool port = false;
    for (size_t i = 0; !value && i < 3 && t->keys[i]; i++) {
        value = from_entry(s, t->keys[i]);
        name = value ? t->keys[i] : NULL;
        port = value && strcmp(t->keys[i], "callbackPort") == 0;
    }
    if (name && t->own_only && s->from_project) {
        say("warning: %s: \"%s\" is ignored in a file of the current folder", s->file, name);
        value = NULL;
    }
    if (!value)
        value = from_environment(t->option);
    if (!value || (is_flag(key) && (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)))
        return EXIT_OK;
    if (!port)
        *ret = strdup(value);
    else if (asprintf(ret, "http://localhost:%s/callback", value) < 0)
        *ret = NULL;
    return *ret ? EXIT_OK : EXIT_LOCAL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int read_file(const char *what, const char *path, char **ret)
{
    enum { MOST = 64 << 10 };
    mcp_error error = {0};
    size_t len = 0;
    if (!path)
        return EXIT_OK;
    int rc = file_load(path, FILE_NAMED, MOST, ret, &len, &error);
    if (rc != MCP_OK) {
        say("--%s: %s: %s", what, path, error.text);
        return EXIT_USAGE;
    }
    while (len && isspace((unsigned char)(*ret)[len - 1]))
        (*ret)[--len] = '\0';
    if (len && strlen(*ret) == len)
        return EXIT_OK;
    say("--%s: %s %s", what, path, len ? "contains a NUL character" : "is empty");
    return EXIT_USAGE;
}

static int read_files(login_settings *s)
{
    static const char *const secret = "client-secret-file";
    int code = EXIT_OK;
    if (s->values[LOGIN_CLIENT_SECRET] && !s->values[LOGIN_CLIENT_SECRET_FILE])
        s->secret = strdup(s->values[LOGIN_CLIENT_SECRET]);
    else
        code = read_file(secret, s->values[LOGIN_CLIENT_SECRET_FILE], &s->secret);
    if (code == EXIT_OK)
        code = read_file("key", s->values[LOGIN_KEY], &s->key);
    if (code == EXIT_OK)
        code = read_file("idp-client-secret-file", s->values[LOGIN_IDP_CLIENT_SECRET_FILE],
                         &s->idp_secret);
    return code;
}

/* ---- all settings ---------------------------------------------------------------------------- */

static int choose_grant(login_settings *s)
{
    static const struct {
        const char *name;
        mcp_oauth_grant grant;
    } grants[] = {{"code", MCP_OAUTH_CODE},
                  {"device", MCP_OAUTH_DEVICE},
                  {"client-credentials", MCP_OAUTH_CLIENT_CREDENTIALS},
                  {"enterprise", MCP_OAUTH_ENTERPRISE},
                  {"assertion", MCP_OAUTH_ASSERTION}};
    const char *name = s->values[LOGIN_GRANT];
    bool asserts = s->values[LOGIN_ASSERTION_FILE] || s->values[LOGIN_ASSERTION_COMMAND];
    if (!name)
        name = !asserts ? "code" : s->values[LOGIN_IDP_TOKEN_ENDPOINT] ? "enterprise" : "assertion";
    for (size_t i = 0; i < sizeof(grants) / sizeof(*grants); i++) {
        if (strcmp(grants[i].name, name) == 0) {
            s->grant = grants[i].grant;
            return EXIT_OK;
        }
    }
    say("there is no grant '%s'; there are: code, device, client-credentials, enterprise, "
        "assertion",
        name);
    return EXIT_USAGE;
}

/* A secret or assertion goes only to an issuer that its owner names. A server cannot, and an entry in a
 * file of the current folder can only for a secret of its own. */
static int check_issuer(const ctl *c, const server *s, const login_settings *set)
{
    bool secret = set->secret != NULL;
    const char *const *values = (const char *const *)set->values;
    const char *issuer = from_options(&c->set, LOGIN_ISSUER);
    if (!secret && set->grant != MCP_OAUTH_ASSERTION)
        return EXIT_OK;
    bool own = secret && !values[LOGIN_CLIENT_SECRET_FILE] &&
               from_entry(s, table[LOGIN_CLIENT_SECRET].keys[0]);
    if (!issuer)
        issuer = s->from_project && !own ? from_environment("issuer") : values[LOGIN_ISSUER];
    if (issuer && strcmp(issuer, values[LOGIN_ISSUER]) == 0)
        return EXIT_OK;
    say("the option --issuer has to say which authorization server gets the %s",
        secret ? "client secret" : "assertion");
    if (values[LOGIN_ISSUER])
        hint("the issuer of %s does not count, because others may have written this file", s->file);
    return EXIT_USAGE;
}

int login_settings_load(const ctl *c, const server *s, login_settings *ret)
{
    int code = EXIT_OK;
    for (login_key key = 0; code == EXIT_OK && key < LOGIN_KEYS; key++)
        code = find(c, s, key, &ret->values[key]);
    if (code == EXIT_OK)
        code = read_files(ret);
    if (code == EXIT_LOCAL)
        say("out of memory");
    if (code == EXIT_OK)
        code = choose_grant(ret);
    return code == EXIT_OK ? check_issuer(c, s, ret) : code;
}

/* Secrets are overwritten before their memory is free for others. */
static void forget(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void login_settings_clear(login_settings *s)
{
    for (size_t i = 0; i < LOGIN_KEYS; i++)
        forget(&s->values[i]);
    forget(&s->secret);
    forget(&s->key);
    forget(&s->idp_secret);
}

/* ---- assertions ------------------------------------------------------------------------------ */

static char *fail(mcp_error *error, const char *text)
{
    if (error) {
        error->code = MCP_EIO;
        snprintf(error->text, sizeof(error->text), "%s", text);
    }
    return NULL;
}

enum { COMMAND_MS = 20000 };

static char *run_command(const char *line, mcp_error *error)
{
    const char *const argv[] = {"/bin/sh", "-c", line, NULL};
    char *text = NULL;
    if (filter_run(&(filter_call){.argv = argv, .ms = COMMAND_MS}, &text) == 0 && *text)
        return text;
    free(text);
    return fail(error, "the command of --assertion-command failed, or printed nothing");
}

char *login_assertion(const login_settings *s, mcp_error *error)
{
    char *text = NULL;
    if (s->values[LOGIN_ASSERTION_FILE]) {
        if (read_file("assertion-file", s->values[LOGIN_ASSERTION_FILE], &text) != EXIT_OK) {
            free(text);
            return fail(error, "the file of --assertion-file cannot be used");
        }
    } else if (s->values[LOGIN_ASSERTION_COMMAND]) {
        text = run_command(s->values[LOGIN_ASSERTION_COMMAND], error);
    } else {
        return fail(error, "--assertion-file or --assertion-command has to give a JWT");
    }
    for (size_t len = text ? strlen(text) : 0; len && isspace((unsigned char)text[len - 1]);)
        text[--len] = '\0';
    return text;
}
