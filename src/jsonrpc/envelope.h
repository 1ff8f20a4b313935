/* envelope.h: reads and writes the frame of JSON-RPC 2.0 messages. Of MCP's rules it applies only
 * two: an id is a string or an integer, and params are an object.
 */
#ifndef MCP_SRC_ENVELOPE_H
#define MCP_SRC_ENVELOPE_H

#include "base/base.h"
#include "json/json.h"

/* https://www.jsonrpc.org/specification#error_object */
enum {
    MCP__PARSE_ERROR = -32700,
    MCP__INVALID_REQUEST = -32600,
    MCP__METHOD_NOT_FOUND = -32601,
    MCP__INVALID_PARAMS = -32602,
    MCP__INTERNAL_ERROR = -32603,
};

typedef enum mcp__message_kind {
    MCP__INVALID = 0, /* the error is in `code` and `problem`; id is set if it could be read */
    MCP__REQUEST,
    MCP__NOTIFICATION,
    MCP__RESULT,
    MCP__ERROR,
} mcp__message_kind;

typedef struct mcp__message {
    mcp__message_kind kind;
    const mcp_json *id; /* NULL if absent or not valid */
    /* the message has an id, valid or not, so the peer expects an answer */
    bool has_id;
    mcp_str method;
    const mcp_json *params; /* an object; NULL if absent */
    const mcp_json *meta;   /* the _meta of params, of any type; NULL if absent */
    const mcp_json *result; /* the result, or the error object */
    int code;
    const char *problem;
} mcp__message;

/* Reads one message (not a batch). An error is reported as MCP__INVALID. The parts are borrowed
 * from root. */
MCP__SHARED void mcp__message_read(const mcp_json *root, mcp__message *ret);

/* Returns whether a value is a valid id: a string, or an integer of any size, which includes
 * 1.0. */
bool mcp__is_id(const mcp_json *value);

/* Appends the id as JSON text, in the form in which answers return it. Equal ids have the same
 * text. */
MCP__SHARED void mcp__put_id(mcp__buf *b, const mcp_json *id);

/* Finds the id at the top level of a message that could not be parsed (too long, too deep), of
 * which `head` is the beginning. Appends the id as JSON text and returns true, or returns false if
 * there is none. */
MCP__SHARED bool mcp__scan_id(mcp_str head, const mcp_allocator *allocator, mcp__buf *id);
/* Does the same for an answer that is not valid JSON. The id must be there exactly once, outside of
 * strings; a text with a method at the top level is no answer. */
bool mcp__scan_answer_id(mcp_str text, const mcp_allocator *allocator, mcp__buf *id);
/* Like mcp__scan_id(), but `tail` is the end of such a message. Examines the members after the last
 * array or object. */
bool mcp__scan_id_back(mcp_str tail, const mcp_allocator *allocator, mcp__buf *id);

/* ---- id_scan.c: finds the id of a message of any length -------------------------------------- */

/* Begins as zeros. */
typedef struct mcp__id_scan {
    size_t depth, id_len, key_len;
    unsigned n_ids; /* members "id" at the top level; 2 stands for more */
    bool in_string, escaped;
    bool is_object, at_key, in_key; /* in_key: in a key of the top level */
    bool has_method, taking, is_whole, is_over;
    char key[7]; /* one byte more than "method" */
    char id[256];
    char text[280];
} mcp__id_scan;

/* Goes on with the next bytes of the message. */
MCP__SHARED void mcp__id_scan_feed(mcp__id_scan *s, mcp_str bytes);
/* Returns the message without its other members: {}, {"id":5}, {"method":0} or {"method":0,"id":5}. It has
 * an id only if there is exactly one at the top level, of at most 256 bytes. It is borrowed from *s. */
MCP__SHARED mcp_str mcp__id_scan_end(mcp__id_scan *s);

/* Explains why a text could not be parsed. `error` is the error of the parser. Appends the reason
 * to `why`. If the text is too long or too deep, also appends the id to `id` if it can be found.
 * Returns the JSON-RPC error code. */
MCP__SHARED int mcp__explain_unparsed(mcp_str text, const mcp_error *error, mcp__buf *id,
                                      mcp__buf *why);

/* Appends the beginning of a result message. `id` is JSON text. */
void mcp__put_result_head(mcp__buf *b, mcp_str id); /* {"jsonrpc":"2.0","id":…,"result": */
typedef enum mcp__no_id { MCP__NO_ID_NULL = 0, MCP__NO_ID_ABSENT } mcp__no_id;
/* Appends a whole error message. `id` is JSON text; if it is empty, `no_id` says whether to write
 * null or no id. `data` is JSON text and may be empty. */
MCP__SHARED void mcp__put_error(mcp__buf *b, mcp_str id, mcp__no_id no_id, int code,
                                mcp_str message, mcp_str data);
/* Append {"jsonrpc":"2.0","method":"…","params": (with an id for a request). The caller appends
 * params and }. */
void mcp__put_notification_head(mcp__buf *b, mcp_str method);
void mcp__put_request_head(mcp__buf *b, int64_t id, mcp_str method);

#endif
