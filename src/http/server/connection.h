/* connection.h: one connection: its life (connection.c), its requests (parse.c), and what their heads say (route.c). */
#ifndef MCP_SRC_HTTP_SERVER_CONNECTION_H
#define MCP_SRC_HTTP_SERVER_CONNECTION_H

#include <llhttp.h>

#include "http/server/head.h"
#include "http/server/http.h"

typedef struct mcp__http_session mcp__http_session;
typedef struct mcp__http_stream mcp__http_stream;
typedef struct mcp__http_peer mcp__http_peer;

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

struct mcp_http_connection {
    mcp_http *http;
    mcp__link link; /* in http->connections */
    mcp__http_timer timer;
    llhttp_t parser;
    void (*write)(mcp_http_connection *connection, mcp_str bytes, void *user);
    void (*close)(mcp_http_connection *connection, mcp_http_close how, void *user);
    void (*resume_input)(mcp_http_connection *connection, void *user);
    void *user;
    mcp__http_address *address; /* of the transport's peer */
    mcp__http_address *client;  /* of the request, where a proxy forwards it; else NULL */
    mcp__http_ip client_ip;
    mcp__http_forwarded forwarded;
    bool proxy; /* a trusted one */
    bool local; /* the transport's peer is on this machine */
    char *peer_name;

    mcp__http_phase phase;
    uint8_t target;  /* mcp__http_target */
    uint8_t refusal; /* mcp__http_refusal that waits for the end of the body */
    uint8_t http_method;
    uint8_t method;     /* of JSON-RPC: a row of the counters */
    uint8_t status_row; /* of the answer, in mcp__http_statuses */
    bool complete;      /* the parser saw the end of a request */
    bool whole;         /* all of the body is there */
    bool unkept;        /* the body is read and forgotten */
    bool shaking;       /* the transport's handshake is not through */
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
/* NULL, a request without a principal, is the same as NULL alone. */
static inline bool mcp__http_same_principal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}
/* What limits per caller go by without a principal; NULL: not known. Valid as long as the request. */
static inline const char *mcp__http_caller(const mcp_http_connection *c)
{
    const mcp__http_address *a = c->client ? c->client : c->address;
    return a ? a->text : NULL;
}
/* Whether a trusted proxy names the client of this request. */
static inline bool mcp__http_is_forwarded(const mcp_http_connection *c)
{
    return c->forwarded == MCP__HTTP_CLIENT || c->forwarded == MCP__HTTP_PROXY;
}
/* Whether the request comes from this machine, as far as proxies on this machine say. */
static inline bool mcp__http_is_local(const mcp_http_connection *c)
{
    return c->local && (!mcp__http_is_forwarded(c) || mcp__http_ip_is_loopback(&c->client_ip));
}

/* ---- what a connection may hold in memory: budget.c ------------------------------------------------------- */

/* Whether so many quarters of the whole or of the caller's share are spent, not counting some bytes. The whole:
 * everybody's patience is shorter from now on. */
static inline bool mcp__http_spent(mcp_http_connection *c, size_t quarters, size_t without)
{
    mcp_http_budget *b = c->http->budget;
    size_t share = (c->charge.share ? c->charge.share->used : c->charge.bytes) - without;
    if (b->used - without >= b->max_memory / 4 * quarters) {
        mcp__http_press(c->http);
        return true;
    }
    return share >= b->max_share / 4 * quarters;
}
/* Whether its request has to wait. */
static inline bool mcp__http_must_wait(mcp_http_connection *c)
{
    /* Not for itself: its body goes when it is answered. What the peer did not read of earlier answers stays. */
    mcp__http_connection_charge(c);
    return mcp__http_spent(c, 3, c->charge.bytes - c->pending - c->burst);
}
/* Its body is complete, or will not be. */
static inline void mcp__http_read_over(mcp_http_connection *c)
{
    if (c->charge.share && c->charge.share->reader == c)
        c->charge.share->reader = NULL;
}

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

/* ---- route.c --------------------------------------------------------------------------------------- */

/* The head is complete: what can be refused without the body is refused. */
mcp__http_refusal mcp__http_route(mcp_http_connection *c);
/* The request is complete. */
void mcp__http_handle(mcp_http_connection *c);

#endif
