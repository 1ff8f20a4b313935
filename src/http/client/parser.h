/* parser.h: the client's side of Streamable HTTP, without sockets. The server's side is
 * http/server, with which this folder shares no code.
 *
 * sse_parse.c parses event streams, response.c interprets the heads of answers, and header.c
 * checks and collects the headers of a request.
 */
#ifndef MCP_SRC_HTTP_CLIENT_H
#define MCP_SRC_HTTP_CLIENT_H

#include "jsonrpc/envelope.h"
#include "uri/uri.h"

/* ---- sse_parse.c: reads an event stream (WHATWG HTML, 9.2.6) --------------------------------- */

enum {
    MCP__SSE_MAX_ID = 1024, /* a longer id, in bytes, is ignored */
};

/* One event. Its strings are borrowed until the parser is called again. */
typedef struct mcp__sse_event {
    mcp_str type; /* empty if the event has none, which means "message" */
    mcp_str data; /* its lines, joined by newlines; empty if the event has no data */
    bool is_cut;  /* the event exceeded the limit: `data` is what mcp__id_scan_end() returns */
} mcp__sse_event;

typedef struct mcp__sse {
    mcp__buf data;     /* of the event being received */
    mcp__buf id, next; /* the ids of the last complete event and of the event being received */
    char name[8];      /* of the field being received */
    char type[32];
    unsigned char name_len, type_len;
    unsigned char state, field;
    size_t max_event;
    size_t line_data; /* number of characters of the retry field being received */
    size_t seen;      /* bytes of a byte order mark at the start that have been read */
    int64_t retry;    /* the server's last retry field in milliseconds, or -1 */
    uint64_t number;  /* the value so far of the retry field being received */
    bool has_data;    /* the event has a data field */
    bool has_next;    /* the event has an id field */
    bool is_cut;
    bool bad_value; /* the field being received is invalid and will be ignored */
    bool after_cr;
    bool given;        /* the event was returned, so the next call begins a new one */
    mcp__id_scan scan; /* of an event that is cut */
} mcp__sse;

void mcp__sse_init(mcp__sse *p, const mcp_allocator *allocator, size_t max_event);
void mcp__sse_free(mcp__sse *p);
/* Prepares the parser for a new stream. Discards a partial event; keeps the last id and the retry
 * time. */
void mcp__sse_restart(mcp__sse *p);
/* Consumes bytes from the front of *bytes up to the end of an event. Returns MCP_PENDING if *event
 * is complete, MCP_OK if all bytes were consumed without completing an event, and MCP_ENOMEM if the
 * stream cannot be continued. */
int mcp__sse_next(mcp__sse *p, mcp_str *bytes, mcp__sse_event *event);
/* Returns the id of the last event, after which a stream can be resumed, or an empty string. It is
 * borrowed until the next call of the parser. */
mcp_str mcp__sse_last_id(const mcp__sse *p);

/* ---- header.c: headers of a request ---------------------------------------------------------- */

/* A list of headers: NUL-terminated lines in libcurl's form, one after the other. Initialize it
 * with mcp__headers_init(). */
typedef struct mcp__headers {
    mcp__buf lines;
} mcp__headers;

enum { MCP__HEADERS_MOST = 64 * 1024 };

void mcp__headers_init(mcp__headers *h, const mcp_allocator *allocator);
void mcp__headers_free(mcp__headers *h);
/* Adds a header, without the white space around its value. Returns MCP_EINVAL if the name is not a
 * token (RFC 9110, 5.6.2) or the value contains control characters, MCP_ELIMIT if the list would
 * exceed MCP__HEADERS_MOST bytes, or MCP_ENOMEM. */
int mcp__headers_add(mcp__headers *h, mcp_str name, mcp_str value);
/* Adds all headers of another list. Returns MCP_ELIMIT or MCP_ENOMEM on failure. */
int mcp__headers_append(mcp__headers *h, const mcp__headers *other);
/* Returns the next line, or NULL at the end. Start with *at = 0. */
const char *mcp__headers_next(const mcp__headers *h, size_t *at);
/* Returns whether a program may set this header. Headers that frame a message, and those that the
 * client sets itself, are reserved. */
bool mcp__header_is_free(mcp_str name);

/* ---- response.c: interprets an answer -------------------------------------------------------- */

typedef enum mcp__media {
    MCP__MEDIA_NONE = 0,
    MCP__MEDIA_JSON,
    MCP__MEDIA_SSE,
    MCP__MEDIA_OTHER,
} mcp__media;

/* The head of an answer, reduced to the headers that the client uses. */
typedef struct mcp__answer {
    int status;
    mcp__media media;
    char media_text[64]; /* the media type for messages: printable, and shortened if long */
    int64_t length;      /* Content-Length, or -1 if it is unknown */
    uint64_t retry_ms;   /* Retry-After, at least 1; 0 if it is missing, or given as a date */
    char retry_date[40]; /* such a date, which may be none; empty if there is none */
    mcp__buf session;    /* Mcp-Session-Id */
    mcp__buf challenge;  /* WWW-Authenticate; several are joined by ", " */
    mcp__buf caching;    /* Cache-Control, joined in the same way */
    mcp__buf nonce;      /* DPoP-Nonce; empty if it is missing or invalid */
    bool bad_session;    /* Mcp-Session-Id has forbidden characters, or is too long */
    size_t bytes;        /* length of all lines so far */
    size_t n_cookies;    /* number of headers Set-Cookie, of all heads */
    bool is_encoded;     /* Content-Encoding: the body is decoded by the transport */
    bool complete;
} mcp__answer;

enum {
    MCP__SESSION_MOST = 1024,
    MCP__CHALLENGE_MOST = 8192,
    MCP__CACHING_MOST = 1024,
    MCP__NONCE_MOST = 1024,
    MCP__RETRY_MOST_MS = 24 * 3600 * 1000,
    MCP__ANSWER_MOST = 64 * 1024
};

void mcp__answer_init(mcp__answer *a, const mcp_allocator *allocator);
void mcp__answer_free(mcp__answer *a);
/* Processes one line of the head. The first is the status line. Another status line begins a new
 * head, which replaces the previous one (after status 100 or 103, or a redirect). Returns MCP_OK,
 * MCP_ELIMIT above MCP__ANSWER_MOST bytes, or MCP_ENOMEM. */
int mcp__answer_line(mcp__answer *a, mcp_str line);

/* The kind of request that the client has sent. */
typedef enum mcp__http_request_kind {
    MCP__REQUEST_ANSWER = 0, /* POST of a request */
    MCP__REQUEST_TAKE,   /* POST of a notification or a response; any POST to a 2024-11-05 server */
    MCP__REQUEST_STREAM, /* GET */
    MCP__REQUEST_END,    /* DELETE */
    MCP__REQUEST_KINDS,
} mcp__http_request_kind;

/* How to treat the body. */
typedef enum mcp__verdict {
    MCP__VERDICT_MESSAGE = 0, /* success: the body is one message */
    MCP__VERDICT_EVENTS,      /* success: the body is an event stream */
    MCP__VERDICT_TAKEN,       /* success: the body is ignored */
    MCP__VERDICT_REFUSED,     /* failure: a JSON body may be a message with the reason */
    MCP__VERDICT_CHALLENGED,  /* failure with status 401 or 403: authorization is required */
    MCP__VERDICT_WRONG,       /* a successful status, but not the media type that is needed */
} mcp__verdict;

mcp__verdict mcp__answer_verdict(const mcp__answer *a, mcp__http_request_kind kind);
/* Describes the answer for an error message, such as "the server answered with HTTP status 502 (Bad
 * Gateway)". Writes at most `room` bytes, with the terminating NUL. */
void mcp__answer_text(const mcp__answer *a, char *to, size_t room);

#endif
