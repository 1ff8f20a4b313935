/* watch_roots.c: notices that the folder of a root is removed, moved away or made again; see watch.h.
 *
 * The folder's own watch does not report its removal: the descriptor of the root keeps it alive. So
 * the folder that it is in is watched for its name. When a folder further up is moved, nothing is
 * reported, and the next request notices it (files_root_renew()). While a root is gone, its path is
 * polled, because the folders above it may be gone, too.
 */
#define _GNU_SOURCE
#include "watch_state.h"

#include <unistd.h>

/* Returns the path of the folder of a root, and where its last component begins; 0 for the top. */
static size_t name_of(const files_watch *w, size_t root, char folder[COMMON_PATH_MAX])
{
    size_t len = files_root_folder(&w->o.roots->items[root], folder);
    while (len && folder[len - 1] != '/')
        len--;
    return len;
}

void files_watch_above(files_watch *w)
{
    const uint32_t mask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR |
                          IN_MASK_ADD; /* it may also be watched as a folder of a root */
    char folder[COMMON_PATH_MAX];
    for (size_t i = 0; i < w->o.roots->count; i++) {
        size_t name = name_of(w, i, folder);
        if (name)
            folder[name > 1 ? name - 1 : name] = '\0';
        w->above[i] =
            name && w->o.look && w->poll ? inotify_add_watch(w->dirs.fd, folder, mask) : -1;
    }
}

void files_watch_above_event(files_watch *w, const struct inotify_event *e)
{
    char folder[COMMON_PATH_MAX];
    for (size_t i = 0; i < w->o.roots->count; i++) {
        if (w->above[i] != e->wd)
            continue;
        if (e->mask & IN_IGNORED) /* the folder is gone, or was only not watched as a root's */
            files_watch_above(w);
        if (e->mask & IN_IGNORED ||
            (e->len && strcmp(folder + name_of(w, i, folder), e->name) == 0))
            w->o.look(i, w->o.user);
    }
}

bool files_watch_any_gone(const files_watch *w)
{
    for (size_t i = 0; w->o.look && i < w->o.roots->count; i++)
        if (w->o.roots->items[i].gone)
            return true;
    return false;
}

void files_watch_look(files_watch *w)
{
    for (size_t i = 0; w->o.look && i < w->o.roots->count; i++)
        if (w->o.roots->items[i].gone || w->above[i] < 0)
            w->o.look(i, w->o.user);
}
