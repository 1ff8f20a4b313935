/* world.c: see world.h. */
#define _GNU_SOURCE
#include "world.h"

#include <sys/stat.h>

#include "bridge.h"
#include "files.h"
#include "git.h"
#include "git_environment.h"
#include "prompts.h"
#include "sqlite.h"
#ifdef MCP_TEST_POSTGRES
#include "postgres.h"
#endif
#ifdef MCPD
#include "isolated.h"
#endif

char top[64];
world_options world;
rule rules[RULES];
caller asker;

static bool with_database;
static mcp_prompts *prompt_files;
static mcp_bridge *tools;

/* ---- the folder ------------------------------------------------------------------------------ */

/* Runs a script in the folder. */
static void sh(const char *script)
{
    static char text[32 << 10];
    int n = snprintf(text, sizeof(text), "set -e; cd %s; %s", top, script);
    assert_true(n > 0 && (size_t)n < sizeof(text));
    if (system(text) != 0)
        fail_msg("%s", script);
}

/* Runs `server VERB` of the PostgreSQL tests and returns its exit status. */
static int database_server(const char *verb)
{
    char command[600];
    snprintf(command, sizeof(command), "'%s/providers/postgres/server' %s %s/pg",
             MCP_TEST_SOURCE_DIR, verb, top);
    int status = system(command);
    return status == -1 ? 1 : status >> 8;
}

static void make_database(const char *sql)
{
    char path[96], command[300];
    int rc = database_server("make");
    if (rc == 77)
        return;
    assert_int_equal(rc, 0);
    with_database = true;
    assert_int_equal(database_server("start"), 0);
    snprintf(path, sizeof(path), "%s/mart.sql", top);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "CREATE ROLE reader LOGIN; CREATE DATABASE mart;\n\\connect mart\n%s\n", sql);
    fclose(f);
    snprintf(command, sizeof(command),
             "psql -q -v ON_ERROR_STOP=1 -h %s/pg -U postgres -f %s postgres >/dev/null", top,
             path);
    assert_int_equal(system(command), 0);
}

bool has_database(void)
{
    return with_database;
}

void make_world(const world_options *options)
{
    use_git_environment();
    strcpy(top, "/tmp/mcp-access-XXXXXX");
    assert_non_null(mkdtemp(top));
    assert_int_equal(chmod(top, 0755), 0); /* PostgreSQL may run as another user */
    sh(options->script);
#ifdef MCP_TEST_POSTGRES
    if (options->database)
        make_database(options->database);
#endif
}

void remove_world(void)
{
    char command[192];
    if (with_database)
        database_server("remove");
    with_database = false;
    snprintf(command, sizeof(command), "chmod -R u+w %s && rm -rf %s", top, top);
    assert_int_equal(system(command), 0);
}

int world_setup(void **state)
{
    (void)state;
    make_world(&world);
    return 0;
}

int world_teardown(void **state)
{
    (void)state;
    remove_world();
    return 0;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* "*": anything but a slash; "**": anything. */
static bool matches(const char *glob, const char *name)
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

/* If nobody knows whether the caller is in the group, a rule about the group can only deny. */
static bool allowed_to(caller c, const char *name)
{
    size_t n = 0;
    while (n < RULES && rules[n].glob)
        n++;
    while (n--) {
        const rule *r = &rules[n];
        bool allow = (r->effect & ALLOW) && (!(r->effect & SCOPED) || c.deep);
        bool grouped = r->effect & GROUPED;
        bool skipped = grouped && (c.staff == NOT_STAFF || (c.staff == NO_GROUPS && allow));
        if (matches(r->glob, name) && !skipped)
            return allow;
    }
    return true;
}

bool allowed(const char *name)
{
    return allowed_to(asker, name);
}

bool listed(const char *name)
{
    return allowed(name) || allowed_to((caller){true, asker.staff}, name);
}

static caller caller_of(const mcp_identity *identity)
{
    const mcp_json *groups = mcp_json_get(mcp_identity_claims(identity), "groups");
    mcp_str first = mcp_json_string(mcp_json_at(groups, 0));
    return (caller){.deep = mcp_identity_has_scopes(identity, "deep"),
                    .staff = identity && !groups                   ? NO_GROUPS
                             : mcp_str_eq(first, MCP_STR("staff")) ? STAFF
                                                                   : NOT_STAFF};
}

/* The rules see only the identity, and the model only the caller. */
static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)user;
    return item != MCP_ITEM_RESOURCE || allowed_to(caller_of(identity), name.ptr);
}

static const char *scopes(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    caller c = caller_of(identity);
    c.deep = true;
    return !may(identity, item, name, user) && allowed_to(c, name.ptr) ? "deep" : NULL;
}

void change_caller(peer *p, caller c)
{
    static const char *const claims[] = {[NOT_STAFF] = "{\"groups\":[\"others\"]}",
                                         [STAFF] = "{\"groups\":[\"staff\"]}",
                                         [NO_GROUPS] = "{}"};
    mcp_identity_unref(p->identity);
    p->identity = NULL;
    asker = c;
    assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "one",
                                                  .scopes = c.deep ? "base deep" : "base",
                                                  .claims = claims[c.staff]),
                                      &p->identity, NULL),
                     MCP_OK);
    mcp_channel_free(p->channel);
    assert_int_equal(peer_connect(p), MCP_OK);
}

void set_rules(const peer *p, const rule *these, size_t n)
{
    memset(rules, 0, sizeof(rules));
    memcpy(rules, these, n * sizeof(*these));
    assert_int_equal(
        mcp_server_set_access(p->server, MCP_OPTIONS(mcp_access, .may = may, .scopes = scopes)),
        MCP_OK);
}

/* ---- the server ------------------------------------------------------------------------------ */

/* Notes without a provider: "note:NAME" for any name, from its beginning or from the offset `from`,
 * and one note that is registered by its name. */
static int read_note(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    mcp_str name = uri;
    (void)user;
    if (match)
        mcp_uri_match_get(match, "name", &name);
    return mcp_reply_textf(req, "MARK(note:%.*s)", (int)name.len, name.ptr);
}

static void add_notes(const peer *p)
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

#ifdef MCPD
static mcp_isolated_group group;

/* A source in a process of its own. */
typedef struct apart {
    const char *module, *file, *source;
    int (*describe)(const char *source, const mcp_json *options, const char *name,
                    const mcp_allocator *allocator, const mcp_description *to, mcp_error *error);
} apart;

static int describe(const mcp_description *to, void *user, mcp_error *error)
{
    const apart *a = user;
    return a->describe(a->source, NULL, NULL, NULL, to, error);
}

static void mount_apart(peer *p, apart a)
{
    static const char *const argv[] = {MCPD, "--source-child", NULL};
    static const char *const beside[] = {"-wal", "-shm", "-journal", NULL};
    const char *paths[] = {a.source, NULL};
    char line[1000];
    snprintf(line, sizeof(line),
             "{\"module\":\"%s\"%s,\"source\":\"%s\",\"read\":[\"%s\"],\"beside\":[\"-wal\","
             "\"-shm\",\"-journal\"],\"report\":true,\"access\":true,\"page_size\":1000}",
             a.module, a.file, a.source, a.source);
    assert_int_equal(
        mcp_isolated_mount(p->server,
                           MCP_OPTIONS(mcp_isolated_options, .name = a.module, .argv = argv,
                                       .line = line, .paths = paths, .beside = beside, .may = may,
                                       .scopes = scopes, .describe = describe, .describe_user = &a,
                                       .group = &group),
                           &p->error),
        MCP_OK);
}
#endif

static void add_sources(peer *p, bool is_apart)
{
    char app[96], shop[96];
    snprintf(app, sizeof(app), "%s/app", top);
    snprintf(shop, sizeof(shop), "%s/shop.db", top);
#ifdef MCPD
    if (is_apart) {
        mount_apart(p, (apart){"git", GIT_FILE, app, mcp_git_describe_json});
        mount_apart(p, (apart){"sqlite", SQLITE_FILE, shop, mcp_sqlite_describe_json});
        return;
    }
#endif
    (void)is_apart;
    assert_int_equal(mcp_git_mount(p->server, MCP_OPTIONS(mcp_git_options, .path = app), &p->error),
                     MCP_OK);
    assert_int_equal(
        mcp_sqlite_mount(p->server, MCP_OPTIONS(mcp_sqlite_options, .path = shop), &p->error),
        MCP_OK);
}

static void add_database(peer *p)
{
    (void)p;
#ifdef MCP_TEST_POSTGRES
    char mart[160];
    snprintf(mart, sizeof(mart), "host=%s/pg user=reader dbname=mart", top);
    if (with_database && p->loop)
        assert_int_equal(mcp_postgres_mount(p->server,
                                            MCP_OPTIONS(mcp_postgres_options, .conninfo = mart),
                                            &p->error),
                         MCP_OK);
#endif
}

static void add_files(peer *p)
{
    char docs[96];
    const char *sources[] = {docs};
    mcp_files *files = NULL;
    snprintf(docs, sizeof(docs), "%s/docs", top);
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
}

mcp_loop *new_loop(void)
{
    mcp_loop *loop = NULL;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    return loop;
}

static void open_all(peer *p, mcp_loop *loop, bool is_apart)
{
    char prompts[96];
    memset(p, 0, sizeof(*p));
    p->loop = loop;
    snprintf(prompts, sizeof(prompts), "%s/prompts", top);
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                   .coalesce_ms = 1, .host = loop ? mcp_loop_host(loop) : NULL,
                                   .page_size = 1000, .no_rate_limits = true),
                       &p->server, &p->error),
        MCP_OK);
    add_files(p);
    add_sources(p, is_apart);
    add_database(p);
    assert_int_equal(
        mcp_prompts_add(p->server,
                        MCP_OPTIONS(mcp_prompts_options, .folder = prompts, .no_watch = true),
                        &prompt_files, &p->error),
        MCP_OK);
    add_notes(p);
    assert_int_equal(peer_connect(p), MCP_OK);
}

void open_world(peer *p, mcp_loop *loop)
{
    open_all(p, loop, false);
}

bool open_world_apart(peer *p)
{
#ifdef MCPD
    open_all(p, new_loop(), true);
    return true;
#else
    (void)p;
    return false;
#endif
}

void close_world(peer *p)
{
    if (p->loop)
        mcp_loop_drain(p->loop, 10000);
    mcp_prompts_free(prompt_files);
    mcp_bridge_free(tools);
    peer_close(p);
    mcp_identity_unref(p->identity);
    p->identity = NULL;
    asker = (caller){.deep = false};
}

const char *ask_any(peer *p, const char *method, const char *params)
{
    return (p->loop ? ask_and_wait : ask)(p, method, params);
}
