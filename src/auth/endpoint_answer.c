/* endpoint_answer.c: what answers of all endpoints of authorization servers have in common: a JSON
 * object, or an error (RFC 6749 section 5.2); see token_answer.h. */
#include <stdio.h>

#include <mcp/uri.h>

#include "auth/token_answer.h"

static const mcp_str none = {NULL, 0};

enum { MOST_QUOTED = 64, MOST_WORD = 20 };

/* Returns whether a body is a short plain text such as "Forbidden". JSON, forms and long words may be
 * or contain tokens and secrets. */
static bool may_quote(int status, mcp_str body)
{
    size_t word = 0;
    for (size_t i = 0; i < body.len && i <= MOST_QUOTED && word <= MOST_WORD; i++) {
        bool space = body.ptr[i] == ' ' || body.ptr[i] == '\r' || body.ptr[i] == '\n';
        if (memchr("{}[]\"'=<>&", body.ptr[i], sizeof("{}[]\"'=<>&") - 1))
            return false;
        word = space ? 0 : word + 1;
    }
    return status >= 400 && body.len && body.len <= MOST_QUOTED && word <= MOST_WORD;
}

mcp__oauth_fault mcp__oauth_answer_fail(mcp_error *error, mcp__oauth_fault fault, int status,
                                        mcp_str body, mcp_str url)
{
    char what[96];
    bool quoted = may_quote(status, body);
    snprintf(what, sizeof(what), "HTTP %d%s%.*s", status, quoted ? " " : "",
             quoted ? (int)body.len : 0, quoted ? body.ptr : "");
    return mcp__oauth_fail(error, fault, mcp_str_from(what), url);
}

/* A server that fails, or is too busy, may have a body of any kind. */
static mcp__oauth_fault read_error(const mcp_json *root, int status, mcp_str body, mcp_str url,
                                   mcp_error *error)
{
    const mcp_json *code = mcp_json_get(root, "error");
    mcp_str description = mcp_json_string(mcp_json_get(root, "error_description"));
    if (mcp_json_string(code).len)
        return mcp__oauth_fail_error(error, mcp_json_string(code), description, url);
    return mcp__oauth_answer_fail(error, MCP__OAUTH_ANSWER_STATUS, status, body, url);
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* Returns the text before the first `c`, and sets *rest to the text after it. */
static mcp_str cut(mcp_str text, char c, mcp_str *rest)
{
    const char *at = text.len ? memchr(text.ptr, c, text.len) : NULL;
    mcp_str head = {text.ptr, at ? (size_t)(at - text.ptr) : text.len};
    *rest = at ? mcp__str_sub(text, head.len + 1) : none;
    return head;
}

/* Decodes a name or value in place and writes it as a JSON string. */
static bool put_decoded(mcp__buf *to, mcp_str text)
{
    char *bytes = (char *)(uintptr_t)text.ptr;
    for (size_t i = 0; i < text.len; i++) {
        if (bytes[i] == '+')
            bytes[i] = ' ';
    }
    if (text.len && mcp_uri_decode(text, bytes, text.len, &text.len) != MCP_OK)
        return false;
    mcp__json_put_str(to, text);
    return true;
}

/* Writes a form as a JSON object. Returns false if the body is no form. */
static bool put_form(mcp__buf *to, mcp_str body)
{
    char before = '{';
    while (body.len) {
        mcp_str value, name = cut(cut(body, '&', &body), '=', &value);
        if (!name.len || !value.ptr)
            return false;
        mcp__buf_char(to, before);
        before = ',';
        if (!put_decoded(to, name))
            return false;
        mcp__buf_char(to, ':');
        if (!put_decoded(to, value))
            return false;
    }
    mcp__buf_char(to, '}');
    return true;
}

/* Reads the form that some servers answer with, although the request accepts only JSON. Its bytes are
 * those of application/x-www-form-urlencoded. Returns MCP_EPARSE if the body is no form. */
static int read_form(mcp_str body, const mcp_allocator *a, mcp_json_doc **ret)
{
    bool is_form = body.len && memchr(body.ptr, '=', body.len);
    for (size_t i = 0; i < body.len; i++)
        is_form &= body.ptr[i] > ' ' && body.ptr[i] < 0x7F && !memchr("{}[]<>\"\\", body.ptr[i], 8);
    char *copy = is_form ? mcp__strdup(a, body) : NULL;
    if (!copy)
        return is_form ? MCP_ENOMEM : MCP_EPARSE;
    mcp__buf b;
    mcp__buf_init(&b, a, 0);
    int rc = put_form(&b, (mcp_str){copy, body.len}) ? b.failed : MCP_EPARSE;
    if (rc == MCP_OK)
        rc = mcp_json_parse(mcp__buf_view(&b), NULL, a, ret, NULL);
    mcp__wipe(copy, body.len);
    mcp__release(a, copy);
    mcp__buf_wipe(&b);
    mcp__buf_free(&b);
    return rc == MCP_ENOMEM ? rc : rc == MCP_OK ? MCP_OK : MCP_EPARSE;
}

mcp__oauth_fault mcp__oauth_answer_read(mcp_json_doc **ret, int status, mcp_str body, mcp_str url,
                                        const mcp_allocator *allocator, mcp_error *error)
{
    bool ok = status == 200 || status == 201;
    mcp_json_doc *doc = NULL;
    mcp__oauth_fault fault = MCP__OAUTH_OK;
    mcp__no_error(error);
    if (body.len > MCP__ANSWER_BYTES)
        return mcp__oauth_fail(error, MCP__OAUTH_ANSWER_SIZE, none, url);
    int rc = mcp_json_parse(body, NULL, mcp__allocator(allocator), &doc, NULL);
    if (rc == MCP_EPARSE)
        rc = read_form(body, mcp__allocator(allocator), &doc);
    if (rc == MCP_ENOMEM)
        return mcp__oauth_failed(error, rc);
    const mcp_json *root = mcp_json_root(doc);
    if (!ok || mcp_json_get(root, "error"))
        fault = read_error(root, status, body, url, error);
    else if (!mcp_json_is(root, MCP_JSON_OBJECT)) /* may contain a token, so it is not quoted */
        fault = mcp__oauth_fail(error, MCP__OAUTH_ANSWER_JSON, none, url);
    if (fault == MCP__OAUTH_OK)
        *ret = doc;
    else
        mcp_json_free(doc);
    return fault;
}

bool mcp__oauth_answer_text(const mcp_json *object, const char *name, size_t most, mcp_str *ret)
{
    const mcp_json *value = mcp_json_get(object, name);
    mcp_str text = mcp_json_string(value);
    if (!value || mcp_json_is(value, MCP_JSON_NULL)) {
        *ret = none;
        return true;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < ' ' || text.ptr[i] >= 0x7F)
            return false;
    }
    *ret = text;
    return text.ptr && text.len <= most;
}
