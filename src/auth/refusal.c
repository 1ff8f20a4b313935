/* refusal.c: see refusal.h. */
#include "auth/refusal.h"

static const struct {
    const char *name, *code, *text;
} refusals[] = {
#define ROW(name, code, text) {#name, code, text},
    MCP__REFUSALS(ROW)
#undef ROW
};

const char *mcp__refusal_name(mcp__refused why)
{
    return refusals[why].name;
}

const char *mcp__refusal_code(mcp__refused why)
{
    return refusals[why].code;
}

const char *mcp__refusal_text(mcp__refused why)
{
    return refusals[why].text;
}

int mcp__refusal_status(mcp__refused why)
{
    switch (why) {
    case MCP__REFUSED_NONE: return 200;
    case MCP__REFUSED_NO_MEMORY: return 500;
    case MCP__REFUSED_AWAY:
    case MCP__REFUSED_BUSY: return 503;
    case MCP__REFUSED_THROTTLED: return 429;
    case MCP__REFUSED_SCOPE: return 403;
    case MCP__REFUSED_SCHEME: return 400;
    default: return 401;
    }
}
