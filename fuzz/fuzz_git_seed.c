/* fuzz_git_seed.c: objects, packs and indexes that are valid except for the changes that the input
 * makes (git_seed.h), read by the provider's reader. The invariants are those of fuzz_git_pack.c. */
#define _GNU_SOURCE
#include "git_top.h"

#include "git_seed.h"

static void look_at_all(repo_layout *l, bool near)
{
    repo_use u;
    if (repo_use_begin(&u, l, NULL, near, 5000) != MCP_OK)
        abort();
    look(&u, seed_loose_id);
    for (size_t i = 0; i < SEED_OBJECTS; i++)
        look(&u, seed_id(i));
    repo_use_end(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_error error;
    repo_layout *l;
    if (!*top)
        make_top();
    seed_write(git, data, size);
    if (repo_layout_open(git, NULL, &alloc, &l, &error) != MCP_OK)
        abort();
    look_at_all(l, true);
    look_at_all(l, false);
    repo_layout_release(l);
    if (live)
        abort();
    return 0;
}
