/* entry.h: the members of the entries of lists, each once, in tables. The same table writes an
 * entry in the form of a revision, reads it back, and says which members a revision has.
 *
 * To add a member: append it to the struct in mcp/server.h or mcp/request.h, and add its row in
 * entry.c. If only some revisions have it, the row names its column of mcp__revision.
 */
#ifndef MCP_SRC_ENTRY_H
#define MCP_SRC_ENTRY_H

#include "protocol/contents.h"

/* The comments give the C type of the member. */
typedef enum mcp__entry_member_kind {
    MCP__MEMBER_TEXT = 0, /* const char * */
    /* the same, always written; `other` is the title, which replaces an empty name if the revision
     * has no titles */
    MCP__MEMBER_NAME,
    MCP__MEMBER_WORDS,    /* const char *: texts separated by spaces, written as an array */
    MCP__MEMBER_JSON,     /* const char *: JSON text of an object */
    MCP__MEMBER_OUTPUT,   /* the same: a schema of results, as far as the revision allows it */
    MCP__MEMBER_AUDIENCE, /* unsigned: mcp_audience */
    MCP__MEMBER_UINT,     /* uint64_t; `other` is the bool that says whether it is set */
    MCP__MEMBER_REAL,     /* double; the same */
    MCP__MEMBER_TRUE,     /* bool, written if it is true */
    MCP__MEMBER_HINT,     /* mcp_hint */
    MCP__MEMBER_TASKS,    /* mcp_task_support, if the peer has to request tasks */
    MCP__MEMBER_STRUCT,   /* a pointer to a struct of `shape` */
    MCP__MEMBER_STRUCTS,  /* a pointer to an array of them; `other` is the size_t of their number */
    MCP__MEMBER_PART,     /* an object whose members, of `shape`, belong to the struct itself */
} mcp__entry_member_kind;

typedef struct mcp__entry_shape mcp__entry_shape;

typedef struct mcp__entry_member {
    mcp__entry_member_kind kind;
    const char *name;     /* in JSON */
    size_t offset, other; /* in the struct */
    const mcp__entry_shape *shape;
    size_t column; /* of mcp__revision, see mcp__revision_has() */
} mcp__entry_member;

struct mcp__entry_shape {
    size_t size; /* of the struct, which begins with its own size */
    const mcp__entry_member *members;
    size_t n;
};

extern const mcp__entry_shape mcp__entry_shapes[]; /* by mcp_item */
extern const mcp__entry_shape mcp__argument_shape, mcp__annotations_shape, mcp__icon_shape;

/* Returns the column of a member of an entry, or 0 if all revisions have the member. */
size_t mcp__entry_column(const mcp__entry_shape *shape, mcp_str name);

/* JSON texts of a descriptor that is written several times, so that each is parsed once. */
typedef struct mcp__json_texts {
    const mcp_allocator *allocator;
    struct mcp__json_text {
        const char *given;
        char *text; /* as it is written */
        size_t len;
        bool of_object; /* as a schema: it only allows objects */
    } items[3];         /* a tool has two schemas and "_meta" */
    size_t n;
} mcp__json_texts;

void mcp__json_texts_free(mcp__json_texts *texts);

/* Writes the members of an entry. `descriptor` is of this version of the library. With o->texts, its JSON texts are taken
 * from there if they were written before. */
void mcp__object_entry(mcp__object *o, mcp_item kind, const void *descriptor);

#endif
