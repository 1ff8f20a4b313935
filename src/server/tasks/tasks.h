/* tasks.h: the interface of tasks (calls that continue after their answer) for the rest of the
 * server. task.h is for the files of this folder.
 */
#ifndef MCP_SRC_SERVER_TASKS_H
#define MCP_SRC_SERVER_TASKS_H

#include <mcp/sys/bus.h>

#include "protocol/contents.h"
#include "server/core/request.h"

int mcp__run_task_get(mcp_request *req);
int mcp__run_task_update(mcp_request *req);
int mcp__run_task_cancel(mcp_request *req);
int mcp__run_task_result(mcp_request *req);
int mcp__run_task_list(mcp_request *req);
void mcp__task_tail(mcp_request *req, mcp__buf *b);
void mcp__task_list_tail(mcp_request *req, mcp__buf *b);
/* Checks for a tools/call whether the tool can be called as the peer requests, as a task or not.
 * Creates the task if the peer requested one. */
int mcp__task_begin(mcp_request *req);
/* End a request that is a task. mcp__task_fail() stores an error, mcp__task_complete() the result
 * in req->reply.out. Both free the request. */
void mcp__task_complete(mcp_request *req);
void mcp__task_fail(mcp_request *req, int code, mcp_str message, mcp_str data);
/* Initializes a buffer for the result. */
void mcp__task_take_buf(const struct mcp__task *task, mcp__buf *b);
/* Sends the input requests of a task's handler. */
void mcp__task_park(mcp_request *req);
struct mcp__question;
/* Withdraws one question of a request that is a task. The task continues if it was the last one. */
void mcp__task_withdraw_one(struct mcp__task *task, struct mcp__question *q);
/* Adds to the result's _meta what the revision requires for a task. */
int mcp__task_add_meta(mcp_request *req);
/* Frees the task of a request that is being cleared. */
void mcp__task_release(struct mcp__task *task);
mcp_str mcp__task_id(const struct mcp__task *task);
/* Returns the session of 2025-11-25 that created the task, or NULL after the session has ended. */
mcp__session *mcp__task_session(const struct mcp__task *task);

/* Returns whether the peer of this channel may list tasks: all of its tasks are in the store, and the peer has a principal,
 * or is the only anonymous peer (all exchanges share one stream, as on stdio). */
bool mcp__tasks_listed(const mcp_channel *channel);
/* Writes the members for tasks into an object of capabilities. */
void mcp__task_capabilities(mcp__object *o, const mcp_channel *channel);
void mcp__tasks_forget(mcp_server *server, const mcp__session *session);
/* Removes expired tasks. */
void mcp__tasks_tick(mcp_server *server);
/* Returns when to call mcp__tasks_tick() again, by the channel's clock, or INT64_MAX if never. The
 * server must have tasks. */
int64_t mcp__tasks_deadline(const mcp_channel *channel);
/* Stops the timer before the host changes. If cancel_all is set, also cancels all tasks, because
 * there will be no new host. */
void mcp__tasks_leave_host(mcp_server *server, bool cancel_all);
void mcp__tasks_enter_host(mcp_server *server);
void mcp__tasks_free(mcp_server *server);

/* What is kept of tasks for other instances (task_archive.c). mcp__archive_new() does nothing if the bus
 * keeps no values. Returns MCP_OK or MCP_ENOMEM. */
int mcp__archive_new(mcp_server *server, const mcp_bus *bus);
void mcp__archive_free(mcp_server *server);
/* What the bus reports. */
void mcp__archive_connected(mcp_server *server);
/* Returns how many states are not kept yet, or 1 for any number that has to be kept again. */
size_t mcp__archive_pending(const mcp_server *server);
void mcp__archive_stored(mcp_server *server, int rc, const char *why);
void mcp__archive_fetched(mcp_server *server, uint64_t number, int rc, mcp_str value);

/* For subscriptions/listen: mcp__task_listen_check() checks the requested tasks (MCP_OK, or a
 * negative code after mcp_reply_fail()). mcp__task_listen() subscribes to those that exist and
 * names them in the acknowledgement. */
int mcp__task_listen_check(mcp_request *req, const mcp_json *filter);
int mcp__task_listen(mcp_request *req, const mcp_json *filter, mcp__object *honoured);
void mcp__task_stream_clear(mcp__stream *stream);
/* Sends notifications for marked watches. Returns true if no marked watch is left. */
bool mcp__task_send_notifications(mcp__session *session);

#endif
