/* page.c: answers with the files of the page, and their headers. */
#define _GNU_SOURCE
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "origin.h"

/* Of all answers. Cross-Origin-Opener-Policy separates the page from one that has opened it, and
 * Cross-Origin-Resource-Policy keeps others from including an answer. */
#define OF_ALL                                    \
    "X-Content-Type-Options: nosniff\r\n"         \
    "X-Frame-Options: DENY\r\n"                   \
    "Referrer-Policy: no-referrer\r\n"            \
    "Cross-Origin-Opener-Policy: same-origin\r\n" \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

/* Of the page. Pictures and sound are blobs that the page makes of what a server sent; nothing is
 * loaded from elsewhere, and no text becomes markup or a script. */
static const char of_page[] =
    OF_ALL "Cache-Control: no-cache\r\n"
           "Permissions-Policy: camera=(), microphone=(), geolocation=(), usb=(), serial=(), "
           "hid=(), payment=(), display-capture=()\r\n"
           "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
           "img-src 'self' blob:; media-src blob:; base-uri 'none'; form-action 'none'; "
           "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'; "
           "connect-src 'self'";

static const char of_data[] =
    OF_ALL "Cache-Control: no-store\r\n"
           "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";

bool page_headers_make(page_headers *h, const char *const *connect, size_t n)
{
    size_t len;
    FILE *f = open_memstream(&h->asset, &len);
    bool ok = f != NULL;
    if (f)
        fputs(of_page, f);
    for (size_t i = 0; f && i < n; i++) {
        ok = ok && origin_is(connect[i]);
        fprintf(f, " %s", ok ? connect[i] : "");
    }
    if (f)
        fputs("\r\n", f);
    if (f && fclose(f) != 0)
        ok = false;
    h->data = ok ? strdup(of_data) : NULL;
    ok = ok && h->data && h->asset;
    if (!ok)
        page_headers_clear(h);
    return ok;
}

void page_headers_clear(page_headers *h)
{
    free(h->asset);
    free(h->data);
    *h = (page_headers){0};
}

static const page_asset *find(mcp_str path)
{
    for (size_t i = 0; i < n_page_assets; i++)
        if (mcp_str_eq(path, mcp_str_from(page_assets[i].path)))
            return &page_assets[i];
    return NULL;
}

/* Returns whether the browser has the file already. */
static bool is_known(const mcp_http_page *page, const page_asset *a)
{
    mcp_str known = {0};
    return mcp_http_page_header(page, "If-None-Match", &known) && known.len &&
           memmem(known.ptr, known.len, a->etag, strlen(a->etag)) != NULL;
}

void page_answer_json(int status, mcp_str text, const page_headers *h, mcp_http_page_answer *answer)
{
    answer->status = status;
    answer->type = "application/json";
    answer->body = text;
    answer->headers = h->data;
}

bool page_answer(const mcp_http_page *page, const page_headers *h, mcp_http_page_answer *answer)
{
    /* The answer is copied before the next request arrives. */
    static char headers[8192];
    const page_asset *a = find(page->path);
    if (!a)
        return false;
    if (mcp_str_eq(page->method, MCP_STR("POST"))) {
        page_answer_json(405, MCP_STR("{\"error\":\"method\",\"message\":\"this is a file\"}"), h,
                         answer);
        return true;
    }
    int len = snprintf(headers, sizeof(headers), "%sETag: %s\r\n", h->asset, a->etag);
    if (len < 0 || (size_t)len >= sizeof(headers))
        return false;
    answer->headers = headers;
    answer->status = is_known(page, a) ? 304 : 200;
    if (answer->status == 304)
        return true;
    answer->type = a->type;
    answer->body = (mcp_str){(const char *)a->bytes, a->len};
    return true;
}
