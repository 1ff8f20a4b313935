/* folder.c: see folder.h. */
#define _GNU_SOURCE
#include "folder.h"

#include <stdio.h>

#include "file_parts.h"

enum {
    ENOUGH = 1,
    HIDDEN_BUDGET = 200000, /* limit of examined entries if some may be hidden */
};

typedef struct writing {
    files_folder *folder;
    common_buffer *out;
} writing;

static size_t most(const files_folder *d)
{
    return d->max ? d->max : FILES_FOLDER_LINES;
}

/* Returns whether the caller may see the entry of the line, which is KIND tab SIZE tab URI LF. */
static bool may_see(files_folder *d, const char *line, size_t len)
{
    const char *tab = memrchr(line, '\t', len);
    return common_asking_may(&d->asking, (mcp_str){tab + 1, len - (size_t)(tab - line) - 2});
}

static int emit_line(const files_entry *e, void *user)
{
    const writing *w = user;
    files_folder *d = w->folder;
    size_t before = w->out->len;
    int rc = files_put_line(d->f, e, w->out);
    if (rc != MCP_OK)
        return rc;
    bool seen = may_see(d, w->out->ptr + before, w->out->len - before);
    d->cut = seen && d->lines == most(d);
    if (!seen || d->cut)
        w->out->len = before;
    d->lines += seen;
    if (d->cut)
        return ENOUGH;
    return w->out->len > d->f->max_read ? MCP_ELIMIT : MCP_OK;
}

static int put_cut(common_buffer *out)
{
    char line[200];
    int n = snprintf(line, sizeof(line),
                     "# There are more entries. Ask for more with ?limit= (at most %d), or list a "
                     "folder in it.\n",
                     COMMON_FOLDER_MOST);
    return common_buffer_append(out, line, (size_t)n);
}

int files_folder_write(files_folder *d, common_buffer *out)
{
    files_walk_result result = {0};
    writing w = {d, out};
    files_walk_options options = {.max = most(d) + 1 + common_asking_spare(&d->asking),
                                  .budget = d->asking.needed ? HIDDEN_BUDGET : 0,
                                  .stop = d->stop,
                                  .user = d->user,
                                  .alloc = &d->f->alloc};
    d->lines = out->len = 0;
    d->cut = false;
    int rc = files_dir_page(&d->f->roots, d->target->root, d->target->rel, d->depth, &options,
                            emit_line, &w, &result);
    if (d->asking.rc != MCP_OK)
        return d->asking.rc;
    bool more = d->cut || result.more; /* more entries, or the limit of examined entries */
    if (rc < 0 || !more)
        return rc;
    return put_cut(out);
}
