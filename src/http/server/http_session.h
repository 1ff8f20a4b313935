/* http_session.h: legacy sessions (http_session.c, legacy_requests.c), their event streams
 * (stream.c), HTTP+SSE (duplex.c), and events stored for replay (event_store.c). */
#ifndef MCP_SRC_HTTP_SERVER_HTTP_SESSION_H
#define MCP_SRC_HTTP_SERVER_HTTP_SESSION_H

#include "http/server/exchange.h"
#include "http/server/fleet.h"

/* An event stream of a session. GET opens stream 0, which several connections may have open; the
 * newest of them gets the messages. The other streams belong to one request each. */
struct mcp__http_stream {
    mcp__link link; /* in session->streams */
    mcp__http_session *session;
    uint64_t number;
    uint64_t events; /* number of events so far, which is also the number of the last event */
    mcp_exchange exchange;
    mcp__http_charge charge;         /* the memory of its request */
    mcp_http_connection *connection; /* NULL if the client is disconnected */
};

struct mcp__http_session {
    mcp_http *http;
    mcp__owned owned;        /* in http->session_shares */
    mcp__http_charge charge; /* the memory that it takes without requests */
    char id[33];             /* random; names the session in the event store */
    char *sealed; /* the id that the client gets, if other instances can read it; else NULL */
    mcp_str name; /* the id that the client gets: `sealed` or `id` */
    mcp__http_peer *peer;
    const mcp__revision *revision; /* NULL until initialize was answered */
    mcp__link streams;
    mcp__link getters;        /* connections of stream 0, newest last */
    mcp__http_stream general; /* stream 0 */
    uint64_t last_written;    /* last event of stream 0 that was written to a connection */
    uint64_t next_stream;
    size_t attached;  /* connections that use this session */
    size_t n_streams; /* connections on which an event stream of this session is open */
    int64_t idle_since;
    int64_t dies_at; /* when its id expires */
    bool keeps;      /* the other instances were told that it has subscriptions or a log level */
    bool lost;       /* another instance has it now; it is freed when its requests are answered */
    bool stored;     /* the event store has events of this session */
    bool duplex;     /* uses HTTP+SSE: all messages go on stream 0, and the session ends with it */
    bool ended;      /* its stream has ended, so the next tick frees the session */
    bool busy;       /* a connection uses it, so it cannot be evicted */
};

/* Begins a session for the caller of this request. `params` are those of initialize, or NULL if the
 * session uses HTTP+SSE, so that it cannot move to another instance. Returns MCP__HTTP_FINE or a
 * refusal. */
mcp__http_refusal mcp__http_session_begin(mcp_http_connection *c,
                                          const mcp_channel_options *options,
                                          const mcp_json *params, mcp__http_session **ret);
void mcp__http_session_free(mcp__http_session *session);
/* Finds the session that the request names. Returns MCP__HTTP_FINE and sets *ret, or to NULL if the
 * request was forwarded to the instance that has the session. Otherwise returns a refusal:
 * MCP__HTTP_NO_SESSION if there is none or it belongs to another principal. */
mcp__http_refusal mcp__http_session_find(mcp_http_connection *c, mcp__http_session **ret);
/* Gives up a session that another instance has, when its requests are answered. */
void mcp__http_session_lose(mcp__http_session *session);
void mcp__http_session_attach(mcp__http_session *session, mcp_http_connection *c);
void mcp__http_session_detach(mcp_http_connection *c);
/* Notes whether the session may be evicted, if its use has changed. */
void mcp__http_session_use(mcp__http_session *session);
/* Informs the channel whether notifications can be written to stream 0 now. */
void mcp__http_session_writable(mcp__http_session *session);
void mcp__http_session_due(mcp__http_session *session);
/* Updates the charge of the session after a message. */
void mcp__http_session_charge(mcp__http_session *session);

/* How the channels of sessions send; not for HTTP+SSE. */
extern const mcp_channel_options mcp__http_session_channel;

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
/* Ends streams whose requests will no longer be answered. */
void mcp__http_stream_reap(mcp__http_session *session);
/* Makes the answer an event stream, if the client accepts one and the session has not reached its
 * limit of streams. */
void mcp__http_stream_begin(mcp__http_stream *stream);
/* Opens an event stream on c, which sent a GET. last_event is the value of Last-Event-ID, the event
 * after which to resume. If it is empty, stream 0 is opened. */
void mcp__http_stream_open(mcp_http_connection *c, mcp__http_session *session, mcp_str last_event);

/* ---- duplex.c: HTTP+SSE ---------------------------------------------------------------------- */

void mcp__http_duplex_open(mcp_http_connection *c);
void mcp__http_duplex_post(mcp_http_connection *c);
/* Ends a session whose stream has ended, or whose answers are complete while the server drains.
 * Returns true if the session was freed. */
bool mcp__http_duplex_due(mcp__http_session *session);
/* If the connection is the stream of an HTTP+SSE session, answers all requests in flight with the
 * error of mcp__http_put_cut(), and ends the stream. Returns the number of these requests. */
size_t mcp__http_duplex_cut(mcp_http_connection *c);

/* ---- event_store.c --------------------------------------------------------------------------- */

/* Creates the built-in event store. All its sessions together use at most a quarter of the budget, and
 * those of one caller a quarter of its share. Returns NULL if out of memory. */
mcp__http_store *mcp__http_store_new(const mcp_allocator *allocator, mcp_http_budget *budget,
                                     size_t bytes_per_session, mcp_event_store *ret);
void mcp__http_store_free(mcp__http_store *store);
/* Charges the events of a session, which has none yet, to the share of `owner`. */
void mcp__http_store_begin(mcp__http_store *store, mcp_str session, const mcp__http_charge *owner);

#endif
