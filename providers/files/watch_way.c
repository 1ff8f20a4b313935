/* watch_way.c: watches the way to a subscribed path; see watch.h.
 *
 * A subscription does not watch its file, but the folders on the way to it, from the root down as
 * far as they exist. So one rule covers a file that is replaced by a rename, a file that is deleted
 * and created again, and a folder that does not exist yet: after an event for a name on the way,
 * determine again how far the way exists.
 */
#define _GNU_SOURCE
#include "watch.h"

#include "buffer.h"
#include "watch_state.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

void files_sub_stamp(const files_watch *w, const char *path, files_stamp *ret)
{
    files_target target;
    struct stat st;
    const files_root *root = files_watch_root_of(w, path, &target);
    *ret = (files_stamp){0};
    if (root && files_root_stat(root, target.rel, &st) == MCP_OK)
        files_stamp_of(&st, ret);
    if (S_ISDIR(ret->mode)) { /* only the set of entries is relevant */
        ret->len = 0;
        ret->mode = S_IFDIR;
        ret->ctime = ret->mtime;
    }
}

/* Returns whether files of the file system change without events: because other machines change
 * them, or because the kernel generates them. */
static bool is_silent(int fd)
{
    static const unsigned long silent[] = {NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  SMB2_SUPER_MAGIC,
                                           CIFS_SUPER_MAGIC, V9FS_MAGIC,       CEPH_SUPER_MAGIC,
                                           FUSE_SUPER_MAGIC, PROC_SUPER_MAGIC, SYSFS_MAGIC};
    struct statfs st;
    if (fstatfs(fd, &st) != 0)
        return false;
    for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++)
        if ((unsigned long)st.f_type == silent[i])
            return true;
    return false;
}

/* Returns whether the path has to be polled: it is a symbolic link in the folder path[0, parent),
 * or the file system sends no events. */
static bool needs_polling(files_watch *w, const char *path, size_t parent)
{
    int fd;
    struct stat st;
    char folder[COMMON_PATH_MAX];
    memcpy(folder, path, parent);
    folder[parent] = 0;
    if (files_watch_open_dir(folder, &fd, w) != MCP_OK)
        return false;
    const char *name = path + parent + (path[parent] == '/');
    bool link = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    bool ret = link || is_silent(fd);
    close(fd);
    return ret;
}

/* Adds the folder path[0, len) to the way. */
static int way_add(files_watch *w, files_sub *s, size_t len)
{
    files_dir *dir;
    if (s->n_way == s->way_room) {
        size_t room = s->way_room ? s->way_room * 2 : 8;
        files_dir **grown = common_alloc(&w->alloc, room * sizeof(files_dir *));
        if (!grown)
            return MCP_ENOMEM;
        if (s->n_way)
            memcpy(grown, s->way, s->n_way * sizeof(files_dir *));
        common_release(&w->alloc, s->way);
        s->way = grown;
        s->way_room = room;
    }
    int rc = files_dirs_add(&w->dirs, s->node.path, len, FILES_DIR_PINNED, &dir);
    if (rc == MCP_OK)
        s->way[s->n_way++] = dir;
    return rc;
}

size_t files_sub_way_begin(const files_watch *w, const files_sub *s)
{
    files_target target;
    const files_root *root = files_watch_root_of(w, s->node.path, &target);
    if (!root)
        return 0;
    if (root->only)
        return files_watch_parent(root->path, root->path_len);
    return root->path_len ? root->path_len : 1;
}

static void set_polled(files_watch *w, files_sub *s, bool polled)
{
    w->polled_subs += (size_t)polled - (size_t)s->polled;
    s->polled = polled;
}

/* Watches every folder from the root to the parent, and the path itself if it is a folder. Each is
 * watched before the next is looked up, so that nothing created in between is missed. */
int files_sub_make_way(files_watch *w, files_sub *s)
{
    const char *path = s->node.path;
    size_t len = files_sub_way_begin(w, s), parent = files_watch_parent(path, s->node.len);
    int rc = MCP_OK;
    while (rc == MCP_OK && len <= s->node.len) {
        if (len == s->node.len && len > 1 && !S_ISDIR(s->stamp.mode))
            break;
        rc = way_add(w, s, len);
        if (len == s->node.len)
            break;
        size_t next = len + (path[len] == '/');
        while (next < s->node.len && path[next] != '/')
            next++;
        len = next;
    }
    bool polled =
        rc == MCP_OK && s->node.len > files_sub_way_begin(w, s) && needs_polling(w, path, parent);
    for (size_t i = 0; i < s->n_way; i++)
        polled |= s->way[i]->wd < 0;
    set_polled(w, s, polled || rc == MCP_ENOMEM);
    return rc == MCP_ENOMEM ? rc : MCP_OK;
}

void files_sub_look_again(files_watch *w, files_sub *s)
{
    files_dir **old = s->way;
    size_t n_old = s->n_way;
    files_stamp before = s->stamp;
    s->way = NULL, s->n_way = s->way_room = 0;
    files_sub_stamp(w, s->node.path, &s->stamp);
    files_sub_make_way(w, s);
    for (size_t i = 0; i < n_old; i++) /* last, so that folders on both ways stay watched */
        files_dir_unpin(&w->dirs, old[i]);
    common_release(&w->alloc, old);
    files_sub_stamp(w, s->node.path, &s->stamp);
    if (!files_stamp_same(&before, &s->stamp))
        w->o.updated(s->node.path, w->o.user);
    files_watch_tell_spent(w);
}

void files_sub_clear_way(files_watch *w, files_sub *s)
{
    set_polled(w, s, false);
    while (s->n_way)
        files_dir_unpin(&w->dirs, s->way[--s->n_way]);
    common_release(&w->alloc, s->way);
    s->way = NULL;
}
