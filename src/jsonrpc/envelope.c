/* envelope.c: reads and writes the frame of JSON-RPC messages.
 *
 * An id is stored as JSON text as soon as it is read, because the answer must return its exact
 * value, and an integer may be larger than any C type. Each value has one text: 1.0 and 1e0 become
 * 1, and -0 becomes 0. So two spellings of the same id are equal.
 */
#include "jsonrpc/envelope.h"

/* Returns whether a number with a fraction or an exponent is an integer (1.0, 1e3), at most 2^53.
 * Larger doubles are not exact. */
static bool integral(const mcp_json *value, int64_t *ret)
{
    int64_t n = mcp_json_int(value, INT64_MIN);
    if (ret)
        *ret = n;
    return n != INT64_MIN;
}

bool mcp__is_id(const mcp_json *value)
{
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_STRING:
    case MCP_JSON_INT: return true;
    case MCP_JSON_REAL: return integral(value, NULL);
    case MCP_JSON_BIGINT: {
        /* A real that is too large for a double is also stored as text, but is not an id. */
        mcp_str digits = mcp__json_bigint_text(value);
        for (size_t i = 0; i < digits.len; i++) {
            char c = digits.ptr[i];
            if ((c < '0' || c > '9') && !(c == '-' && i == 0))
                return false;
        }
        return true;
    }
    default: return false;
    }
}

static void invalid(mcp__message *m, int code, const char *problem)
{
    m->kind = MCP__INVALID;
    m->code = code;
    m->problem = problem;
}

static void read_call(mcp__message *m, const mcp_json *method, bool has_id)
{
    if (!mcp_json_is(method, MCP_JSON_STRING)) {
        invalid(m, MCP__INVALID_REQUEST, "\"method\" must be a string");
        return;
    }
    m->kind = has_id ? MCP__REQUEST : MCP__NOTIFICATION;
    if (m->result)
        invalid(m, MCP__INVALID_REQUEST,
                "a message with a \"method\" has no \"result\" or \"error\"");
    else if (m->params && !mcp_json_is(m->params, MCP_JSON_OBJECT))
        invalid(m, MCP__INVALID_PARAMS, "\"params\" must be an object");
}

static void read_answer(mcp__message *m, const mcp_json *error)
{
    m->kind = error ? MCP__ERROR : MCP__RESULT;
    if (error && m->result != error)
        invalid(m, MCP__INVALID_REQUEST, "a response has a \"result\" or an \"error\", not both");
    else if (error && !mcp_json_is(error, MCP_JSON_OBJECT))
        invalid(m, MCP__INVALID_REQUEST, "\"error\" must be an object");
    else if (!error && !m->id)
        invalid(m, MCP__INVALID_REQUEST, "a response needs the \"id\" of its request");
}

void mcp__message_read(const mcp_json *root, mcp__message *ret)
{
    *ret = (mcp__message){0};
    if (!mcp_json_is(root, MCP_JSON_OBJECT)) {
        invalid(ret, MCP__INVALID_REQUEST, "a message must be an object");
        return;
    }
    const mcp_json *version = NULL, *id = NULL, *method = NULL, *error = NULL;
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(root, &it, &key)) != NULL;) {
        if (mcp_str_eq(key, MCP_STR("jsonrpc")))
            version = v;
        else if (mcp_str_eq(key, MCP_STR("id")))
            id = v;
        else if (mcp_str_eq(key, MCP_STR("method")))
            method = v;
        else if (mcp_str_eq(key, MCP_STR("params")))
            ret->params = v;
        else if (mcp_str_eq(key, MCP_STR("result")))
            ret->result = v;
        else if (mcp_str_eq(key, MCP_STR("error")))
            error = v;
    }
    if (id && mcp__is_id(id))
        ret->id = id;
    if (!ret->result)
        ret->result = error;
    ret->meta = mcp__json_member(ret->params, "_meta");
    ret->has_id = id != NULL;
    ret->method = mcp_json_string(method); /* set even if the message turns out to be invalid */

    if (!mcp_str_eq(mcp_json_string(version), MCP_STR("2.0")))
        invalid(ret, MCP__INVALID_REQUEST, "\"jsonrpc\" must be \"2.0\"");
    else if (id && !ret->id && !(error && mcp_json_is(id, MCP_JSON_NULL)))
        invalid(ret, MCP__INVALID_REQUEST, "\"id\" must be a string or an integer");
    else if (method)
        read_call(ret, method, id != NULL);
    else if (ret->result)
        read_answer(ret, error);
    else
        invalid(ret, MCP__INVALID_REQUEST,
                "a message needs a \"method\", a \"result\" or an \"error\"");
}

void mcp__put_id(mcp__buf *b, const mcp_json *id)
{
    int64_t n;
    if (mcp_json_is(id, MCP_JSON_REAL) && integral(id, &n))
        mcp__json_put_int(b, n);
    else
        mcp__json_put_value(b, id);
}

/* ---- finding an id in a message that cannot be parsed ---------------------------------------- */

/* Returns the offset after the closing quote of the string that begins at text[at], or 0 if the
 * string does not end in text. */
static size_t string_end(mcp_str text, size_t at)
{
    for (size_t i = at + 1; i < text.len; i++) {
        if (text.ptr[i] == '\\')
            i++;
        else if (text.ptr[i] == '"')
            return i + 1;
    }
    return 0;
}

static size_t skip_space(mcp_str text, size_t at)
{
    while (at < text.len && memchr(" \t\r\n", text.ptr[at], 4))
        at++;
    return at;
}

/* Returns the text of the id at text[at] if it is complete, else an empty string. */
static mcp_str id_token(mcp_str text, size_t at)
{
    size_t end = at;
    if (at < text.len && text.ptr[at] == '"') {
        end = string_end(text, at);
    } else {
        while (end < text.len && memchr("-+.eE0123456789", text.ptr[end], 15))
            end++;
        if (end == text.len || !memchr(",} \t\r\n", text.ptr[end], 6))
            end = 0;
    }
    return end > at ? (mcp_str){text.ptr + at, end - at} : (mcp_str){0};
}

static bool put_token(mcp_str token, const mcp_allocator *allocator, mcp__buf *id)
{
    mcp_json_doc *doc = NULL;
    if (token.len == 0 || mcp_json_parse(token, NULL, allocator, &doc, NULL) != MCP_OK)
        return false;
    bool ok = mcp__is_id(mcp_json_root(doc));
    if (ok)
        mcp__put_id(id, mcp_json_root(doc));
    mcp_json_free(doc);
    return ok && !id->failed;
}

/* A walk through the keys at the top level of a text. */
typedef struct keys {
    mcp_str text;
    size_t at, depth;
    bool at_key, cut; /* cut: a string does not end in the text */
} keys;

/* Returns the next key, with its quotes, and sets *value to the offset of its value. Returns an empty
 * string at the end. */
static mcp_str next_key(keys *k, size_t *value)
{
    const mcp_str text = k->text;
    while (k->at < text.len) {
        size_t i = k->at++;
        switch (text.ptr[i]) {
        case '{':
        case '[':
            k->depth++;
            k->at_key = text.ptr[i] == '{';
            break;
        case '}':
        case ']': k->depth -= k->depth > 0; break;
        case ',': k->at_key = true; break;
        case ':': k->at_key = false; break;
        case '"': {
            size_t end = string_end(text, i), colon = skip_space(text, end);
            k->cut = end == 0;
            k->at = k->cut ? text.len : end;
            if (k->cut || k->depth != 1 || !k->at_key || colon == text.len ||
                text.ptr[colon] != ':')
                break;
            *value = skip_space(text, colon + 1);
            return (mcp_str){text.ptr + i, end - i};
        }
        default: break;
        }
    }
    return (mcp_str){0};
}

bool mcp__scan_id(mcp_str head, const mcp_allocator *allocator, mcp__buf *id)
{
    keys k = {.text = head};
    size_t value;
    for (mcp_str key; (key = next_key(&k, &value)).ptr;) {
        if (mcp_str_eq(key, MCP_STR("\"id\"")))
            return put_token(id_token(head, value), allocator, id);
    }
    return false;
}

bool mcp__scan_answer_id(mcp_str text, const mcp_allocator *allocator, mcp__buf *id)
{
    keys k = {.text = text};
    size_t value, at = 0, n = 0;
    for (mcp_str key; (key = next_key(&k, &value)).ptr;) {
        if (mcp_str_eq(key, MCP_STR("\"method\"")))
            return false;
        if (mcp_str_eq(key, MCP_STR("\"id\""))) {
            n++;
            at = value;
        }
    }
    return n == 1 && put_token(id_token(text, at), allocator, id);
}

/* ---- finding an id from the end -------------------------------------------------------------- */

/* These functions get `end`, the offset after the token that they examine. They return 0 if the
 * token begins before the start of text. */

static size_t skip_space_back(mcp_str text, size_t end)
{
    while (end && memchr(" \t\r\n", text.ptr[end - 1], 4))
        end--;
    return end;
}

/* Returns the offset of the character `c` if it is the last one before `end`, ignoring white space,
 * else 0. */
static size_t expect_back(mcp_str text, size_t end, char c)
{
    end = skip_space_back(text, end);
    return end && text.ptr[end - 1] == c ? end - 1 : 0;
}

/* Returns whether the quote at text[at] follows an odd number of backslashes. Also returns true if
 * the backslashes reach the start of text, because their number is then unknown. */
static bool is_escaped(mcp_str text, size_t at)
{
    size_t from = at;
    while (from && text.ptr[from - 1] == '\\')
        from--;
    return from == 0 || (at - from) % 2 == 1;
}

/* Returns the offset of the opening quote of the string whose closing quote is the last character
 * before `end`. */
static size_t string_start(mcp_str text, size_t end)
{
    for (size_t i = end - 1; i-- > 0;) {
        if (text.ptr[i] == '"' && !is_escaped(text, i))
            return i;
    }
    return 0;
}

/* Returns the start of a string, a number or a word. */
#define WORD "-+.E0123456789aeflnrstu" /* numbers, true, false, null */
static size_t scalar_start(mcp_str text, size_t end)
{
    if (end && text.ptr[end - 1] == '"')
        return string_start(text, end);
    size_t start = end;
    while (start && memchr(WORD, text.ptr[start - 1], sizeof(WORD) - 1))
        start--;
    return start < end ? start : 0;
}

bool mcp__scan_id_back(mcp_str tail, const mcp_allocator *allocator, mcp__buf *id)
{
    size_t end = expect_back(tail, tail.len, '}');
    while (end) {
        size_t value_end = skip_space_back(tail, end), value = scalar_start(tail, value_end);
        size_t key_end = skip_space_back(tail, expect_back(tail, value, ':'));
        size_t key = key_end && tail.ptr[key_end - 1] == '"' ? string_start(tail, key_end) : 0;
        if (!key)
            return false;
        if (key_end - key == 4 && memcmp(tail.ptr + key, "\"id\"", 4) == 0)
            return put_token((mcp_str){tail.ptr + value, value_end - value}, allocator, id);
        end = expect_back(tail, key, ',');
    }
    return false;
}

int mcp__explain_unparsed(mcp_str text, const mcp_error *error, mcp__buf *id, mcp__buf *why)
{
    if (error->code == MCP_ENOMEM) {
        mcp__buf_lit(why, "out of memory");
        return MCP__INTERNAL_ERROR;
    }
    bool limit = error->code == MCP_ELIMIT;
    if (limit && !mcp__scan_id_back(text, id->allocator, id) &&
        !mcp__scan_id(text, id->allocator, id))
        id->len = 0;
    mcp__buf_printf(why, limit ? "%s" : "not a JSON message: %s", error->text);
    return limit ? MCP__INVALID_REQUEST : MCP__PARSE_ERROR;
}

/* ---- writing --------------------------------------------------------------------------------- */

void mcp__put_result_head(mcp__buf *b, mcp_str id)
{
    mcp__buf_lit(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp__buf_str(b, id);
    mcp__buf_lit(b, ",\"result\":");
}

void mcp__put_error(mcp__buf *b, mcp_str id, mcp__no_id no_id, int code, mcp_str message,
                    mcp_str data)
{
    mcp__buf_lit(b, "{\"jsonrpc\":\"2.0\",");
    if (id.len || no_id == MCP__NO_ID_NULL) {
        mcp__buf_lit(b, "\"id\":");
        mcp__buf_str(b, id.len ? id : MCP_STR("null"));
        mcp__buf_char(b, ',');
    }
    mcp__buf_lit(b, "\"error\":{\"code\":");
    mcp__json_put_int(b, code);
    mcp__buf_lit(b, ",\"message\":");
    mcp__json_put_str(b, message);
    if (data.len) {
        mcp__buf_lit(b, ",\"data\":");
        mcp__buf_str(b, data);
    }
    mcp__buf_lit(b, "}}");
}

void mcp__put_notification_head(mcp__buf *b, mcp_str method)
{
    mcp__buf_lit(b, "{\"jsonrpc\":\"2.0\",\"method\":");
    mcp__json_put_str(b, method);
    mcp__buf_lit(b, ",\"params\":");
}

void mcp__put_request_head(mcp__buf *b, int64_t id, mcp_str method)
{
    mcp__buf_lit(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp__json_put_int(b, id);
    mcp__buf_lit(b, ",\"method\":");
    mcp__json_put_str(b, method);
    mcp__buf_lit(b, ",\"params\":");
}
