/* modern_input.c: input requests to a client of a modern revision. The request ends with an
 * InputRequiredResult, and the client repeats the request with the answers. The state of the
 * request is sealed into requestState and bound to the caller and the request.
 */
#include <mcp/sys/forward.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/core/seal.h"
#include "server/input/input.h"
#include "server/methods/methods.h"

/* ---- the binding of a sealed state ----------------------------------------------------------- */

typedef struct member {
    mcp_str key;
    const mcp_json *value;
} member;

static int compare_members(const void *a, const void *b)
{
    const member *x = a, *y = b;
    size_t n = MCP__MIN(x->key.len, y->key.len);
    int order = n ? memcmp(x->key.ptr, y->key.ptr, n) : 0;
    return order ? order : (x->key.len > y->key.len) - (x->key.len < y->key.len);
}

/* Returns whether a client may change this member between attempts. */
static bool is_transient(mcp_str key)
{
    return mcp_str_eq(key, MCP_STR("_meta")) || mcp_str_eq(key, MCP_STR("inputResponses")) ||
           mcp_str_eq(key, MCP_STR("requestState"));
}

static void put_canonical(mcp__buf *b, const mcp_json *value, bool top);

/* Writes members sorted by key, because a client may repeat them in another order. */
static void put_sorted(mcp__buf *b, const mcp_json *object, bool top)
{
    size_t count = mcp_json_count(object), n = 0;
    member *members = count ? mcp__alloc(b->allocator, count * sizeof(*members)) : NULL;
    if (count && !members)
        b->failed = MCP_ENOMEM;
    mcp_json_iter it = {0};
    member m;
    while (members && (m.value = mcp_json_next(object, &it, &m.key)) != NULL) {
        if (!top || !is_transient(m.key))
            members[n++] = m;
    }
    if (n)
        qsort(members, n, sizeof(*members), compare_members);
    mcp__buf_char(b, '{');
    for (size_t i = 0; i < n; i++) {
        mcp__json_put_str(b, members[i].key);
        mcp__buf_char(b, ':');
        put_canonical(b, members[i].value, false);
        mcp__buf_char(b, ',');
    }
    mcp__buf_char(b, '}');
    mcp__release(b->allocator, members);
}

static void put_canonical(mcp__buf *b, const mcp_json *value, bool top)
{
    if (mcp_json_is(value, MCP_JSON_OBJECT)) {
        put_sorted(b, value, top);
    } else if (mcp_json_is(value, MCP_JSON_ARRAY)) {
        mcp__buf_char(b, '[');
        mcp_json_iter it = {0};
        for (const mcp_json *v; (v = mcp_json_next(value, &it, NULL)) != NULL;) {
            put_canonical(b, v, false);
            mcp__buf_char(b, ',');
        }
        mcp__buf_char(b, ']');
    } else {
        mcp__json_put_value(b, value);
    }
}

/* Writes the method, the caller with its view, and the params without the members that a client may change
 * between attempts. An anonymous caller differs from a principal with an empty name. */
static void put_bound(mcp__buf *b, const mcp_request *req)
{
    mcp_str caller = mcp__request_binding(req);
    mcp__buf_printf(b, "%s\n", mcp_request_method(req));
    if (caller.ptr) {
        mcp__buf_printf(b, "%zu\n", caller.len);
        mcp__buf_str(b, caller);
    }
    put_canonical(b, req->in.message.params, true);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int bad_state(mcp_request *req, const char *why)
{
    return mcp_reply_fail(
        req, MCP__INVALID_PARAMS,
        "Invalid params: \"requestState\": %s; send the request without it to start again", why);
}

static void read_names(struct mcp__input *input, const mcp_json *names)
{
    mcp_json_iter it = {0};
    for (const mcp_json *n;
         input->n_once < MCP__MAX_ONCE && (n = mcp_json_next(names, &it, NULL)) != NULL;)
        input->once[input->n_once++] = mcp_json_string(n);
}

static int read_answers(mcp_request *req, const mcp_json *answers)
{
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(answers, &it, &key)) != NULL;) {
        mcp__answer *answer = mcp_request_alloc(req, sizeof(*answer));
        if (!answer)
            return MCP_ENOMEM;
        *answer = (mcp__answer){.key = key, .value = v};
        mcp__list_append(&req->input->answers, &answer->link);
    }
    return MCP_OK;
}

static int read_own_state(mcp_request *req, mcp_str text)
{
    char *bytes = mcp_request_alloc(req, text.len + 1);
    size_t len = bytes ? mcp__base64_decode(bytes, text) : 0;
    if (!bytes)
        return MCP_ENOMEM;
    req->input->state = (mcp_str){bytes, len == SIZE_MAX ? 0 : len};
    return MCP_OK;
}

/* Reads a state that this server sealed. It has the form that put_state() writes. */
static int read_state(mcp_request *req, mcp_str text)
{
    struct mcp__input *input = req->input;
    const mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    int rc = mcp_json_parse(text, &limits, &req->server->allocator, &input->opened, NULL);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *root = mcp_json_root(input->opened);
    if (mcp_json_int(mcp_json_get(root, "expires"), 0) < mcp__server_clock(req->server))
        return bad_state(req, "it has expired");
    mcp_str series = mcp_json_string(mcp_json_get(root, "series"));
    if (series.len < sizeof(input->series))
        memcpy(input->series, series.ptr, series.len);
    input->round = mcp_json_int(mcp_json_get(root, "round"), 0) + 1;
    read_names(input, mcp_json_get(root, "once"));
    rc = read_own_state(req, mcp_json_string(mcp_json_get(root, "state")));
    return rc == MCP_OK ? read_answers(req, mcp_json_get(root, "answers")) : rc;
}

/* Returns the state without the place that follows it (mcp_request_stay()). */
static mcp_str without_place(mcp_str token)
{
    const char *dot = token.len ? memchr(token.ptr, '.', token.len) : NULL;
    if (dot)
        token.len = (size_t)(dot - token.ptr);
    return token;
}

static int open_state(mcp_request *req, mcp_str token)
{
    mcp_error why = {0};
    mcp__buf bound, plain;
    token = without_place(token);
    mcp__buf_init(&bound, &req->server->allocator, 0);
    mcp__buf_init(&plain, &req->server->allocator, 0);
    put_bound(&bound, req);
    int rc = bound.failed;
    if (rc == MCP_OK)
        rc = mcp__seal_open(req->server, mcp__buf_view(&bound), token, &plain, &why);
    if (rc == MCP_OK)
        rc = read_state(req, mcp__buf_view(&plain));
    else if (rc == MCP_EINVAL)
        rc = bad_state(req, "it was not issued by this server for this request");
    mcp__buf_free(&plain);
    mcp__buf_free(&bound);
    return rc;
}

int mcp__input_open(mcp_request *req)
{
    const mcp_json *params = req->in.message.params;
    const mcp_json *responses = mcp_json_get(params, "inputResponses");
    const mcp_json *token = mcp_json_get(params, "requestState");
    if (responses && !mcp_json_is(responses, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"inputResponses\" must be an object");
    if (token && !mcp_json_is(token, MCP_JSON_STRING))
        return bad_state(req, "it must be a string");
    struct mcp__input *input = mcp__input_need(req);
    if (!input)
        return MCP_ENOMEM;
    input->responses = responses;
    return token ? open_state(req, mcp_json_string(token)) : MCP_OK;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Writes random hexadecimal digits, and a NUL, for up to 16 bytes. */
static int put_random(const mcp_server *server, char *to, size_t n)
{
    unsigned char bytes[16];
    int rc = mcp__server_random(server, bytes, n);
    if (rc == MCP_OK)
        *mcp__hex_encode(to, bytes, n) = 0;
    return rc;
}

const char *mcp_request_series(mcp_request *req)
{
    struct mcp__input *input = mcp__input_need(req);
    if (!input)
        return NULL;
    if (!input->series[0] && put_random(req->server, input->series, 16) != MCP_OK)
        return NULL;
    return input->series;
}

const char *mcp__server_instance(mcp_server *server)
{
    if (!server->instance[0] && put_random(server, server->instance, 8) != MCP_OK)
        return NULL;
    return server->instance;
}

static void put_names(mcp__buf *b, const struct mcp__input *input)
{
    mcp__json_list names = mcp__json_begin_array(b);
    for (size_t i = 0; i < input->n_once; i++) {
        mcp__json_next(&names);
        mcp__json_put_str(b, input->once[i]);
    }
    mcp__json_end(&names);
}

static void put_answers(mcp__buf *b, const struct mcp__input *input)
{
    mcp__json_list answers = mcp__json_begin_object(b);
    for (mcp__link *l = input->answers.next; l != &input->answers; l = l->next) {
        const mcp__answer *answer = mcp__container(l, mcp__answer, link);
        mcp__json_key(&answers, answer->key);
        mcp__json_put_value(b, answer->value);
    }
    mcp__json_end(&answers);
}

static void put_state(mcp__buf *b, mcp_request *req)
{
    const struct mcp__input *input = req->input;
    const char *series = mcp_request_series(req);
    mcp__buf_lit(b, "{\"expires\":");
    mcp__json_put_int(b, mcp__server_clock(req->server) + (int64_t)mcp__seal_lifetime(req->server));
    mcp__buf_lit(b, ",\"round\":");
    mcp__json_put_int(b, input->round);
    mcp__buf_lit(b, ",\"series\":");
    mcp__json_put_str(b, mcp_str_from(series ? series : ""));
    mcp__buf_lit(b, ",\"state\":");
    mcp__json_put_base64(b, input->state.ptr, input->state.len);
    mcp__buf_lit(b, ",\"once\":");
    put_names(b, input);
    mcp__buf_lit(b, ",\"answers\":");
    put_answers(b, input);
    mcp__buf_char(b, '}');
}

static int put_sealed_state(mcp__buf *to, mcp_request *req)
{
    mcp_error why = {0};
    mcp__buf bound, plain;
    mcp__buf_init(&bound, &req->server->allocator, 0);
    mcp__buf_init(&plain, &req->server->allocator, 0);
    put_bound(&bound, req);
    put_state(&plain, req);
    int rc = bound.failed ? bound.failed : plain.failed;
    if (rc == MCP_OK)
        rc = mcp__seal_text(req->server, mcp__buf_view(&bound), mcp__buf_view(&plain), to, &why);
    if (rc != MCP_OK && rc != MCP_ENOMEM)
        mcp_reply_fail(req, MCP__INTERNAL_ERROR, "Internal error: %s", why.text);
    mcp__buf_free(&plain);
    mcp__buf_free(&bound);
    return rc;
}

void mcp_request_stay(mcp_request *req)
{
    struct mcp__input *input = mcp__input_need(req);
    if (input)
        input->stays = true;
}

static void put_place(mcp__buf *state, const mcp_request *req)
{
    const mcp_channel *channel = req->in.channel;
    char place[MCP_WAIT_ADDRESS_ROOM];
    size_t len = 0;
    if (req->input->stays && channel->options.wait_address)
        len = channel->options.wait_address(req->in.channel, req->in.exchange, place,
                                            channel->options.user);
    if (!len)
        return;
    mcp__buf_char(state, '.');
    mcp__buf_add(state, place, len);
}

/* Checks that the state fits into a message together with the request and the new answers. */
static int check_length(mcp_request *req, size_t len)
{
    size_t max = req->in.channel->options.max_message;
    return len <= max / 2 ? MCP_OK
                          : mcp_reply_fail(req, MCP__INTERNAL_ERROR,
                                           "Internal error: the state for the next round is too "
                                           "large for max_message (%zu)",
                                           max);
}

void mcp__input_send_modern(mcp_request *req)
{
    mcp__buf state;
    mcp__buf_init(&state, &req->server->allocator, 0);
    int rc = put_sealed_state(&state, req);
    if (rc == MCP_OK) {
        put_place(&state, req);
        rc = state.failed ? state.failed : check_length(req, state.len);
    }
    if (rc == MCP_OK) {
        mcp__buf b = mcp__channel_take_buf(req->in.channel);
        mcp__put_result_head(&b, mcp__request_id(req));
        mcp__buf_lit(&b, "{\"resultType\":\"input_required\",");
        if (req->input->n_questions) {
            mcp__buf_lit(&b, "\"inputRequests\":");
            mcp__put_questions(&b, req->input);
            mcp__buf_char(&b, ',');
        }
        mcp__buf_lit(&b, "\"requestState\":");
        mcp__json_put_str(&b, mcp__buf_view(&state));
        mcp__buf_lit(&b, ",\"_meta\":{\"" MCP__META_SERVER_INFO "\":");
        mcp__buf_str(&b, req->server->info[mcp__revision_index(req->revision)]);
        mcp__buf_lit(&b, "}}}");
        mcp__buf_free(&state);
        req->used.outcome = b.failed ? MCP__USED_ERROR : MCP__USED_INPUT;
        mcp__request_send(req, &b);
        return;
    }
    mcp__buf_free(&state);
    mcp__request_finish(req, rc);
}
