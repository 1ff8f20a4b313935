/* change.h: one call of a tool that changes a file, in its steps.
 *
 *   aim      which file is meant, and whether it may be written at all (change_aim.c)
 *   prepare  reads it, and computes the new contents and the difference (change_prepare.c)
 *   decide   asks the rules, and the person if they say so
 *   commit   enters the change into the journal and makes it (change_commit.c)
 *   answer   notices first, then the result
 *
 * change.c runs them. `aim`, `decide` and `answer` run on the server's thread. `prepare` runs on a worker if there is much
 * to read, `commit` always, because it waits for the disk. The rules are asked before each of these two, since a rule may
 * change while a worker runs or a person thinks.
 */
#ifndef FILES_CHANGE_H
#define FILES_CHANGE_H

#include "provider.h"

#include <pthread.h>

#include <confirm.h>
#include <diff.h>
#include <edit.h>
#include <journal.h>
#include <put.h>

typedef struct files_change files_change;

/* A tool. */
typedef struct files_change_kind {
    const char *name;
    mcp_operation operation; /* of a file that exists */
    bool edits;              /* the new contents come from the old ones */
    bool whole;              /* they are in the arguments, and the file need not exist */
} files_change_kind;

struct files_change {
    files *f;
    mcp_request *req;
    const files_change_kind *kind;
    const mcp_json *arguments;
    mcp_operation operation;
    files_target target, to; /* `to` only of a move */
    const char *uri, *to_uri;
    const char *path, *to_path;
    const editing_entry *undo; /* what is taken back, or NULL */
    mcp_str if_match;
    bool dry_run;
    bool exact;  /* a guarded name: only a rule with the exact path counts, and it asks */
    bool exists; /* at the latest look, of `aim` and of `prepare`; then `st` is its status */
    bool aimed;  /* the first step is over */
    bool done;   /* the change was made */
    struct stat st;
    editing_version was;
    common_buffer old, changed, room, diff;
    editing_text text; /* of the old contents */
    mcp_str content;   /* the new ones; in `changed` or `room` */
    editing_counts counts;
    editing_entry entry;
    editing_outcome outcome;
    char rescued[EDITING_NAME_SIZE]; /* a save that a killed process had not put back, or empty */
    int rc;                          /* of the last step that ran elsewhere, with `error` */
    mcp_error error;
};

/* Returns whether a code of the provider says that the file system failed, and errno says how. */
static inline bool files_failed(int code)
{
    return code == MCP_EIO || code == MCP_EFILES;
}

/* Answers a call of the tool. `undo` is NULL, or the entry that is taken back, which lives as long as the request. */
int files_change_call(mcp_request *req, const mcp_json *arguments, files *f,
                      const files_change_kind *kind, const editing_entry *undo);

/* The word for the operation: "create", "change", "move", "delete". */
const char *files_change_word(const files_change *c);

/* These return MCP_OK to go on. If *replied is set, the call has been answered, and what they return is what the handler
 * returns. */
int files_change_aim(files_change *c, bool *replied);

/* These may run on any thread, and set rc and error. */
void files_change_prepare(files_change *c);
void files_change_commit(files_change *c);

/* Removes what killed processes have left in the folder of a file, unless that was done a moment ago (change_sweep.c). Runs
 * on any thread. */
void files_change_sweep(files_change *c, common_beneath at, const char *rel, const char *path);

/* Releases what the steps have made. */
void files_change_close(files_change *c);

/* Answers with a tool error that has c->error, or the code's own text. */
int files_change_refuse(files_change *c, int code);

/* The folder and the path in it, as put.h wants them: a root that is a single file is a name in its folder. */
const files_root *files_change_root(const files_change *c, const files_target *t);
const char *files_change_rel(const files_change *c, const files_target *t);

/* Folders that were swept lately. */
enum { FILES_SWEEPS = 64 };
typedef struct files_sweeps {
    pthread_mutex_t lock;
    struct files_sweep {
        uint64_t folder; /* a hash of its path */
        int64_t at;      /* seconds; 0 if empty */
    } last[FILES_SWEEPS];
} files_sweeps;

void files_sweeps_init(files_sweeps *s);
void files_sweeps_free(files_sweeps *s);

/* What the tools of a mount have in common; NULL in `files` if there are none. */
typedef struct files_changes {
    mcp_files_changes options; /* with copies of the strings */
    char *folder;              /* the journal's */
    editing_journal *journal;  /* opened by the first change */
    common_confirms *confirms;
    files_sweeps sweeps;
} files_changes;

void files_changes_free(files *f);

/* Opens the journal. Returns MCP_OK, or a negative code with a text in *error. */
int files_changes_open(files *f, mcp_error *error);

/* Returns by whom a change is, for the journal: the principal, with its issuer. Empty for a caller without a name, and
 * NULL if out of memory. Lives as long as the request. */
const char *files_changes_who(mcp_request *req);

/* For mcp_provider.other: the methods by which a person takes changes back (undo.c). */
int files_undo_methods(mcp_request *req, void *user);

#endif
