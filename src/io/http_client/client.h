/* client.h: shared by the files of the HTTP client: libcurl, transfers, exchanges.
 *
 *   mcp__multi             libcurl's multi handle on one loop; all users of the loop share connections
 *   mcp__transfer          one HTTP request and its answer, including redirects
 *   mcp__client_exchange   one POST of a message and its answer, or one event stream of the server
 *   mcp_http_client        the transport of one mcp_client
 *
 * curl.c loads and runs libcurl, transfer.c sets up and handles a request, exchange.c is the life of
 * exchanges, events.c reads and resumes event streams, client.c is the transport, fetch.c does plain
 * GETs.
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
    uv_timer_t timer;  /* for libcurl */
    uv_idle_t idle;    /* runs before the loop waits, if transfers have to be started or freed */
    mcp__link waiting; /* transfers to start */
    mcp__link running;
    mcp__link dead;  /* transfers to free */
    unsigned inside; /* above 0 during a call of libcurl: its handles must not be touched */
    bool starved;    /* a socket is not watched, because memory ran out */
    /* The number of open libuv handles and of clients. The last one that ends frees the memory: a
     * client's own handles may be closed after those of the multi. */
    size_t n_users;
};

/* Returns the loop's multi handle, created at first use. Returns MCP_EUNSUPPORTED (no libcurl),
 * MCP_ENOMEM or MCP_EIO on failure. */
int mcp__multi_get(mcp_loop *loop, mcp__multi **ret, mcp_error *error);
/* A client that keeps the multi handle takes a reference, and drops it when it is freed. */
void mcp__multi_ref(mcp__multi *multi);
void mcp__multi_unref(mcp__multi *multi);
/* Schedules starting and freeing of transfers before the loop waits. */
void mcp__multi_note(mcp__multi *multi);
/* Frees abandoned transfers and removes them from libcurl. Must not be called from within
 * libcurl. */
void mcp__multi_flush(mcp__multi *multi);
/* Resolves `reference` against `base` (RFC 3986, 5.2). The caller releases the result with the
 * loop's allocator. Returns MCP_EINVAL or MCP_ENOMEM on failure. */
int mcp__multi_resolve(mcp__multi *multi, const char *base, mcp_str reference, char **ret);

/* ---- transfer.c --------------------------------------------------------------------------- */

typedef enum mcp__method { MCP__GET = 0, MCP__POST, MCP__DELETE } mcp__method;

/* The destination of requests, and the way there. */
typedef struct mcp__target {
    const char *unix_socket; /* path; NULL: TCP */
    const char *proxy;       /* "": none; NULL: from the environment, but none for loopback */
    const char *ca_file;     /* NULL: the system's */
    uint64_t connect_ms;
    bool
        any_origin; /* redirects may lead to another origin (the headers must contain no secrets) */
    bool public_only; /* refuses local and private addresses, unless a proxy connects */
} mcp__target;

/* Except `done`, these are called from within libcurl: they may start and abandon transfers, but
 * not run the loop. */
typedef struct mcp__transfer_events {
    /* The head of the answer is complete. Returns false to stop; `done` follows with MCP_OK. */
    bool (*head)(void *arg, const mcp__answer *answer);
    bool (*bytes)(void *arg, mcp_str bytes);
    /* The transfer is over. It is freed soon afterwards; t->answer is still valid during the call.
     * rc: MCP_OK, MCP_ECLOSED (not connected, or broken off), MCP_ETIMEOUT, MCP_EACCESS (an
     * untrusted certificate, address or redirect), MCP_ELIMIT, MCP_EPROTOCOL, MCP_EUNSUPPORTED,
     * MCP_ENOMEM, MCP_ECANCELLED (the loop is being freed). */
    void (*done)(void *arg, int rc, const char *text);
} mcp__transfer_events;

typedef struct mcp__transfer_request {
    mcp__method method;
    const char *url;
    const mcp__headers *headers; /* copied */
    mcp_str body;                /* of POST; borrowed until the transfer is over */
    uint64_t timeout_ms;         /* for the whole transfer; 0: none */
    bool decode;                 /* request compression */
    bool once;                   /* do not repeat a request that may have arrived */
    const mcp__target *target;
    const mcp__transfer_events *events;
    void *arg;
} mcp__transfer_request;

struct mcp__transfer {
    mcp__link link; /* in one list of the multi */
    mcp__multi *multi;
    const mcp__transfer_events *events; /* NULL: abandoned */
    void *arg;
    mcp__target target; /* its texts are valid only during the start */
    mcp__method method;
    CURL *easy;
    struct curl_slist *headers;
    mcp__answer answer;
    char *url;
    unsigned redirects;
    int failed;     /* code of ours that explains why libcurl was stopped */
    bool added;     /* is in the multi handle */
    bool satisfied; /* head() or bytes() returned false */
    bool told_head;
    bool begun; /* a request was sent to a server; set only if it may be sent only once */
    bool looks; /* checks the addresses that it connects to */
    char error[CURL_ERROR_SIZE];
};

/* Starts a transfer before the loop waits next. No function is called before this returns. Returns
 * MCP_EINVAL or MCP_ENOMEM on failure. */
int mcp__transfer_start(mcp__multi *multi, const mcp__transfer_request *request,
                        mcp__transfer **ret);
/* Closes a transfer; none of its functions are called any more. */
void mcp__transfer_abandon(mcp__transfer *t);
/* Called when libcurl has finished with it. */
void mcp__transfer_over(mcp__transfer *t, CURLcode code);
void mcp__transfer_free(mcp__transfer *t);
/* Ends a transfer with a code of ours. */
void mcp__transfer_fail(mcp__transfer *t, int rc);
/* Whether an address is a public one: not of this machine, of a private or of a special network. */
bool mcp__address_is_public(const struct sockaddr *address);
/* Whether a URL contains a private address or names this machine. A name may still resolve to one.
 * With a proxy, which resolves names itself and whose connections are not checked, unusual
 * spellings count too. */
bool mcp__url_is_private(mcp_str url, const char *proxy);

/* ---- exchange.c ------------------------------------------------------------------------------ */

typedef enum mcp__stage {
    MCP__WAITING = 0, /* for its time, or for others to end */
    MCP__SENT,        /* has a transfer */
    MCP__PARKED,      /* for authorization */
    MCP__GONE,        /* to be freed */
} mcp__stage;

/* A message of the client and its answer, or a GET for unsolicited messages of the server. */
struct mcp__client_exchange {
    mcp__link link; /* in http->exchanges */
    mcp_http_client *http;
    mcp_exchange number; /* number of the engine's exchange; 0: its end is not reported */
    mcp__asked asked;
    mcp__stage stage;
    mcp__verdict verdict; /* valid once the head of the answer is complete */
    bool modern, handshake, initialized, once;
    bool reply;     /* answers a request of the server */
    bool resuming;  /* resumes with GET the stream of a POST */
    bool answered;  /* the answer has arrived; the stream may end */
    bool opened;    /* its stream was open at least once */
    bool heard;     /* an event arrived since the transfer began */
    bool broke_off; /* its event stream ended before the answer */
    bool is_cut;    /* the answer is too long */
    int64_t due;    /* when to continue or (MCP__SENT) to stop; INT64_MAX: never */
    unsigned failures, refusals;
    int status;       /* of the latest refusal */
    uint64_t session; /* value of http->n_sessions when it was sent; 0: no session */
    mcp__transfer *transfer;
    mcp__buf message;
    mcp__headers headers; /* set by the engine */
    mcp__buf body;
    mcp__sse sse;
};

/* Creates an exchange that waits to be started. Returns NULL if out of memory. */
mcp__client_exchange *mcp__client_exchange_new(mcp_http_client *http, mcp__asked asked);
void mcp__client_exchange_free(mcp__client_exchange *e);
/* Sends it. */
void mcp__client_exchange_start(mcp__client_exchange *e);
/* Closes it. It is freed before the loop waits. */
void mcp__client_exchange_drop(mcp__client_exchange *e);
/* Ends it without an answer: reports that to the engine and drops it. */
void mcp__client_exchange_end(mcp__client_exchange *e, int status, const char *text);
/* Stops its transfer, because its time is over. */
void mcp__client_exchange_enough(mcp__client_exchange *e);
/* Continues it after authorization. */
void mcp__client_exchange_authorized(mcp__client_exchange *e, int rc);

/* ---- events.c ---------------------------------------------------------------------------------- */

/* Reads bytes of an event stream. Returns false if no more bytes are needed. */
bool mcp__client_exchange_events(mcp__client_exchange *e, mcp_str bytes);
/* Handles the end of a stream, described by rc and text: it is resumed later, or the exchange
 * ends. */
void mcp__client_exchange_stream_ended(mcp__client_exchange *e, int rc, const char *text);
/* Handles an answer to a GET that is not a stream. */
void mcp__client_exchange_stream_refused(mcp__client_exchange *e, const char *text);
/* Opens the GET for unsolicited messages of the server. */
void mcp__stream_open(mcp_http_client *http);

/* ---- client.c ------------------------------------------------------------------------------------------ */

typedef enum mcp__http_mode {
    MCP__STREAMABLE = 0,
    MCP__HTTP_SSE_OPENING, /* 2024-11-05: messages wait for the endpoint */
    MCP__HTTP_SSE_OPEN,
    MCP__HTTP_OVER,
} mcp__http_mode;

struct mcp_http_client {
    mcp__pump pump;
    mcp__multi *multi;
    const mcp_allocator *allocator;
    mcp_http_client_options options; /* its texts are cleared */
    mcp__target target;
    char *url, *unix_socket, *proxy, *ca_file;
    char *endpoint;       /* of HTTP+SSE */
    mcp__headers headers; /* set by the program */
    mcp__http_mode mode;
    mcp__link exchanges; /* oldest first */
    size_t n_sent[MCP__ASKED_KINDS], n_replies;
    mcp__client_exchange *stream; /* the open GET for unsolicited messages */
    mcp__buf session;             /* empty: none */
    uint64_t n_sessions;
    uv_timer_t timer; /* for the earliest deadline */
    bool timer_open;
    bool starved; /* out of memory: a message was lost */
    bool closing;
    bool freed; /* the memory goes with the last handle */
};

/* Schedules starting, freeing and arming before the loop waits. */
void mcp__http_note(mcp_http_client *http);
static inline int64_t mcp__http_now(const mcp_http_client *http)
{
    return mcp__loop_now(http->pump.loop);
}
/* Ends the connection. */
void mcp__http_over(mcp_http_client *http, const char *why);
/* Takes the options over that http->options has; its texts are still the program's. */
int mcp__http_client_read_options(mcp_http_client *http, mcp_error *error);
void mcp__http_client_forget_texts(mcp_http_client_options *o);
/* Ends an attempt to use HTTP+SSE. */
void mcp__http_no_fall_back(mcp_http_client *http, int status, const char *why);
/* Returns how long to wait after so many failures. */
uint64_t mcp__http_delay(const mcp_http_client *http, int64_t retry, unsigned failures);

#endif
