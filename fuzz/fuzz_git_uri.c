/* fuzz_git_uri.c: a URI of the git provider, from a peer: taken apart, put together, and asked of a small
 * repository. What is one has one canonical spelling, which means the same; whatever is asked is answered. The
 * same bytes are read as a commit and as a tree, which come from whoever wrote the repository.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <git.h>
#include <store.h>
#include <uri.h>

static mcp_server *server;
static mcp_channel *channel;
static size_t answers;
static char path[] = "/tmp/mcp-fuzz-XXXXXX";

static void on_message(mcp_channel *c, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)c, (void)exchange, (void)message, (void)user;
    answers++;
}

static void close_server(void)
{
    char command[64];
    mcp_channel_free(channel);
    mcp_server_free(server);
    snprintf(command, sizeof command, "rm -rf %s", path);
    if (system(command) != 0)
        abort();
}

static void make_repository(void)
{
    git_repository *r;
    git_treebuilder *builder;
    git_tree *tree;
    git_signature *who;
    git_oid blob, id;
    if (git_libgit2_init() < 0 || git_repository_init(&r, path, 1) < 0 ||
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

static void open_server(void)
{
    mcp_error error;
    if (!mkdtemp(path) || atexit(close_server) != 0)
        abort();
    make_repository();
    if (mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "f", .version = "1"), &server,
                       &error) ||
        mcp_git_mount(server, MCP_OPTIONS(mcp_git_options, .path = path, .name = "r"), &error) ||
        mcp_server_connect(server, MCP_OPTIONS(mcp_channel_options, .send = on_message), &channel,
                           &error))
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

static void check_answer(mcp_str rest)
{
    mcp_str text;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    char uri[4096];
    memcpy(uri, "git://r/", 8);
    memcpy(uri + 8, rest.ptr, rest.len);
    mcp_json_begin_object(w);
    mcp_json_key(w, "jsonrpc"), mcp_json_add_string(w, "2.0");
    mcp_json_key(w, "id"), mcp_json_add_int(w, 1);
    mcp_json_key(w, "method"), mcp_json_add_string(w, "resources/read");
    mcp_json_key(w, "params");
    mcp_json_begin_object(w);
    mcp_json_key(w, "_meta");
    mcp_json_add_raw(w, MCP_STR("{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                "\"io.modelcontextprotocol/clientCapabilities\":{}}"));
    mcp_json_key(w, "uri"), mcp_json_add_str(w, (mcp_str){uri, 8 + rest.len});
    mcp_json_end(w);
    mcp_json_end(w);
    answers = 0;
    if (mcp_json_writer_finish(w, &text) == MCP_OK) {
        mcp_channel_receive(channel, 0, text, 0);
        if (answers != 1)
            abort();
    }
    mcp_json_writer_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str rest = {(const char *)data, size};
    if (size > 4000)
        return 0;
    if (!server)
        open_server();
    check_round_trip(rest);
    check_objects(rest);
    if (size)
        check_answer(rest);
    return 0;
}
