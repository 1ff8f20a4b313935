/* introspect.c: see introspect.h. */
#include "auth/introspect.h"

/* All characters except unreserved ones are percent-encoded. */
void mcp__form_put(mcp__buf *to, mcp_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool plain = (c >= '0' && c <= '9') || (mcp__lower(c) >= 'a' && mcp__lower(c) <= 'z') ||
                     c == '-' || c == '.' || c == '_';
        if (plain)
            mcp__buf_char(to, c);
        else
            mcp__buf_printf(to, "%%%02X", (unsigned char)c);
    }
}

void mcp__introspect_put(mcp__buf *to, mcp_str token)
{
    mcp__buf_lit(to, "token=");
    mcp__form_put(to, token);
    mcp__buf_lit(to, "&token_type_hint=access_token");
}

int mcp__introspection_read(mcp__introspection *answer, mcp_str body, const mcp__token_rules *rules,
                            int64_t now, const mcp_allocator *allocator, mcp__refused *why)
{
    answer->doc = NULL;
    mcp__claims_init(&answer->claims, allocator);
    if (body.len > MCP__INTROSPECT_BYTES)
        return MCP_ELIMIT;
    int rc = mcp_json_parse(body, NULL, mcp__allocator(allocator), &answer->doc, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? rc : MCP_EPARSE;
    const mcp_json *root = mcp_json_root(answer->doc);
    const mcp_json *active = mcp_json_get(root, "active");
    if (!mcp_json_is(root, MCP_JSON_OBJECT) || !mcp_json_is(active, MCP_JSON_BOOL))
        return MCP_EPARSE;
    *why = MCP__REFUSED_INACTIVE;
    if (mcp_json_bool(active, false))
        *why = mcp__claims_check(&answer->claims, root, rules, MCP__CLAIMS_INTROSPECTED, now);
    return *why == MCP__REFUSED_NO_MEMORY ? MCP_ENOMEM : MCP_OK;
}

void mcp__introspection_clear(mcp__introspection *answer)
{
    mcp_json_free(answer->doc);
    answer->doc = NULL;
    mcp__claims_clear(&answer->claims);
}
