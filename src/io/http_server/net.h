/* net.h: shared by the files of the HTTP listener: the sockets of a loop, connections, addresses,
 * TLS. Everything here belongs to the thread that runs the loop.
 */
#ifndef MCP_SRC_IO_NET_H
#define MCP_SRC_IO_NET_H

#include <mcp/http.h>

#include "io/loop/loop.h"

typedef struct mcp__net mcp__net;
typedef struct mcp__connection mcp__connection;

/* ---- net.c: the sockets of one loop ------------------------------------------------------------- */

/* A date as text, rendered at most once per second. Zero-initialized. */
typedef struct mcp__date {
    int64_t second; /* since 1970 */
    size_t len;     /* 0: not rendered yet */
    char text[80];
} mcp__date;

/* A member of the epoll set. It is the first member of the struct that it belongs to. */
typedef struct mcp__socket {
    void (*ready)(struct mcp__socket *socket, uint32_t events);
    int fd;          /* -1: closed */
    uint32_t events; /* events it waits for */
    bool watched;    /* it is in the set */
} mcp__socket;

struct mcp__net {
    mcp_loop *loop;
    int epoll;
    int reserve;    /* a descriptor to close when no others are left; -1: closed */
    uv_poll_t poll; /* watches the epoll set */
    uv_prepare_t prepare;
    uv_timer_t timer;
    int64_t armed; /* deadline of the timer; INT64_MAX: none */
    mcp__link listeners;
    mcp__link dead;         /* closed connections that an event may still refer to */
    mcp__connection *dirty; /* connections with work to do before the loop waits */
    mcp__connection **dirty_end;
    mcp__connection *corked; /* collects its output until its input has been handled */
    size_t output_len;
    bool shedding; /* connections are being closed to make room: nothing is accepted in this turn */
    int64_t shed_at; /* earliest time of the next search for idle connections */
    size_t turned_away;
    int64_t away_logged; /* time of the last log line; 0: never */
    bool drained;        /* the last connection of a draining listener was closed */
    char *input, *output, *plain;
    mcp__date date;
};

enum { MCP__NET_BUFFER = 64 * 1024 };

/* Returns the loop's sockets, created at first use. */
int mcp__net_get(mcp_loop *loop, mcp__net **ret, mcp_error *error);
/* Adds a socket to the epoll set, or changes its events. Returns MCP_OK, MCP_ENOMEM or MCP_EIO. */
int mcp__net_watch(mcp__net *net, mcp__socket *socket, uint32_t events);
/* Closes the descriptor, which removes it from the set. */
void mcp__net_close(mcp__socket *socket);
/* Formats "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7), independently of the locale.
 * Valid until the next call. */
mcp_str mcp__date_text(mcp__date *date, int64_t second);
/* For mcp_http_set_clock_source(), with the net as user: the current date; milliseconds. */
mcp_str mcp__net_date(void *user);
int64_t mcp__net_clock(void *user);
/* Listeners keep the loop running. */
void mcp__net_add(mcp__net *net, mcp__link *listener);
void mcp__net_remove(mcp__net *net, mcp__link *listener);

/* ---- listen.c ----------------------------------------------------------------------------------- */

struct mcp_listener {
    mcp__socket socket; /* closed while draining */
    mcp__link link;
    mcp__net *net;
    mcp_server *server;
    mcp_http *http;
    struct mcp__tls *tls;
    char *tls_cert, *tls_key; /* the names of the files */
    mcp__link connections;
    size_t n_connections;
    size_t keep_files;
    int64_t resume_at; /* when to accept again; INT64_MAX: not paused */
    bool woken;
    bool lent;         /* the server uses the loop's host because of it */
    const char *path;  /* of a Unix socket; points into address */
    uint64_t dev, ino; /* of that file */
    char *address;
};

/* Handles what is due. Returns when something is due next. */
int64_t mcp__listener_turn(mcp_listener *l, int64_t now);

/* ---- connection.c ------------------------------------------------------------------------------- */

struct mcp__connection {
    mcp__socket socket;
    mcp__link link; /* in the listener's connections, or the net's dead */
    mcp_listener *listener;
    mcp__net *net;
    mcp_http_connection *http;
    struct mcp__tls_session *tls;
    mcp__connection *next_dirty;
    char *out; /* [start, end) waits for the socket */
    size_t cap, start, end;
    bool is_dirty;
    bool told;     /* the endpoint has been told of pending bytes */
    bool eof;      /* the peer sends no more */
    bool shutting; /* send pending bytes, then shut down output */
    bool closing;  /* send pending bytes, then close */
    bool paused;   /* the endpoint wants no input now */
    bool failed;   /* nothing can be sent or received any more */
};

/* Takes ownership of the descriptor, even on failure. */
void mcp__connection_open(mcp_listener *l, int fd, const char *peer, const char *address,
                          bool no_files);
/* Does the deferred work. The connection may be dead afterwards. */
void mcp__connection_settle(mcp__connection *c);
/* Closes it at once. */
void mcp__connection_drop(mcp__connection *c);
void mcp__connections_free_dead(mcp__net *net);

/* ---- address.c ---------------------------------------------------------------------------------- */

enum { MCP__ADDRESS_TEXT = 128 };

/* A parsed address. */
typedef struct mcp__address {
    bool loopback;    /* only this machine can connect */
    bool any;         /* all addresses of the machine */
    const char *path; /* of a Unix socket, else NULL; points into the text */
    char host[64];    /* in the form of a URL */
    uint16_t port;
} mcp__address;

/* Returns MCP_OK or MCP_EINVAL. */
int mcp__address_parse(mcp__address *a, const char *text, mcp_error *error);
/* Makes *ret a listening, non-blocking socket, and sets the port to the actual one. Returns
 * MCP_EEXIST (the address is in use), MCP_EACCESS or MCP_EIO on failure. */
int mcp__address_listen(mcp__address *a, unsigned mode, int *ret, mcp_error *error);
/* The peer of a connection: "127.0.0.1:4711" and "127.0.0.1", or "unix:pid=12" and "unix". */
void mcp__address_peer(int fd, char peer[MCP__ADDRESS_TEXT], char address[MCP__ADDRESS_TEXT]);

/* ---- tls.c: OpenSSL, loaded at first use ---------------------------------------------------- */

typedef struct mcp__tls mcp__tls;                 /* certificate and key */
typedef struct mcp__tls_session mcp__tls_session; /* one connection */

/* Returns MCP_OK, MCP_EUNSUPPORTED (no OpenSSL 3), MCP_EINVAL (a file cannot be read or is not a
 * certificate, or the key does not match) or MCP_ENOMEM. */
int mcp__tls_new(const mcp_allocator *allocator, const char *cert, const char *key, mcp__tls **ret,
                 mcp_error *error);
/* Loads other files for future connections. Returns the codes of mcp__tls_new(). On failure nothing
 * changes. */
int mcp__tls_load(mcp__tls *tls, const char *cert, const char *key, mcp_error *error);
void mcp__tls_free(mcp__tls *tls);
mcp__tls_session *mcp__tls_session_new(mcp__tls *tls);
void mcp__tls_session_free(mcp__tls_session *s);
/* Takes bytes from the socket. Returns MCP_OK or MCP_ENOMEM. */
int mcp__tls_feed(mcp__tls_session *s, mcp_str bytes);
/* Writes the next plain bytes to `to`. Returns their number, 0 if there are none yet, MCP_ECLOSED
 * if the peer has closed the session, or MCP_EPROTOCOL. */
int mcp__tls_read(mcp__tls_session *s, char *to, size_t room);
/* Whether the handshake is complete. */
bool mcp__tls_ready(const mcp__tls_session *s);
/* Encrypts plain bytes. Returns MCP_OK or MCP_EPROTOCOL. */
int mcp__tls_write(mcp__tls_session *s, mcp_str bytes);
/* Sends the end of the session. */
void mcp__tls_shutdown(mcp__tls_session *s);
/* Returns bytes for the socket, valid until mcp__tls_taken(), which discards them. */
mcp_str mcp__tls_output(mcp__tls_session *s);
void mcp__tls_taken(mcp__tls_session *s);

#endif
