/* change_sweep.c: removes what killed processes have left in the folders that are written (editing_sweep()).
 *
 * A folder is swept before a change in it, on the worker that makes the change, and then not again for a while: so nothing
 * is left in a folder that is still written, and nobody has to walk through folders that nobody writes. Files in use are
 * locked, so the age is only about the moment between making a file and locking it.
 */
#define _GNU_SOURCE
#include "change.h"

#include <stdio.h>
#include <time.h>

enum { AGE_S = 10 }; /* of a file that is removed, and between two sweeps of a folder */

void files_sweeps_init(files_sweeps *s)
{
    memset(s, 0, sizeof(*s));
    pthread_mutex_init(&s->lock, NULL);
}

void files_sweeps_free(files_sweeps *s)
{
    pthread_mutex_destroy(&s->lock);
}

static int64_t seconds(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1; /* 0 is an empty place */
}

/* Returns whether the folder has to be swept now, and notes that it is. */
static bool is_due(files_sweeps *s, uint64_t folder)
{
    int64_t now = seconds();
    bool due = true;
    size_t at = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < FILES_SWEEPS; i++) {
        if (s->last[i].folder == folder && s->last[i].at) {
            due = now - s->last[i].at >= AGE_S;
            at = i;
            break;
        }
        if (s->last[i].at < s->last[at].at)
            at = i; /* the oldest one gives way */
    }
    if (due)
        s->last[at] = (struct files_sweep){folder, now};
    pthread_mutex_unlock(&s->lock);
    return due;
}

void files_change_sweep(files_change *c, common_beneath at, const char *rel, const char *path)
{
    char folder[COMMON_PATH_MAX];
    editing_swept swept;
    const char *slash = strrchr(rel, '/');
    size_t len = slash ? (size_t)(slash - rel) : 0;
    mcp_str above = {path, (size_t)(strrchr(path, '/') - path)};
    if (len >= sizeof(folder) || !is_due(&c->f->changes->sweeps, editing_hash(above)))
        return;
    memcpy(folder, rel, len);
    folder[len] = '\0';
    if (editing_sweep(at, folder, AGE_S, &swept, NULL) == MCP_OK && swept.rescued)
        snprintf(c->rescued, sizeof(c->rescued), "%s", swept.saved);
}
