/* session.h: legacy sessions (session.c, legacy.c), their streams (stream.c), HTTP+SSE (duplex.c), kept events (store.c). */
#ifndef MCP_SRC_HTTP_SERVER_SESSION_H
#define MCP_SRC_HTTP_SERVER_SESSION_H

#include "http/server/exchange.h"

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

#endif
