/* world.h: one server with every provider that is there, whose items each hold a mark of their own, and access rules that
 * are a list of globs. What a rule says is found here in the slowest and plainest way.
 *
 * Beneath a temporary folder: docs/ (files), app (a repository), shop.db, prompts/.
 */
#ifndef MCP_TESTS_ACCESS_WORLD_H
#define MCP_TESTS_ACCESS_WORLD_H

#include <ctype.h>

#include "peer.h"

#include "bridge.h"
#include "files.h"
#include "git.h"
#include "prompts.h"
#include "sqlite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char top[64];

/* Runs a script there. */
static inline void sh(const char *script)
{
    static char text[32 << 10];
    int n = snprintf(text, sizeof text, "set -e; cd %s; %s", top, script);
    assert_true(n > 0 && (size_t)n < sizeof text);
    if (system(text) != 0)
        fail_msg("%s", script);
}

static inline void make_world(const char *script)
{
    static const char *const environment[][2] = {
        {"GIT_CONFIG_NOSYSTEM", "1"},
        {"GIT_CONFIG_GLOBAL", "/dev/null"},
        {"GIT_AUTHOR_NAME", "Ada"},
        {"GIT_AUTHOR_EMAIL", "ada@example.org"},
        {"GIT_COMMITTER_NAME", "Bob"},
        {"GIT_COMMITTER_EMAIL", "bob@example.org"},
        {"GIT_AUTHOR_DATE", "1700000000 +0100"},
        {"GIT_COMMITTER_DATE", "1700000000 +0000"},
        {"ASAN_OPTIONS", ""},
    };
    for (size_t i = 0; i < COUNT(environment); i++)
        setenv(environment[i][0], environment[i][1], 1);
    strcpy(top, "/tmp/mcp-access-XXXXXX");
    assert_non_null(mkdtemp(top));
    sh(script);
}

static inline void remove_world(void)
{
    char command[192];
    snprintf(command, sizeof command, "chmod -R u+w %s && rm -rf %s", top, top);
    assert_int_equal(system(command), 0);
}

/* ---- rules ----------------------------------------------------------------------------------------- */

typedef struct rule {
    bool allow;
    const char *glob; /* "$T" stands for the folder */
} rule;

enum { RULES = 8 };
static rule rules[RULES]; /* up to the first without a glob; the last that matches decides */

/* "*": anything but a slash; "**": anything. */
static inline bool matches(const char *glob, const char *name)
{
    if (glob[0] == '*') {
        bool any = glob[1] == '*';
        for (const char *rest = name;; rest++) {
            if (matches(glob + 1 + any, rest))
                return true;
            if (!*rest || (*rest == '/' && !any))
                return false;
        }
    }
    if (strncmp(glob, "$T", 2) == 0)
        return strncmp(name, top, strlen(top)) == 0 && matches(glob + 2, name + strlen(top));
    return *glob == *name && (!*glob || matches(glob + 1, name + 1));
}

static inline bool allowed(const char *name)
{
    bool allow = true;
    for (size_t i = 0; i < RULES && rules[i].glob; i++)
        if (matches(rules[i].glob, name))
            allow = rules[i].allow;
    return allow;
}

static inline bool may(void *user, const char *principal, mcp_item item, mcp_str name)
{
    (void)user, (void)principal;
    return item != MCP_ITEM_RESOURCE || allowed(name.ptr);
}

static inline void set_rules(const peer *p, const rule *these, size_t n)
{
    memset(rules, 0, sizeof rules);
    memcpy(rules, these, n * sizeof *these);
    assert_int_equal(mcp_server_set_access(p->server, MCP_OPTIONS(mcp_access, .may = may)), MCP_OK);
}

/* ---- the server ------------------------------------------------------------------------------------- */

/* Notes without a provider: "note:NAME" for any name, shown from its beginning or from `from` on, and one by its
 * name. */
static inline int read_note(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    mcp_str name = uri;
    (void)user;
    if (match)
        mcp_uri_match_get(match, "name", &name);
    return mcp_reply_textf(req, "MARK(note:%.*s)", (int)name.len, name.ptr);
}

static inline void add_notes(const peer *p)
{
    static const char *const templates[] = {"note:{name}{?from,to}", "notes:{+name}{?from,to}"};
    for (size_t i = 0; i < COUNT(templates); i++)
        assert_int_equal(
            mcp_server_add_template(p->server,
                                    MCP_OPTIONS(mcp_resource_template, .uri_template = templates[i],
                                                .name = "note", .read = read_note),
                                    NULL, NULL),
            MCP_OK);
    assert_int_equal(mcp_server_add_resource(p->server,
                                             MCP_OPTIONS(mcp_resource, .uri = "note:own?x=1",
                                                         .name = "own", .read = read_note),
                                             NULL, NULL),
                     MCP_OK);
}

static mcp_prompts *prompt_files;
static mcp_bridge *tools;

static inline void open_world(peer *p, mcp_loop *loop)
{
    char docs[96], app[96], shop[96], prompts[96];
    const char *sources[] = {docs};
    mcp_files *files = NULL;
    memset(p, 0, sizeof *p);
    p->loop = loop;
    snprintf(docs, sizeof docs, "%s/docs", top);
    snprintf(app, sizeof app, "%s/app", top);
    snprintf(shop, sizeof shop, "%s/shop.db", top);
    snprintf(prompts, sizeof prompts, "%s/prompts", top);
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                   .coalesce_ms = 1, .host = loop ? mcp_loop_host(loop) : NULL,
                                   .page_size = 1000, .no_rate_limits = true),
                       &p->server, &p->error),
        MCP_OK);
    assert_int_equal(mcp_files_mount(p->server,
                                     MCP_OPTIONS(mcp_files_options, .sources = sources,
                                                 .n_sources = 1, .handle = &files),
                                     &p->error),
                     MCP_OK);
    search_source search = mcp_files_search(files);
    assert_int_equal(mcp_bridge_new(p->server,
                                    &(mcp_bridge_options){.size = sizeof(mcp_bridge_options)},
                                    &tools, &p->error),
                     MCP_OK);
    assert_int_equal(mcp_bridge_add_tools(tools, &search, 1, &p->error), MCP_OK);
    assert_int_equal(mcp_git_mount(p->server, MCP_OPTIONS(mcp_git_options, .path = app), &p->error),
                     MCP_OK);
    assert_int_equal(
        mcp_sqlite_mount(p->server, MCP_OPTIONS(mcp_sqlite_options, .path = shop), &p->error),
        MCP_OK);
    assert_int_equal(
        mcp_prompts_add(p->server,
                        MCP_OPTIONS(mcp_prompts_options, .folder = prompts, .no_watch = true),
                        &prompt_files, &p->error),
        MCP_OK);
    add_notes(p);
    assert_int_equal(peer_connect(p), MCP_OK);
}

static inline void close_world(peer *p)
{
    if (p->loop)
        mcp_loop_drain(p->loop, 10000);
    mcp_prompts_free(prompt_files);
    mcp_bridge_free(tools);
    peer_close(p);
}

#endif
