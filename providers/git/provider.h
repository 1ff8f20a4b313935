/* provider.h: what the parts of the provider share: a mounted repository, and one read of it.
 *
 * A read becomes a job: it is tried on the server's thread as long as it reads little, and
 * restarted on a worker otherwise. A job runs the same code on both, and uses only its own state
 * and the object database that it borrowed.
 */
#ifndef REPO_PROVIDER_H
#define REPO_PROVIDER_H

#include "asking.h"
#include "git.h"
#include "store.h"
#include "uri.h"

typedef struct repo_watch repo_watch;

typedef struct repo {
    mcp_allocator alloc;
    mcp_server *server;
    char *path, *within, *name, *prefix; /* "git://NAME/" */
    repo_layout *layout;
    size_t max_read, max_bytes;
    uint64_t timeout_ms;
    repo_watch *watch; /* made for the first subscriber */
} repo;

/* The layout as it is now, with a use for the caller. NULL, and *rc is what it comes to:
 * MCP_ENOTFOUND (the repository is gone, or leads elsewhere now: the log says so), MCP_EFILES,
 * MCP_ENOMEM. The server's thread. */
repo_layout *repo_layout_now(repo *r, int *rc);
/* One line for the operator. */
void repo_log(const repo *r, const char *what, const char *why);

typedef struct repo_job {
    repo *r;
    mcp_request *req;
    int (*run)(struct repo_job *job);
    mcp_str uri; /* as it was asked for; of the request */
    repo_target target;
    repo_use use;
    common_asking asking;
    int64_t deadline;

    /* What came of it. */
    int rc;
    bool fixed; /* it never changes */
    int code;   /* of an error that is the asker's; 0: none */
    char message[400];
    uint64_t size;          /* of what is too large */
    mcp_json_writer *json;  /* the answer, or else: */
    git_odb_object *object; /* which holds */
    mcp_str bytes;
    common_buffer text; /* or else this, when has_text */
    bool has_text;
    const char *mime;
    bool as_text; /* asked for so */
    char room[];  /* for target's texts */
} repo_job;

/* Fails it: an answer, not a failure of ours. Returns MCP_OK. */
int repo_job_fail(repo_job *job, int code, const char *format, ...) MCP_PRINTF(3, 4);
/* A number of the query; `fallback` when it is absent. False after failing the job: it is none. */
bool repo_job_number(repo_job *job, repo_param param, uint64_t min, uint64_t max, uint64_t fallback,
                     uint64_t *ret);

/* ?format=; false after failing the job: it is none. */
bool repo_job_format(repo_job *job);
/* Makes the text of what is JSON. */
int repo_job_to_text(repo_job *job);

/* Whether the caller may read that too, so that it may be shown or told of. */
bool repo_job_may(repo_job *job, const repo_target *target);
bool repo_job_may_commit(repo_job *job, const git_oid *id);

/* What a job may do. */
int repo_run_repository(repo_job *job);
int repo_run_file(repo_job *job);
int repo_run_refs(repo_job *job); /* branches, tags */
int repo_run_commit(repo_job *job);
int repo_run_log(repo_job *job);
int repo_run_diff(repo_job *job);
int repo_run_blame(repo_job *job);
int repo_run_search(repo_job *job);
int repo_run_worktree(repo_job *job); /* status, and both differences */

/* What a REV's path is: the tree or blob, or the commit of a submodule. */
int repo_find(repo_use *u, mcp_str rev, mcp_str path, repo_entry *ret, bool *fixed);

/* ---- two texts ------------------------------------------------------------------------------- */

enum { REPO_COMPARE_MAX = 8 << 20 }; /* bytes of each */

/* Tells the callbacks what differs, with so many lines around it. It cannot be interrupted, so that
 * of many lines, which may take minutes, nothing is told: MCP_ELIMIT. MCP_EIO: a callback did not
 * return 0. */
int repo_compare(mcp_str old, mcp_str now, uint32_t around, git_diff_hunk_cb on_hunk,
                 git_diff_line_cb on_line, void *user);

/* A patch, a file after the other, which becomes the job's text. `work`: what the second side's
 * text is, when it is no object. */
typedef struct repo_patch repo_patch;
int repo_patch_begin(repo_job *job, repo_patch **ret);
int repo_patch_file(repo_patch *p, mcp_str path, const repo_entry *a, const repo_entry *b,
                    const mcp_str *work);
void repo_patch_end(repo_patch *p);

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Any bytes: what is not UTF-8 is taken for Latin-1, and then no longer than a path. */
void repo_put_text(mcp_json_writer *w, mcp_str text);
/* The same, of any length. */
void repo_put_long_text(mcp_json_writer *w, const repo *r, mcp_str text);
void repo_put_id(mcp_json_writer *w, const git_oid *id);
/* A URI of this repository. */
void repo_put_uri(mcp_json_writer *w, const repo *r, const repo_target *target);
/* The same as a member, if the caller may read it. */
void repo_put_link(repo_job *job, const char *key, const repo_target *target);
/* {"name", "email", "time"} */
void repo_put_person(mcp_json_writer *w, const repo_person *p);
/* The first line, of a very long one the beginning. */
mcp_str repo_subject(mcp_str message);

/* What kind of text or data it is, by its name; NULL: nobody knows. */
const char *repo_mime(mcp_str path);

/* ---- mcp_provider's and mcp_resource_template's ---------------------------------------------- */

int repo_list(mcp_request *req, mcp_str cursor, size_t max, void *user);
int repo_read(mcp_request *req, mcp_str uri, void *user);
int repo_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int repo_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                  void *user);

int repo_resolve(mcp_str uri, char *canonical, size_t room, void *user);
int repo_watch_add(const char *canonical, void *user);
void repo_watch_remove(const char *canonical, void *user);
int repo_watch_list(void *user);
void repo_unwatch_list(void *user);
void repo_watch_free(repo *r);

#endif
