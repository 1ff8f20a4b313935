/* revision.h: the table of the features of each protocol revision. Other code does not compare
 * versions. It reads the row of the revision in which the request is answered.
 */
#ifndef MCP_SRC_REVISION_H
#define MCP_SRC_REVISION_H

#include "base/base.h"
#include "jsonrpc/envelope.h"

/* The name of the extension for tool calls that become tasks. */
#define MCP__EXTENSION_TASKS "io.modelcontextprotocol/tasks"

typedef enum mcp__tasks_form {
    MCP__TASKS_NONE = 0,
    /* 2025-11-25: the peer requests a task and fetches its result with tasks/result */
    MCP__TASKS_ASKED,
    /* the extension io.modelcontextprotocol/tasks: the server decides which calls become tasks */
    MCP__TASKS_EXTENSION,
} mcp__tasks_form;

/* The rows of the table, newest first, so that modern revisions come before legacy ones. To add a
 * revision, add its name here and its row in revision.c. */
enum {
    MCP__ROW_2026_07_28,
    MCP__ROW_2025_11_25,
    MCP__ROW_2025_06_18,
    MCP__ROW_2025_03_26,
    MCP__ROW_2024_11_05,
    MCP__REVISIONS,
    MCP__ROW_NEWEST_LEGACY = MCP__ROW_2025_11_25,
};

typedef struct mcp__revision {
    const char *name;

    /* has _meta in each request and server/discover; other revisions have initialize and
     * sessions */
    bool modern;
    bool batches;     /* arrays of messages */
    mcp__no_id no_id; /* how an error without a known id is written */
    /* arguments that do not conform to the tool's schema give a result with isError */
    bool tool_errors;
    int not_found; /* the error code for an unknown resource */
    /* the error code if the client did not declare a required capability */
    int missing_capability_code;

    /* results */
    bool result_type; /* resultType, and serverInfo in _meta */
    bool caching;     /* ttlMs, cacheScope */
    bool completions; /* the capability "completions"; older revisions have only the method */

    /* fields of listed entries */
    bool title; /* in addition to name */
    bool icons;
    bool object_meta;   /* _meta on resources, templates, prompts, tools, contents */
    bool last_modified; /* in annotations */
    bool tool_annotations;
    bool output_schema;
    bool output_schema_any;     /* values of any type, not only objects */
    bool implementation_extras; /* description, icons, websiteUrl of an implementation */

    /* contents */
    bool audio;
    bool resource_link;
    bool structured;     /* structuredContent */
    bool structured_any; /* values of any type, not only objects */

    bool progress_message;

    /* input requests to the client */
    bool input_results;     /* sent in a result; otherwise as requests of the server */
    bool elicitation;       /* of forms */
    bool elicitation_modes; /* forms with defaults and lists, and URLs */
    bool elicitation_id;    /* in URL mode */
    bool url_required;      /* the error -32042: the user must visit a URL first */
    bool sampling_tools;    /* tools, and messages with several contents */

    mcp__tasks_form tasks;

    bool primes;         /* over HTTP: a resumable stream begins with an event without a message */
    bool version_header; /* over HTTP: MCP-Protocol-Version on every request but initialize */
    bool extensions;     /* the member "extensions" of capabilities */
} mcp__revision;

MCP__SHARED extern const mcp__revision mcp__revisions[MCP__REVISIONS];

/* Returns the bool at an offset in the row, or true if the offset is 0, which stands for what all
 * revisions have. */
static inline bool mcp__revision_has(const mcp__revision *r, size_t column)
{
    return !column || *(const bool *)(const void *)((const char *)r + column);
}
static inline unsigned mcp__revision_index(const mcp__revision *r)
{
    return (unsigned)(r - mcp__revisions);
}
/* Returns the bit of a revision in a set of revisions. */
static inline unsigned mcp__revision_bit(const mcp__revision *r)
{
    return 1u << mcp__revision_index(r);
}
/* Returns the row with that name, or NULL. */
static inline const mcp__revision *mcp__revision_find(mcp_str name)
{
    for (size_t i = 0; i < MCP__REVISIONS; i++) {
        if (mcp_str_eq(name, mcp_str_from(mcp__revisions[i].name)))
            return &mcp__revisions[i];
    }
    return NULL;
}
/* Returns the newest modern or legacy revision. */
static inline const mcp__revision *mcp__revision_newest(bool modern)
{
    return &mcp__revisions[modern ? 0 : MCP__ROW_NEWEST_LEGACY];
}
/* Returns the revision in which initialize is answered if the client requests `requested`: the same
 * revision if it is a known legacy revision, else the newest legacy one. */
const mcp__revision *mcp__revision_negotiate(mcp_str requested);
/* Appends a JSON array of the revisions that a modern _meta may name: ["2026-07-28"]. */
void mcp__put_modern_revisions(mcp__buf *b);

/* The keys of _meta in modern requests and in other objects. */
#define MCP__META_REVISION     "io.modelcontextprotocol/protocolVersion"
#define MCP__META_CLIENT_INFO  "io.modelcontextprotocol/clientInfo"
#define MCP__META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP__META_LOG_LEVEL    "io.modelcontextprotocol/logLevel"
#define MCP__META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define MCP__META_SERVER_INFO  "io.modelcontextprotocol/serverInfo"
#define MCP__META_RELATED_TASK "io.modelcontextprotocol/related-task"

/* Error codes that MCP adds to those of JSON-RPC (2026-07-28, basic, "Error Codes"). */
enum {
    MCP__LEGACY_NOT_FOUND = -32002,
    MCP__HEADER_MISMATCH = -32020,
    MCP__MISSING_CAPABILITY = -32021,
    MCP__UNSUPPORTED_REVISION = -32022,
    MCP__URL_REQUIRED = -32042,
};

/* Sets of revisions, for the table of methods. */
enum {
    MCP__IN_ALL = (1 << MCP__REVISIONS) - 1,
    MCP__IN_MODERN = (1 << MCP__ROW_NEWEST_LEGACY) - 1,
    MCP__IN_LEGACY = MCP__IN_ALL & ~MCP__IN_MODERN,
    MCP__IN_2025_11_25 = 1 << MCP__ROW_2025_11_25,
    MCP__IN_TASKS = MCP__IN_2025_11_25 | MCP__IN_MODERN,
};

#endif
