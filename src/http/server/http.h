/* http.h: the structures of the HTTP layer.
 *
 *   mcp_http              one endpoint: options, sessions, counters, what is due
 *   mcp_http_connection   one connection: the parser, the request being received, the answer being given
 *   mcp__http_peer        a channel and when it wants to be called
 *   mcp__http_session     a legacy session: a peer, its streams of events
 *   mcp_http_budget       what all of them may hold in memory, shared by endpoints
 *
 * http.c life and time, parse.c bytes to requests, connection.c a connection's life; headers.c media.c
 * origin.c what a request says of itself, route.c what is refused before its body, post.c which era a
 * message is in; modern.c legacy.c session.c stream.c duplex.c the rules of each; respond.c sse.c what is written,
 * store.c events kept for replay, budget.c memory, metrics.c counters, timer.c what is due.
 */
#ifndef MCP_SRC_HTTP_H
#define MCP_SRC_HTTP_H

#include <llhttp.h>

#include <mcp/http.h>

#include "base/base.h"
#include "channel/channel.h"
#include "jsonrpc/envelope.h"
#include "protocol/revision.h"

typedef struct mcp__http_session mcp__http_session;
typedef struct mcp__http_stream mcp__http_stream;
typedef struct mcp__http_store mcp__http_store;

/* ---- timer.c: a heap of what is due ---------------------------------------------------------------- */

/* Zero-initialized. Members of one heap are linked into each other: nothing is allocated. */
typedef struct mcp__http_timer {
    struct mcp__http_timer *child, *next, *prev; /* prev: the sibling before, or the parent */
    int64_t due;
    bool armed;
    bool of_peer; /* in a mcp__http_peer, else in a connection */
} mcp__http_timer;

void mcp__http_timer_set(mcp__http_timer **heap, mcp__http_timer *timer, int64_t due);
/* Only if that is earlier: one that fires too early is set again by its owner, which costs less than
 * moving it at each event. */
void mcp__http_timer_hasten(mcp__http_timer **heap, mcp__http_timer *timer, int64_t due);
void mcp__http_timer_stop(mcp__http_timer **heap, mcp__http_timer *timer);

/* ---- what is worth a line in the log, but not one each time ----------------------------------------------- */

typedef struct mcp__http_complaint {
    uint64_t count; /* since the last line */
    int64_t again;  /* not before */
} mcp__http_complaint;

/* One line for what happened by now, at most every ten seconds. */
void mcp__http_complain(mcp_http *http, mcp__http_complaint *complaint, mcp_str what);

/* ---- budget.c: memory that peers make us hold --------------------------------------------------------- */

/* What one caller holds. */
typedef struct mcp__http_share {
    size_t used;
    size_t count;                             /* charges to it */
    const struct mcp_http_connection *reader; /* whose body is read although others are not */
    size_t len;
    char text[]; /* 'p' and the principal, or 'a' and the address */
} mcp__http_share;

/* Bytes held by one thing, and on whose account. Zero-initialized: nobody's. */
typedef struct mcp__http_charge {
    mcp__http_share *share;
    size_t bytes;
} mcp__http_charge;

struct mcp_http_budget {
    mcp_allocator allocator;
    size_t max_memory, max_share;
    uint64_t hold_ms;
    void (*released)(size_t bytes, void *user);
    void *user;
    size_t used, peak; /* peak: since memory was last given back */
    size_t stored;     /* of it, events kept for replay */
    mcp__map shares;
    mcp__link endpoints;
    int64_t pressed_until;
    uint64_t waited, refused; /* requests, answers and bodies */
    mcp__http_complaint complaint;
};

/* From now on on the account of the principal, or where it is NULL of the address; both NULL: of nobody.
 * MCP_OK, or MCP_ENOMEM: as it was. */
int mcp__http_charge_to(mcp_http_budget *budget, mcp__http_charge *charge, const char *principal,
                        const char *address);
/* So many bytes on the same account. */
void mcp__http_charge_like(mcp_http_budget *budget, mcp__http_charge *charge,
                           const mcp__http_charge *other, size_t bytes);
void mcp__http_charge_set(mcp_http_budget *budget, mcp__http_charge *charge, size_t bytes);
void mcp__http_charge_end(mcp_http_budget *budget, mcp__http_charge *charge);
/* Whether there is room for more. */
bool mcp__http_fits(const mcp_http_budget *budget, const mcp__http_charge *charge, size_t bytes);
/* Whether the connection is not to be read from now; whether its request has to wait. */
bool mcp__http_starves(mcp_http_connection *c);
bool mcp__http_must_wait(mcp_http_connection *c);
/* Its body is complete, or will not be. */
void mcp__http_read_over(mcp_http_connection *c);
/* Memory is nearly spent: who is slow is waited for a shorter time, for a while. */
void mcp__http_press(mcp_http *http);
bool mcp__http_pressed(const mcp_http *http);
/* When who waits for memory looks again. */
int64_t mcp__http_next_look(const mcp_http *http);

/* ---- headers.c: the head of a request --------------------------------------------------------------- */

/* The headers that we look at. Each may come once, but for Accept. What repeats a part of the message
 * (2026-07-28, basic/transports/streamable-http, "Server Validation") is compared by the server role, which also
 * refuses what came twice. */
typedef enum mcp__http_known {
    MCP__HTTP_HOST = 0,
    MCP__HTTP_ORIGIN,
    MCP__HTTP_AUTHORIZATION,
    MCP__HTTP_CONTENT_TYPE,
    MCP__HTTP_CONTENT_ENCODING,
    MCP__HTTP_ACCEPT,
    MCP__HTTP_EXPECT,
    MCP__HTTP_SESSION,
    MCP__HTTP_REVISION,
    MCP__HTTP_METHOD,
    MCP__HTTP_NAME,
    MCP__HTTP_LAST_EVENT,
    MCP__HTTP_TRACEPARENT,
    MCP__HTTP_FORWARDED_FOR,
    MCP__HTTP_REQUEST_HEADERS, /* of a CORS preflight */
    MCP__HTTP_KNOWN,           /* how many */
    MCP__HTTP_PARAM,           /* Mcp-Param-… */
    MCP__HTTP_IGNORED,
} mcp__http_known;

typedef struct mcp__http_span {
    uint32_t at, len;
} mcp__http_span;

/* What is kept of a head: target, values of known headers, names and values of Mcp-Param-*. Offsets,
 * because the bytes move as they grow. */
typedef struct mcp__http_head {
    mcp__buf bytes;
    mcp__http_span target, path;
    mcp__http_span known[MCP__HTTP_KNOWN];
    uint32_t present; /* 1 << mcp__http_known */
    uint32_t params;  /* where the list of Mcp-Param-* begins; 0: there is none */
    uint32_t last_param;
    uint32_t field;       /* where the header being received begins */
    uint32_t field_value; /* and its value */
    uint8_t field_kind;
    uint8_t accepts;   /* MCP__HTTP_JSON | MCP__HTTP_SSE */
    bool duplicate;    /* one that is not compared with the message */
    uint32_t repeated; /* 1 << mcp__http_known: those that are */
    size_t received;   /* bytes of the head, kept or not */
    size_t count;
} mcp__http_head;

enum { MCP__HTTP_JSON = 1, MCP__HTTP_SSE = 2 };

void mcp__http_head_reset(mcp__http_head *head);
void mcp__http_head_name(mcp__http_head *head, const char *at, size_t len);
void mcp__http_head_name_end(mcp__http_head *head);
void mcp__http_head_value(mcp__http_head *head, const char *at, size_t len);
void mcp__http_head_value_end(mcp__http_head *head);
/* ptr is NULL when it did not come. */
mcp_str mcp__http_header(const mcp__http_head *head, mcp__http_known known);
/* By name, Mcp-Param-* too. One that came more than once is a line feed, which no value can be. */
bool mcp__http_find(const mcp__http_head *head, const char *name, mcp_str *value);
static inline mcp_str mcp__http_text(const mcp__http_head *head, mcp__http_span span)
{
    return (mcp_str){head->bytes.ptr + span.at, span.len};
}
/* Whether the value being received is compared with the message. */
bool mcp__http_in_mirror(const mcp__http_head *head);
mcp_str mcp__http_trim(mcp_str s);

/* ---- media.c ------------------------------------------------------------------------------------------ */

/* The value of an Accept header: MCP__HTTP_JSON, MCP__HTTP_SSE or both. */
unsigned mcp__http_accepts(mcp_str value);
bool mcp__http_is_json(mcp_str content_type);

/* ---- origin.c: where requests may come from -------------------------------------------------------------- */

bool mcp__http_host_allowed(const mcp_http_options *o, mcp_str host);
bool mcp__http_origin_allowed(const mcp_http_options *o, mcp_str origin);

/* ---- respond.c: answers ------------------------------------------------------------------------------------ */

enum { MCP__HTTP_PER_ADDRESS = 1000 }; /* max_per_address where it is 0, but for local ones */

/* Why HTTP itself refuses a request. */
typedef enum mcp__http_refusal {
    MCP__HTTP_FINE = 0,
    MCP__HTTP_BAD_SYNTAX,
    MCP__HTTP_BAD_FRAMING,
    MCP__HTTP_BAD_VERSION,
    MCP__HTTP_BAD_MIRROR, /* a header that repeats a part of the message */
    MCP__HTTP_NO_HOST,
    MCP__HTTP_DUPLICATE,
    MCP__HTTP_BAD_HOST,
    MCP__HTTP_BAD_ORIGIN,
    MCP__HTTP_NO_PATH,
    MCP__HTTP_LONG_TARGET,
    MCP__HTTP_LONG_HEAD,
    MCP__HTTP_MANY_HEADERS,
    MCP__HTTP_LONG_BODY,
    MCP__HTTP_SLOW_HEAD,
    MCP__HTTP_SLOW_BODY,
    MCP__HTTP_NOT_ALLOWED, /* the method: never here */
    MCP__HTTP_POST_ONLY,   /* or not without a session */
    MCP__HTTP_UNAUTHORIZED,
    MCP__HTTP_NOT_ACCEPTABLE,
    MCP__HTTP_NEEDS_STREAM,
    MCP__HTTP_BAD_TYPE,
    MCP__HTTP_BAD_CODING,
    MCP__HTTP_BAD_EXPECT,
    MCP__HTTP_BAD_REVISION,
    MCP__HTTP_NO_SESSION,
    MCP__HTTP_NEEDS_SESSION,
    MCP__HTTP_GET_FIRST, /* these of HTTP+SSE */
    MCP__HTTP_NO_STREAM,
    MCP__HTTP_UNREAD,
    MCP__HTTP_NOT_MODERN,
    MCP__HTTP_MANY_CONNECTIONS,
    MCP__HTTP_MANY_PER_ADDRESS,
    MCP__HTTP_MANY_SESSIONS,
    MCP__HTTP_MANY_STREAMS,
    MCP__HTTP_DRAINING,
    MCP__HTTP_NO_MEMORY,
    MCP__HTTP_BAD_EVENT,
    MCP__HTTP_BAD_MESSAGE,
    MCP__HTTP_UNEXPECTED,
    MCP__HTTP_NO_RANDOM,
    MCP__HTTP_NO_ANSWER,
    MCP__HTTP_NO_ROOM,
    MCP__HTTP_NO_SHARE,
    MCP__HTTP_NO_FILES,
    MCP__HTTP_CUT,
    MCP__HTTP_REFUSALS,
} mcp__http_refusal;

typedef struct mcp__http_answer {
    int status;
    const char *type; /* Content-Type; NULL: without a body */
    mcp_str body;
    const char *allow;     /* Allow */
    const char *challenge; /* WWW-Authenticate */
    const char *session;   /* Mcp-Session-Id */
    bool preflight;
    bool retry; /* Retry-After */
    int code;   /* of the JSON-RPC error in the body */
} mcp__http_answer;

/* Writes a whole answer and ends the request. */
void mcp__http_respond(mcp_http_connection *c, const mcp__http_answer *answer);
void mcp__http_refuse(mcp_http_connection *c, mcp__http_refusal why);
/* The same with a JSON-RPC message; code: of its error, or 0. */
void mcp__http_reply(mcp_http_connection *c, int status, int code, mcp_str message);
/* Whether there is memory for a message on its way out. */
bool mcp__http_has_room(const mcp_http_connection *c, mcp_str message);
/* The answer, or a refusal with its id where there is no memory for it. */
void mcp__http_answer_fitting(mcp_http_connection *c, const mcp__http_answer *answer);
/* The message, or the same refusal in *instead, which is to be freed; then *code is the refusal's. */
mcp_str mcp__http_fitting(mcp_http_connection *c, mcp_str message, mcp__buf *instead, int *code);
/* mcp__http_complain() of a refusal. */
void mcp__http_complain_of(mcp_http *http, mcp__http_complaint *complaint, mcp__http_refusal why);
/* The error that says that the server ended; id is JSON text. The buffer is the caller's, also when it failed; returns the
 * error's code. */
int mcp__http_put_cut(const mcp_http *http, mcp_str id, mcp__buf *error);
/* Answers the connection's request with it. */
void mcp__http_cut_off(mcp_http_connection *c, mcp_str id);
int mcp__http_refusal_status(mcp__http_refusal why);
/* Whether it has the id of the request, so that the body is worth keeping. */
bool mcp__http_refusal_reads(mcp__http_refusal why);
/* Status line and the headers that all answers share, into http->out. */
void mcp__http_put_head(mcp_http_connection *c, int status);

/* ---- sse.c: event streams -------------------------------------------------------------------------------- */

/* These collect in http->out; mcp__http_flush() writes it. */
void mcp__http_sse_begin(mcp_http_connection *c);
void mcp__http_sse_message(mcp_http_connection *c, mcp_str message);
/* With the id "stream-event"; retry is said when it is not 0. */
void mcp__http_sse_event(mcp_http_connection *c, uint64_t stream, uint64_t event, uint64_t retry,
                         mcp_str message);
/* With a type and without an id: HTTP+SSE. */
void mcp__http_sse_typed(mcp_http_connection *c, mcp_str type, mcp_str data);
void mcp__http_sse_comment(mcp_http_connection *c);
/* The last bytes of the stream; the request ends. */
void mcp__http_sse_end(mcp_http_connection *c, int code);
void mcp__http_flush(mcp_http_connection *c);

/* ---- the connection --------------------------------------------------------------------------------------- */

typedef enum mcp__http_phase {
    MCP__HTTP_IDLE = 0,  /* between requests */
    MCP__HTTP_HEAD,      /* a part of a head came */
    MCP__HTTP_BODY,      /* a part of a body is missing */
    MCP__HTTP_WAITING,   /* the request is complete, its answer not begun */
    MCP__HTTP_STREAMING, /* the answer is an event stream */
    MCP__HTTP_LINGERING, /* answered before the request was complete; the rest is thrown away */
    MCP__HTTP_CLOSED,    /* nothing is read or written any more */
} mcp__http_phase;

typedef enum mcp__http_target {
    MCP__HTTP_ENDPOINT = 0,
    MCP__HTTP_HEALTHZ,
    MCP__HTTP_METRICS,
    MCP__HTTP_PREFLIGHT,
    MCP__HTTP_DUPLEX, /* HTTP+SSE */
} mcp__http_target;

typedef struct mcp__http_peer mcp__http_peer;

/* IPv4 is mapped into it. */
typedef struct mcp__http_ip {
    unsigned char bytes[16];
} mcp__http_ip;

/* What X-Forwarded-For says of a request. */
typedef enum mcp__http_forwarded {
    MCP__HTTP_DIRECT = 0, /* nothing, or nobody may say it */
    MCP__HTTP_PROXY,      /* trusted proxies alone: client_ip is the first */
    MCP__HTTP_CLIENT,     /* client_ip is the rightmost that is not trusted */
    MCP__HTTP_UNREADABLE, /* the rightmost that is not trusted is no address */
} mcp__http_forwarded;

struct mcp_http_connection {
    mcp_http *http;
    mcp__link link; /* in http->connections */
    mcp__http_timer timer;
    llhttp_t parser;
    void (*write)(mcp_http_connection *connection, mcp_str bytes, void *user);
    void (*close)(mcp_http_connection *connection, mcp_http_close how, void *user);
    void (*resume_input)(mcp_http_connection *connection, void *user);
    void *user;
    struct mcp__http_address *address; /* of the transport's peer */
    struct mcp__http_address *client;  /* of the request, where a proxy forwards it; else NULL */
    mcp__http_ip client_ip;
    mcp__http_forwarded forwarded;
    bool proxy; /* a trusted one */
    char *peer_name;

    mcp__http_phase phase;
    uint8_t target;  /* mcp__http_target */
    uint8_t refusal; /* mcp__http_refusal that waits for the end of the body */
    uint8_t http_method;
    uint8_t metric; /* which JSON-RPC method, for the counters */
    bool complete;  /* the parser saw the end of a request */
    bool whole;     /* all of the body is there */
    bool unkept;    /* the body is read and forgotten */
    bool shaking;   /* the transport's handshake is not through */
    bool trusted, keep_alive, chunked, ended, cors, congested, writing;
    bool counted;     /* as one of its session's event streams */
    bool resume;      /* what was received has to be looked at again */
    bool stream_only; /* the answer is an open subscription */
    bool held;        /* the request waits for memory */
    bool starved;     /* so does the rest of it */
    bool known;       /* a request was let in by `authenticate` */

    mcp__http_charge charge;
    size_t message; /* bytes of the request being answered */
    size_t burst;   /* written, and perhaps not yet part of `pending` */
    int64_t look_at, starved_at;

    int64_t since;    /* when the phase began */
    int64_t began;    /* when the request was complete */
    int64_t wrote_at; /* the last byte */
    int64_t drained_at;
    int64_t ended_at;
    size_t pending;
    uint64_t bytes_in, bytes_out; /* of this request */

    mcp__http_head head;
    char *principal; /* of this request, NUL-terminated; NULL: nobody in particular */
    mcp__buf body;
    mcp_str body_span; /* the body while it lies in the received bytes alone */
    mcp__buf input;    /* received, and not yet looked at */

    mcp_exchange exchange;      /* of the request being answered; 0: none */
    mcp__http_peer *peer;       /* the channel for requests without a session */
    mcp__http_session *session; /* whose stream this is, or whose request */
    mcp__http_stream *stream;
    mcp__link in_getters;
    char traceparent[56]; /* NUL-terminated */
    char *name;           /* what the request is about, for the log; NULL: none */
};

void mcp__http_set_phase(mcp_http_connection *c, mcp__http_phase phase);
void mcp__http_write(mcp_http_connection *c, mcp_str bytes);
/* The answer is complete: the next request, or the end. */
void mcp__http_finish(mcp_http_connection *c, int status, int code);
/* What waits to be parsed is parsed soon, once the peer has read what it got. */
void mcp__http_go_on(mcp_http_connection *c);
/* Brings its charge up to date. */
void mcp__http_connection_charge(mcp_http_connection *c);
void mcp__http_close(mcp_http_connection *c, mcp_http_close how);
void mcp__http_connection_arm(mcp_http_connection *c);
void mcp__http_connection_due(mcp_http_connection *c);
/* Gives back what only a request in progress needs. */
void mcp__http_slim(mcp_http_connection *c);
int64_t mcp__http_now(const mcp_http *http);
/* NULL is nobody in particular, who is the same as himself alone. */
bool mcp__http_same_principal(const char *a, const char *b);

/* ---- parse.c ------------------------------------------------------------------------------------ */

void mcp__http_parser_settings(llhttp_settings_t *settings);
/* Goes on with the bytes that wait. */
void mcp__http_parse_input(mcp_http_connection *c);
/* Answers before the request is complete; whatever follows is thrown away. */
void mcp__http_refuse_early(mcp_http_connection *c, mcp__http_refusal why);
/* The body in one piece. */
mcp_str mcp__http_body(mcp_http_connection *c);
/* That there is no memory for so many bytes: by the limit that is met first. Counts it. */
mcp__http_refusal mcp__http_no_room(mcp_http_connection *c, size_t bytes);
/* Goes on with a request that waited for memory. */
void mcp__http_run_held(mcp_http_connection *c);

/* ---- route.c, post.c: requests ---------------------------------------------------------------------------------- */

/* The head is complete: what can be refused without the body is refused. */
mcp__http_refusal mcp__http_route(mcp_http_connection *c);
/* The request is complete. */
void mcp__http_dispatch(mcp_http_connection *c);
void mcp__http_post(mcp_http_connection *c);

/* What a body is, as far as HTTP has to know. */
typedef struct mcp__http_message {
    mcp_json_doc *doc;
    mcp_str method;   /* of a single request or notification */
    bool has_request; /* an answer is to come */
    bool batch, modern, initialize, listen, response, invalid;
} mcp__http_message;

/* Reads the body; false: it was refused. The document is the caller's. */
bool mcp__http_read_message(mcp_http_connection *c, mcp__http_message *m);

/* ---- forwarded.c: the address of the client, perhaps behind a proxy --------------------------------------------- */

enum { MCP__HTTP_IP_TEXT = 64 };

/* One of mcp_http_options.trusted_proxies. */
typedef struct mcp__http_network {
    mcp__http_ip ip;
    unsigned bits;
    bool local; /* Unix sockets */
} mcp__http_network;

/* An address without brackets and port; false: it is none, and *ret stays. Neither names nor zones are. */
bool mcp__http_ip_read(mcp_str s, mcp__http_ip *ret);
/* The same with brackets or without, with a port or without. */
bool mcp__http_ip_read_host(mcp_str s, mcp__http_ip *ret);
/* As in RFC 5952; IPv4, mapped too, with dots. */
void mcp__http_ip_write(const mcp__http_ip *ip, char to[MCP__HTTP_IP_TEXT]);
bool mcp__http_network_read(mcp_str s, mcp__http_network *ret);
bool mcp__http_network_has(const mcp__http_network *n, const mcp__http_ip *ip);

/* MCP_EINVAL: one of them is no network. */
int mcp__http_proxies_check(const mcp_http_options *o, mcp_error *error);
/* http->proxies from the options, which were checked. MCP_ENOMEM. */
int mcp__http_proxies_set(mcp_http *http);
bool mcp__http_is_proxy(const mcp_http *http, const mcp_http_connection_options *o);
/* One field X-Forwarded-For of a trusted proxy. */
void mcp__http_forwarded_for(mcp_http_connection *c, mcp_str value);
/* Counts a connection of the peer's address. It is counted even where it is refused. */
mcp__http_refusal mcp__http_count_peer(mcp_http_connection *c, const char *address);
/* While its request lasts the connection of a proxy is one of the client's address. */
mcp__http_refusal mcp__http_count_client(mcp_http_connection *c);
void mcp__http_uncount_client(mcp_http_connection *c);
void mcp__http_uncount(mcp_http_connection *c);
/* What limits per caller go by without a principal; NULL: not known. Valid as long as the request. */
const char *mcp__http_caller(const mcp_http_connection *c);
/* The request comes from this machine, as far as proxies on this machine say. */
bool mcp__http_is_local(const mcp_http_connection *c);
/* For the log; "": not known. */
void mcp__http_client_text(const mcp_http_connection *c, char to[MCP__HTTP_IP_TEXT]);

/* ---- modern.c: exchanges without a session ------------------------------------------------------------------------- */

/* A channel that is looked after. */
struct mcp__http_peer {
    mcp_http *http;
    mcp_channel *channel;
    mcp__http_timer timer;
    mcp__link link;                  /* in http->orphans, else alone */
    mcp_http_connection *connection; /* whose requests these are; NULL: it went */
    mcp__http_session *session;
    const mcp__revision *legacy; /* a legacy channel without a session */
    mcp__http_charge charge;     /* of an orphan's request */
    bool done;                   /* an orphan that was answered */
};

/* For who makes this connection's request. MCP_OK, MCP_ENOMEM. */
int mcp__http_peer_new(mcp_http *http, const mcp_channel_options *how, const mcp_http_connection *c,
                       mcp__http_peer **ret);
void mcp__http_peer_free(mcp__http_peer *peer);
void mcp__http_peer_arm(mcp__http_peer *peer);
void mcp__http_peer_due(mcp__http_peer *peer);

/* Takes the document over. legacy: NULL is modern. */
void mcp__http_exchange(mcp_http_connection *c, mcp__http_message *m, const mcp__revision *legacy);
/* Gives the message to a channel, and answers what it says nothing to. */
int mcp__http_hand_over(mcp_http_connection *c, mcp__http_peer *peer, mcp__http_message *m);
/* The connection or its answer ended. */
void mcp__http_exchange_end(mcp_http_connection *c);
int mcp__http_status(mcp_output_info info, bool modern);
/* Ends an answer that will not come: the request was cancelled, or memory ran out. */
void mcp__http_end_silently(mcp_http_connection *c);
bool mcp__http_in_flight(mcp_channel *channel, mcp_exchange exchange);
/* Whether the request of c is still being answered. */
bool mcp__http_exchange_alive(const mcp_http_connection *c);
/* Whether an event stream may be the answer. */
bool mcp__http_may_stream(const mcp_http_connection *c);

/* ---- session.c, legacy.c, stream.c ------------------------------------------------------------------------------------ */

/* A stream of events of a session. Number 0 is the one that GET opens: any number of connections may
 * have it, the youngest gets the messages. */
struct mcp__http_stream {
    mcp__link link; /* in session->streams */
    mcp__http_session *session;
    uint64_t number;
    uint64_t events; /* so many were made */
    mcp_exchange exchange;
    mcp__http_charge charge;         /* of its request */
    mcp_http_connection *connection; /* NULL: the client is away */
};

struct mcp__http_session {
    mcp_http *http;
    mcp__link link; /* in http->idle_sessions (longest idle first) or http->busy_sessions */
    char id[33];
    mcp__http_peer *peer;
    const mcp__revision *revision; /* NULL until initialize was answered */
    mcp__link streams;
    mcp__link getters;        /* connections with the stream 0, youngest last */
    mcp__http_stream general; /* the stream 0 */
    uint64_t told;            /* its last event that was written to somebody */
    uint64_t next_stream;
    size_t attached;  /* connections that this session is being used by */
    size_t n_streams; /* of those, event streams */
    int64_t idle_since;
    bool stored; /* something is in the event store */
    bool duplex; /* HTTP+SSE: all on the stream 0, with which it ends */
    bool over;   /* its stream ended; it goes at its next tick */
    bool busy;   /* in http->busy_sessions: it may not be evicted */
};

/* A session of who makes this request. */
mcp__http_refusal mcp__http_session_begin(const mcp_http_connection *c,
                                          const mcp_channel_options *options,
                                          mcp__http_session **ret);
void mcp__http_session_free(mcp__http_session *session);
/* The session that the request names and may use, or NULL. */
mcp__http_session *mcp__http_session_find(mcp_http_connection *c);
void mcp__http_session_attach(mcp__http_session *session, mcp_http_connection *c);
void mcp__http_session_detach(mcp_http_connection *c);
/* Looks at whether it is being used. */
void mcp__http_session_use(mcp__http_session *session);
/* Its streams take notices, or not. */
void mcp__http_session_writable(mcp__http_session *session);
void mcp__http_session_due(mcp__http_session *session);

void mcp__http_initialize(mcp_http_connection *c, mcp__http_message *m);
void mcp__http_legacy_post(mcp_http_connection *c, mcp__http_session *session,
                           mcp__http_message *m);
void mcp__http_get(mcp_http_connection *c);
void mcp__http_delete(mcp_http_connection *c);

void mcp__http_session_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message,
                            void *user);
void mcp__http_session_end_stream(mcp_channel *channel, mcp_exchange exchange, void *user);
mcp__http_stream *mcp__http_stream_new(mcp__http_session *session, mcp_http_connection *c);
void mcp__http_stream_free(mcp__http_stream *stream);
/* Ends streams whose request will not be answered any more. */
void mcp__http_stream_reap(mcp__http_session *session);
/* The answer of its connection becomes an event stream; not if there are too many. */
void mcp__http_stream_begin(mcp__http_stream *stream);
/* Opens the event stream of c, which asked with GET, at "stream-event" (NULL: the stream 0). */
void mcp__http_stream_open(mcp_http_connection *c, mcp__http_session *session, mcp_str last_event);

/* ---- duplex.c: HTTP+SSE ---------------------------------------------------------------------------------------- */

void mcp__http_duplex_open(mcp_http_connection *c);
void mcp__http_duplex_post(mcp_http_connection *c);
/* What there is to do for such a session; true: it is gone. */
bool mcp__http_duplex_due(mcp__http_session *session);
/* Where the connection is the stream of such a session: what is in flight is answered with the error that says that the
 * server ended, and the stream ends. How many requests there were. */
size_t mcp__http_duplex_cut(mcp_http_connection *c);

/* ---- store.c -------------------------------------------------------------------------------------------------------- */

/* Within a quarter of the budget too. NULL: no memory. */
mcp__http_store *mcp__http_store_new(const mcp_allocator *allocator, mcp_http_budget *budget,
                                     size_t bytes_per_session, mcp_event_store *ret);
void mcp__http_store_free(mcp__http_store *store);

/* ---- metrics.c -------------------------------------------------------------------------------------------------------- */

enum {
    MCP__HTTP_METHODS = 20,
    MCP__HTTP_RESULTS = 3,
    MCP__HTTP_BUCKETS = 10,
    MCP__HTTP_STATUSES = 20
};

typedef struct mcp__http_metrics {
    uint64_t answered[MCP__HTTP_METHODS][MCP__HTTP_RESULTS];
    uint64_t by_status[MCP__HTTP_STATUSES];
    uint64_t duration[MCP__HTTP_BUCKETS + 1];
    uint64_t duration_sum;
    uint64_t bytes_in, bytes_out;
    uint64_t sessions_begun, sessions_evicted, sessions_expired, duplex_begun;
    uint64_t accepted, refused, shed;
    size_t streams;
} mcp__http_metrics;

/* The row of a method; 0 for none, and one for all that are unknown. */
unsigned mcp__http_metric_of(mcp_str method);
mcp_str mcp__http_metric_name(unsigned metric);
void mcp__http_count(mcp_http *http, unsigned metric, int status, int code, int64_t duration);
/* What access rules hide from the principal is not named. */
void mcp__http_put_metrics(mcp_http *http, const char *principal, mcp__buf *b);

/* ---- the endpoint ------------------------------------------------------------------------------------------------------ */

/* Where connections come from, while there are some. */
typedef struct mcp__http_address {
    size_t count;
    size_t len;
    char text[]; /* NUL-terminated */
} mcp__http_address;

struct mcp_http {
    mcp_server *server;
    const mcp_allocator *allocator;
    mcp_allocator own_allocator;
    mcp_http_options options; /* texts are ours */
    llhttp_settings_t parser_settings;
    mcp__link connections;
    size_t n_connections;
    mcp__map addresses;
    mcp__http_network *proxies; /* options.n_trusted_proxies */
    mcp__map sessions;
    mcp__link idle_sessions, busy_sessions;
    size_t n_sessions;
    mcp__link orphans;
    mcp__http_timer *timers;
    uint64_t exchanges;
    mcp__buf out; /* the answer being written */
    mcp__http_store *store;
    mcp_event_store event_store;
    mcp__http_metrics metrics;
    mcp__http_complaint complaint; /* connections that were refused */
    mcp_http_budget *budget;
    bool own_budget;
    mcp__link in_budget;            /* budget->endpoints */
    mcp_http_connection *receiving; /* whose message the channel is being given */
    int64_t now;
    unsigned depth; /* calls of ours on the stack */
    bool draining, woken;
    void (*wake)(mcp_http *http, void *user);
    void *wake_user;
    void (*warn)(const char *line, void *user);
    void *warn_user;
    void *date_user, *clock_user; /* of those options; the program's `user` unless they were lent */
};

static inline void mcp__http_enter(mcp_http *http, int64_t now)
{
    http->now = now;
    http->depth++;
}
static inline void mcp__http_leave(mcp_http *http)
{
    http->depth--;
}
/* Something of ours is called by a handler that answers later, and the clock has gone on. */
static inline void mcp__http_touch(mcp_http *http)
{
    if (http->depth == 0 && http->options.clock)
        http->now = http->options.clock(http->clock_user);
}
/* Something has to be done at the next tick, which should be soon. */
void mcp__http_wake(mcp_http *http, mcp__http_timer *timer);
/* The deadline is earlier than who asked for it last knows. */
void mcp__http_call_wake(mcp_http *http);

#endif
