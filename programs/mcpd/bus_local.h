/* bus_local.h: a bus (mcp/bus.h) between processes of one machine that have a common parent: the parent
 * relays what each of them publishes to all others.
 *
 * Each process has one end of a pair of sockets that keep the borders of messages (SOCK_SEQPACKET). A message
 * is one letter and an entry: see bus_local.c. The relay stores nothing: who does not read is told that it has
 * missed something.
 */
#ifndef MCPD_BUS_LOCAL_H
#define MCPD_BUS_LOCAL_H

#include <mcp/bus.h>
#include <mcp/provider.h>

/* Makes a bus on one end of a pair, which it takes over, also if it fails. It is connected until the relay
 * ends. `host` must outlive it. Returns MCP_OK or MCP_ENOMEM. */
int bus_local_make(int fd, const mcp_host *host, mcp_bus *ret);

typedef struct bus_relay bus_relay;

/* Returns NULL if out of memory. `host` must outlive the relay. */
bus_relay *bus_relay_new(const mcp_host *host);
/* Adds a process: *ret is its end of the pair, which is closed on exec; the caller passes it on and closes it.
 * A process that ends, or closes its end, is forgotten. Returns MCP_OK, MCP_EIO or MCP_ENOMEM. */
int bus_relay_add(bus_relay *r, int *ret);
/* Returns the number of processes. */
size_t bus_relay_count(const bus_relay *r);
/* NULL is allowed. */
void bus_relay_free(bus_relay *r);

#endif
