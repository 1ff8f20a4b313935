/* source.c: mounts another server from a source string of mcpd: "mcp:COMMAND ARG…", "mcp:https://…"
 * or "mcp:unix:PATH". */
#include <stdio.h>
#include <string.h>

#include "policy.h"
#include "session.h"

enum { MOST_WORDS = UPSTREAM_MOST_WORDS };

const char mcp_upstream_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
    "\"args\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":200,"
    "\"description\":\"Arguments of the program, after those in the source\"},"
    "\"env\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"^[^=]+=\"},"
    "\"maxItems\":200,\"description\":\"The environment of the program, NAME=value; default: PATH, "
    "HOME, LANG, TMPDIR and USER of mcpd\"},"
    "\"env_add\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"^[^=]+=\"},"
    "\"maxItems\":200,\"description\":\"Variables, NAME=value, that are added to that "
    "environment\"},"
    "\"sandbox\":{\"type\":\"boolean\",\"description\":\"Run the program in a sandbox: it reads "
    "the "
    "system's programs and libraries, its own folder and that of the option cwd, writes nothing, "
    "and has no "
    "network\"},"
    "\"sandbox_read\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1},"
    "\"maxItems\":50,"
    "\"format\":\"path\",\"description\":\"Further files and folders that it may read and run\"},"
    "\"sandbox_write\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1},"
    "\"maxItems\":50,"
    "\"format\":\"path\",\"description\":\"Files and folders that it may read, run and write\"},"
    "\"sandbox_network\":{\"type\":\"boolean\",\"description\":\"Whether it may use the network\"},"
    "\"cwd\":{\"type\":\"string\",\"format\":\"path\","
    "\"description\":\"The folder that the program starts in\"},"
    "\"headers\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":50,"
    "\"description\":\"Headers of HTTP requests, Name: value\"},"
    "\"oauth\":{\"enum\":[\"login\",\"client-credentials\",\"enterprise\"],"
    "\"description\":\"How to log in at a URL: with the login that mcpctl has stored, as a client "
    "of "
    "its own, or with an ID token of the caller\"},"
    "\"account\":{\"type\":\"string\",\"description\":\"The login of mcpctl login --for "
    "ACCOUNT; {principal} is replaced by the caller\"},"
    "\"client_id\":{\"type\":\"string\",\"description\":\"The client of client-credentials or "
    "enterprise\"},"
    "\"client_secret_file\":{\"type\":\"string\",\"format\":\"path\","
    "\"description\":\"A file with its secret\"},"
    "\"client_key_file\":{\"type\":\"string\",\"format\":\"path\","
    "\"description\":\"A file with its private key (PEM or JWK), instead of a secret\"},"
    "\"issuer\":{\"type\":\"string\",\"description\":\"The only authorization server to use; "
    "required with a secret\"},"
    "\"scope\":{\"type\":\"string\",\"description\":\"The scopes to ask for besides "
    "those that the server asks for\"},"
    "\"login_file\":{\"type\":\"string\",\"format\":\"path\","
    "\"description\":\"The file of logins; default: that of mcpctl\"},"
    "\"idp_token_endpoint\":{\"type\":\"string\",\"description\":\"The token endpoint of the "
    "identity "
    "provider of enterprise\"},"
    "\"idp_client_id\":{\"type\":\"string\",\"description\":\"The client there\"},"
    "\"idp_client_secret_file\":{\"type\":\"string\",\"format\":\"path\","
    "\"description\":\"A file with its secret\"},"
    "\"id_token_file\":{\"type\":\"string\",\"format\":\"path\",\"description\":\"The file with "
    "the ID "
    "token; {principal} is replaced by the caller\"}," UPSTREAM_POLICY_SCHEMA
    "\"transparent\":{\"type\":\"boolean\",\"description\":\"Whether URIs and names stay as "
    "they are; only if this is the only source\"},"
    "\"shared\":{\"type\":\"boolean\",\"description\":\"Whether all callers share one session, "
    "in which a question needs to name its call, or to be the only call\"},"
    "\"revision\":{\"type\":\"string\",\"pattern\":\"^20[0-9]{2}-[0-9]{2}-[0-9]{2}$\","
    "\"description\":\"The only revision to use; default: negotiated for each session\"},"
    "\"max_sessions\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000,"
    "\"description\":\"The most open sessions of all principals; default 64\"},"
    "\"max_sessions_each\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000,"
    "\"description\":\"The most open sessions of one principal, one for each set of capabilities; "
    "default 8\"},"
    "\"idle_ms\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":2147483647,"
    "\"description\":\"A session ends this long after its last use; default 300000\"},"
    "\"timeout_ms\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":2147483647,"
    "\"description\":\"How long an answer may take, except for calls of tools, and so each request "
    "of the handshake; default 60000\"},"
    "\"call_ms\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":2147483647,"
    "\"description\":\"How long a call of a tool may take without an answer or progress; default "
    "600000\"},"
    "\"ping_ms\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":2147483647,"
    "\"description\":\"When a request is beyond its time, a program that does not answer a ping "
    "for "
    "this "
    "long is ended, and started again when it is needed; default 30000\"},"
    "\"max_calls\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000,"
    "\"description\":\"The most requests of one principal in flight; default 256\"},"
    "\"max_calls_in_all\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000000,"
    "\"description\":\"The most requests of all principals in flight; default 1024\"},"
    "\"max_answer\":{\"type\":\"integer\",\"minimum\":1000,\"maximum\":1000000000,"
    "\"description\":\"The longest message of the server in bytes; default 16777216\"},"
    "\"max_values\":{\"type\":\"integer\",\"minimum\":1000,\"maximum\":100000000,"
    "\"description\":\"The most JSON values in a message of the server; default 262144\"},"
    "\"max_entries\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000000,"
    "\"description\":\"The most entries in a page of a list of the server; default 10000\"},"
    "\"messages_per_second\":{\"type\":\"integer\",\"minimum\":10,\"maximum\":1000000,"
    "\"description\":\"How many messages of a session with the server are read in a second, each "
    "4 KiB counting as one more; default 10000\"},"
    "\"list_ms\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647,"
    "\"description\":\"How long a list waits for this server before its last entries are listed; "
    "default 1000\"},"
    "\"first_list_ms\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647,"
    "\"description\":\"The same for a list that the server has not answered yet; default 10000\"},"
    "\"questions\":{\"type\":\"boolean\",\"description\":\"Whether the server may ask the callers "
    "of "
    "its tools, prompts and resources (elicitation, roots, sampling); default true\"},"
    "\"question_ms\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":2147483647,"
    "\"description\":\"How long a caller may take to answer a question; default 900000\"},"
    "\"max_parked\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000,"
    "\"description\":\"The most calls of one principal that wait for an answer; default 64\"},"
    "\"max_parked_in_all\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000000,"
    "\"description\":\"The most calls of all principals that wait for an answer; default 1024\"}}}";

/* Splits a command into words at spaces and tabs. '…' and "…" quote spaces, "\" escapes the next
 * character. No other character is special: there is no shell. */
static int split(char *text, const char **words, size_t *n)
{
    char *from = text;
    while (*from) {
        char quote = 0, *to;
        from += strspn(from, " \t");
        if (!*from)
            break;
        if (*n == MOST_WORDS)
            return MCP_ELIMIT;
        to = from;
        words[(*n)++] = to;
        for (; *from && (quote || !strchr(" \t", *from)); from++) {
            if (*from == quote && quote)
                quote = 0;
            else if (!quote && (*from == '\'' || *from == '"'))
                quote = *from;
            else if (*from == '\\' && quote != '\'' && from[1])
                *to++ = *++from;
            else
                *to++ = *from;
        }
        if (quote)
            return MCP_EPARSE;
        from += *from != 0;
        *to = 0;
    }
    words[*n] = NULL;
    return *n ? MCP_OK : MCP_EINVAL;
}

/* Appends the strings of an array to the words. */
static int add_all(const mcp_json *array, const char **words, size_t *n)
{
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(array, &it, NULL)) != NULL;) {
        if (*n == MOST_WORDS)
            return MCP_ELIMIT;
        words[(*n)++] = mcp_json_string(v).ptr;
    }
    words[*n] = NULL;
    return MCP_OK;
}

static bool is_url(const char *source)
{
    return strncmp(source, "https://", 8) == 0 || strncmp(source, "http://", 7) == 0 ||
           strncmp(source, "unix:", 5) == 0;
}

/* Derives a name from the program's file name or the host name, for a source without a name. Omits
 * the characters that a name cannot contain. */
static void name_of(const char *text, char to[UPSTREAM_SOURCE_MAX + 1])
{
    size_t n = 0;
    const char *at = strstr(text, "://");
    if (at) {
        text = at + 3;
    } else {
        const char *slash = strrchr(text, '/');
        text = slash ? slash + 1 : text;
    }
    for (; *text && !strchr("/:?.", *text) && n < UPSTREAM_SOURCE_MAX; text++) {
        char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;
        bool letter = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
        if (letter || (n && digit))
            to[n++] = c;
        else if (n && to[n - 1] != '-')
            to[n++] = '-';
    }
    while (n && to[n - 1] == '-')
        n--;
    to[n] = 0;
    if (!n)
        snprintf(to, UPSTREAM_SOURCE_MAX + 1, "server");
}

static int fail(mcp_error *error, int rc, const char *text)
{
    if (error) {
        error->code = rc;
        snprintf(error->text, sizeof(error->text), "%s", text);
    }
    return rc;
}

typedef struct reading {
    const char *argv[MOST_WORDS + 1], *env[MOST_WORDS + 1], *env_add[MOST_WORDS + 1],
        *headers[MOST_WORDS + 1], *confined[MOST_WORDS + 1];
    upstream_policy policy;
    char name[UPSTREAM_SOURCE_MAX + 1];
} reading;

static int read_command(reading *r, char *text, const mcp_json *options, mcp_error *error)
{
    size_t n = 0;
    int rc = split(text, r->argv, &n);
    if (rc == MCP_OK)
        rc = add_all(mcp_json_get(options, "args"), r->argv, &n);
    return rc == MCP_OK       ? rc
           : rc == MCP_EPARSE ? fail(error, MCP_EINVAL, "a quote in the command is not closed")
           : rc == MCP_ELIMIT ? fail(error, MCP_EINVAL, "the command has too many words")
                              : fail(error, MCP_EINVAL, "there is no command");
}

static const char *string_of(const mcp_json *options, const char *name)
{
    return mcp_json_string(mcp_json_get(options, name)).ptr;
}

static int add_word(const char **words, size_t *n, const char *word)
{
    if (*n == MOST_WORDS)
        return MCP_ELIMIT;
    words[(*n)++] = word;
    words[*n] = NULL;
    return MCP_OK;
}

/* Adds an option with each path of an array. */
static int add_paths(const char **words, size_t *n, const char *option, const mcp_json *paths)
{
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(paths, &it, NULL)) != NULL;) {
        rc = add_word(words, n, option);
        if (rc == MCP_OK)
            rc = add_word(words, n, mcp_json_string(v).ptr);
    }
    return rc;
}

/* Makes the command line of a program in a sandbox, which mcpd itself starts (UPSTREAM_CONFINED). */
static int confine(reading *r, const mcp_json *options, mcp_error *error)
{
    const char **to = r->confined;
    size_t n = 0;
    int rc = add_word(to, &n, "/proc/self/exe");
    if (rc == MCP_OK)
        rc = add_word(to, &n, MCP_UPSTREAM_CONFINED);
    if (rc == MCP_OK)
        rc = add_paths(to, &n, "--read", mcp_json_get(options, "sandbox_read"));
    if (rc == MCP_OK && string_of(options, "cwd"))
        rc = add_word(to, &n, "--read");
    if (rc == MCP_OK && string_of(options, "cwd"))
        rc = add_word(to, &n, string_of(options, "cwd"));
    if (rc == MCP_OK)
        rc = add_paths(to, &n, "--write", mcp_json_get(options, "sandbox_write"));
    if (rc == MCP_OK && mcp_json_bool(mcp_json_get(options, "sandbox_network"), false))
        rc = add_word(to, &n, "--network");
    if (rc == MCP_OK)
        rc = add_word(to, &n, "--");
    for (const char **word = r->argv; rc == MCP_OK && *word; word++)
        rc = add_word(to, &n, *word);
    return rc == MCP_OK ? rc : fail(error, MCP_EINVAL, "the command has too many words");
}

static int check_sandbox(const mcp_json *options, bool url, mcp_error *error)
{
    bool on = mcp_json_bool(mcp_json_get(options, "sandbox"), false);
    if (on && url)
        return fail(error, MCP_EINVAL, "sandbox is for programs, not for URLs");
    if (!on && (mcp_json_get(options, "sandbox_read") || mcp_json_get(options, "sandbox_write") ||
                mcp_json_get(options, "sandbox_network")))
        return fail(error, MCP_EINVAL,
                    "sandbox_read, sandbox_write and sandbox_network need \"sandbox\": true");
    return MCP_OK;
}

static uint64_t number_of(const mcp_json *options, const char *name)
{
    return (uint64_t)mcp_json_int(mcp_json_get(options, name), 0);
}

/* A function that with_options() calls with the options of a source. */
typedef int use_fn(const mcp_upstream_options *options, void *arg, mcp_error *error);

static int use_options(reading *r, const char *source, const mcp_json *options, const char *name,
                       const mcp_allocator *allocator, use_fn *use, void *arg, mcp_error *error)
{
    size_t n_env = 0, n_add = 0, n_headers = 0;
    bool url = is_url(source);
    const mcp_json *env = mcp_json_get(options, "env"), *headers = mcp_json_get(options, "headers");
    if (add_all(env, r->env, &n_env) != MCP_OK ||
        add_all(mcp_json_get(options, "env_add"), r->env_add, &n_add) != MCP_OK ||
        add_all(headers, r->headers, &n_headers) != MCP_OK)
        return fail(error, MCP_EINVAL, "too many words");
    if (!name) {
        name_of(url ? source : r->argv[0], r->name);
        name = r->name;
    }
    if (strcmp(name, "mcpd") == 0)
        return fail(error, MCP_EINVAL,
                    "no server may be called mcpd, because a person who is asked something has to "
                    "see who asks: give it another name, such as ?name=other");
    const char *const *argv = url ? NULL : r->argv;
    int rc = check_sandbox(options, url, error);
    if (rc == MCP_OK && mcp_json_bool(mcp_json_get(options, "sandbox"), false)) {
        rc = confine(r, options, error);
        argv = r->confined;
    }
    if (rc != MCP_OK)
        return rc;
    mcp_upstream_options *o = MCP_OPTIONS(
        mcp_upstream_options, .name = name, .argv = argv, .url = url ? source : NULL,
        .env = env ? r->env : NULL, .env_add = n_add ? r->env_add : NULL,
        .cwd = string_of(options, "cwd"), .headers = headers ? r->headers : NULL,
        .revision = string_of(options, "revision"),
        .max_sessions = (size_t)number_of(options, "max_sessions"),
        .max_sessions_each = (size_t)number_of(options, "max_sessions_each"),
        .idle_ms = number_of(options, "idle_ms"), .timeout_ms = number_of(options, "timeout_ms"),
        .call_ms = number_of(options, "call_ms"), .ping_ms = number_of(options, "ping_ms"),
        .max_calls = (size_t)number_of(options, "max_calls"),
        .max_calls_in_all = (size_t)number_of(options, "max_calls_in_all"),
        .max_answer = (size_t)number_of(options, "max_answer"),
        .max_values = (size_t)number_of(options, "max_values"),
        .max_entries = (size_t)number_of(options, "max_entries"),
        .messages_per_second = (size_t)number_of(options, "messages_per_second"),
        .list_ms = number_of(options, "list_ms"),
        .first_list_ms = number_of(options, "first_list_ms"),
        .question_ms = number_of(options, "question_ms"),
        .max_parked = (size_t)number_of(options, "max_parked"),
        .max_parked_in_all = (size_t)number_of(options, "max_parked_in_all"),
        .login =
            {
                .oauth = string_of(options, "oauth"),
                .account = string_of(options, "account"),
                .client_id = string_of(options, "client_id"),
                .client_secret_file = string_of(options, "client_secret_file"),
                .client_key_file = string_of(options, "client_key_file"),
                .issuer = string_of(options, "issuer"),
                .scope = string_of(options, "scope"),
                .login_file = string_of(options, "login_file"),
                .idp_token_endpoint = string_of(options, "idp_token_endpoint"),
                .idp_client_id = string_of(options, "idp_client_id"),
                .idp_client_secret_file = string_of(options, "idp_client_secret_file"),
                .id_token_file = string_of(options, "id_token_file"),
            },
        .transparent = mcp_json_bool(mcp_json_get(options, "transparent"), false),
        .shared = mcp_json_bool(mcp_json_get(options, "shared"), false),
        .no_questions = !mcp_json_bool(mcp_json_get(options, "questions"), true),
        .allocator = allocator);
    rc = upstream_policy_read(&r->policy, options, o, error);
    return rc == MCP_OK ? use(o, arg, error) : rc;
}

static int with_options(const char *source, const mcp_json *options, const char *name,
                        const mcp_allocator *allocator, use_fn *use, void *arg, mcp_error *error)
{
    mcp_allocator alloc = common_allocator(allocator);
    reading *r = common_alloc(&alloc, sizeof(*r));
    char *text = common_copy(&alloc, source, strlen(source));
    int rc = r && text ? MCP_OK : fail(error, MCP_ENOMEM, "out of memory");
    if (rc == MCP_OK && !is_url(source))
        rc = read_command(r, text, options, error);
    if (rc == MCP_OK)
        rc = use_options(r, source, options, name, allocator, use, arg, error);
    common_release(&alloc, text);
    common_release(&alloc, r);
    return rc;
}

/* ---- mounting -------------------------------------------------------------------------------- */

typedef struct mounting {
    mcp_server *server;
    mcp_upstream_group *group;
} mounting;

static int mount(const mcp_upstream_options *options, void *arg, mcp_error *error)
{
    const mounting *m = arg;
    mcp_upstream_options o = *options;
    o.group = m->group;
    o.approvals = m->group ? m->group->approvals : NULL;
    o.withhold_changed = m->group && m->group->withhold_changed;
    return mcp_upstream_mount(m->server, &o, error);
}

int mcp_upstream_mount_json(mcp_server *server, const char *source, const mcp_json *options,
                            const char *name, mcp_upstream_group *group,
                            const mcp_allocator *allocator, mcp_error *error)
{
    mounting m = {.server = server, .group = group};
    return with_options(source, options, name, allocator, mount, &m, error);
}

/* ---- describing ------------------------------------------------------------------------------ */

static int describe(const mcp_upstream_options *options, void *arg, mcp_error *error)
{
    const mcp_description *to = arg;
    char prefix[UPSTREAM_PREFIX_ROOM], names[UPSTREAM_PREFIX_ROOM];
    int rc = upstream_check(options, error);
    if (rc != MCP_OK)
        return rc;
    upstream_put_prefixes(options->name, prefix, names);
    const mcp_source s = {.size = sizeof(s),
                          .prefix = prefix,
                          .lists = true,
                          .subscribe = true,
                          .list_changed = true,
                          .in_process = true,
                          .items = UPSTREAM_ITEMS,
                          .names = options->transparent ? "" : names,
                          .alone = options->transparent};
    return to->source(&s, error, to->user);
}

int mcp_upstream_describe_json(const char *source, const mcp_json *options, const char *name,
                               const mcp_description *to, const mcp_allocator *allocator,
                               mcp_error *error)
{
    mcp_description copy = *to;
    return with_options(source, options, name, allocator, describe, &copy, error);
}

/* ---- trying ---------------------------------------------------------------------------------- */

typedef struct trying {
    char *summary;
    size_t room;
    mcp_upstream_tool_fn *each;
    void *user;
} trying;

static int try_options(const mcp_upstream_options *options, void *arg, mcp_error *error)
{
    const trying *t = arg;
    return upstream_try(options, t->summary, t->room, t->each, t->user, error);
}

int mcp_upstream_try_json(const char *source, const mcp_json *options, const char *name,
                          char *summary, size_t room, mcp_upstream_tool_fn *each, void *user,
                          mcp_error *error)
{
    trying t = {.summary = summary, .room = room, .each = each, .user = user};
    return with_options(source, options, name, NULL, try_options, &t, error);
}
