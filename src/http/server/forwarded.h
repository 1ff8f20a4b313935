/* forwarded.h: addresses as text, proxies, and the clients behind them (forwarded.c). */
#ifndef MCP_SRC_HTTP_SERVER_FORWARDED_H
#define MCP_SRC_HTTP_SERVER_FORWARDED_H

#include <mcp/http.h>

#include "base/base.h"
#include "http/server/answer.h"

/* An address; IPv4 is mapped into IPv6. */
typedef struct mcp__http_ip {
    unsigned char bytes[16];
} mcp__http_ip;

/* The result of X-Forwarded-For. */
typedef enum mcp__http_forwarded {
    MCP__HTTP_DIRECT = 0, /* absent, or not from a trusted proxy */
    MCP__HTTP_PROXY,      /* only trusted proxies: client_ip is the first */
    MCP__HTTP_CLIENT,     /* client_ip is the rightmost one that is not trusted */
    MCP__HTTP_UNREADABLE, /* the rightmost one that is not trusted is not an address */
} mcp__http_forwarded;

enum { MCP__HTTP_IP_TEXT = 64 };

/* One of mcp_http_options.trusted_proxies. */
typedef struct mcp__http_network {
    mcp__http_ip ip;
    unsigned bits;
    bool local; /* Unix sockets */
} mcp__http_network;

/* Reads an address without brackets and port. Names and zones are not accepted. Returns false
 * without changing *ret if it is malformed. */
bool mcp__http_ip_read(mcp_str s, mcp__http_ip *ret);
/* The same, with optional brackets and port. */
bool mcp__http_ip_read_host(mcp_str s, mcp__http_ip *ret);
/* Writes it as in RFC 5952; IPv4, even if mapped, with dots. */
void mcp__http_ip_write(const mcp__http_ip *ip, char to[MCP__HTTP_IP_TEXT]);
bool mcp__http_ip_is_loopback(const mcp__http_ip *ip);
bool mcp__http_network_read(mcp_str s, mcp__http_network *ret);
bool mcp__http_network_has(const mcp__http_network *n, const mcp__http_ip *ip);

/* Returns MCP_EINVAL if one of them is not a network. */
int mcp__http_proxies_check(const mcp_http_options *o, mcp_error *error);
/* Sets http->proxies from the options, which have been checked. MCP_ENOMEM. */
int mcp__http_proxies_set(mcp_http *http);
bool mcp__http_is_proxy(const mcp_http *http, const mcp_http_connection_options *o);
/* Reads one field X-Forwarded-For from a trusted proxy. */
void mcp__http_forwarded_for(mcp_http_connection *c, mcp_str value);
/* Determines whether the transport's peer is on this machine, and counts its connection, even if it
 * is refused. */
mcp__http_refusal mcp__http_count_peer(mcp_http_connection *c, const char *address);
/* For a forwarded request: counts the connection for the client's address while the request
 * lasts. */
mcp__http_refusal mcp__http_count_client(mcp_http_connection *c);
void mcp__http_uncount_client(mcp_http_connection *c);
void mcp__http_uncount(mcp_http_connection *c);
/* The address for the log; "": unknown. */
void mcp__http_client_text(const mcp_http_connection *c, char to[MCP__HTTP_IP_TEXT]);

#endif
