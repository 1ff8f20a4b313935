/* upstream.h: another MCP server as a provider: its resources, templates, tools and prompts are
 * offered as if they were this server's own, to peers of every revision.
 *
 *     mcp_upstream_mount(server, MCP_OPTIONS(mcp_upstream_options, .name = "docs",
 *                                            .argv = argv), &error);
 *
 * Its URIs get the prefix "mcp+NAME:", its tools and prompts "NAME_". Results are passed on as text
 * (mcp_reply_raw()). Each principal has a session of its own with the other server, which is opened
 * by the first request and ended when idle. docs/upstream.md says what does not pass.
 */
#ifndef MCP_UPSTREAM_H
#define MCP_UPSTREAM_H

#include <mcp/io.h>
#include <mcp/mcp.h>

typedef struct mcp_upstream_options {
    size_t size;
    /* a-z, 0-9 and "-", at most 24, beginning with a letter; required. All texts are copied. */
    const char *name;

    /* One of these three: a program that speaks MCP on stdin and stdout; the URL of an HTTP
     * endpoint, or "unix:PATH"; a function that connects the client. */
    const char *const *argv;
    const char *url;
    /* Connects the client of a session (mcp_client_connect_transport()). *ret is for `disconnect`,
     * which ends the transport and may be called from callbacks of the loop, but not of the
     * client. */
    int (*connect)(mcp_client *client, const char *principal, void **ret, void *user,
                   mcp_error *error);
    void (*disconnect)(void *link, void *user);
    void *user;

    const char *const *env; /* of the program, "NAME=value"; NULL: PATH, HOME, LANG, TMPDIR, USER */
    const char *cwd;
    const char *const *headers; /* of HTTP requests, "Name: value" */

    size_t max_sessions; /* at the same time; 64 */
    uint64_t idle_ms;    /* a session ends this long after its last use; 300,000 */
    uint64_t timeout_ms; /* for everything but calls of tools; 60,000 */
    const mcp_allocator *allocator;
} mcp_upstream_options;

/* Mounts it. The server needs a host with timers, and that of a mcp_loop unless `connect` is given,
 * before the first request. MCP_EINVAL, MCP_EEXIST (the name is taken), MCP_ENOMEM. */
int mcp_upstream_mount(mcp_server *server, const mcp_upstream_options *options, mcp_error *error);

/* The same for a source of mcpd, "COMMAND ARG…", "https://…" or "unix:PATH", with options that
 * conform to mcp_upstream_schema. */
int mcp_upstream_mount_json(mcp_server *server, const char *source, const mcp_json *options,
                            const char *name, const mcp_allocator *allocator, mcp_error *error);
extern const char mcp_upstream_schema[];

#endif
