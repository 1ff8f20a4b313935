/* isolated_fixture.h: a server with a source of the module mortal in a process of its own. The
 * source is mounted from its description, or its process is asked what it offers. */
#ifndef MCP_TESTS_ISOLATED_FIXTURE_H
#define MCP_TESTS_ISOLATED_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/sys/server.h>

#include <isolated.h>

enum { IDS = 400, WAIT_MS = 20000 };

typedef struct fixture {
    mcp_loop *loop;
    mcp_server *server;
    mcp_channel *channel;
    mcp_isolated_group group;
    bool rules;
    unsigned answers[IDS]; /* number of answers by id */
    char *text[IDS];
    char notices[20000];
    long pid;
    uint64_t starts;
    bool failed;
} fixture;

static inline void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    fixture *f = user;
    mcp_json_doc *doc = NULL;
    (void)channel, (void)exchange;
    assert_int_equal(mcp_json_parse(message, NULL, NULL, &doc, NULL), MCP_OK);
    int64_t id = mcp_json_int(mcp_json_get(mcp_json_root(doc), "id"), -1);
    if (id >= 0 && id < IDS) {
        f->answers[id]++;
        free(f->text[id]);
        f->text[id] = calloc(1, message.len + 1);
        assert_non_null(f->text[id]);
        memcpy(f->text[id], message.ptr, message.len);
    } else {
        size_t n = strlen(f->notices);
        snprintf(f->notices + n, sizeof(f->notices) - n, "%.*s\n", (int)message.len, message.ptr);
    }
    mcp_json_free(doc);
}

static inline bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const char *principal = mcp_identity_principal(identity);
    (void)item, (void)user;
    return (principal && strcmp(principal, "boss") == 0) ||
           mcp_identity_has_scopes(identity, "deep") || !memmem(name.ptr, name.len, "secret", 6);
}

/* The scope that callers of an issuer lack. */
static inline const char *scopes(const mcp_identity *identity, mcp_item item, mcp_str name,
                                 void *user)
{
    return mcp_identity_issuer(identity) && !may(identity, item, name, user) ? "deep" : NULL;
}

/* ---- a source with a description ------------------------------------------------------------- */

static bool described; /* the sources of the tests have a description */

static inline int no_read(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)req, (void)uri, (void)match, (void)user;
    abort();
}

static inline int no_complete(mcp_request *req, mcp_str name, mcp_str value,
                              const mcp_json *context, void *user)
{
    (void)req, (void)name, (void)value, (void)context, (void)user;
    abort();
}

static inline int no_call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)req, (void)arguments, (void)user;
    abort();
}

static inline bool no_offer(const mcp_request *req, void *user)
{
    (void)req, (void)user;
    abort();
}

static bool spells; /* and the description spells URIs: in lower case */

static inline int spell(const char *prefix, mcp_str uri, char *canonical, size_t room)
{
    assert_string_equal(prefix, "mortal://m/");
    assert_true(uri.len < room);
    for (size_t i = 0; i < uri.len; i++)
        canonical[i] =
            (char)(uri.ptr[i] >= 'A' && uri.ptr[i] <= 'Z' ? uri.ptr[i] + 32 : uri.ptr[i]);
    canonical[uri.len] = 0;
    return MCP_OK;
}

static inline int describe(const mcp_description *to, void *user, mcp_error *error)
{
    static const mcp_prompt_argument arguments[] = {
        {.size = sizeof(mcp_prompt_argument), .name = "die"}};
    (void)user;
    int rc = to->source(MCP_OPTIONS(mcp_source, .prefix = "mortal://m/", .lists = true,
                                    .subscribe = true, .list_changed = true,
                                    .resolve = spells ? spell : NULL),
                        error, to->user);
    if (rc == MCP_OK)
        rc = to->add_path(MCP_OPTIONS(mcp_source_path, .path = "/nowhere"), error, to->user);
    if (rc == MCP_OK)
        rc = to->add_template(MCP_OPTIONS(mcp_resource_template,
                                          .uri_template = "mortal://m/t/{what}", .name = "t",
                                          .read = no_read, .complete = no_complete),
                              error, to->user);
    if (rc == MCP_OK)
        rc = to->add_prompt(MCP_OPTIONS(mcp_prompt, .name = "p", .arguments = arguments,
                                        .n_arguments = 1, .get = no_call),
                            error, to->user);
    return rc == MCP_OK
               ? to->add_tool(MCP_OPTIONS(mcp_tool, .name = "mortal", .read_only = MCP_HINT_YES,
                                          .input_schema = "{\"type\":\"object\",\"properties\":{"
                                                          "\"what\":{\"type\":\"string\"}}}",
                                          .call = no_call, .offered = no_offer),
                              error, to->user)
               : rc;
}

/* ---- the fixture ----------------------------------------------------------------------------- */

static char logged[8000];

static inline void on_log(const char *level, const char *line, void *user)
{
    size_t n = strlen(logged);
    (void)user;
    snprintf(logged + n, sizeof(logged) - n, "%s: %s\n", level, line);
}

static const mcp_allocator *memory; /* of the source; may be NULL */
static const char *healthy;         /* the prefix of another source, or NULL if there is none */

static inline int open_source(fixture *f, const char *source, bool rules, uint64_t timeout_ms,
                              mcp_error *error)
{
    static const char *const argv[] = {MCPD, "--source-child", NULL};
    char line[1000];
    const char *const paths[] = {source, NULL};
    *f = (fixture){.rules = rules};
    logged[0] = 0;
    assert_int_equal(mcp_loop_new(NULL, &f->loop, NULL), MCP_OK);
    mcp_host host = *mcp_loop_host(f->loop);
    host.log = on_log;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .page_size = 3, .coalesce_ms = 1, .host = &host),
                                    &f->server, NULL),
                     MCP_OK);
    const mcp_provider other = {.size = sizeof(other), .name = "healthy"};
    if (healthy)
        assert_int_equal(mcp_server_mount(f->server, healthy, &other, NULL, NULL), MCP_OK);
    snprintf(
        line, sizeof(line),
        "{\"module\":\"mortal\",\"file\":\"" MORTAL
        "\",\"source\":\"%s\",\"read\":[\"%s\"],\"report\":true,\"access\":%s,\"page_size\":3}",
        source, source, rules ? "true" : "false");
    if (rules)
        mcp_server_set_access(f->server, MCP_OPTIONS(mcp_access, .may = may, .scopes = scopes));
    return mcp_isolated_mount(
        f->server,
        MCP_OPTIONS(mcp_isolated_options, .name = "mortal:m", .argv = argv, .line = line,
                    .may = rules ? may : NULL, .scopes = scopes,
                    .paths = *source == '/' ? paths : NULL, .describe = described ? describe : NULL,
                    .timeout_ms = timeout_ms, .group = &f->group, .allocator = memory),
        error);
}

static inline void connect_as(fixture *f, const char *principal)
{
    assert_int_equal(mcp_server_connect(f->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = f,
                                                    .principal = principal),
                                        &f->channel, NULL),
                     MCP_OK);
}

/* Connects one of several tokens of the same caller. */
static inline void connect_with(fixture *f, const char *granted)
{
    mcp_identity *identity = NULL;
    assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "https://i#a",
                                                  .issuer = "https://i", .scopes = granted),
                                      &identity, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_connect(f->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = f,
                                                    .identity = identity),
                                        &f->channel, NULL),
                     MCP_OK);
    mcp_identity_unref(identity);
}

static inline void open_fixture(fixture *f, bool rules, uint64_t timeout_ms)
{
    mcp_error error = {0};
    if (open_source(f, "m", rules, timeout_ms, &error) != MCP_OK)
        fail_msg("%s", error.text);
    connect_as(f, NULL);
}

static inline void close_fixture(fixture *f)
{
    mcp_channel_free(f->channel);
    mcp_server_free(f->server);
    mcp_loop_free(f->loop);
    for (size_t i = 0; i < IDS; i++)
        free(f->text[i]);
}

static inline void say(fixture *f, int id, const char *method, const char *params)
{
    char text[2000];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s%s\"_meta\":{"
             "\"progressToken\":%d,\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"tester\",\"version\":\"1\"},"
             "\"libmcp/caller\":{\"principal\":\"boss\",\"restricted\":false},"
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             id, method, params, *params ? "," : "", id);
    assert_int_equal(mcp_channel_receive(f->channel, 0, mcp_str_from(text), mcp_loop_now(f->loop)),
                     MCP_OK);
}

static inline void step(fixture *f, uint64_t ms)
{
    mcp_loop_step(f->loop, ms);
    mcp_channel_tick(f->channel, mcp_loop_now(f->loop));
}

static inline const char *answer(fixture *f, int id)
{
    int64_t end = mcp_loop_now(f->loop) + WAIT_MS;
    while (!f->answers[id] && mcp_loop_now(f->loop) < end)
        step(f, 5);
    assert_int_equal(f->answers[id], 1);
    return f->text[id];
}

static inline void cancel(fixture *f, int id)
{
    char text[200];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
             "\"params\":{\"requestId\":%d}}",
             id);
    mcp_channel_receive(f->channel, 0, mcp_str_from(text), mcp_loop_now(f->loop));
}

static inline const char *ask(fixture *f, int id, const char *method, const char *params)
{
    say(f, id, method, params);
    return answer(f, id);
}

static inline const char *ask_uri(fixture *f, int id, const char *uri)
{
    char params[200];
    snprintf(params, sizeof(params), "\"uri\":\"%s\"", uri);
    return ask(f, id, "resources/read", params);
}

static inline void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static inline void hear(fixture *f, const char *part)
{
    int64_t end = mcp_loop_now(f->loop) + WAIT_MS;
    while (!strstr(f->notices, part) && mcp_loop_now(f->loop) < end)
        step(f, 5);
    has(f->notices, part);
}

static inline void take_state(const mcp_isolated_state *state, void *user)
{
    fixture *f = user;
    f->pid = state->process.pid;
    f->starts = state->process.starts;
    f->failed = state->failed;
}

static inline void look(fixture *f)
{
    f->pid = 0;
    mcp_isolated_each(&f->group, take_state, f);
}

static inline void kill_process(fixture *f)
{
    look(f);
    if (f->pid > 0)
        kill((pid_t)f->pid, SIGKILL);
}

static inline size_t count_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

#endif
