/* edit.c: mcpctl edit URI: a file of the server in one's own editor.
 *
 * The file is read with its version, and written with the tool write_file on the condition that it still has this
 * version (if_match). A text that was typed is never lost: unless it was written, the copy stays, and its name is said.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include <common/dry_run.h>

#include "content.h"
#include "copy.h"
#include "definitions.h"
#include "preview.h"
#include "read.h"
#include "terminal.h"

enum { MOST_BYTES = 64 << 20, MOST_VERSION = 128 };

typedef struct editing {
    const char *uri;
    const mcp_json *tool;
    char what[1024]; /* for messages: "edit file:///a" */
    char *text;      /* as the server has it */
    size_t len;
    char version[MOST_VERSION + 1]; /* of `text` */
    copy copy;
    char *mine; /* as the editor left it; NULL before that */
    size_t mine_len;
    bool refused; /* the tool has answered with an error */
} editing;

/* ---- reading --------------------------------------------------------------------------------- */

static int unsuited(const editing *e, const char *why, int code)
{
    say("%s: %s", e->what, why);
    return code;
}

static int take(ctl *c, const mcp_json *result, void *user)
{
    editing *e = user;
    const mcp_json *all = mcp_json_get(result, "contents"), *one = mcp_json_at(all, 0);
    const mcp_json *text = mcp_json_get(one, "text");
    mcp_str version = mcp_json_string(mcp_json_get(mcp_json_get(one, "_meta"), "libmcp/version"));
    (void)c;
    if (!mcp_json_is(text, MCP_JSON_STRING))
        return unsuited(e,
                        "its contents are binary, or in a charset that cannot be edited here; the "
                        "tool edit_file can change a text in another charset",
                        EXIT_LOCAL);
    if (mcp_json_count(all) != 1)
        return unsuited(e, "this is not one file", EXIT_USAGE);
    if (!version.len || version.len > MOST_VERSION)
        return unsuited(e, "the server tells you no version of it, so you may not write it",
                        EXIT_USAGE);
    free(e->text);
    e->len = mcp_json_string(text).len;
    e->text = text_dup(mcp_json_string(text));
    memcpy(e->version, version.ptr, version.len);
    e->version[version.len] = 0;
    return e->text ? EXIT_OK : unsuited(e, "out of memory", EXIT_LOCAL);
}

static int read_now(ctl *c, editing *e)
{
    char *params = read_params(e->uri);
    int code = params ? session_call(c, e->what, "resources/read", params, take, e) : EXIT_LOCAL;
    free(params);
    return code;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns the arguments of write_file, which the caller frees. */
static char *arguments(const editing *e)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "uri", e->uri);
    mcp_json_put_str(w, "text", (mcp_str){e->mine, e->mine_len});
    mcp_json_put_string(w, "if_match", e->version);
    mcp_json_end(w);
    return take_written(e->what, w);
}

/* Prints the promised members of the result; `result` is NULL if nothing was changed. */
static int put_json(const ctl *c, const editing *e, const mcp_json *result)
{
    static const char *const members[] = {"operation", "uri", "version", "plus", "minus", "undo"};
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    for (size_t i = 0; result && i < sizeof(members) / sizeof(*members); i++)
        if (mcp_json_get(result, members[i]))
            add_member(w, members[i], mcp_json_get(result, members[i]));
    if (!result) {
        mcp_json_put_string(w, "operation", "none");
        mcp_json_put_string(w, "uri", e->uri);
    }
    mcp_json_end(w);
    return put_written(c, e->what, w);
}

static int put_content(ctl *c, FILE *to, const mcp_json *result)
{
    const mcp_json *content = mcp_json_get(result, "content");
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(content, &it, NULL)) != NULL;)
        put_content_block(c, to, v);
    return to == stderr || flush_stdout(c) ? EXIT_OK : EXIT_LOCAL;
}

static int on_written(ctl *c, const mcp_json *result, void *user)
{
    editing *e = user;
    e->refused = mcp_json_bool(mcp_json_get(result, "isError"), false);
    if (e->refused) {
        say("%s: it was not written:", e->what);
        put_content(c, stderr, result);
        return EXIT_REMOTE;
    }
    copy_remove(&e->copy);
    return c->set.json ? put_json(c, e, mcp_json_get(result, "structuredContent"))
                       : put_content(c, stdout, result);
}

static int write_mine(ctl *c, editing *e)
{
    char *json = arguments(e);
    e->refused = false;
    int code = json ? session_call_tool(c, "write_file", json, on_written, e) : EXIT_LOCAL;
    free(json);
    return code;
}

/* ---- the editor ------------------------------------------------------------------------------ */

static bool is_same(const editing *e)
{
    return e->mine && e->mine_len == e->len && memcmp(e->mine, e->text, e->len) == 0;
}

/* Many editors end the last line, which is not what was meant if it had no end. */
static void drop_end(editing *e)
{
    bool ended = e->len && e->text[e->len - 1] == '\n';
    if (!ended && e->mine_len && e->mine[e->mine_len - 1] == '\n')
        e->mine[--e->mine_len] = 0;
}

static int run_editor(editing *e)
{
    char *now = NULL;
    int code = copy_edit(&e->copy, MOST_BYTES, &now, &e->mine_len);
    if (code != EXIT_OK)
        return code;
    free(e->mine);
    e->mine = now;
    drop_end(e);
    return EXIT_OK;
}

/* ---- somebody else was faster ---------------------------------------------------------------- */

/* Returns whether the file is another one now, which is the reason of the refusal; its text and version are taken. */
static bool lost(ctl *c, editing *e)
{
    char before[MOST_VERSION + 1];
    memcpy(before, e->version, sizeof(before));
    return e->refused && read_now(c, e) == EXIT_OK && strcmp(before, e->version) != 0;
}

/* Shows what is in the way and returns what to do: one of "ewk", or 0. */
static char choose(ctl *c, const editing *e)
{
    char *json = arguments(e);
    say("%s was changed meanwhile. Your text is in %s", e->uri, e->copy.path);
    if (json && dry_run_is_for(e->tool, json)) {
        hint("compared with what is there now, it would make this change:");
        preview_show(c, e->tool, json);
    }
    free(json);
    return terminal_can_ask() ? terminal_choose("[e]dit your text again, [w]rite it over what is "
                                                "there now, [k]eep it in its file: ",
                                                "ewk")
                              : 0;
}

/* Returns EXIT_OK if the text was written, or need not be. */
static int edit(ctl *c, editing *e)
{
    char choice = 'e';
    for (;;) {
        int code = choice == 'e' ? run_editor(e) : EXIT_OK;
        if (code != EXIT_OK)
            return code;
        if (is_same(e)) {
            copy_remove(&e->copy);
            if (!c->set.quiet)
                say("%s: nothing was changed", e->what);
            return c->set.json ? put_json(c, e, NULL) : EXIT_OK;
        }
        code = write_mine(c, e);
        if (code == EXIT_OK || !lost(c, e))
            return code;
        choice = choose(c, e);
        if (choice != 'e' && choice != 'w')
            return EXIT_REMOTE;
    }
}

/* ---- edit ------------------------------------------------------------------------------------ */

/* What was typed stays if it was not written. An editor that fails may have written something, too. */
static void finish(editing *e)
{
    char *now = NULL;
    size_t len = 0;
    bool typed = e->mine != NULL;
    if (e->copy.path && !typed && copy_load(&e->copy, MOST_BYTES, &now, &len))
        typed = len != e->len || memcmp(now, e->text, len) != 0;
    free(now);
    if (e->copy.path && typed) {
        hint("your text is kept in %s", e->copy.path);
        copy_keep(&e->copy);
    }
    copy_remove(&e->copy);
    free(e->text);
    free(e->mine);
}

int run_edit(ctl *c)
{
    mcp_json_doc *tool = NULL;
    editing e = {.uri = c->args[0]};
    snprintf(e.what, sizeof(e.what), "edit %s", e.uri);
    if (strchr(e.uri, '?'))
        return unsuited(&e, "this is a part of a file: give its URI without what follows the ?",
                        EXIT_USAGE);
    int code = definitions_find(c, &tool_definitions, "write_file", &tool);
    if (code == EXIT_USAGE)
        hint("it is offered by an mcpd whose rules let you write");
    e.tool = mcp_json_root(tool);
    if (code == EXIT_OK)
        code = read_now(c, &e);
    if (code == EXIT_OK)
        code = copy_make((mcp_str){e.text, e.len}, e.uri, &e.copy);
    if (code == EXIT_OK)
        code = edit(c, &e);
    finish(&e);
    mcp_json_free(tool);
    return code;
}
