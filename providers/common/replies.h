/* replies.h: replies that several providers share. Error messages state what happened, where, and
 * what to do. */
#ifndef COMMON_REPLIES_H
#define COMMON_REPLIES_H

#include <mcp/provider.h>

/* Replies with an error. With `as_tool` it is a tool error; otherwise it is a protocol error with
 * `uri` in its data, unless `uri` is empty. Returns what the handler has to return. */
int common_reply_fail(mcp_request *req, const mcp_allocator *alloc, bool as_tool, mcp_str uri,
                      int code, const char *text);

/* Replies with a row or with rows, as JSON or, with `text`, as a table (table_text.h). */
int common_reply_table(mcp_request *req, const mcp_allocator *alloc, mcp_str json, bool text,
                       bool row);

/* Completes the parameter `format`. */
int common_reply_formats(mcp_request *req, mcp_str value);

/* Describes a value that is too large for one read and has to be read in parts. */
typedef struct common_too_large {
    mcp_str uri;       /* as requested */
    const char *what;  /* beginning of the message, for example "A value" */
    const char *where; /* end of the message: what can be read in parts, for example " of the
                        * cell", or "" */
    uint64_t size;     /* in bytes; 0 if unknown */
    uint64_t limit;
    const char *prefix, *rest; /* together the template for reading parts */
} common_too_large;

/* Takes the option timeout_ms of the source, an unsigned long long. */
#define COMMON_DATABASE_TOO_LONG                                                            \
    "It took too long, more than timeout_ms of the source (%llu): the database is busy or " \
    "locked, or too much has to be read. Ask for less, or use a key or an indexed column"

int common_reply_too_large(mcp_request *req, const mcp_allocator *alloc, bool as_tool,
                           const common_too_large *t);

#endif
