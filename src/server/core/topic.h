/* topic.h: a resource with subscribers. hub.c sends the notifications. */
#ifndef MCP_SRC_SERVER_TOPIC_H
#define MCP_SRC_SERVER_TOPIC_H

#include "server/core/hub.h"
#include "server/core/server.h"

typedef struct mcp__topic {
    /* The canonical URI, NUL-terminated, allocated after the struct. If the topic belongs to one
     * identity, the NUL is followed by its address. */
    mcp_str key;
    mcp_identity *identity; /* NULL if the topic belongs to none, or to the anonymous one */
    mcp__link subscriptions;
    /* The functions of the provider that watches; at most one is not NULL. */
    void (*unwatch)(const char *canonical, void *user);
    void (*unwatch_as)(const char *canonical, mcp_identity *identity, void *user);
    void *watch_user;
    bool watched;
    bool lent; /* another instance watches it */
    bool held; /* it is watched for other instances, also without subscribers */
} mcp__topic;

enum { MCP__TOPIC_ROOM = MCP_URI_MAX_LENGTH + 1 };

/* Writes the canonical spelling of a URI, which is the key of its topic: that of the provider or
 * template which serves it. Returns MCP_OK, MCP_ENOMEM, or MCP_ENOTFOUND if there is none. */
int mcp__topic_spell(const mcp_server *server, mcp_str uri, char canonical[MCP__TOPIC_ROOM]);
/* Returns the topic of a URI for a subscriber; creates and watches it if necessary. `identity` is
 * NULL for an anonymous subscriber. Returns MCP_OK, MCP_ENOTFOUND, MCP_ENOMEM or an error of the
 * provider. */
int mcp__topic_of(mcp_server *server, mcp_str uri, mcp_identity *identity, mcp__topic **ret);
/* Returns the canonical URI of a topic. */
mcp_str mcp__topic_uri(const mcp__topic *t);
/* Returns whether the topic belongs to one identity. */
bool mcp__topic_has_identity(const mcp__topic *t);
/* Frees a topic that has no subscribers any more, unless it is held. */
void mcp__topic_free(mcp_server *server, mcp__topic *t);
/* Stops watching a topic of all callers, because another instance watches it, or watches it here again. */
void mcp__topic_lend(mcp_server *server, mcp_str key, bool lent);
/* Watches a topic of all callers for other instances until mcp__topic_release(). Returns MCP_OK,
 * MCP_EUNSUPPORTED if no provider watches it for all callers, or as mcp__topic_of(). */
int mcp__topic_hold(mcp_server *server, mcp_str key);
void mcp__topic_release(mcp_server *server, mcp_str key);
/* Appends the key of an identity's topic. */
void mcp__topic_put_key(mcp__buf *b, const char *canonical, const mcp_identity *identity);

#endif
