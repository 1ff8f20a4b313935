/* link.h: one connection to Redis: hiredis on the event loop of an mcp_host, with limits on replies and on
 * their time.
 *
 * hiredis trusts its server: it allocates what an array announces, keeps a reply of any size, and aborts
 * the program for a reply that nobody asked for. A link refuses such replies before hiredis sees them.
 */
#ifndef MCP_BUS_REDIS_LINK_H
#define MCP_BUS_REDIS_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include <mcp/provider.h>

#include <hiredis.h>
#include <async.h>

#include "tls.h"

enum {
    LINK_REPLY_BYTES = 2 << 20, /* the largest reply */
    LINK_REPLY_PARTS = 4096,    /* the most strings, numbers and arrays in a reply */
    LINK_WHY = 200
};

/* What is done with the reply to a command. It may send commands, and call link_fail(). */
typedef struct link_command {
    void (*answered)(const redisReply *reply, void *user);
} link_command;

typedef struct redis_link {
    /* Set before link_open(). */
    const mcp_host *host;
    uint64_t patience_ms; /* how long a reply may take */
    void (*lost)(
        void *user); /* the link has failed and is closed; `why` and `too_large` say more */
    void *user;

    char why[LINK_WHY];
    bool too_large; /* a reply was too large */

    /* Private. */
    redisAsyncContext *ac; /* NULL while closed */
    const void *session;   /* of TLS; NULL without TLS */
    redisReplyObjectFunctions plain, bounded;
    mcp_host_poll *reading, *writing;
    int write_fd; /* a copy, because a descriptor is polled either for reading or for writing */
    mcp_host_timer *timer;
    size_t waiting;      /* commands without a reply */
    size_t bytes, parts; /* of the current reply */
    bool busy;           /* hiredis runs */
    bool failed;
} redis_link;

/* Where a server is: `host` is a numeric address, or `path` is the path of a socket. */
typedef struct link_place {
    const char *host, *path;
    int port;
    const redis_tls *tls; /* NULL: none */
} link_place;

/* Begins to connect. Commands may be sent at once. Returns MCP_OK, or a negative code with the reason in
 * `why`; `lost` is then not called. */
int link_open(redis_link *l, const link_place *at);
/* Closes the link; `lost` is not called. Not from within `answered`. May be called in every state. */
void link_close(redis_link *l);
bool link_is_open(const redis_link *l);

/* Sends a command. Returns MCP_OK, MCP_ESTATE (closed) or MCP_ENOMEM. */
int link_send(redis_link *l, const link_command *command, int argc, const char *const *argv,
              const size_t *lens);
/* The link fails when hiredis returns: for callers within `answered`. */
void link_fail(redis_link *l, const char *format, ...) MCP_PRINTF(2, 3);

/* Copies a text as one line of printable ASCII. */
void link_line(char *to, size_t room, const char *text, size_t len);

#endif
