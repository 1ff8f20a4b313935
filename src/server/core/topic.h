/* topic.h: a resource with subscribers. hub.c sends the notifications. */
#ifndef MCP_SRC_SERVER_TOPIC_H
#define MCP_SRC_SERVER_TOPIC_H

#include "server/core/hub.h"
#include "server/core/server.h"

typedef struct mcp__topic {
    /* The canonical URI, NUL-terminated, allocated after the struct. If the topic belongs to one
     * principal or identity, the NUL is followed by a mark: ANONYMOUS, NAMED and the principal, or
     * IDENTITY and its address. */
    mcp_str key;
    mcp_identity *identity; /* with IDENTITY; NULL if anonymous */
    mcp__link subscriptions;
    void *watch_user; /* for the functions below, which are NULL if the topic is not watched */
    void (*unwatch)(const char *canonical, void *user);
    void (*unwatch_for)(const char *canonical, const char *principal, void *user);
    void (*unwatch_as)(const char *canonical, mcp_identity *identity, void *user);
} mcp__topic;

/* Returns the topic of a URI for a subscriber; creates and watches it if necessary. `identity` is
 * NULL for an anonymous subscriber. Returns MCP_OK, MCP_ENOTFOUND, MCP_ENOMEM or an error of the
 * provider. */
int mcp__topic_of(mcp_server *server, mcp_str uri, mcp_identity *identity, mcp__topic **ret);
/* Returns whether the topic belongs to one identity. */
bool mcp__topic_has_identity(const mcp__topic *t);
/* Frees a topic that has no subscribers any more. */
void mcp__topic_free(mcp_server *server, mcp__topic *t);
/* Appends the key of a principal's topic. */
void mcp__topic_put_key(mcp__buf *b, const char *canonical, const char *principal);
/* Appends the key of an identity's topic. */
void mcp__topic_put_key_as(mcp__buf *b, const char *canonical, const mcp_identity *identity);

#endif
