/* http_client.h: the internals of the HTTP client.
 *
 *   mcp__multi             libcurl's multi handle, which all clients of a loop share
 *   mcp__transfer          an HTTP request and its answer, including redirects
 *   mcp__client_exchange   a POST of a message and its answer, or an event stream opened by GET
 *   mcp_http_client        the transport of one mcp_client
 *
 * curl.c loads and runs libcurl, transfer.c runs requests, handles.c makes them, cookies.c keeps the
 * cookies of a client, post.c sends messages and handles their answers, repeat.c sends them again,
 * events.c reads and resumes event streams, http_client.c is the transport, leave.c ends sessions in
 * the background, transport_options.c reads its options, and fetch.c fetches documents.
 */
#ifndef MCP_SRC_IO_HTTP_CLIENT_H
#define MCP_SRC_IO_HTTP_CLIENT_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <mcp/sys/channel.h>

#include "auth/client/transport.h"
#include "base/library.h"
#include "http/client/parser.h"
#include "io/loop/flow.h"
#include "io/loop/parse_job.h"
#include "io/loop/pump.h"
#include "io/loop/loop.h"

typedef struct mcp__multi mcp__multi;
typedef struct mcp__transfer mcp__transfer;
typedef struct mcp__client_exchange mcp__client_exchange;
typedef struct mcp__jar mcp__jar;

/* ---- curl.c ---------------------------------------------------------------------------------- */

#define MCP__CURL_FUNCTIONS(X)  \
    X(curl_global_init)         \
    X(curl_version_info)        \
    X(curl_global_cleanup)      \
    X(curl_easy_init)           \
    X(curl_easy_setopt)         \
    X(curl_easy_getinfo)        \
    X(curl_easy_cleanup)        \
    X(curl_easy_pause)          \
    X(curl_easy_strerror)       \
    X(curl_share_init)          \
    X(curl_share_setopt)        \
    X(curl_share_cleanup)       \
    X(curl_slist_free_all)      \
    X(curl_multi_init)          \
    X(curl_multi_setopt)        \
    X(curl_multi_add_handle)    \
    X(curl_multi_remove_handle) \
    X(curl_multi_socket_action) \
    X(curl_multi_assign)        \
    X(curl_multi_info_read)     \
    X(curl_multi_cleanup)       \
    X(curl_getdate)             \
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
    uv_timer_t timer;  /* libcurl's time-outs */
    uv_timer_t holds;  /* fires when a transfer that is held may go on */
    uv_idle_t idle;    /* active while transfers have to be started or freed */
    mcp__link waiting; /* transfers to start */
    mcp__link running;
    mcp__link dead;     /* transfers to free, or to keep */
    mcp__link reusable; /* transfers that have ended, and wait for another request */
    size_t n_reusable;
    mcp__buf shape;  /* that of the request that is being started */
    unsigned inside; /* above 0 during a call of libcurl, when its handles must not be used */
    bool starved;    /* memory ran out, so a socket is not watched */
    bool pausing;    /* a transfer is paused */
    size_t n_long;   /* number of transfers that were paused in the turn before */
    uint64_t acts;   /* counts the calls of libcurl, for mcp__transfer.act */
    /* The number of open libuv handles and of clients. The memory is freed when the last of them
     * ends, because the handles of a client may be closed after those of the multi. */
    size_t n_users;
};

/* Sets *ret to the loop's multi handle, which is created at first use. Returns MCP_OK,
 * MCP_EUNSUPPORTED if libcurl cannot be used, or MCP_ENOMEM. */
int mcp__multi_get(mcp_loop *loop, mcp__multi **ret, mcp_error *error);
/* A client that keeps the multi handle takes a reference, and drops the reference when the client
 * is freed. */
void mcp__multi_ref(mcp__multi *multi);
void mcp__multi_unref(mcp__multi *multi);
/* Schedules work before the loop blocks: waiting transfers are started, and dead ones are freed. */
void mcp__multi_note(mcp__multi *multi);
/* Removes the dead transfers from libcurl and frees them. Must not be called in a callback of
 * libcurl. */
void mcp__multi_flush(mcp__multi *multi);
/* Resolves `reference` relative to `base` (RFC 3986, 5.2). The caller releases *ret with the loop's
 * allocator. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int mcp__multi_resolve(mcp__multi *multi, const char *base, mcp_str reference, char **ret);

/* ---- transfer.c ------------------------------------------------------------------------------ */

typedef enum mcp__method { MCP__GET = 0, MCP__POST, MCP__DELETE } mcp__method;

/* How to connect for a request. */
typedef struct mcp__target {
    const char *unix_socket; /* path; NULL means TCP */
    const char *proxy;       /* "" means no proxy; NULL means the default, see set_connection() */
    const char *ca_file;     /* NULL means the system's certificates */
    uint64_t connect_ms;     /* time-out; 0 means the default, 10000 */
    bool any_origin;  /* redirects may lead to another origin; the headers must have no secrets */
    bool public_only; /* refuse local and private addresses; a proxy must check them itself */
    bool no_redirect; /* refuse all redirects, because the request may contain secrets */
} mcp__target;

/* The callbacks of a transfer. `head` and `bytes` are called within libcurl: they may start and
 * abandon transfers, but must not run the loop. */
typedef struct mcp__transfer_events {
    /* Called when the head of the final answer is complete. Returns false to stop the transfer;
     * `done` is then called with MCP_OK. */
    bool (*head)(void *arg, const mcp__answer *answer);
    /* Called with parts of the body. Returns false to stop, like `head`. */
    bool (*bytes)(void *arg, mcp_str bytes);
    /* Called when the transfer has ended. The transfer is freed later, so t->answer is valid during
     * the call. rc is MCP_OK, MCP_ECLOSED (no connection, or it broke off), MCP_ETIMEOUT,
     * MCP_EACCESS (the certificate, address or redirect is not trusted), MCP_ELIMIT, MCP_EPROTOCOL,
     * MCP_EUNSUPPORTED, MCP_ENOMEM, or MCP_ECANCELLED (the loop is being freed). `text` describes
     * a failure, and is NULL if rc is MCP_OK. */
    void (*done)(void *arg, int rc, const char *text);
} mcp__transfer_events;

typedef struct mcp__transfer_request {
    mcp__method method;
    const char *url;
    const mcp__headers *headers; /* copied */
    mcp_str body;                /* of a POST; borrowed until the transfer has ended */
    uint64_t timeout_ms;         /* of the whole transfer; 0 means no limit */
    bool decode;                 /* asks for a compressed answer and decompresses it */
    bool once;                   /* the request is not sent again if it may have arrived */
    const mcp__target *target;
    mcp__jar *jar; /* the cookies of the client; NULL means none */
    const mcp__transfer_events *events;
    void *arg;
} mcp__transfer_request;

struct mcp__transfer {
    mcp__link link; /* in multi->waiting, running or dead */
    mcp__multi *multi;
    const mcp__transfer_events *events; /* NULL if it was abandoned */
    void *arg;
    mcp__target target; /* its strings are valid only in mcp__transfer_start() */
    mcp__method method;
    CURL *easy;
    mcp__headers lines; /* the headers, to which the nodes of libcurl's list point */
    mcp__buf nodes;
    mcp__buf shape; /* the options that its handle has; empty if it is used only once */
    mcp__answer answer;
    mcp__jar *jar; /* whose cookies its handle has; NULL if none */
    char *url;
    unsigned redirects;
    unsigned n_sent;     /* how often libcurl has begun to send the request */
    int failed;          /* error for which a callback stopped libcurl, or MCP_OK */
    bool added;          /* it was added to libcurl's multi handle */
    bool satisfied;      /* head() or bytes() returned false */
    bool head_reported;  /* head() was called */
    bool once;           /* the request is not sent again if it may have arrived */
    bool begun;          /* the request was sent; set only if it may be sent only once */
    bool checks_address; /* checks the addresses to which it connects */
    bool has_no_bundle;  /* of certificates; libcurl has none of its own either */
    bool paused;         /* until the next turn of the loop, or until held_until */
    bool ended_well;     /* libcurl has received all of the answer */
    bool is_reusable;    /* it is in multi->kept */
    uint64_t act;        /* the call of libcurl in which `taken` bytes arrived */
    size_t taken;
    int64_t held_until; /* the time of the loop before which nothing more is read */
    char error[CURL_ERROR_SIZE];
};

/* handles.c: schedules a transfer, which starts before the loop blocks. No callback is called
 * before this returns. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int mcp__transfer_start(mcp__multi *multi, const mcp__transfer_request *request,
                        mcp__transfer **ret);
/* Keeps a transfer that libcurl no longer runs for another request, or frees it. */
void mcp__transfer_release(mcp__transfer *t);
void mcp__transfer_free(mcp__transfer *t);
/* Frees the transfers that are kept. */
void mcp__transfers_forget(mcp__multi *multi);
/* transfer.c: sets the functions that libcurl calls. Returns whether there was memory. */
bool mcp__transfer_set_callbacks(mcp__transfer *t);
/* curl.c: counts n bytes that arrive. Returns whether they have to wait for the next turn of the loop,
 * because the transfer had its share of this one. */
bool mcp__transfer_must_wait(mcp__transfer *t, size_t n);
/* Counts an event of its stream, which takes longer than its bytes. */
void mcp__transfer_took_event(mcp__transfer *t);
/* Reads no more of the answer before this time of the loop. What libcurl has read already is kept, and
 * then the server has to wait. */
void mcp__transfer_hold(mcp__transfer *t, int64_t until);
/* Stops a transfer. None of its callbacks is called any more. */
void mcp__transfer_abandon(mcp__transfer *t);
/* Handles the end of a transfer in libcurl, or a redirect. */
void mcp__transfer_over(mcp__transfer *t, CURLcode code);
/* Stops a transfer and calls its `done` with the error rc. */
void mcp__transfer_fail(mcp__transfer *t, int rc);
/* Returns whether an address is public: it does not belong to this machine, nor to a private or
 * special-purpose network. */
bool mcp__address_is_public(const struct sockaddr *address);
/* Returns whether a URL contains an address that is not public, or a name of this machine. Any
 * other name may still resolve to such an address. A proxy resolves names itself, and its
 * connections cannot be checked. If a proxy is used, unusual spellings of addresses are therefore
 * recognized too. */
bool mcp__url_is_private(mcp_str url, const char *proxy);

/* ---- cookies.c ------------------------------------------------------------------------------- */

/* Makes an empty jar of cookies. Returns NULL if out of memory. */
mcp__jar *mcp__jar_new(mcp__multi *multi);
/* Drops the client's reference. The jar is freed when no transfer uses it any more. */
void mcp__jar_unref(mcp__jar *jar);
/* Gives the handle of a transfer the cookies. Returns whether there was memory. */
bool mcp__jar_enter(mcp__jar *jar, mcp__transfer *t);
/* Takes them away. libcurl must no longer run the transfer. */
void mcp__jar_leave(mcp__transfer *t);

/* ---- post.c ---------------------------------------------------------------------------------- */

typedef enum mcp__stage {
    MCP__WAITING = 0, /* waits until it is due, or until other exchanges end */
    MCP__SENT,        /* has a transfer */
    MCP__PARKED,      /* waits for authorization */
    MCP__GONE,        /* will be freed before the loop blocks */
} mcp__stage;

/* A message of the client and its answer, a GET for unsolicited messages of the server, or the
 * DELETE of a session. */
struct mcp__client_exchange {
    mcp__link link; /* in http->exchanges */
    mcp_http_client *http;
    mcp_exchange number; /* the exchange of the channel, or 0 if its end is not reported */
    mcp__http_request_kind kind;
    mcp__stage stage;
    mcp__verdict verdict; /* valid once the head of the answer is complete */
    bool modern, handshake, initialized, once;
    bool reply;     /* the message answers a request of the server */
    bool resuming;  /* resumes the stream of its POST with a GET */
    bool answered;  /* the answer has arrived, so the stream may end */
    bool opened;    /* its event stream was open at least once */
    bool heard;     /* an event has arrived since the transfer began */
    bool broke_off; /* its event stream ended before the answer */
    bool is_long;   /* the answer is longer than the limit by its Content-Length */
    bool is_cut;    /* the answer is too long and was truncated */
    bool own_pause; /* the client itself decides when to send the message again */
    int64_t due;    /* when to continue or, if MCP__SENT, to stop; INT64_MAX means never */
    unsigned failures, refusals; /* of streams, in a row; of requests, for lack of authorization */
    unsigned repeats;            /* how often it was sent again after a pause */
    uint64_t waited_ms;          /* all these pauses */
    int64_t expires;             /* when the client gives the message up; INT64_MAX means never */
    int status;                  /* HTTP status of the latest refusal */
    mcp__oauth_sent authorized;  /* with which token it was sent */
    uint64_t session;            /* http->n_sessions when it was sent with a session id, else 0 */
    mcp__transfer *transfer;
    mcp__buf message;
    mcp__headers headers; /* headers that the channel has set */
    mcp__buf body;
    mcp__parse_job *parse; /* parses the body */
    mcp__sse sse;
};

/* Creates an exchange, which is started before the loop blocks. Returns NULL if out of memory. */
mcp__client_exchange *mcp__client_exchange_new(mcp_http_client *http, mcp__http_request_kind kind);
void mcp__client_exchange_free(mcp__client_exchange *e);
/* Starts the transfer of an exchange. */
void mcp__client_exchange_start(mcp__client_exchange *e);
/* Stops an exchange without a report to the client. It is freed before the loop blocks. */
void mcp__client_exchange_drop(mcp__client_exchange *e);
/* Drops an exchange that has no answer, and reports that to the client. `status` is the HTTP
 * status, or 0 if there was none. */
void mcp__client_exchange_end(mcp__client_exchange *e, int status, const char *text);
/* Stops the transfer of an exchange whose deadline has passed, and handles what has arrived. */
void mcp__client_exchange_stop(mcp__client_exchange *e);
/* Continues an exchange that waits for authorization, or ends it if rc is an error, for the reason
 * `text`, or that of rc if text is NULL. */
void mcp__client_exchange_authorized(mcp__client_exchange *e, int rc, const char *text);

/* ---- repeat.c -------------------------------------------------------------------------------- */

/* Sends the message of an exchange again after the pause that the server asks for, if this answer
 * means that the message had no effect. Otherwise, it may append to `text` why it is not sent again. */
bool mcp__client_exchange_repeat(mcp__client_exchange *e, const mcp__answer *answer, char *text,
                                 size_t room);

/* ---- events.c -------------------------------------------------------------------------------- */

/* Processes bytes of an event stream. Returns false to stop the transfer. */
bool mcp__client_exchange_events(mcp__client_exchange *e, mcp_str bytes);
/* Handles the end of an event stream, whose reason is in rc and text: resumes the stream later, or
 * ends the exchange. */
void mcp__client_exchange_stream_ended(mcp__client_exchange *e, int rc, const char *text);
/* Handles an answer to a GET that is not an event stream. */
void mcp__client_exchange_stream_refused(mcp__client_exchange *e, const char *text);
/* Opens the GET for unsolicited messages of the server. */
void mcp__stream_open(mcp_http_client *http);

/* ---- http_client.c --------------------------------------------------------------------------- */

typedef enum mcp__http_mode {
    MCP__STREAMABLE = 0,
    MCP__HTTP_SSE_OPENING, /* HTTP+SSE of 2024-11-05: messages wait for the endpoint */
    MCP__HTTP_SSE_OPEN,
    MCP__HTTP_OVER,
} mcp__http_mode;

struct mcp_http_client {
    mcp__pump pump;
    mcp__multi *multi;
    mcp__jar *jar;
    const mcp_allocator *allocator;
    mcp_http_client_options options; /* its strings are NULL */
    mcp__target target;
    char *url, *unix_socket, *proxy, *ca_file;
    char *endpoint;                  /* of HTTP+SSE */
    mcp__headers headers;            /* headers that the program has set */
    mcp__oauth_transport authorized; /* if options.oauth is set */
    mcp__http_mode mode;
    mcp__link exchanges; /* oldest first */
    size_t n_sent[MCP__REQUEST_KINDS], n_replies;
    mcp__client_exchange *stream; /* the open GET for unsolicited messages */
    mcp__flow flow;               /* of all event streams */
    /* How the last handshake was refused, before the client falls back to HTTP+SSE. */
    struct {
        int status;
        char text[256];
        mcp__buf body;
    } refused;
    mcp__buf session;    /* the session id; empty if there is none */
    uint64_t n_sessions; /* number of sessions so far */
    uv_timer_t timer;    /* fires at the earliest deadline */
    bool timer_open;
    bool starved; /* memory ran out and a message was lost, so the connection will end */
    bool closing;
    bool freed; /* the memory is released when the last handle is closed */
};

/* Schedules a pass over all exchanges before the loop blocks. The pass starts, stops and frees
 * exchanges as necessary. */
void mcp__http_note(mcp_http_client *http);
static inline int64_t mcp__http_now(const mcp_http_client *http)
{
    return mcp__loop_now(http->pump.loop);
}
/* Ends the connection for the given reason, and drops all exchanges. */
void mcp__http_disconnect(mcp_http_client *http, const char *why);
/* Sets the defaults of http->options, and copies the strings. Returns MCP_OK, MCP_EINVAL,
 * MCP_ELIMIT or MCP_ENOMEM. */
int mcp__http_client_read_options(mcp_http_client *http, mcp_error *error);
/* Sets the strings, which the program owns, to NULL. */
void mcp__http_client_forget_texts(mcp_http_client_options *o);
/* Ends a failed attempt to use HTTP+SSE, and the messages that wait for its endpoint. `why` is what is
 * wrong with the event stream; NULL means that the server has none, so that the messages end as the
 * handshake before did. */
void mcp__http_fall_back_failed(mcp_http_client *http, int status, const char *why);
/* Returns how many milliseconds to wait after `failures` failures in a row. `retry` is the server's
 * value in milliseconds, or -1. */
uint64_t mcp__http_delay(const mcp_http_client *http, int64_t retry, unsigned failures);

#endif
