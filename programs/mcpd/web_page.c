/* web_page.c: --page: answers requests for the files of the page, and for what it has to know. */
#include "web_page.h"

#include <stdio.h>

#include <common/page.h>

static page_headers headers;

bool web_page_open(void)
{
    return headers.asset || page_headers_make(&headers, NULL, 0);
}

void web_page_close(void)
{
    page_headers_clear(&headers);
}

bool web_page_answer(const mcp_http_page *page, mcp_http_page_answer *answer, void *user)
{
    (void)user;
    if (mcp_str_eq(page->path, MCP_STR("/web/config"))) {
        page_answer_json(
            200,
            MCP_STR("{\"mode\":\"mcpd\",\"endpoint\":\"/mcp\",\"version\":\"" MCP_VERSION_STRING
                    "\"}"),
            &headers, answer);
        return true;
    }
    return page_answer(page, &headers, answer);
}
