/* page.h: the web page of mcpctl web and mcpd --page, whose files are part of the program.
 *
 * The files are those of the folder web/. They contain nothing secret, so they need no login. All
 * answers forbid that another page frames them, opens them as a part of itself, or learns their
 * contents; and the page may only load what is here, and only connect to here.
 */
#ifndef PROGRAM_PAGE_H
#define PROGRAM_PAGE_H

#include <mcp/http.h>

typedef struct page_asset {
    const char *path; /* "/" for index.html, "/app.js" */
    const char *type;
    const char *etag; /* with its quotation marks */
    const unsigned char *bytes;
    size_t len;
} page_asset;

extern const page_asset page_assets[];
extern const size_t n_page_assets;

/* Headers of every answer, and with `page` also those of the page itself. */
typedef struct page_headers {
    char *asset, *data;
} page_headers;

/* Makes the headers. Scripts may connect to the page's own origin and to the origins in `connect`.
 * Returns false if out of memory, or if one of them is not an origin ("https://id.example"). */
bool page_headers_make(page_headers *h, const char *const *connect, size_t n);
void page_headers_clear(page_headers *h);

/* Answers GET and HEAD of a file; a request with If-None-Match, which has to be in login_headers,
 * gets 304. Returns false if there is no such file. Other methods get 405. */
bool page_answer(const mcp_http_page *page, const page_headers *h, mcp_http_page_answer *answer);
/* Answers with JSON text that must not be stored anywhere. */
void page_answer_json(int status, mcp_str text, const page_headers *h,
                      mcp_http_page_answer *answer);

#endif
