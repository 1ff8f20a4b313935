/* undo.c: mcpctl undo: lists one's own changes of files, takes one back, or has old contents forgotten.
 *
 * The server does it by methods of its own (libmcp/changes/…), which are no tools: a model cannot call
 * them. Which changes are one's own is decided by the server.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "terminal.h"

enum { MOST_CHANGES = 1000 }; /* of one list: providers/files/undo.c */

static char *params(const char *name, const char *value, uint64_t limit)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    if (value)
        mcp_json_put_string(w, name, value);
    if (limit)
        mcp_json_put_uint(w, "limit", limit);
    mcp_json_end(w);
    return take_written("undo", w);
}

/* Calls a method and frees its params. */
static int call(ctl *c, const char *method, char *json, result_fn *fn, void *user)
{
    int code = json ? session_call(c, "undo", method, json, fn, user) : EXIT_LOCAL;
    free(json);
    return code;
}

static mcp_str field(const mcp_json *object, const char *name)
{
    return mcp_json_string(mcp_json_get(object, name));
}

/* Prints those members of the server's answer that mcpctl promises. */
static int put_members(const ctl *c, const mcp_json *result, const char *const *names)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    for (; *names; names++)
        if (mcp_json_get(result, *names))
            add_member(w, *names, mcp_json_get(result, *names));
    mcp_json_end(w);
    return put_written(c, "undo", w);
}

/* ---- the list -------------------------------------------------------------------------------- */

static const struct column {
    const char *name;
    size_t width; /* on a terminal; 0: as wide as it is */
} columns[] = {{"time", 20}, {"id", 0}, {"operation", 6}, {"state", 9}, {"uri", 0}, {"to", 0}};

static void put_change(const ctl *c, const mcp_json *change)
{
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        mcp_str text = field(change, columns[i].name);
        bool is_id = strcmp(columns[i].name, "id") == 0;
        if (!text.len && c->out_is_terminal)
            continue;
        if (i)
            fputs(c->out_is_terminal ? "  " : "\t", stdout);
        if (c->out_is_terminal && columns[i].width)
            text_put_cell(stdout, text, columns[i].width);
        else if (is_id)
            put_styled(c, STYLE_NAME, text);
        else
            put_field(c, text);
    }
    putchar('\n');
}

static int put_changes(ctl *c, const mcp_json *result, void *user)
{
    const mcp_json *all = mcp_json_get(result, "changes");
    mcp_json_iter it = {0};
    json_list list;
    int code = EXIT_OK;
    (void)user;
    if (c->set.json)
        json_list_begin(&list, "changes");
    for (const mcp_json *v; code == EXIT_OK && (v = mcp_json_next(all, &it, NULL)) != NULL;) {
        if (c->set.json)
            code = json_list_add(c, &list, v);
        else
            put_change(c, v);
    }
    if (c->set.json)
        return json_list_end(c, &list, code);
    if (!mcp_json_count(all) && !c->set.quiet)
        say("undo: you have changed nothing%s%s", c->set.uri ? " of " : "",
            c->set.uri ? c->set.uri : "");
    return flush_stdout(c) ? code : EXIT_LOCAL;
}

static int list(ctl *c)
{
    return call(c, "libmcp/changes/list", params("uri", c->set.uri, c->set.limit), put_changes,
                NULL);
}

/* ---- taking back ----------------------------------------------------------------------------- */

static const struct done {
    const char *operation, *text;
} dones[] = {{"create", "Restored"},
             {"change", "Restored"},
             {"move", "Moved back to"},
             {"delete", "Deleted"}};

static int put_undone(ctl *c, const mcp_json *result, void *user)
{
    static const char *const members[] = {"operation", "uri", "version", "undo", NULL};
    const char *text = "Took back a change of";
    (void)user;
    if (c->set.json)
        return put_members(c, result, members);
    for (size_t i = 0; i < sizeof(dones) / sizeof(*dones); i++)
        if (mcp_str_eq(field(result, "operation"), mcp_str_from(dones[i].operation)))
            text = dones[i].text;
    printf("%s ", text);
    put_field(c, field(result, "uri"));
    putchar('\n');
    if (field(result, "undo").len && !c->set.quiet)
        hint("'mcpctl undo %.*s' takes this back in turn", (int)field(result, "undo").len,
             field(result, "undo").ptr);
    return flush_stdout(c) ? EXIT_OK : EXIT_LOCAL;
}

static int take_back(ctl *c, const char *id)
{
    return call(c, "libmcp/changes/undo", params("id", id, 0), put_undone, NULL);
}

/* Finds the newest change that holds and takes nothing back itself, so that --last, repeated, goes further back. */
static int find_last(ctl *c, const mcp_json *result, void *user)
{
    char **id = user;
    mcp_json_iter it = {0};
    const mcp_json *all = mcp_json_get(result, "changes");
    for (const mcp_json *v; !*id && (v = mcp_json_next(all, &it, NULL)) != NULL;) {
        if (!mcp_str_eq(field(v, "state"), MCP_STR("done")) || field(v, "undoes").len)
            continue;
        if (!(*id = text_dup(field(v, "id"))))
            return EXIT_LOCAL;
    }
    (void)c;
    return EXIT_OK;
}

static int take_back_last(ctl *c)
{
    char *id = NULL;
    int code =
        call(c, "libmcp/changes/list", params("uri", c->set.uri, MOST_CHANGES), find_last, &id);
    if (code == EXIT_OK && !id) {
        say("undo: there is no change of yours that could be taken back");
        code = EXIT_REMOTE;
    }
    if (code == EXIT_OK)
        code = take_back(c, id);
    free(id);
    return code;
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static int put_forgotten(ctl *c, const mcp_json *result, void *user)
{
    static const char *const members[] = {"forgotten", NULL};
    long long n = (long long)mcp_json_int(mcp_json_get(result, "forgotten"), 0);
    (void)user;
    if (c->set.json)
        return put_members(c, result, members);
    printf("Forgot the old contents in %lld change%s\n", n, n == 1 ? "" : "s");
    return flush_stdout(c) ? EXIT_OK : EXIT_LOCAL;
}

static int purge(ctl *c)
{
    if (!c->set.yes) {
        say("the server is to forget the old contents of %s, in the changes of all callers: they "
            "cannot be taken back then",
            c->set.purge);
        if (!terminal_can_ask()) {
            hint("cannot ask for confirmation without a terminal: --yes forgets without "
                 "confirmation");
            return EXIT_REFUSED;
        }
        if (!terminal_ask_yes("Forget them? [y/N] "))
            return EXIT_REFUSED;
    }
    return call(c, "libmcp/changes/forget", params("uri", c->set.purge, 0), put_forgotten, NULL);
}

/* ---- undo ------------------------------------------------------------------------------------ */

int run_undo(ctl *c)
{
    size_t ways = c->n_args + c->set.list + c->set.last + (c->set.purge != NULL);
    if (ways > 1) {
        say("undo takes one of: the id of a change, --last, --purge URI, --list");
        return EXIT_USAGE;
    }
    if (c->set.uri && (c->n_args || c->set.purge)) {
        say("--uri is for the list and for --last");
        return EXIT_USAGE;
    }
    if (c->set.purge)
        return purge(c);
    if (c->set.last)
        return take_back_last(c);
    return c->n_args ? take_back(c, c->args[0]) : list(c);
}
