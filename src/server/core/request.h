/* request.h: a request in progress, and the reply that is being written. */
#ifndef MCP_SRC_SERVER_REQUEST_H
#define MCP_SRC_SERVER_REQUEST_H

#include <stdarg.h>
#include <stdatomic.h>

#include "json/json.h"
#include "server/core/deadline.h"
#include "server/core/work_memory.h"
#include "server/core/server.h"
#include "server/core/session.h"

typedef struct mcp__method mcp__method;
typedef struct mcp__trace mcp__trace;

typedef enum mcp__request_state {
    MCP__REQUEST_RUNNING = 0, /* its handler is on the stack */
    MCP__REQUEST_PENDING,     /* mcp_reply_finish() has not been called yet */
    MCP__REQUEST_WAITING,     /* waits for answers to input requests, or for the end of a task */
    MCP__REQUEST_LISTENING,   /* an open subscription */
} mcp__request_state;

/* Number of notifications of one kind that a request has sent in the second that begins at
 * `since`. */
typedef struct mcp__notice_rate {
    int64_t since;
    unsigned count;
} mcp__notice_rate;

typedef struct mcp__member mcp__member; /* the name of a member; defined in reply.c */

/* Members of an object in the result. */
typedef struct mcp__members {
    mcp__buf text;      /* the members, each with a leading comma */
    mcp__member *names; /* the list of their names */
} mcp__members;

/* What the request refers to. */
typedef struct mcp__target {
    mcp__entry *entry;    /* holds a reference; NULL if none */
    bool takes_task;      /* a tool of a provider that can be called as a task */
    mcp_str uri;          /* for resources/read; in the message */
    mcp_uri_match *match; /* of a template; owned, NULL if none */
} mcp__target;

/* The result built so far. */
typedef struct mcp__reply {
    mcp__buf out;
    bool begun;
    bool raw;            /* the result comes from another server; see mcp_reply_raw() */
    int failed;          /* code of the first failed attempt to add to the result, or MCP_OK */
    size_t count;        /* number of entries in the method's array */
    mcp_str description; /* prompts/get, in the arena */
    mcp__members meta;
    mcp__members extra; /* members of a list that come from other servers; mcp_reply_raw_page() */
    struct {
        bool set, is_public;
        uint64_t ttl_ms;
    } cache; /* mcp_reply_cache() */
} mcp__reply;

/* The error to send instead of a result. `code` is 0 if there is none. The strings are in the arena
 * or static. */
typedef struct mcp__reply_error {
    int code;
    bool sends_zero; /* the peer gets the code 0 instead of `code`, as another server sent it */
    mcp_str message, data;
    mcp_str refusal; /* why the client did not answer an input request */
    mcp_str why;     /* what is wrong with the code in `why_code`, which the library returned */
    int why_code;
    bool passed; /* it is the answer of another server */
} mcp__reply_error;

/* The result of a tools/call. */
typedef struct mcp__tool_result {
    bool is_error;
    mcp_str structured;  /* JSON in the arena */
    bool has_structured; /* the handler set it; the revision may lack it */
    bool as_text;        /* it is sent as text, because the revision lacks it */
} mcp__tool_result;

/* A source that a page is without; in the arena. */
typedef struct mcp__missing {
    const char *prefix;
    struct mcp__missing *next;
} mcp__missing;

/* A page of a list. */
typedef struct mcp__page {
    uint32_t part;    /* 0 for registered entries, or the number of a mount plus 1 */
    uint64_t name;    /* of that part; stays the same when another build has other mounts */
    mcp_str position; /* where the part continues */
    size_t room;      /* number of entries that may still be added */
    bool has_next;
    mcp_str next;              /* the position at which the next page begins, in the arena */
    struct mcp__mount **begun; /* where list_begin() was called, in the arena */
    size_t n_begun;
    struct { /* the reply and the room at the beginning of the part */
        size_t out, count, room, extra, meta;
        mcp__member *extra_names, *meta_names;
    } before;
    bool incomplete;             /* a source was left out */
    mcp__missing *missing;       /* those that the caller may know of */
    struct mcp__mount *given_up; /* whose answer is no longer awaited; NULL if none */
} mcp__page;

/* The notifications that a request has sent. */
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
    atomic_bool cancelled;    /* read by handlers on any thread */
    bool has_total;           /* the handler of a completion said how many values there are */
    mcp_identity *identity;   /* of the caller; holds a reference; NULL if anonymous */
    struct mcp__build *build; /* the build that its handlers belong to; NULL if none */
    mcp__stream *stream;      /* subscriptions/listen */

    /* An open subscription has no members from here on (in.shrunk). */
    struct {
        bool called; /* mcp_reply_finish() was called while the handler was running */
        int outcome;
    } finish;
    struct {
        void (*fn)(mcp_request *req, void *user);
        void *user;
    } on_cancel;
    struct {
        void *data;
        void (*release)(void *data);
    } own; /* mcp_request_set_data(); of requests about tasks: mcp__task_found */
    mcp__arena arena;
    const mcp_json *caller; /* what a trusted parent reports about the caller; NULL if nothing */

    mcp__target target;
    mcp__reply reply;
    mcp__reply_error error;
    mcp__tool_result tool;
    mcp__page page;
    uint64_t total; /* these */
    bool undecided; /* it waits for mcp_request_decide_again() */
    bool waited;    /* it did, so its message is no longer the one that is being received */
    mcp__notices notices;

    /* state of other modules */
    mcp__hold *hold; /* memory reserved for its work; NULL if none */
    mcp__deadline deadline;
    mcp__used used;             /* tools/call, resources/read */
    mcp__trace *trace;          /* NULL if it is not traced */
    struct mcp__repeat *repeat; /* NULL if mcp_request_repeat() was never called */
    struct mcp__input *input;   /* input requests to its client; NULL if none */
    struct mcp__task *task;     /* the task that it has become; in.channel is then NULL */
    mcp__link waiter;           /* in the waiters of a task; .prev is NULL if not waiting */
};

static inline mcp_str mcp__request_id(const mcp_request *req)
{
    return mcp__incoming_id(&req->in);
}
mcp_str mcp__request_binding(const mcp_request *req);
/* Returns the session that received the request. For a task of 2025-11-25, returns the session of
 * the task while it exists. Otherwise returns NULL. */
mcp__session *mcp__request_session(const mcp_request *req);
/* Returns the channel of that session, or NULL if the channel is closed or freed. */
mcp_channel *mcp__request_channel(const mcp_request *req);

/* Implements mcp__role.request for a server. */
void mcp__request_receive(mcp__incoming *in);
/* era.c: returns the revision of a request, or NULL after setting an error. req->revision is set in
 * both cases, because it determines the form of the error. */
const mcp__revision *mcp__request_find_revision(mcp_request *req);
/* Checks whether the client's description of itself conforms to the schema (Implementation).
 * `where` names the member in the error. Returns MCP_OK, or a negative code after
 * mcp_reply_fail(). */
int mcp__request_check_info(mcp_request *req, const mcp_json *info, const char *where);
/* client_info.c: returns whether the client lacks one of these capabilities, an object with the form
 * of ClientCapabilities. */
bool mcp__request_lacks(const mcp_request *req, const mcp_json *required);
/* Ends a request with the code that its handler returned. */
void mcp__request_finish(mcp_request *req, int outcome);
/* client_info.c: reads from _meta the caller on whose behalf a trusted parent sends the request. */
int mcp__request_take_caller(mcp_request *req);
/* Calls the cancel function of a request that is marked as cancelled. Returns true if this finished
 * the request, which is then freed. */
bool mcp__request_stop(mcp_request *req);
/* Ends a request with a complete message. The buffer must have been taken from the channel, and is
 * given back to it. */
void mcp__request_send(mcp_request *req, mcp__buf *message);
/* Releases everything that the request holds besides mcp__incoming. */
void mcp__request_clear(mcp_request *req);
/* interval.c: stops the repetition. Returns whether the request was being repeated. */
bool mcp__repeat_stop(mcp_request *req);
/* Returns the reply's buffer. Writes the head and the start of the array first, if necessary. */
mcp__buf *mcp__reply_begin(mcp_request *req);
/* Returns a copy in the arena. Sets req->reply.failed if out of memory. */
mcp_str mcp__request_copy(mcp_request *req, mcp_str s);
/* Returns a formatted string in the arena. Sets req->reply.failed if out of memory. */
mcp_str mcp__request_format(mcp_request *req, const char *format, va_list args);
/* Complete and send the result, or send an error: the error that the handler set, or else one made
 * from the code `rc`. */
void mcp__reply_send_result(mcp_request *req);
void mcp__reply_send_error(mcp_request *req, int rc);
/* Completes and sends the result before the handler has ended the request, which is then
 * cancelled. */
void mcp__reply_send_early(mcp_request *req);
/* Like mcp_reply_meta(), but also accepts the library's own names. */
int mcp__reply_meta(mcp_request *req, const char *key, mcp_str json);
/* Records the reason for a code that is about to be returned; the first one stays. The error says it
 * if the handler returns the code. Returns `rc`. */
int mcp__reply_explain(mcp_request *req, int rc, const char *format, ...) MCP_PRINTF(3, 4);
/* Adds a member to _meta whose value is JSON text that was parsed before. Does nothing if the
 * member exists. */
void mcp__reply_meta_text(mcp_request *req, mcp_str key, mcp_str json);
/* Does the same for a member of the result of a list. */
void mcp__reply_extra_text(mcp_request *req, mcp_str key, mcp_str json);

/* Returns the precision for "%.*s" with which a message repeats a peer's string: at most 100 bytes,
 * truncated between characters. */
static inline int mcp__shown(mcp_str s)
{
    return (int)mcp__utf8_cut(s.ptr, s.len < 100 ? s.len : 100);
}

/* Reads a string parameter. If .ptr is NULL, mcp_reply_fail() has been called. */
mcp_str mcp__param_string(mcp_request *req, const char *name);

/* progress.c: returns the severity of a log level, where 0 is debug, or a negative number if the
 * name is not a log level. */
int mcp__log_level(mcp_str name);
/* Returns whether the peer of a request can be sent log messages of this level. */
bool mcp__log_is_wanted(const mcp_request *req, int level);
/* Sends a notification that belongs to a request, without its closing brace, and gives the buffer
 * back. */
void mcp__notice_send(const mcp_request *req, mcp__buf *b);

#endif
