/* login.h: answers of `authenticate` for tests (mcp/http.h). */
#ifndef MCP_TESTS_LOGIN_H
#define MCP_TESTS_LOGIN_H

#include <stdio.h>

#include <mcp/http.h>

/* Writes the token of "Authorization: Bearer TOKEN". Returns false if there is none. */
static inline bool login_token(const mcp_http_login *login, char *token, size_t room)
{
    mcp_str value, scheme = MCP_STR("Bearer ");
    if (!mcp_http_login_header(login, "authorization", &value) || value.len <= scheme.len ||
        memcmp(value.ptr, scheme.ptr, scheme.len) != 0)
        return false;
    int len = snprintf(token, room, "%.*s", (int)(value.len - scheme.len), value.ptr + scheme.len);
    return len > 0 && (size_t)len < room;
}

/* Accepts a request as sent by a new identity. */
static inline void login_accept(mcp_http_login *login, const mcp_identity_options *options)
{
    mcp_identity *identity = NULL;
    if (mcp_identity_new(options, &identity, NULL) == MCP_OK)
        mcp_http_login_accept(login, identity);
    else
        mcp_http_login_refuse(login, MCP_OPTIONS(mcp_http_denial, .status = 503));
    mcp_identity_unref(identity);
}

/* A function for mcp_http_options.authenticate. The token of a principal is its name. */
static inline void login_by_name(mcp_http_login *login, void *user)
{
    char name[128];
    (void)user;
    if (login_token(login, name, sizeof(name)))
        login_accept(login, MCP_OPTIONS(mcp_identity_options, .principal = name));
    else
        mcp_http_login_refuse(login, NULL);
}

#endif
