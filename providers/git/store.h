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

/* Outcomes of all that follows: MCP_OK; MCP_ENOTFOUND; MCP_PENDING: not on this thread;
 * MCP_ECANCELLED, MCP_ETIMEOUT, MCP_ELIMIT (larger than anything that is read), MCP_EIO (damaged),
 * MCP_EFILES (no descriptors), MCP_ENOMEM. */
typedef struct repo_use {
    repo_layout *layout;
    git_odb *odb;
    struct repo_reader *reader; /* what reads for it; NULL: something else */
    const mcp_request *req;     /* NULL: cannot be cancelled */
    bool near;                  /* the server's thread: little is read */
    size_t budget;              /* bytes that may still be read near */
    int64_t deadline;           /* milliseconds of the monotonic clock */
    uint64_t too_large;         /* what MCP_ELIMIT was about */
} repo_use;

/* Borrows an object database. */
int repo_use_begin(repo_use *u, repo_layout *l, const mcp_request *req, bool near,
                   uint64_t timeout_ms);
void repo_use_end(repo_use *u);
/* The clock of `deadline`. */
int64_t repo_use_now(void);
/* Whether to go on; asked now and then by what may take long. */
int repo_use_check(const repo_use *u);

/* Any object; the caller's, git_odb_object_free(). `type`: GIT_OBJECT_ANY, or what it has to be
 * (else MCP_ENOTFOUND). */
int repo_object(repo_use *u, const git_oid *id, git_object_t type, git_odb_object **ret);
/* What it is and how large, without reading it. */
int repo_object_header(repo_use *u, const git_oid *id, git_object_t *type, size_t *size);
/* The id that begins with so many digits. MCP_ENOTFOUND also where several do. */
int repo_object_by_prefix(repo_use *u, const git_oid *prefix, size_t digits, git_oid *ret);
/* How large a blob is; MCP_EIO: it is none, or not there. */
int repo_blob_size(repo_use *u, const git_oid *id, size_t *ret);
mcp_str repo_object_text(git_odb_object *o);

/* ---- trees ----------------------------------------------------------------------------------- */

typedef struct repo_entry {
    unsigned mode; /* one of those that git writes today, whatever an old one wrote */
    mcp_str name;  /* of the tree's bytes */
    git_oid id;
} repo_entry;

enum { REPO_MODE_TREE = 040000, REPO_MODE_LINK = 0120000, REPO_MODE_COMMIT = 0160000 };

/* The next entry of *rest. False at the end, or where it is damaged (then *rest is not empty). */
bool repo_tree_next(mcp_str *rest, repo_entry *ret);
/* Git's order of entries: bytes, a folder's name as if it ended in "/". */
int repo_entry_compare(mcp_str a, bool a_tree, mcp_str b, bool b_tree);
/* What a path is in a tree; "" is the tree itself. ret->name is then the last part of `path`.
 * MCP_ENOTFOUND: the trees are there, the path is not in them; a tree that is missing is
 * MCP_EIO. */
int repo_tree_find(repo_use *u, const git_oid *tree, mcp_str path, repo_entry *ret);

/* ---- commits and tags ------------------------------------------------------------------------ */

enum { REPO_PARENTS = 4096 }; /* a commit with more is taken for damaged */

typedef struct repo_person {
    mcp_str name, email;
    int64_t time;
    int offset; /* minutes */
} repo_person;

typedef struct repo_commit {
    git_odb_object *object; /* holds the texts; git_odb_object_free() */
    git_oid id, tree;
    const char *parents; /* lines of one length: repo_commit_parent() */
    size_t n_parents;
    repo_person author, committer;
    mcp_str message;
} repo_commit;

int repo_commit_read(repo_use *u, const git_oid *id, repo_commit *ret);
void repo_commit_free(repo_commit *c);
git_oid repo_commit_parent(const repo_commit *c, size_t i);
/* Parses the bytes of a commit; nothing is kept but slices. False: it is none. */
bool repo_commit_parse(mcp_str text, repo_commit *ret);

/* Follows tags to what they are of. */
int repo_peel(repo_use *u, git_oid *id, git_object_t *type);

/* ---- references ------------------------------------------------------------------------------ */

/* A full name ("HEAD", "refs/heads/main"), through symbolic ones. `final` (may be NULL): the name
 * at the end. */
int repo_ref_read(const repo_use *u, mcp_str name, git_oid *id, char final[REPO_REF_MAX + 1]);

/* What a REV of a URI stands for (no range), not peeled. `fixed`: it is a whole id, or steps from
 * one, and never stands for something else. `full` (may be NULL): the reference's full name, "" for
 * an id and where there are steps. */
int repo_rev_find(repo_use *u, mcp_str rev, git_oid *id, bool *fixed, char full[REPO_REF_MAX + 1]);

/* The same, down to the commit. MCP_ENOTFOUND also where it is none. */
int repo_rev_commit(repo_use *u, mcp_str rev, git_oid *id, bool *fixed);

/* The shortest REV for the reference of this name (without "refs/"): the end of it. */
const char *repo_ref_short(repo_use *u, const char *name);

/* All references that begin with `prefix` ("refs/heads/"), sorted; each is its id's 20 bytes, the
 * name without "refs/", and a NUL. MCP_PENDING: the loose ones, and the first of those that are
 * packed. */
int repo_refs_collect(repo_use *u, const char *prefix, common_buffer *ret);
typedef struct repo_ref {
    git_oid id;
    const char *name; /* without "refs/" */
} repo_ref;
bool repo_refs_next(const common_buffer *refs, size_t *at, repo_ref *ret);

#endif
