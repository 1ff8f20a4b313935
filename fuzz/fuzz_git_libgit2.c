/* fuzz_git_libgit2.c: the files of git_seed.h, read by the provider's reader and by libgit2's own
 * backends. Where the reader finds an object and libgit2 finds it too, both have to read the same,
 * unless there is a multi-pack index: the reader does not use it, and it may name another place. Nor if
 * the names of the index were changed: each search may find another entry of two with the same name.
 * Objects that the reader refuses are not read by libgit2, whose faults for such files are known
 * (libraries/README.md) and cannot be reached in the provider. The objects are also compared with
 * each other as text, by the libgit2 function that the provider uses. scripts/fuzz-long runs this
 * with an instrumented libgit2 (scripts/build-libgit2).
 */
#define _GNU_SOURCE
#include "git_top.h"

#include "git_seed.h"

static int ignore_line(const git_diff_delta *d, const git_diff_hunk *h, const git_diff_line *line,
                       void *user)
{
    (void)d, (void)h, (void)user;
    return line->content_len > MOST ? -1 : 0;
}

static void compare(git_odb_object *a, git_odb_object *b)
{
    git_diff_options options;
    if (!a || !b || git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION) < 0)
        return;
    options.flags = GIT_DIFF_FORCE_TEXT;
    git_diff_buffers(git_odb_object_data(a), git_odb_object_size(a), "a", git_odb_object_data(b),
                     git_odb_object_size(b), "b", &options, NULL, NULL, NULL, ignore_line, NULL);
}

/* Returns the object as libgit2 reads it, or NULL. */
static git_odb_object *read_again(git_odb *odb, const git_oid *id, git_odb_object *ours, bool same)
{
    git_odb_object *o = NULL;
    size_t size;
    git_object_t type;
    if (git_odb_read_header(&size, &type, odb, id) < 0 || git_odb_read(&o, odb, id) < 0)
        return NULL;
    if (same &&
        (git_odb_object_size(o) != git_odb_object_size(ours) ||
         git_odb_object_type(o) != git_odb_object_type(ours) ||
         memcmp(git_odb_object_data(o), git_odb_object_data(ours), git_odb_object_size(o)) != 0))
        abort();
    return o;
}

static void look_at_all(repo_use *u, git_odb *odb, bool same)
{
    git_odb_object *before = NULL;
    for (size_t i = 0; i <= SEED_OBJECTS; i++) {
        git_odb_object *ours = NULL, *o;
        git_oid id = i < SEED_OBJECTS ? seed_id(i) : seed_loose_id;
        if (repo_object(u, &id, GIT_OBJECT_ANY, &ours) != MCP_OK)
            continue;
        o = read_again(odb, &id, ours, same);
        compare(before, ours);
        git_odb_object_free(before);
        git_odb_object_free(o);
        before = ours;
    }
    git_odb_object_free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[PATH_MAX + 16];
    mcp_error error;
    repo_layout *l;
    repo_use u;
    git_odb *odb;
    if (!*top)
        make_top();
    bool same = seed_write(git, data, size) && !(size && *data & SEED_MULTI);
    snprintf(path, sizeof(path), "%s/objects", git);
    if (repo_layout_open(git, NULL, &alloc, &l, &error) != MCP_OK ||
        repo_use_begin(&u, l, NULL, false, 5000) != MCP_OK)
        abort();
    if (git_odb_open(&odb, path) == 0) {
        look_at_all(&u, odb, same);
        git_odb_free(odb);
    }
    repo_use_end(&u);
    repo_layout_release(l);
    return 0;
}
