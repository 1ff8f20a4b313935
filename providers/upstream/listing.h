/* listing.h: requests for lists, which wait for the other server only for a short time. */
#ifndef UPSTREAM_LISTING_H
#define UPSTREAM_LISTING_H

#include "snapshot.h"

/* A request for a page of a list. */
struct upstream_listing {
    char *cursor;          /* "=" and that of the other server, or "" for the first page */
    mcp_host_timer *timer; /* ends the time that the request waits */
    bool early;            /* the engine has not asked this mount for its entries yet */
    bool late;             /* the request was answered without the other server */
    bool ended;            /* the other server has answered early: */
    int rc;
    mcp_str text; /* owned */
    mcp_error error;
};

/* ---- list.c ---------------------------------------------------------------------------------- */

/* mcp_provider.list_items, list_begin, list_end */
int upstream_list(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user);
void upstream_list_begin(mcp_request *req, mcp_item item, void *user);
void upstream_list_end(mcp_request *req, void *user);
/* Starts the timer of a request that is about to be sent. */
void upstream_list_time(upstream_ask *a);
void upstream_list_stop(upstream_ask *a);
/* Takes the outcome of a request for a list, and frees the upstream_ask unless it is needed. */
void upstream_list_settle(upstream_ask *a, int rc, const mcp_json *result, mcp_str text,
                          const mcp_error *error);
/* Separates a request that is not answered yet from an upstream_ask that began early. */
void upstream_list_detach(upstream_ask *a);
void upstream_list_free(upstream_ask *a);
/* Replies without the other server: with its last list or, if there is none, without its entries. A
 * page that is not the first one fails. Returns what the handler must return. */
int upstream_list_without(upstream *up, mcp_request *req, mcp_item item, const char *cursor, int rc,
                          const mcp_error *error);

#endif
