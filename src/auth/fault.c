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

/* The room for a part of a text that comes from a peer, with a NUL. */
enum { PART = 128 };

/* Copies at most `most` bytes of a text of a peer, and replaces what is not printable ASCII. */
static void clean(char to[PART], mcp_str text, size_t most)
{
    most = MCP__MIN(most, PART - 1);
    size_t n = MCP__MIN(text.len, most);
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(text.ptr[i] >= ' ' && text.ptr[i] < 0x7F ? text.ptr[i] : '?');
    if (text.len > most && most >= 3)
        memcpy(to + most - 3, "...", 3);
    to[n] = '\0';
}

/* The parts of the peer share the room that the constant texts leave. */
mcp__oauth_fault mcp__oauth_fail(mcp_error *error, mcp__oauth_fault fault, mcp_str what,
                                 mcp_str where)
{
    char found[PART], place[PART];
    const char *text = faults[fault].text, *mend = faults[fault].mend;
    size_t room = sizeof(error->text) - strlen(text) - strlen(mend) - sizeof(":  (); ");
    clean(found, what, MCP__MAX(room / 2, room - MCP__MIN(where.len, room)));
    clean(place, where, room - strlen(found));
    mcp__fail(error, faults[fault].code, 0, "%s%s%s%s%s%s%s%s", text, *found ? ": " : "", found,
              *place ? " (" : "", place, *place ? ")" : "", *mend ? "; " : "", mend);
    return fault;
}

/* What was found has two parts, of which the first is short. */
static mcp__oauth_fault fail_two(mcp_error *error, mcp__oauth_fault fault, mcp_str first,
                                 const char *between, mcp_str second, mcp_str where)
{
    char what[2 * PART + 4], name[PART], text[PART];
    clean(name, first, 50);
    clean(text, second, PART);
    snprintf(what, sizeof(what), "%s%s%s", name, *text ? between : "", text);
    return mcp__oauth_fail(error, fault, mcp_str_from(what), where);
}

mcp__oauth_fault mcp__oauth_fail_named(mcp_error *error, mcp__oauth_fault fault, mcp_str name,
                                       mcp_str detail, mcp_str where)
{
    return fail_two(error, fault, name, " ", detail, where);
}

mcp__oauth_fault mcp__oauth_fail_error(mcp_error *error, mcp_str code, mcp_str description,
                                       mcp_str where)
{
    return fail_two(error, mcp__oauth_fault_find(code), code, ", ", description, where);
}

mcp__oauth_fault mcp__oauth_failed(mcp_error *error, int rc)
{
    const mcp_str none = {NULL, 0};
    if (rc == MCP_OK)
        return MCP__OAUTH_OK;
    return mcp__oauth_fail(error, rc == MCP_ENOMEM ? MCP__OAUTH_NO_MEMORY : MCP__OAUTH_CRYPTO, none,
                           none);
}
