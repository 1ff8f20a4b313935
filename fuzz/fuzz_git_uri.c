/* fuzz_git_uri.c: a URI of the git provider from a peer is parsed, built again, and read from a
 * small repository. Each URI has one canonical spelling with the same meaning, and every read is
 * answered. The same bytes are also parsed as a commit and as a tree, because objects may be
 * hostile too.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <git.h>
#include <store.h>
#include <uri.h>

#include "asking.h"

static char path[] = "/tmp/mcp-fuzz-XXXXXX";

static void make_repository(void)
{
    git_repository *r;
    git_treebuilder *builder;
    git_tree *tree;
    git_signature *who;
    git_oid blob, id;
    if (!mkdtemp(path) || git_libgit2_init() < 0 || git_repository_init(&r, path, 1) < 0 ||
        git_blob_create_from_buffer(&blob, r, "a\nb\n", 4) < 0 ||
        git_treebuilder_new(&builder, r, NULL) < 0 ||
        git_treebuilder_insert(NULL, builder, "a", &blob, GIT_FILEMODE_BLOB) < 0 ||
        git_treebuilder_write(&id, builder) < 0 || git_tree_lookup(&tree, r, &id) < 0 ||
        git_signature_new(&who, "a", "a@example.org", 1, 0) < 0 ||
        git_commit_create(&id, r, "HEAD", who, who, NULL, "m", tree, 0, NULL) < 0)
        abort();
    git_signature_free(who);
    git_tree_free(tree);
    git_treebuilder_free(builder);
    git_repository_free(r);
}

static int mount(mcp_server *s, mcp_error *error)
{
    return mcp_git_mount(s, MCP_OPTIONS(mcp_git_options, .path = path, .name = "r"), error);
}

static void end(void)
{
    char command[64];
    close_server();
    snprintf(command, sizeof(command), "rm -rf %s", path);
    if (system(command) != 0)
        abort();
}

static bool same(const repo_target *a, const repo_target *b)
{
    bool ok = a->kind == b->kind && mcp_str_eq(a->rev, b->rev) && mcp_str_eq(a->other, b->other) &&
              mcp_str_eq(a->path, b->path);
    for (size_t i = 0; i < REPO_PARAM_COUNT; i++)
        ok = ok && mcp_str_eq(a->param[i], b->param[i]);
    return ok;
}

static void check_round_trip(mcp_str rest)
{
    repo_target t, again;
    char *room = malloc(rest.len + REPO_URI_ROOM);
    if (room && repo_uri_parse(rest, room, &t) == MCP_OK) {
        char *text = malloc(repo_uri_room(&t));
        size_t len = text ? repo_uri_put(text, &t) : 0;
        char *other = malloc(len + REPO_URI_ROOM);
        if (text && other &&
            (repo_uri_parse((mcp_str){text, len}, other, &again) != MCP_OK || !same(&t, &again)))
            abort();
        free(other);
        free(text);
    }
    free(room);
}

static void check_objects(mcp_str bytes)
{
    repo_commit commit;
    repo_entry entry;
    (void)repo_commit_parse(bytes, &commit);
    while (repo_tree_next(&bytes, &entry))
        ;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str rest = {(const char *)data, size};
    if (size > LONGEST_REST)
        return 0;
    if (!server) {
        make_repository();
        open_server(mount, end);
    }
    check_round_trip(rest);
    check_objects(rest);
    if (size)
        check_answer("git://r/", rest);
    return 0;
}
