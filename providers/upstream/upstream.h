/* upstream.h: mounts another MCP server. Its resources, templates, tools and prompts are offered as
 * this server's own, to peers of every revision.
 *
 *     mcp_upstream_mount(server, MCP_OPTIONS(mcp_upstream_options, .name = "docs",
 *                                            .argv = argv), &error);
 *
 * URIs of the other server get the prefix "mcp+NAME:", its tools and prompts get "NAME_". Results
 * are forwarded as JSON text (mcp_reply_raw()). Each principal has its own session with the other
 * server, which is opened by the first request and ended when idle. docs/upstream.md lists what is
 * not forwarded.
 */
#ifndef MCP_UPSTREAM_H
#define MCP_UPSTREAM_H

#include <mcp/io.h>
#include <mcp/mcp.h>

typedef struct mcp_upstream_options {
    size_t size;
    /* a-z, 0-9 and "-", at most 24 characters, beginning with a letter; required. All strings are
     * copied. */
    const char *name;

    /* Exactly one of these three is required: a program that speaks MCP on stdin and stdout; the
     * URL of an HTTP endpoint, or "unix:PATH"; a function that connects the client. */
    const char *const *argv;
    const char *url;
    /* Connects the client of a session (mcp_client_connect_transport()). *ret is passed to
     * `disconnect`, which ends the transport. `disconnect` may be called from callbacks of the
     * loop, but not from callbacks of the client. */
    int (*connect)(mcp_client *client, const char *principal, void **ret, void *user,
                   mcp_error *error);
    void (*disconnect)(void *link, void *user);
    void *user;

    const char *const *env; /* of the program, "NAME=value"; NULL for PATH, HOME, LANG, TMPDIR,
                             * USER */
    const char *cwd;
    const char *const *headers; /* of HTTP requests, "Name: value" */

    size_t max_sessions; /* at the same time; default 64 */
    uint64_t idle_ms;    /* a session ends after being idle this long; default 300,000 */
    uint64_t timeout_ms; /* for all requests except tool calls; default 60,000 */
    const mcp_allocator *allocator;
} mcp_upstream_options;

/* Mounts the other server. Before the first request, the server needs a host with timers; unless
 * `connect` is given, the host must be that of an mcp_loop. Returns MCP_OK, MCP_EINVAL, MCP_EEXIST
 * (the name is taken) or MCP_ENOMEM. */
int mcp_upstream_mount(mcp_server *server, const mcp_upstream_options *options, mcp_error *error);

/* Mounts a source of mcpd: "COMMAND ARG…", "https://…" or "unix:PATH". `options` must conform to
 * mcp_upstream_schema. If `name` is NULL, it is derived from the source. Returns the errors of
 * mcp_upstream_mount(). */
int mcp_upstream_mount_json(mcp_server *server, const char *source, const mcp_json *options,
                            const char *name, const mcp_allocator *allocator, mcp_error *error);
extern const char mcp_upstream_schema[];

#endif
