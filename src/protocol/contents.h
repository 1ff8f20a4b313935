/* contents.h: writes the objects in messages, in the form of a revision. Members that the revision
 * does not have are left out.
 */
#ifndef MCP_SRC_OBJECT_H
#define MCP_SRC_OBJECT_H

#include <mcp/request.h>
#include <mcp/server.h>

#include "base/base.h"
#include "json/json.h"
#include "protocol/revision.h"

/* An object that is being written. */
typedef struct mcp__object {
    mcp__buf *buf;
    const mcp__revision *revision;
    mcp__json_list members;
    struct mcp__json_texts *texts; /* see mcp__object_entry(); or NULL */
} mcp__object;

static inline mcp__object mcp__object_begin(mcp__buf *b, const mcp__revision *revision)
{
    return (mcp__object){b, revision, mcp__json_begin_object(b), NULL};
}
/* `name` must be a literal that needs no escaping. */
void mcp__object_key(mcp__object *o, const char *name);
void mcp__object_str(mcp__object *o, const char *name,
                     const char *value); /* omitted if value is NULL */
void mcp__object_end(mcp__object *o);

/* These functions write the members that several kinds of objects share. They write nothing if
 * there is no value, or if the revision does not have the member. */
void mcp__object_annotations(mcp__object *o, const mcp_annotations *a);
void mcp__object_icons(mcp__object *o, const mcp_icon *icons, size_t n);
void mcp__object_meta(mcp__object *o, const char *json);
/* Writes name, and title if the revision has it. In older revisions the title replaces an empty
 * name. */
void mcp__object_name(mcp__object *o, const char *name, const char *title);

/* Writes one entry of `contents` of resources/read. */
void mcp__put_resource_contents(mcp__buf *b, const mcp__revision *r, const mcp_content *c);
/* Writes one content block of a tool's result or a prompt's message. Content that the revision
 * cannot represent is replaced with a text that names it. */
void mcp__put_content_block(mcp__buf *b, const mcp__revision *r, const mcp_content *c);

#endif
