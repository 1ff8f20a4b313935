/* change.c: see change.h. */
#define _GNU_SOURCE
#include "change.h"

#include <stdio.h>

#include <mcp/audit.h>
#include <mcp/sys/forward.h>

enum {
    HERE_BYTES =
        64
        << 10, /* of file and arguments, up to which the difference is made on the server's thread */
    HERE_EDITS = 50,
    HELD_TIMES = 4, /* copies of a file: its bytes, two texts, what is written */
};

int files_change_refuse(files_change *c, int code)
{
    if (code == MCP_ENOMEM || code == MCP_ECANCELLED)
        return code;
    if (code == MCP_EACCESS)
        mcp_request_note_denied(c->req);
    if (c->undo)
        return mcp_reply_fail(c->req, MCP_CODE_INVALID_PARAMS, "%s",
                              c->error.text[0] ? c->error.text : mcp_error_text(code));
    return mcp_reply_tool_error(c->req, "%s",
                                c->error.text[0] ? c->error.text : mcp_error_text(code));
}

void files_change_close(files_change *c)
{
    editing_text_close(&c->text);
    common_buffer_free(&c->old);
    common_buffer_free(&c->changed);
    common_buffer_free(&c->room);
    common_buffer_free(&c->diff);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Asks a second time before it says no, because what could not be looked at for a moment counts as denied. */
static mcp_effect effect_on(const files_change *c, mcp_operation operation, const char *uri)
{
    mcp_effect effect = MCP_EFFECT_DENY;
    for (int tries = 0; tries < 2 && effect == MCP_EFFECT_DENY; tries++)
        effect = mcp_request_may_do(c->req, operation, MCP_ITEM_RESOURCE, mcp_str_from(uri),
                                    c->exact ? MCP_MAY_EXACT : 0);
    return effect;
}

/* A file that is moved is also made where it comes to. */
static mcp_effect effect_of(const files_change *c)
{
    mcp_effect effect = effect_on(c, c->operation, c->uri);
    if (c->operation == MCP_OPERATION_MOVE) {
        mcp_effect there = effect_on(c, MCP_OPERATION_CREATE, c->to_uri);
        effect = there < effect ? there : effect;
    }
    if (c->undo) /* no model can ask for this, so nobody has to be asked */
        return effect == MCP_EFFECT_ASK ? MCP_EFFECT_ALLOW : effect;
    return c->exact && effect == MCP_EFFECT_ALLOW ? MCP_EFFECT_ASK : effect;
}

static int deny(files_change *c, bool *replied)
{
    *replied = true;
    snprintf(c->error.text, sizeof(c->error.text),
             c->exact ? "%.200s has a name that programs obey, so only a rule of this server's "
                        "owner with exactly this "
                        "path allows you to %s it. There is none"
                      : "%.200s: no rule of this server's owner allows you to %s it. Files that "
                        "you can read are not "
                        "writable unless a rule says so",
             c->uri, files_change_word(c));
    return files_change_refuse(c, MCP_EACCESS);
}

static int confirm(files_change *c, bool *replied)
{
    char binding[EDITING_VERSION_SIZE + 64];
    const mcp_host *host = mcp_server_host(c->f->server);
    snprintf(binding, sizeof(binding), "%s %s %016llx", c->kind->name, c->was.text,
             (unsigned long long)editing_hash(c->content));
    common_change what = {.operation = files_change_word(c),
                          .uri = mcp_str_from(c->uri),
                          .to = mcp_str_from(c->to_uri ? c->to_uri : ""),
                          .is_text = c->kind->edits || c->kind->whole,
                          .plus = c->counts.plus,
                          .minus = c->counts.minus,
                          .content = {c->diff.ptr ? c->diff.ptr : "", c->diff.len},
                          .rest = "in the answer of the same call with dry_run",
                          .binding = mcp_str_from(binding)};
    int rc =
        common_confirm(c->req, c->f->changes->confirms, &what, host ? host->now(host->user) : 0);
    *replied = rc != MCP_OK;
    if (rc == MCP_EREMOTE)
        mcp_request_note_denied(c->req);
    return rc == MCP_EREMOTE ? MCP_OK : rc;
}

static int decide(files_change *c, bool *replied)
{
    switch (effect_of(c)) {
    case MCP_EFFECT_ALLOW: return MCP_OK;
    case MCP_EFFECT_ASK: return confirm(c, replied);
    case MCP_EFFECT_DENY: break;
    }
    return deny(c, replied);
}

/* ---- answering ------------------------------------------------------------------------------- */

/* Whoever is subscribed is told before the answer, so that nobody who has the answer can read a notice about it as
 * news. */
static void announce(files_change *c)
{
    mcp_server *server = c->f->server;
    mcp_server_resource_updated(server, c->uri);
    if (c->to_uri)
        mcp_server_resource_updated(server, c->to_uri);
    if (c->operation != MCP_OPERATION_CHANGE)
        mcp_server_resources_changed_by(server, c->uri);
    if (c->to_uri)
        mcp_server_resources_changed_by(server, c->to_uri);
    mcp_request_send_changes(c->req);
}

static int put_values(files_change *c)
{
    mcp_str json = {0};
    mcp_json_writer *w = mcp_json_writer_new(&c->f->alloc, 0);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "operation", files_change_word(c));
    mcp_json_put_string(w, "uri", c->to_uri ? c->to_uri : c->uri);
    if (c->outcome.version.text[0])
        mcp_json_put_string(w, "version", c->outcome.version.text);
    mcp_json_put_uint(w, "plus", c->counts.plus);
    mcp_json_put_uint(w, "minus", c->counts.minus);
    if (c->entry.id[0])
        mcp_json_put_string(w, "undo", c->entry.id);
    mcp_json_end(w);
    int rc = w ? mcp_json_writer_finish(w, &json) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = c->undo ? mcp_reply_raw(c->req, MCP_OPTIONS(mcp_raw, .json = json))
                     : mcp_reply_structured(c->req, json);
    mcp_json_writer_free(w);
    return rc;
}

static const char *const done_words[] = {[MCP_OPERATION_CREATE] = "Created",
                                         [MCP_OPERATION_CHANGE] = "Changed",
                                         [MCP_OPERATION_MOVE] = "Moved",
                                         [MCP_OPERATION_DELETE] = "Deleted"};

static int answer_done(files_change *c)
{
    char lines[64] = "", version[EDITING_VERSION_SIZE + 40] = "";
    c->done = true;
    announce(c);
    if (c->undo)
        return put_values(c);
    if (c->counts.plus || c->counts.minus)
        snprintf(lines, sizeof(lines), " (+%zu −%zu lines)", c->counts.plus, c->counts.minus);
    if (c->outcome.version.text[0])
        snprintf(version, sizeof(version), ". Its version is %s", c->outcome.version.text);
    int rc = mcp_reply_textf(c->req, "%s %s%s%s%s%s", done_words[c->operation], c->uri,
                             c->to_uri ? " to " : "", c->to_uri ? c->to_uri : "", lines, version);
    return rc == MCP_OK ? put_values(c) : rc;
}

/* What it lost to is in the error's text. */
static int answer_failed(files_change *c)
{
    size_t len = strlen(c->error.text);
    if (c->rc == MCP_ESTATE && c->outcome.version.text[0] &&
        !strstr(c->error.text, c->outcome.version.text))
        snprintf(c->error.text + len, sizeof(c->error.text) - len, ". Its version is %s now",
                 c->outcome.version.text);
    return files_change_refuse(c, c->rc);
}

static int answer_dry(files_change *c)
{
    if (!c->diff.len)
        return mcp_reply_textf(c->req, "Nothing was written. %s would %s it", c->uri,
                               files_change_word(c));
    int rc = mcp_reply_textf(
        c->req, "Nothing was written. The change would be +%zu −%zu lines%s:", c->counts.plus,
        c->counts.minus, c->counts.truncated ? ", of which these are the first" : "");
    if (rc == MCP_OK)
        rc = mcp_reply_str(c->req, (mcp_str){c->diff.ptr, c->diff.len}, NULL);
    return rc == MCP_OK ? put_values(c) : rc;
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* For the audit log. */
static void note(const files_change *c)
{
    const mcp_json *a = c->arguments;
    mcp_audit_change change = {
        .size = sizeof(change),
        .operation = c->kind->whole && !c->aimed ? "write" : files_change_word(c),
        .uri = c->uri ? mcp_str_from(c->uri) : mcp_json_string(mcp_json_get(a, "uri")),
        .to = c->to_uri ? mcp_str_from(c->to_uri) : mcp_json_string(mcp_json_get(a, "to")),
        .was = c->was.text,
        .now = c->done ? c->outcome.version.text : NULL,
        .bytes = c->done ? c->content.len : 0,
        .dry_run = c->dry_run};
    mcp_request_note_change(c->req, &change);
}

static int finish(files_change *c, int rc)
{
    note(c);
    files_change_close(c);
    return rc;
}

static void commit_work(void *user)
{
    files_change_commit(user);
}

/* A save that a killed process could not give back to its file has another name now, which the operator must know. */
static void tell_rescued(const files_change *c)
{
    char line[2 * EDITING_NAME_SIZE + 400];
    const mcp_host *host = mcp_server_host(c->f->server);
    if (!c->rescued[0] || !host || !host->log)
        return;
    snprintf(
        line, sizeof(line),
        "a program saved a file while a process that was killed was changing it: the save is in "
        "%s, in the folder of %.300s or of the file that was moved there",
        c->rescued, c->uri);
    host->log("warning", line, host->user);
}

static void commit_done(mcp_request *req, void *user)
{
    files_change *c = user;
    int rc = c->rc == MCP_OK ? answer_done(c) : answer_failed(c);
    tell_rescued(c);
    mcp_reply_finish(req, finish(c, rc));
}

static void set_operation(files_change *c)
{
    if (c->kind->whole)
        c->operation = c->exists ? MCP_OPERATION_CHANGE : MCP_OPERATION_CREATE;
}

/* Goes on after the new contents are known. Returns what a handler returns. */
static int go_on(files_change *c)
{
    bool replied = false;
    if (c->rc != MCP_OK)
        return finish(c, files_change_refuse(c, c->rc));
    set_operation(c);
    if (c->dry_run) /* asked for nothing, so nothing is written, whatever the rules say now */
        return finish(c, effect_of(c) == MCP_EFFECT_DENY ? deny(c, &replied) : answer_dry(c));
    int rc = decide(c, &replied);
    if (rc != MCP_OK || replied)
        return finish(c, rc);
    rc = files_changes_open(c->f, &c->error);
    if (rc != MCP_OK)
        return finish(c, files_change_refuse(c, rc));
    c->rc = MCP_ECANCELLED; /* in case the work never starts */
    rc = mcp_request_work(c->req, commit_work, commit_done, c);
    return rc < 0 ? finish(c, rc) : rc;
}

static void prepare_work(void *user)
{
    files_change_prepare(user);
}

static void prepare_done(mcp_request *req, void *user)
{
    int rc = go_on(user);
    if (rc != MCP_PENDING)
        mcp_reply_finish(req, rc);
}

static bool takes_long(const files_change *c)
{
    size_t given = mcp_json_string(mcp_json_get(c->arguments, "text")).len +
                   mcp_json_string(mcp_json_get(c->arguments, "patch")).len;
    uint64_t old = c->exists ? (uint64_t)c->st.st_size : 0;
    return old + given > HERE_BYTES ||
           mcp_json_count(mcp_json_get(c->arguments, "edits")) > HERE_EDITS;
}

static int run(files_change *c)
{
    bool replied = false;
    int rc = files_change_aim(c, &replied);
    if (rc != MCP_OK || replied)
        return finish(c, rc);
    c->aimed = true;
    set_operation(c);
    if (effect_of(c) == MCP_EFFECT_DENY) /* nothing is read for somebody who may not write */
        return finish(c, deny(c, &replied));
    if (!takes_long(c)) {
        files_change_prepare(c);
        return go_on(c);
    }
    c->rc = MCP_ECANCELLED;
    rc = mcp_request_work_sized(c->req, c->f->max_read * HELD_TIMES, prepare_work, prepare_done, c);
    return rc < 0 ? finish(c, rc) : rc;
}

int files_change_call(mcp_request *req, const mcp_json *arguments, files *f,
                      const files_change_kind *kind, const editing_entry *undo)
{
    files_change *c = mcp_request_alloc(req, sizeof(*c));
    const char *who = files_changes_who(req);
    if (!c || !who)
        return MCP_ENOMEM;
    memset(c, 0, sizeof(*c));
    c->f = f;
    c->req = req;
    c->arguments = arguments;
    c->kind = kind;
    c->operation = kind->operation;
    c->if_match = mcp_json_string(mcp_json_get(arguments, "if_match"));
    c->dry_run = mcp_json_bool(mcp_json_get(arguments, "dry_run"), false);
    c->entry.who = mcp_str_from(who);
    c->entry.call = mcp_str_from(kind->name);
    c->undo = undo;
    c->entry.undoes = mcp_str_from(undo ? undo->id : "");
    common_buffer_init(&c->old, &f->alloc);
    common_buffer_init(&c->changed, &f->alloc);
    common_buffer_init(&c->room, &f->alloc);
    common_buffer_init(&c->diff, &f->alloc);
    return run(c);
}
