/* registration_request.c: see registration_request.h. */
#include <stdio.h>

#include "auth/registration_request.h"
#include "auth/token_answer.h"

static void add_text(mcp_json_writer *w, const char *name, mcp_str value)
{
    if (!value.len)
        return;
    mcp_json_key(w, name);
    mcp_json_add_str(w, value);
}

/* Adds an array of the strings that are not NULL. */
static void add_list(mcp_json_writer *w, const char *name, const char *const *values, size_t n)
{
    mcp_json_key(w, name);
    mcp_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        if (values[i])
            mcp_json_add_string(w, values[i]);
    }
    mcp_json_end(w);
}

static void write(mcp_json_writer *w, const mcp__registration *client)
{
    bool code = client->redirect_uri.len > 0;
    const char *grants[] = {code ? MCP__GRANT_CODE : NULL, MCP__GRANT_REFRESH,
                            client->device ? MCP__GRANT_DEVICE : NULL};
    const char *responses[] = {code ? "code" : NULL};
    mcp_json_begin_object(w);
    add_text(w, "client_name", client->name);
    add_text(w, "client_uri", client->uri);
    if (code) {
        mcp_json_key(w, "redirect_uris");
        mcp_json_begin_array(w);
        mcp_json_add_str(w, client->redirect_uri);
        mcp_json_end(w);
    }
    add_list(w, "grant_types", grants, MCP__COUNT(grants));
    add_list(w, "response_types", responses, MCP__COUNT(responses));
    add_text(w, "token_endpoint_auth_method", mcp_str_from(mcp__auth_method_name(client->method)));
    add_text(w, "application_type", MCP_STR("native"));
    add_text(w, "scope", client->scope);
    add_text(w, "software_id", client->software_id);
    add_text(w, "software_version", client->software_version);
    mcp_json_end(w);
}

int mcp__registration_put(mcp__buf *to, const mcp__registration *client)
{
    mcp_json_writer *w = mcp_json_writer_new(to->allocator, 0);
    mcp_str text;
    write(w, client);
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK)
        mcp__buf_str(to, text);
    mcp_json_writer_free(w);
    return rc == MCP_OK ? to->failed : rc;
}

mcp__auth_method mcp__registration_method(const mcp_json *list)
{
    if (!list || mcp__json_lists(list, MCP_STR("none")))
        return MCP__METHOD_NONE;
    /* Some authorization servers look for client_id in the form alone (Python SDK 1.x and 2.x). */
    if (mcp__json_lists(list, MCP_STR("client_secret_post")))
        return MCP__METHOD_POST;
    return mcp__json_lists(list, MCP_STR("client_secret_basic")) ? MCP__METHOD_BASIC
                                                                 : MCP__METHOD_NONE;
}

/* ---- answers --------------------------------------------------------------------------------- */

enum { MOST_ID = 2048, MOST_METHOD = 64 };

static mcp__oauth_fault read_members(mcp__registered *ret, mcp_str url, mcp_error *error)
{
    const mcp_json *root = mcp_json_root(ret->doc);
    const mcp_json *expires = mcp_json_get(root, "client_secret_expires_at");
    const struct {
        const char *name;
        size_t most;
        mcp_str *to;
    } texts[] = {
        {"client_id", MOST_ID, &ret->id},
        {"client_secret", MOST_ID, &ret->secret},
        {"token_endpoint_auth_method", MOST_METHOD, &ret->method},
    };
    for (size_t i = 0; i < MCP__COUNT(texts); i++) {
        if (!mcp__oauth_answer_text(root, texts[i].name, texts[i].most, texts[i].to))
            return mcp__oauth_fail(error, MCP__OAUTH_REGISTER_FORM, mcp_str_from(texts[i].name),
                                   url);
    }
    if (!ret->id.len)
        return mcp__oauth_fail(error, MCP__OAUTH_REGISTER_FORM, MCP_STR("client_id"), url);
    ret->secret_expires = mcp_json_int(expires, 0);
    if (ret->secret_expires < 0)
        ret->secret_expires = 0;
    return MCP__OAUTH_OK;
}

/* A refusal that has no code of its own for registrations: the status, and what the server says about it. */
static mcp__oauth_fault refused(int status, mcp_str body, mcp_str url,
                                const mcp_allocator *allocator, mcp_error *error)
{
    char what[32], why[256];
    mcp_json_doc *doc = NULL;
    if (mcp_json_parse(body, NULL, mcp__allocator(allocator), &doc, NULL) != MCP_OK)
        return mcp__oauth_answer_fail(error, MCP__OAUTH_REGISTER_REFUSED, status, body, url);
    mcp_str code = mcp_json_string(mcp_json_get(mcp_json_root(doc), "error"));
    mcp_str text = mcp_json_string(mcp_json_get(mcp_json_root(doc), "error_description"));
    snprintf(what, sizeof(what), "HTTP %d", status);
    snprintf(why, sizeof(why), "%.*s%s%.*s", (int)MCP__MIN(code.len, 64), code.len ? code.ptr : "",
             text.len ? ", " : "", (int)MCP__MIN(text.len, 180), text.len ? text.ptr : "");
    mcp__oauth_fault fault = mcp__oauth_fail_named(error, MCP__OAUTH_REGISTER_REFUSED,
                                                   mcp_str_from(what), mcp_str_from(why), url);
    mcp_json_free(doc);
    return fault;
}

mcp__oauth_fault mcp__registered_read(mcp__registered *ret, int status, mcp_str body, mcp_str url,
                                      const mcp_allocator *allocator, mcp_error *error)
{
    memset(ret, 0, sizeof(*ret));
    mcp__oauth_fault fault = mcp__oauth_answer_read(&ret->doc, status, body, url, allocator, error);
    if (fault == MCP__OAUTH_OK)
        return read_members(ret, url, error);
    if (fault == MCP__OAUTH_ANSWER_STATUS ||
        (mcp__oauth_is_error(fault) && fault != MCP__OAUTH_INVALID_REDIRECT &&
         fault != MCP__OAUTH_INVALID_METADATA))
        return refused(status, body, url, allocator, error);
    return fault;
}

void mcp__registered_clear(mcp__registered *client)
{
    mcp__json_wipe(client->doc);
    memset(client, 0, sizeof(*client));
}
