/* rules.h: the rules of one .gitignore file (or of a list of globs on the command line), compiled.
 *
 * Knows no directories and opens no files: a rule set is matched against a path that is relative to
 * the folder of its file. The caller asks for the parent folders first, because what lies in a
 * folder that is excluded stays excluded.
 */
#ifndef FILES_RULES_H
#define FILES_RULES_H

#include <mcp/base.h>

/* Content beyond these limits is ignored. */
#define FILES_RULES_MAX_BYTES ((size_t)1 << 20)
#define FILES_RULES_MAX       10000

typedef struct files_rules files_rules;

/* *ret is NULL if there are no rules. MCP_ENOMEM. Free with files_rules_free() (NULL is
 * allowed). */
int files_rules_parse(mcp_str text, const mcp_allocator *alloc, files_rules **ret);
void files_rules_free(files_rules *rules);

/* The result of the last matching rule: 1 excluded, -1 included again, 0 no match. `name` is the
 * offset of the last component of `path`. `rules` may be NULL. */
int files_rules_match(const files_rules *rules, mcp_str path, size_t name, bool is_dir);

#endif
