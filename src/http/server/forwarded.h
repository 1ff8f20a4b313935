/* forwarded.h: parses and formats addresses, and finds the client behind trusted proxies
 * (forwarded.c). */
#ifndef MCP_SRC_HTTP_SERVER_FORWARDED_H
#define MCP_SRC_HTTP_SERVER_FORWARDED_H

#include <mcp/http.h>

#include "base/base.h"
#include "http/server/answer.h"

/* An IPv6 address in network byte order. An IPv4 address is mapped to ::ffff:0:0/96. */
typedef struct mcp__http_ip {
    unsigned char bytes[16];
} mcp__http_ip;

/* What the header of proxies (mcp_http_options.proxy_header) in a request says about the client. */
typedef enum mcp__http_forwarded {
    MCP__HTTP_DIRECT = 0, /* nothing: the header is missing, or the peer is not a trusted proxy */
    MCP__HTTP_PROXY,      /* all entries are trusted proxies; client_ip is the first of them */
    MCP__HTTP_CLIENT,     /* client_ip is the rightmost entry that is not a trusted proxy */
    MCP__HTTP_UNREADABLE, /* that entry is not an address */
} mcp__http_forwarded;

enum { MCP__HTTP_IP_TEXT = 64 };

/* One of mcp_http_options.trusted_proxies. */
typedef struct mcp__http_network {
    mcp__http_ip ip;
    unsigned bits;
    bool local; /* matches all connections over Unix sockets */
} mcp__http_network;

/* Parses an address without brackets and port. Host names and zones are not accepted. Returns false
 * and leaves *ret unchanged if s is malformed. */
bool mcp__http_ip_read(mcp_str s, mcp__http_ip *ret);
/* Parses an address with an optional port: 192.0.2.1:80, [2001:db8::1]:80, [2001:db8::1]. */
bool mcp__http_ip_read_host(mcp_str s, mcp__http_ip *ret);
/* Formats an address according to RFC 5952. An IPv4 address, mapped or not, is written with
 * dots. */
void mcp__http_ip_write(const mcp__http_ip *ip, char to[MCP__HTTP_IP_TEXT]);
/* Writes the address, or its network, in the form of mcp_http_connection_options.address. */
void mcp__http_ip_write_account(const mcp__http_ip *ip, char to[MCP__HTTP_IP_TEXT]);
bool mcp__http_ip_is_loopback(const mcp__http_ip *ip);
bool mcp__http_network_read(mcp_str s, mcp__http_network *ret);
bool mcp__http_network_has(const mcp__http_network *n, const mcp__http_ip *ip);

/* Checks the options trusted_proxies and proxy_header. Returns MCP_OK or MCP_EINVAL. */
int mcp__http_proxies_check(const mcp_http_options *o, mcp_error *error);
/* Sets http->proxies from the options, and makes proxy_header NULL or "Forwarded"; the options have been
 * checked. Returns MCP_OK or MCP_ENOMEM. */
int mcp__http_proxies_set(mcp_http *http);
bool mcp__http_is_proxy(const mcp_http *http, const mcp_http_connection_options *o);
/* Processes one field of the header proxy_header from a trusted proxy. */
void mcp__http_take_forwarded(mcp_http_connection *c, mcp_str value);
/* Sets whether the transport's peer is on this machine, and counts its connection, even if the
 * connection is refused. */
mcp__http_refusal mcp__http_count_peer(mcp_http_connection *c, const char *address);
/* Counts the connection for the address of the client behind the proxy, until the request ends. */
mcp__http_refusal mcp__http_count_client(mcp_http_connection *c);
/* Counts the connection as one of the request's principal, until the request ends. */
mcp__http_refusal mcp__http_count_principal(mcp_http_connection *c);
void mcp__http_uncount_request(mcp_http_connection *c);
void mcp__http_uncount(mcp_http_connection *c);
/* Writes the client's address for the log, or "" if it is unknown. */
void mcp__http_client_text(const mcp_http_connection *c, char to[MCP__HTTP_IP_TEXT]);

#endif
