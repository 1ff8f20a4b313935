/* repository.h: repositories that git made in a temporary folder, and a server of one with one peer: a
 * request, its reply. */
#ifndef MCP_TESTS_GIT_REPOSITORY_H
#define MCP_TESTS_GIT_REPOSITORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "git.h"

static char top[64];

/* Runs a script there. */
static inline void sh(const char *script)
{
    static char text[16 << 10];
    int n = snprintf(text, sizeof text, "set -e; cd %s; %s", top, script);
    assert_true(n > 0 && (size_t)n < sizeof text);
    if (system(text) != 0)
        fail_msg("%s", script);
}

/* A folder for repositories; git sees nobody's configuration, and its clock stands. */
static inline void make_top(void)
{
    static const char *const environment[][2] = {
        {"GIT_CONFIG_NOSYSTEM", "1"},
        {"GIT_CONFIG_GLOBAL", "/dev/null"},
        {"GIT_AUTHOR_NAME", "Ada"},
        {"GIT_AUTHOR_EMAIL", "ada@example.org"},
        {"GIT_COMMITTER_NAME", "Bob"},
        {"GIT_COMMITTER_EMAIL", "bob@example.org"},
        {"GIT_AUTHOR_DATE", "1700000000 +0100"},
        {"GIT_COMMITTER_DATE", "1700000000 +0000"},
        {"ASAN_OPTIONS", ""},
    };
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
        setenv(environment[i][0], environment[i][1], 1);
    strcpy(top, "/tmp/mcp-git-XXXXXX");
    assert_non_null(mkdtemp(top));
}

static inline void remove_top(void)
{
    char command[192];
    snprintf(command, sizeof command, "chmod -R u+w %s && rm -rf %s", top, top);
    assert_int_equal(system(command), 0);
}

/* What a command says, without its newline. */
static inline const char *output_of(const char *script)
{
    static char line[4096];
    char text[4096 + 96];
    snprintf(text, sizeof text, "cd %s && %s", top, script);
    FILE *f = popen(text, "r");
    assert_non_null(f);
    if (!fgets(line, sizeof line, f))
        line[0] = 0;
    pclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

static inline int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

typedef struct peer {
    mcp_server *server;
    mcp_channel *channel;
    char reply[4 << 20];
    size_t len, updates, changes;
    size_t page_size; /* 0: 5 */
    mcp_error error;
} peer;

static inline void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)channel, (void)exchange;
    assert_true(message.len < sizeof p->reply);
    if (memmem(message.ptr, message.len, "\"method\":\"notifications/", 24)) {
        p->updates += memmem(message.ptr, message.len, "resources/updated", 17) != NULL;
        p->changes += memmem(message.ptr, message.len, "list_changed", 12) != NULL;
        return;
    }
    memcpy(p->reply, message.ptr, message.len);
    p->reply[p->len = message.len] = 0;
}

/* `name` is a repository's beneath the folder; o->path and o->within are made from it. */
static inline int peer_open(peer *p, const char *name, mcp_git_options *o, const mcp_host *host,
                            const mcp_allocator *alloc)
{
    char path[256];
    int rc = mcp_server_new(
        MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1", .coalesce_ms = 1, .host = host,
                    .page_size = p->page_size ? p->page_size : 5, .allocator = alloc),
        &p->server, &p->error);
    o->size = sizeof *o;
    snprintf(path, sizeof path, "%s/%s", top, name);
    o->path = path;
    o->allocator = alloc;
    if (rc == MCP_OK)
        rc = mcp_git_mount(p->server, o, &p->error);
    if (rc == MCP_OK)
        rc = mcp_server_connect(
            p->server,
            MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p, .shared_stream = true),
            &p->channel, &p->error);
    return rc;
}

static inline void peer_close(peer *p)
{
    mcp_channel_free(p->channel);
    mcp_server_free(p->server);
    p->channel = NULL;
    p->server = NULL;
}

/* Sends a modern request and gives back the reply, "" while there is none. */
static inline const char *ask(peer *p, const char *method, const char *params)
{
    static char message[64 << 10];
    int n = snprintf(message, sizeof message,
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}}%s%s}}",
                     method, *params ? "," : "", params);
    assert_true(n > 0 && (size_t)n < sizeof message);
    p->reply[0] = 0;
    mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)n}, now());
    return p->reply;
}

static inline const char *read_uri(peer *p, const char *rest)
{
    char params[8 << 10];
    snprintf(params, sizeof params, "\"uri\":\"git://%s\"", rest);
    return ask(p, "resources/read", params);
}

#define NOT_FOUND "\"code\":-32602,\"message\":\"Resource not found"

#endif
