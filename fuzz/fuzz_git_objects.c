/* fuzz_git_objects.c: hostile commits, trees, tags and files, read through every kind of URI. For
 * any input the reads end, and each answer is JSON, or text within its limit.
 *
 * The input is a list of objects. Each begins with a letter for its type and ends with "|||". The
 * first byte of an id is the index of the object that it names, so that any object can refer to any
 * other and even to itself, which is impossible with real hashes.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <git2/sys/odb_backend.h>

#include <provider.h>

enum { MAX_OBJECTS = 16, MAX_BYTES = 4096 };

static struct {
    git_object_t type;
    mcp_str bytes;
} object[MAX_OBJECTS];
static size_t n_objects;

/* ---- an object database in memory ------------------------------------------------------------ */

static int on_header(size_t *size, git_object_t *type, git_odb_backend *backend, const git_oid *id)
{
    (void)backend;
    if (id->id[0] >= n_objects)
        return GIT_ENOTFOUND;
    *size = object[id->id[0]].bytes.len;
    *type = object[id->id[0]].type;
    return 0;
}

static int on_read(void **data, size_t *size, git_object_t *type, git_odb_backend *backend,
                   const git_oid *id)
{
    int rc = on_header(size, type, backend, id);
    if (rc < 0)
        return rc;
    /* Allocates without padding, so that the address sanitizer detects reads beyond the end. */
    *data = git_odb_backend_data_alloc(backend, *size ? *size : 1);
    if (*data && *size)
        memcpy(*data, object[id->id[0]].bytes.ptr, *size);
    return *data ? 0 : -1;
}

static int on_exists(git_odb_backend *backend, const git_oid *id)
{
    (void)backend;
    return id->id[0] < n_objects;
}

static void on_free(git_odb_backend *backend)
{
    (void)backend;
}

static git_odb *make_odb(void)
{
    static git_odb_backend backend = {.version = GIT_ODB_BACKEND_VERSION,
                                      .read = on_read,
                                      .read_header = on_header,
                                      .exists = on_exists,
                                      .free = on_free};
    git_odb *odb;
    backend.odb = NULL;
    if (git_odb_new(&odb) < 0 || git_odb_add_backend(odb, &backend, 1) < 0)
        abort();
    return odb;
}

static void take_objects(mcp_str input)
{
    static const struct {
        char letter;
        git_object_t type;
    } types[] = {{'c', GIT_OBJECT_COMMIT}, {'t', GIT_OBJECT_TREE}, {'g', GIT_OBJECT_TAG}};
    for (n_objects = 0; input.len && n_objects < MAX_OBJECTS; n_objects++) {
        const char *end = memmem(input.ptr, input.len, "|||", 3);
        size_t len = end ? (size_t)(end - input.ptr) : input.len;
        object[n_objects].type = GIT_OBJECT_BLOB;
        for (size_t i = 0; i < 3; i++)
            if (types[i].letter == *input.ptr)
                object[n_objects].type = types[i].type;
        object[n_objects].bytes = (mcp_str){input.ptr + (len > 0), len - (len > 0)};
        len += end ? 3 : 0;
        input = (mcp_str){input.ptr + len, input.len - len};
    }
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void check_answer(const repo_job *j)
{
    mcp_str text;
    mcp_json_doc *doc;
    if (j->rc != MCP_OK || j->code || j->size || j->object)
        return;
    if (j->has_text) { /* the text may exceed its limit by the names of omitted files */
        if (j->text.len > MAX_BYTES + (1 << 20))
            abort();
        return;
    }
    if (mcp_json_writer_finish(j->json, &text) != MCP_OK ||
        mcp_json_parse(text, NULL, NULL, &doc, NULL) != MCP_OK)
        abort();
    mcp_json_free(doc);
}

static void look(repo *r, int (*run)(repo_job *), const char *uri)
{
    char room[512];
    repo_job j = {.r = r, .run = run, .use = {.layout = r->layout}};
    if (repo_uri_parse(mcp_str_from(uri), room, &j.target) != MCP_OK)
        abort();
    common_buffer_init(&j.text, &r->base.alloc);
    j.json = mcp_json_writer_new(&r->base.alloc, 0);
    if (!j.json || repo_use_begin(&j.use, r->layout, NULL, false, r->timeout_ms) != MCP_OK)
        abort();
    if (!repo_job_format(&j))
        abort();
    j.rc = run(&j);
    if (j.rc == MCP_OK && !j.code && !j.size && !j.object && !j.has_text && j.as_text)
        j.rc = repo_job_to_text(&j);
    check_answer(&j);
    repo_use_end(&j.use);
    git_odb_object_free(j.object);
    common_buffer_free(&j.text);
    mcp_json_writer_free(j.json);
}

/* An id of only zeroes is not an object. */
#define ID(n) "0" #n "11111111111111111111111111111111111111"

static const struct {
    int (*run)(repo_job *);
    const char *uri;
} looks[] = {
    {repo_run_file, ID(0) "/"},
    {repo_run_file, ID(0) "/a/b?offset=1&length=2"},
    {repo_run_file, ID(0) "/?limit=1&after=a%2F"},
    {repo_run_commit, "-/commit/" ID(0)},
    {repo_run_log, "-/log/" ID(0) "?limit=3"},
    {repo_run_log, "-/log/" ID(0) "/a?limit=3"},
    {repo_run_log, "-/log/" ID(0) "?from=" ID(1) "." ID(2)},
    {repo_run_log, "-/log/" ID(0) "?files=2"},
    {repo_run_diff, "-/diff/" ID(0) "/" ID(1)},
    {repo_run_diff, "-/diff/" ID(0) "/" ID(1) "?path=*"},
    {repo_run_diff, "-/diff/" ID(1) "/" ID(2) "/a"},
    {repo_run_blame, "-/blame/" ID(0) "/a"},
    {repo_run_blame, "-/blame/" ID(0) "/a/b?line=2&lines=1"},
    {repo_run_commit, "-/commit/" ID(0) "~1%5E2?format=text"},
    {repo_run_log, "-/log/" ID(0) ".." ID(1) "?format=text"},
    {repo_run_log, "-/log/" ID(0) "..." ID(1) "?limit=1"},
    {repo_run_diff, "-/diff/" ID(0) "..." ID(1)},
    {repo_run_file, ID(0) "/?format=text"},
    {repo_run_search, "-/search/" ID(0) "?text=a&limit=2"},
    {repo_run_search, "-/search/" ID(0) "?regex=a%7Cb&after=1%3Aa&format=text"},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char prefix[] = "git://r/", name[] = "r", path[] = "/";
    repo_layout layout = {.alloc = common_allocator(NULL),
                          .uses = 1,
                          .root = -1,
                          .git = {-1, false},
                          .common = {-1, false},
                          .lock = PTHREAD_MUTEX_INITIALIZER};
    repo r = {.base = {.alloc = layout.alloc, .name = name, .prefix = prefix},
              .path = path,
              .layout = &layout,
              .max_read = MAX_BYTES,
              .max_bytes = MAX_BYTES,
              .timeout_ms = 20};
    static bool started;
    if (!started && git_libgit2_init() < 0)
        abort();
    started = true;
    git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
    take_objects((mcp_str){(const char *)data, size});
    repo_layout_return(&layout, (repo_odb){make_odb(), NULL});
    for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++)
        look(&r, looks[i].run, looks[i].uri);
    while (layout.n_idle)
        git_odb_free(layout.idle[--layout.n_idle].odb);
    pthread_mutex_destroy(&layout.lock);
    return 0;
}
