/* mcp/sys/server.h: what a transport needs of a server: channels, texts that a peer or another
 * instance keeps, and where the tasks of several instances run.
 *
 * Like all headers of mcp/sys it may change in any minor version until 1.0
 * (docs/api-stability.md).
 */
#ifndef MCP_SYS_SERVER_H
#define MCP_SYS_SERVER_H

#include <mcp/base.h>
#include <mcp/server.h>
#include <mcp/sys/channel.h>
#include <mcp/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- channels -------------------------------------------------------------------------------- */

/* Makes the channel of one peer. Free it with mcp_channel_free() before the server. Returns MCP_OK,
 * MCP_EINVAL (no `send`) or MCP_ENOMEM. */
MCP_API int mcp_server_connect(mcp_server *server, const mcp_channel_options *options,
                               mcp_channel **ret, mcp_error *error);

/* ---- sealed texts ---------------------------------------------------------------------------- */

/* Encrypts and authenticates a text that a peer or another instance keeps. `purpose` says what it is
 * for; a text that was sealed for one purpose cannot be opened for another. The key is that of
 * mcp_server_set_seal() (mcp/input.h): servers with the same key and the same name can open the text,
 * for lifetime_ms from now, by the calendar clock. Writes base64url, without a NUL, to `to`, and its
 * length to *len. Returns MCP_OK, MCP_ELIMIT (more than `room` bytes, or the input is too long),
 * MCP_EINVAL (no server, to or len), MCP_EUNSUPPORTED (no OpenSSL 3), MCP_EIO (no randomness) or
 * MCP_ENOMEM. */
MCP_API int mcp_server_seal(mcp_server *server, mcp_str purpose, mcp_str text, uint64_t lifetime_ms,
                            char *to, size_t room, size_t *len);
/* Opens a sealed text. Writes the text to `to`, without a NUL, and its length to *len, which is less
 * than that of the sealed text. If left_ms is not NULL, *left_ms is how long it can still be opened.
 * Returns MCP_OK, MCP_EINVAL (sealed with another key, for another purpose or server, or changed),
 * MCP_ETIMEOUT (its time is over), or the other codes of mcp_server_seal(). */
MCP_API int mcp_server_unseal(mcp_server *server, mcp_str purpose, mcp_str sealed, char *to,
                              size_t room, size_t *len, uint64_t *left_ms);

/* ---- tasks of several instances -------------------------------------------------------------- */

/* Where a task runs: one of several instances of a server. */
typedef struct mcp_task_instance {
    size_t size;
    char instance[17]; /* 16 hexadecimal digits (0-9 a-f) */
    char address[207]; /* how the others reach it; not empty */
} mcp_task_instance;

/* Sets the instance of the tasks that are made from now on. Their ids contain it, sealed for their owner
 * with the key of the server (mcp_server_set_seal()), so that any instance with the same key and name
 * can tell where a task runs, and can forward requests about it. HTTP endpoints with an
 * instance_address (mcp/http.h) call this, and forward. A request about a task of another instance
 * that reaches this server nevertheless is answered with what is known: if nothing is kept for the
 * other instances (mcp_bus.keep), a task at a Unix socket counts as failed, because its process is
 * gone; a task at another address cannot be reached. NULL removes the instance. Returns MCP_OK, MCP_EINVAL
 * or MCP_ENOMEM. */
MCP_API int mcp_server_set_task_instance(mcp_server *server, const mcp_task_instance *instance,
                                         mcp_error *error);
/* Reads the instance from the id of a task of this caller, whose mcp_identity_binding() is `owner`
 * (NULL means anonymous). Set ret->size before the call. Returns MCP_OK, MCP_ENOTFOUND (the id names
 * none, or is of another caller, view or key, or has expired), MCP_EINVAL or MCP_ENOMEM. */
MCP_API int mcp_server_get_task_instance(mcp_server *server, const char *owner, mcp_str id,
                                         mcp_task_instance *ret);

#ifdef __cplusplus
}
#endif
#endif
