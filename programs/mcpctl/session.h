/* session.h: the internals of a session, for the few files that implement it. */
#ifndef MCPCTL_SESSION_H
#define MCPCTL_SESSION_H

#include "mcpctl.h"

/* Returns false if the server was started and has ended. */
bool session_is_connected(const session *s);
/* Restarts the server or reconnects, and waits for the answer. Returns EXIT_OK, or another code
 * after reporting the error. */
int session_restart(ctl *c);
/* Calls session_restart() if the connection is lost. */
int session_revive(ctl *c);
/* Ends the server and all calls; session_close() must still be called. */
void session_end(session *s);

/* report.c: exit codes for the code of a call, and an error report with advice. */
int exit_code_of(int rc);
int exit_code_of_error(const mcp_json *error); /* for MCP_EREMOTE */
void session_report(const ctl *c, const char *what, int rc, const mcp_json *result,
                    const mcp_error *error);
void report_unknown_uri(const char *uri); /* the advice */

/* questions.c: input requests of the server. The first is the client's callback, which only queues
 * the request; the second asks the user, outside of all callbacks. */
void question_take(mcp_client *client, mcp_question *question, void *user);
void questions_answer(ctl *c);

/* notices.c: callbacks of the client and the child; their user is the session. */
void notice_trace(mcp_client *client, bool sent, uint64_t exchange, mcp_str message, void *user);
void notice_stderr(mcp_str bytes, void *user);
void notice_log(mcp_client *client, mcp_str level, mcp_str logger, const mcp_json *data,
                void *user);
void notice_tool_refused(mcp_client *client, mcp_str name, const char *why, void *user);
void notice_misbehaved(mcp_client *client, const char *what, void *user);
void notice_change(mcp_client *client, mcp_str method, const mcp_json *params, void *user);
void notice_lost(mcp_client *client, const char *why, void *user);
void notice_waits(int status, uint64_t ms, void *user);

/* trace.c: opens FILE, or stderr for "-"; NULL after reporting the error. Each message is one line
 * of JSON. */
FILE *trace_open(const char *path);
/* Writes a step of a login, whose secrets have been removed already. */
void trace_step(FILE *to, const mcp_oauth_step *step);
void trace_message(FILE *to, bool sent, mcp_str message);

#endif
