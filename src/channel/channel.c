/* channel.c: receives and sends the messages of one peer: parses them, separates requests from
 * other messages, keeps the table of requests in flight and enforces the limits. The role
 * implements the methods, see mcp__role. key.c has their keys; life.c creates and closes channels; incoming.c has further
 * operations on requests in flight.
 *
 * A message is copied once, to the memory directly after its request struct, and parsed in place
 * there. So a request needs two blocks of memory: one for the struct and the message, and one for
 * the parsed values.
 */
#include "channel/channel.h"

#include "channel/batch.h"

enum {
    SPARE_KEPT = 256 << 10, /* maximum size of the buffer that is stored for the next message */
};

/* ---- sending --------------------------------------------------------------------------------- */

const mcp_output_info *mcp_channel_output_info(const mcp_channel *channel)
{
    return &channel->output;
}

void mcp__channel_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message,
                       mcp_output_info info)
{
    channel->output = info;
    channel->output.size = sizeof(info);
    channel->options.send(channel, exchange, message, channel->options.user);
}

void mcp__channel_wake(mcp_channel *channel)
{
    channel->timed = true;
    /* During a call into the channel this is not needed, because the transport reads the deadline
     * afterwards. */
    if (channel->options.wake && !channel->in_use)
        channel->options.wake(channel, channel->options.user);
}

mcp__buf mcp__channel_take_buf(mcp_channel *channel)
{
    mcp__buf b = *channel->spare;
    mcp__buf_init(channel->spare, channel->allocator, 0);
    b.limit = channel->options.max_reply;
    return b;
}

void mcp__channel_give_buf(mcp_channel *channel, mcp__buf *buf)
{
    mcp__buf_reset(buf, SPARE_KEPT);
    if (buf->cap > channel->spare->cap) {
        mcp__buf_free(channel->spare);
        *channel->spare = *buf;
    } else {
        mcp__buf_free(buf);
    }
    mcp__buf_init(buf, channel->allocator, 0);
}

static mcp_output_info malformed(int code)
{
    return (mcp_output_info){.kind = MCP_OUTPUT_RESPONSE, .code = code, .malformed = true};
}

static void send_error(mcp_channel *channel, mcp_exchange exchange, mcp_str id, int code,
                       mcp_str message)
{
    if (channel->role->malformed) {
        channel->role->malformed(
            channel, id, code == MCP__INVALID_REQUEST ? MCP_ELIMIT : MCP_EPROTOCOL, message);
        return;
    }
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_error(&b, id, channel->role->no_id(channel), code, message, (mcp_str){0});
    if (!b.failed)
        mcp__channel_send(channel, exchange, mcp__buf_view(&b), malformed(code));
    mcp__channel_give_buf(channel, &b);
}

void mcp__channel_refuse(mcp_channel *channel, mcp_exchange exchange, int code, mcp_str why)
{
    send_error(channel, exchange, (mcp_str){0}, code, why);
}

/* ---- requests in flight ---------------------------------------------------------------------- */

static void detach(mcp__incoming *in)
{
    mcp_channel *channel = in->channel;
    if (!channel)
        return;
    mcp__list_remove(&in->link);
    channel->bytes_in_flight -= in->bytes;
    if (!in->abandoned)
        mcp__incoming_forget_key(in);
    if (!in->long_lived)
        channel->n_in_flight--;
    channel->n_abandoned -= in->abandoned;
    in->channel = NULL;
}

static void incoming_free(mcp__incoming *in)
{
    detach(in);
    mcp__batch *batch = in->batch;
    if (batch && !in->abandoned)
        mcp__batch_answered(batch);
    mcp_json_free(in->doc);
    mcp__release(in->allocator, in->long_key);
    mcp__release(in->allocator, in);
    if (batch)
        mcp__batch_unref(batch);
}

void mcp__incoming_reply(mcp__incoming *in, mcp_str message, int code)
{
    mcp_channel *channel = in->channel;
    bool open = channel && !channel->closed;
    if (open && in->batch)
        mcp__batch_add(in->batch, message, mcp__incoming_id(in));
    else if (open)
        mcp__channel_send(channel, in->exchange, message,
                          (mcp_output_info){.kind = MCP_OUTPUT_RESPONSE,
                                            .code = code,
                                            .malformed = in->malformed,
                                            .retry_after_s = in->retry_after_s,
                                            .scopes = in->scopes});
    incoming_free(in);
}

void mcp__incoming_drop(mcp__incoming *in)
{
    incoming_free(in);
}

void mcp__incoming_answer(mcp__incoming *in, mcp_str message)
{
    mcp_channel *channel = in->channel;
    assert(!in->batch);
    if (!channel->closed)
        mcp__channel_send(
            channel, in->exchange, message,
            (mcp_output_info){.kind = MCP_OUTPUT_RESPONSE, .malformed = in->malformed});
    detach(in);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Allocates the block of one message: the request struct, then `room` bytes for its text. */
static mcp__incoming *incoming_new(mcp_channel *channel, mcp_exchange exchange, size_t room,
                                   char **text)
{
    size_t head = (channel->role->request_size + 15) & ~(size_t)15;
    mcp__incoming *in = room < SIZE_MAX / 2 ? mcp__alloc(channel->allocator, head + room) : NULL;
    if (!in)
        return NULL;
    memset(in, 0, head);
    mcp__list_init(&in->link);
    in->channel = channel;
    in->allocator = channel->allocator;
    in->exchange = exchange;
    *text = (char *)in + head;
    return in;
}

/* Answers a message with an error before it is in the table of requests in flight. */
static void refuse(mcp_channel *channel, mcp__incoming *in, int code, mcp_str why)
{
    mcp__buf id = mcp__channel_take_buf(channel);
    if (in->message.id)
        mcp__put_id(&id, in->message.id);
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_error(&b, mcp__buf_view(&id), channel->role->no_id(channel), code, why, (mcp_str){0});
    if (!b.failed && !id.failed) {
        if (in->batch)
            mcp__batch_add(in->batch, mcp__buf_view(&b), mcp__buf_view(&id));
        else
            mcp__channel_send(channel, in->exchange, mcp__buf_view(&b), malformed(code));
    }
    mcp__channel_give_buf(channel, &b);
    mcp__channel_give_buf(channel, &id);
}

/* Adds a request to the table of requests in flight. Returns NULL, or the reason why the request is
 * rejected. */
static const char *enter(mcp_channel *channel, mcp__incoming *in, int *code)
{
    *code = MCP__INTERNAL_ERROR;
    if (channel->n_in_flight >= channel->options.max_in_flight)
        return "too many requests are in flight (max_in_flight): wait for answers first";
    if (channel->n_in_flight &&
        in->bytes > channel->options.max_in_flight_bytes -
                        MCP__MIN(channel->bytes_in_flight, channel->options.max_in_flight_bytes))
        return "the requests in flight are too large together (max_in_flight_bytes): wait for "
               "answers first";
    int rc = mcp__incoming_take_key(in);
    if (rc == MCP_ELIMIT) {
        *code = MCP__INVALID_REQUEST;
        in->message.id = NULL; /* too long to be sent back in the error */
        return "the id is longer than 4096 bytes";
    }
    if (rc == MCP_EEXIST) {
        *code = MCP__INVALID_REQUEST;
        return "this id is in use by a request that is not answered yet";
    }
    if (rc != MCP_OK)
        return "out of memory";
    mcp__list_append(&channel->in_flight, &in->link);
    channel->n_in_flight++;
    channel->bytes_in_flight += in->bytes;
    return NULL;
}

/* Reports an invalid message to the role. */
static void report(mcp_channel *channel, const mcp__message *m)
{
    mcp__buf id = mcp__channel_take_buf(channel);
    if (m->id && !m->method.len) /* the peer chose the id of a request */
        mcp__put_id(&id, m->id);
    channel->role->malformed(channel, id.failed ? (mcp_str){0} : mcp__buf_view(&id), MCP_EPROTOCOL,
                             mcp_str_from(m->problem));
    mcp__channel_give_buf(channel, &id);
}

/* Handles in->message. Returns true if the role now owns the request, which may have been freed
 * already. */
static bool act_on(mcp_channel *channel, mcp__incoming *in)
{
    const mcp__message *m = &in->message;
    int code = 0;
    const char *problem = NULL;
    switch (m->kind) {
    case MCP__REQUEST:
        problem = enter(channel, in, &code);
        if (problem) {
            refuse(channel, in, code, mcp_str_from(problem));
            return false;
        }
        channel->role->request(in);
        mcp__channel_enter_running(channel);
        return true;
    case MCP__NOTIFICATION: channel->role->notification(channel, m); return false;
    case MCP__RESULT:
    case MCP__ERROR: mcp__outgoing_answer(channel, m); return false;
    case MCP__INVALID:
        /* A message that looks like a notification or an answer gets no error. Otherwise two peers
         * could answer each other's errors endlessly. */
        if (channel->role->malformed)
            report(channel, m);
        else if (m->method.len ? m->has_id : !m->result)
            refuse(channel, in, m->code, mcp_str_from(m->problem));
        return false;
    }
    return false;
}

static void discard(mcp__incoming *in)
{
    mcp_json_free(in->doc);
    mcp__release(in->allocator, in->long_key);
    mcp__release(in->allocator, in);
}

static void read_envelope(mcp__incoming *in, const mcp_json *root)
{
    mcp_channel *channel = in->channel;
    const mcp_channel_options *o = &channel->options;
    mcp_str named = {0};
    mcp__message_read(root, &in->message);
    if (in->message.kind != MCP__REQUEST)
        return;
    if (o->header && !o->header(channel, in->exchange, "MCP-Protocol-Version", &named, o->user))
        named = (mcp_str){0};
    in->modern = mcp__is_modern(&in->message, named);
}

static void receive_element(mcp__batch *batch, const mcp_json *element)
{
    char *text;
    batch->channel->element++;
    mcp__incoming *in = incoming_new(batch->channel, batch->exchange, 0, &text);
    if (!in) {
        batch->is_incomplete = true;
        return;
    }
    in->batch = batch;
    read_envelope(in, element);
    bool handshake =
        in->message.kind == MCP__REQUEST && mcp_str_eq(in->message.method, MCP_STR("initialize"));
    if (handshake) {
        in->message.kind = MCP__INVALID;
        in->message.code = MCP__INVALID_REQUEST;
        in->message.problem = "initialize must not be part of a batch";
        in->message.method = (mcp_str){0};
    }
    batch->open++;
    batch->refs++;
    if (!act_on(batch->channel, in)) {
        discard(in);
        mcp__batch_answered(batch);
        mcp__batch_unref(batch);
    }
}

static mcp_json_limits limits_of(const mcp_channel *channel)
{
    return (mcp_json_limits){.size = sizeof(mcp_json_limits),
                             .max_bytes = channel->options.max_message,
                             .max_depth = channel->options.max_depth,
                             .max_values = channel->max_values};
}

static int receive_document(mcp_channel *channel, mcp_exchange exchange, mcp_json_doc *doc);

/* A role that must not answer a malformed message reads what is left of it. Returns false if nothing
 * can be read. */
static bool receive_repaired(mcp_channel *channel, mcp_exchange exchange, mcp_str text, int *rc)
{
    mcp__buf repaired;
    mcp_json_doc *doc = NULL;
    mcp__buf_init(&repaired, channel->allocator, SIZE_MAX);
    size_t n = mcp__json_repair(text, &repaired);
    mcp_json_limits limits = limits_of(channel);
    limits.max_bytes = MCP__MAX(repaired.len, (size_t)1);
    if (n && !repaired.failed)
        (void)mcp_json_parse(mcp__buf_view(&repaired), &limits, channel->allocator, &doc, NULL);
    if (doc) {
        channel->text = mcp__buf_view(&repaired);
        *rc = receive_document(channel, exchange, doc);
        mcp__channel_forget_text(channel);
    }
    mcp__buf_free(&repaired);
    return doc != NULL;
}

static int refuse_unparsed(mcp_channel *channel, mcp_exchange exchange, mcp_str text,
                           const mcp_error *error)
{
    int rc = MCP_OK;
    bool is_answer = channel->role->malformed && error->code == MCP_EPARSE;
    if (is_answer && receive_repaired(channel, exchange, text, &rc))
        return rc;
    mcp__buf id = mcp__channel_take_buf(channel), why = mcp__channel_take_buf(channel);
    int code = mcp__explain_unparsed(text, error, &id, &why);
    if (is_answer && !mcp__scan_answer_id(text, channel->allocator, &id))
        id.len = 0;
    mcp__channel_forget_text(channel); /* it has no members that anybody should look for */
    send_error(channel, exchange, mcp__buf_view(&id), code,
               why.failed ? MCP_STR("not a JSON message") : mcp__buf_view(&why));
    mcp__channel_give_buf(channel, &why);
    mcp__channel_give_buf(channel, &id);
    return error->code == MCP_ENOMEM ? MCP_ENOMEM : MCP_OK;
}

/* Takes ownership of the document. */
static int run_batch(mcp_channel *channel, mcp_exchange exchange, mcp_json_doc *doc)
{
    const char *problem = NULL;
    size_t count = mcp_json_count(mcp_json_root(doc));
    if (!channel->role->batches(channel))
        problem = "only revision 2025-03-26 allows batches: send one message";
    else if (count == 0)
        problem = "the batch is empty";
    else if (count > channel->options.max_batch)
        problem = "the batch has more messages than max_batch allows";
    mcp__batch *batch = problem ? NULL : mcp__batch_new(channel, exchange, doc);
    if (!batch) {
        mcp_json_free(doc);
        if (!problem)
            return MCP_ENOMEM;
        send_error(channel, exchange, (mcp_str){0}, MCP__INVALID_REQUEST, mcp_str_from(problem));
        return MCP_OK;
    }
    mcp_json_iter it = {0};
    for (const mcp_json *e;
         !channel->closed && (e = mcp_json_next(mcp_json_root(doc), &it, NULL)) != NULL;)
        receive_element(batch, e);
    mcp__batch_answered(batch);
    mcp__batch_unref(batch);
    return MCP_OK;
}

static int receive_batch(mcp_channel *channel, mcp_exchange exchange, mcp_str text)
{
    mcp_json_limits limits = limits_of(channel);
    mcp_error error = {0};
    mcp_json_doc *doc = NULL;
    if (mcp_json_parse(text, &limits, channel->allocator, &doc, &error) != MCP_OK)
        return refuse_unparsed(channel, exchange, text, &error);
    return run_batch(channel, exchange, doc);
}

static int receive_single(mcp_channel *channel, mcp_exchange exchange, mcp_str message)
{
    mcp_json_limits limits = limits_of(channel);
    mcp_error error = {.code = MCP_ENOMEM};
    char *text;
    mcp__incoming *in = incoming_new(channel, exchange, message.len + MCP__JSON_PADDING, &text);
    if (!in)
        return refuse_unparsed(channel, exchange, message, &error);
    if (message.len)
        memcpy(text, message.ptr, message.len);
    memset(text + message.len, 0, MCP__JSON_PADDING);
    in->bytes = message.len;
    int rc =
        mcp__json_parse_insitu(text, message.len, &limits, channel->allocator, &in->doc, &error);
    if (rc != MCP_OK) {
        discard(in);
        return refuse_unparsed(channel, exchange, message, &error);
    }
    channel->members = mcp_json_count(mcp_json_root(in->doc));
    read_envelope(in, mcp_json_root(in->doc));
    if (!act_on(channel, in))
        discard(in);
    return MCP_OK;
}

static char first_byte(mcp_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            return c;
    }
    return 0;
}

static void begin_message(mcp_channel *channel, mcp_exchange exchange, mcp_str message, int64_t now)
{
    channel->now = now;
    channel->in_use = true;
    channel->text = message;
    if (channel->role->heard)
        channel->role->heard(channel, exchange, message);
}

static int end_message(mcp_channel *channel, int rc)
{
    channel->in_use = false;
    mcp__channel_forget_text(channel);
    return rc;
}

int mcp_channel_receive(mcp_channel *channel, mcp_exchange exchange, mcp_str message, int64_t now)
{
    int rc;
    if (channel->closed)
        return MCP_ECLOSED;
    begin_message(channel, exchange, message, now);
    if (message.len > channel->options.max_message)
        rc = mcp_channel_receive_oversized(channel, exchange, message, (mcp_str){0}, now);
    else if (first_byte(message) == '[')
        rc = receive_batch(channel, exchange, message);
    else
        rc = receive_single(channel, exchange, message);
    return end_message(channel, rc);
}

void mcp__parsing_begin(mcp__parsing *p, const mcp_channel *channel, mcp_str text)
{
    *p = (mcp__parsing){
        .text = text, .limits = limits_of(channel), .allocator = *channel->allocator};
}

void mcp__parsing_run(mcp__parsing *p)
{
    (void)mcp_json_parse(p->text, &p->limits, &p->allocator, &p->doc, &p->error);
}

/* Acts on the root of a document. Takes ownership of the document. */
static int receive_document(mcp_channel *channel, mcp_exchange exchange, mcp_json_doc *doc)
{
    char *text;
    if (mcp_json_is(mcp_json_root(doc), MCP_JSON_ARRAY))
        return run_batch(channel, exchange, doc);
    mcp__incoming *in = incoming_new(channel, exchange, 0, &text);
    if (!in) {
        mcp_json_free(doc);
        return MCP_ENOMEM;
    }
    in->doc = doc;
    in->bytes = mcp__json_doc_bytes(doc);
    channel->members = mcp_json_count(mcp_json_root(doc));
    read_envelope(in, mcp_json_root(doc));
    if (!act_on(channel, in))
        discard(in);
    return MCP_OK;
}

int mcp__channel_receive_parsed(mcp_channel *channel, mcp_exchange exchange, mcp__parsing *p,
                                int64_t now)
{
    mcp_json_doc *doc = p->doc;
    p->doc = NULL;
    if (channel->closed) {
        mcp_json_free(doc);
        return MCP_ECLOSED;
    }
    begin_message(channel, exchange, p->text, now);
    return end_message(channel, doc ? receive_document(channel, exchange, doc)
                                    : refuse_unparsed(channel, exchange, p->text, &p->error));
}

int mcp__channel_receive_read(mcp_channel *channel, mcp_exchange exchange,
                              const mcp__received *received, int64_t now)
{
    int rc = channel->closed ? MCP_ECLOSED : MCP_OK;
    char *text;
    mcp__incoming *in = NULL;
    channel->now = now;
    channel->in_use = true;
    channel->text = received->text;
    if (rc == MCP_OK && received->batch) {
        rc = run_batch(channel, exchange, received->doc);
    } else if (rc == MCP_OK && (in = incoming_new(channel, exchange, 0, &text)) != NULL) {
        in->doc = received->doc;
        channel->members = mcp_json_count(mcp_json_root(received->doc));
        in->bytes = mcp__json_doc_bytes(received->doc);
        in->message = received->message;
        in->modern = received->modern;
        if (!act_on(channel, in))
            discard(in);
    } else {
        mcp_json_free(received->doc);
        rc = rc == MCP_OK ? MCP_ENOMEM : rc;
    }
    channel->in_use = false;
    mcp__channel_forget_text(channel);
    return rc;
}

int mcp_channel_receive_oversized(mcp_channel *channel, mcp_exchange exchange, mcp_str head,
                                  mcp_str tail, int64_t now)
{
    if (channel->closed)
        return MCP_ECLOSED;
    channel->now = now;
    mcp__buf id = mcp__channel_take_buf(channel), why = mcp__channel_take_buf(channel);
    bool answers = channel->role->malformed != NULL; /* ids of the peer's requests are its own */
    if (!(answers ? mcp__scan_answer_id(head, channel->allocator, &id)
                  : mcp__scan_id(head, channel->allocator, &id)))
        mcp__scan_id_back(tail, channel->allocator, &id);
    mcp__buf_printf(&why, "the message is longer than %zu bytes (max_message)",
                    channel->options.max_message);
    send_error(channel, exchange, id.failed ? (mcp_str){0} : mcp__buf_view(&id),
               MCP__INVALID_REQUEST, mcp__buf_view(&why));
    mcp__channel_give_buf(channel, &why);
    mcp__channel_give_buf(channel, &id);
    return MCP_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

int64_t mcp_channel_deadline(const mcp_channel *channel)
{
    if (channel->closed)
        return INT64_MAX;
    int64_t ours =
        mcp__list_empty(&channel->outgoing) ? INT64_MAX : mcp__outgoing_deadline(channel);
    int64_t roles = channel->timed ? channel->role->deadline(channel) : INT64_MAX;
    return MCP__MIN(ours, roles);
}
