/* web_page.h: --page: the web page of this server, at the path / of its listeners.
 *
 * The page is the same for everybody and needs no login: it contains no data. What it shows, it gets
 * from the endpoint with the token that is typed into it.
 */
#ifndef MCPD_WEB_PAGE_H
#define MCPD_WEB_PAGE_H

#include <mcp/http.h>

/* Prepares the answers. Returns false if out of memory. Call it before the first request. */
bool web_page_open(void);
void web_page_close(void);

/* mcp_http_options.page. */
bool web_page_answer(const mcp_http_page *page, mcp_http_page_answer *answer, void *user);

#endif
