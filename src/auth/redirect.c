/* redirect.c: reads the URL that a browser was sent back to (RFC 6749 section 4.1.2, RFC 9207); see
 * authorize.h. */
#include <mcp/uri.h>

#include "auth/authorize.h"

static const mcp_str none = {NULL, 0};

/* Returns the text before the first `c`, and sets *rest to the text after it, which is empty if
 * there is none. */
static mcp_str cut(mcp_str text, char c, mcp_str *rest)
{
    const char *at = text.len ? memchr(text.ptr, c, text.len) : NULL;
    mcp_str head = {text.ptr, at ? (size_t)(at - text.ptr) : text.len};
    *rest = at ? mcp__str_sub(text, head.len + 1) : none;
    return head;
}

/* Decodes a name or value of a form, which is a part of ret->text, in place. Returns false if it is
 * malformed. */
static bool decode(const mcp__redirect *ret, mcp_str *text)
{
    if (!text->len)
        return true;
    char *bytes = ret->text + (text->ptr - ret->text);
    for (size_t i = 0; i < text->len; i++) {
        if (bytes[i] == '+')
            bytes[i] = ' ';
    }
    return mcp_uri_decode(*text, bytes, text->len, &text->len) == MCP_OK;
}

/* Reads one parameter. Others than the five are ignored. If it was there before, sets *twice to its
 * name and keeps the first value. */
static mcp__oauth_fault read_param(mcp__redirect *ret, mcp_str pair, const char **twice)
{
    const struct {
        const char *name;
        mcp_str *to;
    } params[] = {
        {"code", &ret->code},
        {"state", &ret->state},
        {"iss", &ret->issuer},
        {"error", &ret->error},
        {"error_description", &ret->description},
    };
    mcp_str value, name = cut(pair, '=', &value);
    if (!decode(ret, &name) || !decode(ret, &value))
        return MCP__OAUTH_REDIRECT_FORM;
    for (size_t i = 0; i < MCP__COUNT(params); i++) {
        if (!mcp_str_eq(name, mcp_str_from(params[i].name)))
            continue;
        if (params[i].to->ptr)
            *twice = params[i].name;
        else
            *params[i].to = value.ptr ? value : (mcp_str){"", 0};
    }
    return MCP__OAUTH_OK;
}

static mcp__oauth_fault read_query(mcp__redirect *ret, mcp_str query, const char **twice)
{
    while (query.len) {
        mcp_str pair = cut(query, '&', &query);
        mcp__oauth_fault fault = pair.len ? read_param(ret, pair, twice) : MCP__OAUTH_OK;
        if (fault != MCP__OAUTH_OK)
            return fault;
    }
    return MCP__OAUTH_OK;
}

/* The redirect URI before its query must be as it was registered. Some servers append a
 * fragment. */
static mcp__oauth_fault read_url(mcp__redirect *ret, mcp_str url, mcp_str redirect_uri,
                                 const char **twice)
{
    mcp_uri uri;
    mcp_str ignored, query;
    if (url.len > MCP__REDIRECT_BYTES || memchr(url.ptr, '\0', url.len))
        return MCP__OAUTH_REDIRECT_FORM;
    mcp_str before = cut(cut(url, '#', &ignored), '?', &query);
    mcp_str wanted = cut(redirect_uri, '?', &ignored);
    if (mcp_uri_parse(before, &uri, NULL) != MCP_OK || !uri.has_authority)
        return MCP__OAUTH_REDIRECT_FORM;
    if (!mcp_str_eq(before, wanted))
        return MCP__OAUTH_REDIRECT_ELSEWHERE;
    return read_query(ret, query, twice);
}

/* The checks of the contents. Nothing of the redirect may be believed, or shown, before the state
 * and the issuer are right. The state comes first: without it, the URL may be from any web page,
 * and the caller may go on waiting. */
static mcp__oauth_fault check(const mcp__redirect *redirect, const mcp__redirect_rules *rules,
                              const char *twice)
{
    if (!rules->state.len || !mcp_str_eq(redirect->state, rules->state))
        return MCP__OAUTH_REDIRECT_STATE;
    if (twice)
        return MCP__OAUTH_REDIRECT_TWICE;
    if (redirect->issuer.ptr ? !mcp_str_eq(redirect->issuer, rules->issuer) : rules->names_itself)
        return redirect->issuer.ptr ? MCP__OAUTH_REDIRECT_ISSUER : MCP__OAUTH_REDIRECT_NO_ISSUER;
    if (redirect->error.ptr)
        return mcp__oauth_fault_find(redirect->error);
    return redirect->code.len ? MCP__OAUTH_OK : MCP__OAUTH_REDIRECT_NO_CODE;
}

mcp__oauth_fault mcp__redirect_read(mcp__redirect *ret, mcp_str url,
                                    const mcp__redirect_rules *rules,
                                    const mcp_allocator *allocator, mcp_error *error)
{
    const char *twice = NULL;
    *ret = (mcp__redirect){.allocator = *mcp__allocator(allocator)};
    mcp__no_error(error);
    if (!url.len || url.len > MCP__REDIRECT_BYTES)
        return mcp__oauth_fail(error, MCP__OAUTH_REDIRECT_FORM, none, none);
    ret->text = mcp__strdup(&ret->allocator, url);
    if (!ret->text)
        return mcp__oauth_failed(error, MCP_ENOMEM);
    mcp__oauth_fault fault =
        read_url(ret, (mcp_str){ret->text, url.len}, rules->redirect_uri, &twice);
    if (fault == MCP__OAUTH_OK)
        fault = check(ret, rules, twice);
    if (fault == MCP__OAUTH_OK)
        return fault;
    ret->code = none;
    if (mcp__oauth_is_error(fault))
        return mcp__oauth_fail_error(error, ret->error, ret->description, rules->issuer);
    ret->state = ret->issuer = ret->error = ret->description = none;
    return mcp__oauth_fail(error, fault,
                           fault == MCP__OAUTH_REDIRECT_TWICE ? mcp_str_from(twice) : none,
                           rules->issuer);
}

void mcp__redirect_clear(mcp__redirect *redirect)
{
    mcp__release(&redirect->allocator, redirect->text);
    redirect->text = NULL;
    redirect->code = redirect->state = redirect->issuer = none;
    redirect->error = redirect->description = none;
}
