/* fuzz_git_libgit2.c: the files of git_seed.h, read by libgit2's own backends. The git provider
 * never lets libgit2 read files (see reader.h). A crash here is a fault of libgit2 and should be
 * reported there; an instrumented build of libgit2 finds more. It also compares each two successive
 * objects as text, with the libgit2 function that the provider uses. */
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

static void look_at_all(git_odb *odb)
{
    git_odb_object *before = NULL;
    for (size_t i = 0; i <= SEED_OBJECTS; i++) {
        git_odb_object *o = NULL;
        git_oid id = i < SEED_OBJECTS ? seed_id(i) : seed_loose_id;
        size_t size;
        git_object_t type;
        (void)git_odb_read_header(&size, &type, odb, &id);
        if (git_odb_read(&o, odb, &id) < 0)
            continue;
        compare(before, o);
        git_odb_object_free(before);
        before = o;
    }
    git_odb_object_free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[PATH_MAX + 16];
    git_odb *odb;
    if (!*top)
        make_top();
    seed_write(git, data, size);
    snprintf(path, sizeof(path), "%s/objects", git);
    if (git_odb_open(&odb, path) == 0) {
        look_at_all(odb);
        git_odb_free(odb);
    }
    return 0;
}
