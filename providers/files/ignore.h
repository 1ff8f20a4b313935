/* ignore.h: the exclusion rules of a root: an excluded entry is neither listed, read, completed nor
 * watched.
 *
 * Three things leave an entry out: its name begins with a dot (`hidden` lets it in), git would
 * ignore it (`no_ignore` lets it in), or `--exclude` and `--include` say so. Git's rules are those
 * of the .gitignore files in the root and beneath it; where the root lies in a repository also
 * those of the folders above it up to the top, and its .git/info/exclude (not the user's global
 * file; a `.git` that is a file is not followed). A folder that is left out takes everything
 * beneath it along. The root itself was named by the user and is never left out. `.git` needs both
 * switches to be seen.
 *
 * The rules of the folders that were visited last stay in memory (a bounded number of folders); a
 * .gitignore that changed is noticed when its folder is visited again. What lies above the root is
 * read once. Any thread may call; a lock is held inside.
 */
#ifndef FILES_IGNORE_H
#define FILES_IGNORE_H

#include "beneath.h"

typedef struct files_ignore_options {
    bool hidden;
    bool no_ignore;
    const char *const
        *include;         /* globs, as in .gitignore, relative to the root; a file must match   */
    size_t include_count; /* one of them (or lie in a folder that does); none lets all in       */
    const char *const *exclude;
    size_t exclude_count;
    size_t max_folders; /* cached folders; 0 means 256 */
    int64_t fresh_ns;   /* how long a check of a .gitignore is valid; 0 means 100 ms, < 0 not at
                       * all */
} files_ignore_options;

typedef struct files_ignore files_ignore;
/* The rules of a folder, held while its entries are examined. */
typedef struct files_ignore_dir files_ignore_dir;

/* `at` and `root_path` (the real path, "" for the top of the file system) must outlive the result.
 * MCP_ENOMEM. options and alloc may be NULL. */
int files_ignore_new(common_beneath at, const char *root_path, const files_ignore_options *options,
                     const mcp_allocator *alloc, files_ignore **ret);
void files_ignore_free(files_ignore *ig);

/* Whether a relative path without empty components is served; checks each of its components. MCP_OK
 * and *ret, or MCP_ENOMEM. "" always is. */
int files_ignore_visible(files_ignore *ig, const char *rel, size_t len, bool is_dir, bool *ret);

/* Gets the rules of a folder below the root; *ret is NULL if the folder is excluded. Release it
 * with files_ignore_leave() (NULL is allowed). MCP_ENOMEM. */
int files_ignore_enter(files_ignore *ig, const char *rel, size_t len, files_ignore_dir **ret);
void files_ignore_leave(files_ignore *ig, files_ignore_dir *dir);

/* Whether an entry of that folder is served; `rel` is its path, `name` the offset of its name. */
bool files_ignore_entry(files_ignore *ig, files_ignore_dir *dir, const char *rel, size_t len,
                        size_t name, bool is_dir);

/* Checks each .gitignore again on its next use, however recent the last check is. */
void files_ignore_recheck(files_ignore *ig);

/* The number of folders whose rules are cached. */
size_t files_ignore_cached(files_ignore *ig);

#endif
