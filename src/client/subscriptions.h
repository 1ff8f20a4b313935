/* subscriptions.h: the subscriptions of the program (subscriptions.c), and how they are requested
 * from modern servers (listen_request.c) and from legacy ones (watch.c). */
#ifndef MCP_SRC_CLIENT_SUBSCRIPTIONS_H
#define MCP_SRC_CLIENT_SUBSCRIPTIONS_H

#include <mcp/client.h>

#include "base/base.h"

/* A subscriptions/listen in flight. */
typedef struct mcp__stream {
    mcp_client *client;
    int64_t id;
} mcp__stream;

/* The subscriptions/listen to a modern server. */
typedef struct mcp__listen {
    mcp__stream *stream;   /* NULL if none */
    mcp__stream *replaced; /* the previous one, kept until the new one is acknowledged */
    int64_t since;         /* when the current one was acknowledged */
    int64_t ack_by; /* when it must be acknowledged; INT64_MAX if it is, or if none is open */
    int64_t retry_at;
    unsigned failures;
    mcp_json_doc *honoured; /* the filter of the acknowledgement; NULL if none */
} mcp__listen;

struct mcp_subscription {
    mcp__link link;
    mcp_client *client;
    mcp_subscription_options options;
    char **uris; /* owned */
    size_t n_uris;
    bool ended;    /* ended while callbacks were running */
    bool reported; /* its state has been reported to the program */
    mcp_subscription_state state;
};

static inline mcp_subscription *mcp__subscription_of(mcp__link *l)
{
    return mcp__container(l, mcp_subscription, link);
}
/* Returns whether the subscription includes this kind of change. */
bool mcp__subscription_wants(const mcp_subscription *s, mcp_change change);
/* Returns whether the server reports any changes that the subscription includes. */
bool mcp__subscription_is_served(const mcp_subscription *s);
/* Must be called before and after code that calls callbacks of subscriptions. A subscription that
 * ends in a callback is freed by mcp__subscriptions_release(). */
void mcp__subscriptions_hold(mcp_client *client);
void mcp__subscriptions_release(mcp_client *client);
void mcp__subscription_report(mcp_subscription *s, mcp_subscription_state state,
                              const mcp_error *error);
/* Reports a state to all subscriptions. */
void mcp__subscriptions_report(mcp_client *client, mcp_subscription_state state,
                               const mcp_error *error);
void mcp__subscriptions_changed(mcp_client *client, mcp_change change, mcp_str uri);
/* Sends the requests that are due because the set of subscriptions changed, a session began, or a
 * time was reached. */
void mcp__client_resync(mcp_client *client);

/* For modern servers: opens, replaces or retries the stream if necessary. */
void mcp__listen_resync(mcp_client *client);
/* Returns when mcp__listen_resync() must be called next, or INT64_MAX if never. */
int64_t mcp__listen_due(const mcp_client *client);
void mcp__listen_acknowledged(mcp_client *client, const mcp_json *params);
void mcp__listen_cancelled(mcp_client *client, const mcp_json *params);
/* Returns whether the server has accepted this part of the filter. */
bool mcp__listen_honours(const mcp_client *client, mcp_change change, mcp_str uri);
/* Must be called when the connection was lost. */
void mcp__listen_forget(mcp_client *client);

/* For legacy servers: subscribes and unsubscribes resources if necessary. */
void mcp__watch_resync(mcp_client *client);
bool mcp__watch_honours(const mcp_client *client, mcp_change change, mcp_str uri);
/* Must be called when the connection or the session was lost. */
void mcp__watch_forget(mcp_client *client);

#endif
