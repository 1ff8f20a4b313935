/* address.h: the text of a bus on Redis: "HOST", "HOST:PORT", "[ADDRESS]:PORT" or "/PATH", then options as
 * in "?db=1&max_entries=50000". */
#ifndef MCP_BUS_REDIS_ADDRESS_H
#define MCP_BUS_REDIS_ADDRESS_H

#include <stdbool.h>

#include <mcp/base.h>

typedef struct redis_address {
    char host[256]; /* a name or a numeric address; empty with a path */
    char path[108];
    int port;
    int db;
    unsigned max_entries; /* of the stream, about */
    bool tls;
    char ca[256], cert[256], key[256]; /* files, empty if they are not given */
} redis_address;

/* Returns MCP_OK, or MCP_EINVAL with the reason in *error. */
int redis_address_read(const char *text, redis_address *ret, mcp_error *error);
/* Sets *error, if it is not NULL, and returns the code. */
int redis_explain(mcp_error *error, int code, const char *format, ...) MCP_PRINTF(3, 4);

#endif
