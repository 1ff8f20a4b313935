/* cookies.c: the cookies of one client, by which balancers recognize it.
 *
 * A balancer may bind a session to one of its servers with a cookie. libcurl stores and sends the
 * cookies (RFC 6265). They are only in memory, and each client has its own, in a share of libcurl. All
 * requests of a client go to one origin, so no cookie gets to another. Handles are used by several
 * clients, so a handle has the share only while it runs a request. */
#define _GNU_SOURCE
#include "io/http_client/http_client.h"

enum { MOST_COOKIES = 64 }; /* if a server sets more of them, all are forgotten */

struct mcp__jar {
    mcp__multi *multi;
    CURLSH *share;  /* NULL if libcurl was built without cookies */
    size_t n_users; /* the client, and the requests that run */
    size_t n_set;   /* headers Set-Cookie since the cookies were counted */
};

mcp__jar *mcp__jar_new(mcp__multi *multi)
{
    const mcp__curl *f = &multi->f;
    mcp__jar *jar = mcp__zalloc(&multi->loop->allocator, sizeof(*jar));

    if (!jar)
        return NULL;
    jar->multi = multi;
    jar->n_users = 1;
    jar->share = f->curl_share_init();
    if (jar->share &&
        f->curl_share_setopt(jar->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE) != CURLSHE_OK) {
        f->curl_share_cleanup(jar->share);
        jar->share = NULL;
    }
    return jar;
}

void mcp__jar_unref(mcp__jar *jar)
{
    if (!jar || --jar->n_users)
        return;
    if (jar->share)
        jar->multi->f.curl_share_cleanup(jar->share);
    mcp__release(&jar->multi->loop->allocator, jar);
}

/* A request has one header Cookie (RFC 6265, 5.4), so one that the program sets takes precedence. */
static bool has_cookies(const mcp__headers *headers)
{
    const char *line;
    size_t at = 0;

    while ((line = mcp__headers_next(headers, &at)) != NULL) {
        if (mcp__str_same((mcp_str){line, strcspn(line, ":;")}, MCP_STR("cookie")))
            return true;
    }
    return false;
}

bool mcp__jar_enter(mcp__jar *jar, mcp__transfer *t)
{
    if (!jar || !jar->share || has_cookies(&t->lines))
        return true;
    if (t->multi->f.curl_easy_setopt(t->easy, CURLOPT_SHARE, jar->share) != CURLE_OK)
        return false;
    jar->n_users++;
    t->jar = jar;
    /* No file: this only makes libcurl use the cookies of the share. */
    return t->multi->f.curl_easy_setopt(t->easy, CURLOPT_COOKIEFILE, "") == CURLE_OK;
}

/* Bounds the memory that a server can make the client use. */
static void count_cookies(mcp__jar *jar, CURL *easy)
{
    const mcp__curl *f = &jar->multi->f;
    struct curl_slist *all = NULL;
    size_t n = 0;

    jar->n_set = 0;
    (void)f->curl_easy_getinfo(easy, CURLINFO_COOKIELIST, &all);
    for (const struct curl_slist *l = all; l; l = l->next)
        n++;
    f->curl_slist_free_all(all);
    if (n > MOST_COOKIES)
        (void)f->curl_easy_setopt(easy, CURLOPT_COOKIELIST, "ALL");
}

void mcp__jar_leave(mcp__transfer *t)
{
    mcp__jar *jar = t->jar;

    if (!jar)
        return;
    t->jar = NULL;
    jar->n_set += t->answer.n_cookies;
    if (jar->n_set > MOST_COOKIES)
        count_cookies(jar, t->easy);
    (void)t->multi->f.curl_easy_setopt(t->easy, CURLOPT_COOKIEFILE, NULL);
    (void)t->multi->f.curl_easy_setopt(t->easy, CURLOPT_SHARE, NULL);
    mcp__jar_unref(jar);
}
