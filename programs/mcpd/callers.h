/* callers.h: whom an access rule is about: names of tokens, callers of an issuer by their claims, and
 * groups of an issuer.
 *
 * Names and issuers are separate: a name matches only callers without an issuer, and a claim or group
 * counts only for the issuer that the rule names.
 */
#ifndef MCPD_CALLERS_H
#define MCPD_CALLERS_H

#include <mcp/identity.h>

#include "config.h"
#include "glob.h"

/* Whether a rule is about a caller. It is unknown if the token lacks the claim that decides. */
typedef enum truth { NO, UNKNOWN, YES } truth;

typedef struct claim_test {
    const char *claim; /* a member of the token, or a JSON pointer */
    globs values;
} claim_test;

/* Callers of one issuer. */
typedef struct issuer_test {
    const char *issuer;
    claim_test *claims; /* all of them must match */
    size_t n_claims;
    const char *group, *groups; /* the group, and the claim that lists groups; NULL: any caller */
} issuer_test;

/* Strings without an own copy belong to the configuration. */
typedef struct callers {
    bool given; /* the rule has such a member; otherwise it is about everybody */
    globs names;
    bool everybody; /* the name "*" */
    issuer_test *tests;
    size_t n_tests;
} callers;

/* Read the members "principal" and "group" of the rule at `pointer`. Return MCP_OK, or a negative
 * code after reporting the error. */
int callers_read_principals(config *c, const mcp_json *rule, const char *pointer, callers *ret);
int callers_read_groups(config *c, const mcp_json *rule, const char *pointer, callers *ret);
void callers_clear(callers *who);

/* Returns a claim of the caller's token: a name, or a JSON pointer. NULL if it has none. */
const mcp_json *callers_claim(const mcp_identity *identity, mcp_str claim);

/* Returns the groups of a caller: a claim of its token that is a list of strings, otherwise NULL. */
const mcp_json *callers_groups(const mcp_identity *identity, mcp_str claim);

/* Returns whether the caller is one of them. `identity` is NULL if the caller is anonymous. */
truth callers_include(const callers *who, const mcp_identity *identity);

#endif
