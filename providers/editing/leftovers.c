/* leftovers.c: editing_sweep() of put.h, which removes what a killed process has left.
 *
 * The name of a neighbour says what may be thrown away: the file with our contents, or the one that was expected to come
 * out of an exchange. If the process was killed between an exchange and the comparison, it may be somebody's save. */
#define _GNU_SOURCE
#include "place.h"
#include "words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static bool is_old_enough(const struct stat *st, unsigned age)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - st->st_ctim.tv_sec >= (time_t)age;
}

/* A file that another process works on is locked (fresh.c, put.c). */
static bool is_abandoned(int fd, struct stat *st, unsigned age)
{
    return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
           is_old_enough(st, age) && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, st) == 0 &&
           st->st_nlink == 1 && editing_is_quiet(fd);
}

static void sweep_one(int dir, const char *name, unsigned age, editing_swept *ret)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    int fd = S_ISREG(st.st_mode)
                 ? openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                 : -1;
    if (fd < 0 || !is_abandoned(fd, &st, age))
        ret->alive++;
    else if (editing_neighbour_holds(name, &st) == EDITING_HOLDS_OTHER) {
        editing_rescue(dir, name, ret->saved);
        ret->rescued++;
    } else if (editing_unlink(dir, name) == 0)
        ret->removed++;
    if (fd >= 0)
        close(fd);
}

int editing_sweep(common_beneath at, const char *rel, unsigned age, editing_swept *ret,
                  mcp_error *err)
{
    struct dirent *entry;
    *ret = (editing_swept){.saved = ""};
    if (at.walk)
        return editing_refuse(err, MCP_EUNSUPPORTED, rel, "nothing is removed without openat2()");
    int fd = editing_open_folder(at, rel);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return editing_failed(err, rel, "opening the folder", error);
    }
    while ((entry = readdir(dir)))
        if (editing_is_neighbour(entry->d_name))
            sweep_one(fd, entry->d_name, age, ret);
    closedir(dir);
    return MCP_OK;
}
