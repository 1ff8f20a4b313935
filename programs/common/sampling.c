/* sampling.c: answers to a server's request for sampling. */
#include "sampling.h"

#include <mcp/json.h>

#include "text.h"

static void put_result(mcp_json_writer *w, mcp_str text, const char *model)
{
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "role", "assistant");
    mcp_json_put_string(w, "model", model);
    mcp_json_put_string(w, "stopReason", "endTurn");
    mcp_json_put_object(w, "content");
    mcp_json_put_string(w, "type", "text");
    mcp_json_put_str(w, "text", text);
    mcp_json_end(w), mcp_json_end(w);
}

char *sampling_result(mcp_str text, const char *model)
{
    mcp_json_doc *doc = NULL;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json;
    char *ret = NULL;
    mcp_json_parse(text, NULL, NULL, &doc, NULL);
    if (mcp_json_get(mcp_json_root(doc), "content"))
        mcp_json_add_value(w, mcp_json_root(doc));
    else
        put_result(w, text, model);
    if (w && mcp_json_writer_finish(w, &json) == MCP_OK)
        ret = text_dup(json);
    mcp_json_free(doc);
    mcp_json_writer_free(w);
    return ret;
}
