/* store.h: reading objects and references for one request, on whichever thread it runs.
 *
 * Objects come raw from libgit2's object database, for which reader.h reads the files, and are
 * taken apart here (a tree, a commit and a tag are a few lines of text each), so that a large one
 * is looked at and not copied. References are read here too, beneath the descriptors of the layout:
 * libgit2 would open them by name.
 */
#ifndef REPO_STORE_H
#define REPO_STORE_H

#include "layout.h"

#include <mcp/request.h>

enum { REPO_REF_MAX = 1024 };

/* All functions below return MCP_OK; MCP_ENOTFOUND; MCP_PENDING (not possible on this thread);
 * MCP_ECANCELLED, MCP_ETIMEOUT, MCP_ELIMIT (too large to be read), MCP_EIO (damaged), MCP_EFILES
 * (no descriptors left), MCP_ENOMEM. */
typedef struct repo_use {
    repo_layout *layout;
    git_odb *odb;
    struct repo_reader *reader; /* reads the files; NULL: libgit2 does */
    const mcp_request *req;     /* NULL: not cancellable */
    bool near;                  /* on the server's thread: only little is read */
    size_t budget;              /* bytes that may still be read if `near` */
    int64_t deadline;           /* in milliseconds of the monotonic clock */
    uint64_t too_large;         /* the size that caused MCP_ELIMIT */
} repo_use;

/* Borrows an object database. */
int repo_use_begin(repo_use *u, repo_layout *l, const mcp_request *req, bool near,
                   uint64_t timeout_ms);
void repo_use_end(repo_use *u);
/* The current time on the clock of `deadline`. */
int64_t repo_use_now(void);
/* Whether to continue. Long operations call it now and then. */
int repo_use_check(const repo_use *u);

/* Reads an object, which the caller frees with git_odb_object_free(). `type` is GIT_OBJECT_ANY or
 * the required type (MCP_ENOTFOUND if it is another). */
int repo_object(repo_use *u, const git_oid *id, git_object_t type, git_odb_object **ret);
/* Reads only the type and the size. */
int repo_object_header(repo_use *u, const git_oid *id, git_object_t *type, size_t *size);
/* The id that begins with these digits. MCP_ENOTFOUND also if several do. */
int repo_object_by_prefix(repo_use *u, const git_oid *prefix, size_t digits, git_oid *ret);
/* The size of a blob; MCP_EIO if the object is missing or not a blob. */
int repo_blob_size(repo_use *u, const git_oid *id, size_t *ret);
mcp_str repo_object_text(git_odb_object *o);

/* ---- trees ----------------------------------------------------------------------------------- */

typedef struct repo_entry {
    unsigned mode; /* normalized to the modes that git writes today */
    mcp_str name;  /* points into the tree's bytes */
    git_oid id;
} repo_entry;

enum { REPO_MODE_TREE = 040000, REPO_MODE_LINK = 0120000, REPO_MODE_COMMIT = 0160000 };

/* Reads the next entry of *rest. False at the end, or if the tree is damaged (then *rest is not
 * empty). */
bool repo_tree_next(mcp_str *rest, repo_entry *ret);
/* Git's order of entries: by bytes, a folder as if its name ended in "/". */
int repo_entry_compare(mcp_str a, bool a_tree, mcp_str b, bool b_tree);
/* Finds a path in a tree; "" is the tree itself. ret->name is the last part of `path`.
 * MCP_ENOTFOUND: the path does not exist, but all trees do; a missing tree is MCP_EIO. */
int repo_tree_find(repo_use *u, const git_oid *tree, mcp_str path, repo_entry *ret);

/* ---- commits and tags ------------------------------------------------------------------------ */

enum { REPO_PARENTS = 4096 }; /* a commit with more parents counts as damaged */

typedef struct repo_person {
    mcp_str name, email;
    int64_t time;
    int offset; /* minutes */
} repo_person;

typedef struct repo_commit {
    git_odb_object *object; /* owns the texts; git_odb_object_free() */
    git_oid id, tree;
    const char *parents; /* lines of equal length; see repo_commit_parent() */
    size_t n_parents;
    repo_person author, committer;
    mcp_str message;
} repo_commit;

int repo_commit_read(repo_use *u, const git_oid *id, repo_commit *ret);
void repo_commit_free(repo_commit *c);
git_oid repo_commit_parent(const repo_commit *c, size_t i);
/* Parses the bytes of a commit. The result points into `text`. False if it is malformed. */
bool repo_commit_parse(mcp_str text, repo_commit *ret);

/* Follows tags to the object that they refer to. */
int repo_peel(repo_use *u, git_oid *id, git_object_t *type);

/* ---- references ------------------------------------------------------------------------------ */

/* Reads a reference by its full name ("HEAD", "refs/heads/main") and follows symbolic references.
 * `final` (may be NULL) receives the last name. */
int repo_ref_read(const repo_use *u, mcp_str name, git_oid *id, char final[REPO_REF_MAX + 1]);

/* Resolves a REV of a URI (not a range), without peeling tags. `fixed`: it is a complete id, or
 * steps from one, so it always means the same object. `full` (may be NULL) receives the reference's
 * full name, or "" for an id and for steps. */
int repo_rev_find(repo_use *u, mcp_str rev, git_oid *id, bool *fixed, char full[REPO_REF_MAX + 1]);

/* The same, peeled to a commit. MCP_ENOTFOUND also if it is not a commit. */
int repo_rev_commit(repo_use *u, mcp_str rev, git_oid *id, bool *fixed);

/* The shortest REV for the reference of this name (without "refs/"), which is an end of the
 * name. */
const char *repo_ref_short(repo_use *u, const char *name);

/* All references that begin with `prefix` ("refs/heads/"), sorted. Each is written as 20 bytes of
 * the id, the name without "refs/", and a NUL. With MCP_PENDING, *ret has the loose references and
 * the first packed ones. */
int repo_refs_collect(repo_use *u, const char *prefix, common_buffer *ret);
typedef struct repo_ref {
    git_oid id;
    const char *name; /* without "refs/" */
} repo_ref;
bool repo_refs_next(const common_buffer *refs, size_t *at, repo_ref *ret);

#endif
