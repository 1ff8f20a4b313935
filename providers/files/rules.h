/* rules.h: the compiled rules of one .gitignore file, or of a list of globs from the command line.
 *
 * This module does not open files or read directories. A rule set is matched against a path that is
 * relative to the folder of its file. The caller has to check the ancestors first, because an entry
 * of an excluded folder is always excluded.
 */
#ifndef FILES_RULES_H
#define FILES_RULES_H

#include <mcp/base.h>

/* Content beyond these limits is ignored. */
#define FILES_RULES_MAX_BYTES ((size_t)1 << 20)
#define FILES_RULES_MAX       10000

typedef struct files_rules files_rules;

/* Compiles the rules. *ret is NULL if there are none. Returns MCP_OK or MCP_ENOMEM. Free it with
 * files_rules_free(), which accepts NULL. */
int files_rules_parse(mcp_str text, const mcp_allocator *alloc, files_rules **ret);
void files_rules_free(files_rules *rules);

/* Returns the decision of the last matching rule: 1 for excluded, -1 for included again, 0 if no
 * rule matches. `name` is the offset of the last component of `path`. `rules` may be NULL. */
int files_rules_match(const files_rules *rules, mcp_str path, size_t name, bool is_dir);

#endif
