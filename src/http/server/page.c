/* page.c: requests that the program answers itself (mcp_http_options.page), such as those for the files of
 * a web page. */
#include "http/server/http_session.h"

/* The public struct must be first, so that mcp_http_page_header() finds the connection. */
typedef struct page_request {
    mcp_http_page page;
    const mcp_http_connection *connection;
} page_request;

bool mcp_http_page_header(const mcp_http_page *page, const char *name, mcp_str *value)
{
    const page_request *r = mcp__container((mcp_http_page *)(uintptr_t)page, page_request, page);
    return mcp__http_find(&r->connection->head, name, value);
}

static mcp_str method_of(const mcp_http_connection *c)
{
    switch (c->http_method) {
    case HTTP_POST: return MCP_STR("POST");
    case HTTP_HEAD: return MCP_STR("HEAD");
    default: return MCP_STR("GET");
    }
}

void mcp__http_answer_page(mcp_http_connection *c)
{
    const mcp_http_options *o = &c->http->options;
    page_request request = {.connection = c};
    request.page = (mcp_http_page){.size = sizeof(request.page),
                                   .method = method_of(c),
                                   .path = mcp__http_text(&c->head, c->head.path),
                                   .body = mcp__http_body(c)};
    mcp_http_page_answer answer = {.size = sizeof(answer), .status = 200};
    if (!o->page(&request.page, &answer, o->user) || !mcp__http_has_status(answer.status)) {
        mcp__http_refuse(c, MCP__HTTP_NO_PATH);
        return;
    }
    mcp__http_answer a = {.status = answer.status,
                          .type = answer.type,
                          .body = answer.body,
                          .lines = mcp_str_from(answer.headers)};
    mcp__http_respond(c, &a);
}
