/* client.h: what the files of the HTTP client share: libcurl, transfers, exchanges.
 *
 *   mcp__multi        libcurl's multi handle on one loop: connections are shared by all that use the loop
 *   mcp__transfer   one HTTP request and its answer, redirects followed
 *   mcp__client_exchange   one POST of a message and all that belongs to it, or one stream of the server's
 *   mcp_http_client the transport of one mcp_client
 *
 * curl.c loads libcurl and drives it, transfer.c sets a request up and follows it,
 * exchange.c the life of exchanges, events.c what event streams bring and how they
 * are resumed, client.c the transport, fetch.c plain GETs.
 */
#ifndef MCP_SRC_IO_HTTP_CLIENT_H
#define MCP_SRC_IO_HTTP_CLIENT_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/library.h"
#include "http/client/client.h"
#include "io/loop/pump.h"
#include "io/loop/loop.h"

typedef struct mcp__multi mcp__multi;
typedef struct mcp__transfer mcp__transfer;
typedef struct mcp__client_exchange mcp__client_exchange;

/* ---- curl.c ----------------------------------------------------------------------------- */

#define MCP__CURL_FUNCTIONS(X)  \
    X(curl_global_init)         \
    X(curl_version_info)        \
    X(curl_global_cleanup)      \
    X(curl_easy_init)           \
    X(curl_easy_setopt)         \
    X(curl_easy_getinfo)        \
    X(curl_easy_cleanup)        \
    X(curl_easy_strerror)       \
    X(curl_slist_append)        \
    X(curl_slist_free_all)      \
    X(curl_multi_init)          \
    X(curl_multi_setopt)        \
    X(curl_multi_add_handle)    \
    X(curl_multi_remove_handle) \
    X(curl_multi_socket_action) \
    X(curl_multi_assign)        \
    X(curl_multi_info_read)     \
    X(curl_multi_cleanup)       \
    X(curl_url)                 \
    X(curl_url_set)             \
    X(curl_url_get)             \
    X(curl_url_cleanup)         \
    X(curl_free)

typedef struct mcp__curl {
    MCP__CURL_FUNCTIONS(MCP__LIBRARY_MEMBER)
} mcp__curl;

struct mcp__multi {
    mcp_loop *loop;
    mcp__curl f;
    CURLM *handle;
    uv_timer_t timer;  /* libcurl's */
    uv_idle_t idle;    /* runs before the loop waits when transfers are to be started or freed */
    mcp__link waiting; /* transfers to be started */
    mcp__link running;
    mcp__link dead;   /* to be freed */
    unsigned inside;  /* libcurl is being called: its handles must not be touched */
    bool starved;     /* there was no memory to watch a socket */
    size_t n_handles; /* of libuv's: with the last one the memory goes */
};

/* The loop's, made when first asked for. MCP_EUNSUPPORTED (no libcurl here), MCP_ENOMEM, MCP_EIO. */
int mcp__multi_get(mcp_loop *loop, mcp__multi **ret, mcp_error *error);
/* Starts and frees what waits for that before the loop waits. */
void mcp__multi_note(mcp__multi *multi);
/* Frees what was abandoned; afterwards libcurl knows nothing of it. Only while libcurl does not call. */
void mcp__multi_flush(mcp__multi *multi);
/* `reference` as it is meant on a page at `base` (RFC 3986, 5.2). The result is released with the loop's
 * allocator. MCP_EINVAL, MCP_ENOMEM. */
int mcp__multi_resolve(mcp__multi *multi, const char *base, mcp_str reference, char **ret);

/* ---- transfer.c --------------------------------------------------------------------------- */

typedef enum mcp__method { MCP__GET = 0, MCP__POST, MCP__DELETE } mcp__method;

/* Where requests go and how. */
typedef struct mcp__target {
    const char *unix_socket; /* path; NULL: by TCP */
    const char *proxy;       /* "": none; NULL: as the environment says, loopback directly */
    const char *ca_file;     /* NULL: the system's */
    uint64_t connect_ms;
    bool
        any_origin; /* redirects may lead to another origin (there must be no secrets in the headers) */
    bool public_only; /* never to an address of this machine or a private network, as far as a proxy
                         leaves that to us */
} mcp__target;

/* Called from within libcurl, but for `done`: transfers may be started and abandoned, no loop be run. */
typedef struct mcp__transfer_events {
    /* The head of the answer is complete. False: enough, `done` follows with MCP_OK. */
    bool (*head)(void *arg, const mcp__answer *answer);
    bool (*bytes)(void *arg, mcp_str bytes);
    /* It is over, and freed soon afterwards: t->answer can still be looked at. rc: MCP_OK; MCP_ECLOSED (not connected, or broken off),
     * MCP_ETIMEOUT, MCP_EACCESS (a certificate, an address or a redirect that is not trusted), MCP_ELIMIT,
     * MCP_EPROTOCOL, MCP_EUNSUPPORTED, MCP_ENOMEM, MCP_ECANCELLED (the loop is being freed). */
    void (*done)(void *arg, int rc, const char *text);
} mcp__transfer_events;

typedef struct mcp__transfer_request {
    mcp__method method;
    const char *url;
    const mcp__headers *headers; /* copied */
    mcp_str body;                /* of POST; borrowed until the end */
    uint64_t timeout_ms;         /* for all of it; 0: none */
    bool decode;                 /* ask for compression */
    bool once;                   /* do not send it again where it may have arrived */
    const mcp__target *target;
    const mcp__transfer_events *events;
    void *arg;
} mcp__transfer_request;

struct mcp__transfer {
    mcp__link link; /* in one list of the multi */
    mcp__multi *multi;
    const mcp__transfer_events *events; /* NULL: abandoned */
    void *arg;
    mcp__target target; /* its texts are gone after the start */
    mcp__method method;
    CURL *easy;
    struct curl_slist *headers;
    mcp__answer answer;
    char *url;
    unsigned redirects;
    int failed;     /* ours: a code that explains why libcurl was stopped */
    bool added;     /* is in the multi handle */
    bool satisfied; /* head or bytes said that it is enough */
    bool told_head;
    bool begun; /* its request was on its way to a server; counted if it may be sent once only */
    bool looks; /* at the addresses that it connects to */
    char error[CURL_ERROR_SIZE];
};

/* Starts it before the loop waits; nothing is called back from within. MCP_EINVAL, MCP_ENOMEM. */
int mcp__transfer_start(mcp__multi *multi, const mcp__transfer_request *request,
                        mcp__transfer **ret);
/* Closes it; nothing is called back any more. */
void mcp__transfer_abandon(mcp__transfer *t);
/* libcurl is through with it. */
void mcp__transfer_over(mcp__transfer *t, CURLcode code);
void mcp__transfer_free(mcp__transfer *t);
/* It ends with a code of ours. */
void mcp__transfer_fail(mcp__transfer *t, int rc);
/* Whether an address is one of the Internet: not of this machine, a private or a special network. */
bool mcp__address_is_public(const struct sockaddr *address);
/* Whether a URL names one that is not, or this machine; a name may still mean one. With a proxy, which looks names up
 * itself and whose sockets nobody looks at, odd spellings of one too. */
bool mcp__url_is_private(mcp_str url, const char *proxy);

/* ---- exchange.c ------------------------------------------------------------------------------ */

typedef enum mcp__stage {
    MCP__WAITING = 0, /* for its time, or for others to end */
    MCP__SENT,        /* has a transfer */
    MCP__PARKED,      /* for authorization */
    MCP__GONE,        /* to be freed */
} mcp__stage;

/* One message of ours and what comes of it, or one GET for what the server says unasked. */
struct mcp__client_exchange {
    mcp__link link; /* in the client's */
    mcp_http_client *http;
    mcp_exchange number; /* the engine's; 0: nobody is told how it ends */
    mcp__asked asked;
    mcp__stage stage;
    mcp__verdict verdict; /* once the head of an answer is there */
    bool modern, handshake, initialized, once;
    bool reply;     /* to a request of the server's */
    bool resuming;  /* by GET what a POST began */
    bool answered;  /* the stream may end */
    bool opened;    /* there was a stream */
    bool heard;     /* an event since the transfer began */
    bool broke_off; /* its event stream ended before the answer */
    bool is_cut;    /* the answer is too long */
    int64_t due;    /* when it goes on, or is enough (MCP__SENT); INT64_MAX: nothing is due */
    unsigned failures, refusals;
    int status;       /* of the last refusal */
    uint64_t session; /* which of the client's: http->n_sessions when it was sent; 0: none */
    mcp__transfer *transfer;
    mcp__buf message;
    mcp__headers headers; /* the engine's */
    mcp__buf body;
    mcp__sse sse;
};

/* Waits to be started. NULL: no memory. */
mcp__client_exchange *mcp__client_exchange_new(mcp_http_client *http, mcp__asked asked);
void mcp__client_exchange_free(mcp__client_exchange *e);
/* Sends it. */
void mcp__client_exchange_start(mcp__client_exchange *e);
/* Closes it; it is freed before the loop waits. */
void mcp__client_exchange_drop(mcp__client_exchange *e);
/* It is over without an answer: tells the engine and drops it. */
void mcp__client_exchange_end(mcp__client_exchange *e, int status, const char *text);
/* Its time has come while it was sent. */
void mcp__client_exchange_enough(mcp__client_exchange *e);
/* The authorization that it waited for. */
void mcp__client_exchange_authorized(mcp__client_exchange *e, int rc);

/* ---- events.c ---------------------------------------------------------------------------------- */

/* Bytes of an event stream. False: nothing more of it is wanted. */
bool mcp__client_exchange_events(mcp__client_exchange *e, mcp_str bytes);
/* A stream ended, rc and text say how: goes on later, or ends the exchange. */
void mcp__client_exchange_stream_ended(mcp__client_exchange *e, int rc, const char *text);
/* The answer to a GET was no stream. */
void mcp__client_exchange_stream_refused(mcp__client_exchange *e, const char *text);
/* Opens the GET for what the server says unasked. */
void mcp__stream_open(mcp_http_client *http);

/* ---- client.c ------------------------------------------------------------------------------------------ */

typedef enum mcp__http_mode {
    MCP__STREAMABLE = 0,
    MCP__HTTP_SSE_OPENING, /* 2024-11-05: what is sent waits for the endpoint */
    MCP__HTTP_SSE_OPEN,
    MCP__HTTP_OVER,
} mcp__http_mode;

struct mcp_http_client {
    mcp__pump pump;
    mcp__multi *multi;
    const mcp_allocator *allocator;
    mcp_http_client_options options; /* without its texts */
    mcp__target target;
    char *url, *unix_socket, *proxy, *ca_file;
    char *endpoint;       /* of HTTP+SSE */
    mcp__headers headers; /* the program's */
    mcp__http_mode mode;
    mcp__link exchanges; /* oldest first */
    size_t n_sent[MCP__ASKED_KINDS], n_replies;
    mcp__client_exchange *stream; /* the one that is open for what the server says unasked */
    mcp__buf session;             /* empty: there is none */
    uint64_t n_sessions;
    uv_timer_t timer; /* what is due */
    bool timer_open;
    bool starved; /* a message was lost for want of memory */
    bool closing;
};

/* Something changed: start, free, arm. */
void mcp__http_note(mcp_http_client *http);
static inline int64_t mcp__http_now(const mcp_http_client *http)
{
    return mcp__loop_now(http->pump.loop);
}
/* The connection is over. */
void mcp__http_over(mcp_http_client *http, const char *why);
/* There is no HTTP+SSE either. */
void mcp__http_no_fall_back(mcp_http_client *http, int status, const char *why);
/* How long to wait after so many failures. */
uint64_t mcp__http_delay(const mcp_http_client *http, int64_t retry, unsigned failures);

#endif
