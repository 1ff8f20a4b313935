/* approve.c: compares the tools of other MCP servers with the file of approvals, and writes it. */
#define _GNU_SOURCE
#include "approve.h"

#include <stdlib.h>
#include <string.h>

#include <common/file.h>
#include <common/text.h>

#include "about.h"
#include "upstreams.h"

enum {
    MOST_DEPTH = 1000,    /* of nested values; that of the file is 1,024 */
    MOST_BYTES = 1 << 20, /* of one definition */
    MOST_SHOWN = 400,     /* of a description */
    MOST_TOOLS = 10000,   /* of one server */
    MOST_FILE = 16 << 20, /* as mcp_approvals_open() accepts */
};

/* ---- one server ------------------------------------------------------------------------------ */

/* The tools of one server. */
typedef struct looking {
    FILE *to;               /* the new file; NULL for a comparison only */
    const mcp_json *before; /* the approved tools, or NULL */
    size_t n, n_different;
    bool failed; /* a definition is too large, or there are too many */
    bool *seen;  /* for each approved tool: it still exists */
    void (*each)(const char *line, void *user);
    void *user;
} looking;

/* Writes the value that is in the writer, and empties the writer. Returns whether that was possible. */
static bool put_value(FILE *to, mcp_json_writer *w)
{
    mcp_str text;
    bool ok = mcp_json_writer_finish(w, &text) == MCP_OK;
    if (ok)
        fwrite(text.ptr, 1, text.len, to);
    mcp_json_writer_reset(w);
    return ok;
}

/* Writes a tool on a line of its own, so that a version control system shows which tools differ. */
static void put_definition(looking *l, const char *name, const mcp_json *tool)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, MOST_BYTES);
    mcp_json_iter it = {0};
    mcp_str key;
    fputs(l->n > 1 ? ",\n        " : "        ", l->to);
    mcp_json_add_string(w, name);
    bool ok = put_value(l->to, w);
    fputs(": ", l->to);
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(tool, &it, &key)) != NULL;)
        if (mcp_tool_has(key))
            mcp_json_key_str(w, key), mcp_json_add_value(w, v);
    mcp_json_end(w);
    ok = put_value(l->to, w) && ok;
    l->failed = l->failed || !ok || ftell(l->to) > MOST_FILE;
    mcp_json_writer_free(w);
}

/* Prints the description from `from` on. */
static void put_description(const char *label, const mcp_json *tool, size_t from)
{
    mcp_str text = mcp_json_string(mcp_json_get(tool, "description"));
    from = from < text.len ? from : text.len;
    while (from && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
        from--; /* not within a character */
    text.ptr += text.ptr ? from : 0;
    text.len -= from;
    printf("      %s: %s", label, from ? "…" : "");
    text_put(stdout, (mcp_str){text.ptr, text.len < MOST_SHOWN ? text.len : MOST_SHOWN}, TEXT_LINE);
    printf("%s\n", text.len > MOST_SHOWN ? "…" : "");
}

/* Returns a place shortly before the first difference of two descriptions. */
static size_t difference_of(const mcp_json *before, const mcp_json *after)
{
    enum { CONTEXT = 60 };
    mcp_str a = mcp_json_string(mcp_json_get(before, "description"));
    mcp_str b = mcp_json_string(mcp_json_get(after, "description"));
    size_t n = 0;
    while (n < a.len && n < b.len && a.ptr[n] == b.ptr[n])
        n++;
    return n > CONTEXT ? n - CONTEXT : 0;
}

/* The ways in which a tool differs. */
typedef enum difference { TOOL_NEW, TOOL_CHANGED, TOOL_GONE } difference;

static void say_tool(looking *l, difference d, const char *name, const char *what)
{
    static const char signs[] = {[TOOL_NEW] = '+', [TOOL_CHANGED] = '~', [TOOL_GONE] = '-'};
    static const char *const words[] = {[TOOL_NEW] = "is not approved",
                                        [TOOL_CHANGED] = "has changed since it was approved: ",
                                        [TOOL_GONE] = "was approved, and is gone"};
    char line[300];
    l->n_different++;
    if (l->each) {
        snprintf(line, sizeof(line), "the tool \"%.64s\" %s%s", name, words[d], what);
        l->each(line, l->user);
        return;
    }
    printf("  %c ", signs[d]);
    text_put(stdout, mcp_str_from(name), TEXT_LINE);
    fputs(*what ? ": " : "", stdout);
    text_put(stdout, mcp_str_from(what), TEXT_LINE);
    putchar('\n');
}

/* Compares a tool with the approved one, and marks that as seen. */
static void compare(looking *l, const char *name, const mcp_json *tool)
{
    char what[160];
    mcp_json_iter it = {0};
    mcp_str key;
    size_t i = 0;
    const mcp_json *before = NULL;
    for (const mcp_json *v; !before && (v = mcp_json_next(l->before, &it, &key)) != NULL; i++)
        if (mcp_str_eq(key, mcp_str_from(name))) {
            before = v;
            l->seen[i] = true;
        }
    if (!before) {
        say_tool(l, TOOL_NEW, name, "");
        if (!l->each)
            put_description("now", tool, 0);
    } else if (mcp_tool_differs(before, tool, what, sizeof(what))) {
        say_tool(l, TOOL_CHANGED, name, what);
        if (!l->each && strstr(what, "description")) {
            size_t from = difference_of(before, tool);
            put_description("was", before, from);
            put_description("now", tool, from);
        }
    }
}

static void on_tool(const char *server, const char *name, const mcp_json *tool, void *user)
{
    looking *l = user;
    if (!name) { /* the server has answered */
        l->before =
            upstreams_approvals() ? mcp_approvals_tools(upstreams_approvals(), server) : NULL;
        l->seen = calloc(mcp_json_count(l->before) + 1, sizeof(*l->seen));
        l->failed = !l->seen;
        if (!l->each)
            printf("%s:\n", server);
        return;
    }
    l->failed = l->failed || l->n >= MOST_TOOLS;
    if (l->failed)
        return;
    l->n++;
    compare(l, name, tool);
    if (l->to)
        put_definition(l, name, tool);
}

static void say_gone(looking *l)
{
    mcp_json_iter it = {0};
    mcp_str key;
    size_t i = 0;
    while (l->seen && mcp_json_next(l->before, &it, &key)) {
        if (l->seen[i++])
            continue;
        char *name = text_dup(key);
        if (name)
            say_tool(l, TOOL_GONE, name, "");
        free(name);
    }
}

static int look(offer *o, const source *s, looking *l, mcp_error *error)
{
    upstreams_visit_tools(on_tool, l);
    int rc = offer_try(o, s, error);
    upstreams_visit_tools(NULL, NULL);
    if (rc == MCP_OK && l->failed) {
        snprintf(error->text, sizeof(error->text), "it offers too many tools, or too large ones");
        rc = MCP_ELIMIT;
    }
    return rc;
}

int approve_compare(offer *o, const source *s, void (*each)(const char *line, void *user),
                    void *user, mcp_error *error)
{
    looking l = {.each = each, .user = user};
    int rc = upstreams_approvals() ? look(o, s, &l, error) : offer_try(o, s, error);
    free(l.seen);
    return rc;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The new file, in memory. */
typedef struct writing {
    FILE *to;
    char *text;
    size_t len;
    size_t n; /* number of servers in it */
} writing;

static bool is_server(const source *s)
{
    return s->module ? strcmp(s->module, "mcp") == 0 : strncmp(s->text, "mcp:", 4) == 0;
}

static int replace(const char *path, const char *text, size_t len)
{
    int why = file_replace(path, text, len, true);
    if (why)
        say("%s: %s", path, strerror(why));
    return why ? 1 : 0;
}

/* Copies the name of the server from the prefix of its URIs, "mcp+NAME:". */
static int name_of(offer *o, const source *s, char name[40], mcp_error *error)
{
    described d = {.n_templates = 0};
    int rc = offer_describe(o, s, &d, error);
    const char *prefix = rc == MCP_OK && d.prefixes.count ? d.prefixes.items[0] : "mcp+:";
    snprintf(name, 40, "%.*s", (int)(strlen(prefix) - strlen("mcp+:")), prefix + strlen("mcp+"));
    described_clear(&d);
    return rc;
}

static void put_server(writing *w, const char *name, const char *tools)
{
    fprintf(w->to, "%s    \"%s\": {\n      \"tools\": {\n%s\n      }\n    }", w->n++ ? ",\n" : "",
            name, tools);
}

/* Writes the tools that were approved before. */
static void keep(looking *l, const char *name)
{
    const mcp_approvals *a = upstreams_approvals();
    mcp_json_iter it = {0};
    mcp_str key;
    l->failed = false;
    l->n = 0;
    for (const mcp_json *v; a && (v = mcp_json_next(mcp_approvals_tools(a, name), &it, &key));) {
        char *tool = text_dup(key);
        l->n++;
        l->failed = l->failed || !tool;
        if (tool)
            put_definition(l, tool, v);
        free(tool);
    }
}

/* Reads the tools of one server into l->to. Returns whether it answered. */
static bool ask(offer *o, const source *s, looking *l)
{
    mcp_error error = {0};
    int rc = look(o, s, l, &error);
    if (rc == MCP_OK) {
        say_gone(l);
        printf("  %zu tools%s\n", l->n, l->n_different ? "" : ", as they were approved");
        return true;
    }
    char *shown = about_source(s);
    say("%s: %s", shown ? shown : "", error.text[0] ? error.text : mcp_error_text(rc));
    hint("Its approvals stay as they were.");
    free(shown);
    return false;
}

/* Returns whether the tools can be read again, as mcp_approvals_open() will. A server may offer a tool
 * twice. */
static bool is_readable(const char *tools, mcp_error *error)
{
    char *whole = NULL;
    mcp_json_doc *doc = NULL;
    if (asprintf(&whole, "{%s}", tools) < 0)
        return false;
    int rc =
        mcp_json_parse(mcp_str_from(whole), MCP_OPTIONS(mcp_json_limits, .max_depth = MOST_DEPTH),
                       NULL, &doc, error);
    mcp_json_free(doc);
    free(whole);
    return rc == MCP_OK;
}

/* Writes the tools of a server, or if `known` is not NULL, what was approved of that server. Returns
 * NULL if that is not possible. The caller frees the text. */
static char *tools_text(offer *o, const source *s, const char *known)
{
    looking l = {0};
    mcp_error error = {0};
    char *text = NULL;
    size_t len = 0;
    l.to = open_memstream(&text, &len);
    bool ok = l.to != NULL;
    if (ok && known)
        keep(&l, known);
    else if (ok)
        ok = ask(o, s, &l);
    ok = l.to && fclose(l.to) == 0 && ok && !l.failed && text;
    if (ok && !is_readable(text, &error)) {
        say("%s: its tools cannot be approved: %s", s->name ? s->name : s->text, error.text);
        hint("Its approvals stay as they were.");
        ok = false;
    }
    if (!ok) {
        free(text);
        text = NULL;
    }
    free(l.seen);
    return text;
}

/* Adds a server to the new file: its tools or, if that is not possible, what was approved. Returns the
 * exit code. */
static int add_server(offer *o, const source *s, writing *w)
{
    mcp_error error = {0};
    char name[40];
    if (name_of(o, s, name, &error) != MCP_OK)
        return say("%s: %s", s->text, error.text), 1;
    char *text = tools_text(o, s, NULL);
    int status = text ? 0 : 1;
    if (!text)
        text = tools_text(o, s, name);
    if (text)
        put_server(w, name, text);
    free(text);
    return status;
}

/* Returns the exit code. */
static int add_servers(const settings *now, offer *o, writing *w)
{
    int status = 0;
    fputs("{\n  \"servers\": {\n", w->to);
    for (size_t i = 0; i < now->sources.count; i++)
        if (is_server(&now->sources.items[i]) && add_server(o, &now->sources.items[i], w) != 0)
            status = 1;
    fputs("\n  }\n}\n", w->to);
    if (!w->n)
        return say("no source is another MCP server"), 1;
    return status;
}

int approve_tools(const settings *now, offer *o)
{
    writing w = {0};
    mcp_error error = {0};
    int rc = upstreams_use_approvals(now->approved, false, &error);
    if (rc != MCP_OK && rc != MCP_ENOTFOUND)
        return say("%s", error.text), 1;
    w.to = open_memstream(&w.text, &w.len);
    int status = w.to ? add_servers(now, o, &w) : 1;
    bool complete = w.to && fclose(w.to) == 0;
    if (!complete)
        say("out of memory");
    if (complete && w.n && replace(now->approved, w.text, w.len) == 0)
        printf("%s: written\n", now->approved);
    else
        status = 1;
    free(w.text);
    (void)upstreams_use_approvals(NULL, false, &error);
    return status;
}
