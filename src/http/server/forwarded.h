/* forwarded.h: addresses as text, proxies, and the client behind them (forwarded.c). */
#ifndef MCP_SRC_HTTP_SERVER_FORWARDED_H
#define MCP_SRC_HTTP_SERVER_FORWARDED_H

#include <mcp/http.h>

#include "base/base.h"
#include "http/server/answer.h"

/* IPv4 is mapped into it. */
typedef struct mcp__http_ip {
    unsigned char bytes[16];
} mcp__http_ip;

/* What X-Forwarded-For says of a request. */
typedef enum mcp__http_forwarded {
    MCP__HTTP_DIRECT = 0, /* nothing, or nobody may say it */
    MCP__HTTP_PROXY,      /* trusted proxies alone: client_ip is the first */
    MCP__HTTP_CLIENT,     /* client_ip is the rightmost that is not trusted */
    MCP__HTTP_UNREADABLE, /* the rightmost that is not trusted is no address */
} mcp__http_forwarded;

enum { MCP__HTTP_IP_TEXT = 64 };

/* One of mcp_http_options.trusted_proxies. */
typedef struct mcp__http_network {
    mcp__http_ip ip;
    unsigned bits;
    bool local; /* Unix sockets */
} mcp__http_network;

/* An address without brackets and port; false: it is none, and *ret stays. Neither names nor zones are. */
bool mcp__http_ip_read(mcp_str s, mcp__http_ip *ret);
/* The same with brackets or without, with a port or without. */
bool mcp__http_ip_read_host(mcp_str s, mcp__http_ip *ret);
/* As in RFC 5952; IPv4, mapped too, with dots. */
void mcp__http_ip_write(const mcp__http_ip *ip, char to[MCP__HTTP_IP_TEXT]);
bool mcp__http_ip_is_loopback(const mcp__http_ip *ip);
bool mcp__http_network_read(mcp_str s, mcp__http_network *ret);
bool mcp__http_network_has(const mcp__http_network *n, const mcp__http_ip *ip);

/* MCP_EINVAL: one of them is no network. */
int mcp__http_proxies_check(const mcp_http_options *o, mcp_error *error);
/* http->proxies from the options, which were checked. MCP_ENOMEM. */
int mcp__http_proxies_set(mcp_http *http);
bool mcp__http_is_proxy(const mcp_http *http, const mcp_http_connection_options *o);
/* One field X-Forwarded-For of a trusted proxy. */
void mcp__http_forwarded_for(mcp_http_connection *c, mcp_str value);
/* Settles whether the transport's peer is on this machine, and counts its connection, even where it is refused. */
mcp__http_refusal mcp__http_count_peer(mcp_http_connection *c, const char *address);
/* While its request lasts the connection of a proxy is one of the client's address: for a request that was
 * forwarded. */
mcp__http_refusal mcp__http_count_client(mcp_http_connection *c);
void mcp__http_uncount_client(mcp_http_connection *c);
void mcp__http_uncount(mcp_http_connection *c);
/* For the log; "": not known. */
void mcp__http_client_text(const mcp_http_connection *c, char to[MCP__HTTP_IP_TEXT]);

#endif
