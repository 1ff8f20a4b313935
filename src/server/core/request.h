/* request.h: a request in progress, and the reply that is being written. */
#ifndef MCP_SRC_SERVER_REQUEST_H
#define MCP_SRC_SERVER_REQUEST_H

#include <stdarg.h>
#include <stdatomic.h>

#include "json/json.h"
#include "server/core/deadline.h"
#include "server/core/hold.h"
#include "server/core/server.h"
#include "server/core/session.h"

typedef struct mcp__method mcp__method;

typedef enum mcp__request_state {
    MCP__REQUEST_RUNNING = 0, /* its handler is on the stack */
    MCP__REQUEST_PENDING,     /* mcp_reply_finish() has not been called yet */
    MCP__REQUEST_WAITING,     /* for answers to input requests, or for the end of a task */
    MCP__REQUEST_LISTENING,   /* an open subscription */
} mcp__request_state;

/* Number of notices of one kind that a request has sent in the second beginning at `since`. */
typedef struct mcp__notice_rate {
    int64_t since;
    unsigned count;
} mcp__notice_rate;

typedef struct mcp__member mcp__member; /* a name in _meta; reply.c */

/* What the request refers to. */
typedef struct mcp__target {
    mcp__entry *entry;
    mcp_str uri; /* resources/read */
    mcp_uri_match *match;
} mcp__target;

/* The result built so far. */
typedef struct mcp__reply {
    mcp__buf out;
    bool begun;
    bool raw;             /* the result of another server: mcp_reply_raw() */
    int failed;           /* code of the first failure of a builder */
    size_t count;         /* number of entries in the method's array */
    mcp_str description;  /* prompts/get, in the arena */
    mcp__buf meta;        /* members for _meta, each with a leading comma */
    mcp__member *members; /* their names */
    struct {
        bool set, is_public;
        uint64_t ttl_ms;
    } cache; /* mcp_reply_cache() */
} mcp__reply;

/* The error to send instead of a result; code 0: none. Texts are in the arena. */
typedef struct mcp__reply_error {
    int code;
    mcp_str message, data;
    mcp_str refusal; /* why the client did not answer an input request */
} mcp__reply_error;

/* tools/call */
typedef struct mcp__tool_result {
    bool is_error;
    mcp_str structured;  /* JSON in the arena */
    bool has_structured; /* the handler gave one, even if the revision cannot carry it */
    bool as_text;        /* sent as text, because the revision cannot carry it */
} mcp__tool_result;

/* A page of a list. */
typedef struct mcp__page {
    uint32_t part;
    mcp_str position; /* where the part continues */
    size_t room;      /* number of entries that may still be added */
    bool has_next;
    mcp_str next; /* in the arena */
} mcp__page;

typedef struct mcp__notices {
    bool progress_begun;
    double progress_last;
    mcp__notice_rate progress_rate, log_rate;
} mcp__notices;

struct mcp_request {
    mcp__incoming in; /* must be first */
    mcp_server *server;
    const mcp__revision *revision;
    const mcp__method *method;
    mcp__request_state state;
    atomic_bool cancelled; /* read by handlers on any thread */
    struct {
        bool called; /* mcp_reply_finish() was called while the handler was running */
        int outcome;
    } finish;
    struct {
        void (*fn)(mcp_request *req, void *user);
        void *user;
    } on_cancel;
    mcp__arena arena;
    const mcp_json *caller; /* what a trusted parent says of its caller; NULL: nothing */

    mcp__target target;
    mcp__reply reply;
    mcp__reply_error error;
    mcp__tool_result tool;
    mcp__page page;
    struct {
        uint64_t total;
        bool has_total;
    } completion;
    mcp__notices notices;

    /* state of other modules */
    mcp__hold *hold; /* memory reserved for its work; NULL: none */
    mcp__deadline deadline;
    struct mcp__build *build;   /* the build that its handlers belong to; NULL: none */
    mcp__used used;             /* tools/call, resources/read */
    struct mcp__repeat *repeat; /* mcp_request_repeat(); NULL: never called */
    struct mcp__input *input;   /* input requests to its client; NULL: none */
    mcp__stream *stream;        /* subscriptions/listen */
    struct mcp__task *task;     /* the task that it has become; in.channel is then NULL */
    mcp__link waiter;           /* tasks/result: in the task's waiters; .prev NULL: not waiting */
};

static inline mcp_str mcp__request_id(const mcp_request *req)
{
    return mcp__incoming_id(&req->in);
}
mcp_str mcp__request_principal_str(const mcp_request *req);
/* Returns the session that received the request; for a task of 2025-11-25 its session while that
 * exists; else NULL. */
mcp__session *mcp__request_session(const mcp_request *req);
/* Returns its channel, or NULL if that has been freed. */
mcp_channel *mcp__request_channel(const mcp_request *req);

/* mcp__role.request of the server. */
void mcp__request_receive(mcp__incoming *in);
/* Whether the client's description of itself conforms to the schema (Implementation). `where` names
 * the member in the error. */
int mcp__request_check_info(mcp_request *req, const mcp_json *info, const char *where);
/* Ends a request with the code that its handler returned. */
void mcp__request_finish(mcp_request *req, int outcome);
/* client_info.c: a trusted parent says for whom it asks. */
void mcp__request_take_caller(mcp_request *req);
/* Calls the cancel function of a request that is marked as cancelled. Returns true if this finished
 * the request, which is then freed. */
bool mcp__request_stop(mcp_request *req);
/* Ends a request with a whole message. Its buffer was taken from the channel and is given back. */
void mcp__request_send(mcp_request *req, mcp__buf *message);
/* Releases everything that the request holds besides mcp__incoming. */
void mcp__request_clear(mcp_request *req);
/* repeat.c: stops the repetition. Returns whether another step was due. */
bool mcp__repeat_stop(mcp_request *req);
/* Returns the reply's buffer; writes the head and the start of the array first if necessary. */
mcp__buf *mcp__reply_begin(mcp_request *req);
/* Returns a copy in the arena. Sets req->reply.failed if out of memory. */
mcp_str mcp__request_copy(mcp_request *req, mcp_str s);
/* The same for a formatted text. */
mcp_str mcp__request_format(mcp_request *req, const char *format, va_list args);
/* Completes and sends the result, or sends an error: the one that the handler set, or one made from
 * its code. */
void mcp__reply_send_result(mcp_request *req);
void mcp__reply_send_error(mcp_request *req, int rc);
/* mcp_reply_meta() for the library's own names. */
int mcp__reply_meta(mcp_request *req, const char *key, mcp_str json);
/* The same for the text of a value that was parsed; nothing happens if the member exists. */
void mcp__reply_meta_text(mcp_request *req, mcp_str key, mcp_str json);

/* For "%.*s" in a message: the length up to which a peer's text is repeated, cut between
 * characters. */
static inline int mcp__shown(mcp_str s)
{
    return (int)mcp__utf8_cut(s.ptr, s.len < 100 ? s.len : 100);
}

/* Reads a string parameter. If .ptr is NULL, mcp_reply_fail() has been called. */
mcp_str mcp__param_string(mcp_request *req, const char *name);

/* notice.c: returns 0 for debug; negative: not a level. */
int mcp__log_level(mcp_str name);

#endif
