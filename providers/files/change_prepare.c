/* change_prepare.c: reads the file that a call changes, and computes its new contents and the difference. Runs on any
 * thread: it uses the roots, which all threads may, and the arguments, which nobody changes. */
#define _GNU_SOURCE
#include "change.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <patch.h>
#include <rewrite.h>
#include <words.h>

#include "content.h"

enum {
    MOST_DIFF = 32 << 10, /* bytes of a difference that is shown */
    MOST_EDITS = 1000,
};

static void say(files_change *c, int code, const char *format, ...) MCP_PRINTF(3, 4);

static void say(files_change *c, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->error.text, sizeof(c->error.text), format, args);
    va_end(args);
    c->rc = code;
}

static bool read_old(files_change *c)
{
    int fd;
    const files_root *root = files_change_root(c, &c->target);
    c->rc = files_root_open(root, c->target.rel, &fd, &c->st);
    c->exists = c->rc == MCP_OK;
    if (c->rc == MCP_ENOTFOUND)
        c->rc = MCP_OK;
    if (files_failed(c->rc))
        c->rc = editing_failed(&c->error, c->uri, "opening it", errno);
    if (!c->exists)
        return c->rc == MCP_OK;
    files_reader r = {.fd = fd, .limit = c->f->max_read};
    c->rc = (uint64_t)c->st.st_size > r.limit
                ? MCP_ELIMIT
                : files_read_whole(&r, (uint64_t)c->st.st_size, &c->old);
    int error = errno;
    close(fd);
    if (c->rc == MCP_EIO)
        c->rc = editing_failed(&c->error, c->uri, "reading it", error);
    else if (c->rc == MCP_ELIMIT)
        say(c, MCP_ELIMIT, "%.300s has more than %zu bytes, the limit for changes", c->uri,
            c->f->max_read);
    mcp_str bytes = {c->old.ptr ? c->old.ptr : "", c->old.len};
    if (c->rc == MCP_OK)
        editing_version_make(&c->st, &bytes, &c->was);
    return c->rc == MCP_OK;
}

/* ---- whether it may go on -------------------------------------------------------------------- */

/* Returns whether the file is as the change left it. A change whose end, or whose version nobody noted is known by its
 * inode. The time of the inode also changes when a later change failed and was undone. */
static bool is_as_left(const files_change *c)
{
    const editing_entry *e = c->undo;
    if (e->ended && e->now.len)
        return editing_version_matches(e->now, &c->was) ||
               editing_version_same_contents(e->now, &c->was);
    return c->st.st_ino == (e->fresh_ino ? e->fresh_ino : e->was_ino);
}

/* What is taken back has to be there as the change left it. */
static bool check_undo(files_change *c)
{
    bool gone = c->operation == MCP_OPERATION_CREATE;
    if (gone && c->exists)
        say(c, MCP_EEXIST,
            "%.300s exists again, so the file that was deleted is not restored over it", c->uri);
    else if (!gone && !c->exists)
        say(c, MCP_ENOTFOUND, "%.300s does not exist any more", c->uri);
    else if (!gone && !is_as_left(c))
        say(c, MCP_ESTATE,
            "%.300s was changed after that, and its version is %s now: undo the later change first",
            c->uri, c->was.text);
    return c->rc == MCP_OK;
}

static bool check_version(files_change *c)
{
    if (c->undo)
        return check_undo(c);
    if (!c->exists && c->if_match.len)
        say(c, MCP_ESTATE, "%.300s does not exist, so it has no version to match", c->uri);
    else if (!c->exists && !c->kind->whole)
        say(c, MCP_ENOTFOUND, "%.300s does not exist", c->uri);
    else if (c->exists && c->if_match.len && !editing_version_matches(c->if_match, &c->was))
        say(c, MCP_ESTATE,
            "%.300s was changed meanwhile: its version is %s now, and not %.80s. Read it again "
            "before you change it",
            c->uri, c->was.text, c->if_match.ptr);
    else if (c->exists && c->kind->whole && !c->if_match.len)
        say(c, MCP_EEXIST,
            "%.300s exists already, with %lld bytes. To change a part of it, call edit_file. To "
            "replace all of it, read "
            "it first, and pass \"if_match\":\"%s\"",
            c->uri, (long long)c->st.st_size, c->was.text);
    return c->rc == MCP_OK;
}

/* ---- new contents ---------------------------------------------------------------------------- */

static bool open_text(files_change *c)
{
    mcp_str charset = mcp_json_string(mcp_json_get(c->arguments, "charset"));
    mcp_str bytes = {c->old.ptr ? c->old.ptr : "", c->old.len};
    c->rc = c->exists ? editing_text_open(bytes, charset, c->f->max_read, &c->f->alloc, &c->text,
                                          &c->error)
                      : editing_text_new(charset, &c->f->alloc, &c->text, &c->error);
    return c->rc == MCP_OK;
}

static int take_edits(files_change *c, const mcp_json *list, editing_edit **ret, size_t *n)
{
    mcp_json_iter it = {0};
    *n = 0;
    *ret = common_alloc(&c->f->alloc, mcp_json_count(list) * sizeof(**ret));
    if (!*ret)
        return MCP_ENOMEM;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        (*ret)[(*n)++] = (editing_edit){.before = mcp_json_string(mcp_json_get(v, "old")),
                                        .after = mcp_json_string(mcp_json_get(v, "new")),
                                        .count = (size_t)mcp_json_int(mcp_json_get(v, "count"), 1)};
    return MCP_OK;
}

static int edit(files_change *c)
{
    const mcp_json *list = mcp_json_get(c->arguments, "edits");
    mcp_str patch = mcp_json_string(mcp_json_get(c->arguments, "patch"));
    editing_limits limits = {.edits = MOST_EDITS, .text = c->f->max_read};
    editing_edit *edits;
    size_t n;
    if ((patch.len != 0) == (mcp_json_count(list) != 0))
        return say(c, MCP_EINVAL, "Give either edits or patch"), MCP_EINVAL;
    if (patch.len)
        return editing_patch(&c->text, patch, mcp_str_from(files_change_rel(c, &c->target)),
                             &limits, &c->changed, &c->error);
    int rc = take_edits(c, list, &edits, &n);
    if (rc == MCP_OK) {
        rc = editing_edit_all(&c->text, edits, n, &limits, &c->changed, &c->error);
        common_release(&c->f->alloc, edits);
    }
    return rc;
}

static bool make_content(files_change *c)
{
    mcp_str whole = mcp_json_string(mcp_json_get(c->arguments, "text"));
    if (!open_text(c))
        return false;
    c->rc = c->kind->edits
                ? edit(c)
                : editing_rewrite(&c->text, whole, c->f->max_read, &c->changed, &c->error);
    if (c->rc == MCP_OK)
        c->rc = editing_changed_bytes(&c->text, &c->changed, c->f->max_read, &c->room, &c->content,
                                      &c->error);
    if (c->rc == MCP_OK && c->exists &&
        mcp_str_eq(c->content, (mcp_str){c->old.ptr ? c->old.ptr : "", c->old.len}))
        say(c, MCP_EINVAL, "%.300s has these contents already; nothing was changed", c->uri);
    return c->rc == MCP_OK;
}

static void compare(files_change *c)
{
    mcp_str now = editing_changed_text(&c->text, &c->changed);
    c->rc = editing_diff(c->text.text, now, mcp_str_from(files_change_rel(c, &c->target)),
                         MOST_DIFF, &c->diff, &c->counts);
}

/* The old contents are bytes, whatever they were. */
static void take_back(files_change *c)
{
    bool keeps = c->operation == MCP_OPERATION_CREATE || c->operation == MCP_OPERATION_CHANGE;
    if (keeps)
        c->rc = editing_journal_old(c->f->changes->journal, c->undo->id, &c->changed);
    if (c->rc == MCP_ENOTFOUND)
        say(c, MCP_ENOTFOUND,
            "The old contents of %.300s were forgotten, or the journal has dropped them", c->uri);
    if (c->rc == MCP_EIO)
        c->rc = editing_failed(&c->error, "the journal of changes", "reading it", errno);
    c->content = (mcp_str){c->changed.ptr ? c->changed.ptr : "", c->changed.len};
}

void files_change_prepare(files_change *c)
{
    c->rc = MCP_OK;
    if (!read_old(c) || !check_version(c))
        return;
    if (c->undo)
        take_back(c);
    else if ((c->kind->edits || c->kind->whole) && make_content(c))
        compare(c);
}
