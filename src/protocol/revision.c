/* revision.c: the table. A difference between revisions is a column here, not an `if` elsewhere.
 *
 * The table follows schema/<revision>/schema.json of the specification. If the text of the
 * specification describes a field only in a later revision, the schema decides.
 */
#include "protocol/revision.h"

#include "json/json.h"

const mcp__revision mcp__revisions[MCP__REVISIONS] = {
    [MCP__ROW_2026_07_28] =
        {
            .name = "2026-07-28",
            .modern = true,
            .no_id = MCP__NO_ID_ABSENT,
            .tool_errors = true,
            .not_found = MCP__INVALID_PARAMS,
            .missing_capability_code = MCP__MISSING_CAPABILITY,
            .result_type = true,
            .caching = true,
            .completions = true,
            .title = true,
            .icons = true,
            .object_meta = true,
            .last_modified = true,
            .tool_annotations = true,
            .output_schema = true,
            .output_schema_any = true,
            .implementation_extras = true,
            .audio = true,
            .resource_link = true,
            .structured = true,
            .structured_any = true,
            .progress_message = true,
            .input_results = true,
            .elicitation = true,
            .elicitation_modes = true,
            .sampling_tools = true,
            .tasks = MCP__TASKS_EXTENSION,
            .version_header = true,
            .extensions = true,
        },
    [MCP__ROW_2025_11_25] =
        {
            .name = "2025-11-25",
            .no_id = MCP__NO_ID_ABSENT,
            .tool_errors = true,
            .not_found = MCP__LEGACY_NOT_FOUND,
            .missing_capability_code = MCP__INVALID_PARAMS,
            .completions = true,
            .title = true,
            .icons = true,
            .object_meta = true,
            .last_modified = true,
            .tool_annotations = true,
            .output_schema = true,
            .implementation_extras = true,
            .audio = true,
            .resource_link = true,
            .structured = true,
            .progress_message = true,
            .elicitation = true,
            .elicitation_modes = true,
            .elicitation_id = true,
            .url_required = true,
            .sampling_tools = true,
            .tasks = MCP__TASKS_ASKED,
            .primes = true,
            .version_header = true,
        },
    [MCP__ROW_2025_06_18] =
        {
            .name = "2025-06-18",
            .not_found = MCP__LEGACY_NOT_FOUND,
            .missing_capability_code = MCP__INVALID_PARAMS,
            .completions = true,
            .title = true,
            .object_meta = true,
            .last_modified = true,
            .tool_annotations = true,
            .output_schema = true,
            .audio = true,
            .resource_link = true,
            .structured = true,
            .progress_message = true,
            .elicitation = true,
            .version_header = true,
        },
    [MCP__ROW_2025_03_26] =
        {
            .name = "2025-03-26",
            .batches = true,
            .not_found = MCP__LEGACY_NOT_FOUND,
            .missing_capability_code = MCP__INVALID_PARAMS,
            .completions = true,
            .tool_annotations = true,
            .audio = true,
            .progress_message = true,
        },
    [MCP__ROW_2024_11_05] =
        {
            .name = "2024-11-05",
            .not_found = MCP__LEGACY_NOT_FOUND,
            .missing_capability_code = MCP__INVALID_PARAMS,
        },
};
const char *mcp_revision(size_t i)
{
    return i < MCP__REVISIONS ? mcp__revisions[i].name : NULL;
}

const mcp__revision *mcp__revision_negotiate(mcp_str requested)
{
    const mcp__revision *r = mcp__revision_find(requested);
    return r && !r->modern ? r : mcp__revision_newest(false);
}

void mcp__put_modern_revisions(mcp__buf *b)
{
    mcp__json_list array = mcp__json_begin_array(b);
    for (size_t i = 0; i < MCP__REVISIONS; i++) {
        if (!mcp__revisions[i].modern)
            continue;
        mcp__json_next(&array);
        mcp__json_put_str(b, mcp_str_from(mcp__revisions[i].name));
    }
    mcp__json_end(&array);
}
