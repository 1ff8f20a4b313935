/* object.h: writes the objects that messages are made of, in the form of a revision: what it does
 * not know is left out.
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
} mcp__object;

static inline mcp__object mcp__object_begin(mcp__buf *b, const mcp__revision *revision)
{
    return (mcp__object){b, revision, mcp__json_begin_object(b)};
}
/* `name` is a literal that needs no escaping. */
void mcp__object_key(mcp__object *o, const char *name);
void mcp__object_str(mcp__object *o, const char *name, const char *value); /* nothing for NULL */
void mcp__object_end(mcp__object *o);

/* The members that several kinds of objects share; nothing when there is nothing to say, or when
 * the revision does not have it. */
void mcp__object_annotations(mcp__object *o, const mcp_annotations *a);
void mcp__object_icons(mcp__object *o, const mcp_icon *icons, size_t n);
void mcp__object_meta(mcp__object *o, const char *json);
/* name, and title where the revision has it; before that the title stands in for an empty name. */
void mcp__object_name(mcp__object *o, const char *name, const char *title);
/* All members of an entry of resources/list. */
void mcp__object_resource(mcp__object *o, const mcp_resource *resource);

/* One entry of `contents` of resources/read. */
void mcp__put_resource_contents(mcp__buf *b, const mcp__revision *r, const mcp_content *c);
/* One content block of a tool's result or a prompt's message; what the revision cannot carry
 * becomes text that names it. */
void mcp__put_content_block(mcp__buf *b, const mcp__revision *r, const mcp_content *c);

#endif
