/* mcp/client.h: use what a server offers. (Beginnings: discovery, resources. More follows.)
 *
 * A client is sans-I/O like a server: connect it to a transport of mcp/io.h (mcp_child_spawn()) or to
 * your own with mcp_client_connect(). Every call takes a callback, which is called exactly once, on the
 * client's thread, never from within the call itself; callbacks may make further calls, but neither free
 * the client nor end its transport. A blocking program runs its loop until the callback was there.
 *
 *     mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "me", .version = "1"), &client, &error);
 *     mcp_child_spawn(loop, client, MCP_OPTIONS(mcp_child_options, .argv = argv), &child, &error);
 *     mcp_client_start(client, on_start, NULL);
 *     mcp_client_call(client, "resources/read", "{\"uri\":\"file:///a\"}", on_read, NULL);
 */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include <mcp/base.h>
#include <mcp/channel.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_client mcp_client;

typedef struct mcp_client_options {
    size_t size;
    const char *name;    /* required; who we say that we are */
    const char *version; /* required */
    const char *title;
    /* NULL: find out (2026-07-28, basic/transports/stdio, "Backward Compatibility"); else the one
     * revision to speak, "2025-06-18". */
    const char *revision;
    uint64_t probe_ms;   /* how long server/discover may take before we try initialize; 3000 */
    uint64_t timeout_ms; /* how long a call may take; 60000 */
    size_t max_pages;    /* of one list; 10000 */
    size_t max_message; /* bytes of one message of the server, if the transport is silent; 64 MiB */
    const mcp_allocator *allocator;
} mcp_client_options;

/* MCP_EINVAL (a required field is missing, or the revision is not one that we speak: error says which
 * there are), MCP_ENOMEM. Everything is copied. */
MCP_API int mcp_client_new(const mcp_client_options *options, mcp_client **ret, mcp_error *error);
/* Calls that are still pending fail with MCP_ECLOSED. End the transport first: the channel is freed too.
 * NULL is allowed. */
MCP_API void mcp_client_free(mcp_client *client);

/* ---- the transport's side ------------------------------------------------------------------------- */

/* Makes the client's channel. Nothing is sent from within: the channel's deadline is due at once when
 * something waits, so the transport should call mcp_channel_tick() as soon as it can send, and whenever
 * `wake` is called. The channel is the client's: the transport does not free it, but tells its end with
 * mcp_client_disconnected(). MCP_ESTATE: there is one; MCP_EINVAL, MCP_ENOMEM. */
MCP_API int mcp_client_connect(mcp_client *client, const mcp_channel_options *options,
                               mcp_channel **ret, mcp_error *error);
/* The connection is gone: frees the channel; every pending call fails with MCP_ECLOSED and this text
 * (NULL: a general one). Not from within `send` or while the channel is being called. The client can be
 * connected again, and is started again then. */
MCP_API void mcp_client_disconnected(mcp_client *client, const char *why);

/* ---- calls ---------------------------------------------------------------------------------------- */

/* The outcome of a call. rc is MCP_OK, or
 *   MCP_EREMOTE       the server's error: error->text holds its message, result is the error object
 *   MCP_ETIMEOUT      no answer in time; the server was told with notifications/cancelled
 *   MCP_ECLOSED       the connection is gone; error->text says why
 *   MCP_EPROTOCOL     the answer breaks the protocol: malformed, or of an unknown resultType
 *   MCP_ELIMIT        the answer, or the list, is longer than our limits allow
 *   MCP_EUNSUPPORTED  the server asks for input that we do not give
 *   MCP_ENOMEM
 * result is NULL where nothing else is said; error is NULL with MCP_OK. Everything is borrowed until the
 * callback returns. What the server says is text from a stranger: it may hold control characters. */
typedef void mcp_result_fn(mcp_client *client, int rc, const mcp_json *result,
                           const mcp_error *error, void *user);

/* Finds out the era and revision and, for a legacy server, performs the handshake. `result` is the
 * DiscoverResult or InitializeResult; a failure that rests on the server's versions is MCP_EPROTOCOL.
 * Other calls may be made before it is through: they wait, and fail as it fails. fn may be NULL. A client
 * that is never started starts with its first call. It may be started again after a failure.
 * MCP_OK; MCP_ESTATE (it is started), MCP_ECLOSED (the connection is gone). */
MCP_API int mcp_client_start(mcp_client *client, mcp_result_fn *fn, void *user);

/* Any request: `params` is the JSON text of an object (NULL: none). What a modern server needs in _meta
 * is added to what params have there. MCP_OK, or a negative code, and then fn is not called: MCP_EINVAL
 * (no method, params are no object), MCP_EPARSE, MCP_ESTATE (the start failed), MCP_ECLOSED,
 * MCP_ENOMEM. */
MCP_API int mcp_client_call(mcp_client *client, const char *method, const char *params,
                            mcp_result_fn *fn, void *user);

/* One page callback per page of a list method ("resources/list"), then fn at the end with the last page.
 * Pages are followed until there is no nextCursor, a cursor comes twice (MCP_EPROTOCOL) or max_pages
 * were read (MCP_ELIMIT). page returning false stops with MCP_ECANCELLED. What it is handed has the
 * method's array ("resources"), whose elements are unchecked. Returns as mcp_client_call(). */
MCP_API int mcp_client_list(mcp_client *client, const char *method,
                            bool (*page)(mcp_client *client, const mcp_json *result, void *user),
                            mcp_result_fn *fn, void *user);

/* ---- what was found out ---------------------------------------------------------------------------- */

/* After a successful mcp_client_start(), and until the next one or the client's end; NULL, false and the
 * empty string before, and where the server does not say. */
MCP_API const char *mcp_client_revision(const mcp_client *client);
/* Whether that revision is of the modern era: stateless, 2026-07-28 and later. */
MCP_API bool mcp_client_is_modern(const mcp_client *client);
MCP_API const mcp_json *mcp_client_server_info(const mcp_client *client);
MCP_API const mcp_json *mcp_client_server_capabilities(const mcp_client *client);
MCP_API mcp_str mcp_client_instructions(const mcp_client *client);

/* ---- contents -------------------------------------------------------------------------------------- */

/* Decodes the Base64 of a blob, an image or audio. `to` has room for text.len / 4 * 3 bytes. MCP_OK and
 * how many bytes there are; MCP_EPARSE: it is not standard Base64 with padding. */
MCP_API int mcp_base64_decode(void *to, mcp_str text, size_t *ret);

#ifdef __cplusplus
}
#endif
#endif
