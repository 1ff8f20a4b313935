/* web_page.h: --page: the web page of this server, at the path / of its listeners.
 *
 * The page is the same for everybody and needs no login: it contains no data. What it shows, it gets
 * from the endpoint with the token that is typed into it, or that it gets from an issuer itself: a login
 * is between the page and the issuer, and this program only says which client the page is there.
 */
#ifndef MCPD_WEB_PAGE_H
#define MCPD_WEB_PAGE_H

#include <mcp/http.h>

#include "config.h"

/* Prepares the answers. The section "oauth" of `c`, which may be NULL, says where the page can log in.
 * Returns false if out of memory. Call it before the first request. */
bool web_page_open(const config *c);
void web_page_close(void);

/* mcp_http_options.page. */
bool web_page_answer(const mcp_http_page *page, mcp_http_page_answer *answer, void *user);

#endif
