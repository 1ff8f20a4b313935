/* topic.h: a resource that somebody is subscribed to. hub.c sends the notices. */
#ifndef MCP_SRC_SERVER_TOPIC_H
#define MCP_SRC_SERVER_TOPIC_H

#include "server/core/hub.h"
#include "server/core/server.h"

typedef struct mcp__topic {
    /* The canonical URI, NUL-terminated, in the same block; of a topic that belongs to one principal
     * followed by that NUL and a mark: ANONYMOUS, or NAMED and the principal. */
    mcp_str key;
    mcp__link subscriptions;
    void *watch_user; /* of these; both NULL: it is not watched */
    void (*unwatch)(const char *canonical, void *user);
    void (*unwatch_for)(const char *canonical, const char *principal, void *user);
} mcp__topic;

/* Returns the topic of a URI for a subscriber (NULL: anonymous). A new topic is created and
 * watched. */
int mcp__topic_of(mcp_server *server, mcp_str uri, const char *principal, mcp__topic **ret);
/* Nobody is subscribed to it any more. */
void mcp__topic_free(mcp_server *server, mcp__topic *t);
/* Appends the key of a principal's topic. */
void mcp__topic_put_key(mcp__buf *b, const char *canonical, const char *principal);

#endif
