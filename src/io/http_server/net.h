/* net.h: the internals of HTTP listeners: the sockets of a loop, connections, addresses, TLS. Only
 * the thread that runs the loop may use them.
 */
#ifndef MCP_SRC_IO_NET_H
#define MCP_SRC_IO_NET_H

#include <mcp/http.h>
#include <mcp/sys/http.h>

#include "io/loop/loop.h"

typedef struct mcp__net mcp__net;
typedef struct mcp__connection mcp__connection;

/* ---- net.c: the sockets of one loop ---------------------------------------------------------- */

/* The text of a date, which is formatted at most once per second. Initialize it with zeros. */
typedef struct mcp__date {
    int64_t second; /* since 1970 */
    size_t len;     /* 0 if it is not formatted yet */
    char text[80];
} mcp__date;

/* A socket in the epoll set. It must be the first member of the object that it belongs to. */
typedef struct mcp__socket {
    void (*ready)(struct mcp__socket *socket, uint32_t events);
    int fd;          /* -1 if it is closed */
    uint32_t events; /* events that it waits for */
    bool watched;    /* it is in the epoll set */
} mcp__socket;

/* Output of a connection that had its turn. It is sent after that of the other ready connections, or
 * when there are MCP__HELD of them, or the buffer is needed. */
typedef struct mcp__held {
    mcp__connection *connection;
    size_t start, end; /* in mcp__net.output */
} mcp__held;

enum { MCP__HELD = 32 };

/* Input that was received from a connection. The endpoint gets it when that of the other ready
 * connections was received too, or when there are MCP__RECEIVED of them, or the buffer is nearly full. */
typedef struct mcp__received {
    mcp__connection *connection;
    size_t start, len; /* in mcp__net.input; len is 0 at the end of the connection's input */
} mcp__received;

enum { MCP__RECEIVED = 32 };

struct mcp__net {
    mcp_loop *loop;
    int epoll;
    int reserve;    /* a spare descriptor, closed when no other is left; or -1 */
    uv_poll_t poll; /* watches the epoll set */
    uv_prepare_t prepare;
    uv_timer_t timer;
    int64_t armed; /* deadline of the timer, or INT64_MAX if it is not set */
    mcp__link listeners;
    mcp__link dead;         /* closed connections that an event may still refer to */
    mcp__connection *dirty; /* connections with work to do before the loop blocks */
    mcp__connection **dirty_end;
    mcp__connection *corked; /* the connection whose output is collected in `output`, or NULL */
    size_t output_start, output_len; /* that output is in [output_start, output_len) */
    mcp__held held[MCP__HELD];       /* lies before that output */
    size_t n_held;
    mcp__received received[MCP__RECEIVED];
    size_t n_received, input_len;
    bool shedding;       /* idle connections were closed, so nothing is accepted in this turn */
    int64_t shed_at;     /* earliest time of the next search for idle connections */
    size_t turned_away;  /* connections that were turned away since the last log line about them */
    int64_t away_logged; /* time of that log line, or 0 */
    bool lingers;        /* a listener drains, and its idle connections are closed later */
    bool drained;        /* the last connection of a draining listener was closed */
    char *input, *output, *plain;
    mcp__date date;
};

enum { MCP__NET_BUFFER = 64 * 1024 };

/* Sets *ret to the mcp__net of the loop, which is created at first use. Returns MCP_OK, MCP_ENOMEM
 * or MCP_EIO. */
int mcp__net_get(mcp_loop *loop, mcp__net **ret, mcp_error *error);
/* Adds a socket to the epoll set, or changes its events. Returns MCP_OK, MCP_ENOMEM or MCP_EIO. */
int mcp__net_watch(mcp__net *net, mcp__socket *socket, uint32_t events);
/* Removes the socket from the epoll set and closes the descriptor. Closing alone would leave it in
 * the set as long as another process has a copy: a new child has copies of all sockets until it
 * calls exec(), and a successor keeps those that listen. */
void mcp__net_close(mcp__net *net, mcp__socket *socket);
/* Formats a date as "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7), independently of the locale.
 * The string is valid until the next call. */
mcp_str mcp__date_text(mcp__date *date, int64_t second);
/* The functions for mcp_http_set_clock_source(), with the mcp__net as `user`. */
mcp_str mcp__net_date(void *user);
int64_t mcp__net_clock(void *user);
/* Add and remove a listener. The loop runs as long as there are listeners. */
void mcp__net_add(mcp__net *net, mcp__link *listener);
void mcp__net_remove(mcp__net *net, mcp__link *listener);

/* ---- listener.c ------------------------------------------------------------------------------ */

struct mcp_listener {
    mcp__socket socket; /* closed while draining */
    mcp__link link;
    mcp__net *net;
    mcp_server *server;
    mcp_http *http;
    struct mcp__tls *tls;
    char *tls_cert, *tls_key; /* the names of the files */
    bool shares;              /* `http` belongs to another listener */
    char *instance_ca; /* a file of certificates, for forward_request.c; NULL means the system's */
    mcp__link connections;
    size_t n_connections;
    size_t keep_files;
    int64_t resume_at; /* when to accept again, or INT64_MAX if accepting is not paused */
    bool woken;        /* the endpoint has requested a tick */
    bool shared;       /* other processes may accept connections from the socket too */
    bool handed_over;  /* mcp_listener_hand_over() was called */
    bool lingers;      /* draining leaves idle connections open for a while */
    bool lent;         /* the server uses the loop's host because of this listener */
    const char *path;  /* of a Unix socket: points into `address`; else NULL */
    uint64_t dev, ino; /* of the socket's file */
    char *address;
};

/* Draining leaves idle connections open for ms, and no other process takes over. */
void mcp__listener_linger(mcp_listener *l, uint64_t ms);
/* Runs the timers that are due. Returns the next deadline. */
int64_t mcp__listener_turn(mcp_listener *l, int64_t now);

/* ---- forward_request.c: requests to other instances ------------------------------------------ */

/* Makes the listener's endpoint forward requests over the loop. */
void mcp__relays_set(mcp_listener *l);

/* ---- socket.c -------------------------------------------------------------------------------- */

struct mcp__connection {
    mcp__socket socket;
    mcp__link link; /* in listener->connections or net->dead */
    mcp_listener *listener;
    mcp__net *net;
    mcp_http_connection *http;
    struct mcp__tls_session *tls;
    mcp__connection *next_dirty;
    char *out; /* pending output is in [start, end) */
    size_t cap, start, end;
    bool is_dirty;
    bool is_held;    /* mcp__net.held has output of this connection */
    bool report_due; /* the endpoint expects a report of pending bytes */
    bool eof;        /* the peer will send nothing more */
    bool shutting;   /* the output is shut down after the pending bytes are sent */
    bool closing;    /* the connection is closed after the pending bytes are sent */
    bool paused;     /* the endpoint accepts no input at the moment */
    bool failed;     /* nothing can be sent or received any more */
};

/* Opens a connection on an accepted socket. Takes ownership of fd, also on failure. peer and
 * address are those of mcp__address_peer(). no_files is set if there are too few free descriptors;
 * the connection is then refused. */
void mcp__connection_open(mcp_listener *l, int fd, const char *peer, const char *address,
                          bool no_files);
/* Schedules mcp__connection_settle() before the loop blocks. */
void mcp__connection_mark(mcp__connection *c);
/* Nothing more can be sent or received: the connection is closed before the loop blocks. */
void mcp__connection_fail(mcp__connection *c);
/* Gives the endpoints the input that net->received has. */
void mcp__connections_take_received(mcp__net *net);
/* Does the work that was deferred to the end of the turn. This may close the connection. */
void mcp__connection_settle(mcp__connection *c);
/* Closes a connection immediately. */
void mcp__connection_drop(mcp__connection *c);
void mcp__connections_free_dead(mcp__net *net);
/* Sends the output that net->held has. */
void mcp__connections_send_held(mcp__net *net);

/* ---- address.c ------------------------------------------------------------------------------- */

enum { MCP__ADDRESS_TEXT = 128 };

/* A parsed address. */
typedef struct mcp__address {
    bool loopback;    /* only this machine can connect */
    bool any;         /* a wildcard: all addresses of this machine */
    const char *path; /* of a Unix socket, borrowed from the parsed string; else NULL */
    char host[64];    /* numeric, as in a URL */
    uint16_t port;
} mcp__address;

/* Parses an address. Returns MCP_OK or MCP_EINVAL. */
int mcp__address_parse(mcp__address *a, const char *text, mcp_error *error);
/* Opens a non-blocking listening socket, and sets a->port to the actual port. `mode` is the file
 * mode of a Unix socket. Returns MCP_OK, MCP_EEXIST if the address is in use, MCP_EACCESS or
 * MCP_EIO. */
int mcp__address_listen(mcp__address *a, unsigned mode, int *ret, mcp_error *error);
/* Sets *a to the address of a socket that listens already, of which *a was parsed before, and makes
 * the socket non-blocking. Returns MCP_OK, MCP_EINVAL if it does not listen there, or MCP_EIO. */
int mcp__address_adopt(mcp__address *a, int fd, mcp_error *error);
/* Describes the peer of a connection: `peer` for the log, `address` for limits. Examples are
 * "127.0.0.1:4711" and "127.0.0.1", or "unix:pid=12,uid=1000" and "unix". */
void mcp__address_peer(int fd, char peer[MCP__ADDRESS_TEXT], char address[MCP__ADDRESS_TEXT]);

/* ---- tls.c: OpenSSL, loaded at first use ----------------------------------------------------- */

typedef struct mcp__tls mcp__tls;                 /* certificate and key */
typedef struct mcp__tls_session mcp__tls_session; /* one connection */

/* Loads OpenSSL and the two PEM files. Returns MCP_OK, MCP_EUNSUPPORTED if OpenSSL 3 is missing,
 * MCP_EINVAL if a file cannot be read or parsed or the key does not match the certificate, or
 * MCP_ENOMEM. */
int mcp__tls_new(const mcp_allocator *allocator, const char *cert, const char *key, mcp__tls **ret,
                 mcp_error *error);
/* Loads the files for future connections. Changes nothing on failure. Returns the errors of
 * mcp__tls_new(). */
int mcp__tls_load(mcp__tls *tls, const char *cert, const char *key, mcp_error *error);
/* Returns when the certificate expires, in seconds since 1970, or 0 if it cannot be read. */
int64_t mcp__tls_expiry(const mcp__tls *tls);
void mcp__tls_free(mcp__tls *tls);
/* Returns NULL if out of memory. */
mcp__tls_session *mcp__tls_session_new(mcp__tls *tls);
void mcp__tls_session_free(mcp__tls_session *s);
/* Adds bytes that were received from the socket. Returns MCP_OK or MCP_ENOMEM. */
int mcp__tls_feed(mcp__tls_session *s, mcp_str bytes);
/* Copies decrypted bytes to `to`. Returns their number, which is 0 if there are none yet,
 * MCP_ECLOSED if the peer has closed the session, or MCP_EPROTOCOL. */
int mcp__tls_read(mcp__tls_session *s, char *to, size_t room);
/* Returns whether the handshake is complete. */
bool mcp__tls_ready(const mcp__tls_session *s);
/* Encrypts bytes for the output. Returns MCP_OK or MCP_EPROTOCOL. */
int mcp__tls_write(mcp__tls_session *s, mcp_str bytes);
/* Adds the end of the session (close_notify) to the output. */
void mcp__tls_shutdown(mcp__tls_session *s);
/* Returns the output, which has to be sent over the socket. It is valid until mcp__tls_taken(),
 * which discards it. */
mcp_str mcp__tls_output(mcp__tls_session *s);
void mcp__tls_taken(mcp__tls_session *s);

#endif
