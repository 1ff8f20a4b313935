/* fleet.h: legacy sessions of several instances that serve the same clients: session ids that say
 * where a session began (session_id.c), what is known of the sessions of other instances (fleet.c), and
 * requests that are forwarded to them (forward.c) and come from them (forwarded_request.c).
 *
 * All of this is used only if mcp_http_options.instance_address is set; otherwise http->fleet is
 * NULL. */
#ifndef MCP_SRC_HTTP_SERVER_FLEET_H
#define MCP_SRC_HTTP_SERVER_FLEET_H

#include "http/server/connection.h"
#include "jsonrpc/envelope.h"

typedef struct mcp__http_session mcp__http_session;

enum {
    MCP__UNIQUE = 32,        /* hexadecimal digits that identify a session */
    MCP__INSTANCE_NAME = 16, /* hexadecimal digits that identify an instance */
    MCP__OWNER = 16,         /* hexadecimal digits that are the same for all sessions of a client */
    MCP__SESSION_ID_TEXT = 1024, /* the longest session id */
    /* What it contains at most: without the expiry, the head and the tag of the seal. */
    MCP__SESSION_ID_PLAIN = MCP__SESSION_ID_TEXT / 4 * 3 - 41,
    MCP__ADDRESS_MAX = 200,
};

/* ---- session_id.c: session ids ------------------------------------------------------------------- */

/* What a session id says. The strings are in `text`, or borrowed when an id is made. */
typedef struct mcp__session_id {
    char unique[MCP__UNIQUE + 1];
    char instance[MCP__INSTANCE_NAME + 1]; /* where the session began */
    mcp_str address;                       /* how other instances reach that instance */
    mcp_str params;   /* of initialize; empty if they did not fit, so that it cannot be made anew */
    uint64_t left_ms; /* until the id expires */
    char text[MCP__SESSION_ID_TEXT];
} mcp__session_id;

/* Appends the params of an equivalent initialize: the negotiated revision, the capabilities, the
 * name and version of the client. Appends nothing if `params` lack one of them. */
void mcp__session_id_put_params(mcp__buf *b, const mcp_json *params);
/* Appends the id of a session of the caller with this mcp_identity_binding(). Leaves out the params if they
 * do not fit. Returns MCP_OK or the code of mcp_server_seal(). */
int mcp__session_id_seal(mcp_server *server, const char *binding, uint64_t life_ms,
                         const mcp__session_id *session_id, mcp__buf *id);
/* Reads an id. Returns MCP_OK, MCP_ENOMEM, or another negative code if it is not the id of a session
 * of this caller, or has expired. */
int mcp__session_id_open(mcp_server *server, const mcp_allocator *allocator, const char *binding,
                         mcp_str id, mcp__session_id *ret);

/* ---- fleet.c: the sessions of other instances ------------------------------------------------ */

/* A session at another instance, of which every step since its beginning is known. */
typedef struct mcp__known {
    mcp__owned owned; /* in fleet->shares */
    char unique[MCP__UNIQUE];
    char instance[MCP__INSTANCE_NAME + 1]; /* where it is */
    bool keeps;                            /* it has subscriptions or a log level */
    size_t address_len;
    char address[];
} mcp__known;

/* The requests that one instance has forwarded to this one: numbers that were used. */
enum { MCP__WINDOW = 4096, MCP__SENDERS = 256 };
typedef struct mcp__sender {
    char instance[MCP__INSTANCE_NAME];
    uint64_t newest; /* 0 if this place is free */
    int64_t used_at;
    uint64_t used[MCP__WINDOW / 64]; /* bit n % MCP__WINDOW: number n was used */
} mcp__sender;

struct mcp__fleet {
    mcp_http *http;
    char instance[MCP__INSTANCE_NAME + 1];
    mcp__map known;     /* mcp__known, by `unique` */
    mcp__map own;       /* the sessions here that have a sealed id, by `unique` */
    mcp__shares shares; /* of the clients in `known` */
    uint64_t forwarded; /* number of the last request that was forwarded */
    mcp__sender *senders[MCP__SENDERS];
};

/* Returns MCP_OK, MCP_ENOMEM, or the code of options.random(). */
int mcp__fleet_new(mcp_http *http, uint64_t seed0, uint64_t seed1);
void mcp__fleet_free(struct mcp__fleet *fleet);
mcp__known *mcp__fleet_known(const struct mcp__fleet *fleet, const char *unique);
void mcp__fleet_forget(struct mcp__fleet *fleet, const char *unique);

/* Tell the other instances: the session is here; it got subscriptions or a log level; it has
 * ended. */
void mcp__fleet_announce(mcp__http_session *s);
void mcp__fleet_note_keeps(mcp__http_session *s);
void mcp__fleet_note_end(mcp__http_session *s);

/* ---- instance.c: where calls of modern clients wait ------------------------------------------ */

/* mcp_channel_options.wait_address, for the current request of c. */
size_t mcp__wait_address_put(mcp_http_connection *c, char to[MCP_WAIT_ADDRESS_ROOM]);
/* Forwards the current request of c if the call that `state` (requestState) continues waits at another
 * instance. Returns false if it does not; otherwise *why is that of mcp__relay_start(). */
bool mcp__wait_address_forward(mcp_http_connection *c, mcp_str state, mcp__http_refusal *why);

/* ---- forwarded_request.c: requests of other instances ------------------------------------------------------ */

/* What the header Libmcp-Forwarded-Request says. */
struct mcp__forwarded {
    char instance[MCP__INSTANCE_NAME]; /* the sender */
    uint64_t number;
    unsigned char digest[32];
    char *binding; /* of the sender (mcp_identity_binding()); in `text`, or NULL */
    char text[];
};

/* The headers of a request that is forwarded which may differ from those that were received. */
typedef struct mcp__forward_head {
    mcp_str session, revision; /* .ptr is NULL if there is none */
} mcp__forward_head;

/* Appends the value of the header for the current request of c. Returns MCP_OK or a negative code. */
int mcp__forwarded_put(mcp_http_connection *c, const char *to_instance,
                       const mcp__forward_head *head, mcp_str body, mcp__buf *value);
/* Reads the header of a request, if it has one, and sets c->forwarded. Returns MCP__HTTP_FINE, or the reason
 * to refuse the request. */
mcp__http_refusal mcp__forwarded_read(mcp_http_connection *c);
/* Compares the complete request with its header, which can then not be used again. */
mcp__http_refusal mcp__forwarded_check(mcp_http_connection *c);
void mcp__forwarded_free(mcp_http_connection *c);

/* ---- forward.c: requests to other instances -------------------------------------------------- */

/* Forwards the current request of c. Returns MCP__HTTP_FINE if it will be answered later, or the
 * reason to refuse it. */
mcp__http_refusal mcp__relay_start(mcp_http_connection *c, const char *instance, mcp_str address,
                                   const mcp__forward_head *head);
/* The headers as they were received. */
mcp__forward_head mcp__forward_head_of(const mcp_http_connection *c);
static inline mcp_http_relay *mcp__relay_of(const mcp_http_connection *c)
{
    return c->is_forwarded ? NULL : c->other.relay;
}
/* Gives up the forwarded request of a connection, if it has one. */
void mcp__relay_drop(mcp_http_connection *c);

/* ---- task_forward.c: requests about tasks of other instances --------------------------------- */

/* Forwards a request about a task that runs at another instance; `session` is that of the request, or
 * NULL. Returns false if there is no other instance to forward it to. Otherwise *why is
 * MCP__HTTP_FINE, or the reason to refuse it. */
bool mcp__http_task_forward(mcp_http_connection *c, const mcp__message *message,
                            const mcp__http_session *session, mcp__http_refusal *why);

#endif
