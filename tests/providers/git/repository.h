/* repository.h: repositories that git creates in a temporary folder, and a server for one of them
 * with one peer. */
#ifndef MCP_TESTS_GIT_REPOSITORY_H
#define MCP_TESTS_GIT_REPOSITORY_H

#include "peer.h"

#include "git.h"
#include "git_environment.h"

static char top[64];

/* Runs a script in the folder. */
static inline void sh(const char *script)
{
    static char text[16 << 10];
    int n = snprintf(text, sizeof(text), "set -e; cd %s; %s", top, script);
    assert_true(n > 0 && (size_t)n < sizeof(text));
    if (system(text) != 0)
        fail_msg("%s", script);
}

/* Creates the folder for repositories. */
static inline void make_top(void)
{
    use_git_environment();
    strcpy(top, "/tmp/mcp-git-XXXXXX");
    assert_non_null(mkdtemp(top));
}

static inline void remove_top(void)
{
    char command[192];
    snprintf(command, sizeof(command), "chmod -R u+w %s && rm -rf %s", top, top);
    assert_int_equal(system(command), 0);
}

/* Setup and teardown for cmocka: create an empty folder and remove it. */
static inline int setup_top(void **state)
{
    (void)state;
    make_top();
    return 0;
}

static inline int teardown_top(void **state)
{
    (void)state;
    remove_top();
    return 0;
}

/* Returns the output of a command without its newline. */
static inline const char *output_of(const char *script)
{
    static char line[4096];
    char text[4096 + 96];
    snprintf(text, sizeof(text), "cd %s && %s", top, script);
    FILE *f = popen(text, "r");
    assert_non_null(f);
    if (!fgets(line, sizeof(line), f))
        line[0] = 0;
    pclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

/* Opens `name`, a repository in the folder; sets o->path and o->within. The pages are small unless
 * p->page_size is set. */
static inline int peer_open(peer *p, const char *name, mcp_git_options *o, const mcp_host *host,
                            const mcp_allocator *alloc)
{
    char path[256];
    p->page_size = p->page_size ? p->page_size : 5;
    int rc = peer_serve(p, host, alloc);
    o->size = sizeof(*o);
    snprintf(path, sizeof(path), "%s/%s", top, name);
    o->path = path;
    o->allocator = alloc;
    if (rc == MCP_OK)
        rc = mcp_git_mount(p->server, o, &p->error);
    return rc == MCP_OK ? peer_connect(p) : rc;
}

static inline const char *read_uri(peer *p, const char *rest)
{
    char params[8 << 10];
    snprintf(params, sizeof(params), "\"uri\":\"git://%s\"", rest);
    return ask(p, "resources/read", params);
}

#endif
