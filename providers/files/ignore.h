/* ignore.h: the exclusion rules of a root. An excluded entry is not listed, read, completed or
 * watched.
 *
 * An entry is excluded for one of three reasons: its name begins with a dot (unless `hidden`), git
 * would ignore it (unless `no_ignore`), or `--exclude` and `--include` exclude it. Git's rules are
 * in the .gitignore files in the root and below. If the root is in a repository, they are also in
 * the .gitignore files of the ancestors up to the repository's top, and in its .git/info/exclude.
 * The user's global file is not read, and a `.git` that is a file is not followed. An excluded
 * folder excludes everything below it. The root itself was named by the user and is never excluded.
 * `.git` is served only if both `hidden` and `no_ignore` are set.
 *
 * The rules of the last used folders are cached (a bounded number of folders). A changed .gitignore
 * is noticed when its folder is used again. Rules from above the root are read once for each folder
 * that is opened as the root. All functions are thread-safe; they take a lock.
 */
#ifndef FILES_IGNORE_H
#define FILES_IGNORE_H

#include "beneath.h"

typedef struct files_ignore_options {
    bool hidden;
    bool no_ignore;
    const char *const
        *include;         /* globs, as in .gitignore, relative to the root; a file must match */
    size_t include_count; /* one of them or be in a folder that does; 0 includes all files */
    const char *const *exclude;
    size_t exclude_count;
    size_t max_folders; /* cached folders; 0 means 256 */
    /* How long a .gitignore is used before it is checked again. The default is 100,000,000;
     * with a negative value it is checked each time. */
    int64_t fresh_ns;
} files_ignore_options;

typedef struct files_ignore files_ignore;
/* The rules of a folder; referenced while its entries are examined. */
typedef struct files_ignore_dir files_ignore_dir;

/* Creates the rules of a root. `at` must outlive the result; `root_path` is the real path, "" for
 * the top of the file system. `options` and `alloc` may be NULL. Returns MCP_OK or MCP_ENOMEM. */
int files_ignore_new(common_beneath at, const char *root_path, const files_ignore_options *options,
                     const mcp_allocator *alloc, files_ignore **ret);
void files_ignore_free(files_ignore *ig);

/* Sets *ret to whether a relative path without empty components is served, by checking each
 * component. "" is always served. Returns MCP_OK, or an error if rules cannot be read. */
int files_ignore_visible(files_ignore *ig, const char *rel, size_t len, bool is_dir, bool *ret);

/* Gets the rules of the root or a folder below it. *ret is NULL if the folder is excluded.
 * Release it with files_ignore_leave(), which accepts NULL. Returns MCP_OK, or an error if rules
 * cannot be read. */
int files_ignore_enter(files_ignore *ig, const char *rel, size_t len, files_ignore_dir **ret);
void files_ignore_leave(files_ignore *ig, files_ignore_dir *dir);

/* Returns whether an entry of the folder is served. `rel` is its path, `name` the offset of its
 * name. */
bool files_ignore_entry(files_ignore *ig, files_ignore_dir *dir, const char *rel, size_t len,
                        size_t name, bool is_dir);

/* Reads the rules from above the root again, because another folder is there now, and forces the
 * checks of files_ignore_recheck(). Returns MCP_OK, or MCP_ENOMEM if nothing has changed. */
int files_ignore_renew(files_ignore *ig, const char *root_path);

/* Forces a check of each .gitignore on its next use, however recent its last check is. */
void files_ignore_recheck(files_ignore *ig);

/* Returns the number of folders whose rules are cached. */
size_t files_ignore_cached(files_ignore *ig);

#endif
