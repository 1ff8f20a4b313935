/* tasks.h: what the rest of the server knows of tasks: calls that go on after their answer. task.h is the inner side.
 */
#ifndef MCP_SRC_SERVER_TASKS_H
#define MCP_SRC_SERVER_TASKS_H

#include "protocol/object.h"
#include "server/core/request.h"

int mcp__run_task_get(mcp_request *req);
int mcp__run_task_update(mcp_request *req);
int mcp__run_task_cancel(mcp_request *req);
int mcp__run_task_result(mcp_request *req);
int mcp__run_task_list(mcp_request *req);
void mcp__task_tail(mcp_request *req, mcp__buf *b);
void mcp__task_list_tail(mcp_request *req, mcp__buf *b);
/* For tools/call, once the tool is known: whether it can be called so; makes the task that the peer asked for. */
int mcp__task_begin(mcp_request *req);
/* The end of a request that is a task. error: the error object; else req->reply.out is the result. The request is
 * gone then. */
void mcp__task_complete(mcp_request *req);
void mcp__task_fail(mcp_request *req, int code, mcp_str message, mcp_str data);
/* An empty buffer for its result. */
void mcp__task_take_buf(const struct mcp__task *task, mcp__buf *b);
/* The handler of a task asks its client. */
void mcp__task_park(mcp_request *req);
/* What a task's result needs in its _meta. */
int mcp__task_add_meta(mcp_request *req);
/* The request of a task is being cleared. */
void mcp__task_release(struct mcp__task *task);
const char *mcp__task_principal(const struct mcp__task *task);
mcp_str mcp__task_id(const struct mcp__task *task);
/* The session of 2025-11-25 that made the task, while it is there. */
mcp__session *mcp__task_session(const struct mcp__task *task);

/* Whether tasks can be listed for who is on this channel: he is known, or is the only one. */
bool mcp__tasks_listed(const mcp_channel *channel);
/* What an object of capabilities says of them. */
void mcp__task_capabilities(mcp__object *o, const mcp_channel *channel);
void mcp__tasks_forget(mcp_server *server, const mcp__session *session);
/* What is over goes, and INT64_MAX or a time of the channel's clock when to look again. */
void mcp__tasks_tick(mcp_server *server);
/* Where there are tasks. */
int64_t mcp__tasks_deadline(const mcp_channel *channel);
/* The host changes: their timer goes with it. */
void mcp__tasks_leave_host(mcp_server *server, bool for_good);
void mcp__tasks_enter_host(mcp_server *server);
void mcp__tasks_free(mcp_server *server);

/* subscriptions/listen: checks what is wanted (MCP_OK, or a negative code after mcp_reply_fail()), subscribes
 * to what can be and names it in the acknowledgement. */
int mcp__task_listen_check(mcp_request *req, const mcp_json *filter);
int mcp__task_listen(mcp_request *req, const mcp_json *filter, mcp__object *honoured);
void mcp__task_stream_clear(mcp__stream *stream);
/* True: everything was told. */
bool mcp__task_tell(mcp__session *session);

#endif
