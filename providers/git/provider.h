/* provider.h: declarations shared by the parts of the provider: a mounted repository, and one read
 * of it.
 *
 * A read is a job. It runs on the server's thread as long as it reads little, and is otherwise
 * restarted on a worker. A job runs the same code on both, and uses only its own state and the
 * object database that it borrowed.
 */
#ifndef REPO_PROVIDER_H
#define REPO_PROVIDER_H

#include "asking.h"
#include "git.h"
#include "source.h"
#include "store.h"
#include "uri.h"

typedef struct repo {
    common_source base; /* with the prefix "git://NAME/" */
    char *path, *within;
    repo_layout *layout;
    size_t max_read, max_bytes;
    uint64_t timeout_ms;
    git_oid list_mark; /* while watched, a mark of what the list depends on; see watch.c */
} repo;

/* Returns the current layout with a reference for the caller, or NULL. Then *rc is MCP_ENOTFOUND
 * (the repository does not exist, or is outside of the allowed folder; this is logged), MCP_EFILES
 * or MCP_ENOMEM. Must be called on the server's thread. */
repo_layout *repo_layout_now(repo *r, int *rc);
/* Logs one line for the operator. */
void repo_log(const repo *r, const char *what, const char *why);

typedef struct repo_job {
    repo *r;
    mcp_request *req;
    int (*run)(struct repo_job *job);
    mcp_str uri; /* as requested; points into the request */
    repo_target target;
    repo_use use;
    common_asking asking;
    int64_t deadline;

    /* The result. */
    int rc;
    bool fixed; /* the answer to this URI never changes */
    int code;   /* error code if the request is invalid, otherwise 0 */
    char message[400];
    uint64_t size;          /* if not 0, the size that was too large */
    mcp_json_writer *json;  /* the answer in JSON, unless one of the next members is set */
    git_odb_object *object; /* a blob; the answer is `bytes`, a part of it */
    mcp_str bytes;
    common_buffer text; /* the answer as text, if has_text */
    bool has_text;
    const char *mime;
    bool as_text; /* text was requested */
    size_t named; /* bytes of the paths in lists of files, at most max_bytes */
    char room[];  /* for the strings of `target` */
} repo_job;

/* Makes the request fail with an error that is not a failure of the provider. Returns MCP_OK. */
int repo_job_fail(repo_job *job, int code, const char *format, ...) MCP_PRINTF(3, 4);
/* Reads a numeric parameter of the query; *ret is `fallback` if it is absent. If it is invalid,
 * makes the job fail and returns false. */
bool repo_job_number(repo_job *job, repo_param param, uint64_t min, uint64_t max, uint64_t fallback,
                     uint64_t *ret);

/* Reads ?format=. If it is invalid, makes the job fail and returns false. */
bool repo_job_format(repo_job *job);
/* Converts the JSON answer to text. */
int repo_job_to_text(repo_job *job);

/* Returns whether the caller may also read that target, so that the answer may mention it. */
bool repo_job_may(repo_job *job, const repo_target *target);
bool repo_job_may_commit(repo_job *job, const git_oid *id);

/* The functions that run the jobs. */
int repo_run_repository(repo_job *job);
int repo_run_file(repo_job *job);
int repo_run_refs(repo_job *job); /* branches and tags */
int repo_run_commit(repo_job *job);
int repo_run_log(repo_job *job);
int repo_run_diff(repo_job *job);
int repo_run_blame(repo_job *job);
int repo_run_search(repo_job *job);
int repo_run_worktree(repo_job *job); /* status, and both differences of the working tree */

/* Finds the object at a path of a REV: a tree, a blob, or the commit of a submodule. */
int repo_find(repo_use *u, mcp_str rev, mcp_str path, repo_entry *ret, bool *fixed);

/* ---- comparing texts ------------------------------------------------------------------------- */

enum { REPO_COMPARE_MAX = 8 << 20 }; /* limit for each text in bytes */

/* Calls the callbacks for the differences, with this many lines of context. A comparison cannot be
 * interrupted, so texts with too many lines, which may take minutes, are rejected with MCP_ELIMIT.
 * Returns MCP_EIO if a callback did not return 0. */
int repo_compare(mcp_str old, mcp_str now, uint32_t around, git_diff_hunk_cb on_hunk,
                 git_diff_line_cb on_line, void *user);

/* How many lines of a file were added and removed. */
typedef struct repo_numbers {
    uint64_t added, removed;
    bool binary, large; /* then nothing was counted */
} repo_numbers;
int repo_count_lines(repo_job *job, const repo_entry *a, const repo_entry *b, repo_numbers *ret);

/* A patch that is written file by file to the job's text, and its summary. If it is `optional`, it
 * is omitted when it is long, and the summary says how to get it. `work` is the second side's text
 * if it is not a git object. repo_patch_end() gets the result so far and returns the new one. */
typedef struct repo_patch repo_patch;
int repo_patch_begin(repo_job *job, bool optional, repo_patch **ret);
int repo_patch_file(repo_patch *p, mcp_str path, const repo_entry *a, const repo_entry *b,
                    const mcp_str *work);
int repo_patch_end(repo_patch *p, int rc);
/* From now on, files are only named: there are too many of them. */
void repo_patch_only_name(repo_patch *p);
/* Appends a path as git writes it. */
int repo_put_path(common_buffer *to, const char *side, mcp_str path);

enum { REPO_PATCH_FILES = 5000 }; /* most files of a patch */

/* The numbers of files in the folders below `under`, as lines. */
typedef struct repo_folders {
    common_buffer folder, text; /* the current folder; the lines of those before it */
    size_t files, n, rest; /* in the current folder; number of folders; in those without a line */
} repo_folders;
void repo_folders_init(repo_folders *f, const mcp_allocator *alloc);
void repo_folders_free(repo_folders *f);
int repo_folders_add(repo_folders *f, mcp_str under, mcp_str path);
int repo_folders_end(repo_folders *f);

/* Returns whether the target asks for no part of its patch. */
bool repo_patch_is_optional(const repo_target *target);
/* Returns whether a path is the folder or in it; every path is in "". */
bool repo_path_within(mcp_str folder, mcp_str path);
/* Returns whether a path is asked for by ?path=: `wanted` is a folder, a file, or a glob if it contains "*",
 * or empty for every path. */
bool repo_path_fits(mcp_str wanted, mcp_str path);

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Adds bytes as a JSON string. Bytes that are not UTF-8 are interpreted as Latin-1 and truncated
 * to REPO_PATH_MAX. */
void repo_put_text(mcp_json_writer *w, mcp_str text);
/* Does the same without a length limit. */
void repo_put_long_text(mcp_json_writer *w, const repo *r, mcp_str text);
void repo_put_id(mcp_json_writer *w, const git_oid *id);
/* Adds a URI of this repository. */
void repo_put_uri(mcp_json_writer *w, const repo *r, const repo_target *target);
/* Adds a member with the URI, if the caller may read it. */
void repo_put_link(repo_job *job, const char *key, const repo_target *target);
/* Adds {"name", "email", "time"}. */
void repo_put_person(mcp_json_writer *w, const repo_person *p);
/* Adds the subject: the first paragraph as one line, as git shows it, truncated if it is very long. */
void repo_put_subject(mcp_json_writer *w, mcp_str message);
/* Adds the member `files`: the paths that the commit changed from its first parent and that the
 * caller may see, or with `counts` objects that also have the numbers of lines. If some are left
 * out, `filesTruncated` follows. */
int repo_put_files(repo_job *job, const repo_commit *c, bool counts, size_t max);
/* Adds a member with the commit's encoding, if its texts could not be converted from it. */
void repo_put_encoding(mcp_json_writer *w, const repo_commit *c);

/* Returns the MIME type for a file name, or NULL if it is unknown. */
const char *repo_mime(mcp_str path);

/* ---- callbacks for mcp_provider and mcp_resource_template ------------------------------------ */

int repo_list(mcp_request *req, mcp_str cursor, size_t max, void *user);
int repo_read(mcp_request *req, mcp_str uri, void *user);
int repo_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int repo_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                  void *user);

/* ---- callbacks for common_source_kind -------------------------------------------------------- */

/* State of a watched URI: a mark of its target, and of the revision of a file. */
typedef struct repo_marks {
    git_oid mark, rev;
} repo_marks;

int repo_watch_begin(common_source *base);
uint64_t repo_watch_look(common_source *base);
void repo_watch_mark(common_source *base, const common_watched_item *item);
void repo_watch_mark_list(common_source *base);

#endif
