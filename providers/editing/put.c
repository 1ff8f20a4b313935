/* put.c: see put.h. How a change proceeds, and what happens when somebody else changes the file at the same time. */
#define _GNU_SOURCE
#include "put.h"
#include "fresh.h"
#include "place.h"
#include "plain.h"
#include "rename.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

/* Exchanges that undo one, while somebody saves the file again and again. */
enum { MAX_BACK = 1000 };

typedef struct work {
    const editing_change *change;
    editing_outcome *ret;
    mcp_error *err;
    editing_place place;
    int old; /* descriptor for reading; -1 */
    struct stat was;
    uint64_t hash; /* of the old contents, if they are small */
    editing_fresh fresh;
    const char *step; /* what failed after the change, which is undone then, and its errno */
    int error;
} work;

static void begin(work *w, const editing_change *change, editing_outcome *ret, mcp_error *err)
{
    *w = (work){.change = change,
                .ret = ret,
                .err = err,
                .old = -1,
                .place = {.dir = -1},
                .fresh = {.fd = -1}};
    *ret = (editing_outcome){.saved = ""};
    if (err)
        *err = (mcp_error){.code = MCP_OK};
}

static void end(work *w)
{
    editing_fresh_drop(&w->fresh, &w->place);
    if (w->old >= 0)
        close(w->old);
    editing_place_close(&w->place);
}

static int failed(work *w, const char *step, int error)
{
    return editing_failed(w->err, w->change->rel, step, error);
}

/* ---- what a call lost to ------------------------------------------------------------------------------------- */

/* Gets the version of what is at the path now, if that is a regular file. */
static void look_again(work *w)
{
    editing_outcome *ret = w->ret;
    ret->version.text[0] = '\0';
    if (editing_place_stat(&w->place, w->place.name, &ret->st) != 0 || !S_ISREG(ret->st.st_mode))
        return;
    int fd = editing_place_at(&w->place, w->place.name, O_RDONLY);
    if (fd < 0)
        return;
    if (fstat(fd, &ret->st) == 0 && editing_version_of(fd, &ret->st, &ret->version) != MCP_OK)
        editing_version_make(&ret->st, NULL, &ret->version);
    close(fd);
}

static int lost(work *w, const char *what)
{
    const char *saved = w->ret->saved;
    look_again(w);
    if (w->ret->version.text[0] == '\0')
        return editing_refuse(w->err, MCP_ESTATE, w->change->rel,
                              "%s, and it is not there any more; nothing was written%s%s", what,
                              *saved ? "; a save by somebody else is in " : "", saved);
    return editing_refuse(
        w->err, MCP_ESTATE, w->change->rel,
        "%s; it has %lld bytes and version %s now; nothing was written; read it again%s%s", what,
        (long long)w->ret->st.st_size, w->ret->version.text, *saved ? "; another save is in " : "",
        saved);
}

/* ---- the old file -------------------------------------------------------------------------------------------- */

static int refuse(work *w, const char *text)
{
    return editing_refuse(w->err, MCP_EACCESS, w->change->rel, "%s", text);
}

static int open_old(work *w)
{
    int error = editing_place_stat(&w->place, w->place.name, &w->was);
    if (error)
        return failed(w, "looking at it", error);
    if (S_ISLNK(w->was.st_mode))
        return failed(w, "opening it", ELOOP);
    if (w->was.st_nlink == 0) /* between the search for its name and the look at it */
        return lost(w, "somebody else replaced it during this call");
    const char *text = editing_not_plain(&w->was);
    if (text)
        return refuse(w, text);
    w->old = editing_place_at(&w->place, w->place.name, O_RDONLY);
    return w->old < 0 ? failed(w, "opening it", errno) : MCP_OK;
}

/* One of our processes at a time, and nobody who has locked it. */
static int lock_old(work *w)
{
    struct stat there;
    if (flock(w->old, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return lost(w, "another program has locked it or is replacing it");
    if (fstat(w->old, &w->was) < 0)
        return failed(w, "looking at it", errno);
    int error = editing_place_stat(&w->place, w->place.name, &there);
    if (error && error != ENOENT)
        return failed(w, "looking at it", error);
    if (error || there.st_ino != w->was.st_ino)
        return lost(w, "somebody else replaced it during this call");
    return MCP_OK;
}

static int check_old(work *w)
{
    const char *text = editing_not_plain(&w->was);
    if (!text)
        text = editing_not_plain_inside(w->old);
    if (!text && !editing_place_spelled(&w->place, w->was.st_ino))
        text = "the folder has this name in another spelling; use the name of its list";
    if (text)
        return refuse(w, text);
    return editing_is_quiet(w->old) ? MCP_OK : lost(w, "another program has it open for writing");
}

static bool is_hashed(const work *w)
{
    return w->was.st_size <= EDITING_HASHED_MAX;
}

static int check_version(work *w)
{
    editing_version now;
    mcp_str given = w->change->if_match;
    int rc = is_hashed(w) ? editing_hash_file(w->old, (size_t)w->was.st_size, &w->hash) : MCP_OK;
    if (rc == MCP_OK)
        editing_version_with(&w->was, is_hashed(w) ? &w->hash : NULL, &now);
    if (rc == MCP_EIO)
        return failed(w, "reading it", errno);
    if (rc != MCP_OK || (given.len && !editing_version_matches(given, &now)))
        return lost(w, "it has another version than the one that was expected");
    return MCP_OK;
}

static int find_old(work *w)
{
    int rc = editing_place_open(w->change->at, w->change->rel, &w->place, w->err);
    if (rc == MCP_OK)
        rc = open_old(w);
    if (rc == MCP_OK)
        rc = lock_old(w);
    if (rc == MCP_OK)
        rc = check_old(w);
    if (rc == MCP_OK)
        rc = check_version(w);
    return rc;
}

/* The last look before the change. What happens after it is found by comparing what comes out. */
static int check_last(work *w)
{
    struct stat there;
    int error = editing_place_stat(&w->place, w->place.name, &there);
    if (error && error != ENOENT)
        return failed(w, "looking at it", error);
    bool same = !error && editing_same(&there, &w->was) &&
                there.st_ctim.tv_sec == w->was.st_ctim.tv_sec &&
                there.st_ctim.tv_nsec == w->was.st_ctim.tv_nsec;
    return same ? MCP_OK : lost(w, "somebody else changed it during this call");
}

static int tell(work *w)
{
    editing_about about = {.old = w->old,
                           .was = w->old < 0 ? NULL : &w->was,
                           .fresh = w->fresh.fd < 0 ? NULL : &w->fresh.st};
    if (!w->change->about)
        return MCP_OK;
    int rc = w->change->about(&about, w->err, w->change->user);
    if (rc != MCP_OK && w->err && w->err->text[0] == '\0')
        return editing_refuse(w->err, rc, w->change->rel,
                              "the change could not be recorded; nothing was written");
    return rc;
}

/* What a rename has taken from the path, and now has another name. */
typedef enum came { CAME_EXPECTED, CAME_OTHER, CAME_OPEN, CAME_MOVED, CAME_FAILED } came;

static came came_failed(work *w, const char *step)
{
    w->error = errno;
    w->step = step;
    return CAME_FAILED;
}

/* Compares it with what was expected. */
static came what_came(work *w, const editing_place *place, const char *name)
{
    struct stat out;
    uint64_t hash = w->hash;
    int error = editing_place_stat(place, name, &out);
    if (error) {
        errno = error;
        return came_failed(w, "comparing what was replaced");
    }
    if (!editing_same(&out, &w->was) || editing_not_plain_inside(w->old))
        return CAME_OTHER;
    if (!editing_is_quiet(w->old))
        return CAME_OPEN;
    int rc = is_hashed(w) ? editing_hash_file(w->old, (size_t)w->was.st_size, &hash) : MCP_OK;
    if (rc == MCP_EIO)
        return came_failed(w, "comparing what was replaced");
    return rc != MCP_OK || hash != w->hash ? CAME_OTHER : CAME_EXPECTED;
}

/* After a rename from the path to `name` in `to`: was it what was meant, where it was meant, and is it on the disk? */
static came settle(work *w, const editing_place *to, const char *name)
{
    came what = what_came(w, to, name);
    if (what != CAME_EXPECTED)
        return what;
    if (!editing_place_holds(&w->place) || (to != &w->place && !editing_place_holds(to)))
        return errno ? came_failed(w, "looking at its folder") : CAME_MOVED;
    if (fsync(to->dir) < 0 || (to != &w->place && fsync(w->place.dir) < 0))
        return came_failed(w, "storing the folder");
    return CAME_EXPECTED;
}

static int undone(work *w, came what)
{
    switch (what) {
    case CAME_OTHER: return lost(w, "somebody else saved it during this call");
    case CAME_OPEN: return lost(w, "another program opened it for writing during this call");
    case CAME_MOVED: return lost(w, "its folder was moved during this call");
    default: return failed(w, w->step, w->error);
    }
}

/* ---- new ----------------------------------------------------------------------------------------------------- */

static int check_free(work *w)
{
    struct stat there;
    int error = editing_place_stat(&w->place, w->place.name, &there);
    if (error == ENOENT)
        return MCP_OK;
    if (!error)
        look_again(w);
    return failed(w, "making the file", error ? error : EEXIST);
}

/* Gives a file that came to the wrong place its name back. If there is another one by now, it is rescued. */
static void put_back(work *w, const editing_place *from, const char *name)
{
    if (renameat2(from->dir, name, w->place.dir, w->place.name, RENAME_NOREPLACE) == 0)
        return;
    if (errno != EEXIST &&
        renameat2(from->dir, name, w->place.dir, w->place.name, RENAME_NOREPLACE) == 0)
        return;
    editing_rescue(from->dir, name, w->ret->saved);
}

/* Removes the file that was made, unless somebody has already written to it or replaced it. */
static void withdraw(work *w)
{
    char name[EDITING_NEIGHBOUR_SIZE];
    struct stat out;
    if (editing_neighbour_name(NULL, &w->fresh.st, name) != 0 ||
        renameat2(w->place.dir, w->place.name, w->place.dir, name, RENAME_NOREPLACE) != 0)
        return;
    if (editing_place_stat(&w->place, name, &out) == 0 && editing_same(&out, &w->fresh.st))
        editing_unlink(w->place.dir, name);
    else
        put_back(w, &w->place, name);
}

static int settle_new(work *w)
{
    if (fstat(w->fresh.fd, &w->fresh.st) < 0)
        return failed(w, "reading its status", errno);
    if (!editing_place_spelled(&w->place, w->fresh.st.st_ino))
        return refuse(w, "the file system would store this name in another spelling; nothing was "
                         "written; use another name");
    if (!editing_place_holds(&w->place))
        return errno ? failed(w, "looking at its folder", errno)
                     : lost(w, "its folder was moved during this call");
    return fsync(w->place.dir) < 0 ? failed(w, "storing the folder", errno) : MCP_OK;
}

/* Without a status there is no version: a rename has changed the one of before. */
static void finish(work *w, int fd, mcp_str content)
{
    if (fstat(fd, &w->ret->st) < 0)
        w->ret->st = w->fresh.st;
    else
        editing_version_make(&w->ret->st, &content, &w->ret->version);
}

static int prepare(work *w, mode_t mode)
{
    int rc = editing_fresh_make(&w->place, mode, &w->fresh, w->err);
    if (rc == MCP_OK)
        rc = editing_fresh_write(&w->fresh, &w->place, w->change->content, w->err);
    if (rc == MCP_OK && w->old >= 0)
        rc = editing_keep(w->old, &w->was, w->fresh.fd, w->change->rel, w->err);
    if (rc == MCP_OK)
        rc = editing_fresh_sync(&w->fresh, &w->place, w->err);
    return rc;
}

int editing_create(const editing_change *change, editing_outcome *ret, mcp_error *err)
{
    work w;
    begin(&w, change, ret, err);
    int rc = editing_place_open(change->at, change->rel, &w.place, err);
    if (rc == MCP_OK)
        rc = check_free(&w);
    if (rc == MCP_OK)
        rc = prepare(&w, 0666);
    if (rc == MCP_OK)
        rc = tell(&w);
    if (rc == MCP_OK) {
        rc = editing_fresh_place(&w.fresh, &w.place, err);
        if (rc == MCP_EEXIST)
            look_again(&w);
        else if (rc == MCP_OK && (rc = settle_new(&w)) != MCP_OK)
            withdraw(&w);
    }
    if (rc == MCP_OK)
        finish(&w, w.fresh.fd, change->content);
    end(&w);
    return rc;
}

/* ---- replaced ------------------------------------------------------------------------------------------------ */

static bool is_ours(const work *w, const struct stat *st)
{
    return st->st_ino == w->fresh.st.st_ino && st->st_dev == w->fresh.st.st_dev;
}

static void rescue(work *w)
{
    editing_rescue(w->place.dir, w->fresh.name, w->ret->saved);
    w->fresh.name[0] = '\0';
}

/* Our contents are under the neighbour's name again. They are thrown away, unless somebody has opened them in the
 * moment when they had the path, and has saved into them. */
static void throw_away(work *w)
{
    struct stat now;
    bool untouched = fstat(w->fresh.fd, &now) == 0 && now.st_size == w->fresh.st.st_size &&
                     now.st_mtim.tv_sec == w->fresh.st.st_mtim.tv_sec &&
                     now.st_mtim.tv_nsec == w->fresh.st.st_mtim.tv_nsec &&
                     editing_is_quiet(w->fresh.fd);
    if (!untouched) {
        rescue(w);
        return;
    }
    editing_unlink(w->place.dir, w->fresh.name);
    w->fresh.name[0] = '\0';
}

/* What is under the neighbour's name was replaced by a save that came after it, if that save has removed our contents, as
 * a rename does. If they were moved elsewhere instead, somebody meant to move this file, and it is kept. */
static void throw_superseded(work *w)
{
    struct stat ours;
    if (fstat(w->fresh.fd, &ours) != 0 || ours.st_nlink != 0) {
        rescue(w);
        return;
    }
    editing_unlink(w->place.dir, w->fresh.name);
    w->fresh.name[0] = '\0';
}

/* One exchange that gives back what is under the neighbour's name. The path may be free by now. Returns 0 or an
 * errno; ENOENT if nothing is under the neighbour's name any more. */
static int exchange_back(const work *w)
{
    int dir = w->place.dir;
    for (int tries = 0; tries < 3; tries++) {
        if (renameat2(dir, w->fresh.name, dir, w->place.name, RENAME_EXCHANGE) == 0)
            return 0;
        if (errno == ENOENT &&
            renameat2(dir, w->fresh.name, dir, w->place.name, RENAME_NOREPLACE) == 0)
            return ENOENT;
    }
    return errno;
}

/* One step of give_back(): true if it is over. `*held` is the file that was put in by the step before, and becomes the one
 * that this step puts in. It is kept open, because the number of an inode that is gone is given to the next file. */
static bool back_once(work *w, int *held)
{
    struct stat last;
    struct stat out;
    int in = editing_place_at(&w->place, w->fresh.name, O_PATH);
    int error = in < 0 ? errno : exchange_back(w);
    bool known = !error && fstat(*held, &last) == 0 &&
                 editing_place_stat(&w->place, w->fresh.name, &out) == 0;
    if (error == ENOENT && in >= 0)
        w->fresh.name[0] = '\0'; /* the path was free, and it has it now */
    else if (!known)
        rescue(w);
    else if (is_ours(w, &out))
        throw_away(w);
    else if (out.st_ino == last.st_ino && out.st_dev == last.st_dev)
        throw_superseded(w);
    if (*held != w->fresh.fd)
        close(*held);
    *held = in;
    return w->fresh.name[0] == '\0';
}

/* Undoes the exchange. What comes out must be what was put in last; otherwise somebody saved the file again in between,
 * and that save is the newest and must get the path back. What comes out at the end was replaced by somebody else's
 * save, or is ours. */
static void give_back(work *w)
{
    int held = w->fresh.fd;
    bool over = false;
    for (int tries = 0; tries < MAX_BACK && !over; tries++)
        over = back_once(w, &held);
    if (held >= 0 && held != w->fresh.fd)
        close(held);
    if (!over)
        rescue(w);
}

static int exchange(work *w)
{
    int dir = w->place.dir;
    if (renameat2(dir, w->fresh.name, dir, w->place.name, RENAME_EXCHANGE) == 0)
        return MCP_OK;
    if (errno == ENOENT)
        return lost(w, "somebody else removed it during this call");
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
        return editing_refuse(
            w->err, MCP_EUNSUPPORTED, w->change->rel,
            "the file system cannot exchange two files, so a save by somebody else could be lost; "
            "nothing was written; write a new file instead");
    return failed(w, "taking its place", errno);
}

static int settle_replaced(work *w)
{
    came what = settle(w, &w->place, w->fresh.name);
    if (what != CAME_EXPECTED) {
        give_back(w);
        return undone(w, what);
    }
    editing_unlink(w->place.dir, w->fresh.name);
    w->fresh.name[0] = '\0';
    return MCP_OK;
}

int editing_replace(const editing_change *change, editing_outcome *ret, mcp_error *err)
{
    work w;
    begin(&w, change, ret, err);
    int rc = find_old(&w);
    if (rc == MCP_OK)
        rc = prepare(&w, 0600);
    if (rc == MCP_OK)
        rc = editing_fresh_name(&w.fresh, &w.place, &w.was, err);
    if (rc == MCP_OK)
        rc = tell(&w);
    if (rc == MCP_OK)
        rc = check_last(&w);
    if (rc == MCP_OK)
        rc = exchange(&w);
    if (rc == MCP_OK)
        rc = settle_replaced(&w);
    if (rc == MCP_OK)
        finish(&w, w.fresh.fd, change->content);
    end(&w);
    return rc;
}

/* ---- moved and removed --------------------------------------------------------------------------------------- */

static int settle_renamed(work *w, const editing_place *to, const char *name)
{
    came what = settle(w, to, name);
    if (what == CAME_EXPECTED)
        return MCP_OK;
    put_back(w, to, name);
    return undone(w, what);
}

static int rename_to(work *w, const editing_place *to, const char *name, const char *step)
{
    if (renameat2(w->place.dir, w->place.name, to->dir, name, RENAME_NOREPLACE) == 0)
        return MCP_OK;
    if (errno == ENOENT)
        return lost(w, "somebody else removed it during this call");
    return failed(w, step, errno);
}

int editing_remove(const editing_change *change, editing_outcome *ret, mcp_error *err)
{
    work w;
    char name[EDITING_NEIGHBOUR_SIZE];
    begin(&w, change, ret, err);
    int rc = find_old(&w);
    if (rc == MCP_OK) {
        int error = editing_neighbour_name(NULL, &w.was, name);
        rc = error ? failed(&w, "finding a name", error) : tell(&w);
    }
    if (rc == MCP_OK)
        rc = check_last(&w);
    if (rc == MCP_OK)
        rc = rename_to(&w, &w.place, name, "removing it");
    if (rc == MCP_OK)
        rc = settle_renamed(&w, &w.place, name);
    if (rc == MCP_OK)
        editing_unlink(w.place.dir, name);
    end(&w);
    return rc;
}

static int check_destination(work *w, const editing_place *to)
{
    struct stat there;
    int error = editing_place_stat(to, to->name, &there);
    if (error == ENOENT)
        return MCP_OK;
    return editing_failed(w->err, to->rel, "moving a file there", error ? error : EEXIST);
}

static int settle_moved(work *w, const editing_place *to)
{
    if (editing_place_spelled(to, w->was.st_ino))
        return settle_renamed(w, to, to->name);
    put_back(w, to, to->name);
    return editing_refuse(w->err, MCP_EACCESS, to->rel,
                          "the file system would store this name in another spelling; nothing was "
                          "moved; use another name");
}

int editing_move(const editing_change *change, editing_outcome *ret, mcp_error *err)
{
    work w;
    editing_place to = {.dir = -1};
    begin(&w, change, ret, err);
    int rc = find_old(&w);
    if (rc == MCP_OK)
        rc = editing_place_open(change->to, change->to_rel, &to, err);
    if (rc == MCP_OK)
        rc = check_destination(&w, &to);
    if (rc == MCP_OK)
        rc = tell(&w);
    if (rc == MCP_OK)
        rc = check_last(&w);
    if (rc == MCP_OK)
        rc = rename_to(&w, &to, to.name, "moving it");
    if (rc == MCP_OK)
        rc = settle_moved(&w, &to);
    if (rc == MCP_OK && fstat(w.old, &ret->st) == 0 &&
        editing_version_of(w.old, &ret->st, &ret->version) != MCP_OK)
        editing_version_make(&ret->st, NULL, &ret->version);
    editing_place_close(&to);
    end(&w);
    return rc;
}
