/* web_page.c: --page: answers requests for the files of the page, and for what it has to know. */
#include "web_page.h"

#include <stdio.h>

#include <common/origin.h>
#include <common/page.h>

#include "oauth.h"

enum { MOST_LOGINS = 16 /* as many as issuers */ };

static page_headers headers;
static mcp_json_writer *writer;
static mcp_str about; /* the answer of /web/config; belongs to the writer */

/* Adds the issuers at which the page can log in, if there are any, and collects their origins. */
static size_t put_logins(const config *c, mcp_json_writer *w, char origins[][ORIGIN_ROOM])
{
    const mcp_json *v, *issuers = mcp_json_get(oauth_section(c), "issuers");
    mcp_json_iter it = {0};
    size_t n = 0;
    while (n < MOST_LOGINS && (v = mcp_json_next(issuers, &it, NULL)) != NULL) {
        mcp_str issuer = mcp_json_string(mcp_json_get(v, "issuer"));
        const mcp_json *client = mcp_json_get(v, "page-client-id");
        if (!client || !origin_of(issuer, origins[n]))
            continue;
        if (n++ == 0)
            mcp_json_put_array(w, "logins");
        mcp_json_begin_object(w);
        mcp_json_put_str(w, "issuer", issuer);
        mcp_json_put_str(w, "clientId", mcp_json_string(client));
        mcp_json_end(w);
    }
    if (n)
        mcp_json_end(w);
    return n;
}

bool web_page_open(const config *c)
{
    char origins[MOST_LOGINS][ORIGIN_ROOM];
    const char *connect[MOST_LOGINS];
    if (headers.asset)
        return true;
    writer = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(writer);
    mcp_json_put_string(writer, "mode", "mcpd");
    mcp_json_put_string(writer, "endpoint", "/mcp");
    mcp_json_put_string(writer, "version", MCP_VERSION_STRING);
    size_t n = put_logins(c, writer, origins);
    mcp_json_end(writer);
    for (size_t i = 0; i < n; i++)
        connect[i] = origins[i];
    if (mcp_json_writer_finish(writer, &about) == MCP_OK && page_headers_make(&headers, connect, n))
        return true;
    web_page_close();
    return false;
}

void web_page_close(void)
{
    page_headers_clear(&headers);
    mcp_json_writer_free(writer);
    writer = NULL;
    about = (mcp_str){0};
}

bool web_page_answer(const mcp_http_page *page, mcp_http_page_answer *answer, void *user)
{
    (void)user;
    if (mcp_str_eq(page->path, MCP_STR("/web/config"))) {
        page_answer_json(200, about, &headers, answer);
        return true;
    }
    return page_answer(page, &headers, answer);
}
