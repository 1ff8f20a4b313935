/* net.h: what the files of the HTTP listener share: the sockets of a loop, connections, addresses, TLS.
 *
 * Everything here belongs to the thread that runs the loop.
 */
#ifndef MCP_SRC_IO_NET_H
#define MCP_SRC_IO_NET_H

#include <mcp/http.h>

#include "io/loop/loop.h"

typedef struct mcp__net mcp__net;
typedef struct mcp__connection mcp__connection;

/* ---- net.c: the sockets of one loop ------------------------------------------------------------- */

/* A date as text, made once per second. Zero-initialized. */
typedef struct mcp__date {
    int64_t second; /* since 1970 */
    size_t len;     /* 0: nothing yet */
    char text[80];
} mcp__date;

/* Something in the epoll set; the first member of what it belongs to. */
typedef struct mcp__socket {
    void (*ready)(struct mcp__socket *socket, uint32_t events);
    int fd;          /* -1: closed */
    uint32_t events; /* waited for */
    bool watched;    /* is in the set */
} mcp__socket;

struct mcp__net {
    mcp_loop *loop;
    int epoll;
    int reserve;    /* a descriptor to give up when there are no more; -1: given up */
    uv_poll_t poll; /* the epoll set, seen from the loop */
    uv_prepare_t prepare;
    uv_timer_t timer;
    int64_t armed; /* what the timer is set to; INT64_MAX: nothing */
    mcp__link listeners;
    mcp__link dead;         /* connections whose memory may still be named by an event */
    mcp__connection *dirty; /* there is something to do before the loop waits */
    mcp__connection **dirty_end;
    mcp__connection *corked; /* its output is collected until it was handed all of its input */
    size_t output_len;
    bool shedding; /* connections are being closed to make room: nobody is accepted in this turn */
    int64_t shed_at; /* not before this idle connections are looked for again */
    size_t turned_away;
    int64_t away_logged; /* when that was logged; 0: never */
    bool drained;        /* a listener's last connection went: who waits for that looks again */
    char *input, *output, *plain;
    mcp__date date;
};

enum { MCP__NET_BUFFER = 64 * 1024 };

/* The loop's sockets, made when first asked for. */
int mcp__net_get(mcp_loop *loop, mcp__net **ret, mcp_error *error);
/* Adds to the epoll set, or changes what is waited for. MCP_OK, MCP_ENOMEM or MCP_EIO. */
int mcp__net_watch(mcp__net *net, mcp__socket *socket, uint32_t events);
/* Closes the descriptor, which takes it out of the set. */
void mcp__net_close(mcp__socket *socket);
/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7), whatever the locale; valid until the next call. */
mcp_str mcp__date_text(mcp__date *date, int64_t second);
/* For mcp_http_set_clock_source(), with the net as user: the date now; milliseconds. */
mcp_str mcp__net_date(void *user);
int64_t mcp__net_clock(void *user);
/* Listeners are what keeps the loop running. */
void mcp__net_add(mcp__net *net, mcp__link *listener);
void mcp__net_remove(mcp__net *net, mcp__link *listener);

/* ---- listen.c ----------------------------------------------------------------------------------- */

struct mcp_listener {
    mcp__socket socket; /* closed: draining */
    mcp__link link;
    mcp__net *net;
    mcp_server *server;
    mcp_http *http;
    struct mcp__tls *tls;
    char *tls_cert, *tls_key; /* the names of the files */
    mcp__link connections;
    size_t n_connections;
    size_t keep_files;
    int64_t resume_at; /* accepting goes on then; INT64_MAX: it does */
    bool woken;
    bool lent;         /* the server got the loop's host */
    const char *path;  /* of a Unix socket's file; points into address */
    uint64_t dev, ino; /* of that file */
    char *address;
};

/* Does what is due by now; returns when something is due next. */
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
    char *out; /* [start, end) waits until the socket takes it */
    size_t cap, start, end;
    bool is_dirty;
    bool told;     /* the endpoint was told of bytes that wait */
    bool eof;      /* the peer sends no more */
    bool shutting; /* send what waits, then end our direction */
    bool closing;  /* send what waits, then close */
    bool paused;   /* the endpoint wants no input */
    bool failed;   /* nothing can be sent or received any more */
};

/* Takes the descriptor over, also on failure. */
void mcp__connection_open(mcp_listener *l, int fd, const char *peer, const char *address,
                          bool no_files);
/* Does what was left to do; afterwards it may be dead. */
void mcp__connection_settle(mcp__connection *c);
/* Closes it at once. */
void mcp__connection_drop(mcp__connection *c);
void mcp__connections_bury(mcp__net *net);

/* ---- address.c ---------------------------------------------------------------------------------- */

enum { MCP__ADDRESS_TEXT = 128 };

/* What an address text means. */
typedef struct mcp__address {
    bool loopback;    /* nobody from outside of the machine gets here */
    bool any;         /* all addresses of the machine */
    const char *path; /* of a Unix socket, else NULL; points into the text */
    char host[64];    /* as it stands in a URL */
    uint16_t port;
} mcp__address;

/* MCP_OK or MCP_EINVAL. */
int mcp__address_parse(mcp__address *a, const char *text, mcp_error *error);
/* Makes *ret a listening socket, not blocking; the port is the real one afterwards. MCP_EEXIST (somebody
 * listens there), MCP_EACCESS, MCP_EIO. */
int mcp__address_listen(mcp__address *a, unsigned mode, int *ret, mcp_error *error);
/* The other end of a connection: "127.0.0.1:4711" and "127.0.0.1", "unix:pid=12" and "unix". */
void mcp__address_peer(int fd, char peer[MCP__ADDRESS_TEXT], char address[MCP__ADDRESS_TEXT]);

/* ---- tls.c: OpenSSL, loaded when it is needed ----------------------------------------------------- */

typedef struct mcp__tls mcp__tls;                 /* certificate and key */
typedef struct mcp__tls_session mcp__tls_session; /* one connection */

/* MCP_OK; MCP_EUNSUPPORTED (no OpenSSL 3 here), MCP_EINVAL (the files cannot be read, are not a
 * certificate, or not its key), MCP_ENOMEM. */
int mcp__tls_new(const mcp_allocator *allocator, const char *cert, const char *key, mcp__tls **ret,
                 mcp_error *error);
/* Other files for the connections to come. As mcp__tls_new(); after a failure nothing changed. */
int mcp__tls_load(mcp__tls *tls, const char *cert, const char *key, mcp_error *error);
void mcp__tls_free(mcp__tls *tls);
mcp__tls_session *mcp__tls_session_new(mcp__tls *tls);
void mcp__tls_session_free(mcp__tls_session *s);
/* Bytes from the socket. MCP_OK or MCP_ENOMEM. */
int mcp__tls_feed(mcp__tls_session *s, mcp_str bytes);
/* The next plain bytes to `to`: how many; 0: none for now; MCP_ECLOSED: the peer said that it is
 * through; MCP_EPROTOCOL. */
int mcp__tls_read(mcp__tls_session *s, char *to, size_t room);
/* Whether the handshake is through. */
bool mcp__tls_ready(const mcp__tls_session *s);
/* Plain bytes to send. MCP_OK or MCP_EPROTOCOL. */
int mcp__tls_write(mcp__tls_session *s, mcp_str bytes);
/* Says that we are through. */
void mcp__tls_shutdown(mcp__tls_session *s);
/* Bytes for the socket; valid until mcp__tls_taken(), which forgets them. */
mcp_str mcp__tls_output(mcp__tls_session *s);
void mcp__tls_taken(mcp__tls_session *s);

#endif
