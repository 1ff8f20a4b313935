/* fuzz_git_places.c: the files that locate the parts of a repository and hold its references. For
 * any contents, nothing outside the repository is opened, every listed reference can be looked up,
 * and the list is sorted.
 *
 * The input is a list of files. Each begins with a letter that selects its path ('a' is the first)
 * and ends with "|||". The files belong to a repository and a linked worktree of it. Beside them
 * lies another repository, which must not be reached.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <layout.h>
#include <store.h>
#include <uri.h>

static char top[PATH_MAX];
static int top_fd;

static const char *const folders[] = {
    "in",
    "in/r",
    "in/r/.git",
    "in/r/.git/objects",
    "in/r/.git/objects/info",
    "in/r/.git/objects/pack",
    "in/r/.git/refs",
    "in/r/.git/refs/heads",
    "in/r/.git/refs/heads/x",
    "in/r/.git/refs/tags",
    "in/r/.git/refs/remotes",
    "in/r/.git/refs/remotes/o",
    "in/r/.git/worktrees",
    "in/r/.git/worktrees/w",
    "in/w",
    "out",
    "out/.git",
    "out/.git/refs",
    "out/.git/objects",
    "out/.git/objects/pack",
};

static const struct {
    const char *path, *text; /* the path, and the contents if the input has none */
} places[] = {
    {"in/r/.git/HEAD", "ref: refs/heads/a\n"},
    {"in/r/.git/packed-refs", NULL},
    {"in/r/.git/refs/heads/a", "0123456789012345678901234567890123456789\n"},
    {"in/r/.git/refs/heads/x/b", NULL},
    {"in/r/.git/refs/tags/a", NULL},
    {"in/r/.git/refs/remotes/o/HEAD", NULL},
    {"in/r/.git/objects/info/alternates", NULL},
    {"in/r/.git/config", NULL},
    {"in/r/.git/commondir", NULL},
    {"in/w/.git", "gitdir: ../r/.git/worktrees/w\n"},
    {"in/r/.git/worktrees/w/commondir", "../..\n"},
    {"in/r/.git/worktrees/w/HEAD", "ref: refs/heads/x/b\n"},
};
enum { PLACES = sizeof(places) / sizeof(*places) };

/* ---- the files ------------------------------------------------------------------------------------------ */

static void remove_top(void)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof(command), "rm -rf %s", top);
    if (system(command) != 0)
        abort();
}

static void make_top(void)
{
    char real[PATH_MAX];
    const char *folder =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; /* in memory, if available */
    snprintf(top, sizeof(top), "%s/mcp-fuzz-XXXXXX", folder);
    if (!mkdtemp(top) || !realpath(top, real) || atexit(remove_top) != 0 || git_libgit2_init() < 0)
        abort();
    memcpy(top, real, sizeof(top));
    top_fd = open(top, O_PATH | O_DIRECTORY);
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (mkdirat(top_fd, folders[i], 0700) < 0)
            abort();
}

static void put(size_t place, mcp_str text)
{
    int fd = openat(top_fd, places[place].path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, text.ptr, text.len) != (ssize_t)text.len)
        abort();
    close(fd);
}

static void put_all(mcp_str input)
{
    for (size_t i = 0; i < PLACES; i++)
        if (places[i].text)
            put(i, mcp_str_from(places[i].text));
        else
            unlinkat(top_fd, places[i].path, 0);
    while (input.len) {
        const char *end = memmem(input.ptr, input.len, "|||", 3);
        size_t len = end ? (size_t)(end - input.ptr) : input.len;
        if (len)
            put((unsigned char)(*input.ptr - 'a') % PLACES, (mcp_str){input.ptr + 1, len - 1});
        len += end ? 3 : 0;
        input = (mcp_str){input.ptr + len, input.len - len};
    }
}

/* ---- invariants ------------------------------------------------------------------------------ */

static void check_within(int fd, const char *within)
{
    char name[64], real[PATH_MAX];
    size_t len = strlen(within);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, real, sizeof(real) - 1);
    if (n < (ssize_t)len || memcmp(real, within, len) != 0 ||
        (n > (ssize_t)len && real[len] != '/'))
        abort();
}

static void check_ref(const repo_use *u, const char *name, const git_oid *id)
{
    char full[REPO_REF_MAX + 8];
    git_oid found;
    snprintf(full, sizeof(full), "refs/%s", name);
    if (repo_rev_refused(mcp_str_from(full)) ||
        repo_ref_read(u, mcp_str_from(full), &found, NULL) != MCP_OK || !git_oid_equal(&found, id))
        abort();
}

/* Returns whether packed-refs does not claim to be sorted. If it claims that falsely, the results
 * depend on where a search begins. */
static bool is_trusted(mcp_str input)
{
    return !memmem(input.ptr, input.len, "sorted", 6);
}

static void check_refs(repo_use *u, const char *prefix, bool trusted)
{
    common_buffer refs;
    repo_ref ref;
    size_t at = 0;
    char last[REPO_REF_MAX + 8] = "";
    common_buffer_init(&refs, &u->layout->alloc);
    if (repo_refs_collect(u, prefix, &refs) == MCP_OK)
        while (repo_refs_next(&refs, &at, &ref)) {
            if (strcmp(last, ref.name) >= 0 || strlen(ref.name) > REPO_REF_MAX ||
                strncmp(ref.name, prefix + 5, strlen(prefix) - 5) != 0)
                abort();
            snprintf(last, sizeof(last), "%s", ref.name);
            if (trusted)
                check_ref(u, ref.name, &ref.id);
        }
    common_buffer_free(&refs);
}

static void check_revs(repo_use *u)
{
    static const char *const revs[] = {"HEAD", "a",           "x/b",    "heads/a",
                                       "o",    "refs/tags/a", "abcdefa"};
    char full[REPO_REF_MAX + 1];
    git_oid id;
    bool fixed;
    for (size_t i = 0; i < sizeof(revs) / sizeof(*revs); i++)
        if (repo_rev_find(u, mcp_str_from(revs[i]), &id, &fixed, full) == MCP_OK && fixed)
            abort();
}

static void check(const char *folder, const char *within, bool trusted)
{
    char path[PATH_MAX + 8], limit[PATH_MAX + 8];
    mcp_allocator alloc = common_allocator(NULL);
    mcp_error error = {0};
    repo_layout *l;
    repo_use u;
    snprintf(path, sizeof(path), "%s/%s", top, folder);
    snprintf(limit, sizeof(limit), "%s/%s", top, within);
    int rc = repo_layout_open(path, limit, &alloc, &l, &error);
    if (rc != MCP_OK) {
        if (!error.text[0] || memchr(error.text, 0, sizeof(error.text)) == NULL)
            abort();
        return;
    }
    check_within(l->git.fd, limit);
    check_within(l->common.fd, limit);
    for (size_t i = 0; i < l->n_objects; i++)
        check_within(l->objects[i], limit);
    if (!repo_layout_is_current(l, path) || repo_use_begin(&u, l, NULL, false, 60000) != MCP_OK)
        abort();
    check_refs(&u, "refs/heads/", trusted);
    check_refs(&u, "refs/tags/", trusted);
    check_refs(&u, "refs/remotes/", trusted);
    check_revs(&u);
    repo_use_end(&u);
    repo_layout_release(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str input = {(const char *)data, size};
    if (!top_fd)
        make_top();
    put_all(input);
    check("in/r", "in/r", is_trusted(input));
    check("in/w", "in", is_trusted(input));
    return 0;
}
