/* transport_options.c: reads the options of an HTTP client. */
#define _GNU_SOURCE
#include "io/http_client/http_client.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_http_client_options, connect_ms, 10000),
    MCP_DEFAULT(mcp_http_client_options, answer_ms, 30000),
    MCP_DEFAULT(mcp_http_client_options, close_ms, 1000),
    MCP_DEFAULT(mcp_http_client_options, retry_ms, 1000),
    MCP_DEFAULT(mcp_http_client_options, max_retry_ms, 60000),
    MCP_DEFAULT(mcp_http_client_options, max_exchanges, 64),
};

static int copy_headers(mcp_http_client *http, const char *const *headers, mcp_error *error)
{
    for (size_t i = 0; headers && headers[i]; i++) {
        mcp_str line = mcp_str_from(headers[i]);
        const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
        mcp_str name = {line.ptr, colon ? (size_t)(colon - line.ptr) : 0};
        /* The error does not quote the header, because its value may be a secret. */
        if (!colon || !mcp__header_is_free(name))
            return mcp__fail(error, MCP_EINVAL, 0, "header %zu cannot be set", i + 1);
        int rc = mcp__headers_add(&http->headers, name, mcp__str_sub(line, name.len + 1));
        if (rc < 0)
            return mcp__fail(error, rc, 0, "header %zu cannot be sent: %s", i + 1,
                             mcp_error_text(rc));
    }
    return MCP_OK;
}

static bool copy_text(mcp_http_client *http, char **to, const char *text)
{
    *to = text ? mcp__strdup(http->allocator, mcp_str_from(text)) : NULL;
    return !text || *to;
}

/* Copies the URL and the other strings. "unix:/run/mcp.sock" means the endpoint /mcp on that
 * socket. */
static int copy_address(mcp_http_client *http, const mcp_http_client_options *o, mcp_error *error)
{
    const char *url = o->url, *path = o->unix_socket;

    if (!url || !*url)
        return mcp__fail(error, MCP_EINVAL, 0, "no URL was given");
    if (strncmp(url, "unix:", 5) == 0) {
        path = url + 5;
        url = "http://localhost/mcp";
    }
    if (path && !*path)
        return mcp__fail(error, MCP_EINVAL, 0, "the Unix socket has no path");
    int rc = mcp__url_check(mcp_str_from(url), error);
    if (rc < 0)
        return rc;
    if (!copy_text(http, &http->url, url) || !copy_text(http, &http->unix_socket, path) ||
        !copy_text(http, &http->proxy, o->proxy) || !copy_text(http, &http->ca_file, o->ca_file))
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an HTTP client");
    http->target = (mcp__target){.unix_socket = http->unix_socket,
                                 .proxy = http->proxy,
                                 .ca_file = http->ca_file,
                                 .connect_ms = http->options.connect_ms};
    return MCP_OK;
}

int mcp__http_client_read_options(mcp_http_client *http, mcp_error *error)
{
    mcp_http_client_options *o = &http->options;

    MCP_SET_DEFAULTS(o, defaults);
    http->flow = (mcp__flow){.per_second = MCP__MIN(o->messages_per_second, (size_t)MCP__FLOW_MOST),
                             .slowed = o->slowed,
                             .user = o->user};
    int rc = copy_address(http, o, error);
    return rc == MCP_OK ? copy_headers(http, o->headers, error) : rc;
}

void mcp__http_client_forget_texts(mcp_http_client_options *o)
{
    o->url = o->unix_socket = o->principal = o->proxy = o->ca_file = NULL;
    o->headers = NULL;
}
