/* access.h: the compiled access rules of the configuration ("access"), and its annotations of
 * resources in lists ("annotations").
 *
 * The last rule that matches the caller, the item and the operation decides. What no rule matches
 * may be read and called, and not be changed. A rule without "operations" is about reading and
 * calling only. Principals are the names of tokens, "stdio" for the process that started the program,
 * "anonymous" for callers without a token, and callers of an issuer by their claims (callers.h).
 *
 * A caller in a view (views.h) sees and changes what both the view and the rules let it.
 */
#ifndef MCPD_ACCESS_H
#define MCPD_ACCESS_H

#include <mcp/access.h>

#include "config.h"
#include "rates.h"
#include "views.h"

typedef struct access_rules access_rules;
struct issuer_test; /* callers.h */

/* Compiles the rules of the file and those that the sources stand for (source_write.h); *ret is NULL
 * if there are none. `c` and `all` may be NULL. Returns MCP_OK, or a negative code; the error was
 * reported, or is in *error. */
int access_read(config *c, const sources *all, access_rules **ret, mcp_error *error);
/* Returns the views of the file, which are to be bound to the sources before the rules are used
 * (views_bind()); NULL if there are none. `rules` may be NULL. */
views *access_views(const access_rules *rules);
/* Returns the rates of the file, or NULL. They belong to the rules, which may be NULL. */
const rates *access_rates(const access_rules *rules);
/* Calls each() for every group that a rule or a rate names, more than once for one that several name. `rules` may be NULL. */
void access_each_group(const access_rules *rules,
                       void (*each)(const struct issuer_test *group, void *user), void *user);
/* Returns whether a rule is about what callers see, or there are views. If not, everybody sees
 * everything. */
bool access_restricts(const access_rules *rules);
/* NULL is allowed. */
void access_free(access_rules *rules);
/* For mcp_access.may and mcp_access.scopes; `user` is the access_rules. */
bool access_may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user);
const char *access_scopes(const mcp_identity *identity, mcp_item item, mcp_str name, void *user);
/* For mcp_access.may_do; `user` is the access_rules. */
mcp_effect access_may_do(const mcp_identity *identity, mcp_operation operation, mcp_item item,
                         mcp_str name, unsigned flags, void *user);
/* Calls `tell` with a line for each rule that says what the caller may change, in their order, such
 * as "may create, change below file:///home/a/notes (allow)". The last one decides. Returns whether
 * one of them grants something. `rules` may be NULL. */
bool access_tell_changes(const access_rules *rules, const mcp_identity *identity,
                         void (*tell)(const char *line, void *user), void *user);
/* Returns whether a rule gives anybody, or this caller, a right to change something, if a later one does not take it away.
 * `rules` may be NULL. */
bool access_grants_any(const access_rules *rules);
bool access_grants(const access_rules *rules, const mcp_identity *identity);
/* Returns whether a caller may see /metrics. `rules` may be NULL. */
bool access_may_see_metrics(const mcp_identity *identity, const access_rules *rules);
/* Returns whether it sees the names of all tools and sources there, also of those that it may not use.
 * `rules` may be NULL. */
bool access_may_see_names(const mcp_identity *identity, const access_rules *rules);

typedef struct notes notes;

int notes_read(config *c, notes **ret);
void notes_free(notes *n);
/* For mcp_server_set_resource_hook(); `user` is the notes. */
void notes_apply(mcp_resource *resource, void *user);

#endif
