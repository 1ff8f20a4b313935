/* media.c: media types in Accept and Content-Type (RFC 9110, 12.5.1 and 8.3), as far as they matter here. */
#include "http/server/http.h"

/* The part of s up to a separator outside of quotes; s is what follows it. */
static mcp_str split(mcp_str *s, char separator)
{
    bool quoted = false;
    size_t i = 0;
    for (; i < s->len; i++) {
        if (quoted && s->ptr[i] == '\\')
            i++;
        else if (s->ptr[i] == '"')
            quoted = !quoted;
        else if (!quoted && s->ptr[i] == separator)
            break;
    }
    i = MCP__MIN(i, s->len);
    mcp_str part = {s->ptr, i};
    *s = mcp__str_sub(*s, i < s->len ? i + 1 : i);
    return mcp__http_trim(part);
}

/* "q=0", "q=0.000" */
static bool is_refusal(mcp_str parameter)
{
    if (parameter.len < 3 || (parameter.ptr[0] | 0x20) != 'q' || parameter.ptr[1] != '=')
        return false;
    for (size_t i = 2; i < parameter.len; i++) {
        if (parameter.ptr[i] != '0' && parameter.ptr[i] != '.')
            return false;
    }
    return true;
}

unsigned mcp__http_accepts(mcp_str value)
{
    static const struct {
        mcp_str range;
        unsigned types;
    } ranges[] = {
        {{"application/json", 16}, MCP__HTTP_JSON},
        {{"text/event-stream", 17}, MCP__HTTP_SSE},
        {{"*/*", 3}, MCP__HTTP_JSON | MCP__HTTP_SSE},
        {{"application/*", 13}, MCP__HTTP_JSON},
        {{"text/*", 6}, MCP__HTTP_SSE},
    };
    unsigned types = 0;
    /* what nearly every client says */
    if (mcp_str_eq(value, MCP_STR("application/json, text/event-stream")))
        return MCP__HTTP_JSON | MCP__HTTP_SSE;
    while (value.len) {
        mcp_str entry = split(&value, ',');
        mcp_str range = split(&entry, ';');
        bool refused = false;
        while (entry.len)
            refused |= is_refusal(split(&entry, ';'));
        for (size_t i = 0; i < MCP__COUNT(ranges) && !refused; i++) {
            if (mcp__str_same(range, ranges[i].range))
                types |= ranges[i].types;
        }
    }
    return types;
}

bool mcp__http_is_json(mcp_str content_type)
{
    if (mcp_str_eq(content_type, MCP_STR("application/json")))
        return true;
    return mcp__str_same(split(&content_type, ';'), MCP_STR("application/json"));
}
