/* client.h: the client's side of Streamable HTTP without sockets: event streams read, answers understood,
 * headers written. (http.h is the server's side; the two share nothing.)
 *
 * sse.c reads event streams, answer.c says what an answer means, header.c checks and
 * writes headers, url.c says what a URL points at.
 */
#ifndef MCP_SRC_HTTP_CLIENT_H
#define MCP_SRC_HTTP_CLIENT_H

#include "base/base.h"

/* ---- sse.c: an event stream, read (WHATWG HTML, 9.2.6) --------------------------------------- */

enum {
    MCP__SSE_MAX_ID = 1024, /* a longer id is ignored: it could not be sent back */
    MCP__SSE_HEAD = 4096,   /* what is kept of an event that is too long */
};

/* One event. The texts are borrowed until the parser is called again. */
typedef struct mcp__sse_event {
    mcp_str type; /* empty: "message" */
    mcp_str
        data; /* lines joined by a newline; may be empty, as of an event that only brings an id */
    bool is_cut; /* it was longer than the limit: only its beginning is here */
} mcp__sse_event;

typedef struct mcp__sse {
    mcp__buf data;     /* of the event being received */
    mcp__buf id, next; /* the last event's id; that of the event being received */
    char name[8];      /* of the field being received */
    char type[32];
    unsigned char name_len, type_len;
    unsigned char state, field;
    size_t max_event;
    size_t line_data; /* where the data of the present line began */
    size_t seen;      /* bytes of the byte order mark that may begin the stream */
    int64_t retry;    /* what the server said last, milliseconds; -1: nothing */
    uint64_t number;  /* of a retry field being received */
    bool has_data;    /* the event has a data field */
    bool has_next;    /* and an id */
    bool is_cut;
    bool bad_value; /* the field being received is to be ignored */
    bool after_cr;
    bool given; /* the event's texts were handed out: the next call begins anew */
} mcp__sse;

void mcp__sse_init(mcp__sse *p, const mcp_allocator *allocator, size_t max_event);
void mcp__sse_free(mcp__sse *p);
/* A new stream: what was half received is forgotten; the last id and the retry time stay. */
void mcp__sse_restart(mcp__sse *p);
/* Takes bytes from the front of *bytes up to the end of an event: MCP_PENDING, and *event is there. MCP_OK:
 * all were taken, no event is complete. MCP_ENOMEM: the stream cannot be read on. */
int mcp__sse_next(mcp__sse *p, mcp_str *bytes, mcp__sse_event *event);
/* The id to resume after; empty: there is none. Borrowed until the parser is called again. */
mcp_str mcp__sse_last_id(const mcp__sse *p);

/* ---- header.c: headers of a request ----------------------------------------------------------- */

/* Lines as libcurl takes them, one after another, each with its NUL. Initialize with mcp__headers_init(). */
typedef struct mcp__headers {
    mcp__buf lines;
} mcp__headers;

enum { MCP__HEADERS_MOST = 64 * 1024 };

void mcp__headers_init(mcp__headers *h, const mcp_allocator *allocator);
void mcp__headers_free(mcp__headers *h);
/* White space around the value is left out. MCP_EINVAL: the name is no token (RFC 9110, 5.6.2) or the value
 * has control characters; MCP_ELIMIT: more than MCP__HEADERS_MOST bytes; MCP_ENOMEM. */
int mcp__headers_add(mcp__headers *h, mcp_str name, mcp_str value);
/* All of another list. MCP_ELIMIT, MCP_ENOMEM. */
int mcp__headers_append(mcp__headers *h, const mcp__headers *other);
/* The next line: start with *at = 0; NULL at the end. */
const char *mcp__headers_next(const mcp__headers *h, size_t *at);
/* Whether a program may set this one: those that frame a message, or that we set, are ours. */
bool mcp__header_is_free(mcp_str name);

/* ---- answer.c: what an answer means ------------------------------------------------------------ */

typedef enum mcp__media {
    MCP__MEDIA_NONE = 0,
    MCP__MEDIA_JSON,
    MCP__MEDIA_SSE,
    MCP__MEDIA_OTHER,
} mcp__media;

/* The head of an answer: the headers that mean something to us. */
typedef struct mcp__answer {
    int status;
    mcp__media media;
    char media_text[64]; /* of Content-Type, harmless and cut */
    int64_t length;      /* Content-Length; -1: unknown */
    uint64_t retry_ms;   /* Retry-After in seconds; 0: none, or a date */
    mcp__buf session;    /* Mcp-Session-Id */
    mcp__buf challenge;  /* WWW-Authenticate, several joined by ", " */
    bool bad_session;    /* it has characters that it must not have, or is too long */
    size_t bytes;        /* of all headers */
    bool complete;
} mcp__answer;

enum { MCP__SESSION_MOST = 1024, MCP__CHALLENGE_MOST = 8192, MCP__ANSWER_MOST = 64 * 1024 };

void mcp__answer_init(mcp__answer *a, const mcp_allocator *allocator);
void mcp__answer_free(mcp__answer *a);
/* Takes one line of the head, the status line first; a new status line forgets what was there (100, 103,
 * a redirect). MCP_OK; MCP_ELIMIT (more than MCP__ANSWER_MOST), MCP_ENOMEM. */
int mcp__answer_line(mcp__answer *a, mcp_str line);

/* What was sent. */
typedef enum mcp__asked {
    MCP__ASKED_ANSWER = 0, /* POST of a request */
    MCP__ASKED_TAKE,   /* POST of a notification or a response, or one to a server of 2024-11-05 */
    MCP__ASKED_STREAM, /* GET */
    MCP__ASKED_END,    /* DELETE */
    MCP__ASKED_KINDS,
} mcp__asked;

/* What to do with what follows the head. */
typedef enum mcp__verdict {
    MCP__VERDICT_MESSAGE = 0, /* read the body: it is one message */
    MCP__VERDICT_EVENTS,      /* an event stream */
    MCP__VERDICT_TAKEN,       /* good; the body means nothing */
    MCP__VERDICT_REFUSED, /* not good; the body may say why: one message if its media type is JSON */
    MCP__VERDICT_CHALLENGED, /* the same, for want of authorization */
    MCP__VERDICT_WRONG,      /* good, but not what was asked for */
} mcp__verdict;

mcp__verdict mcp__answer_verdict(const mcp__answer *a, mcp__asked asked);
/* One sentence for a person: "the server answered with HTTP status 502 (Bad Gateway)". */
void mcp__answer_text(const mcp__answer *a, char *to, size_t room);

/* ---- url.c: where a server is ------------------------------------------------------------------- */

/* Whether what belongs to one URL may be sent to the other: same scheme, host and port, or https on the
 * default port instead of http on it (RFC 6454; nothing gets worse). False when either is no http(s) URL. */
bool mcp__url_same_origin(mcp_str from, mcp_str to);
/* An absolute http or https URL without user, password and fragment. MCP_OK or MCP_EINVAL. */
int mcp__url_check(mcp_str url, mcp_error *error);
/* Whether the host of an http(s) URL can only be this machine: localhost, 127.0.0.0/8, [::1]. */
bool mcp__url_is_loopback(mcp_str url);

#endif
