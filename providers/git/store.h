/* store.h: reads objects and references for one request, on any thread.
 *
 * Objects are read as raw bytes from libgit2's object database, for which reader.h reads the files.
 * They are parsed here in place (trees, commits and tags are a few lines of text each), so that
 * large objects are not copied. References are also read here, through the descriptors of the
 * layout; libgit2 would open them by name.
 */
#ifndef REPO_STORE_H
#define REPO_STORE_H

#include "layout.h"

#include <mcp/request.h>

enum { REPO_REF_MAX = 1024 };

/* Unless stated otherwise, the functions below return MCP_OK, MCP_ENOTFOUND, MCP_PENDING (not
 * possible on this thread), MCP_ECANCELLED, MCP_ETIMEOUT, MCP_ELIMIT (too large to be read),
 * MCP_EIO (damaged), MCP_EFILES (no descriptors left) or MCP_ENOMEM. */
typedef struct repo_use {
    repo_layout *layout;
    git_odb *odb;
    struct repo_reader *reader; /* reads the files; NULL if libgit2 reads them */
    const mcp_request *req;     /* NULL if not cancellable */
    bool near;                  /* on the server's thread, where only little is read */
    size_t budget;              /* bytes that may still be read if `near` */
    int64_t deadline;           /* in ms of the monotonic clock */
    uint64_t too_large;         /* if the result is MCP_ELIMIT, the size that was too large */
} repo_use;

/* Begins a use: borrows an object database. */
int repo_use_begin(repo_use *u, repo_layout *l, const mcp_request *req, bool near,
                   uint64_t timeout_ms);
void repo_use_end(repo_use *u);
/* Returns the current time of the clock that `deadline` uses. */
int64_t repo_use_now(void);
/* Returns MCP_OK, MCP_ECANCELLED or MCP_ETIMEOUT. Long operations call it regularly. */
int repo_use_check(const repo_use *u);

/* Reads an object, which the caller frees with git_odb_object_free(). `type` is GIT_OBJECT_ANY or
 * the required type; another type is MCP_ENOTFOUND. */
int repo_object(repo_use *u, const git_oid *id, git_object_t type, git_odb_object **ret);
/* Reads only the type and the size. */
int repo_object_header(repo_use *u, const git_oid *id, git_object_t *type, size_t *size);
/* Finds the id that begins with these digits. Returns MCP_ENOTFOUND also if several do. */
int repo_object_by_prefix(repo_use *u, const git_oid *prefix, size_t digits, git_oid *ret);
/* Gets the size of a blob. Returns MCP_EIO if the object is missing or not a blob. */
int repo_blob_size(repo_use *u, const git_oid *id, size_t *ret);
mcp_str repo_object_text(git_odb_object *o);

/* ---- trees ----------------------------------------------------------------------------------- */

typedef struct repo_entry {
    unsigned mode; /* normalized to the modes that git writes today */
    mcp_str name;  /* points into the tree's bytes */
    git_oid id;
} repo_entry;

enum { REPO_MODE_TREE = 040000, REPO_MODE_LINK = 0120000, REPO_MODE_COMMIT = 0160000 };

/* Reads the next entry of *rest. Returns false at the end, or if the tree is damaged; then *rest
 * is not empty. */
bool repo_tree_next(mcp_str *rest, repo_entry *ret);
/* Compares entries in git's order: by bytes, with "/" appended to the name of a folder. */
int repo_entry_compare(mcp_str a, bool a_tree, mcp_str b, bool b_tree);
/* Finds a path in a tree; "" is the tree itself. ret->name is the last part of `path`. Returns
 * MCP_ENOTFOUND if the path does not exist; a missing tree object is MCP_EIO. */
int repo_tree_find(repo_use *u, const git_oid *tree, mcp_str path, repo_entry *ret);

/* ---- commits and tags ------------------------------------------------------------------------ */

enum { REPO_PARENTS = 4096 }; /* a commit with more parents counts as damaged */

typedef struct repo_person {
    mcp_str name, email;
    int64_t time;
    int offset; /* of the time zone, in minutes */
} repo_person;

typedef struct repo_commit {
    git_odb_object *object; /* owns the strings; git_odb_object_free() */
    git_oid id, tree;
    const char *parents; /* lines of equal length; see repo_commit_parent() */
    size_t n_parents;
    repo_person author, committer;
    mcp_str message;
    mcp_str encoding; /* of the texts, according to the commit; empty means UTF-8 */
    char *decoded;    /* the bytes in UTF-8, or NULL; see repo_commit_decode() */
    const mcp_allocator *alloc;
} repo_commit;

int repo_commit_read(repo_use *u, const git_oid *id, repo_commit *ret);
void repo_commit_free(repo_commit *c);
/* Converts author, committer and message to UTF-8, if the commit names another encoding. `encoding`
 * becomes empty, unless it is unknown or the bytes are not valid in it: then they stay. Returns
 * MCP_OK or MCP_ENOMEM. */
int repo_commit_decode(repo_commit *c, const mcp_allocator *alloc);
git_oid repo_commit_parent(const repo_commit *c, size_t i);
/* Parses the bytes of a commit. The result points into `text`. Returns false if it is malformed. */
bool repo_commit_parse(mcp_str text, repo_commit *ret);

/* Follows tags to the object that they refer to. */
int repo_peel(repo_use *u, git_oid *id, git_object_t *type);

/* ---- references ------------------------------------------------------------------------------ */

/* Reads a reference by its full name ("HEAD", "refs/heads/main") and follows symbolic references.
 * `final` (may be NULL) receives the last name. */
int repo_ref_read(const repo_use *u, mcp_str name, git_oid *id, char final[REPO_REF_MAX + 1]);

/* Resolves a REV of a URI without peeling tags. The REV must not be a range. *fixed becomes whether
 * the REV is a complete id, or steps from one, so that it always means the same object. `full` (may
 * be NULL) receives the full name of the reference, or "" for an id or steps. */
int repo_rev_find(repo_use *u, mcp_str rev, git_oid *id, bool *fixed, char full[REPO_REF_MAX + 1]);

/* Resolves a REV and peels it to a commit. Returns MCP_ENOTFOUND also if it is not a commit. */
int repo_rev_commit(repo_use *u, mcp_str rev, git_oid *id, bool *fixed);

/* Returns the shortest REV for the reference of this name, which has no "refs/". The result is a
 * suffix of `name`. */
const char *repo_ref_short(repo_use *u, const char *name);

/* Collects all references that begin with `prefix` (for example "refs/heads/"), sorted. Each is
 * written as 20 bytes of id, the name without "refs/", and NUL. With MCP_PENDING, *ret has the
 * loose references and the first packed ones. */
int repo_refs_collect(repo_use *u, const char *prefix, common_buffer *ret);
typedef struct repo_ref {
    git_oid id;
    const char *name; /* without "refs/" */
} repo_ref;
bool repo_refs_next(const common_buffer *refs, size_t *at, repo_ref *ret);

#endif
