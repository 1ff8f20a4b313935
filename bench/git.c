/* git FOLDER: compares the cost of reading a file, and of the first page of a list, with libgit2's
 * own calls.
 *
 * Measures two things alternately in one process: libgit2 alone finds the blob of a path at HEAD
 * (reference, commit, tree, entry, blob), and the server answers a whole request, from the text of
 * the message to the text of the answer. FOLDER/commits has 100,000 commits, FOLDER/files a folder
 * of 100,000 files, and FOLDER/blobs 10,000 different files of 4,000 bytes in 100 folders. git
 * fast-import creates them if they are missing.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <git.h>
#include <git2.h>
#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "clock.h"

enum { ROUNDS = 9, READS = 2000, MANY = 100000, LISTS = 5, BLOBS = 10000, PASSES = 3 };

typedef enum kind { OF_COMMITS, OF_FILES, OF_BLOBS } kind;

static void die(const char *why)
{
    fprintf(stderr, "git: %s\n", why);
    exit(1);
}

static void put_commit(FILE *f, int i)
{
    fprintf(f,
            "commit refs/heads/main\nmark :%d\ncommitter A <a@example.org> %d +0000\ndata 1\n%c\n",
            i + 1, 1500000000 + i, 'a' + i % 26);
    if (i)
        fprintf(f, "from :%d\n", i);
}

/* The blobs differ only in this number. */
static void put_blob(FILE *f, int i)
{
    fprintf(f, "M 100644 inline d%02d/f%04d\ndata 4000\n", i % 100, i);
    for (unsigned k = 0, x = (unsigned)i + 1; k < 500; k++) {
        x = k == 250 ? 1 : x * 1664525 + 1013904223;
        fprintf(f, "%08x", x);
    }
    fputs("\n", f);
}

static void make(const char *path, kind of)
{
    char command[512];
    if (access(path, F_OK) == 0)
        return;
    snprintf(command, sizeof(command),
             "git init -q --bare -b main '%s' && git -C '%s' fast-import --quiet", path, path);
    FILE *f = popen(command, "w");
    if (!f)
        die("git cannot be run");
    for (int i = 0; i < (of == OF_COMMITS ? MANY : 1); i++) {
        put_commit(f, i);
        for (int k = 0; k < (of == OF_FILES ? MANY : of == OF_COMMITS); k++)
            fprintf(f, "M 100644 inline src/file%06d.txt\ndata 20\nsome text %09d\n\n", k, i);
    }
    for (int i = 0; of == OF_BLOBS && i < BLOBS; i++)
        put_blob(f, i);
    if (pclose(f) != 0)
        die(path);
}

/* ---- the bare calls ---------------------------------------------------------------------------------- */

static size_t bare_read(git_repository *r, const char *path)
{
    git_reference *head = NULL;
    git_object *commit = NULL;
    git_tree *tree = NULL;
    git_tree_entry *entry = NULL;
    git_blob *blob = NULL;
    if (git_repository_head(&head, r) || git_reference_peel(&commit, head, GIT_OBJECT_COMMIT) ||
        git_commit_tree(&tree, (git_commit *)commit) || git_tree_entry_bypath(&entry, tree, path) ||
        git_blob_lookup(&blob, r, git_tree_entry_id(entry)))
        die("libgit2 cannot read it");
    size_t size = (size_t)git_blob_rawsize(blob);
    git_blob_free(blob);
    git_tree_entry_free(entry);
    git_tree_free(tree);
    git_object_free(commit);
    git_reference_free(head);
    return size;
}

/* ---- the requests --------------------------------------------------------------------------------------- */

typedef struct peer {
    mcp_server *server;
    mcp_channel *channel;
    char reply[2 << 20];
    size_t len;
} peer;

static peer p;

static void on_message(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange, (void)user;
    if (message.len < sizeof(p.reply))
        memcpy(p.reply, message.ptr, message.len);
    p.len = message.len < sizeof(p.reply) ? message.len : 0;
    p.reply[p.len] = 0;
}

static void open_peer(const char *path)
{
    mcp_error error = {0};
    if (mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "b", .version = "1"), &p.server,
                       &error) ||
        mcp_git_mount(p.server, MCP_OPTIONS(mcp_git_options, .path = path, .name = "b"), &error) ||
        mcp_server_connect(p.server, MCP_OPTIONS(mcp_channel_options, .send = on_message),
                           &p.channel, &error))
        die(error.text);
}

static void close_peer(void)
{
    mcp_channel_free(p.channel);
    mcp_server_free(p.server);
}

static double ask(const char *method, const char *params)
{
    static char message[32 << 10];
    int n = snprintf(message, sizeof(message),
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}}%s}}",
                     method, params);
    double begin = now_us();
    mcp_channel_receive(p.channel, 0, (mcp_str){message, (size_t)n}, 0);
    double took = now_us() - begin;
    if (!strstr(p.reply, "\"result\""))
        die(p.reply);
    return took;
}

/* ---- what is measured ---------------------------------------------------------------------------------------- */

static void measure_read(const char *path)
{
    double bare[ROUNDS], ours[ROUNDS];
    git_repository *r;
    if (git_repository_open(&r, path))
        die(path);
    open_peer(path);
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_us();
        for (int k = 0; k < READS; k++)
            bare_read(r, "src/file000000.txt");
        bare[i] = (now_us() - begin) / READS;
        begin = now_us();
        for (int k = 0; k < READS; k++)
            ask("resources/read", ",\"uri\":\"git://b/HEAD/src/file000000.txt\"");
        ours[i] = (now_us() - begin) / READS;
    }
    printf("blob_bare_us=%.1f blob_us=%.1f\n", median(bare, ROUNDS), median(ours, ROUNDS));
    git_repository_free(r);
    close_peer();
}

static long resident_kib(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

/* Returns the private memory, which does not include the mapped pack. */
static long memory_kib(void)
{
    char line[128];
    long kib = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Anonymous: %ld kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

static double read_blobs(git_repository *bare, int n)
{
    char text[128];
    double begin = now_us();
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof(text), bare ? "d%02d/f%04d" : ",\"uri\":\"git://b/HEAD/d%02d/f%04d\"",
                 i % 100, i);
        if (bare)
            bare_read(bare, text);
        else
            ask("resources/read", text);
    }
    return (now_us() - begin) / n;
}

/* Reads all blobs once. Nothing else may use libgit2 while memory is measured. */
static void measure_blobs(const char *path)
{
    static const int after[] = {BLOBS / 10, BLOBS, BLOBS};
    double bare[PASSES], ours[PASSES];
    git_repository *r;
    open_peer(path);
    for (int i = 0; i < 3; i++) {
        read_blobs(NULL, after[i]);
        printf("blobs_kib_%d=%ld ", i, memory_kib());
    }
    for (int i = 0; i < PASSES; i++) {
        if (git_repository_open(&r, path))
            die(path);
        ours[i] = read_blobs(NULL, BLOBS);
        bare[i] = read_blobs(r, BLOBS);
        git_repository_free(r);
    }
    printf("blobs_bare_us=%.1f blobs_us=%.1f\n", median(bare, PASSES), median(ours, PASSES));
    close_peer();
}

/* Each measurement uses a new server, as a client's first request would. */
static void measure_first(const char *path, const char *name, const char *method,
                          const char *params)
{
    double times[LISTS];
    for (int i = 0; i < LISTS; i++) {
        double begin = now_us();
        open_peer(path);
        ask(method, params);
        times[i] = now_us() - begin;
        close_peer();
    }
    printf("%s_ms=%.1f\n", name, median(times, LISTS) / 1000);
}

static void measure_pages(const char *path)
{
    char params[8192] = "";
    size_t pages = 0;
    long first = 0;
    open_peer(path);
    double begin = now_us();
    for (;; pages++) {
        ask("resources/list", params);
        const char *next = strstr(p.reply, "\"nextCursor\":\"");
        if (pages == 2)
            first = resident_kib();
        if (!next)
            break;
        snprintf(params, sizeof(params), ",\"cursor\":\"%.*s\"", (int)strcspn(next + 14, "\""),
                 next + 14);
    }
    printf("pages=%zu pages_ms=%.0f pages_grew_kib=%ld\n", pages + 1, (now_us() - begin) / 1000,
           resident_kib() - first);
    close_peer();
}

int main(int argc, char **argv)
{
    char commits[512], files[512], blobs[512];
    if (argc != 2)
        die("usage: git FOLDER");
    snprintf(commits, sizeof(commits), "%s/commits", argv[1]);
    snprintf(files, sizeof(files), "%s/files", argv[1]);
    snprintf(blobs, sizeof(blobs), "%s/blobs", argv[1]);
    make(commits, OF_COMMITS);
    make(files, OF_FILES);
    make(blobs, OF_BLOBS);
    git_libgit2_init();
    measure_blobs(blobs);
    measure_read(commits);
    measure_first(commits, "list_commits", "resources/list", "");
    measure_first(files, "list_files", "resources/list", "");
    measure_first(commits, "log", "resources/read", ",\"uri\":\"git://b/-/log/HEAD\"");
    measure_pages(files);
    git_libgit2_shutdown();
    return 0;
}
