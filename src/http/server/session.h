/* session.h: legacy sessions (session.c, legacy.c), their streams (stream.c), HTTP+SSE (duplex.c), kept events (store.c). */
#ifndef MCP_SRC_HTTP_SERVER_SESSION_H
#define MCP_SRC_HTTP_SERVER_SESSION_H

#include "http/server/exchange.h"

/* An event stream of a session. GET opens number 0: any number of connections may have it, and the
 * newest one gets the messages. */
struct mcp__http_stream {
    mcp__link link; /* in session->streams */
    mcp__http_session *session;
    uint64_t number;
    uint64_t events; /* number of events so far */
    mcp_exchange exchange;
    mcp__http_charge charge;         /* of its request */
    mcp_http_connection *connection; /* NULL: the client is disconnected */
};

struct mcp__http_session {
    mcp_http *http;
    mcp__link link; /* in http->idle_sessions (longest idle first) or http->busy_sessions */
    char id[33];
    mcp__http_peer *peer;
    const mcp__revision *revision; /* NULL until initialize was answered */
    mcp__link streams;
    mcp__link getters;        /* connections of stream 0, newest last */
    mcp__http_stream general; /* stream 0 */
    uint64_t told;            /* its last event that was written to a connection */
    uint64_t next_stream;
    size_t attached;  /* connections that use this session */
    size_t n_streams; /* number of those with event streams */
    int64_t idle_since;
    bool stored; /* the event store has events of it */
    bool duplex; /* HTTP+SSE: all messages use stream 0; the session ends with it */
    bool over;   /* its stream has ended; freed at the next tick */
    bool busy;   /* in http->busy_sessions: not to be evicted */
};

/* Begins a session for the caller of this request. */
mcp__http_refusal mcp__http_session_begin(const mcp_http_connection *c,
                                          const mcp_channel_options *options,
                                          mcp__http_session **ret);
void mcp__http_session_free(mcp__http_session *session);
/* Returns the session that the request names, if its caller may use it, or NULL. */
mcp__http_session *mcp__http_session_find(mcp_http_connection *c);
void mcp__http_session_attach(mcp__http_session *session, mcp_http_connection *c);
void mcp__http_session_detach(mcp_http_connection *c);
/* Updates whether it is in use. */
void mcp__http_session_use(mcp__http_session *session);
/* Updates whether its streams accept notices. */
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
/* Ends streams whose requests will not be answered any more. */
void mcp__http_stream_reap(mcp__http_session *session);
/* Turns the answer into an event stream, unless there are too many. */
void mcp__http_stream_begin(mcp__http_stream *stream);
/* Opens the event stream of c, which sent a GET, at "stream-event" (NULL: stream 0). */
void mcp__http_stream_open(mcp_http_connection *c, mcp__http_session *session, mcp_str last_event);

/* ---- duplex.c: HTTP+SSE ---------------------------------------------------------------------------------------- */

void mcp__http_duplex_open(mcp_http_connection *c);
void mcp__http_duplex_post(mcp_http_connection *c);
/* Handles what is due for such a session. Returns true if it was freed. */
bool mcp__http_duplex_due(mcp__http_session *session);
/* If the connection is the stream of such a session: answers all requests in flight with the error
 * for a stopped server and ends the stream. Returns the number of these requests. */
size_t mcp__http_duplex_cut(mcp_http_connection *c);

/* ---- store.c -------------------------------------------------------------------------------------------------------- */

/* Also limited to a quarter of the budget. Returns NULL if out of memory. */
mcp__http_store *mcp__http_store_new(const mcp_allocator *allocator, mcp_http_budget *budget,
                                     size_t bytes_per_session, mcp_event_store *ret);
void mcp__http_store_free(mcp__http_store *store);

#endif
