/* change_commit.c: makes a change, after it was entered into the journal. Runs on a worker, because it waits for the disk. */
#define _GNU_SOURCE
#include "change.h"

#include <sys/stat.h>
#include <time.h>

static const char *const operations[] = {[MCP_OPERATION_CREATE] = "create",
                                         [MCP_OPERATION_CHANGE] = "change",
                                         [MCP_OPERATION_MOVE] = "move",
                                         [MCP_OPERATION_DELETE] = "delete"};

const char *files_change_word(const files_change *c)
{
    return operations[c->operation];
}

/* All checks have passed, and the new contents are on the disk: this is the last moment at which the change can be
 * refused, because without an entry it could not be undone. */
static int enter(const editing_about *about, mcp_error *err, void *user)
{
    files_change *c = user;
    bool keeps = c->operation == MCP_OPERATION_CHANGE || c->operation == MCP_OPERATION_DELETE;
    if (about->was) {
        c->entry.was_ino = about->was->st_ino;
        c->entry.mode = about->was->st_mode & 07777;
        c->entry.size = keeps ? (uint64_t)about->was->st_size : 0;
    }
    if (about->fresh)
        c->entry.fresh_ino = about->fresh->st_ino;
    return editing_journal_begin(c->f->changes->journal, &c->entry, keeps ? about->old : -1,
                                 (int64_t)time(NULL), err);
}

static int make(files_change *c, const editing_change *change)
{
    int rc = MCP_OK;
    if (c->operation == MCP_OPERATION_CREATE)
        rc = editing_make_folders(change->at, change->rel, &c->error);
    if (c->operation == MCP_OPERATION_MOVE)
        rc = editing_make_folders(change->to, change->to_rel, &c->error);
    if (rc != MCP_OK)
        return rc;
    switch (c->operation) {
    case MCP_OPERATION_CREATE: return editing_create(change, &c->outcome, &c->error);
    case MCP_OPERATION_CHANGE: return editing_replace(change, &c->outcome, &c->error);
    case MCP_OPERATION_MOVE: return editing_move(change, &c->outcome, &c->error);
    case MCP_OPERATION_DELETE: return editing_remove(change, &c->outcome, &c->error);
    case MCP_OPERATION_READ:
    case MCP_OPERATION_CALL:
    case MCP_OPERATION_COMMIT: break;
    }
    return MCP_EINVAL;
}

void files_change_commit(files_change *c)
{
    editing_change change = {.at = files_change_root(c, &c->target)->at,
                             .rel = files_change_rel(c, &c->target),
                             .content = c->content,
                             .if_match = mcp_str_from(c->was.text),
                             .about = enter,
                             .user = c};
    if (c->operation == MCP_OPERATION_MOVE) {
        change.to = files_change_root(c, &c->to)->at;
        change.to_rel = files_change_rel(c, &c->to);
        files_change_sweep(c, change.to, change.to_rel, c->to_path);
    }
    files_change_sweep(c, change.at, change.rel, c->path);
    c->entry.path = mcp_str_from(c->path);
    c->entry.to = mcp_str_from(c->to_path ? c->to_path : "");
    c->entry.was = mcp_str_from(c->was.text);
    c->entry.operation = mcp_str_from(files_change_word(c));
    c->rc = make(c, &change);
    if (c->entry.id[0]) /* how it ended is only a help: inodes tell it too */
        (void)editing_journal_end(c->f->changes->journal, c->entry.id, c->rc == MCP_OK,
                                  mcp_str_from(c->rc == MCP_OK ? c->outcome.version.text : ""));
}
