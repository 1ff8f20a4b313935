/* registry.h: what a server offers: registered entries and mounted providers. */
#ifndef MCP_SRC_SERVER_REGISTRY_H
#define MCP_SRC_SERVER_REGISTRY_H

#include <mcp/provider.h>
#include <mcp/schema.h>
#include <mcp/server.h>

#include "base/base.h"
#include "protocol/revision.h"
#include "server/core/usage.h"

typedef enum mcp__kind {
    MCP__RESOURCES = 0,
    MCP__TEMPLATES,
    MCP__PROMPTS,
    MCP__TOOLS,
    MCP__KINDS,
} mcp__kind;

/* A registered resource, template, prompt or tool. Its list entry is rendered once per revision, at
 * registration; revisions with the same form share the text. */
typedef struct mcp__entry {
    mcp__kind kind;
    unsigned refs; /* held by the registry and by requests that use it */
    bool built;    /* registered within mcp_server_rebuild() */
    uint64_t sequence;
    mcp_str key; /* URI, template or name; NUL-terminated */
    mcp_str rendered[MCP__REVISIONS];
    void *user;
    mcp_read_fn *read; /* resources, templates */
    mcp_complete_fn *complete;
    mcp_prompt_fn *get;
    mcp_call_fn *call;
    bool (*offered)(const mcp_request *req, void *user); /* tools; NULL if offered to everyone */
    char *mime_type;                                     /* resources, templates */
    char *text;                                          /* resources with fixed contents */
    mcp_uri_template *tmpl;                              /* templates */
    char **arguments;                                    /* prompts: names */
    bool *required;                                      /* prompts: for each argument */
    uint64_t timeout_ms;                                 /* tools; 0 means the server's default */
    struct mcp__mirror *mirror; /* tools: parameters repeated in headers; NULL if none */
    size_t n_arguments;
    mcp__meter *meter;             /* tools */
    mcp_schema *input;             /* tools: of the arguments */
    mcp_schema *output;            /* tools: of the structured content; NULL if none was given */
    mcp_task_support task_support; /* tools */
    const mcp_allocator *allocator;
} mcp__entry;

/* All entries of one kind, in order of registration. */
typedef struct mcp__registry {
    mcp__entry **items;
    size_t count, cap;
    mcp__map by_key;
} mcp__registry;

void mcp__entry_unref(mcp__entry *entry);
static inline mcp__entry *mcp__entry_ref(mcp__entry *entry)
{
    entry->refs++;
    return entry;
}
/* Returns whether the entry is listed for the client of the request. */
static inline bool mcp__entry_offered(const mcp__entry *entry, const mcp_request *req)
{
    return !entry->offered || entry->offered(req, entry->user);
}
mcp__entry *mcp__registry_find(const mcp_server *server, mcp__kind kind, mcp_str key);
/* Returns the index of the first entry registered after `sequence`. */
size_t mcp__registry_after(const mcp__registry *registry, uint64_t sequence);
void mcp__registry_free(mcp_server *server);
/* Releases the entries, the array and the map of a registry. */
void mcp__registry_release(const mcp_allocator *allocator, mcp__registry *registry);
/* Appends an entry. Its sequence must be the largest. Returns MCP_OK, MCP_EEXIST or MCP_ENOMEM. */
int mcp__registry_place(mcp_server *server, mcp__entry *entry);
int mcp__registry_remove(mcp_server *server, mcp__kind kind, const char *key);
/* Adds an entry of a saved registry to the current one. Both share the entry. */
int mcp__registry_keep(mcp_server *server, mcp__entry *entry);
/* Finds the most specific template that matches. The caller frees *match. Returns MCP_OK,
 * MCP_ENOTFOUND or MCP_ENOMEM. */
int mcp__registry_match(const mcp_server *server, mcp_str uri, mcp__entry **entry,
                        mcp_uri_match **match);

/* Returns whether the server offers anything of a kind. Resources and templates are one kind
 * here. */
bool mcp__server_offers(const mcp_server *server, mcp__kind kind);
/* The same, without what the mounts have. */
bool mcp__server_registers(const mcp_server *server, mcp__kind kind);
bool mcp__server_completes(const mcp_server *server);
/* Returns whether handlers or mounts send log messages to peers. */
bool mcp__server_logs(const mcp_server *server);

/* ---- mounted providers ----------------------------------------------------------------------- */

/* What lists lack of a mount, because its provider could not list it; see methods/left_out.c. */
typedef struct mcp__left_out {
    unsigned lists;       /* the lists without its entries, as bits 1u << mcp__kind */
    unsigned late;        /* those for which it is not waited again: it did not answer in time */
    size_t n_running;     /* calls of its list functions that were given up and have not ended */
    mcp_identity *caller; /* whose list lacked it first; holds a reference; NULL if anonymous */
    char *position;       /* where it failed; NULL at the beginning */
    size_t position_len;
    char *why; /* what is wrong, for its log line and its entry; NULL without memory */
} mcp__left_out;

typedef struct mcp__mount {
    char *prefix;
    char *alias; /* the second prefix, or NULL */
    char *names; /* prefix of the names of its tools and prompts; may be empty */
    mcp_provider provider;
    void *user;
    mcp__meter *meter;
    mcp__left_out left_out;
    bool built; /* mounted within mcp_server_rebuild() */
} mcp__mount;

/* What records and metrics call the source. */
static inline const char *mcp__mount_label(const mcp__mount *mount)
{
    return *mount->prefix ? mount->prefix : mount->provider.name;
}
/* Makes the provider watch its list. If the provider fails, a warning is logged, and changes to its
 * list are not announced. */
void mcp__mount_watch_list(mcp_server *server, const mcp__mount *mount);
void mcp__mount_unwatch_list(mcp_server *server, const mcp__mount *mount);
/* Returns whether the provider of the mount has to watch its list. */
bool mcp__mount_is_watched(const mcp_server *server, const mcp__mount *mount);
/* Returns the mount with the longest prefix of the URI, or NULL. */
mcp__mount *mcp__mount_find(const mcp_server *server, mcp_str uri);

/* Returns the mount that may have an item of this kind (not a resource) with this name, or NULL. If
 * several match, the one with the longest prefix of names is returned. */
mcp__mount *mcp__mount_named(const mcp_server *server, mcp__kind kind, mcp_str name);
/* Returns whether a mount has items of this kind. */
bool mcp__mount_has(const mcp__mount *mount, mcp__kind kind);
/* Returns whether the capability for a kind has to be declared to the caller because of a mount. */
bool mcp__mount_declares(const mcp__mount *mount, mcp__kind kind, const mcp_request *req);

void mcp__mount_free(mcp_server *server, mcp__mount *mount);
int mcp__mount_keep(mcp_server *server, mcp__mount *mount);

#endif
