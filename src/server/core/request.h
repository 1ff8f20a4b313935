/* request.h: one request being answered, and the reply as it is being written. */
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
    MCP__REQUEST_PENDING,     /* mcp_reply_finish() is to come */
    MCP__REQUEST_WAITING, /* for the client's answers to what it was asked, or for the end of a task */
    MCP__REQUEST_LISTENING, /* an open subscription */
} mcp__request_state;

/* How many notices of a kind a request sent in the second that began at `since`. */
typedef struct mcp__notice_rate {
    int64_t since;
    unsigned count;
} mcp__notice_rate;

typedef struct mcp__member mcp__member; /* a name in _meta; reply.c */

/* What is asked for. */
typedef struct mcp__target {
    mcp__entry *entry;
    mcp_str uri; /* resources/read */
    mcp_uri_match *match;
} mcp__target;

/* The result so far. */
typedef struct mcp__reply {
    mcp__buf out;
    bool begun;
    int failed;           /* the first failure of a builder */
    size_t count;         /* entries of the method's array */
    mcp_str description;  /* prompts/get, in the arena */
    mcp__buf meta;        /* members for _meta, each with a leading comma */
    mcp__member *members; /* their names */
    struct {
        bool set, is_public;
        uint64_t ttl_ms;
    } cache; /* mcp_reply_cache() */
} mcp__reply;

/* The error that is sent instead; code 0: none. Texts are in the arena. */
typedef struct mcp__reply_error {
    int code;
    mcp_str message, data;
    mcp_str refusal; /* what a client said that did not answer a question */
} mcp__reply_error;

/* tools/call */
typedef struct mcp__tool_result {
    bool is_error;
    mcp_str structured;  /* JSON in the arena */
    bool has_structured; /* it was given, whatever the revision made of it */
    bool as_text;        /* the revision cannot carry it otherwise */
} mcp__tool_result;

/* A page of a list. */
typedef struct mcp__page {
    uint32_t part;
    mcp_str position; /* where the part goes on */
    size_t room;      /* entries that may still be added */
    bool has_next;
    mcp_str next; /* in the arena */
} mcp__page;

typedef struct mcp__notices {
    bool progress_begun;
    double progress_last;
    mcp__notice_rate progress_rate, log_rate;
} mcp__notices;

struct mcp_request {
    mcp__incoming in; /* first */
    mcp_server *server;
    const mcp__revision *revision;
    const mcp__method *method;
    mcp__request_state state;
    atomic_bool cancelled; /* handlers ask from other threads too */
    struct {
        bool called; /* mcp_reply_finish() came while the handler was still running */
        int outcome;
    } finish;
    struct {
        void (*fn)(mcp_request *req, void *user);
        void *user;
    } on_cancel;
    mcp__arena arena;

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

    /* what other modules keep in it */
    mcp__hold *hold; /* memory for its work; NULL: none is counted */
    mcp__deadline deadline;
    struct mcp__build *build; /* whose handlers may be at work; NULL: none, or it was not needed */
    mcp__used used;           /* tools/call, resources/read */
    struct mcp__repeat *repeat; /* mcp_request_repeat(); NULL: it was never called */
    struct mcp__input *input;   /* what it asks its client; NULL: nothing */
    mcp__stream *stream;        /* subscriptions/listen */
    struct mcp__task *task;     /* what it became: then it has no channel any more */
    mcp__link waiter; /* tasks/result: in the task's waiters; .prev NULL: it does not wait */
};

static inline mcp_str mcp__request_id(const mcp_request *req)
{
    return mcp__incoming_id(&req->in);
}
mcp_str mcp__request_principal_str(const mcp_request *req);
/* The session that it came by, of a task of 2025-11-25 while that is there; else NULL. */
mcp__session *mcp__request_session(const mcp_request *req);
/* Its channel; NULL: there is none any more. */
mcp_channel *mcp__request_channel(const mcp_request *req);

/* The channel's role: a request came. */
void mcp__request_receive(mcp__incoming *in);
/* Whether a client describes itself as the schema demands (Implementation); `where` names the member in the error. */
int mcp__request_check_info(mcp_request *req, const mcp_json *info, const char *where);
/* Ends a request with what a handler returned. */
void mcp__request_finish(mcp_request *req, int outcome);
/* Tells its handler that it is cancelled, which it is marked as already. True: that finished it, and it is gone. */
bool mcp__request_stop(mcp_request *req);
/* Ends a request with a whole message, whose buffer came from the channel and is given back. */
void mcp__request_send(mcp_request *req, mcp__buf *message);
/* Gives back what the request holds besides mcp__incoming. */
void mcp__request_clear(mcp_request *req);
/* repeat.c: no step is called any more; whether there would have been one. */
bool mcp__repeat_stop(mcp_request *req);
/* The reply's buffer, after its head and the beginning of its array have been written. */
mcp__buf *mcp__reply_begin(mcp_request *req);
/* A copy in the arena; sets req->reply.failed when there is no memory. */
mcp_str mcp__request_copy(mcp_request *req, mcp_str s);
/* The same of a formatted text. */
mcp_str mcp__request_format(mcp_request *req, const char *format, va_list args);
/* Completes the result and sends it, or sends an error: what the handler set, or what its code says. */
void mcp__reply_send_result(mcp_request *req);
void mcp__reply_send_error(mcp_request *req, int rc);
/* mcp_reply_meta() for names that are the library's own. */
int mcp__reply_meta(mcp_request *req, const char *key, mcp_str json);

/* For "%.*s" in a message: how much of a peer's text is repeated to it, at a character's end. */
static inline int mcp__shown(mcp_str s)
{
    return (int)mcp__utf8_cut(s.ptr, s.len < 100 ? s.len : 100);
}

/* Reads a string parameter; NULL .ptr after mcp_reply_fail() said what is wrong. */
mcp_str mcp__param_string(mcp_request *req, const char *name);

/* notice.c: debug is 0; negative: no such level. */
int mcp__log_level(mcp_str name);

#endif
