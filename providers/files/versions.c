/* versions.c: the versions of files in reads and lists, by which a writer says what it has read (if_match).
 *
 * Who may change nothing gets none, so that the answers of a server that only reads stay as they are.
 */
#define _GNU_SOURCE
#include "provider.h"

#include <stdio.h>

bool files_tells_version(const files *f, const mcp_request *req, mcp_str uri)
{
    static const mcp_operation operations[] = {MCP_OPERATION_CHANGE, MCP_OPERATION_MOVE,
                                               MCP_OPERATION_DELETE};
    for (size_t i = 0; f->changes && i < sizeof(operations) / sizeof(*operations); i++)
        if (mcp_request_may_do(req, operations[i], MCP_ITEM_RESOURCE, uri, 0) != MCP_EFFECT_DENY)
            return true;
    return false;
}

const char *files_version_meta(const editing_version *version, char ret[FILES_META_SIZE])
{
    /* a version needs no escapes: version.h */
    snprintf(ret, FILES_META_SIZE, "{\"libmcp/version\":\"%s\"}", version->text);
    return ret;
}
