/* connection.h: a connection. connection.c opens and closes it and handles its time-outs,
 * requests.c splits its bytes into requests, and route.c checks their heads. */
#ifndef MCP_SRC_HTTP_SERVER_CONNECTION_H
#define MCP_SRC_HTTP_SERVER_CONNECTION_H

#include <llhttp.h>

#include "auth/resource/recent.h"
#include "http/server/head.h"
#include "http/server/http.h"
#include "http/server/login.h"

typedef struct mcp__http_session mcp__http_session;
typedef struct mcp__http_stream mcp__http_stream;
typedef struct mcp__http_peer mcp__http_peer;
struct mcp__forwarded; /* fleet.h */

typedef enum mcp__http_phase {
    MCP__HTTP_HANDSHAKE, /* the transport's handshake is in progress */
    MCP__HTTP_IDLE,      /* between requests */
    MCP__HTTP_HEAD,      /* part of a head has arrived */
    MCP__HTTP_ASKING,    /* the head is complete, but its sender is not known yet */
    MCP__HTTP_BODY,      /* the sender is known, but the body is not complete */
    MCP__HTTP_HELD,      /* the request is complete, but waits for memory */
    MCP__HTTP_WAITING,   /* the request is handled, but its answer has not begun */
    MCP__HTTP_STREAMING, /* the answer is an event stream */
    MCP__HTTP_LINGERING, /* answered before the request was complete; the rest is discarded */
    MCP__HTTP_CLOSED,    /* nothing is read or written any more */
} mcp__http_phase;

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
    mcp__http_address *client;  /* of the request's client; NULL unless a trusted proxy sent it */
    mcp__http_address *account; /* of the last principal, or NULL */
    mcp__http_ip client_ip, peer_ip; /* of the client behind proxies; of the transport's peer */
    mcp__http_forwarded forwarded;
    bool proxy;   /* the peer is a trusted proxy */
    bool local;   /* the transport's peer is on this machine */
    bool trusted; /* the name of the host need not be checked */
    bool has_ip;  /* peer_ip is known */
    char *peer_name;

    mcp__http_phase phase; /* changed by mcp__http_set_phase() */
    /* ---- the request */
    uint8_t target;  /* mcp__http_target */
    uint8_t refusal; /* mcp__http_refusal to send at the end of the body */
    uint8_t http_method;
    uint8_t method;         /* the JSON-RPC method: a row of the counters */
    uint8_t status_row;     /* the status of the answer: an index of mcp__http_statuses */
    bool keep_alive;        /* the connection can be used again after the answer */
    bool cors;              /* the answer has headers for CORS */
    bool stream_only;       /* the answer is an open subscription */
    bool in_account;        /* the request is counted in account->count */
    bool counted;           /* the answer is counted in session->n_streams */
    bool is_forwarded;      /* another instance forwarded the request */
    bool instance_gone;     /* the instance that has the session of the request is gone */
    bool is_authenticating; /* the login is open */
    bool is_identified;     /* `identity` is that of the request */
    uint8_t login_result;   /* mcp__http_refusal, set when the login is answered */
    /* ---- the connection */
    bool authenticated; /* `authenticate` has accepted a request */
    bool ended;         /* the peer has closed its sending direction */
    bool starved;       /* reading the rest of the request waits for memory */
    bool congested;     /* the peer must read much output before it gets more */
    bool writing;       /* `write` is being called */

    mcp__http_charge charge;
    size_t message;               /* memory of the request being answered, in bytes */
    size_t burst;                 /* bytes written that `pending` may not include yet */
    int64_t check_at, starved_at; /* when to check the memory again; when reading stopped */

    int64_t since;                /* when the phase began */
    int64_t began, began_us;      /* when the request was complete */
    int64_t wrote_at;             /* time of the last write */
    int64_t drained_at;           /* when the transport last reported progress of the output */
    int64_t ended_at;             /* when the peer closed its side of the connection */
    size_t pending;               /* output that the transport has not sent yet, in bytes */
    uint64_t bytes_in, bytes_out; /* of this request */

    mcp__http_head head;
    mcp_http_login login;
    mcp__rs_recent recent;  /* of the resource server */
    mcp_identity *identity; /* the last one; that of this request if `is_identified` */
    const char *principal;  /* of this request; in `identity`; NULL if the client is anonymous */
    char *url;              /* what mcp_http_login_url() returned for a view; or NULL */
    int64_t expires_at; /* when the identity of this request expires; INT64_MAX if it does not */
    mcp__http_denial *denial; /* NULL if `authenticate` determined nothing for the answer */
    mcp__buf body;
    mcp_str body_span; /* the body if it was not copied: borrowed from the received bytes */
    mcp__buf input;    /* received bytes that are not parsed yet */

    mcp_exchange exchange;      /* of the request being answered, or 0 */
    mcp__http_peer *peer;       /* the channel for requests without a session */
    mcp__http_session *session; /* the session of the connection's stream or request, or NULL */
    mcp__http_stream *stream;
    mcp__link in_getters;
    union {
        struct mcp__forwarded *forwarded; /* if is_forwarded: what the header of the request says */
        mcp_http_relay *relay; /* otherwise, if the request is forwarded to another instance */
    } other;
    char traceparent[56]; /* NUL-terminated */
    char *name;           /* what the request is about (a tool, a URI), for the log; or NULL */
};

/* How long a modern request or a login continues after the peer has closed its sending
 * direction. */
enum { MCP__HTTP_HALF_CLOSED_MS = 1000 };

/* Returns the time `ms` milliseconds after `from`. */
static inline int64_t mcp__http_after(int64_t from, uint64_t ms)
{
    return ms < (uint64_t)(INT64_MAX - from) ? from + (int64_t)ms : INT64_MAX;
}
void mcp__http_set_phase(mcp_http_connection *c, mcp__http_phase phase);
/* Returns whether a part of the request is missing, or there is none. */
static inline bool mcp__http_is_partial(const mcp_http_connection *c)
{
    return c->phase < MCP__HTTP_HELD;
}
/* Returns whether a whole request has no part of its answer yet. */
static inline bool mcp__http_is_unanswered(const mcp_http_connection *c)
{
    return c->phase == MCP__HTTP_HELD || c->phase == MCP__HTTP_WAITING;
}
/* Returns whether the next request, or a part of it, has arrived and is not parsed yet. */
static inline bool mcp__http_has_next(const mcp_http_connection *c)
{
    return c->phase == MCP__HTTP_IDLE && c->input.len > 0;
}
/* Returns whether a request is answered even if the peer closes its sending direction. */
static inline bool mcp__http_has_request(const mcp_http_connection *c)
{
    return c->phase == MCP__HTTP_ASKING || mcp__http_is_unanswered(c) || mcp__http_has_next(c);
}
void mcp__http_write(mcp_http_connection *c, mcp_str bytes);
/* Ends an answer. The connection then continues with the next request, or is closed. `code` is the
 * code of the JSON-RPC error in the answer, or 0. */
void mcp__http_finish(mcp_http_connection *c, int status, int code);
/* Schedules parsing of the input that is left. Parsing begins when the peer has read enough of the
 * output. */
void mcp__http_schedule_input(mcp_http_connection *c);
/* Updates the charge of the connection from the sizes of its buffers. */
void mcp__http_connection_charge(mcp_http_connection *c);
void mcp__http_close(mcp_http_connection *c, mcp_http_close how);
/* Closes the connection if the peer has closed its sending direction, and there is no request that can
 * be answered. */
void mcp__http_close_ended(mcp_http_connection *c);
void mcp__http_connection_arm(mcp_http_connection *c);
/* Returns when a connection that is idle, or in its handshake, for ms is closed. */
int64_t mcp__http_idle_deadline(const mcp_http_connection *c, uint64_t ms);
void mcp__http_connection_due(mcp_http_connection *c);
/* Frees the memory that an open stream does not need: the body and, unless it will be logged, the
 * head. */
void mcp__http_trim_stream(mcp_http_connection *c);
static inline mcp_http_connection *mcp__http_connection_of(const mcp_http_login *login)
{
    return mcp__container((mcp_http_login *)(uintptr_t)login, mcp_http_connection, login);
}
/* Returns the identity of the current request, or NULL if it is anonymous and in no view. */
static inline mcp_identity *mcp__http_identity(const mcp_http_connection *c)
{
    return c->is_identified ? c->identity : NULL;
}
/* Returns what the state of the sender is bound to: its principal and the view. */
static inline const char *mcp__http_binding(const mcp_http_connection *c)
{
    return mcp_identity_binding(mcp__http_identity(c));
}
/* Compares two principals. NULL means anonymous, and equals only NULL. */
static inline bool mcp__http_same_principal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}
/* Returns the address that identifies the sender of an anonymous request for limits per caller, or
 * NULL if the address is unknown. The string is valid during the request. */
static inline const char *mcp__http_caller(const mcp_http_connection *c)
{
    const mcp__http_address *a = c->client ? c->client : c->address;
    return a ? a->text : NULL;
}
/* Returns whether a trusted proxy named the client of this request. */
static inline bool mcp__http_is_forwarded(const mcp_http_connection *c)
{
    return c->forwarded == MCP__HTTP_CLIENT || c->forwarded == MCP__HTTP_PROXY;
}
/* Returns whether the request comes from this machine. If a local proxy forwarded the request, the
 * proxy's header decides. */
static inline bool mcp__http_is_local(const mcp_http_connection *c)
{
    return c->local && (!mcp__http_is_forwarded(c) || mcp__http_ip_is_loopback(&c->client_ip));
}

/* ---- memory of a connection: budget.c -------------------------------------------------------- */

/* Returns whether at least `quarters` quarters of the whole budget or of the caller's share are in
 * use, not counting `without` bytes. If this part of the whole budget is in use, also shortens the
 * time-outs of peers. */
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
/* Returns whether the connection's request has to wait for memory. */
static inline bool mcp__http_must_wait(mcp_http_connection *c)
{
    /* The memory of the request itself is not counted, because answering the request frees it.
     * Unread output of earlier answers is counted. */
    mcp__http_connection_charge(c);
    return mcp__http_spent(c, 3, c->charge.bytes - c->pending - c->burst);
}
/* Lets another connection of the caller read a body, because the body of this connection is
 * complete or was discarded. */
static inline void mcp__http_end_reading(mcp_http_connection *c)
{
    if (c->charge.share && c->charge.share->reader == c)
        c->charge.share->reader = NULL;
}

/* ---- requests.c ------------------------------------------------------------------------------ */

void mcp__http_parser_settings(llhttp_settings_t *settings);
/* Parses the input that is left. */
void mcp__http_parse_input(mcp_http_connection *c);
/* Refuses a request before it is complete. The rest of the request is discarded. */
void mcp__http_refuse_early(mcp_http_connection *c, mcp__http_refusal why);
/* Returns the body as one string. It is valid until the request has been handled. */
mcp_str mcp__http_body(mcp_http_connection *c);
/* Counts and logs a refusal for lack of memory. Returns the refusal for the whole budget or for the
 * caller's share, whichever would be fuller with `bytes` more. */
mcp__http_refusal mcp__http_no_room(mcp_http_connection *c, size_t bytes);
/* Continues a request that waited for memory. */
void mcp__http_run_held(mcp_http_connection *c);
/* Continues a request whose login was answered. */
void mcp__http_run_asked(mcp_http_connection *c);

/* ---- route.c --------------------------------------------------------------------------------- */

/* Check a complete head, before and after its sender is known. Return the reason to refuse the
 * request without its body, or MCP__HTTP_FINE. */
mcp__http_refusal mcp__http_route(mcp_http_connection *c);
mcp__http_refusal mcp__http_admit(mcp_http_connection *c);
/* Handles a complete request that passed both checks. */
void mcp__http_handle(mcp_http_connection *c);

#endif
