/* client.h: the client's side of Streamable HTTP, without sockets: reads event streams, interprets
 * answers, writes headers. (http.h is the server's side; the two share nothing.)
 *
 * sse.c reads event streams, answer.c interprets answers, header.c checks and writes headers, url.c
 * examines URLs.
 */
#ifndef MCP_SRC_HTTP_CLIENT_H
#define MCP_SRC_HTTP_CLIENT_H

#include "base/base.h"

/* ---- sse.c: reads an event stream (WHATWG HTML, 9.2.6) -------------------------------------- */

enum {
    MCP__SSE_MAX_ID = 1024, /* a longer id is ignored: it could not be sent back */
    MCP__SSE_HEAD = 4096,   /* how much of an oversized event is kept */
};

/* One event. The texts are borrowed until the parser is called again. */
typedef struct mcp__sse_event {
    mcp_str type; /* empty: "message" */
    mcp_str data; /* lines joined by a newline; empty if the event has only an id */
    bool is_cut;  /* the event exceeded the limit: only its beginning is here */
} mcp__sse_event;

typedef struct mcp__sse {
    mcp__buf data;     /* of the event being received */
    mcp__buf id, next; /* the last event's id; that of the event being received */
    char name[8];      /* of the field being received */
    char type[32];
    unsigned char name_len, type_len;
    unsigned char state, field;
    size_t max_event;
    size_t line_data; /* where the data of the current line begins */
    size_t seen;      /* bytes of a byte order mark at the start that have been read */
    int64_t retry;    /* last value of the server in milliseconds; -1: none */
    uint64_t number;  /* of a retry field being received */
    bool has_data;    /* the event has a data field */
    bool has_next;    /* the event has an id field */
    bool is_cut;
    bool bad_value; /* the field being received has to be ignored */
    bool after_cr;
    bool given; /* the event was returned: the next call begins a new one */
} mcp__sse;

void mcp__sse_init(mcp__sse *p, const mcp_allocator *allocator, size_t max_event);
void mcp__sse_free(mcp__sse *p);
/* Begins a new stream: a partial event is discarded; the last id and the retry time stay. */
void mcp__sse_restart(mcp__sse *p);
/* Consumes bytes from the front of *bytes up to the end of an event. Returns MCP_PENDING if *event
 * is complete, MCP_OK if all bytes were consumed without completing an event, and MCP_ENOMEM if the
 * stream cannot be continued. */
int mcp__sse_next(mcp__sse *p, mcp_str *bytes, mcp__sse_event *event);
/* Returns the id to resume after, or an empty text. Borrowed until the next call of the parser. */
mcp_str mcp__sse_last_id(const mcp__sse *p);

/* ---- header.c: headers of a request ----------------------------------------------------------- */

/* Lines in libcurl's form, one after another, each NUL-terminated. Initialize with
 * mcp__headers_init(). */
typedef struct mcp__headers {
    mcp__buf lines;
} mcp__headers;

enum { MCP__HEADERS_MOST = 64 * 1024 };

void mcp__headers_init(mcp__headers *h, const mcp_allocator *allocator);
void mcp__headers_free(mcp__headers *h);
/* Adds a header without the white space around its value. Returns MCP_EINVAL if the name is not a
 * token (RFC 9110, 5.6.2) or the value has control characters, MCP_ELIMIT above MCP__HEADERS_MOST
 * bytes, or MCP_ENOMEM. */
int mcp__headers_add(mcp__headers *h, mcp_str name, mcp_str value);
/* Adds all headers of another list. Returns MCP_ELIMIT or MCP_ENOMEM on failure. */
int mcp__headers_append(mcp__headers *h, const mcp__headers *other);
/* Returns the next line, or NULL at the end. Start with *at = 0. */
const char *mcp__headers_next(const mcp__headers *h, size_t *at);
/* Whether a program may set this header. Those that frame a message, or that the client sets
 * itself, are reserved. */
bool mcp__header_is_free(mcp_str name);

/* ---- answer.c: interprets an answer --------------------------------------------------------- */

typedef enum mcp__media {
    MCP__MEDIA_NONE = 0,
    MCP__MEDIA_JSON,
    MCP__MEDIA_SSE,
    MCP__MEDIA_OTHER,
} mcp__media;

/* The head of an answer: the headers that the client uses. */
typedef struct mcp__answer {
    int status;
    mcp__media media;
    char media_text[64]; /* of Content-Type, printable and shortened */
    int64_t length;      /* Content-Length; -1: unknown */
    uint64_t retry_ms;   /* Retry-After in seconds; 0: none, or a date */
    mcp__buf session;    /* Mcp-Session-Id */
    mcp__buf challenge;  /* WWW-Authenticate, several joined by ", " */
    bool bad_session;    /* it has forbidden characters, or is too long */
    size_t bytes;        /* of all headers */
    bool complete;
} mcp__answer;

enum { MCP__SESSION_MOST = 1024, MCP__CHALLENGE_MOST = 8192, MCP__ANSWER_MOST = 64 * 1024 };

void mcp__answer_init(mcp__answer *a, const mcp_allocator *allocator);
void mcp__answer_free(mcp__answer *a);
/* Takes one line of the head, beginning with the status line. A new status line discards the
 * previous head (100, 103, a redirect). Returns MCP_OK, MCP_ELIMIT (more than MCP__ANSWER_MOST
 * bytes) or MCP_ENOMEM. */
int mcp__answer_line(mcp__answer *a, mcp_str line);

/* What the client has sent. */
typedef enum mcp__asked {
    MCP__ASKED_ANSWER = 0, /* POST of a request */
    MCP__ASKED_TAKE,   /* POST of a notification or a response, or one to a server of 2024-11-05 */
    MCP__ASKED_STREAM, /* GET */
    MCP__ASKED_END,    /* DELETE */
    MCP__ASKED_KINDS,
} mcp__asked;

/* How to treat the body. */
typedef enum mcp__verdict {
    MCP__VERDICT_MESSAGE = 0, /* read the body: it is one message */
    MCP__VERDICT_EVENTS,      /* an event stream */
    MCP__VERDICT_TAKEN,       /* success; the body is ignored */
    MCP__VERDICT_REFUSED,     /* failure; a JSON body may be a message with the reason */
    MCP__VERDICT_CHALLENGED,  /* the same, because authorization is required */
    MCP__VERDICT_WRONG,       /* success, but not with the media type that is needed */
} mcp__verdict;

mcp__verdict mcp__answer_verdict(const mcp__answer *a, mcp__asked asked);
/* Writes one sentence for a person: "the server answered with HTTP status 502 (Bad Gateway)". */
void mcp__answer_text(const mcp__answer *a, char *to, size_t room);

/* ---- url.c: the URL of a server ------------------------------------------------------------- */

/* Whether data that belongs to one URL may be sent to the other: same scheme, host and port, or
 * https on the default port instead of http on its default port (RFC 6454; the upgrade weakens
 * nothing). Returns false if either is not an http(s) URL. */
bool mcp__url_same_origin(mcp_str from, mcp_str to);
/* Checks that it is an absolute http or https URL without user, password and fragment. Returns
 * MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int mcp__url_check(mcp_str url, mcp_error *error);
/* Whether the host of an http(s) URL is certainly this machine: localhost, 127.0.0.0/8 or [::1]. */
bool mcp__url_is_loopback(mcp_str url);

#endif
