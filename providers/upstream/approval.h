/* approval.h: the definitions of tools that a person has approved, in a file.
 *
 * Descriptions and schemas of tools are read by models, so a server that changes them after it was
 * approved can change what a model does. The file contains the approved definitions:
 *
 *     {"servers": {"NAME": {"tools": {"search": {"description": "…", "inputSchema": {…}}}}}}
 *
 * A definition is an entry of tools/list without "name" and "_meta". Two definitions are equal if
 * their values are; the order of members does not matter.
 */
#ifndef UPSTREAM_APPROVAL_H
#define UPSTREAM_APPROVAL_H

#include "session.h"

/* What is known of an approved tool: of the definition that a session has shown since the file was
 * read, or of the one on a page. */
typedef enum upstream_verdict {
    UPSTREAM_UNSEEN,
    UPSTREAM_APPROVED, /* each definition was the approved one */
    UPSTREAM_CHANGED,
} upstream_verdict;

enum { UPSTREAM_STEPS = 1 << 20 }; /* comparisons for one page; what is left counts as changed */

/* As mcp_tool_differs(). Subtracts its comparisons from *steps, and returns true if none are left. */
bool upstream_differs(const mcp_json *before, const mcp_json *after, size_t *steps, char *what,
                      size_t room);

/* Compares the tools on a page of tools/list with the approved ones, and logs each tool that is new or
 * has changed, once. `result` is the page; if it is NULL, `text` is parsed. With withhold_changed,
 * upstream_withholds() is about this page until upstream_approval_end_page(). The verdicts are added
 * to `verdicts`, unless that is NULL. Does nothing without approvals. */
void upstream_approval_page(upstream *up, upstream_verdicts *verdicts, const mcp_json *result,
                            mcp_str text);
void upstream_approval_end_page(upstream *up);
/* Returns whether a tool on the current page must be left out. */
bool upstream_withholds(const upstream *up, mcp_str tool);

/* Returns whether calls have to be checked with upstream_approval_allows(). */
bool upstream_approval_checks(const upstream *up);
/* Replaces the verdicts of a session by those of a whole list, which are empty afterwards. */
void upstream_approval_adopt(upstream_session *session, upstream_verdicts *verdicts);
/* Returns whether the session has shown the approved definition of a tool, and no other one. */
bool upstream_approval_allows(upstream_session *session, mcp_str tool);
/* Replies to a call of a tool that is withheld. Returns what the handler must return. */
int upstream_approval_refuse(const upstream *up, mcp_request *req);
void upstream_approval_free(upstream *up);

#endif
