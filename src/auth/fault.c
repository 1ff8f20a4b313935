/* fault.c: see fault.h. */
#include <stdio.h>

#include "auth/fault.h"

static const struct {
    int code;
    const char *error, *text, *mend;
} faults[] = {
#define ROW(name, code, error, text, mend) {MCP_##code, error, text, mend},
    MCP__OAUTH_FAULTS(ROW)
#undef ROW
};

int mcp__oauth_fault_code(mcp__oauth_fault fault)
{
    return faults[fault].code;
}

const char *mcp__oauth_fault_text(mcp__oauth_fault fault)
{
    return faults[fault].text;
}

const char *mcp__oauth_fault_mend(mcp__oauth_fault fault)
{
    return faults[fault].mend;
}

mcp__oauth_fault mcp__oauth_fault_find(mcp_str error)
{
    for (size_t i = 0; error.len && i < MCP__OAUTH_FAULTS_COUNT; i++) {
        if (mcp_str_eq(error, mcp_str_from(faults[i].error)))
            return (mcp__oauth_fault)i;
    }
    return MCP__OAUTH_OTHER_ERROR;
}

/* The room of each part of a text that comes from a peer, with a NUL. */
enum { PART = 72 };

/* Cuts a text of a peer, and replaces what is not printable ASCII. */
static void clean(char to[PART], mcp_str text)
{
    size_t n = MCP__MIN(text.len, PART - 1);
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(text.ptr[i] >= ' ' && text.ptr[i] < 0x7F ? text.ptr[i] : '?');
    if (text.len >= PART)
        memcpy(to + PART - 4, "...", 3);
    to[n] = '\0';
}

mcp__oauth_fault mcp__oauth_fail(mcp_error *error, mcp__oauth_fault fault, mcp_str what,
                                 mcp_str where)
{
    char found[PART], place[PART];
    const char *mend = faults[fault].mend;
    clean(found, what);
    clean(place, where);
    mcp__fail(error, faults[fault].code, 0, "%s%s%s%s%s%s%s%s", faults[fault].text,
              *found ? ": " : "", found, *place ? " (" : "", place, *place ? ")" : "",
              *mend ? "; " : "", mend);
    return fault;
}

mcp__oauth_fault mcp__oauth_fail_error(mcp_error *error, mcp_str code, mcp_str description,
                                       mcp_str where)
{
    char what[2 * PART + 4], name[PART], text[PART];
    clean(name, code);
    clean(text, description);
    snprintf(what, sizeof(what), "%s%s%s", name, *text ? ", " : "", text);
    return mcp__oauth_fail(error, mcp__oauth_fault_find(code), mcp_str_from(what), where);
}

mcp__oauth_fault mcp__oauth_failed(mcp_error *error, int rc)
{
    const mcp_str none = {NULL, 0};
    if (rc == MCP_OK)
        return MCP__OAUTH_OK;
    return mcp__oauth_fail(error, rc == MCP_ENOMEM ? MCP__OAUTH_NO_MEMORY : MCP__OAUTH_CRYPTO, none,
                           none);
}
