/* resolve.c: finds the addresses of a name, on another thread of the host, because getaddrinfo() blocks.
 *
 * The job may outlive the bus.
 */
#define _GNU_SOURCE
#include "redis.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct redis_search {
    redis_bus *bus; /* NULL after the bus was closed; used on the server's thread only */
    void (*done)(redis_bus *b, const redis_places *found);
    char host[256];
    redis_places found;
};

bool redis_is_numeric(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static void look_up(void *arg)
{
    struct redis_search *s = arg;
    struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM};
    if (getaddrinfo(s->host, NULL, &hints, &list) != 0)
        return;
    for (const struct addrinfo *a = list; a && s->found.count < REDIS_PLACES; a = a->ai_next)
        s->found.count += getnameinfo(a->ai_addr, a->ai_addrlen, s->found.items[s->found.count],
                                      REDIS_PLACE, NULL, 0, NI_NUMERICHOST) == 0;
    freeaddrinfo(list);
}

static void looked_up(void *arg)
{
    struct redis_search *s = arg;
    if (s->bus) {
        s->bus->search = NULL;
        s->done(s->bus, &s->found);
    }
    free(s);
}

int redis_resolve(redis_bus *b, void (*done)(redis_bus *b, const redis_places *found))
{
    const mcp_host *h = b->host;
    bool long_work =
        h->size >= offsetof(mcp_host, work_long) + sizeof(h->work_long) && h->work_long;
    if (!long_work && !h->work)
        return MCP_EUNSUPPORTED;
    struct redis_search *s = calloc(1, sizeof(*s));
    if (!s)
        return MCP_ENOMEM;
    s->bus = b;
    s->done = done;
    memcpy(s->host, b->address.host, sizeof(s->host));
    int rc = (long_work ? h->work_long : h->work)(look_up, looked_up, s, h->user);
    if (rc == MCP_OK)
        b->search = s;
    else
        free(s);
    return rc;
}

void redis_resolve_stop(redis_bus *b)
{
    if (b->search)
        b->search->bus = NULL;
    b->search = NULL;
}
