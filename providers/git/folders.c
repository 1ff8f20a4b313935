/* folders.c: how many files of a large difference are in each folder. Paths come in their order, so those of
 * a folder follow each other. */
#include "provider.h"

#include <stdio.h>

enum { MOST_FOLDERS = 500 };

/* Writes the line of the folder whose last file has come. */
static int put_folder(repo_folders *f)
{
    char number[48];
    if (!f->files)
        return MCP_OK;
    if (++f->n > MOST_FOLDERS) {
        f->rest += f->files;
        return MCP_OK;
    }
    snprintf(number, sizeof(number), "%zu file%s in ", f->files, f->files == 1 ? "" : "s");
    int rc = common_put(&f->text, number) ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = repo_put_path(&f->text, "", (mcp_str){f->folder.ptr, f->folder.len});
    return rc == MCP_OK && !common_put(&f->text, "\n") ? MCP_ENOMEM : rc;
}

void repo_folders_init(repo_folders *f, const mcp_allocator *alloc)
{
    *f = (repo_folders){.n = 0};
    common_buffer_init(&f->folder, alloc);
    common_buffer_init(&f->text, alloc);
}

void repo_folders_free(repo_folders *f)
{
    common_buffer_free(&f->folder);
    common_buffer_free(&f->text);
}

int repo_folders_add(repo_folders *f, mcp_str under, mcp_str path)
{
    size_t from = under.len && repo_path_within(under, path) ? under.len + 1 : 0;
    const char *slash = from < path.len ? memchr(path.ptr + from, '/', path.len - from) : NULL;
    size_t len = slash ? (size_t)(slash + 1 - path.ptr) : from < path.len ? from : 0;
    mcp_str folder = {len ? path.ptr : "./", len ? len : 2};
    bool same = f->files && mcp_str_eq(folder, (mcp_str){f->folder.ptr, f->folder.len});
    int rc = MCP_OK;
    if (!same) {
        rc = put_folder(f);
        f->folder.len = f->files = 0;
        if (rc == MCP_OK)
            rc = common_buffer_append(&f->folder, folder.ptr, folder.len);
    }
    f->files++;
    return rc;
}

int repo_folders_end(repo_folders *f)
{
    char line[64];
    int rc = put_folder(f);
    f->files = 0;
    if (rc != MCP_OK || !f->rest)
        return rc;
    snprintf(line, sizeof(line), "%zu files in other folders\n", f->rest);
    return common_put(&f->text, line) ? MCP_OK : MCP_ENOMEM;
}
