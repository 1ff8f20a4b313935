/* methods.h: the table of methods and the functions in it. */
#ifndef MCP_SRC_SERVER_METHODS_H
#define MCP_SRC_SERVER_METHODS_H

#include "protocol/method.h"
#include "server/core/rate.h"
#include "server/core/request.h"

/* The kind of entries in a result's array, which determines what mcp_reply_…() functions write. */
typedef enum mcp__form {
    MCP__FORM_NONE = 0, /* no array, or one that the method writes itself */
    MCP__FORM_CONTENTS, /* of a resource */
    MCP__FORM_BLOCKS,   /* content of a tool */
    MCP__FORM_MESSAGES, /* of a prompt */
    MCP__FORM_ENTRIES,  /* of a list */
    MCP__FORM_VALUES,   /* of a completion */
} mcp__form;

struct mcp__method {
    unsigned revisions; /* MCP__IN_* */
    int needs;          /* an mcp__kind that the server must offer, or MCP__NEEDS_* */
    const char *array;  /* name of the array in the result, or NULL */
    mcp_str head;       /* the beginning of a result with an array, before the first entry */
    mcp__form form;     /* what handlers add to the array */
    mcp__kind lists;    /* with MCP__FORM_ENTRIES: the kind of the entries */
    bool is_list;       /* cached for list_ttl_ms instead of read_ttl_ms */
    bool long_lived;    /* may stay open without limit, so it has no reference to a build */
    bool handshake;     /* gives nothing of what is served */
    bool slow;          /* its handlers may block for a long time */
    bool limited;       /* rate-limited by `rate` */
    mcp__rate rate;
    /* Answers a request. Returns a code like a handler. */
    int (*run)(mcp_request *req);
    /* Runs the handler again from its start, with the client's answers. NULL if input requests are
     * not allowed. */
    int (*again)(mcp_request *req);
    /* Continues the reply after a handler finished a part of it with mcp_reply_finish(), which may have
     * failed. NULL if nothing remains to be done. */
    int (*resume)(mcp_request *req, int outcome);
    /* Checks a result before it is sent. Returns MCP_OK, or a code that a handler may return. NULL
     * if nothing is checked. */
    int (*check)(mcp_request *req);
    /* Writes the members after the array, each with a leading comma. NULL if there are none. */
    void (*tail)(mcp_request *req, mcp__buf *b);
};
enum {
    MCP__NEEDS_NOTHING = -1,
    MCP__NEEDS_SUBSCRIBE = -2,
    MCP__NEEDS_COMPLETION = -3,
    MCP__NEEDS_LOGGING = -4,
    MCP__NEEDS_TASKS = -5,
};

/* The row of MCP__METHOD_OTHER is for methods that a provider answers. Those without `run` are not found. */
extern const mcp__method mcp__methods[MCP__METHODS];

static inline const mcp__method_row *mcp__method_row_of(const mcp__method *method)
{
    return mcp__method_of((mcp__method_id)(method - mcp__methods));
}

/* ---- the functions of the table ------------------------------------------------------------- */

/* handshake.c */
int mcp__run_initialize(mcp_request *req);
int mcp__run_discover(mcp_request *req);
int mcp__run_ping(mcp_request *req);
void mcp__initialize_tail(mcp_request *req, mcp__buf *b);
void mcp__discover_tail(mcp_request *req, mcp__buf *b);
int mcp__run_set_level(mcp_request *req);

/* subscribe.c */
int mcp__run_subscribe(mcp_request *req);
int mcp__run_unsubscribe(mcp_request *req);
int mcp__run_listen(mcp_request *req);
/* list.c */
int mcp__run_list(mcp_request *req);
int mcp__resume_list(mcp_request *req, int outcome);
/* Answers a list without the source that has not answered in time. */
void mcp__list_late(mcp_request *req);
/* Calls list_end() of the providers whose list_begin() was called. */
void mcp__end_list(mcp_request *req);
void mcp__list_tail(mcp_request *req, mcp__buf *b);
/* read.c, prompt.c, tool.c, complete.c */
int mcp__run_read(mcp_request *req);
int mcp__again_read(mcp_request *req);
int mcp__run_prompt(mcp_request *req);
int mcp__again_prompt(mcp_request *req);
void mcp__prompt_tail(mcp_request *req, mcp__buf *b);
int mcp__run_tool(mcp_request *req);
int mcp__again_tool(mcp_request *req);
int mcp__tool_check(mcp_request *req);
/* Compiles a tool's schemas at registration. Every call is validated with them. On failure, *error
 * names the schema. */
int mcp__tool_compile(mcp__entry *entry, const mcp_tool *tool, mcp_error *error);
/* Validates structured content against the output schema. Returns MCP_OK, or a negative code after
 * mcp_reply_fail(). */
int mcp__tool_check_output(mcp_request *req, const mcp_json *value);
void mcp__tool_tail(mcp_request *req, mcp__buf *b);
int mcp__run_complete(mcp_request *req);
/* raw.c: passes a call of a tool or prompt to the provider of a mount. */
int mcp__run_mounted(mcp_request *req, const mcp__mount *mount, mcp_item item, mcp_str name);
/* raw.c: refuses a request for a tool or a prompt that the caller may not use. `exists` says whether
 * there is one. Returns the code that the method must return. */
int mcp__refuse_named(mcp_request *req, mcp_item item, mcp_str name, bool exists);
/* raw.c: returns the mount that completes the arguments of a prompt or template, or NULL. */
const mcp__mount *mcp__mount_completes(const mcp_request *req, bool prompt, mcp_str name);
/* raw.c: passes a method that is not in the table to the providers. Returns MCP_ENOTFOUND if no
 * provider has it. */
int mcp__run_other(mcp_request *req);
void mcp__complete_tail(mcp_request *req, mcp__buf *b);

/* ---- an open subscriptions/listen ------------------------------------------------------------ */

/* Ends a subscription without a result, because the peer cancelled it. Frees the request. */
void mcp__listen_end(mcp_request *req);
/* Ends a subscription with a result, because the server closes the channel. */
void mcp__listen_close(mcp_request *req);
/* Moves an acknowledged subscription to a smaller block without its message. `req` is freed. */
void mcp__listen_shrink(mcp_request *req);

#endif
