/* access_rules.h: the compiled rules, for the files that read them (access.c) and those that ask
 * about them (access.c: who sees what; access_do.c: who may do what).
 */
#ifndef MCPD_ACCESS_RULES_H
#define MCPD_ACCESS_RULES_H

#include "access.h"
#include "callers.h"
#include "glob.h"
#include "views.h"

enum {
    ACCESS_ITEMS = MCP_ITEM_TOOL + 1,
    /* These are no items of the protocol. */
    ACCESS_METRICS = ACCESS_ITEMS, /* /metrics */
    ACCESS_NAMES,                  /* the names in it, also of what the caller may not use */
};

/* The operations of a rule as a set. */
#define ACCESS_BIT(operation) (1U << (operation))
#define ACCESS_SEEING         (ACCESS_BIT(MCP_OPERATION_READ) | ACCESS_BIT(MCP_OPERATION_CALL))

typedef struct access_rule {
    callers principals, groups;
    const view **views; /* NULL: the rule is about all views, and about none */
    size_t n_views;
    unsigned operations;
    mcp_effect effect;
    const char *scopes; /* that the things need; NULL if none */
    const char *asks;   /* the scopes of a challenge, with those of all requests; NULL: none */
    bool everything;
    bool metrics, names; /* /metrics; the names of all tools and sources in it */
    bool has[ACCESS_ITEMS];
    globs what[ACCESS_ITEMS];
} access_rule;

struct access_rules {
    access_rule *items;
    size_t count;
    bool restrict_seeing; /* a rule is about reading or calling, or about /metrics */
    views *views;         /* NULL if there are none */
    rates *rates;         /* NULL if there are none */
};

/* Reads the callers that a rule selects: its members "view", "principal" and "group". Returns MCP_OK, or a negative code
 * after reporting the error. */
int access_read_callers(config *c, const views *all, const mcp_json *value, const char *pointer,
                        access_rule *r);
void access_rule_clear(access_rule *r);

/* Whether the rule is about the thing. */
bool access_covers(const access_rule *r, unsigned item, mcp_str name);
/* Whether the view of the caller, if it has one, shows the thing. A view that does not exist any more
 * shows nothing. */
bool access_in_view(const access_rules *rules, const mcp_identity *identity, mcp_item item,
                    mcp_str name);
/* Whether the rule is about the caller, in its view. */
truth access_is_about(const access_rule *r, const mcp_identity *identity);
/* What the rule says to a caller that it is about: nothing is granted without its scopes. */
mcp_effect access_effect(const access_rule *r, const mcp_identity *identity);

/* Whether the rule gives somebody the right to change something. */
bool access_rule_grants(const access_rule *r);

/* The word for an operation in rules. */
const char *access_operation_word(int operation);

/* Fills in an empty rule for what one parameter "write" of a folder grants. Returns MCP_OK,
 * MCP_ELIMIT, MCP_ENOMEM, or MCP_EINVAL if this is not possible for the folder, of which
 * access_write_needs is the reason. */
int access_read_write(access_rule *r, const char *folder, const char *below);
extern const char access_write_needs[];

#endif
