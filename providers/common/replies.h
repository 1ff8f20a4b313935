/* replies.h: error texts that several providers share: what happened, where, and what to do. */
#ifndef COMMON_REPLIES_H
#define COMMON_REPLIES_H

#include <mcp/provider.h>

/* Replies with an error for the reader of a URI, which is in the error's data ("": none), or, with
 * `as_tool`, for the caller of a tool. Returns what the handler returns. */
int common_reply_fail(mcp_request *req, const mcp_allocator *alloc, bool as_tool, mcp_str uri,
                      int code, const char *text);

/* Replies with a row or rows: as JSON, or with `text` as a table (table_text.h). */
int common_reply_table(mcp_request *req, const mcp_allocator *alloc, mcp_str json, bool text,
                       bool row);

/* Completes a parameter `format`. */
int common_reply_formats(mcp_request *req, mcp_str value);

/* A value that is too large for one read and has to be read in parts. */
typedef struct common_too_large {
    mcp_str uri;       /* as requested */
    const char *what;  /* the beginning of the message: "A value" */
    const char *where; /* the end of the message, what can be read in parts: " of the cell", or
                        * "" */
    uint64_t size;     /* 0: not known */
    uint64_t limit;
    const char *prefix, *rest; /* together the template for parts */
} common_too_large;

#define COMMON_DATABASE_TOO_LONG                                                         \
    "It took too long: the database is busy or locked, or too much has to be read. Ask " \
    "for less, or use a key or an indexed column"

int common_reply_too_large(mcp_request *req, const mcp_allocator *alloc, bool as_tool,
                           const common_too_large *t);

#endif
